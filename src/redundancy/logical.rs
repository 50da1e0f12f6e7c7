//! A rank's files, joined in list order to one logical file, which is padded with zeros (the SCR
//! developer guide, "XOR algorithm"). Checksums of the files are taken while they are read.

use super::pipeline;
use super::sums::{BLOCK, Checksums, zeros};
use crate::store::{File, Files, PageBuffer, SHOWN, Stat, reach, write_with_holes};
use crate::system::limits::share_of_open_files;
use crate::system::size::scaled;
use crate::{Error, Result};
use crc32fast::Hasher;
use std::path::PathBuf;

/// Files that a [`LogicalReader`] keeps open at once. A rank may have many thousands.
const MAX_OPEN: usize = 32;

/// Sum of the sizes of a rank's files. The size must fit 63 bits, as offsets in file systems do.
pub fn total_size(sizes: impl IntoIterator<Item = u64>) -> Result<u64> {
    let sum = sizes
        .into_iter()
        .try_fold(0u64, |sum, size| sum.checked_add(size));
    sum.filter(|sum| i64::try_from(*sum).is_ok())
        .ok_or_else(|| Error::format(0, "the sizes of the files add up to more than 2^63 bytes"))
}

struct FileSpan {
    path: PathBuf,
    /// Offset in the logical file.
    start: u64,
    size: u64,
    sums: Checksums,
}

impl FileSpan {
    fn end(&self) -> u64 {
        self.start + self.size
    }

    /// CRC32 of the whole file. An error unless each byte was read exactly once.
    fn crc(&mut self) -> Result<u32> {
        self.sums.crc(self.size).map_err(|at| {
            Error::corrupt(
                self.path.clone(),
                format!("only {at} of {} bytes were read", self.size),
            )
        })
    }
}

/// Reads a rank's files as one file.
pub struct LogicalReader<'a> {
    files: &'a dyn Files,
    parts: Vec<FileSpan>,
    /// Open files with their indices, most recently used last.
    open: Vec<(usize, Box<dyn File>)>,
    size: u64,
    checksum: bool,
    most_open: usize,
    /// Bytes of each block for [`LogicalReader::block_sums`]; 0 if all files are one block.
    chunk: u64,
}

impl<'a> LogicalReader<'a> {
    /// A reader of the files at these paths, of these sizes (bytes), in this order. No file is
    /// opened yet. Without `checksum`, [`LogicalReader::finish`] and [`LogicalReader::verify`] must
    /// not be called.
    pub fn new(files: &'a dyn Files, list: Vec<(PathBuf, u64)>, checksum: bool) -> Result<Self> {
        let size = total_size(list.iter().map(|(_, size)| *size))?;
        let mut start = 0;
        let parts = list.into_iter().map(|(path, size)| {
            let part = FileSpan {
                path,
                start,
                size,
                sums: Checksums::default(),
            };
            start = part.end();
            part
        });
        Ok(LogicalReader {
            files,
            parts: parts.collect(),
            open: Vec::new(),
            size,
            checksum,
            most_open: share_of_open_files(scaled(MAX_OPEN)),
            chunk: 0,
        })
    }

    /// The reader of a member whose blocks have `chunk` bytes, or which is one block (0). No read may go over the end of
    /// a block.
    pub fn with_blocks(mut self, chunk: u64) -> Self {
        self.chunk = chunk;
        self
    }

    /// Limits the number of files that stay open between two reads, for a process with many readers.
    pub fn with_open(mut self, most: usize) -> Self {
        self.most_open = self.most_open.min(most);
        self
    }

