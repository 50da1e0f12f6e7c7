//! The redundancy file on disk: a header ([`ParityHeader`]), then one block of parity, or one copy,
//! for each left neighbour listed in the header.

use super::code::Code;
use super::fold::{Digest, Fold};
use super::logical::{same_crc, total_size};
use super::pipeline::pieces;
use super::sums::{BLOCK, Checksums};
use super::{Context, RankRecord, Set, scheme_and_set};
use crate::format::parity::{Group, ParityHeader};
use crate::format::scheme::Scheme;
use crate::format::{encode_record, files::RankFiles, read_header};
use crate::store::{File, FileKind, Files, PageBuffer, SHOWN, reach, write_with_holes};
use crate::text::list_of_ranks;
use crate::{Error, Result};
use crc32fast::Hasher;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The name of a redundancy file: `<position>_of_<size>_in_<set>.<scheme>` (the SCR developer
/// guide, "XOR file").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParityFileName {
    /// Position of the rank in its set, counted from 1.
    pub position: usize,
    /// Number of members of the set.
    pub size: usize,
    /// Number of the set.
    pub set: usize,
    /// The scheme.
    pub scheme: Scheme,
}

impl ParityFileName {
    /// The parts of a file's name; `None` if it is not the name of a redundancy file.
    pub fn parse(name: &OsStr) -> Option<Self> {
        let (stem, extension) = name.to_str()?.rsplit_once('.')?;
        let (position, rest) = stem.split_once("_of_")?;
        let (size, set) = rest.split_once("_in_")?;
        Some(ParityFileName {
            position: position.parse().ok()?,
            size: size.parse().ok()?,
            set: set.parse().ok()?,
            scheme: Scheme::with_files().find(|s| s.lower() == extension)?,
        })
    }
}

/// The path of this rank's redundancy file; see [`ParityFileName`].
pub fn path(meta_dir: &Path, set: &Set, scheme: Scheme) -> PathBuf {
    let (position, size, id) = (set.index + 1, set.size(), set.id);
    let extension = scheme.lower();
    meta_dir.join(format!("{position}_of_{size}_in_{id}.{extension}"))
}

/// The header of this rank's redundancy file, from its record and the files of its left neighbours,
/// nearest first. Unknown checksums are 0, so that the header gets its final size.
pub fn header(
    context: &Context,
    record: &RankRecord,
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

/// Bytes of each block.
pub fn block_lengths(header: &ParityHeader) -> Result<Vec<u64>> {
    let length = |list: &RankFiles| match header.chunk {
        0 => total_size(list.files.iter().map(|f| f.size)),
        chunk => Ok(chunk),
    };
    header.partners().map(length).collect()
}

/// Offset of each block from the end of the header, and the end of the last block.
fn bounds(header: &ParityHeader) -> Result<Vec<u64>> {
    let mut bounds = vec![0u64];
    for length in block_lengths(header)? {
        let last = bounds.last().copied().unwrap_or(0);
        bounds.push(total_size([last, length])?);
    }
    Ok(bounds)
}

const TEMPORARY: &str = "next_";

/// The name of the redundancy file `name` until it is complete.
pub fn temporary_name(name: &OsStr) -> OsString {
    let mut temporary = OsString::from(TEMPORARY);
    temporary.push(name);
    temporary
}

fn temporary_path(path: &Path) -> PathBuf {
    path.with_file_name(temporary_name(path.file_name().unwrap_or_default()))
}

/// The final name of a redundancy file that is called `name`, which may be its temporary name.
pub fn final_name(name: &OsStr) -> &OsStr {
    let bare = name.as_bytes().strip_prefix(TEMPORARY.as_bytes());
    bare.map_or(name, OsStr::from_bytes)
}

/// The expected kind of the blocks in a redundancy file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocks {
    /// Data: their space is reserved, so that a full disk is noticed early.
    AreData,
    /// The blocks may be zeros for the most part, as those of files with holes, and stay holes.
    MayBeHoles,
}

impl Blocks {
    /// The expected kind of blocks for files with these paths and sizes (bytes): the files of all members of a
    /// set are mostly alike. Small files are not looked at.
    pub fn of(files: &dyn Files, list: &[(PathBuf, u64)]) -> Self {
        let large = list.iter().filter(|(_, size)| *size >= LARGE);
        let has_holes = |path: &Path, size: u64| {
            let stat = files.stat(path).ok().flatten();
            stat.is_some_and(|stat| stat.blocks < size / 2)
        };
        let mut sparse = large.filter(|(path, size)| has_holes(path, *size));
        match sparse.next() {
            Some(_) => Blocks::MayBeHoles,
            None => Blocks::AreData,
        }
    }
}

