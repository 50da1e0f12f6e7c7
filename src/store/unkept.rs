//! Optional steps never fail the required ones. A file system may refuse to keep owner, mode, times and holes of
//! files. Such a refusal is noted, and reported once. A file system may also refuse to reserve space, or to begin
//! early with a sync. Such a refusal costs time at most.

use super::{Durability, File, Files, Fill, KeptFile, Lock, Refused, Space, Stat};
use crate::messages::NOT_KEPT;
use crate::system::sync::{Mutex, MutexGuard};
use crate::{Error, Result, forward};
use rustix::fd::BorrowedFd;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// The first attribute that was refused, until it is reported. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Unkept(Arc<Mutex<Note>>);

#[derive(Debug, Default)]
struct Note {
    first: Option<Error>,
    told: bool,
}

impl Unkept {
    /// Wraps `files` so that a refusal of the file system for optional attributes is no error. Its refusals
    /// are noted here.
    pub fn note(&self, files: Arc<dyn Files>) -> Arc<dyn Files> {
        Arc::new(NotingFiles {
            inner: files,
            unkept: self.clone(),
        })
    }

    /// True if a refusal was noted and none was reported yet.
    pub fn is_untold(&self) -> bool {
        let note = self.lock();
        note.first.is_some() && !note.told
    }

    /// Notes that the refusal was reported, here or by another rank or process. No further refusal is
    /// reported. Returns true the first time.
    pub fn told(&self) -> bool {
        !std::mem::replace(&mut self.lock().told, true)
    }

    /// The warning, if a refusal was noted and none was reported yet. No further refusal is
    /// reported.
    pub fn tell(&self) -> Option<String> {
        let mut note = self.lock();
        let first = note.first.as_ref().filter(|_| !note.told)?.to_string();
        note.told = true;
        Some(format!(
            "{first}; the content is whole, and what else cannot be kept there is not told again ({NOT_KEPT})"
        ))
    }

    fn add(&self, refused: Refused) {
        if let Some(error) = refused {
            self.lock().first.get_or_insert(error);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Note> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file system whose refusals are noted.
struct NotingFiles {
    inner: Arc<dyn Files>,
    unkept: Unkept,
}

impl NotingFiles {
    fn wrap(&self, inner: Box<dyn File>) -> Box<dyn File> {
        let unkept = self.unkept.clone();
        Box::new(NotingFile { inner, unkept })
    }
}

impl Files for NotingFiles {
    fn beneath(&self, roots: &[PathBuf]) -> Arc<dyn Files> {
        self.unkept.note(self.inner.beneath(roots))
    }

    fn holding(&self, dirs: &[&Path]) -> Arc<dyn Files> {
        self.unkept.note(self.inner.holding(dirs))
    }

    fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.inner.create(path, mode).map(|file| self.wrap(file))
    }

    fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.inner.rewrite(path, mode).map(|file| self.wrap(file))
    }

    fn restore(&self, path: &Path, stat: &Stat) -> Result<Refused> {
        self.unkept.add(self.inner.restore(path, stat)?);
        Ok(None)
    }

    forward! { self.inner;
        fn real_dir(&self, path: &Path) -> Result<PathBuf>;
        fn open(&self, path: &Path) -> Result<Box<dyn File>>;
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
        fn remove_file(&self, path: &Path) -> Result<()>;
        fn remove_dir(&self, path: &Path) -> Result<bool>;
        fn remove_tree(&self, path: &Path) -> Result<()>;
        fn sync_dir(&self, path: &Path) -> Result<()>;
        fn sync_fs(&self, path: &Path) -> Result<()>;
        fn space(&self, path: &Path) -> Result<Space>;
        fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
        fn try_lock_shared(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
    }
}

/// A file that was opened for writing.
struct NotingFile {
    inner: Box<dyn File>,
    unkept: Unkept,
}

impl File for NotingFile {
    /// An error is noted if a hole was to be added: the bytes that are written instead are no hole.
    fn set_size(&self, size: u64) -> Result<()> {
        let set = self.inner.set_size(size);
        if let Err(error) = &set
            && !error.is_full()
            && self.inner.size().is_ok_and(|now| now < size)
        {
            self.unkept.add(Some(error.clone()));
        }
        set
    }

    fn restore(&self, stat: &Stat) -> Result<Refused> {
        self.unkept.add(self.inner.restore(stat)?);
        Ok(None)
    }

    /// Fails only if there is no room, since the writes would fail then, too. If the reservation is refused, a
    /// longer file is cut, and a shorter file grows as it is written.
    fn allocate(&self, size: u64) -> Result<()> {
        match self.inner.allocate(size) {
            Err(error) if !error.is_full() && error.errno() != Some(libc::EFBIG) => {
                if self.inner.size()? > size {
                    self.inner.set_size(size)
                } else {
                    Ok(())
                }
            }
            other => other,
        }
    }

    fn keep(self: Box<Self>) -> Option<KeptFile> {
        self.inner.keep()
    }

    fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile> {
        self.inner.take_over(kept)
    }

    /// An early sync only saves time. An error of the disk comes again in the sync.
    fn start_sync(&self, bytes: Range<u64>) -> Result<()> {
        let _ = self.inner.start_sync(bytes);
        Ok(())
    }

    forward! { self.inner;
        fn size(&self) -> Result<u64>;
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
        fn write_at(&self, offset: u64, data: &[u8]) -> Result<()>;
        fn show(&self, bytes: Range<u64>, piece: usize, see: &mut dyn FnMut(&[u8])) -> Result<bool>;
        fn write_and_see(&self, offset: u64, data: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool>;
        fn fill_at(&self, bytes: Range<u64>, fill: &mut dyn Fill) -> Result<bool>;
        fn data_from(&self, from: u64) -> Result<Option<Range<u64>>>;
        fn copy_from(&self, source: &dyn File, bytes: Range<u64>) -> Result<bool>;
        fn sync(&self) -> Result<()>;
        fn descriptor(&self) -> Result<BorrowedFd<'_>>;
    }
}
