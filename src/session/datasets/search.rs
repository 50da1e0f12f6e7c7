//! The search for a checkpoint to restart from: what was found, what was tried, what is offered.

use crate::Result;
use crate::cache::plan::{Candidate, Slot};
use crate::events::Severity;
use crate::format::index::{Index, IndexEntry};
use crate::format::{Dataset, Name};
use crate::prefix::index;
use crate::session::datasets::cached::{CachedDataset, CachedDatasets, RestartFiles, note};
use crate::session::datasets::other_ranks::OtherRanks;
use crate::session::datasets::unavailable::Unavailable;
use crate::session::ids::Ids;
use crate::session::run::Run;
use crate::session::statistics::Statistics;
use crate::text::plural;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Size of a file, and times of the last change of its content and of its inode.
type FileStamp = (u64, (i64, u32), (i64, u32));

/// A dataset at one time of its id: id, and time of creation in microseconds since the epoch.
pub(in crate::session) type DatasetKey = (u64, u64);

/// The parts of a session that the search for a restart uses and changes.
pub(in crate::session) struct Restart<'a> {
    pub run: &'a Run,
    pub cached: &'a mut CachedDatasets,
    pub search: &'a mut RestartSearch,
    pub ids: &'a mut Ids,
    pub other_ranks: &'a mut OtherRanks,
    pub statistics: &'a mut Statistics,
}

/// State of the search. The first three fields are the same on all ranks, the others are rank 0's.
#[derive(Default)]
pub(in crate::session) struct RestartSearch {
    /// The checkpoint that `SCR_Have_restart` offers: this rank's files of it.
    pub offered: Option<RestartFiles>,
    /// The newest checkpoint that may be whole but could not be used.
    pub unavailable: Option<Unavailable>,
    /// The id that `SCR_Current` has named, until that checkpoint is offered. No other one is
    /// offered before it.
    pub chosen: Option<u64>,
    /// Cached datasets that were not tried yet, newest last.
    pub cached: Vec<Candidate>,
    /// The cached dataset that is being tried.
    pub tried: Option<Candidate>,
    /// Cached datasets that could not be recovered, for a reason that may pass.
    pub failed_for_now: Vec<Candidate>,
    /// For each store, the leader of each rank.
    pub leaders: Vec<Vec<usize>>,
    /// For each store, the failure domain of each rank; see
    /// [`domains_of_nodes`](crate::redundancy::topology::domains_of_nodes).
    pub domains: Vec<Vec<usize>>,
    /// Datasets that were complete when the last run ended, by the flush file.
    pub completed: BTreeSet<DatasetKey>,
    /// Those of them that were in the prefix directory.
    pub saved: BTreeSet<DatasetKey>,
    /// Those of them whose flush had failed or had not ended.
    pub interrupted: BTreeSet<DatasetKey>,
    /// What the last run of this job wrote in bypass. Such datasets have no record in a cache.
    pub in_bypass: BTreeMap<DatasetKey, Name>,
    /// The highest ids of the index file, and the stamp that the file had then.
    indexed: (Option<FileStamp>, (u64, u64)),
    /// Directories with a record that cannot be read now.
    pub unread: Vec<Slot>,
    /// Directories to delete or to quarantine with the next message to all ranks.
    pub rejected: Rejected,
    /// Checkpoints that were passed over and not reported yet, newest first.
    pub passed_over: Vec<PassedOver>,
    /// How many datasets of the cache were tried.
    pub rebuilds: u32,
    /// Ids in the prefix directory that were not tried yet, in the order in which they are tried.
    /// `None` until the index has been read.
    pub fetch: Option<VecDeque<u64>>,
}

/// What the prefix directory has of a cached dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum InPrefix {
    /// All of it, and it is good.
    Complete,
    /// It had all of it, and the user has taken it out of the index.
    Dropped,
    /// Its id, or its name, belongs to another dataset now. A flush would overwrite that one.
    Superseded,
    /// Nothing, or a part of it, or a copy that a restart could not use.
    Absent,
}

/// A checkpoint that a search has passed over.
pub(in crate::session) struct PassedOver {
    pub severity: Severity,
    pub named: String,
    /// The message if it is the only one.
    pub text: String,
}

