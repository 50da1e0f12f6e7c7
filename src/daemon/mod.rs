//! The transfer daemon of a node: a process that copies datasets from the cache to the prefix directory
//! while the program computes, and goes on when the program dies.
//!
//! Library and daemon tell each other what to do by the transfer file in the control directory of the
//! job on the node ([`control`]). The library enters its part of a flush, and watches it ([`client`]).
//! The daemon copies one part after the other ([`serve`]); [`service`] starts it, ends it, and does what it
//! has left. A part certifies itself, so it counts
//! whoever copies it; [`part`] is what both do, and the library's threads too.

pub mod clean;
pub mod client;
pub mod control;
pub mod part;
mod progress;
pub mod serve;
pub mod service;

pub use control::{Control, is_control_file};
