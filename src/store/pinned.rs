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
pub(super) struct Pinned(RefCell<State>);

#[derive(Default)]
enum State {
    #[default]
    NotAsked,
    /// The answer was that pages cannot be pinned, or that this does not help.
    Refused,
    Held {
        _pin: Pin,
        /// Bytes from the begin of the mapping.
        length: u64,
        /// The file's time of change.
        changed: (i64, u32),
    },
}

fn time_of(stat: &Stat) -> (i64, u32) {
    attributes::stat_of(stat).mtime
}

impl Pinned {
    /// True if pages are pinned.
    pub(super) fn any(&self) -> bool {
        matches!(*self.0.borrow(), State::Held { .. })
    }

    /// Unpins. A refusal stays.
    pub(super) fn release(&self) {
        let mut state = self.0.borrow_mut();
        if matches!(*state, State::Held { .. }) {
            *state = State::NotAsked;
        }
    }

    /// Unpins before the file is cut to `size` bytes, if pinned pages go by that.
    pub(super) fn cut(&self, size: u64) {
        let beyond = match *self.0.borrow() {
            State::Held { length, .. } => length > size,
            _ => false,
        };
        if beyond {
            self.release();
        }
    }

    /// Unpins if the file, which has no holes if it is `whole`, may have other pages than those that were pinned.
    pub(super) fn check(&self, stat: &Stat, whole: bool) {
        let same = match *self.0.borrow() {
            State::Held {
                length, changed, ..
            } => whole && stat.st_size as u64 >= length && changed == time_of(stat),
            _ => true,
        };
        if !same {
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
        if let State::Held { changed, .. } = &mut *self.0.borrow_mut() {
            *changed = time_of(&stat);
        }
    }

    /// Pins the first `length` bytes of a mapping, if that was not refused, and the first `end` bytes are not pinned.
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
        let wanted = match *self.0.borrow() {
            State::NotAsked => true,
            State::Refused => false,
            State::Held { length, .. } => length < end,
        };
        if !wanted {
            return;
        }
        // Pages are not pinned twice.
        self.release();
        // SAFETY: as the caller promises.
        let pin = unsafe { fill.pin(address, length as usize) };
        *self.0.borrow_mut() = match pin {
            None => State::Refused,
            Some(pin) => State::Held {
                _pin: pin,
                length,
                changed: time_of(stat),
            },
        };
    }
}
