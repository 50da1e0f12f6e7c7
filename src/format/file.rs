//! Trees on disk.
//!
//! All numbers are big-endian.
//!
//! | offset | size | field | value |
//! |---:|---:|---|---|
//! | 0 | 4 | magic | `95 1f c3 f5` |
//! | 4 | 2 | type of file | 1 |
//! | 6 | 2 | version | 1 |
//! | 8 | 8 | size | of header, tree and checksum |
//! | 16 | 4 | flags | bit 0: a checksum follows the tree |
//! | 20 | | the tree, [`packed`] | |
//! | size - 4 | 4 | CRC32 (IEEE) of all bytes before | if flag bit 0 |
//!
//! Binary data may follow, as in redundancy files. A file of no bytes is an empty tree.

use super::{Tree, de, packed, ser};
use crate::store::{Durability, File, Files, retry};
use crate::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Largest header, tree and checksum that is read, bytes.
pub const MAX_SIZE: u64 = 1 << 30;

const MAGIC: [u8; 4] = [0x95, 0x1f, 0xc3, 0xf5];
const TYPE: [u8; 2] = [0, 1];
const VERSION: [u8; 2] = [0, 1];
const HEADER: usize = 20;
const SIZE: std::ops::Range<usize> = 8..16;
const CRC: usize = 4;
const FLAG_CRC: u32 = 1;

/// The bytes of a file with `tree`.
pub fn encode(tree: &Tree) -> Vec<u8> {
    let mut out = begin();
    packed::pack_into(&mut out, tree);
    end(out)
}

/// The bytes of a file with a record.
pub fn encode_record<T: Serialize + ?Sized>(record: &T) -> Result<Vec<u8>> {
    let mut out = begin();
    ser::write(record, &mut out)?;
    Ok(end(out))
}

/// A header without its size.
fn begin() -> Vec<u8> {
    let flags = FLAG_CRC.to_be_bytes();
    [&MAGIC[..], &TYPE, &VERSION, &[0; 8], &flags].concat()
}

/// Fills the size in, and adds the checksum.
fn end(mut out: Vec<u8>) -> Vec<u8> {
    let size = (out.len() + CRC) as u64;
    if let Some(place) = out.get_mut(SIZE) {
        place.copy_from_slice(&size.to_be_bytes());
    }
    out.extend_from_slice(&crc32fast::hash(&out).to_be_bytes());
    out
}

/// The tree at the start of a file's bytes, and the offset of the bytes after it in the file.
pub fn decode(bytes: &[u8]) -> Result<(Tree, u64)> {
    if bytes.is_empty() {
        return Ok((Tree::new(), 0));
    }
    let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else {
        let what = format!(
            "a header takes {HEADER} bytes, the file has {}",
            bytes.len()
        );
        return Err(Error::format(0, what));
    };
    let Header { size, checked } = Header::parse(header)?;
    let all = usize::try_from(size)
        .ok()
        .and_then(|size| bytes.get(..size))
        .ok_or_else(|| {
            let what = format!("the header says {size} bytes, the file has {}", bytes.len());
            Error::format(8, what)
        })?;
    let body = match all.split_last_chunk::<CRC>() {
        Some((body, stored)) if checked => {
            let (stored, found) = (u32::from_be_bytes(*stored), crc32fast::hash(body));
            if stored != found {
                let what = format!("checksum is {found:#010x}, the file says {stored:#010x}");
                return Err(Error::format(size - CRC as u64, what));
            }
            body
        }
        _ => all,
    };
    let packed = body.get(HEADER..).unwrap_or_default();
    let (tree, used) = packed::unpack_at(packed, HEADER as u64)?;
    if used != packed.len() {
        let what = format!("{} bytes are left over after the tree", packed.len() - used);
        return Err(Error::format((HEADER + used) as u64, what));
    }
    Ok((tree, size))
}

/// The header of a file.
struct Header {
    /// Bytes up to the end of the checksum.
    size: u64,
    /// True if there is a checksum.
    checked: bool,
}

