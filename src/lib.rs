//! Scalable Checkpoint / Restart for MPI codes, in Rust.
//!
//! The modules are layers, top layer first. A module uses only modules that stand below it, or to
//! its right in the same line; `tests/layers.rs` checks it.
//!
//! ```text
//! capi cli
//! session daemon scavenge policy
//! prefix transfer cache redundancy
//! log config job comm format store
//! events error text version
//! ```
//!
//! `docs/architecture.md` says what each module does, and `docs/glossary.md` what the words mean.

pub mod cache;
#[cfg(feature = "mpi")]
pub mod capi;
#[cfg(feature = "cli")]
pub mod cli;
pub mod comm;
pub mod config;
pub mod daemon;
pub mod error;
pub mod events;
pub mod format;
pub mod job;
pub mod log;
pub mod policy;
pub mod prefix;
pub mod redundancy;
pub mod scavenge;
pub mod session;
pub mod store;
pub mod text;
pub mod transfer;
pub mod version;

pub use error::{Error, Result};
