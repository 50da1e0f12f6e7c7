//! A run takes over the datasets that earlier runs of its job left in a store.
//!
//! Each run writes below a directory of its own. It renames the directories of other runs into that
//! directory before it looks at the content. Renaming takes no space. It also protects the data: a
//! process of an earlier run that still lives does not find the paths that it knows. Such a process
//! may make some of the directories again. These have no completion record, so they count as empty,
//! and the next run deletes them.

use super::dataset::{self, rename};
use super::inventory;
use super::layout::{CacheEntry, Layout, is_job_file, run_of_dir, temporary_of};
use crate::Result;
use crate::format::identity::OwnPrefix;
use crate::store::{FileKind, Files, retry};

/// The runs that have a directory in the store of `layout`, each with its own layout. Local.
pub fn list_runs(files: &dyn Files, layout: &Layout) -> Result<Vec<Layout>> {
    runs_among(files, layout, &names(files, layout)?)
}

/// The names in the job's directory.
fn names(files: &dyn Files, layout: &Layout) -> Result<Vec<String>> {
    let names = match retry(|| files.list(&layout.job())) {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        other => other?,
    };
    let names = names.into_iter();
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

fn runs_among(files: &dyn Files, layout: &Layout, names: &[String]) -> Result<Vec<Layout>> {
    let mut runs = Vec::new();
    for run in names.iter().filter_map(|name| run_of_dir(name)) {
        let run = layout.of_run(run);
        let stat = retry(|| files.stat(&run.root()))?;
        if stat.is_some_and(|stat| stat.kind == FileKind::Directory) {
            runs.push(run);
        }
    }
    Ok(runs)
}

/// Renames the datasets of other runs in a store into the directory of the run of `layout`, and removes
/// the temporary file of a killed run. One rank per store calls this, and it must hold the lock on the
/// job's directory. Local.
///
/// # Errors
/// A directory cannot be read or renamed. The directory may hold whole datasets, so the caller must
/// not go on as if they were lost.
pub fn take_over_earlier_runs(files: &dyn Files, layout: &Layout) -> Result<()> {
    let names = names(files, layout)?;
    for name in names
        .iter()
        .filter(|name| temporary_of(name).is_some() && is_job_file(name))
    {
        // If it cannot be removed, the next run tries again.
        let _ = files.remove_file(&layout.job().join(name));
    }
    let mut others = runs_among(files, layout, &names)?;
    others.retain(|other| other.run() != layout.run());
    let mut sized = Vec::with_capacity(others.len());
    for other in others {
        let entries = dataset::entries(files, &other)?.into_iter();
        let datasets = entries.filter(|(_, entry)| matches!(entry, CacheEntry::Dataset(_)));
        sized.push((datasets.count(), other));
    }
    // There are several only if a process of an earlier run made directories again. The run with
    // the most datasets is renamed as a whole.
    sized.sort_by_key(|(datasets, _)| *datasets);
    if files.stat(&layout.root())?.is_none()
        && let Some((_, other)) = sized.pop()
    {
        rename(files, &other.root(), &layout.root())?;
    }
    sized
        .iter()
        .try_for_each(|(_, other)| merge(files, other, layout))
}

/// Moves the content of the directory of one run into the directory of another.
fn merge(files: &dyn Files, from: &Layout, to: &Layout) -> Result<()> {
    for (name, entry) in dataset::entries(files, from)? {
        let (source, target) = (from.root().join(&name), to.root().join(&name));
        let gone = match entry {
            CacheEntry::Trash(_) | CacheEntry::Restart => &source,
            _ if files.stat(&target)?.is_none() => {
                rename(files, &source, &target)?;
                continue;
            }
            CacheEntry::Quarantine(_) => &source,
            CacheEntry::Dataset(id) => match (newest(files, from, id)?, newest(files, to, id)?) {
                (Some(there), Some(here)) if there > here => &target,
                (Some(_), Some(_)) => &source,
                // A record could not be read, so it is not known which dataset is newer. Both stay.
                _ => continue,
            },
        };
        // If it cannot be deleted, the next run tries again.
        let deleted = files.remove_tree(gone);
        if deleted.is_ok() && *gone == target {
            rename(files, &source, &target)?;
        }
    }
    // Fails if something is left in the directory, which then stays.
    let _ = files.remove_dir(&from.root());
    Ok(())
}

/// The latest creation time in the records of dataset `id`; 0 without records, `None` if a record
/// cannot be read at the moment.
fn newest(files: &dyn Files, layout: &Layout, id: u64) -> Result<Option<u64>> {
    let found = inventory::read_dataset(files, &OwnPrefix::default(), layout, id)?;
    let created = found
        .records
        .iter()
        .map(|cached| cached.dataset.created)
        .max();
    Ok(found.unread.is_empty().then_some(created.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Dataset, Filemap};
    use crate::store::posix::Posix;
    use std::path::Path;

    fn layout(root: &Path, run: u64) -> Layout {
        Layout::new(root, "user1", "1001").of_run(run)
    }

    /// Writes a dataset of one rank with one file, which says which dataset it is. Without a
    /// creation time it gets no record.
    fn write(layout: &Layout, id: u64, created: Option<u64>) {
        dataset::make_empty_directories_of(&Posix, layout, id, 0).unwrap();
        let text = format!("{:x} {created:?}", layout.run().unwrap());
        std::fs::write(layout.data(id, 0).join("f"), text).unwrap();
        let Some(created) = created else { return };
        let filemap = Filemap {
            dataset: Dataset {
                id,
                created,
                ..Dataset::default()
            },
            ..Filemap::sample()
        };
        dataset::write_record(&Posix, layout, &filemap).unwrap();
    }

    fn read(layout: &Layout, id: u64) -> String {
        std::fs::read_to_string(layout.data(id, 0).join("f")).unwrap()
    }

    #[test]
    fn all_datasets_of_earlier_runs_are_taken_over_and_the_newest_of_each_id() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        // A process of run 1 has made directories again.
        let (one, two) = (layout(root, 1), layout(root, 2));
        write(&one, 3, None);
        write(&one, 4, None);
        write(&one, 6, Some(9));
        write(&one, 7, Some(60));
        write(&two, 4, Some(40));
        write(&two, 5, Some(50));
        write(&two, 6, Some(60));
        write(&two, 7, Some(70));
        write(&two, 8, Some(80));
        for trash in [one.trash(3), two.quarantine(2), one.quarantine(2)] {
            std::fs::create_dir(trash).unwrap();
        }
        std::fs::write(one.root().join("x"), "not ours").unwrap();
        let here = layout(root, 3);
        take_over_earlier_runs(&Posix, &here).unwrap();
        assert_eq!(read(&here, 3), "1 None");
        assert_eq!(read(&here, 4), "2 Some(40)");
        assert_eq!(read(&here, 5), "2 Some(50)");
        assert_eq!(read(&here, 6), "2 Some(60)");
        assert_eq!(read(&here, 7), "2 Some(70)");
        assert!(here.quarantine(2).exists() && !here.trash(3).exists());
        assert!(!two.root().exists());
        assert_eq!(Posix.list(&one.root()).unwrap(), ["x"]);

        // Run 3 has more datasets than run 4, but run 4 has a newer dataset 6.
        let late = layout(root, 4);
        write(&late, 6, Some(61));
        let next = layout(root, 5);
        take_over_earlier_runs(&Posix, &next).unwrap();
        assert_eq!(read(&next, 6), "4 Some(61)");
        assert_eq!(read(&next, 7), "2 Some(70)");
        let runs = list_runs(&Posix, &next).unwrap();
        let runs: Vec<_> = runs.iter().map(Layout::run).collect();
        assert_eq!(runs, [Some(1), Some(5)]);
    }

    #[test]
    fn only_directories_are_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let here = layout(dir.path(), 1);
        std::fs::create_dir_all(here.job()).unwrap();
        let outside = dir.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        let link = layout(dir.path(), 2).root();
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        std::fs::write(layout(dir.path(), 3).root(), "a file").unwrap();
        take_over_earlier_runs(&Posix, &here).unwrap();
        assert!(!here.root().exists());
        assert_eq!(std::fs::read_link(&link).unwrap(), outside);
    }

    #[test]
    fn a_store_without_data_of_the_job_is_not_changed() {
        let dir = tempfile::tempdir().unwrap();
        let here = layout(dir.path(), 1);
        take_over_earlier_runs(&Posix, &here).unwrap();
        assert!(!here.job().exists());
    }
}
