//! The directory of one dataset in one store, from its creation to its deletion. A dataset exists
//! once its completion records are written, and disappears in one rename. So a killed process never
//! leaves something that looks like a dataset but is not.

use super::layout::{CacheEntry, Layout, cache_entry, filemap_rank, rank_of_dir};
use crate::format::filemap::Filemap;
use crate::redundancy::ParityFileName;
use crate::store::{Durability, FileKind, Files, retry};
use crate::{Result, format, redundancy};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Makes the directories of these ranks of a node. Deletes the files that an earlier attempt of theirs left
/// there, except files in a [common](Layout::is_common) directory, which are written over. One rank of the node
/// calls this for all of them: else each would look for the same directories. Local.
pub fn make_empty_directories(
    files: &dyn Files,
    layout: &Layout,
    id: u64,
    ranks: &[usize],
) -> Result<()> {
    if files.stat(&layout.dataset(id))?.is_some() {
        for rank in ranks {
            remove_earlier(files, layout, id, *rank)?;
        }
    }
    files.make_private_dirs(layout.base(), &layout.meta_below(id))?;
    let own = match ranks {
        [first, ..] if layout.is_common() => std::slice::from_ref(first),
        all => all,
    };
    own.iter()
        .try_for_each(|rank| files.make_private_dirs(layout.base(), &layout.data_below(id, *rank)))
}

/// Empties the directories of one rank, and makes them where they are missing. Local.
pub fn make_empty_directories_of(
    files: &dyn Files,
    layout: &Layout,
    id: u64,
    rank: usize,
) -> Result<()> {
    remove_earlier(files, layout, id, rank)?;
    make_directories(files, layout, id, rank)
}

/// Removes the files that an earlier attempt of a rank left of a dataset. Also removes other things than
/// directories that stand where the rank's directories will be.
fn remove_earlier(files: &dyn Files, layout: &Layout, id: u64, rank: usize) -> Result<()> {
    remove_non_directories(files, layout, id, rank)?;
    files.remove_tree(&layout.filemap(id, rank))?;
    if layout.is_common() {
        Ok(())
    } else {
        files.remove_tree(&layout.data(id, rank))
    }
}

/// Makes the directories of one rank where they are missing. Replaces anything else at these paths.
/// Local.
pub fn make_directories(files: &dyn Files, layout: &Layout, id: u64, rank: usize) -> Result<()> {
    remove_non_directories(files, layout, id, rank)?;
    files.make_private_dirs(layout.base(), &layout.meta_below(id))?;
    files.make_private_dirs(layout.base(), &layout.data_below(id, rank))
}

/// Removes links and files from the paths of one rank's directories, so that no later operation
/// follows a link.
fn remove_non_directories(files: &dyn Files, layout: &Layout, id: u64, rank: usize) -> Result<()> {
    for path in [
        layout.dataset(id),
        layout.parts(id),
        layout.meta(id),
        layout.data(id, rank),
    ] {
        let stat = files.stat(&path)?;
        if stat.is_some_and(|stat| stat.kind != FileKind::Directory) {
            // Another rank of this node may have made the directory meanwhile. Removing it then
            // fails, which is right.
            let _ = files.remove_file(&path);
        }
    }
    Ok(())
}

/// Undoes [`make_empty_directories`] for a dataset that could not be started. The last caller that uses
/// a directory also removes it. Local.
pub fn remove_directories(
    files: &dyn Files,
    layout: &Layout,
    id: u64,
    ranks: &[usize],
) -> Result<()> {
    for rank in ranks {
        if layout.is_common() {
            files.remove_dir(&layout.data(id, *rank))?;
        } else {
            files.remove_tree(&layout.data(id, *rank))?;
        }
    }
    for path in [layout.meta(id), layout.parts(id), layout.dataset(id)] {
        files.remove_dir(&path)?;
    }
    Ok(())
}

/// Writes one rank's completion record, after which its files count: all ranks have theirs, and these have the recorded
/// checksums if there are any. The redundancy file may be missing: a restart makes it again. Local.
pub fn write_record(files: &dyn Files, layout: &Layout, filemap: &Filemap) -> Result<()> {
    let path = layout.filemap(filemap.dataset.id, filemap.rank);
    format::write(files, &path, filemap, Durability::Synced)
}

/// Renames a dataset to trash. One rank per store calls this, and [`empty_trash`] later, which may
/// take long. Local.
pub fn discard(files: &dyn Files, layout: &Layout, id: u64) -> Result<()> {
    files.remove_tree(&layout.trash(id))?;
    rename(files, &layout.dataset(id), &layout.trash(id)).map(drop)
}

/// Moves the redundancy files of the discarded dataset `from` to dataset `to`, which is being
/// written and overwrites them under their temporary names ([`redundancy::temporary_name`]).
/// Returns their new paths. Files that cannot be moved stay in the trash. One rank per store calls
/// this, before any redundancy of `to` is written. Local.
pub fn recycle_redundancy(files: &dyn Files, layout: &Layout, from: u64, to: u64) -> Vec<PathBuf> {
    let old = layout.trash_meta(from);
    let names = files.list(&old).unwrap_or_default().into_iter();
    let parity_files = names.filter(|name| ParityFileName::parse(name).is_some());
    let moved = parity_files.filter_map(|name| {
        let recycled = layout.meta(to).join(redundancy::temporary_name(&name));
        files.rename(&old.join(name), &recycled).ok()?;
        Some(recycled)
    });
    moved.collect()
}

