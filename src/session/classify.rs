//! Rank 0 sorts what was found in the cache: what may be tried, what is another run's, what is
//! lost, and what can only be cleared away.

use super::cached::title;
use super::{Discarded, Session};
use crate::cache::plan::{Candidate, Inventory, Slot, candidates};
use crate::config::descriptors::choose;
use crate::events::Severity;
use crate::format::flush_file::{self, FlushFile};
use crate::format::{Dataset, Name};
use crate::prefix::records;
use std::collections::BTreeMap;

impl Session {
    /// Rank 0: what may be tried, and what can only be cleared away.
    pub(super) fn classify(&mut self, inventories: &[(usize, Inventory)]) {
        let flush_file = records::read_flush_file(&*self.files, &self.prefix);
        if let Err(error) = &flush_file {
            self.tell(Severity::Warning, format!("{error}; begun anew"));
        }
        let flush_file = flush_file.unwrap_or_default();
        let key = |(id, entry): (&u64, &flush_file::FlushEntry)| {
            Some((*id, entry.dataset.as_ref()?.created))
        };
        self.search.completed = flush_file.datasets.iter().filter_map(key).collect();
        let saved = flush_file.datasets.iter().filter(|(_, e)| !e.needs_flush());
        self.search.saved = saved.filter_map(key).collect();
        self.search.in_bypass = self.written_in_bypass(&flush_file);
        let mut found = candidates(inventories);
        found.reverse();
        self.tell_lost(&flush_file, &found);
        let mut present: Vec<Slot> = inventories
            .iter()
            .flat_map(|(_, i)| i.present.iter().copied())
            .collect();
        present.sort();
        present.dedup();
        present.retain(|slot| !found.iter().any(|candidate| candidate.slot() == *slot));
        // What cannot be read now may be whole the next time.
        let unread = inventories.iter().flat_map(|(_, i)| &i.unread);
        let unread: Vec<Slot> = unread.copied().collect();
        present.retain(|slot| !unread.contains(slot));
        let others = self.leave_others(&mut found);
        // Without any readable record, its id alone tells whether it was complete once.
        let (kept, discard): (Vec<Slot>, Vec<Slot>) = present
            .into_iter()
            .partition(|slot| flush_file.datasets.contains_key(&slot.id));
        self.tell_unfinished(&discard);
        self.search.discarded = Discarded {
            discard,
            quarantine: kept,
        };
        self.unusable = inventories
            .iter()
            .flat_map(|(_, i)| i.quarantined.iter().copied())
            .chain(unread.iter().copied())
            .chain(others)
            .chain(self.search.discarded.quarantine.iter().copied())
            .collect();
        self.unusable.sort();
        self.unusable.dedup();
        self.search.unread = unread;
        self.search.cached = found;
    }

    /// Rank 0: what the last run of this job wrote in bypass, if this run is to write in bypass,
    /// too. SCR v3.1.0 has records of it in the cache, and restarts from it without a fetch.
    fn written_in_bypass(&self, flush_file: &FlushFile) -> BTreeMap<(u64, u64), Name> {
        if self.settings.cache_purge || !self.settings.distribute {
            return BTreeMap::new();
        }
        let bypass = |d: &Dataset| {
            let scheme = choose(&self.descriptors.schemes, d.ckpt, d.flag_output);
            d.jobid == self.job && scheme.is_some_and(|scheme| scheme.bypass)
        };
        let entries = flush_file.datasets.values();
        let cached = entries.filter(|entry| entry.is_at(flush_file::CACHE) && !entry.needs_flush());
        let datasets = cached.filter_map(|entry| entry.dataset.as_ref());
        datasets
            .filter(|dataset| bypass(dataset))
            .map(|dataset| ((dataset.id, dataset.created), dataset.name.clone()))
            .collect()
    }

    /// Rank 0: names what never was complete. Its work is lost, so the user must hear of it.
    fn tell_unfinished(&self, slots: &[Slot]) {
        for slot in slots {
            let text = format!(
                "cached dataset {} was being written when the last run ended; it is not complete, \
                 so it is deleted",
                slot.id
            );
            self.tell(Severity::Warning, text);
        }
    }

    /// Rank 0: takes out of `found` what a run of the same job in another prefix directory wrote,
    /// which is no restart of this one. What this directory's record knows is this run's all the
    /// same: the directory was moved, or has several names.
    fn leave_others(&self, found: &mut Vec<Candidate>) -> Vec<Slot> {
        let mut left = Vec::new();
        found.retain(|candidate| {
            let Dataset { id, created, .. } = candidate.dataset;
            let Some(other) = candidate.other.as_ref() else {
                return true;
            };
            if self.search.completed.contains(&(id, created)) {
                return true;
            }
            let text = format!(
                "cached {} was written by a run in {}, not by one in {}: it is not used, and stays \
                 until room is needed",
                title(&candidate.dataset),
                other.as_path().display(),
                self.prefix.real().display()
            );
            self.tell(Severity::Warning, text);
            left.push(candidate.slot());
            false
        });
        left
    }

    /// Rank 0: names the checkpoints that the run before had in its cache and nowhere else,
    /// and of which nothing is left, so that going back to an older one is never silent.
    fn tell_lost(&self, flush_file: &FlushFile, found: &[Candidate]) {
        if self.settings.cache_purge || !self.settings.distribute {
            return;
        }
        let entries = flush_file.datasets.values();
        for dataset in entries
            .filter(|entry| entry.is_at(flush_file::CACHE) && entry.needs_flush())
            .filter_map(|entry| entry.dataset.as_ref())
            .filter(|d| !found.iter().any(|c| c.dataset.created == d.created))
        {
            let text = format!(
                "cached {} cannot be used: no rank's record of it is left in the stores of this \
                 run's nodes, and it was not in the prefix directory; if its store is not \
                 configured or enabled any more, configure it again (STORE, SCR_CACHE_BASE)",
                title(dataset)
            );
            self.tell(Severity::Warning, text);
        }
    }
}
