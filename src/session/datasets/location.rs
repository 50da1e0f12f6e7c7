//! The place of a dataset, and the number of ranks that wrote it.

use crate::config::descriptors::SchemeDescriptor;
use crate::session::run::Run;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The place of a dataset's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(usize, bool)", into = "(usize, bool)")]
pub(in crate::session) enum Location {
    /// The cache, in the store with this index.
    Cache(usize),
    /// The prefix directory (bypass). The dataset takes no room in the store with this index, and counts only among the
    /// other datasets that bypass this store.
    Bypass(usize),
}

impl Default for Location {
    fn default() -> Self {
        Location::Cache(0)
    }
}

/// In messages: the store, and whether it is bypassed.
impl From<(usize, bool)> for Location {
    fn from((store, bypass): (usize, bool)) -> Self {
        if bypass {
            Location::Bypass(store)
        } else {
            Location::Cache(store)
        }
    }
}

impl From<Location> for (usize, bool) {
    fn from(location: Location) -> Self {
        (location.store(), location.is_bypass())
    }
}

impl Location {
    /// The place of the datasets of a redundancy descriptor.
    pub fn of(descriptor: &SchemeDescriptor) -> Self {
        Location::from((descriptor.store, descriptor.bypass))
    }

    /// The index of the store against whose count it counts.
    pub fn store(self) -> usize {
        match self {
            Location::Cache(store) | Location::Bypass(store) => store,
        }
    }

    pub fn is_bypass(self) -> bool {
        matches!(self, Location::Bypass(_))
    }

    /// The directory of its store; in bypass, the prefix directory.
    pub fn base(self, run: &Run) -> &Path {
        match self {
            Location::Cache(store) => &run.descriptors.stores[store].dir,
            Location::Bypass(_) => run.prefix.root(),
        }
    }

    /// The directory of dataset `id` in the cache; in bypass, the prefix directory.
    pub fn directory(self, run: &Run, id: u64) -> PathBuf {
        match self {
            Location::Cache(store) => run.stores[store].layout.dataset(id),
            Location::Bypass(_) => run.prefix.root().to_path_buf(),
        }
    }

    /// The directory below which this rank's files of dataset `id` have the same relative paths as below the prefix
    /// directory.
    pub fn root(self, run: &Run, id: u64) -> PathBuf {
        match self {
            Location::Cache(store) => run.stores[store].layout.data(id, run.rank()),
            Location::Bypass(_) => run.prefix.root().to_path_buf(),
        }
    }
}

/// Tells whether as many ranks wrote a dataset as this run has. The same on all ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<u64>", into = "Option<u64>")]
pub(in crate::session) enum Writers {
    /// As many as this run has: each rank has files of its own.
    #[default]
    AsManyAsNow,
    /// Another number: no file belongs to a rank of this run.
    Others(u64),
}

/// In messages: the number, if it is another one.
impl From<Option<u64>> for Writers {
    fn from(others: Option<u64>) -> Self {
        others.map_or(Writers::AsManyAsNow, Writers::Others)
    }
}

impl From<Writers> for Option<u64> {
    fn from(writers: Writers) -> Self {
        match writers {
            Writers::AsManyAsNow => None,
            Writers::Others(ranks) => Some(ranks),
        }
    }
}

impl Writers {
    /// The value for a dataset that `ranks` ranks wrote.
    pub fn new(run: &Run, ranks: u64) -> Self {
        if ranks == run.comm.size() as u64 {
            Writers::AsManyAsNow
        } else {
            Writers::Others(ranks)
        }
    }

    /// True if no file belongs to a rank of this run.
    pub fn are_others(self) -> bool {
        matches!(self, Writers::Others(_))
    }

    /// Their number.
    pub fn count(self, run: &Run) -> u64 {
        match self {
            Writers::AsManyAsNow => run.comm.size() as u64,
            Writers::Others(ranks) => ranks,
        }
    }
}
