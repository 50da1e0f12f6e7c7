//! Ranks that talk to each other.
//!
//! [`Communicator`] is a byte-level core. Everything that moves in a pattern (broadcast,
//! gather, exchange, verdicts) is written once over that core, in [`collective`], so every
//! algorithm of the crate runs the same on MPI ranks, on threads and alone.

pub mod collective;

use crate::Result;

/// Message tag: 0 to 32767, the range that the MPI standard (section 3.2.3) guarantees.
pub type Tag = u16;

/// One value of an [`Communicator::allreduce`], with the way in which it is combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    /// Sum over all ranks (wrapping).
    Sum(i64),
    /// Largest over all ranks.
    Max(i64),
    /// Smallest over all ranks.
    Min(i64),
}

impl Term {
    /// The value, whatever its operation.
    pub fn value(self) -> i64 {
        match self {
            Term::Sum(v) | Term::Max(v) | Term::Min(v) => v,
        }
    }
}

/// A message under way. It owns its buffer, so nothing can touch the bytes meanwhile.
///
/// Dropping a request that was not waited for must be safe: the transport cancels it or
/// leaks the buffer, it never frees memory that is still in use.
pub trait Pending: Send {
    /// Blocks until the transfer is over and gives the buffer back: the received bytes, or
    /// for a send the buffer for reuse.
    fn wait(self: Box<Self>) -> Result<Vec<u8>>;
}

/// A fixed group of ranks, numbered `0..size`.
///
/// Collective calls must be made by all ranks in the same order. Messages between one pair
/// of ranks with one tag arrive in order.
pub trait Communicator: Send + Sync {
    /// This rank's number.
    fn rank(&self) -> usize;

    /// Number of ranks, at least 1.
    fn size(&self) -> usize;

    /// Starts to send `data`, of any length including 0 and beyond 2 GiB.
    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>>;

    /// Starts to receive exactly `buffer.len()` bytes into `buffer`. A message of another
    /// length is an error of `wait`.
    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>>;

    /// Receives one message of unknown length. Blocks.
    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>>;

    /// Holds all ranks until each has come. Collective.
    fn barrier(&self) -> Result<()>;

    /// Combines each term over all ranks, in place; all ranks pass terms of the same kinds
    /// in the same order. Collective, one synchronising round.
    fn allreduce(&self, terms: &mut [Term]) -> Result<()>;

    /// Told by [`collective`] of each collective operation that begins, so that a counting
    /// communicator can count synchronising rounds. Does nothing in transports.
    fn count_round(&self, _operation: &'static str) {}

    /// Ends the whole job. Only for when going on would lose or corrupt data.
    fn abort(&self, code: i32) -> !;
}
