//! Space in the stores: decides whether the next dataset will fit, and which datasets are evicted
//! for it.

use crate::cache::dataset;
use crate::cache::layout::Layout;
use crate::cache::plan::Slot;
use crate::comm::{Pending, Tag};
use crate::config::descriptors::SchemeDescriptor;
use crate::format::filemap::Filemap;
use crate::format::{Dataset, FileMeta};
use crate::messages::CACHE_FULL;
use crate::policy::capacity::{
    Fit, additional_evictions, check_fit, space_wanted, with_redundancy,
};
use crate::redundancy::RedundancyScheme;
use crate::redundancy::topology::Sharing;
use crate::session::datasets::cached::{CachedDatasets, DatasetSize, due_at_end};
use crate::session::datasets::location::Location;
use crate::session::datasets::record::Target;
use crate::session::datasets::search::Offer;
use crate::session::run::{Run, Store};
use crate::store::Space;
use crate::text::{bytes, compared};
use crate::{Error, Result};
use std::path::PathBuf;

/// Tag of the sizes that ranks send to the leader of their store.
const SIZES: Tag = 0x48;

/// File systems allocate space in blocks, commonly of this size, bytes.
const BLOCK: u64 = 4096;

/// A file system is nearly full if less than one part in this many is free.
const NEARLY_FULL: u64 = 20;

/// Files of at least this many bytes are looked at, since they may have holes.
const LARGE: u64 = 1 << 20;

/// This rank's size in a message to the leader.
pub(in crate::session) struct SizeReport {
    /// Bytes of the data, and bytes of the data with redundancy and record.
    own: (u64, u64),
    /// `None` on the leader.
    pending: Option<Box<dyn Pending>>,
}

/// The dataset that is about to be written.
#[derive(Clone, Copy)]
pub(in crate::session) struct Planned<'a> {
    pub dataset: &'a Dataset,
    pub target: Target,
}

impl CachedDatasets {
    /// Checks that the store of the next dataset has room for it; see
    /// [`policy::capacity`](crate::policy::capacity). Leaders look, the other ranks agree. Local.
    ///
    /// # Errors
    /// The store has no room, not even after evictions.
    pub fn check_space(
        &mut self,
        run: &Run,
        offer: &Offer,
        next: Planned,
    ) -> std::result::Result<Fit, NoRoom> {
        let Target { scheme, location } = next.target;
        let Location::Cache(at) = location else {
            return Ok(Fit::Now);
        };
        let Store { layout, leader, .. } = &run.stores[at];
        if !leader || !run.settings.cache_check {
            return Ok(Fit::Now);
        }
        let job = layout.job();
        // A file system that does not tell its free space can only be tried.
        let free = || run.files.space(&job).map_or(u64::MAX, |s| s.free);
        let need = self.expected(run, scheme, next.dataset.is_checkpoint());
        let demanded = self.victims(run, offer, location, 0);
        let nothing_to_delete = demanded.is_empty() && !self.led.deletion.is_running();
        // If datasets have failed, more space is asked for than the last complete dataset took.
        let wanted = need.map(|need| space_wanted(need, self.failures));
        let verdict = check_fit(wanted, free(), nothing_to_delete.then_some(0));
        let (Some(need), Some(wanted)) = (need, wanted) else {
            return match self.failures {
                0 => Ok(verdict),
                // Only datasets that must stay may be in the way.
                2.. if self.saving_gives(run, offer, location) > 0 => {
                    let what = format!(
                        "{} datasets in a row could not be completed, and {}",
                        self.failures,
                        space_of(run, location)
                    );
                    Err(NoRoom::until_saved(next.dataset, what))
                }
                _ => Ok(Fit::AfterEvicting(self.dispensable(run, offer, at))),
            };
        };
        if verdict == Fit::Now {
            return Ok(verdict);
        }
        // The guess says no: find out exactly, which takes time.
        self.led.deletion.finish();
        let left = free();
        let all = self.victims(run, offer, location, usize::MAX);
        let sizes: Vec<u64> = all.iter().map(|slot| self.size_of(run, *slot)).collect();
        let (first, rest) = sizes.split_at(demanded.len().min(sizes.len()));
        let then = first
            .iter()
            .fold(left, |sum, size| sum.saturating_add(*size));
        let evictable = sizes
            .iter()
            .fold(0u64, |sum, size| sum.saturating_add(*size));
        let short = Shortage {
            need,
            free: left,
            evictable,
        };
        // If datasets have failed, it is only likely that `wanted` bytes are needed.
        let room = left.saturating_add(evictable);
        if room < wanted {
            let more = self.saving_gives(run, offer, location);
            if more > 0 && room.saturating_add(more) >= need {
                return Err(NoRoom::until_saved(next.dataset, short.text(run, at)));
            }
        }
        match additional_evictions(need, wanted, then, rest) {
            Some(0) => Ok(Fit::AfterDeletion),
            Some(count) => Ok(Fit::AfterEvicting(count)),
            None => Err(NoRoom {
                error: short.error(run, at, next.dataset, self.led.tell_full()),
                saving_helps: false,
            }),
        }
    }

