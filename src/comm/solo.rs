//! A communicator of one rank: the commands, programs without MPI, and the messages of a rank of MPI to itself.

use super::matching::{Matching, Ticket};
use super::{Communicator, Pending, Tag, Term, check_length, check_rank};
use crate::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Rank 0 of 1, or with [`Solo::of_rank`] a rank that only says to be another one. Waiting for a message
/// that was not sent is an error, because no other rank can send it. Waiting for a large send before
/// its receive is posted is also an error.
pub struct Solo {
    messages: Messages,
    rank: usize,
    size: usize,
}

#[derive(Clone, Default)]
struct Messages(Arc<Mutex<Matching<Tag>>>);

impl Messages {
    /// No invariant is broken between two statements that can panic, so poison is ignored.
    fn lock(&self) -> MutexGuard<'_, Matching<Tag>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A send or a receive.
struct UnderWay {
    messages: Messages,
    tag: Tag,
    ticket: Ticket,
    /// The name of the send or receive in errors.
    call: &'static str,
    /// The number of bytes that a receive expects, if it is known.
    length: Option<usize>,
}

impl Pending for UnderWay {
    fn wait(self: Box<Self>) -> Result<Vec<u8>> {
        let data = self.messages.lock().take(self.ticket).ok_or_else(|| {
            let call = format!("{} rank 0, tag {:#x}", self.call, self.tag);
            Error::comm(call, "there is no other rank that could end this")
        })?;
        check_length(0, self.tag, self.length.unwrap_or(data.len()), data.len())?;
        Ok(data)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.messages.lock().forget(&self.tag, self.ticket);
    }
}

impl Solo {
    /// A new group of one.
    pub fn new() -> Self {
        Solo::of_rank(0, 1)
    }

    /// Says that it is `rank` of `size`, for code that works for one rank at a time.
    pub fn of_rank(rank: usize, size: usize) -> Self {
        let messages = Messages::default();
        Solo {
            messages,
            rank,
            size,
        }
    }

    /// Posts a receive of `length` bytes, or of any length.
    fn post(
        &self,
        from: usize,
        tag: Tag,
        buffer: Vec<u8>,
        length: Option<usize>,
    ) -> Result<Box<dyn Pending>> {
        check_rank("receive", from, 1)?;
        let ticket = self.messages.lock().receive(tag, buffer);
        Ok(self.under_way("receive from", tag, ticket, length))
    }

    fn under_way(
        &self,
        call: &'static str,
        tag: Tag,
        ticket: Ticket,
        length: Option<usize>,
    ) -> Box<dyn Pending> {
        Box::new(UnderWay {
            messages: self.messages.clone(),
            tag,
            ticket,
            call,
            length,
        })
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
        check_rank("send", to, 1)?;
        let ticket = self.messages.lock().send(tag, data);
        Ok(self.under_way("send to", tag, ticket, None))
    }

    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        let length = buffer.len();
        self.post(from, tag, buffer, Some(length))
    }

    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.post(from, tag, Vec::new(), None)?.wait()
    }

    fn recv_any(&self, tag: Tag) -> Result<(usize, Vec<u8>)> {
        let call = format!("receive from any rank, tag {tag:#x}");
        Err(Error::comm(call, "there is no other rank"))
    }

    fn barrier(&self) -> Result<()> {
        Ok(())
    }

    fn allreduce(&self, _: &mut [Term]) -> Result<()> {
        Ok(())
    }

    /// Exits the process.
    fn abort(&self, code: i32) -> ! {
        std::process::exit(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::matching::RENDEZVOUS;

    #[test]
    fn a_message_that_was_never_sent_is_an_error() {
        let mut errors = Vec::new();
        errors.extend(Solo::new().recv(0, 3).err());
        let posted = Solo::new().irecv(0, 3, vec![0; 2]).and_then(Pending::wait);
        errors.extend(posted.err());
        assert_eq!(errors.len(), 2);
    }

    #[test]
    fn a_large_send_needs_a_receive_that_is_posted() {
        let solo = Solo::new();
        let sent = |length| solo.isend(0, 3, vec![1; length]).and_then(Pending::wait);
        assert!(sent(RENDEZVOUS).is_err());
        assert_eq!(sent(RENDEZVOUS - 1), Ok(vec![1; RENDEZVOUS - 1]));
        // The one that was given up is delivered all the same, and first.
        assert_eq!(solo.recv(0, 3), Ok(vec![1; RENDEZVOUS]));
        assert_eq!(solo.recv(0, 3), Ok(vec![1; RENDEZVOUS - 1]));
    }
}
