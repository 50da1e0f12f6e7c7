//! Writes files into containers.

use super::{Numbering, file_name, segments};
use crate::Result;
use crate::format::rank2file::Segment;
use crate::store::{File, Files, private_mode_in, reach, write_with_holes};
use crate::transfer::copy::{Content, Copier};
use std::path::{Path, PathBuf};

/// Writes files one after another into containers, from a place in the sequence of all bytes on. Several
/// writers may have parts of one container. Nobody must read it before all have finished.
pub struct Writer<'a> {
    files: &'a dyn Files,
    dir: PathBuf,
    size: u64,
    /// Offset of the next byte in the sequence of all bytes.
    at: u64,
    numbering: Numbering,
    /// The container that was written last.
    open: Option<(String, Box<dyn File>)>,
    /// The mode of new containers, since files in them may be private; `None` until the first one is made.
    mode: Option<u32>,
}

impl<'a> Writer<'a> {
    /// A writer into containers of `size` bytes (at least 1) in `dir`, which must exist.
    pub fn new(files: &'a dyn Files, dir: &Path, size: u64, begin: u64) -> Self {
        Writer {
            files,
            dir: dir.to_path_buf(),
            size: size.max(1),
            at: begin,
            numbering: Numbering::ALL,
            open: None,
            mode: None,
        }
    }

    /// Fills containers of these numbers.
    #[must_use]
    pub fn numbered(self, numbering: Numbering) -> Self {
        Writer { numbering, ..self }
    }

    /// Writes the file at `from`, in the pieces of `copier`. Takes its checksum in the same pass if `crc`
    /// is true or one is recorded. Returns the size and checksum, and the place of the file.
    ///
    /// # Errors
    /// The file differs from `recorded`. If its size is not, nothing was written.
    pub fn append(
        &mut self,
        copier: &mut Copier,
        from: &Path,
        recorded: &Content,
        crc: bool,
    ) -> Result<(Content, Vec<Segment>)> {
        let segments = segments(self.at, recorded.size, self.size, self.numbering);
        let last = self.at.saturating_add(recorded.size);
        let found = copier.read(from, recorded, crc, |mut piece| {
            while !piece.is_empty() {
                let (at, room_end) = (self.at, self.size);
                let (number, offset) = (at / room_end, at % room_end);
                let room = usize::try_from(self.size - offset).unwrap_or(usize::MAX);
                let (now, rest) = piece.split_at(room.min(piece.len()));
                let container = self.container(number)?;
                write_with_holes(container, offset, now)?;
                let end = offset + now.len() as u64;
                if end == room_end || at + now.len() as u64 == last {
                    reach(container, end)?;
                }
                self.at += now.len() as u64;
                piece = rest;
            }
            Ok(())
        })?;
        Ok((found, segments))
    }

    /// The container at this place in the sequence. The first process that needs the container
    /// makes it.
    fn container(&mut self, place: u64) -> Result<&dyn File> {
        let name = file_name(self.numbering.number(place));
        let open = match self.open.take() {
            Some((open, file)) if open == name => (open, file),
            other => {
                if let Some((_, full)) = other {
                    full.sync()?;
                }
                let mode = match self.mode {
                    Some(mode) => mode,
                    None => *self.mode.insert(private_mode_in(self.files, &self.dir)?),
                };
                let file = self.files.rewrite(&self.dir.join(&name), mode)?;
                (name, file)
            }
        };
        Ok(&*self.open.insert(open).1)
    }

    /// Syncs the written bytes. More may follow.
    pub fn sync(&mut self) -> Result<()> {
        match self.open.take() {
            Some((_, file)) => {
                file.sync()?;
                self.files.sync_dir(&self.dir)
            }
            None => Ok(()),
        }
    }
}