impl Header {
    fn parse(bytes: &[u8; HEADER]) -> Result<Header> {
        let [m0, m1, m2, m3, t0, t1, v0, v1, rest @ ..] = bytes;
        let [size @ .., f0, f1, f2, f3] = rest;
        if [*m0, *m1, *m2, *m3] != MAGIC {
            return Err(Error::format(
                0,
                "this is not a file of SCR: wrong first bytes",
            ));
        }
        if [*t0, *t1] != TYPE {
            let found = u16::from_be_bytes([*t0, *t1]);
            return Err(Error::format(4, format!("file type is {found}, not 1")));
        }
        if [*v0, *v1] != VERSION {
            let found = u16::from_be_bytes([*v0, *v1]);
            return Err(Error::format(
                6,
                format!("format version is {found}, not 1"),
            ));
        }
        let size = u64::from_be_bytes(*size);
        let checked = u32::from_be_bytes([*f0, *f1, *f2, *f3]) & FLAG_CRC != 0;
        let least = HEADER + 4 + if checked { CRC } else { 0 };
        if size < least as u64 {
            let what = format!("the header says {size} bytes, the least is {least}");
            return Err(Error::format(8, what));
        }
        if size > MAX_SIZE {
            let what = format!("the header says {size} bytes, more than {MAX_SIZE}");
            return Err(Error::format(8, what));
        }
        Ok(Header { size, checked })
    }
}

/// Reads the tree at the start of an open file. Returns it with the offset of the data behind it.
/// `path` is for errors.
pub fn read_header_tree(file: &dyn File, path: &Path) -> Result<(Tree, u64)> {
    let available = file.size()?;
    let mut head = [0; HEADER];
    let size = if available < HEADER as u64 {
        available
    } else {
        file.read_at(0, &mut head)?;
        // `decode` reports a size beyond the end of the file, so no memory is reserved for it here.
        Header::parse(&head)
            .map_err(|e| e.in_file(path))?
            .size
            .min(available)
    };
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    file.read_at(0, &mut bytes)?;
    decode(&bytes).map_err(|e| e.in_file(path))
}

/// Like [`read_header_tree`], as a record.
pub fn read_header<T: DeserializeOwned>(file: &dyn File, path: &Path) -> Result<(T, u64)> {
    let (tree, end) = read_header_tree(file, path)?;
    Ok((record(&tree, path)?, end))
}

/// Reads the tree of a file. Binary data behind it are not read. After a transient error it opens the file again: on
/// NFS another node may have replaced it meanwhile (ESTALE).
pub fn read_tree(files: &dyn Files, path: &Path) -> Result<Tree> {
    retry(|| Ok(read_header_tree(files.open(path)?.as_ref(), path)?.0))
}

/// Reads a file as a record.
///
/// # Errors
/// [`Error::Format`] if the file is not a tree. [`Error::Corrupt`] if the tree is not this record; the
/// error names the keys that lead to the fault.
pub fn read<T: DeserializeOwned>(files: &dyn Files, path: &Path) -> Result<T> {
    record(&read_tree(files, path)?, path)
}

/// Replaces the file `path` by a record.
pub fn write<T: Serialize + ?Sized>(
    files: &dyn Files,
    path: &Path,
    record: &T,
    durability: Durability,
) -> Result<()> {
    files.replace(path, &encode_record(record)?, durability)
}

fn record<T: DeserializeOwned>(tree: &Tree, path: &Path) -> Result<T> {
    de::record(tree).map_err(|e| Error::corrupt(path, e.to_string()))
}

