//! Rank 0 decides which cached checkpoint is recovered next, what each rank does for it, and what
//! happens to the other cached datasets.

use crate::Result;
use crate::cache::plan::{Candidate, Slot};
use crate::comm::AtRoot;
use crate::config::descriptors::StoreDescriptor;
use crate::events::Severity;
use crate::format::{Dataset, Name};
use crate::messages::{LOST_FILES, OUTPUT_LOST};
use crate::prefix::index;
use crate::redundancy::EVERYTHING;
use crate::session::datasets::cached::{CachedDataset, CachedDatasets, title};
use crate::session::datasets::location::{Location, Writers};
use crate::session::datasets::other_ranks::{OtherRanks, wrong_ranks};
use crate::session::datasets::search::{Offer, Restart, RestartSearch};
use crate::session::datasets::survey::{InPrefix, PassedOver, Survey};
use crate::session::datasets::unavailable::{Cause, Unavailable};
use crate::session::restart::step::{Messages, RecoveryStep, Rest};
use crate::session::run::Run;
use crate::text::{plural, ranks_in_words};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The decision about a candidate.
enum Fate {
    /// Nobody has asked for it in the prefix directory, and no restart needs it.
    Superfluous,
    /// The candidate cannot be used, for this reason; older ones may be.
    Unusable(String),
    /// The candidate is used as a checkpoint of another number of ranks.
    OfOtherRanks,
    /// The candidate can be recovered, according to the records.
    Recoverable,
}

/// The reason why no part of a store is used that another run has on some nodes.
const HELD_BY_OTHERS: &str =
    "another run has the cache of this job on some nodes (SCR_DEBUG=1 names them)";

/// True for output that is no checkpoint.
fn is_output(candidate: &Candidate) -> bool {
    candidate.dataset.flag_output && !candidate.dataset.is_checkpoint()
}

/// Rank 0's part in a search: its findings, and the parts of the run that it may look at.
pub(in crate::session) struct Planner<'a> {
    pub run: &'a Run,
    pub survey: &'a mut Survey,
    pub offer: &'a Offer,
    pub cached: &'a CachedDatasets,
    pub other_ranks: &'a OtherRanks,
}

impl Restart<'_> {
    /// Rank 0's part.
    pub fn planner(&mut self) -> AtRoot<Planner<'_>> {
        let RestartSearch { offer, survey } = &mut *self.search;
        survey.as_mut().map(|survey| Planner {
            run: self.run,
            survey,
            offer,
            cached: self.cached,
            other_ranks: self.other_ranks,
        })
    }
}

