//! A view of a prefix directory in which files in containers are at their paths, for work that reads
//! plain files, such as a rebuild.

use super::stat_of;
use crate::format::rank2file::{FileEntry, Segment};
use crate::prefix::paths::Prefix;
use crate::store::{Durability, File, FileKind, Files, Fill, KeptFile, Lock, Refused, Space, Stat};
use crate::system::sync::{Mutex, MutexGuard};
use crate::{Error, Result, forward};
use rustix::fd::BorrowedFd;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// A file system in which [`ContainedFiles::show`] has put files. They can be looked at and read. A file
/// that is written, renamed or removed at such a path is a plain file, in place of the one that was
/// shown. Lists of directories, and the files of [`Files::beneath`], do not have them.
pub struct ContainedFiles<'a> {
    inner: &'a dyn Files,
    /// The file system with the containers, which outlives this value.
    containers: Arc<dyn Files>,
    /// The dataset's directory.
    dir: PathBuf,
    shown: Mutex<BTreeMap<PathBuf, (FileEntry, Stat)>>,
}

impl<'a> ContainedFiles<'a> {
    /// Shows the files of `inner`; those in containers are added later. `id`: the dataset whose
    /// containers are read.
    pub fn new(inner: &'a dyn Files, prefix: &Prefix, id: u64) -> Self {
        ContainedFiles {
            inner,
            containers: prefix.confine(inner, None),
            dir: prefix.dataset(id),
            shown: Mutex::default(),
        }
    }

    /// Puts a file in containers at `path`, with the attributes of `stat`. The first one at a path stays.
    pub fn show(&self, path: PathBuf, entry: FileEntry, stat: Stat) {
        self.lock_shown().entry(path).or_insert((entry, stat));
    }

    /// [`ContainedFiles::show`] with the attributes that are recorded with the file.
    pub fn show_recorded(&self, path: PathBuf, entry: FileEntry) {
        let stat = stat_of(&entry);
        self.show(path, entry, stat);
    }

