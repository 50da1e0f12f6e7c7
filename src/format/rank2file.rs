//! `.scr/scr.dataset.<id>/rank2file*`: which rank reads which files of a flushed dataset.
//!
//! The map may be too large for one process, so it is a tree of files: the top one,
//! `rank2file`, is always a [`Branch`]; below are further branches and, at level 0, leaves
//! with the names of files. A child's name is `rank2file` and the suffix in its entry,
//! `.<level>.<writer>`. Readers must accept any split and depth.

use super::{Name, Tree, file, from_tree, to_message, with};
use crate::store::Files;
use crate::system::size::scaled;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the top file, and the first part of the names of all others.
pub const BASE: &str = "rank2file";

/// About as many bytes of packed entries go in one file.
const SPLIT: usize = 1 << 20;

/// One file of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rank2File {
    /// Refers to other files.
    Branch(Branch),
    /// Names files of ranks.
    Leaf(Leaf),
}

impl Rank2File {
    /// Reads a file of either kind.
    pub fn read(files: &dyn Files, path: &Path) -> Result<Self> {
        let tree = file::read_tree(files, path)?;
        Rank2File::from_tree(&tree).map_err(|e| file::in_record(path, e))
    }

    /// Reads either kind: level 0 is a leaf.
    pub fn from_tree(tree: &Tree) -> Result<Self> {
        #[derive(Deserialize)]
        struct LevelOnly {
            #[serde(rename = "LEVEL")]
            level: u32,
        }
        match from_tree::<LevelOnly>(tree)?.level {
            0 => Ok(Rank2File::Leaf(from_tree(tree)?)),
            _ => Ok(Rank2File::Branch(from_tree(tree)?)),
        }
    }
}

/// A file that refers to others.
///
/// ```text
///   LEVEL = 1
///   RANK
///     0
///       FILE = .0.0
///       OFFSET = 0
///   RANKS = 4
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// 1 above the leaves, 2 above that.
    #[serde(rename = "LEVEL")]
    pub level: u32,
    /// Ranks in the dataset.
    #[serde(rename = "RANKS")]
    pub ranks: u64,
    /// Files below, by the rank that wrote each.
    #[serde(rename = "RANK", default, deserialize_with = "with::ids")]
    pub children: BTreeMap<u64, BranchChild>,
}

impl Branch {
    /// A branch at `level` of a dataset of `ranks` ranks, above the files of these writers.
    pub fn new(level: u32, ranks: u64, writers: impl IntoIterator<Item = u64>) -> Self {
        let child = |writer| (writer, BranchChild::new(level.saturating_sub(1), writer));
        Branch {
            level,
            ranks,
            children: writers.into_iter().map(child).collect(),
        }
    }
}

/// A reference to a file below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchChild {
    /// Suffix of its name. Untrusted when read: use [`BranchChild::file`].
    #[serde(rename = "FILE")]
    pub suffix: Name,
    /// Always 0. Readers must not use it.
    #[serde(rename = "OFFSET", default)]
    pub offset: u64,
}

impl BranchChild {
    /// The file that `writer` writes at `level`.
    pub fn new(level: u32, writer: u64) -> Self {
        BranchChild {
            suffix: format!(".{level}.{writer}").into(),
            offset: 0,
        }
    }

    /// The file, which is in the directory of the file that refers to it.
    ///
    /// # Errors
    /// The suffix is not `.<level>.<writer>`, or the level is not below `above`. So a reader stays in
    /// the directory and never reads in a circle.
    pub fn file(&self, above: u32) -> Result<TreeFile> {
        let parse = || {
            let suffix = self.suffix.as_str()?;
            let (level, writer) = suffix.strip_prefix('.')?.split_once('.')?;
            let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
            let level = level
                .parse()
                .ok()
                .filter(|&l: &u32| l < above && digits(level))?;
            let writer = writer.parse().ok().filter(|_| digits(writer))?;
            let name = format!("{BASE}{suffix}");
            Some(TreeFile {
                name,
                level,
                writer,
            })
        };
        parse().ok_or_else(|| {
            let what = format!(
                "`{}` is not the suffix of a file below level {above}",
                self.suffix
            );
            Error::format(0, what)
        })
    }
}

