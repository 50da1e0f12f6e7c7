//! Copies files, and computes their checksums in the same pass.

use crate::messages::{WRONG_CHECKSUM, WRONG_SIZE};
use crate::store::{File, FileKind, Files, Stat};
use crate::system::size::scaled;
use crate::{Error, Result};
use crc32fast::Hasher;
use std::path::Path;

/// Recorded or measured content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// Size, bytes.
    pub size: u64,
    /// CRC32 (zlib, IEEE 802.3), if recorded.
    pub crc: Option<u32>,
}

impl Content {
    /// Compares with what was `recorded` for the file at `path`.
    ///
    /// # Errors
    /// [`Error::Corrupt`], with both values.
    pub fn check(&self, recorded: &Content, path: &Path) -> Result<()> {
        if self.size != recorded.size {
            return Err(Error::corrupt(
                path,
                format!(
                    "has {} bytes, {} were recorded ({WRONG_SIZE})",
                    self.size, recorded.size
                ),
            ));
        }
        match (self.crc, recorded.crc) {
            (Some(found), Some(wanted)) if found != wanted => Err(Error::corrupt(
                path,
                format!("has CRC32 0x{found:08x}, 0x{wanted:08x} was recorded ({WRONG_CHECKSUM})"),
            )),
            _ => Ok(()),
        }
    }
}

/// The way in which a file is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyMode {
    /// Take the checksum of the content. Even if false, the checksum is taken when there is a recorded one to compare
    /// it with.
    pub crc: bool,
    /// Sync the file. If false, the caller syncs the file system when all files are copied.
    pub sync: bool,
}

/// The most that is read or written in one step, whatever the buffer: larger pieces leave the
/// processor's cache between reading, checksum and writing.
pub const PIECE: usize = 1 << 20;

/// Number of bytes of a file that are written before their way to the disk begins.
const WRITE_BEHIND: usize = 8 << 20;

/// Copies files one after the other, through one buffer.
pub struct Copier<'a> {
    files: &'a dyn Files,
    buffer: Vec<u8>,
    /// The most that the buffer may hold, bytes.
    most: usize,
    after_piece: &'a dyn Fn(u64) -> Result<()>,
    targets: &'a dyn TargetWatch,
}

/// Decides about each file that is copied.
pub trait TargetWatch {
    /// Called before the copy of `from` is created, or replaces a file. An error of this call ends the copy, and
    /// the present file stays as it is.
    fn begin(&self, from: &Path) -> Result<()>;

    /// Called when the target is open, and still has its old content. An error of this call ends the copy, and
    /// the present file stays as it is.
    fn opened(&self) -> Result<()>;

    /// True if a file whose copy has failed must stay, since it may be another's now.
    fn keeps_failed(&self) -> bool;

    /// Writes the record that is to be at `path`, by `write`, which gets the path that it writes to. After an
    /// error of it the present file stays as it is.
    fn record(&self, path: &Path, write: &dyn Fn(&Path) -> Result<()>) -> Result<()>;
}

/// Every file is copied, and a file whose copy has failed is removed.
impl TargetWatch for () {
    fn begin(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn opened(&self) -> Result<()> {
        Ok(())
    }

    fn keeps_failed(&self) -> bool {
        false
    }

    fn record(&self, path: &Path, write: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
        write(path)
    }
}

/// The first bytes of a buffer, which grows if it is shorter: most files are small.
fn room(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    &mut buffer[..length]
}

impl<'a> Copier<'a> {
    /// A copier with a buffer of `buffer` bytes, the most that is read or written in one step.
    pub fn new(files: &'a dyn Files, buffer: usize) -> Self {
        Copier {
            files,
            buffer: Vec::new(),
            most: buffer.clamp(1, scaled(PIECE)),
            after_piece: &|_| Ok(()),
            targets: &(),
        }
    }

    /// Calls `after_piece` with the number of bytes after each piece of a file, so that it can limit
    /// the rate, report progress, or cancel: its error ends the copy. Holes do not count.
    pub fn watched(self, after_piece: &'a dyn Fn(u64) -> Result<()>) -> Self {
        Copier {
            after_piece,
            ..self
        }
    }

