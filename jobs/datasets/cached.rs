//! The datasets in the caches of one node, whatever job wrote them.

use scr_engine::cache::dataset;
use scr_engine::cache::earlier_runs::list_runs;
use scr_engine::cache::layout::{CacheEntry, Layout, rank_dir};
use scr_engine::format::{Dataset, RankFiles};
use scr_engine::redundancy::offline::DataLocation;
use scr_engine::scavenge::caches::records_of_run;
use scr_engine::scavenge::locations::parents;
use scr_engine::store::Files;
use scr_engine::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A dataset in the caches of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeDataset {
    /// The dataset, from one of its records.
    pub dataset: Dataset,
    /// Number of ranks that wrote it.
    pub ranks: usize,
    /// The ranks whose records are on this node.
    pub here: BTreeSet<usize>,
    /// The number of files of these ranks.
    pub files: u64,
    /// The number of these files whose checksum is recorded.
    pub checksums: u64,
}

/// The datasets in the caches of one node, newest first, and the reasons why records cannot be
/// used. Local.
///
/// # Errors
/// A directory is not private to the user, or cannot be read.
pub fn list_datasets(
    files: &dyn Files,
    caches: &[Layout],
) -> Result<(Vec<NodeDataset>, Vec<Error>)> {
    let mut found: BTreeMap<(u64, u64), NodeDataset> = BTreeMap::new();
    let mut problems = Vec::new();
    let mut all = Vec::new();
    for layout in caches {
        all.extend(list_runs(files, layout)?);
    }
    for layout in &all {
        for (_, entry) in dataset::entries(files, layout)? {
            let CacheEntry::Dataset(id) = entry else {
                continue;
            };
            for (_, records) in records_of_run(files, layout, id, &mut problems)? {
                for map in records.filemaps {
                    let key = (map.dataset.id, map.dataset.created);
                    let files = &map.files.files;
                    let checksums = files.iter().filter(|file| file.crc.is_some()).count();
                    let files = files.len();
                    let held = found.entry(key).or_insert_with(|| NodeDataset {
                        dataset: map.dataset,
                        ranks: map.ranks,
                        here: BTreeSet::new(),
                        files: 0,
                        checksums: 0,
                    });
                    if held.here.insert(map.rank) {
                        held.files += files as u64;
                        held.checksums += checksums as u64;
                    }
                }
            }
        }
    }
    Ok((found.into_values().rev().collect(), problems))
}

/// A dataset in a cache. Its files are in `rank_<r>` below its directory.
pub struct CacheLocation(
    /// The dataset's directory.
    pub PathBuf,
);

impl DataLocation for CacheLocation {
    fn directory(&self, rank: usize) -> PathBuf {
        self.0.join(rank_dir(rank))
    }

    fn check_names(&self, list: &RankFiles) -> Result<()> {
        let dir = self.directory(list.rank);
        let mut names = list.files.iter();
        names.try_for_each(|file| file.file.below(&dir).map(drop))
    }

    fn make_dirs(&self, files: &dyn Files, list: &RankFiles) -> Result<()> {
        let own = PathBuf::from(rank_dir(list.rank));
        let mut dirs = parents(list).into_iter();
        dirs.try_for_each(|dir| files.make_private_dirs(&self.0, &own.join(dir)))
    }

    fn sync(&self, _: &dyn Files, _: &RankFiles) -> Result<()> {
        // Files in a cache are never synced.
        Ok(())
    }
}
