//! A file system whose files stay open when they are closed, as a later dataset is written over them, and that goes on
//! with those that were kept.

use super::{Durability, File, Files, Fill, KeptFile, KeptFiles, Lock, Refused, Space, Stat};
use crate::{Error, Result, forward};
use rustix::fd::BorrowedFd;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl KeptFiles {
    /// Wraps `files` so that files that were written are kept here, and those that were kept are used.
    pub fn used_by(&self, files: Arc<dyn Files>) -> Arc<dyn Files> {
        Arc::new(KeepingFiles {
            inner: files,
            kept: self.clone(),
        })
    }
}

struct KeepingFiles {
    inner: Arc<dyn Files>,
    kept: KeptFiles,
}

impl KeepingFiles {
    fn wrap(&self, inner: Box<dyn File>) -> Box<dyn File> {
        Box::new(KeepingFile {
            inner: Some(inner),
            kept: self.kept.clone(),
        })
    }
}

impl Files for KeepingFiles {
    fn beneath(&self, roots: &[PathBuf]) -> Arc<dyn Files> {
        self.kept.used_by(self.inner.beneath(roots))
    }

    fn holding(&self, dirs: &[&Path]) -> Arc<dyn Files> {
        self.kept.used_by(self.inner.holding(dirs))
    }

    /// A file that was kept with its mapping is read through that, and kept again.
    fn open(&self, path: &Path) -> Result<Box<dyn File>> {
        let mut file = self.inner.open(path)?;
        if self.kept.hand_over_mapped(&mut *file) {
            return Ok(self.wrap(file));
        }
        Ok(file)
    }

    fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.inner.create(path, mode).map(|file| self.wrap(file))
    }

    fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        let mut file = self.inner.rewrite(path, mode)?;
        self.kept.hand_over(&mut *file);
        Ok(self.wrap(file))
    }

    /// The space of a file that was kept becomes free, too.
    fn remove_file(&self, path: &Path) -> Result<()> {
        let removed = self.inner.remove_file(path);
        self.kept.drop_removed();
        removed
    }

    /// As [`KeepingFiles::remove_file`].
    fn remove_tree(&self, path: &Path) -> Result<()> {
        let removed = self.inner.remove_tree(path);
        self.kept.drop_removed();
        removed
    }

    forward! { self.inner;
        fn restore(&self, path: &Path, stat: &Stat) -> Result<Refused>;
        fn real_dir(&self, path: &Path) -> Result<PathBuf>;
        fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>>;
        fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> Result<()>;
        fn append(&self, path: &Path, mode: u32, data: &[u8]) -> Result<u64>;
        fn make_dirs(&self, path: &Path) -> Result<()>;
        fn make_private_dirs(&self, base: &Path, below: &Path) -> Result<()>;
        fn check_private_dirs(&self, base: &Path, below: &Path) -> Result<()>;
        fn may_add(&self, dir: &Path) -> Result<()>;
        fn list(&self, path: &Path) -> Result<Vec<OsString>>;
        fn stat(&self, path: &Path) -> Result<Option<Stat>>;
        fn identity(&self, path: &Path) -> Option<(u64, u64)>;
        fn rename(&self, from: &Path, to: &Path) -> Result<()>;
        fn remove_dir(&self, path: &Path) -> Result<bool>;
        fn sync_dir(&self, path: &Path) -> Result<()>;
        fn sync_fs(&self, path: &Path) -> Result<()>;
        fn space(&self, path: &Path) -> Result<Space>;
        fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
        fn try_lock_shared(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
    }
}

/// A file that is kept when it is dropped.
struct KeepingFile {
    /// There until then.
    inner: Option<Box<dyn File>>,
    kept: KeptFiles,
}

impl KeepingFile {
    fn file(&self) -> Result<&dyn File> {
        let file = self.inner.as_deref();
        file.ok_or_else(|| Error::format(0, "the file was closed"))
    }
}

impl File for KeepingFile {
    fn keep(mut self: Box<Self>) -> Option<KeptFile> {
        self.inner.take()?.keep()
    }

    fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile> {
        match &mut self.inner {
            Some(inner) => inner.take_over(kept),
            None => Some(kept),
        }
    }

    forward! { self.file()?;
        fn size(&self) -> Result<u64>;
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
        fn write_at(&self, offset: u64, data: &[u8]) -> Result<()>;
        fn show(&self, bytes: Range<u64>, piece: usize, see: &mut dyn FnMut(&[u8])) -> Result<bool>;
        fn write_and_see(&self, offset: u64, data: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool>;
        fn fill_at(&self, bytes: Range<u64>, fill: &mut dyn Fill) -> Result<bool>;
        fn allocate(&self, size: u64) -> Result<()>;
        fn set_size(&self, size: u64) -> Result<()>;
        fn data_from(&self, from: u64) -> Result<Option<Range<u64>>>;
        fn copy_from(&self, source: &dyn File, bytes: Range<u64>) -> Result<bool>;
        fn start_sync(&self, bytes: Range<u64>) -> Result<()>;
        fn sync(&self) -> Result<()>;
        fn restore(&self, stat: &Stat) -> Result<Refused>;
        fn descriptor(&self) -> Result<BorrowedFd<'_>>;
    }
}

impl Drop for KeepingFile {
    fn drop(&mut self) {
        if let Some(file) = self.inner.take() {
            self.kept.add(file);
        }
    }
}