    /// Asks `targets` before each file.
    pub fn deciding(self, targets: &'a dyn TargetWatch) -> Self {
        Copier { targets, ..self }
    }

    /// The watch that decides about the files and their records.
    pub fn targets(&self) -> &'a dyn TargetWatch {
        self.targets
    }

    /// Copies `from` to a new file `to` (mode 0666 less the umask), in place of one that is there. The directory of
    /// `to` must exist. Holes stay holes. If the content differs from `recorded`, this is an error. After an error `to`
    /// is removed. The returned checksum is `None` if it was neither asked for nor recorded. Local.
    pub fn copy(
        &mut self,
        from: &Path,
        to: &Path,
        recorded: Option<&Content>,
        mode: CopyMode,
    ) -> Result<Content> {
        self.copy_with(from, to, recorded, mode, None)
    }

    /// Copies, then gives `to` the mode, owner and times of `attributes`, as far as permitted, after
    /// it was synced.
    pub fn copy_with(
        &mut self,
        from: &Path,
        to: &Path,
        recorded: Option<&Content>,
        mode: CopyMode,
        attributes: Option<&Stat>,
    ) -> Result<Content> {
        let source = self.files.open(from)?;
        let there = self.files.stat(to)?;
        // The watch is asked after `stat`. If this process was stopped in between, the present file may belong to another
        // process.
        self.targets.begin(from)?;
        // The final mode, with write permission: if this copy is killed, another one can write over the file.
        let permissions = attributes.map_or(0o666, |stat| stat.mode & 0o777 | 0o600);
        // If the target exists, another process that was stopped may still have it open, and write to it later.
        if there.is_some_and(|stat| stat.kind == FileKind::File) {
            self.files.remove_file(to)?;
        }
        // If this process was stopped until now, the file may be another's.
        let target = self.files.rewrite(to, permissions)?;
        self.targets.opened()?;
        if target.size()? > 0 {
            target.set_size(0)?;
        }
        let mode = CopyMode {
            crc: mode.crc || recorded.is_some_and(|recorded| recorded.crc.is_some()),
            ..mode
        };
        let done = self
            .pass(from, &*source, Some(&*target), mode)
            .and_then(|found| match recorded {
                Some(recorded) => found.check(recorded, from).map(|()| found),
                None => Ok(found),
            })
            .and_then(|found| {
                if mode.sync {
                    target.sync().map(|()| found)
                } else {
                    Ok(found)
                }
            })
            .and_then(|found| match attributes {
                Some(stat) => target.restore(stat).map(|_| found),
                None => Ok(found),
            });
        if done.is_err() && !self.targets.keeps_failed() {
            // The first error is reported.
            let _ = self.files.remove_file(to);
        }
        done
    }

    /// Size and checksum of a file, which is read once. Local.
    pub fn checksum(&mut self, path: &Path) -> Result<Content> {
        let source = self.files.open(path)?;
        let (crc, sync) = (true, false);
        self.pass(path, &*source, None, CopyMode { crc, sync })
    }

