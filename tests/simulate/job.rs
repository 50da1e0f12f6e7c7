//! Runs a whole job: starts the ranks, kills them, loses nodes, starts again.

use crate::beside::{Beside, Site};
use crate::counts::Reached;
use crate::faults::{Budget, Faults};
use crate::files::{Shared, SimFiles, View};
use crate::flips::{FlipBudget, Flips};
use crate::launch::{Launch, REPAIRED};
use crate::machine::{Disks, Hit};
use crate::messages::Messages;
use crate::oracle::left::{FOREIGN_LOCAL, FOREIGN_SHARED, put_foreign};
use crate::oracle::{Oracle, Promise};
use crate::orphan::{Disturbs, Orphan};
use crate::places::LOCAL;
use crate::plan::{Loss, Plan, Run};
use crate::process::Handle;
use crate::program::Program;
use crate::volume::Volume;
use crate::world::World;
use scr::format::index::Index;
use scr::job::Environment;
use scr::store::Files;
use scr::system::simulated::Random;
use scr::system::simulated::scheduler::{self, ProcessId, Simulation};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// The file system that all nodes see, and the prefix directory in it.
pub const SHARED: &str = "/sim/shared";
pub const PREFIX: &str = "/sim/shared/prefix";

/// What a volume holds where nothing else is said, bytes.
const CAPACITY: u64 = 64 << 20;

/// What became of a job.
pub struct Outcome {
    pub violations: Vec<String>,
    pub hash: u64,
    pub steps: u64,
    plan: Plan,
    story: Vec<String>,
    /// What it has reached.
    pub reached: Reached,
}

impl Outcome {
    /// What happened, for people.
    pub fn story(&self) -> String {
        format!("{:#?}\n{}", self.plan, self.story.join("\n"))
    }
}

/// The machine on which the runs of a job take place.
pub struct Machine {
    pub plan: Plan,
    pub shared: Shared,
    pub local: Vec<Shared>,
    faults: Arc<Faults>,
    events: Arc<Messages>,
    pub oracle: Rc<RefCell<Oracle>>,
    story: Rc<RefCell<Vec<String>>>,
    /// How many events the story has.
    told: Cell<usize>,
    /// What each node remembers of the shared file system.
    views: Vec<Arc<Mutex<View>>>,
    /// The caches as they were when each run began.
    earlier: RefCell<Vec<Vec<Volume>>>,
    orphan: RefCell<Option<Orphan>>,
    /// The processes of the run before that go on in the next one, by the ranks that they have there.
    survivors: RefCell<BTreeMap<usize, Handle>>,
}

fn volume(profile: crate::volume::Profile) -> Shared {
    Arc::new(Mutex::new(Volume::new(profile, CAPACITY)))
}

/// Simulates the job of a seed.
pub fn simulate(seed: u64) -> Outcome {
    simulate_changed(seed, |_| ())
}

/// Simulates the job of a seed after a change of its plan.
pub fn simulate_changed(seed: u64, change: impl FnOnce(&mut Plan)) -> Outcome {
    simulate_in_order(seed, 0, change)
}

