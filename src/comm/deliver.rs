//! Messages that are too large to be passed on from rank to rank.

use super::{Communicator, FIRST_RESERVED_TAG, Tag, collective};
use crate::{Error, Result};
use std::collections::BTreeMap;

const DATA: Tag = FIRST_RESERVED_TAG + 6;

/// Exchanges messages of any size, each straight from its sender to its receiver, which gets them in the
/// order of the senders. Collective; one round for their numbers.
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
        for _ in 0..number(&count)? {
            received.push((from, comm.recv(from, DATA)?));
        }
    }
    for send in sends {
        send.wait()?;
    }
    received.sort_by_key(|(from, _)| *from);
    Ok(received)
}

/// Number of messages that a rank sends.
fn number(message: &[u8]) -> Result<u64> {
    let number = message.try_into().map(u64::from_le_bytes);
    number.map_err(|_| Error::comm("delivery", "a message ends too early"))
}

#[cfg(test)]
mod tests {
    use super::deliver;
    use crate::comm::Communicator;
    use crate::threads;

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
