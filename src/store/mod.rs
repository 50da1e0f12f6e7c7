//! Access to files and directories.
//!
//! All operations of the library go through [`Files`], so that tests can simulate full disks and
//! killed processes. [`posix::Posix`] is the real file system.

mod attributes;
mod beneath;
pub mod block_signals;
mod descriptor;
mod failure;
mod file;
mod fill;
#[cfg(test)]
mod fill_tests;
mod forward;
mod holes;
mod keeping;
mod kept;
mod lease;
mod lock;
mod lock_directory;
mod mapping;
#[cfg(test)]
pub(crate) mod mapping_tests;
mod page_buffer;
mod past_caches;
mod pinned;
pub mod posix;
mod private;
mod reading;
#[cfg(test)]
mod reading_tests;
mod retry;
mod shared;
mod size_limit;
mod tree;
mod unkept;
mod watch;
pub mod write_behind;

pub use descriptor::beyond_standard;
pub use fill::{Fill, Pin};
pub use holes::{reach, write_with_holes};
pub use kept::{Kept, KeptFile, KeptFiles};
pub use lock::{LockAttempt, wait_for_lock, without_locks};
pub use lock_directory::{NAME as LOCK_DIRECTORY, lock_by_directory};
pub use page_buffer::PageBuffer;
pub use past_caches::copy_past_caches;
pub use posix::sync_fs_tells_errors;
pub use retry::retry;
pub use shared::private_mode_in;
pub use unkept::Unkept;
pub use watch::Watch;

use crate::{Error, Result};
use rustix::fd::BorrowedFd;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file in the control directory of a job in which the library counts its calls. The file is written as time
/// passes, and not as a run does more work, so the package scr-jobs leaves it out of its counts.
pub const CALLS_FILE: &str = ".scr.calls";

/// The failures that the result of [`Files::replace`] survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A killed process: readers see the old content or the new.
    Atomic,
    /// Also a power loss: file and directory are synced.
    Synced,
}

/// Type of a directory entry. Symbolic links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else: symbolic link, socket, device.
    Other,
}

/// Attributes of a file, from `lstat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Type of the entry.
    pub kind: FileKind,
    /// Size, bytes.
    pub size: u64,
    /// Space that is allocated, bytes. Less than the size if the file has holes, and more by a part
    /// of a block if not.
    pub blocks: u64,
    /// Number of the inode, which no other entry of the file system has; 0 if that is not known.
    pub inode: u64,
    /// Mode bits as in `st_mode`, file type included.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Time of last access: seconds and nanoseconds.
    pub atime: (i64, u32),
    /// Time of last change of the inode.
    pub ctime: (i64, u32),
    /// Time of last change of the content.
    pub mtime: (i64, u32),
}

/// The facts by which a change of a file is noticed: its size, and the times of the last change of its content and
/// of its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Size, bytes.
    pub size: u64,
    mtime: (i64, u32),
    ctime: (i64, u32),
}

impl Stat {
    /// Differs from an earlier one if the file was changed.
    pub fn stamp(&self) -> FileStamp {
        FileStamp {
            size: self.size,
            mtime: self.mtime,
            ctime: self.ctime,
        }
    }

    /// The space that a file takes, bytes: its size in whole blocks of `block` bytes, or the
    /// allocated space if that is less, as with holes. A report of the file system that nothing is
    /// allocated is not believed.
    pub fn space(&self, block: u64) -> u64 {
        let size = self.size.next_multiple_of(block);
        match self.blocks {
            0 => size,
            blocks => size.min(blocks),
        }
    }
}

/// Capacity of a file system, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// The whole file system.
    pub total: u64,
    /// Available to this user.
    pub free: u64,
}

/// The first error of a file system that refused something optional. See [`Unkept`].
pub type Refused = Option<Error>;

/// Bytes that are looked at twice if they are [shown](File::show) in pieces of this length: they stay in the first cache of
/// the processor.
pub const SHOWN: usize = 16 << 10;

