//! Datasets that leave the cache: those that make room for a new one, and those that are removed.

use crate::Result;
use crate::cache::plan::Slot;
use crate::events::{Event, Severity};
use crate::format::Dataset;
use crate::format::flush_file::{self, FlushEntry};
use crate::policy::eviction::{EvictionCandidate, Kind, PrefixCopy, select_evicted};
use crate::session::datasets::cached::{CachedDataset, CachedDatasets, Reuse, note};
use crate::session::datasets::location::Location;
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::datasets::search::{Offer, RestartSearch};
use crate::session::run::Run;

/// Describes a cached dataset for the choice of the one that leaves a store. `here`: it takes room
/// there; `offered`: the id of the checkpoint that is offered for a restart. Local.
pub(in crate::session) fn candidate(
    run: &Run,
    cached: &CachedDataset,
    here: bool,
    offered: Option<u64>,
) -> EvictionCandidate {
    EvictionCandidate {
        id: cached.dataset.id,
        here,
        kind: if cached.dataset.is_checkpoint() {
            Kind::Checkpoint
        } else {
            Kind::Output
        },
        tolerates: cached.tolerates,
        copy: match cached.prefix {
            prefix if prefix.is_flushing() => PrefixCopy::OnTheWay,
            prefix if prefix.is_saved() && run.next_run_fetches() => PrefixCopy::Saved,
            _ => PrefixCopy::None,
        },
        offered: offered == Some(cached.dataset.id),
    }
}

/// Like [`candidate`], for a directory that no restart can use.
pub(in crate::session) fn unusable_candidate(slot: &Slot, here: bool) -> EvictionCandidate {
    EvictionCandidate {
        id: slot.id,
        here,
        kind: Kind::Unusable,
        tolerates: 0,
        copy: PrefixCopy::None,
        offered: false,
    }
}

impl CachedDatasets {
    /// Removes datasets from the cache and from everything that refers to them. Never fails: a rank
    /// that cannot remove its files goes on with the others. Local; the same on all ranks.
    pub fn remove(&mut self, run: &Run, search: &mut RestartSearch, gone: &[Slot]) {
        self.remove_and_reuse(run, search, gone, None);
    }

    /// [`CachedDatasets::remove`]; their space is used again as `reuse` says, if this run has written them.
    pub fn remove_and_reuse(
        &mut self,
        run: &Run,
        search: &mut RestartSearch,
        gone: &[Slot],
        reuse: Option<Reuse>,
    ) {
        if gone.is_empty() {
            return;
        }
        let trash = self.put_away(run, gone, reuse);
        self.entries.retain(|c| !gone.contains(&c.slot()));
        self.unusable.retain(|slot| !gone.contains(slot));
        let mut ids: Vec<u64> = gone.iter().map(|slot| slot.id).collect();
        ids.retain(|id| self.slots_of_id(*id).is_empty());
        search.forget(gone, &ids);
        note(run, |record| {
            // What goes on to count stands there without the cache.
            let stays = |entry: &FlushEntry| !entry.is_at(flush_file::CACHE);
            let datasets = &mut record.datasets;
            datasets.retain(|id, entry| !ids.contains(id) || stays(entry));
        });
        // Only now: as long as the flush file has the dataset, the trash shows the next run that it was
        // evicted.
        self.led.deletion.start(run, trash);
    }

    /// Removes from the cache all files of an id that is about to be written or fetched.
    /// Collective; a barrier if there is something.
    pub fn remove_id(&mut self, run: &Run, search: &mut RestartSearch, id: u64) -> Result<()> {
        let slots = self.slots_of_id(id);
        if slots.is_empty() {
            return Ok(());
        }
        self.remove(run, search, &slots);
        run.comm.barrier()
    }

    /// Empties the cache if the next run can fetch all that is in it from the prefix directory. The
    /// flush file keeps the datasets, without the location of the cache. Local; the same on all ranks.
    pub fn leave_to_next_run(&mut self, run: &Run) {
        let is_saved = |c: &CachedDataset| c.location.is_bypass() || c.prefix.is_saved();
        // The prefix directory had as many newer checkpoints as the user wants to keep.
        let was_saved = |c: &CachedDataset| {
            let newer = |other: &CachedDataset| is_saved(other) && other.dataset.id > c.dataset.id;
            c.prefix == PrefixState::LeftWindow && self.entries.iter().any(newer)
        };
        let is_safe = |c: &CachedDataset| is_saved(c) || was_saved(c);
        if !run.next_run_fetches() || !self.unusable.is_empty() || !self.entries.iter().all(is_safe)
        {
            return;
        }
        let slots = self.slots(|c| !c.location.is_bypass());
        if slots.is_empty() {
            return;
        }
        self.discard(run, &slots, None);
        self.entries.retain(|c| c.location.is_bypass());
        note(run, |record| {
            for slot in &slots {
                if let Some(entry) = record.datasets.get_mut(&slot.id) {
                    entry.locations.remove(&flush_file::CACHE.into());
                }
            }
            // A dataset in bypass that has left the window of the prefix directory has no copy
            // any more.
            record.datasets.retain(|_, e| !e.locations.is_empty());
        });
    }

