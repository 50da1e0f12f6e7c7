//! Copies files, and computes their checksums in the same pass.

use crate::store::{File, Files};
use crate::{Error, Result};
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
                format!("has {} bytes, {} were recorded", self.size, recorded.size),
            ));
        }
        match (self.crc, recorded.crc) {
            (Some(found), Some(wanted)) if found != wanted => Err(Error::corrupt(
                path,
                format!("has CRC32 0x{found:08x}, 0x{wanted:08x} was recorded"),
            )),
            _ => Ok(()),
        }
    }
}

/// How a file is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyMode {
    /// Take the checksum of the content. It is also taken if one is recorded.
    pub crc: bool,
    /// Sync the file. Otherwise the caller syncs the file system when all files are copied.
    pub sync: bool,
}

/// Copies files one after the other, through one buffer.
pub struct Copier<'a> {
    files: &'a dyn Files,
    buffer: Vec<u8>,
    after_piece: &'a dyn Fn(u64) -> Result<()>,
}

impl<'a> Copier<'a> {
    /// With a buffer of `buffer` bytes, the most that is read or written in one step.
    pub fn new(files: &'a dyn Files, buffer: usize) -> Self {
        Copier {
            files,
            buffer: vec![0; buffer.max(1)],
            after_piece: &|_| Ok(()),
        }
    }

    /// Calls `after_piece` with the number of bytes after each piece of a file, so that it can limit
    /// the rate, report progress, or cancel: its error ends the copy.
    pub fn watched(self, after_piece: &'a dyn Fn(u64) -> Result<()>) -> Self {
        Copier {
            after_piece,
            ..self
        }
    }

    /// Copies `from` over `to` (mode 0666 less the umask). The directory of `to` must exist. If the
    /// content differs from `recorded`, this is an error. After an error `to` is removed. The
    /// returned checksum is `None` if none was asked for and none recorded. Local.
    pub fn copy(
        &mut self,
        from: &Path,
        to: &Path,
        recorded: Option<&Content>,
        mode: CopyMode,
    ) -> Result<Content> {
        let source = self.files.open(from)?;
        let target = self.files.create(to, 0o666)?;
        let crc = mode.crc || recorded.is_some_and(|recorded| recorded.crc.is_some());
        let done = target
            .allocate(source.size()?)
            .and_then(|()| self.pass(&*source, Some(&*target), crc))
            .and_then(|found| match recorded {
                Some(recorded) => found.check(recorded, from).map(|()| found),
                None => Ok(found),
            })
            .and_then(|found| match mode.sync {
                true => target.sync().map(|()| found),
                false => Ok(found),
            });
        if done.is_err() {
            // The first error is reported.
            let _ = self.files.remove_file(to);
        }
        done
    }

    /// Size and checksum of a file, which is read once. Local.
    pub fn checksum(&mut self, path: &Path) -> Result<Content> {
        let source = self.files.open(path)?;
        self.pass(&*source, None, true)
    }

    fn pass(&mut self, source: &dyn File, target: Option<&dyn File>, crc: bool) -> Result<Content> {
        let size = source.size()?;
        let mut hasher = crc32fast::Hasher::new();
        let mut offset = 0;
        while offset < size {
            let n = (size - offset).min(self.buffer.len() as u64) as usize;
            let piece = &mut self.buffer[..n];
            source.read_at(offset, piece)?;
            if crc {
                hasher.update(piece);
            }
            if let Some(target) = target {
                target.write_at(offset, piece)?;
            }
            offset += n as u64;
            (self.after_piece)(n as u64)?;
        }
        Ok(Content {
            size,
            crc: crc.then(|| hasher.finalize()),
        })
    }
}
