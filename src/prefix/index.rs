//! The index file, changed by one process at a time.

use super::paths::Prefix;
use crate::format::Dataset;
use crate::format::index::Index;
use crate::messages::LOCKED;
use crate::store::{Durability, Files, Lock, LockAttempt, lock_by_directory, wait_for_lock};
use crate::system::time::Instant;
use crate::text::option;
use crate::{Error, Result};
use std::path::Path;
use std::time::Duration;

/// Time to wait for another process that changes metadata of the same prefix directory. A change
/// takes milliseconds, so after this time something is wrong.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the index; without a file, an empty index.
///
/// # Errors
/// The file is damaged, or has a version that we do not know. The index is not changed.
pub fn read(files: &dyn Files, prefix: &Prefix) -> Result<Index> {
    lookup(files, prefix).map(Option::unwrap_or_default)
}

/// Like [`read`], but `None` without a file.
///
/// # Errors
/// As for [`read`].
pub fn lookup(files: &dyn Files, prefix: &Prefix) -> Result<Option<Index>> {
    match Index::read(files, &prefix.file("index.scr")) {
        Err(error) if error.is_not_found() => Ok(None),
        other => other.map(Some),
    }
}

/// Reads the index, calls `change` on it, and writes the result durably, all under a lock. Nothing is
/// written if nothing changed or `change` fails.
pub fn update<T>(
    files: &dyn Files,
    prefix: &Prefix,
    change: impl FnOnce(&mut Index) -> Result<T>,
) -> Result<T> {
    let (result, written) = note(files, prefix, change)?;
    written.map(|()| result)
}

/// Like [`update`], for a change without which the run can go on. Returns the result of `change`,
/// and separately whether the index could be written.
///
/// # Errors
/// The index cannot be read, or `change` fails.
pub fn note<T>(
    files: &dyn Files,
    prefix: &Prefix,
    change: impl FnOnce(&mut Index) -> Result<T>,
) -> Result<(T, Result<()>)> {
    let _lock = lock_prefix(files, prefix)?;
    let mut index = read(files, prefix)?;
    // As bytes, which take less time and memory than another index: it may have many datasets.
    let before = index.encode()?;
    let result = change(&mut index)?;
    let after = index.encode()?;
    let written = if after == before {
        Ok(())
    } else {
        files.replace(&prefix.file("index.scr"), &after, Durability::Synced)
    };
    Ok((result, written))
}

/// Enters a dataset that is about to be written, as not complete. This removes an older dataset of
/// the same name and its records.
pub fn enter(files: &dyn Files, prefix: &Prefix, dataset: &Dataset) -> Result<()> {
    enter_if(files, prefix, dataset, |_| true).map(drop)
}

/// Like [`enter`], for several processes that copy parts of one dataset: only the first changes the
/// index. Does nothing if the dataset is in the index already, complete or not.
///
/// # Errors
/// The index has a newer dataset with the same id, or a newer good dataset with the same name.
pub fn enter_once(files: &dyn Files, prefix: &Prefix, dataset: &Dataset) -> Result<()> {
    let known = |index: &Index| index.get(dataset.id)?.dataset.clone();
    let same = |index: &Index| {
        known(index).is_some_and(|d| (&d.name, d.created) == (&dataset.name, dataset.created))
    };
    let index = read(files, prefix)?;
    if same(&index) {
        return Ok(());
    }
    if known(&index).is_some_and(|other| other.created > dataset.created) {
        let what = "is older than the dataset of that number in the prefix directory";
        return Err(Error::dataset(dataset.id, dataset.name.to_string(), what));
    }
    if let Some(newer) = index.newer_of_name(dataset) {
        let (id, name) = (newer.id, option("--delete", dataset.name.as_bytes()));
        let what = format!(
            "would write over the files of dataset {id}, which is newer and has the same name in the prefix \
             directory; `scr index {name}` removes that one"
        );
        return Err(Error::dataset(dataset.id, dataset.name.to_string(), what));
    }
    enter_if(files, prefix, dataset, |index| !same(index)).map(drop)
}

/// Like [`enter`], if the index fulfils a condition. False if it does not; then nothing is changed.
pub(super) fn enter_if(
    files: &dyn Files,
    prefix: &Prefix,
    dataset: &Dataset,
    condition: impl FnOnce(&Index) -> bool,
) -> Result<bool> {
    let entered = update(files, prefix, |index| {
        if !condition(index) {
            return Ok(None);
        }
        let before = index.id(&dataset.name);
        index.add(dataset.clone());
        Ok(Some(before))
    })?;
    let Some(before) = entered else {
        return Ok(false);
    };
    match before.filter(|id| *id != dataset.id) {
        Some(id) => files.remove_tree(&prefix.dataset(id)).map(|()| true),
        None => Ok(true),
    }
}

/// Waits for the lock on a dataset's directory in `.scr`. Local.
///
/// # Errors
/// Another process holds the lock for too long.
pub fn lock(files: &dyn Files, dir: &Path) -> Result<Box<dyn Lock>> {
    lock_at(files, dir, dir)
}

/// Waits for the lock under which the index and other records in `.scr` are changed. Local.
///
/// # Errors
/// Another process holds the lock for too long.
pub fn lock_prefix(files: &dyn Files, prefix: &Prefix) -> Result<Box<dyn Lock>> {
    lock_at(files, prefix.real(), &prefix.meta())
}

/// Waits for the lock on `path`; on a file system without locks, for a directory in `dir` that stands for it.
fn lock_at(files: &dyn Files, path: &Path, dir: &Path) -> Result<Box<dyn Lock>> {
    let until = Instant::now() + LOCK_TIMEOUT;
    let lock = match wait_for_lock(files, path, until)? {
        LockAttempt::Acquired(lock) => Some(lock),
        LockAttempt::HeldByOther => None,
        LockAttempt::Unsupported => lock_by_directory(files, dir, until)?,
    };
    lock.ok_or_else(|| {
        Error::config(
            path.display().to_string(),
            format!(
                "is locked by another process for {} seconds; end that process ({LOCKED})",
                LOCK_TIMEOUT.as_secs()
            ),
        )
    })
}