    /// Reads the file at `from` in order, holes as zeros, and gives each piece to `take`, which copies it. Takes its
    /// checksum in the same pass if `crc` is true or one is recorded. Local.
    ///
    /// # Errors
    /// The content differs from `recorded`. If its size is not, nothing was read.
    pub fn read(
        &mut self,
        from: &Path,
        recorded: &Content,
        crc: bool,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Content> {
        let source = self.files.open(from)?;
        self.targets.begin(from)?;
        let size = source.size()?;
        Content { size, crc: None }.check(recorded, from)?;
        let mut hasher = (crc || recorded.crc.is_some()).then(Hasher::new);
        let mut offset = 0;
        while offset < size {
            let length = (size - offset).min(self.most as u64);
            let piece = room(&mut self.buffer, length as usize);
            source.read_at(offset, piece)?;
            if let Some(hasher) = &mut hasher {
                hasher.update(piece);
            }
            take(piece)?;
            (self.after_piece)(length)?;
            offset += length;
        }
        let crc = hasher.map(Hasher::finalize);
        let found = Content { size, crc };
        found.check(recorded, from).map(|()| found)
    }

    /// Goes once through the file at `path`: takes its checksum, if `crc`, and copies it to `target`,
    /// if given. With `sync` its way to the disk begins meanwhile.
    fn pass(
        &mut self,
        path: &Path,
        source: &dyn File,
        target: Option<&dyn File>,
        CopyMode { crc, sync }: CopyMode,
    ) -> Result<Content> {
        let size = source.size()?;
        let mut run = source.data_from(0)?;
        if let Some(target) = target
            && !reserve(target, size, run != Some(0..size))?
        {
            run = Some(0..size);
        }
        let mut sum = crc.then(Sum::default);
        let mut kernel = target.filter(|_| !crc);
        let (mut offset, mut started) = (0, 0);
        while let Some(data) = run {
            offset = data.start.max(offset);
            let last = data.end.min(size);
            while offset < last {
                let end = last.min(offset + self.most as u64);
                match kernel {
                    Some(target) => {
                        if !target.copy_from(source, offset..end)? {
                            kernel = None;
                            continue;
                        }
                    }
                    None => {
                        let piece = room(&mut self.buffer, (end - offset) as usize);
                        source.read_at(offset, piece)?;
                        if let Some(sum) = &mut sum {
                            sum.add(offset, piece);
                        }
                        if let Some(target) = target {
                            target.write_at(offset, piece)?;
                        }
                    }
                }
                (self.after_piece)(end - offset)?;
                offset = end;
                let begins = sync && end - started >= scaled(WRITE_BEHIND) as u64;
                if let Some(target) = target.filter(|_| begins) {
                    target.start_sync(started..end)?;
                    started = end;
                }
            }
            run = if offset < size {
                source.data_from(offset)?
            } else {
                None
            };
        }
        check_unchanged(path, source, size)?;
        Ok(Content {
            size,
            crc: sum.map(|sum| sum.finish(size)),
        })
    }
}

/// Returns an error if the size of a file has changed since it was opened.
fn check_unchanged(path: &Path, source: &dyn File, size: u64) -> Result<()> {
    let now = source.size()?;
    if now == size {
        return Ok(());
    }
    let what = format!("had {size} bytes when it was opened, and {now} when it was read");
    Err(Error::corrupt(path, what))
}

/// Gives a new file its size, and space on the disk unless it gets holes. False if it cannot have the holes of the
/// source: then all bytes are written, one after the other.
fn reserve(target: &dyn File, size: u64, has_holes: bool) -> Result<bool> {
    match has_holes {
        true => Ok(target.set_size(size).is_ok()),
        // A small file is written in one step, which also notices a full disk.
        false if size <= scaled(PIECE) as u64 => Ok(true),
        false => target.allocate(size).map(|()| true),
    }
}

/// The checksum of a file that is read in order, except for its holes.
#[derive(Default)]
struct Sum {
    hasher: Hasher,
    size: u64,
}

impl Sum {
    /// Adds `data` at `offset`. Only zeros lie between these data and the bytes that were added before.
    fn add(&mut self, offset: u64, data: &[u8]) {
        self.zeros(offset);
        self.hasher.update(data);
        self.size = offset.saturating_add(data.len() as u64);
    }

    /// Adds zeros up to `end`, in a number of steps that grows with the logarithm of their number.
    fn zeros(&mut self, end: u64) {
        let mut missing = end.saturating_sub(self.size);
        self.size = self.size.max(end);
        let mut zeros = Hasher::new();
        zeros.update(&[0]);
        while missing > 0 {
            if missing & 1 == 1 {
                self.hasher.combine(&zeros);
            }
            zeros.combine(&zeros.clone());
            missing >>= 1;
        }
    }

    fn finish(mut self, size: u64) -> u32 {
        self.zeros(size);
        self.hasher.finalize()
    }
}

#[cfg(test)]
#[path = "copy_tests.rs"]
mod tests;
