//! The process of the transfer daemon of a node. [`scr_engine::daemon`] has the messages between library and
//! daemon.
//!
//! The daemon copies one part after the other ([`serve`]); [`service`] starts it, ends it, and finishes its remaining
//! work.

pub mod part_check;
mod progress;
pub mod serve;
pub mod service;
