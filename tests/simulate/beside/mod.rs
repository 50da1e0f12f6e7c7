//! What happens beside the program: transfer daemons, and the commands of people and scripts, during a run and
//! between two runs. Each is a process of its own, which may be stopped or killed anywhere.

mod after;
mod cases;
mod commands;
mod draw;

pub use draw::{After, BesidePlan, BesideRun};
use draw::{Event, What};

use crate::files::SimFiles;
use crate::oracle::{Excuse, Oracle, Promise};
use crate::places::LOCAL;
use crate::volume::Damage;
use commands::Command;
use scr::cache::layout::Layout;
use scr::daemon::control;
use scr::job::Environment;
use scr::job::clock::local_time;
use scr::prefix::paths::Prefix;
use scr::system::simulated::scheduler::{self, ProcessId, Simulation, Step, TaskId};
use scr::system::time::SystemTime;
use scr_jobs::transfers::service::Service;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The ids of these processes begin here; below are those of ranks.
const FIRST: ProcessId = 1_000_000;

/// Longer than any command may take.
const HANG: Duration = Duration::from_secs(3600);

/// Where a process works: on a node, or with the prefix directory alone.
#[derive(Clone)]
pub struct Site {
    pub files: SimFiles,
    pub environment: Environment,
    /// The base directories of stores, and whether all nodes see them.
    pub stores: Vec<(&'static str, bool)>,
    pub oracle: Rc<RefCell<Oracle>>,
    pub story: Rc<RefCell<Vec<String>>>,
}

impl Site {
    fn prefix(&self) -> Prefix {
        Prefix::new(self.variable("SCR_PREFIX").as_ref())
    }

    /// The job's directory in a base directory.
    fn layout(&self, base: &str) -> Layout {
        let (user, job) = (self.variable("SCR_USER_NAME"), self.variable("SCR_JOB_ID"));
        Layout::new(base.as_ref(), user, job)
    }

    /// All its caches.
    fn layouts(&self) -> Vec<Layout> {
        let all = self.stores.iter();
        all.map(|(base, _)| self.layout(base)).collect()
    }

    pub fn tell(&self, text: &str) {
        let now = scheduler::now().unwrap_or_default().as_secs_f64() - 1e6;
        let (id, host) = (
            scheduler::current_process().unwrap_or(0),
            &self.environment.host,
        );
        let line = format!("{now:12.6} process {id} on {host}: {text}");
        self.story.borrow_mut().push(line);
    }

    fn variable(&self, name: &str) -> &str {
        self.environment.get(name).unwrap_or_default()
    }

    fn is_on(&self, name: &str, unset: bool) -> bool {
        self.environment
            .get(name)
            .map_or(unset, |value| value == "1")
    }

    fn time(&self) -> impl Fn() -> String + use<> {
        || local_time(SystemTime::now())
    }

    fn service(&self) -> Service {
        let patience = self.variable("SCR_FLUSH_DAEMON_TIMEOUT").parse();
        let names = (self.variable("SCR_USER_NAME"), self.variable("SCR_JOB_ID"));
        Service::new(
            Arc::new(self.files.clone()),
            self.layout(LOCAL),
            names,
            Duration::from_secs(patience.unwrap_or(120)),
        )
    }

    /// Without a fault of the file system nothing may fail.
    fn blame(&self, what: &str, error: &scr::Error) {
        if !scheduler::is_dead() {
            let text = format!("{what}: {error}");
            self.oracle.borrow_mut().command_failed(&text);
        }
    }
}

/// A command that runs.
struct Running {
    task: TaskId,
    command: Command,
    /// The step of the simulation at which it is killed.
    killed_at: Option<u64>,
}

/// The processes beside the program.
pub struct Beside {
    plan: BesidePlan,
    /// One for each node.
    nodes: Vec<Site>,
    /// Without a cache.
    login: Site,
    next: ProcessId,
    /// Each with its node.
    daemons: BTreeMap<ProcessId, usize>,
    commands: BTreeMap<ProcessId, Running>,
    /// Nodes that were lost after the last run.
    down: BTreeSet<usize>,
    /// What of the plan of this run is still to come, the next last.
    events: Vec<Event>,
}

impl Beside {
    pub fn new(plan: BesidePlan, nodes: Vec<Site>, login: Site) -> Self {
        Beside {
            plan,
            nodes,
            login,
            next: FIRST,
            daemons: BTreeMap::new(),
            commands: BTreeMap::new(),
            down: BTreeSet::new(),
            events: Vec::new(),
        }
    }

    /// Processes that start from now on tell this oracle what they do.
    pub fn tell_to(&mut self, oracle: &Rc<RefCell<Oracle>>) {
        for site in self.nodes.iter_mut().chain([&mut self.login]) {
            site.oracle = oracle.clone();
        }
    }

    fn site(&self, node: Option<usize>) -> &Site {
        // A job that is made smaller may have fewer.
        let node = node.map(|node| &self.nodes[node % self.nodes.len()]);
        node.unwrap_or(&self.login)
    }

    /// Starts a process on a node.
    fn start(
        &mut self,
        simulation: &Simulation,
        node: Option<usize>,
        name: &str,
        body: impl FnOnce(&Site) + 'static,
    ) -> (ProcessId, TaskId) {
        let id = self.next;
        self.next += 1;
        let site = self.site(node).clone();
        simulation.set_host(id, &site.environment.host);
        let task = simulation.start(id, name, move || body(&site));
        (id, task)
    }

    fn start_daemon(&mut self, simulation: &Simulation, node: usize) {
        let node = node % self.nodes.len();
        let (id, _) = self.start(simulation, Some(node), "scr transfer", Site::serve);
        self.daemons.insert(id, node);
    }