/// Simulates that job with tasks in another order for each `order`.
pub fn simulate_in_order(seed: u64, order: u64, change: impl FnOnce(&mut Plan)) -> Outcome {
    let simulation = Simulation::new(seed);
    let mut plan = scheduler::draw(Plan::draw);
    change(&mut plan);
    if plan.small {
        simulation.make_small();
    }
    for _ in 0..order {
        scheduler::draw(Random::number);
    }
    let faults = Arc::new(Faults::default());
    let events = Arc::new(Messages::new(faults.flips().clone()));
    let mut machine = Machine {
        shared: volume(plan.shared),
        local: (0..plan.nodes).map(|_| volume(plan.local)).collect(),
        faults: faults.clone(),
        events: events.clone(),
        oracle: Rc::new(RefCell::new(Oracle::new(&plan, faults, events))),
        story: Rc::default(),
        told: Cell::new(0),
        views: (0..plan.nodes).map(|_| Arc::default()).collect(),
        earlier: RefCell::default(),
        orphan: RefCell::default(),
        survivors: RefCell::default(),
        plan,
    };
    machine.prepare();
    let mut beside = machine.beside();
    for number in 0..machine.plan.runs.len() {
        machine.run(&simulation, number, &mut beside);
        machine.check_foreign();
        if machine.has_failed() {
            break;
        }
        machine.lose(&simulation, number, &mut beside);
        if machine.orphan.borrow().is_some() {
            machine.stop_listening(number);
            beside.tell_to(&machine.oracle);
        }
        beside.after_run(&simulation, &machine.plan.runs[number].beside.after);
        machine.check_foreign();
        if machine.has_failed() {
            break;
        }
    }
    if machine.oracle.borrow().violations().is_empty() {
        machine.look_at_the_end(|process| simulation.is_alive(process));
    }
    let (hash, steps) = (simulation.hash(), simulation.steps());
    drop(simulation);
    Outcome {
        violations: machine.oracle.borrow().violations().to_vec(),
        hash,
        steps,
        story: machine.story.take(),
        plan: machine.plan,
        reached: machine.oracle.borrow().reached.clone(),
    }
}

impl Machine {
    pub fn tell(&self, text: String) {
        let now = scheduler::now().unwrap_or_default().as_secs_f64() - 1e6;
        self.story.borrow_mut().push(format!("{now:12.6} {text}"));
    }

    fn has_failed(&self) -> bool {
        !self.oracle.borrow().violations().is_empty()
    }

    /// Daemons and commands, on each node and without a cache.
    fn beside(&self) -> Beside {
        let stores = &self.plan.places.stores;
        let site = |files, name: &str| Site {
            stores: stores
                .iter()
                .map(|store| (store.dir, store.global))
                .collect(),
            files,
            environment: self.environment_of(name),
            oracle: self.oracle.clone(),
            story: self.story.clone(),
        };
        let on = |node| site(self.files_of(node), &format!("n{node}"));
        let mut login = self.files_of(0);
        login.mounts.truncate(1);
        let nodes = (0..self.plan.nodes).map(on).collect();
        Beside::new(self.plan.beside.clone(), nodes, site(login, "login"))
    }

    fn run(&self, simulation: &Simulation, number: usize, beside: &mut Beside) {
        let run = &self.plan.runs[number];
        self.tell(format!("run {number} begins"));
        self.faults.set(run.faults, run.disturbance.slow);
        self.flips().set(run.flips);
        self.keep_old_disks();
        let orphan = self.orphan.borrow_mut().take();
        let before = number.checked_sub(1);
        let locks =
            |orphan: &Orphan| before.is_some_and(|run| self.plan.may_lock(run, orphan.rank));
        let locked = orphan.as_ref().is_some_and(locks);
        self.oracle.borrow_mut().starts(number);
        self.oracle.borrow_mut().locked = locked;
        self.set_room(run);
        let mut launch = Launch::start(self, simulation, number, self.survivors.take());
        beside.begin_run(simulation, &run.beside);
        let process = |rank| launch.process(rank);
        let mut disturbs = Disturbs::new(&run.disturbance, &self.faults, orphan, process);
        launch.run(beside, &mut disturbs);
        let survivors = launch.end(&disturbs);
        self.orphan.replace(disturbs.end(simulation));
        beside.end_run(simulation);
        self.oracle
            .borrow_mut()
            .are_flushed(self.events.take_flushed());
        let panics = simulation.take_panics();
        let fine = panics.is_empty();
        let mut oracle = self.oracle.borrow_mut();
        oracle.check(Promise::Ends, fine, || format!("a panic: {panics:#?}"));
        drop(oracle);
        self.faults.set(Budget::default(), None);
        self.flips().set(FlipBudget::default());
        for what in self.flips().take() {
            self.reached(what);
        }
        for fault in self.faults.take() {
            self.reached("error of a file system");
            self.tell(fault);
        }
        let lines = self.events.lines();
        let new = lines.iter().skip(self.told.replace(lines.len()));
        let new = new.map(|line| format!("             | {line}"));
        self.story.borrow_mut().extend(new);
        self.tell(format!("run {number} has ended"));
        if !survivors.is_empty() {
            self.reached(REPAIRED);
            let ranks: Vec<&usize> = survivors.keys().collect();
            self.tell(format!("its processes go on as ranks {ranks:?}"));
        }
        self.survivors.replace(survivors);
    }

