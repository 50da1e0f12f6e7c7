//! Counts operations on the file system, which do not depend on the machine's speed.
//!
//! [`CountingFiles`] tells an [`Observer`] of each operation; [`FileTally`] is an observer that
//! counts.

use crate::Result;
use crate::store::{
    CALLS_FILE, Durability, File, Files, Fill, KeptFile, Lock, Refused, Space, Stat,
};
use crate::system::sync::Mutex;
use rustix::fd::BorrowedFd;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

/// The counts of a [`CountingFiles`], by the names of the methods of [`Files`] and [`File`]. "sync"
/// counts each synced file or directory, also within [`Files::replace`].
#[derive(Debug, Clone, Default)]
pub struct FileTally {
    operations: Arc<Mutex<BTreeMap<&'static str, u64>>>,
    read: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
}

impl FileTally {
    /// The counts since the last call.
    pub fn take(&self) -> BTreeMap<&'static str, u64> {
        let counts = self.operations.lock();
        std::mem::take(&mut *counts.unwrap_or_else(PoisonError::into_inner))
    }

    /// Bytes that were read, and bytes that were written, from the beginning on.
    pub fn bytes(&self) -> (u64, u64) {
        let bytes = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (bytes(&self.read), bytes(&self.written))
    }
}

/// Receives the operations of a [`CountingFiles`]. Clones share the received operations.
pub trait Observer: Clone + Send + Sync + 'static {
    /// An operation on `path` begins, by its name in [`FileTally`]. `times`: more than one for the syncs of
    /// [`Files::replace`].
    fn operation(&self, operation: &'static str, path: &Path, times: u64);
    /// Bytes of a file are read.
    fn read(&self, path: &Path, bytes: u64);
    /// Bytes of a file are written.
    fn written(&self, path: &Path, bytes: u64);
}

impl Observer for FileTally {
    fn operation(&self, operation: &'static str, _: &Path, times: u64) {
        let counts = self.operations.lock();
        let mut counts = counts.unwrap_or_else(PoisonError::into_inner);
        *counts.entry(operation).or_default() += times;
    }

