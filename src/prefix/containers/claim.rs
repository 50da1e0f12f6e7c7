//! Containers of processes that do not know of each other.

use super::{Numbering, check_number, file_name};
use crate::Result;
use crate::format::Name;
use crate::format::rank2file::RankEntry;
use crate::prefix::index;
use crate::store::{Files, private_mode_in};
use std::collections::BTreeSet;
use std::path::Path;

/// Takes containers of `size` bytes for `bytes` bytes of one writer, and makes them, empty, in the
/// dataset's directory `dir`. Their numbers are `lowest`, `lowest + step` and so on, or later ones if
/// these exist. So writers with another `lowest` below `step` never take the same numbers, and writers
/// with the same `lowest` are kept apart by a lock. `None` if that is not possible. Local.
///
/// # Errors
/// There would be too many containers, or they cannot be made.
pub fn claim(
    files: &dyn Files,
    dir: &Path,
    (bytes, size): (u64, u64),
    (lowest, step): (u64, u64),
) -> Result<Option<Numbering>> {
    let size = size.max(1);
    check_number(bytes, size)?;
    let _lock = index::lock(files, dir)?;
    let step = step.max(1);
    let there = numbers(files, dir)?;
    let mut taken = there
        .iter()
        .filter(|number| *number % step == lowest % step);
    let first = match taken.next_back() {
        None => Some(lowest),
        Some(last) => last.checked_add(step),
    };
    let Some(first) = first else {
        return Ok(None);
    };
    let numbering = Numbering { first, step };
    let mode = private_mode_in(files, dir)?;
    for place in 0..bytes.div_ceil(size) {
        files.rewrite(&dir.join(file_name(numbering.number(place))), mode)?;
    }
    Ok(Some(numbering))
}

/// Removes the containers in a dataset's directory that no entry of `entries` names. Local.
pub fn remove_unused<'a>(
    files: &dyn Files,
    dir: &Path,
    entries: impl IntoIterator<Item = &'a RankEntry>,
) -> Result<()> {
    let entries = entries.into_iter().flat_map(|entry| entry.files.values());
    let segments = entries.flat_map(|file| file.segments.iter().flatten());
    let used: BTreeSet<_> = segments.map(|segment| &segment.container).collect();
    for number in numbers(files, dir)? {
        let name = file_name(number);
        if !used.contains(&Name::from(name.as_str())) {
            files.remove_file(&dir.join(name))?;
        }
    }
    Ok(())
}

/// The numbers of all containers in a directory.
fn numbers(files: &dyn Files, dir: &Path) -> Result<BTreeSet<u64>> {
    let names = files.list(dir)?;
    let number = |name: &std::ffi::OsString| {
        let name = name.to_str()?;
        let number = name.strip_prefix("ctr.")?.strip_suffix(".scr")?;
        let number = number.parse().ok()?;
        (file_name(number) == name).then_some(number)
    };
    Ok(names.iter().filter_map(number).collect())
}