    /// Number of bytes that could be evicted on this node if the newest checkpoint, which has no other copy,
    /// were in the prefix directory. 0 if it is there, or must not be flushed. Local.
    fn saving_gives(&self, run: &Run, offer: &Offer, to: Location) -> u64 {
        let newest = due_at_end(run, self).filter(|_| run.next_run_fetches());
        let Some(newest) = newest.map(|dataset| dataset.id) else {
            return 0;
        };
        let now = self.victims(run, offer, to, usize::MAX);
        let then = self.victims_once_saved(run, offer, to, newest);
        let more = then.iter().filter(|slot| !now.contains(slot));
        more.fold(0, |sum, slot| sum.saturating_add(self.size_of(run, *slot)))
    }

    /// Number of datasets that may be evicted beyond those that the count of the store demands,
    /// after failures without a known size: first those that no restart can use, then all that no
    /// restart needs.
    fn dispensable(&self, run: &Run, offer: &Offer, store: usize) -> usize {
        let demanded = self.victims(run, offer, Location::Cache(store), 0).len();
        let all = match self.failures {
            1 => self.unusable.iter().filter(|s| s.store == store).count(),
            _ => self
                .victims(run, offer, Location::Cache(store), usize::MAX)
                .len(),
        };
        all.saturating_sub(demanded)
    }

    /// The bytes that the next dataset of a descriptor will probably take on this node: as many as
    /// its last one. Without one, as many as the data of another descriptor's last checkpoint need.
    fn expected(&self, run: &Run, scheme: usize, checkpoint: bool) -> Option<u64> {
        if let Some(size) = self.led.sizes.get(&scheme) {
            return Some(size.all);
        }
        let schemes = &run.descriptors.schemes;
        let sharing = |scheme: usize| Some(&run.stores.get(schemes.get(scheme)?.store)?.sharing);
        let alike = |other: &usize| checkpoint && sharing(*other) == sharing(scheme);
        let mut others = self.led.sizes.iter();
        let (_, size) = others.find(|(other, size)| size.checkpoint && alike(other))?;
        let members = run.sets.get(scheme)?.size();
        let SchemeDescriptor {
            scheme: kind,
            set_failures,
            ..
        } = schemes.get(scheme)?;
        let losses = RedundancyScheme::new(*kind, *set_failures as usize).losses(members);
        let copies = kind.makes_copies();
        Some(with_redundancy(size.data, copies, members, losses))
    }

    /// The bytes that a dataset takes in a store on this node. Local.
    fn size_of(&self, run: &Run, slot: Slot) -> u64 {
        let mut same = self.entries.iter().filter(|c| c.slot() == slot);
        if let Some(bytes) = same.find_map(|c| c.own.as_ref()?.bytes) {
            return bytes;
        }
        let Some(Store { layout, .. }) = run.stores.get(slot.store) else {
            return 0;
        };
        let places = [layout.dataset(slot.id), layout.quarantine(slot.id)];
        let sizes = places
            .iter()
            .map(|path| dataset::disk_usage(&*run.files, path, BLOCK));
        sizes.map(Result::unwrap_or_default).sum()
    }

    /// Remembers the size of a dataset for the next one of its descriptor.
    pub fn remember_size(&mut self, scheme: usize, size: Option<DatasetSize>) {
        if let Some(size) = size {
            self.led.sizes.insert(scheme, size);
        }
    }
}

/// The reason why a dataset has no room.
pub(in crate::session) struct NoRoom {
    pub error: Error,
    /// True if there may be room once the newest checkpoint is in the prefix directory.
    pub saving_helps: bool,
}

