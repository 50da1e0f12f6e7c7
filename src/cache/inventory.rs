//! Looks through one node's stores for what earlier runs of this job left there.

use super::layout::{Layout, Place, filemap_rank, place};
use super::plan::{Held, Inventory, Slot, sound};
use crate::format::filemap::Filemap;
use crate::store::Files;
use crate::{Result, format};

/// Reads the completion records in `stores` (index and directory of each store that the
/// calling rank leads) and clears away what was being deleted. Damaged records are left out
/// and noted; data files are not looked at. Local.
pub fn read(files: &dyn Files, stores: &[(usize, &Layout)]) -> Result<Inventory> {
    let mut inventory = Inventory::default();
    for &(store, layout) in stores {
        for name in list(files, layout)? {
            match place(&name) {
                Some(Place::Dataset(id)) => {
                    inventory.present.push(Slot { store, id });
                    read_dataset(files, layout, Slot { store, id }, &mut inventory)?;
                }
                Some(Place::Quarantine(id)) => inventory.quarantined.push(Slot { store, id }),
                Some(Place::Trash(id)) => files.remove_tree(&layout.trash(id))?,
                None => {}
            }
        }
    }
    Ok(inventory)
}

fn list(files: &dyn Files, layout: &Layout) -> Result<Vec<String>> {
    let names = match files.list(&layout.job()) {
        Err(error) if error.is_not_found() => Vec::new(),
        other => other?,
    };
    Ok(names
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect())
}

fn read_dataset(
    files: &dyn Files,
    layout: &Layout,
    slot: Slot,
    inventory: &mut Inventory,
) -> Result<()> {
    let names = match files.list(&layout.meta(slot.id)) {
        Err(error) if error.is_not_found() => return Ok(()),
        other => other?,
    };
    for name in names {
        let Some(rank) = name.to_str().and_then(filemap_rank) else {
            continue;
        };
        let path = layout.meta(slot.id).join(&name);
        let held = format::read::<Filemap>(files, &path).map(|map| Held {
            store: slot.store,
            rank: map.rank,
            ranks: map.ranks,
            dataset: map.dataset,
            reddesc: map.reddesc,
        });
        match held {
            Ok(held) if held.rank == rank && held.dataset.id == slot.id && sound(&held) => {
                inventory.held.push(held);
            }
            Ok(_) => inventory.notes.push(
                format!(
                    "{} is the record of something else; ignored",
                    path.display()
                )
                .as_str()
                .into(),
            ),
            Err(error) => inventory
                .notes
                .push(format!("{error}; ignored").as_str().into()),
        }
    }
    Ok(())
}
