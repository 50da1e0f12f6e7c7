//! Checkpoints in the prefix directory that another number of ranks wrote. This run cannot use
//! them, and it writes over none of them unless the user says so (`SCR_START_ANEW=1`, or
//! `scr index --drop`).

use super::Session;
use super::cached::titled;
use super::state::Call;
use crate::format::Name;
use crate::format::index::{Index, IndexEntry};
use crate::prefix::{index, rank2file};
use crate::text::option;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// What a run knows of such checkpoints.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    /// Rank 0: the names of good checkpoints that were in the index when the run began. The number
    /// of ranks of each is looked up when the run wants to use its name.
    pub names: BTreeSet<Name>,
    /// The ids of those that a search has met. The same on all ranks.
    pub ids: Vec<u64>,
}

/// What rank 0 tells about all of them.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(super) struct Met {
    pub ids: Vec<u64>,
    /// Why the newest cannot be used, and the ways out.
    pub why: String,
}

fn is_whole(entry: &IndexEntry) -> bool {
    entry.is_good() && entry.is_checkpoint()
}

/// Why a checkpoint of `ranks` ranks cannot be used by a run of `size`.
pub(super) fn wrong_ranks(ranks: u64, size: usize) -> String {
    format!("was written by {ranks} ranks, this run has {size}")
}

impl Session {
    /// Rank 0: the whole checkpoints in the prefix directory that another number of ranks wrote,
    /// and what to say of `id`, the one that a restart would have taken.
    pub(super) fn foreign_in_prefix(&self, id: u64) -> Result<Met> {
        let index = index::read(&*self.files, &self.prefix)?;
        let size = self.comm.size();
        let ranks = |id| rank2file::ranks(&*self.files, &self.prefix.dataset(id));
        let whole = index.datasets().iter().rev().filter(|(_, e)| is_whole(e));
        let other = |id: &u64| ranks(*id).is_ok_and(|ranks| ranks != size as u64);
        let ids: Vec<u64> = whole.map(|(id, _)| *id).filter(other).collect();
        let needed = ranks(id)?;
        let more = match ids.iter().filter(|other| **other != id).count() {
            0 => String::new(),
            1 => " (so was 1 other checkpoint there)".to_string(),
            n => format!(" (so were {n} other checkpoints there)"),
        };
        let name = index.name(id).cloned().unwrap_or_default();
        let why = format!(
            "{}{more}; run with {needed} ranks, or give it up: `scr index {}`, or \
             SCR_START_ANEW=1 to go on without checkpoints of other numbers of ranks; until then \
             none is overwritten, and new checkpoints need other names",
            wrong_ranks(needed, size),
            option("--drop", name.as_bytes())
        );
        Ok(Met { ids, why })
    }

    /// Rank 0, the others have no objection: refuses the name of a whole checkpoint of another
    /// number of ranks. Local.
    pub(super) fn check_name(&mut self, call: Call, name: &Name) -> Result<()> {
        if self.settings.start_anew || !self.foreign.names.contains(name) {
            return Ok(());
        }
        let size = self.comm.size();
        let index = index::read(&*self.files, &self.prefix)?;
        let whole = |id: &u64| index.get(*id).is_some_and(is_whole);
        let ranks = match index.id(name).filter(whole) {
            Some(id) => rank2file::ranks(&*self.files, &self.prefix.dataset(id)),
            None => Ok(size as u64),
        };
        match ranks {
            Ok(ranks) if ranks != size as u64 => Err(Error::usage(
                call.name(),
                format!(
                    "{} would overwrite a checkpoint in {} that {}; choose another name, run with \
                     {ranks} ranks, or give it up: `scr index {}`, or SCR_START_ANEW=1",
                    name,
                    self.prefix.root().display(),
                    wrong_ranks(ranks, size),
                    option("--drop", name.as_bytes())
                ),
            )),
            Err(error) if error.is_transient() => Err(error),
            _ => {
                self.foreign.names.remove(name);
                Ok(())
            }
        }
    }

    /// Refuses a path, relative to the prefix directory, where a whole checkpoint of another
    /// number of ranks has a file. Local.
    pub(super) fn check_path(&self, relative: &Path) -> Result<()> {
        if self.foreign.ids.is_empty() || self.settings.start_anew {
            return Ok(());
        }
        let path = self.prefix.root().join(relative);
        if self.files.stat(&path)?.is_none() {
            return Ok(());
        }
        let index = index::read(&*self.files, &self.prefix)?;
        for id in &self.foreign.ids {
            if index.get(*id).is_some_and(is_whole) && self.lists(*id, relative)? {
                let name = index.name(*id).cloned().unwrap_or_default();
                return Err(Error::Config {
                    place: path.display().to_string(),
                    what: format!(
                        "is a file of {}, which another number of ranks wrote, and is not \
                         overwritten; choose another path, or give that checkpoint up: `scr index \
                         {}`, or SCR_START_ANEW=1",
                        titled(*id, &name),
                        option("--drop", name.as_bytes())
                    ),
                });
            }
        }
        Ok(())
    }

    /// True if a dataset in the prefix directory has a file of this path. Local.
    fn lists(&self, id: u64, relative: &Path) -> Result<bool> {
        let (dir, name) = (self.prefix.dataset(id), Name::from(relative));
        let mut found = false;
        rank2file::for_each(&*self.files, &dir, |_, entry| {
            found |= entry.files.contains_key(&name);
            Ok(())
        })?;
        Ok(found)
    }
}

/// The names that [`Foreign::names`] begins with.
pub(super) fn names(index: &Index) -> BTreeSet<Name> {
    let whole = index.datasets().iter().filter(|(_, entry)| is_whole(entry));
    whole
        .filter_map(|(id, _)| index.name(*id).cloned())
        .collect()
}
