//! Who has what of the cached datasets, and what each rank must do to get its own back.
//!
//! Rank 0 gathers one [`Inventory`] per node and decides; every other rank receives its
//! [`Order`]. All of it is pure, and rank 0 is the one place that holds a few dozen bytes
//! for every rank of the job.

use crate::format::dataset::HIGHEST;
use crate::format::{Dataset, Name, Reddesc};
use crate::redundancy;
use crate::text::ranks_in_words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One rank's completion record, as found on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Held {
    /// Index of the store that holds it.
    pub store: usize,
    /// The level of nodes below which it lies; see [`Layout::at`](super::layout::Layout::at).
    pub level: Option<usize>,
    /// The rank that wrote it.
    pub rank: usize,
    /// Number of ranks of the run that wrote it.
    pub ranks: usize,
    /// The dataset.
    pub dataset: Dataset,
    /// How it was protected.
    pub reddesc: Reddesc,
    /// The prefix directory that it was written for, if that is not the one of this run.
    pub other: Option<Name>,
}

/// A dataset directory by store and id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Slot {
    /// Index of the store.
    pub store: usize,
    /// Dataset id.
    pub id: u64,
}

/// All that one node's leader found in its stores.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Inventory {
    /// Completion records that can be read.
    pub held: Vec<Held>,
    /// Datasets set aside by an earlier run.
    pub quarantined: Vec<Slot>,
    /// Directories of datasets, with or without records.
    pub present: Vec<Slot>,
    /// Those of them with records that could not be read for now.
    pub unread: Vec<Slot>,
    /// What was found damaged, in words.
    pub notes: Vec<Name>,
}

/// A cached dataset that may be used for a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The dataset, from any of its records.
    pub dataset: Dataset,
    /// Its store.
    pub store: usize,
    /// Number of ranks that wrote it.
    pub ranks: usize,
    /// Per rank, the leaders of the nodes that hold its record, and at which level.
    holders: BTreeMap<usize, Vec<(usize, Option<usize>)>>,
    /// Per rank, how it was protected; known for a lost rank from its set.
    sets: BTreeMap<usize, Reddesc>,
    /// Ranks whose only records contradict those of the others; they count as lost.
    pub disputed: Vec<usize>,
    /// The prefix directory of the run that wrote it, if all records say that it is another
    /// than that of this run.
    pub other: Option<Name>,
}

/// What one rank does for one dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Order {
    /// Index of the store.
    pub store: usize,
    /// The dataset.
    pub dataset: Dataset,
    /// This rank's own place in its redundancy set.
    pub reddesc: Reddesc,
    /// Who has its files: this rank itself if they are on its node already, another rank
    /// that sends them, nobody if they must be rebuilt.
    pub source: Option<usize>,
    /// The level at which its files lie, if anybody has them; they keep it when they are sent.
    pub level: Option<usize>,
    /// The round in which they are sent.
    pub round: usize,
    /// What this rank sends, one a round.
    pub sends: Vec<Sent>,
    /// Rounds until all have theirs.
    pub rounds: usize,
    /// For each member of its set, who has its files, if they come home within the set while
    /// what is lost is rebuilt; then none of them is sent in rounds. Empty if not.
    pub holders: Vec<usize>,
    /// The part that this rank sends within its set.
    pub holds: Option<Sent>,
}

impl Order {
    /// True if the files of this rank come home within its set.
    pub fn comes_home(&self, rank: usize) -> bool {
        !self.holders.is_empty() && self.source.is_some_and(|from| from != rank)
    }
}

/// A rank's part of a dataset that another rank has and sends to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Sent {
    /// The rank whose part it is.
    pub rank: usize,
    /// The level at which it lies.
    pub level: Option<usize>,
}

/// True if the record's description of its set can be trusted to index with, and its numbers to
/// count on from.
pub fn sound(held: &Held) -> bool {
    let members = &held.reddesc.members;
    held.dataset.id <= HIGHEST
        && held.dataset.ckpt.is_none_or(|ckpt| ckpt <= HIGHEST)
        && held.rank < held.ranks
        && members.get(held.reddesc.set_rank) == Some(&held.rank)
        && members.iter().all(|&member| member < held.ranks)
        && members
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len()
            == members.len()
}

/// All cached datasets, newest first. `inventories` are those of the leaders, with their world
/// ranks. Records of one id that stem from different times (a node that was away comes back
/// with an old one) make different candidates; so it is not the id that tells which is newer.
pub fn candidates(inventories: &[(usize, Inventory)]) -> Vec<Candidate> {
    type Records<'a> = Vec<(usize, &'a Held)>;
    let mut found: BTreeMap<(u64, u64, usize, usize), Records> = BTreeMap::new();
    for (leader, inventory) in inventories {
        for held in inventory.held.iter().filter(|held| sound(held)) {
            let dataset = &held.dataset;
            let key = (dataset.created, dataset.id, held.ranks, held.store);
            found.entry(key).or_default().push((*leader, held));
        }
    }
    let candidates = found.into_values().rev();
    candidates
        .filter_map(|records| candidate(&records))
        .collect()
}

