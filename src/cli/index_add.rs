//! `scr index --add`: enters datasets that are in the prefix directory, and completes them first if they
//! need it.

use super::call::{Failure, Invocation};
use super::complete::complete;
use super::place;
use crate::config::fold_dots;
use crate::format::print::escaped;
use crate::format::{Dataset, Name, read, summary::Summary};
use crate::job::clock::local_time;
use crate::prefix::paths::Prefix;
use crate::prefix::{finish, index, rank2file, records};
use crate::scavenge::{build, dataset_records};
use crate::store::{FileKind, Files};
use crate::system::time::SystemTime;
use crate::system::time::UNIX_EPOCH;
use crate::{Error, Result};
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A dataset's directory in `.scr`.
struct Found {
    id: u64,
    dataset: Dataset,
    state: State,
}

/// What a dataset needs before it can be entered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing: its summary says that it is complete.
    Complete,
    /// Its summary, which is missing, or was written when the flush began.
    Unfinished,
    /// A summary. It was scavenged, or only its rank2file is there.
    NoSummary,
}

/// Enters the dataset that `named` names: by its name, or by a directory that has all of its files, or by its
/// directory in `.scr`. These are relative to the current directory or to the prefix directory.
pub(super) fn add(
    call: &mut Invocation,
    prefix: &Prefix,
    named: &OsStr,
) -> std::result::Result<(), Failure> {
    let files = &*place::files(prefix);
    let all = datasets(call, files, prefix)?;
    let Some(found) = choose(files, prefix, all, named)? else {
        return Err(unknown(prefix, named)?);
    };
    let Found { id, dataset, state } = found;
    check_number(prefix, files, &dataset)?;
    let (dir, name) = (prefix.dataset(id), escaped(&dataset.name));
    writeln!(
        call.out,
        "Found `{name}' as dataset {id} at {}",
        dir.display()
    )?;
    let done = match state {
        State::Complete => Some(dataset),
        State::Unfinished => finish::seal_if_whole(files, prefix, &dataset)?,
        State::NoSummary => certified(files, prefix, &dataset),
    };
    let Some(dataset) = done else {
        // It may be possible from what was scavenged.
        return complete(call, prefix, id).map_err(|failure| half_written(&name, id, failure));
    };
    if state != State::Complete {
        writeln!(call.out, "All its files are there: wrote its summary")?;
    }
    writeln!(call.out, "Adding `{name}' to index")?;
    // The summary was written when the last of the files was there.
    let written = files.stat(&dir.join("summary.scr"))?;
    let seconds = written.map_or(0, |stat| u64::try_from(stat.mtime.0).unwrap_or(0));
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    let time = local_time(time.unwrap_or_else(SystemTime::now));
    index::update(files, prefix, |index| {
        index.set_complete(dataset, time);
        Ok(())
    })?;
    Ok(())
}

/// All datasets with a directory in `.scr`, newest first. One that cannot be read is reported and skipped.
fn datasets(call: &mut Invocation, files: &dyn Files, prefix: &Prefix) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    for entry in files.list(&prefix.meta())? {
        let id = entry
            .to_str()
            .and_then(|entry| entry.strip_prefix("scr.dataset."))
            .and_then(|id| id.parse::<u64>().ok());
        let Some(id) = id.filter(|id| prefix.dataset(*id).file_name() == Some(&*entry)) else {
            continue;
        };
        let path = prefix.dataset(id).join("summary.scr");
        match read::<Summary>(files, &path) {
            Ok(summary) if summary.dataset.id != id => {
                let other = summary.dataset.id;
                call.warn(&format_args!(
                    "{} describes dataset {other}, and is skipped",
                    path.display()
                ));
            }
            Ok(Summary {
                dataset, complete, ..
            }) => all.push(Found {
                id,
                dataset,
                state: match complete {
                    true => State::Complete,
                    false => State::Unfinished,
                },
            }),
            Err(error) => {
                if !error.is_not_found() {
                    call.warn(&error);
                }
                let dataset = without_summary(files, prefix, id);
                let state = State::NoSummary;
                all.extend(dataset.map(|dataset| Found { id, dataset, state }));
            }
        }
    }
    all.sort_by_key(|found| std::cmp::Reverse(found.id));
    Ok(all)
}

/// A dataset without a summary, from the records of a scavenge, else from the flush file.
fn without_summary(files: &dyn Files, prefix: &Prefix, id: u64) -> Option<Dataset> {
    if let Ok(sources) = dataset_records::read(files, &prefix.dataset(id), Some(id)) {
        return sources.into_iter().next().map(|source| source.dataset);
    }
    let mut record = records::read_flush_file(files, prefix).ok()?;
    let entry = record.datasets.remove(&id)?;
    entry.dataset.filter(|dataset| dataset.id == id)
}

