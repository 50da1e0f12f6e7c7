//! An open file of [`Posix`](super::posix::Posix).

use super::attributes::{self, allocated};
use super::failure::{failed, refused};
use super::kept::{Kept, KeptFile};
use super::mapping::{self, Change, Mapping, TMPFS};
use super::reading;
use super::retry::retry_on_intr;
use super::size_limit::{failed_in_limit, limited};
use super::{File, Fill, Refused, Stat};
use crate::{Error, Result};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    FallocateFlags, SeekFrom, copy_file_range, fallocate, fstat, fstatfs, fsync, ftruncate, seek,
};
use rustix::io::{Errno, pread, pwrite};
use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An open file. After a failed write or sync the system may have dropped the data, and would
/// report success the next time. So every later call returns that first error.
pub(super) struct PosixFile {
    fd: OwnedFd,
    /// There if the file was kept open since it was written before.
    mapping: Option<Mapping>,
    path: PathBuf,
    failure: RefCell<Option<Error>>,
}

impl PosixFile {
    pub(super) fn new(fd: OwnedFd, path: &Path) -> Self {
        PosixFile {
            fd,
            mapping: None,
            path: path.to_path_buf(),
            failure: RefCell::new(None),
        }
    }

    pub(super) fn into_fd(self) -> OwnedFd {
        self.fd
    }

    fn check(&self) -> Result<()> {
        self.failure.borrow().clone().map_or(Ok(()), Err)
    }

    fn keep_failure(&self, error: Error) -> Error {
        *self.failure.borrow_mut() = Some(error.clone());
        error
    }

    /// For a change of the file by a call. Pages that are pinned for a device are no longer trusted without it.
    fn changes(&self) -> Option<Change<'_>> {
        self.mapping.as_ref()?.changes(self.fd.as_fd())
    }

    /// Writes all of `data` by system calls.
    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        let _noted = self.changes();
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let at = offset.saturating_add(done as u64);
            let error = match limited(|| retry_on_intr(|| pwrite(&self.fd, rest, at))) {
                Ok(0) => refused("write", &self.path, Errno::IO, "the system wrote 0 bytes"),
                Ok(count) => {
                    done += count;
                    continue;
                }
                Err(errno) => failed_in_limit("write", &self.path, errno),
            };
            return Err(self.keep_failure(error));
        }
        Ok(())
    }

    /// Stores the whole lines in the middle of `data` through the mapping, and returns the bytes before them, and those
    /// from their end. All is before if there is no mapping, or the file cannot be stored to now.
    pub(super) fn store<'a>(&self, offset: u64, data: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let stored = self.mapping.as_ref().and_then(|mapping| {
            let part = mapping.part(offset, data.len())?;
            let (before, rest) = data.split_at_checked(part.start)?;
            let (middle, after) = rest.split_at_checked(part.len())?;
            let place = offset.saturating_add(part.start as u64);
            let stored = mapping.store(self.fd.as_fd(), place, middle);
            stored.then_some((before, after))
        });
        stored.unwrap_or((data, &[]))
    }
}

