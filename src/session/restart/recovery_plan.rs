//! Rank 0 decides which cached checkpoint is recovered next, what each rank does for it, and what
//! becomes of the other cached datasets.

use crate::Result;
use crate::cache::plan::{Candidate, RecoveryOrder, Slot};
use crate::config::descriptors::StoreDescriptor;
use crate::events::Severity;
use crate::format::{Dataset, Name, to_message};
use crate::messages::{LOST_FILES, OUTPUT_LOST};
use crate::prefix::index;
use crate::redundancy::EVERYTHING;
use crate::session::datasets::cached::{CachedDataset, title};
use crate::session::datasets::other_ranks::wrong_ranks;
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::datasets::search::{InPrefix, PassedOver, Rejected, Restart};
use crate::session::datasets::unavailable::Unavailable;
use crate::text::{plural, ranks_in_words};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Rank 0's message to each rank: what to do next.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct NextStep {
    pub rejected: Rejected,
    /// The dataset to recover, if there is one to try.
    pub order: Option<RecoveryOrder>,
    /// A dataset that another number of ranks wrote, to be used instead.
    pub of_other_ranks: Option<OfOtherRanks>,
    /// What rank 0 knows of that dataset.
    pub known: Known,
    /// With no order: the other datasets in the cache.
    pub remaining: Vec<Remaining>,
    /// With no order: directories that no restart can use, but that stay until room is needed.
    pub unusable: Vec<Slot>,
    /// With no order: a dataset that may be complete and cannot be used, so that no older one may be.
    pub unavailable: Option<Unavailable>,
}

/// What only rank 0 knows of a dataset that is recovered.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct Known {
    /// How many failure groups may be lost once it is recovered.
    pub tolerates: usize,
    pub prefix: PrefixState,
}

/// Rank 0's message about a dataset of an earlier run that stays in the cache as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
pub(in crate::session) struct Remaining {
    /// Index of its store.
    pub store: usize,
    pub dataset: Dataset,
    pub known: Known,
}

impl Remaining {
    /// It counts against the cache size.
    pub fn cached(self) -> CachedDataset {
        CachedDataset {
            store: self.store,
            dataset: self.dataset,
            tolerates: self.known.tolerates,
            prefix: self.known.prefix,
            ..CachedDataset::default()
        }
    }
}

/// Rank 0's message about a dataset in the cache that another number of ranks wrote.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(in crate::session) struct OfOtherRanks {
    pub slot: Slot,
    pub dataset: Dataset,
    /// How many ranks wrote it.
    pub ranks: u64,
    /// It is good in the prefix directory, too.
    pub in_prefix: bool,
}

