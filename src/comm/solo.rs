//! A communicator of one rank: the commands, and programs without MPI.

use super::threads::ThreadRank;
use super::{Communicator, Pending, Tag, Term};
use crate::Result;

/// Rank 0 of 1. Waiting for a message that was not sent is an error, because nobody else can send it.
/// Waiting for a large send before its receive is posted is an error too.
pub struct Solo(ThreadRank);

impl Solo {
    /// A new group of one.
    pub fn new() -> Self {
        Solo(ThreadRank::alone())
    }
}

impl Default for Solo {
    fn default() -> Self {
        Self::new()
    }
}

impl Communicator for Solo {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.0.isend(to, tag, data)
    }

    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.0.irecv(from, tag, buffer)
    }

    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.0.recv(from, tag)
    }

    fn barrier(&self) -> Result<()> {
        self.0.barrier()
    }

    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        self.0.allreduce(terms)
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
