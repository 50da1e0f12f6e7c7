//! The library's view of the system besides files, messages and programs: threads and the objects
//! that they wait for, time, and the ids of processes.
//!
//! All code takes these from here, so that the simulator can run a whole job in one thread, under a
//! clock of its own; `tests/layers.rs` checks it. They are those of the standard library, except in a
//! build with the feature `simulate`, which nothing installs. No other file uses the feature.

pub mod limits;
pub mod loaded;
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
