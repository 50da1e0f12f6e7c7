//! The file of fields that one rank writes. All numbers are little-endian.
//!
//! | place | bytes | what |
//! |---|---:|---|
//! | 0 | 64 | header |
//! | then | | the bytes of each field, each at a multiple of 64, or of 4096 if there are 65536 or more |
//! | then | | the table: a record for each field, in the order of the program |
//! | end - 64 | 64 | trailer: where the table is |
//!
//! The table is at the end, so that a file is written in one pass. `docs/formats/fields.md` has the whole
//! format.

use super::entry::{Entry, Link, MAX_NAME, MAX_RANK, Order, Role};
use super::index::MOST;
use super::kind::Kind;
use crate::store::File;
use crate::system::size::scaled;
use crate::{Error, Result};
use std::path::Path;

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// Bytes of the header, and of the trailer.
pub const ENDS: u64 = 64;

/// Number of bytes that have a checksum of their own, rounded down to whole elements.
const BLOCK: usize = 256 << 10;

/// Fields of at least this many bytes begin at a page.
pub const LARGE: u64 = 64 << 10;

const MAGIC: &[u8; 8] = b"SCRFIELD";
const TABLE_MAGIC: &[u8; 8] = b"SCRTABLE";
const PAGE: u64 = 4096;

/// The place of a field's bytes, and their checksums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Bytes in a block; the last block may have fewer.
    pub block: u64,
    /// CRC32 (IEEE) of all.
    pub crc: u32,
    /// CRC32 of each block.
    pub blocks: Vec<u32>,
}

/// A field in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Name, type and extents of the field.
    pub entry: Entry,
    /// The place of its bytes.
    pub section: Section,
}

/// Header, trailer and table of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The rank that wrote it.
    pub rank: u64,
    /// Number of ranks that wrote the dataset.
    pub ranks: u64,
    /// A number that all ranks' files of one list have.
    pub list: u64,
    /// The counts were the same on all ranks.
    pub same_counts: bool,
    /// The fields, in the order of the program.
    pub fields: Vec<Stored>,
}

/// Bytes of a block of elements of `size` bytes.
pub fn block_of(size: u64) -> u64 {
    match size {
        0 => 0,
        _ => (scaled(BLOCK) as u64 / size).max(1) * size,
    }
}

/// The first place at or after `end` at which a field of `bytes` bytes may begin.
pub fn place_for(end: u64, bytes: u64) -> u64 {
    end.next_multiple_of(if bytes >= LARGE { PAGE } else { ENDS })
}

/// Numbers that other programs compute, too: FNV-1a of 64 bits.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    fingerprint_with(0xcbf2_9ce4_8422_2325, bytes)
}

/// Continues a [`fingerprint`]: `hash` is the fingerprint of the bytes before.
pub fn fingerprint_with(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The header of a rank's file.
pub fn header(rank: u64, ranks: u64) -> [u8; ENDS as usize] {
    seal(MAGIC, &[&rank.to_le_bytes(), &ranks.to_le_bytes()])
}

/// `magic`, the version, the size, these numbers, and a checksum.
fn seal(magic: &[u8; 8], numbers: &[&[u8]]) -> [u8; ENDS as usize] {
    let mut bytes = [0; ENDS as usize];
    let size = ENDS as u32;
    let parts = [&magic[..], &VERSION.to_le_bytes(), &size.to_le_bytes()];
    let all = parts.iter().chain(numbers).flat_map(|part| part.iter());
    for (place, byte) in bytes.iter_mut().zip(all) {
        *place = *byte;
    }
    let (body, crc) = bytes.split_at_mut(ENDS as usize - 4);
    crc.copy_from_slice(&crc32fast::hash(body).to_le_bytes());
    bytes
}

/// Checks magic, version and checksum.
fn unseal<'a>(bytes: &'a [u8], magic: &[u8; 8], what: &str) -> Result<ByteReader<'a>> {
    let bad = |why: &str| Err(Error::format(0, format!("the {what} {why}")));
    let mut reader = ByteReader { bytes };
    if reader.take(8)? != magic {
        return bad("of a file of fields is not there: the file is cut, or is another one");
    }
    let version = reader.u32()?;
    if version != VERSION {
        return bad(&format!(
            "has version {version}; this program reads {VERSION}"
        ));
    }
    reader.u32()?;
    let (body, crc) = bytes.split_at(bytes.len() - 4);
    if crc32fast::hash(body).to_le_bytes() != *crc {
        return bad("has a wrong checksum");
    }
    Ok(reader)
}

