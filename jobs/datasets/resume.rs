//! Resumes a killed flush, on one node and without MPI: copies the files that are in the caches of this
//! node and not recorded in the prefix directory.
//!
//! As in a flush, the leaves of the rank2file record which files are there. A resumed part does not know
//! which part of the flush it was. So it names its leaves otherwise: after the number of ranks plus their
//! first rank, which no leaf of a flush has.

use scr_engine::format::filemap::Filemap;
use scr_engine::format::rank2file::RankEntry;
use scr_engine::format::summary::Summary;
use scr_engine::format::{self, Dataset};
use scr_engine::prefix::finish::{self, Time};
use scr_engine::prefix::flush_target::{FlushTarget, TargetDirs};
use scr_engine::prefix::part::Copied;
use scr_engine::prefix::{index, rank2file};
use scr_engine::transfer::copy::Copier;
use scr_engine::transfer::sync::Unsynced;
use scr_engine::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The result of a resumed flush.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// The files and bytes that were copied now.
    pub copied: Copied,
    /// The ranks whose files are not in the prefix directory. If no file is missing, the dataset is
    /// complete.
    pub missing: Vec<usize>,
}

/// Copies the files of `parts`, the completion records of ranks with the directories of their files in the
/// caches, as far as the prefix directory has no record of them. Completes the dataset if all ranks are
/// there. The caller must see to it that the run and its copies have ended. Local.
///
/// # Errors
/// No flush of this dataset has begun, or a file cannot be copied. Unrecorded copies do not count; the
/// command may be repeated.
pub fn resume(
    target: &FlushTarget,
    copier: &mut Copier,
    dataset: &Dataset,
    parts: Vec<(Filemap, PathBuf)>,
    time: Time,
) -> Result<Resumed> {
    let (files, prefix) = (target.files, target.prefix);
    let dir = prefix.dataset(dataset.id);
    if !has_begun(target, &dir, dataset)? {
        let what = "no flush of it has begun; `scr postrun` saves it from the caches";
        return Err(Error::dataset(dataset.id, dataset.name.to_string(), what));
    }
    let there = recorded(target, &dir)?;
    let mut copied = Copied::default();
    let mut entries: BTreeMap<u64, RankEntry> = BTreeMap::new();
    let (mut ranks, mut unsynced) = (there.total, false);
    let mut dirs = TargetDirs::default();
    for (mut map, data) in parts {
        if there.ranks.contains(&(map.rank as u64)) || !finish::is_same(&map.dataset, dataset) {
            continue;
        }
        let (entry, left) = target.copy_rank(copier, &mut map.files, &data, &mut dirs)?;
        unsynced |= left == Unsynced::FileSystem;
        copied.files += map.files.files.len() as u64;
        copied.bytes += map.files.files.iter().map(|file| file.size).sum::<u64>();
        ranks = ranks.or(Some(map.ranks as u64));
        entries.insert(map.rank as u64, entry);
    }
    if unsynced {
        files.sync_fs(prefix.root())?;
    }
    dirs.sync(files)?;
    let ranks = ranks.unwrap_or(0);
    // A second call on this node may have copied and recorded the same ranks meanwhile.
    let _lock = index::lock(files, &dir)?;
    let mut there = recorded(target, &dir)?;
    entries.retain(|rank, _| !there.ranks.contains(rank));
    there.ranks.extend(entries.keys());
    rank2file::write_leaves(files, &dir, ranks, entries, |first| {
        ranks.saturating_add(first)
    })?;
    let missing = (0..ranks).filter(|rank| !there.ranks.contains(rank));
    let missing: Vec<usize> = missing.map(|rank| rank as usize).collect();
    if missing.is_empty() && finish::finish(files, prefix, dataset, time)?.is_none() {
        let what = "is not what the flush has announced, or has no entry in the index any more";
        return Err(Error::dataset(dataset.id, dataset.name.to_string(), what));
    }
    Ok(Resumed { copied, missing })
}

/// True if a flush of this very dataset was announced.
fn has_begun(target: &FlushTarget, dir: &Path, dataset: &Dataset) -> Result<bool> {
    match format::read::<Summary>(target.files, &dir.join("summary.scr")) {
        Err(error) if error.is_not_found() => Ok(false),
        other => Ok(finish::is_same(&other?.dataset, dataset)),
    }
}

/// The ranks that leaves of the rank2file name.
struct Recorded {
    ranks: BTreeSet<u64>,
    /// The number of ranks of the dataset, if there is a leaf.
    total: Option<u64>,
}

fn recorded(target: &FlushTarget, dir: &Path) -> Result<Recorded> {
    let mut there = Recorded {
        ranks: BTreeSet::new(),
        total: None,
    };
    for name in rank2file::leaves_there(target.files, dir)? {
        let leaf = rank2file::read_leaf(target.files, dir, &name)?;
        there.total = Some(leaf.ranks);
        there.ranks.extend(leaf.entries.keys());
    }
    Ok(there)
}
