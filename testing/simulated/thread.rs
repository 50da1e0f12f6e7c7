//! Threads: tasks of the simulation. See [`std::thread`].

use super::scheduler::{self, TaskId};
pub use super::scope::{Scope, ScopedJoinHandle, scope};
pub use super::task::Result;
use super::task::{Slot, take, wait_for_end, work_into};
use std::io;
use std::sync::Arc;

/// Number of processors that a thread may use.
pub fn cores() -> usize {
    1
}

/// A thread that can be waited for.
pub struct JoinHandle<T> {
    task: TaskId,
    result: Slot<T>,
}

impl<T> JoinHandle<T> {
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

/// Starts a thread.
#[derive(Debug, Default)]
pub struct Builder(String);

impl Builder {
    /// A thread without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// A thread with this name.
    #[must_use]
    pub fn name(self, name: String) -> Self {
        Builder(name)
    }

    /// Starts it.
    pub fn spawn<F, T>(self, work: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let result: Slot<T> = Arc::default();
        let work = work_into(result.clone(), work);
        let task = scheduler::spawn_unpaused(&self.0, Box::new(work));
        scheduler::pause();
        Ok(JoinHandle { task, result })
    }

    /// Starts it in a scope.
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        work: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Ok(scope.spawn_named(&self.0, work))
    }
}

/// Starts a thread without a name.
pub fn spawn<F, T>(work: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let result: Slot<T> = Arc::default();
    let task = scheduler::spawn_unpaused("thread", Box::new(work_into(result.clone(), work)));
    scheduler::pause();
    JoinHandle { task, result }
}

/// Priorities are not simulated.
pub fn lower_priority(_cores: &[usize]) {}

/// Priorities are not simulated.
pub fn nice(_by: i32) {}
