//! A job with thousands of ranks: each rank has a processor of its own, messages and operations on the parallel
//! file system take time, computing takes none. [`TimedJob::run`] runs a program on all ranks, and tells how long its
//! calls took, what the ranks came to, and what the user reads.

use crate::faults::{Budget, Faults};
use crate::files::{Shared, SimFiles};
use crate::job::{PREFIX, SHARED};
use crate::places::LOCAL;
use crate::volume::{Profile, Volume};
use crate::world::{Network, World};
use scr::Error;
use scr::config::Config;
use scr::events::Memory;
use scr::fields::{List, checkpoint, restore};
use scr::job::Environment;
use scr::session::{Session, Setup, Verdict};
use scr::store::Files;
use scr::system::simulated::scheduler::{self, Simulation, Step};
use scr_testing::counting::{CommTally, CountingComm, Counts};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Of a usual network.
const NETWORK: Network = Network {
    latency: Duration::from_micros(2),
    gap: Duration::from_nanos(500),
    bytes_per_second: 10_000_000_000,
};

/// An operation on the parallel file system: 100,000 a second.
pub const OPERATION: Duration = Duration::from_micros(10);

/// The ranks, the nodes and the file systems of a job.
pub struct TimedJob {
    /// The node of each rank.
    placed: Vec<usize>,
    /// The name of each node.
    names: Vec<String>,
    shared: Shared,
    local: Vec<Shared>,
    pub faults: Arc<Faults>,
    pub text: Vec<String>,
    /// What the ranks of the last run came to, if it was the same.
    end: Option<String>,
    settings: Vec<(&'static str, &'static str)>,
    /// What should be otherwise.
    pub wrong: Vec<String>,
    /// What the ranks of the last run have done: their messages, operations on files and waits, counted together.
    pub steps: u64,
    /// What each call of the last run has cost each rank, by the name of the call.
    pub costs: BTreeMap<String, Vec<Counts>>,
}

/// What the ranks of a run have noted.
#[derive(Default)]
struct Noted {
    /// The seconds of each call on the slowest rank, in the order of the calls.
    calls: Vec<(String, f64)>,
    /// What ranks came to, and how many came to it.
    ends: BTreeMap<String, usize>,
    /// The errors of calls that all ranks have, which the C interface prints on rank 0.
    errors: Vec<String>,
    /// What each call has cost each rank.
    costs: BTreeMap<String, Vec<(usize, Counts)>>,
}

/// What a rank comes to whose call has failed.
fn failed(noted: &RefCell<Noted>, rank: usize, call: &str, error: &Error) -> String {
    if rank == 0 {
        noted.borrow_mut().errors.push(format!("0: Error: {error}"));
    }
    format!("ends, since {call} has failed")
}

impl Noted {
    fn call(&mut self, name: &str, begun: Duration, rank: usize, counts: Counts) {
        let costs = self.costs.entry(name.to_string()).or_default();
        costs.push((rank, counts));
        let took = (scheduler::now().unwrap() - begun).as_secs_f64();
        match self.calls.iter_mut().find(|call| call.0 == name) {
            Some(call) => call.1 = call.1.max(took),
            None => self.calls.push((name.to_string(), took)),
        }
    }
}

/// A rank of a program.
pub struct Rank {
    session: Session,
    files: SimFiles,
    rank: usize,
    tally: CommTally,
    noted: Rc<RefCell<Noted>>,
}

impl Rank {
    /// Makes a call, and notes how long it took.
    fn timed<T>(&mut self, name: &str, call: impl FnOnce(&mut Session) -> T) -> T {
        let begun = scheduler::now().unwrap();
        let done = call(&mut self.session);
        let counts = self.tally.take();
        let mut noted = self.noted.borrow_mut();
        noted.call(name, begun, self.rank, counts);
        done
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{name}/rank_{}", self.rank))
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        format!("what rank {} has in {name}", self.rank).into_bytes()
    }

    /// Writes a checkpoint.
    pub fn write(&mut self, name: &str) {
        let start = |session: &mut Session| session.start_output(Some(name.into()), true, false);
        self.timed("SCR_Start_output", start).unwrap();
        let path = self.session.route(&self.path(name)).unwrap();
        let file = self.files.create(&path, 0o600).unwrap();
        file.write_at(0, &self.bytes(name)).unwrap();
        drop(file);
        let complete = |session: &mut Session| session.complete_output(true);
        self.timed("SCR_Complete_output", complete).unwrap();
    }

    /// The rank's number, and the number of ranks.
    pub fn place(&self) -> (usize, usize) {
        let comm = self.session.comm();
        (comm.rank(), comm.size())
    }

