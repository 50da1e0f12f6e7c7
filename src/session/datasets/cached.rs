//! The datasets in this run's caches, and their removal.

use crate::cache::dataset;
use crate::cache::plan::Slot;
use crate::format::filemap::Filemap;
use crate::format::flush_file::{FlushEntry, FlushFile};
use crate::format::{Dataset, Name};
use crate::policy::flush as policy;
use crate::prefix::records;
use crate::session::datasets::deletion::{BackgroundDeletion, Trash};
use crate::session::datasets::location::{Location, Writers};
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::datasets::restart_files::RestartFiles;
use crate::session::run::Run;
use crate::store::FileStamp;
use crate::system::time::Instant;
use crate::text::transferred;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A dataset in the cache, as all ranks know it. Rank 0 tells the others of those that earlier runs have left.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct CachedDataset {
    pub location: Location,
    pub dataset: Dataset,
    pub writers: Writers,
    pub prefix: PrefixState,
    /// Number of failure groups that may be lost without losing the dataset.
    pub tolerates: usize,
    /// `None`, on all ranks, for a dataset of an earlier run that has not been recovered.
    #[serde(skip)]
    pub own: Option<OwnPart>,
}

/// One rank's part of a dataset.
#[derive(Debug, Clone)]
pub(in crate::session) struct OwnPart {
    /// The rank's record.
    pub filemap: Filemap,
    /// The level of nodes below which its files lie; see [`Layout`](crate::cache::layout).
    pub level: Option<usize>,
    /// The bytes of all ranks in the store on this node, if known. Only a leader has them.
    pub bytes: Option<u64>,
}

impl CachedDataset {
    /// The directory of the dataset in the cache.
    pub fn slot(&self) -> Slot {
        Slot {
            store: self.location.store(),
            id: self.dataset.id,
        }
    }

    /// True if each rank has its part. The same on all ranks.
    pub fn is_whole(&self) -> bool {
        self.own.is_some()
    }

    /// This rank's files of the dataset, to be offered for a restart. `None` if it was not
    /// recovered.
    pub fn restart_files(&self, run: &Run) -> Option<RestartFiles> {
        let OwnPart { filemap, level, .. } = self.own.as_ref()?;
        let (root, common) = match self.location {
            Location::Cache(store) => {
                let layout = run.stores[store].layout.at(*level);
                let root = layout.data(self.dataset.id, run.rank());
                (root, layout.is_common())
            }
            Location::Bypass(_) => (run.prefix.root().to_path_buf(), true),
        };
        Some(RestartFiles {
            dataset: self.dataset.clone(),
            writers: self.writers,
            root,
            bypass: self.location.is_bypass(),
            common,
            files: paths(filemap),
            places: Default::default(),
        })
    }
}

/// The paths of a record's files.
pub(in crate::session) fn paths(filemap: &Filemap) -> Vec<PathBuf> {
    let files = filemap.files.files.iter();
    files
        .map(|file| file.file.as_path().to_path_buf())
        .collect()
}

/// "dataset 3 (ck.3)".
pub(in crate::session) fn title(dataset: &Dataset) -> String {
    titled(dataset.id, &dataset.name)
}

/// Files and bytes of a dataset, and the time since `begun`, in words.
pub(in crate::session) fn moved(dataset: &Dataset, begun: Instant) -> String {
    let (files, size) = (dataset.files.unwrap_or(0), dataset.size.unwrap_or(0));
    transferred(files, size, begun.elapsed().as_secs_f64())
}

/// [`title`] from its parts.
pub(in crate::session) fn titled(id: u64, name: &Name) -> String {
    format!("dataset {id} ({name})")
}

/// Size of one dataset in a store: the parts of all ranks that share the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct DatasetSize {
    /// The program's files, bytes.
    pub data: u64,
    /// The program's files, redundancy and records, bytes.
    pub all: u64,
    pub checkpoint: bool,
}