/// Directories of cached datasets that cannot be used any more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct Rejected {
    /// Never completed: to be deleted.
    pub discard: Vec<Slot>,
    /// Completed once: to be kept aside until room is needed.
    pub quarantine: Vec<Slot>,
}

impl RestartSearch {
    /// Forgets directories that were removed, and ids of which no directory is left.
    pub fn forget(&mut self, slots: &[Slot], ids: &[u64]) {
        self.cached.retain(|c| !slots.contains(&c.slot()));
        self.failed_for_now.retain(|c| !slots.contains(&c.slot()));
        self.offered
            .take_if(|offered| ids.contains(&offered.dataset.id));
    }

    /// True if a restart from `dataset` passes over no newer checkpoint that may be whole.
    pub fn may_offer(&self, dataset: &Dataset) -> bool {
        let unavailable = self.unavailable.as_ref();
        unavailable.is_none_or(|newest| newest.allows(dataset))
    }

    /// Rank 0: what the prefix directory has of a cached dataset, by the flush file and by `index`.
    /// Local.
    pub fn find_in_prefix(&self, index: &Index, dataset: &Dataset) -> InPrefix {
        let key = (dataset.id, dataset.created);
        let same = |d: &&Dataset| (d.id, d.created) == key;
        let entry = index.get(dataset.id);
        let described = entry.and_then(|entry| entry.dataset.as_ref());
        if entry.is_some_and(IndexEntry::is_good) && described.filter(same).is_some() {
            return InPrefix::Complete;
        }
        if self.saved.contains(&key) && described.filter(same).is_none() {
            return InPrefix::Dropped;
        }
        let id_is_taken = described.is_some_and(|d| d.created != dataset.created);
        let newer = index.id(&dataset.name).and_then(|id| index.get(id));
        let newer = newer.and_then(|entry| entry.dataset.as_ref());
        match id_is_taken || newer.is_some_and(|d| d.created > dataset.created) {
            true => InPrefix::Superseded,
            false => InPrefix::Absent,
        }
    }

    /// Reports the checkpoints that were passed over: the newest with the reason, the others in the
    /// same line. Local.
    pub fn tell_passed_over(&mut self, run: &Run) {
        let mut all = std::mem::take(&mut self.passed_over).into_iter();
        let Some(PassedOver { severity, text, .. }) = all.next() else {
            return;
        };
        let others: Vec<PassedOver> = all.collect();
        let mut more = String::new();
        if !others.is_empty() {
            const MOST: usize = 4;
            let names: Vec<&str> = others.iter().map(|o| o.named.as_str()).collect();
            let listed = &names[..names.len().min(MOST)];
            let dots = if names.len() > MOST { ", ..." } else { "" };
            more = format!(
                "; {} more {} cannot be used: {}{dots} (SCR_DEBUG=1 tells why)",
                names.len(),
                plural(names.len(), "checkpoint"),
                listed.join(", ")
            );
        }
        run.tell_once(severity, format!("{text}{more}"));
        for other in others {
            run.tell_once(Severity::Debug(1), other.text);
        }
    }

    /// Notes a checkpoint that cannot be used. The first one that a search finds is the newest.
    pub fn cannot_use(&mut self, unavailable: Unavailable) {
        self.unavailable.get_or_insert(unavailable);
    }

    /// The newest recovered, written or fetched checkpoint of this run that may be offered, unless
    /// the prefix directory has a newer one, or the cache one that was not tried yet. Collective.
    pub fn newest_of_run(
        &self,
        run: &Run,
        cached: &CachedDatasets,
    ) -> Result<Option<RestartFiles>> {
        let usable = |c: &&CachedDataset| {
            let chosen = self.chosen.is_none_or(|chosen| chosen == c.dataset.id);
            let whole = c.filemap.is_some() && c.dataset.is_checkpoint();
            chosen && whole && self.may_offer(&c.dataset)
        };
        let usable = cached.entries.iter().filter(usable);
        let Some(newest) = usable.max_by_key(|c| c.dataset.id) else {
            return Ok(None);
        };
        let is_older = || {
            // One that a flush needed may have been recovered before.
            let untried = |c: &Candidate| {
                c.dataset.is_checkpoint()
                    && c.dataset.created > newest.dataset.created
                    && c.recoverable(run.comm.size()).is_ok()
            };
            let untried = self.cached.iter().any(untried);
            Ok(untried || self.newer_in_prefix(run, &newest.dataset)?.is_some())
        };
        if self.chosen.is_none() && run.share_from_root(is_older)? {
            return Ok(None);
        }
        Ok(newest.restart_files(run))
    }