/// Renames an unusable dataset to quarantine, where it can be examined. Such a dataset is evicted
/// first when space is needed. Returns false if the dataset does not exist (any more). One rank per
/// store calls this. Local.
pub fn quarantine(files: &dyn Files, layout: &Layout, id: u64) -> Result<bool> {
    let to = layout.quarantine(id);
    match rename(files, &layout.dataset(id), &to) {
        // An earlier quarantined dataset is in the way. An earlier file is not removed before the
        // first attempt: two emulated nodes may share one directory, and must not delete each
        // other's new files.
        Err(_) if files.stat(&to)?.is_some() => {
            files.remove_tree(&to)?;
            rename(files, &layout.dataset(id), &to)
        }
        other => other,
    }
}

/// Returns false if `from` does not exist (any more).
pub(super) fn rename(files: &dyn Files, from: &Path, to: &Path) -> Result<bool> {
    match files.rename(from, to) {
        // Two emulated nodes may share one directory, and the other was first.
        Err(error) if error.is_not_found() => Ok(false),
        other => other.map(|()| true),
    }
}

/// Deletes everything that this run has in a store. One rank per store calls this. Local.
pub fn delete_all(files: &dyn Files, layout: &Layout) -> Result<()> {
    let mut entries = entries(files, layout)?.into_iter();
    entries.try_for_each(|(name, _)| files.remove_tree(&layout.root().join(name)))
}

/// The names that SCR uses in a run's directory; empty if the directory does not exist. Repeats
/// failed reads ([`retry`]). Local.
pub fn entries(files: &dyn Files, layout: &Layout) -> Result<Vec<(String, CacheEntry)>> {
    let names = match retry(|| files.list(&layout.root())) {
        Err(error) if error.is_not_found() => Vec::new(),
        other => other?,
    };
    let parse = |name: OsString| {
        let name = name.into_string().ok()?;
        cache_entry(&name).map(|entry| (name, entry))
    };
    Ok(names.into_iter().filter_map(parse).collect())
}

/// Deletes the datasets that [`discard`] renamed to trash. Local.
pub fn empty_trash(files: &dyn Files, layout: &Layout, id: u64) -> Result<()> {
    files.remove_tree(&layout.trash(id))
}

/// Moves a file or a directory of a dataset to the trash, which [`empty_trash`] deletes. Several
/// ranks may do so at once. Local.
pub fn move_to_trash(files: &dyn Files, layout: &Layout, id: u64, path: &Path) -> Result<()> {
    let trash = layout.trash(id);
    let below = trash.strip_prefix(layout.base()).unwrap_or(&trash);
    let moved = match path.file_name() {
        Some(name) => files
            .make_private_dirs(layout.base(), below)
            .and_then(|()| files.rename(path, &trash.join(name))),
        None => Ok(()),
    };
    match moved {
        Ok(()) => Ok(()),
        Err(error) if error.is_not_found() && files.stat(path)?.is_none() => Ok(()),
        // The thread of another rank may be deleting the trash at this moment.
        Err(_) => files.remove_tree(path),
    }
}

/// Moves the remains of killed restarts of a dataset that is now whole to the trash: files of ranks
/// without a completion record, and redundancy files that belong to no record. Returns true if
/// there were any. One rank per store calls this, after all records are written. Local.
pub fn discard_stray_files(files: &dyn Files, layout: &Layout, id: u64) -> Result<bool> {
    let (parts, meta) = (layout.parts(id), layout.meta(id));
    let (mut records, mut redundancy) = (BTreeSet::new(), BTreeSet::new());
    for name in files.list(&meta)? {
        if let Some(rank) = name.to_str().and_then(filemap_rank) {
            records.insert(rank);
        } else if ParityFileName::parse(redundancy::final_name(&name)).is_some() {
            redundancy.insert(meta.join(name));
        }
    }
    let names = files.list(&parts)?.into_iter();
    let dirs = names.filter(|name| {
        let rank = name.to_str().and_then(rank_of_dir);
        rank.is_some_and(|rank| !records.contains(&rank))
    });
    let mut strays: Vec<PathBuf> = dirs.map(|name| parts.join(name)).collect();
    // Each record has at most one redundancy file. So usually no record must be read.
    if redundancy.len() > records.len() {
        for rank in records {
            match format::read::<Filemap>(files, &layout.filemap(id, rank)) {
                Ok(map) => {
                    redundancy.remove(&redundancy_file(layout, &map).unwrap_or_default());
                }
                // Another rank has sent the files of this record away, and is moving them to the
                // trash.
                Err(error) if error.is_not_found() => {}
                // Without it, the redundancy file of this record is not known.
                Err(_) => redundancy.clear(),
            }
        }
        strays.extend(redundancy);
    }
    strays
        .iter()
        .try_for_each(|path| move_to_trash(files, layout, id, path))?;
    Ok(!strays.is_empty())
}

/// The redundancy file that belongs to a record; `None` if its scheme makes no such file. Local.
pub fn redundancy_file(layout: &Layout, filemap: &Filemap) -> Option<PathBuf> {
    redundancy::redundancy_file(&layout.meta(filemap.dataset.id), &filemap.reddesc)
}

/// The space that files at and below `path` take, bytes; see [`Stat::space`](crate::store::Stat::space)
/// for `block`. 0 if the path does not exist. Does not follow links. Local.
pub fn disk_usage(files: &dyn Files, path: &Path, block: u64) -> Result<u64> {
    let mut bytes = 0u64;
    let mut todo = vec![path.to_path_buf()];
    while let Some(path) = todo.pop() {
        match files.stat(&path)? {
            Some(stat) if stat.kind == FileKind::File => {
                bytes = bytes.saturating_add(stat.space(block));
            }
            Some(stat) if stat.kind == FileKind::Directory => {
                let names = files.list(&path)?.into_iter();
                todo.extend(names.map(|name| path.join(name)));
            }
            _ => {}
        }
    }
    Ok(bytes)
}

#[cfg(test)]
#[path = "dataset_tests.rs"]
mod tests;
