//! Ranks that talk to each other: in a single process, and over MPI.

#[cfg(feature = "mpi")]
pub mod mpi;

#[doc(inline)]
pub use scr_engine::comm::*;
