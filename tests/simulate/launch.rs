//! The ranks of one run, from their start to their end: who is killed, and who goes on.

use crate::beside::Beside;
use crate::job::Machine;
use crate::orphan::Disturbs;
use crate::plan::{Kill, Run};
use crate::process::Handle;
use crate::world::World;
use scr::system::simulated::Random;
use scr::system::simulated::scheduler::{self, ProcessId, Simulation, Step};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Longer than any run may take.
const HANG: Duration = Duration::from_secs(3600);

/// Steps after which a run counts as one that never ends.
const STEPS: u64 = 3_000_000;

/// What a run has met whose processes go on in the next one.
pub const REPAIRED: &str = "killed process whose run is repaired";

/// No process has this number.
const NOBODY: ProcessId = 0;

pub struct Launch<'a> {
    machine: &'a Machine,
    simulation: &'a Simulation,
    number: usize,
    run: &'a Run,
    world: Arc<World>,
    processes: Vec<Handle>,
    /// If the next run repairs this one: for each rank of that, which of this one it was.
    next: Option<Vec<Option<usize>>>,
    /// That is still possible.
    goes_on: bool,
    /// A rank was killed.
    killed: bool,
    /// How many steps there were before it, and when it began.
    begun: u64,
    first: Duration,
}

impl<'a> Launch<'a> {
    /// Starts the ranks of a run. `survivors` are processes of the run before, by the ranks that they have here.
    pub fn start(
        machine: &'a Machine,
        simulation: &'a Simulation,
        number: usize,
        mut survivors: BTreeMap<usize, Handle>,
    ) -> Self {
        let run = &machine.plan.runs[number];
        let (size, late) = (run.node_of.len(), run.disturbance.late);
        let flips = machine.flips();
        let world = World::new(size, late, flips.clone());
        let second = run
            .again
            .is_some()
            .then(|| World::new(size, late, flips.clone()));
        let repairs = !survivors.is_empty();
        let mut processes = Vec::new();
        for rank in 0..size {
            let worlds = std::iter::once(&world).chain(&second).cloned().collect();
            let program = machine.program(number, rank, repairs, worlds);
            let handle = match survivors.remove(&rank) {
                Some(handle) => {
                    handle.go_on(program);
                    handle
                }
                None => {
                    let id = (1000 * (number + 1) + rank) as ProcessId;
                    let handle = Handle::start(simulation, id, program);
                    simulation.set_host(id, &format!("n{}", run.node_of[rank]));
                    handle
                }
            };
            let ahead = run.disturbance.ahead_of(run.node_of[rank]);
            simulation.set_ahead(handle.id, ahead);
            processes.push(handle);
        }
        let next = machine.plan.repaired(number + 1);
        Launch {
            machine,
            simulation,
            number,
            run,
            world,
            processes,
            goes_on: next.is_some(),
            next,
            killed: false,
            begun: simulation.steps(),
            first: scheduler::now().unwrap_or_default(),
        }
    }

    /// The process of a rank. There may be fewer ranks than before: nobody has the process of the others.
    pub fn process(&self, rank: usize) -> ProcessId {
        self.processes.get(rank).map_or(NOBODY, |one| one.id)
    }

    /// Until all ranks have ended, are killed, or wait for the run that repairs this one.
    pub fn run(&mut self, beside: &mut Beside, disturbs: &mut Disturbs) {
        let handles = self.processes.iter().zip(&self.run.node_of);
        let ranks: Vec<_> = handles
            .map(|(one, node)| (one.id, one.main, *node))
            .collect();
        let mut alive: Vec<usize> = Vec::new();
        let mut looked = None;
        loop {
            let steps = self.simulation.steps() - self.begun;
            if let Some((kind, text)) = disturbs.step(self.simulation, steps, &ranks) {
                self.machine.reached(kind);
                if let Some(rank) = disturbs.earlier_rank() {
                    let mut oracle = self.machine.oracle.borrow_mut();
                    oracle.earlier_rank_goes_on(rank);
                }
                self.machine.tell(text);
            }
            let waiting = self.processes.iter().filter(|one| one.waits()).count();
            let now = (self.simulation.ended(), disturbs.has_stopped(), waiting);
            if looked.replace(now) != Some(now) {
                alive = self.active(disturbs);
            }
            if alive.is_empty() {
                return;
            }
            beside.tick(self.simulation, steps);
            let is_due = matches!(self.run.kill, Kill::AtStep(at) if steps >= at);
            let killed = self.kills(is_due || disturbs.has_stopped(), &alive, steps);
            // After a kill it is looked first whether all others wait for the next run.
            if !(killed && self.goes_on) && self.steps(&alive, steps) {
                return;
            }
        }
    }