/// One dataset from all its records. Where they contradict each other (a forged record, or
/// one of an earlier fetch of the same dataset), those count that most others support, so
/// that the sets in use never overlap: ranks that disagree about their set would wait for
/// each other for ever.
fn candidate(records: &[(usize, &Held)]) -> Option<Candidate> {
    let mut datasets: Vec<(&Dataset, usize)> = Vec::new();
    for (_, held) in records {
        match datasets
            .iter_mut()
            .find(|(known, _)| **known == held.dataset)
        {
            Some((_, supporters)) => *supporters += 1,
            None => datasets.push((&held.dataset, 1)),
        }
    }
    let most = datasets
        .iter()
        .rev()
        .max_by_key(|(_, supporters)| *supporters);
    let dataset = most.map(|(dataset, _)| *dataset)?;
    let first = records.first()?.1;

    let mut claims: BTreeMap<Claim, Vec<&(usize, &Held)>> = BTreeMap::new();
    for record in records.iter().filter(|(_, held)| held.dataset == *dataset) {
        claims.entry(claim(record.1)).or_default().push(record);
    }
    let mut claims: Vec<_> = claims.into_values().collect();
    claims.sort_by_key(|supporters| std::cmp::Reverse(supporters.len()));
    let mut candidate = Candidate {
        dataset: dataset.clone(),
        store: first.store,
        ranks: first.ranks,
        holders: BTreeMap::new(),
        sets: BTreeMap::new(),
        disputed: Vec::new(),
        other: None,
    };
    let mut homes = records.iter().filter(|(_, held)| held.dataset == *dataset);
    let other = homes.next().and_then(|(_, held)| held.other.clone());
    candidate.other = other.filter(|_| homes.all(|(_, held)| held.other.is_some()));
    for supporters in claims {
        let Some((_, one)) = supporters.first() else {
            continue;
        };
        let members = &one.reddesc.members;
        if members.iter().any(|m| candidate.sets.contains_key(m)) {
            continue;
        }
        for (index, member) in members.iter().enumerate() {
            candidate
                .sets
                .extend(one.reddesc.of_member(index).map(|d| (*member, d)));
        }
        for (leader, held) in supporters {
            candidate
                .holders
                .entry(held.rank)
                .or_default()
                .push((*leader, held.level));
        }
    }
    let disputed = records.iter().map(|(_, held)| held.rank);
    candidate.disputed = disputed
        .filter(|rank| !candidate.holders.contains_key(rank))
        .collect();
    candidate.disputed.sort_unstable();
    candidate.disputed.dedup();
    Some(candidate)
}

/// What a record says of its set, as far as the members of a set must agree on it.
type Claim<'a> = (&'a [usize], &'a str, usize);

fn claim(held: &Held) -> Claim<'_> {
    let Reddesc {
        members,
        scheme,
        set_failures,
        ..
    } = &held.reddesc;
    (members, scheme, *set_failures)
}

impl Candidate {
    /// How a rank was protected, as far as any record tells.
    pub fn set_of(&self, rank: usize) -> Option<&Reddesc> {
        self.sets.get(&rank)
    }

    /// Where it is.
    pub fn slot(&self) -> Slot {
        Slot {
            store: self.store,
            id: self.dataset.id,
        }
    }

    /// The ranks without a record anywhere.
    pub fn lost(&self) -> Vec<usize> {
        (0..self.ranks)
            .filter(|rank| !self.holders.contains_key(rank))
            .collect()
    }

    /// True if it could be brought back on as many ranks as wrote it, as far as records tell. Their
    /// number is from the records, so it is not counted to.
    pub fn is_whole(&self) -> bool {
        self.sets.len() >= self.ranks && self.recoverable(self.ranks).is_ok()
    }

    /// Whether it can be brought back on `size` ranks, as far as records tell; the reason
    /// why not, in words.
    pub fn recoverable(&self, size: usize) -> Result<(), String> {
        if self.ranks != size {
            return Err(format!(
                "was written by {} ranks, this run has {size}",
                self.ranks
            ));
        }
        let lost = self.lost();
        for &rank in &lost {
            let Some(reddesc) = self.sets.get(&rank) else {
                return Err(format!(
                    "the files of {} are lost, and with them all that could rebuild them",
                    ranks_in_words(&lost)
                ));
            };
            let Some(scheme) = redundancy::of(reddesc) else {
                let name = &reddesc.scheme;
                return Err(format!("its scheme {name} is not known to this release"));
            };
            let members = &reddesc.members;
            let gone: Vec<bool> = members.iter().map(|m| lost.contains(m)).collect();
            if !scheme.recoverable(&gone) {
                let missing: Vec<usize> = members
                    .iter()
                    .copied()
                    .filter(|m| lost.contains(m))
                    .collect();
                return Err(format!(
                    "the files of {} are lost; {} over {} ranks survives the loss of {}",
                    ranks_in_words(&missing),
                    reddesc.scheme,
                    members.len(),
                    scheme.losses(members.len())
                ));
            }
        }
        Ok(())
    }

