//! An open file of [`Posix`](super::posix::Posix).

use super::File;
use crate::{Error, Result};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{FallocateFlags, Mode, fallocate, fstat, fstatfs, fsync, ftruncate};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// An error of the system, with the action and the path.
pub(super) fn failed(action: &'static str, path: &Path, errno: Errno) -> Error {
    Error::io(action, path, errno.into())
}

/// An error that SCR itself detected; `errno` is the closest one of the system.
pub(super) fn refused(
    action: &'static str,
    path: &Path,
    errno: Errno,
    text: impl Into<String>,
) -> Error {
    let (path, errno) = (path.to_path_buf(), Some(errno.raw_os_error()));
    Error::Io {
        action,
        path,
        errno,
        text: text.into(),
    }
}

/// An open file. After a failed write or sync the system may have dropped the data, and would
/// report success the next time. So every later call returns that first error.
pub(super) struct PosixFile {
    fd: OwnedFd,
    path: PathBuf,
    failure: RefCell<Option<Error>>,
}

impl PosixFile {
    pub(super) fn new(fd: OwnedFd, path: &Path) -> Self {
        PosixFile {
            fd,
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

    fn keep(&self, error: Error) -> Error {
        *self.failure.borrow_mut() = Some(error.clone());
        error
    }

    fn change(
        &self,
        action: &'static str,
        call: impl FnMut() -> rustix::io::Result<()>,
    ) -> Result<()> {
        self.check()?;
        retry_on_intr(call).map_err(|errno| self.keep(failed(action, &self.path, errno)))
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

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.check()?;
        let mut done = 0;
        while let Some(rest) = data.get(done..).filter(|rest| !rest.is_empty()) {
            let at = offset.saturating_add(done as u64);
            let error = match retry_on_intr(|| pwrite(&self.fd, rest, at)) {
                Ok(0) => refused("write", &self.path, Errno::IO, "the system wrote 0 bytes"),
                Ok(count) => {
                    done += count;
                    continue;
                }
                Err(errno) => failed("write", &self.path, errno),
            };
            return Err(self.keep(error));
        }
        Ok(())
    }

    fn allocate(&self, size: u64) -> Result<()> {
        if size > 0 {
            self.change("allocate", || reserve(&self.fd, size))?;
        }
        // Reserving never makes a file shorter.
        self.change("set the size of", || ftruncate(&self.fd, size))
    }

    fn sync(&self) -> Result<()> {
        self.change("sync", || fsync(&self.fd))
    }
}

/// Reserves space. In tmpfs, reserving would write every page an extra time, so there only the free
/// space is compared.
fn reserve(fd: &OwnedFd, size: u64) -> rustix::io::Result<()> {
    const TMPFS: u64 = 0x0102_1994;
    let system = fstatfs(fd)?;
    if system.f_type as u64 == TMPFS {
        // A tmpfs without a limit has no blocks.
        let free = system.f_bavail.saturating_mul(system.f_bsize as u64);
        let held = u64::try_from(fstat(fd)?.st_blocks).unwrap_or(0) * 512;
        return match system.f_blocks == 0 || size <= free.saturating_add(held) {
            true => Ok(()),
            false => Err(Errno::NOSPC),
        };
    }
    match fallocate(fd, FallocateFlags::empty(), 0, size) {
        // If space cannot be reserved, a full disk is noticed while writing.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        other => other,
    }
}

/// Changes the mode of an `O_PATH` handle, which fchmod does not accept.
pub(super) fn chmod_handle(handle: &OwnedFd, mode: Mode) -> rustix::io::Result<()> {
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    retry_on_intr(|| rustix::fs::chmod(path.as_str(), mode))
}
