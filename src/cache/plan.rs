//! Decides, from the records of all nodes, which cached datasets can be recovered and what each
//! rank must do.
//!
//! Rank 0 gathers one [`Inventory`] per node and decides; every other rank receives its
//! [`RecoveryOrder`]. All functions are pure. Only rank 0 holds data of every rank, a few dozen
//! bytes each.

use crate::format::dataset::HIGHEST;
use crate::format::identity::{OtherPrefix, OwnPrefix};
use crate::format::{Dataset, Filemap, Name, Reddesc};
use crate::messages::OTHER_NUMBER_OF_RANKS;
use crate::redundancy;
use crate::text::ranks_in_words;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A rank's completion record, as found on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct CachedRecord {
    /// Index of the store.
    pub store: usize,
    /// Level of nodes; see [`Layout::at`](super::layout::Layout::at).
    pub level: Option<usize>,
    /// The rank that wrote it.
    pub rank: usize,
    /// Number of ranks of the run that wrote it.
    pub ranks: usize,
    /// The dataset.
    pub dataset: Dataset,
    /// The redundancy descriptor of the rank.
    pub reddesc: Reddesc,
    /// The prefix directory that the dataset was written for, if it differs from the one of this
    /// run.
    pub other_prefix: Option<OtherPrefix>,
}

impl CachedRecord {
    /// Replaces each rank that is named here by `change(rank)`.
    pub fn change_ranks(&mut self, change: impl Fn(usize) -> usize) {
        self.rank = change(self.rank);
        change_ranks(&mut self.reddesc, change);
    }
}

impl CachedRecord {
    /// Makes a record of a node from a completion record, as a run in `prefix` sees it.
    pub fn new(map: Filemap, prefix: &OwnPrefix) -> Self {
        let other_prefix = prefix.other(&map);
        CachedRecord {
            store: 0,
            level: None,
            rank: map.rank,
            ranks: map.ranks,
            dataset: map.dataset,
            reddesc: map.reddesc,
            other_prefix,
        }
    }
}

/// A dataset's directory, by store and id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Slot {
    /// Index of the store.
    pub store: usize,
    /// Dataset id.
    pub id: u64,
}

/// The findings of the leader of one node in its stores.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Inventory {
    /// Completion records that can be read.
    pub records: Vec<CachedRecord>,
    /// Datasets that an earlier run quarantined.
    pub quarantined: Vec<Slot>,
    /// Directories of datasets, with or without records.
    pub present: Vec<Slot>,
    /// The slots of `present` with records that could not be read but may be readable later.
    pub unread: Vec<Slot>,
    /// Ids of evicted datasets with remaining files.
    pub evicted: Vec<u64>,
    /// Descriptions of damage.
    pub notes: Vec<Name>,
}

/// A cached dataset that may be used for a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The dataset.
    pub dataset: Dataset,
    /// Index of its store.
    pub store: usize,
    /// Number of ranks that wrote it.
    pub ranks: usize,
    /// For each rank, the leaders of the nodes that hold its record, and the level of the record.
    holders: BTreeMap<usize, Vec<(usize, Option<usize>)>>,
    /// The redundancy descriptor of each rank. The descriptor of a lost rank is known from other
    /// members of its set.
    sets: BTreeMap<usize, Reddesc>,
    /// Ranks whose only records contradict the records of others. They count as lost.
    pub disputed: Vec<usize>,
    /// The prefix directory of the run that wrote the dataset, if no record names the prefix
    /// directory of this run.
    pub other_prefix: Option<OtherPrefix>,
}

/// One rank's work to recover one dataset, which all ranks know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct RecoveryOrder {
    /// This rank's redundancy descriptor.
    pub reddesc: Reddesc,
    /// The rank that has this rank's files: the rank itself if they are on its node, another rank
    /// that sends them, or `None` if they must be rebuilt.
    pub source: Option<usize>,
    /// The level of its files, if some rank has them. They keep it when they are sent.
    pub level: Option<usize>,
    /// The parts that this rank sends.
    pub sends: Vec<PartToSend>,
    /// For each member of the set, the rank that has its files, if they are moved within the set
    /// during the rebuild and not before. Empty otherwise.
    pub holders: Vec<usize>,
}