/// A file of the tree, as the suffix of its name describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// The name of the file.
    pub name: String,
    /// The level of the file.
    pub level: u32,
    /// The rank that wrote it.
    pub writer: u64,
}

/// A file that names files of ranks.
///
/// ```text
///   LEVEL = 0
///   RANK
///     0
///       FILE
///         ck.1/rank_0.dat
///           CRC = 0x6697d4ef
///           SIZE = 524294
///   RANKS = 4
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaf {
    /// 0.
    #[serde(rename = "LEVEL")]
    pub level: u32,
    /// Ranks in the dataset; after a rebuild by SCR v3.1.0, in this file.
    #[serde(rename = "RANKS")]
    pub ranks: u64,
    /// Entries by rank.
    #[serde(rename = "RANK", default, deserialize_with = "with::ids")]
    pub entries: BTreeMap<u64, RankEntry>,
}

impl Leaf {
    /// A leaf of a dataset of `ranks` ranks.
    pub fn new(ranks: u64, entries: BTreeMap<u64, RankEntry>) -> Self {
        Leaf {
            level: 0,
            ranks,
            entries,
        }
    }
}

/// The files of one rank.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RankEntry {
    /// Expected number of files; only in rebuilt datasets.
    #[serde(rename = "FILES")]
    pub count: Option<u64>,
    /// Keyed by path relative to the prefix directory. Untrusted when read: use [`Name::below`].
    #[serde(rename = "FILE", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<Name, FileEntry>,
}

/// Size and checksum of a file, and where it is if it is in containers, as the SCR developer guide
/// prints them. SCR v3.1.0 does not write them. It ignores size and checksum, and cannot read
/// containers.
///
/// ```text
///   ATTR
///     MODE = 384
///     MTIME_NSECS = 0
///     MTIME_SECS = 1795221727
///   CRC = 0x6697d4ef
///   SEG
///     0
///       FILE = ctr.1.scr
///       LENGTH = 75705
///       OFFSET = 224295
///     1
///       FILE = ctr.2.scr
///       LENGTH = 300000
///       OFFSET = 0
///   SIZE = 375705
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileEntry {
    /// Size, bytes.
    #[serde(rename = "SIZE")]
    pub size: Option<u64>,
    /// CRC32 of the content.
    #[serde(rename = "CRC", default, with = "with::crc")]
    pub crc: Option<u32>,
    /// Only in containers: the attributes that a plain file has by itself.
    #[serde(rename = "ATTR")]
    pub attributes: Option<Attributes>,
    /// Only in containers: the pieces of the content in order; empty for a file without content.
    #[serde(rename = "SEG")]
    pub segments: Option<Vec<Segment>>,
}

/// Mode and time of a file in containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Attributes {
    /// Permissions, as in `st_mode`.
    pub mode: u32,
    /// Last change of the content: seconds since the epoch.
    pub mtime_secs: i64,
    /// Nanoseconds.
    pub mtime_nsecs: u32,
}

/// A piece of a file in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Segment {
    /// Path of the container, relative to the dataset's directory. Untrusted when read: use
    /// [`Name::below`].
    #[serde(rename = "FILE")]
    pub container: Name,
    /// Bytes.
    pub length: u64,
    /// Offset of the first byte in the container.
    pub offset: u64,
}

/// Bytes of an entry, as [`starts_group`] counts them.
pub fn packed_size(entry: &impl Serialize) -> Result<u64> {
    Ok(to_message(entry)?.len() as u64)
}

/// True if an entry begins a new file. `first`: it is the first of all entries; `begin`: sum of the
/// packed sizes of all entries before it; `size`: its own packed size; in bytes. So a file has at most
/// about a megabyte more than its first entry.
///
/// SCR v3.1.0 does not begin a file with an entry that begins at a multiple of a megabyte, so that its
/// files have no limit if all entries have the same size, a power of two.
pub fn starts_group(first: bool, begin: u64, size: u64) -> bool {
    let last = begin.saturating_add(size).saturating_sub(1);
    let split = scaled(SPLIT) as u64;
    first || begin.saturating_sub(1) / split != last / split
}

/// True if all entries are in one file. `total`: sum of their packed sizes.
pub fn fits_in_one(total: u64) -> bool {
    total <= scaled(SPLIT) as u64
}