/// Files of at least this many bytes may have holes that are worth a look.
const LARGE: u64 = 1 << 20;

/// A redundancy file that is being written, each block front to back. The file has a
/// [`temporary_name`] until [`ParityWriter::finish`].
pub struct ParityWriter {
    path: PathBuf,
    temporary: PathBuf,
    file: Box<dyn File>,
    /// Bytes of the header.
    start: u64,
    bounds: Vec<u64>,
    blocks: Vec<WrittenBlock>,
    /// True if the file ends before the blocks do, as long as holes follow.
    may_be_short: bool,
    /// What was read back.
    back: Vec<u8>,
}

/// A block as it lies in the file so far.
#[derive(Clone, Default)]
struct WrittenBlock {
    bytes: u64,
    crc: Hasher,
    /// Only if it is asked for.
    fold: Option<Fold>,
}

impl WrittenBlock {
    /// Takes the next bytes.
    fn take(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        if let Some(fold) = &mut self.fold {
            fold.update(bytes);
        }
        self.bytes += bytes.len() as u64;
    }
}

impl ParityWriter {
    /// Starts the successor of the file `path`, if that exists, with space for header and blocks. All
    /// checksums must be present in `header`, since they have a fixed width, but their values may
    /// still change.
    pub fn create(files: &dyn Files, path: PathBuf, header: &ParityHeader) -> Result<Self> {
        // A stopped process of an earlier run may have it open.
        files.remove_tree(&temporary_path(&path))?;
        Self::create_over(files, path, header, Blocks::MayBeHoles)
    }

    /// Starts the successor of the file `path` as [`create`](Self::create) does, but over a file that has the
    /// [`temporary_name`] already, so that its space is used again.
    pub fn create_over(
        files: &dyn Files,
        path: PathBuf,
        header: &ParityHeader,
        blocks: Blocks,
    ) -> Result<Self> {
        let start = encode_record(header)?.len() as u64;
        let bounds = bounds(header)?;
        let size = total_size([start, bounds.last().copied().unwrap_or(0)])?;
        // A rank without a record has not removed obstacles at this path. A file there is replaced by the end: it may be
        // good, and only have looked lost by an error that passes.
        let there = files.stat(&path)?;
        if there.is_some_and(|there| there.kind != FileKind::File) {
            files.remove_tree(&path)?;
        }
        let temporary = temporary_path(&path);
        let file = files.rewrite(&temporary, 0o600)?;
        match blocks {
            Blocks::AreData => match file.allocate(size) {
                // Only one of the two files has room.
                Err(error) if error.is_full() => {
                    files.remove_tree(&path)?;
                    file.allocate(size)?;
                }
                other => other?,
            },
            // The needed space is known only when the blocks are written.
            Blocks::MayBeHoles => {
                if there.is_some() && files.space(&temporary).is_ok_and(|space| space.free < size) {
                    files.remove_tree(&path)?;
                }
                if file.size()? > size {
                    file.set_size(size)?;
                }
            }
        }
        let may_be_short = blocks == Blocks::MayBeHoles;
        let blocks = header.partners().map(|_| WrittenBlock::default()).collect();
        Ok(ParityWriter {
            path,
            temporary,
            file,
            start,
            bounds,
            blocks,
            may_be_short,
            back: Vec::new(),
        })
    }

    /// Also takes the checksum [`Fold`] of each block.
    pub fn with_folds(mut self) -> Self {
        let blocks = self.blocks.iter_mut();
        blocks.for_each(|block| block.fold = Some(Fold::default()));
        self
    }

    /// Writes the next bytes of a block. Checksums are taken of what then lies in the file: of its mapping if it has one,
    /// else of bytes that are read back. Both are done at once, as long as the bytes are in the processor's cache. So the
    /// checksums tell what the store was given, at the place in the file from which it will be read; they do not tell what
    /// happens later to memory or disk. That is found when the file is used.
    pub fn append(&mut self, block: usize, data: &[u8]) -> Result<()> {
        let (Some(written), Some(from)) = (self.blocks.get_mut(block), self.bounds.get(block))
        else {
            return Err(self.unplanned_block());
        };
        for piece in data.chunks(BLOCK) {
            let place = self.start + from + written.bytes;
            let mut seen = written.clone();
            let mut see = |bytes: &[u8]| seen.take(bytes);
            if self.file.write_and_see(place, piece, &mut see)? {
                *written = seen;
                continue;
            }
            write_with_holes(&*self.file, place, piece)?;
            self.back.resize(piece.len(), 0);
            let there = if self.may_be_short {
                self.file.size()?.saturating_sub(place)
            } else {
                u64::MAX
            };
            let there = there.min(piece.len() as u64) as usize;
            let (back, holes) = self.back.split_at_mut(there);
            self.file.read_at(place, back)?;
            holes.fill(0);
            written.take(&self.back);
        }
        Ok(())
    }