impl RecoveryOrder {
    /// Replaces each rank that is named here by `change(rank)`.
    pub fn change_ranks(&mut self, change: impl Fn(usize) -> usize) {
        change_ranks(&mut self.reddesc, &change);
        let sends = self.sends.iter_mut().map(|part| &mut part.rank);
        let others = self.source.iter_mut().chain(&mut self.holders);
        sends.chain(others).for_each(|rank| *rank = change(*rank));
    }

    /// True if the part of this rank, or one that this rank sends, is moved during the rebuild.
    pub fn moves_in_rebuild(&self, rank: usize) -> bool {
        !self.holders.is_empty() && self.reddesc.members.contains(&rank)
    }
}

fn change_ranks(reddesc: &mut Reddesc, change: impl Fn(usize) -> usize) {
    let members = reddesc.members.iter_mut();
    let ranks = members.chain([&mut reddesc.set_id]);
    ranks.for_each(|rank| *rank = change(*rank));
}

/// A rank's part of a dataset, which another rank holds and sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct PartToSend {
    /// The rank that the part belongs to.
    pub rank: usize,
    /// The level of the part.
    pub level: Option<usize>,
}

/// True if the record's description of its set is valid, and its ids are in range.
pub fn is_consistent(cached: &CachedRecord) -> bool {
    let members = &cached.reddesc.members;
    cached.dataset.id <= HIGHEST
        && cached.dataset.ckpt.is_none_or(|ckpt| ckpt <= HIGHEST)
        && cached.rank < cached.ranks
        && members.get(cached.reddesc.set_rank) == Some(&cached.rank)
        && members.iter().all(|&member| member < cached.ranks)
        && members.iter().collect::<BTreeSet<_>>().len() == members.len()
}

/// All cached datasets, newest first. `inventories` come with the world rank of the leader that
/// made them. Records with one id but different creation times make different candidates: a node
/// that was away may return with an old dataset. So ids do not tell which candidate is newer.
pub fn candidates(inventories: &[(usize, Inventory)]) -> Vec<Candidate> {
    type Records<'a> = Vec<(usize, &'a CachedRecord)>;
    let mut found: BTreeMap<(u64, u64, usize, usize), Records> = BTreeMap::new();
    for (leader, inventory) in inventories {
        for cached in inventory
            .records
            .iter()
            .filter(|cached| is_consistent(cached))
        {
            let dataset = &cached.dataset;
            let key = (dataset.created, dataset.id, cached.ranks, cached.store);
            found.entry(key).or_default().push((*leader, cached));
        }
    }
    let candidates = found.into_values().rev();
    candidates
        .filter_map(|records| candidate(&records))
        .collect()
}

/// Makes one candidate from all records of a dataset. Records may contradict each other: one may be
/// forged, or left from an earlier fetch. Then those that most other records agree with count, so
/// that sets never overlap. Ranks that disagree about their set would wait for each other forever.
fn candidate(records: &[(usize, &CachedRecord)]) -> Option<Candidate> {
    let first = records.first()?.1;
    let dataset = most_common_dataset(records)?;
    let of_dataset = records
        .iter()
        .filter(|(_, cached)| cached.dataset == *dataset);
    let of_dataset: Vec<&(usize, &CachedRecord)> = of_dataset.collect();
    let other = of_dataset.first()?.1.other_prefix.clone();
    let all_other = of_dataset
        .iter()
        .all(|(_, cached)| cached.other_prefix.is_some());
    let mut candidate = Candidate {
        dataset: dataset.clone(),
        store: first.store,
        ranks: first.ranks,
        holders: BTreeMap::new(),
        sets: BTreeMap::new(),
        disputed: Vec::new(),
        other_prefix: other.filter(|_| all_other),
    };
    for supporters in by_set_description(&of_dataset) {
        candidate.add_set(&supporters);
    }
    let disputed = records.iter().map(|(_, cached)| cached.rank);
    let disputed: BTreeSet<usize> = disputed
        .filter(|rank| !candidate.holders.contains_key(rank))
        .collect();
    candidate.disputed = disputed.into_iter().collect();
    Some(candidate)
}

