//! The records by which a flush certifies itself, and the end of a flush whose processes were killed.
//!
//! A flush leaves these records, in this order, each after all before it are on stable storage:
//!
//! 1. the entry in the index and the summary, both "not complete": [`announce`];
//! 2. the files, then the leaves of the rank2file that name them, then its branches;
//! 3. the summary, "complete", then the index entry and the current marker: [`complete`].
//!
//! So a rank2file that names the files of all ranks, with their sizes, certifies the dataset. The
//! next reader of the prefix directory can do the rest: [`finish_ended`].

use super::containers::ContainerReader;
use super::index;
use super::paths::Prefix;
use super::rank2file;
use crate::format::index::{Index, IndexEntry};
use crate::format::rank2file::RankEntry;
use crate::format::summary::Summary;
use crate::format::{self, Dataset, flush_file};
use crate::messages::WRONG_SIZE;
use crate::prefix::records;
use crate::store::{Durability, FileKind, Files};
use crate::text::option;
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// The state of the announcement of a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announced {
    /// The dataset is to be copied.
    Begun,
    /// The dataset is complete in the prefix directory: a person has built it since the run looked
    /// there.
    Complete,
}

/// Prepares a flush: enters the dataset in the index as not complete, empties the directory of the dataset in `.scr`,
/// and writes a summary to it that says "not complete", too. Changes nothing if the index has the dataset as complete
/// and no restart from the dataset has failed. Local: one process calls it.
pub fn announce(files: &dyn Files, prefix: &Prefix, dataset: &Dataset) -> Result<Announced> {
    let dir = prefix.dataset(dataset.id);
    // A process that completes a scavenged dataset has this lock until the dataset is in the index.
    let _lock = match index::lock(files, &dir) {
        Err(error) if error.is_not_found() => None,
        lock => Some(lock?),
    };
    let is_good = |index: &Index| entry_of(index, dataset).is_some_and(IndexEntry::is_good);
    if !index::enter_if(files, prefix, dataset, |index| !is_good(index))? {
        return Ok(Announced::Complete);
    }
    // Files of an earlier dataset with this id must not be mixed with ours.
    files.remove_tree(&dir)?;
    files.make_dirs(&dir)?;
    let summary = Summary::unfinished(dataset.clone());
    // Not synced: if a power loss takes the record away, the flush is not finished, and nothing else
    // happens.
    format::write(
        files,
        &dir.join("summary.scr"),
        &summary,
        Durability::Atomic,
    )?;
    Ok(Announced::Begun)
}

/// Writes the summary, "complete", durably. It certifies files and rank2file, so write it after them.
/// Local.
pub fn seal(files: &dyn Files, prefix: &Prefix, dataset: &Dataset) -> Result<()> {
    let path = prefix.dataset(dataset.id).join("summary.scr");
    let summary = Summary::of(dataset.clone());
    format::write(files, &path, &summary, Durability::Synced)?;
    files.sync_dir(&prefix.meta())
}

/// Brings the records of a complete dataset to stable storage: the process that wrote them may have been
/// killed before it did. Each record was synced before it got its name. Local.
pub fn sync_records(files: &dyn Files, prefix: &Prefix, id: u64) -> Result<()> {
    files.sync_dir(&prefix.dataset(id))?;
    files.sync_dir(&prefix.meta())
}

/// The datasets that are entered in the index as complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entering {
    /// A dataset that its flush has announced. If it was taken out of the index since, it stays out.
    Announced,
    /// A dataset that was saved without its job, also if the index does not know it.
    Saved {
        /// True if the files of the dataset were verified, so that a failed restart from it is forgotten.
        verified: bool,
    },
    /// A dataset that the user enters. The dataset does not become the current checkpoint.
    Listed,
}

/// The result of entering a dataset in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// The dataset was marked as complete now.
    Now,
    /// The dataset was already complete.
    Before,
    /// The dataset was taken out since its flush was announced.
    TakenOut,
}

/// Completes a dataset: writes the summary, then marks the dataset as complete in the index. All files and
/// the rank2file must be on stable storage. Local; several processes may do so one after the other.
///
/// # Errors
/// As for [`enter`], or the summary cannot be written.
pub fn complete(
    files: &dyn Files,
    prefix: &Prefix,
    dataset: &Dataset,
    entering: Entering,
    time: Time,
) -> Result<Entered> {
    seal(files, prefix, dataset)?;
    enter(files, prefix, dataset, entering, time)
}

