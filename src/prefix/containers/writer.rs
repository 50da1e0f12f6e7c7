//! Writes files into containers.

use super::{file_name, segments};
use crate::Result;
use crate::format::rank2file::Segment;
use crate::store::{File, Files};
use crate::transfer::copy::Content;
use std::path::{Path, PathBuf};

/// Writes files one after another into containers, from a place in the sequence of all bytes on. Several
/// writers may have parts of one container. Nobody must read it before all have finished.
pub struct Writer<'a> {
    files: &'a dyn Files,
    dir: PathBuf,
    size: u64,
    /// Where the next byte goes in the sequence of all bytes.
    at: u64,
    /// The container that was written last.
    open: Option<(String, Box<dyn File>)>,
}

impl<'a> Writer<'a> {
    /// A writer into containers of `size` bytes (at least 1) in `dir`, which must exist.
    pub fn new(files: &'a dyn Files, dir: &Path, size: u64, begin: u64) -> Self {
        Writer {
            files,
            dir: dir.to_path_buf(),
            size: size.max(1),
            at: begin,
            open: None,
        }
    }

    /// Writes the file at `from`. Takes its checksum in the same pass if `crc` is true or one is
    /// recorded. Gives what was found, and where it is now.
    ///
    /// # Errors
    /// It is not as `recorded`. If its size is not, nothing was written.
    pub fn append(
        &mut self,
        from: &Path,
        recorded: &Content,
        crc: bool,
        buffer: &mut [u8],
    ) -> Result<(Content, Vec<Segment>)> {
        let source = self.files.open(from)?;
        let size = source.size()?;
        // Bytes beyond the recorded size would be over those of the next file.
        Content { size, crc: None }.check(recorded, from)?;
        let crc = crc || recorded.crc.is_some();
        let segments = segments(self.at, size, self.size);
        let mut hasher = crc32fast::Hasher::new();
        let mut read = 0;
        for segment in &segments {
            let container = self.container(self.at / self.size)?;
            let mut done = 0;
            while done < segment.length {
                let n = (segment.length - done).min(buffer.len() as u64) as usize;
                let piece = &mut buffer[..n];
                source.read_at(read, piece)?;
                if crc {
                    hasher.update(piece);
                }
                container.write_at(segment.offset + done, piece)?;
                (done, read) = (done + n as u64, read + n as u64);
            }
            self.at += segment.length;
        }
        let crc = crc.then(|| hasher.finalize());
        let found = Content { size, crc };
        found.check(recorded, from)?;
        Ok((found, segments))
    }

    /// The container of this number. The first process that needs it makes it. Only the user can read it, since the
    /// files in it may be private.
    fn container(&mut self, number: u64) -> Result<&dyn File> {
        let name = file_name(number);
        let open = match self.open.take() {
            Some((open, file)) if open == name => (open, file),
            other => {
                if let Some((_, full)) = other {
                    full.sync()?;
                }
                let file = self.files.rewrite(&self.dir.join(&name), 0o600)?;
                (name, file)
            }
        };
        Ok(&*self.open.insert(open).1)
    }

    /// Syncs what was written.
    pub fn finish(self) -> Result<()> {
        match self.open {
            Some((_, file)) => {
                file.sync()?;
                self.files.sync_dir(&self.dir)
            }
            None => Ok(()),
        }
    }
}
