//! A rank's completion record of one dataset in the cache.
//!
//! A cached dataset is complete when the record of every rank exists. The checksum of the file detects
//! a record that was not completely written.

use super::Name;
use super::dataset::Dataset;
use super::files::RankFiles;
use super::rank2file::RankEntry;
use super::scheme::RecordedScheme;
use serde::{Deserialize, Serialize};

/// Name of a rank's completion record.
pub fn filemap_name(rank: usize) -> String {
    format!("filemap_{rank}")
}

/// The facts about one rank's part of a dataset that a restart needs.
///
/// ```text
///   BYPASS = 0
///   CURRENT
///     FILE
///       0
///         ...
///     FILES = 1
///     RANK = 3
///   DSET
///     ...
///   NODE = node3
///   PREFIX = /p/run1
///   PREFIX_ID = 5f0c3a9be27d4418.1234567
///   RANK = 3
///   RANKS = 4
///   REDDESC
///     ...
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filemap {
    /// True if the data are in the prefix directory and not in the cache.
    #[serde(rename = "BYPASS")]
    pub bypass: bool,
    /// Only in the prefix directory, in the record of a rank that was scavenged into containers: where
    /// its files are there.
    #[serde(rename = "CONTAINED", default, skip_serializing_if = "Option::is_none")]
    pub contained: Option<RankEntry>,
    /// This rank's files.
    #[serde(rename = "CURRENT")]
    pub files: RankFiles,
    /// The dataset, with totals over all ranks.
    #[serde(rename = "DSET")]
    pub dataset: Dataset,
    /// Node on which it was written.
    #[serde(rename = "NODE")]
    pub node: Name,
    /// The prefix directory of the run, with all links resolved. Needed because runs of one job share a
    /// cache; `None` where that does not matter.
    #[serde(rename = "PREFIX", default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Name>,
    /// The identity of the prefix directory, and the inode of its `.scr`; see [`identity`](super::identity).
    #[serde(rename = "PREFIX_ID", default, skip_serializing_if = "Option::is_none")]
    pub prefix_id: Option<Name>,
    /// World rank that wrote it.
    #[serde(rename = "RANK")]
    pub rank: usize,
    /// Ranks in the run.
    #[serde(rename = "RANKS")]
    pub ranks: usize,
    /// Its redundancy descriptor.
    #[serde(rename = "REDDESC")]
    pub reddesc: Reddesc,
}

/// The redundancy of a rank's files of a dataset.
///
/// ```text
///   GROUP = NODE
///   INTERVAL = 1
///   MEMBERS
///     0 = 0
///     1 = 2
///   SET_FAILURES = 1
///   SET_ID = 0
///   SET_RANK = 1
///   SET_SIZE = 8
///   STORE = /dev/shm
///   TYPE = XOR
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Reddesc {
    /// The scheme that was used, which may differ from the configured one.
    #[serde(rename = "TYPE")]
    pub scheme: RecordedScheme,
    /// Kind of failure group that no two members of a set share, such as `NODE`.
    pub group: Name,
    /// Number of the set: the lowest world rank in it.
    pub set_id: usize,
    /// This rank's place in `members`.
    pub set_rank: usize,
    /// World ranks in the order of the set.
    pub members: Vec<usize>,
    /// Least number of members asked for.
    pub set_size: usize,
    /// Losses that a set is to survive.
    pub set_failures: usize,
    /// The descriptor can be used for a checkpoint whose id is a multiple of this.
    pub interval: u64,
    /// Base of the store with the cache directory.
    pub store: Name,
}

impl Reddesc {
    /// The descriptor in the record of another member of the set.
    pub fn of_member(&self, set_rank: usize) -> Option<Reddesc> {
        self.members.get(set_rank)?;
        Some(Reddesc {
            set_rank,
            ..self.clone()
        })
    }
}

#[cfg(test)]
impl Filemap {
    /// The record of a run of one rank, without files.
    pub fn sample() -> Self {
        Filemap {
            bypass: false,
            contained: None,
            files: RankFiles::default(),
            dataset: Dataset::default(),
            node: "n".into(),
            prefix: None,
            prefix_id: None,
            rank: 0,
            ranks: 1,
            reddesc: Reddesc {
                scheme: super::Scheme::Single.into(),
                group: "NODE".into(),
                set_id: 0,
                set_rank: 0,
                members: vec![0],
                set_size: 1,
                set_failures: 0,
                interval: 1,
                store: "/s".into(),
            },
        }
    }
}
