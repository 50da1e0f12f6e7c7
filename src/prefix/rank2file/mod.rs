//! The rank2file: which rank wrote which files. The map is a tree of small files, so that no rank
//! reads or writes much more than a megabyte at once.
//!
//! The leaves are written first. One process cuts them ([`LeafCutter`]), or all ranks write them together
//! ([`write_leaves_together`]). The branches above them follow when all leaves are there. In a flush in the
//! background each part writes the branches that it is the last one below; see [`part`](super::part).

mod read;
mod renew;
mod together;
mod write;

pub use read::{for_each, for_each_shared, leaves_there, ranks, read, read_leaf, remove};
pub use renew::renew;
pub use together::{gather_leaf, write_leaves_together};
pub use write::{
    LeafCutter, RecordTarget, complete_branches, write_all, write_branches, write_leaves,
};

use crate::Result;
use crate::format::rank2file::{BASE, FileEntry, RankEntry, packed_size};
use crate::format::{Name, RankFiles};

/// The name of the file of this number at a level of the tree; leaves are at level 0.
pub fn file_name(level: u32, number: u64) -> String {
    format!("{BASE}.{level}.{number}")
}

/// The entry of a rank with these files, with the checksums that are known.
pub fn entry_of(list: &RankFiles) -> RankEntry {
    let files = list.files.iter();
    entry(files.map(|file| (file.file.clone(), file.size, file.crc)))
}

/// An entry made of paths with sizes and checksums.
pub fn entry(list: impl IntoIterator<Item = (Name, u64, Option<u32>)>) -> RankEntry {
    let files = list.into_iter().map(|(path, size, crc)| {
        (
            path,
            FileEntry {
                size: Some(size),
                crc,
                ..FileEntry::default()
            },
        )
    });
    RankEntry {
        count: None,
        files: files.collect(),
    }
}

/// The packed size of an entry with the checksums of all its files, bytes.
pub fn full_size(entry: &RankEntry) -> Result<u64> {
    let mut full = entry.clone();
    for file in full.files.values_mut() {
        file.crc.get_or_insert(u32::MAX);
    }
    packed_size(&full)
}
