//! Saves datasets after their job has ended: copies their parts from the nodes to the prefix
//! directory, rebuilds what is missing, and enters the datasets in the index. Everything here runs
//! in one process, without ranks.
//!
//! ```text
//! let copied = copy(&settings, &caches, id);             // on each node that is up
//! let built = build(&files, &prefix, id, ..)?;           // then on one node
//! ```
//!
//! [`dataset_records`] reads the records of a directory, [`mod@rebuild`] rebuilds a dataset,
//! [`scr_v3`] reads datasets that SCR v3.1.0 scavenged. [`mod@copy`] and [`mod@build`] use them.

pub mod build;
pub mod caches;
pub mod contain;
pub mod copy;
pub mod dataset_records;
pub mod locations;
pub mod rebuild;

pub mod scr_v3;

pub use build::{BuildSettings, Built, build};
pub use copy::{CopyResult, Redundancy, copy};