/// Marks a dataset as complete in the index. The summary must already say that the dataset is
/// complete. A checkpoint becomes the current checkpoint, unless a newer good checkpoint is current.
/// Local.
///
/// # Errors
/// The index cannot be changed. Or a newer dataset has the name of this saved or listed dataset:
/// the newer dataset may have been entered since the records were read.
pub fn enter(
    files: &dyn Files,
    prefix: &Prefix,
    dataset: &Dataset,
    entering: Entering,
    time: Time,
) -> Result<Entered> {
    index::update(files, prefix, |index| {
        let known = entry_of(index, dataset);
        match entering {
            Entering::Announced => match known {
                None => return Ok(Entered::TakenOut),
                Some(entry) if entry.complete => return Ok(Entered::Before),
                Some(_) => {}
            },
            Entering::Saved { verified } => {
                let kept = |entry: &IndexEntry| entry.complete && (!verified || entry.is_good());
                if known.is_some_and(kept) {
                    return Ok(Entered::Before);
                }
                check_name(index, dataset)?;
            }
            Entering::Listed => check_name(index, dataset)?,
        }
        index.set_complete(dataset.clone(), time());
        let newest = dataset.is_checkpoint() && !index.has_newer_checkpoint(dataset.id);
        if newest && entering != Entering::Listed {
            index.set_current(&dataset.name);
        }
        Ok(Entered::Now)
    })
}

/// Fails if the name belongs to a newer dataset now, complete or not: the newer one removes the files of
/// this one.
fn check_name(index: &Index, dataset: &Dataset) -> Result<()> {
    let named = index.id(&dataset.name).and_then(|id| index.get(id));
    let named = named.and_then(|entry| entry.dataset.as_ref());
    match named.filter(|named| named.created > dataset.created) {
        None => Ok(()),
        Some(newer) => Err(Error::dataset(
            dataset.id,
            dataset.name.to_string(),
            format!(
                "dataset {} has taken its name and its files; if that one is not wanted, `scr index {}` takes it \
                 out of the index",
                newer.id,
                option("--drop", newer.name.as_bytes())
            ),
        )),
    }
}

/// Marks the dataset as flushed, if the flush file has an entry for it. Local.
pub fn mark_flushed(files: &dyn Files, prefix: &Prefix, id: u64) -> Result<()> {
    let flush = records::read_flush_file(files, prefix).unwrap_or_default();
    if flush.datasets.contains_key(&id) {
        records::update_flush_file(files, prefix, |record| {
            if let Some(entry) = record.datasets.get_mut(&id) {
                entry.set_flush(Some(flush_file::PFS));
            }
        })?;
    }
    Ok(())
}

/// Gives the time now, as the index has it. Computing it may need the data of time zones.
pub type Time<'a> = &'a dyn Fn() -> String;

/// Finishes each dataset that the index has as not complete, and whose flush has left all files and
/// a whole rank2file. Gives the datasets that are complete now. `time` gives the time in the index.
/// Local: one process calls it, at any time, also while a flush goes on.
///
/// # Errors
/// The index cannot be read. The reasons why single datasets could not be finished are added to
/// `problems`; a dataset whose flush has not ended is not a problem.
pub fn finish_ended(
    files: &dyn Files,
    prefix: &Prefix,
    time: Time,
    problems: &mut Vec<Error>,
) -> Result<Vec<Dataset>> {
    let index = index::read(files, prefix)?;
    let open = index.datasets().values().filter(|entry| !entry.complete);
    let mut finished = Vec::new();
    for dataset in open.filter_map(|entry| entry.dataset.as_ref()) {
        match finish(files, prefix, dataset, time) {
            Ok(Some(dataset)) => finished.push(dataset),
            Ok(None) => {}
            Err(error) => problems.push(error),
        }
    }
    Ok(finished)
}

/// Finishes one dataset, which the index has as not complete; `None` if its flush has not come to its
/// end. Local.
pub fn finish(
    files: &dyn Files,
    prefix: &Prefix,
    entry: &Dataset,
    time: Time,
) -> Result<Option<Dataset>> {
    let Some(dataset) = seal_if_whole(files, prefix, entry)? else {
        return Ok(None);
    };
    if enter(files, prefix, &dataset, Entering::Announced, time)? != Entered::Now {
        return Ok(None);
    }
    mark_flushed(files, prefix, dataset.id)?;
    Ok(Some(dataset))
}

/// Completes the records of one dataset, but not its entry in the index, if its flush has come to its
/// end. Local.
pub fn seal_if_whole(
    files: &dyn Files,
    prefix: &Prefix,
    entry: &Dataset,
) -> Result<Option<Dataset>> {
    let dir = prefix.dataset(entry.id);
    let summary: Summary = match format::read(files, &dir.join("summary.scr")) {
        Err(error) if error.is_not_found() => return Ok(None),
        other => other?,
    };
    if !is_same(&summary.dataset, entry) || !is_whole(files, prefix, &summary)? {
        return Ok(None);
    }
    rank2file::complete_branches(files, &dir)?;
    if summary.complete {
        sync_records(files, prefix, entry.id)?
    } else {
        seal(files, prefix, &summary.dataset)?
    }
    Ok(Some(summary.dataset))
}

