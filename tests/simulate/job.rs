//! Runs a whole job: starts the ranks, kills them, loses nodes, starts again.

use crate::faults::Faults;
use crate::files::{Shared, SimFiles};
use crate::oracle::{Answer, Oracle};
use crate::plan::{Loss, Plan, Run};
use crate::volume::Volume;
use crate::world::World;
use scr::comm::Communicator;
use scr::config::Config;
use scr::events::Memory;
use scr::format::Name;
use scr::job::Environment;
use scr::session::{Session, Setup};
use scr::store::Files;
use scr::system::simulated::Random;
use scr::system::simulated::scheduler::{self, ProcessId, Simulation, Step};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PREFIX: &str = "/sim/prefix";
const LOCAL: &str = "/sim/local";

/// Longer than any run may take.
const HANG: Duration = Duration::from_secs(3600);

/// Steps after which a run counts as one that never ends.
const STEPS: u64 = 3_000_000;

/// What became of a job.
pub struct Outcome {
    pub violations: Vec<String>,
    pub hash: u64,
    pub steps: u64,
    /// What happened, for people.
    pub story: Vec<String>,
}

/// The machine on which the runs of a job take place.
struct Machine {
    plan: Plan,
    shared: Shared,
    local: Vec<Shared>,
    faults: Arc<Faults>,
    events: Arc<Memory>,
    oracle: Rc<RefCell<Oracle>>,
    story: Rc<RefCell<Vec<String>>>,
    /// How many events the story has.
    told: Cell<usize>,
}

fn volume(profile: crate::volume::Profile) -> Shared {
    Arc::new(Mutex::new(Volume::new(profile, 64 << 20)))
}

/// Simulates the job of a seed.
pub fn simulate(seed: u64) -> Outcome {
    simulate_changed(seed, |_| ())
}

/// The same after a change of its plan.
pub fn simulate_changed(seed: u64, change: impl FnOnce(&mut Plan)) -> Outcome {
    let simulation = Simulation::new(seed);
    let mut plan = scheduler::draw(Plan::draw);
    change(&mut plan);
    let machine = Machine {
        shared: volume(plan.shared),
        local: (0..plan.nodes).map(|_| volume(plan.local)).collect(),
        faults: Arc::default(),
        events: Arc::default(),
        oracle: Rc::new(RefCell::new(Oracle::new(&plan))),
        story: Rc::default(),
        told: Cell::new(0),
        plan,
    };
    machine.tell(format!("{:#?}", machine.plan));
    for number in 0..machine.plan.runs.len() {
        machine.run(&simulation, number);
        if !machine.oracle.borrow().violations().is_empty() {
            break;
        }
        machine.lose(machine.plan.runs[number].loss);
    }
    let (hash, steps) = (simulation.hash(), simulation.steps());
    drop(simulation);
    Outcome {
        violations: machine.oracle.borrow().violations().to_vec(),
        hash,
        steps,
        story: machine.story.take(),
    }
}

impl Machine {
    fn tell(&self, text: String) {
        let now = scheduler::now().unwrap_or_default().as_secs_f64() - 1e6;
        self.story.borrow_mut().push(format!("{now:12.6} {text}"));
    }

