//! Decisions without input or output: each is a function of what its caller has read.

pub mod capacity;
pub mod checkpoint;
#[cfg(test)]
mod edge_tests;
pub mod eviction;
pub mod flush;
pub mod halt;
pub mod run;
pub mod save;
pub mod watchdog;
