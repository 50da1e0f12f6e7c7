//! Runs tasks, one at a time, in an order that a seed decides.
//!
//! A task is a coroutine with a stack of its own. It goes on until it waits or [`pause`]s; then the
//! scheduler draws the next one. The clock is virtual: it moves by microseconds at each step, and jumps to
//! the next sleeper when all tasks wait.
//!
//! Tasks belong to processes. [`Simulation::kill`] ends a process at the place where each of its tasks
//! waits. The stacks of its tasks are unwound, so that nothing leaks, but code that runs then is not
//! part of the simulation: [`is_dead`] is true, nothing waits any more, and file systems and
//! communicators refuse everything.

use super::random::{Random, mixed};
use super::ready::Ready;
pub use super::state::{Key, ProcessId, TaskId, end_of};
use super::state::{State, Task, TaskState};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

/// Size of a stack, bytes, as the threads of the standard library have it.
const STACK: usize = 2 << 20;

/// The longest time that one step takes, in microseconds.
const STEP: u64 = 20;

/// The time by which a dead process sees the clock move when it would have to wait.
const DEAD_WAIT: Duration = Duration::from_secs(3600);

type Work = Box<dyn FnOnce()>;

/// Number of stacks that a simulation leaves to the next one of its thread, at most: those of a
/// usual job.
const KEPT: usize = 64;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
    static HERE: RefCell<Option<Rc<RefCell<State>>>> = const { RefCell::new(None) };
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A task has run.
    Ran(TaskId),
    /// Each task waits for something that no task can do.
    Stuck,
    /// No task is left.
    Ended,
}

/// The tasks, the clock and the random numbers of one simulation. A thread has one at a time.
pub struct Simulation(Rc<RefCell<State>>);

impl Simulation {
    /// A simulation without tasks.
    ///
    /// # Panics
    /// This thread has one already.
    pub fn new(seed: u64) -> Self {
        let state = State {
            random: Random::new(seed),
            now: Duration::from_secs(1_000_000),
            tasks: Vec::new(),
            ready: Ready::default(),
            waiters: BTreeSet::new(),
            sleepers: BTreeSet::new(),
            able: Vec::new(),
            chosen: 0,
            next: 1,
            current: None,
            ended: 0,
            dead: BTreeSet::new(),
            ahead: BTreeMap::new(),
            stopped: BTreeMap::new(),
            hosts: BTreeMap::new(),
            hash: mixed(seed),
            steps: 0,
            stacks: STACKS.take(),
            panics: Vec::new(),
            small: false,
            step: STEP,
        };
        let state = Rc::new(RefCell::new(state));
        let other = HERE.replace(Some(state.clone()));
        assert!(other.is_none(), "one simulation at a time in a thread");
        Simulation(state)
    }

    /// Starts a task of a process.
    pub fn start(&self, process: ProcessId, name: &str, body: impl FnOnce() + 'static) -> TaskId {
        start(process, name, Box::new(body))
    }

    /// Lets one task run until it waits or pauses.
    pub fn step(&self) -> Step {
        let (task, coroutine) = match choose(&mut self.0.borrow_mut()) {
            Ok(chosen) => chosen,
            Err(step) => return step,
        };
        run(task, coroutine);
        Step::Ran(task)
    }

    /// Ends a process where its tasks are.
    pub fn kill(&self, process: ProcessId) {
        self.0.borrow_mut().dead.insert(process);
        loop {
            let of_process = |task: &&Task| task.process == process;
            let next = self
                .0
                .borrow()
                .tasks
                .iter()
                .find(of_process)
                .map(|task| task.id);
            match next {
                Some(task) => unwind(task),
                None => return,
            }
        }
    }

    /// Lets no task of a process run, as SIGSTOP does, until it is resumed or killed.
    pub fn stop(&self, process: ProcessId) {
        self.stop_until(process, Duration::MAX);
    }

    /// Lets no task of a process run until a time of the virtual clock.
    pub fn stop_until(&self, process: ProcessId, until: Duration) {
        self.0.borrow_mut().stopped.insert(process, until);
    }

    /// Lets the tasks of a stopped process run again.
    pub fn resume(&self, process: ProcessId) {
        self.0.borrow_mut().stopped.remove(&process);
    }

    /// True if a process has tasks.
    pub fn is_alive(&self, process: ProcessId) -> bool {
        let state = self.0.borrow();
        state.tasks.iter().any(|task| task.process == process)
    }

    /// Number of tasks that have ended so far. While it stays the same, the same tasks are alive.
    pub fn ended(&self) -> u64 {
        self.0.borrow().ended
    }

    /// Sets by how many milliseconds the clock of a process is ahead of the simulation's; behind if it is negative.
    pub fn set_ahead(&self, process: ProcessId, by: i64) {
        self.0.borrow_mut().ahead.insert(process, by);
    }

