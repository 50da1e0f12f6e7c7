//! Datasets in fast storage on the compute nodes: their paths, their remains after a failure, and
//! how each rank gets its own part back.

pub mod dataset;
pub mod earlier_runs;
pub mod inventory;
pub mod layout;
pub mod plan;
#[cfg(test)]
mod plan_tests;
pub mod recover;
pub mod relocate;
