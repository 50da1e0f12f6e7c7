//! The next step of the ranks at a restart, and rank 0's messages about it.

use crate::Result;
use crate::cache::plan::{RecoveryOrder, Slot};
use crate::comm::RankList;
use crate::format::{from_message, to_message};
use crate::session::datasets::cached::CachedDataset;
use crate::session::datasets::survey::Rejected;
use crate::session::datasets::unavailable::Unavailable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The next step of the ranks. All ranks get the same, except for their orders.
pub(in crate::session) enum Step {
    /// They recover a dataset.
    Recover(Box<CachedDataset>, Box<RecoveryOrder>),
    /// They use a dataset that another number of ranks wrote.
    UseOtherRanks(Box<CachedDataset>),
    /// Nothing is left to try.
    End(Rest),
}

/// Rank 0's message to each rank about its next [`Step`].
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct RecoveryStep {
    pub rejected: Rejected,
    /// The dataset that is tried: one to recover, as it will be then, or one that another number of ranks wrote.
    pub cached: Option<CachedDataset>,
    /// What the rank does to recover it.
    pub order: Option<RecoveryOrder>,
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
        match (self.cached, self.order) {
            (Some(cached), Some(order)) => Step::Recover(Box::new(cached), Box::new(order)),
            (Some(cached), None) => Step::UseOtherRanks(Box::new(cached)),
            (None, _) => Step::End(self.rest),
        }
    }
}

/// The datasets that are left in the cache at the end of a search.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct Rest {
    /// Datasets that were not recovered.
    pub remaining: Vec<CachedDataset>,
    /// Directories that no restart can use, but that stay until room is needed.
    pub unusable: Vec<Slot>,
    /// A dataset that may be complete and cannot be used, so that no older one may be used.
    pub unavailable: Option<Unavailable>,
}