/// The description of the dataset in most records; of several, the one that was found first.
fn most_common_dataset<'a>(records: &[(usize, &'a CachedRecord)]) -> Option<&'a Dataset> {
    let mut datasets: Vec<(&Dataset, usize)> = Vec::new();
    for (_, cached) in records {
        match datasets
            .iter_mut()
            .find(|(known, _)| **known == cached.dataset)
        {
            Some((_, supporters)) => *supporters += 1,
            None => datasets.push((&cached.dataset, 1)),
        }
    }
    let most = datasets
        .iter()
        .rev()
        .max_by_key(|(_, supporters)| *supporters);
    most.map(|(dataset, _)| *dataset)
}

/// Groups of records that agree on their set, largest first.
fn by_set_description<'a, 'r>(
    records: &[&'a (usize, &'r CachedRecord)],
) -> Vec<Vec<&'a (usize, &'r CachedRecord)>> {
    let mut groups: BTreeMap<SetDescription, Vec<&(usize, &CachedRecord)>> = BTreeMap::new();
    for record in records {
        let group = groups.entry(set_description(record.1)).or_default();
        group.push(record);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|supporters| std::cmp::Reverse(supporters.len()));
    groups
}

/// The rank that has a part, and the level of the part.
type Source = (usize, Option<usize>);

/// The facts on which all members of a set must agree: members, scheme, number of failures.
type SetDescription<'a> = (&'a [usize], &'a str, usize);

fn set_description(cached: &CachedRecord) -> SetDescription<'_> {
    let Reddesc {
        members,
        scheme,
        set_failures,
        ..
    } = &cached.reddesc;
    (members, scheme.word(), *set_failures)
}

impl Candidate {
    /// Adds a set and the holders of its parts, unless a member is in another set already.
    fn add_set(&mut self, supporters: &[&(usize, &CachedRecord)]) {
        let Some((_, CachedRecord { reddesc, .. })) = supporters.first() else {
            return;
        };
        let members = &reddesc.members;
        if members.iter().any(|m| self.sets.contains_key(m)) {
            return;
        }
        for (index, member) in members.iter().enumerate() {
            let own = reddesc.of_member(index);
            self.sets.extend(own.map(|reddesc| (*member, reddesc)));
        }
        for (leader, cached) in supporters {
            let holders = self.holders.entry(cached.rank).or_default();
            holders.push((*leader, cached.level));
        }
    }

    /// The redundancy descriptor of a rank, if any record tells it.
    pub fn set_of(&self, rank: usize) -> Option<&Reddesc> {
        self.sets.get(&rank)
    }

    /// Store and id.
    pub fn slot(&self) -> Slot {
        Slot {
            store: self.store,
            id: self.dataset.id,
        }
    }

    /// The ranks that have no record on any node.
    pub fn lost(&self) -> Vec<usize> {
        (0..self.ranks)
            .filter(|rank| !self.holders.contains_key(rank))
            .collect()
    }

    /// True if, according to the records, the dataset can be recovered on as many ranks as wrote
    /// it. `ranks` comes from a record, so no loop runs up to it before it is checked.
    pub fn is_whole(&self) -> bool {
        self.sets.len() >= self.ranks && self.recoverable(self.ranks).is_ok()
    }