    /// Makes sizes small at which the code takes another way; see [`size::scaled`](super::size::scaled).
    pub fn make_small(&self) {
        self.0.borrow_mut().small = true;
    }

    /// Steps take no time from now on, as if each task had a processor of its own: only waits do.
    pub fn make_parallel(&self) {
        self.0.borrow_mut().step = 0;
    }

    /// Sets the name of the host of a process.
    pub fn set_host(&self, process: ProcessId, host: &str) {
        self.0.borrow_mut().hosts.insert(process, host.to_string());
    }

    /// Number of steps.
    pub fn steps(&self) -> u64 {
        self.0.borrow().steps
    }

    /// A number that follows from all that has happened: two runs with the same seed have the same.
    pub fn hash(&self) -> u64 {
        self.0.borrow().hash
    }

    /// The tasks that are left, for people, each with what it does.
    pub fn tasks(&self) -> Vec<String> {
        let state = self.0.borrow();
        let told = |task: &Task| {
            let what = match task.state {
                TaskState::Ready => "can go on".to_string(),
                TaskState::Waiting(_, None) => "waits".to_string(),
                TaskState::Waiting(_, Some(until)) => format!("waits until {until:?}"),
            };
            format!("{} of process {} {what}", task.name, task.process)
        };
        state.tasks.iter().map(told).collect()
    }

    /// The panics of tasks since the last call.
    pub fn take_panics(&self) -> Vec<String> {
        std::mem::take(&mut self.0.borrow_mut().panics)
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        let processes: BTreeSet<ProcessId> = self
            .0
            .borrow()
            .tasks
            .iter()
            .map(|task| task.process)
            .collect();
        for process in processes {
            self.kill(process);
        }
        let mut stacks = std::mem::take(&mut self.0.borrow_mut().stacks);
        stacks.truncate(KEPT);
        STACKS.set(stacks);
        HERE.set(None);
    }
}

/// Draws a task that can go on, and makes it the running one. If no task can go on, the clock jumps first.
#[allow(clippy::type_complexity)]
fn choose(state: &mut State) -> Result<(TaskId, Coroutine<(), (), (), DefaultStack>), Step> {
    state.steps += 1;
    state.now += Duration::from_micros(state.random.below(state.step));
    let chosen = if state.stopped.is_empty() {
        state.draw_ready()
    } else {
        state.draw_able()
    };
    state.chosen = match chosen {
        Some(chosen) => chosen,
        None if state.tasks.is_empty() => return Err(Step::Ended),
        None => return Err(Step::Stuck),
    };
    state.set(state.chosen, TaskState::Ready);
    let chosen = state.tasks.get_mut(state.chosen);
    let (id, process, coroutine) = chosen
        .and_then(|task| Some((task.id, task.process, task.coroutine.take()?)))
        .ok_or(Step::Stuck)?;
    state.current = Some((id, process));
    state.hash = mixed(state.hash ^ mixed(id) ^ state.now.as_nanos() as u64);
    Ok((id, coroutine))
}

fn run(id: TaskId, mut coroutine: Coroutine<(), (), (), DefaultStack>) {
    let result = coroutine.resume(());
    let killed = with(|state| {
        state.current = None;
        match result {
            CoroutineResult::Yield(()) => {
                let process = state.task_mut(id).map(|task| {
                    task.coroutine = Some(coroutine);
                    task.process
                });
                process.is_some_and(|process| state.dead.contains(&process))
            }
            CoroutineResult::Return(()) => {
                state.stacks.push(coroutine.into_stack());
                state.end(id);
                false
            }
        }
    });
    if killed == Some(true) {
        unwind(id);
    }
}

fn with<R>(change: impl FnOnce(&mut State) -> R) -> Option<R> {
    HERE.with_borrow(|here| Some(change(&mut here.as_ref()?.borrow_mut())))
}

/// Starts a task.
fn start(process: ProcessId, name: &str, body: Work) -> TaskId {
    with(|state| {
        let id = state.next;
        state.next += 1;
        #[allow(clippy::expect_used)] // Without memory the simulator cannot go on.
        let stack = state
            .stacks
            .pop()
            .unwrap_or_else(|| DefaultStack::new(STACK).expect("memory for a stack"));
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            with(|state| {
                if let Some(task) = state.task_mut(id) {
                    task.yielder = yielder;
                }
            });
            // The kill of the task's process also unwinds the task up to here.
            let ended = catch_unwind(AssertUnwindSafe(body));
            if let Err(panic) = ended
                && !is_dead()
            {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
                with(|state| {
                    let name = state.task(id).map_or("", |task| &task.name);
                    let text = format!("{name}: {}", text.unwrap_or_default());
                    state.panics.push(text);
                });
            }
        });
        let task = Task {
            id,
            process,
            name: name.to_string(),
            state: TaskState::Ready,
            woken: false,
            coroutine: Some(coroutine),
            yielder: std::ptr::null(),
        };
        state.tasks.push(task);
        state.ready.push();
        id
    })
    .unwrap_or(0)
}

