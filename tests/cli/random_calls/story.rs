//! A story: acts that a seed draws, and what is compared after each one.

use super::random::Random;
use super::truth::{Place, Truth, name, number};
use crate::checkpoints::double_nodes;
use crate::postrun::{command, nodes_of};
use crate::refused_calls::killed_at;
use crate::sandbox::{Programs, program};
use crate::site::{Site, content};
use scr::config::Config;
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::Command;

const NODES: [&str; 4] = ["n0", "n1", "n2", "n3"];

const RANKS: usize = 8;

/// The most acts.
const ACTS: u64 = 14;

/// The number of events that are told of a story that went wrong.
const LINES: usize = 40;

/// The calls at which a command is killed.
const CALLS: [&str; 8] = [
    "openat",
    "rename,renameat,renameat2",
    "write,pwrite64,copy_file_range,sendfile",
    "unlink,unlinkat",
    "mkdir,mkdirat",
    "fsync,fdatasync",
    "flock,fcntl",
    "close",
];

/// How a command has ended: its exit code, or that it was killed.
type Ended = Option<i32>;

pub struct Story {
    seed: u64,
    random: Random,
    site: Site,
    ssh: Programs,
    truth: Truth,
    /// Datasets written so far.
    written: u64,
    /// The datasets of one run that fit its cache.
    cache_size: u64,
    /// Nodes of which the redundancy survives the loss, and how many are lost since the last run.
    tolerated: usize,
    lost: usize,
    /// The acts so far.
    acts: Vec<String>,
}