/// All datasets in this run's caches. All ranks have the same values, except for their own parts of the
/// entries and for `led`.
#[derive(Default)]
pub(in crate::session) struct CachedDatasets {
    pub(super) entries: Vec<CachedDataset>,
    /// Directories that no restart can use. They are evicted first.
    pub(super) unusable: Vec<Slot>,
    /// The highest id of a dataset at the last call of `SCR_Current`, else 0. Datasets up to this id that are
    /// newer than the named one are not wanted by the program.
    pub(super) gone_back_from: u64,
    /// Number of datasets in a row that could not be completed in the cache.
    pub(super) failures: u32,
    /// The first dataset that this run has written.
    pub(super) first_written: Option<u64>,
    pub(super) verified: Verified,
    pub(super) led: LedStores,
}

/// The files of this rank that were compared with their checksums when the dataset was recovered.
#[derive(Default)]
pub(super) struct Verified {
    dataset: u64,
    /// As in [`Recovered`](crate::cache::recover::Recovered).
    stamps: Vec<Option<FileStamp>>,
}

/// Tells where the space of evicted datasets is used again.
#[derive(Debug, Clone, Copy)]
pub(in crate::session) struct Reuse {
    /// The new dataset, which writes over their redundancy files.
    pub by: u64,
    /// True if the new dataset also writes over other files of the evicted datasets ([`Session::reuse_file`]). In that
    /// case they are deleted only when the new dataset is completed.
    ///
    /// [`Session::reuse_file`]: crate::session::Session::reuse_file
    pub files: bool,
}

/// The stores that a leader leads, and its work there.
#[derive(Default)]
pub(in crate::session) struct LedStores {
    /// The size of the last dataset of each redundancy descriptor.
    pub(super) sizes: BTreeMap<usize, DatasetSize>,
    /// Redundancy files of evicted datasets whose space the open dataset reuses.
    pub(super) recycled: Vec<PathBuf>,
    pub(super) deletion: BackgroundDeletion,
    /// True after the full message about a full store was printed.
    pub(super) told_full: bool,
    /// True after the message was printed that a checkpoint is flushed to make room.
    pub(super) told_saving: bool,
}

impl LedStores {
    /// True the first time that a store is full: then the message says what can be done.
    pub(super) fn tell_full(&mut self) -> bool {
        !std::mem::replace(&mut self.told_full, true)
    }
}