/// For each rank the rank that writes its entry, from the packed sizes of all entries.
pub fn leaf_writers(packed_sizes: &[u64]) -> Vec<usize> {
    let mut begin = 0u64;
    let mut writer = 0;
    let mut writers = Vec::with_capacity(packed_sizes.len());
    for (rank, &size) in packed_sizes.iter().enumerate() {
        if starts_group(rank == 0, begin, size) {
            writer = rank;
        }
        writers.push(writer);
        begin = begin.saturating_add(size);
    }
    writers
}

/// The branch files above leaves written by the ranks `leaves` (ascending): for each level
/// from 1 up the writers and their files. The last level has one file, [`BASE`] itself.
pub fn branches(ranks: u64, leaves: &[u64]) -> Result<Vec<BTreeMap<u64, Branch>>> {
    let mut levels = Vec::new();
    let mut below = leaves.to_vec();
    for level in 1.. {
        let children = below.iter().map(|&w| BranchChild::new(level - 1, w));
        let sizes = children.map(|child| packed_size(&child));
        let sizes = sizes.collect::<Result<Vec<u64>>>()?;
        let groups = leaf_writers(&sizes);
        let mut writers = BTreeMap::<u64, Vec<u64>>::new();
        for (&writer, group) in below.iter().zip(groups) {
            if let Some(&first) = below.get(group) {
                writers.entry(first).or_default().push(writer);
            }
        }
        let branch = |(first, below)| (first, Branch::new(level, ranks, below));
        let files: BTreeMap<u64, Branch> = writers.into_iter().map(branch).collect();
        below = files.keys().copied().collect();
        levels.push(files);
        if below.len() <= 1 {
            break;
        }
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPLIT: u64 = super::SPLIT as u64;

    #[test]
    fn leaves_split_as_in_the_c_library() {
        assert_eq!(leaf_writers(&[260_000; 4]), [0, 0, 0, 0]);
        assert_eq!(leaf_writers(&[520_000; 4]), [0, 0, 2, 2]);
        assert_eq!(leaf_writers(&[1_700_000; 4]), [0, 1, 2, 3]);
        assert_eq!(leaf_writers(&[1, SPLIT, 0, 1, 0]), [0, 1, 1, 1, 1]);
        assert_eq!(leaf_writers(&[]), [] as [usize; 0]);
    }

    #[test]
    fn no_leaf_goes_on_without_limit() {
        assert_eq!(leaf_writers(&[0, SPLIT, 0, 1, 0]), [0, 0, 0, 3, 3]);
        let writers = leaf_writers(&[SPLIT / 2; 7]);
        assert_eq!(writers, [0, 0, 2, 2, 4, 4, 6]);
    }

    #[test]
    fn one_leaf_has_one_branch_above() {
        let levels = branches(4, &[0]).unwrap();
        let top = Branch::new(1, 4, [0]);
        assert_eq!(levels, [BTreeMap::from([(0, top)])]);
    }

    #[test]
    fn many_leaves_have_two_levels_above() {
        let leaves: Vec<u64> = (0..40_000).collect();
        let levels = branches(40_000, &leaves).unwrap();
        assert_eq!(levels.len(), 2);
        let lower: usize = levels[0].values().map(|b| b.children.len()).sum();
        assert_eq!(lower, 40_000);
        assert!(levels[0].len() > 1);
        assert_eq!(levels[1].len(), 1);
        let top = &levels[1][&0];
        assert_eq!(top.level, 2);
        let file = top.children[&0].file(2).unwrap();
        assert_eq!((file.name.as_str(), file.level), ("rank2file.1.0", 1));
    }

    #[test]
    fn a_suffix_leads_down_and_nowhere_else() {
        let file = |suffix: &str| {
            BranchChild {
                suffix: suffix.into(),
                offset: 0,
            }
            .file(2)
            .ok()
        };
        let found = TreeFile {
            name: "rank2file.0.17".into(),
            level: 0,
            writer: 17,
        };
        assert_eq!(file(".0.17"), Some(found));
        for bad in [
            "",
            ".",
            ".0",
            ".0.",
            "..0",
            ".2.0",
            ".0.x",
            ".0.0/../../../x",
            ".+0.0",
            "x.0.0",
        ] {
            assert_eq!(file(bad), None, "{bad}");
        }
    }
}
