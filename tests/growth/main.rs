//! How costs grow with ranks, files and checkpoints: operations on files, bytes and memory are counted, and nothing
//! is timed. One test runs at a time, as the memory is that of the whole process.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test may stop at what it did not expect.

#[allow(dead_code)]
#[path = "../site/fields.rs"]
mod fields_on_ranks;
mod job;
mod lists;
mod long_run;
mod many_files;
mod memory;
mod million;
mod operations;
#[allow(dead_code)] // It has more than is needed here.
#[path = "../site/mod.rs"]
mod site;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by the test that runs.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number that an environment variable sets, for larger runs by hand.
fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |text| text.parse().expect(variable))
}