    fn read(&self, _: &Path, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    fn written(&self, _: &Path, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Counts the operations on `inner`.
pub struct CountingFiles<F: ?Sized, T = FileTally> {
    tally: T,
    inner: Arc<F>,
}

impl<F: Files> CountingFiles<F> {
    /// Starts at zero.
    pub fn new(inner: F) -> Self {
        Self::observed(inner, FileTally::default())
    }
}

impl<F: Files, T: Observer> CountingFiles<F, T> {
    /// Tells `observer` of the operations.
    pub fn observed(inner: F, observer: T) -> Self {
        CountingFiles {
            inner: Arc::new(inner),
            tally: observer,
        }
    }

    /// The counts, which can be read during and after the use of this value.
    pub fn tally(&self) -> T {
        self.tally.clone()
    }
}

impl<F: ?Sized, T: Observer> CountingFiles<F, T> {
    fn wrap(&self, path: &Path, file: Box<dyn File>) -> Box<dyn File> {
        Box::new(CountingFile {
            inner: file,
            path: path.to_path_buf(),
            tally: self.tally.clone(),
        })
    }
}

impl<F: Files + ?Sized, T: Observer> Files for CountingFiles<F, T> {
    fn beneath(&self, roots: &[PathBuf]) -> Arc<dyn Files> {
        Arc::new(CountingFiles {
            tally: self.tally.clone(),
            inner: self.inner.beneath(roots),
        })
    }

    fn holding(&self, dirs: &[&Path]) -> Arc<dyn Files> {
        Arc::new(CountingFiles {
            tally: self.tally.clone(),
            inner: self.inner.holding(dirs),
        })
    }

    fn real_dir(&self, path: &Path) -> Result<PathBuf> {
        self.tally.operation("real_dir", path, 1);
        self.inner.real_dir(path)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn File>> {
        self.tally.operation("open", path, 1);
        Ok(self.wrap(path, self.inner.open(path)?))
    }

    fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.tally.operation("create", path, 1);
        Ok(self.wrap(path, self.inner.create(path, mode)?))
    }

    fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        if path.ends_with(CALLS_FILE) {
            return self.inner.rewrite(path, mode);
        }
        self.tally.operation("rewrite", path, 1);
        Ok(self.wrap(path, self.inner.rewrite(path, mode)?))
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>> {
        self.tally.operation("read", path, 1);
        let data = self.inner.read(path, limit)?;
        self.tally.read(path, data.len() as u64);
        Ok(data)
    }

    fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> Result<()> {
        self.tally.operation("replace", path, 1);
        if durability == Durability::Synced {
            // The file, then its directory.
            self.tally.operation("sync", path, 2);
        }
        self.tally.written(path, data.len() as u64);
        self.inner.replace(path, data, durability)
    }

    fn append(&self, path: &Path, mode: u32, data: &[u8]) -> Result<u64> {
        self.tally.operation("append", path, 1);
        self.tally.written(path, data.len() as u64);
        self.inner.append(path, mode, data)
    }

    fn make_dirs(&self, path: &Path) -> Result<()> {
        self.tally.operation("make_dirs", path, 1);
        self.inner.make_dirs(path)
    }

    fn make_private_dirs(&self, base: &Path, below: &Path) -> Result<()> {
        self.tally
            .operation("make_private_dirs", &base.join(below), 1);
        self.inner.make_private_dirs(base, below)
    }

    fn check_private_dirs(&self, base: &Path, below: &Path) -> Result<()> {
        self.tally
            .operation("check_private_dirs", &base.join(below), 1);
        self.inner.check_private_dirs(base, below)
    }

    fn may_add(&self, dir: &Path) -> Result<()> {
        self.tally.operation("may_add", dir, 1);
        self.inner.may_add(dir)
    }

    fn list(&self, path: &Path) -> Result<Vec<OsString>> {
        self.tally.operation("list", path, 1);
        self.inner.list(path)
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>> {
        self.tally.operation("stat", path, 1);
        self.inner.stat(path)
    }

    fn identity(&self, path: &Path) -> Option<(u64, u64)> {
        self.tally.operation("stat", path, 1);
        self.inner.identity(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.tally.operation("rename", to, 1);
        self.inner.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.tally.operation("remove_file", path, 1);
        self.inner.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<bool> {
        self.tally.operation("remove_dir", path, 1);
        self.inner.remove_dir(path)
    }

    fn remove_tree(&self, path: &Path) -> Result<()> {
        self.tally.operation("remove_tree", path, 1);
        self.inner.remove_tree(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.tally.operation("sync", path, 1);
        self.inner.sync_dir(path)
    }

    fn sync_fs(&self, path: &Path) -> Result<()> {
        self.tally.operation("sync_fs", path, 1);
        self.inner.sync_fs(path)
    }

    fn restore(&self, path: &Path, stat: &Stat) -> Result<Refused> {
        self.tally.operation("restore", path, 1);
        self.inner.restore(path, stat)
    }

    fn space(&self, path: &Path) -> Result<Space> {
        self.tally.operation("space", path, 1);
        self.inner.space(path)
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        self.tally.operation("try_lock", path, 1);
        self.inner.try_lock(path)
    }

    fn try_lock_shared(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        self.tally.operation("try_lock", path, 1);
        self.inner.try_lock_shared(path)
    }
}

struct CountingFile<T> {
    inner: Box<dyn File>,
    path: PathBuf,
    tally: T,
}

/// Whether a file lies in memory, where it is shown, filled and kept, depends on the machine: so it never does here.
impl<T: Observer> File for CountingFile<T> {
    fn show(&self, _: Range<u64>, _: usize, _: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(false)
    }

    fn write_and_see(&self, _: u64, _: &[u8], _: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(false)
    }

    fn fill_at(&self, _: Range<u64>, _: &mut dyn Fill) -> Result<bool> {
        Ok(false)
    }

    fn keep(self: Box<Self>) -> Option<KeptFile> {
        None
    }

    fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile> {
        Some(kept)
    }

    fn size(&self) -> Result<u64> {
        self.tally.operation("size", &self.path, 1);
        self.inner.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.tally.operation("read_at", &self.path, 1);
        self.tally.read(&self.path, buffer.len() as u64);
        self.inner.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.tally.operation("write_at", &self.path, 1);
        self.tally.written(&self.path, data.len() as u64);
        self.inner.write_at(offset, data)
    }

    fn allocate(&self, size: u64) -> Result<()> {
        self.tally.operation("allocate", &self.path, 1);
        self.inner.allocate(size)
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.tally.operation("set_size", &self.path, 1);
        self.inner.set_size(size)
    }

    fn data_from(&self, from: u64) -> Result<Option<Range<u64>>> {
        self.tally.operation("data_from", &self.path, 1);
        self.inner.data_from(from)
    }

    fn copy_from(&self, source: &dyn File, bytes: Range<u64>) -> Result<bool> {
        self.tally.operation("copy_from", &self.path, 1);
        let length = bytes.end.saturating_sub(bytes.start);
        let copied = self.inner.copy_from(source, bytes)?;
        if copied {
            self.tally.read(&self.path, length);
            self.tally.written(&self.path, length);
        }
        Ok(copied)
    }

    fn start_sync(&self, bytes: Range<u64>) -> Result<()> {
        self.tally.operation("start_sync", &self.path, 1);
        self.inner.start_sync(bytes)
    }

    fn sync(&self) -> Result<()> {
        self.tally.operation("sync", &self.path, 1);
        self.inner.sync()
    }

    fn restore(&self, stat: &Stat) -> Result<Refused> {
        self.tally.operation("restore", &self.path, 1);
        self.inner.restore(stat)
    }

    fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.inner.descriptor()
    }
}
