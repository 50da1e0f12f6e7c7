//! A file system for tests, on which disks fill up, calls fail and processes die.
//!
//! Operations that change something are counted, from 1: `create`, `rewrite`, `replace`, `make_dirs`,
//! `make_private_dirs`, `rename`, `remove_file`, `remove_dir`, `remove_tree`, `sync_dir`, `sync_fs`, `restore`,
//! and `write_at`, `allocate`, `set_size`, `copy_from`, `start_sync`, `sync` and `restore` of files. A failed
//! `restore` is no error: see [`Refused`]. At a chosen operation
//!
//! - the call fails with an errno and does nothing, and the process continues; or
//! - the process dies: the operation is half done (half of the bytes are written, the temporary
//!   file of `replace` is left half written, half of a tree is removed, anything else is not
//!   done), and every later operation of any kind fails.
//!
//! A crash test counts the operations of a first run, and then dies at each of them in turn.
//! Completed operations remain, as after a killed process; the loss of unsynced data in a power
//! failure is not simulated.
//!
//! All locks may fail, and each operation of one kind, as on a file system that does not have the operation. One path
//! may be made unreadable, for ever or for a number of reads, also the path of the n-th read.
//! Operations at some paths may wait until one begins at another path, so that a copy in the background
//! lasts as long as a test wants.
//!
//! Writes may leave a wrong bit in the file, without an error.
//!
//! A limit of space simulates a full disk: file content counts, directories are free. Removed and
//! replaced content is given back. A disk can also be completely full, so that nothing that needs
//! space succeeds, not even a new file or directory.

mod file;
mod hold;
mod reads;

use crate::store::{Durability, File, FileKind, Files, Lock, Refused, Space, Stat};
use crate::system::sync::{Mutex, MutexGuard};
use crate::{Error, Result};
use file::FaultyFile;
use hold::Hold;
use reads::ReadFaults;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

#[derive(Debug, Default)]
struct FaultState {
    operations: u64,
    fail: Option<(u64, i32)>,
    die: Option<u64>,
    dead: bool,
    reads: ReadFaults,
    /// Total and remaining bytes.
    space: Option<(u64, u64)>,
    /// Returns true for paths whose disk is completely full.
    full: Option<fn(&Path) -> bool>,
    /// The errno of each attempt to take a lock.
    locks: Option<i32>,
    refused: Option<Refusal>,
    /// An operation has failed whose failure changes nothing else.
    optional_failed: bool,
    flips: Option<WriteFlips>,
    /// Writes whose bit was flipped.
    flipped: u64,
}

/// Writes that leave a wrong bit in the file.
#[derive(Debug, Clone, Copy)]
struct WriteFlips {
    /// Returns true for paths of such files.
    at: fn(&Path) -> bool,
    /// Writes to pass before the first.
    before: u64,
    /// Number of such writes.
    times: u64,
}

/// A kind of operation that fails each time.
#[derive(Debug, Clone, Copy)]
struct Refusal {
    /// The name of the operation in errors.
    action: &'static str,
    errno: i32,
    /// Returns true for paths at which the operation fails.
    at: fn(&Path) -> bool,
}

/// The name of the operation that restores mode, owner and times.
pub const RESTORE: &str = "restore attributes of";

/// Sets the faults of a [`Faulty`], and reports on them, also while it is in use.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<FaultState>>, Arc<Hold>);

impl Faults {
    /// Number of changing operations so far, including failed ones.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Makes operation `n` fail with `errno`. Operations are counted from the start.
    pub fn fail_at(&self, n: u64, errno: i32) {
        self.state().fail = Some((n, errno));
    }

    /// Makes the process die in operation `n`, counted from the start.
    pub fn die_at(&self, n: u64) {
        self.state().die = Some(n);
    }

    /// Makes the process die now: every later operation fails, and so do the operations that were held.
    pub fn die_now(&self) {
        self.state().dead = true;
        self.1.release();
    }

    /// Makes changing operations at paths that contain `held` wait until one begins at a path that
    /// contains `until`, or until the process dies.
    pub fn hold(&self, held: &str, until: &str) {
        self.1.set(held, until);
    }

    /// True if the process has died.
    pub fn is_dead(&self) -> bool {
        self.state().dead
    }

    /// Leaves space for `bytes` more; `None` for no limit.
    pub fn limit_space(&self, bytes: Option<u64>) {
        self.state().space = bytes.map(|bytes| (bytes, bytes));
    }