impl Planner<'_> {
    /// The orders for the newest candidate that may be complete, or the last step. Local.
    pub fn choose_candidate(&mut self) -> Result<Messages> {
        self.survey.set_tried(None);
        self.sort_outputs()?;
        let mut unavailable = None;
        while let Some(newest) = self.survey.cached().iter().rfind(|c| !is_output(c)) {
            let fate = match self.fate_of(newest)? {
                ControlFlow::Continue(fate) => fate,
                ControlFlow::Break(why) => {
                    unavailable = why;
                    break;
                }
            };
            let Some(candidate) = self.survey.take_newest(|c| !is_output(c)) else {
                break;
            };
            let slot = candidate.slot();
            match fate {
                Fate::Superfluous => self.survey.discard(slot),
                Fate::Unusable(reason) => {
                    let named = title(&candidate.dataset);
                    if self.survey.is_saved(self.run, &candidate.dataset) {
                        let text = format!(
                            "{named} is sought in the prefix directory, since its copy in the cache cannot be used: {reason}"
                        );
                        self.run.tell_once(Severity::Note, text);
                    } else {
                        let text = format!("cached {named} cannot be used: {reason}");
                        let severity = Severity::Warning;
                        let passed = PassedOver {
                            severity,
                            named,
                            text,
                        };
                        self.survey.pass_over(passed);
                    }
                    self.reject(slot, &candidate);
                }
                Fate::OfOtherRanks => return self.orders_of_other_ranks(candidate),
                Fate::Recoverable => {
                    if let Some(orders) = self.orders(&candidate) {
                        self.survey.set_tried(Some(candidate));
                        return orders;
                    }
                }
            }
        }
        let unavailable = unavailable.or_else(|| self.unread_after(&Dataset::default()));
        let mut last = self.last_step()?;
        last.rest.unavailable = unavailable;
        last.for_all(self.run.comm.size())
    }

    /// Decides about the newest candidate. The search ends before it if neither it nor an older one is used: a newer
    /// checkpoint comes first, or is unavailable. Local.
    fn fate_of(&self, candidate: &Candidate) -> Result<ControlFlow<Option<Unavailable>, Fate>> {
        let (run, dataset) = (self.run, &candidate.dataset);
        let size = run.comm.size();
        if !dataset.is_checkpoint() {
            return Ok(ControlFlow::Continue(Fate::Superfluous));
        }
        let of_other_ranks = self.writers(candidate).are_others()
            && candidate.is_whole()
            && !run.settings.start_anew;
        // A dataset that seems to be lost may be on a node whose store another run has.
        let held = self.survey.leaders().is_held_by_others(candidate.store);
        if let Err(reason) = candidate.recoverable(size)
            && !of_other_ranks
            && !held
        {
            return Ok(ControlFlow::Continue(Fate::Unusable(reason)));
        }
        if self.offer.chosen() != Some(dataset.id)
            && let Some(newer) = self.survey.newer_in_prefix(run, dataset)?
        {
            let (named, newer) = (title(dataset), title(&newer));
            let text = format!("cached {named} is older than {newer} in the prefix directory");
            run.tell_once(Severity::Note, text);
            return Ok(ControlFlow::Break(None));
        }
        let unavailable = if held {
            Some(Unavailable::new(
                dataset,
                Cause::InCache,
                cannot_be_used_now(HELD_BY_OTHERS),
            ))
        } else if of_other_ranks && !self.other_ranks.allowed {
            Some(needs_other_ranks(candidate, size))
        } else {
            self.unread_after(dataset)
        };
        Ok(match of_other_ranks {
            _ if unavailable.is_some() || !self.offer.allows(dataset) => {
                ControlFlow::Break(unavailable)
            }
            true => ControlFlow::Continue(Fate::OfOtherRanks),
            false => ControlFlow::Continue(Fate::Recoverable),
        })
    }

    pub fn writers(&self, candidate: &Candidate) -> Writers {
        Writers::new(self.run, candidate.ranks as u64)
    }

    /// The newest dataset after `dataset` with a record that cannot be read now. Local.
    fn unread_after(&self, dataset: &Dataset) -> Option<Unavailable> {
        let (id, created) = self.survey.newest_unread(dataset)?;
        Some(Unavailable {
            id,
            created,
            name: Name::default(),
            cause: Cause::InCache,
            why: cannot_be_used_now("a record of it cannot be read (see above)"),
        })
    }

    /// The messages with the orders for a candidate; `None` if it cannot be recovered.
    /// Local.
    fn orders(&mut self, candidate: &Candidate) -> Option<Result<Messages>> {
        if self.survey.leaders().is_held_by_others(candidate.store) {
            return None;
        }
        let leaders = self.survey.leaders().of(candidate.store)?;
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
        let found = match self.in_cache(candidate) {
            Ok(found) => found,
            Err(error) => return Some(Err(error)),
        };
        let mut step = RecoveryStep {
            rejected: self.survey.take_rejected(),
            cached: Some(CachedDataset {
                tolerates: self.tolerates(candidate, true),
                ..found
            }),
            ..RecoveryStep::default()
        };
        Some(step.with_orders(orders))
    }

    /// The messages for a dataset that was not tried yet; empty ones if it cannot be
    /// recovered. Local.
    pub fn orders_for(&mut self, slot: Slot) -> Result<Messages> {
        let candidate = self.survey.take_newest(|c| c.slot() == slot);
        let orders = candidate.as_ref().and_then(|one| self.orders(one));
        self.survey.set_tried(candidate);
        match orders {
            Some(orders) => orders,
            None => RecoveryStep::default().for_all(self.run.comm.size()),
        }
    }

    /// The message about the datasets that remain in the cache beside the offered checkpoint.
    /// Local.
    pub fn last_step(&mut self) -> Result<RecoveryStep> {
        // A dataset that is older than one in the prefix directory must not stay while newer ones are
        // evicted.
        let mut outdated = BTreeSet::new();
        if self.offer.files().is_none() {
            let candidates = self.survey.untried();
            for candidate in candidates.filter(|c| c.dataset.is_checkpoint()) {
                if (self.survey.newer_in_prefix(self.run, &candidate.dataset)?).is_some() {
                    outdated.insert(candidate.slot());
                }
            }
        }
        Ok(RecoveryStep {
            rest: self.rest(&outdated)?,
            rejected: self.survey.take_rejected(),
            ..RecoveryStep::default()
        })
    }

    /// The datasets that remain in the cache beside the offered checkpoint. No restart can use the
    /// `outdated` datasets. Local.
    pub fn rest(&self, outdated: &BTreeSet<Slot>) -> Result<Rest> {
        let run = self.run;
        let offered = self.offer.id();
        let candidates = self.survey.untried();
        // An id may be there twice, in two stores or from two times; the newer dataset counts.
        let mut ids: BTreeSet<u64> = offered.into_iter().collect();
        let (mut remaining, mut unusable) = (Vec::new(), self.unusable());
        for candidate in candidates.rev() {
            let usable = candidate.recoverable(run.comm.size()).is_ok()
                && !outdated.contains(&candidate.slot());
            if !usable || !ids.insert(candidate.dataset.id) {
                unusable.push(candidate.slot());
                continue;
            }
            // Lost parts are rebuilt only when the dataset is needed.
            remaining.push(CachedDataset {
                tolerates: self.tolerates(candidate, false),
                ..self.in_cache(candidate)?
            });
        }
        Ok(Rest {
            remaining,
            unusable,
            unavailable: None,
        })
    }

    /// Directories that no restart can use, also those that the other ranks do not know yet. Local.
    pub fn unusable(&self) -> Vec<Slot> {
        [self.cached.unusable(), self.survey.unusable()].concat()
    }

    /// Number of failure groups that may be lost without losing a dataset, on the nodes of this run:
    /// once the dataset is `recovered`, or else in its present state. The number may be lower than
    /// that of its scheme, if ranks of a set are on one node now. Local.
    fn tolerates(&self, candidate: &Candidate, recovered: bool) -> usize {
        let store = candidate.store;
        let descriptor = self.run.descriptors.stores.get(store);
        if descriptor.is_some_and(StoreDescriptor::outlives_nodes) {
            return EVERYTHING;
        }
        let domains = self.survey.leaders().domains(store);
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

    /// The dataset of a candidate, by its records and by the index: as one that tolerates no loss. Local.
    pub fn in_cache(&self, candidate: &Candidate) -> Result<CachedDataset> {
        let dataset = &candidate.dataset;
        let index = index::read(&*self.run.files, &self.run.prefix)?;
        Ok(CachedDataset {
            location: Location::Cache(candidate.store),
            dataset: dataset.clone(),
            prefix: self.survey.prefix_state(&index, dataset),
            ..CachedDataset::default()
        })
    }

    /// Decides about cached output that is no checkpoint. Output that the prefix directory lacks
    /// stays among the candidates, and is flushed after the search; other output is deleted. Local.
    fn sort_outputs(&mut self) -> Result<()> {
        if !self.survey.cached().iter().any(is_output) {
            return Ok(());
        }
        let index = index::read(&*self.run.files, &self.run.prefix)?;
        let (mut saved, mut lost) = (Vec::new(), Vec::new());
        for candidate in self.survey.take_cached() {
            let slot = candidate.slot();
            let found = self.survey.find_in_prefix(&index, &candidate.dataset);
            let why = match found {
                _ if !is_output(&candidate) => Ok(()),
                InPrefix::Complete | InPrefix::Dropped => {
                    saved.push(slot);
                    continue;
                }
                InPrefix::Absent if self.survey.leaders().is_held_by_others(candidate.store) => Ok(()),
                InPrefix::Absent => candidate
                    .recoverable(self.run.comm.size())
                    .map_err(|why| match self.writers(&candidate) {
                        Writers::AsManyAsNow => why,
                        Writers::Others(_) => format!("{why}; run with that many, or save it by scr scavenge"),
                    }),
                InPrefix::Superseded => Err(
                    "the index has another dataset of its id, or a newer one of its name; it stays \
                     in the cache until room is needed"
                        .to_string(),
                ),
            };
            let Err(why) = why else {
                self.survey.keep(candidate);
                continue;
            };
            let text = format!(
                "cached {} is not in the prefix directory, and cannot be flushed: {why} ({OUTPUT_LOST})",
                title(&candidate.dataset)
            );
            self.run.tell_once(Severity::Warning, text);
            match found {
                InPrefix::Superseded => self.survey.cannot_use(slot),
                _ => lost.push((slot, candidate)),
            }
        }
        for slot in saved {
            let candidates = self.survey.cached().iter().map(Candidate::slot);
            let mut others = candidates
                .chain(self.unusable())
                .chain(lost.iter().map(|l| l.0));
            if others.all(|other| other != slot) {
                self.survey.discard(slot);
            }
        }
        for (slot, candidate) in lost {
            self.reject(slot, &candidate);
        }
        Ok(())
    }

    /// A candidate that cannot be recovered. If another number of ranks wrote it, a later run
    /// may be able to use it: it stays until room is needed. Local.
    fn reject(&mut self, slot: Slot, candidate: &Candidate) {
        match self.writers(candidate) {
            Writers::Others(_) => self.survey.cannot_use(slot),
            Writers::AsManyAsNow => self.discard_or_quarantine(slot, &candidate.dataset),
        }
    }

    /// A dataset that was complete once is quarantined, any other is discarded. Local.
    pub fn discard_or_quarantine(&mut self, slot: Slot, dataset: &Dataset) {
        // A directory may hold records of several times; the last of them that is tried decides.
        let pending = self.survey.untried().any(|c| c.slot() == slot);
        if pending || self.unusable().contains(&slot) {
            return;
        }
        self.survey.discard_or_quarantine(slot, dataset);
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
    Unavailable::new(&candidate.dataset, Cause::OfOtherRanks, why)
}

/// The reason why a cached dataset that may be good is not used, and the remedy.
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
    use crate::comm::RankList;
    use crate::format::flush_file;
    use crate::session::datasets::cached::note;
    use crate::session::datasets::store_leaders::StoreLeaders;
    use crate::session::testing::{checkpoint, found, joined, recovered, run_in};

    /// Rank 0's state after it has classified an inventory.
    struct Root {
        run: Run,
        survey: Survey,
        offer: Offer,
    }

    impl Root {
        fn new(run: Run, inventory: Inventory) -> Self {
            let mut survey = Survey::default();
            let mut leaders = StoreLeaders::new(run.stores.len(), 1);
            for store in 0..run.stores.len() {
                leaders.enter(store, &RankList::one(0), 0, 0);
            }
            survey.set_leaders(leaders);
            survey.classify(&run, &[(0, inventory)]);
            let offer = Offer::default();
            Root { run, survey, offer }
        }

        /// The step that `plan` makes for the only rank.
        fn step<T>(&mut self, plan: impl FnOnce(&mut Planner) -> Result<T>) -> T {
            let mut planner = Planner {
                run: &self.run,
                survey: &mut self.survey,
                offer: &self.offer,
                cached: &CachedDatasets::default(),
                other_ranks: &OtherRanks::default(),
            };
            plan(&mut planner).unwrap()
        }

        /// The step after which rank 0 tells to the only rank.
        fn next(&mut self) -> RecoveryStep {
            let messages = self.step(|planner| planner.choose_candidate());
            RecoveryStep::read(&messages[0].1, 0).unwrap()
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

    fn tried(step: &RecoveryStep) -> Option<u64> {
        let (cached, order) = (step.cached.as_ref(), step.order.as_ref());
        cached.zip(order).map(|(cached, _)| cached.dataset.id)
    }

    #[test]
    fn the_newest_is_tried_first_and_the_rest_remains() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_in(&dir, &[]);
        let mut root = Root::new(run, joined(vec![found(1, 1), found(2, 1)]));
        assert_eq!(tried(&root.next()), Some(2));
        assert_eq!(tried(&root.next()), Some(1));
        let last = root.next();
        assert!(last.order.is_none());
        assert!(last.rest.unavailable.is_none() && last.rest.unusable.is_empty());

        let (run, _) = run_in(&dir, &[]);
        let mut root = Root::new(run, joined(vec![found(1, 1), found(2, 1)]));
        root.next();
        root.offer.set(recovered(2).restart_files(&root.run));
        let remaining = root.step(|planner| planner.last_step()).rest.remaining;
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
        assert_eq!(step.rest.unusable, [slot(4)]);
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
        let unavailable = step.rest.unavailable.unwrap();
        assert_eq!((unavailable.id, unavailable.created), (2, Some(2)));
        assert!(step.order.is_none());
        assert_eq!(step.rest.unusable, [slot(2)], "it stays");
    }

    #[test]
    fn a_checkpoint_of_other_ranks_stops_the_search_unless_the_user_starts_anew() {
        let dir = tempfile::tempdir().unwrap();
        let both = || joined(vec![found(1, 1), found(2, 3)]);
        let (run, _) = run_in(&dir, &[]);
        let step = Root::new(run, both()).next();
        let why = step.rest.unavailable.unwrap().why;
        assert!(why.contains("written by 3 ranks, this run has 1"), "{why}");
        let (run, _) = run_in(&dir, &[("SCR_START_ANEW", "1")]);
        let mut root = Root::new(run, both());
        assert_eq!(tried(&root.next()), Some(1));
        assert_eq!(root.survey.unusable(), [slot(2)]);
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
            if completed {
                assert_eq!((kept, deleted), (vec![slot(3)], vec![]))
            } else {
                assert_eq!((kept, deleted), (vec![], vec![slot(3)]))
            }
        }
    }
}
