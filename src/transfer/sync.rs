//! How copies are brought to stable storage: large files one by one, many small ones together.
//!
//! To sync a file the system writes the file and then its own journal. For a small file nearly all of
//! the time goes into the journal, and one sync of the whole file system does that for all files at
//! once.

use crate::store::sync_fs_tells_errors;
use crate::system::size::scaled;

/// Files of at least this many bytes are synced one by one: the time goes into their own data.
const LARGE: usize = 1 << 20;

/// Up to this many smaller files are also synced one by one. A sync of the file system would wait for data
/// of other programs, so it is not used for a few files.
const FEW: usize = 8;

/// The files that are synced one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncPlan {
    /// The small files are left to a sync of the file system.
    together: bool,
}

/// The work of the caller of a copy before it writes a record that certifies the files.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// The caller has nothing to do: the files and the entries of their directories are on stable storage.
    Nothing,
    /// Call [`Files::sync_fs`](crate::store::Files::sync_fs), on the node that copied.
    FileSystem,
}

impl SyncPlan {
    /// The plan for files of these sizes.
    pub fn of(sizes: impl IntoIterator<Item = u64>) -> Self {
        SyncPlan::with(sizes, sync_fs_tells_errors())
    }

    fn with(sizes: impl IntoIterator<Item = u64>, tells_errors: bool) -> Self {
        let (large, few) = (scaled(LARGE) as u64, scaled(FEW));
        let small = sizes.into_iter().filter(|size| *size < large);
        SyncPlan {
            together: tells_errors && small.take(few + 1).count() > few,
        }
    }

    /// True if a file of this size is synced by itself.
    pub fn alone(self, size: u64) -> bool {
        !self.together || size >= scaled(LARGE) as u64
    }

    /// The work that is left after all files were copied. If it is [`Unsynced::FileSystem`],
    /// directories need no sync of their own.
    pub fn rest(self) -> Unsynced {
        if self.together {
            Unsynced::FileSystem
        } else {
            Unsynced::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: u64 = super::LARGE as u64;

    #[test]
    fn many_small_files_are_synced_together_and_large_ones_alone() {
        let few = SyncPlan::with([4096; FEW], true);
        assert!(few.alone(4096) && few.rest() == Unsynced::Nothing);
        let many = SyncPlan::with([4096; FEW + 1], true);
        assert!(!many.alone(4096) && !many.alone(LARGE - 1) && many.alone(LARGE));
        assert_eq!(many.rest(), Unsynced::FileSystem);
        let large = SyncPlan::with([LARGE; 100], true);
        assert!(large.alone(LARGE) && large.rest() == Unsynced::Nothing);
        // A sync that does not tell errors is worth nothing.
        let old = SyncPlan::with([1; 100], false);
        assert!(old.alone(1) && old.rest() == Unsynced::Nothing);
    }
}
