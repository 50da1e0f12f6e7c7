//! Enters datasets in the index that are in the prefix directory, one by one: `scr index --add`, also after
//! the index was lost.

use scr_engine::format::print::escaped;
use scr_engine::format::{Dataset, Name, read, summary::Summary};
use scr_engine::prefix::finish::{self, Entering};
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::{index, rank2file, records};
use scr_engine::scavenge::{build, dataset_records};
use scr_engine::store::Files;
use scr_engine::{Error, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A dataset's directory in `.scr`.
pub struct Found {
    /// The id of the dataset.
    pub id: u64,
    /// The description of the dataset.
    pub dataset: Dataset,
    /// The steps that the dataset needs.
    pub state: State,
}

/// The steps that a dataset needs before it can be entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The dataset needs no step: it has a summary, which says that the dataset is complete.
    Complete,
    /// The dataset needs an end of its summary, which was written when the flush began.
    Unfinished,
    /// A summary must be made, since none is there that can be read. The dataset was scavenged, or has only its rank2file.
    NoSummary,
}

/// All datasets with a directory in `.scr`, newest first. A dataset that cannot be read is reported and skipped.
pub fn datasets(
    files: &dyn Files,
    prefix: &Prefix,
    tell: &mut dyn FnMut(String),
) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    for id in prefix.ids(files)? {
        let path = prefix.dataset(id).join("summary.scr");
        match read::<Summary>(files, &path) {
            Ok(summary) if summary.dataset.id != id => {
                let other = summary.dataset.id;
                let path = path.display();
                tell(format!("{path} describes dataset {other}, and is skipped"));
            }
            Ok(Summary {
                dataset, complete, ..
            }) => all.push(Found {
                id,
                dataset,
                state: if complete {
                    State::Complete
                } else {
                    State::Unfinished
                },
            }),
            Err(error) => {
                if !error.is_not_found() {
                    tell(error.to_string());
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

/// The newest dataset of this name; or else the newest dataset whose files, or records, are all in
/// these directories below the prefix directory.
pub fn choose(
    files: &dyn Files,
    prefix: &Prefix,
    mut all: Vec<Found>,
    name: &OsStr,
    dirs: &[PathBuf],
) -> Option<Found> {
    let find = |all: &[Found], wanted: &dyn Fn(&Found) -> bool| all.iter().position(wanted);
    let name = Name::from(name);
    let mut at = find(&all, &|found| found.dataset.name == name);
    for dir in dirs {
        let below = dir.strip_prefix(prefix.root()).unwrap_or(dir);
        let name = Name::from(below);
        at = at.or_else(|| find(&all, &|found| prefix.dataset(found.id) == *dir));
        at = at.or_else(|| find(&all, &|found| found.dataset.name == name));
    }
    for dir in dirs {
        let below = dir.strip_prefix(prefix.root()).unwrap_or(dir);
        at = at.or_else(|| find(&all, &|found| has_all_below(files, prefix, found, below)));
    }
    at.map(|at| all.swap_remove(at))
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
pub fn check_number(files: &dyn Files, prefix: &Prefix, dataset: &Dataset) -> Result<()> {
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

/// Enters a dataset in the index, if all its files are there; before, writes its summary if it needs one.
/// `None` if files are missing, or not known. `local_time` gives a time, in seconds since 1970, as the index
/// has it. Local.
///
/// # Errors
/// Somebody has deleted the dataset meanwhile, or the index cannot be changed.
pub fn enter(
    files: &dyn Files,
    prefix: &Prefix,
    found: &Found,
    local_time: &dyn Fn(Option<u64>) -> String,
) -> Result<Option<Dataset>> {
    let dir = prefix.dataset(found.id);
    // Nobody deletes it between the look at its files and the entry.
    let _lock = index::lock(files, &dir)?;
    let there = match found.state {
        // A deletion that was killed, or a power loss, may have left the summary alone.
        State::Complete => {
            let there = build::check_files(files, prefix, found.id, "").is_ok();
            if there {
                finish::sync_records(files, prefix, found.id)?;
            }
            there.then(|| found.dataset.clone())
        }
        State::Unfinished => finish::seal_if_whole(files, prefix, &found.dataset)?,
        State::NoSummary => certified(files, prefix, &found.dataset),
    };
    let Some(dataset) = there else {
        return Ok(None);
    };
    // The summary was written when the last of the files was there.
    let written = files.stat(&dir.join("summary.scr"))?;
    let seconds = written.map(|stat| u64::try_from(stat.mtime.0).unwrap_or(0));
    let time = local_time(seconds);
    finish::enter(files, prefix, &dataset, Entering::Listed, &|| time.clone())?;
    Ok(Some(dataset))
}