impl Restart<'_> {
    /// Rank 0: the orders for the newest candidate that may be complete, or the last step. Local.
    pub fn choose_candidate(&mut self) -> Result<Vec<Vec<u8>>> {
        let run = self.run;
        let size = run.comm.size();
        self.search.tried = None;
        self.judge_outputs()?;
        let mut unavailable = None;
        let is_output = |c: &Candidate| c.dataset.flag_output && !c.dataset.is_checkpoint();
        while let Some(at) = self.search.cached.iter().rposition(|c| !is_output(c)) {
            let candidate = self.search.cached.remove(at);
            let named = title(&candidate.dataset);
            let slot = candidate.slot();
            if !candidate.dataset.is_checkpoint() {
                // Nobody has asked for it in the prefix directory, and no restart needs it.
                self.search.rejected.discard.push(slot);
                continue;
            }
            let of_other_ranks =
                candidate.ranks != size && candidate.is_whole() && !run.settings.start_anew;
            if let Err(reason) = candidate.recoverable(size)
                && !of_other_ranks
            {
                let text = format!("cached {named} cannot be used: {reason}");
                self.search.passed_over.push(PassedOver {
                    severity: Severity::Warning,
                    named,
                    text,
                });
                self.reject(slot, &candidate);
                continue;
            }
            if self.search.chosen != Some(slot.id)
                && let Some(newer) = self.search.newer_in_prefix(run, &candidate.dataset)?
            {
                let newer = title(&newer);
                let text = format!("cached {named} is older than {newer} in the prefix directory");
                run.tell_once(Severity::Note, text);
                self.search.cached.insert(at, candidate);
                break;
            }
            unavailable = match of_other_ranks {
                true if !self.other_ranks.allowed => Some(needs_other_ranks(&candidate, size)),
                _ => self.unread_after(&candidate.dataset),
            };
            if unavailable.is_some() || !self.search.may_offer(&candidate.dataset) {
                self.search.cached.insert(at, candidate);
                break;
            }
            if of_other_ranks {
                return self.orders_of_other_ranks(candidate);
            }
            if let Some(orders) = self.orders(&candidate) {
                self.search.tried = Some(candidate);
                return orders;
            }
        }
        let unavailable = unavailable.or_else(|| self.unread_after(&Dataset::default()));
        let last = NextStep {
            unavailable,
            ..self.remaining()?
        };
        let last = to_message(&last)?;
        Ok(vec![last; size])
    }

    /// Rank 0: the newest dataset after `dataset` with a record that cannot be read now. Local.
    fn unread_after(&self, dataset: &Dataset) -> Option<Unavailable> {
        let newer = |slot: &&Slot| slot.id > dataset.id;
        let unread = self.search.unread.iter().filter(newer).map(|slot| slot.id);
        let id = unread.max()?;
        let completed = self.search.completed.iter();
        let mut known = completed.filter(|(other, _)| *other == id);
        Some(Unavailable {
            id,
            created: known.next_back().map(|(_, created)| *created),
            name: Name::default(),
            in_prefix: false,
            of_other_ranks: false,
            was_offered: false,
            why: cannot_be_used_now("a record of it cannot be read (see above)"),
        })
    }

    /// Rank 0: the messages with the orders for a candidate; `None` if it cannot be recovered.
    /// Local.
    fn orders(&mut self, candidate: &Candidate) -> Option<Result<Vec<Vec<u8>>>> {
        let leaders = self.search.leaders.get(candidate.store)?;
        let orders = candidate.orders(leaders)?;
        let named = title(&candidate.dataset);
        if !candidate.disputed.is_empty() {
            let text = format!(
                "cached {named}: the records of {} contradict those of the others and are not used",
                ranks_in_words(&candidate.disputed)
            );
            self.run.tell_once(Severity::Warning, text);
        }
        let lost = candidate.lost();
        if !lost.is_empty() {
            let ranks = ranks_in_words(&lost);
            let text = format!("cached {named} has lost the files of {ranks} ({LOST_FILES})");
            self.run.tell_once(Severity::Note, text);
        }
        let known = match self.known(candidate, true) {
            Ok(known) => known,
            Err(error) => return Some(Err(error)),
        };
        let rejected = std::mem::take(&mut self.search.rejected);
        let message = |order| {
            to_message(&NextStep {
                rejected: rejected.clone(),
                order: Some(order),
                known,
                ..NextStep::default()
            })
        };
        Some(orders.into_iter().map(message).collect())
    }

    /// Rank 0: the messages for a dataset that was not tried yet; empty ones if it cannot be
    /// recovered. Local.
    pub fn orders_for(&mut self, slot: Slot) -> Result<Vec<Vec<u8>>> {
        let at = self.search.cached.iter().rposition(|c| c.slot() == slot);
        let candidate = at.map(|at| self.search.cached.remove(at));
        let orders = candidate.as_ref().and_then(|one| self.orders(one));
        self.search.tried = candidate;
        match orders {
            Some(orders) => orders,
            None => Ok(vec![
                to_message(&NextStep::default())?;
                self.run.comm.size()
            ]),
        }
    }

    /// Rank 0: what remains in the cache beside the checkpoint that is offered. Local.
    pub fn remaining(&mut self) -> Result<NextStep> {
        // A dataset that is older than one in the prefix directory must not stay while newer ones are
        // evicted.
        let mut outdated = BTreeSet::new();
        if self.search.offered.is_none() {
            let candidates = self.search.cached.iter().chain(&self.search.failed_for_now);
            for candidate in candidates.filter(|c| c.dataset.is_checkpoint()) {
                if (self.search.newer_in_prefix(self.run, &candidate.dataset)?).is_some() {
                    outdated.insert(candidate.slot());
                }
            }
        }
        self.remaining_but(&outdated)
    }

    /// Rank 0: the same; no restart can use the `outdated` ones. Local.
    pub fn remaining_but(&mut self, outdated: &BTreeSet<Slot>) -> Result<NextStep> {
        let run = self.run;
        let offered = self.search.offered.as_ref().map(|files| files.dataset.id);
        let candidates = self.search.cached.iter().chain(&self.search.failed_for_now);
        // An id may be there twice, in two stores or from two times; the newer one counts.
        let mut ids: BTreeSet<u64> = offered.into_iter().collect();
        let (mut remaining, mut unusable) = (Vec::new(), self.cached.unusable.clone());
        for candidate in candidates.rev() {
            let usable = candidate.recoverable(run.comm.size()).is_ok()
                && !outdated.contains(&candidate.slot());
            if !usable || !ids.insert(candidate.dataset.id) {
                unusable.push(candidate.slot());
                continue;
            }
            // Lost parts are rebuilt only when the dataset is needed.
            remaining.push(Remaining {
                store: candidate.store,
                dataset: candidate.dataset.clone(),
                known: self.known(candidate, false)?,
            });
        }
        Ok(NextStep {
            rejected: std::mem::take(&mut self.search.rejected),
            remaining,
            unusable,
            ..NextStep::default()
        })
    }

    /// Rank 0: how many failure groups may be lost without losing a dataset, on the nodes of this
    /// run: once it is `recovered`, or else as it is. That may be fewer than its scheme tolerates, if
    /// ranks of a set are on one node now. Local.
    fn tolerates(&self, candidate: &Candidate, recovered: bool) -> usize {
        let store = candidate.store;
        let descriptor = self.run.descriptors.stores.get(store);
        if descriptor.is_some_and(StoreDescriptor::outlives_nodes) {
            return EVERYTHING;
        }
        let domains = self.search.domains.get(store);
        let domains = domains.map_or(&[][..], Vec::as_slice);
        let (now, meant) = candidate.tolerates(domains, recovered);
        if now < meant && recovered {
            let text = format!(
                "cached {}: ranks that protect each other are on one node now, so you survive the \
                 loss of any {now} {}, not of {}; the next checkpoint is protected for the nodes of this run",
                title(&candidate.dataset),
                plural(now, "node"),
                now + 1
            );
            self.run.tell_once(Severity::Note, text);
        }
        now
    }

    /// Rank 0: what the other ranks must know of a dataset: once it is `recovered`, or else as it is.
    /// Local.
    fn known(&self, candidate: &Candidate, recovered: bool) -> Result<Known> {
        let dataset = &candidate.dataset;
        let index = index::read(&*self.run.files, &self.run.prefix)?;
        let found = self.search.find_in_prefix(&index, dataset);
        let key = (dataset.id, dataset.created);
        Ok(Known {
            tolerates: self.tolerates(candidate, recovered),
            prefix: match found {
                InPrefix::Complete => PrefixState::Saved,
                InPrefix::Dropped => PrefixState::Dropped,
                InPrefix::Superseded => PrefixState::Superseded,
                InPrefix::Absent if self.search.interrupted.contains(&key) => {
                    PrefixState::FlushFailed
                }
                InPrefix::Absent => PrefixState::Absent,
            },
        })
    }

    /// Rank 0: what becomes of cached output that is no checkpoint. What the prefix directory must get
    /// stays among the candidates, and is flushed after the search; what it has is deleted. Local.
    fn judge_outputs(&mut self) -> Result<()> {
        let is_output = |c: &Candidate| c.dataset.flag_output && !c.dataset.is_checkpoint();
        if !self.search.cached.iter().any(is_output) {
            return Ok(());
        }
        let index = index::read(&*self.run.files, &self.run.prefix)?;
        let (mut saved, mut lost) = (Vec::new(), Vec::new());
        for candidate in std::mem::take(&mut self.search.cached) {
            let slot = candidate.slot();
            let found = self.search.find_in_prefix(&index, &candidate.dataset);
            let why = match found {
                _ if !is_output(&candidate) => Ok(()),
                InPrefix::Complete | InPrefix::Dropped => {
                    saved.push(slot);
                    continue;
                }
                InPrefix::Absent => candidate
                    .recoverable(self.run.comm.size())
                    .map_err(|why| match candidate.ranks == self.run.comm.size() {
                        true => why,
                        false => format!("{why}; run with that many, or save it by scr scavenge"),
                    }),
                InPrefix::Superseded => Err(
                    "the index has another dataset of its id, or a newer one of its name; it stays \
                     in the cache until room is needed"
                        .to_string(),
                ),
            };
            let Err(why) = why else {
                self.search.cached.push(candidate);
                continue;
            };
            let text = format!(
                "cached {} is not in the prefix directory, and cannot be flushed: {why} ({OUTPUT_LOST})",
                title(&candidate.dataset)
            );
            self.run.tell_once(Severity::Warning, text);
            match found {
                InPrefix::Superseded => self.cached.unusable.push(slot),
                _ => lost.push((slot, candidate)),
            }
        }
        for slot in saved {
            let unusable = self.cached.unusable.iter();
            let candidates = self.search.cached.iter().map(Candidate::slot);
            let mut others = candidates
                .chain(unusable.copied())
                .chain(lost.iter().map(|l| l.0));
            if others.all(|other| other != slot) {
                self.search.rejected.discard.push(slot);
            }
        }
        for (slot, candidate) in lost {
            self.reject(slot, &candidate);
        }
        Ok(())
    }

    /// Rank 0: a candidate that cannot be recovered. If another number of ranks wrote it, a later run
    /// may be able to use it: it stays until room is needed. Local.
    fn reject(&mut self, slot: Slot, candidate: &Candidate) {
        if candidate.ranks != self.run.comm.size() {
            self.cached.unusable.push(slot);
        } else {
            self.discard_or_quarantine(slot, &candidate.dataset);
        }
    }

    /// Rank 0: a dataset that was complete once is quarantined, any other is discarded. Local.
    pub fn discard_or_quarantine(&mut self, slot: Slot, dataset: &Dataset) {
        // A directory may hold records of several times; the last of them that is tried decides.
        let search = &mut self.search;
        let mut pending = search.cached.iter().chain(&search.failed_for_now);
        if pending.any(|c| c.slot() == slot) || self.cached.unusable.contains(&slot) {
            return;
        }
        if search.completed.contains(&(dataset.id, dataset.created)) {
            search.rejected.quarantine.push(slot);
            self.cached.unusable.push(slot);
        } else {
            search.rejected.discard.push(slot);
        }
    }
}