    /// Makes the space `total` bytes, of which `left` are still free.
    pub fn leave_space(&self, total: u64, left: u64) {
        self.state().space = Some((total, left));
    }

    /// If `full`, everything that needs space fails with ENOSPC from now on.
    pub fn fill_up(&self, full: bool) {
        self.state().full = full.then_some(|_| true);
    }

    /// Everything at these paths that needs space fails with ENOSPC from now on.
    pub fn fill_up_where(&self, these: fn(&Path) -> bool) {
        self.state().full = Some(these);
    }

    /// Makes each attempt to take a lock fail with an errno, as on a file system without locks (ENOLCK); `None`
    /// for no longer.
    pub fn fail_locks(&self, errno: Option<i32>) {
        self.state().locks = errno;
    }

    /// Makes each operation of one kind, by its name in errors, fail with `errno` at these paths, as on a file system
    /// without the system call.
    pub fn refuse(&self, action: &'static str, errno: i32, at: fn(&Path) -> bool) {
        self.state().refused = Some(Refusal { action, errno, at });
    }

    /// Flips a bit of the file after `times` writes at these paths, the first after `before` others.
    pub fn flip_writes(&self, at: fn(&Path) -> bool, before: u64, times: u64) {
        self.state().flips = Some(WriteFlips { at, before, times });
    }

    /// Number of writes whose bit was flipped.
    pub fn flipped(&self) -> u64 {
        self.state().flipped
    }

    /// Counts a write, and returns true if its bit is to be flipped.
    fn flips(&self, path: &Path) -> bool {
        let mut state = self.state();
        let Some(flips) = state.flips.as_mut().filter(|flips| (flips.at)(path)) else {
            return false;
        };
        if flips.before > 0 {
            flips.before -= 1;
            return false;
        }
        let flip = flips.times > 0;
        flips.times = flips.times.saturating_sub(1);
        state.flipped += u64::from(flip);
        flip
    }

    /// Refuses nothing any more.
    pub fn refuse_nothing(&self) {
        self.state().refused = None;
    }

    /// True if an operation has failed that fails nothing else: one that restores attributes.
    pub fn optional_failed(&self) -> bool {
        self.state().optional_failed
    }

    /// Fails if this kind of operation is refused.
    fn refusal(&self, action: &'static str, path: &Path) -> Result<()> {
        let refused = self.state().refused;
        match refused.filter(|refused| refused.action == action && (refused.at)(path)) {
            Some(Refusal { errno, .. }) => Err(injected(action, path, errno)),
            None => Ok(()),
        }
    }

    /// Counts and makes a changing operation; if it fails, the state from before stays.
    fn optional(
        &self,
        action: &'static str,
        path: &Path,
        whole: impl FnOnce() -> Result<Refused>,
    ) -> Result<Refused> {
        match self.change(action, path, || (), whole) {
            Err(error) if !self.is_dead() => {
                self.state().optional_failed = true;
                Ok(Some(error))
            }
            other => other,
        }
    }

    /// Returns an error if no space is left for a `new` entry.
    fn room(&self, action: &'static str, path: &Path, new: bool) -> Result<()> {
        if new && self.state().full.is_some_and(|full| full(path)) {
            Err(injected(action, path, libc::ENOSPC))
        } else {
            Ok(())
        }
    }

    fn state(&self) -> MutexGuard<'_, FaultState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an error if the process has died.
    fn alive(&self, action: &'static str, path: &Path) -> Result<()> {
        if self.is_dead() {
            Err(death(action, path))
        } else {
            Ok(())
        }
    }

    /// Fails if locks are to fail.
    fn may_lock(&self, path: &Path) -> Result<()> {
        self.alive("lock", path)?;
        let errno = self.state().locks;
        errno.map_or(Ok(()), |errno| Err(injected("lock", path, errno)))
    }

    /// Counts a changing operation and does it, unless it must fail. `torn` makes a half of the
    /// operation.
    fn change<T>(
        &self,
        action: &'static str,
        path: &Path,
        torn: impl FnOnce(),
        whole: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.1.pass(path);
        let dies = {
            let mut state = self.state();
            if state.dead {
                return Err(death(action, path));
            }
            state.operations += 1;
            if let Some((n, errno)) = state.fail
                && n == state.operations
            {
                return Err(injected(action, path, errno));
            }
            state.dead = state.die == Some(state.operations);
            state.dead
        };
        self.refusal(action, path)?;
        if dies {
            torn();
            return Err(death(action, path));
        }
        whole()
    }