    fn run(&self, simulation: &Simulation, number: usize) {
        let run = &self.plan.runs[number];
        let size = self.plan.node_of.len();
        self.tell(format!("run {number} begins"));
        self.faults.set(run.faults);
        self.oracle.borrow_mut().starts();
        self.oracle.borrow_mut().faulty |= run.faults.one_in > 0;
        let world = World::new(size);
        let process = |rank: usize| (1000 * (number + 1) + rank) as ProcessId;
        let finalized = Rc::new(Cell::new(0));
        let mut main = Vec::new();
        for rank in 0..size {
            let program = Program {
                run: run.clone(),
                number,
                rank,
                files: self.files_of(self.plan.node_of[rank]),
                environment: self.environment(self.plan.node_of[rank]),
                events: self.events.clone(),
                oracle: self.oracle.clone(),
                story: self.story.clone(),
                finalized: finalized.clone(),
            };
            let comm = world.rank(rank);
            let body = move || program.run(comm);
            main.push(simulation.start(process(rank), &format!("rank {rank}"), body));
        }
        let (begun, first) = (simulation.steps(), scheduler::now().unwrap_or_default());
        let mut killed = false;
        loop {
            let steps = simulation.steps() - begun;
            let due = run.kill_at.is_some_and(|at| steps >= at);
            let alive: Vec<usize> = (0..size)
                .filter(|rank| simulation.is_alive(process(*rank)))
                .collect();
            let aborts = world.aborted().is_some();
            if (due || aborts)
                && !alive.is_empty()
                && (!killed || scheduler::draw(|r| r.once_in(30)))
            {
                let victim = scheduler::draw(|random: &mut Random| *random.one_of(&alive));
                self.tell(format!("rank {victim} is killed after {steps} steps"));
                simulation.kill(process(victim));
                killed = true;
            }
            match simulation.step() {
                Step::Ran(_) => {}
                Step::Ended => break,
                Step::Stuck if killed => {
                    // The ranks that are left wait for those that were killed.
                    let alive = (0..size).filter(|rank| simulation.is_alive(process(*rank)));
                    alive.for_each(|rank| simulation.kill(process(rank)));
                }
                Step::Stuck => {
                    let tasks = simulation.tasks();
                    self.violation(format!("all tasks wait for each other: {tasks:#?}"));
                    break;
                }
            }
            // A program that returns ends its process with all threads.
            for (rank, task) in main.iter().enumerate() {
                if scheduler::has_ended(*task) && simulation.is_alive(process(rank)) {
                    simulation.kill(process(rank));
                }
            }
            let took = scheduler::now().unwrap_or_default().saturating_sub(first);
            if (took > HANG || steps > STEPS) && !killed {
                let tasks = simulation.tasks();
                self.violation(format!(
                    "run {number} does not end: {took:?}, {steps} steps, {tasks:#?}"
                ));
                break;
            }
        }
        (0..size).for_each(|rank| simulation.kill(process(rank)));
        for panic in simulation.take_panics() {
            self.violation(format!("a panic: {panic}"));
        }
        if finalized.get() == size {
            self.oracle.borrow_mut().finalized();
        }
        self.faults.set(crate::faults::Budget::default());
        let hit = self.faults.take();
        hit.into_iter().for_each(|fault| self.tell(fault));
        let lines = self.events.lines();
        let new = lines.iter().skip(self.told.replace(lines.len()));
        let new = new.map(|line| format!("             | {line}"));
        self.story.borrow_mut().extend(new);
        self.tell(format!("run {number} has ended"));
    }

    fn violation(&self, text: String) {
        self.oracle.borrow_mut().violation(text);
    }

    fn files_of(&self, node: usize) -> SimFiles {
        SimFiles {
            mounts: vec![
                (PathBuf::from(PREFIX), self.shared.clone()),
                (PathBuf::from(LOCAL), self.local[node].clone()),
            ],
            faults: self.faults.clone(),
        }
    }

    fn environment(&self, node: usize) -> Environment {
        let node = format!("n{node}");
        let mut environment = Environment::empty()
            .with_host(&node)
            .with_cwd(PREFIX)
            .with("SCR_NODE_NAME", &node)
            .with("SCR_PREFIX", PREFIX)
            .with("SCR_CACHE_BASE", LOCAL)
            .with("SCR_CNTL_BASE", LOCAL);
        for (name, value) in self.plan.variables() {
            environment = environment.with(name, value);
        }
        environment
    }

    fn lose(&self, loss: Loss) {
        self.tell(format!("between the runs: {loss:?}"));
        self.oracle.borrow_mut().lost(loss);
        match loss {
            Loss::Nothing => {}
            Loss::Nodes(count) => {
                let first = scheduler::draw(|random| random.below(self.plan.nodes as u64)) as usize;
                for node in (first..first + count).map(|node| node % self.plan.nodes) {
                    self.tell(format!("node n{node} comes back empty"));
                    *self.local[node].lock().unwrap() = Volume::new(self.plan.local, 64 << 20);
                }
            }
            Loss::Power => {
                for volume in self.local.iter().chain([&self.shared]) {
                    scheduler::draw(|random| volume.lock().unwrap().lose_power(random));
                }
            }
        }
        for volume in &self.local {
            volume.lock().unwrap().settle();
        }
    }
}

/// What each rank does in a run.
struct Program {
    run: Run,
    number: usize,
    rank: usize,
    files: SimFiles,
    environment: Environment,
    events: Arc<Memory>,
    oracle: Rc<RefCell<Oracle>>,
    story: Rc<RefCell<Vec<String>>>,
    finalized: Rc<Cell<usize>>,
}

impl Program {
    fn tell(&self, text: &str) {
        let now = scheduler::now().unwrap_or_default().as_secs_f64() - 1e6;
        let line = format!("{now:12.6} rank {}: {text}", self.rank);
        self.story.borrow_mut().push(line);
    }

