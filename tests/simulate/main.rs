//! Whole jobs in one thread: ranks, background threads, file systems and clocks, in an order that a seed
//! decides. `tests/simulate/README.md` says how to use it and how to extend it.

#![cfg(feature = "simulate")]
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test may stop at what it did not expect.

mod acts;
mod beside;
mod cases;
mod changes;
mod collectives;
#[path = "../comm_checks/mod.rs"]
mod comm_checks;
mod compared;
mod content;
mod counts;
mod faults;
mod fields;
mod files;
mod flips;
mod job;
mod jobs;
mod launch;
mod locks;
mod machine;
mod messages;
mod oracle;
mod orphan;
mod places;
mod plan;
mod process;
mod program;
mod proven;
mod repair;
mod scale;
mod scheduler;
mod shapes;
mod shrink;
mod timed;
mod volume;
mod world;
mod worst;

/// A fifth of the time of a job goes into the system's allocator, with blocks of some bytes that live for
/// microseconds.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
