//! The redundancy file on disk: a header ([`ParityHeader`]), then the blocks of parity, or
//! of copies, one for each left neighbour listed in the header.

use super::logical::{same_crc, total};
use super::pipeline::pieces;
use super::sums::{BLOCK, Sums};
use super::{Context, Record, Set};
use crate::format::parity::{Group, ParityHeader};
use crate::format::{encode_record, files::RankFiles, read_header};
use crate::store::{File, Files};
use crate::text::list_of_ranks;
use crate::{Error, Result};
use crc32fast::Hasher;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// `<index + 1>_of_<size>_in_<id>.<scheme>` in `meta_dir` (the SCR developer guide, "XOR
/// file").
pub fn path(meta_dir: &Path, set: &Set, scheme: &str) -> PathBuf {
    let (place, size, id) = (set.index + 1, set.size(), set.id);
    let scheme = scheme.to_ascii_lowercase();
    meta_dir.join(format!("{place}_of_{size}_in_{id}.{scheme}"))
}

/// The header of this rank's redundancy file, from its record and the files of its left
/// neighbours, nearest first. Checksums that are not known yet are there as 0, to have their
/// place.
pub fn header(
    context: &Context,
    record: &Record,
    chunk: u64,
    partners: Vec<RankFiles>,
) -> ParityHeader {
    let with_sums = |mut list: RankFiles| {
        for file in &mut list.files {
            file.crc.get_or_insert(0);
        }
        list
    };
    let mut partners = partners.into_iter().map(with_sums);
    ParityHeader {
        dataset: record.dataset.clone(),
        ranks: context.comm.size(),
        group: Group(context.set.members.to_vec()),
        chunk,
        crc: Some(0),
        reddesc: record.reddesc.clone(),
        current: with_sums(record.files.clone()),
        partner: partners.next().unwrap_or_default(),
        further: partners.collect(),
    }
}

/// Where each block begins, counted from the end of the header, and where the last one ends.
fn bounds(header: &ParityHeader) -> Result<Vec<u64>> {
    let mut bounds = vec![0u64];
    for list in header.partners() {
        let length = match header.chunk {
            0 => total(list.files.iter().map(|f| f.size))?,
            chunk => chunk,
        };
        let last = bounds.last().copied().unwrap_or(0);
        bounds.push(total([last, length])?);
    }
    Ok(bounds)
}

/// Whether a file in the directory of records is a redundancy file, by its name.
pub fn is_redundancy_file(name: &OsStr) -> bool {
    const ENDS: [&str; 3] = [".partner", ".xor", ".rs"];
    let text = name.to_str().unwrap_or_default();
    text.contains("_of_") && !text.starts_with(NEXT) && ENDS.iter().any(|end| text.ends_with(end))
}

const NEXT: &str = "next_";

/// The name under which the redundancy file `name` is being written. A file of that name may
/// be there beforehand: its space is used again, its content never.
pub fn next(name: &OsStr) -> OsString {
    let mut next = OsString::from(NEXT);
    next.push(name);
    next
}

/// The name that a redundancy file gets, or has, if it is or was being written as `name`.
pub fn named(name: &OsStr) -> &OsStr {
    let bare = name.as_bytes().strip_prefix(NEXT.as_bytes());
    bare.map_or(name, OsStr::from_bytes)
}

/// A redundancy file that is being written, each block front to back, under the name of
/// [`next`]. It gets its own in [`Output::finish`].
pub struct Output {
    path: PathBuf,
    next: PathBuf,
    file: Box<dyn File>,
    /// Bytes of the header.
    start: u64,
    bounds: Vec<u64>,
    /// For each block, how much of it is there, and its checksum.
    blocks: Vec<(u64, Hasher)>,
}

impl Output {
    /// Removes the file `path` and begins the next, with room for the header and its blocks.
    /// The checksums in `header` need not be right yet, only present: they have a fixed width.
    pub fn create(files: &dyn Files, path: PathBuf, header: &ParityHeader) -> Result<Self> {
        let start = encode_record(header)?.len() as u64;
        let bounds = bounds(header)?;
        let size = total([start, bounds.last().copied().unwrap_or(0)])?;
        // A rank without a record could not look what is in the way here.
        files.remove_tree(&path)?;
        let next = path.with_file_name(next(path.file_name().unwrap_or_default()));
        let file = files.rewrite(&next, 0o600)?;
        file.allocate(size)?;
        let blocks = header.partners().map(|_| (0, Hasher::new())).collect();
        Ok(Output {
            path,
            next,
            file,
            start,
            bounds,
            blocks,
        })
    }

    /// Writes the next bytes of a block.
    pub fn append(&mut self, block: usize, data: &[u8]) -> Result<()> {
        let (Some((at, hasher)), Some(from)) = (self.blocks.get_mut(block), self.bounds.get(block))
        else {
            return Err(self.unplanned());
        };
        self.file.write_at(self.start + from + *at, data)?;
        hasher.update(data);
        *at += data.len() as u64;
        Ok(())
    }

    /// Writes the header, with all checksums, syncs the file if asked to, and gives it its
    /// name. The directory is not synced.
    pub fn finish(self, files: &dyn Files, mut header: ParityHeader, sync: bool) -> Result<()> {
        header.crc = Some(self.crc()?);
        let bytes = encode_record(&header)?;
        if bytes.len() as u64 != self.start {
            return Err(self.unplanned());
        }
        self.file.write_at(0, &bytes)?;
        if sync {
            self.file.sync()?;
        }
        files.rename(&self.next, &self.path)
    }

