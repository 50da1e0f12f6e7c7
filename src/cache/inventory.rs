//! Looks through one node's stores for what earlier runs of this job left there.

use super::layout::{Layout, Place, filemap_rank, level, place};
use super::plan::{Held, Inventory, Slot, sound};
use crate::format::Name;
use crate::format::filemap::Filemap;
use crate::store::{FileKind, Files, retry};
use crate::{Result, format};
use std::path::Path;

/// Reads the completion records in `stores` (index and directory of each store that the
/// calling rank leads) and clears away what was being deleted; `prefix` is the directory of this
/// run. Damaged records, and what has the name of a dataset or record and is none, are left out
/// and noted; data files are not looked at. What cannot be read is tried again ([`retry`]). Local.
///
/// # Errors
/// A directory cannot be read: what lies there may be whole, so to go on as if it were lost
/// would be wrong.
pub fn read(files: &dyn Files, prefix: &Path, stores: &[(usize, &Layout)]) -> Result<Inventory> {
    let mut inventory = Inventory::default();
    for &(store, layout) in stores {
        for name in list(files, layout)? {
            match place(&name) {
                Some(Place::Dataset(id)) => {
                    let slot = Slot { store, id };
                    inventory.present.push(slot);
                    read_dataset(files, prefix, layout, slot, &mut inventory)?;
                }
                Some(Place::Quarantine(id)) => inventory.quarantined.push(Slot { store, id }),
                Some(Place::Trash(id)) => {
                    let removed = super::dataset::empty_trash(files, layout, id);
                    inventory.notes.extend(removed.err().map(note));
                }
                None => {}
            }
        }
    }
    Ok(inventory)
}

fn note(what: impl std::fmt::Display) -> Name {
    what.to_string().as_str().into()
}

/// All records of dataset `id` in a store, as [`read`] finds them. Local.
pub fn records(files: &dyn Files, prefix: &Path, layout: &Layout, id: u64) -> Result<Inventory> {
    let mut inventory = Inventory::default();
    read_dataset(files, prefix, layout, Slot { store: 0, id }, &mut inventory)?;
    Ok(inventory)
}

fn list(files: &dyn Files, layout: &Layout) -> Result<Vec<String>> {
    let names = match retry(|| files.list(&layout.root())) {
        Err(error) if error.is_not_found() => Vec::new(),
        other => other?,
    };
    Ok(names
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect())
}

/// All records of a dataset, at whatever level they lie.
fn read_dataset(
    files: &dyn Files,
    prefix: &Path,
    layout: &Layout,
    slot: Slot,
    inventory: &mut Inventory,
) -> Result<()> {
    if !is_directory(files, &layout.dataset(slot.id), inventory)? {
        return Ok(());
    }
    for name in retry(|| files.list(&layout.dataset(slot.id)))? {
        if let Some(level) = name.to_str().and_then(level) {
            read_records(files, prefix, &layout.at(level), slot, inventory)?;
        }
    }
    Ok(())
}

/// Whether it is one; what has the name of one and is none is noted.
fn is_directory(files: &dyn Files, path: &Path, inventory: &mut Inventory) -> Result<bool> {
    match retry(|| files.stat(path))?.map(|stat| stat.kind) {
        None => Ok(false),
        Some(FileKind::Directory) => Ok(true),
        Some(_) => {
            let what = format!("{} is not a directory; ignored", path.display());
            inventory.notes.push(note(what));
            Ok(false)
        }
    }
}

fn read_records(
    files: &dyn Files,
    prefix: &Path,
    layout: &Layout,
    slot: Slot,
    inventory: &mut Inventory,
) -> Result<()> {
    // The level first: nothing is looked at beyond a link.
    for path in [layout.parts(slot.id), layout.meta(slot.id)] {
        if !is_directory(files, &path, inventory)? {
            return Ok(());
        }
    }
    for name in retry(|| files.list(&layout.meta(slot.id)))? {
        let Some(rank) = name.to_str().and_then(filemap_rank) else {
            continue;
        };
        let path = layout.meta(slot.id).join(&name);
        let held = retry(|| format::read::<Filemap>(files, &path)).map(|map| Held {
            store: slot.store,
            level: layout.level(),
            rank: map.rank,
            ranks: map.ranks,
            dataset: map.dataset,
            reddesc: map.reddesc,
            other: map.prefix.filter(|of| of.as_path() != prefix),
        });
        match held {
            Ok(held) if held.rank == rank && held.dataset.id == slot.id && sound(&held) => {
                inventory.held.push(held);
            }
            Ok(_) => inventory.notes.push(note(format!(
                "{} is the record of something else; ignored",
                path.display()
            ))),
            Err(error) => {
                if error.is_transient() && !inventory.unread.contains(&slot) {
                    inventory.unread.push(slot);
                }
                inventory.notes.push(note(format!("{error}; ignored")));
            }
        }
    }
    Ok(())
}
