//! Files of a cached dataset that are not as they were recorded: looked for before it is deleted
//! (`SCR_CRC_ON_DELETE`).

use crate::cache::inventory::read_records;
use crate::cache::layout::{Layout, level};
use crate::messages::DAMAGED_WHEN_DELETED;
use crate::store::Files;
use crate::text::ranks_in_words;
use crate::transfer::copy::{Content, Copier};
use crate::{Error, Result};
use std::path::Path;

/// A file that is not as recorded.
#[derive(Debug)]
pub(in crate::session) struct Damage {
    /// The rank that wrote it; `None` if it is a rank's record that cannot be read.
    rank: Option<usize>,
    /// Names the file.
    error: Error,
}

impl Damage {
    /// The description, in words. `saved`: whether the prefix directory has a copy of the dataset,
    /// if that is known.
    pub fn told(&self, saved: Option<bool>) -> String {
        let of = self.rank.map_or("a record".to_string(), |rank| {
            format!("a file of {}", ranks_in_words(&[rank]))
        });
        let copy = match saved {
            Some(true) => "the prefix directory has another copy of the dataset; ",
            Some(false) => "the prefix directory has no copy of the dataset; ",
            None => "",
        };
        format!(
            "SCR_CRC_ON_DELETE: {of} was damaged before it was deleted from the cache: {}; {copy}\
             the storage or the memory of this node may be bad ({DAMAGED_WHEN_DELETED})",
            self.error
        )
    }
}

/// Path of a dataset that may have been moved.
#[derive(Clone, Copy)]
pub(in crate::session) struct MovedTo<'a> {
    pub dir: &'a Path,
    /// Path before the move: errors name files by their paths below it.
    pub shown: &'a Path,
}

/// Compares the files of dataset `id` of a store with sizes and checksums in their records. Local.
pub(in crate::session) fn find(
    files: &dyn Files,
    layout: &Layout,
    id: u64,
    MovedTo { dir, shown }: MovedTo,
) -> Vec<Damage> {
    let dataset = layout.dataset(id);
    let mut found = Vec::new();
    let names = files.list(dir).unwrap_or_default();
    let mut copier = Copier::new(files, 1 << 20);
    for level in names.iter().filter_map(|name| level(name.to_str()?)) {
        let layout = layout.at(level);
        let moved = |path: &Path, to: &Path| {
            let below = path.strip_prefix(&dataset).unwrap_or(path);
            to.join(below)
        };
        let mut problems = Vec::new();
        // A dataset without records was never complete.
        let meta = moved(&layout.meta(id), dir);
        let Ok(records) = read_records(files, &meta, Some(id), &mut problems) else {
            continue;
        };
        found.extend(
            problems
                .into_iter()
                .map(|error| Damage { rank: None, error }),
        );
        for map in records.filemaps {
            let data = layout.data(id, map.rank);
            for file in &map.files.files {
                let recorded = Content {
                    size: file.size,
                    crc: file.crc,
                };
                let mut check = || -> Result<()> {
                    let path = file.file.below(&moved(&data, dir))?;
                    let shown = file.file.below(&moved(&data, shown))?;
                    copier.checksum(&path)?.check(&recorded, &shown)
                };
                found.extend(check().err().map(|error| Damage {
                    rank: Some(map.rank),
                    error,
                }));
            }
        }
    }
    found
}
