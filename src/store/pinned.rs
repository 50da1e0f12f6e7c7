//! Whether the pages of a mapping are pinned, and whether the pins still hold the pages of the file.
//!
//! A device copies to the pages that were pinned. If others have cut or punched the file since, and it was written again,
//! the file has new pages, and the pinned ones belong to nobody: copies would go there, and the processor would find what
//! was in the file before. So while pages are pinned, this process changes the file only under a lease, and each time looks
//! first whether the file still has all its pages and the time of change that it left there. If not, the pins go.

use super::attributes;
use super::fill::{Fill, Pin};
use rustix::fd::BorrowedFd;
use rustix::fs::{Stat, fstat};
use std::cell::RefCell;

/// The pins of a mapping.
#[derive(Default)]
pub(super) struct Pinned {
    held: RefCell<Option<Held>>,
    /// Who has answered that pages cannot be pinned, or that this does not help. Others may still do it.
    refused: RefCell<Vec<&'static str>>,
}

struct Held {
    _pin: Pin,
    /// Bytes from the begin of the mapping.
    length: u64,
    /// The file's time of change.
    changed: (i64, u32),
}

fn time_of(stat: &Stat) -> (i64, u32) {
    attributes::stat_of(stat).mtime
}

impl Pinned {
    /// True if pages are pinned.
    pub(super) fn any(&self) -> bool {
        self.held.borrow().is_some()
    }

    /// Unpins. Refusals stay.
    pub(super) fn release(&self) {
        *self.held.borrow_mut() = None;
    }

    /// Unpins before the file is cut to `size` bytes, if pinned pages go by that.
    pub(super) fn cut(&self, size: u64) {
        let held = self.held.borrow().as_ref().map(|held| held.length);
        if held.is_some_and(|length| length > size) {
            self.release();
        }
    }

    /// Unpins if the file, which has no holes if it is `whole`, may have other pages than those that were pinned.
    pub(super) fn check(&self, stat: &Stat, whole: bool) {
        let same = |held: &Held| {
            whole && stat.st_size as u64 >= held.length && held.changed == time_of(stat)
        };
        let other = self.held.borrow().as_ref().is_some_and(|held| !same(held));
        if other {
            self.release();
        }
    }

    /// This process has changed the file, under the lease under which it was checked.
    pub(super) fn changed(&self, file: BorrowedFd<'_>) {
        if !self.any() {
            return;
        }
        let Ok(stat) = fstat(file) else {
            return self.release();
        };
        if let Some(held) = &mut *self.held.borrow_mut() {
            held.changed = time_of(&stat);
        }
    }

    /// Pins the first `length` bytes of a mapping, if who fills the file has not refused that before, and the first `end` bytes
    /// are not pinned.
    ///
    /// # Safety
    /// They stay mapped until [`Pinned::release`] was called, or this was dropped.
    pub(super) unsafe fn pin(
        &self,
        fill: &dyn Fill,
        address: *mut u8,
        (end, length): (u64, u64),
        stat: &Stat,
    ) {
        let Some(who) = fill
            .pins()
            .filter(|who| !self.refused.borrow().contains(who))
        else {
            return;
        };
        if self
            .held
            .borrow()
            .as_ref()
            .is_some_and(|held| held.length >= end)
        {
            return;
        }
        // Pages are not pinned twice.
        self.release();
        // SAFETY: as the caller promises.
        match unsafe { fill.pin(address, length as usize) } {
            None => self.refused.borrow_mut().push(who),
            Some(pin) => {
                *self.held.borrow_mut() = Some(Held {
                    _pin: pin,
                    length,
                    changed: time_of(stat),
                });
            }
        }
    }
}
