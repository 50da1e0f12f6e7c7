//! Locks and condition variables. See [`std::sync`].

pub use super::mpsc;
use super::scheduler::{self, Key, TaskId};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError};
use std::time::Duration;

/// A lock around a value.
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    /// The task that holds it, or held it last.
    holder: AtomicU64,
    value: std::sync::Mutex<T>,
}

/// Access to the value of a [`Mutex`].
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    /// Missing only while it is dropped.
    value: Option<std::sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    /// A lock without a holder.
    pub const fn new(value: T) -> Self {
        Mutex {
            holder: AtomicU64::new(0),
            value: std::sync::Mutex::new(value),
        }
    }

    /// The value.
    pub fn into_inner(self) -> LockResult<T> {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until this task holds the lock.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        scheduler::pause();
        loop {
            let (value, poisoned) = match self.value.try_lock() {
                Ok(value) => (value, false),
                Err(TryLockError::Poisoned(poison)) => (poison.into_inner(), true),
                Err(TryLockError::WouldBlock) => {
                    if scheduler::is_dead() {
                        scheduler::unwind(self.holder());
                    } else {
                        scheduler::wait(key(self), None);
                    }
                    continue;
                }
            };
            let me = scheduler::current().unwrap_or(0);
            self.holder.store(me, Ordering::Relaxed);
            let guard = MutexGuard {
                lock: self,
                value: Some(value),
            };
            return if poisoned {
                Err(PoisonError::new(guard))
            } else {
                Ok(guard)
            };
        }
    }

    fn holder(&self) -> TaskId {
        self.holder.load(Ordering::Relaxed)
    }
}

/// A task that waits for this object waits for its address; addresses are compared, and never
/// ordered.
fn key<T: ?Sized>(object: &T) -> Key {
    std::ptr::from_ref(object).cast::<u8>() as Key
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        scheduler::wake(key(self.lock));
    }
}

#[allow(clippy::expect_used)]
impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value.as_deref().expect("held until it is dropped")
    }
}

#[allow(clippy::expect_used)]
impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect("held until it is dropped")
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// The place where tasks wait until the value of a lock has changed.
#[derive(Debug, Default)]
pub struct Condvar {
    /// This byte gives each condition variable an address of its own.
    _place: u8,
}

/// The reason why a wait has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// True if the time was over.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A condition variable for which no task waits.
    pub const fn new() -> Self {
        Condvar { _place: 0 }
    }

    /// Gives the lock back, waits, and takes it again.
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let lock = guard.lock;
        drop(guard);
        scheduler::wait(key(self), None);
        lock.lock()
    }

    /// Waits for some time at most.
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        most: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let lock = guard.lock;
        drop(guard);
        let until = scheduler::now().map(|now| now.saturating_add(most));
        let over = WaitTimeoutResult(!scheduler::wait(key(self), until));
        match lock.lock() {
            Ok(guard) => Ok((guard, over)),
            Err(poison) => Err(PoisonError::new((poison.into_inner(), over))),
        }
    }

    /// Wakes one of those that wait. They must look again anyway, so all of them may be.
    pub fn notify_one(&self) {
        self.notify_all();
    }

    /// Wakes all that wait.
    pub fn notify_all(&self) {
        scheduler::wake(key(self));
    }
}
