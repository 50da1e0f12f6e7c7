//! Ranks that talk to each other.
//!
//! [`Communicator`] sends and receives bytes. Broadcast, gather, exchange and verdicts are written
//! once over it, in [`collective`]. So every algorithm of the crate runs the same on MPI ranks, in a
//! single process and, in tests, on threads.

mod alike;
mod at_root;
pub mod collective;
mod deliver;
mod local;
pub mod matching;
mod meet;
mod packet;
mod rank_list;
pub mod solo;

pub use alike::{Alike, gather_alike};
pub use at_root::AtRoot;
pub use deliver::deliver;
pub use local::{Agreed, Agreement, Local, VerdictExt, is_same, same};
pub use meet::meet;
pub use rank_list::RankList;

use crate::{Error, Result};

/// Message tag: 0 to 32767, the range that the MPI standard (section 3.2.3) guarantees.
///
/// [`collective`] uses the tags from [`FIRST_RESERVED_TAG`] on; algorithms use lower ones.
pub type Tag = u16;

/// The first tag that only [`collective`] uses.
pub const FIRST_RESERVED_TAG: Tag = 0x7000;

/// One value of an [`Communicator::allreduce`], with the operation that combines it.
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
    /// For [`Agreed::on_any`]: whether something holds on this rank.
    pub fn any(holds: bool) -> Self {
        Term::Max(holds.into())
    }

    /// The value, whatever its operation.
    pub fn value(self) -> i64 {
        match self {
            Term::Sum(v) | Term::Max(v) | Term::Min(v) => v,
        }
    }

    /// Both terms combined in one; `None` if they are of different kinds.
    pub fn combine(self, other: Term) -> Option<Term> {
        match (self, other) {
            (Term::Sum(_), Term::Sum(b)) | (Term::Max(_), Term::Max(b)) => Some(self.joined(b)),
            (Term::Min(_), Term::Min(b)) => Some(self.joined(b)),
            _ => None,
        }
    }

    /// This term with one more value.
    fn joined(self, value: i64) -> Term {
        match self {
            Term::Sum(a) => Term::Sum(a.wrapping_add(value)),
            Term::Max(a) => Term::Max(a.max(value)),
            Term::Min(a) => Term::Min(a.min(value)),
        }
    }

    /// The term of this kind that changes nothing.
    fn neutral(self) -> Term {
        match self {
            Term::Sum(_) => Term::Sum(0),
            Term::Max(_) => Term::Max(i64::MIN),
            Term::Min(_) => Term::Min(i64::MAX),
        }
    }
}

/// A send or receive that is not complete. The request owns its buffer, so nothing else can change
/// the bytes.
///
/// Dropping it without waiting is safe: the transport cancels the transfer or leaks the buffer. It
/// never frees memory that is still in use.
pub trait Pending: Send {
    /// Blocks until the transfer is complete. Returns the received bytes, or for a send the buffer
    /// for reuse.
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

    /// Starts to send `data`. Any length is allowed, including 0 and more than 2 GiB. The wait may
    /// last until the receive is posted, so ranks that send in a circle must first receive.
    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>>;

    /// Starts to receive exactly `buffer.len()` bytes into `buffer`. A message of another
    /// length is an error of `wait`.
    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>>;

    /// Receives one message of unknown length. Blocks.
    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>>;

    /// Receives one message of unknown length from any other rank. Blocks. Also returns the rank of the sender.
    fn recv_any(&self, tag: Tag) -> Result<(usize, Vec<u8>)>;

    /// Returns when all ranks have called it. Collective.
    fn barrier(&self) -> Result<()>;

    /// Combines each term over all ranks, in place; all ranks pass terms of the same kinds
    /// in the same order. Collective, one synchronising round.
    fn allreduce(&self, terms: &mut [Term]) -> Result<()>;

    /// Counts a synchronising round. [`collective`] calls it at the start of each operation.
    /// Transports do nothing here.
    fn count_round(&self, _operation: &'static str) {}

    /// Makes all calls of all ranks fail from now on, where the transport can do that: a rank has found that another one
    /// is lost, or leaves the group. Local.
    fn revoke(&self) {}

    /// The name of the transport if this process is the only one in it, so that other processes of its launch cannot be
    /// its ranks. `None` if there are others, or cannot be. Local.
    fn alone_in(&self) -> Option<String> {
        None
    }

    /// Ends the whole job. Only used where going on would lose or corrupt data.
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
    fn recv_any(&self, tag: Tag) -> Result<(usize, Vec<u8>)> {
        (**self).recv_any(tag)
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
    fn revoke(&self) {
        (**self).revoke();
    }
    fn alone_in(&self) -> Option<String> {
        (**self).alone_in()
    }
    fn abort(&self, code: i32) -> ! {
        (**self).abort(code)
    }
}

/// Checks that a rank is in the group.
pub fn check_rank(call: &str, rank: usize, size: usize) -> Result<()> {
    if rank < size {
        return Ok(());
    }
    Err(Error::comm(
        format!("{call} with rank {rank}"),
        format!("there are only {size} ranks, numbered from 0"),
    ))
}

/// Checks that a message has the length that the receiver asked for.
pub fn check_length(from: usize, tag: Tag, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::comm(
        format!("receive from rank {from}, tag {tag:#x}"),
        format!("the message has {found} bytes, {expected} were expected"),
    ))
}