    /// Writes the header with all checksums, syncs the file if `sync` is set, and renames it to its
    /// final name. Does not sync the directory. [`Error::Corrupt`] if the header is not in the file as it was written.
    pub fn finish(self, files: &dyn Files, mut header: ParityHeader, sync: bool) -> Result<()> {
        header.crc = Some(self.crc()?);
        let bytes = encode_record(&header)?;
        if bytes.len() as u64 != self.start {
            return Err(self.unplanned_block());
        }
        self.file.write_at(0, &bytes)?;
        let mut back = vec![0; bytes.len()];
        self.file.read_at(0, &mut back)?;
        if back != bytes {
            let what = "its header is not what was written: memory or the file was changed";
            return Err(Error::corrupt(self.path, what));
        }
        let end = self.bounds.last().copied().unwrap_or(0);
        reach(&*self.file, self.start.saturating_add(end))?;
        if sync {
            self.file.sync()?;
        }
        files.rename(&self.temporary, &self.path)
    }

    /// Checksum of all blocks. An error if one is incomplete.
    fn crc(&self) -> Result<u32> {
        let mut sum = Hasher::new();
        for (block, ends) in self.blocks.iter().zip(self.bounds.windows(2)) {
            if ends.first().map(|from| from + block.bytes) != ends.last().copied() {
                return Err(self.unplanned_block());
            }
            sum.combine(&block.crc);
        }
        Ok(sum.finalize())
    }

    /// The path that the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// CRC32 of a block as it lies in the file.
    pub fn block_crc(&self, block: usize) -> u32 {
        let block = self.blocks.get(block);
        block.map_or(0, |block| block.crc.clone().finalize())
    }

    /// The checksum of a block as it lies in the file, if [folds](Self::with_folds) are taken.
    pub fn block_fold(&self, block: usize) -> Option<Digest> {
        let fold = self.blocks.get(block)?.fold.clone();
        fold.map(Fold::finish)
    }

    /// Compares the blocks with the checksum in `header`.
    pub fn verify(&self, header: &ParityHeader) -> Result<()> {
        same_crc(&self.path, self.crc()?, header.crc)
    }

    fn unplanned_block(&self) -> Error {
        Error::corrupt(
            self.path.clone(),
            "header or blocks do not have the planned length",
        )
    }
}

/// A redundancy file that is read.
pub struct ParityReader<'a> {
    path: PathBuf,
    source: Source<'a>,
    start: u64,
    bounds: Vec<u64>,
    /// Checksums of the bytes read, counted from the end of the header. `None` if the content is
    /// known to be right.
    sums: Option<Checksums>,
    /// The header, checked against the record and the set.
    pub header: ParityHeader,
}

/// The source from which a redundancy file is read.
enum Source<'a> {
    /// The file stays open.
    Open(Box<dyn File>),
    /// The file is opened for each read.
    Closed(&'a dyn Files),
}

impl ParityReader<'static> {
    /// Opens the file that belongs to `record`, a record of the rank and set of `context`; `None` if the
    /// scheme makes no file.
    pub fn of_record(context: &Context, record: &RankRecord) -> Result<Option<Self>> {
        let (scheme, set) = scheme_and_set(&record.dataset, &record.reddesc)?;
        let code = scheme.code(set.size())?;
        let path = path(context.meta_dir, &set, scheme.scheme());
        let open = |code: Code| ParityReader::open(context, path, record, code.parities());
        code.map(open).transpose()
    }

    /// Opens the file of this rank and checks its header and size: it must belong to this dataset,
    /// set and rank, describe the same files as `record`, and have `blocks` blocks.
    pub fn open(
        context: &Context,
        path: PathBuf,
        record: &RankRecord,
        blocks: usize,
    ) -> Result<Self> {
        let file = context.files.open(&path)?;
        let (header, start): (ParityHeader, u64) = read_header(file.as_ref(), &path)?;
        let (own, set) = (&header.dataset, context.set);
        let expect = |found: &dyn std::fmt::Display, what: &str, wanted: &dyn std::fmt::Display| {
            let (found, wanted) = (found.to_string(), wanted.to_string());
            if found == wanted {
                return Ok(());
            }
            let what = format!("{what} is {found}, expected {wanted}");
            Err(Error::corrupt(path.clone(), what))
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
            return Err(Error::corrupt(path, what));
        }
        let bounds = bounds(&header)
            .map_err(|_| Error::corrupt(path.clone(), "its size would be more than 2^63 bytes"))?;
        let end = bounds.last().copied().unwrap_or(0);
        expect(&file.size()?, "its size", &start.saturating_add(end))?;
        Ok(ParityReader {
            path,
            source: Source::Open(file),
            start,
            bounds,
            sums: Some(Checksums::default()),
            header,
        })
    }

    /// Closes the file, and opens it again for each read, if `files` is given: where many are read side by side.
    pub fn opened_per_read(self, files: Option<&dyn Files>) -> ParityReader<'_> {
        ParityReader {
            source: files.map_or(self.source, Source::Closed),
            ..self
        }
    }
}

