//! Recovery of checkpoints from the cache, newest first, until one is complete. Rank 0 decides, all
//! ranks carry out its orders.

use crate::Result;
use crate::cache::layout::Layout;
use crate::cache::plan::{Inventory, RecoveryOrder, Slot};
use crate::cache::recover::{self, CacheAccess, Recovered, RecoveryFailure};
use crate::cache::{dataset, inventory};
use crate::comm::{Agreement, Term, gather_alike};
use crate::events::{Event, Severity};
use crate::messages::{NOT_RECOVERED, NOT_VERIFIED};
use crate::policy::flush as policy;
use crate::session::calls::CallSigns;
use crate::session::datasets::cached::{CachedDataset, OwnPart, title};
use crate::session::datasets::deletion::Trash;
use crate::session::datasets::search::Restart;
use crate::session::datasets::space::share_size;
use crate::session::datasets::survey::{PassedOver, Rejected, Survey};
use crate::session::datasets::unavailable::{Cause, Unavailable};
use crate::session::restart::leader_report;
use crate::session::restart::make_room::Needs;
use crate::session::restart::recovery_plan::{Planner, cannot_be_used_now};
use crate::session::restart::step::{Messages, RecoveryStep, Rest, Step};
use crate::session::run::Store;
use crate::session::stores::{confirm_in_nodes, difference_in_nodes};
use crate::system::time::Instant;
use crate::text::counted;