    /// Uses up to `bytes` of the remaining space, and returns how many.
    fn take_space(&self, bytes: u64) -> u64 {
        match &mut self.state().space {
            Some((_, left)) => {
                let taken = bytes.min(*left);
                *left -= taken;
                taken
            }
            None => bytes,
        }
    }

    fn give_space(&self, bytes: u64) {
        if let Some((total, left)) = &mut self.state().space {
            *left = left.saturating_add(bytes);
            *total = (*total).max(*left);
        }
    }
}

fn injected(action: &'static str, path: &Path, errno: i32) -> Error {
    Error::io(action, path, std::io::Error::from_raw_os_error(errno))
}

fn death(action: &'static str, path: &Path) -> Error {
    let text = "the process has died (injected)".to_string();
    Error::Io {
        action,
        path: path.to_path_buf(),
        errno: Some(libc::EIO),
        text,
    }
}

/// A file system with faults. Without faults it does what `inner` does.
pub struct Faulty<F: ?Sized> {
    faults: Faults,
    inner: Arc<F>,
}

impl<F: Files> Faulty<F> {
    /// Wraps `inner`, without faults.
    pub fn new(inner: F) -> Self {
        Faulty {
            inner: Arc::new(inner),
            faults: Faults::default(),
        }
    }

    /// The faults, to set and to query.
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }
}

impl<F: Files + ?Sized> Faulty<F> {
    fn simply<T>(
        &self,
        action: &'static str,
        path: &Path,
        whole: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.faults.change(action, path, || (), whole)
    }

    /// Returns an error if nothing exists at `path` and no space is left for it.
    fn room_at(&self, action: &'static str, path: &Path) -> Result<()> {
        self.faults
            .room(action, path, self.inner.stat(path)?.is_none())
    }

    /// Bytes in files at and below `path`.
    fn volume(&self, path: &Path) -> Result<u64> {
        let mut bytes = 0;
        let mut todo = vec![path.to_path_buf()];
        while let Some(path) = todo.pop() {
            match self.inner.stat(&path)? {
                Some(Stat {
                    kind: FileKind::File,
                    size,
                    ..
                }) => bytes += size,
                Some(Stat {
                    kind: FileKind::Directory,
                    ..
                }) => {
                    todo.extend(
                        self.inner
                            .list(&path)?
                            .into_iter()
                            .map(|name| path.join(name)),
                    );
                }
                _ => {}
            }
        }
        Ok(bytes)
    }

    /// Removes every second entry of a directory.
    fn remove_half(&self, path: &Path) {
        for name in self
            .inner
            .list(path)
            .unwrap_or_default()
            .into_iter()
            .step_by(2)
        {
            let _ = self.inner.remove_tree(&path.join(name));
        }
    }

    /// Leaves the temporary file of an interrupted `replace`.
    fn half_replace(&self, path: &Path, data: &[u8]) {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(".tmp.0.0");
        if let Ok(file) = self.inner.create(&path.with_file_name(name), 0o666) {
            let _ = file.write_at(0, half(data));
        }
    }
}

fn half(data: &[u8]) -> &[u8] {
    data.get(..data.len() / 2).unwrap_or_default()
}

impl<F: Files + ?Sized> Files for Faulty<F> {
    fn beneath(&self, roots: &[PathBuf]) -> Arc<dyn Files> {
        Arc::new(Faulty {
            faults: self.faults.clone(),
            inner: self.inner.beneath(roots),
        })
    }

    fn holding(&self, dirs: &[&Path]) -> Arc<dyn Files> {
        Arc::new(Faulty {
            faults: self.faults.clone(),
            inner: self.inner.holding(dirs),
        })
    }

    fn real_dir(&self, path: &Path) -> Result<PathBuf> {
        self.faults.alive("find", path)?;
        self.inner.real_dir(path)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn File>> {
        self.faults.look("open", path)?;
        Ok(FaultyFile::wrap(self.inner.open(path)?, path, &self.faults))
    }

    fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.simply("create", path, || {
            self.room_at("create", path)?;
            let before = self.volume(path)?;
            let file = self.inner.create(path, mode)?;
            self.faults.give_space(before);
            Ok(FaultyFile::wrap(file, path, &self.faults))
        })
    }

    fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.simply("create", path, || {
            self.room_at("create", path)?;
            let file = self.inner.rewrite(path, mode)?;
            Ok(FaultyFile::wrap(file, path, &self.faults))
        })
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>> {
        self.faults.look("read", path)?;
        self.faults.readable(path)?;
        self.inner.read(path, limit)
    }

    fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> Result<()> {
        let torn = || self.half_replace(path, data);
        self.faults.change("replace", path, torn, || {
            self.faults.room("create", path, true)?;
            let before = self.volume(path)?;
            let size = data.len() as u64;
            let taken = self.faults.take_space(size);
            if taken < size {
                self.faults.give_space(taken);
                return Err(injected("write", path, libc::ENOSPC));
            }
            let result = self.inner.replace(path, data, durability);
            self.faults
                .give_space(if result.is_ok() { before } else { taken });
            result
        })
    }

    fn append(&self, path: &Path, mode: u32, data: &[u8]) -> Result<u64> {
        self.simply("write", path, || {
            self.room_at("create", path)?;
            let size = data.len() as u64;
            let taken = self.faults.take_space(size);
            if taken < size {
                self.faults.give_space(taken);
                return Err(injected("write", path, libc::ENOSPC));
            }
            self.inner.append(path, mode, data)
        })
    }

    fn make_dirs(&self, path: &Path) -> Result<()> {
        self.simply("make directory", path, || {
            self.room_at("make directory", path)?;
            self.inner.make_dirs(path)
        })
    }

    fn make_private_dirs(&self, base: &Path, below: &Path) -> Result<()> {
        let path = base.join(below);
        self.simply("make directory", &path, || {
            self.room_at("make directory", &path)?;
            self.inner.make_private_dirs(base, below)
        })
    }

    fn check_private_dirs(&self, base: &Path, below: &Path) -> Result<()> {
        self.faults.look("use directory", &base.join(below))?;
        self.inner.check_private_dirs(base, below)
    }

    fn may_add(&self, dir: &Path) -> Result<()> {
        self.faults.look("write to directory", dir)?;
        self.faults.refusal("write to directory", dir)?;
        self.inner.may_add(dir)
    }

    fn list(&self, path: &Path) -> Result<Vec<OsString>> {
        self.faults.look("list directory", path)?;
        self.inner.list(path)
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>> {
        self.faults.look("stat", path)?;
        self.inner.stat(path)
    }

    fn identity(&self, path: &Path) -> Option<(u64, u64)> {
        self.inner.identity(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.simply("rename", from, || {
            let before = if from == to { 0 } else { self.volume(to)? };
            self.inner.rename(from, to)?;
            self.faults.give_space(before);
            Ok(())
        })
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.simply("remove", path, || {
            let before = self.volume(path)?;
            self.inner.remove_file(path)?;
            self.faults.give_space(before);
            Ok(())
        })
    }

    fn remove_dir(&self, path: &Path) -> Result<bool> {
        self.simply("remove directory", path, || self.inner.remove_dir(path))
    }

    fn remove_tree(&self, path: &Path) -> Result<()> {
        self.faults.change(
            "remove",
            path,
            || self.remove_half(path),
            || {
                let before = self.volume(path)?;
                self.inner.remove_tree(path)?;
                self.faults.give_space(before);
                Ok(())
            },
        )
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.simply("sync directory", path, || self.inner.sync_dir(path))
    }

    fn sync_fs(&self, path: &Path) -> Result<()> {
        self.simply("sync the file system of", path, || self.inner.sync_fs(path))
    }

    fn restore(&self, path: &Path, stat: &Stat) -> Result<Refused> {
        let restore = || self.inner.restore(path, stat);
        self.faults.optional(RESTORE, path, restore)
    }

    fn space(&self, path: &Path) -> Result<Space> {
        self.faults.alive("stat", path)?;
        self.faults.refusal("look at the space of", path)?;
        let below = self.inner.space(path)?;
        Ok(match self.faults.state().space {
            Some((total, left)) => Space {
                total,
                free: left.min(below.free),
            },
            None => below,
        })
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        self.faults.may_lock(path)?;
        self.inner.try_lock(path)
    }

    fn try_lock_shared(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        self.faults.may_lock(path)?;
        self.inner.try_lock_shared(path)
    }
}
