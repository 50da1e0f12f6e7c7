//! Counts operations on the file system, which do not depend on the machine's speed.

use super::{Durability, File, Files, Lock, Space, Stat};
use crate::Result;
use crate::system::sync::Mutex;
use rustix::fd::BorrowedFd;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

/// The counts of a [`CountingFiles`], by the names of the methods of [`Files`] and [`File`]. "sync"
/// counts each synced file or directory, including those of [`Files::replace`].
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

    fn transfer(count: &AtomicU64, bytes: usize) {
        count.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn add(&self, operation: &'static str, times: u64) {
        let counts = self.operations.lock();
        let mut counts = counts.unwrap_or_else(PoisonError::into_inner);
        *counts.entry(operation).or_default() += times;
    }
}

/// Counts the operations on `inner`.
pub struct CountingFiles<F: ?Sized> {
    tally: FileTally,
    inner: Arc<F>,
}

impl<F: Files> CountingFiles<F> {
    /// Starts at zero.
    pub fn new(inner: F) -> Self {
        CountingFiles {
            inner: Arc::new(inner),
            tally: FileTally::default(),
        }
    }

    /// The counts, which can be read during and after the use of this value.
    pub fn tally(&self) -> FileTally {
        self.tally.clone()
    }
}

impl<F: ?Sized> CountingFiles<F> {
    fn wrap(&self, file: Box<dyn File>) -> Box<dyn File> {
        let tally = self.tally.clone();
        Box::new(CountingFile { inner: file, tally })
    }
}

impl<F: Files + ?Sized> Files for CountingFiles<F> {
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
        self.tally.add("real_dir", 1);
        self.inner.real_dir(path)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn File>> {
        self.tally.add("open", 1);
        Ok(self.wrap(self.inner.open(path)?))
    }

    fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.tally.add("create", 1);
        Ok(self.wrap(self.inner.create(path, mode)?))
    }

    fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.tally.add("rewrite", 1);
        Ok(self.wrap(self.inner.rewrite(path, mode)?))
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>> {
        self.tally.add("read", 1);
        let data = self.inner.read(path, limit)?;
        FileTally::transfer(&self.tally.read, data.len());
        Ok(data)
    }

    fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> Result<()> {
        self.tally.add("replace", 1);
        if durability == Durability::Synced {
            // The file, then its directory.
            self.tally.add("sync", 2);
        }
        FileTally::transfer(&self.tally.written, data.len());
        self.inner.replace(path, data, durability)
    }

    fn append(&self, path: &Path, mode: u32, data: &[u8]) -> Result<u64> {
        self.tally.add("append", 1);
        FileTally::transfer(&self.tally.written, data.len());
        self.inner.append(path, mode, data)
    }

    fn make_dirs(&self, path: &Path) -> Result<()> {
        self.tally.add("make_dirs", 1);
        self.inner.make_dirs(path)
    }

    fn make_private_dirs(&self, base: &Path, below: &Path) -> Result<()> {
        self.tally.add("make_private_dirs", 1);
        self.inner.make_private_dirs(base, below)
    }

    fn check_private_dirs(&self, base: &Path, below: &Path) -> Result<()> {
        self.tally.add("check_private_dirs", 1);
        self.inner.check_private_dirs(base, below)
    }

    fn list(&self, path: &Path) -> Result<Vec<OsString>> {
        self.tally.add("list", 1);
        self.inner.list(path)
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>> {
        self.tally.add("stat", 1);
        self.inner.stat(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.tally.add("rename", 1);
        self.inner.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.tally.add("remove_file", 1);
        self.inner.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<bool> {
        self.tally.add("remove_dir", 1);
        self.inner.remove_dir(path)
    }

    fn remove_tree(&self, path: &Path) -> Result<()> {
        self.tally.add("remove_tree", 1);
        self.inner.remove_tree(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.tally.add("sync", 1);
        self.inner.sync_dir(path)
    }

    fn sync_fs(&self, path: &Path) -> Result<()> {
        self.tally.add("sync_fs", 1);
        self.inner.sync_fs(path)
    }

    fn restore(&self, path: &Path, stat: &Stat) -> Result<()> {
        self.tally.add("restore", 1);
        self.inner.restore(path, stat)
    }

    fn space(&self, path: &Path) -> Result<Space> {
        self.tally.add("space", 1);
        self.inner.space(path)
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        self.tally.add("try_lock", 1);
        self.inner.try_lock(path)
    }
}

struct CountingFile {
    inner: Box<dyn File>,
    tally: FileTally,
}

impl File for CountingFile {
    fn size(&self) -> Result<u64> {
        self.tally.add("size", 1);
        self.inner.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.tally.add("read_at", 1);
        FileTally::transfer(&self.tally.read, buffer.len());
        self.inner.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.tally.add("write_at", 1);
        FileTally::transfer(&self.tally.written, data.len());
        self.inner.write_at(offset, data)
    }

    fn allocate(&self, size: u64) -> Result<()> {
        self.tally.add("allocate", 1);
        self.inner.allocate(size)
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.tally.add("set_size", 1);
        self.inner.set_size(size)
    }

    fn data_from(&self, from: u64) -> Result<Option<Range<u64>>> {
        self.tally.add("data_from", 1);
        self.inner.data_from(from)
    }

    fn copy_from(&self, source: &dyn File, bytes: Range<u64>) -> Result<bool> {
        self.tally.add("copy_from", 1);
        let length = bytes.end.saturating_sub(bytes.start) as usize;
        let copied = self.inner.copy_from(source, bytes)?;
        if copied {
            FileTally::transfer(&self.tally.read, length);
            FileTally::transfer(&self.tally.written, length);
        }
        Ok(copied)
    }

    fn start_sync(&self, bytes: Range<u64>) -> Result<()> {
        self.tally.add("start_sync", 1);
        self.inner.start_sync(bytes)
    }

    fn sync(&self) -> Result<()> {
        self.tally.add("sync", 1);
        self.inner.sync()
    }

    fn restore(&self, stat: &Stat) -> Result<()> {
        self.tally.add("restore", 1);
        self.inner.restore(stat)
    }

    fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.inner.descriptor()
    }
}
