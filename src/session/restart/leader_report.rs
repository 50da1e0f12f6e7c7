//! What the leaders of the stores report to rank 0 for a search in the cache.

use crate::Result;
use crate::cache::plan::{CachedRecord, Inventory};
use crate::comm::RankList;
use crate::events::Severity;
use crate::format::{from_message, to_message};
use crate::session::datasets::survey::Survey;
use crate::session::run::{Run, Store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a leader has found in its stores, and for whom it leads them.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(super) struct LeaderReport {
    led: Vec<LedStore>,
    records: Vec<AlikeRecords>,
    /// What else is in the inventory.
    inventory: Inventory,
}

/// Records that differ only in the rank: those of the ranks of a node, in most cases.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct AlikeRecords {
    /// In the numbers of a [`RankList`].
    ranks: Vec<u32>,
    /// As rank 0 would have it if other ranks were as far away from it as they are from these.
    record: CachedRecord,
}

/// A store and the ranks that share it.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct LedStore {
    store: usize,
    /// In the numbers of a [`RankList`].
    ranks: Vec<u32>,
    /// The lowest rank of those whose datasets in it are lost together.
    lost_with: usize,
}

impl LeaderReport {
    /// The report of this rank; `None` if it leads no store. Local.
    pub fn new(run: &Run, mut inventory: Inventory) -> Result<Option<Self>> {
        let led = run
            .stores
            .iter()
            .enumerate()
            .filter(|(_, store)| store.leader);
        let led = led.map(|(at, store)| LedStore::new(run, at, store));
        let led: Vec<LedStore> = led.collect();
        if led.is_empty() {
            return Ok(None);
        }
        let records = pack(&mut inventory.records)?;
        Ok(Some(LeaderReport {
            led,
            records,
            inventory,
        }))
    }

    /// Tells the survey of whom the rank `leader` leads, and gives its inventory. Rank 0.
    fn enter(self, run: &Run, leader: usize, survey: &mut Survey) -> Result<Inventory> {
        for LedStore {
            store,
            ranks,
            lost_with,
        } in &self.led
        {
            let ranks = RankList::from_numbers(ranks, run.comm.size())?;
            for rank in ranks.iter() {
                for (of_ranks, value) in [
                    (&mut survey.leaders, leader),
                    (&mut survey.domains, *lost_with),
                ] {
                    let of_rank = of_ranks.get_mut(*store).and_then(|all| all.get_mut(rank));
                    of_rank.into_iter().for_each(|known| *known = value);
                }
            }
        }
        let mut inventory = self.inventory;
        for alike in &self.records {
            unpack(alike, &mut inventory.records)?;
        }
        Ok(inventory)
    }
}

/// Takes the records, and puts those together that are alike. A record with a rank that no run can have stays. Local.
fn pack(records: &mut Vec<CachedRecord>) -> Result<Vec<AlikeRecords>> {
    let (able, unable): (Vec<_>, Vec<_>) = std::mem::take(records)
        .into_iter()
        .partition(|record| i32::try_from(record.rank).is_ok());
    *records = unable;
    let mut alike: Vec<(CachedRecord, RankList)> = Vec::new();
    let mut known: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for mut record in able {
        let rank = record.rank;
        record.change_ranks(|other| other.wrapping_sub(rank));
        // One that is not to be written as a message is like no other.
        let key = to_message(&record)?;
        let at = *known.entry(key).or_insert(alike.len());
        match alike.get_mut(at) {
            Some((_, ranks)) => ranks.append(&RankList::one(rank)),
            None => alike.push((record, RankList::one(rank))),
        }
    }
    let packed = alike.into_iter().map(|(record, ranks)| AlikeRecords {
        ranks: ranks.numbers(),
        record,
    });
    Ok(packed.collect())
}

/// Adds the records that were put together. Rank 0.
fn unpack(alike: &AlikeRecords, records: &mut Vec<CachedRecord>) -> Result<()> {
    let ranks = RankList::from_numbers(&alike.ranks, alike.record.ranks)?;
    records.extend(ranks.iter().map(|rank| {
        let mut record = alike.record.clone();
        record.change_ranks(|distance| distance.wrapping_add(rank));
        record
    }));
    Ok(())
}

impl LedStore {
    fn new(run: &Run, at: usize, store: &Store) -> Self {
        let ranks = store.sharing.list(run.comm.size());
        LedStore {
            store: at,
            ranks: ranks.numbers(),
            lost_with: store.lost_with,
        }
    }
}

/// The inventories in the reports of the leaders; the survey learns who leads whom. Rank 0.
pub(super) fn read(
    run: &Run,
    reports: Vec<(usize, Vec<u8>)>,
    survey: &mut Survey,
) -> Vec<(usize, Inventory)> {
    // A rank of which no leader has told counts as one that leads itself alone.
    let alone: Vec<usize> = (0..run.comm.size()).collect();
    survey.leaders = vec![alone; run.stores.len()];
    survey.domains = survey.leaders.clone();
    let mut inventories = Vec::with_capacity(reports.len());
    for (leader, message) in reports {
        let report = from_message(&message);
        match report.and_then(|report: LeaderReport| report.enter(run, leader, survey)) {
            Ok(inventory) => inventories.push((leader, inventory)),
            Err(error) => {
                let text = format!("what rank {leader} found in its cache: {error}");
                run.tell(Severity::Warning, text);
            }
        }
    }
    inventories
}