    /// Writes a checkpoint of fields.
    pub fn checkpoint(&mut self, list: impl FnMut(&mut List<'_>) -> scr::Result<()>) {
        self.try_checkpoint(list).unwrap();
    }

    /// Writes a checkpoint of fields, which may be refused.
    pub fn try_checkpoint(
        &mut self,
        mut list: impl FnMut(&mut List<'_>) -> scr::Result<()>,
    ) -> scr::Result<()> {
        let write = |session: &mut Session| checkpoint(session, None, Ok((true, false)), &mut list);
        self.timed("SCR_Checkpoint", write)
    }

    /// Restores a checkpoint of fields.
    pub fn restore(&mut self, mut list: impl FnMut(&mut List<'_>) -> scr::Result<()>) {
        let read = |session: &mut Session| restore(session, &mut list);
        assert!(self.timed("SCR_Restore", read).unwrap().is_some());
    }

    pub fn finalize(&mut self) {
        let finalize = |session: &mut Session| session.finalize(&mut Config::new());
        self.timed("SCR_Finalize", finalize).unwrap();
    }

    /// As the guide has it: until a checkpoint is read, or none is left. Returns what it has come to.
    pub fn restart(&mut self) -> String {
        loop {
            let name = match self.timed("SCR_Have_restart", Session::have_restart) {
                Ok(Some(name)) => name.to_string(),
                Ok(None) => return "starts from the beginning".to_string(),
                Err(error) => {
                    return failed(&self.noted, self.rank, "SCR_Have_restart", &error);
                }
            };
            let read = self.timed("SCR_Start_restart", |session| session.start_restart());
            let read = read.and_then(|_| self.session.route(&self.path(&name)));
            let verdict = match read.and_then(|path| self.files.read(&path, 1000)) {
                Ok(bytes) if bytes == self.bytes(&name) => Verdict::Read,
                Ok(_) => Verdict::Bad,
                Err(_) => Verdict::NotRead,
            };
            let complete = |session: &mut Session| session.complete_restart(verdict);
            if self.timed("SCR_Complete_restart", complete).is_ok() {
                return format!("goes on from {name}");
            }
        }
    }
}

impl TimedJob {
    /// With these nodes, each with the number of its ranks.
    pub fn new(nodes: &[(String, usize)], settings: &[(&'static str, &'static str)]) -> Self {
        let volume = |profile| Arc::new(Mutex::new(Volume::new(profile, 1 << 40)));
        let faults: Arc<Faults> = Arc::default();
        faults.serve(OPERATION);
        TimedJob {
            placed: (0..nodes.len())
                .flat_map(|node| std::iter::repeat_n(node, nodes[node].1))
                .collect(),
            names: nodes.iter().map(|(name, _)| name.clone()).collect(),
            shared: volume(Profile::Ordered),
            local: nodes.iter().map(|_| volume(Profile::Tmpfs)).collect(),
            faults,
            text: Vec::new(),
            end: None,
            settings: settings.to_vec(),
            wrong: Vec::new(),
            steps: 0,
            costs: BTreeMap::new(),
        }
    }

    pub fn files(&self, node: usize) -> SimFiles {
        SimFiles {
            node,
            view: Arc::default(),
            mounts: vec![
                (PathBuf::from(SHARED), self.shared.clone()),
                (PathBuf::from(LOCAL), self.local[node].clone()),
            ],
            faults: self.faults.clone(),
        }
    }

    fn environment(&self, node: usize) -> Environment {
        let name = self.names[node].clone();
        let environment = Environment::empty()
            .with_host(&name)
            .with_cwd(PREFIX)
            .with("SCR_NODE_NAME", name)
            .with("SCR_PREFIX", PREFIX)
            .with("SCR_CACHE_BASE", LOCAL)
            .with("SCR_CNTL_BASE", LOCAL)
            .with("SCR_JOB_ID", "1");
        let with =
            |environment: Environment, (name, value): &(&str, &str)| environment.with(name, *value);
        self.settings.iter().fold(environment, with)
    }

    pub fn tell(&mut self, text: impl Into<String>) {
        let text = text.into();
        println!("{text}");
        self.text.push(text);
    }

    /// A run of all ranks. Tells the seconds of its calls, what it has come to, and what SCR has said. Returns the
    /// messages.
    pub fn run(
        &mut self,
        simulation: &Simulation,
        title: &str,
        body: fn(&mut Rank) -> String,
    ) -> Vec<String> {
        let world = World::timed(self.placed.len(), NETWORK);
        let events: Arc<Memory> = Arc::default();
        let noted: Rc<RefCell<Noted>> = Rc::default();
        let (first, served) = (scheduler::now().unwrap(), self.faults.served());
        for (rank, &node) in self.placed.iter().enumerate() {
            let files = self.files(node);
            let comm = CountingComm::new(world.rank(rank));
            let tally = comm.tally();
            let setup = Setup {
                comm: Box::new(comm),
                files: Arc::new(files.clone()),
                sink: events.clone(),
                environment: self.environment(node),
                lock_timeout: Duration::from_secs(10),
            };
            let noted = noted.clone();
            let program = move || {
                let mut config = Config::new();
                let begun = scheduler::now().unwrap();
                let session = Session::init(setup, &mut config);
                let counts = tally.take();
                noted.borrow_mut().call("SCR_Init", begun, rank, counts);
                let end = match session {
                    Ok(Some(session)) => {
                        let noted = noted.clone();
                        let mut rank = Rank {
                            session,
                            files,
                            rank,
                            tally,
                            noted,
                        };
                        body(&mut rank)
                    }
                    Ok(None) => "runs without SCR".to_string(),
                    Err(error) => failed(&noted, rank, "SCR_Init", &error),
                };
                *noted.borrow_mut().ends.entry(end).or_default() += 1;
            };
            let process = rank as u32 + 1;
            simulation.start(process, &format!("rank {rank}"), program);
            simulation.set_host(process, &self.names[node]);
        }
        self.steps = 0;
        loop {
            match simulation.step() {
                Step::Ran(_) => self.steps += 1,
                Step::Ended => break,
                Step::Stuck => panic!("all wait: {:#?}", &simulation.tasks()[..10]),
            }
        }
        assert_eq!(simulation.take_panics(), Vec::<String>::new());
        let took = (scheduler::now().unwrap() - first).as_secs_f64();
        let served = self.faults.served() - served;
        self.tell(format!(
            "{title} ({took:.3} s, {served} operations in the prefix directory)"
        ));
        let mut noted = noted.borrow_mut();
        self.costs.clear();
        for (call, mut of_ranks) in std::mem::take(&mut noted.costs) {
            of_ranks.sort_by_key(|(rank, _)| *rank);
            let counts = of_ranks.into_iter().map(|(_, counts)| counts).collect();
            self.costs.insert(call, counts);
        }
        let calls = noted
            .calls
            .iter()
            .map(|(call, seconds)| format!("{call} {seconds:.3} s"));
        self.tell(format!("    {}", calls.collect::<Vec<_>>().join(", ")));
        for (end, count) in &noted.ends {
            let who = if *count == self.placed.len() {
                "each rank".to_string()
            } else {
                format!("{count} ranks")
            };
            self.tell(format!("    {who} {end}"));
        }
        self.end = noted
            .ends
            .keys()
            .next()
            .filter(|_| noted.ends.len() == 1)
            .cloned();
        let lines = events.lines();
        let said: Vec<String> = lines
            .into_iter()
            .chain(noted.errors.iter().cloned())
            .filter(|line| !line.contains(": Debug("))
            .collect();
        for line in &said {
            self.tell(format!("    SCR: rank {line}"));
        }
        said
    }

    pub fn ends_with(&mut self, end: &str) {
        if self.end.as_deref() != Some(end) {
            self.wrong.push(format!("{:?} is not {end}", self.end));
        }
    }

    /// There is trouble, and one message tells of it, with these words in it.
    pub fn told_once(&mut self, said: &[String], words: &[&str]) {
        let is_trouble =
            |line: &&String| line.contains(": Error: ") || line.contains(": Warning: ");
        let told: Vec<_> = said.iter().filter(is_trouble).collect();
        if told.len() != 1 || !words.iter().all(|word| told[0].contains(word)) {
            self.wrong
                .push(format!("{words:?} are not in one message: {told:#?}"));
        }
    }

    /// These nodes are replaced by empty ones.
    pub fn lose_nodes(&self, nodes: impl IntoIterator<Item = usize>) {
        for node in nodes {
            *self.local[node].lock().unwrap() = Volume::new(Profile::Tmpfs, 1 << 40);
        }
    }

    pub fn lose_all_nodes(&self) {
        self.lose_nodes(0..self.nodes());
    }

    pub fn nodes(&self) -> usize {
        self.local.len()
    }

    /// Changes a byte of the file that has this name somewhere below a directory.
    pub fn damage(&mut self, node: usize, below: &str, name: &str) {
        let files = self.files(node);
        let mut todo = vec![PathBuf::from(below)];
        while let Some(path) = todo.pop() {
            if path.ends_with(name) {
                let file = files.rewrite(&path, 0o600).unwrap();
                return file.write_at(0, b"W").unwrap();
            }
            let names = files.list(&path).unwrap_or_default();
            todo.extend(names.iter().map(|name| path.join(name)));
        }
        self.wrong.push(format!("there is no {name}"));
    }

    /// What all volumes have.
    pub fn volumes(&self) -> Vec<Volume> {
        let all = std::iter::once(&self.shared).chain(&self.local);
        all.map(|volume| volume.lock().unwrap().clone()).collect()
    }

    pub fn set_volumes(&self, volumes: &[Volume]) {
        let all = std::iter::once(&self.shared).chain(&self.local);
        for (volume, to) in all.zip(volumes) {
            volume.lock().unwrap().clone_from(to);
        }
        self.faults.set(Budget::default(), None);
        self.faults.serve(OPERATION);
    }
}
