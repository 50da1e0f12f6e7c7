//! Brings the data of all ranks to rank 0; equal data of many ranks travel once.
//!
//! ```text
//! for each data, in order: bytes that it shares with the one before u32, length of the rest u64 (little
//! endian), the ranks and the other bytes, as of RankList::pack_with
//! ```

use super::collective::{BinomialTree, GATHER};
use super::{Communicator, RankList};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// The most bytes that data can share with the data before. This limits the content of a message by its
/// length.
const MOST_SHARED: usize = 4096;

/// Data, and the ranks that have them.
pub type Alike = (Vec<u8>, RankList);

/// Sends the data of all ranks to rank 0, which gets each once, in rising order, with the ranks that have it. The
/// others get `None`.
///
/// Collective; binomial tree. On the way, as in [`meet`](super::meet()), equal data meet and travel on as one. So
/// the data that a rank gets grow with the differences.
pub fn gather_alike(comm: &dyn Communicator, data: Vec<Vec<u8>>) -> Result<Option<Vec<Alike>>> {
    comm.count_round("gather");
    let tree = BinomialTree::new(comm, 0)?;
    let own = data.into_iter();
    let own = own.map(|data| (data, RankList::one(comm.rank())));
    let mut held: BTreeMap<Vec<u8>, RankList> = own.collect();
    let mut damage = None;
    // The nearest child is the first, so that ranks are added in rising order.
    let children: Vec<usize> = tree.children().map(|(child, _)| child).collect();
    for child in children.into_iter().rev() {
        match unpack(&comm.recv(child, GATHER)?, comm.size()) {
            Ok(more) => {
                for (data, ranks) in more {
                    held.entry(data).or_default().append(&ranks);
                }
            }
            Err(error) => damage = damage.or(Some(error)),
        }
    }
    if let Some(parent) = tree.parent() {
        comm.isend(parent, GATHER, pack(&held))?.wait()?;
    }
    match damage {
        Some(error) => Err(error),
        None => Ok((tree.parent().is_none()).then(|| held.into_iter().collect())),
    }
}

fn pack(held: &BTreeMap<Vec<u8>, RankList>) -> Vec<u8> {
    let mut message = Vec::new();
    let mut last: &[u8] = &[];
    for (data, ranks) in held {
        let pairs = data.iter().zip(last).take(MOST_SHARED);
        let shared = pairs.take_while(|(one, other)| one == other).count();
        let rest = ranks.pack_with(data.get(shared..).unwrap_or_default());
        message.extend_from_slice(&(shared as u32).to_le_bytes());
        message.extend_from_slice(&(rest.len() as u64).to_le_bytes());
        message.extend_from_slice(&rest);
        last = data;
    }
    message
}

fn unpack(message: &[u8], size: usize) -> Result<Vec<Alike>> {
    let mut all: Vec<Alike> = Vec::new();
    let mut rest = message;
    while !rest.is_empty() {
        let offset = (message.len() - rest.len()) as u64;
        let wrong = || Error::format(offset, "no data of this group of ranks");
        let (shared, packed, after) = split(rest).ok_or_else(wrong)?;
        let (ranks, own) = RankList::unpack_with(packed, size)?;
        let last = all.last().map_or(&[][..], |(last, _)| last);
        let shared = last.get(..shared).ok_or_else(wrong)?;
        all.push(([shared, &own].concat(), ranks));
        rest = after;
    }
    Ok(all)
}

