//! The datasets in the caches of one node.

use crate::cache::dataset;
use crate::cache::earlier_runs::list_runs;
use crate::cache::inventory::{DirectoryRecords, levels, read_records};
use crate::cache::layout::{CacheEntry, Layout};
use crate::format::Dataset;
use crate::store::Files;
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Reads the records of dataset `id` in a job's cache: one entry for each run and level of nodes
/// that has some, with the layout of that run at that level. Records that cannot be used are
/// reported in `problems`. Local.
///
/// # Errors
/// A directory is not private to the user, or cannot be read.
pub fn records(
    files: &dyn Files,
    layout: &Layout,
    id: u64,
    problems: &mut Vec<Error>,
) -> Result<Vec<(Layout, DirectoryRecords)>> {
    let mut all = Vec::new();
    for run in list_runs(files, layout)? {
        all.extend(records_of_run(files, &run, id, problems)?);
    }
    Ok(all)
}

fn records_of_run(
    files: &dyn Files,
    layout: &Layout,
    id: u64,
    problems: &mut Vec<Error>,
) -> Result<Vec<(Layout, DirectoryRecords)>> {
    let levels = levels(files, layout, id, problems)?.into_iter();
    let read = |layout: Layout| {
        // The directory exists. This checks that it is private to the user, and not behind a link.
        files.make_private_dirs(layout.base(), &layout.meta_below(id))?;
        let records = read_records(files, &layout.meta(id), Some(id), problems)?;
        Ok((layout, records))
    };
    levels.map(read).collect()
}

/// A dataset in the caches of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeDataset {
    /// The dataset, from one of its records.
    pub dataset: Dataset,
    /// Number of ranks that wrote it.
    pub ranks: usize,
    /// The ranks whose records are on this node.
    pub here: BTreeSet<usize>,
    /// The number of their files.
    pub files: u64,
    /// Of how many of them the checksum is recorded.
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
