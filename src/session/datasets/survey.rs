//! Rank 0's findings about datasets in the caches and in the prefix directory, for a search for a restart.
//! The other ranks do not have it: they get rank 0's orders.

use crate::Result;
use crate::cache::plan::{Candidate, Slot};
use crate::events::Severity;
use crate::format::flush_file::{self, FlushEntry};
use crate::format::index::{Index, IndexEntry};
use crate::format::{Dataset, Name};
use crate::prefix::index;
use crate::session::datasets::cached::{CachedDatasets, note};
use crate::session::datasets::location::Location;
use crate::session::run::Run;
use crate::store::FileStamp;
use crate::text::plural;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A dataset at one time of its id: id, and time of creation in microseconds since the epoch.
pub(in crate::session) type DatasetKey = (u64, u64);

/// The findings of rank 0, and the datasets that are left to try.
#[derive(Default)]
pub(in crate::session) struct Survey {
    /// For each store, the leader of each rank. Empty until leaders have reported, as `domains` is.
    pub leaders: Vec<Vec<usize>>,
    /// For each store, the failure domain of each rank: the lowest rank whose datasets are lost together
    /// with this rank's.
    pub domains: Vec<Vec<usize>>,
    /// Stores that other runs have on some nodes. No rank of this run reads or writes there.
    pub held_by_others: BTreeSet<usize>,
    pub last_run: LastRun,
    /// Ids of checkpoints that were found to be of another program.
    pub unfit: BTreeSet<u64>,
    /// Ids of checkpoints that the program has rejected while the index could not be written. The index has them as good, but
    /// this run does not offer them again.
    pub known_bad: BTreeSet<u64>,
    /// The entry of the index that the last fetch has replaced.
    pub replaced: Option<Replaced>,
    /// Cached datasets that were not tried yet, newest last.
    pub cached: Vec<Candidate>,
    /// The cached dataset that is being tried.
    pub tried: Option<Candidate>,
    /// Cached datasets that could not be recovered, for a reason that may pass.
    pub failed_for_now: Vec<Candidate>,
    /// Directories with a record that cannot be read now.
    pub unread: Vec<Slot>,
    /// Directories that no restart can use and that the other ranks do not know yet.
    pub unusable: Vec<Slot>,
    /// The names of the datasets that were found in directories of this job, also of those that are gone
    /// since.
    pub names: Vec<(Slot, Name)>,
    /// Directories to delete or to quarantine with the next message to all ranks.
    pub rejected: Rejected,
    /// Checkpoints that were passed over and not reported yet, newest first.
    pub passed_over: Vec<PassedOver>,
    /// Number of cached datasets that were tried.
    pub rebuilds: u32,
    /// Ids in the prefix directory that were not tried yet, in the order in which they are tried.
    /// `None` until the index has been read.
    pub fetch: Option<VecDeque<u64>>,
    /// The highest ids of the index file, and the stamp that the file had then.
    indexed: (Option<FileStamp>, (u64, u64)),
}

/// A fetched checkpoint becomes the current one in the index.
#[derive(Debug, Clone)]
pub(in crate::session) struct Replaced {
    /// The id of the fetched checkpoint.
    pub by: u64,
    /// The name of the checkpoint that was current.
    pub current: Option<Name>,
}

/// The datasets of the last run, as the flush file tells of them.
#[derive(Default)]
pub(in crate::session) struct LastRun {
    /// Datasets that were complete when it ended.
    pub completed: BTreeSet<DatasetKey>,
    /// The datasets that were in the prefix directory.
    pub saved: BTreeSet<DatasetKey>,
    /// The datasets whose flush had failed or had not ended.
    pub interrupted: BTreeSet<DatasetKey>,
    /// The datasets that it wrote in bypass in this job. They have no record in a cache.
    pub in_bypass: BTreeMap<DatasetKey, Name>,
    /// With `SCR_FETCH=0`: the newest checkpoint of this job, which has left the cache of this run and is in the prefix
    /// directory. It counts as cached until a newer one is complete.
    pub displaced: Option<DatasetKey>,
}

/// The state of a cached dataset in the prefix directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum InPrefix {
    /// The prefix directory has all of the dataset, and it is good.
    Complete,
    /// The prefix directory had all of the dataset, and the user has taken it out of the index.
    Dropped,
    /// The id or the name of the dataset now belongs to another dataset. A flush would overwrite that dataset.
    Superseded,
    /// The prefix directory has nothing of the dataset, or a part of it, or a copy that a restart
    /// could not use.
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

impl Survey {
    /// The cached datasets of earlier runs that may still be used.
    pub fn untried(&self) -> impl DoubleEndedIterator<Item = &Candidate> {
        self.cached.iter().chain(&self.failed_for_now)
    }

