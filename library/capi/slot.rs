//! A session, used by one thread at a time.

use super::process::Process;
use crate::{Error, Result};
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The use that a thread makes of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// No thread is in the session.
    Free,
    /// A thread is in a call of the session.
    InCall,
    /// A thread is in a call of the session, and there in the program's routine that lists its state. What that waits
    /// for may never come, if it is a thread that waits for the session.
    InRoutine,
}

/// A session, and the thread that is in it.
pub(super) struct Slot {
    process: Mutex<Process>,
    held: Mutex<Held>,
    changed: Condvar,
}

/// The session, as long as this thread is in it.
pub(super) struct Entered<'a> {
    slot: &'a Slot,
    process: MutexGuard<'a, Process>,
}

/// The thread is in the program's routine.
pub(super) struct Routine<'a>(&'a Slot);

impl Slot {
    pub(super) fn new(process: Process) -> Self {
        Slot {
            process: Mutex::new(process),
            held: Mutex::new(Held::Free),
            changed: Condvar::new(),
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, held: Held) {
        *self.held() = held;
        self.changed.notify_all();
    }

    /// Waits until no other thread is in the session.
    ///
    /// # Errors
    /// One is in the routine that lists the state, or a panic has left the session unusable.
    pub(super) fn enter(&self) -> Result<Entered<'_>> {
        let mut held = self.held();
        while *held == Held::InCall {
            let waited = self.changed.wait(held);
            held = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if *held == Held::InRoutine {
            let what = "another thread is in the routine that lists the state; until that has returned this session takes \
                        no call but those with its SCR_State";
            return Err(Error::usage("SCR_Session", what));
        }
        *held = Held::InCall;
        drop(held);
        self.entered()
    }

    /// As [`Slot::enter`]; `None` if another thread is in the session.
    pub(super) fn try_enter(&self) -> Option<Entered<'_>> {
        let mut held = self.held();
        if *held != Held::Free {
            return None;
        }
        *held = Held::InCall;
        drop(held);
        self.entered().ok()
    }

    fn entered(&self) -> Result<Entered<'_>> {
        match self.process.lock() {
            Ok(process) => Ok(Entered {
                slot: self,
                process,
            }),
            Err(_) => {
                self.set(Held::Free);
                let what = "an internal error in an earlier call has left SCR unusable";
                Err(Error::comm("SCR".to_string(), what.to_string()))
            }
        }
    }

    /// The thread that is in the session enters the program's routine.
    pub(super) fn routine(&self) -> Routine<'_> {
        self.set(Held::InRoutine);
        Routine(self)
    }
}

impl Drop for Routine<'_> {
    fn drop(&mut self) {
        self.0.set(Held::InCall);
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        // The next thread finds the lock on the session free in a moment.
        self.slot.set(Held::Free);
    }
}

impl Deref for Entered<'_> {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

impl DerefMut for Entered<'_> {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}
