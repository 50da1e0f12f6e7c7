//! `.scr/flush.scr`: where the datasets in the cache are.

use super::dataset::Dataset;
use super::with::is_false;
use super::{Name, with};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The dataset is in the cache.
pub const CACHE: &str = "CACHE";
/// The dataset is complete in the prefix directory.
pub const PFS: &str = "PFS";
/// The dataset is being copied to the prefix directory in the background.
pub const FLUSHING: &str = "FLUSHING";
/// The dataset is being copied to the prefix directory while the program waits.
pub const SYNC_FLUSHING: &str = "SYNC_FLUSHING";
/// The last flush of the dataset has failed. Not in SCR v3.1.0.
pub const FLUSH_FAILED: &str = "FLUSH_FAILED";

/// The cached datasets. Commands read it to learn which datasets must be saved after a run.
///
/// ```text
///   DATASET
///     3
///       CKPT = 1
///       DSETDESC
///         CKPT = 3
///         ...
///       LOCATION
///         CACHE
///         PFS
///       NAME = ck.3
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FlushFile {
    /// Entries by dataset id.
    #[serde(rename = "DATASET", default, deserialize_with = "with::ids")]
    pub datasets: BTreeMap<u64, FlushEntry>,
}

/// A cached dataset. SCR v3.1.0 leaves out all but the places after a fetch or a rebuild; we
/// always write all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FlushEntry {
    /// The name of the dataset.
    #[serde(rename = "NAME")]
    pub name: Option<Name>,
    /// The places of the dataset: [`CACHE`], [`PFS`], [`FLUSHING`], [`SYNC_FLUSHING`], [`FLUSH_FAILED`].
    #[serde(rename = "LOCATION", default, with = "with::set")]
    pub locations: BTreeSet<Name>,
    /// True if it is a checkpoint.
    #[serde(rename = "CKPT", default, skip_serializing_if = "is_false")]
    pub ckpt: bool,
    /// True if it must come to the prefix directory in any case.
    #[serde(rename = "OUTPUT", default, skip_serializing_if = "is_false")]
    pub output: bool,
    /// The description of the dataset.
    #[serde(rename = "DSETDESC")]
    pub dataset: Option<Dataset>,
}

impl FlushEntry {
    /// The entry of a dataset that is in the cache and nowhere else.
    pub fn cached(dataset: Dataset) -> Self {
        FlushEntry {
            name: Some(dataset.name.clone()),
            locations: BTreeSet::from([CACHE.into()]),
            ckpt: dataset.is_checkpoint(),
            output: dataset.flag_output,
            dataset: Some(dataset),
        }
    }

    /// The name of the dataset, also where only the description has it.
    pub fn own_name(&self) -> Option<&Name> {
        let described = self.dataset.as_ref().map(|dataset| &dataset.name);
        self.name.as_ref().or(described)
    }

    /// True if it is at `place`.
    pub fn is_at(&self, place: &str) -> bool {
        self.locations.contains(&Name::from(place))
    }

    /// Sets the state of its flush: [`PFS`] or one of the last three places, in place of the one
    /// before; `None` if the prefix directory does not have it, and it is not being flushed.
    pub fn set_flush(&mut self, place: Option<&str>) {
        for other in [PFS, FLUSHING, SYNC_FLUSHING, FLUSH_FAILED] {
            self.locations.remove(&other.into());
        }
        self.locations.extend(place.map(Name::from));
    }

    /// True if its flush was begun and has not come to its end: it goes on, has failed, or its
    /// processes were killed.
    pub fn is_interrupted(&self) -> bool {
        let unfinished = [FLUSHING, SYNC_FLUSHING, FLUSH_FAILED];
        self.needs_flush() && unfinished.iter().any(|place| self.is_at(place))
    }

    /// True if the prefix directory lacks a part of it.
    pub fn needs_flush(&self) -> bool {
        !self.is_at(PFS)
    }
}
