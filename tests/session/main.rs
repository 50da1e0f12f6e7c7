//! Runs from start to end on emulated nodes, with ranks as threads of this process: what the calls
//! answer, what they leave in caches and in the prefix directory, and what a restart makes of it.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test may stop at what it did not expect.

mod cache;
mod calls;
#[path = "../site/checkpoints.rs"]
mod checkpoints;
mod fields;
#[path = "../site/fields.rs"]
mod fields_on_ranks;
mod helpers;
mod kept;
mod prefix;
mod redundancy;
#[path = "../site/sampled.rs"]
mod sampled;
#[path = "../site/mod.rs"]
mod site;