    /// Bytes in all files together.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fills `buffer` from `offset`, with zeros after the end. If a file cannot be read, or its
    /// size differs from its record, that is an error, and the content of `buffer` is undefined.
    pub fn read_at(&mut self, offset: u64, mut buffer: &mut [u8]) -> Result<()> {
        let mut offset = offset;
        let mut index = self.parts.partition_point(|p| p.end() <= offset);
        while !buffer.is_empty() {
            let Some(part) = self.parts.get(index) else {
                buffer.fill(0);
                return Ok(());
            };
            let here = part.end().saturating_sub(offset).min(buffer.len() as u64) as usize;
            let (bytes, rest) = buffer.split_at_mut(here);
            if here > 0 {
                let inside = offset - part.start;
                self.handle(index)?.read_at(inside, bytes)?;
                let begins = offset.checked_rem(self.chunk) == Some(0);
                if let Some(part) = self.parts.get_mut(index).filter(|_| self.checksum) {
                    part.sums.add_to_block(inside, bytes, begins);
                }
            }
            offset += here as u64;
            buffer = rest;
            index += 1;
            if self.most_open == 0 {
                self.open.clear();
            }
        }
        Ok(())
    }

    /// The open file `index`. At its first use it is opened and its size is compared.
    fn handle(&mut self, index: usize) -> Result<&dyn File> {
        let slot = if let Some(at) = self.open.iter().rposition(|(i, _)| *i == index) {
            self.open.remove(at)
        } else {
            let part = self
                .parts
                .get(index)
                .ok_or_else(|| Error::format(0, "no such file"))?;
            while self.open.len() >= self.most_open.max(1) {
                self.open.remove(0);
            }
            let file = match self.files.open(&part.path) {
                // Others have taken more than was expected: go on with one.
                Err(error) if error.is_too_many_open() && !self.open.is_empty() => {
                    self.open.clear();
                    self.most_open = 1;
                    self.files.open(&part.path)?
                }
                other => other?,
            };
            same_size(&part.path, file.size()?, part.size)?;
            (index, file)
        };
        self.open.push(slot);
        match self.open.last() {
            Some((_, file)) => Ok(file.as_ref()),
            None => Err(Error::format(0, "no file is open")),
        }
    }

    /// CRC32 of each of the `count` blocks, of the bytes as they were read, with zeros after the end. All must have been
    /// read.
    pub fn block_sums(&mut self, count: usize) -> Vec<u32> {
        let mut sums = vec![(Hasher::new(), 0); count];
        for part in &mut self.parts {
            for (from, length, hasher) in part.sums.segments() {
                let block = (part.start + from).checked_div(self.chunk).unwrap_or(0);
                if let Some((sum, read)) = sums.get_mut(block as usize) {
                    sum.combine(hasher);
                    *read += length;
                }
            }
        }
        let ended = |(mut sum, read): (Hasher, u64)| {
            sum.combine(&zeros(self.chunk.saturating_sub(read)));
            sum.finalize()
        };
        sums.into_iter().map(ended).collect()
    }

    /// CRC32 of each file, after each byte was read exactly once. Also checks that files of size 0
    /// exist.
    pub fn finish(self) -> Result<Vec<u32>> {
        let files = self.files;
        let crc = |mut part: FileSpan| {
            if part.size == 0 {
                check_file(files, &part.path, 0)?;
            }
            part.crc()
        };
        self.parts.into_iter().map(crc).collect()
    }

    /// Reads the bytes that were not read yet, and compares each file with its checksum, if it has
    /// one.
    pub fn verify(mut self, expected: impl IntoIterator<Item = Option<u32>>) -> Result<()> {
        self.read_rest()?;
        let paths: Vec<PathBuf> = self.parts.iter().map(|p| p.path.clone()).collect();
        let mut found = paths.iter().zip(self.finish()?).zip(expected);
        found.try_for_each(|((path, crc), expected)| same_crc(path, crc, expected))
    }

    /// Reads each byte that was not read yet.
    pub fn read_rest(&mut self) -> Result<()> {
        let mut buffer = PageBuffer::default();
        for index in 0..self.parts.len() {
            let part = self.parts.get_mut(index);
            let (start, gaps) = part.map_or((0, Vec::new()), |p| (p.start, p.sums.gaps(p.size)));
            for (at, length) in gaps {
                if self.sum_in_place(index, at, length)? {
                    continue;
                }
                for (offset, length) in pipeline::pieces(length, BLOCK) {
                    self.read_at(start + at + offset, buffer.get(length))?;
                }
            }
        }
        Ok(())
    }

