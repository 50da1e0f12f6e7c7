//! Waiting for MPI without using up a processor.
//!
//! A blocking call of MPI spins. If ranks and threads that write files outnumber the processors, a
//! spinning rank takes time from the rank that it waits for. So long waits sleep.

use crate::Result;
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

/// Number of times that `done` is called in a row before the wait yields.
const EAGER: usize = 20;

/// Time for which the wait yields before it sleeps: about the time of a message to another node and
/// back.
const YIELDING: Duration = Duration::from_micros(20);

/// A pause takes this part of the time waited so far, which bounds the time lost.
const SHARE: u32 = 16;

/// The longest pause: short enough that one message in each pause keeps a network busy.
const PAUSE: Duration = Duration::from_micros(100);

/// Calls `done` until it returns true.
pub(super) fn until(mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    for _ in 0..EAGER {
        if done()? {
            return Ok(());
        }
    }
    let begun = Instant::now();
    while !done()? {
        let waited = begun.elapsed();
        if waited < YIELDING {
            yield_now();
        } else {
            sleep(PAUSE.min(waited / SHARE));
        }
    }
    Ok(())
}