impl ParityReader<'_> {
    /// Takes no checksums from here on: the content is known to be right.
    pub fn without_checksums(mut self) -> Self {
        self.sums = None;
        self
    }

    /// Fills `buffer` with the bytes of a block from `offset`.
    pub fn read_at(&mut self, block: usize, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let from = self.bounds.get(block).copied().unwrap_or(u64::MAX);
        self.read(from.saturating_add(offset), buffer)
    }

    /// Fills `buffer` from an offset that counts from the end of the header.
    fn read(&mut self, at: u64, buffer: &mut [u8]) -> Result<()> {
        let from = self.start.saturating_add(at);
        match &self.source {
            Source::Open(file) => file.read_at(from, buffer)?,
            Source::Closed(files) => files.open(&self.path)?.read_at(from, buffer)?,
        }
        if let Some(sums) = &mut self.sums {
            sums.add(at, buffer);
        }
        Ok(())
    }

    /// Takes the checksum of bytes where they lie; the offset counts from the end of the header. False if they must be
    /// read for that.
    fn sum_in_place(&mut self, at: u64, length: u64) -> Result<bool> {
        let (Source::Open(file), Some(sums)) = (&self.source, &mut self.sums) else {
            return Ok(false);
        };
        let from = self.start.saturating_add(at);
        let mut sum = Hasher::new();
        let bytes = from..from.saturating_add(length);
        let shown = file.show(bytes, SHOWN, &mut |bytes| sum.update(bytes))?;
        if shown {
            sums.add_summed(at, length, sum);
        }
        Ok(shown)
    }

    /// Reads the bytes that were not read yet, and compares all blocks with their checksum.
    pub fn verify(&mut self) -> Result<()> {
        let size = self.bounds.last().copied().unwrap_or(0);
        let gaps = self.sums.as_mut().map(|sums| sums.gaps(size));
        let mut buffer = PageBuffer::default();
        for (at, length) in gaps.into_iter().flatten() {
            if self.sum_in_place(at, length)? {
                continue;
            }
            for (offset, length) in pieces(length, BLOCK) {
                self.read(at + offset, buffer.get(length))?;
            }
        }
        let Some(sums) = &mut self.sums else {
            return Ok(());
        };
        let found = sums.crc(size).map_err(|at| {
            Error::corrupt(
                self.path.clone(),
                format!("only {at} of {size} bytes were read"),
            )
        })?;
        same_crc(&self.path, found, self.header.crc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redundancy::testing::empty_header;
    use crate::store::posix::Posix;

    /// A rebuild that fails must not cost a file that only could not be read for a moment.
    #[test]
    fn the_file_before_stays_until_its_successor_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1_of_2_in_0.xor");
        let header = empty_header();
        let create = || ParityWriter::create(&Posix, path.clone(), &header);
        std::fs::write(&path, "before").unwrap();
        drop(create().unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        // A directory at this path cannot be replaced by a rename, so it is removed.
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir_all(path.join("below")).unwrap();
        drop(create().unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn names_of_redundancy_files_are_read_as_they_are_written() {
        let set = Set::new(2, vec![7, 8, 9, 10]).unwrap();
        for scheme in Scheme::with_files() {
            let path = path(Path::new("/d"), &set, scheme);
            let name = path.file_name().unwrap();
            let expected = ParityFileName {
                position: 3,
                size: 4,
                set: 7,
                scheme,
            };
            assert_eq!(ParityFileName::parse(name), Some(expected));
            let temporary = temporary_name(name);
            assert_eq!(ParityFileName::parse(&temporary), None);
            assert_eq!((final_name(&temporary), final_name(name)), (name, name));
        }
        for other in [
            "3_of_4_in_0",
            "3_of_4_in_0.txt",
            "3_of_4_in_0.XOR",
            "x_of_4_in_0.xor",
            "_of__in_.rs",
            ".xor",
        ] {
            assert_eq!(ParityFileName::parse(OsStr::new(other)), None, "{other}");
        }
    }
}
