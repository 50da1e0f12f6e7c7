//! Rank 0 classifies the datasets in the caches: those that can be tried, those of other runs,
//! those that are lost, and directories that can only be removed.

use crate::cache::plan::{Candidate, Inventory, Slot, candidates};
use crate::events::Severity;
use crate::format::flush_file::{self, FlushEntry, FlushFile};
use crate::format::{Dataset, Name};
use crate::messages::{NO_RECORD_LEFT, OTHER_DIRECTORY};
use crate::prefix::records;
use crate::session::datasets::cached::title;
use crate::session::datasets::survey::{DatasetKey, LastRun, Rejected, Survey};
use crate::session::run::Run;
use std::collections::{BTreeMap, BTreeSet};

impl Survey {
    /// Takes in the inventories of the leaders: datasets to try, datasets that no restart can use, and
    /// directories to remove. Local.
    pub fn classify(&mut self, run: &Run, inventories: &[(usize, Inventory)]) {
        let flush_file = records::read_flush_file(&*run.files, &run.prefix);
        if let Err(error) = &flush_file {
            let text = format!("{error}; a new one is written");
            run.tell_once(Severity::Warning, text);
        }
        let flush_file = flush_file.unwrap_or_default();
        self.last_run = LastRun::of(run, &flush_file);
        let mut found = candidates(inventories);
        found.reverse();
        let evicted = inventories
            .iter()
            .flat_map(|(_, inventory)| &inventory.evicted);
        let evicted: BTreeSet<u64> = evicted.copied().collect();
        tell_lost(run, &flush_file, |dataset| {
            let same = |c: &Candidate| c.dataset.created == dataset.created;
            let there = found.iter().any(same) || evicted.contains(&dataset.id);
            there || self.is_saved(run, dataset)
        });
        // A dataset that cannot be read now may be whole the next time.
        let each = |of: fn(&Inventory) -> &Vec<Slot>| -> Vec<Slot> {
            let all = inventories.iter().flat_map(|(_, inventory)| of(inventory));
            // Most nodes have the same.
            let all: BTreeSet<Slot> = all.copied().collect();
            all.into_iter().collect()
        };
        self.unread = each(|inventory| &inventory.unread);
        let mut present = each(|inventory| &inventory.present);
        present.retain(|slot| !found.iter().any(|candidate| candidate.slot() == *slot));
        present.retain(|slot| !self.unread.contains(slot));
        let of_other_runs = self.leave_other_runs(run, &mut found);
        // Without a readable record only the id tells whether a dataset was complete once.
        let (quarantine, discard): (Vec<Slot>, Vec<Slot>) = present
            .into_iter()
            .partition(|slot| flush_file.datasets.contains_key(&slot.id));
        tell_unfinished(run, &discard);
        let quarantined = each(|inventory| &inventory.quarantined);
        self.unusable = [&quarantined, &self.unread, &of_other_runs, &quarantine]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        self.rejected = Rejected {
            discard,
            quarantine,
        };
        let named = |candidate: &Candidate| (candidate.slot(), candidate.dataset.name.clone());
        self.names = found.iter().map(named).collect();
        self.cached = found;
    }

    /// Takes out of `found` the datasets that a run of the same job wrote for another prefix
    /// directory. A dataset in the flush file of this prefix directory nevertheless belongs to it:
    /// the directory was moved, or has several names. Local.
    fn leave_other_runs(&self, run: &Run, found: &mut Vec<Candidate>) -> Vec<Slot> {
        let mut left = Vec::new();
        found.retain(|candidate| {
            let Dataset { id, created, .. } = candidate.dataset;
            let Some(other) = candidate.other_prefix.as_ref() else {
                return true;
            };
            if !other.is_certain && self.last_run.completed.contains(&(id, created)) {
                return true;
            }
            let earlier = if other.path == run.own_prefix.path {
                "one that was there before"
            } else {
                "another directory"
            };
            let text = format!(
                "cached {} was written by a run in {}, {earlier}, not by one in {}: it is not used, and stays \
                 until room is needed ({OTHER_DIRECTORY})",
                title(&candidate.dataset),
                other.path.as_path().display(),
                run.prefix.real().display()
            );
            let severity = if self.is_saved(run, &candidate.dataset) {
                Severity::Debug(1)
            } else {
                Severity::Warning
            };
            run.tell_once(severity, text);
            left.push(candidate.slot());
            false
        });
        left
    }
}

