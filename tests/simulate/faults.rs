//! Errors of file systems, drawn for each operation, and how long operations take.

use crate::flips::Flips;
use crate::job::PREFIX;
use crate::places::LOCAL;
use scr::system::simulated::Random;
use scr::system::simulated::scheduler::{self, ProcessId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A part of what a node sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultScope {
    /// The prefix directory with all in it.
    Prefix,
    /// The directory of SCR in it.
    Records,
    /// The cache of a node.
    Cache,
}

impl FaultScope {
    const ALL: [FaultScope; 3] = [FaultScope::Prefix, FaultScope::Records, FaultScope::Cache];

    fn has(self, path: &Path) -> bool {
        match self {
            FaultScope::Prefix => path.starts_with(PREFIX),
            FaultScope::Records => path.starts_with(Path::new(PREFIX).join(".scr")),
            FaultScope::Cache => path.starts_with(LOCAL),
        }
    }
}

/// Kinds of operations.
const ACTIONS: [&str; 11] = [
    "open",
    "read",
    "stat",
    "list directory",
    "create",
    "write",
    "allocate",
    "sync",
    "rename",
    "remove",
    "make directory",
];

/// Which operations something is about: all, as far as nothing is said.
#[derive(Debug, Clone, Copy, Default)]
pub struct Only {
    pub node: Option<usize>,
    pub place: Option<FaultScope>,
    pub action: Option<&'static str>,
}

impl Only {
    /// All operations, or some of them.
    pub fn draw(random: &mut Random, nodes: usize) -> Only {
        if random.once_in(2) {
            return Only::default();
        }
        let node = random.once_in(2).then(|| random.below(nodes as u64));
        Only {
            node: node.map(|node| node as usize),
            place: random.once_in(2).then(|| *random.one_of(&FaultScope::ALL)),
            action: random.once_in(2).then(|| *random.one_of(&ACTIONS)),
        }
    }

    fn has(&self, action: Option<&str>, node: usize, path: &Path) -> bool {
        self.node.is_none_or(|one| one == node)
            && self.place.is_none_or(|place| place.has(path))
            && (action.is_none() || self.action.is_none() || self.action == action)
    }
}

/// How many operations fail, and how often.
#[derive(Debug, Clone, Copy, Default)]
pub struct Budget {
    /// One in so many operations fails; none if it is 0.
    pub one_in: u64,
    /// So many at most.
    pub left: u64,
    /// So many operations go well before.
    pub after: u64,
    /// They begin when the program reads a checkpoint.
    pub in_restart: bool,
    pub only: Only,
}

impl Budget {
    /// A part of the machine that fails for a whole run, or some operations: few far apart, or many at once,
    /// which no repetition helps against. A run makes about `most` of them.
    pub fn draw(random: &mut Random, nodes: usize, most: u64) -> Budget {
        if random.once_in(6) {
            let only = Only {
                node: Some(random.below(nodes as u64) as usize),
                place: Some(*random.one_of(&FaultScope::ALL)),
                action: Some(*random.one_of(&ACTIONS)),
            };
            return Budget {
                one_in: 1,
                left: u64::MAX,
                only,
                ..Budget::default()
            };
        }
        let in_restart = random.once_in(3);
        Budget {
            one_in: 1 << random.below(11),
            left: random.between(1, 6),
            after: random.below(if in_restart { 32 } else { most }),
            in_restart,
            only: Only::draw(random, nodes),
        }
    }
}

/// A part of the machine whose operations take time.
#[derive(Debug, Clone, Copy)]
pub struct Slow {
    /// The longest time of one operation.
    pub most: Duration,
    pub only: Only,
    /// Only those of threads, so that the program is far ahead of what goes on in the background.
    pub threads: bool,
}

/// A server of the prefix directory, which does one operation after the other.
#[derive(Debug, Clone, Copy)]
struct Server {
    /// How long it needs for one.
    each: Duration,
    /// When it has done all that it was asked for so far.
    free: Duration,
    /// How many operations that was.
    count: u64,
}

#[derive(Debug, Default)]
struct State {
    budget: Budget,
    server: Option<Server>,
    slow: Option<Slow>,
    hit: Vec<String>,
    /// The error numbers of all that have hit in this run.
    numbers: BTreeSet<i32>,
    /// Those of earlier runs.
    earlier: BTreeSet<i32>,
    /// How often some processes have created, written and renamed.
    changes: BTreeMap<ProcessId, u64>,
}

/// The faults of one job.
#[derive(Debug, Default)]
pub struct Faults(Mutex<State>, Arc<Flips>);

/// What an operation may fail with.
fn errors(action: &str) -> &'static [i32] {
    match action {
        "open" | "list directory" | "lock" => {
            &[libc::EIO, libc::ESTALE, libc::EACCES, libc::EMFILE]
        }
        "stat" => &[libc::EIO, libc::ESTALE, libc::EACCES],
        "read" => &[libc::EIO, libc::ESTALE],
        "create" => &[
            libc::EIO,
            libc::ENOSPC,
            libc::EDQUOT,
            libc::EACCES,
            libc::EMFILE,
        ],
        "make directory" => &[libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::EACCES],
        "remove" | "remove directory" => &[libc::EIO, libc::EACCES],
        "rename" => &[libc::EIO, libc::ENOSPC, libc::EACCES],
        _ => &[libc::EIO, libc::ENOSPC, libc::EDQUOT],
    }
}