    fn start_command(&mut self, simulation: &Simulation, command: Command, kill: Option<u64>) {
        let (own, node) = (command.clone(), command.node());
        let name = format!("{command:?}");
        let (id, task) = self.start(simulation, node, &name, move |site| site.carry_out(&own));
        let running = Running {
            task,
            command,
            killed_at: kill.map(|steps| simulation.steps() + steps),
        };
        self.commands.insert(id, running);
    }

    /// A run begins.
    pub fn begin_run(&mut self, simulation: &Simulation, run: &BesideRun) {
        self.down.clear();
        self.events.clone_from(&run.events);
        self.events.sort_by_key(|event| std::cmp::Reverse(event.at));
        for node in run.daemons.iter().copied() {
            let node = node % self.nodes.len();
            if self.daemons_on(simulation, node).is_empty() {
                self.start_daemon(simulation, node);
            }
        }
    }

    /// The daemons that live on a node: a second one ends at once.
    fn daemons_on(&self, simulation: &Simulation, node: usize) -> Vec<ProcessId> {
        let here = self.daemons.iter().filter(|(_, on)| **on == node);
        let living = here.filter(|(id, _)| simulation.is_alive(**id));
        living.map(|(id, _)| *id).collect()
    }

    /// Does what is due after so many steps of a run.
    pub fn tick(&mut self, simulation: &Simulation, steps: u64) {
        while let Some(event) = self.events.pop_if(|event| event.at <= steps) {
            self.happens(simulation, event.what);
        }
        self.end_commands(simulation);
    }

    fn happens(&mut self, simulation: &Simulation, what: What) {
        match what {
            What::Daemon(node) => self.start_daemon(simulation, node),
            What::KillDaemon(node) => {
                let here = self.daemons_on(simulation, node);
                self.login.tell(&format!("the daemons {here:?} are killed"));
                here.iter().for_each(|id| simulation.kill(*id));
            }
            What::StopDaemon(node, time) => {
                let until = scheduler::now().unwrap_or_default() + time;
                let here = self.daemons_on(simulation, node);
                self.login
                    .tell(&format!("the daemons {here:?} are stopped for {time:?}"));
                here.iter().for_each(|id| simulation.stop_until(*id, until));
            }
            What::DamageOrders(node, damage) => self.damage_orders(node, damage),
            What::Command(command, kill) => self.start_command(simulation, command, kill),
        }
    }

    fn damage_orders(&self, node: usize, damage: Damage) {
        let site = self.site(Some(node));
        let mounts = site.files.mounts.iter();
        for (_, volume) in mounts.filter(|(at, _)| at == Path::new(LOCAL)) {
            let orders = |path: &Path| path.ends_with(control::FILE);
            let mut volume = volume.lock().unwrap();
            let hit = scheduler::draw(|random| volume.damage(damage, orders, random));
            if let Some(path) = hit {
                site.tell(&format!("{damage:?} of {}", path.display()));
            }
        }
    }

    /// Kills commands whose time has come, and forgets those that have ended.
    fn end_commands(&mut self, simulation: &Simulation) {
        let steps = simulation.steps();
        let due = |running: &Running| running.killed_at.is_some_and(|at| at <= steps);
        let over = |running: &Running| due(running) || scheduler::has_ended(running.task);
        let over: Vec<ProcessId> = self
            .commands
            .iter()
            .filter(|(_, running)| over(running))
            .map(|(id, _)| *id)
            .collect();
        for id in over {
            let killed = simulation.is_alive(id);
            // With its threads.
            simulation.kill(id);
            let running = self.commands.remove(&id);
            if killed && let Some(running) = running {
                self.killed(id, &running.command);
            }
        }
    }

    fn killed(&self, id: ProcessId, command: &Command) {
        self.login.tell(&format!("process {id} is killed"));
        if matches!(command, Command::Clean(_)) {
            self.login.oracle.borrow_mut().caches_lost(Excuse::Cleaned);
        }
    }

    /// The run is over: waits for the commands.
    pub fn end_run(&mut self, simulation: &Simulation) {
        self.events.clear();
        let begun = scheduler::now().unwrap_or_default();
        // Some may have ended in the last step.
        self.end_commands(simulation);
        while !self.commands.is_empty() {
            let took = scheduler::now().unwrap_or_default().saturating_sub(begun);
            let stuck = simulation.step() == Step::Stuck;
            if stuck || took > HANG {
                let tasks = simulation.tasks();
                let text = format!("a command does not end: {tasks:#?}");
                self.hangs(text);
                return;
            }
            self.end_commands(simulation);
        }
    }

    fn hangs(&self, text: String) {
        let mut oracle = self.login.oracle.borrow_mut();
        oracle.check(Promise::Ends, false, || text);
    }

    /// A node is lost, with all that runs there.
    pub fn lose_node(&mut self, simulation: &Simulation, node: usize) {
        self.end_daemon(simulation, node);
        self.down.insert(node);
    }

    /// The daemon of a node ends with all else that runs there.
    pub fn end_daemon(&mut self, simulation: &Simulation, node: usize) {
        let here = self.daemons.iter().filter(|(_, on)| **on == node);
        here.for_each(|(id, _)| simulation.kill(*id));
        self.daemons.retain(|_, on| *on != node);
    }

    /// Power is lost everywhere.
    pub fn lose_power(&mut self, simulation: &Simulation) {
        self.daemons.keys().for_each(|id| simulation.kill(*id));
        self.daemons.clear();
    }

    /// True if a process of these is alive.
    pub fn is_alive(&self, simulation: &Simulation) -> bool {
        let mut all = self.daemons.keys().chain(self.commands.keys());
        all.any(|id| simulation.is_alive(*id))
    }
}
