//! A job on emulated nodes, with ranks as threads: shared by the test programs `session`, `cli` and
//! `model`. What only two of them need is in `checkpoints.rs`, and what only one needs, there.

use scr::config::Config;
use scr::events::Memory;
use scr::job::Environment;
use scr::session::{Session, Setup};
use scr::store::Files;
use scr::store::posix::Posix;
use scr_testing::flipping::{FlippingComm, Flips};
use scr_testing::threads;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directory of a site.
pub struct Directory {
    pub path: PathBuf,
    /// Deletes it when it is dropped. That of a site of another process is not deleted.
    pub own: Option<tempfile::TempDir>,
}

impl Directory {
    pub fn path(&self) -> &Path {
        self.own.as_ref().map_or(&*self.path, |own| own.path())
    }
}

/// A prefix directory and the nodes' storage.
pub struct Site {
    pub dir: Directory,
    /// Parameters, as environment variables of every rank.
    pub vars: Vec<(String, String)>,
    /// Parameters of the ranks of one node: node, name, value.
    pub of_node: Vec<(String, String, String)>,
    /// Receives the events of all runs.
    pub events: Arc<Memory>,
    /// The file system that ranks use unless `by_rank` has another one.
    pub files: Arc<dyn Files>,
    /// File systems of single ranks.
    pub by_rank: Vec<Option<Arc<dyn Files>>>,
    /// Changes messages of all ranks.
    pub flips: Option<Flips>,
}

/// The directory of the only run in a job's cache directory. If there is none, a path with a valid
/// name that does not exist.
pub fn of_run(job: &Path) -> PathBuf {
    let listed = std::fs::read_dir(job).into_iter().flatten();
    let mut names = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let run = names.find(|name| name.starts_with("scr.run."));
    job.join(run.unwrap_or_else(|| format!("scr.run.{:016x}", 1)))
}

/// One rank of a run.
pub struct Rank {
    pub session: Session,
    pub rank: usize,
}

impl Site {
    /// A site below `dir` where data go to the cache, not straight to the prefix.
    pub fn at(dir: tempfile::TempDir) -> Self {
        std::fs::create_dir(dir.path().join("prefix")).unwrap();
        Site::below(Directory {
            path: dir.path().to_path_buf(),
            own: Some(dir),
        })
    }

    /// A site in a directory with a prefix directory.
    pub fn below(dir: Directory) -> Self {
        let site = Site {
            dir,
            vars: Vec::new(),
            of_node: Vec::new(),
            events: Arc::new(Memory::default()),
            files: Arc::new(Posix),
            by_rank: Vec::new(),
            flips: None,
        };
        site.set("SCR_CACHE_BYPASS", "0")
            .set("SCR_JOB_ID", "1001")
            .set("SCR_USER_NAME", "user1")
    }

    /// This site with a parameter set.
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

    /// Runs `body` on one rank for each name in `nodes`: rank r runs on `nodes[r]`. Every session
    /// must start. A session that `body` does not finalize ends as if it were killed.
    pub fn run<R: Send>(&self, nodes: &[&str], body: impl Fn(&mut Rank) -> R + Sync) -> Vec<R> {
        self.run_as(nodes, &Config::new(), body)
    }

    /// [`Site::run`], of the session that has this configuration.
    pub fn run_as<R: Send>(
        &self,
        nodes: &[&str],
        config: &Config,
        body: impl Fn(&mut Rank) -> R + Sync,
    ) -> Vec<R> {
        self.start_as(nodes, config, |started| {
            body(&mut started.unwrap().expect("SCR is enabled"))
        })
    }

    /// Runs `body` on ranks whose session, of this configuration, may not start.
    pub fn start_as<R: Send>(
        &self,
        nodes: &[&str],
        config: &Config,
        body: impl Fn(scr::Result<Option<Rank>>) -> R + Sync,
    ) -> Vec<R> {
        threads::run(nodes.len(), |comm| {
            let rank = comm.rank();
            let comm = match &self.flips {
                Some(flips) => Box::new(FlippingComm::new(comm, flips)),
                None => comm,
            };
            let setup = Setup {
                comm,
                files: self.files_of(rank),
                sink: self.events.clone(),
                environment: self.environment(nodes[rank]),
                // A program that another test of this process starts has the lock of an ended
                // run for a moment, between its fork and its exec.
                lock_timeout: std::time::Duration::from_secs(10),
            };
            let started = Session::init(setup, &mut config.clone());
            body(started.map(|session| session.map(|session| Rank { session, rank })))
        })
    }

    fn files_of(&self, rank: usize) -> Arc<dyn Files> {
        let own = self.by_rank.get(rank).cloned().flatten();
        own.unwrap_or_else(|| self.files.clone())
    }

    /// The directory of the last run in the job's cache on a node.
    pub fn cache(&self, node: &str) -> PathBuf {
        of_run(&self.job(node))
    }

    /// The job's cache directory on a node.
    pub fn job(&self, node: &str) -> PathBuf {
        self.node(node).join("user1/scr.1001")
    }
}

const NODES: [&str; 9] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"];

/// One rank a node on `count` nodes.
pub fn nodes(count: usize) -> Vec<&'static str> {
    NODES[..count].to_vec()
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