impl NoRoom {
    fn until_saved(next: &Dataset, what: String) -> Self {
        NoRoom {
            error: Error::dataset(next.id, next.name.to_string(), what),
            saving_helps: true,
        }
    }
}

impl From<Error> for NoRoom {
    fn from(error: Error) -> Self {
        NoRoom {
            error,
            saving_helps: false,
        }
    }
}

/// A store has too little room, bytes.
struct Shortage {
    need: u64,
    free: u64,
    /// Space that becomes free once old datasets are evicted.
    evictable: u64,
}

impl Shortage {
    /// The space that the store has and the dataset needs.
    fn sizes(&self) -> [String; 2] {
        let [need, free, evictable] = compared([self.need, self.free, self.evictable]);
        match self.evictable {
            0 => [format!("{free} free"), need],
            _ => {
                let more =
                    format!(" and would have {evictable} more once old datasets are evicted");
                [format!("{free} free{more}"), need]
            }
        }
    }

    fn text(&self, run: &Run, at: usize) -> String {
        let place = named(run, Location::Cache(at));
        let [has, need] = self.sizes();
        format!("{place} has {has}, and going by the last dataset it needs {need}")
    }

    /// The error. If it is the first error of this kind, it also tells the remedy.
    fn error(&self, run: &Run, at: usize, next: &Dataset, first: bool) -> Error {
        let store = &run.descriptors.stores[at];
        let [has, need] = self.sizes();
        let what = if first {
            format!(
                "is not started: STORE={} on node {} has {has}, and going by the last dataset it needs {need}; make \
                 room, lower COUNT (now {}), configure another STORE, or set SCR_CACHE_CHECK=0 if this one is \
                 smaller ({CACHE_FULL})",
                store.dir.display(),
                run.node(),
                store.count,
            )
        } else {
            format!(
                "is not started, again: {} ({CACHE_FULL})",
                self.text(run, at)
            )
        };
        Error::dataset(next.id, next.name.to_string(), what)
    }
}

/// The free space where datasets are written, in words. Local.
fn space_of(run: &Run, location: Location) -> String {
    let place = named(run, location);
    match run.files.space(&directory(run, location)) {
        Ok(Space { total, free }) => {
            format!("{place} has {} of {} free", bytes(free), bytes(total))
        }
        Err(error) => format!("{place} does not tell its free space: {error}"),
    }
}

/// The name of the place of datasets on this node, for messages.
fn named(run: &Run, location: Location) -> String {
    match location {
        Location::Cache(at) => format!(
            "STORE={} on node {}",
            run.descriptors.stores[at].dir.display(),
            run.node()
        ),
        Location::Bypass(_) => format!("the prefix directory {}", run.prefix.root().display()),
    }
}

/// A directory in the file system of datasets.
fn directory(run: &Run, location: Location) -> PathBuf {
    match location {
        Location::Cache(at) => run.stores[at].layout.job(),
        Location::Bypass(_) => run.prefix.root().to_path_buf(),
    }
}

impl CachedDatasets {
    /// Adds to the error of a dataset that cannot be completed that its place is full, or nearly, if it is: the
    /// program's own writes may have failed for that reason. Local.
    pub fn explain_full(&mut self, run: &Run, location: Location, error: Error) -> Error {
        let Ok(Space { total, free }) = run.files.space(&directory(run, location)) else {
            return error;
        };
        // A file system without a limit has no size.
        let full = total > 0 && free < total / NEARLY_FULL;
        if !full && !error.is_full() {
            return error;
        }
        let place = named(run, location);
        let (free, total) = (bytes(free), bytes(total));
        let note = if self.led.tell_full() {
            let what = match location {
                Location::Cache(_) => "free memory, or keep fewer datasets (SCR_CACHE_SIZE)",
                Location::Bypass(_) => "make room there",
            };
            format!(
                "{place} is full, with {free} of {total} free, so writes may have failed; {what} ({CACHE_FULL})"
            )
        } else {
            format!("{place} is full again, with {free} of {total} free ({CACHE_FULL})")
        };
        error.with_note(&note)
    }
}

/// Sends the size of this rank's part of a dataset to the leader of the store. Local; the leader
/// must call [`receive_sizes`].
pub(in crate::session) fn send_size(
    run: &Run,
    store: usize,
    level: Option<usize>,
    filemap: &Filemap,
) -> Result<SizeReport> {
    let Store {
        layout,
        leader,
        sharing,
        ..
    } = &run.stores[store];
    let own = own_size(run, &layout.at(level), filemap);
    let pending = if sharing.all || *leader {
        None
    } else {
        let message = [own.0.to_le_bytes(), own.1.to_le_bytes()].concat();
        Some(run.comm.isend(sharing.leader, SIZES, message)?)
    };
    Ok(SizeReport { own, pending })
}

