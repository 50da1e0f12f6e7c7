//! Test doubles, which stand in for a real part, or between it and the engine: [`threads`] are ranks without MPI,
//! [`counting::CountingComm`] counts what a communicator does, [`flipping::FlippingComm`] changes bits of messages, [`file_log::FileLog`] notes what is done with files,
//! [`faulty::Faulty`] makes a file system fail, [`apart::Apart`] is memory that only copies reach, [`programs::Programs`] are those of a scheduler, and [`by_index`] writes
//! datasets.
//!
//! The folder `simulated` is not a module here: the engine has it with its feature `simulate`
//! (`src/system/mod.rs`).
//!
//! The unit tests of the engine compile the same files as modules of the engine (`src/lib.rs`): this package is made
//! with the engine as a library, whose `Files` and `Communicator` are other traits than those of its unit tests.
//! So the files name everything from `crate::`, which is this root or the engine's.

pub mod apart;
pub mod by_index;
pub mod counting;
pub mod faulty;
pub mod file_log;
pub mod flipping;
pub mod programs;
#[path = "simulated/random.rs"]
pub mod random;
pub mod threads;

use scr_engine::{Error, Result, comm, device, job, store, system};
