//! Flips bits of messages that are received into a given buffer, as the blocks of redundancy are.

use crate::Result;
use crate::comm::{Communicator, Pending, Tag, Term};
use crate::system::sync::Mutex;
use std::sync::{Arc, PoisonError};

/// The messages of all ranks whose bits are flipped. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Flips(Arc<Mutex<FlipState>>);

#[derive(Debug, Default)]
struct FlipState {
    received: u64,
    before: u64,
    times: u64,
    flipped: u64,
}

impl Flips {
    /// Flips a bit of each of `times` messages, the first after `before` others from now on.
    pub fn set(&self, before: u64, times: u64) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = FlipState {
            before,
            times,
            ..FlipState::default()
        };
    }

    /// Number of messages since [`Flips::set`].
    pub fn received(&self) -> u64 {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.received
    }

    /// Number of those with a flipped bit.
    pub fn flipped(&self) -> u64 {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.flipped
    }

    fn pass(&self, message: &mut [u8]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = state.received;
        state.received += 1;
        let middle = message.len() / 2;
        if let Some(byte) = message.get_mut(middle)
            && now >= state.before
            && state.flipped < state.times
        {
            *byte ^= 0x10;
            state.flipped += 1;
        }
    }
}

struct Received {
    inner: Box<dyn Pending>,
    flips: Flips,
}

impl Pending for Received {
    fn wait(self: Box<Self>) -> Result<Vec<u8>> {
        let mut message = self.inner.wait()?;
        self.flips.pass(&mut message);
        Ok(message)
    }
}

/// A communicator whose messages change on the way.
pub struct FlippingComm<C> {
    inner: C,
    flips: Flips,
}

impl<C: Communicator> FlippingComm<C> {
    /// Uses `inner`, and changes what [`Flips`] say.
    pub fn new(inner: C, flips: &Flips) -> Self {
        FlippingComm {
            inner,
            flips: flips.clone(),
        }
    }
}

impl<C: Communicator> Communicator for FlippingComm<C> {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.inner.isend(to, tag, data)
    }

    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        let inner = self.inner.irecv(from, tag, buffer)?;
        let flips = self.flips.clone();
        Ok(Box::new(Received { inner, flips }))
    }

    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.inner.recv(from, tag)
    }

    fn recv_any(&self, tag: Tag) -> Result<(usize, Vec<u8>)> {
        self.inner.recv_any(tag)
    }

    fn barrier(&self) -> Result<()> {
        self.inner.barrier()
    }

    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        self.inner.allreduce(terms)
    }

    fn count_round(&self, operation: &'static str) {
        self.inner.count_round(operation);
    }

    fn revoke(&self) {
        self.inner.revoke();
    }

    fn alone_in(&self) -> Option<String> {
        self.inner.alone_in()
    }

    fn abort(&self, code: i32) -> ! {
        self.inner.abort(code)
    }
}