impl Story {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (kind, tolerated) =
            *random.one_of(&[("SINGLE", 0), ("PARTNER", 1), ("XOR", 1), ("RS", 2)]);
        let cache_size = random.between(1, 3);
        let mut site = Site::new()
            .set("SCR_COPY_TYPE", kind)
            .set("SCR_CACHE_SIZE", &cache_size.to_string())
            .set("SCR_FLUSH", &random.below(3).to_string());
        if random.once_in(3) {
            site = site.set("SCR_USE_CONTAINERS", "1");
        }
        if random.once_in(4) {
            site = site.set("SCR_CRC_ON_FLUSH", "0");
        }
        let ssh = nodes_of(&site, "none");
        let settings = site
            .vars
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        Story {
            acts: vec![settings.collect::<Vec<_>>().join(" ")],
            truth: Truth {
                newest_is_next: true,
                ..Truth::default()
            },
            seed,
            random,
            site,
            ssh,
            written: 0,
            cache_size,
            tolerated,
            lost: 0,
        }
    }

    /// Acts and compares; returns what was wrong, with all acts before it.
    pub fn tell(mut self) -> Option<String> {
        let result = catch_unwind(AssertUnwindSafe(|| self.acts()));
        let what = match result {
            Ok(Ok(())) => return None,
            Ok(Err(what)) => what,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text =
                    text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
                text.unwrap_or_default()
            }
        };
        if std::env::var_os("SCR_TEST_KEEP").is_some() {
            let kept = self.site.dir.own.take().map(tempfile::TempDir::keep);
            println!("seed {}: {kept:?}", self.seed);
        }
        let (seed, acts) = (self.seed, self.acts.join("\n  "));
        let events = self.site.events.lines();
        let last = events[events.len().saturating_sub(LINES)..].join("\n    ");
        Some(format!(
            "seed {seed}: {what}\n  {acts}\n  {:?}\n    {last}",
            self.truth
        ))
    }

    fn acts(&mut self) -> Result<(), String> {
        self.run()?;
        self.compare()?;
        for _ in 0..self.random.between(4, ACTS) {
            match self.random.below(10) {
                0..=1 => self.run()?,
                2 => self.lose_node(),
                3 => self.look()?,
                4..=6 => self.change_index()?,
                _ => self.save()?,
            }
            self.compare()?;
        }
        if self.random.once_in(2) {
            self.acts.push("all nodes are lost".into());
            std::fs::remove_dir_all(self.site.dir.path().join("nodes")).unwrap();
            self.truth.forget_caches();
        }
        self.run()?;
        self.compare()
    }

    /// A run of the program: it restarts if it can, writes datasets, and is finished or killed.
    fn run(&mut self) -> Result<(), String> {
        let first = self.written + 1;
        self.written += self.random.below(4);
        let new: Vec<(u64, bool, bool)> = (first..=self.written)
            .map(|number| {
                let kind = self.random.below(6);
                (number, kind != 0, kind < 2)
            })
            .collect();
        let finalizes = self.random.once_in(2);
        let certain = self.truth.newest();
        let from = self.site.run(&double_nodes(NODES.len()), |rank| {
            let from = rank.restart();
            for (number, checkpoint, output) in &new {
                rank.write(&name(*number), *checkpoint, *output).unwrap();
            }
            if finalizes {
                rank.session.finalize(&mut Config::new()).unwrap();
            }
            from
        });
        let end = if finalizes { "finished" } else { "killed" };
        self.acts.push(format!(
            "run from {:?}, writes {new:?} (number, checkpoint, output), {end}",
            from[0]
        ));
        if from.iter().any(|other| *other != from[0]) {
            return Err(format!("ranks restarted from {from:?}"));
        }
        let from = from[0].as_deref().and_then(number);
        if self.truth.newest_is_next && from < certain {
            return Err(format!(
                "the run began from {from:?} and not from {certain:?} or a newer one"
            ));
        }
        if certain.is_some() && from.is_none() && !self.truth.can_begin {
            return Err(format!(
                "the run did not restart, though {certain:?} was there"
            ));
        }
        self.after_run(from, &new);
        Ok(())
    }

    fn after_run(&mut self, from: Option<u64>, new: &[(u64, bool, bool)]) {
        self.lost = 0;
        self.truth.can_begin = false;
        // The datasets of a run have ids above that of its restart: those of later datasets are given again.
        let again = self
            .truth
            .datasets
            .keys()
            .any(|number| Some(*number) > from);
        if again && !new.is_empty() {
            self.truth.newest_is_next = false;
            let datasets = self.truth.datasets.iter_mut();
            datasets
                .filter(|(number, _)| Some(**number) > from)
                .for_each(|(_, place)| *place = Place::Unknown);
        }
        if !new.is_empty() || self.truth.datasets.keys().next_back().copied() != from {
            self.truth.forget_caches();
        }
        for (number, checkpoint, _) in new {
            let cached = number + self.cache_size > self.written;
            let place = if cached {
                Place::Cached
            } else {
                Place::Unknown
            };
            self.truth.datasets.insert(*number, place);
            if *checkpoint {
                self.truth.checkpoints.insert(*number);
            }
        }
    }

    fn lose_node(&mut self) {
        let node = *self.random.one_of(&NODES);
        self.acts.push(format!("node {node} is lost"));
        // It may be lost already.
        let _ = std::fs::remove_dir_all(self.site.node(node));
        self.one_more_lost();
    }

    fn one_more_lost(&mut self) {
        self.lost += 1;
        if self.lost > self.tolerated {
            self.truth.forget_caches();
        }
    }

    /// A command that only reads.
    fn look(&mut self) -> Result<(), String> {
        let some = self.some();
        let all: [&[&str]; 10] = [
            &["index", "--long"],
            &["have-restart"],
            &["flush-file", "--json"],
            &["report"],
            &["log"],
            &["print", ".scr/index.scr"],
            &["print", ".scr/flush.scr"],
            &["doctor"],
            &["inspect", "--up", "n[0-3]"],
            &["index", "--json", "--long"],
        ];
        let args = *self.random.one_of(&all);
        let before = self.listed();
        self.call(args, false)?;
        let after = self.listed();
        if before != after {
            return Err(format!(
                "{args:?} changed the index ({some}): {before:?}, {after:?}"
            ));
        }
        Ok(())
    }

    /// A dataset of the story, or one that was never written.
    fn some(&mut self) -> u64 {
        self.random.between(1, self.written + 1)
    }

    /// A command that changes the index or deletes.
    fn change_index(&mut self) -> Result<(), String> {
        let some = self.some();
        let dataset = name(some);
        let was = self.truth.datasets.get(&some).copied();
        let which = self.random.below(6);
        let ended = match which {
            0 => self.change(&["index", "--drop", &dataset])?,
            1 => self.change(&["index", "--delete", &dataset, "--yes"])?,
            2 => self.change(&["index", "--current", &dataset])?,
            3 => self.change(&["index", "--drop-after", &dataset])?,
            4 => self.change(&["index", "--add", &dataset])?,
            _ => {
                let id = self.some().to_string();
                self.change(&["index", "--build", &id])?
            }
        };
        let is_checkpoint = self.truth.checkpoints.contains(&some);
        let must = match which {
            0 | 1 | 3 | 4 => was == Some(Place::Saved),
            2 => was == Some(Place::Saved) && is_checkpoint,
            _ => false,
        };
        if must && ended.is_some_and(|code| code != 0) {
            return Err(format!("{dataset} was {was:?}, and the command failed"));
        }
        // An older one of an ambiguous index may be meant, so that later acts count on nothing there.
        let gone = if ended == Some(0) {
            Place::Removed
        } else {
            Place::Unknown
        };
        match which {
            0 | 1 if ended != Some(1) => {
                self.truth.datasets.insert(some, gone);
            }
            2 if ended != Some(1) => {
                self.truth.newest_is_next = false;
                // No run tries a checkpoint that is newer than the chosen one.
                self.truth.can_begin = was != Some(Place::Saved);
            }
            3 if ended != Some(1) => {
                self.truth.newest_is_next = false;
                let later = self.truth.datasets.range_mut(some + 1..);
                later
                    .filter(|(_, is)| **is == Place::Saved)
                    .for_each(|(_, is)| *is = gone);
            }
            _ => {}
        }
        Ok(())
    }

    /// A command that saves what is in the caches.
    fn save(&mut self) -> Result<(), String> {
        let id = self.some().to_string();
        let dir = format!(".scr/scr.dataset.{id}");
        let node = *self.random.one_of(&NODES);
        match self.random.below(9) {
            0..=2 => {
                let newest = self.truth.newest();
                let ended = self.change(&["postrun"])?;
                let listed = self.listed();
                if let (Some(0), Some(newest)) = (ended, newest)
                    && !listed.iter().any(|(number, _)| *number == newest)
                {
                    return Err(format!(
                        "postrun has not saved {}: {listed:?}",
                        name(newest)
                    ));
                }
            }
            3 => drop(self.change(&["scavenge", "--id", &id])?),
            4 => drop(self.change(&["poststage"])?),
            5 => drop(self.change(&["rebuild", "--dir", &dir])?),
            6 => drop(self.change(&["prerun"])?),
            7 => drop(self.change_on(node, &["copy", "--id", &id])?),
            _ => drop(self.change_on(node, &["flush-file", "--name", &id, "--resume"])?),
        }
        Ok(())
    }

    /// Runs a command that changes something; one in three is killed.
    fn change(&mut self, args: &[&str]) -> Result<Ended, String> {
        let kill = self.random.once_in(3);
        self.call(args, kill)
    }

    /// [`Story::change`], on a node.
    fn change_on(&mut self, node: &str, args: &[&str]) -> Result<Ended, String> {
        let base = self.site.node(node);
        std::fs::create_dir_all(&base).unwrap();
        let mut call = program("scr", args);
        call.current_dir(self.site.prefix())
            .env("SCR_NODE_NAME", node)
            .env("SCR_CACHE_BASE", &base)
            .env("SCR_CNTL_BASE", &base);
        for (name, value) in &self.site.vars {
            call.env(name, value);
        }
        let kill = self.random.once_in(3);
        self.end_of(call, &format!("{node}: {args:?}"), kill)
    }

    fn call(&mut self, args: &[&str], kill: bool) -> Result<Ended, String> {
        let mut call = command(&self.site, &self.ssh, args);
        for (name, value) in &self.site.vars {
            call.env(name, value);
        }
        self.end_of(call, &format!("{args:?}"), kill)
    }

    fn end_of(&mut self, call: Command, told: &str, kill: bool) -> Result<Ended, String> {
        let at = *self.random.one_of(&CALLS);
        let number = self.random.between(1, 40);
        let mut call = if kill {
            killed_at(&call, at, number)
        } else {
            call
        };
        let output = call.output().unwrap();
        let (code, signal) = (output.status.code(), output.status.signal());
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        let kill = if kill {
            format!(", to be killed at {at} {number}")
        } else {
            String::new()
        };
        let out = String::from_utf8_lossy(&output.stdout);
        let said = [
            out.trim_end().lines().next_back().unwrap_or_default(),
            err.trim_end(),
        ]
        .join("\n    ");
        self.acts
            .push(format!("{told}{kill}: {code:?} {signal:?} {said}"));
        let killed = !kill.is_empty() && signal == Some(libc::SIGKILL);
        let good = killed || code.is_some_and(|code| matches!(code, 0 | 1));
        if !good || err.contains("panicked") {
            return Err("a command ended as none may".into());
        }
        // Their exit codes and outputs are answers.
        let answers = ["have-restart", "doctor", "flush-file"];
        let answers = answers.iter().any(|name| told.contains(name));
        if code == Some(1) && err.trim().is_empty() && !answers {
            return Err(format!(
                "a command failed without a message: {}",
                String::from_utf8_lossy(&output.stdout)
            ));
        }
        Ok(code)
    }

    /// The datasets of the index, and whether each is good.
    fn listed(&self) -> Vec<(u64, bool)> {
        let mut call = command(&self.site, &self.ssh, &["index", "--json"]);
        let output = call.output().unwrap();
        let list: Value = match serde_json::from_slice(&output.stdout) {
            Ok(list) => list,
            // The prefix directory has no index yet.
            Err(_) => return Vec::new(),
        };
        let all = list["datasets"].as_array().cloned().unwrap_or_default();
        let one = |dataset: &Value| {
            let number = number(dataset["name"].as_str()?)?;
            Some((number, dataset["valid"].as_bool()?))
        };
        all.iter().filter_map(one).collect()
    }

    /// Compares the prefix directory with what is known.
    fn compare(&mut self) -> Result<(), String> {
        let listed = self.listed();
        for number in self.truth.at(Place::Saved) {
            if !listed.contains(&(number, true)) {
                return Err(format!("{} is lost: {listed:?}", name(number)));
            }
        }
        for (number, _) in listed.iter().filter(|(_, good)| *good) {
            if let Some(file) = (0..RANKS).find_map(|rank| self.wrong_file(*number, rank)) {
                return Err(format!(
                    "{} is wrong, and the index says that it is good",
                    file.display()
                ));
            }
            self.truth.datasets.insert(*number, Place::Saved);
        }
        Ok(())
    }

    /// The file of a rank, if it has not the content that the rank has written. What is in containers is compared when a run
    /// restarts from it.
    fn wrong_file(&self, dataset: u64, rank: usize) -> Option<PathBuf> {
        let name = name(dataset);
        let path = self.site.prefix().join(format!("{name}/rank_{rank}.dat"));
        let contains = self
            .site
            .vars
            .iter()
            .any(|(name, _)| name == "SCR_USE_CONTAINERS");
        let good = match std::fs::read(&path) {
            Ok(bytes) => bytes == content(&name, rank, 1000 + 7 * rank),
            Err(_) => contains,
        };
        (!good).then_some(path)
    }
}
