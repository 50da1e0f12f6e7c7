//! Messages of numbers, and messages that are too large to be passed on from rank to rank.

use super::region::Region;
use crate::comm::{Communicator, Tag, collective};
use crate::{Error, Result};
use std::collections::BTreeMap;

const DATA: Tag = 0x50;

/// A message of numbers.
#[derive(Default)]
pub struct Words(pub Vec<u8>);

impl Words {
    /// Adds a number.
    pub fn put(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    /// Adds a box: its dimensions, and its numbers.
    pub fn put_region(&mut self, region: &Region) {
        self.put(region.at.len() as u64);
        region
            .at
            .iter()
            .chain(&region.extents)
            .for_each(|n| self.put(*n));
    }
}

/// Takes numbers from a message.
pub struct Taker<'a>(pub &'a [u8]);

impl<'a> Taker<'a> {
    /// The next number.
    ///
    /// # Errors
    /// The message ends.
    pub fn take(&mut self) -> Result<u64> {
        let ended = || Error::comm("fields", "a message ends too early");
        let (number, rest) = self.0.split_first_chunk().ok_or_else(ended)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*number))
    }

    /// The next box.
    ///
    /// # Errors
    /// The message ends.
    pub fn region(&mut self) -> Result<Region> {
        let dims = self.take()?;
        let mut numbers = || (0..dims).map(|_| self.take()).collect::<Result<Vec<u64>>>();
        Ok(Region {
            at: numbers()?,
            extents: numbers()?,
        })
    }

    /// What is left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// The messages of a rank, by their receivers.
pub type Messages = BTreeMap<usize, Words>;

/// Exchanges small messages. Collective; one round.
pub fn exchange(comm: &dyn Communicator, messages: Messages) -> Result<Vec<(usize, Vec<u8>)>> {
    let messages = messages.into_iter().map(|(to, words)| (to, words.0));
    collective::exchange(comm, messages.collect())
}

/// Exchanges messages of any size, each straight from its sender to its receiver, who gets them in the order
/// of the senders. Collective; one round for their numbers.
pub fn deliver(
    comm: &dyn Communicator,
    messages: Vec<(usize, Vec<u8>)>,
) -> Result<Vec<(usize, Vec<u8>)>> {
    let me = comm.rank();
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for (to, _) in messages.iter().filter(|(to, _)| *to != me) {
        *counts.entry(*to).or_default() += 1;
    }
    let counts = counts
        .into_iter()
        .map(|(to, count)| (to, count.to_le_bytes().to_vec()));
    let expected = collective::exchange(comm, counts.collect())?;
    let mut received = Vec::new();
    let mut sends = Vec::new();
    for (to, message) in messages {
        if to == me {
            received.push((me, message))
        } else {
            sends.push(comm.isend(to, DATA, message)?)
        }
    }
    for (from, count) in expected {
        for _ in 0..Taker(&count).take()? {
            received.push((from, comm.recv(from, DATA)?));
        }
    }
    for send in sends {
        send.wait()?;
    }
    received.sort_by_key(|(from, _)| *from);
    Ok(received)
}

#[cfg(test)]
mod tests {
    use super::deliver;
    use crate::comm::threads;

    #[test]
    fn large_messages_reach_their_ranks_in_order() {
        for size in [1, 2, 5] {
            threads::run(size, |comm| {
                let me = comm.rank();
                let body = |from: usize, number: usize| vec![from as u8; 1 + number * 40_000];
                let mut messages = Vec::new();
                for to in (0..size).filter(|to| (to + me) % 2 == 0) {
                    messages.extend((0..3).map(|number| (to, body(me, number))));
                }
                let received = deliver(&*comm, messages).unwrap();
                let senders = (0..size).filter(|from| (from + me) % 2 == 0);
                let expected: Vec<_> = senders
                    .flat_map(|from| (0..3).map(move |number| (from, body(from, number))))
                    .collect();
                assert!(received == expected);
            });
        }
    }
}
