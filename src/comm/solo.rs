//! A communicator of one rank: the commands, and programs without MPI.

use super::threads::ThreadRank;
use super::{Communicator, Pending, Tag, Term};
use crate::Result;

/// Rank 0 of 1, or with [`Solo::of_rank`] one that only says to be another rank. Waiting for a message
/// that was not sent is an error, because nobody else can send it. Waiting for a large send before
/// its receive is posted is an error too.
pub struct Solo {
    alone: ThreadRank,
    rank: usize,
    size: usize,
}

impl Solo {
    /// A new group of one.
    pub fn new() -> Self {
        Solo::of_rank(0, 1)
    }

    /// Says that it is `rank` of `size`, for code that works for one rank at a time.
    pub fn of_rank(rank: usize, size: usize) -> Self {
        let alone = ThreadRank::alone();
        Solo { alone, rank, size }
    }
}

impl Default for Solo {
    fn default() -> Self {
        Self::new()
    }
}

impl Communicator for Solo {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.alone.isend(to, tag, data)
    }

    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.alone.irecv(from, tag, buffer)
    }

    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.alone.recv(from, tag)
    }

    fn recv_any(&self, tag: Tag) -> Result<(usize, Vec<u8>)> {
        self.alone.recv_any(tag)
    }

    fn barrier(&self) -> Result<()> {
        self.alone.barrier()
    }

    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        self.alone.allreduce(terms)
    }

    /// Exits the process.
    fn abort(&self, code: i32) -> ! {
        std::process::exit(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_was_never_sent_is_an_error() {
        let mut errors = Vec::new();
        errors.extend(Solo::new().recv(0, 3).err());
        let posted = Solo::new().irecv(0, 3, vec![0; 2]).and_then(Pending::wait);
        errors.extend(posted.err());
        assert_eq!(errors.len(), 2);
    }
}
