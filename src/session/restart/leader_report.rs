//! The reports of the leaders of the stores to rank 0 for a search in the cache.
//!
//! The report of a leader is in parts, which name ranks by their distance from it. So intact nodes have equal
//! parts. Rank 0 gets each part once, with the list of the leaders: the amount of data grows with the differences,
//! not with the nodes.

use crate::cache::plan::{CachedRecord, Inventory};
use crate::comm::{Alike, RankList};
use crate::events::Severity;
use crate::format::{Name, from_message, to_message};
use crate::session::datasets::store_leaders::StoreLeaders;
use crate::session::datasets::survey::Survey;
use crate::session::run::{Run, Store};
use crate::text::ranks_in_words;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A part of a leader's report: one of these.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Part {
    led: Option<LedStore>,
    records: Option<AlikeRecords>,
    /// The other findings of the leader.
    inventory: Option<Inventory>,
}

/// A store and the ranks that share it.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct LedStore {
    store: usize,
    /// The ranks, as [`RankList::distances`] from the leader.
    ranks: Vec<u32>,
    /// Distance from the lowest of the ranks whose datasets in the store are lost together up to the
    /// leader.
    lost_with: usize,
}

/// Records that differ only in the rank; in most cases, the records of the ranks of a node.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct AlikeRecords {
    /// The ranks, as [`RankList::distances`] from the leader.
    ranks: Vec<u32>,
    /// The members of a rank's set, as [`RankList::distances`] from the rank.
    members: Vec<u32>,
    /// The record of each of these ranks, without the members. Other ranks are named in it by their distances from the
    /// rank of the record.
    record: CachedRecord,
}

/// The parts of this rank's report; empty if the rank leads no store. Local.
pub(super) fn parts(run: &Run, mut inventory: Inventory) -> Result<Vec<Vec<u8>>> {
    let rank = run.rank();
    let stores = run.stores.iter().enumerate();
    let led = stores.filter(|(_, store)| store.leader);
    let led = led.map(|(at, store)| Part {
        led: Some(LedStore::new(run, at, store)),
        ..Part::default()
    });
    let mut parts: Vec<Part> = led.collect();
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let records = pack(&mut inventory.records, rank)?;
    parts.extend(records.into_iter().map(|alike| Part {
        records: Some(alike),
        ..Part::default()
    }));
    parts.push(Part {
        inventory: Some(inventory),
        ..Part::default()
    });
    parts.iter().map(to_message).collect()
}

/// Takes the records that rank `leader` has found, and puts equal ones together. A record with a rank that no run
/// can have stays. Local.
fn pack(records: &mut Vec<CachedRecord>, leader: usize) -> Result<Vec<AlikeRecords>> {
    let is_rank = |rank: &usize| i32::try_from(*rank).is_ok();
    let (able, unable): (Vec<_>, Vec<_>) = std::mem::take(records)
        .into_iter()
        .partition(|record| is_rank(&record.rank) && record.reddesc.members.iter().all(is_rank));
    *records = unable;
    let mut alike: BTreeMap<Vec<u8>, (AlikeRecords, RankList)> = BTreeMap::new();
    for record in able {
        let rank = record.rank;
        let record = AlikeRecords::of_one(record);
        let (_, ranks) = alike
            .entry(to_message(&record)?)
            .or_insert((record, RankList::default()));
        ranks.append(&RankList::one(rank));
    }
    let packed = alike.into_values().map(|(alike, ranks)| AlikeRecords {
        ranks: ranks.distances(leader),
        ..alike
    });
    Ok(packed.collect())
}

impl LedStore {
    fn new(run: &Run, at: usize, store: &Store) -> Self {
        let ranks = store.sharing.list(run.comm.size());
        LedStore {
            store: at,
            ranks: ranks.distances(run.rank()),
            lost_with: run.rank().wrapping_sub(store.lost_with),
        }
    }