impl LastRun {
    fn of(run: &Run, flush_file: &FlushFile) -> Self {
        let keys = |wanted: &dyn Fn(&FlushEntry) -> bool| -> BTreeSet<DatasetKey> {
            let entries = flush_file.datasets.iter().filter(|(_, e)| wanted(e));
            entries
                .filter_map(|(id, e)| Some((*id, e.dataset.as_ref()?.created)))
                .collect()
        };
        // Purged datasets are in the cache only.
        let purged = run.settings.prefix_purge;
        LastRun {
            completed: keys(&|_| true),
            saved: keys(&|entry| !purged && !entry.needs_flush()),
            interrupted: keys(&|entry| entry.is_interrupted()),
            in_bypass: in_prefix_of_last_run(run, flush_file),
            displaced: None,
        }
    }
}

/// Rank 0: the datasets that the last run of this job wrote in bypass, if this run also writes such datasets in bypass.
/// SCR v3.1.0 has records of them in the cache, and restarts from them without a fetch. With `SCR_FETCH=0` also the
/// datasets that the last run removed from its cache in `SCR_Finalize`, and the newest checkpoint that has left the cache
/// for another dataset.
fn in_prefix_of_last_run(run: &Run, flush_file: &FlushFile) -> BTreeMap<DatasetKey, Name> {
    if run.settings.cache_purge || !run.settings.distribute {
        return BTreeMap::new();
    }
    let is_used = |entry: &&FlushEntry| {
        let dataset = entry.dataset.as_ref();
        let bypass = || {
            dataset
                .and_then(|d| run.descriptor_of(d))
                .is_some_and(|d| d.bypass)
        };
        !entry.needs_flush()
            && dataset.is_some_and(|d| d.jobid == run.job)
            && if entry.is_at(flush_file::CACHE) {
                bypass()
            } else {
                !run.settings.fetch
            }
    };
    let used = flush_file.datasets.values().filter(is_used);
    let used = used.filter_map(|entry| entry.dataset.as_ref());
    // As in a cache, a dataset that is newer than the newest checkpoint does not count.
    let checkpoints = used.clone().filter(|dataset| dataset.is_checkpoint());
    let newest = checkpoints.map(|dataset| dataset.id).max();
    used.filter(|dataset| Some(dataset.id) <= newest)
        .map(|dataset| ((dataset.id, dataset.created), dataset.name.clone()))
        .collect()
}

/// Rank 0: warns of datasets that never were complete: the user must know that their data are lost.
fn tell_unfinished(run: &Run, slots: &[Slot]) {
    for slot in slots {
        let text = format!(
            "cached dataset {} was being written when the last run ended; it is not complete, so \
             it is deleted",
            slot.id
        );
        run.tell_once(Severity::Warning, text);
    }
}

/// Rank 0: warns of datasets that only the cache of the last run had and that have no record any more, unless they
/// are `there` or were evicted. So a restart from an older one is never silent.
fn tell_lost(run: &Run, flush_file: &FlushFile, there: impl Fn(&Dataset) -> bool) {
    if run.settings.cache_purge || !run.settings.distribute {
        return;
    }
    let entries = flush_file.datasets.values();
    for dataset in entries
        .filter(|entry| entry.is_at(flush_file::CACHE) && entry.needs_flush())
        .filter_map(|entry| entry.dataset.as_ref())
        .filter(|dataset| !there(dataset))
    {
        let text = format!(
            "cached {} cannot be used: no rank's record of it is left in the stores of this run's \
             nodes, and it was not in the prefix directory; if its store is not configured or \
             enabled any more, configure it again (STORE, SCR_CACHE_BASE) ({NO_RECORD_LEFT})",
            title(dataset)
        );
        run.tell_once(Severity::Warning, text);
    }
}
