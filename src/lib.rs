//! Scalable Checkpoint / Restart for MPI codes, in Rust.
//!
//! The modules follow a checkpoint on its way:
//!
//! ```text
//! application -> capi -> session -> policy -> cache -> redundancy -> transfer -> prefix
//! ```
//!
//! `comm`, `store`, `format`, `config` and `job` are below them and do not use them. Below these are
//! `error`, `events` and `text`. A module may use those to its right and those below, never the
//! reverse.

pub mod cache;
#[cfg(feature = "mpi")]
pub mod capi;
#[cfg(feature = "cli")]
pub mod cli;
pub mod comm;
pub mod config;
pub mod error;
pub mod events;
pub mod format;
pub mod job;
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
