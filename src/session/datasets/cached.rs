//! The datasets in this run's caches, and their removal.

use crate::Result;
use crate::cache::dataset;
use crate::cache::plan::Slot;
use crate::format::filemap::Filemap;
use crate::format::flush_file::FlushFile;
use crate::format::{Dataset, Name};
use crate::policy::flush as policy;
use crate::prefix::paths::seen_by_program;
use crate::prefix::records;
use crate::session::datasets::deletion::{BackgroundDeletion, Trash};
use crate::session::datasets::location::{Location, Writers};
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::run::Run;
use crate::store::Files;
use crate::system::time::Instant;
use crate::text::transferred;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A dataset that counts against the cache size.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct CachedDataset {
    pub location: Location,
    pub dataset: Dataset,
    pub writers: Writers,
    pub prefix: PrefixState,
    /// Number of failure groups that may be lost without losing the dataset.
    pub tolerates: usize,
    /// `None`, on all ranks, for a dataset of an earlier run that has not been recovered.
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
            places: OnceCell::new(),
        })
    }
}

/// This rank's files of the checkpoint that is offered for a restart.
#[derive(Debug, Clone)]
pub(in crate::session) struct RestartFiles {
    pub dataset: Dataset,
    pub writers: Writers,
    /// Directory below which the files lie: this rank's own in the cache, or the prefix directory.
    pub root: PathBuf,
    /// The files are read in the prefix directory.
    pub bypass: bool,
    /// True if the files of other ranks are also below `root`.
    pub common: bool,
    /// Paths relative to `root`. Empty if another number of ranks wrote them.
    pub files: Vec<PathBuf>,
    /// The places of paths in `files`; made with the first search.
    pub places: OnceCell<Places>,
}

/// The place of each path in a list.
#[derive(Debug, Clone)]
pub(in crate::session) struct Places {
    by_path: HashMap<PathBuf, usize>,
    /// Keyed by the last component; `None` if several paths have it.
    by_name: HashMap<OsString, Option<usize>>,
}

impl Places {
    fn of(paths: &[PathBuf]) -> Self {
        let mut places = Places {
            by_path: HashMap::with_capacity(paths.len()),
            by_name: HashMap::with_capacity(paths.len()),
        };
        for (place, path) in paths.iter().enumerate() {
            places.by_path.insert(path.clone(), place);
            if let Some(name) = path.file_name() {
                let several = places.by_name.contains_key(name);
                let place = (!several).then_some(place);
                places.by_name.insert(name.to_os_string(), place);
            }
        }
        places
    }
}

impl RestartFiles {
    /// Fails if the program cannot open this file. Local.
    pub fn check(&self, files: &dyn Files, path: &Path) -> Result<()> {
        let open = |path: &Path| files.open(path).map(drop);
        if self.bypass {
            seen_by_program(files, path, open)
        } else {
            open(path)
        }
    }

    /// The file that the program calls `relative`. If no file has this path, the last component
    /// decides, provided that it is unique: the classic interface of SCR allowed that.
    pub fn find(&self, relative: &Path) -> Option<&Path> {
        let places = self.places.get_or_init(|| Places::of(&self.files));
        let place = match places.by_path.get(relative) {
            Some(place) => Some(*place),
            None => *places.by_name.get(relative.file_name()?)?,
        };
        self.files.get(place?).map(PathBuf::as_path)
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
    pub entries: Vec<CachedDataset>,
    /// Directories that no restart can use. They are evicted first.
    pub unusable: Vec<Slot>,
    /// The highest id of a dataset at the last call of `SCR_Current`, else 0. Datasets up to this id that are
    /// newer than the named one are not wanted by the program.
    pub gone_back_from: u64,
    /// Number of datasets in a row that could not be completed in the cache.
    pub failures: u32,
    /// The first dataset that this run has written.
    pub first_written: Option<u64>,
    pub led: LedStores,
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
    pub sizes: BTreeMap<usize, DatasetSize>,
    /// Redundancy files of evicted datasets whose space the open dataset reuses.
    pub recycled: Vec<PathBuf>,
    pub deletion: BackgroundDeletion,
    /// True after the full message about a full store was printed.
    pub told_full: bool,
    /// True after the message was printed that a checkpoint is flushed to make room.
    pub told_saving: bool,
}

impl LedStores {
    /// True the first time that a store is full: then the message says what can be done.
    pub fn tell_full(&mut self) -> bool {
        !std::mem::replace(&mut self.told_full, true)
    }
}

impl CachedDatasets {
    pub fn get(&self, id: u64) -> Option<&CachedDataset> {
        self.entries.iter().find(|cached| cached.dataset.id == id)
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

    /// Sets the directories that no restart can use. A directory with records of several times may be in use. Such a
    /// directory does not count.
    pub fn set_unusable(&mut self, slots: Vec<Slot>) {
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

    #[test]
    fn a_file_is_found_by_its_path_or_by_a_unique_last_component() {
        let paths = ["d/a", "e/a", "d/b", "a"].map(PathBuf::from);
        let files = RestartFiles {
            dataset: Dataset::default(),
            writers: Writers::AsManyAsNow,
            root: PathBuf::new(),
            bypass: false,
            common: false,
            files: paths.to_vec(),
            places: OnceCell::new(),
        };
        let found = |path: &str| files.find(Path::new(path));
        assert_eq!(found("e/a"), Some(Path::new("e/a")));
        assert_eq!(found("a"), Some(Path::new("a")));
        assert_eq!(found("other/b"), Some(Path::new("d/b")));
        assert_eq!(found("other/a"), None, "three files have this name");
        assert_eq!(found("c"), None);
    }
}