    /// Rank 0: the newest good checkpoint in the prefix directory that was created after `dataset`
    /// and was not tried yet. A cached dataset that is older than it was left by an earlier job, and
    /// must not be used. `None` if `dataset` is current in the index: the user has chosen it.
    pub fn newer_in_prefix(&self, run: &Run, dataset: &Dataset) -> Result<Option<Dataset>> {
        if !run.settings.fetch {
            return Ok(None);
        }
        let index = index::read(&*run.files, &run.prefix)?;
        let current = index.current().and_then(|name| index.get(index.id(name)?));
        let current = current.and_then(|entry| entry.dataset.as_ref());
        let same = |d: &Dataset| (&d.name, d.created) == (&dataset.name, dataset.created);
        if current.is_some_and(same) {
            return Ok(None);
        }
        let untried = |id: &u64| self.fetch.as_ref().is_none_or(|queue| queue.contains(id));
        let good = index
            .datasets()
            .iter()
            .filter(|(id, entry)| entry.is_good() && entry.is_checkpoint() && untried(id));
        let newest = good
            .filter_map(|(_, entry)| entry.dataset.as_ref())
            .max_by_key(|other| other.created);
        let newer = newest.filter(|other| other.created > dataset.created);
        Ok(newer.cloned())
    }

    /// Rank 0: the highest ids of datasets and of checkpoints in the index. The file is read only if
    /// it has changed. If it cannot be read now, these are the ids of the last time: whoever changes
    /// the index will report the error. Local.
    pub fn highest_in_index(&mut self, run: &Run) -> (u64, u64) {
        let stat = run.files.stat(&run.prefix.file("index.scr"));
        let stamp = stat.ok().flatten().map(|s| (s.size, s.mtime, s.ctime));
        if stamp != self.indexed.0
            && let Ok(index) = index::read(&*run.files, &run.prefix)
        {
            self.indexed = (stamp, (index.max_dataset(), index.max_checkpoint()));
        }
        self.indexed.1
    }

    /// Rank 0: datasets that the last run wrote in bypass count as cached, as long as the count of
    /// the store has room for them beside the datasets of this run. The others are forgotten, and
    /// any of the name `name`, whose files are about to be overwritten. Local.
    pub fn limit_bypass_of_last_run(
        &mut self,
        run: &Run,
        cached: &CachedDatasets,
        store: usize,
        name: &Name,
    ) {
        self.in_bypass
            .retain(|(id, _), _| cached.get(*id).is_none());
        let same = self.bypass_ids(|other| other == name);
        let others = self.bypass_ids(|other| other != name);
        let of_this_run = cached.slots(|c| c.bypass && c.store == store).len();
        let count = run.descriptors.stores[store].count as usize;
        let room = count.saturating_sub(1 + of_this_run);
        let oldest = others
            .get(..others.len().saturating_sub(room))
            .unwrap_or_default();
        self.forget_bypass_of_last_run(run, |id| oldest.contains(&id) || same.contains(&id));
    }

    /// Rank 0: the ids of what the last run wrote in bypass under such names, ascending.
    fn bypass_ids(&self, named: impl Fn(&Name) -> bool) -> Vec<u64> {
        let all = self.in_bypass.iter();
        all.filter(|(_, name)| named(name))
            .map(|((id, _), _)| *id)
            .collect()
    }

    /// Rank 0: some of what the last run wrote in bypass no longer counts as cached. Local.
    pub fn forget_bypass_of_last_run(&mut self, run: &Run, gone: impl Fn(u64) -> bool) {
        let mut ids = self.bypass_ids(|_| true);
        ids.retain(|id| gone(*id));
        self.in_bypass.retain(|(id, _), _| !ids.contains(id));
        if !ids.is_empty() {
            note(run, |record| {
                record.datasets.retain(|id, _| !ids.contains(id));
            });
        }
    }
}
