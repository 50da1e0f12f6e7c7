//! The redundancy file on disk: a header ([`XorHeader`]), then the chunk of parity (the SCR
//! developer guide, "XOR file").

use super::logical::same_crc;
use super::single::BLOCK;
use super::{Context, Record, Set};
use crate::format::xor::XorHeader;
use crate::format::{encode, read_header, to_tree};
use crate::store::{File, Files};
use crate::{Error, Result};
use crc32fast::Hasher;
use std::path::{Path, PathBuf};

/// `<index + 1>_of_<size>_in_<id>.xor` in `meta_dir`.
pub fn path(meta_dir: &Path, set: &Set) -> PathBuf {
    meta_dir.join(format!(
        "{}_of_{}_in_{}.xor",
        set.index + 1,
        set.size(),
        set.id
    ))
}

/// A redundancy file that is being written, front to back. It has no valid header, and so
/// does not count, before [`Output::finish`].
pub struct Output {
    path: PathBuf,
    file: Box<dyn File>,
    /// Bytes of the header, and so the place of the first byte of parity.
    start: u64,
    at: u64,
    hasher: Hasher,
}

impl Output {
    /// Replaces the file, with room for the header and its chunk. The checksums in `header`
    /// need not be right yet, only present: they have a fixed width.
    pub fn create(files: &dyn Files, path: PathBuf, header: &XorHeader) -> Result<Self> {
        let start = bytes_of(header)?.len() as u64;
        files.remove_file(&path)?;
        let file = files.create(&path, 0o600)?;
        let size = start.checked_add(header.chunk);
        file.allocate(size.ok_or_else(|| Error::format(0, "the chunk is too large"))?)?;
        Ok(Output {
            path,
            file,
            start,
            at: start,
            hasher: Hasher::new(),
        })
    }

    /// Writes the next bytes of parity.
    pub fn append(&mut self, data: &[u8]) -> Result<()> {
        self.file.write_at(self.at, data)?;
        self.hasher.update(data);
        self.at += data.len() as u64;
        Ok(())
    }

    /// Writes the header, with all checksums, and syncs the file if asked to.
    pub fn finish(self, mut header: XorHeader, sync: bool) -> Result<()> {
        header.crc = Some(self.hasher.finalize());
        let bytes = bytes_of(&header)?;
        if bytes.len() as u64 != self.start || self.at != self.start + header.chunk {
            let what = "header or parity is not as long as was planned".to_string();
            return Err(Error::Corrupt {
                path: self.path,
                what,
            });
        }
        self.file.write_at(0, &bytes)?;
        if sync { self.file.sync() } else { Ok(()) }
    }
}

fn bytes_of(header: &XorHeader) -> Result<Vec<u8>> {
    Ok(encode(&to_tree(header)?))
}

/// A redundancy file that is there.
pub struct Input {
    path: PathBuf,
    file: Box<dyn File>,
    start: u64,
    /// Its header, which belongs to the record and the set it was opened with.
    pub header: XorHeader,
}

impl Input {
    /// Opens the file of this rank, and sees that it is of this dataset, set and rank, that
    /// it describes the same files as `record`, and that it has its size.
    pub fn open(context: &Context, record: &Record) -> Result<Self> {
        let path = path(context.meta_dir, context.set);
        let file = context.files.open(&path)?;
        let (header, start): (XorHeader, u64) = read_header(file.as_ref(), &path)?;
        let (own, set) = (&header.dataset, &context.set.members);
        let expect = |found: &dyn std::fmt::Display, what: &str, wanted: &dyn std::fmt::Display| {
            let (found, wanted) = (found.to_string(), wanted.to_string());
            if found == wanted {
                return Ok(());
            }
            let what = format!("{what} is {found}, expected {wanted}");
            Err(Error::Corrupt {
                path: path.clone(),
                what,
            })
        };
        expect(&own.id, "its dataset", &record.dataset.id)?;
        expect(
            &own.created,
            "the creation time of its dataset",
            &record.dataset.created,
        )?;
        expect(&header.current.rank, "its rank", &context.comm.rank())?;
        expect(&header.ranks, "its number of ranks", &context.comm.size())?;
        expect(&list(&header.group.0), "its set", &list(set))?;
        expect(
            &header.partner.rank,
            "its left neighbour",
            &context.set.left(),
        )?;
        if header.current != record.files {
            let what = "it describes other files than the record of the rank".to_string();
            return Err(Error::Corrupt { path, what });
        }
        expect(
            &file.size()?,
            "its size",
            &start.saturating_add(header.chunk),
        )?;
        Ok(Input {
            path,
            file,
            start,
            header,
        })
    }

    /// Fills `buffer` with the parity from `offset`.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_at(self.start + offset, buffer)
    }

    /// Compares all parity with its checksum.
    pub fn verify(&self) -> Result<()> {
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; BLOCK];
        for offset in (0..self.header.chunk).step_by(BLOCK) {
            let length = (self.header.chunk - offset).min(BLOCK as u64) as usize;
            let block = &mut buffer[..length];
            self.read_at(offset, block)?;
            hasher.update(block);
        }
        same_crc(&self.path, hasher.finalize(), self.header.crc)
    }
}

/// World ranks for people, shortened.
pub fn list(ranks: &[usize]) -> String {
    let mut text: Vec<String> = ranks.iter().take(16).map(usize::to_string).collect();
    if ranks.len() > 16 {
        text.push(format!("... {} in all", ranks.len()));
    }
    text.join(", ")
}
