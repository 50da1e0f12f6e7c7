//! Decisions, as pure functions: callers pass everything that they depend on.

pub mod capacity;
pub mod checkpoint;
#[cfg(test)]
mod edge_tests;
pub mod eviction;
pub mod failed_nodes;
pub mod failure_rate;
pub mod flush;
pub mod halt;
pub mod hang;
pub mod interval;
pub mod requeue;
pub mod run;
pub mod save;
pub mod time_left;
pub mod watchdog;
