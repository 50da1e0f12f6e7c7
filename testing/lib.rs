//! Test doubles, which stand between the engine and a real part: [`counting::CountingComm`] counts what a
//! communicator does, [`file_log::FileLog`] notes what is done with files, and [`faulty::Faulty`] makes a file
//! system fail.
//!
//! The unit tests of the engine compile the same files as modules of the engine (`src/lib.rs`): this package is made
//! with the engine as a library, whose `Files` and `Communicator` are other traits than those of its unit tests.
//! So the files name everything from `crate::`, which is this root or the engine's.

pub mod counting;
pub mod faulty;
pub mod file_log;

use scr_engine::{Error, Result, comm, store, system};
