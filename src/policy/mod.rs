//! Decisions, as pure functions: callers pass everything that they depend on.

pub mod capacity;
pub mod checkpoint;
#[cfg(test)]
mod edge_tests;
pub mod eviction;
pub mod flush;
pub mod halt;
pub mod interval;