    /// Enters the ranks that rank `leader` leads, of so many in all. Rank 0.
    fn enter(&self, leader: usize, size: usize, leaders: &mut StoreLeaders) -> Result<()> {
        let ranks = RankList::from_distances(&self.ranks, leader, size)?;
        let lost_with = leader.wrapping_sub(self.lost_with);
        leaders.enter(self.store, &ranks, leader, lost_with);
        Ok(())
    }
}

impl AlikeRecords {
    /// The entry for one record, without its rank.
    fn of_one(mut record: CachedRecord) -> Self {
        let rank = record.rank;
        let members = std::mem::take(&mut record.reddesc.members);
        let members: RankList = members.into_iter().collect();
        record.change_ranks(|other| other.wrapping_sub(rank));
        // A plan does not need the directory, in which the name of the node may be.
        record.reddesc.store = Name::default();
        AlikeRecords {
            ranks: Vec::new(),
            members: members.distances(rank),
            record,
        }
    }

    /// Adds the records that rank `leader` has found. Rank 0.
    fn enter(&self, leader: usize, records: &mut Vec<CachedRecord>) -> Result<()> {
        let size = self.record.ranks;
        for rank in RankList::from_distances(&self.ranks, leader, size)?.iter() {
            let mut record = self.record.clone();
            record.change_ranks(|distance| distance.wrapping_add(rank));
            let members = RankList::from_distances(&self.members, rank, size)?;
            record.reddesc.members = members.iter().collect();
            records.push(record);
        }
        Ok(())
    }
}

impl Part {
    /// Adds it to the report of the rank `leader`. Rank 0.
    fn enter(
        &self,
        run: &Run,
        leader: usize,
        found: &mut Inventory,
        leaders: &mut StoreLeaders,
    ) -> Result<()> {
        if let Some(led) = &self.led {
            led.enter(leader, run.comm.size(), leaders)?;
        }
        if let Some(alike) = &self.records {
            alike.enter(leader, &mut found.records)?;
        }
        if let Some(rest) = &self.inventory {
            let records = std::mem::take(&mut found.records);
            *found = rest.clone();
            found.records.extend(records);
        }
        Ok(())
    }
}

/// The inventories in the reports of the leaders, whose `parts` come with the leaders that have sent them; the
/// survey learns which ranks each leads. A leader with a part that cannot be read is reported, and has no inventory.
/// Rank 0.
pub(super) fn read(run: &Run, parts: Vec<Alike>, survey: &mut Survey) -> Vec<(usize, Inventory)> {
    let mut known = StoreLeaders::new(run.stores.len(), run.comm.size());
    let mut inventories: BTreeMap<usize, Inventory> = BTreeMap::new();
    let mut unreadable: BTreeMap<usize, Error> = BTreeMap::new();
    for (part, leaders) in parts {
        let part: Result<Part> = from_message(&part);
        for leader in leaders.iter() {
            let found = inventories.entry(leader).or_default();
            let entered = match &part {
                Ok(part) => part.enter(run, leader, found, &mut known),
                Err(error) => Err(error.clone()),
            };
            if let Err(error) = entered {
                unreadable.entry(leader).or_insert(error);
            }
        }
    }
    survey.set_leaders(known);
    inventories.retain(|leader, _| !unreadable.contains_key(leader));
    tell_unreadable(run, unreadable);
    for found in inventories.values_mut() {
        let place = |r: &CachedRecord| (r.store, r.dataset.id, r.level, r.rank);
        found.records.sort_by_key(place);
    }
    inventories.into_iter().collect()
}

/// Warns of leaders whose reports cannot be read, once for each error. Local.
fn tell_unreadable(run: &Run, unreadable: BTreeMap<usize, Error>) {
    let mut leaders: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (leader, error) in unreadable {
        leaders.entry(error.to_string()).or_default().push(leader);
    }
    for (error, leaders) in leaders {
        let cache = if leaders.len() == 1 {
            "its cache"
        } else {
            "their caches"
        };
        let text = format!(
            "what {} found in {cache}: {error}",
            ranks_in_words(&leaders)
        );
        run.tell(Severity::Warning, text);
    }
}

#[cfg(test)]
#[path = "leader_report_tests.rs"]
mod tests;