impl Restart<'_> {
    /// Looks through the stores that were `locked`, and recovers and offers the newest complete checkpoint.
    /// Gives its id. Collective.
    pub fn search_stores(&mut self, locked: Result<()>) -> Result<Option<u64>> {
        let run = self.run;
        let led = run.stores.iter().enumerate().filter(|(_, s)| s.leader);
        let led: Vec<(usize, &Layout)> = led.map(|(at, store)| (at, &store.layout)).collect();
        let found = locked.and_then(|()| inventory::read(&*run.files, &run.own_prefix, &led));
        let any = found
            .as_ref()
            .is_ok_and(|found| *found != Inventory::default());
        let report = found.and_then(|mut found| {
            let notes = std::mem::take(&mut found.notes);
            Ok((notes, leader_report::parts(run, found)?))
        });
        let terms = [Term::Max(any.into()), Term::Sum(difference_in_nodes(run))];
        let Agreement { verdict, terms } = run.agree_with(report, terms)?;
        let [any, difference] = terms;
        if difference.get() != 0 {
            // A failed verdict may follow from processes of a node that do not share its storage.
            confirm_in_nodes(run)?;
        }
        let (notes, parts) = verdict?;
        for note in &notes {
            run.tell(Severity::Warning, note.to_string());
        }
        if !any.on_any() {
            if let Some(survey) = self.search.survey.get_mut() {
                survey.classify(run, &[]);
            }
            return Ok(None);
        }
        let gathered = gather_alike(&*run.comm, parts)?;
        if let Some((parts, survey)) = gathered.zip(self.search.survey.get_mut()) {
            let inventories = leader_report::read(run, parts, survey);
            survey.classify(run, &inventories);
        }
        let begun = Instant::now();
        let found = self.try_candidates();
        self.search.tell_passed_over(run);
        let survey = self.search.survey.get();
        match (&found, self.search.offer.files()) {
            (Ok(Some(_)), Some(offered)) => run.log(Event::RestartSuccess, |record| {
                record.of(&offered.dataset).since(begun)
            }),
            (Ok(None), _) if survey.is_some_and(Survey::has_rebuilt) => {
                run.log(Event::RestartFail, |record| record.since(begun));
            }
            _ => {}
        }
        found
    }

    /// Recovers and offers the newest cached checkpoint that was not tried yet. Gives its id. Collective.
    pub fn search_cache(&mut self) -> Result<Option<u64>> {
        let found = self.try_candidates();
        self.cached.deletion().start_postponed(self.run);
        found
    }

    fn try_candidates(&mut self) -> Result<Option<u64>> {
        loop {
            let ready = match self.next_step(|planner| planner.choose_candidate())? {
                Step::Recover(found, order) => {
                    let recovered = self.carry_out(*found, &order)?;
                    let cached = recovered.and_then(|id| self.cached.get(id));
                    // Output that is no checkpoint is recovered only for its flush.
                    cached
                        .filter(|c| c.dataset.is_checkpoint())
                        .map(|c| c.dataset.id)
                }
                Step::UseOtherRanks(found) => self.use_other_ranks(&found)?,
                Step::End(rest) => {
                    self.add_rest(rest);
                    return Ok(None);
                }
            };
            if let Some(id) = ready {
                self.offer(id);
                self.share_rest()?;
                return Ok(Some(id));
            }
        }
    }

    /// Offers a checkpoint that is ready. The same on all ranks.
    pub fn offer(&mut self, id: u64) {
        let checkpoint = self.cached.get(id);
        let files = checkpoint.and_then(|cached| cached.restart_files(self.run));
        self.search.offer.set(files);
    }

    /// Recovers one cached dataset, other than the offered one. True if it is complete now.
    /// Collective, with the same slot on all ranks.
    pub fn bring_back(&mut self, slot: Slot) -> Result<bool> {
        let step = self.next_step(|planner| planner.orders_for(slot))?;
        let complete = match step {
            Step::Recover(found, order) => self.carry_out(*found, &order)?.is_some(),
            Step::UseOtherRanks(_) | Step::End(_) => false,
        };
        self.search.tell_passed_over(self.run);
        if !complete {
            self.cached.forget_unrecovered(slot);
            self.share_rest()?;
        }
        self.cached.deletion().start_postponed(self.run);
        self.cached.sort();
        Ok(complete)
    }

    /// Recovers the newest checkpoint in the cache that no newer one makes superfluous, if it is due at
    /// the end and was not needed earlier. Collective; without a round if nothing is to be recovered.
    pub fn bring_back_due(&mut self) -> Result<()> {
        let run = self.run;
        let wanted = |c: &&CachedDataset| c.dataset.is_checkpoint() && !c.prefix.is_given_up();
        let mut newest: Vec<CachedDataset> = self.cached.iter().filter(wanted).cloned().collect();
        newest.sort_unstable_by_key(|c| std::cmp::Reverse(c.dataset.id));
        for cached in newest {
            let due = policy::due_at_end(cached.prefix.has_files(), run.settings.flush);
            if !due || cached.is_whole() {
                break;
            }
            let newer = self.search.survey.as_ref().map(|survey| {
                let newer = survey.newer_in_prefix(run, &cached.dataset)?;
                Ok(newer.is_some())
            });
            if run.share(newer)? || self.bring_back(cached.slot())? {
                break;
            }
        }
        Ok(())
    }

    /// Sends the steps that rank 0 makes to the ranks, and removes the datasets that they reject.
    /// Collective.
    fn next_step(&mut self, make: impl FnOnce(&mut Planner) -> Result<Messages>) -> Result<Step> {
        let run = self.run;
        let made = self.planner().map(|mut planner| make(&mut planner));
        let message = made.scatter(&*run.comm, run.node())?;
        let next = RecoveryStep::read(&message, run.rank())?;
        self.remove_rejected(&next.rejected);
        Ok(next.step())
    }

    /// Tells all ranks which datasets remain in the cache, so that all know which one is evicted
    /// first. Collective.
    fn share_rest(&mut self) -> Result<()> {
        let run = self.run;
        let last = self.planner().map(|mut planner| planner.last_step());
        let last = run.share(last)?;
        self.remove_rejected(&last.rejected);
        self.add_rest(last.rest);
        Ok(())
    }

    /// Leaders: deletes or quarantines rejected directories. A dataset that cannot be moved is
    /// reported and stays: no restart uses it, so the run goes on. Local.
    fn remove_rejected(&mut self, rejected: &Rejected) {
        let run = self.run;
        for slot in &rejected.discard {
            if let Some(Store { layout, .. }) = run.led_store(slot.store) {
                run.tell_not_removed(dataset::discard(&*run.files, layout, slot.id));
                let trash = Trash::new(layout, slot.id);
                self.cached.deletion().postpone(trash);
            }
        }
        for slot in &rejected.quarantine {
            run.log_slot(Event::Quarantine, slot, None);
            let Some(Store { layout, .. }) = run.led_store(slot.store) else {
                continue;
            };
            match dataset::quarantine(&*run.files, layout, slot.id) {
                Ok(true) => {
                    let text = format!(
                        "dataset {} is kept in {} until room is needed",
                        slot.id,
                        layout.quarantine(slot.id).display()
                    );
                    run.tell(Severity::Debug(1), text);
                }
                other => run.tell_not_removed(other.map(drop)),
            }
        }
    }

    /// Adds the datasets that were not recovered to the cache. The same on all ranks.
    fn add_rest(&mut self, rest: Rest) {
        if let Some(unavailable) = rest.unavailable {
            self.search.offer.cannot_use(unavailable);
        }
        for one in &rest.remaining {
            self.ids.know(one.dataset.id, one.dataset.ckpt);
        }
        for slot in &rest.unusable {
            self.ids.know(slot.id, None);
        }
        self.cached.add_rest(rest.remaining, rest.unusable);
        if let Some(survey) = self.search.survey.get_mut() {
            survey.unusable_are_known();
        }
    }

    /// Recovers one dataset by rank 0's order. Gives its id if it is complete now. Collective.
    fn carry_out(&mut self, found: CachedDataset, order: &RecoveryOrder) -> Result<Option<u64>> {
        let begun = Instant::now();
        let run = self.run;
        let Some(store) = run.stores.get(found.location.store()) else {
            return Ok(None);
        };
        // Files that are not lost stay at their level; lost files are rebuilt at this rank's level.
        let layout = match order.source {
            Some(_) => store.layout.at(order.level),
            None => store.layout.clone(),
        };
        let named = title(&found.dataset);
        run.log_dataset(Event::RebuildStart, &found.dataset);
        if let Some(survey) = self.search.survey.get_mut() {
            survey.count_rebuild();
        }
        run.tell_once(Severity::Debug(2), format!("cached {named} is recovered"));
        let result = self.carry_out_with_room(&layout, &found, order)?;
        let damage = match &result {
            Ok(Recovered { damage, .. }) | Err(RecoveryFailure { damage, .. }) => damage,
        };
        for error in damage {
            run.tell(Severity::Warning, format!("cached {named}: {error}"));
        }
        match result {
            Ok(recovered) => {
                let how = how_recovered(&recovered);
                run.log(Event::RebuildSuccess, |record| {
                    record.of(&found.dataset).note(&how).since(begun)
                });
                run.tell_timed(format!("{named} is ready in the cache, {how}"), begun);
                if recovered.unverified > 0 {
                    run.tell_once(Severity::Warning, unverified(&named, recovered.unverified));
                }
                self.statistics.count_recovered(&found.dataset, begun);
                let ready = self.add_recovered(found, order, recovered, &layout)?;
                Ok(Some(ready))
            }
            Err(failed) => {
                run.log(Event::RebuildFail, |record| {
                    let record = record.of(&found.dataset).note(failed.error.to_string());
                    record.since(begun)
                });
                self.recovery_failed(&found, &failed);
                Ok(None)
            }
        }
    }

    /// Recovers one dataset in its store. While the store is full, the dataset that a restart needs least
    /// makes room. Collective; the inner result is the same on all ranks.
    fn carry_out_with_room(
        &mut self,
        layout: &Layout,
        found: &CachedDataset,
        order: &RecoveryOrder,
    ) -> Result<std::result::Result<Recovered, RecoveryFailure>> {
        let run = self.run;
        let signs = CallSigns::new(run);
        let access = CacheAccess {
            dataset: &found.dataset,
            comm: &*run.comm,
            files: &*run.files,
            layout,
            node: run.node(),
            prefix: &run.own_prefix,
            piece: run.settings.mpi_buf_size,
            watch: &signs,
        };
        let needs = Needs {
            dataset: &found.dataset,
            store: found.location.store(),
            verified: false,
        };
        loop {
            match recover::recover_dataset(&access, order)? {
                Err(failed) if failed.full && self.make_room(needs)? => {}
                result => return Ok(result),
            }
        }
    }

    /// A dataset could not be recovered. If a later attempt may succeed, no older one is offered.
    /// Local; the facts that all ranks have stay equal on all.
    fn recovery_failed(&mut self, found: &CachedDataset, failed: &RecoveryFailure) {
        let dataset = &found.dataset;
        let named = title(dataset);
        let run = self.run;
        let saved = self
            .search
            .survey
            .get()
            .is_some_and(|survey| survey.is_saved(run, dataset));
        if saved && failed.beyond_repair {
            let text = format!(
                "cached {named} cannot be brought back, and is sought in the prefix directory: {} \
                 ({NOT_RECOVERED})",
                failed.error
            );
            run.tell_once(Severity::Warning, text);
        } else {
            let text = format!(
                "cached {named} cannot be brought back: {} ({NOT_RECOVERED})",
                failed.error
            );
            self.search.pass_over(PassedOver {
                severity: Severity::Error,
                named,
                text,
            });
        }
        if let Some(mut planner) = self.planner().take() {
            if failed.beyond_repair {
                planner.discard_or_quarantine(found.slot(), dataset)
            } else {
                planner.survey.put_off()
            }
        }
        if !failed.beyond_repair && dataset.is_checkpoint() {
            let why = cannot_be_used_now(&failed.error.to_string());
            let unavailable = Unavailable::new(dataset, Cause::InCache, why);
            self.search.offer.cannot_use(unavailable);
        }
    }

    /// Adds a recovered dataset to the cache, and gives its id. Removes the remains of earlier killed restarts
    /// from the directory of the store. Collective, without a round.
    fn add_recovered(
        &mut self,
        found: CachedDataset,
        order: &RecoveryOrder,
        recovered: Recovered,
        layout: &Layout,
    ) -> Result<u64> {
        let run = self.run;
        let Slot { store, id } = found.slot();
        self.cached.note_verified(id, recovered.verified);
        let filemap = recovered.filemap;
        let dataset = filemap.dataset.clone();
        let size = share_size(run, store, layout.level(), &filemap)?;
        // The next dataset by the same descriptor will be about as large.
        let next = run.descriptor_of(&dataset).filter(|s| s.store == store);
        if let Some(scheme) = next.map(|scheme| scheme.index) {
            self.cached.remember_size(scheme, size);
        }
        self.ids.know(dataset.id, dataset.ckpt);
        let cached = CachedDataset {
            dataset,
            own: Some(OwnPart {
                filemap,
                level: layout.level(),
                bytes: size.map(|size| size.all),
            }),
            ..found
        };
        self.cached.insert(cached);
        let mut trash = !order.sends.is_empty();
        if run.led_store(store).is_some() {
            let strays = dataset::discard_stray_files(&*run.files, layout, id);
            trash |= strays.as_ref().is_ok_and(|any| *any);
            run.tell_not_removed(strays.map(drop));
        }
        if trash {
            self.cached.deletion().postpone(Trash::new(layout, id));
        }
        Ok(id)
    }
}

/// The warning that files of some ranks have no checksums.
fn unverified(named: &str, ranks: usize) -> String {
    format!(
        "cached {named} is not verified: the last run ended before the checksums of {} were taken, so only \
         the sizes of these files were compared, and damage of their content goes unnoticed; \
         SCR_COPY_TYPE=XOR takes checksums before a dataset counts ({NOT_VERIFIED})",
        counted(ranks, "rank")
    )
}

/// The way in which a dataset was recovered, in words.
fn how_recovered(recovered: &Recovered) -> String {
    let scheme = &recovered.filemap.reddesc.scheme;
    let verified = match recovered.unverified {
        0 => "all files verified",
        _ => "not verified",
    };
    match (recovered.restored, recovered.encoded) {
        (0, 0) => verified.to_string(),
        (0, _) => format!("{verified}, {scheme} redundancy made again"),
        (n, _) => format!("files of {} rebuilt with {scheme}", counted(n, "rank")),
    }
}