impl CachedDatasets {
    pub fn iter(&self) -> std::slice::Iter<'_, CachedDataset> {
        self.entries.iter()
    }

    /// Directories that no restart can use.
    pub fn unusable(&self) -> &[Slot] {
        &self.unusable
    }

    /// The deletion of what has left the cache.
    pub fn deletion(&mut self) -> &mut BackgroundDeletion {
        &mut self.led.deletion
    }

    /// True the first time that a checkpoint is flushed to make room, which a message tells. Local.
    pub fn tell_saving(&mut self) -> bool {
        !std::mem::replace(&mut self.led.told_saving, true)
    }

    /// `SCR_Current` has named a dataset while `highest` was the highest id.
    pub fn go_back_from(&mut self, highest: u64) {
        self.gone_back_from = highest;
    }

    /// Datasets up to this id that are newer than the one that `SCR_Current` has named are not wanted.
    pub fn gone_back_from(&self) -> u64 {
        self.gone_back_from
    }

    pub fn get(&self, id: u64) -> Option<&CachedDataset> {
        self.entries.iter().find(|cached| cached.dataset.id == id)
    }

    /// A dataset was recovered, and these files of this rank were found right. Local.
    pub fn note_verified(&mut self, dataset: u64, stamps: Vec<Option<FileStamp>>) {
        self.verified = Verified { dataset, stamps };
    }

    /// True if this file of this rank, whose name is relative to the directory of its files, was found right when the
    /// dataset was recovered, and was then as `now`. Local.
    pub fn is_verified(&self, dataset: u64, file: &Path, now: FileStamp) -> bool {
        let own = self.get(dataset).and_then(|cached| cached.own.as_ref());
        let files = own.map_or(&[][..], |own| &own.filemap.files.files);
        let place = files.iter().position(|one| one.file.as_path() == file);
        let stamp = place.and_then(|place| *self.verified.stamps.get(place)?);
        self.verified.dataset == dataset && stamp == Some(now)
    }

    /// Replaces this rank's record of a dataset, if the dataset is still there. Local.
    pub fn set_filemap(&mut self, filemap: Filemap) {
        let created = filemap.dataset.created;
        let mut entries = self.entries.iter_mut();
        let cached = entries.find(|cached| cached.dataset.created == created);
        if let Some(own) = cached.and_then(|cached| cached.own.as_mut()) {
            own.filemap = filemap;
        }
    }

    /// Changes the recorded state of a dataset in the prefix directory. The same on all ranks.
    pub fn note_prefix(&mut self, id: u64, change: impl FnOnce(&mut PrefixState)) {
        let mut entries = self.entries.iter_mut();
        if let Some(cached) = entries.find(|cached| cached.dataset.id == id) {
            change(&mut cached.prefix);
        }
    }

    /// The files of a dataset have grown. The same on all ranks.
    pub fn grow(&mut self, id: u64, by: u64) {
        let mut entries = self.entries.iter_mut();
        if let Some(cached) = entries.find(|cached| cached.dataset.id == id) {
            cached.dataset.grow(by);
        }
    }

    /// Notes that a dataset is complete in the prefix directory; with `dropped`, the user has taken it out of the
    /// index. `filemap` is this rank's new record. The same on all ranks.
    pub fn note_saved(&mut self, id: u64, filemap: Option<Filemap>, dropped: bool) {
        let mut entries = self.entries.iter_mut();
        let Some(cached) = entries.find(|cached| cached.dataset.id == id) else {
            return;
        };
        cached.prefix = if dropped {
            PrefixState::Dropped
        } else {
            PrefixState::Saved
        };
        if let (Some(own), Some(filemap)) = (&mut cached.own, filemap) {
            own.filemap = filemap;
        }
    }

    /// Notes that the flush of a dataset has failed. In bypass nothing is left to be flushed again. The same on all
    /// ranks.
    pub fn note_flush_failed(&mut self, id: u64) {
        let mut entries = self.entries.iter_mut();
        let same = |c: &&mut CachedDataset| c.dataset.id == id && !c.location.is_bypass();
        if let Some(cached) = entries.find(same) {
            cached.prefix.fail_flush();
        }
    }

    /// Notes which datasets were deleted from the prefix directory, as older than those that are kept there. Gives
    /// those that it had until then. The same on all ranks.
    pub fn note_outside_window(&mut self, deleted: impl Fn(u64) -> bool) -> Vec<Dataset> {
        let gone = |c: &&mut CachedDataset| c.prefix.has_files() && deleted(c.dataset.id);
        let mut left = Vec::new();
        for cached in self.entries.iter_mut().filter(gone) {
            cached.prefix.leave_window();
            left.push(cached.dataset.clone());
        }
        left
    }

    /// The user has dropped a name from the index. The same on all ranks.
    pub fn drop_name(&mut self, name: &Name) {
        let entries = self.entries.iter_mut();
        for cached in entries.filter(|cached| cached.dataset.name == *name) {
            cached.prefix.drop_name();
        }
    }

    /// True if no newer checkpoint is here that may be in the index.
    pub fn is_newest(&self, checkpoint: &Dataset) -> bool {
        let newer = |c: &CachedDataset| {
            c.dataset.is_checkpoint() && !c.prefix.is_given_up() && c.dataset.id > checkpoint.id
        };
        !self.entries.iter().any(newer)
    }

    /// Adds a complete dataset that this run has written. All ranks add the same, except for their own parts.
    pub fn add_written(&mut self, run: &Run, written: CachedDataset) {
        self.failures = 0;
        self.first_written.get_or_insert(written.dataset.id);
        // The files whose space was reused have other names by now.
        for unused in std::mem::take(&mut self.led.recycled) {
            run.tell_not_removed(run.files.remove_file(&unused));
        }
        let entry = FlushEntry::cached(written.dataset.clone());
        note(run, |record| {
            record.datasets.insert(written.dataset.id, entry);
        });
        self.insert(written);
    }

    /// A new dataset could not be completed. If it was written in the cache, its files there are deleted. Local; the
    /// same on all ranks.
    pub fn give_up(&mut self, run: &Run, id: u64, location: Location) {
        self.led.recycled.clear();
        if let Location::Cache(store) = location {
            self.failures = self.failures.saturating_add(1);
            self.discard(run, &[Slot { store, id }], None);
        }
    }

    /// Adds the datasets that a search has left: those that were not recovered, and directories that no restart can
    /// use. The same on all ranks.
    pub fn add_rest(&mut self, remaining: Vec<CachedDataset>, unusable: Vec<Slot>) {
        for one in remaining {
            if self.get(one.dataset.id).is_none() {
                self.insert(one);
            }
        }
        self.sort();
        self.set_unusable(unusable);
    }

    /// Puts the oldest first.
    pub fn sort(&mut self) {
        self.entries.sort_by_key(|cached| cached.dataset.id);
    }

    /// A dataset could not be recovered. The same on all ranks.
    pub fn forget_unrecovered(&mut self, slot: Slot) {
        self.entries.retain(|cached| cached.slot() != slot);
    }

    /// The datasets that another number of ranks wrote are not used any more. The same on all ranks.
    pub fn forget_of_other_ranks(&mut self) {
        self.entries.retain(|cached| !cached.writers.are_others());
    }

    /// No restart can use this directory. The same on all ranks.
    pub fn cannot_use(&mut self, slot: Slot) {
        if !self.unusable.contains(&slot) {
            self.unusable.push(slot);
        }
    }

    /// Adds a dataset, in place of any other of its id.
    pub fn insert(&mut self, cached: CachedDataset) {
        self.entries
            .retain(|other| other.dataset.id != cached.dataset.id);
        self.entries.push(cached);
    }

    /// The directories of the datasets that `wanted` chooses.
    pub fn slots(&self, wanted: impl Fn(&CachedDataset) -> bool) -> Vec<Slot> {
        let chosen = self.entries.iter().filter(|cached| wanted(cached));
        chosen.map(CachedDataset::slot).collect()
    }

    /// Every directory with this id in any store.
    pub fn slots_of_id(&self, id: u64) -> Vec<Slot> {
        let mut slots = self.slots(|cached| cached.dataset.id == id);
        slots.extend(self.unusable.iter().filter(|slot| slot.id == id));
        slots.dedup();
        slots
    }

    /// Sets the directories that no restart can use. A directory with records of several times may be in use;
    /// it does not count then.
    pub(super) fn set_unusable(&mut self, slots: Vec<Slot>) {
        let used = self.slots(|_| true);
        self.unusable = slots;
        self.unusable.retain(|slot| !used.contains(slot));
        self.unusable.sort();
        self.unusable.dedup();
    }

    /// Notes that dataset `id` overwrites the files of any other dataset of its name in the prefix
    /// directory. So the other dataset is not complete there any more. Local; the same on all
    /// ranks.
    pub fn name_is_reused(&mut self, run: &Run, id: u64, name: &Name) {
        let other = |c: &CachedDataset| c.dataset.name == *name && c.dataset.id != id;
        self.forget(run, |c| other(c) && c.location.is_bypass());
        for cached in self.entries.iter_mut().filter(|c| other(c)) {
            cached.prefix.lose_name(cached.dataset.id < id);
        }
    }

    /// Forgets datasets in bypass that are not in the prefix directory any more. Local; the same on all ranks.
    pub fn forget(&mut self, run: &Run, these: impl Fn(&CachedDataset) -> bool) {
        let lost = self.slots(these);
        let is_lost = |id: &u64| lost.iter().any(|slot| slot.id == *id);
        self.entries.retain(|c| !is_lost(&c.dataset.id));
        if !lost.is_empty() {
            note(run, |record| record.datasets.retain(|id, _| !is_lost(id)));
        }
    }

    /// A dataset is not to be used, though it may be there. The same on all ranks.
    pub fn disown(&mut self, run: &Run, id: u64) {
        self.entries.retain(|cached| cached.dataset.id != id);
        note(run, |record| {
            record.datasets.retain(|other, _| *other != id)
        });
    }

    /// True if this run has written the dataset. A stopped process of an earlier run may have other files
    /// open.
    pub fn is_own(&self, id: u64) -> bool {
        self.first_written.is_some_and(|first| first <= id)
    }

    /// Leaders: renames the directories out of the way, and deletes them in the background. Local.
    pub fn discard(&mut self, run: &Run, gone: &[Slot], reuse: Option<Reuse>) {
        let trash = self.put_away(run, gone, reuse);
        self.led.deletion.start(run, trash);
    }

    /// Leaders: renames the directories out of the way. Returns the directories to delete now.
    /// Local.
    pub fn put_away(&mut self, run: &Run, gone: &[Slot], reuse: Option<Reuse>) -> Vec<Trash> {
        let mut trash = Vec::new();
        for slot in gone {
            let Some(store) = run.led_store(slot.store) else {
                continue;
            };
            let layout = store.layout.clone();
            run.tell_not_removed(run.files.remove_tree(&layout.quarantine(slot.id)));
            run.tell_not_removed(dataset::discard(&*run.files, &layout, slot.id));
            let reuse = reuse.filter(|_| self.is_own(slot.id));
            if let Some(Reuse { by, .. }) = reuse {
                let moved = dataset::recycle_redundancy(&*run.files, &layout, slot.id, by);
                self.led.recycled.extend(moved);
            }
            let mut same = self.entries.iter().filter(|c| c.slot() == *slot);
            let found = Trash {
                layout,
                id: slot.id,
                saved: same.next().map(|c| c.prefix.has_files()),
            };
            match reuse {
                Some(Reuse { files: true, .. }) => self.led.deletion.postpone(found),
                _ => trash.push(found),
            }
        }
        trash
    }
}