/// The entry of this dataset in the index; `None` if it was taken out, or its id is another dataset's.
fn entry_of<'a>(index: &'a Index, dataset: &Dataset) -> Option<&'a IndexEntry> {
    let entry = index.get(dataset.id)?;
    let known = entry.dataset.as_ref()?;
    is_same(known, dataset).then_some(entry)
}

/// True if both describe the same dataset.
pub fn is_same(one: &Dataset, other: &Dataset) -> bool {
    (one.id, one.created, &one.name) == (other.id, other.created, &other.name)
}

/// True if the leaves of the rank2file name the files of all ranks with their sizes, and these are
/// the dataset's. With a complete summary the files need no sizes: SCR v3.1.0 records none.
///
/// # Errors
/// The leaves name all files, but one is missing or its size differs; or the rank2file cannot be read.
fn is_whole(files: &dyn Files, prefix: &Prefix, summary: &Summary) -> Result<bool> {
    let dir = prefix.dataset(summary.dataset.id);
    let leaves = rank2file::leaves_there(files, &dir)?;
    // A deletion that was killed may have left the summary alone.
    if leaves.is_empty() {
        return Ok(false);
    }
    let (mut ranks, mut seen) = (0, BTreeSet::new());
    let (mut count, mut size, mut sized) = (0u64, 0u64, true);
    for name in &leaves {
        let leaf = match rank2file::read_leaf(files, &dir, name) {
            Err(error) if error.is_not_found() => return Ok(false),
            other => other?,
        };
        ranks = leaf.ranks;
        for (rank, entry) in leaf.entries {
            seen.insert(rank);
            for file in entry.files.values() {
                sized &= file.size.is_some();
                (count, size) = (count + 1, size.saturating_add(file.size.unwrap_or(0)));
            }
        }
    }
    let all = ranks > 0 && seen.len() as u64 == ranks && seen.last() == Some(&(ranks - 1));
    let Dataset {
        files: n,
        size: bytes,
        ..
    } = summary.dataset;
    let recorded = (n.unwrap_or(count), bytes.unwrap_or(size));
    let certified = all && sized && recorded == (count, size);
    if !certified && !summary.complete {
        return Ok(false);
    }
    for name in &leaves {
        for entry in rank2file::read_leaf(files, &dir, name)?.entries.values() {
            check_files(files, prefix, summary.dataset.id, entry)?;
        }
    }
    Ok(true)
}

/// Checks that each file of a rank in the rank2file of dataset `id` exists with its size, or is in
/// containers that are long enough.
pub fn check_files(files: &dyn Files, prefix: &Prefix, id: u64, entry: &RankEntry) -> Result<()> {
    let mut containers = ContainerReader::new(files, &prefix.dataset(id));
    containers.check_all(entry)?;
    for (name, recorded) in &entry.files {
        let path = prefix.absolute(name)?;
        if recorded.segments.is_some() {
            continue;
        }
        if let Some(differs) = difference(files, &path, recorded.size)? {
            return Err(Error::corrupt(path, differs));
        }
    }
    Ok(())
}

/// The difference between a file and its record; `None` if the file is there with its size.
fn difference(files: &dyn Files, path: &Path, size: Option<u64>) -> Result<Option<String>> {
    let stat = super::paths::seen_by_program(files, path, |path| files.stat(path))?;
    Ok(match (stat, size) {
        (None, _) => Some("is missing".to_string()),
        (Some(stat), _) if stat.kind != FileKind::File => Some("is not a regular file".to_string()),
        (Some(stat), Some(size)) if stat.size != size => Some(format!(
            "has {} bytes, {size} were recorded ({WRONG_SIZE})",
            stat.size
        )),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::difference;
    use crate::store::posix::Posix;

    #[test]
    fn a_size_is_named_only_where_it_differs() {
        let dir = tempfile::tempdir().unwrap();
        let differs = |name: &str, size| difference(&Posix, &dir.path().join(name), size).unwrap();
        std::fs::write(dir.path().join("file"), "12345").unwrap();
        std::fs::create_dir(dir.path().join("dir")).unwrap();
        assert_eq!(
            (differs("file", Some(5)), differs("file", None)),
            (None, None)
        );
        let told = differs("file", Some(6)).unwrap();
        assert!(told.starts_with("has 5 bytes, 6 were recorded"), "{told}");
        assert_eq!(differs("dir", Some(5)).unwrap(), "is not a regular file");
        assert_eq!(differs("none", Some(5)).unwrap(), "is missing");
    }
}
