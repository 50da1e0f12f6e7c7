//! The tasks of a simulation, and which of them goes on next.

use super::random::{Random, mixed};
use super::ready::Ready;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A task of this simulation.
pub type TaskId = u64;

/// A simulated process.
pub type ProcessId = u32;

/// The number of an event that tasks wait for. A task that waits and a task that wakes it use the same number.
pub type Key = u64;

/// The key of a task's end.
pub fn end_of(task: TaskId) -> Key {
    mixed(task)
}

/// Tells whether a task can go on.
#[derive(Clone, Copy)]
pub(super) enum TaskState {
    Ready,
    /// The task waits until it is woken, or until a time.
    Waiting(Key, Option<Duration>),
}

/// A coroutine.
pub(super) struct Task {
    pub(super) id: TaskId,
    pub(super) process: ProcessId,
    pub(super) name: String,
    pub(super) state: TaskState,
    /// True if the last wait of the task ended because it was woken.
    pub(super) woken: bool,
    /// The coroutine of the task; missing while it runs.
    pub(super) coroutine: Option<Coroutine<(), (), (), DefaultStack>>,
    /// The yielder on the coroutine's own stack; null before the coroutine has begun.
    pub(super) yielder: *const Yielder<(), ()>,
}

/// All tasks, the clock and what decides.
pub(super) struct State {
    pub(super) random: Random,
    pub(super) now: Duration,
    /// All tasks that have not ended, in the order of their ids.
    pub(super) tasks: Vec<Task>,
    /// The places in `tasks` of the tasks that can go on, as long as no process is stopped.
    pub(super) ready: Ready,
    /// The tasks that wait, by what they wait for.
    pub(super) waiters: BTreeSet<(Key, TaskId)>,
    /// The tasks that wait until a time that has not come.
    pub(super) sleepers: BTreeSet<(Duration, TaskId)>,
    /// Places in `tasks` of the tasks that can go on while a process is stopped; kept only to reuse its memory.
    pub(super) able: Vec<usize>,
    /// Place in `tasks` of the task that was drawn last.
    pub(super) chosen: usize,
    pub(super) next: TaskId,
    /// The running task, and its process.
    pub(super) current: Option<(TaskId, ProcessId)>,
    /// Number of tasks that have ended.
    pub(super) ended: u64,
    pub(super) dead: BTreeSet<ProcessId>,
    /// The number of milliseconds by which the clock of a process is ahead, or behind if the number is negative.
    pub(super) ahead: BTreeMap<ProcessId, i64>,
    /// The time until which a process is stopped; [`Duration::MAX`] if it is stopped until it is resumed.
    pub(super) stopped: BTreeMap<ProcessId, Duration>,
    /// The names of the hosts of processes.
    pub(super) hosts: BTreeMap<ProcessId, String>,
    /// A hash of all that has happened.
    pub(super) hash: u64,
    pub(super) steps: u64,
    pub(super) stacks: Vec<DefaultStack>,
    pub(super) panics: Vec<String>,
    /// Sizes at which the code takes another way are small.
    pub(super) small: bool,
    /// The longest time that one step takes, in microseconds.
    pub(super) step: u64,
}

impl State {
    /// The time from which a task can go on; `None` if the task must first be woken, or its process resumed.
    fn able_at(&self, task: &Task) -> Option<Duration> {
        let wakes = match task.state {
            TaskState::Ready => Some(Duration::ZERO),
            TaskState::Waiting(_, until) => until,
        }?;
        let resumed = if self.stopped.is_empty() {
            None
        } else {
            self.stopped.get(&task.process).copied()
        };
        (resumed != Some(Duration::MAX)).then(|| wakes.max(resumed.unwrap_or_default()))
    }

    /// Draws one of the tasks that can go on. If no task can, the clock first jumps to the time at which one can. No
    /// process may be stopped.
    pub(super) fn draw_ready(&mut self) -> Option<usize> {
        self.end_sleep();
        if self.ready.count() == 0 {
            self.now = self.sleepers.first()?.0;
            self.end_sleep();
        }
        let drawn = self.random.below(self.ready.count() as u64) as usize;
        self.ready.nth(drawn)
    }

    /// Tasks whose time has come can go on. They still wait for their keys until they do.
    fn end_sleep(&mut self) {
        while let Some(&(until, id)) = self.sleepers.first()
            && until <= self.now
        {
            self.sleepers.pop_first();
            if let Some(at) = self.place_of(id) {
                self.ready.set(at, true);
            }
        }
    }

    /// Draws one while processes are stopped, which looks at all tasks.
    pub(super) fn draw_able(&mut self) -> Option<usize> {
        let mut able = std::mem::take(&mut self.able);
        self.find_able(&mut able);
        if able.is_empty() {
            let able_at = self.tasks.iter().filter_map(|task| self.able_at(task));
            self.now = able_at.min()?;
            self.find_able(&mut able);
        }
        let drawn = self.random.below(able.len() as u64) as usize;
        let chosen = able.get(drawn).copied().unwrap_or_default();
        self.able = able;
        Some(chosen)
    }

    /// Notes where the tasks are that can go on now.
    fn find_able(&self, able: &mut Vec<usize>) {
        able.clear();
        for (at, task) in self.tasks.iter().enumerate() {
            if self.able_at(task).is_some_and(|at| at <= self.now) {
                able.push(at);
            }
        }
    }

    /// Changes the state of the task at this place.
    pub(super) fn set(&mut self, at: usize, to: TaskState) {
        let Some(task) = self.tasks.get_mut(at) else {
            return;
        };
        let id = task.id;
        self.ready.set(at, matches!(to, TaskState::Ready));
        if let TaskState::Waiting(key, until) = std::mem::replace(&mut task.state, to) {
            self.waiters.remove(&(key, id));
            if let Some(until) = until {
                self.sleepers.remove(&(until, id));
            }
        }
        if let TaskState::Waiting(key, until) = to {
            self.waiters.insert((key, id));
            self.sleepers.extend(until.map(|until| (until, id)));
        }
    }

    pub(super) fn place_of(&self, id: TaskId) -> Option<usize> {
        // Mostly the state of the running task.
        match self.tasks.get(self.chosen) {
            Some(task) if task.id == id => Some(self.chosen),
            _ => self.tasks.binary_search_by_key(&id, |task| task.id).ok(),
        }
    }

    pub(super) fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(self.place_of(id)?)
    }

    pub(super) fn task_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        let at = self.place_of(id)?;
        self.tasks.get_mut(at)
    }

    pub(super) fn running(&mut self) -> Option<&mut Task> {
        let (id, _) = self.current?;
        self.task_mut(id)
    }

    pub(super) fn end(&mut self, id: TaskId) {
        if let Some(at) = self.place_of(id) {
            self.set(at, TaskState::Ready);
            self.tasks.remove(at);
            self.ready.remove(at);
            self.ended += 1;
        }
        self.wake(end_of(id));
    }

    pub(super) fn wake(&mut self, key: Key) {
        let of_key = (key, 0)..=(key, TaskId::MAX);
        while let Some(&(_, id)) = self.waiters.range(of_key.clone()).next() {
            let Some(at) = self.place_of(id) else {
                return;
            };
            self.set(at, TaskState::Ready);
            if let Some(task) = self.tasks.get_mut(at) {
                task.woken = true;
            }
        }
    }

    pub(super) fn current_process(&self) -> Option<ProcessId> {
        self.current.map(|(_, process)| process)
    }

    pub(super) fn is_dead(&self) -> bool {
        let process = self.current_process();
        process.is_some_and(|process| self.dead.contains(&process))
    }
}