    /// Takes the checksum of bytes of file `index` where they lie. False if they must be read for that.
    fn sum_in_place(&mut self, index: usize, at: u64, length: u64) -> Result<bool> {
        if !self.checksum || self.chunk > 0 {
            return Ok(false);
        }
        let mut sum = Hasher::new();
        let file = self.handle(index)?;
        let shown = file.show(at..at + length, SHOWN, &mut |bytes| sum.update(bytes))?;
        if self.most_open == 0 {
            self.open.clear();
        }
        if !shown {
            return Ok(false);
        }
        if let Some(part) = self.parts.get_mut(index) {
            part.sums.add_summed(at, length, sum);
        }
        Ok(true)
    }
}

/// Returns an error unless `path` is a regular file of `size` bytes.
pub fn check_file(files: &dyn Files, path: &std::path::Path, size: u64) -> Result<()> {
    match files.stat(path)? {
        Some(stat) if stat.kind == crate::store::FileKind::File => same_size(path, stat.size, size),
        Some(_) => Err(Error::corrupt(path, "not a regular file")),
        None => {
            let missing = std::io::Error::from_raw_os_error(libc::ENOENT);
            Err(Error::io("find", path, missing))
        }
    }
}

fn same_size(path: &std::path::Path, found: u64, expected: u64) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let what = format!("has {found} bytes, its record says {expected}");
    Err(Error::corrupt(path, what))
}

/// A file that a [`LogicalWriter`] writes.
pub struct FileToWrite {
    /// The path of the file, whose directory exists.
    pub path: PathBuf,
    /// Expected CRC32, if known.
    pub crc: Option<u32>,
    /// Size, mode, owner and times of the written file.
    pub stat: Stat,
}

/// Writes a rank's files from their logical file, front to back, and verifies each.
pub struct LogicalWriter<'a> {
    files: &'a dyn Files,
    targets: std::vec::IntoIter<FileToWrite>,
    current: Option<(FileToWrite, Box<dyn File>, u64, Hasher)>,
}

impl<'a> LogicalWriter<'a> {
    /// A writer; it creates the files as their bytes come.
    pub fn new(files: &'a dyn Files, targets: Vec<FileToWrite>) -> Self {
        LogicalWriter {
            files,
            targets: targets.into_iter(),
            current: None,
        }
    }

    /// Writes the next bytes. Bytes after the last file are padding and are dropped.
    ///
    /// Each file replaces any file or link at its path. After its last byte, its checksum is
    /// compared, and its mode and times are set.
    pub fn append(&mut self, mut data: &[u8]) -> Result<()> {
        loop {
            let Some((target, file, at, hasher)) = &mut self.current else {
                if !self.next()? {
                    return Ok(());
                }
                continue;
            };
            let missing = target.stat.size - *at;
            if missing > 0 && data.is_empty() {
                return Ok(());
            }
            let (here, rest) = data.split_at(missing.min(data.len() as u64) as usize);
            if !here.is_empty() {
                write_with_holes(&**file, *at, here)?;
                hasher.update(here);
                *at += here.len() as u64;
            }
            data = rest;
            if *at == target.stat.size {
                self.close()?;
            }
        }
    }

    /// Creates the remaining files of size 0. An error if bytes are missing.
    pub fn finish(mut self) -> Result<()> {
        self.append(&[])?;
        match &self.current {
            Some((target, _, at, _)) => same_size(&target.path, *at, target.stat.size),
            None => Ok(()),
        }
    }

    fn next(&mut self) -> Result<bool> {
        let Some(target) = self.targets.next() else {
            return Ok(false);
        };
        self.files.remove_file(&target.path)?;
        let file = self.files.create(&target.path, 0o600)?;
        // No space is reserved: the file may have holes.
        self.current = Some((target, file, 0, Hasher::new()));
        Ok(true)
    }