/// Writes the summary of a dataset whose rank2file is whole, and all of whose files are there.
fn certified(files: &dyn Files, prefix: &Prefix, dataset: &Dataset) -> Option<Dataset> {
    let dir = prefix.dataset(dataset.id);
    let ranks = rank2file::ranks(files, &dir).ok()?;
    let mut seen = 0;
    let counted = rank2file::for_each(files, &dir, |_, _| {
        seen += 1;
        Ok(())
    });
    let whole = counted.is_ok() && seen == ranks;
    whole.then(|| build::certify(files, prefix, dataset).ok())??;
    read::<Summary>(files, &dir.join("summary.scr"))
        .ok()
        .map(|summary| summary.dataset)
}

/// The newest dataset that `named` names.
fn choose(
    files: &dyn Files,
    prefix: &Prefix,
    mut all: Vec<Found>,
    named: &OsStr,
) -> std::result::Result<Option<Found>, Failure> {
    let find = |all: &[Found], wanted: &dyn Fn(&Found) -> bool| all.iter().position(wanted);
    let name = Name::from(named);
    let mut at = find(&all, &|found| found.dataset.name == name);
    for dir in directories(prefix, named)? {
        let below = dir.strip_prefix(prefix.root()).unwrap_or(&dir);
        let name = Name::from(below);
        at = at.or_else(|| find(&all, &|found| prefix.dataset(found.id) == dir));
        at = at.or_else(|| find(&all, &|found| found.dataset.name == name));
    }
    for dir in directories(prefix, named)? {
        let below = dir.strip_prefix(prefix.root()).unwrap_or(&dir);
        at = at.or_else(|| find(&all, &|found| has_all_below(files, prefix, found, below)));
    }
    Ok(at.map(|at| all.swap_remove(at)))
}

/// The directories below the prefix directory that a path may mean.
fn directories(prefix: &Prefix, named: &OsStr) -> std::result::Result<Vec<PathBuf>, Failure> {
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let path = Path::new(named);
    let from_here = fold_dots(&place::absolute(path)?);
    let from_prefix = fold_dots(&prefix.root().join(path));
    let mut dirs = Vec::new();
    for dir in [from_here, from_prefix] {
        let below = dir
            .strip_prefix(prefix.root())
            .or_else(|_| dir.strip_prefix(prefix.real()));
        if let Ok(below) = below
            && !below.as_os_str().is_empty()
        {
            dirs.push(prefix.root().join(below));
        }
    }
    Ok(dirs)
}

/// True if the dataset has files, and all are below this directory, which is relative to the prefix.
fn has_all_below(files: &dyn Files, prefix: &Prefix, found: &Found, below: &Path) -> bool {
    let dir = prefix.dataset(found.id);
    let (mut some, mut all) = (false, true);
    let mut look = |name: &Name| {
        some = true;
        all &= name.as_path().starts_with(below);
    };
    let listed = rank2file::for_each(files, &dir, |_, entry| {
        entry.files.keys().for_each(&mut look);
        Ok(())
    });
    if listed.is_err() {
        let sources = dataset_records::read(files, &dir, Some(found.id)).unwrap_or_default();
        let maps = sources.iter().flat_map(|source| source.filemaps.values());
        let names = maps.flat_map(|map| &map.files.files);
        names.for_each(|file| look(&file.file));
    }
    some && all
}

/// Refuses a dataset whose number the index has for another one.
fn check_number(prefix: &Prefix, files: &dyn Files, dataset: &Dataset) -> Result<()> {
    let index = index::read(files, prefix)?;
    let known = index
        .get(dataset.id)
        .and_then(|entry| entry.dataset.as_ref());
    match known.filter(|known| !finish::is_same(known, dataset)) {
        None => Ok(()),
        Some(other) => {
            let other = escaped(&other.name);
            let what = format!(
                "the index has another dataset of that number, `{other}'; `scr index --drop {other}` \
                 takes it out"
            );
            Err(Error::dataset(dataset.id, escaped(&dataset.name), what))
        }
    }
}

/// The message for a dataset that is not complete.
fn half_written(name: &str, id: u64, failure: Failure) -> Failure {
    match failure {
        Failure::Said(why) => Failure::said(format!(
            "`{name}' (dataset {id}) is not complete in the prefix directory, and is not entered: {why}; \
             `scr postrun` saves it if caches still have it"
        )),
        other => other,
    }
}

/// The message for a name that no dataset has.
fn unknown(prefix: &Prefix, named: &OsStr) -> std::result::Result<Failure, Failure> {
    let shown = escaped(&Name::from(named));
    let text = format!(
        "no summary in {} describes a dataset `{shown}'",
        prefix.meta().display()
    );
    let path = place::absolute(Path::new(named))?;
    let is_dir = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    let dirs = directories(prefix, named)?;
    let files = place::files(prefix);
    let there = |dir: &PathBuf| {
        let stat = files.stat(dir).ok().flatten();
        stat.is_some_and(|stat| stat.kind == FileKind::Directory)
    };
    Ok(Failure::said(if dirs.iter().any(there) {
        format!(
            "{text}; there is such a directory, but no dataset that SCR has recorded there has all of its \
             files in it"
        )
    } else if dirs.is_empty() && is_dir(&path) {
        format!(
            "{text}; that directory is not below the prefix directory {}, which --prefix names",
            prefix.root().display()
        )
    } else {
        text
    }))
}
