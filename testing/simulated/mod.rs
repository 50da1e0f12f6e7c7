//! Threads, locks, time and processes of a simulation: see `tests/simulate/README.md`.
//!
//! Only one task runs at a time, all in one thread of the system, and [`scheduler`] decides which. So
//! a seed decides everything. Outside of a task nothing here may wait.

pub mod mpsc;
pub mod process;
mod random;
mod ready;
pub mod scheduler;
mod scope;
pub mod size;
mod state;
pub mod sync;
mod task;
pub mod thread;
pub mod time;

pub use random::Random;