/// An open regular file. Offsets are explicit; there is no shared file position.
///
/// No method has a body here, so that a file that stands before another one cannot forget to pass a call on.
pub trait File: Send {
    /// Current size, bytes.
    fn size(&self) -> Result<u64>;
    /// Fills `buffer` from `offset`. An earlier end of the file is an error.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
    /// Shows bytes where they lie, in order and in pieces of at most `piece` bytes, which takes less time than to read them.
    /// `Ok(false)` if that cannot be done, or the file was changed meanwhile: then what was seen does not count, and the
    /// bytes must be read.
    fn show(&self, bytes: Range<u64>, piece: usize, see: &mut dyn FnMut(&[u8])) -> Result<bool>;
    /// Writes all of `data` at `offset`.
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()>;
    /// Writes all of `data` at `offset`, and shows `see` what then lies in the file there: in order, part by part, each as
    /// soon as it was written. False if that cannot be done here, or is slower than to write and to read. Then some of
    /// the data may have been written, and seen in vain.
    fn write_and_see(&self, offset: u64, data: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool>;
    /// Lets `fill` fill these bytes where they lie in memory, so that they are not copied once more on their way. False if
    /// that cannot be done here, or may not have been done: what was filled does not count then, and the bytes must be
    /// written. After an error of `fill`, which is returned, and after false, the bytes have any content.
    fn fill_at(&self, bytes: Range<u64>, fill: &mut dyn Fill) -> Result<bool>;
    /// Reserves space and sets the size, so that a full disk is noticed early. Another error does not
    /// concern the file, which can be written all the same; see [`Unkept`].
    fn allocate(&self, size: u64) -> Result<()>;
    /// Sets the size and reserves no space: the added range is a hole. After an error the missing bytes can
    /// still be written.
    fn set_size(&self, size: u64) -> Result<()>;
    /// The first run of bytes at or after `from` without holes. `None` if only holes follow. If the
    /// file system cannot tell where holes are, the rest of the file is one run.
    fn data_from(&self, from: u64) -> Result<Option<Range<u64>>>;
    /// Copies bytes of another file to the same offset, without reading them into memory.
    /// `Ok(false)` if that cannot be done here, or is known to be slower: then the bytes must be
    /// read and written, and the target may already have some of them.
    fn copy_from(&self, source: &dyn File, bytes: Range<u64>) -> Result<bool>;
    /// Starts to bring written bytes to stable storage, without waiting: a later sync is shorter. An error of the
    /// disk comes again in that sync.
    fn start_sync(&self, bytes: Range<u64>) -> Result<()>;
    /// Brings content and size to stable storage (fsync).
    fn sync(&self) -> Result<()>;
    /// Restores mode, owner and times of `stat` as far as permitted, as [`Files::restore`] does.
    fn restore(&self, stat: &Stat) -> Result<Refused>;
    /// The file descriptor, for [`File::copy_from`].
    ///
    /// # Errors
    /// The file cannot be read.
    fn descriptor(&self) -> Result<BorrowedFd<'_>>;
    /// The open file, if writing over it again is faster through it than through a new one. Else it is closed.
    fn keep(self: Box<Self>) -> Option<KeptFile>;
    /// Goes on with what was kept open. Gives it back if that is another file than this one.
    fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile>;
}

/// A lock, held until it is dropped or the process dies.
pub trait Lock: Send {}

/// A file system. All paths are absolute. Every error names the path.
pub trait Files: Send + Sync {
    /// This file system for use with `roots`: an operation on a path below one of these
    /// directories fails (`ELOOP`, with the name of the link) if a component below the root is a
    /// symbolic link. The roots themselves may be reached through links. `self` does not change.
    fn beneath(&self, roots: &[PathBuf]) -> Arc<dyn Files>;
    /// This file system, for work with many files in few directories. A directory stays open once a file
    /// in it was opened, created or looked at, if it is one of `dirs` or below one of them, and below a
    /// root of [`Files::beneath`]. The next file is found there, even if the directory was renamed or
    /// replaced meanwhile, so this must not outlive the work. `self` does not change.
    fn holding(&self, dirs: &[&Path]) -> Arc<dyn Files>;
    /// The path of a directory with all links resolved; its last component need not exist. For
    /// files that the program itself keeps behind links, and that SCR may read there: the returned
    /// path is not below a root, unless the links lead back into one.
    fn real_dir(&self, path: &Path) -> Result<PathBuf>;
    /// Opens an existing regular file for reading. Does not follow a symbolic link in the last
    /// component. Anything but a regular file is an error, and never blocks.
    fn open(&self, path: &Path) -> Result<Box<dyn File>>;
    /// Creates or truncates a regular file for reading and writing; `mode` less the umask.
    /// Does not follow a symbolic link in the last component.
    fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>>;
    /// Like [`Files::create`], but keeps the content. Overwriting costs less than allocating new
    /// space.
    fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>>;
    /// Reads a whole regular file of at most `limit` bytes. A larger file is an error.
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>>;
    /// Replaces `path` by a file with `data` in one step: writes a temporary file in the same
    /// directory (removed on failure), syncs as `durability` asks, and renames it. Mode 0666 less
    /// the umask.
    fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> Result<()>;
    /// Appends to a regular file, which is made if it is missing (`mode` less the umask), in one step, so that
    /// what several processes append does not mix. Returns the size of the file. Does not follow a
    /// symbolic link in the last component. A full file system may take a part of the data.
    fn append(&self, path: &Path, mode: u32, data: &[u8]) -> Result<u64>;
    /// Makes a directory and its missing parents, with mode 0777 less the umask.
    fn make_dirs(&self, path: &Path) -> Result<()>;
    /// Makes the directories of `below` under `base`, each with mode 0700. Those that exist must be
    /// directories (no symbolic links), owned by this user and not writable by others. `base` is made
    /// if it is missing (0755 less the umask). The base must be a directory (not a symbolic link). The
    /// base must belong to this user or root, and not be writable by everybody unless it is sticky. In
    /// a user name space, the owner of a sticky one may be unknown.
    fn make_private_dirs(&self, base: &Path, below: &Path) -> Result<()>;
    /// Checks that [`Files::make_private_dirs`] would accept those of these directories that exist.
    /// Makes no directory.
    fn check_private_dirs(&self, base: &Path, below: &Path) -> Result<()>;
    /// Checks whether this process may make entries in an existing directory. Makes no directory. A file
    /// system may refuse them all the same.
    fn may_add(&self, dir: &Path) -> Result<()>;
    /// Names in a directory, sorted, without `.` and `..`.
    fn list(&self, path: &Path) -> Result<Vec<OsString>>;
    /// `lstat`; `None` if the path does not exist.
    fn stat(&self, path: &Path) -> Result<Option<Stat>>;
    /// Two numbers that distinguish a file or directory from all others that this process can see, whatever its path.
    /// `None` if it is not there, or this file system does not tell.
    fn identity(&self, path: &Path) -> Option<(u64, u64)>;
    /// Renames within a file system. Replaces an existing file.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Removes a file or link. A missing file is no error.
    fn remove_file(&self, path: &Path) -> Result<()>;
    /// Removes an empty directory. `Ok(false)` if it is not empty or does not exist.
    fn remove_dir(&self, path: &Path) -> Result<bool>;
    /// Removes a file, or a directory with its content. Never follows a symbolic link. A missing
    /// path is no error.
    fn remove_tree(&self, path: &Path) -> Result<()>;
    /// Brings a directory's entries to stable storage (fsync).
    fn sync_dir(&self, path: &Path) -> Result<()>;
    /// Brings everything written to the file system of `path` to stable storage (syncfs), with the
    /// entries of all its directories. This also waits for files that other processes write. Not all network
    /// file systems report an error here if the file that it hit is already closed.
    fn sync_fs(&self, path: &Path) -> Result<()>;
    /// Restores mode, owner and times of `stat` as far as permitted. Each attribute is tried, and the first that the
    /// file system has refused is returned. That a user may not give a file away does not count as refused. In a
    /// directory that gives its group to new files (setgid) the file keeps that group.
    ///
    /// # Errors
    /// The file or directory does not exist, or it is a link.
    fn restore(&self, path: &Path, stat: &Stat) -> Result<Refused>;
    /// Capacity of the file system that holds `path`.
    fn space(&self, path: &Path) -> Result<Space>;
    /// Tries to take an exclusive lock on an existing file or directory, without blocking.
    /// `Ok(None)` if another open file description holds it, in this or another process. A file
    /// system without locks gives an error with the system's errno.
    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
    /// Tries to take a shared lock, as [`Files::try_lock`] takes an exclusive one: any number of holders may
    /// have it at a time, but no process while another has the exclusive lock.
    fn try_lock_shared(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
}