/// Adds the record of a field to a table; `before` are the fields that have records.
fn encode_field(out: &mut Vec<u8>, field: &Stored, before: &[Stored]) {
    let (entry, section) = (&field.entry, &field.section);
    let begin = out.len();
    out.extend([0; 4]);
    let rank = entry.extents.len() as u8;
    let shared = u8::from(entry.is_shared());
    out.extend([entry.role as u8, entry.order as u8, rank, shared]);
    out.extend(entry.kind.code().to_le_bytes());
    out.extend((entry.name.len() as u32).to_le_bytes());
    let sums = &section.blocks;
    out.extend(section.offset.to_le_bytes());
    out.extend(section.block.to_le_bytes());
    out.extend(section.crc.to_le_bytes());
    out.extend((sums.len() as u32).to_le_bytes());
    for numbers in [&entry.extents, &entry.whole, &entry.at] {
        out.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
    }
    match &entry.link {
        Link::None => {}
        Link::List { count, first, .. } => {
            out.extend(count.to_le_bytes());
            out.extend(first.to_le_bytes());
        }
        Link::Bag { count } => out.extend(count.to_le_bytes()),
        Link::By(list) => {
            let number = before.iter().position(|field| field.entry.name == *list);
            out.extend((number.unwrap_or(before.len()) as u64).to_le_bytes());
        }
    }
    out.extend(sums.iter().flat_map(|n| n.to_le_bytes()));
    out.extend(entry.name.as_bytes());
    let length = (out.len() - begin).next_multiple_of(8);
    out.resize(begin + length, 0);
    if let Some(place) = out.get_mut(begin..begin + 4) {
        place.copy_from_slice(&(length as u32).to_le_bytes());
    }
}

/// Table and trailer of a file, which begin at `offset`.
pub fn encode_end(table: &Table, offset: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, field) in table.fields.iter().enumerate() {
        let before = table.fields.get(..number).unwrap_or_default();
        encode_field(&mut out, field, before);
    }
    let length = out.len() as u64;
    let size = offset + length + ENDS;
    let trailer = seal(
        TABLE_MAGIC,
        &[
            &offset.to_le_bytes(),
            &length.to_le_bytes(),
            &table.list.to_le_bytes(),
            &size.to_le_bytes(),
            &(table.fields.len() as u32).to_le_bytes(),
            &crc32fast::hash(&out).to_le_bytes(),
            &u32::from(table.same_counts).to_le_bytes(),
        ],
    );
    out.extend(trailer);
    out
}

/// Reads the table of a file.
///
/// # Errors
/// The file cannot be read, or is not a file of fields, or is cut or damaged.
pub fn read_table(file: &dyn File, path: &Path) -> Result<Table> {
    decode_file(file).map_err(|error| error.in_file(path))
}

fn decode_file(file: &dyn File) -> Result<Table> {
    let size = file.size()?;
    let cut = || Error::format(0, format!("is no file of fields: it has {size} bytes"));
    let at = size
        .checked_sub(ENDS)
        .filter(|at| *at >= ENDS)
        .ok_or_else(cut)?;
    let mut ends = [0; ENDS as usize];
    file.read_at(0, &mut ends)?;
    let mut header = unseal(&ends, MAGIC, "header")?;
    let (rank, ranks) = (header.u64()?, header.u64()?);
    file.read_at(at, &mut ends)?;
    let mut trailer = unseal(&ends, TABLE_MAGIC, "trailer")?;
    let (offset, length, list) = (trailer.u64()?, trailer.u64()?, trailer.u64()?);
    let (whole, count, crc) = (trailer.u64()?, trailer.u32()?, trailer.u32()?);
    let same_counts = trailer.u32()? != 0;
    if whole != size {
        return Err(Error::format(
            at,
            format!("the file has {size} bytes and should have {whole}"),
        ));
    }
    if offset.checked_add(length) != Some(at) {
        return Err(Error::format(
            at,
            format!("the table of {length} bytes from {offset} on does not end at the trailer"),
        ));
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| cut())?];
    file.read_at(offset, &mut bytes)?;
    if crc32fast::hash(&bytes) != crc {
        return Err(Error::format(
            offset,
            "the table of fields has a wrong checksum",
        ));
    }
    let fields = decode_fields(&bytes, offset)?;
    if fields.len() != count as usize {
        return Err(Error::format(
            offset,
            format!("the table has {} fields, not {count}", fields.len()),
        ));
    }
    Ok(Table {
        rank,
        ranks,
        list,
        same_counts,
        fields,
    })
}

/// The records of a table. `end`: where the bytes of the fields end.
fn decode_fields(bytes: &[u8], end: u64) -> Result<Vec<Stored>> {
    let mut fields: Vec<Stored> = Vec::new();
    let mut reader = ByteReader { bytes };
    while !reader.bytes.is_empty() {
        let at = (bytes.len() - reader.bytes.len()) as u64;
        let field = decode_field(&mut reader, end, &fields).map_err(|error| match error {
            Error::Format { path, what, .. } => Error::Format {
                path,
                offset: at,
                what,
            },
            other => other,
        })?;
        fields.push(field);
    }
    Ok(fields)
}

