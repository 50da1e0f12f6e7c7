//! An open file of a [`Faulty`](super::Faulty) file system.

use super::{Faults, RESTORE, half, injected};
use crate::store::{File, Fill, KeptFile, Refused, Stat};
use crate::{Error, Result};
use rustix::fd::BorrowedFd;
use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// After a failed write or sync, every later call fails, as with a real file.
pub(super) struct FaultyFile {
    inner: Box<dyn File>,
    path: PathBuf,
    faults: Faults,
    failure: RefCell<Option<Error>>,
}

impl FaultyFile {
    pub fn wrap(inner: Box<dyn File>, path: &Path, faults: &Faults) -> Box<dyn File> {
        let (path, faults) = (path.to_path_buf(), faults.clone());
        Box::new(FaultyFile {
            inner,
            path,
            faults,
            failure: RefCell::new(None),
        })
    }

    fn check(&self, action: &'static str) -> Result<()> {
        self.faults.alive(action, &self.path)?;
        self.failure.borrow().clone().map_or(Ok(()), Err)
    }

    /// An operation that loses content if it fails.
    fn content(
        &self,
        action: &'static str,
        torn: impl FnOnce(),
        whole: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let result = self.change(action, torn, whole);
        self.failure.replace(result.clone().err());
        result
    }

    fn change(
        &self,
        action: &'static str,
        torn: impl FnOnce(),
        whole: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.check(action)?;
        self.faults.change(action, &self.path, torn, whole)
    }

    /// Number of bytes by which the file must grow to reach `end`, and number of those that are
    /// available.
    fn grow(&self, end: u64) -> Result<(u64, u64)> {
        let growth = end.saturating_sub(self.inner.size()?);
        Ok((growth, self.faults.take_space(growth)))
    }

    /// Flips a bit in the middle of what was written, if this write is one of those.
    fn flip(&self, offset: u64, data: &[u8]) -> Result<()> {
        let middle = data.len() / 2;
        match data.get(middle) {
            Some(byte) if self.faults.flips(&self.path) => {
                self.inner.write_at(offset + middle as u64, &[byte ^ 0x10])
            }
            _ => Ok(()),
        }
    }

    fn full(&self, action: &'static str) -> Error {
        injected(action, &self.path, libc::ENOSPC)
    }
}

impl File for FaultyFile {
    fn size(&self) -> Result<u64> {
        self.check("stat")?;
        self.inner.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.check("read")?;
        self.faults.look("read", &self.path)?;
        self.faults.readable(&self.path)?;
        self.inner.read_at(offset, buffer)
    }

    fn show(&self, bytes: Range<u64>, piece: usize, see: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.check("read")?;
        self.faults.look("read", &self.path)?;
        self.faults.readable(&self.path)?;
        self.inner.show(bytes, piece, see)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        let torn = || {
            let _ = self.inner.write_at(offset, half(data));
        };
        self.content("write", torn, || {
            self.faults.room("write", &self.path, true)?;
            let length = data.len() as u64;
            let (growth, taken) = self.grow(offset.saturating_add(length))?;
            if taken == growth {
                self.inner.write_at(offset, data)?;
                return self.flip(offset, data);
            }
            // Writes as much as fits, as a real disk does.
            let fits = length.saturating_sub(growth - taken);
            let fits = usize::try_from(fits).ok().and_then(|fits| data.get(..fits));
            self.inner.write_at(offset, fits.unwrap_or_default())?;
            Err(self.full("write"))
        })
    }

    fn write_and_see(&self, offset: u64, data: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.check("write")?;
        if !self.inner.write_and_see(offset, data, &mut |_| ())? {
            return Ok(false);
        }
        // The file was as long before.
        self.content("write", || (), || self.flip(offset, data))?;
        let mut there = vec![0; data.len()];
        self.inner.read_at(offset, &mut there)?;
        see(&there);
        Ok(true)
    }

    /// The file is as long before, so no space is taken. The process may die when half of the bytes are there.
    fn fill_at(&self, bytes: Range<u64>, fill: &mut dyn Fill) -> Result<bool> {
        self.check("write")?;
        let begin = bytes.start;
        let middle = begin + bytes.end.saturating_sub(begin) / 2;
        let mut second = vec![0; (bytes.end - middle) as usize];
        // A file that is not as long is not filled.
        if self.inner.read_at(middle, &mut second).is_err()
            || !self.inner.fill_at(bytes.clone(), fill)?
        {
            return Ok(false);
        }
        let torn = || {
            let _ = self.inner.write_at(middle, &second);
        };
        self.content("write", torn, || {
            let mut byte = [0];
            self.inner.read_at(middle, &mut byte)?;
            if self.faults.flips(&self.path) {
                let [byte] = byte;
                return self.inner.write_at(middle, &[byte ^ 0x10]);
            }
            Ok(())
        })?;
        Ok(true)
    }

    fn keep(self: Box<Self>) -> Option<KeptFile> {
        self.check("keep").ok()?;
        self.inner.keep()
    }

    fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile> {
        self.inner.take_over(kept)
    }

    fn allocate(&self, size: u64) -> Result<()> {
        self.change(
            "allocate",
            || (),
            || {
                self.faults.room("allocate", &self.path, true)?;
                let before = self.inner.size()?;
                let (growth, taken) = self.grow(size)?;
                if taken < growth {
                    self.faults.give_space(taken);
                    return Err(self.full("allocate"));
                }
                let result = self.inner.allocate(size);
                let freed = if result.is_ok() {
                    before.saturating_sub(size)
                } else {
                    taken
                };
                self.faults.give_space(freed);
                result
            },
        )
    }

    /// A hole takes no space.
    fn set_size(&self, size: u64) -> Result<()> {
        self.change(
            "set the size of",
            || (),
            || {
                let before = self.inner.size()?;
                self.inner.set_size(size)?;
                self.faults.give_space(before.saturating_sub(size));
                Ok(())
            },
        )
    }

    fn data_from(&self, from: u64) -> Result<Option<Range<u64>>> {
        self.check("stat")?;
        self.inner.data_from(from)
    }

    fn copy_from(&self, source: &dyn File, bytes: Range<u64>) -> Result<bool> {
        let mut copied = false;
        self.change(
            "copy",
            || (),
            || {
                let (growth, taken) = self.grow(bytes.end)?;
                copied = taken == growth && self.inner.copy_from(source, bytes)?;
                if !copied {
                    self.faults.give_space(taken);
                }
                Ok(())
            },
        )?;
        Ok(copied)
    }

    fn start_sync(&self, bytes: Range<u64>) -> Result<()> {
        self.change("start to sync", || (), || self.inner.start_sync(bytes))
    }

    fn sync(&self) -> Result<()> {
        self.content("sync", || (), || self.inner.sync())
    }

    fn restore(&self, stat: &Stat) -> Result<Refused> {
        self.check(RESTORE)?;
        let restore = || self.inner.restore(stat);
        self.faults.optional(RESTORE, &self.path, restore)
    }

    fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        self.check("read")?;
        self.faults.readable(&self.path)?;
        self.inner.descriptor()
    }
}
