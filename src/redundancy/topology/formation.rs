//! The message of the leader of a group to its ranks, and how the members of each set find each other.

use super::Sharing;
use super::grouping::Groups;
use super::numbers;
use crate::comm::{Communicator, RankList, collective};
use crate::redundancy::Set;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// The sets of one descriptor.
pub(super) struct Formation<'a> {
    /// The failure domains.
    pub domains: &'a Groups,
    /// Only on a leader of a domain: the number of ranks that stand before those of the domain.
    pub offset: usize,
    /// The number of sets; `None` if each rank is alone in one.
    pub sets: Option<usize>,
}

/// A message about a group: its division and its number.
const OF_GROUP: usize = 0;
/// A message to the rank that brings a set together: the descriptor and a member.
const OF_SET: usize = 1;

/// Finds the ranks that share a group with this rank in each division, and the set of this rank for each
/// descriptor. The ranks are dealt out to the sets in the order of `offset`. So ranks of one domain, which stand side
/// by side, come to different sets. Rank n brings together the members of set n. Collective; two exchanges.
pub(super) fn find(
    comm: &dyn Communicator,
    divisions: &[Groups],
    formations: &[Formation],
) -> Result<(Vec<Sharing>, Vec<Set>)> {
    let mut messages: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, groups) in divisions
        .iter()
        .enumerate()
        .filter(|(_, groups)| groups.count > 1)
    {
        let Some(led) = &groups.led else { continue };
        for rank in led.ranks.iter() {
            let message = [OF_GROUP, at, led.number];
            messages.entry(rank).or_default().extend(message);
        }
    }
    for (at, formation) in formations.iter().enumerate() {
        let Some((led, sets)) = formation.domains.led.as_ref().zip(formation.sets) else {
            continue;
        };
        for (rank, place) in led.ranks.iter().zip(formation.offset..) {
            let message = [OF_SET, at, rank];
            messages.entry(place % sets).or_default().extend(message);
        }
    }
    let messages = messages
        .into_iter()
        .map(|(to, message)| (to, numbers::pack(&message)));
    let mut shares: Vec<Sharing> = divisions.iter().map(share_of_all).collect();
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, [kind, at, number]) in numbers::exchange::<3>(comm, messages.collect())? {
        match (kind, shares.get_mut(at)) {
            (OF_SET, _) => members.entry(at).or_default().push(number),
            (OF_GROUP, Some(share)) => (share.leader, share.number) = (from, number),
            _ => return Err(unreadable()),
        }
    }
    for (share, groups) in shares
        .iter_mut()
        .zip(divisions)
        .filter(|(share, _)| !share.all)
    {
        let followers = groups.led.iter().flat_map(|led| led.ranks.iter().skip(1));
        share.followers = followers.collect();
    }
    Ok((shares, sets(comm, members, formations)?))
}

/// The ranks that share a group with this rank if all ranks are in one group.
fn share_of_all(groups: &Groups) -> Sharing {
    Sharing {
        all: groups.count == 1,
        groups: groups.count,
        ..Sharing::default()
    }
}

/// Tells each member of the sets that came together here who the others are. Collective; an exchange.
fn sets(
    comm: &dyn Communicator,
    members: BTreeMap<usize, Vec<usize>>,
    formations: &[Formation],
) -> Result<Vec<Set>> {
    let mut messages = Vec::new();
    for (at, mut members) in members {
        members.sort_unstable();
        let list = members.iter().copied().collect::<RankList>().pack();
        let message = |(index, member): (usize, &usize)| {
            (*member, [&numbers::pack(&[at, index])[..], &list].concat())
        };
        messages.extend(members.iter().enumerate().map(message));
    }
    let alone = || Set::new(0, vec![comm.rank()]);
    let mut sets: Vec<Option<Set>> = formations
        .iter()
        .map(|formation| formation.sets.is_none().then(alone).flatten())
        .collect();
    for (_, message) in collective::exchange(comm, messages)? {
        let (heads, list) = message.split_at_checked(8).ok_or_else(unreadable)?;
        let members: Vec<usize> = RankList::unpack(list, comm.size())?.iter().collect();
        for [at, index] in numbers::unpack::<2>(heads)? {
            if let Some(set) = sets.get_mut(at) {
                *set = Set::new(index, members.clone());
            }
        }
    }
    sets.into_iter()
        .map(|set| set.ok_or_else(unreadable))
        .collect()
}

fn unreadable() -> Error {
    Error::comm(
        "SCR_Init",
        "a message about groups and sets of ranks cannot be read",
    )
}
