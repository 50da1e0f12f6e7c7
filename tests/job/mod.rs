//! A job on emulated nodes, with ranks as threads: what tests of the session share.
#![allow(dead_code)] // Each test program uses its own part of this.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test may stop at what it did not expect.

use scr::comm::threads;
use scr::config::Config;
use scr::events::Memory;
use scr::format::Name;
use scr::job::Environment;
use scr::session::{Session, Setup};
use scr::store::Files;
use scr::store::posix::Posix;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A prefix directory and the nodes' caches, gone when dropped.
pub struct Site {
    dir: tempfile::TempDir,
    /// Parameters, as environment variables of every rank.
    pub vars: Vec<(String, String)>,
    /// The same for the ranks of one node: node, name, value.
    pub of_node: Vec<(String, String, String)>,
    /// Who hears of events, all runs together.
    pub events: Arc<Memory>,
    /// File systems of all ranks.
    pub files: Arc<dyn Files>,
    /// File systems by rank, where they are not those of all.
    pub by_rank: Vec<Option<Arc<dyn Files>>>,
}

/// The directory of the only run that a job's cache directory has one of; if there is none, one
/// with a name as runs have them.
pub fn of_run(job: &Path) -> PathBuf {
    let listed = std::fs::read_dir(job).into_iter().flatten();
    let mut names = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let run = names.find(|name| name.starts_with("scr.run."));
    job.join(run.unwrap_or_else(|| format!("scr.run.{:016x}", 1)))
}

/// A path in a cache from the directory of the run on, whose name is another after each start.
pub fn below_run(path: &Path) -> String {
    let mut names = path.iter();
    names.find(|name| name.to_string_lossy().starts_with("scr.run."));
    names.as_path().display().to_string()
}

/// One rank of a run.
pub struct Rank {
    pub session: Session,
    pub config: Config,
    pub rank: usize,
    pub size: usize,
}

impl Site {
    /// A site where data go to the cache, not straight to the prefix.
    pub fn new() -> Self {
        Site::at(tempfile::tempdir().unwrap())
    }

    /// The same in memory, where the system has such a place: for tests with very many sites.
    pub fn in_memory() -> Self {
        let memory = tempfile::tempdir_in("/dev/shm");
        Site::at(memory.or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn at(dir: tempfile::TempDir) -> Self {
        std::fs::create_dir(dir.path().join("prefix")).unwrap();
        let site = Site {
            dir,
            vars: Vec::new(),
            of_node: Vec::new(),
            events: Arc::new(Memory::default()),
            files: Arc::new(Posix),
            by_rank: Vec::new(),
        };
        site.set("SCR_CACHE_BYPASS", "0")
            .set("SCR_JOB_ID", "1001")
            .set("SCR_USER_NAME", "user1")
    }

    /// The same with a parameter set.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.vars.retain(|(other, _)| other != name);
        self.vars.push((name.to_string(), value.to_string()));
        self
    }

    pub fn prefix(&self) -> PathBuf {
        self.dir.path().join("prefix").canonicalize().unwrap()
    }

    /// The directory that stands for a node's local storage.
    pub fn node(&self, name: &str) -> PathBuf {
        self.dir.path().join("nodes").join(name)
    }

    /// The node goes, and all it held.
    pub fn lose(&self, name: &str) {
        std::fs::remove_dir_all(self.node(name)).unwrap();
    }

    /// The environment of a rank on a node.
    pub fn environment(&self, node: &str) -> Environment {
        let base = self.node(node);
        std::fs::create_dir_all(&base).unwrap();
        let base = base.to_string_lossy().into_owned();
        let mut environment = Environment::empty()
            .with_host(node)
            .with_cwd(self.prefix())
            .with("SCR_NODE_NAME", node)
            .with("SCR_PREFIX", self.prefix())
            .with("SCR_CACHE_BASE", &base)
            .with("SCR_CNTL_BASE", &base);
        for (name, value) in &self.vars {
            environment = environment.with(name, value);
        }
        for (_, name, value) in self.of_node.iter().filter(|(n, ..)| n == node) {
            environment = environment.with(name, value);
        }
        environment
    }

    /// Writes the user's configuration file.
    pub fn configure(&self, text: &str) {
        std::fs::write(self.prefix().join(".scrconf"), text).unwrap();
    }

    /// Runs `body` on one rank a name in `nodes`; rank r runs on `nodes[r]`. Every session
    /// must start. A session that `body` does not finalize ends as if it were killed.
    pub fn run<R: Send>(&self, nodes: &[&str], body: impl Fn(&mut Rank) -> R + Sync) -> Vec<R> {
        self.start(nodes, |started| {
            body(&mut started.unwrap().expect("SCR is enabled"))
        })
    }

    /// The same for runs that may not start.
    pub fn start<R: Send>(
        &self,
        nodes: &[&str],
        body: impl Fn(scr::Result<Option<Rank>>) -> R + Sync,
    ) -> Vec<R> {
        threads::run(nodes.len(), |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let setup = Setup {
                comm,
                files: self.files_of(rank),
                sink: self.events.clone(),
                environment: self.environment(nodes[rank]),
                // A program that another test of this process starts has the lock of an ended
                // run for a moment, between its fork and its exec.
                lock_timeout: std::time::Duration::from_secs(10),
            };
            let mut config = Config::new();
            let started = Session::init(setup, &mut config);
            body(started.map(|s| {
                s.map(|session| Rank {
                    session,
                    config,
                    rank,
                    size,
                })
            }))
        })
    }

