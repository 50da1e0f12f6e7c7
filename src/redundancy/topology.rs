//! The nodes, stores and redundancy sets of a run. No rank knows those of all: the ranks of a group find
//! each other, the lowest of them leads it, and the leaders count the groups.

mod divisions;
mod forecast;
mod formation;
mod grouping;
mod joined;
mod numbers;
mod offsets;
mod protection;
#[cfg(test)]
mod tests;

pub use divisions::{Divisions, Domain};
pub use forecast::forecast;

use self::formation::Formation;
use self::grouping::Groups;
use self::joined::Pairs;
use self::protection::Protection;
use crate::Result;
use crate::comm::{Communicator, RankList};
use crate::config::descriptors::{Descriptors, SchemeDescriptor};
use crate::format::Scheme;
use crate::redundancy::Set;

/// A redundancy descriptor, as far as the sets depend on it.
#[derive(Debug, Clone)]
pub struct SetPlan {
    scheme: Scheme,
    set_size: usize,
    set_failures: usize,
    /// True if the store is not in the nodes, so that it survives their loss.
    outlives: bool,
    /// The word for a failure group in messages.
    group: String,
}

/// The place of a rank among the others.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The ranks of this rank's node.
    pub of_node: Sharing,
    /// For each store, the ranks that share it.
    pub stores: Vec<Sharing>,
    /// For each store, the lowest rank of those whose datasets in it are lost together with this rank's.
    pub lost_with: Vec<usize>,
    /// For each redundancy descriptor, this rank's set.
    pub sets: Vec<Set>,
    /// For each redundancy descriptor, the number of failure groups that may be lost, whichever
    /// they are. [`EVERYTHING`](super::EVERYTHING) for a store that is not in the nodes. The same on all ranks.
    pub tolerates: Vec<usize>,
    /// Descriptors that cannot protect as configured. The same on all ranks.
    pub notes: Vec<Note>,
}

/// The ranks that use one instance of a store, or run on one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sharing {
    /// The rank that acts for all ranks of the group.
    pub leader: usize,
    /// Only on the leader: the other ranks of the group. Empty if the group is all ranks of the run.
    pub followers: Vec<usize>,
    /// True if the group is all ranks of the run.
    pub all: bool,
    /// Number of this group of ranks, from 0.
    pub number: usize,
    /// Number of groups.
    pub groups: usize,
}

impl Sharing {
    /// All ranks of the group, with the leader, in a run of `size` ranks. Ascending. Call this only on the leader.
    pub fn ranks(&self, size: usize) -> Vec<usize> {
        if self.all {
            (0..size).collect()
        } else {
            std::iter::once(self.leader)
                .chain(self.followers.iter().copied())
                .collect()
        }
    }

    /// The ranks of [`Sharing::ranks`] as a short list. Call this only on the leader.
    pub fn list(&self, size: usize) -> RankList {
        if self.all {
            return RankList::all(size);
        }
        self.ranks(size).into_iter().collect()
    }
}

/// A message to the user about a redundancy descriptor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Note {
    /// Index of the descriptor.
    pub plan: usize,
    /// The message.
    pub text: String,
}

impl SetPlan {
    /// The plans of all redundancy descriptors.
    pub fn all(descriptors: &Descriptors) -> Vec<SetPlan> {
        let Descriptors {
            schemes, stores, ..
        } = descriptors;
        let plan = |s: &SchemeDescriptor| SetPlan {
            scheme: s.scheme,
            set_size: s.set_size as usize,
            set_failures: s.set_failures as usize,
            outlives: stores.get(s.store).is_some_and(|s| s.outlives_nodes()),
            group: match s.group.as_str() {
                "NODE" => "node".to_string(),
                other => format!("group of {other}"),
            },
        };
        schemes.iter().map(plan).collect()
    }
}

impl Topology {
    /// Finds it. All ranks have the same divisions, and plans for as many descriptors. Collective: a meeting, an
    /// exchange, a scan, an allreduce and two exchanges; more where failure domains are of several sizes
    /// (`offsets`), or where groups and instances of a store overlap (`joined`).
    pub fn find(comm: &dyn Communicator, own: &Divisions, plans: &[SetPlan]) -> Result<Topology> {
        let mut groups = grouping::find(comm, &own.keys)?;
        let wanted = [&own.schemes[..], &own.lost_with].concat();
        let domains = divisions_of(comm, own, &wanted, &mut groups)?;
        let (of_schemes, lost_with) = domains.split_at(own.schemes.len());
        let of_schemes: Vec<&Groups> = of_schemes.iter().filter_map(|at| groups.get(*at)).collect();
        let offsets = offsets::find(comm, &of_schemes)?;
        let mut found = Topology::default();
        let mut formations = Vec::with_capacity(plans.len());
        for (plan, (domains, offset)) in plans.iter().zip(of_schemes.into_iter().zip(offsets)) {
            let protection = Protection::of(plan, comm.size(), domains);
            let note = protection.note.map(|text| Note {
                plan: formations.len(),
                text,
            });
            found.notes.extend(note);
            found.tolerates.push(protection.tolerates);
            let sets = protection.sets;
            formations.push(Formation {
                domains,
                offset,
                sets,
            });
        }
        let (shares, sets) = formation::find(comm, &groups, &formations)?;
        let share = |at: &usize| shares.get(*at).cloned().unwrap_or_default();
        found.of_node = share(&own.node);
        found.stores = own.stores.iter().map(share).collect();
        found.lost_with = lost_with.iter().map(|at| share(at).leader).collect();
        found.sets = sets;
        Ok(found)
    }
}

/// The divisions into these domains. Those that are not among the `groups` are added. Collective, without a round
/// if none is.
fn divisions_of(
    comm: &dyn Communicator,
    own: &Divisions,
    domains: &[Domain],
    groups: &mut Vec<Groups>,
) -> Result<Vec<usize>> {
    let mut joined: Vec<Domain> = Vec::new();
    let mut found = Vec::with_capacity(domains.len());
    for domain in domains {
        let known = match domain {
            Domain::Is(division) => Some(*division),
            Domain::Joins {
                group,
                instance,
                both,
            } => {
                let count = |division: &usize| groups.get(*division).map_or(0, |g| g.count);
                // Each group is in one instance, or each instance in one group.
                let within = |division: &usize| count(division) == count(both);
                let wider = within(group).then_some(*instance);
                wider.or_else(|| within(instance).then_some(*group))
            }
        };
        found.push(known.unwrap_or_else(|| {
            let at = joined.iter().position(|one| one == domain);
            groups.len()
                + at.unwrap_or_else(|| {
                    joined.push(*domain);
                    joined.len() - 1
                })
        }));
    }
    if joined.is_empty() {
        return Ok(found);
    }
    let key = |at: usize| own.keys.get(at).map_or(&[][..], Vec::as_slice);
    let pairs = joined.iter().filter_map(|domain| match domain {
        Domain::Is(_) => None,
        Domain::Joins {
            group,
            instance,
            both,
        } => Some(Pairs {
            group: key(*group),
            instance: key(*instance),
            both: groups.get(*both)?,
        }),
    });
    let pairs: Vec<Pairs> = pairs.collect();
    let more = joined::divide(comm, &pairs)?;
    groups.extend(more);
    Ok(found)
}