/// Splits a message: the length of the common beginning, the rest of the first data, and the bytes
/// after them.
fn split(message: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let (shared, rest) = message.split_first_chunk::<4>()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let shared = usize::try_from(u32::from_le_bytes(*shared)).ok()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (packed, rest) = rest.split_at_checked(length)?;
    (shared <= MOST_SHARED).then_some((shared, packed, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::CountingComm;
    use crate::threads;

    /// The result of rank 0 of `size` ranks if rank r has the data `of(r)`; and the number of bytes that rank 0
    /// receives.
    fn gathered(
        size: usize,
        of: impl Fn(usize) -> Vec<String> + Sync,
    ) -> (Vec<(String, Vec<usize>)>, u64) {
        let all = threads::run(size, |comm| {
            let comm = CountingComm::new(comm);
            let data = of(comm.rank()).into_iter().map(String::into_bytes);
            let found = gather_alike(&comm, data.collect()).unwrap();
            assert_eq!(found.is_some(), comm.rank() == 0);
            (found, comm.tally().counts().bytes_received)
        });
        let (found, bytes) = all.into_iter().next().unwrap();
        let text = |(data, ranks): (Vec<u8>, RankList)| {
            (String::from_utf8(data).unwrap(), ranks.iter().collect())
        };
        (found.unwrap().into_iter().map(text).collect(), bytes)
    }

    #[test]
    fn each_data_comes_once_with_its_ranks() {
        for size in [1, 2, 3, 5, 8, 13, 32] {
            for divisor in 1..=size {
                let of = |rank: usize| match rank {
                    2 => Vec::new(),
                    _ => vec![
                        format!("n{}", rank / divisor),
                        format!("c{}", rank % divisor),
                    ],
                };
                let mut expected: BTreeMap<String, Vec<usize>> = BTreeMap::new();
                for rank in 0..size {
                    let add = |data| expected.entry(data).or_default().push(rank);
                    of(rank).into_iter().for_each(add);
                }
                let expected: Vec<_> = expected.into_iter().collect();
                assert_eq!(gathered(size, of).0, expected, "{size} ranks, {divisor}");
            }
        }
        assert!(gathered(4, |_| Vec::new()).0.is_empty());
    }

    #[test]
    fn rank_0_gets_what_differs_and_not_a_message_of_each_rank() {
        // Each data: 12 bytes before it, 4 of the number of runs, 12 of a run; and its own bytes.
        const ONE: u64 = 28;
        let text = "d".repeat(500);
        for size in [64_usize, 512] {
            let steps = u64::from(size.ilog2());
            let (_, alike) = gathered(size, |_| vec![text.clone()]);
            assert_eq!(alike, (ONE + 500) * steps);
            // One rank has other data, which add one entry to one message. The rank is the last of that message,
            // so the other ranks stay one run.
            let (_, one_differs) = gathered(size, |rank| match rank {
                7 => vec![format!("{text}7")],
                _ => vec![text.clone()],
            });
            assert_eq!(one_differs, alike + ONE + 1);
            let (_, eight) = gathered(size, |rank| vec![format!("{text}{}", rank % 8)]);
            assert!(eight <= (500 + 8 * (ONE + 1)) * steps, "{eight}");
        }
    }

    fn some() -> BTreeMap<Vec<u8>, RankList> {
        let long = vec![b'x'; 2 * MOST_SHARED];
        let data = [&b"ab"[..], b"abc", b"b", &long, &[&long[..], b"y"].concat()];
        let ranks = |n: usize| [n, n + 2, n + 4].into_iter().collect();
        let each = data.iter().enumerate();
        each.map(|(n, data)| (data.to_vec(), ranks(n))).collect()
    }

    #[test]
    fn what_is_packed_comes_out() {
        let expected: Vec<_> = some().into_iter().collect();
        assert_eq!(unpack(&pack(&some()), 9).unwrap(), expected);
        assert_eq!(unpack(&[], 9).unwrap(), []);
    }

    #[test]
    fn a_damaged_message_is_refused() {
        let message = pack(&some());
        for length in 0..message.len() {
            if let Ok(found) = unpack(&message[..length], 9) {
                assert!(found.len() < some().len());
            }
        }
        assert!(unpack(&message, 8).is_err(), "a rank is not in the group");
        let shared = |n: u32| [&n.to_le_bytes()[..], &message[4..]].concat();
        assert!(unpack(&shared(1), 9).is_err(), "nothing is before it");
        let after = |n: u32| {
            let large = BTreeMap::from([(vec![b'x'; 2 * MOST_SHARED], RankList::one(0))]);
            [pack(&large), shared(n)].concat()
        };
        assert!(unpack(&after(MOST_SHARED as u32), 9).is_ok());
        assert!(unpack(&after(MOST_SHARED as u32 + 1), 9).is_err());
    }
}
