//! Open files and locks of [`SimFiles`].

use super::{Profile, Shared, SimFiles, failed, locked, time};
use crate::volume::{Errno, Ino, Volume, taken};
use scr::store::{File, Fill, Kept, KeptFile, Lock, Refused, Stat};
use scr::system::simulated::scheduler;
use scr::{Error, Result};
use std::cell::RefCell;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn stat_of(volume: &mut Volume, ino: Ino) -> std::result::Result<Stat, Errno> {
    let size = volume.data(ino)?.len() as u64;
    let inode = volume.inode(ino)?;
    let format = if inode.directory {
        0o040_000
    } else {
        0o100_000
    };
    Ok(Stat {
        kind: inode.kind(),
        size,
        blocks: taken(size),
        inode: ino,
        mode: inode.mode | format,
        uid: 0,
        gid: 0,
        atime: inode.mtime,
        ctime: inode.ctime,
        mtime: inode.mtime,
    })
}

/// A lock ends with its process, also with a killed one.
struct SimLock {
    volume: Shared,
    ino: Ino,
}

impl Lock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        locked(&self.volume).locked.release(self.ino);
    }
}

impl SimFiles {
    /// Tries to take a lock, which others may have, too, if it is `shared`.
    pub(super) fn lock(&self, path: &Path, shared: bool) -> Result<Option<Box<dyn Lock>>> {
        let (volume, below) = self.begin("lock", path)?;
        let mut there = locked(volume);
        let ino = there
            .find(below)
            .map_err(|errno| failed("lock", path, errno))?;
        if there.profile() == Profile::Nfs {
            return Err(failed("lock", path, libc::ENOLCK));
        }
        if !there.locked.take(ino, shared) {
            return Ok(None);
        }
        drop(there);
        let volume = volume.clone();
        Ok(Some(Box::new(SimLock { volume, ino })))
    }
}

/// Bytes that are stored in one step where a file in memory is written over.
const PAGE: usize = 256;

/// An open file. After a failed write or sync every later call returns that error, as for the real one; an error of a
/// reservation or of the size says nothing of the content.
pub(super) struct SimFile {
    pub files: SimFiles,
    pub volume: Shared,
    pub ino: Ino,
    pub path: PathBuf,
    pub writable: bool,
    pub failure: RefCell<Option<Error>>,
}

impl SimFile {
    fn check(&self) -> Result<()> {
        self.failure.borrow().clone().map_or(Ok(()), Err)
    }

    fn on<T>(
        &self,
        action: &'static str,
        work: impl FnOnce(&mut Volume) -> std::result::Result<T, Errno>,
    ) -> Result<T> {
        self.check()?;
        let done = self.files.fault(action, &self.path).and_then(|()| {
            let mut volume = locked(&self.volume);
            volume.work_for(self.files.node);
            if volume.is_stale(self.ino) {
                Err(libc::ESTALE)
            } else {
                work(&mut volume)
            }
        });
        done.map_err(|errno| failed(action, &self.path, errno))
    }

    /// Does what changes the size.
    fn resize(
        &self,
        action: &'static str,
        work: impl FnOnce(&mut Volume) -> std::result::Result<(), Errno>,
    ) -> Result<()> {
        let done = self.on(action, work);
        self.files.view.lock().unwrap().forget(&self.path);
        done
    }

    /// Does what changes the file: a failure stays.
    fn change(
        &self,
        action: &'static str,
        work: impl FnOnce(&mut Volume) -> std::result::Result<(), Errno>,
    ) -> Result<()> {
        self.resize(action, work).inspect_err(|error| {
            self.failure
                .borrow_mut()
                .get_or_insert_with(|| error.clone());
        })
    }

    /// True for bytes that the real file system stores through a mapping: those that are written over in memory. A kill
    /// leaves any of their pages.
    fn is_stored_to(&self, offset: u64, length: usize) -> bool {
        let mut volume = locked(&self.volume);
        let end = offset as usize + length;
        volume.profile() == Profile::Tmpfs
            && length > PAGE
            && volume.data(self.ino).is_ok_and(|there| end <= there.len())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.change("write", |volume| {
            self.writes(libc::EBADF)?;
            volume.write(self.ino, offset, data, time())?;
            match self.files.faults.flips().file(&self.path, data) {
                Some((at, byte)) => volume.write(self.ino, offset + at, &[byte], time()),
                None => Ok(()),
            }
        })
    }

    /// Stores bytes page by page, in any order.
    fn store(&self, offset: u64, data: &[u8]) -> Result<()> {
        let mut pages: Vec<(u64, &[u8])> = (0..).step_by(PAGE).zip(data.chunks(PAGE)).collect();
        scheduler::draw(|random| {
            for at in (1..pages.len()).rev() {
                pages.swap(at, random.below(at as u64 + 1) as usize);
            }
        });
        let mut pages = pages.into_iter();
        pages.try_for_each(|(at, page)| self.write(offset + at, page))
    }