/// Bytes of this rank's data, and bytes of the data with redundancy and record. If a data file
/// cannot be looked at, its recorded size counts. If another file cannot be looked at, it counts as
/// empty. The sums are only an estimate for the next dataset.
fn own_size(run: &Run, layout: &Layout, filemap: &Filemap) -> (u64, u64) {
    let dir = layout.data(filemap.dataset.id, run.rank());
    let space = |file: &FileMeta| {
        let whole = file.size.next_multiple_of(BLOCK);
        let path = file.file.below(&dir).ok().filter(|_| whole >= LARGE);
        let space = path.map(|path| dataset::disk_usage(&*run.files, &path, BLOCK));
        space.and_then(Result::ok).unwrap_or(whole)
    };
    let data: u64 = filemap.files.files.iter().map(space).sum();
    let record = layout.filemap(filemap.dataset.id, run.rank());
    let added = dataset::redundancy_file(layout, filemap)
        .into_iter()
        .chain([record]);
    let sizes = added.map(|path| dataset::disk_usage(&*run.files, &path, BLOCK));
    let added: u64 = sizes.map(Result::unwrap_or_default).sum();
    (data, data.saturating_add(added))
}

/// On a leader: the size of `dataset` in its store, from the reports of all ranks that share it.
/// Local: the messages have been sent.
pub(in crate::session) fn receive_sizes(
    run: &Run,
    store: usize,
    report: SizeReport,
    dataset: &Dataset,
) -> Result<Option<DatasetSize>> {
    let SizeReport { own, pending } = report;
    if let Some(pending) = pending {
        pending.wait()?;
    }
    let Store {
        leader, sharing, ..
    } = &run.stores[store];
    if !leader {
        return Ok(None);
    }
    let (mut data, mut all) = own;
    let Sharing {
        followers,
        all: shared_by_all,
        ..
    } = sharing;
    for rank in followers {
        let message = run.comm.recv(*rank, SIZES)?;
        let (numbers, _) = message.as_chunks::<8>();
        let number = |at: usize| numbers.get(at).map_or(0, |n| u64::from_le_bytes(*n));
        data = data.saturating_add(number(0));
        all = all.saturating_add(number(1));
    }
    if *shared_by_all {
        // All ranks know the total, and a store that all share has no redundancy.
        data = data.max(dataset.size.unwrap_or(0));
        all = all.max(data);
    }
    Ok(Some(DatasetSize {
        data,
        all,
        checkpoint: dataset.is_checkpoint(),
    }))
}

