//! What the caches of one node hold.

use super::survey::redundancy_name;
use crate::cache::layout::{Layout, Place, filemap_rank, place};
use crate::format::filemap::Filemap;
use crate::format::{self, Dataset};
use crate::store::{Files, Kind};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

/// What a cache has of a dataset.
#[derive(Debug)]
pub struct Part {
    /// Completion records that can be read.
    pub maps: Vec<Filemap>,
    /// Names of redundancy files, with the number of their set.
    pub redundancy: Vec<(usize, String)>,
    /// Records that cannot be read.
    pub problems: Vec<Error>,
}

/// Reads the records of dataset `id` in a cache; `None` if it has nothing of it.
///
/// # Errors
/// A directory is not ours alone, or cannot be read.
pub fn part(files: &dyn Files, layout: &Layout, id: u64) -> Result<Option<Part>> {
    let meta = layout.meta(id);
    for dir in [layout.dataset(id), meta.clone()] {
        if files.stat(&dir)?.is_none_or(|s| s.kind != Kind::Directory) {
            return Ok(None);
        }
    }
    // They are there; this sees that each is ours, and no link.
    files.make_private_dirs(layout.base(), &layout.meta_below(id))?;
    let mut part = Part {
        maps: Vec::new(),
        redundancy: Vec::new(),
        problems: Vec::new(),
    };
    for name in files.list(&meta)? {
        let Some(name) = name.to_str() else { continue };
        if let Some((set, _)) = redundancy_name(name) {
            part.redundancy.push((set, name.to_string()));
        }
        let Some(rank) = filemap_rank(name) else {
            continue;
        };
        let path = meta.join(name);
        match format::read::<Filemap>(files, &path) {
            Ok(map) if map.rank == rank && map.dataset.id == id => part.maps.push(map),
            Ok(_) => part.problems.push(Error::Corrupt {
                path,
                what: "is the record of something else".to_string(),
            }),
            Err(error) => part.problems.push(error),
        }
    }
    Ok(Some(part))
}

/// A dataset of which a node has a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The dataset, as its records say, with its name.
    pub dataset: Dataset,
    /// Number of ranks that wrote it.
    pub ranks: usize,
    /// Those of which this node has the record.
    pub here: BTreeSet<usize>,
}

/// The datasets in the caches of one node, newest first, and the records that cannot be read.
/// Local.
///
/// # Errors
/// A directory is not ours alone, or cannot be read.
pub fn held(files: &dyn Files, caches: &[Layout]) -> Result<(Vec<Held>, Vec<Error>)> {
    let mut found: BTreeMap<(u64, u64), Held> = BTreeMap::new();
    let mut problems = Vec::new();
    for layout in caches {
        let names = match files.list(&layout.job()) {
            Err(error) if error.is_not_found() => continue,
            other => other?,
        };
        for name in names {
            let Some(Place::Dataset(id)) = name.to_str().and_then(place) else {
                continue;
            };
            let Some(part) = part(files, layout, id)? else {
                continue;
            };
            problems.extend(part.problems);
            for map in part.maps {
                let key = (map.dataset.id, map.dataset.created);
                let held = found.entry(key).or_insert_with(|| Held {
                    dataset: map.dataset,
                    ranks: map.ranks,
                    here: BTreeSet::new(),
                });
                held.here.insert(map.rank);
            }
        }
    }
    Ok((found.into_values().rev().collect(), problems))
}