/// Rank 0: a complete checkpoint that another number of ranks wrote.
fn needs_other_ranks(candidate: &Candidate, size: usize) -> Unavailable {
    let ranks = candidate.ranks;
    let why = format!(
        "{}, and is in the cache; run with {ranks} ranks, or, if the program can read files of any \
         rank, with SCR_FETCH_BYPASS=1; or give it up: SCR_START_ANEW=1 to go on without checkpoints of other numbers of ranks, or SCR_CACHE_PURGE=1",
        wrong_ranks(ranks as u64, size)
    );
    Unavailable {
        of_other_ranks: true,
        ..Unavailable::new(&candidate.dataset, false, why)
    }
}

/// Why a cached dataset that may be good is not used, and what the user can do.
pub(in crate::session) fn cannot_be_used_now(why: &str) -> String {
    format!(
        "is in the cache and may be good, but cannot be used now: {why}; start again when that is \
         mended, or give it up with SCR_CACHE_PURGE=1"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::plan::Inventory;
    use crate::format::{flush_file, from_message};
    use crate::session::datasets::cached::{CachedDatasets, note};
    use crate::session::datasets::other_ranks::OtherRanks;
    use crate::session::datasets::search::RestartSearch;
    use crate::session::ids::Ids;
    use crate::session::run::Run;
    use crate::session::statistics::Statistics;
    use crate::session::testing::{checkpoint, found, joined, recovered, run_in};

    /// Rank 0's state after it has classified an inventory.
    struct Root {
        run: Run,
        cached: CachedDatasets,
        search: RestartSearch,
        ids: Ids,
        other_ranks: OtherRanks,
        statistics: Statistics,
    }

    impl Root {
        fn new(run: Run, inventory: Inventory) -> Self {
            let mut search = RestartSearch::default();
            search.leaders = vec![vec![0]; run.stores.len()];
            search.domains = vec![vec![0]; run.stores.len()];
            let mut cached = CachedDatasets::default();
            search.classify(&run, &mut cached, &[(0, inventory)]);
            Root {
                run,
                cached,
                search,
                ids: Ids::default(),
                other_ranks: OtherRanks::default(),
                statistics: Statistics::new(),
            }
        }

        /// The step after which rank 0 tells to the only rank.
        fn next(&mut self) -> NextStep {
            let mut restart = Restart {
                run: &self.run,
                cached: &mut self.cached,
                search: &mut self.search,
                ids: &mut self.ids,
                other_ranks: &mut self.other_ranks,
                statistics: &mut self.statistics,
            };
            from_message(&restart.choose_candidate().unwrap()[0]).unwrap()
        }
    }

    fn was_complete(run: &Run, ids: &[u64]) {
        for id in ids {
            let entry = flush_file::FlushEntry::cached(checkpoint(*id));
            note(run, |record| {
                record.datasets.insert(*id, entry);
            });
        }
    }

    fn slot(id: u64) -> Slot {
        Slot { store: 0, id }
    }

    fn tried(step: &NextStep) -> Option<u64> {
        step.order.as_ref().map(|order| order.dataset.id)
    }

    #[test]
    fn the_newest_is_tried_first_and_the_rest_remains() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_in(&dir, &[]);
        let mut root = Root::new(run, joined(vec![found(1, 1), found(2, 1)]));
        assert_eq!(tried(&root.next()), Some(2));
        assert_eq!(tried(&root.next()), Some(1));
        let last = root.next();
        assert!(last.order.is_none() && last.unavailable.is_none() && last.unusable.is_empty());

        let (run, _) = run_in(&dir, &[]);
        let mut root = Root::new(run, joined(vec![found(1, 1), found(2, 1)]));
        root.next();
        root.search.offered = recovered(2).restart_files(&root.run);
        let mut restart = Restart {
            run: &root.run,
            cached: &mut root.cached,
            search: &mut root.search,
            ids: &mut root.ids,
            other_ranks: &mut root.other_ranks,
            statistics: &mut root.statistics,
        };
        let remaining = restart.remaining().unwrap().remaining;
        let ids: Vec<u64> = remaining.iter().map(|one| one.dataset.id).collect();
        assert_eq!(ids, [1]);
    }

    #[test]
    fn a_directory_without_records_is_deleted_unless_it_was_complete_once() {
        let dir = tempfile::tempdir().unwrap();
        let (run, messages) = run_in(&dir, &[]);
        was_complete(&run, &[4]);
        let inventory = Inventory {
            present: vec![slot(4), slot(5)],
            ..Inventory::default()
        };
        let step = Root::new(run, inventory).next();
        assert_eq!(step.rejected.quarantine, [slot(4)]);
        assert_eq!(step.rejected.discard, [slot(5)]);
        assert_eq!(step.unusable, [slot(4)]);
        let lines = messages.lines();
        let is_named = |text: &str| lines.iter().any(|line| line.contains(text));
        assert!(is_named("dataset 5 was being written"), "{lines:?}");
        assert!(
            is_named("cached dataset 4 (ck.4) cannot be used"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_record_that_cannot_be_read_keeps_older_datasets_from_being_offered() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_in(&dir, &[]);
        was_complete(&run, &[2]);
        let unread = Inventory {
            unread: vec![slot(2)],
            present: vec![slot(2)],
            ..Inventory::default()
        };
        let step = Root::new(run, joined(vec![found(1, 1), unread])).next();
        let unavailable = step.unavailable.unwrap();
        assert_eq!((unavailable.id, unavailable.created), (2, Some(2)));
        assert!(step.order.is_none());
        assert_eq!(step.unusable, [slot(2)], "it stays");
    }

    #[test]
    fn a_checkpoint_of_other_ranks_stops_the_search_unless_the_user_starts_anew() {
        let dir = tempfile::tempdir().unwrap();
        let both = || joined(vec![found(1, 1), found(2, 3)]);
        let (run, _) = run_in(&dir, &[]);
        let step = Root::new(run, both()).next();
        let why = step.unavailable.unwrap().why;
        assert!(why.contains("written by 3 ranks, this run has 1"), "{why}");
        let (run, _) = run_in(&dir, &[("SCR_START_ANEW", "1")]);
        let mut root = Root::new(run, both());
        assert_eq!(tried(&root.next()), Some(1));
        assert_eq!(root.cached.unusable, [slot(2)]);
    }

    #[test]
    fn a_lost_part_without_redundancy_quarantines_what_was_complete() {
        let dir = tempfile::tempdir().unwrap();
        for completed in [true, false] {
            let (run, _) = run_in(&dir, &[("SCR_CACHE_PURGE", "0")]);
            let mut inventory = found(3, 1);
            inventory.records[0].rank = 1;
            inventory.records[0].reddesc.members = vec![1];
            // A record of rank 1 of 1 is not possible, so rank 0 is lost.
            if completed {
                was_complete(&run, &[3]);
            } else {
                note(&run, |record| record.datasets.clear());
            }
            let step = Root::new(run, inventory).next();
            let (kept, deleted) = (step.rejected.quarantine, step.rejected.discard);
            match completed {
                true => assert_eq!((kept, deleted), (vec![slot(3)], vec![])),
                false => assert_eq!((kept, deleted), (vec![], vec![slot(3)])),
            }
        }
    }
}
