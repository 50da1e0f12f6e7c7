//! Deletes datasets from the prefix directory, but keeps files that other datasets have too: programs
//! may write the same names in each checkpoint.
//!
//! Each file name is handled by the rank that its hash tells (`names`). That rank compares the names
//! of the datasets to delete with those of the datasets to keep, and unlinks. So all ranks share the
//! work, and no rank holds all names.

use super::access::PrefixAccess;
use super::containers::temporary_path;
use super::names::{Names, exchange_names, rank_of};
use super::{index, rank2file};
use crate::comm::collective::{self, if_root, on_root};
use crate::comm::{Term, VerdictExt};
use crate::format::index::Index;
use crate::format::rank2file::{BASE, RankEntry};
use crate::format::{Name, from_message, to_message};
use crate::store::Lock;
use crate::text::option;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The datasets to delete, and those that stay. The same on all ranks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub struct DeletionPlan {
    going: Vec<PlannedDataset>,
    staying: Vec<PlannedDataset>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct PlannedDataset {
    id: u64,
    name: Name,
    /// The id that the index had for the name.
    named: Option<u64>,
    /// A checkpoint that a restart may choose by itself, or complete output.
    good: bool,
}

/// The result of a deletion.
#[derive(Debug, Default)]
pub struct Deleted {
    /// The reasons why some datasets were not deleted. The same on all ranks.
    pub refused: Vec<Error>,
    /// Number of files that were kept because other datasets also have them. The same on all ranks.
    pub shared: u64,
    /// Directories that were kept because they are not empty. Rank 0 only.
    pub dirs: Vec<PathBuf>,
}

impl DeletionPlan {
    /// Deletes the datasets with the ids `going`, and keeps all others in the index.
    pub fn new(index: &Index, going: &[u64]) -> Self {
        let mut plan = DeletionPlan::default();
        for (&id, entry) in index.datasets() {
            let name = index.name(id).cloned().unwrap_or_default();
            let known = PlannedDataset {
                id,
                named: index.id(&name),
                name,
                good: entry.is_good(),
            };
            if going.contains(&id) {
                plan.going.push(known);
            } else {
                plan.staying.push(known);
            }
        }
        plan
    }

    /// A plan for each dataset in the index that does not spare the files of others: for deleting
    /// all of them, one by one.
    pub fn of_all(index: &Index) -> Vec<Self> {
        let ids: Vec<u64> = index.datasets().keys().copied().collect();
        let alone = |known| DeletionPlan {
            going: vec![known],
            staying: Vec::new(),
        };
        let all = DeletionPlan::new(index, &ids);
        all.going.into_iter().map(alone).collect()
    }

    /// True if there is nothing to delete.
    pub fn is_empty(&self) -> bool {
        self.going.is_empty()
    }

    /// The ids of the datasets to delete.
    pub fn ids(&self) -> Vec<u64> {
        self.going.iter().map(|known| known.id).collect()
    }

    /// The datasets to delete, in words: at most three names.
    pub fn words(&self) -> String {
        const MANY: usize = 3;
        let named = self.going.iter().take(MANY);
        let named: Vec<String> = named.map(|k| format!("{} ({})", k.id, k.name)).collect();
        match self.going.len() {
            1 => format!("dataset {}", named.concat()),
            n if n <= MANY => format!("datasets {}", named.join(", ")),
            n => format!("datasets {} and {} more", named.join(", "), n - MANY),
        }
    }
}

impl PlannedDataset {
    fn files_unknown(&self, so: &str, error: Error) -> Error {
        let (id, name) = (self.id, &self.name);
        let drop = option("--drop", name.as_bytes());
        let error = match error {
            // The rank that read it does not matter.
            Error::Remote { error, .. } => error,
            other => other.to_string(),
        };
        let what = format!(
            "its files cannot be listed or reached, so {so}: {error}; `scr index {drop}` takes it \
             out of the index and leaves its files"
        );
        Error::dataset(id, name.to_string(), what)
    }
}

/// Deletes the data files that only the planned datasets have, the directories that become empty,
/// and their metadata. Index entries are removed first, so that the remaining files are not mistaken
/// for a dataset. A dataset whose list of files cannot be read is not deleted. If the list of a good
/// dataset that stays cannot be read, nothing is deleted. Collective.
///
/// # Errors
/// Some or all of the files and records were not deleted.
pub fn delete(access: &PrefixAccess, plan: &DeletionPlan) -> Result<Deleted> {
    let FileShare {
        going,
        mine,
        shared,
        refused,
    } = share(access, plan)?;
    let mut deleted = Deleted {
        refused,
        ..Deleted::default()
    };
    if going.is_empty() {
        return Ok(deleted);
    }
    let forgotten = if_root(access.comm, || {
        let locks = lock_all(access, &going)?;
        remove_from_index(access, plan, &going)?;
        Ok(locks)
    });
    let shared = [Term::Sum(shared as i64)];
    let agreement = collective::agree_with(access.comm, access.node, forgotten, shared)?;
    let (_locks, [shared]) = agreement.all_done()?;
    deleted.shared = shared.count();

    let unlinked = unlink(access, &mine);
    let dirs = parent_dirs(access, &mine)?;
    collective::agree(access.comm, access.node, unlinked)?;
    let cleared = on_root(access.comm, access.node, || {
        remove_dirs(access, dirs, &going)
    });
    deleted.dirs = cleared?.take().unwrap_or_default();
    Ok(deleted)
}

/// This rank's share of the files that [`delete`] would remove, relative to the prefix: for a command
/// that asks first. Changes nothing. Collective.
///
/// # Errors
/// [`delete`] would delete nothing, or not everything.
pub fn files(access: &PrefixAccess, plan: &DeletionPlan) -> Result<BTreeSet<PathBuf>> {
    let share = share(access, plan)?;
    share.refused.into_iter().next().map_or(Ok(share.mine), Err)
}

/// The datasets to delete, and this rank's share of their files.
struct FileShare {
    going: Vec<u64>,
    mine: BTreeSet<PathBuf>,
    /// Number of files in this rank's share that are kept because other datasets have them.
    shared: usize,
    refused: Vec<Error>,
}

fn share(access: &PrefixAccess, plan: &DeletionPlan) -> Result<FileShare> {
    let mut mine = BTreeSet::new();
    let (mut going, mut refused, mut any_listed) = (Vec::new(), Vec::new(), false);
    for known in &plan.going {
        match names(access, known.id, true).verdict()? {
            // A dataset that was not completely flushed may have no list; its files are unknown.
            Ok(names) => {
                any_listed |= names.is_some();
                mine.extend(names.unwrap_or_default());
                going.push(known.id);
            }
            Err(error) => refused.push(known.files_unknown("it stays", error)),
        }
    }
    let listed = mine.len();
    if any_listed {
        keep_shared(access, &plan.staying, &mut mine)?;
    }
    Ok(FileShare {
        going,
        shared: listed - mine.len(),
        mine,
        refused,
    })
}

/// Removes from `mine` the files of the datasets that stay. If no restart can use a dataset, a missing
/// or damaged list is ignored: its files are not known.
fn keep_shared(
    access: &PrefixAccess,
    staying: &[PlannedDataset],
    mine: &mut BTreeSet<PathBuf>,
) -> Result<()> {
    let so = "no other dataset is deleted, which may have the same files";
    for known in staying {
        match names(access, known.id, false).verdict()? {
            Ok(Some(names)) => names.iter().for_each(|name| {
                mine.remove(name);
            }),
            _ if !known.good => {}
            Ok(None) => {
                let path = access.prefix.dataset(known.id);
                let what = "has no rank2file".to_string();
                return Err(known.files_unknown(so, Error::corrupt(path, what)));
            }
            Err(error) => return Err(known.files_unknown(so, error)),
        }
    }
    Ok(())
}

/// This rank's share of the files of a dataset, relative to the prefix; `None` if the dataset has no
/// list of them. Collective; all ranks return the same verdict.
///
/// # Errors
/// The list is damaged, or the dataset is `going` and a link is on the path to its files.
fn names(access: &PrefixAccess, id: u64, going: bool) -> Result<Option<BTreeSet<PathBuf>>> {
    let &PrefixAccess {
        comm,
        files,
        prefix,
        node,
        ..
    } = access;
    let dir = prefix.dataset(id);
    let mut outgoing: BTreeMap<usize, Names> = BTreeMap::new();
    let mut sort = |entry: &RankEntry| {
        for (name, file) in &entry.files {
            // Each path is spelled in one way: `./a//b` is `a/b`.
            let parts = name.as_path().components();
            let path: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
            prefix.absolute(name)?;
            // Files in containers go and stay with these. Plain files may have been extracted from
            // them, and a killed extraction may have left files.
            let paths = match (file.segments.is_some(), going) {
                (false, _) => vec![path],
                (true, false) => Vec::new(),
                (true, true) => vec![temporary_path(&path), path],
            };
            let absent = |path: &Path| matches!(files.stat(&prefix.root().join(path)), Ok(None));
            for path in paths {
                if file.segments.is_some() && absent(&path) {
                    continue;
                }
                let rank = rank_of(&path, comm.size());
                let names = &mut outgoing.entry(rank).or_default().names;
                names.push(path.as_os_str().into());
            }
        }
        Ok(())
    };
    let top = if_root(comm, || files.stat(&dir.join(BASE)));
    let missing = top.as_ref().is_ok_and(|top| top.get() == Some(&None));
    let read = rank2file::for_each_shared(comm, files, &dir, |_, entry| sort(&entry))?;
    let read = if missing { Ok(()) } else { read.result() };
    let mut mine = BTreeSet::new();
    for (_, Names { names }) in exchange_names(comm, &outgoing)? {
        mine.extend(names.iter().map(|name| name.as_path().to_path_buf()));
    }
    let reachable = if going {
        check_no_link(access, &mine)
    } else {
        Ok(())
    };
    let read = top.and(read).and(reachable);
    let agreement = collective::agree_with(comm, node, read, [Term::Max(missing.into())])?;
    let ((), [absent]) = agreement.all_done()?;
    Ok((!absent.on_any()).then_some(mine))
}

/// Fails if a symbolic link is on the path to a file. One stat for each directory.
fn check_no_link(access: &PrefixAccess, mine: &BTreeSet<PathBuf>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for name in mine.iter().filter(|name| seen.insert(name.parent())) {
        match access.files.stat(&access.prefix.root().join(name)) {
            Err(error) if error.is_link() => return Err(error),
            // Other errors are reported when the file is removed.
            _ => {}
        }
    }
    Ok(())
}

/// Locks the datasets, so that a process that has found one whole does not enter it again while it is
/// deleted. Rank 0 only.
fn lock_all(access: &PrefixAccess, going: &[u64]) -> Result<Vec<Box<dyn Lock>>> {
    let mut locks = Vec::new();
    for id in going {
        match index::lock(access.files, &access.prefix.dataset(*id)) {
            // The dataset has no records.
            Err(error) if error.is_not_found() => {}
            other => locks.push(other?),
        }
    }
    Ok(locks)
}

/// Removes the datasets from the index. Rank 0 only.
///
/// # Errors
/// A dataset has taken the name of one of them since the plan was made. It may have the same files, which were not
/// compared with those that are deleted.
fn remove_from_index(access: &PrefixAccess, plan: &DeletionPlan, going: &[u64]) -> Result<()> {
    index::update(access.files, access.prefix, |index| {
        for known in plan.going.iter().filter(|known| going.contains(&known.id)) {
            let named = index.id(&known.name);
            if let Some(other) = named.filter(|_| named != known.named) {
                let what = format!(
                    "dataset {other} has taken its name, and perhaps its files, while they were listed; nothing \
                     was deleted"
                );
                return Err(Error::dataset(known.id, known.name.to_string(), what));
            }
        }
        going.iter().for_each(|&id| index.remove_id(id));
        Ok(())
    })
}

/// Removes this rank's share of the files. After an error it goes on with the others.
fn unlink(access: &PrefixAccess, mine: &BTreeSet<PathBuf>) -> Result<()> {
    let mut done = Ok(());
    for name in mine {
        let path = access.prefix.root().join(name);
        done = done.and(access.files.remove_file(&path));
    }
    done
}

/// Collects the directories of the files of all ranks, relative to the prefix. Collective; only rank 0
/// gets them.
fn parent_dirs(access: &PrefixAccess, mine: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>> {
    let parents: BTreeSet<&Path> = mine.iter().filter_map(|name| name.parent()).collect();
    let names = parents.iter().map(|dir| dir.as_os_str().into()).collect();
    let messages = collective::gather(access.comm, 0, to_message(&Names { names })?)?;
    let mut dirs = BTreeSet::new();
    for message in messages.unwrap_or_default() {
        let Names { names } = from_message(&message)?;
        dirs.extend(names.iter().map(|name| name.as_path().to_path_buf()));
    }
    Ok(dirs)
}

/// Removes directories that are empty now, then the metadata. Rank 0 only. Returns the directories
/// that are not empty.
fn remove_dirs(
    access: &PrefixAccess,
    dirs: BTreeSet<PathBuf>,
    going: &[u64],
) -> Result<Vec<PathBuf>> {
    let &PrefixAccess { files, prefix, .. } = access;
    let all: BTreeSet<&Path> = dirs.iter().flat_map(|dir| dir.ancestors()).collect();
    let mut kept = Vec::new();
    // Deepest first: a set of paths is ordered with parents before children.
    for dir in all.into_iter().rev().filter(|dir| **dir != *Path::new("")) {
        let path = prefix.root().join(dir);
        if !files.remove_dir(&path)? && files.stat(&path)?.is_some() {
            kept.push(path);
        }
    }
    for id in going {
        files.remove_tree(&prefix.dataset(*id))?;
    }
    Ok(kept)
}