    fn close(&mut self) -> Result<()> {
        let Some((target, file, _, hasher)) = self.current.take() else {
            return Ok(());
        };
        let whole = reach(&*file, target.stat.size);
        drop(file);
        whole
            .and_then(|()| same_crc(&target.path, hasher.finalize(), target.crc))
            .and_then(|()| self.files.restore(&target.path, &target.stat).map(drop))
            .inspect_err(|_| {
                let _ = self.files.remove_file(&target.path);
            })
    }
}

/// A file that is not whole does not stay: it would be in the way where the prefix directory is to get it.
impl Drop for LogicalWriter<'_> {
    fn drop(&mut self) {
        if let Some((target, file, ..)) = self.current.take() {
            drop(file);
            // The error that ended the rebuild is reported.
            let _ = self.files.remove_file(&target.path);
        }
    }
}

/// Returns an error if `expected` is known and differs from `found`.
pub fn same_crc(path: &std::path::Path, found: u32, expected: Option<u32>) -> Result<()> {
    match expected {
        Some(expected) if expected != found => {
            let what = format!("CRC32 is 0x{found:08x}, its record says 0x{expected:08x}");
            Err(Error::corrupt(path, what))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faulty::Faulty;
    use crate::store::posix::Posix;
    use std::path::Path;

    fn write(dir: &Path, sizes: &[usize]) -> (Vec<(PathBuf, u64)>, Vec<u8>) {
        let mut whole = Vec::new();
        let list = sizes.iter().enumerate().map(|(i, size)| {
            let path = dir.join(format!("f{i}"));
            let bytes: Vec<u8> = (0..*size)
                .map(|at| (at * 31 + i * 7 + at / 256) as u8)
                .collect();
            std::fs::write(&path, &bytes).unwrap();
            whole.extend_from_slice(&bytes);
            (path, *size as u64)
        });
        (list.collect(), whole)
    }

    /// The rest of the process may have all files open that the system allows.
    #[test]
    fn goes_on_with_one_file_where_the_system_opens_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let (list, whole) = write(dir.path(), &[10; 6]);
        let files = Faulty::new(Posix);
        let mut reader = LogicalReader::new(&files, list, false).unwrap();
        let mut found = vec![0; 60];
        let (before, after) = found.split_at_mut(30);
        reader.read_at(0, before).unwrap();
        assert_eq!(reader.open.len(), 3);
        files.faults().fail_read_at(1, libc::EMFILE, 1);
        reader.read_at(30, after).unwrap();
        assert_eq!(reader.open.len(), 1);
        assert_eq!(found, whole);
    }

    #[test]
    fn reads_as_one_file_with_zeros_behind() {
        let dir = tempfile::tempdir().unwrap();
        let (list, mut whole) = write(dir.path(), &[0, 5, 0, 0, 300, 1, 0]);
        whole.resize(400, 0);
        let mut reader = LogicalReader::new(&Posix, list, false).unwrap();
        assert_eq!(reader.size(), 306);
        for offset in 0..320 {
            for length in [0, 1, 6, 79] {
                let mut buffer = vec![0xee; length];
                reader.read_at(offset as u64, &mut buffer).unwrap();
                assert_eq!(
                    buffer,
                    whole[offset..offset + length],
                    "{length} from {offset}"
                );
            }
        }
        let mut buffer = [1; 3];
        reader.read_at(u64::MAX - 1, &mut buffer).unwrap();
        assert_eq!(buffer, [0; 3]);
    }

    /// Reads as an encode of eight members does: seven streams, a window of pieces of each in turn.
    #[test]
    fn checksums_of_thousands_of_files_in_interleaved_streams() {
        let dir = tempfile::tempdir().unwrap();
        let mut sizes = vec![7usize; 3000];
        sizes.extend([40_000, 0, 1]);
        let (list, whole) = write(dir.path(), &sizes);
        let mut reader = LogicalReader::new(&Posix, list.clone(), true).unwrap();
        let (streams, piece) = (7, 500);
        let chunk = whole.len().div_ceil(streams);
        let mut buffer = vec![0; piece];
        for start in (0..chunk).step_by(piece) {
            for stream in (0..streams).rev() {
                let length = piece.min(chunk - start);
                let place = (stream * chunk + start) as u64;
                reader.read_at(place, &mut buffer[..length]).unwrap();
                assert!(reader.open.len() <= MAX_OPEN);
            }
        }
        let sums = reader.finish().unwrap();
        for ((path, _), crc) in list.iter().zip(sums) {
            assert_eq!(
                crc,
                crc32fast::hash(&std::fs::read(path).unwrap()),
                "{path:?}"
            );
        }
    }

    #[test]
    fn no_more_files_are_kept_open_than_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let (list, whole) = write(dir.path(), &[3; 40]);
        for (asked, most) in [(0, 0), (5, 5), (1000, MAX_OPEN)] {
            let mut reader = LogicalReader::new(&Posix, list.clone(), false).unwrap();
            reader = reader.with_open(asked);
            let mut buffer = vec![0; whole.len()];
            reader.read_at(0, &mut buffer).unwrap();
            assert_eq!((reader.open.len(), &buffer), (most, &whole));
        }
    }

    #[test]
    fn files_that_differ_from_their_record_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let (list, _) = write(dir.path(), &[10, 0]);
        let read = |list: Vec<(PathBuf, u64)>, bytes: usize| {
            let mut reader = LogicalReader::new(&Posix, list, true).unwrap();
            reader.read_at(0, &mut vec![0; bytes])?;
            reader.finish()
        };
        assert!(read(list.clone(), 10).is_ok());
        let short = read(list.clone(), 9).unwrap_err().to_string();
        assert!(short.contains("only 9 of 10"), "{short}");
        let mut other = list.clone();
        other[0].1 = 11;
        let text = read(other, 11).unwrap_err().to_string();
        assert!(text.contains("has 10 bytes, its record says 11"), "{text}");
        std::fs::write(&list[1].0, b"x").unwrap();
        assert!(
            read(list.clone(), 10)
                .unwrap_err()
                .to_string()
                .contains("f1")
        );
        std::fs::remove_file(&list[1].0).unwrap();
        assert!(read(list.clone(), 10).unwrap_err().is_not_found());
        let huge = vec![(PathBuf::from("/a"), u64::MAX), (PathBuf::from("/b"), 2)];
        assert!(LogicalReader::new(&Posix, huge, true).is_err());
    }

    #[test]
    fn a_writer_refuses_what_does_not_match_its_checksum() {
        let dir = tempfile::tempdir().unwrap();
        let (list, whole) = write(dir.path(), &[4, 0, 3]);
        let stats: Vec<Stat> = list
            .iter()
            .map(|(path, _)| Posix.stat(path).unwrap().unwrap())
            .collect();
        let targets = |wrong: bool| {
            let crc = |i: usize| crc32fast::hash([&whole[..4], &[], &whole[4..]][i]);
            let target = |i: usize| FileToWrite {
                path: list[i].0.clone(),
                crc: Some(crc(i) ^ u32::from(wrong && i == 2)),
                stat: stats[i],
            };
            (0..3).map(target).collect::<Vec<_>>()
        };
        for piece in 1..9 {
            let mut writer = LogicalWriter::new(&Posix, targets(false));
            let padded = [&whole[..], &[0; 5]].concat();
            padded
                .chunks(piece)
                .try_for_each(|bytes| writer.append(bytes))
                .unwrap();
            writer.finish().unwrap();
            assert_eq!(std::fs::read(&list[2].0).unwrap(), whole[4..]);
            assert_eq!(
                Posix.stat(&list[0].0).unwrap().unwrap().mtime,
                stats[0].mtime
            );
        }
        let mut writer = LogicalWriter::new(&Posix, targets(true));
        let text = writer.append(&whole).unwrap_err().to_string();
        assert!(text.contains("f2: CRC32"), "{text}");
        assert!(!list[2].0.exists());
        let mut writer = LogicalWriter::new(&Posix, targets(false));
        writer.append(&whole[..6]).unwrap();
        assert!(writer.finish().is_err());
        // A file that is not whole is removed.
        assert!(list[0].0.exists() && !list[2].0.exists());
    }
}