/// Starts a task of the process of the running one, which goes on.
///
/// # Panics
/// No task is running.
pub(super) fn spawn_unpaused(name: &str, body: Work) -> TaskId {
    let process = with(|state| state.current_process()).flatten();
    #[allow(clippy::expect_used)]
    let process = process.expect("only a task of a simulation can start one");
    start(process, name, body)
}

/// True if a task has ended.
pub fn has_ended(task: TaskId) -> bool {
    with(|state| state.place_of(task).is_none()).unwrap_or(true)
}

/// Unwinds the stack of a task that does not run, and forgets it.
pub fn unwind(id: TaskId) {
    let taken = with(|state| {
        let task = state.task_mut(id)?;
        let (coroutine, process) = (task.coroutine.take()?, task.process);
        Some((coroutine, state.current.replace((id, process)), state.now))
    });
    let Some((mut coroutine, before, now)) = taken.flatten() else {
        return;
    };
    coroutine.force_unwind();
    with(|state| {
        // The clock has moved for the dead alone.
        (state.current, state.now) = (before, now);
        state.stacks.push(coroutine.into_stack());
        state.end(id);
    });
}

/// True while the running code belongs to a killed process: it must have no effect. Also while a panic
/// unwinds: a task that panics takes its threads with it.
pub fn is_dead() -> bool {
    std::thread::panicking() || with(|state| state.is_dead()).unwrap_or(false)
}

/// The running task.
pub fn current() -> Option<TaskId> {
    with(|state| Some(state.current?.0)).flatten()
}

/// The process of the running task.
pub fn current_process() -> Option<ProcessId> {
    with(|state| state.current_process()).flatten()
}

/// True in a thread that a process has started besides its first one.
pub fn is_in_thread() -> bool {
    let older = |state: &mut State| {
        let (id, process) = state.current?;
        let mut tasks = state.tasks.iter();
        Some(tasks.any(|task| task.process == process && task.id < id))
    };
    with(older).flatten().unwrap_or(false)
}

/// The name of the host of the running process, if it was given one.
pub fn current_host() -> Option<String> {
    with(|state| state.hosts.get(&state.current_process()?).cloned()).flatten()
}

/// The virtual time, since some time before the simulation; `None` outside of one.
pub fn now() -> Option<Duration> {
    with(|state| state.now)
}

/// The virtual time that the clock on the wall of this process shows.
pub fn wall_time() -> Option<Duration> {
    with(|state| {
        let process = state.current_process().unwrap_or_default();
        let ahead = state.ahead.get(&process).copied().unwrap_or_default();
        let by = Duration::from_millis(ahead.unsigned_abs());
        if ahead < 0 {
            state.now.saturating_sub(by)
        } else {
            state.now + by
        }
    })
}

/// Uses the random numbers of the simulation.
///
/// # Panics
/// This thread runs no simulation.
pub fn draw<R>(draw: impl FnOnce(&mut Random) -> R) -> R {
    let drawn = with(|state| draw(&mut state.random));
    #[allow(clippy::expect_used)]
    drawn.expect("a simulation in this thread")
}

/// True if sizes are small in this simulation.
pub fn is_small() -> bool {
    with(|state| state.small).unwrap_or(false)
}

/// Adds something that happened to the hash of the simulation.
pub fn note(what: u64) {
    with(|state| state.hash = mixed(state.hash ^ what));
}

/// Lets other tasks run. Outside of a task it does nothing.
pub fn pause() {
    suspend(TaskState::Ready);
}

/// Waits until another task [`wake`]s this key, or until a time. False if that time has come. A caller
/// must look again for what it waits for.
pub fn wait(key: Key, until: Option<Duration>) -> bool {
    suspend(TaskState::Waiting(key, until))
}

/// Lets all tasks that wait for `key` go on.
pub fn wake(key: Key) {
    with(|state| state.wake(key));
}

fn suspend(how: TaskState) -> bool {
    let waits = matches!(how, TaskState::Waiting(..));
    if is_dead() {
        if waits {
            with(|state| state.now += DEAD_WAIT);
        }
        return false;
    }
    let yielder = with(|state| {
        let (id, _) = state.current?;
        let at = state.place_of(id)?;
        state.set(at, how);
        let task = state.running()?;
        task.woken = false;
        Some(task.yielder)
    });
    let Some(yielder) = yielder.flatten().filter(|yielder| !yielder.is_null()) else {
        assert!(!waits, "only a task of a simulation can wait");
        return false;
    };
    // SAFETY: the yielder of the running coroutine, on whose stack this call is; it lives until the
    // coroutine ends.
    unsafe { (*yielder).suspend(()) };
    with(|state| state.running().is_some_and(|task| task.woken)).unwrap_or(false)
}
