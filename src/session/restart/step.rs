//! The next step of the ranks at a restart, and rank 0's messages about it.

use crate::Result;
use crate::cache::plan::{RecoveryOrder, Slot};
use crate::comm::RankList;
use crate::format::{Dataset, from_message, to_message};
use crate::session::datasets::cached::CachedDataset;
use crate::session::datasets::location::Location;
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::datasets::survey::Rejected;
use crate::session::datasets::unavailable::Unavailable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The next step of the ranks. All ranks get the same, except for their orders.
pub(in crate::session) enum Step {
    /// The ranks recover a dataset.
    Recover(Box<RecoveryOrder>, Known),
    /// The ranks use a dataset that another number of ranks wrote.
    UseOtherRanks(OfOtherRanks),
    /// The search has no dataset left to try.
    End(Rest),
}

/// Rank 0's message to each rank about its next [`Step`].
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct RecoveryStep {
    pub rejected: Rejected,
    pub order: Option<RecoveryOrder>,
    /// Rank 0's facts about the dataset of the order.
    pub known: Known,
    pub of_other_ranks: Option<OfOtherRanks>,
    pub rest: Rest,
}

/// Rank 0's messages, each for some ranks.
pub(in crate::session) type Messages = Vec<(RankList, Vec<u8>)>;

impl RecoveryStep {
    /// The message with this step for all of `size` ranks. Rank 0.
    pub fn for_all(&self, size: usize) -> Result<Messages> {
        Ok(vec![(RankList::all(size), to_message(self)?)])
    }

    /// This step with the orders of the ranks, in rank order. Orders name ranks by their distance from the rank that
    /// gets them, so the orders of most ranks are equal and are sent as one message. Rank 0.
    pub fn with_orders(&mut self, orders: Vec<RecoveryOrder>) -> Result<Messages> {
        let mut messages: BTreeMap<Vec<u8>, RankList> = BTreeMap::new();
        for (rank, mut order) in orders.into_iter().enumerate() {
            order.change_ranks(|other| other.wrapping_sub(rank));
            self.order = Some(order);
            let ranks = messages.entry(to_message(self)?).or_default();
            ranks.append(&RankList::one(rank));
        }
        let messages = messages.into_iter();
        Ok(messages.map(|(message, ranks)| (ranks, message)).collect())
    }

    /// The step in a message to this rank. Local.
    pub fn read(message: &[u8], rank: usize) -> Result<Self> {
        let mut step: RecoveryStep = from_message(message)?;
        if let Some(order) = &mut step.order {
            order.change_ranks(|distance| distance.wrapping_add(rank));
        }
        Ok(step)
    }

    pub fn step(self) -> Step {
        match (self.order, self.of_other_ranks) {
            (Some(order), _) => Step::Recover(Box::new(order), self.known),
            (None, Some(found)) => Step::UseOtherRanks(found),
            (None, None) => Step::End(self.rest),
        }
    }
}

/// The datasets that are left in the cache at the end of a search.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct Rest {
    /// Datasets that were not recovered.
    pub remaining: Vec<Remaining>,
    /// Directories that no restart can use, but that stay until room is needed.
    pub unusable: Vec<Slot>,
    /// A dataset that may be complete and cannot be used, so that no older one may be used.
    pub unavailable: Option<Unavailable>,
}

/// Rank 0's facts about a dataset that is recovered.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct Known {
    /// Number of failure groups that may be lost once the dataset is recovered.
    pub tolerates: usize,
    pub prefix: PrefixState,
}

/// Rank 0's message about a dataset of an earlier run that stays in the cache as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct Remaining {
    /// Index of its store.
    pub store: usize,
    pub dataset: Dataset,
    pub known: Known,
}

impl Remaining {
    /// The dataset counts against the cache size.
    pub fn cached(self) -> CachedDataset {
        CachedDataset {
            location: Location::Cache(self.store),
            dataset: self.dataset,
            tolerates: self.known.tolerates,
            prefix: self.known.prefix,
            ..CachedDataset::default()
        }
    }
}

/// Rank 0's message about a dataset in the cache that another number of ranks wrote.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(in crate::session) struct OfOtherRanks {
    pub slot: Slot,
    pub dataset: Dataset,
    /// Number of ranks that wrote the dataset.
    pub ranks: u64,
    /// True if the dataset is also good in the prefix directory.
    pub in_prefix: bool,
}