    fn files_of(&self, rank: usize) -> Arc<dyn Files> {
        let own = self.by_rank.get(rank).cloned().flatten();
        own.unwrap_or_else(|| self.files.clone())
    }

    /// A dataset's directory on a node.
    pub fn dataset(&self, node: &str, id: u64) -> PathBuf {
        self.cache(node).join(format!("scr.dataset.{id}"))
    }

    /// The directory of the last run in the job's cache on a node.
    pub fn cache(&self, node: &str) -> PathBuf {
        of_run(&self.job(node))
    }

    /// The job's cache directory on a node.
    pub fn job(&self, node: &str) -> PathBuf {
        self.node(node).join("user1/scr.1001")
    }

    /// What begins with `prefix` in the directory of the last run on a node.
    pub fn entries(&self, node: &str, prefix: &str) -> Vec<String> {
        let listed = std::fs::read_dir(self.cache(node)).into_iter().flatten();
        let mut names: Vec<String> = listed
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(prefix))
            .collect();
        names.sort();
        names
    }

    /// A place outside of all caches, prefixes and nodes.
    pub fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    /// Restarts on `nodes`; all must be offered `expected` and read the right bytes.
    pub fn expect_restart(&self, nodes: &[&str], expected: Option<&str>) {
        let names = self.run(nodes, |rank| rank.restart());
        assert!(
            names.iter().all(|name| name.as_deref() == expected),
            "{names:?}, expected {expected:?}\n{}",
            self.events.lines().join("\n")
        );
    }

    /// No rank is offered a checkpoint, and all are told that there may be one, and why it cannot
    /// be used now.
    pub fn expect_none_now(&self, nodes: &[&str], why: &str) {
        for told in self.run(nodes, |rank| rank.session.have_restart()) {
            let error = told.expect_err("no checkpoint can be read").to_string();
            let said = error.contains(why) || !self.heard(why).is_empty();
            let clear = said && error.contains("start again when that is mended");
            assert!(clear, "{error}\n{}", self.events.lines().join("\n"));
        }
    }

    /// All events that contain `text`.
    pub fn heard(&self, text: &str) -> Vec<String> {
        self.events
            .lines()
            .into_iter()
            .filter(|line| line.contains(text))
            .collect()
    }
}

const NODES: [&str; 8] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"];

/// One rank a node on `count` nodes.
pub fn nodes(count: usize) -> Vec<&'static str> {
    NODES[..count].to_vec()
}

/// Two ranks a node on `count` nodes.
pub fn double_nodes(count: usize) -> Vec<&'static str> {
    (0..2 * count).map(|rank| NODES[rank / 2]).collect()
}

/// The content of a file of a rank in a dataset: different for all of them.
pub fn content(name: &str, rank: usize, size: usize) -> Vec<u8> {
    let mut x = crc32fast::hash(format!("{name}/{rank}").as_bytes()) | 1;
    (0..size)
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 16) as u8
        })
        .collect()
}

impl Rank {
    /// Writes a dataset of one file a rank, `<name>/rank_<r>.dat`.
    pub fn write(&mut self, name: &str, checkpoint: bool, output: bool) -> scr::Result<()> {
        self.session
            .start_output(Some(Name::from(name)), checkpoint, output)?;
        let path = self.session.route(Path::new(&self.file(name)))?;
        std::fs::write(path, content(name, self.rank, 1000 + 7 * self.rank)).unwrap();
        self.session.complete_output(true)
    }

    /// Writes a checkpoint.
    pub fn checkpoint(&mut self, name: &str) -> scr::Result<()> {
        self.write(name, true, false)
    }

    /// Restarts from what is offered and checks every byte; the name of the checkpoint.
    pub fn restart(&mut self) -> Option<String> {
        let name = self.session.have_restart().unwrap()?.to_string();
        assert_eq!(self.session.start_restart().unwrap().to_string(), name);
        let path = self.session.route(Path::new(&self.file(&name))).unwrap();
        let good = std::fs::read(path).unwrap() == content(&name, self.rank, 1000 + 7 * self.rank);
        assert!(good, "rank {} got wrong bytes of {name}", self.rank);
        self.session.complete_restart(true).unwrap();
        Some(name)
    }

    pub fn finalize(&mut self) -> scr::Result<()> {
        self.session.finalize(&mut self.config)
    }

    fn file(&self, name: &str) -> String {
        format!("{name}/rank_{}.dat", self.rank)
    }
}