impl File for PosixFile {
    fn size(&self) -> Result<u64> {
        self.check()?;
        let stat = fstat(&self.fd).map_err(|errno| failed("stat", &self.path, errno))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.check()?;
        let mapping = self.mapping.as_ref();
        if mapping.is_some_and(|mapping| mapping.load(self.fd.as_fd(), offset, buffer)) {
            return Ok(());
        }
        let wanted = buffer.len();
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = offset.saturating_add(done as u64);
            match retry_on_intr(|| pread(&self.fd, &mut *rest, at)) {
                Ok(0) => {
                    let text = format!(
                        "end of file after {done} of the {wanted} bytes at offset {offset}"
                    );
                    return Err(refused("read", &self.path, Errno::IO, text));
                }
                Ok(count) => done += count,
                Err(errno) => return Err(failed("read", &self.path, errno)),
            }
        }
        Ok(())
    }

    fn show(&self, bytes: Range<u64>, piece: usize, see: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.check()?;
        let fd = self.fd.as_fd();
        Ok(match &self.mapping {
            Some(mapping) => mapping.show(fd, &bytes, piece, see),
            None => reading::show(fd, &bytes, piece, see),
        })
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.check()?;
        let (before, after) = self.store(offset, data);
        self.write(offset, before)?;
        let end = offset.saturating_add(data.len() as u64);
        self.write(end - after.len() as u64, after)
    }

    fn write_and_see(&self, offset: u64, data: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.check()?;
        let Some(mapping) = &self.mapping else {
            return Ok(false);
        };
        let Some((stored, rest)) = mapping.seen_part(offset, data) else {
            return Ok(false);
        };
        self.write(offset + stored.len() as u64, rest)?;
        Ok(mapping.store_and_see(self.fd.as_fd(), offset, stored, rest.len(), see))
    }

    fn fill_at(&self, bytes: Range<u64>, fill: &mut dyn Fill) -> Result<bool> {
        self.check()?;
        let Some(mapping) = &self.mapping else {
            return Ok(false);
        };
        let Some(last) = mapping.fill(self.fd.as_fd(), &bytes, fill)? else {
            return Ok(false);
        };
        self.write(bytes.end - last.len() as u64, &last)?;
        Ok(true)
    }

    fn allocate(&self, size: u64) -> Result<()> {
        self.check()?;
        if size > 0 {
            limited(|| reserve(&self.fd, size))
                .map_err(|errno| failed_in_limit("allocate", &self.path, errno))?;
        }
        // Reserving never makes a file shorter.
        self.set_size(size)
    }

    fn set_size(&self, size: u64) -> Result<()> {
        // Some file systems refuse the call, so it is made only where it is needed.
        if self.size()? == size {
            return Ok(());
        }
        if let Some(mapping) = &self.mapping {
            mapping.cut(size);
        }
        let _noted = self.changes();
        limited(|| retry_on_intr(|| ftruncate(&self.fd, size)))
            .map_err(|errno| failed_in_limit("set the size of", &self.path, errno))
    }

    fn data_from(&self, from: u64) -> Result<Option<Range<u64>>> {
        self.check()?;
        let fail = |errno| failed("find the holes of", &self.path, errno);
        let stat = fstat(&self.fd).map_err(fail)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if from >= size {
            return Ok(None);
        }
        // Most files have no holes; then the file system need not search.
        if allocated(&stat) >= size {
            return Ok(Some(from..size));
        }
        // A file system that cannot tell holes, or not now: reading tells whether the bytes are there.
        let start = match seek(&self.fd, SeekFrom::Data(from)) {
            Ok(start) => start,
            Err(Errno::NXIO) => return Ok(None),
            Err(_) => return Ok(Some(from..size)),
        };
        let end = seek(&self.fd, SeekFrom::Hole(start)).unwrap_or(size);
        // A file that is being written may have changed between the calls.
        Ok((start < end).then_some(start..end))
    }

    fn copy_from(&self, source: &dyn File, bytes: Range<u64>) -> Result<bool> {
        self.check()?;
        let source = source.descriptor()?;
        // Whatever fails, reading and writing tells which of the files is the reason.
        let copies = fstatfs(&self.fd).is_ok_and(|system| copies_blocks(system.f_type as u64));
        Ok(copies && limited(|| copy_range(source, &self.fd, bytes)).is_ok())
    }

    fn start_sync(&self, bytes: Range<u64>) -> Result<()> {
        self.check()?;
        start_writeback(&self.fd, &bytes).map_err(|errno| failed("write", &self.path, errno))
    }

    fn sync(&self) -> Result<()> {
        self.check()?;
        let synced = retry_on_intr(|| fsync(&self.fd));
        synced.map_err(|errno| self.keep_failure(failed("sync", &self.path, errno)))
    }

    fn restore(&self, stat: &Stat) -> Result<Refused> {
        self.check()?;
        let refused = attributes::restore_file(&self.fd, &self.path, stat);
        let refused = refused.map_err(|errno| failed("stat", &self.path, errno))?;
        Ok(refused.map(|(action, errno)| failed(action, &self.path, errno)))
    }

    fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.check()?;
        Ok(self.fd.as_fd())
    }

    fn keep(self: Box<Self>) -> Option<KeptFile> {
        let good = self.check().is_ok() && mapping::helps(self.fd.as_fd());
        let kept = OpenFile {
            fd: self.fd,
            mapping: self.mapping,
        };
        good.then(|| KeptFile::new(kept))
    }

    fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile> {
        let old = kept.get().map(|kept: &OpenFile| fstat(&kept.fd));
        let size = match (fstat(&self.fd), old) {
            (Ok(new), Some(Ok(old))) if (new.st_dev, new.st_ino) == (old.st_dev, old.st_ino) => {
                u64::try_from(old.st_size).unwrap_or(0)
            }
            _ => return Some(kept),
        };
        let kept: OpenFile = kept.into_kept()?;
        // Only a file that is open once can be stored to.
        self.fd = kept.fd;
        let long_enough = |mapping: &Mapping| mapping.length() >= size;
        self.mapping = kept.mapping.filter(long_enough);
        if self.mapping.is_none() {
            self.mapping = Mapping::new(self.fd.as_fd()).ok();
        }
        None
    }
}