    /// The datasets that count when one is written `to` a location, as eviction looks at them. Datasets in
    /// bypass take no space, so they count only among themselves. The same on all ranks.
    pub fn candidates(
        &self,
        run: &Run,
        offer: &Offer,
        to: Location,
    ) -> (Vec<Slot>, Vec<EvictionCandidate>) {
        let offered = offer.id();
        let cached = self
            .entries
            .iter()
            .map(|c| (c.slot(), candidate(run, c, c.location == to, offered)));
        let unusable = self.unusable.iter().map(|slot| {
            let here = Location::Cache(slot.store) == to;
            (*slot, unusable_candidate(slot, here))
        });
        cached.chain(unusable).unzip()
    }

    /// Datasets that leave a store before a new dataset comes, so that the store stays within its
    /// count; and up to `more` datasets that no restart needs. The same on all ranks.
    pub fn victims(&self, run: &Run, offer: &Offer, to: Location, more: usize) -> Vec<Slot> {
        let (slots, entries) = self.candidates(run, offer, to);
        let count = run.descriptors.stores[to.store()].count as usize;
        let gone = select_evicted(&entries, count, more).into_iter();
        gone.filter_map(|at| slots.get(at).copied()).collect()
    }

    /// All datasets of a store that no restart would need if dataset `saved` were in the prefix directory. The same
    /// on all ranks.
    pub fn victims_once_saved(
        &self,
        run: &Run,
        offer: &Offer,
        to: Location,
        saved: u64,
    ) -> Vec<Slot> {
        let (slots, mut entries) = self.candidates(run, offer, to);
        for entry in entries.iter_mut().filter(|entry| entry.id == saved) {
            entry.copy = PrefixCopy::Saved;
        }
        let count = run.descriptors.stores[to.store()].count as usize;
        let gone = select_evicted(&entries, count, usize::MAX).into_iter();
        gone.filter_map(|at| slots.get(at).copied()).collect()
    }

    /// True if a new dataset in a store would evict another one.
    pub fn would_evict(&self, run: &Run, offer: &Offer, store: usize) -> bool {
        !self
            .victims(run, offer, Location::Cache(store), 0)
            .is_empty()
    }

    /// True if a checkpoint with a higher id is here and whole.
    pub fn has_newer_whole(&self, id: u64) -> bool {
        let mut checkpoints = self.entries.iter().filter(|c| c.dataset.is_checkpoint());
        checkpoints.any(|c| c.is_whole() && c.dataset.id > id)
    }

    /// With `SCR_FETCH=0`: the newest checkpoint goes on to count as cached if a dataset that is written `to` its store
    /// takes its place and it is in the prefix directory. Collective; without a round if nothing in a cache is concerned.
    pub fn keep_displaced(
        &self,
        run: &Run,
        search: &mut RestartSearch,
        to: Location,
        more: usize,
    ) -> Result<()> {
        if run.settings.fetch {
            return Ok(());
        }
        let gone = self.victims(run, &search.offer, to, more);
        let stays = |c: &&CachedDataset| !gone.contains(&c.slot());
        let checkpoints = self.entries.iter().filter(|c| c.dataset.is_checkpoint());
        let (staying, leaving): (Vec<_>, Vec<_>) = checkpoints.partition(stays);
        let saved = leaving.into_iter().filter(|c| c.prefix.is_saved());
        let Some(newest) = saved.map(|c| &c.dataset).max_by_key(|d| d.id) else {
            return Ok(());
        };
        let newer = |c: &&CachedDataset| c.is_whole() && c.dataset.id > newest.id;
        if staying.iter().any(newer) {
            return Ok(());
        }
        if let Some(survey) = search.survey.get_mut() {
            let key = (newest.id, newest.created);
            survey.last_run.displace(run, key);
        }
        // No rank removes its part before the flush file says so.
        if to.is_bypass() {
            Ok(())
        } else {
            run.comm.barrier()
        }
    }

    /// Notes that a dataset is deleted from the cache to make room, or, in bypass, forgotten. Local; the same on
    /// all ranks.
    pub fn note_evicted(&self, run: &Run, slot: &Slot) {
        let mut same = self.entries.iter().filter(|c| c.slot() == *slot);
        let evicted = same.next();
        if !evicted.is_some_and(|c| c.location.is_bypass()) {
            run.log_slot(Event::Evict, slot, evicted.map(|c| &c.dataset));
        }
    }