impl Faults {
    /// Those that change bytes.
    pub fn flips(&self) -> &Arc<Flips> {
        &self.1
    }

    pub fn set(&self, budget: Budget, slow: Option<Slow>) {
        let mut state = self.0.lock().unwrap();
        (state.budget, state.slow) = (budget, slow);
        let numbers = std::mem::take(&mut state.numbers);
        state.earlier.extend(numbers);
    }

    /// The faults since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().hit)
    }

    /// Counts from now on what these processes change.
    pub fn count_changes_of(&self, processes: Vec<ProcessId>) {
        let none = processes.into_iter().map(|process| (process, 0));
        self.0.lock().unwrap().changes = none.collect();
    }

    /// How often one of them has created, written or renamed something.
    pub fn changes(&self, process: ProcessId) -> u64 {
        let state = self.0.lock().unwrap();
        state.changes.get(&process).copied().unwrap_or(0)
    }

    /// Lets all operations in the prefix directory take this long, one after the other.
    pub fn serve(&self, each: Duration) {
        let (free, count) = (Duration::ZERO, 0);
        self.0.lock().unwrap().server = Some(Server { each, free, count });
    }

    /// How many operations the server has done.
    pub fn served(&self) -> u64 {
        let server = self.0.lock().unwrap().server;
        server.map_or(0, |server| server.count)
    }

    /// How long an operation takes.
    pub fn delay(&self, node: usize, path: &Path) -> Option<Duration> {
        let mut state = self.0.lock().unwrap();
        if let Some(server) = &mut state.server {
            let in_task = scheduler::current().is_some() && !scheduler::is_dead();
            let now = scheduler::now().filter(|_| in_task && path.starts_with(PREFIX))?;
            server.count += 1;
            server.free = server.free.max(now) + server.each;
            return Some(server.free - now);
        }
        let slow = state.slow?;
        drop(state);
        let most = slow.most.as_micros() as u64;
        let takes = || scheduler::draw(|random| Duration::from_micros(random.below(most)));
        let here = !slow.threads || scheduler::is_in_thread();
        (here && slow.only.has(None, node, path)).then(takes)
    }

    /// True if there was one since the last [`Faults::take`].
    pub fn any_hit(&self) -> bool {
        !self.0.lock().unwrap().hit.is_empty()
    }

    /// True if these words name an error that has hit in this run, or, if that is `over`, in any.
    pub fn explain(&self, why: &str, over: bool) -> bool {
        let state = self.0.lock().unwrap();
        let names = |number: &i32| why.contains(&format!("(os error {number})"));
        state.numbers.iter().any(names) || (over && state.earlier.iter().any(names))
    }

    /// True if there was one in this run or in an earlier one.
    pub fn ever_hit(&self) -> bool {
        let state = self.0.lock().unwrap();
        !state.numbers.is_empty() || !state.earlier.is_empty()
    }

    /// The program reads a checkpoint.
    pub fn restarts(&self) {
        self.0.lock().unwrap().budget.in_restart = false;
    }

    /// Whether an operation goes well.
    pub fn check(&self, action: &'static str, node: usize, path: &Path) -> Result<(), i32> {
        /// Of a fault that lasts only the first ones are told.
        const TOLD: usize = 20;
        let mut state = self.0.lock().unwrap();
        if !state.changes.is_empty()
            && matches!(action, "create" | "write" | "rename")
            && let Some(process) = scheduler::current_process()
        {
            state.changes.entry(process).and_modify(|count| *count += 1);
        }
        let budget = state.budget;
        let none = budget.left == 0 || budget.one_in == 0 || budget.in_restart;
        if none || !budget.only.has(Some(action), node, path) {
            return Ok(());
        }
        if budget.after > 0 {
            state.budget.after -= 1;
            return Ok(());
        }
        let errno = scheduler::draw(|random| {
            let hits = random.once_in(budget.one_in);
            hits.then(|| *random.one_of(errors(action)))
        });
        let Some(errno) = errno else {
            return Ok(());
        };
        state.budget.left -= 1;
        state.numbers.insert(errno);
        if state.hit.len() < TOLD {
            let process = scheduler::current_process().unwrap_or(0);
            let path = path.display();
            state.hit.push(format!(
                "errno {errno} of '{action}' {path} in process {process}"
            ));
        }
        Err(errno)
    }
}
