//! Tasks that borrow from the task that waits for their end, as `std::thread::scope` has them.

use super::scheduler::{self, TaskId};
use super::task::{Result, Slot, take, wait_for_end, work_into};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// A scope in which tasks can be started; see [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    tasks: Mutex<Vec<TaskId>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// A task of a scope; see [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T> {
    task: TaskId,
    result: Slot<T>,
    scope: PhantomData<&'scope ()>,
}

/// Runs `body`, then waits for all tasks that it has started.
///
/// # Panics
/// A task that was not joined has panicked.
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    /// Waits also when the stack of the scope is unwound.
    struct Waits<'a, 'scope, 'env>(&'a Scope<'scope, 'env>);
    impl Drop for Waits<'_, '_, '_> {
        fn drop(&mut self) {
            let tasks = |scope: &Scope| {
                let mut tasks = scope.tasks.lock().unwrap_or_else(PoisonError::into_inner);
                tasks.pop()
            };
            while let Some(task) = tasks(self.0) {
                wait_for_end(task);
            }
        }
    }
    let scope = Scope {
        tasks: Mutex::default(),
        scope: PhantomData,
        env: PhantomData,
    };
    let _waits = Waits(&scope);
    body(&scope)
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a task.
    pub fn spawn<F, T>(&'scope self, work: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_named("scoped", work)
    }

    pub(super) fn spawn_named<F, T>(
        &'scope self,
        name: &str,
        work: F,
    ) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let result: Slot<T> = Arc::default();
        let work: Box<dyn FnOnce() + 'scope> = Box::new(work_into(result.clone(), work));
        // SAFETY: `scope` does not return before the task has ended or its stack was unwound, also if it
        // is unwound itself. So the task never outlives what it borrows.
        let work: Box<dyn FnOnce() + 'static> = unsafe { std::mem::transmute(work) };
        // Noted before it can run: this task may be killed there.
        let task = scheduler::spawn_unpaused(name, work);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.push(task);
        drop(tasks);
        scheduler::pause();
        ScopedJoinHandle {
            task,
            result,
            scope: PhantomData,
        }
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for its end.
    pub fn join(self) -> Result<T> {
        wait_for_end(self.task);
        take(&self.result)
    }

    /// True if it has ended.
    pub fn is_finished(&self) -> bool {
        scheduler::has_ended(self.task)
    }
}
