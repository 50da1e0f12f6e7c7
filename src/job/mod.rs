//! The job of this process: user, job id, node and time left.
//!
//! A value that is not configured is detected or derived; [`Sourced::source`] names the source.

pub mod clock;
pub mod environment;
pub mod holders;
pub mod identity;
pub mod launch;
pub mod machine;
pub mod manager;
pub mod process;
pub mod program;
pub mod signal;
pub mod stat;

pub use environment::Environment;
pub use identity::{
    Lookup, PrefixPlace, Sourced, ValueSource, end_time, is_of_job, job_id, node_name, of_session,
    session_name, user_name,
};
pub use machine::Machine;
pub use program::Heard;