fn decode_field(all: &mut ByteReader<'_>, end: u64, before: &[Stored]) -> Result<Stored> {
    let length = ByteReader { bytes: all.bytes }.u32()? as usize;
    let mut reader = ByteReader {
        bytes: all.take(length)?,
    };
    reader.u32()?;
    let bad = |what: &str| Error::format(0, format!("a record of the table has {what}"));
    let [role, order, rank, shared] = reader.array()?;
    let role = Role::of_code(role).ok_or_else(|| bad("an unknown role"))?;
    let order = Order::of_code(order).ok_or_else(|| bad("an unknown order"))?;
    let rank = usize::from(rank);
    let kind = Kind::of_code(reader.u32()?)?;
    let name = reader.u32()? as usize;
    if rank > MAX_RANK || name >= MAX_NAME {
        return Err(bad("too many dimensions, or too long a name"));
    }
    let (offset, block, crc, sums) = (
        reader.u64()?,
        reader.u64()?,
        reader.u32()?,
        reader.u32()? as usize,
    );
    let extents = reader.numbers(rank)?;
    let (of_whole, of_place) = match role {
        Role::Part => (rank, rank),
        Role::Index | Role::Indexed => (rank, 0),
        Role::Own | Role::Same | Role::Count | Role::Bag => (0, 0),
    };
    let (whole, at) = (reader.numbers(of_whole)?, reader.numbers(of_place)?);
    let link = match role {
        Role::Index => Link::List {
            count: reader.u64()?,
            first: i64::from_le_bytes(reader.array()?),
            shared: shared != 0,
        },
        Role::Indexed => Link::By(list_of(&mut reader, &extents, &whole, before)?),
        Role::Bag => Link::Bag {
            count: reader.u64()?,
        },
        Role::Own | Role::Part | Role::Same | Role::Count => Link::None,
    };
    if let Link::List { count, .. } = link
        && whole.iter().any(|whole| *whole > MOST || count > *whole)
    {
        return Err(bad("more indices than a whole can have"));
    }
    let blocks = reader.checksums(sums)?;
    let name = std::str::from_utf8(reader.take(name)?);
    let entry = Entry {
        name: name.map_err(|_| bad("a name that is no text"))?.to_string(),
        kind,
        role,
        order,
        extents,
        whole,
        at,
        link,
    };
    let bytes = entry
        .sane_bytes()
        .ok_or_else(|| bad("extents that are too large"))?;
    let inside = offset.checked_add(bytes).is_some_and(|after| after <= end);
    // A reader has a block in memory.
    let unit = entry.unit();
    let small = block <= unit.max(BLOCK as u64);
    let fits = bytes == 0 || (block > 0 && small && unit > 0 && block % unit == 0);
    if !inside || !fits || (bytes > 0 && bytes.div_ceil(block) != blocks.len() as u64) {
        return Err(bad("bytes that are not in the file"));
    }
    Ok(Stored {
        entry,
        section: Section {
            offset,
            block,
            crc,
            blocks,
        },
    })
}

/// The name of the index list of a field; the field must have the shape that the list says.
fn list_of(
    reader: &mut ByteReader<'_>,
    extents: &[u64],
    whole: &[u64],
    before: &[Stored],
) -> Result<String> {
    let number = usize::try_from(reader.u64()?).unwrap_or(usize::MAX);
    let list = before.get(number).map(|field| &field.entry);
    let fits = |list: &&Entry| {
        let rest = |numbers: &[u64]| numbers.get(1..).map(<[u64]>::to_vec);
        let first = extents.first().zip(whole.first());
        let same = list.of_index().zip(first);
        same.is_some_and(|((of, count), (places, all))| (of, count) == (*all, *places))
            && rest(extents) == rest(whole)
    };
    match list.filter(fits) {
        Some(list) => Ok(list.name.clone()),
        None => Err(Error::format(
            0,
            "a record of the table has another shape than its index list",
        )),
    }
}

/// Takes numbers from the beginning of bytes.
pub(super) struct ByteReader<'a> {
    pub bytes: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let ended = || Error::format(0, "a record ends too early");
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or_else(ended)?;
        self.bytes = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn checksums(&mut self, count: usize) -> Result<Vec<u32>> {
        let sums = self.take(count.saturating_mul(4))?.as_chunks().0;
        Ok(sums.iter().map(|sum| u32::from_le_bytes(*sum)).collect())
    }

    pub fn numbers(&mut self, count: usize) -> Result<Vec<u64>> {
        (0..count).map(|_| self.u64()).collect()
    }
}
