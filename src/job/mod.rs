//! Who and where am I: user, job, node, time left.
//!
//! Nothing here is fatal for want of set-up: a value that nobody gave is found out or
//! derived, and [`Known::source`] tells from what, so that the caller can say so.

pub mod clock;
pub mod environment;
mod identity;

pub use environment::Environment;
pub use identity::{Known, Lookup, Source, end_time, job_id, node_name, user_name};
