//! Jobs of many seeds.
//!
//! `SCR_SIM_SEED`: this one alone, with its story. `SCR_SIM_JOBS`: so many. `SCR_SIM_MINUTES`: for so long, from
//! a new seed on.

use crate::faults::Budget;
use crate::job::{Outcome, simulate, simulate_changed};
use crate::plan::{Loss, Plan, Run};
use crate::volume::Profile;
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

fn told(seed: u64, outcome: &Outcome) -> String {
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
    for seed in first..first + jobs {
        if until.is_some_and(|until| begun.elapsed() >= until) || failed.len() >= 20 {
            break;
        }
        let outcome = simulate(seed);
        (done, steps) = (done + 1, steps + outcome.steps);
        if !outcome.violations.is_empty() {
            println!("seed {seed}: {}", outcome.violations[0]);
            failed.push((seed, outcome));
        }
    }
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

/// A first run that is not disturbed and saves everything, a power loss, and a second run.
fn saved_before_power_is_lost(plan: &mut Plan) {
    let run = Run {
        checkpoints: 2,
        finalizes: true,
        kill_at: None,
        faults: Budget::default(),
        loss: Loss::Power,
    };
    plan.runs = vec![run.clone(), run];
    (plan.flush, plan.shared) = (1, Profile::Weakest);
}

/// On a file system that keeps only what was synced by name. With containers nothing but SCR's own
/// directory stands in the prefix directory: its entry was not synced.
#[test]
fn what_was_saved_survives_a_power_loss() {
    for seed in 0..40 {
        let outcome = simulate_changed(seed, saved_before_power_is_lost);
        assert!(outcome.violations.is_empty(), "{}", told(seed, &outcome));
    }
}
