//! Failure domains where neither each group lies in one instance of a store nor each instance in one group.

use super::grouping::{self, Groups};
use super::numbers;
use crate::comm::{Communicator, collective};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// A division by failure group and by instance of a store, of which the domains are wanted.
pub(super) struct Pairs<'a> {
    /// This rank's failure group.
    pub group: &'a [u8],
    /// The instance of the store that this rank uses.
    pub instance: &'a [u8],
    /// The ranks with both the same group and the same instance.
    pub both: &'a Groups,
}

/// For each of them the division into domains. Configurations of this kind are rare, so rank 0 gets one
/// message for each pair of a group and an instance that have ranks in common. Collective: three exchanges and
/// a [`grouping::find`].
pub(super) fn divide(comm: &dyn Communicator, pairs: &[Pairs]) -> Result<Vec<Groups>> {
    let led = pairs
        .iter()
        .enumerate()
        .filter(|(_, pair)| pair.both.led.is_some());
    let message = |(at, pair): (usize, &Pairs)| {
        let heads = numbers::pack(&[at, pair.group.len()]);
        (0, [&heads[..], pair.group, pair.instance].concat())
    };
    let told = collective::exchange(comm, led.map(message).collect())?;
    let domains = numbers::exchange::<2>(comm, join(&told)?)?;
    let mut to_members = Vec::new();
    for (_, [at, domain]) in domains {
        let led = pairs.get(at).and_then(|pair| pair.both.led.as_ref());
        let members = led.iter().flat_map(|led| led.ranks.iter());
        to_members.extend(members.map(|rank| (rank, numbers::pack(&[at, domain]))));
    }
    let mut keys = vec![Vec::new(); pairs.len()];
    for (_, [at, domain]) in numbers::exchange::<2>(comm, to_members)? {
        if let Some(key) = keys.get_mut(at) {
            *key = numbers::pack(&[domain]);
        }
    }
    grouping::find(comm, &keys)
}

/// Rank 0: the domain of each pair, by the leaders of the pairs.
fn join(told: &[(usize, Vec<u8>)]) -> Result<Vec<(usize, Vec<u8>)>> {
    let unreadable = || Error::comm("SCR_Init", "a message about failure domains cannot be read");
    // A group and an instance are nodes of a graph, a pair is an edge. A tree of each connected part leads to
    // its root.
    let mut numbers: BTreeMap<(usize, bool, &[u8]), usize> = BTreeMap::new();
    let mut above: Vec<usize> = Vec::new();
    let mut edges = Vec::with_capacity(told.len());
    for (leader, message) in told {
        let (heads, names) = message.split_at_checked(8).ok_or_else(unreadable)?;
        let heads = numbers::unpack::<2>(heads)?;
        let [at, length] = heads.first().copied().ok_or_else(unreadable)?;
        let (group, instance) = names.split_at_checked(length).ok_or_else(unreadable)?;
        let mut number = |key| {
            *numbers.entry(key).or_insert_with(|| {
                above.push(above.len());
                above.len() - 1
            })
        };
        let ends = (number((at, false, group)), number((at, true, instance)));
        join_trees(&mut above, ends.0, ends.1);
        edges.push((*leader, at, ends.0));
    }
    let answer = |(leader, at, end)| (leader, numbers::pack(&[at, root(&mut above, end)]));
    Ok(edges.into_iter().map(answer).collect())
}

/// Makes one tree of those of two nodes. The root of a tree is its lowest node.
pub(super) fn join_trees(above: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(above, a), root(above, b));
    if let Some(entry) = above.get_mut(a.max(b)) {
        *entry = a.min(b);
    }
}

/// The root of the tree of a node. The way to it is halved for the next time.
pub(super) fn root(above: &mut [usize], mut at: usize) -> usize {
    while let Some(next) = above.get(at).copied().filter(|next| *next != at) {
        let further = above.get(next).copied().unwrap_or(next);
        if let Some(entry) = above.get_mut(at) {
            *entry = further;
        }
        at = further;
    }
    at
}