    /// Checksum of all blocks; an error if one is not complete.
    fn crc(&self) -> Result<u32> {
        let mut sum = Hasher::new();
        for ((at, hasher), ends) in self.blocks.iter().zip(self.bounds.windows(2)) {
            if ends.first().map(|from| from + at) != ends.last().copied() {
                return Err(self.unplanned());
            }
            sum.combine(hasher);
        }
        Ok(sum.finalize())
    }

    /// Compares the blocks with the checksum that `header` has of them.
    pub fn prove(&self, header: &ParityHeader) -> Result<()> {
        same_crc(&self.path, self.crc()?, header.crc)
    }

    fn unplanned(&self) -> Error {
        Error::Corrupt {
            path: self.path.clone(),
            what: "header or blocks are not as long as was planned".to_string(),
        }
    }
}

/// A redundancy file that is there.
pub struct Input {
    path: PathBuf,
    file: Box<dyn File>,
    start: u64,
    bounds: Vec<u64>,
    /// Of what was read of the blocks, from the end of the header; `None` if their content is
    /// known to be right.
    sums: Option<Sums>,
    /// Its header, which belongs to the record and the set it was opened with.
    pub header: ParityHeader,
}

impl Input {
    /// Opens the file of this rank, and sees that it is of this dataset, set and rank, that
    /// it describes the same files as `record`, that it has `blocks` blocks, and its size.
    pub fn open(context: &Context, path: PathBuf, record: &Record, blocks: usize) -> Result<Self> {
        let file = context.files.open(&path)?;
        let (header, start): (ParityHeader, u64) = read_header(file.as_ref(), &path)?;
        let (own, set) = (&header.dataset, context.set);
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
        expect(&header.current.rank, "its rank", &context.member(set.index))?;
        expect(&header.ranks, "its number of ranks", &context.comm.size())?;
        expect(
            &list_of_ranks(&header.group.0),
            "its set",
            &list_of_ranks(&set.members),
        )?;
        let partners: Vec<usize> = header.partners().map(|p| p.rank).collect();
        let lefts: Vec<usize> = set.lefts(blocks).collect();
        expect(
            &list_of_ranks(&partners),
            "its left neighbour",
            &list_of_ranks(&lefts),
        )?;
        if header.current != record.files {
            let what = "it describes other files than the record of the rank".to_string();
            return Err(Error::Corrupt { path, what });
        }
        let bounds = bounds(&header).map_err(|_| Error::Corrupt {
            path: path.clone(),
            what: "its size would be more than 2^63 bytes".to_string(),
        })?;
        let end = bounds.last().copied().unwrap_or(0);
        expect(&file.size()?, "its size", &start.saturating_add(end))?;
        Ok(Input {
            path,
            file,
            start,
            bounds,
            sums: Some(Sums::default()),
            header,
        })
    }

    /// The content is known to be right: no checksum is taken from here on.
    pub fn trusted(mut self) -> Self {
        self.sums = None;
        self
    }

    /// Fills `buffer` with the bytes of a block from `offset`.
    pub fn read_at(&mut self, block: usize, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let from = self.bounds.get(block).copied().unwrap_or(u64::MAX);
        self.read(from.saturating_add(offset), buffer)
    }

    /// The same, counted from the end of the header.
    fn read(&mut self, at: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_at(self.start.saturating_add(at), buffer)?;
        if let Some(sums) = &mut self.sums {
            sums.add(at, buffer);
        }
        Ok(())
    }

    /// Reads what was not read yet, and compares all blocks with their checksum.
    pub fn prove(&mut self) -> Result<()> {
        let size = self.bounds.last().copied().unwrap_or(0);
        let gaps = self.sums.as_mut().map(|sums| sums.gaps(size));
        let mut buffer = Vec::new();
        for (at, length) in gaps.into_iter().flatten() {
            for (offset, length) in pieces(length, BLOCK) {
                buffer.resize(length, 0);
                self.read(at + offset, &mut buffer)?;
            }
        }
        let Some(sums) = &mut self.sums else {
            return Ok(());
        };
        let found = sums.crc(size).map_err(|at| Error::Corrupt {
            path: self.path.clone(),
            what: format!("only {at} of {size} bytes were read"),
        })?;
        same_crc(&self.path, found, self.header.crc)
    }

    /// Compares the checksum `found` of the whole file, header included, with that of the
    /// header and what it says of the blocks.
    pub fn prove_by(&self, found: u32) -> Result<()> {
        let Some(crc) = self.header.crc else {
            return Ok(());
        };
        let mut expected = Hasher::new();
        let mut buffer = vec![0; BLOCK];
        for (at, length) in pieces(self.start, BLOCK) {
            let bytes = buffer.get_mut(..length).unwrap_or_default();
            self.file.read_at(at, bytes)?;
            expected.update(bytes);
        }
        let size = self.bounds.last().copied().unwrap_or(0);
        expected.combine(&Hasher::new_with_initial_len(crc, size));
        same_crc(&self.path, found, Some(expected.finalize()))
    }
}