/// The newest checkpoint that the user has not given up, if it must be flushed when the run ends. Local;
/// the same on all ranks.
pub(in crate::session) fn due_at_end<'a>(
    run: &Run,
    cached: &'a CachedDatasets,
) -> Option<&'a Dataset> {
    let checkpoints = cached.entries.iter().filter(|cached| {
        let found = cached.is_whole() || cached.prefix.has_files();
        cached.dataset.is_checkpoint() && !cached.prefix.is_given_up() && found
    });
    let newest = checkpoints.max_by_key(|cached| cached.dataset.id)?;
    policy::due_at_end(newest.prefix.has_files(), run.settings.flush).then_some(&newest.dataset)
}

/// Changes the flush file. A failure is only reported: the datasets are as good without it. Local.
pub(in crate::session) fn note(run: &Run, change: impl FnOnce(&mut FlushFile)) {
    run.keep_record(|| records::update_flush_file(&*run.files, &run.prefix, change));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached(store: usize, id: u64, name: &str) -> CachedDataset {
        CachedDataset {
            location: Location::Cache(store),
            dataset: Dataset {
                id,
                name: name.into(),
                ..Dataset::default()
            },
            ..CachedDataset::default()
        }
    }

    #[test]
    fn an_id_is_found_in_every_store_and_a_used_directory_is_not_unusable() {
        let mut all = CachedDatasets::default();
        all.insert(cached(0, 1, "a"));
        all.insert(cached(0, 2, "b"));
        let slot = |store, id| Slot { store, id };
        all.set_unusable(vec![slot(1, 2), slot(0, 2), slot(1, 2), slot(0, 3)]);
        assert_eq!(all.unusable, [slot(0, 3), slot(1, 2)]);
        assert_eq!(all.slots_of_id(2), [slot(0, 2), slot(1, 2)]);
        all.insert(cached(1, 1, "c"));
        assert_eq!(
            all.slots_of_id(1),
            [slot(1, 1)],
            "it takes the other's place"
        );
    }
}
