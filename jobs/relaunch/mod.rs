//! Decisions between two launches of a job, without input or output: whether to launch again and where, what to save of
//! the caches, whether to put the job into the queue again.

pub mod failed_nodes;
pub mod requeue;
pub mod run;
pub mod save;
pub mod time_left;
