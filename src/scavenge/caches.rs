//! The records of datasets in the caches of one node.

use crate::cache::earlier_runs::list_runs;
use crate::cache::inventory::{DirectoryRecords, levels, read_records};
use crate::cache::layout::Layout;
use crate::store::Files;
use crate::{Error, Result};

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

/// Like [`records`], of one run.
pub fn records_of_run(
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
