//! What the library has from the system besides files, messages and programs: threads and what they
//! wait for, time, and what distinguishes one process from another.
//!
//! All code takes these from here, so that the simulator can run a whole job in one thread, under a
//! clock of its own; `tests/layers.rs` checks it. They are those of the standard library, except in a
//! build with the feature `simulate`, which nothing installs. This file is the only one that knows of
//! the feature.

pub mod limits;
#[cfg(not(feature = "simulate"))]
mod priority;
#[cfg(not(feature = "simulate"))]
mod real;
#[cfg(feature = "simulate")]
#[path = "../../testing/simulated/mod.rs"]
pub mod simulated;

#[cfg(not(feature = "simulate"))]
pub use real::{process, size, sync, thread, time};
#[cfg(feature = "simulate")]
pub use simulated::{process, size, sync, thread, time};
