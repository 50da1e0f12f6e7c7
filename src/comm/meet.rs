//! Ranks with equal keys find each other, though no rank knows the keys of all.

use super::collective::{MEET, fingerprint};
use super::packet::{Packet, pack, unpack};
use super::{Communicator, RankList};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// Brings together the ranks that have equal keys: each key is sent to one rank, which is found by its
/// fingerprint. Returns the keys that came to this rank, each with all ranks that have it, ascending. Keys
/// are compared as a whole, not by their fingerprint.
///
/// Collective; log2 P messages for each rank. On the way, as in [`exchange`](super::collective::exchange),
/// equal keys meet and travel on as one. So no rank gets a message for each rank that has the key.
pub fn meet(comm: &dyn Communicator, keys: Vec<Vec<u8>>) -> Result<Vec<(Vec<u8>, RankList)>> {
    comm.count_round("meeting");
    let (me, size) = (comm.rank(), comm.size());
    let place = |key: &[u8]| (fingerprint(key) % size as u64) as usize;
    let mut damage = None;
    let mut held: BTreeMap<Vec<u8>, RankList> = BTreeMap::new();
    for key in keys {
        held.insert(key, RankList::one(me));
    }
    let mut step = 1;
    while step < size {
        let goes_on = |key: &[u8]| ((place(key) + size - me) % size) & step != 0;
        let (leaving, staying): (BTreeMap<_, _>, _) =
            held.into_iter().partition(|(key, _)| goes_on(key));
        held = staying;
        let leaving = leaving
            .iter()
            .map(|(key, ranks)| packet(me, place(key), key, ranks));
        let leaving: Vec<Packet> = leaving.collect();
        let send = comm.isend((me + step) % size, MEET, pack(&leaving))?;
        let message = comm.recv((me + size - step) % size, MEET)?;
        match unpack(&message, size).and_then(|packets| read(&packets, size)) {
            Ok(arrived) => arrived.into_iter().for_each(|(key, mut ranks)| {
                // In each step a rank holds keys of the ranks up to itself, and the next ones that
                // arrive belong to lower ranks.
                let own = held.entry(key).or_default();
                ranks.append(own);
                *own = ranks;
            }),
            Err(error) => damage = damage.or(Some(error)),
        }
        send.wait()?;
        step *= 2;
    }
    if let Some(error) = damage {
        return Err(error);
    }
    if held.keys().any(|key| place(key) != me) {
        return Err(Error::comm("meeting", "a key came to the wrong rank"));
    }
    let in_order = |(key, ranks): (Vec<u8>, RankList)| (key, ranks.rotated());
    Ok(held.into_iter().map(in_order).collect())
}

fn packet(from: usize, to: usize, key: &[u8], ranks: &RankList) -> Packet {
    let body = ranks.pack_with(key);
    Packet { from, to, body }
}

fn read(packets: &[Packet], size: usize) -> Result<Vec<(Vec<u8>, RankList)>> {
    let read = |packet: &Packet| {
        let (ranks, key) = RankList::unpack_with(&packet.body, size)?;
        Ok((key, ranks))
    };
    packets.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::CountingComm;
    use crate::threads;
    use std::collections::BTreeSet;

    /// The results of all ranks if rank r has the keys `of(r)`.
    fn met(
        size: usize,
        of: impl Fn(usize) -> Vec<Vec<u8>> + Sync,
    ) -> BTreeMap<Vec<u8>, Vec<usize>> {
        let all = threads::run(size, |comm| meet(&*comm, of(comm.rank())).unwrap());
        let all: Vec<(Vec<u8>, RankList)> = all.into_iter().flatten().collect();
        let keys: BTreeSet<&Vec<u8>> = all.iter().map(|(key, _)| key).collect();
        assert_eq!(keys.len(), all.len(), "a key came to two ranks");
        let all = all.into_iter();
        all.map(|(key, ranks)| (key, ranks.iter().collect()))
            .collect()
    }

    #[test]
    fn each_key_comes_to_one_rank_with_all_that_have_it() {
        for size in [1, 2, 3, 5, 8, 13, 32] {
            for divisor in 1..=size {
                let of = |rank: usize| {
                    let texts = [
                        format!("n{}", rank / divisor),
                        format!("c{}", rank % divisor),
                    ];
                    texts.map(String::into_bytes).to_vec()
                };
                let mut expected: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
                for rank in 0..size {
                    let add = |key| expected.entry(key).or_default().push(rank);
                    of(rank).into_iter().for_each(add);
                }
                assert_eq!(met(size, of), expected, "{size} ranks, {divisor}");
            }
        }
        assert!(met(4, |_| Vec::new()).is_empty());
    }

    #[test]
    fn long_keys_that_differ_in_the_last_byte_stay_apart() {
        let key = |rank: usize| {
            let mut key = vec![b'n'; 255];
            key.push(b'0' + (rank % 3) as u8);
            key
        };
        let met = met(9, |rank| vec![key(rank)]);
        assert_eq!(met.len(), 3);
        assert_eq!(met[&key(1)], [1, 4, 7]);
    }

    /// The most bytes that one of `size` ranks sends.
    fn most_sent(size: usize, node: impl Fn(usize) -> usize + Sync) -> u64 {
        let sent = threads::run(size, |comm| {
            let key = format!("node{:08}", node(comm.rank())).into_bytes();
            let comm = CountingComm::new(comm);
            meet(&comm, vec![key]).unwrap();
            let counts = comm.tally().counts();
            assert_eq!(counts.messages, u64::from(size.ilog2()));
            counts.bytes
        });
        sent.into_iter().max().unwrap_or_default()
    }

    #[test]
    fn no_rank_gets_a_message_for_each_rank_of_a_large_node() {
        // A packet of one key has 16 bytes of addresses, 4 of the length, 12 of the key, 12 of a run.
        const ONE: u64 = 44;
        for size in [64_usize, 256] {
            let steps = u64::from(size.ilog2());
            assert!(most_sent(size, |_| 0) <= ONE * steps);
            assert!(most_sent(size, |rank| usize::from(rank == 7)) <= 3 * ONE * steps);
            assert!(most_sent(size, |rank| rank % 4) <= 4 * ONE * steps);
            // With one rank on each node there are as many keys as ranks, and each rank passes on
            // half of them.
            assert!(most_sent(size, |rank| rank) <= 4 * ONE * steps);
        }
    }
}