/// Adds the file to the error of a record. Its byte offset means nothing, because the record was read
/// from a tree.
pub(super) fn in_record(path: &Path, error: Error) -> Error {
    match error {
        Error::Format { what, .. } => Error::corrupt(path, what),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::nodes::Nodes;
    use crate::store::posix::Posix;

    fn nodes() -> (Tree, Vec<u8>) {
        let mut tree = Tree::new();
        tree.set_value("NODES", "1");
        let hex = "951fc3f500010001000000000000002c00000001000000014e4f444553000000000131000000000\
                   09b82be72";
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pair = |p: &[u8]| u8::from_str_radix(std::str::from_utf8(p).unwrap(), 16).unwrap();
        (tree, digits.chunks(2).map(pair).collect())
    }

    #[test]
    fn bytes_are_those_of_the_format() {
        let (tree, bytes) = nodes();
        assert_eq!(encode(&tree), bytes);
        assert_eq!(decode(&bytes), Ok((tree, 44)));
        assert_eq!(encode(&Tree::new()).len(), 28);
    }

    #[test]
    fn binary_data_may_follow() {
        let (tree, mut bytes) = nodes();
        bytes.extend_from_slice(b"parity");
        assert_eq!(decode(&bytes), Ok((tree, 44)));
    }

    #[test]
    fn a_file_of_no_bytes_is_an_empty_tree() {
        assert_eq!(decode(b""), Ok((Tree::new(), 0)));
    }

    #[test]
    fn a_file_without_checksum_is_read() {
        let (tree, mut bytes) = nodes();
        bytes.truncate(40);
        bytes[15] = 40;
        bytes[19] = 0;
        assert_eq!(decode(&bytes), Ok((tree, 40)));
    }

    #[test]
    fn each_flipped_bit_and_each_cut_is_noticed() {
        let (tree, bytes) = nodes();
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            // Bits of `flags` that mean nothing are under the checksum as well.
            assert!(decode(&bad).is_err(), "bit {bit}");
        }
        for len in 1..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "{len} bytes of {tree:?}");
        }
    }

    #[test]
    fn a_huge_size_takes_no_memory() {
        let (_, mut bytes) = nodes();
        bytes[8..16].copy_from_slice(&u64::MAX.to_be_bytes());
        let text = decode(&bytes).unwrap_err().to_string();
        assert!(text.contains("18446744073709551615"), "{text}");
    }

    fn header(bytes: &[u8], size: u64) -> Result<(Nodes, u64)> {
        let dir = tempfile::tempdir().unwrap();
        let file = Posix.create(&dir.path().join("file"), 0o600)?;
        file.write_at(0, bytes)?;
        file.set_size(size)?;
        read_header(&*file, Path::new("x.xor"))
    }

    #[test]
    fn a_header_is_read_without_what_follows() {
        let (_, bytes) = nodes();
        // So large (and sparse) that it could not be read within the time of a test.
        assert_eq!(header(&bytes, 1 << 42), Ok((Nodes { nodes: 1 }, 44)));
        assert_eq!(header(&bytes, 44), Ok((Nodes { nodes: 1 }, 44)));
    }

    #[test]
    fn a_bad_header_names_the_file() {
        let (_, mut bytes) = nodes();
        let text = |bytes: &[u8], size| header(bytes, size).unwrap_err().to_string();
        assert_eq!(text(&bytes, 0), "x.xor: there is no NODES");
        assert!(text(&bytes, 19).starts_with("x.xor: a header takes 20 bytes"));
        assert!(text(&bytes, 43).starts_with("x.xor: byte 8: the header says 44 bytes"));
        bytes[25] = b'M';
        assert!(text(&bytes, 44).starts_with("x.xor: byte 40: checksum is 0x"));
        bytes[8..16].copy_from_slice(&(MAX_SIZE + 1).to_be_bytes());
        assert!(text(&bytes, 1 << 42).starts_with("x.xor: byte 8: the header says 1073741825"));
    }

    #[test]
    fn a_tree_that_is_another_record_names_file_and_key() {
        let mut tree = Tree::new();
        tree.set_value("NODES", "many");
        let text = header(&encode(&tree), 47).unwrap_err().to_string();
        assert_eq!(text, "x.xor: NODES: `many` is not a number");
    }
}