    /// Bits that flip.
    pub fn flips(&self) -> &Arc<Flips> {
        self.faults.flips()
    }

    /// A fault has hit.
    pub fn reached(&self, fault: &'static str) {
        self.oracle.borrow_mut().reached.fault(fault);
    }

    /// What the file systems hold during a run.
    fn set_room(&self, run: &Run) {
        for volume in &self.local {
            let capacity = run.capacity.unwrap_or(CAPACITY);
            volume.lock().unwrap().set_capacity(capacity);
        }
        let mut shared = self.shared.lock().unwrap();
        shared.set_capacity(CAPACITY);
        if let Some(room) = run.shared_room {
            let used = shared.capacity() - shared.free();
            shared.set_capacity(used + room);
        }
    }

    /// What a rank of a run does.
    pub fn program(
        &self,
        number: usize,
        rank: usize,
        repairs: bool,
        worlds: Vec<Arc<World>>,
    ) -> Program {
        let run = &self.plan.runs[number];
        let node = run.node_of[rank];
        Program {
            asks_to_exit: self.plan.runs.iter().any(|run| run.beside.halts()),
            run: run.clone(),
            number,
            rank,
            repairs,
            worlds,
            places: self.plan.places.clone(),
            files: self.files_of(node),
            environment: self.environment(node, run),
            events: self.events.clone(),
            told: self.told.get(),
            oracle: self.oracle.clone(),
            story: self.story.clone(),
            fields: self.plan.fields,
        }
    }

    pub fn violation(&self, text: String) {
        self.oracle
            .borrow_mut()
            .check(Promise::Ends, false, || text);
    }

    /// What the user and others have put there before the job begins, on stable storage.
    fn prepare(&self) {
        let files = self.files_of(0);
        let text = self.plan.places.text(self.plan.nodes);
        files.make_dirs(Path::new(PREFIX)).unwrap();
        let conf = Path::new(PREFIX).join(".scrconf");
        let file = files.create(&conf, 0o644).unwrap();
        file.write_at(0, text.as_bytes()).unwrap();
        self.put_foreign();
    }

    /// Files of others, on volumes that miss them.
    fn put_foreign(&self) {
        put_foreign(&mut self.shared.lock().unwrap(), &FOREIGN_SHARED);
        for volume in &self.local {
            put_foreign(&mut volume.lock().unwrap(), &FOREIGN_LOCAL);
        }
    }

    fn check_foreign(&self) {
        let mut oracle = self.oracle.borrow_mut();
        let shared = self.shared.lock().unwrap();
        oracle.check_foreign(&shared, &FOREIGN_SHARED, "the shared volume");
        for (node, volume) in self.local.iter().enumerate() {
            let named = format!("node n{node}");
            oracle.check_foreign(&volume.lock().unwrap(), &FOREIGN_LOCAL, &named);
        }
    }

    /// What is on the volumes when the job is over. Daemons may live on.
    fn look_at_the_end(&self, lives: impl Fn(ProcessId) -> bool) {
        let files = self.files_of(0);
        let path = Path::new(PREFIX).join(".scr/index.scr");
        let index = Index::read(&files, &path).unwrap_or_default();
        let mut oracle = self.oracle.borrow_mut();
        let shared = self.shared.lock().unwrap();
        oracle.check_outputs(&shared, &index);
        if self.plan.tidy && oracle.ends >= 2 {
            oracle.check_shared_is_tidy(&shared, &index);
            for (node, volume) in self.local.iter().enumerate() {
                oracle.check_local_is_tidy(&volume.lock().unwrap(), node, &lives);
            }
        }
    }

