//! Scalable Checkpoint / Restart for MPI codes, in Rust.
//!
//! # From Rust
//!
//! A [`Session`] is one run under SCR, and its methods are the calls of the API. A program that runs under
//! MPI (feature `mpi`, on by default) makes one after MPI_Init, and drops it before MPI_Finalize:
//!
//! ```text
//! let mut config = Config::new();
//! let setup = Setup::of_process(comm::mpi::Mpi::dup_world()?);
//! let session = Session::init(setup, &mut config)?;        // None with SCR_ENABLE=0
//! ```
//!
//! Then, all methods collective but `route`:
//!
//! | to | call |
//! |---|---|
//! | restart | [`have_restart`](Session::have_restart), [`start_restart`](Session::start_restart), [`route`](Session::route), [`complete_restart`](Session::complete_restart) |
//! | write a checkpoint | [`need_checkpoint`](Session::need_checkpoint), [`start_output`](Session::start_output), [`route`](Session::route), [`complete_output`](Session::complete_output) |
//! | end | [`should_exit`](Session::should_exit), [`finalize`](Session::finalize) |
//!
//! Errors are values, the same on all ranks after a collective call, and are not printed. A program may
//! have either a `Session` or the calls of the C interface (also through Fortran), not both. `Session` catches no
//! signals; a program that catches one passes it to [`set_signal`](Session::set_signal).
//!
//! A whole program, `examples/heat.rs`; `mpiexec -n 4 target/debug/examples/heat` runs it after
//! `cargo build --example heat --features rsmpi`:
//!
//! ```text
#![doc = include_str!("../examples/heat.rs")]
//! ```
//!
//! # With Fortran
//!
//! With the feature `fortran` the build script has CMake compile the Fortran module `scrf` with the Fortran
//! compiler of the same MPI (`mpifort` beside `mpicc`, or `MPIFC`). The build script of a package that
//! depends on this one gets `DEP_SCR_INCLUDE`, the directory of `scrf.mod` and `scr.h`, and
//! `DEP_SCR_MPIFORT`, the compiler. `libscrf.a`, MPI's Fortran libraries and those of the language are linked.
//! `examples/cargo` has a program in Rust with Fortran parts, and one in Fortran alone that Cargo's
//! tests run.
//!
//! # Modules
//!
//! This package has the modules of the engine, which is the package `scr-engine`, the transport over MPI ([`comm`]),
//! the C interface (`capi`) and the commands (`cli`). The parts of a job that only commands need are in the package
//! `scr-jobs`. `docs/architecture.md` says what each module does, and `docs/glossary.md` what the words mean.

#[cfg(any(feature = "mpi", feature = "any-mpi"))]
pub mod capi;
pub mod comm;

#[cfg(feature = "cli")]
#[doc(inline)]
pub use scr_commands as cli;
pub use scr_engine::{Config, Error, Name, Result, Session, Setup};
#[doc(inline)]
pub use scr_engine::{
    cache, config, daemon, device, error, events, fields, format, job, log, policy, prefix,
    redundancy, scavenge, session, store, system, text, transfer, version,
};
