//! Generated call sequences, legal and illegal, against a model of the answers of SCR v3.1.0.
//!
//! `SCR_MODEL_SEQUENCES` is the number of sequences, `SCR_MODEL_SEED` the seed of the first; each
//! has the next seed. `SCR_MODEL_SHOWN` says how many of each kind of difference are shown.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answer;
mod calls;
mod cases;
mod differences;
mod driver;
mod generate;
mod index;
mod model;
#[path = "../site/sampled.rs"]
mod sampled;
mod shrink;
#[path = "../site/mod.rs"]
mod site;

use differences::Difference;
use sampled::sampled;
use shrink::{Shown, show};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Compares this many sequences unless `SCR_MODEL_SEQUENCES` says otherwise.
const SEQUENCES: u64 = 5000;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Compares the sequences of `count` seeds from `seed` on. Returns those that differ.
fn differing(seed: u64, count: u64) -> Vec<(u64, Shown)> {
    let seeds = Mutex::new(sampled(seed..seed.saturating_add(count)));
    let found: Mutex<Vec<(u64, Shown)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let next = || seeds.lock().unwrap().next();
                while let Some(seed) = next() {
                    let (config, calls) = generate::sequence(seed);
                    if let Some(shown) = show(config, &calls) {
                        found.lock().unwrap().push((seed, shown));
                    }
                }
            });
        }
    });
    found.into_inner().unwrap()
}

/// The shortest sequences of each kind of difference, as text.
fn shortest(found: Vec<(u64, Shown)>, of_each: usize) -> Vec<String> {
    let mut kinds: BTreeMap<(String, bool), Vec<(u64, Shown)>> = BTreeMap::new();
    for (seed, shown) in found {
        let kind = (shown.found.kind.clone(), shown.config.bypass);
        kinds.entry(kind).or_default().push((seed, shown));
    }
    let mut texts = Vec::new();
    for ((kind, bypass), mut alike) in kinds {
        let count = alike.len();
        alike.sort_by_key(|(seed, shown)| (shown.calls.len(), *seed));
        alike.truncate(of_each);
        texts.push(format!("--- {kind}, bypass {bypass}: {count} times"));
        let shown = alike.into_iter().map(|(seed, shown)| {
            format!(
                "SCR_MODEL_SEED={seed} SCR_MODEL_SEQUENCES=1\n{}",
                shown.shrunk().text()
            )
        });
        texts.extend(shown);
    }
    texts
}

#[test]
fn random_sequences_are_answered_as_the_model_says() {
    let seed = variable("SCR_MODEL_SEED").unwrap_or(1);
    let count = variable("SCR_MODEL_SEQUENCES").unwrap_or(SEQUENCES);
    let found = differing(seed, count);
    let text = shortest(found, variable("SCR_MODEL_SHOWN").unwrap_or(1) as usize);
    assert!(text.is_empty(), "\n{}", text.join("\n"));
}

#[test]
fn the_written_cases_are_answered_as_they_say() {
    let all = cases::cases();
    all.iter().for_each(cases::Case::check_model);
    let wrong: Vec<String> = all.iter().filter_map(cases::Case::check_library).collect();
    let (count, of) = (wrong.len(), all.len());
    assert!(wrong.is_empty(), "{count} of {of}:\n{}", wrong.join("\n"));
}

#[test]
fn each_deliberate_difference_has_a_case_and_a_row_in_the_porting_guide() {
    let cases = cases::cases();
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/porting-from-scr.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    for difference in Difference::ALL {
        let shown = cases
            .iter()
            .any(|case| case.differences.contains(&difference));
        assert!(shown, "{difference:?} has no case");
        let row = format!("\n| {} | ", difference.row());
        assert!(guide.contains(&row), "{difference:?} has no row `{row}`");
    }
}
