//! What the caches of one node hold.

use super::survey::redundancy_name;
use crate::cache::adopt::runs;
use crate::cache::layout::{Layout, Place, filemap_rank, level, place};
use crate::format::filemap::Filemap;
use crate::format::{self, Dataset};
use crate::store::{FileKind, Files};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What a cache has of a dataset, in one directory.
#[derive(Debug, Default)]
pub struct Part {
    /// Completion records that can be read.
    pub maps: Vec<Filemap>,
    /// Names of redundancy files, with the number of their set.
    pub redundancy: Vec<(usize, String)>,
    /// Records that cannot be read.
    pub problems: Vec<Error>,
}

/// Reads the records of dataset `id` in a job's cache: a part for each run and level of nodes
/// that there is, with the layout of that run at that level.
///
/// # Errors
/// A directory is not ours alone, or cannot be read.
pub fn parts(files: &dyn Files, layout: &Layout, id: u64) -> Result<Vec<(Layout, Part)>> {
    let mut parts = Vec::new();
    for run in runs(files, layout)? {
        parts.extend(parts_of_run(files, &run, id)?);
    }
    Ok(parts)
}

fn parts_of_run(files: &dyn Files, layout: &Layout, id: u64) -> Result<Vec<(Layout, Part)>> {
    let is_dir = |dir: PathBuf| -> Result<bool> {
        let stat = files.stat(&dir)?;
        Ok(stat.is_some_and(|stat| stat.kind == FileKind::Directory))
    };
    let mut parts = Vec::new();
    if !is_dir(layout.dataset(id))? {
        return Ok(parts);
    }
    for name in files.list(&layout.dataset(id))? {
        let Some(level) = name.to_str().and_then(level) else {
            continue;
        };
        let layout = layout.at(level);
        if is_dir(layout.parts(id))? && is_dir(layout.meta(id))? {
            // They are there; this sees that each is ours, and no link.
            files.make_private_dirs(layout.base(), &layout.meta_below(id))?;
            let part = read(files, &layout, id)?;
            parts.push((layout, part));
        }
    }
    Ok(parts)
}

fn read(files: &dyn Files, layout: &Layout, id: u64) -> Result<Part> {
    let meta = layout.meta(id);
    let mut part = Part::default();
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
    Ok(part)
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
    let mut all = Vec::new();
    for layout in caches {
        all.extend(runs(files, layout)?);
    }
    for layout in &all {
        for name in files.list(&layout.root())? {
            let Some(Place::Dataset(id)) = name.to_str().and_then(place) else {
                continue;
            };
            for (_, part) in parts_of_run(files, layout, id)? {
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
    }
    Ok((found.into_values().rev().collect(), problems))
}