    /// Evicts the datasets that must leave a store before a new dataset comes, and up to `more`
    /// datasets that no restart needs. Their space is used again as `reuse` says. No rank may need the
    /// evicted datasets any more. Returns the files that this run has written. Collective, without a
    /// round.
    pub fn evict(
        &mut self,
        run: &Run,
        search: &mut RestartSearch,
        to: Location,
        more: usize,
        reuse: Option<Reuse>,
    ) -> Vec<Dataset> {
        let gone = self.victims(run, &search.offer, to, more);
        let evicted = self.entries.iter().filter(|c| gone.contains(&c.slot()));
        let own = evicted.filter(|c| self.is_own(c.dataset.id));
        let own = own.map(|cached| cached.dataset.clone()).collect();
        for slot in &gone {
            self.note_evicted(run, slot);
            if !to.is_bypass() {
                let dir = run.stores[slot.store].layout.dataset(slot.id);
                run.tell_once(Severity::Debug(2), format!("{} is evicted", dir.display()));
            }
        }
        self.remove_and_reuse(run, search, &gone, reuse);
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::plan::Slot;
    use crate::session::testing::{cached, ids_in_flush_file, recovered, run_in};

    fn slot(id: u64) -> Slot {
        Slot { store: 0, id }
    }

    #[test]
    fn a_removed_dataset_leaves_directory_flush_file_and_offer() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_in(&dir, &[]);
        let layout = &run.stores[0].layout;
        let mut all = CachedDatasets::default();
        let mut search = RestartSearch::default();
        for id in 1..=2 {
            std::fs::create_dir_all(layout.data(id, 0)).unwrap();
            all.insert(cached(id));
            let entry = flush_file::FlushEntry::cached(cached(id).dataset);
            note(&run, |record| {
                record.datasets.insert(id, entry);
            });
        }
        search.offer.set(recovered(2).restart_files(&run));

        all.remove(&run, &mut search, &[slot(1)]);
        assert!(
            search.offer.files().is_some(),
            "the other one stays offered"
        );
        assert_eq!(ids_in_flush_file(&run), [2]);
        all.remove(&run, &mut search, &[slot(2)]);
        all.led.deletion.finish();
        assert!(search.offer.files().is_none() && all.entries.is_empty());
        assert_eq!(ids_in_flush_file(&run), [0; 0]);
        assert!(!layout.dataset(1).exists() && !layout.dataset(2).exists());
    }

    #[test]
    fn an_id_stays_known_while_another_store_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_in(&dir, &[]);
        let mut all = CachedDatasets::default();
        let mut search = RestartSearch::default();
        all.insert(cached(1));
        let entry = flush_file::FlushEntry::cached(cached(1).dataset);
        note(&run, |record| {
            record.datasets.insert(1, entry);
        });
        all.unusable = vec![Slot { store: 9, id: 1 }];
        all.remove(&run, &mut search, &[Slot { store: 9, id: 1 }]);
        assert_eq!((all.entries.len(), ids_in_flush_file(&run)), (1, vec![1]));
    }

    #[test]
    fn datasets_in_bypass_count_only_among_themselves() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_in(&dir, &[("SCR_CACHE_SIZE", "2")]);
        let mut all = CachedDatasets::default();
        let offer = Offer::default();
        for id in 1..=5 {
            let mut one = cached(id);
            if id % 2 == 0 {
                one.location = Location::Bypass(0);
            }
            all.insert(one);
        }
        let victims = |to| all.victims(&run, &offer, to, 0);
        assert_eq!(victims(Location::Bypass(0)), [slot(2)]);
        assert_eq!(victims(Location::Cache(0)), [slot(1), slot(3)]);
    }

    #[test]
    fn what_is_offered_goes_last_and_what_the_index_has_dropped_is_not_safe() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_in(&dir, &[("SCR_CACHE_SIZE", "2")]);
        let mut all = CachedDatasets::default();
        let mut offer = Offer::default();
        let one = recovered(1);
        offer.set(one.restart_files(&run));
        all.insert(one);
        all.insert(cached(2));
        assert_eq!(all.victims(&run, &offer, Location::Cache(0), 0), [slot(2)]);
        offer.withdraw();
        // Dataset 1 tolerates a lost node, 2 does not; only while 2 is in the prefix directory it is safer.
        all.entries[0].tolerates = 1;
        all.entries[1].prefix = PrefixState::Saved;
        assert_eq!(all.victims(&run, &offer, Location::Cache(0), 0), [slot(1)]);
        all.entries[1].prefix = PrefixState::Dropped;
        assert_eq!(all.victims(&run, &offer, Location::Cache(0), 0), [slot(2)]);
    }
}