    /// How many of the groups in `groups` (the group of each rank: those in which ranks and
    /// what they store now fail together) may be lost, whichever they are, once it is `whole` on
    /// this run's ranks or else as it is; and how many it was made to survive.
    pub fn tolerates(&self, groups: &[usize], whole: bool) -> (usize, usize) {
        let lost = if whole { Vec::new() } else { self.lost() };
        let whole_sets = self.sets.values().filter(|d| d.set_rank == 0);
        let each = whole_sets.map(|reddesc| {
            let losses = redundancy::of(reddesc).map_or(0, |s| s.losses(reddesc.members.len()));
            let gone = reddesc.members.iter().filter(|m| lost.contains(m)).count();
            let set = redundancy::Set::new(0, reddesc.members.clone());
            let left = losses.saturating_sub(gone);
            (redundancy::survives(set.as_slice(), groups, left), losses)
        });
        let least = |a: (usize, usize), b: (usize, usize)| (a.0.min(b.0), a.1.min(b.1));
        each.reduce(least).unwrap_or_default()
    }

    /// The orders of all ranks. `leaders[r]` is the rank that acts for the node and store
    /// where rank r runs now. All ranks of a node share in what must be sent from there, most
    /// gladly for members of their own set. Only for a candidate that is
    /// [`Candidate::recoverable`].
    pub fn orders(&self, leaders: &[usize]) -> Option<Vec<Order>> {
        let mut crews: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (rank, leader) in leaders.iter().enumerate() {
            crews.entry(*leader).or_default().push(rank);
        }
        let mut sends: BTreeMap<usize, Vec<Sent>> = BTreeMap::new();
        let mut sources = Vec::with_capacity(leaders.len());
        for (rank, leader) in leaders.iter().enumerate() {
            let holders = self.holders.get(&rank).map_or(&[][..], Vec::as_slice);
            if let Some((_, level)) = holders.iter().find(|(holder, _)| holder == leader) {
                sources.push((Some(rank), *level, 0));
                continue;
            }
            // The least busy of all that can, so that nodes with copies share the work too.
            let each = holders.iter().flat_map(|(holder, level)| {
                let crew = crews.get(holder).map_or(&[][..], Vec::as_slice);
                crew.iter().map(|one| (*one, *level))
            });
            let members = self.sets.get(&rank).map_or(&[][..], |set| &set.members);
            let busy = |(one, _): &(usize, _)| {
                let parts = sends.get(one).map_or(0, Vec::len);
                (parts, !members.contains(one))
            };
            sources.push(match each.min_by_key(busy) {
                None => (None, None, 0),
                Some((from, level)) => {
                    let queue = sends.entry(from).or_default();
                    queue.push(Sent { rank, level });
                    (Some(from), level, queue.len() - 1)
                }
            });
        }
        let holders = self.homeward(&sources, &sends);
        let mut holds: BTreeMap<usize, Sent> = BTreeMap::new();
        for (rank, (source, ..)) in sources.iter().enumerate() {
            if let Some(from) = source.filter(|from| *from != rank)
                && holders.contains_key(&rank)
                && let Some(sent) = sends.remove(&from).and_then(|mut sent| sent.pop())
            {
                holds.insert(from, sent);
            }
        }
        let rounds = sends.values().map(Vec::len).max().unwrap_or(0);
        sources
            .into_iter()
            .enumerate()
            .map(|(rank, (source, level, round))| {
                Some(Order {
                    store: self.store,
                    dataset: self.dataset.clone(),
                    reddesc: self.sets.get(&rank)?.clone(),
                    source,
                    level,
                    round,
                    sends: sends.get(&rank).cloned().unwrap_or_default(),
                    rounds,
                    holders: holders.get(&rank).cloned().unwrap_or_default(),
                    holds: holds.get(&rank).copied(),
                })
            })
            .collect()
    }

    /// By rank, who has the files of the members of its set, for all sets whose files can come
    /// home within the set: what is away is with other members, which have that alone to send.
    fn homeward(
        &self,
        sources: &[(Option<usize>, Option<usize>, usize)],
        sends: &BTreeMap<usize, Vec<Sent>>,
    ) -> BTreeMap<usize, Vec<usize>> {
        let mut holders = BTreeMap::new();
        for set in self.sets.values().filter(|set| set.set_rank == 0) {
            let members = &set.members;
            let source = |member: &usize| sources.get(*member).and_then(|source| source.0);
            let held: Vec<usize> = members.iter().map(|m| source(m).unwrap_or(*m)).collect();
            let mut away = members.iter().zip(&held).filter(|(m, h)| m != h).peekable();
            let within = |(_, holder): (&usize, &usize)| {
                members.contains(holder) && sends.get(holder).is_some_and(|sent| sent.len() == 1)
            };
            let protected = redundancy::of(set).is_some_and(|s| s.losses(members.len()) > 0);
            if protected && away.peek().is_some() && away.all(within) {
                holders.extend(members.iter().map(|member| (*member, held.clone())));
            }
        }
        holders
    }
}
