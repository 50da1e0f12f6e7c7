//! Random stories of a job: runs, lost nodes, and commands between the runs, some of them killed at a random system call.
//! After each act the prefix directory and the caches are compared with what [`truth`] knows.
//!
//! `SCR_TEST_SEED` is the first seed, `SCR_TEST_SEEDS` their number.

#[path = "../../../testing/simulated/random.rs"]
mod random;
mod story;
mod truth;

use crate::refused_calls::no_strace;
use story::Story;

/// The number of stories in a test run; a campaign by hand takes thousands.
const STORIES: u64 = 12;

fn number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn no_command_loses_or_changes_a_dataset() {
    if no_strace() {
        return;
    }
    let first = number("SCR_TEST_SEED", 1);
    let seeds = first..first + number("SCR_TEST_SEEDS", STORIES);
    let told: Vec<String> = seeds.filter_map(|seed| Story::new(seed).tell()).collect();
    assert!(told.is_empty(), "{}", told.join("\n\n"));
}