    /// Notes that the tried dataset could not be recovered, for a reason that may pass.
    pub fn put_off(&mut self) {
        self.failed_for_now.extend(self.tried.take());
    }

    /// Forgets directories that were removed.
    pub fn forget(&mut self, slots: &[Slot]) {
        self.cached.retain(|c| !slots.contains(&c.slot()));
        self.failed_for_now.retain(|c| !slots.contains(&c.slot()));
        self.unusable.retain(|slot| !slots.contains(slot));
        self.names.retain(|(slot, _)| !slots.contains(slot));
    }

    /// The directories in which nothing but datasets of this name was found. A later run may use one that this
    /// run has passed over. Local.
    pub fn slots_of_name(&self, name: &Name) -> Vec<Slot> {
        let all = self.names.iter();
        let of_others = |slot: &Slot| all.clone().any(|(s, other)| s == slot && other != name);
        let named = all.clone().filter(|(_, other)| other == name);
        let slots: BTreeSet<Slot> = named.map(|(slot, _)| *slot).collect();
        slots.into_iter().filter(|slot| !of_others(slot)).collect()
    }

    /// The state of a cached dataset in the prefix directory, by the flush file and by `index`. Local.
    pub fn find_in_prefix(&self, index: &Index, dataset: &Dataset) -> InPrefix {
        let key = (dataset.id, dataset.created);
        let same = |d: &&Dataset| (d.id, d.created) == key;
        let entry = index.get(dataset.id);
        let described = entry.and_then(|entry| entry.dataset.as_ref());
        if entry.is_some_and(IndexEntry::is_good) && described.filter(same).is_some() {
            return InPrefix::Complete;
        }
        if self.last_run.saved.contains(&key) && described.filter(same).is_none() {
            return InPrefix::Dropped;
        }
        let id_is_taken = described.is_some_and(|d| d.created != dataset.created);
        let newer = index.id(&dataset.name).and_then(|id| index.get(id));
        let newer = newer.and_then(|entry| entry.dataset.as_ref());
        if id_is_taken || newer.is_some_and(|d| d.created > dataset.created) {
            InPrefix::Superseded
        } else {
            InPrefix::Absent
        }
    }

    /// True if the prefix directory has the whole dataset and a restart may take it from there. Then a problem with a
    /// copy in the cache needs no warning. Local.
    pub fn is_saved(&self, run: &Run, dataset: &Dataset) -> bool {
        let index = index::read(&*run.files, &run.prefix).unwrap_or_default();
        run.settings.fetch && self.find_in_prefix(&index, dataset) == InPrefix::Complete
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

    /// True if the cache or the prefix directory has a checkpoint that is newer than `dataset`, and was not
    /// tried yet. Local.
    pub fn has_newer(&self, run: &Run, dataset: &Dataset) -> Result<bool> {
        // A dataset that a flush needed may have been recovered before.
        let newer = |c: &Candidate| {
            c.dataset.is_checkpoint()
                && c.dataset.created > dataset.created
                && c.recoverable(run.comm.size()).is_ok()
        };
        Ok(self.cached.iter().any(newer) || self.newer_in_prefix(run, dataset)?.is_some())
    }

    /// The newest good checkpoint in the prefix directory that was created after `dataset`
    /// and was not tried yet. A cached dataset that is older than it was left by an earlier job, and
    /// must not be used. With `SCR_FETCH=0` only what counts as the cache of this job is looked at. `None` if `dataset` is
    /// current in the index: the user has chosen it. Local.
    pub fn newer_in_prefix(&self, run: &Run, dataset: &Dataset) -> Result<Option<Dataset>> {
        let fetch = run.settings.fetch;
        if !fetch && self.last_run.has_none_in_prefix() {
            return Ok(None);
        }
        let index = index::read(&*run.files, &run.prefix)?;
        let current = index.current().and_then(|name| index.get(index.id(name)?));
        let current = current.and_then(|entry| entry.dataset.as_ref());
        let same = |d: &Dataset| (&d.name, d.created) == (&dataset.name, dataset.created);
        if current.is_some_and(same) {
            return Ok(None);
        }
        let fits = |id: &u64| !self.unfit.contains(id) && !self.known_bad.contains(id);
        let untried =
            |id: &u64| fits(id) && self.fetch.as_ref().is_none_or(|queue| queue.contains(id));
        let good = index
            .datasets()
            .iter()
            .filter(|(id, entry)| entry.is_good() && entry.is_checkpoint() && untried(id));
        let newest = good
            .filter_map(|(_, entry)| entry.dataset.as_ref())
            .filter(|other| fetch || self.last_run.has_in_prefix(other))
            .max_by_key(|other| other.created);
        let newer = newest.filter(|other| other.created > dataset.created);
        Ok(newer.cloned())
    }

    /// The highest ids of datasets and of checkpoints in the index. The file is read only if
    /// it has changed. If it cannot be read now, these are the ids of the last time: whoever changes
    /// the index will report the error. Local.
    pub fn highest_in_index(&mut self, run: &Run) -> (u64, u64) {
        let stat = run.files.stat(&run.prefix.file("index.scr"));
        let stamp = stat.ok().flatten().map(|stat| stat.stamp());
        if stamp != self.indexed.0
            && let Ok(index) = index::read(&*run.files, &run.prefix)
        {
            self.indexed = (stamp, (index.max_dataset(), index.max_checkpoint()));
        }
        self.indexed.1
    }
}

impl LastRun {
    /// True for a dataset in the prefix directory that counts as the cache of this job.
    pub fn has_in_prefix(&self, dataset: &Dataset) -> bool {
        let key = (dataset.id, dataset.created);
        self.in_bypass.contains_key(&key) || self.displaced == Some(key)
    }

