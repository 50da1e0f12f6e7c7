//! Files and directories, as the rest of the crate sees them.
//!
//! [`Files`] is the seam at which tests make disks fill up and processes die: all that the
//! library writes goes through it. [`posix::Posix`] is the real one.

mod beneath;
pub mod block_signals;
pub mod counting;
pub mod faulty;
mod file;
mod lock;
pub mod posix;
mod private;
mod retry;
mod tree;
pub mod write_behind;

pub use lock::{LockAttempt, wait_for_lock, without_locks};
pub use retry::retry;

use crate::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much a [`Files::replace`] must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A killed process: readers see the old content or the new, nothing between.
    Atomic,
    /// A power loss too: file and directory are synced.
    Synced,
}

/// What kind of thing a directory entry is. Symbolic links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else: symbolic link, socket, device.
    Other,
}

/// What `lstat` tells of a file, as far as SCR records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// FileKind of the entry.
    pub kind: FileKind,
    /// Size, bytes.
    pub size: u64,
    /// Mode bits as in `st_mode`, file type included.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last access, change of inode and change of content: seconds and nanoseconds.
    pub atime: (i64, u32),
    /// See `atime`.
    pub ctime: (i64, u32),
    /// See `atime`.
    pub mtime: (i64, u32),
}

/// Capacity of a file system, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// In all.
    pub total: u64,
    /// Available to this user.
    pub free: u64,
}

/// An open regular file. Offsets are explicit: no shared file position.
pub trait File: Send {
    /// Size now, bytes.
    fn size(&self) -> Result<u64>;
    /// Fills `buffer` from `offset`; an earlier end of file is an error that says so.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
    /// Writes all of `data` at `offset`.
    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()>;
    /// Reserves space and sets the size, so that a full disk shows now and not later.
    fn allocate(&self, size: u64) -> Result<()>;
    /// Brings content and size to stable storage.
    fn sync(&self) -> Result<()>;
}

/// A lock held until dropped (or until the process dies).
pub trait Lock: Send {}

/// A file system. All paths are absolute. Every error names the path.
pub trait Files: Send + Sync {
    /// The same files for who works beneath `roots`: no operation on a path beneath one of these
    /// directories passes through a symbolic link below that directory; such a path is an error
    /// (`ELOOP`) that names the link. The roots themselves may be reached through links. In the
    /// value that this is called on nothing changes.
    fn beneath(&self, roots: &[PathBuf]) -> Arc<dyn Files>;
    /// The place to which links lead who goes to the directory `path`, of which the last part
    /// need not be there. For files that the program itself puts behind links, which SCR may
    /// look at there: the path that this gives is beneath no root, unless the links stay in it.
    fn real_dir(&self, path: &Path) -> Result<PathBuf>;
    /// Opens an existing regular file for reading. Does not follow a symbolic link in the
    /// last component; anything but a regular file is an error (and never blocks).
    fn open(&self, path: &Path) -> Result<Box<dyn File>>;
    /// Creates or truncates a regular file for reading and writing; `mode` less the umask.
    /// Does not follow a symbolic link in the last component.
    fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>>;
    /// Like [`Files::create`], but what the file contains stays, and with it the space it has:
    /// to write over that costs less than to take new space.
    fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>>;
    /// Reads a whole regular file of at most `limit` bytes; a larger one is an error.
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>>;
    /// Puts `data` in place of `path` in one step: temporary file in the same directory
    /// (removed on failure), rename, synced as `durability` asks. Mode 0666 less the umask.
    fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> Result<()>;
    /// Makes a directory and its missing parents, 0777 less the umask.
    fn make_dirs(&self, path: &Path) -> Result<()>;
    /// Makes the directories of `below` under `base`, each 0700; each that exists already must be
    /// a real directory (no symbolic link), owned by us and not writable by others. `base` must be
    /// a directory (no symbolic link either), and is made (0755 less the umask) when missing.
    /// Unless it is sticky, it must belong to us or to root and not be writable by everybody.
    fn make_private_dirs(&self, base: &Path, below: &Path) -> Result<()>;
    /// Names in a directory, sorted, without `.` and `..`.
    fn list(&self, path: &Path) -> Result<Vec<OsString>>;
    /// `lstat`; `None` if there is no such entry.
    fn stat(&self, path: &Path) -> Result<Option<Stat>>;
    /// Renames within a file system, replacing a file in the way.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Removes a file or link; it is no error if there is none.
    fn remove_file(&self, path: &Path) -> Result<()>;
    /// Removes an empty directory. `Ok(false)` if it is not empty or not there.
    fn remove_dir(&self, path: &Path) -> Result<bool>;
    /// Removes a file or a directory with all below it, never following a symbolic link; it
    /// is no error if there is none.
    fn remove_tree(&self, path: &Path) -> Result<()>;
    /// Brings a directory's entries to stable storage.
    fn sync_dir(&self, path: &Path) -> Result<()>;
    /// Restores mode, owner (as far as permitted) and times that [`Files::stat`] gave.
    fn restore(&self, path: &Path, stat: &Stat) -> Result<()>;
    /// Capacity of the file system that holds `path`.
    fn space(&self, path: &Path) -> Result<Space>;
    /// Tries to take an exclusive lock on an existing file or directory, without blocking:
    /// `Ok(None)` if another process, or another open of this one, holds it. A file system
    /// without locks is an error with the system's errno.
    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
}
