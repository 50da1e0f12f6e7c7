//! Ranks that talk to each other.
//!
//! [`Communicator`] is a byte-level core. Everything that moves in a pattern (broadcast,
//! gather, exchange, verdicts) is written once over that core, in [`collective`], so every
//! algorithm of the crate runs the same on MPI ranks, on threads and alone.

pub mod collective;
pub mod counting;
#[cfg(feature = "mpi")]
pub mod mpi;
mod packet;
pub mod solo;
pub mod threads;

use crate::{Error, Result};

/// Message tag: 0 to 32767, the range that the MPI standard (section 3.2.3) guarantees.
///
/// Tags from [`FIRST_RESERVED_TAG`] on belong to [`collective`]; algorithms use lower ones.
pub type Tag = u16;

/// The first of the tags that [`collective`] keeps for itself.
pub const FIRST_RESERVED_TAG: Tag = 0x7000;

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

    /// Both terms in one; `None` if they are of different kinds.
    fn combine(self, other: Term) -> Option<Term> {
        match (self, other) {
            (Term::Sum(a), Term::Sum(b)) => Some(Term::Sum(a.wrapping_add(b))),
            (Term::Max(a), Term::Max(b)) => Some(Term::Max(a.max(b))),
            (Term::Min(a), Term::Min(b)) => Some(Term::Min(a.min(b))),
            _ => None,
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

    /// Starts to send `data`, of any length including 0 and beyond 2 GiB. To wait for it may
    /// last until the receive is posted, so ranks that send in a circle must receive before.
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

impl<C: Communicator + ?Sized> Communicator for Box<C> {
    fn rank(&self) -> usize {
        (**self).rank()
    }
    fn size(&self) -> usize {
        (**self).size()
    }
    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>> {
        (**self).isend(to, tag, data)
    }
    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        (**self).irecv(from, tag, buffer)
    }
    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        (**self).recv(from, tag)
    }
    fn barrier(&self) -> Result<()> {
        (**self).barrier()
    }
    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        (**self).allreduce(terms)
    }
    fn count_round(&self, operation: &'static str) {
        (**self).count_round(operation);
    }
    fn abort(&self, code: i32) -> ! {
        (**self).abort(code)
    }
}

/// Error of a call that names a rank outside the group.
fn check_rank(call: &str, rank: usize, size: usize) -> Result<()> {
    if rank < size {
        return Ok(());
    }
    Err(Error::comm(
        format!("{call} with rank {rank}"),
        format!("there are only {size} ranks, numbered from 0"),
    ))
}

/// Error of a message whose length is not what the receiver asked for.
fn check_length(from: usize, tag: Tag, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::comm(
        format!("receive from rank {from}, tag {tag:#x}"),
        format!("the message has {found} bytes, {expected} were expected"),
    ))
}
