//! The parts of the library without a run: transports and collectives, the file system, host
//! lists, and the forms of files.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test may stop at what it did not expect.

mod attributes;
mod comm;
#[path = "../comm_checks/mod.rs"]
mod comm_checks;
mod golden;
mod hostlist;
mod store;
mod system_calls;
