//! The topology of a run that one process describes as a whole, before it is started.

use super::grouping::Groups;
use super::protection::Protection;
use super::{Divisions, Domain, Note, SetPlan, Sharing, Topology};
use crate::redundancy::sets::{Set, deal_out};
use std::collections::BTreeMap;

/// The topology that [`Topology::find`] would give each rank, without the followers. Each entry of `runs` describes
/// consecutive ranks with the same divisions, and their number. Local.
pub fn forecast(runs: &[(Divisions, usize)], plans: &[SetPlan]) -> Vec<Topology> {
    let ranks: Vec<&Divisions> = runs
        .iter()
        .flat_map(|(divisions, count)| std::iter::repeat_n(divisions, *count))
        .collect();
    let Some(first) = ranks.first() else {
        return Vec::new();
    };
    let groups = |division: usize| numbered(ranks.iter().map(|rank| rank.keys.get(division)));
    let mut all: Vec<Topology> = shares(&groups(first.node))
        .into_iter()
        .map(|of_node| Topology {
            of_node,
            ..Topology::default()
        })
        .collect();
    for store in &first.stores {
        let shares = shares(&groups(*store));
        all.iter_mut()
            .zip(shares)
            .for_each(|(one, share)| one.stores.push(share));
    }
    let domains = |domain: &Domain| match domain {
        Domain::Is(division) => groups(*division),
        Domain::Joins {
            group, instance, ..
        } => number_domains(&groups(*group), &groups(*instance)),
    };
    for domain in &first.lost_with {
        let shares = shares(&domains(domain));
        all.iter_mut()
            .zip(shares)
            .for_each(|(one, share)| one.lost_with.push(share.leader));
    }
    for (at, (plan, domain)) in plans.iter().zip(&first.schemes).enumerate() {
        let domains = domains(domain);
        let protection = Protection::of(plan, ranks.len(), &sizes(&domains));
        let sets = match protection.sets {
            Some(sets) => deal_out(&domains, sets),
            None => (0..ranks.len())
                .filter_map(|rank| Set::new(0, vec![rank]))
                .collect(),
        };
        for (one, set) in all.iter_mut().zip(sets) {
            one.sets.push(set);
            one.tolerates.push(protection.tolerates);
            let note = protection.note.clone();
            one.notes.extend(note.map(|text| Note { plan: at, text }));
        }
    }
    all
}

/// Numbers for names, in order of first appearance.
fn numbered<T: Ord>(names: impl Iterator<Item = T>) -> Vec<usize> {
    let mut known: BTreeMap<T, usize> = BTreeMap::new();
    let number = |name| {
        let next = known.len();
        *known.entry(name).or_insert(next)
    };
    names.map(number).collect()
}

/// The number of groups, and their sizes.
fn sizes(groups: &[usize]) -> Groups {
    let mut ranks: BTreeMap<usize, usize> = BTreeMap::new();
    groups
        .iter()
        .for_each(|group| *ranks.entry(*group).or_default() += 1);
    Groups {
        count: ranks.len(),
        largest: ranks.values().max().copied().unwrap_or(0),
        smallest: ranks.values().min().copied().unwrap_or(0),
        led: None,
    }
}

/// The groups, for each rank; they are numbered in order of first appearance.
fn shares(groups: &[usize]) -> Vec<Sharing> {
    let mut leaders: BTreeMap<usize, usize> = BTreeMap::new();
    for (rank, group) in groups.iter().enumerate() {
        leaders.entry(*group).or_insert(rank);
    }
    let share = |group: &usize| Sharing {
        leader: leaders.get(group).copied().unwrap_or(0),
        all: leaders.len() == 1,
        number: *group,
        groups: leaders.len(),
        followers: Vec::new(),
    };
    groups.iter().map(share).collect()
}

/// Numbers the domains of ranks that share a group or an instance, directly or through other ranks.
fn number_domains(groups: &[usize], instances: &[usize]) -> Vec<usize> {
    let count = groups.iter().max().map_or(0, |highest| highest + 1);
    let mut above: Vec<usize> = (0..count).collect();
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    for (group, instance) in groups.iter().zip(instances) {
        let first = *seen.entry(*instance).or_insert(*group);
        super::joined::join_trees(&mut above, *group, first);
    }
    let roots = groups
        .iter()
        .map(|group| super::joined::root(&mut above, *group));
    numbered(roots)
}
