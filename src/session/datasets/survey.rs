//! Rank 0's findings about datasets in the caches and in the prefix directory, for a search for a restart.
//! The other ranks do not have it: they get rank 0's orders.

use crate::Result;
use crate::cache::plan::{Candidate, Slot};
use crate::events::Severity;
use crate::format::flush_file::{self, FlushEntry, FlushFile};
use crate::format::index::{Index, IndexEntry};
use crate::format::{Dataset, Name};
use crate::prefix::index;
use crate::session::datasets::cached::{CachedDatasets, note};
use crate::session::datasets::location::Location;
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::datasets::store_leaders::StoreLeaders;
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
    leaders: StoreLeaders,
    pub(super) last_run: LastRun,
    /// Ids of checkpoints that were found to be of another program.
    pub(super) unfit: BTreeSet<u64>,
    /// Ids of checkpoints that the program has rejected while the index could not be written. The index has them as good, but
    /// this run does not offer them again.
    pub(super) known_bad: BTreeSet<u64>,
    /// See [`Survey::is_current_used`].
    current_used: bool,
    /// The entry of the index that the last fetch has replaced.
    pub(super) replaced: Option<Replaced>,
    /// Cached datasets that were not tried yet, newest last.
    pub(super) cached: Vec<Candidate>,
    /// The cached dataset that is being tried.
    pub(super) tried: Option<Candidate>,
    /// Cached datasets that could not be recovered, for a reason that may pass.
    pub(super) failed_for_now: Vec<Candidate>,
    /// Directories with a record that cannot be read now.
    pub(super) unread: Vec<Slot>,
    /// Directories that no restart can use and that the other ranks do not know yet.
    pub(super) unusable: Vec<Slot>,
    /// The names of the datasets that were found in directories of this job, also of those that are gone
    /// since.
    pub(super) names: Vec<(Slot, Name)>,
    /// Directories to delete or to quarantine with the next message to all ranks.
    pub(super) rejected: Rejected,
    /// Checkpoints that were passed over and not reported yet, newest first.
    pub(super) passed_over: Vec<PassedOver>,
    /// Number of cached datasets that were tried.
    pub(super) rebuilds: u32,
    /// Ids in the prefix directory that were not tried yet, in the order in which they are tried.
    /// `None` until the index has been read.
    pub(super) fetch: Option<VecDeque<u64>>,
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
    pub(super) completed: BTreeSet<DatasetKey>,
    /// The datasets that were in the prefix directory.
    pub(super) saved: BTreeSet<DatasetKey>,
    /// The datasets whose flush had failed or had not ended.
    pub(super) interrupted: BTreeSet<DatasetKey>,
    /// The datasets that it wrote in bypass in this job. They have no record in a cache.
    pub(super) in_bypass: BTreeMap<DatasetKey, Name>,
    /// With `SCR_FETCH=0`: the newest checkpoint of this job, which has left the cache of this run and is in the prefix
    /// directory. It counts as cached until a newer one is complete.
    pub(super) displaced: Option<DatasetKey>,
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
    /// Who leads which ranks of the stores.
    pub fn leaders(&self) -> &StoreLeaders {
        &self.leaders
    }

    /// The leaders have reported.
    pub fn set_leaders(&mut self, leaders: StoreLeaders) {
        self.leaders = leaders;
    }

    /// What the flush file tells of the last run.
    pub fn last_run(&mut self) -> &mut LastRun {
        &mut self.last_run
    }

    /// See [`LastRun::has_in_prefix`].
    pub fn has_in_prefix_of_last_run(&self, dataset: &Dataset) -> bool {
        self.last_run.has_in_prefix(dataset)
    }

    /// The cached datasets that were not tried yet, newest last.
    pub fn cached(&self) -> &[Candidate] {
        &self.cached
    }

    /// Takes the newest of these out of the cached datasets that were not tried yet.
    pub fn take_newest(&mut self, of: impl Fn(&Candidate) -> bool) -> Option<Candidate> {
        let at = self.cached.iter().rposition(of)?;
        Some(self.cached.remove(at))
    }

    /// Takes all cached datasets that were not tried yet, to [keep](Survey::keep) some of them.
    pub fn take_cached(&mut self) -> Vec<Candidate> {
        std::mem::take(&mut self.cached)
    }

    /// A cached dataset may be tried, before all that were kept before it.
    pub fn keep(&mut self, candidate: Candidate) {
        self.cached.push(candidate);
    }

    /// No cached dataset is tried any more.
    pub fn forget_cached(&mut self) {
        self.cached.clear();
    }

    /// `SCR_Current` has named dataset `id`, which is not complete in the cache. Older ones may be tried before it only
    /// if it is not `indexed`.
    pub fn choose(&mut self, id: u64, indexed: bool) {
        let may_be_tried = |other: u64| other == id || (!indexed && other < id);
        self.cached.retain(|c| may_be_tried(c.dataset.id));
    }

    /// Notes which cached dataset is being tried.
    pub fn set_tried(&mut self, candidate: Option<Candidate>) {
        self.tried = candidate;
    }

    /// A directory was never complete: it is to be deleted.
    pub fn discard(&mut self, slot: Slot) {
        self.rejected.discard.push(slot);
    }

    /// No restart can use a directory, which stays until room is needed.
    pub fn cannot_use(&mut self, slot: Slot) {
        self.unusable.push(slot);
    }

    /// A dataset of the last run that was complete is quarantined, any other is discarded.
    pub fn discard_or_quarantine(&mut self, slot: Slot, dataset: &Dataset) {
        let key = (dataset.id, dataset.created);
        if self.last_run.completed.contains(&key) {
            self.rejected.quarantine.push(slot);
            self.unusable.push(slot);
        } else {
            self.rejected.discard.push(slot);
        }
    }

    /// The directories to delete or to quarantine, for the next message to all ranks.
    pub fn take_rejected(&mut self) -> Rejected {
        std::mem::take(&mut self.rejected)
    }

    /// Directories that no restart can use and that the other ranks do not know yet.
    pub fn unusable(&self) -> &[Slot] {
        &self.unusable
    }

    /// The other ranks know now which directories no restart can use.
    pub fn unusable_are_known(&mut self) {
        self.unusable.clear();
    }

    /// Takes note of a checkpoint that is passed over.
    pub fn pass_over(&mut self, passed: PassedOver) {
        self.passed_over.push(passed);
    }

    /// A cached dataset is being recovered.
    pub fn count_rebuild(&mut self) {
        self.rebuilds += 1;
    }

    /// True if the recovery of a cached dataset was tried.
    pub fn has_rebuilt(&self) -> bool {
        self.rebuilds > 0
    }

    /// The newest dataset after `dataset` with a record that cannot be read now: its id, and its time of creation if
    /// that is known.
    pub fn newest_unread(&self, dataset: &Dataset) -> Option<(u64, Option<u64>)> {
        let newer = |slot: &&Slot| slot.id > dataset.id;
        let unread = self.unread.iter().filter(newer).map(|slot| slot.id);
        let id = unread.max()?;
        let completed = self.last_run.completed.iter();
        let mut known = completed.filter(|(other, _)| *other == id);
        Some((id, known.next_back().map(|(_, created)| *created)))
    }

    /// The state of a cached dataset in the prefix directory, as all ranks know it. Local.
    pub fn prefix_state(&self, index: &Index, dataset: &Dataset) -> PrefixState {
        let key = (dataset.id, dataset.created);
        match self.find_in_prefix(index, dataset) {
            InPrefix::Complete => PrefixState::Saved,
            InPrefix::Dropped => PrefixState::Dropped,
            InPrefix::Superseded => PrefixState::Superseded,
            InPrefix::Absent if self.last_run.interrupted.contains(&key) => {
                PrefixState::FlushFailed
            }
            InPrefix::Absent => PrefixState::Absent,
        }
    }

    /// True until the first fetch of a search.
    pub fn fetches_first(&self) -> bool {
        self.fetch.is_none()
    }

    /// The ids in the prefix directory that were not tried yet, in the order in which they are tried, until
    /// [`Survey::set_fetch`]. `None` if the index has not been read.
    pub fn take_fetch(&mut self) -> Option<VecDeque<u64>> {
        self.fetch.take()
    }

    /// The ids in the prefix directory that are left to try.
    pub fn set_fetch(&mut self, left: Option<VecDeque<u64>>) {
        self.fetch = left;
    }

    /// True for a checkpoint that the program has rejected while the index could not be written.
    pub fn is_known_bad(&self, id: u64) -> bool {
        self.known_bad.contains(&id)
    }

    /// The program has rejected a checkpoint, and the index could not be written.
    pub fn note_bad(&mut self, id: u64) {
        self.known_bad.insert(id);
    }

    /// True if this run has used `SCR_CURRENT`. The record of that may have failed, so that a file does not tell it.
    pub fn is_current_used(&self) -> bool {
        self.current_used
    }

    /// `SCR_CURRENT` was made the current checkpoint, or the program has rejected it.
    pub fn note_current_used(&mut self) {
        self.current_used = true;
    }

    /// A checkpoint is offered again, whatever was found before.
    pub fn forget_bad(&mut self, id: u64) {
        self.known_bad.remove(&id);
    }

    /// A fetch has replaced this entry of the index.
    pub fn note_replaced(&mut self, replaced: Replaced) {
        self.replaced = Some(replaced);
    }

    /// A checkpoint was found to be of another program. Gives what its fetch has replaced.
    pub fn does_not_fit(&mut self, id: u64) -> Option<Replaced> {
        self.unfit.insert(id);
        self.replaced.take_if(|replaced| replaced.by == id)
    }

    /// The program may have changed: checkpoints that did not fit may be offered again.
    pub fn forget_unfit(&mut self) {
        self.unfit.clear();
    }

    /// The cached datasets of earlier runs that may still be used.
    pub fn untried(&self) -> impl DoubleEndedIterator<Item = &Candidate> {
        self.cached.iter().chain(&self.failed_for_now)
    }

    /// Notes that the tried dataset could not be recovered, for a reason that may pass.
    pub fn put_off(&mut self) {
        self.failed_for_now.extend(self.tried.take());
    }

    /// Makes the flush file of the last run that of this one. It keeps the datasets in the cache that cannot be used
    /// now.
    pub fn renew(&self, record: &mut FlushFile, all: &CachedDatasets) {
        let kept = |id: &u64| all.unusable.iter().any(|slot| slot.id == *id);
        let in_bypass: BTreeSet<&u64> = self.last_run.in_bypass.keys().map(|(id, _)| id).collect();
        record
            .datasets
            .retain(|id, _| kept(id) || in_bypass.contains(id));
        for cached in all.iter() {
            let mut entry = FlushEntry::cached(cached.dataset.clone());
            if cached.prefix.has_files() {
                entry.set_flush(Some(flush_file::PFS));
            } else if cached.prefix.flush_failed() {
                entry.set_flush(Some(flush_file::FLUSH_FAILED));
            }
            record.datasets.insert(cached.dataset.id, entry);
        }
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
    fn has_in_prefix(&self, dataset: &Dataset) -> bool {
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
