//! Ranks that talk to each other: in a single process, and over MPI.

#[cfg(any(feature = "mpi", feature = "any-mpi"))]
pub mod mpi;

#[doc(inline)]
pub use scr_engine::comm::*;
