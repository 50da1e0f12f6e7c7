//! Reads the completion records that earlier runs of this job left in one node's stores.

use super::dataset;
use super::layout::{CacheEntry, Layout, filemap_rank, level};
use super::plan::{CachedRecord, Inventory, Slot, is_consistent};
use crate::format::Name;
use crate::format::filemap::Filemap;
use crate::format::identity::OwnPrefix;
use crate::redundancy::ParityFileName;
use crate::store::{FileKind, Files, retry};
use crate::{Error, Result, format};
use std::ffi::OsString;
use std::path::Path;

/// The records in one directory.
#[derive(Debug, Default)]
pub struct DirectoryRecords {
    /// Completion records.
    pub filemaps: Vec<Filemap>,
    /// Redundancy files; only their names are read.
    pub redundancy: Vec<(ParityFileName, OsString)>,
}

/// Reads the records in `meta_dir`; with `id`, only the records of that dataset. Reports completion
/// records that cannot be used in `problems`. Repeats failed reads ([`retry`]). Local.
///
/// # Errors
/// The directory cannot be read.
pub fn read_records(
    files: &dyn Files,
    meta_dir: &Path,
    id: Option<u64>,
    problems: &mut Vec<Error>,
) -> Result<DirectoryRecords> {
    let mut records = DirectoryRecords::default();
    for name in retry(|| files.list(meta_dir))? {
        if let Some(parsed) = ParityFileName::parse(&name) {
            records.redundancy.push((parsed, name));
            continue;
        }
        let Some(rank) = name.to_str().and_then(filemap_rank) else {
            continue;
        };
        let path = meta_dir.join(name);
        match format::read::<Filemap>(files, &path) {
            Ok(map) if map.rank == rank && id.is_none_or(|id| id == map.dataset.id) => {
                records.filemaps.push(map);
            }
            Ok(map) => {
                let (rank, id) = (map.rank, map.dataset.id);
                let what = format!("is the record of rank {rank} of dataset {id}");
                problems.push(Error::corrupt(path, what));
            }
            Err(error) => problems.push(error),
        }
    }
    Ok(records)
}

/// The layouts of all levels of nodes at which dataset `id` has a directory with records. Anything
/// but a directory at these paths is reported in `problems`. Local.
pub fn levels(
    files: &dyn Files,
    layout: &Layout,
    id: u64,
    problems: &mut Vec<Error>,
) -> Result<Vec<Layout>> {
    let mut is_directory = |path: &Path| -> Result<bool> {
        let kind = retry(|| files.stat(path))?.map(|stat| stat.kind);
        if kind.is_some_and(|kind| kind != FileKind::Directory) {
            problems.push(Error::corrupt(path, "is not a directory"));
        }
        Ok(kind == Some(FileKind::Directory))
    };
    let mut levels = Vec::new();
    if !is_directory(&layout.dataset(id))? {
        return Ok(levels);
    }
    for name in retry(|| files.list(&layout.dataset(id)))? {
        if let Some(level) = name.to_str().and_then(level) {
            let layout = layout.at(level);
            // The level is checked first, so that no link is followed.
            if is_directory(&layout.parts(id))? && is_directory(&layout.meta(id))? {
                levels.push(layout);
            }
        }
    }
    Ok(levels)
}

/// Reads the completion records in `stores` (index and layout of each store that the calling rank
/// leads), empties their trash, and deletes the copies of a killed restart. `prefix` is the prefix directory of this run. Damaged records,
/// and files in the place of directories, are left out and described in the notes. Data files are
/// not read. Repeats failed reads ([`retry`]). Local.
///
/// # Errors
/// A directory cannot be read. The directory may hold whole datasets, so the caller must not go on
/// as if they were lost.
pub fn read(
    files: &dyn Files,
    prefix: &OwnPrefix,
    stores: &[(usize, &Layout)],
) -> Result<Inventory> {
    let mut inventory = Inventory::default();
    for &(store, layout) in stores {
        for (name, entry) in dataset::entries(files, layout)? {
            match entry {
                CacheEntry::Dataset(id) => {
                    let slot = Slot { store, id };
                    inventory.present.push(slot);
                    inventory.add_dataset(files, prefix, layout, slot)?;
                }
                CacheEntry::Quarantine(id) => inventory.quarantined.push(Slot { store, id }),
                CacheEntry::Trash(id) => {
                    inventory.evicted.push(id);
                    let removed = dataset::empty_trash(files, layout, id);
                    inventory.notes.extend(removed.err().map(note));
                }
                CacheEntry::Restart => {
                    let removed = files.remove_tree(&layout.root().join(name));
                    inventory.notes.extend(removed.err().map(note));
                }
            }
        }
    }
    Ok(inventory)
}

fn note(what: impl std::fmt::Display) -> Name {
    what.to_string().as_str().into()
}

/// The records of dataset `id` in one store, as [`read`] gives them. Local.
pub fn read_dataset(
    files: &dyn Files,
    prefix: &OwnPrefix,
    layout: &Layout,
    id: u64,
) -> Result<Inventory> {
    let mut inventory = Inventory::default();
    inventory.add_dataset(files, prefix, layout, Slot { store: 0, id })?;
    Ok(inventory)
}

impl Inventory {
    /// Adds the records of a dataset in a store. Local.
    fn add_dataset(
        &mut self,
        files: &dyn Files,
        prefix: &OwnPrefix,
        layout: &Layout,
        slot: Slot,
    ) -> Result<()> {
        let mut problems = Vec::new();
        for layout in levels(files, layout, slot.id, &mut problems)? {
            let meta = layout.meta(slot.id);
            let records = read_records(files, &meta, Some(slot.id), &mut problems)?;
            for map in records.filemaps {
                let rank = map.rank;
                let cached = CachedRecord {
                    store: slot.store,
                    level: layout.level(),
                    ..CachedRecord::new(map, prefix)
                };
                if is_consistent(&cached) {
                    self.records.push(cached);
                } else {
                    let path = layout.filemap(slot.id, rank);
                    problems.push(Error::corrupt(path, "describes an invalid redundancy set"));
                }
            }
        }
        if problems.iter().any(Error::is_transient) {
            self.unread.push(slot);
        }
        let notes = problems
            .iter()
            .map(|error| note(format!("{error}; ignored")));
        self.notes.extend(notes);
        Ok(())
    }
}
