//! The process of the transfer daemon of a node. [`scr_engine::daemon`] is what library and daemon tell each other.
//!
//! The daemon copies one part after the other ([`serve`]); [`service`] starts it, ends it, and does what it has left.

pub mod part_check;
mod progress;
pub mod serve;
pub mod service;
