//! Checkpoints in the prefix directory that another number of ranks wrote. Where the program or the
//! user allows it, such checkpoints are used and overwritten like any other: see `any_ranks`.
//! Otherwise this run neither uses nor overwrites them, unless the user gives them up
//! (`SCR_START_ANEW=1`, or `scr index --drop`).

use crate::comm::AtRoot;
use crate::config::settings::Settings;
use crate::format::index::{Index, IndexEntry};
use crate::format::{Dataset, Name};
use crate::messages::{OTHER_NUMBER_OF_RANKS, WOULD_OVERWRITE};
use crate::prefix::{index, rank2file};
use crate::session::datasets::cached::titled;
use crate::session::datasets::location::Writers;
use crate::session::run::Run;
use crate::session::state::Call;
use crate::store::retry;
use crate::text::option;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// The state of a run's restart on another number of ranks. The same on all ranks.
#[derive(Debug, Default)]
pub(in crate::session) struct OtherRanks {
    /// Such checkpoints can be read like those of this number of ranks.
    pub allowed: bool,
    /// The ids that a search has found.
    pub ids: Vec<u64>,
    names: AtRoot<KnownNames>,
}

/// The names of good checkpoints that were in the index when the run began. Their numbers of ranks are looked
/// up when the run wants to use such a name.
#[derive(Debug, Default)]
pub(in crate::session) struct KnownNames(BTreeSet<Name>);

/// Rank 0's message about all of them.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct OtherRanksFound {
    pub ids: Vec<u64>,
    /// The reason why the newest cannot be used, and the remedy.
    pub why: String,
}

/// The reason why a checkpoint of `ranks` ranks cannot be used by a run of `size` ranks.
pub(in crate::session) fn wrong_ranks(ranks: u64, size: usize) -> String {
    format!("was written by {ranks} ranks, this run has {size} ({OTHER_NUMBER_OF_RANKS})")
}

/// Rank 0: the complete checkpoints in the prefix directory that another number of ranks wrote, and
/// the message about `id`, the one that a restart would have taken.
pub(in crate::session) fn find(run: &Run, id: u64) -> Result<OtherRanksFound> {
    let index = index::read(&*run.files, &run.prefix)?;
    let size = run.comm.size();
    let ranks = |id| rank2file::ranks(&*run.files, &run.prefix.dataset(id));
    let complete = index.datasets().iter().rev().filter(|(_, e)| is_usable(e));
    let other = |id: &u64| ranks(*id).is_ok_and(|ranks| Writers::new(run, ranks).are_others());
    let ids: Vec<u64> = complete.map(|(id, _)| *id).filter(other).collect();
    let needed = ranks(id)?;
    let more = match ids.iter().filter(|other| **other != id).count() {
        0 => String::new(),
        1 => " (so was 1 other checkpoint there)".to_string(),
        n => format!(" (so were {n} other checkpoints there)"),
    };
    let name = index.name(id).cloned().unwrap_or_default();
    let why = format!(
        "{}{more}; run with {needed} ranks, or, if the program can read files of any rank, with \
         SCR_FETCH_BYPASS=1; or give it up: `scr index {}`, or SCR_START_ANEW=1 to go on without checkpoints of other numbers of ranks; until then none is overwritten, and \
         new checkpoints need other names",
        wrong_ranks(needed, size),
        option("--drop", name.as_bytes())
    );
    Ok(OtherRanksFound { ids, why })
}

fn is_usable(entry: &IndexEntry) -> bool {
    entry.is_good() && entry.is_checkpoint()
}

impl KnownNames {
    /// The checkpoints of this kind in the index.
    pub fn new(index: &Index) -> Self {
        let usable = index
            .datasets()
            .iter()
            .filter(|(_, entry)| is_usable(entry));
        let names = usable.filter_map(|(id, _)| index.name(*id).cloned());
        KnownNames(names.collect())
    }
}

