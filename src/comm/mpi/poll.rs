//! Waiting for MPI without keeping a processor from those that have work.
//!
//! A blocking call of MPI spins. Where ranks, or threads that write files, outnumber the
//! processors, who spins takes time from whom it waits for; so a long wait is spent asleep.

use crate::Result;
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

/// Questions in a row before anything else is done.
const EAGER: usize = 20;

/// How long others that want the processor only come first: about as long as a message to
/// another node and back takes.
const YIELDING: Duration = Duration::from_micros(20);

/// The part of the time waited that a pause takes, and so may be wasted.
const SHARE: u32 = 16;

/// The longest pause: nobody notices it, and a message a pause keeps a network busy.
const PAUSE: Duration = Duration::from_micros(100);

/// Asks `done` until it is so.
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
