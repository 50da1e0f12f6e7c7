//! Jobs of many seeds.
//!
//! `SCR_SIM_SEED`: this one alone, with its story. `SCR_SIM_JOBS`: so many. `SCR_SIM_MINUTES`: for so long, from
//! a new seed on.

use crate::counts::Reached;
use crate::job::{Outcome, simulate};
use std::time::{Duration, Instant};

/// How many jobs a plain `cargo test` simulates.
const JOBS: u64 = 300;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let value = text.parse();
    Some(value.unwrap_or_else(|_| {
        panic!("{name}={text} is no number: write digits alone, such as {name}=42")
    }))
}

pub fn told(seed: u64, outcome: &Outcome) -> String {
    let story = outcome.story.join("\n");
    let found = outcome.violations.join("\n");
    format!("{story}\n\nseed {seed}:\n{found}\n\nagain: SCR_SIM_SEED={seed}")
}

#[test]
fn jobs_keep_what_the_failure_model_promises() {
    if let Some(seed) = number("SCR_SIM_SEED") {
        let outcome = simulate(seed);
        let text = told(seed, &outcome);
        println!("{text}");
        assert!(outcome.violations.is_empty(), "seed {seed}");
        return;
    }
    let begun = Instant::now();
    let minutes = number("SCR_SIM_MINUTES");
    let first = match minutes {
        Some(_) => u64::from(std::process::id()) << 32 | u64::from(begun.elapsed().subsec_nanos()),
        None => 0,
    };
    let jobs = number("SCR_SIM_JOBS").unwrap_or(if minutes.is_some() {
        u64::MAX >> 1
    } else {
        JOBS
    });
    let until = minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let (mut done, mut steps, mut failed) = (0, 0, Vec::new());
    let mut reached = Reached::default();
    for seed in first..first + jobs {
        if until.is_some_and(|until| begun.elapsed() >= until) || failed.len() >= 20 {
            break;
        }
        let outcome = simulate(seed);
        (done, steps) = (done + 1, steps + outcome.steps);
        reached.add(&outcome.reached);
        if !outcome.violations.is_empty() {
            println!("seed {seed}: {}", outcome.violations[0]);
            failed.push((seed, outcome));
        }
    }
    reached.lines().iter().for_each(|line| println!("{line}"));
    println!("{done} jobs, {steps} steps in {:?}", begun.elapsed());
    if let Some((seed, outcome)) = failed.first() {
        panic!(
            "{} of {done} jobs failed. The first:\n{}",
            failed.len(),
            told(*seed, outcome)
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_job() {
    for seed in 0..10 {
        assert_eq!(simulate(seed).hash, simulate(seed).hash, "seed {seed}");
    }
}
