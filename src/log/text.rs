//! The log as a text file.

use super::files::rotate;
use super::{Destination, NotWritten, Origin, Record};
use crate::store::{Files, private_mode_in};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file to which lines are appended. A missing file is made, for its owner alone, as by SCR v3.1.0. In a directory
/// that people share (setgid) they share the file, too: the runs of all these people write to it.
///
/// Each record is one system call on a file that was opened for appending. So lines of several processes
/// do not mix, and a log that was moved away is made again. A large one is renamed; see
/// [`files`](super::files).
pub struct TextFile {
    files: Arc<dyn Files>,
    path: PathBuf,
    /// The mode of the file when it is made; `None` until the first record.
    mode: Option<u32>,
    /// The last line may lack its end.
    torn: bool,
    /// The size at which the file is renamed, bytes; 0 for no limit.
    most: u64,
}

impl TextFile {
    /// The log of a prefix directory, with files of `most` bytes; 0 for no limit. Below the directory no
    /// link is followed.
    pub fn new(files: &dyn Files, origin: &Origin, most: u64) -> Self {
        TextFile {
            files: files.beneath(std::slice::from_ref(&origin.prefix)),
            path: origin.file.clone(),
            mode: None,
            torn: false,
            most,
        }
    }

    fn mode(&mut self) -> u32 {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let here = || private_mode_in(&*self.files, dir).unwrap_or(0o600);
        *self.mode.get_or_insert_with(here)
    }
}

impl Destination for TextFile {
    fn name(&self) -> String {
        format!("the event log {}", self.path.display())
    }

    fn write(&mut self, record: &Record) -> Result<(), NotWritten> {
        let end = if self.torn { "\n" } else { "" };
        let line = format!("{end}{record}\n");
        let mode = self.mode();
        let written = self.files.append(&self.path, mode, line.as_bytes());
        // A full file system may take the beginning of a line.
        self.torn = written.as_ref().is_err_and(crate::Error::is_full);
        let size = written.map_err(NotWritten::Now)?;
        if self.most > 0
            && size >= self.most
            && rotate(&*self.files, &self.path, self.most).is_err()
        {
            // A log that is too long is better than no log, and each attempt takes time.
            self.most = 0;
        }
        Ok(())
    }
}

/// A log in the real file system.
#[cfg(test)]
pub fn text_file(origin: &Origin, most: u64) -> TextFile {
    TextFile::new(&crate::store::posix::Posix, origin, most)
}

#[cfg(test)]
impl TextFile {
    /// Sets the state after a write for which the file system had not enough room.
    pub fn mark_torn(&mut self) {
        self.torn = true;
    }
}