/// A file that stays open, and its mapping if it has been written over before.
struct OpenFile {
    fd: OwnedFd,
    mapping: Option<Mapping>,
}

impl Kept for OpenFile {
    fn is_removed(&self) -> bool {
        !fstat(&self.fd).is_ok_and(|stat| stat.st_nlink > 0)
    }

    fn is_mapped(&self) -> bool {
        self.mapping.is_some()
    }
}

const EXT: u64 = 0xef53;

/// True if a file system may copy within itself faster than bytes are read and written: by sharing
/// blocks, or in a server. Ext4 and tmpfs copy in memory, which took longer by a quarter and by a
/// twentieth.
fn copies_blocks(file_system: u64) -> bool {
    !matches!(file_system, EXT | TMPFS)
}

/// Copies bytes to the same offsets of another file in the kernel.
fn copy_range(source: BorrowedFd, target: impl AsFd, bytes: Range<u64>) -> rustix::io::Result<()> {
    let (mut from, mut to) = (bytes.start, bytes.start);
    while to < bytes.end {
        let rest = usize::try_from(bytes.end - to).unwrap_or(usize::MAX);
        match copy_file_range(source, Some(&mut from), &target, Some(&mut to), rest) {
            // The end of the source.
            Ok(0) => return Err(Errno::IO),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Starts to write the pages of a file to its disk, without waiting for them.
fn start_writeback(fd: &OwnedFd, bytes: &Range<u64>) -> rustix::io::Result<()> {
    let (Ok(start), Ok(length)) = (
        i64::try_from(bytes.start),
        i64::try_from(bytes.end.saturating_sub(bytes.start)),
    ) else {
        return Err(Errno::FBIG);
    };
    // SAFETY: the descriptor is open, and the call accesses no memory of this process.
    let done = unsafe {
        libc::sync_file_range(fd.as_raw_fd(), start, length, libc::SYNC_FILE_RANGE_WRITE)
    };
    match done {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

/// Reserves space. In tmpfs, reserving would write every page an extra time, so there only the free
/// space is compared.
fn reserve(fd: &OwnedFd, size: u64) -> rustix::io::Result<()> {
    // Each signal ends the call, which takes long for a large file: where a timer sends them, it may never be done.
    const TRIES: usize = 4;
    if let Ok(system) = fstatfs(fd)
        && system.f_type as u64 == TMPFS
    {
        // A tmpfs without a limit has no blocks.
        let free = system.f_bavail.saturating_mul(system.f_bsize as u64);
        let held = allocated(&fstat(fd)?);
        return if system.f_blocks == 0 || size <= free.saturating_add(held) {
            Ok(())
        } else {
            Err(Errno::NOSPC)
        };
    }
    let mut tried = 0;
    loop {
        tried += 1;
        match fallocate(fd, FallocateFlags::empty(), 0, size) {
            Err(Errno::INTR) if tried < TRIES => {}
            // If space cannot be reserved, a full disk is noticed while writing.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
            other => return other,
        }
    }
}
