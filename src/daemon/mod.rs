//! The transfer daemon of a node: a process that copies datasets from the cache to the prefix directory
//! while the program computes, and goes on when the program dies.
//!
//! Library and daemon tell each other what to do by the transfer file in the control directory of the
//! job on the node ([`control`]). The library enters its part of a flush, and watches it ([`client`]).
//! A part carries its own proof, so any process may copy it: [`part`] is the work that the daemon and the library's
//! threads have in common. The daemon's own process belongs to the commands: the package scr-jobs.

pub mod client;
pub mod control;
pub mod part;

pub use control::{Control, is_control_file};
