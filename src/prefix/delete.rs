//! Removes a dataset from the prefix directory. Local: one process does it for all.

use super::paths::Prefix;
use super::rank2file;
use crate::Result;
use crate::store::Files;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Removes the data files that rank2file lists, each directory that becomes empty by that,
/// and the dataset's metadata. Directories that hold other things stay and are returned.
/// The index entry must be gone before, so that nobody takes the rest for a dataset.
pub fn delete(files: &dyn Files, prefix: &Prefix, id: u64) -> Result<Vec<PathBuf>> {
    let dir = prefix.dataset(id);
    let mut parents: BTreeSet<PathBuf> = BTreeSet::new();
    let listed = rank2file::for_each(files, &dir, |_, entry| {
        for name in entry.files.keys() {
            let path = prefix.absolute(name)?;
            files.remove_file(&path)?;
            let above = path
                .ancestors()
                .skip(1)
                .take_while(|p| p.starts_with(prefix.root()));
            parents.extend(above.filter(|p| *p != prefix.root()).map(PathBuf::from));
        }
        Ok(())
    });
    match listed {
        // A dataset that was never flushed to its end has no map; its files are unknown.
        Err(error) if error.is_not_found() => {}
        other => other?,
    }
    let mut kept = Vec::new();
    // Deepest first: a set of paths is ordered with parents before children.
    for path in parents.into_iter().rev() {
        if !files.remove_dir(&path)? && files.stat(&path)?.is_some() {
            kept.push(path);
        }
    }
    files.remove_tree(&dir)?;
    Ok(kept)
}
