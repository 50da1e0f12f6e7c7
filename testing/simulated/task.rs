//! The result that a task leaves when it ends, and how others wait for it.

use super::scheduler::{self, TaskId};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// The value that a thread returns, or its panic.
pub type Result<T> = std::result::Result<T, Box<dyn Any + Send + 'static>>;

/// The place where a task leaves its result.
pub(super) type Slot<T> = Arc<Mutex<Option<Result<T>>>>;

/// Work that leaves its result, or its panic, in a slot.
pub(super) fn work_into<T>(slot: Slot<T>, work: impl FnOnce() -> T) -> impl FnOnce() {
    move || {
        let done = catch_unwind(AssertUnwindSafe(work));
        match done {
            // Not a panic of the program: its process was killed.
            Err(unwound) if scheduler::is_dead() => resume_unwind(unwound),
            done => *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(done),
        }
    }
}

/// The result of a task that has ended.
pub(super) fn take<T>(slot: &Slot<T>) -> Result<T> {
    let mut result = slot.lock().unwrap_or_else(PoisonError::into_inner);
    result.take().unwrap_or_else(|| Err(Box::new("killed")))
}

/// Waits for the end of a task. A dead process does not wait: the stack of the task is unwound.
pub(super) fn wait_for_end(task: TaskId) {
    scheduler::pause();
    while !scheduler::has_ended(task) {
        if scheduler::is_dead() {
            return scheduler::unwind(task);
        } else {
            scheduler::wait(scheduler::end_of(task), None)
        };
    }
}
