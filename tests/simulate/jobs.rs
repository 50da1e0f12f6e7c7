//! Jobs of many seeds, on all cores.
//!
//! `SCR_SIM_SEED`: this one alone, with its story. `SCR_SIM_JOBS`: so many. `SCR_SIM_MINUTES`: for so long, from
//! a new seed on. `SCR_SIM_FEATURE`: only jobs with this feature. `SCR_SIM_FAILURES`: until so many have failed. `SCR_SIM_SHRINK=0`: no smaller job is looked for.

use crate::counts::Reached;
use crate::job::{Outcome, simulate};
use crate::plan::Plan;
use crate::shrink;
use std::panic::catch_unwind;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How many jobs a plain `cargo test` simulates.
const JOBS: u64 = 300;

/// After so many failing seeds no more are tried.
const ENOUGH: u64 = 20;

pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let value = text.parse();
    Some(value.unwrap_or_else(|_| {
        panic!("{name}={text} is no number: write digits alone, such as {name}=42")
    }))
}

/// The story of a job that has failed.
pub fn told(seed: u64, outcome: &Outcome) -> String {
    let story = outcome.story();
    let found = outcome.violations.join("\n");
    format!("{story}\n\nseed {seed}:\n{found}\n\nagain: SCR_SIM_SEED={seed}")
}

/// That story, after the one of the least job that fails likewise.
fn told_with_less(seed: u64) -> String {
    let whole = told(seed, &simulate(seed));
    if number("SCR_SIM_SHRINK") == Some(0) {
        return whole;
    }
    let (tried, least) = shrink::shrink(seed);
    match least {
        None => format!("{whole}\nno smaller job of {tried} fails"),
        Some(least) => format!(
            "{whole}\n\nthe least of {tried} smaller jobs that fails:\n{}\n\n{}",
            least.story(),
            least.violations.join("\n")
        ),
    }
}

/// What many jobs have come to.
#[derive(Default)]
struct Total {
    jobs: u64,
    steps: u64,
    reached: Reached,
    /// Seeds of jobs in which a promise was broken.
    failed: Vec<u64>,
}

impl Total {
    fn add(&mut self, seed: u64, outcome: Option<Outcome>) {
        self.jobs += 1;
        let found = match outcome {
            None => "the simulator panicked; its message is above".to_string(),
            Some(outcome) => {
                self.steps += outcome.steps;
                self.reached.add(&outcome.reached);
                match outcome.violations.into_iter().next() {
                    Some(found) => found,
                    None => return,
                }
            }
        };
        println!("seed {seed}: {found}");
        self.failed.push(seed);
    }
}

/// The plan of a seed has this feature, if one is given.
fn is_wanted(seed: u64, feature: Option<&str>) -> bool {
    feature.is_none_or(|feature| {
        let mut reached = Reached::default();
        Plan::of_seed(seed).count(&mut reached);
        reached.features.keys().any(|name| *name == feature)
    })
}

/// Simulates jobs on all cores, each with the next seed.
fn many(first: u64, jobs: u64, until: Option<Instant>) -> Total {
    let enough = number("SCR_SIM_FAILURES").unwrap_or(ENOUGH) as usize;
    let feature = std::env::var("SCR_SIM_FEATURE").ok();
    let next = AtomicU64::new(first);
    let total = Mutex::new(Total::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Relaxed);
            let over = until.is_some_and(|until| Instant::now() >= until);
            if seed - first >= jobs || over || total.lock().unwrap().failed.len() >= enough {
                return;
            }
            if !is_wanted(seed, feature.as_deref()) {
                continue;
            }
            let outcome = catch_unwind(|| simulate(seed)).ok();
            total.lock().unwrap().add(seed, outcome);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    let mut total = total.into_inner().unwrap();
    total.failed.sort_unstable();
    total
}

#[test]
fn jobs_keep_what_the_failure_model_promises() {
    if let Some(seed) = number("SCR_SIM_SEED") {
        let outcome = simulate(seed);
        if outcome.violations.is_empty() {
            println!("{}", outcome.story())
        } else {
            panic!("{}", told_with_less(seed))
        }
        return;
    }
    let begun = Instant::now();
    let minutes = number("SCR_SIM_MINUTES");
    let first = match minutes {
        Some(_) => u64::from(std::process::id()) << 32 | u64::from(begun.elapsed().subsec_nanos()),
        None => 0,
    };
    let jobs = number("SCR_SIM_JOBS").unwrap_or(match minutes {
        Some(_) => u64::MAX,
        None => JOBS,
    });
    let until = minutes.map(|minutes| begun + Duration::from_secs(60 * minutes));
    let total = many(first, jobs, until);
    let lines = total.reached.lines();
    lines.iter().for_each(|line| println!("{line}"));
    let (jobs, steps) = (total.jobs, total.steps);
    println!("{jobs} jobs, {steps} steps in {:?}", begun.elapsed());
    if let Some(seed) = total.failed.first() {
        let failed = total.failed.len();
        panic!(
            "{failed} of {jobs} jobs failed. The first:\n{}",
            told_with_less(*seed)
        );
    }
}

fn hashes() -> Vec<String> {
    let hash = |seed| format!("{:016x}", simulate(seed).hash);
    (0..10).map(hash).collect()
}

/// In this process, and in another one with other addresses, hash keys, directory and environment.
#[test]
fn the_same_seed_gives_the_same_job() {
    let here = hashes();
    assert_eq!(here, hashes());
    let other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "jobs::prints_hashes", "--ignored", "--nocapture"])
        .env_clear()
        .envs([
            ("TZ", "Asia/Tokyo"),
            ("HOME", "/nowhere"),
            ("SCR_DEBUG", "1"),
        ])
        .current_dir("/")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&other.stdout);
    let known = |line: &str| here.iter().find(|hash| line.ends_with(*hash)).cloned();
    let there: Vec<String> = said.lines().filter_map(known).collect();
    assert_eq!(there, here, "{said}");
}

#[test]
#[ignore = "for the other process of the_same_seed_gives_the_same_job"]
fn prints_hashes() {
    hashes().iter().for_each(|hash| println!("{hash}"));
}
