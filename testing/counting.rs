//! Counts rounds, messages and bytes: costs that do not depend on the machine.

use crate::Result;
use crate::comm::{Communicator, Pending, Tag, Term};
use crate::system::sync::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

/// The communication of one rank so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Synchronising rounds: barriers, allreduces and the operations of
    /// [`collective`](crate::comm::collective).
    pub rounds: u64,
    /// Rounds by name: "barrier", "allreduce", "bcast", ...
    pub by_operation: BTreeMap<&'static str, u64>,
    /// Messages sent, also by collective operations.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// The longest of them, bytes.
    pub largest: u64,
    /// Messages received, also by collective operations.
    pub received: u64,
    /// Bytes in the received messages.
    pub bytes_received: u64,
}

/// The counts of a [`CountingComm`]. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct CommTally(Arc<Mutex<Counts>>);

impl CommTally {
    /// The counts now.
    pub fn counts(&self) -> Counts {
        self.lock().clone()
    }

    /// Returns the counts and resets them.
    pub fn take(&self) -> Counts {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn round(&self, operation: &'static str) {
        let mut counts = self.lock();
        counts.rounds += 1;
        *counts.by_operation.entry(operation).or_default() += 1;
    }

    fn sent(&self, length: usize) {
        let mut counts = self.lock();
        counts.messages += 1;
        counts.bytes += length as u64;
        counts.largest = counts.largest.max(length as u64);
    }

    fn received(&self, message: &[u8]) {
        let mut counts = self.lock();
        counts.received += 1;
        counts.bytes_received += message.len() as u64;
    }
}

/// A receive that is counted when it is complete.
struct Received {
    inner: Box<dyn Pending>,
    tally: CommTally,
}

impl Pending for Received {
    fn wait(self: Box<Self>) -> Result<Vec<u8>> {
        let message = self.inner.wait()?;
        self.tally.received(&message);
        Ok(message)
    }
}

/// A communicator that counts what goes through it.
pub struct CountingComm<C> {
    inner: C,
    tally: CommTally,
}

impl<C: Communicator> CountingComm<C> {
    /// Counts the use of `inner`, from zero.
    pub fn new(inner: C) -> Self {
        CountingComm {
            inner,
            tally: CommTally::default(),
        }
    }

    /// The counts, which can be read while and after this communicator is in use.
    pub fn tally(&self) -> CommTally {
        self.tally.clone()
    }
}

impl<C: Communicator> Communicator for CountingComm<C> {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn isend(&self, to: usize, tag: Tag, data: Vec<u8>) -> Result<Box<dyn Pending>> {
        self.tally.sent(data.len());
        self.inner.isend(to, tag, data)
    }

    fn irecv(&self, from: usize, tag: Tag, buffer: Vec<u8>) -> Result<Box<dyn Pending>> {
        let inner = self.inner.irecv(from, tag, buffer)?;
        let tally = self.tally();
        Ok(Box::new(Received { inner, tally }))
    }

    fn recv(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        let message = self.inner.recv(from, tag)?;
        self.tally.received(&message);
        Ok(message)
    }

    fn recv_any(&self, tag: Tag) -> Result<(usize, Vec<u8>)> {
        let (from, message) = self.inner.recv_any(tag)?;
        self.tally.received(&message);
        Ok((from, message))
    }

    fn barrier(&self) -> Result<()> {
        self.tally.round("barrier");
        self.inner.barrier()
    }

    fn allreduce(&self, terms: &mut [Term]) -> Result<()> {
        self.tally.round("allreduce");
        self.inner.allreduce(terms)
    }

    fn count_round(&self, operation: &'static str) {
        self.tally.round(operation);
        self.inner.count_round(operation);
    }

    fn abort(&self, code: i32) -> ! {
        self.inner.abort(code)
    }
}
