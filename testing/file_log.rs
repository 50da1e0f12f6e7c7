//! Notes each operation on files, with its path: which rank uses which file how often.

use crate::system::sync::{Mutex, MutexGuard};
use scr_jobs::tally::Observer;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// An operation of a [`CountingFiles`](scr_jobs::tally::CountingFiles).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileUse {
    /// The path of the file; of a rename, the new path.
    pub path: PathBuf,
    /// The name of the operation, as in [`FileTally`](scr_jobs::tally::FileTally); "bytes read" or "bytes written" for a
    /// number of bytes.
    pub operation: &'static str,
    /// Number of operations, or of bytes.
    pub count: u64,
}

/// The operations on an observed file system, in their order.
#[derive(Debug, Clone, Default)]
pub struct FileLog(Arc<Mutex<Vec<FileUse>>>);

impl FileLog {
    /// The operations since the last call.
    pub fn take(&self) -> Vec<FileUse> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<FileUse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, operation: &'static str, path: &Path, count: u64) {
        let path = path.to_path_buf();
        self.lock().push(FileUse {
            path,
            operation,
            count,
        });
    }
}

impl Observer for FileLog {
    fn operation(&self, operation: &'static str, path: &Path, times: u64) {
        self.note(operation, path, times);
    }

    fn read(&self, path: &Path, bytes: u64) {
        self.note("bytes read", path, bytes);
    }

    fn written(&self, path: &Path, bytes: u64) {
        self.note("bytes written", path, bytes);
    }
}