    fn has_none_in_prefix(&self) -> bool {
        self.in_bypass.is_empty() && self.displaced.is_none()
    }

    /// A checkpoint that is in the prefix directory is about to leave the cache: it goes on to count, unless a newer one
    /// does. The flush file tells the next run. Local.
    pub fn displace(&mut self, run: &Run, key: DatasetKey) {
        match self.displaced {
            Some((id, _)) if id > key.0 => return,
            // It was fetched since.
            Some(same) if same == key => {}
            _ => self.forget_displaced(run),
        }
        self.displaced = Some(key);
        note(run, |record| {
            if let Some(entry) = record.datasets.get_mut(&key.0) {
                entry.locations.remove(&flush_file::CACHE.into());
            }
        });
    }

    /// A newer checkpoint is complete: what has left the cache before it does not count any more. Local.
    pub fn forget_displaced(&mut self, run: &Run) {
        if let Some(key) = self.displaced.take()
            && !self.in_bypass.contains_key(&key)
        {
            note(run, |record| {
                let stays = |entry: &FlushEntry| entry.is_at(flush_file::CACHE);
                record.datasets.retain(|id, e| *id != key.0 || stays(e));
            });
        }
    }

    /// Datasets that it wrote in bypass count as cached, as long as the count of
    /// the store has room for them beside the datasets of this run. The others are forgotten, and
    /// any of the name `name`, whose files are about to be overwritten. Local.
    pub fn limit_bypass(&mut self, run: &Run, cached: &CachedDatasets, store: usize, name: &Name) {
        self.in_bypass
            .retain(|(id, _), _| cached.get(*id).is_none());
        let same = self.bypass_ids(|other| other == name);
        let others = self.bypass_ids(|other| other != name);
        let of_this_run = cached
            .slots(|c| c.location == Location::Bypass(store))
            .len();
        let count = run.descriptors.stores[store].count as usize;
        let room = count.saturating_sub(1 + of_this_run);
        let oldest = others
            .get(..others.len().saturating_sub(room))
            .unwrap_or_default();
        let newest = oldest.last().filter(|_| !run.settings.fetch);
        let newest = newest.and_then(|id| self.in_bypass.keys().find(|(other, _)| other == id));
        if let Some(key) = newest.copied()
            && !cached.has_newer_whole(key.0)
        {
            self.displace(run, key);
        }
        // The flush file keeps that one.
        let displaced = self.displaced;
        self.in_bypass.retain(|key, _| displaced != Some(*key));
        self.forget_bypass(run, |id| {
            let stays = displaced.is_some_and(|(other, _)| other == id);
            (oldest.contains(&id) && !stays) || same.contains(&id)
        });
    }

    /// The ids of the datasets that it wrote in bypass under such names, ascending.
    fn bypass_ids(&self, named: impl Fn(&Name) -> bool) -> Vec<u64> {
        let all = self.in_bypass.iter();
        all.filter(|(_, name)| named(name))
            .map(|((id, _), _)| *id)
            .collect()
    }

    /// Some datasets in the prefix directory no longer count as cached. Local.
    pub fn forget_bypass(&mut self, run: &Run, gone: impl Fn(u64) -> bool) {
        let mut ids = self.bypass_ids(|_| true);
        ids.retain(|id| gone(*id));
        self.in_bypass.retain(|(id, _), _| !ids.contains(id));
        if let Some((id, _)) = self.displaced.take_if(|(id, _)| gone(*id)) {
            ids.push(id);
        }
        if !ids.is_empty() {
            note(run, |record| {
                record.datasets.retain(|id, _| !ids.contains(id));
            });
        }
    }
}
