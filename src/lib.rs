//! The engine of Scalable Checkpoint / Restart: the part that a program runs, with MPI and without. Programs use
//! the package `scr-rs`, which has all of this and the transport over MPI. What only commands need is in the
//! package `scr-jobs`.
//!
//! # Modules
//!
//! The modules are layers, top layer first. A module uses only modules that stand below it, or to
//! its right in the same line; `tests/layers.rs` checks it.
//!
//! ```text
//! fields
//! session daemon scavenge policy
//! prefix transfer cache redundancy
//! log config job comm format device store
//! events error messages text version system
//! ```
//!
//! `docs/architecture.md` describes each module, and `docs/glossary.md` explains the words.

pub mod cache;
pub mod comm;
pub mod config;
pub mod daemon;
pub mod device;
pub mod error;
pub mod events;
pub mod fields;
pub mod format;
pub mod job;
pub mod log;
pub mod messages;
pub mod policy;
pub mod prefix;
pub mod redundancy;
pub mod scavenge;
pub mod session;
pub mod store;
pub mod system;
pub mod text;
pub mod transfer;
pub mod version;

// The test doubles of the package scr-testing, for unit tests: that package has them for the engine as a library, whose
// traits are others than those of its unit tests.
#[cfg(test)]
#[path = "../testing/counting.rs"]
pub mod counting;
#[cfg(test)]
#[path = "../testing/faulty/mod.rs"]
pub mod faulty;
#[cfg(test)]
#[path = "../testing/flipping.rs"]
pub mod flipping;
#[cfg(test)]
#[path = "../testing/programs.rs"]
pub mod programs;
#[cfg(test)]
#[path = "../testing/threads/mod.rs"]
pub mod threads;
// Likewise, of the package scr-jobs.
#[cfg(test)]
#[path = "../jobs/tally.rs"]
pub mod tally;

pub use config::Config;
pub use error::{Error, Result};
pub use format::Name;
pub use session::{Session, Setup};