/// [`send_size`] and [`receive_sizes`] of a dataset that is complete on all ranks.
pub(in crate::session) fn share_size(
    run: &Run,
    store: usize,
    level: Option<usize>,
    filemap: &Filemap,
) -> Result<Option<DatasetSize>> {
    let report = send_size(run, store, level, filemap)?;
    receive_sizes(run, store, report, &filemap.dataset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faulty::{Faults, Faulty};
    use crate::session::datasets::cached::CachedDataset;
    use crate::session::datasets::prefix_state::PrefixState;
    use crate::session::testing::{cached, checkpoint, recovered, run_in};
    use crate::store::posix::Posix;
    use std::sync::Arc;

    /// A run with a store of `free` bytes that keeps two datasets.
    fn run_with(dir: &tempfile::TempDir, free: u64) -> (Run, Faults) {
        let (mut run, _) = run_in(dir, &[("SCR_CACHE_SIZE", "2")]);
        let files = Faulty::new(Posix);
        let faults = files.faults();
        faults.limit_space(Some(free));
        run.files = Arc::new(files);
        (run, faults)
    }

    fn check(all: &mut CachedDatasets, run: &Run) -> Result<Fit> {
        let planned = Planned {
            dataset: &checkpoint(9),
            target: Target {
                scheme: 0,
                location: Location::Cache(0),
            },
        };
        let checked = all.check_space(run, &Offer::default(), planned);
        checked.map_err(|no_room| no_room.error)
    }

    fn of_size(id: u64, bytes: u64) -> CachedDataset {
        let mut one = recovered(id);
        one.own.as_mut().unwrap().bytes = Some(bytes);
        one
    }

    fn last_one_took(bytes: u64) -> CachedDatasets {
        let mut all = CachedDatasets::default();
        let (data, checkpoint) = (bytes, true);
        let size = DatasetSize {
            data,
            all: bytes,
            checkpoint,
        };
        all.remember_size(0, Some(size));
        all
    }

    #[test]
    fn holes_do_not_count_as_space() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_with(&dir, 0);
        let layout = &run.stores[0].layout;
        let data = layout.data(3, 0);
        std::fs::create_dir_all(&data).unwrap();
        let mut list = crate::format::RankFiles::default();
        for (name, size) in [("sparse", 1 << 30), ("small", 5)] {
            let file = std::fs::File::create(data.join(name)).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, &[1; 9000], size / 2).unwrap();
            file.set_len(size).unwrap();
            let stat = run.files.stat(&data.join(name)).unwrap().unwrap();
            let meta = FileMeta::new(name.into(), name.into(), &stat);
            list.files.push(meta);
        }
        let target = Target {
            scheme: 0,
            location: Location::Cache(0),
        };
        let filemap = crate::session::datasets::record::filemap(&run, &checkpoint(3), target, list);
        let (space, all) = own_size(&run, layout, &filemap);
        assert!((9000 + 4096..100_000).contains(&space), "{space}");
        assert_eq!(all, space);
    }

    #[test]
    fn nothing_is_refused_while_no_size_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_with(&dir, 0);
        let mut all = CachedDatasets::default();
        assert_eq!(check(&mut all, &run), Ok(Fit::Now));
        // After failures, datasets that no restart can use go first, then all that are dispensable.
        all.failures = 1;
        all.unusable = vec![Slot { store: 0, id: 1 }];
        all.insert(cached(2));
        all.insert(cached(3));
        assert_eq!(check(&mut all, &run), Ok(Fit::AfterEvicting(0)));
        all.failures = 2;
        assert_eq!(check(&mut all, &run), Ok(Fit::AfterEvicting(0)));
        all.entries.pop();
        assert_eq!(check(&mut all, &run), Ok(Fit::AfterEvicting(0)));
    }

    #[test]
    fn the_next_dataset_is_expected_to_be_as_large_as_the_last() {
        let dir = tempfile::tempdir().unwrap();
        let (run, faults) = run_with(&dir, 100);
        let mut all = last_one_took(100);
        assert_eq!(check(&mut all, &run), Ok(Fit::Now));
        faults.limit_space(Some(99));
        let refused = check(&mut all, &run).unwrap_err().to_string();
        for part in ["dataset 9", "99 B free", "it needs 100 B", "COUNT (now 2)"] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        // Without the datasets that must leave anyway, the next dataset fits.
        for id in 1..=2 {
            all.insert(of_size(id, 1));
        }
        assert_eq!(check(&mut all, &run), Ok(Fit::AfterDeletion));
    }

    #[test]
    fn a_dataset_that_is_dispensable_goes_for_a_larger_one() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_with(&dir, 60);
        let mut all = last_one_took(100);
        let mut saved = of_size(1, 50);
        saved.prefix = PrefixState::Saved;
        all.insert(saved);
        assert_eq!(check(&mut all, &run), Ok(Fit::AfterEvicting(1)));
        all.entries[0].prefix = PrefixState::Absent;
        assert!(check(&mut all, &run).is_err(), "the only copy stays");
    }

    #[test]
    fn after_a_failure_twice_as_much_is_asked_for_but_not_demanded() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_with(&dir, 150);
        let mut all = last_one_took(100);
        let mut saved = of_size(1, 10);
        saved.prefix = PrefixState::Saved;
        all.insert(saved);
        assert_eq!(check(&mut all, &run), Ok(Fit::Now));
        all.failures = 1;
        assert_eq!(check(&mut all, &run), Ok(Fit::AfterEvicting(1)));
    }

    #[test]
    fn another_descriptor_gives_the_first_estimate_for_checkpoints_only() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_with(&dir, 0);
        let all = last_one_took(100);
        assert_eq!(all.expected(&run, 0, true), Some(100));
        let mut other = CachedDatasets::default();
        other.led.sizes.insert(7, all.led.sizes[&0]);
        assert_eq!(other.expected(&run, 0, true), None, "no such descriptor");
        assert_eq!(other.expected(&run, 0, false), None);
    }
}