    /// The ranks that neither have ended, nor are stopped, nor wait for another run.
    fn active(&self, disturbs: &Disturbs) -> Vec<usize> {
        let runs = |rank: &usize| {
            let waits = self.processes[*rank].waits();
            !waits && disturbs.runs(*rank) && self.simulation.is_alive(self.process(*rank))
        };
        (0..self.processes.len()).filter(runs).collect()
    }

    /// Kills a rank, if one is to be killed now. True if so.
    fn kills(&mut self, is_due: bool, alive: &[usize], steps: u64) -> bool {
        let aborts = self.world.aborted().is_some();
        self.goes_on &= !aborts;
        if !(is_due || aborts) || (self.killed && !scheduler::draw(|r| r.once_in(30))) {
            return false;
        }
        let mut victims = alive.to_vec();
        if self.goes_on
            && let Some(next) = &self.next
        {
            victims.retain(|rank| !next.contains(&Some(*rank)));
        }
        if victims.is_empty() {
            return false;
        }
        let victim = scheduler::draw(|random: &mut Random| *random.one_of(&victims));
        let text = format!("rank {victim} is killed after {steps} steps");
        self.machine.tell(text);
        self.simulation.kill(self.process(victim));
        self.killed = true;
        if self.goes_on {
            self.world.lose_rank();
        }
        true
    }

    /// Lets one task run. True if the run is over.
    fn steps(&self, alive: &[usize], steps: u64) -> bool {
        if let Kill::WhenSaved(count) = self.run.kill
            && self.machine.oracle.borrow().reports() >= count
        {
            let text = format!("all are killed after {steps} steps");
            self.machine.tell(text);
            return true;
        }
        let simulation = self.simulation;
        let ended = simulation.ended();
        match simulation.step() {
            Step::Ran(_) => {}
            Step::Ended => return true,
            Step::Stuck if self.killed && !self.goes_on => {
                // The ranks that are left wait for those that were killed.
                alive
                    .iter()
                    .for_each(|rank| simulation.kill(self.process(*rank)));
            }
            Step::Stuck => {
                let tasks = simulation.tasks();
                let text = format!("all tasks wait for each other: {tasks:#?}");
                self.machine.violation(text);
                return true;
            }
        }
        if simulation.ended() != ended {
            // A program that returns ends its process with all threads.
            for one in &self.processes {
                if scheduler::has_ended(one.main) && simulation.is_alive(one.id) {
                    simulation.kill(one.id);
                }
            }
        }
        let took = scheduler::now().unwrap_or_default();
        let took = took.saturating_sub(self.first);
        if (took > HANG || steps > STEPS) && (!self.killed || self.goes_on) {
            let (number, tasks) = (self.number, simulation.tasks());
            let text = format!("run {number} does not end: {took:?}, {steps} steps, {tasks:#?}");
            self.machine.violation(text);
            return true;
        }
        false
    }

    /// Kills all processes but those that are stopped and those that go on, and gives the latter, by the ranks that they
    /// have then.
    pub fn end(&self, disturbs: &Disturbs) -> BTreeMap<usize, Handle> {
        if self.killed {
            self.machine.reached("killed process");
        }
        let mut survivors = BTreeMap::new();
        if let Some(next) = self.next.as_ref().filter(|_| self.killed && self.goes_on) {
            let handle = |(rank, old): (usize, &Option<usize>)| {
                Some((rank, self.processes[(*old)?].clone()))
            };
            survivors = next.iter().enumerate().filter_map(handle).collect();
            // A process that has ended by itself cannot take part in a repair.
            if !survivors.values().all(Handle::waits) {
                survivors.clear();
            }
        }
        let goes_on = |rank| survivors.values().any(|one| one.id == self.process(rank));
        for rank in 0..self.processes.len() {
            if disturbs.runs(rank) && !goes_on(rank) {
                self.simulation.kill(self.process(rank));
            }
        }
        survivors
    }
}