impl OtherRanks {
    /// The state at the beginning of a run: other numbers of ranks are allowed if the parameters say so.
    pub fn new(settings: &Settings, names: AtRoot<KnownNames>) -> Self {
        OtherRanks {
            allowed: settings.fetch_bypass && !settings.start_anew,
            ids: Vec::new(),
            names,
        }
    }

    /// Rank 0: the number of ranks that must have written a dataset to be fetched from the prefix
    /// directory. Where any number is allowed, it is the number that did. If that cannot be read, the
    /// fetch tells why. Local.
    pub fn ranks_of(&self, run: &Run, dataset: Option<&Dataset>) -> u64 {
        let dir = dataset.map(|dataset| run.prefix.dataset(dataset.id));
        let ranks = dir
            .filter(|_| self.allowed)
            .map(|dir| retry(|| rank2file::ranks(&*run.files, &dir)));
        ranks.and_then(Result::ok).unwrap_or(run.comm.size() as u64)
    }

    /// Refuses the name of a complete checkpoint that another number of ranks wrote. Local: rank 0
    /// looks, the other ranks agree.
    pub fn check_name(&mut self, run: &Run, call: Call, name: &Name) -> Result<()> {
        let Some(KnownNames(names)) = self.names.get_mut() else {
            return Ok(());
        };
        if self.allowed || run.settings.start_anew || !names.contains(name) {
            return Ok(());
        }
        let index = index::read(&*run.files, &run.prefix)?;
        let usable = |id: &u64| index.get(*id).is_some_and(is_usable);
        let ranks = match index.id(name).filter(usable) {
            Some(id) => retry(|| rank2file::ranks(&*run.files, &run.prefix.dataset(id)))
                .map(|ranks| Writers::new(run, ranks)),
            None => Ok(Writers::AsManyAsNow),
        };
        match ranks {
            Ok(Writers::Others(ranks)) => Err(Error::usage(
                call.name(),
                format!(
                    "{} would overwrite a checkpoint in {} that {}; choose another name, run with \
                     {ranks} ranks, or give it up: `scr index {}`, or SCR_START_ANEW=1 ({WOULD_OVERWRITE})",
                    name,
                    run.prefix.root().display(),
                    wrong_ranks(ranks, run.comm.size()),
                    option("--drop", name.as_bytes())
                ),
            )),
            Err(error) if error.is_transient() => Err(error),
            _ => {
                names.remove(name);
                Ok(())
            }
        }
    }

    /// Refuses a path, relative to the prefix directory, at which a complete checkpoint of another
    /// number of ranks has a file. Local.
    pub fn check_path(&self, run: &Run, relative: &Path) -> Result<()> {
        if self.allowed || self.ids.is_empty() || run.settings.start_anew {
            return Ok(());
        }
        let path = run.prefix.root().join(relative);
        if run.files.stat(&path)?.is_none() {
            return Ok(());
        }
        let index = index::read(&*run.files, &run.prefix)?;
        for id in &self.ids {
            if index.get(*id).is_some_and(is_usable) && has_file(run, *id, relative)? {
                let name = index.name(*id).cloned().unwrap_or_default();
                return Err(Error::config(
                    path.display().to_string(),
                    format!(
                        "is a file of {}, which another number of ranks wrote, and is not \
                         overwritten; choose another path, or give that checkpoint up: `scr index \
                         {}`, or SCR_START_ANEW=1",
                        titled(*id, &name),
                        option("--drop", name.as_bytes())
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// True if a dataset in the prefix directory has a file of this path. Local.
fn has_file(run: &Run, id: u64, relative: &Path) -> Result<bool> {
    let (dir, name) = (run.prefix.dataset(id), Name::from(relative));
    let mut found = false;
    rank2file::for_each(&*run.files, &dir, |_, entry| {
        found |= entry.files.contains_key(&name);
        Ok(())
    })?;
    Ok(found)
}