    fn files_of(&self, node: usize) -> SimFiles {
        SimFiles {
            node,
            view: self.views[node].clone(),
            mounts: vec![
                (PathBuf::from(SHARED), self.shared.clone()),
                (PathBuf::from(LOCAL), self.local[node].clone()),
            ],
            faults: self.faults.clone(),
        }
    }

    fn environment(&self, node: usize, run: &Run) -> Environment {
        let mut environment = self.environment_of(&format!("n{node}"));
        for (name, value) in &run.changes {
            environment = environment.with(name, value);
        }
        environment
    }

    fn environment_of(&self, node: &str) -> Environment {
        let mut environment = Environment::empty()
            .with_host(node)
            .with_cwd(PREFIX)
            .with("SCR_NODE_NAME", node)
            .with("SCR_PREFIX", PREFIX)
            .with("SCR_CACHE_BASE", LOCAL)
            .with("SCR_CNTL_BASE", LOCAL);
        for (name, value) in self.plan.variables() {
            environment = environment.with(name, value);
        }
        environment
    }

    /// The nodes of processes that go on after run `number`.
    fn used_by_survivors(&self, number: usize) -> BTreeSet<usize> {
        let survivors = self.survivors.borrow();
        let node = |rank: &usize| self.plan.runs[number + 1].node_of[*rank];
        survivors.keys().map(node).collect()
    }

    /// What is lost after run `number`.
    fn lose(&self, simulation: &Simulation, number: usize, beside: &mut Beside) {
        let loss = self.plan.runs[number].loss;
        self.tell(format!("between the runs: {loss:?}"));
        if let Some(orphan) = self.orphan.borrow_mut().take_if(|_| loss != Loss::Nothing) {
            simulation.kill(orphan.process);
        }
        let earlier = self.earlier.borrow();
        let disks = Disks {
            shared: &self.shared,
            local: &self.local,
            earlier: &earlier,
        };
        for hit in disks.lose(loss, &self.used_by_survivors(number)) {
            self.tell(format!("{hit:?}"));
            match hit {
                Hit::Node(node) | Hit::Old(node) => beside.lose_node(simulation, node),
                Hit::Power => beside.lose_power(simulation),
                Hit::Swapped(one, other) => {
                    beside.end_daemon(simulation, one);
                    beside.end_daemon(simulation, other);
                }
                Hit::PowerOfNodes | Hit::Cache | Hit::Prefix(_) => {}
            }
            let mut oracle = self.oracle.borrow_mut();
            oracle.reached.fault(loss.kind());
            oracle.is_hit(&hit);
        }
        for view in &self.views {
            *view.lock().unwrap() = View::default();
        }
        // What has no name any more may be open in a process that lives on.
        let goes_on = !self.survivors.borrow().is_empty();
        if !beside.is_alive(simulation) && self.orphan.borrow().is_none() && !goes_on {
            for volume in &self.local {
                volume.lock().unwrap().make_all_stable();
            }
        }
        if loss != Loss::Nothing {
            self.put_foreign();
        }
    }

    /// For a node that comes back with what it had.
    fn keep_old_disks(&self) {
        if self.plan.runs.iter().any(|run| run.loss == Loss::Old) {
            let caches = self.local.iter().map(|one| one.lock().unwrap().clone());
            self.earlier.borrow_mut().push(caches.collect());
        }
    }

    /// What a rank of this run tells from now on is not heard: nobody waits for it any more.
    fn stop_listening(&mut self, number: usize) {
        let events = self.events.clone();
        let mut unheard = Oracle::new(&self.plan, self.faults.clone(), events);
        unheard.starts(number);
        let oracle = self.oracle.replace(unheard);
        self.oracle = Rc::new(RefCell::new(oracle));
    }
}