    /// For what a file that was opened to read refuses with `errno`.
    fn writes(&self, errno: Errno) -> std::result::Result<(), Errno> {
        self.writable.then_some(()).ok_or(errno)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut volume = locked(&self.volume);
        if self.writable {
            volume.work_for(self.files.node).close(self.ino);
        }
        volume.release(self.ino);
    }
}

/// A file in memory that stays open and mapped.
struct SimKept(SimFile);

impl Kept for SimKept {
    fn is_removed(&self) -> bool {
        let volume = locked(&self.0.volume);
        !volume
            .inode(self.0.ino)
            .is_ok_and(|inode| !inode.is_removed())
    }

    fn is_mapped(&self) -> bool {
        true
    }
}

impl File for SimFile {
    fn keep(self: Box<Self>) -> Option<KeptFile> {
        let in_memory = locked(&self.volume).profile() == Profile::Tmpfs;
        let good = in_memory && self.check().is_ok() && !scheduler::is_dead();
        good.then(|| KeptFile::new(SimKept(*self)))
    }

    fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile> {
        let is_same = |old: &SimKept| {
            let SimKept(old) = old;
            old.ino == self.ino && Arc::ptr_eq(&old.volume, &self.volume)
        };
        if !kept.get().is_some_and(is_same) {
            return Some(kept);
        }
        // One of the two is enough.
        drop(kept);
        None
    }

    fn size(&self) -> Result<u64> {
        self.on("stat", |volume| Ok(volume.data(self.ino)?.len() as u64))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        if buffer.is_empty() {
            return self.check();
        }
        self.on("read", |volume| {
            let data = volume.data(self.ino)?;
            let begin = offset as usize;
            let wanted = data.get(begin..begin + buffer.len());
            buffer.copy_from_slice(wanted.ok_or(libc::EIO)?);
            Ok(())
        })
    }

    fn show(&self, bytes: Range<u64>, piece: usize, see: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let in_memory = locked(&self.volume).profile() == Profile::Tmpfs;
        if !in_memory || bytes.end > self.size()? {
            return Ok(false);
        }
        let mut there = vec![0; bytes.end.saturating_sub(bytes.start) as usize];
        self.read_at(bytes.start, &mut there)?;
        there.chunks(piece.max(1)).for_each(see);
        Ok(true)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        if data.is_empty() {
            return self.check();
        }
        if self.is_stored_to(offset, data.len()) {
            self.store(offset, data)
        } else {
            self.write(offset, data)
        }
    }

    /// What lies in the file then may have a wrong bit, as after a write.
    fn write_and_see(&self, offset: u64, data: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool> {
        if !self.is_stored_to(offset, data.len()) {
            return Ok(false);
        }
        self.store(offset, data)?;
        let mut there = vec![0; data.len()];
        self.read_at(offset, &mut there)?;
        there.chunks(PAGE).for_each(see);
        Ok(true)
    }

    /// A kill, and an error of `fill`, leave any of the pages that were filled.
    fn fill_at(&self, bytes: Range<u64>, fill: &mut dyn Fill) -> Result<bool> {
        let length = bytes.end.saturating_sub(bytes.start) as usize;
        if !self.is_stored_to(bytes.start, length) {
            return Ok(false);
        }
        let mut filled = vec![0; length];
        self.read_at(bytes.start, &mut filled)?;
        let done = fill.fill(&mut filled);
        self.store(bytes.start, &filled)?;
        done.map(|()| true)
    }

    fn allocate(&self, size: u64) -> Result<()> {
        if size > 0 {
            self.resize("allocate", |_| self.writes(libc::EBADF))?;
        }
        self.set_size(size)
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.resize("set the size of", |volume| {
            if volume.data(self.ino)?.len() as u64 == size {
                return Ok(());
            }
            self.writes(libc::EINVAL)?;
            volume.set_size(self.ino, size, time())
        })
    }

    fn data_from(&self, from: u64) -> Result<Option<Range<u64>>> {
        let size = self.size()?;
        Ok((from < size).then_some(from..size))
    }

    fn copy_from(&self, _source: &dyn File, _bytes: Range<u64>) -> Result<bool> {
        Ok(false)
    }

    fn start_sync(&self, _bytes: Range<u64>) -> Result<()> {
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let synced = self.change("sync", |volume| volume.sync(self.ino));
        if synced.is_err() && !scheduler::is_dead() {
            let mut volume = locked(&self.volume);
            volume.work_for(self.files.node).lose_changes(self.ino);
        }
        synced
    }

    fn restore(&self, stat: &Stat) -> Result<Refused> {
        self.on("restore the attributes of", |volume| {
            restore(volume, self.ino, stat)
        })
        .map(|()| None)
    }

    fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        Err(failed("copy", &self.path, libc::EOPNOTSUPP))
    }
}

/// Gives a file or directory mode and time of change of `stat`.
pub(super) fn restore(
    volume: &mut Volume,
    ino: Ino,
    stat: &Stat,
) -> std::result::Result<(), Errno> {
    let inode = volume.inode_mut(ino)?;
    (inode.mode, inode.mtime) = (stat.mode & 0o7777, stat.mtime);
    Ok(())
}