    /// Checks, by the records, that the dataset can be recovered on `size` ranks. The error is the
    /// reason why not.
    pub fn recoverable(&self, size: usize) -> Result<(), String> {
        if self.ranks != size {
            return Err(format!(
                "was written by {} ranks, this run has {size} ({OTHER_NUMBER_OF_RANKS})",
                self.ranks
            ));
        }
        let lost = self.lost();
        for &rank in &lost {
            let Some(reddesc) = self.sets.get(&rank) else {
                return Err(format!(
                    "the files of {} are lost, and so is all redundancy for them",
                    ranks_in_words(&lost)
                ));
            };
            let Some(scheme) = redundancy::scheme_of(reddesc) else {
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

    /// Number of failure groups that may be lost, whichever they are: now, and as the dataset was
    /// written. `groups` has the group of each rank, whose ranks and files are lost together.
    /// `whole` says that all parts are on the nodes of this run; otherwise the losses that the
    /// records show are subtracted.
    pub fn tolerates(&self, groups: &[usize], whole: bool) -> (usize, usize) {
        let lost = if whole { Vec::new() } else { self.lost() };
        let whole_sets = self.sets.values().filter(|d| d.set_rank == 0);
        let each = whole_sets.map(|reddesc| {
            let losses =
                redundancy::scheme_of(reddesc).map_or(0, |s| s.losses(reddesc.members.len()));
            let gone = reddesc.members.iter().filter(|m| lost.contains(m)).count();
            let set = redundancy::Set::new(0, reddesc.members.clone());
            let left = losses.saturating_sub(gone);
            (
                redundancy::survives(set.as_slice(), groups, |_| left),
                losses,
            )
        });
        let least = |a: (usize, usize), b: (usize, usize)| (a.0.min(b.0), a.1.min(b.1));
        each.reduce(least).unwrap_or_default()
    }

    /// The orders of all ranks, for a candidate that is [`Candidate::recoverable`]. `leaders[r]` is
    /// the rank that acts for the node and store where rank r runs now. All ranks of a node share
    /// the sending from that node; members of the receiver's set come first.
    pub fn orders(&self, leaders: &[usize]) -> Option<Vec<RecoveryOrder>> {
        let mut ranks_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (rank, leader) in leaders.iter().enumerate() {
            ranks_of.entry(*leader).or_default().push(rank);
        }
        let mut sends: BTreeMap<usize, Vec<PartToSend>> = BTreeMap::new();
        let mut sources = Vec::with_capacity(leaders.len());
        for (rank, leader) in leaders.iter().enumerate() {
            let source = self.source(rank, *leader, &ranks_of, &sends);
            if let Some((from, level)) = source.filter(|(from, _)| *from != rank) {
                let sent = PartToSend { rank, level };
                sends.entry(from).or_default().push(sent);
            }
            sources.push(source);
        }
        let holders = self.holders_within_sets(&sources, &sends);
        let order = |(rank, source): (usize, &Option<Source>)| {
            Some(RecoveryOrder {
                reddesc: self.sets.get(&rank)?.clone(),
                source: source.map(|(from, _)| from),
                level: source.and_then(|(_, level)| level),
                sends: sends.remove(&rank).unwrap_or_default(),
                holders: holders.get(&rank).cloned().unwrap_or_default(),
            })
        };
        sources.iter().enumerate().map(order).collect()
    }

    /// The rank that has the files of `rank`, which runs on the node of `leader`. Among the ranks on other
    /// nodes that have copies, the one with the fewest parts to send, so that all nodes with copies share the
    /// work.
    fn source(
        &self,
        rank: usize,
        leader: usize,
        ranks_of: &BTreeMap<usize, Vec<usize>>,
        sends: &BTreeMap<usize, Vec<PartToSend>>,
    ) -> Option<Source> {
        let holders = self.holders.get(&rank)?;
        if let Some((_, level)) = holders.iter().find(|(holder, _)| *holder == leader) {
            return Some((rank, *level));
        }
        let each = holders.iter().flat_map(|(holder, level)| {
            let senders = ranks_of.get(holder).map_or(&[][..], Vec::as_slice);
            senders.iter().map(|one| (*one, *level))
        });
        let members = self.sets.get(&rank).map_or(&[][..], |set| &set.members);
        each.min_by_key(|(one, _)| {
            let parts = sends.get(one).map_or(0, Vec::len);
            (parts, !members.contains(one))
        })
    }

    /// For each rank of the sets whose parts are moved during the rebuild: the holders of all
    /// members' files. This is possible if each part that is on another node is with a member of
    /// the set that has no other part to send.
    fn holders_within_sets(
        &self,
        sources: &[Option<Source>],
        sends: &BTreeMap<usize, Vec<PartToSend>>,
    ) -> BTreeMap<usize, Vec<usize>> {
        let mut holders = BTreeMap::new();
        for set in self.sets.values().filter(|set| set.set_rank == 0) {
            let members = &set.members;
            let source = |member: &usize| Some(sources.get(*member).copied().flatten()?.0);
            let at: Vec<usize> = members.iter().map(|m| source(m).unwrap_or(*m)).collect();
            let mut relocated = members.iter().zip(&at).filter(|(m, h)| m != h).peekable();
            let within = |(_, holder): (&usize, &usize)| {
                members.contains(holder) && sends.get(holder).is_some_and(|sent| sent.len() == 1)
            };
            let protected = redundancy::scheme_of(set).is_some_and(|s| s.losses(members.len()) > 0);
            if protected && relocated.peek().is_some() && relocated.all(within) {
                holders.extend(members.iter().map(|member| (*member, at.clone())));
            }
        }
        holders
    }
}
