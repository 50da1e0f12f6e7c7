//! Pieces on their way around a set: received from the left, sent to the right.
//!
//! Several messages are under way at any time, and receives are posted ahead of the sends
//! that they meet, so neither latency nor a rendezvous stops the flow. Memory: at most
//! `2 * window + 2` buffers of one piece, reused.

use crate::Result;
use crate::comm::{Communicator, Pending, Tag};
use std::collections::VecDeque;

/// Bytes that may be under way to one rank, unless a single piece is larger.
const WINDOW: usize = 8 << 20;

/// Pieces at once, so that small pieces do not make long queues.
const MAX_PIECES: usize = 64;

/// How many pieces of `piece` bytes are under way at a time.
pub fn window(piece: usize) -> usize {
    (WINDOW / piece.max(1)).clamp(2, MAX_PIECES)
}

/// One rank's part of the flow.
pub struct Ring<'a, L> {
    comm: &'a dyn Communicator,
    left: usize,
    right: usize,
    tag: Tag,
    /// Lengths of the messages still to be posted, in order of arrival.
    lengths: L,
    posted: VecDeque<Box<dyn Pending>>,
    sent: VecDeque<Box<dyn Pending>>,
    spare: Vec<Vec<u8>>,
    /// Buffers that may still be allocated.
    budget: usize,
}

impl<'a, L: Iterator<Item = usize>> Ring<'a, L> {
    /// Posts the first receives. `lengths` foretells, in order, every message that `left`
    /// will send with `tag`; ranks run at most `window` pieces apart.
    pub fn new(
        comm: &'a dyn Communicator,
        (left, right): (usize, usize),
        tag: Tag,
        window: usize,
        lengths: L,
    ) -> Result<Self> {
        // Two more than are posted and needed on the way: one in the caller's hands, and one
        // so that not all ranks can wait for their sends at once, each for a receive that
        // its neighbour has not posted because it waits too.
        let budget = 2 * window.max(1) + 2;
        let (posted, sent, spare) = (VecDeque::new(), VecDeque::new(), Vec::new());
        let mut ring = Ring {
            comm,
            left,
            right,
            tag,
            lengths,
            posted,
            sent,
            spare,
            budget,
        };
        for _ in 0..window.max(1) {
            ring.post()?;
        }
        Ok(ring)
    }

    /// A buffer of `length` bytes of any content, to be filled and sent. Waits for the
    /// oldest send if all buffers are under way.
    pub fn buffer(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut buffer = match self.spare.pop() {
            Some(buffer) => buffer,
            None if self.budget > 0 => {
                self.budget -= 1;
                Vec::new()
            }
            None => match self.sent.pop_front() {
                Some(send) => send.wait()?,
                None => Vec::new(),
            },
        };
        buffer.resize(length, 0);
        Ok(buffer)
    }

    /// The next piece from the left, which must have been foretold; then posts one more.
    pub fn receive(&mut self) -> Result<Vec<u8>> {
        let Some(oldest) = self.posted.pop_front() else {
            return Ok(Vec::new());
        };
        let piece = oldest.wait()?;
        self.post()?;
        Ok(piece)
    }

    /// Sends a piece to the right.
    pub fn send(&mut self, piece: Vec<u8>) -> Result<()> {
        self.sent
            .push_back(self.comm.isend(self.right, self.tag, piece)?);
        Ok(())
    }

    /// Gives a buffer back that is not sent on.
    pub fn release(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }

    /// Waits for the last sends.
    pub fn finish(self) -> Result<()> {
        self.sent
            .into_iter()
            .try_for_each(|send| send.wait().map(drop))
    }

    fn post(&mut self) -> Result<()> {
        if let Some(length) = self.lengths.next() {
            let buffer = self.buffer(length)?;
            self.posted
                .push_back(self.comm.irecv(self.left, self.tag, buffer)?);
        }
        Ok(())
    }
}
