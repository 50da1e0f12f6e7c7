//! Reads that fail on purpose: the reads of a chosen file, or the n-th read.

use super::{Faults, injected};
use crate::Result;
use std::path::{Path, PathBuf};

/// A path that cannot be read, the errno, and the number of reads that still fail.
type Unreadable = (PathBuf, i32, u64);

#[derive(Debug, Default)]
pub(super) struct ReadFaults {
    /// The content of this file cannot be read. The path may also be only the last components of
    /// the file's path.
    content: Option<Unreadable>,
    /// This path cannot be read, opened, listed or looked at.
    path: Option<Unreadable>,
    /// Number of reads of any kind since [`Faults::fail_read_at`].
    done: u64,
    /// The number of the read that fails, the errno, and how many reads of its path fail in all.
    at: Option<(u64, i32, u64)>,
}

impl Faults {
    /// Makes all reads of a file fail with an errno; `None` for no file. The path may also be only
    /// the last components of the file's path.
    pub fn fail_reads(&self, which: Option<(PathBuf, i32)>) {
        self.state().reads.content = which.map(|(path, errno)| (path, errno, u64::MAX));
    }

    /// Makes the next `times` reads of the file at `path` fail with an errno.
    pub fn fail_next_reads(&self, path: PathBuf, errno: i32, times: u64) {
        self.state().reads.content = Some((path, errno, times));
    }

    /// Number of reads that are still to fail.
    pub fn reads_to_fail(&self) -> u64 {
        let state = self.state();
        state.reads.content.as_ref().map_or(0, |(_, _, left)| *left)
    }

    /// Makes `times` reads fail with an errno: the `n`-th read from now on, and then later reads of the
    /// same path. Here a read is any operation that changes nothing: `open`, `read`, `list`, `stat`, and
    /// `read_at` of a file. With `n` 0 no read fails.
    pub fn fail_read_at(&self, n: u64, errno: i32, times: u64) {
        self.state().reads = ReadFaults {
            at: (n > 0).then_some((n, errno, times)),
            ..ReadFaults::default()
        };
    }

    /// Number of reads of any kind since [`Faults::fail_read_at`].
    pub fn reads(&self) -> u64 {
        self.state().reads.done
    }

    /// The path whose reads [`Faults::fail_read_at`] made fail, once one has failed.
    pub fn failed_path(&self) -> Option<PathBuf> {
        let state = self.state();
        state.reads.path.as_ref().map(|(path, ..)| path.clone())
    }

    /// Counts a read of any kind. Fails if this path cannot be read.
    pub(super) fn look(&self, action: &'static str, path: &Path) -> Result<()> {
        self.alive(action, path)?;
        let mut state = self.state();
        let reads = &mut state.reads;
        reads.done += 1;
        if let Some((_, errno, times)) = reads.at.take_if(|(n, ..)| *n == reads.done) {
            reads.path = Some((path.to_path_buf(), errno, times));
        }
        match &mut reads.path {
            Some((bad, errno, left)) if path == bad && *left > 0 => {
                *left -= 1;
                Err(injected(action, path, *errno))
            }
            _ => Ok(()),
        }
    }

    /// Fails if the content of this file cannot be read.
    pub(super) fn readable(&self, path: &Path) -> Result<()> {
        match &mut self.state().reads.content {
            Some((bad, errno, left)) if path.ends_with(&*bad) && *left > 0 => {
                *left -= 1;
                Err(injected("read", path, *errno))
            }
            _ => Ok(()),
        }
    }
}