    fn lock_shown(&self) -> MutexGuard<'_, BTreeMap<PathBuf, (FileEntry, Stat)>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, path: &Path) -> Option<(FileEntry, Stat)> {
        self.lock_shown().get(path).cloned()
    }

    /// Stops showing a file of the containers: from now on its path has a plain file, or nothing.
    fn hide(&self, path: &Path) {
        self.lock_shown().remove(path);
    }

    /// True if the containers have all bytes of a file.
    fn holds(&self, entry: &FileEntry) -> Result<bool> {
        for segment in entry.segments.iter().flatten() {
            let Ok(path) = segment.container.below(&self.dir) else {
                return Ok(false);
            };
            let stat = self.containers.stat(&path)?;
            let stat = stat.filter(|stat| stat.kind == FileKind::File);
            let end = segment.offset.checked_add(segment.length);
            if stat.zip(end).is_none_or(|(stat, end)| end > stat.size) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Files for ContainedFiles<'_> {
    fn open(&self, path: &Path) -> Result<Box<dyn File>> {
        match self.at(path) {
            None => self.inner.open(path),
            Some((entry, stat)) => Ok(Box::new(ContainedFile {
                files: self.containers.clone(),
                dir: self.dir.clone(),
                path: path.to_path_buf(),
                size: stat.size,
                segments: entry.segments.unwrap_or_default(),
                open: RefCell::new(None),
            })),
        }
    }

    fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.hide(path);
        self.inner.create(path, mode)
    }

    fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.hide(path);
        self.inner.rewrite(path, mode)
    }

    fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> Result<()> {
        self.hide(path);
        self.inner.replace(path, data, durability)
    }

    fn append(&self, path: &Path, mode: u32, data: &[u8]) -> Result<u64> {
        self.hide(path);
        self.inner.append(path, mode, data)
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>> {
        match self.at(path) {
            None => self.inner.stat(path),
            Some((entry, stat)) => Ok(self.holds(&entry)?.then_some(stat)),
        }
    }

    /// A file in containers has no identity.
    fn identity(&self, path: &Path) -> Option<(u64, u64)> {
        self.at(path)
            .is_none()
            .then(|| self.inner.identity(path))
            .flatten()
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.hide(to);
        self.inner.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.hide(path);
        self.inner.remove_file(path)
    }

    fn remove_tree(&self, path: &Path) -> Result<()> {
        self.hide(path);
        self.inner.remove_tree(path)
    }

    forward! { self.inner;
        fn beneath(&self, roots: &[PathBuf]) -> Arc<dyn Files>;
        fn holding(&self, dirs: &[&Path]) -> Arc<dyn Files>;
        fn real_dir(&self, path: &Path) -> Result<PathBuf>;
        fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>>;
        fn make_dirs(&self, path: &Path) -> Result<()>;
        fn make_private_dirs(&self, base: &Path, below: &Path) -> Result<()>;
        fn check_private_dirs(&self, base: &Path, below: &Path) -> Result<()>;
        fn may_add(&self, dir: &Path) -> Result<()>;
        fn list(&self, path: &Path) -> Result<Vec<OsString>>;
        fn remove_dir(&self, path: &Path) -> Result<bool>;
        fn sync_dir(&self, path: &Path) -> Result<()>;
        fn sync_fs(&self, path: &Path) -> Result<()>;
        fn restore(&self, path: &Path, stat: &Stat) -> Result<Refused>;
        fn space(&self, path: &Path) -> Result<Space>;
        fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
        fn try_lock_shared(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
    }
}

/// A file in containers, open for reading.
struct ContainedFile {
    files: Arc<dyn Files>,
    dir: PathBuf,
    path: PathBuf,
    size: u64,
    segments: Vec<Segment>,
    /// The container that was read last.
    open: RefCell<Option<(PathBuf, Box<dyn File>)>>,
}

impl ContainedFile {
    fn read_segment(&self, segment: &Segment, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let at = segment.offset.saturating_add(offset);
        self.in_container(segment, |container| container.read_at(at, buffer))
    }

    /// The first run of data of a segment, from `offset` in it on, likewise counted.
    fn data_in(&self, segment: &Segment, offset: u64) -> Result<Option<Range<u64>>> {
        let at = segment.offset.saturating_add(offset);
        let run = self.in_container(segment, |container| container.data_from(at))?;
        let inside = |place: u64| place.saturating_sub(segment.offset).min(segment.length);
        let run = run.map(|run| inside(run.start)..inside(run.end));
        Ok(run.filter(|run| run.start < run.end))
    }

    /// Gives `work` the container of a segment, which stays open.
    fn in_container<T>(
        &self,
        segment: &Segment,
        work: impl FnOnce(&dyn File) -> Result<T>,
    ) -> Result<T> {
        let path = segment.container.below(&self.dir)?;
        let mut open = self.open.borrow_mut();
        let (_, container) = match open.take().filter(|(open, _)| *open == path) {
            Some(same) => open.insert(same),
            None => {
                let file = self.files.open(&path)?;
                open.insert((path, file))
            }
        };
        work(&**container)
    }

    fn only_read<T>(&self) -> Result<T> {
        let what = "is in containers, and cannot be changed there";
        Err(Error::corrupt(&self.path, what))
    }
}

impl File for ContainedFile {
    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut rest = buffer;
        let mut begin = 0u64;
        let mut at = offset;
        for segment in &self.segments {
            let end = begin.saturating_add(segment.length);
            if at < end && !rest.is_empty() {
                let length = (end - at).min(rest.len() as u64) as usize;
                let (piece, after) = rest.split_at_mut(length);
                self.read_segment(segment, at - begin, piece)?;
                at += length as u64;
                rest = after;
            }
            begin = end;
        }
        if rest.is_empty() {
            Ok(())
        } else {
            Err(Error::corrupt(
                &self.path,
                format!("ends in its containers after {begin} bytes"),
            ))
        }
    }

    fn show(&self, _: Range<u64>, _: usize, _: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(false)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        self.only_read()
    }

    fn write_and_see(&self, _: u64, _: &[u8], _: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.only_read()
    }

    fn fill_at(&self, _: Range<u64>, _: &mut dyn Fill) -> Result<bool> {
        self.only_read()
    }

    fn keep(self: Box<Self>) -> Option<KeptFile> {
        None
    }

    fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile> {
        Some(kept)
    }

    fn allocate(&self, _: u64) -> Result<()> {
        self.only_read()
    }

    fn set_size(&self, _: u64) -> Result<()> {
        self.only_read()
    }

    fn data_from(&self, from: u64) -> Result<Option<Range<u64>>> {
        let (mut begin, mut found) = (0u64, None::<Range<u64>>);
        for segment in &self.segments {
            let end = begin.saturating_add(segment.length);
            let from = found.as_ref().map_or(from, |run| run.end);
            if from < end {
                let run = self.data_in(segment, from.saturating_sub(begin))?;
                let run = run.map(|run| begin + run.start..begin + run.end);
                found = match (found, run) {
                    (None, run) => run,
                    // The range goes on in the next segment.
                    (Some(so_far), Some(run)) if run.start == so_far.end => {
                        Some(so_far.start..run.end)
                    }
                    (so_far, _) => return Ok(so_far),
                };
                if found.as_ref().is_some_and(|run| run.end < end) {
                    return Ok(found);
                }
            }
            begin = end;
        }
        Ok(found)
    }

    fn copy_from(&self, _: &dyn File, _: Range<u64>) -> Result<bool> {
        self.only_read()
    }

    fn start_sync(&self, _: Range<u64>) -> Result<()> {
        Ok(())
    }

    /// The containers were synced before their record was written.
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn restore(&self, _: &Stat) -> Result<Refused> {
        self.only_read()
    }

    fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.only_read()
    }
}