    fn run(&self, comm: Box<dyn Communicator>) {
        let setup = Setup {
            comm,
            files: Arc::new(self.files.clone()),
            sink: self.events.clone(),
            environment: self.environment.clone(),
            lock_timeout: Duration::from_secs(1),
        };
        let mut config = Config::new();
        let mut session = match Session::init(setup, &mut config) {
            Ok(Some(session)) => session,
            Ok(None) => {
                return self
                    .oracle
                    .borrow_mut()
                    .violation("SCR is disabled".to_string());
            }
            Err(error) => {
                self.tell(&format!("SCR_Init: {error}"));
                let mut oracle = self.oracle.borrow_mut();
                if !oracle.faulty {
                    oracle.violation(format!("SCR_Init failed, and nothing else had: {error}"));
                }
                return;
            }
        };
        if !self.restart(&mut session) {
            return;
        }
        for number in 0..self.run.checkpoints {
            let name = format!("ck.{}.{number}", self.number);
            if let Err(error) = self.checkpoint(&mut session, &name) {
                self.tell(&format!("{name}: {error}"));
                self.blame(&name, &error);
            }
        }
        if self.run.finalizes {
            match session.finalize(&mut config) {
                Ok(()) => self.finalized.set(self.finalized.get() + 1),
                Err(error) => {
                    self.tell(&format!("SCR_Finalize: {error}"));
                    self.blame("SCR_Finalize", &error);
                }
            }
        }
    }

    /// Without a fault of the file system nothing may fail.
    fn blame(&self, what: &str, error: &scr::Error) {
        let mut oracle = self.oracle.borrow_mut();
        if !oracle.faulty && !scheduler::is_dead() {
            oracle.violation(format!("{what} failed, and nothing else had: {error}"));
        }
    }

    /// False if the program cannot go on.
    fn restart(&self, session: &mut Session) -> bool {
        let name = match session.have_restart() {
            Ok(Some(name)) => name.to_string(),
            Ok(None) => {
                self.oracle.borrow_mut().answered(self.rank, Answer::None);
                return true;
            }
            Err(error) => {
                let answer = Answer::Failed(error.to_string());
                self.oracle.borrow_mut().answered(self.rank, answer);
                return false;
            }
        };
        self.tell(&format!("is offered {name}"));
        let answer = Answer::Offered(name.clone());
        self.oracle.borrow_mut().answered(self.rank, answer);
        let read = session.start_restart().and_then(|_| {
            let path = session.route(Path::new(&file_of(&name, self.rank)))?;
            self.files.read(&path, 1 << 20)
        });
        let right = match &read {
            Ok(bytes) => {
                let right = *bytes == content(&name, self.rank);
                self.oracle.borrow_mut().has_read(self.rank, &name, right);
                right
            }
            Err(error) => {
                self.tell(&format!("cannot read {name}: {error}"));
                self.blame("reading", error);
                false
            }
        };
        match session.complete_restart(right) {
            Ok(()) => {
                if self.rank == 0 {
                    self.oracle.borrow_mut().restarted(&name);
                }
                true
            }
            Err(error) => {
                self.tell(&format!("SCR_Complete_restart: {error}"));
                self.blame("SCR_Complete_restart", &error);
                false
            }
        }
    }

    fn checkpoint(&self, session: &mut Session, name: &str) -> scr::Result<()> {
        self.oracle.borrow_mut().begins(name);
        let started = session.start_output(Some(Name::from(name)), true, false);
        if started.is_err() {
            // The phase has begun all the same, and must be ended.
            let _ = session.complete_output(false);
            return started;
        }
        let written = self.write(session, name);
        if written.is_ok() {
            self.oracle.borrow_mut().ends(name);
        }
        let done = session.complete_output(written.is_ok());
        let told = done.clone().map_err(|error| error.to_string());
        self.oracle.borrow_mut().completed(name, told);
        written.and(done)
    }

    fn write(&self, session: &mut Session, name: &str) -> scr::Result<()> {
        let path = session.route(Path::new(&file_of(name, self.rank)))?;
        let file = self.files.create(&path, 0o644)?;
        let bytes = content(name, self.rank);
        for (piece, part) in bytes.chunks(700).enumerate() {
            file.write_at(700 * piece as u64, part)?;
        }
        Ok(())
    }
}

fn file_of(name: &str, rank: usize) -> String {
    format!("{name}/rank_{rank}.dat")
}

/// The bytes of a rank's file: they differ between checkpoints and ranks.
fn content(name: &str, rank: usize) -> Vec<u8> {
    let seed = u64::from(crc32fast::hash(name.as_bytes())) << 8 | rank as u64;
    let mut random = Random::new(seed);
    let size = random.below(3000) as usize;
    let mut bytes: Vec<u8> = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        bytes.extend(random.number().to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}
