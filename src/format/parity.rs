//! The header of a redundancy file.

use super::dataset::Dataset;
use super::filemap::Reddesc;
use super::files::RankFiles;
use super::with;
use serde::{Deserialize, Serialize};

/// The header before the blocks of parity or copies. The file holds all records that are needed to
/// rebuild this rank's left neighbours, whose own records may be lost. The keys are those of the SCR
/// developer guide, chapter XOR; `CRC`, `FURTHER` and `REDDESC` are additions.
///
/// ```text
///   CHUNK = 174766
///   CRC = 0x28eeb9e0
///   CURRENT
///     FILE
///       0
///         ...
///     FILES = 1
///     RANK = 3
///   DSET
///     ...
///   GROUP
///     RANK
///       0 = 0
///       1 = 1
///       2 = 2
///       3 = 3
///     RANKS = 4
///   PARTNER
///     FILE
///       0
///         ...
///     FILES = 1
///     RANK = 2
///   RANKS = 4
///   REDDESC
///     ...
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityHeader {
    /// Size of each of the blocks that follow the header, bytes. There is one for each left
    /// neighbour that is listed. 0 with PARTNER, where a block has the size of the neighbour's
    /// files together.
    #[serde(rename = "CHUNK")]
    pub chunk: u64,
    /// CRC32 of all blocks. Its width in the file is fixed, so a header can be written with
    /// 0 first and again once the checksum is known, without moving the blocks.
    #[serde(rename = "CRC", default, with = "with::crc")]
    pub crc: Option<u32>,
    /// Files of the rank that wrote this.
    #[serde(rename = "CURRENT")]
    pub current: RankFiles,
    /// The dataset.
    #[serde(rename = "DSET")]
    pub dataset: Dataset,
    /// Files of the neighbours further left, nearest first, where a set tolerates more than one
    /// loss.
    #[serde(rename = "FURTHER", default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<RankFiles>,
    /// World ranks in the order of the set.
    #[serde(rename = "GROUP")]
    pub group: Group,
    /// Files of its left neighbour in the set.
    #[serde(rename = "PARTNER")]
    pub partner: RankFiles,
    /// Ranks in the run.
    #[serde(rename = "RANKS")]
    pub ranks: usize,
    /// The redundancy descriptor of the rank that wrote this; [`Reddesc::of_member`] gives the left
    /// neighbour's.
    #[serde(rename = "REDDESC")]
    pub reddesc: Reddesc,
}

impl ParityHeader {
    /// The files of all left neighbours that are known here, nearest first.
    pub fn partners(&self) -> impl Iterator<Item = &RankFiles> {
        std::iter::once(&self.partner).chain(&self.further)
    }
}

/// The members of a set: `RANKS` and `RANK/<rank in set> = <world rank>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WireGroup", into = "WireGroup")]
pub struct Group(
    /// World ranks in the order of the set.
    pub Vec<usize>,
);

#[derive(Serialize, Deserialize)]
struct WireGroup {
    #[serde(rename = "RANKS")]
    count: usize,
    #[serde(rename = "RANK", default)]
    ranks: Vec<usize>,
}

impl From<Group> for WireGroup {
    fn from(Group(ranks): Group) -> Self {
        WireGroup {
            count: ranks.len(),
            ranks,
        }
    }
}

impl TryFrom<WireGroup> for Group {
    type Error = String;

    fn try_from(WireGroup { count, ranks }: WireGroup) -> Result<Self, String> {
        if count != ranks.len() {
            return Err(format!(
                "RANKS is {count}, but {} ranks are listed",
                ranks.len()
            ));
        }
        Ok(Group(ranks))
    }
}
