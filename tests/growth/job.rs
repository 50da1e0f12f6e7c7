//! A job of many ranks, and what it does with files in each step.

use crate::site::{Rank, Site};
use scr::config::Config;
use scr::store::posix::Posix;
use scr_jobs::tally::CountingFiles;
use scr_testing::file_log::{FileLog, FileUse};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A job: so many ranks, in blocks on nodes, with one file in each dataset.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    pub ranks: usize,
    pub per_node: usize,
}

/// Where an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Prefix,
    /// A node's storage.
    Node,
}

/// What the ranks have done with files in one step.
pub struct Step {
    pub name: &'static str,
    /// By rank.
    pub uses: Vec<Vec<FileUse>>,
}

/// The sum of an operation over all ranks, that of rank 0, and the most of the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    pub all: u64,
    pub rank_0: u64,
    pub most: u64,
}

/// A site whose ranks log what they do with files.
pub struct Logged {
    pub site: Site,
    job: Job,
    logs: Vec<FileLog>,
    pub steps: Vec<Step>,
}

/// A site in memory, if this system has `/dev/shm`.
pub fn in_memory() -> Site {
    let memory = tempfile::tempdir_in("/dev/shm");
    Site::at(memory.or_else(|_| tempfile::tempdir()).unwrap())
}

impl Logged {
    pub fn new(job: Job, settings: &[(&str, &str)]) -> Self {
        let mut site = in_memory();
        for (name, value) in settings {
            site = site.set(name, value);
        }
        let logs: Vec<FileLog> = (0..job.ranks).map(|_| FileLog::default()).collect();
        for log in &logs {
            let files = CountingFiles::observed(Posix, log.clone());
            site.by_rank.push(Some(Arc::new(files)));
        }
        let steps = Vec::new();
        Logged {
            site,
            job,
            logs,
            steps,
        }
    }

    /// Where a path is; `None` if it is neither in the prefix directory nor on a node.
    pub fn place(&self, path: &Path) -> Option<Place> {
        let root = self.site.dir.path();
        if path.starts_with(root.join("prefix")) {
            Some(Place::Prefix)
        } else {
            path.starts_with(root.join("nodes")).then_some(Place::Node)
        }
    }

    /// Runs `body` on all ranks, each of which calls [`Steps::step`] equally often. The first step is
    /// `SCR_Init`. A run ends as if it were killed.
    pub fn run(&mut self, init: &'static str, body: impl Fn(&mut Rank, &mut Steps) + Sync) {
        let Job { ranks, per_node } = self.job;
        let names: Vec<String> = (0..ranks).map(|r| format!("n{}", r / per_node)).collect();
        let nodes: Vec<&str> = names.iter().map(String::as_str).collect();
        let of_ranks = self.site.run(&nodes, |rank| {
            let mut steps = Steps {
                log: self.logs[rank.rank].clone(),
                steps: Vec::new(),
            };
            steps.step(init);
            body(rank, &mut steps);
            steps.steps
        });
        let first = self.steps.len();
        for (rank, of_rank) in of_ranks.into_iter().enumerate() {
            for (at, (name, uses)) in of_rank.into_iter().enumerate() {
                if rank == 0 {
                    let uses = vec![Vec::new(); ranks];
                    self.steps.push(Step { name, uses });
                }
                self.steps[first + at].uses[rank] = uses;
            }
        }
    }

    /// Removes what all nodes have.
    pub fn lose_nodes(&self) {
        std::fs::remove_dir_all(self.site.dir.path().join("nodes")).unwrap();
    }

    /// Each operation of a step by place and name.
    pub fn sums(&self, step: &Step) -> BTreeMap<(Place, &'static str), Sums> {
        let mut sums: BTreeMap<_, Sums> = BTreeMap::new();
        for (rank, uses) in step.uses.iter().enumerate() {
            let mut own: BTreeMap<_, u64> = BTreeMap::new();
            for used in uses {
                if let Some(place) = self.place(&used.path) {
                    *own.entry((place, used.operation)).or_default() += used.count;
                }
            }
            for (key, count) in own {
                let sum = sums.entry(key).or_default();
                sum.all += count;
                match rank {
                    0 => sum.rank_0 = count,
                    _ => sum.most = sum.most.max(count),
                }
            }
        }
        sums
    }

    /// The directory with the most entries below `dir`, and how many it has.
    pub fn fullest(dir: &Path) -> (usize, PathBuf) {
        let mut fullest = (0, dir.to_path_buf());
        let mut todo = vec![dir.to_path_buf()];
        while let Some(dir) = todo.pop() {
            let mut count = 0;
            for entry in std::fs::read_dir(&dir).unwrap() {
                let entry = entry.unwrap();
                count += 1;
                if entry.file_type().unwrap().is_dir() {
                    todo.push(entry.path());
                }
            }
            if count > fullest.0 {
                fullest = (count, dir);
            }
        }
        fullest
    }
}

/// The steps of one rank.
pub struct Steps {
    log: FileLog,
    steps: Vec<(&'static str, Vec<FileUse>)>,
}

impl Steps {
    /// What was done since the last step was called this.
    pub fn step(&mut self, name: &'static str) {
        self.steps.push((name, self.log.take()));
    }
}

/// Writes a dataset of one file for each rank, in a directory for 64 ranks. The name has a number.
pub fn write(rank: &mut Rank, steps: &mut Steps, name: &str, names: [&'static str; 2]) {
    let session = &mut rank.session;
    session
        .start_output(Some(name.into()), true, false)
        .unwrap();
    steps.step(names[0]);
    let file = format!("{name}/{}/rank_{}", rank.rank / 64, rank.rank);
    let path = session.route(Path::new(&file)).unwrap();
    std::fs::write(path, format!("{name} of {}", rank.rank)).unwrap();
    session.complete_output(true).unwrap();
    steps.step(names[1]);
}

/// Restarts from what is offered.
pub fn restart(rank: &mut Rank, steps: &mut Steps, names: [&'static str; 2]) {
    let session = &mut rank.session;
    let name = session.have_restart().unwrap().expect("a checkpoint");
    steps.step(names[0]);
    session.start_restart().unwrap();
    let file = format!("{name}/{}/rank_{}", rank.rank / 64, rank.rank);
    let path = session.route(Path::new(&file)).unwrap();
    let content = std::fs::read_to_string(path).unwrap();
    assert_eq!(content, format!("{name} of {}", rank.rank));
    session.complete_restart(true).unwrap();
    steps.step(names[1]);
}

/// Ends the run.
pub fn finalize(rank: &mut Rank, steps: &mut Steps, name: &'static str) {
    rank.session.finalize(&mut Config::new()).unwrap();
    steps.step(name);
}
