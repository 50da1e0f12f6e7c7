//! The search for a checkpoint to restart from: the part that all ranks know, and the part that
//! only rank 0 has.

use crate::Result;
use crate::cache::plan::Slot;
use crate::comm::AtRoot;
use crate::format::{Dataset, Name};
use crate::session::datasets::cached::{CachedDataset, CachedDatasets};
use crate::session::datasets::other_ranks::OtherRanks;
use crate::session::datasets::restart_files::RestartFiles;
use crate::session::datasets::survey::{PassedOver, Survey};
use crate::session::datasets::unavailable::{Cause, Unavailable};
use crate::session::ids::Ids;
use crate::session::run::Run;
use crate::session::statistics::Statistics;

/// The parts of a session that the search for a restart uses and changes.
pub(in crate::session) struct Restart<'a> {
    pub run: &'a Run,
    pub cached: &'a mut CachedDatasets,
    pub search: &'a mut RestartSearch,
    pub ids: &'a mut Ids,
    pub other_ranks: &'a mut OtherRanks,
    pub statistics: &'a mut Statistics,
}

/// State of the search.
#[derive(Default)]
pub(in crate::session) struct RestartSearch {
    pub offer: Offer,
    pub survey: AtRoot<Survey>,
}

/// The checkpoint that is offered to the program, and those that must not be offered. The same on all ranks,
/// except for `files`.
#[derive(Default)]
pub(in crate::session) struct Offer {
    /// The checkpoint that `SCR_Have_restart` offers: this rank's files of it.
    files: Option<RestartFiles>,
    /// Checkpoints that may be whole but could not be used, each for its own time.
    unavailable: Vec<Unavailable>,
    /// Checkpoints that do not fit this program, in the order in which they were offered, each with what
    /// does not fit. They are good, and are not offered again in this run.
    unfit: Vec<(u64, String)>,
    /// The id that `SCR_Current` has named, until that checkpoint is offered. No other one is
    /// offered before it.
    chosen: Option<u64>,
}

impl Offer {
    /// This rank's files of the checkpoint that is offered.
    pub fn files(&self) -> Option<&RestartFiles> {
        self.files.as_ref()
    }

    /// Offers a checkpoint, or none.
    pub fn set(&mut self, files: Option<RestartFiles>) {
        self.files = files;
    }

    /// Offers none.
    pub fn withdraw(&mut self) {
        self.files = None;
    }

    /// Gives the files of the checkpoint that is offered, which is offered no longer.
    pub fn take(&mut self) -> Option<RestartFiles> {
        self.files.take()
    }

    /// The name of the checkpoint that is offered, for the program. With it the choice of the user is fulfilled.
    pub fn tell(&mut self) -> Option<Name> {
        let name = self.files.as_ref()?.dataset.name.clone();
        self.chosen = None;
        Some(name)
    }

    /// The program writes, so it has read what it wanted: the next search starts again.
    pub fn end(&mut self) {
        self.files = None;
        self.chosen = None;
    }

    /// Offers nothing before the checkpoint `id`, which `SCR_Current` has named.
    pub fn choose(&mut self, id: u64) {
        self.files = None;
        self.unavailable.clear();
        self.chosen = Some(id);
    }

    /// The id that `SCR_Current` has named, until that checkpoint is offered.
    pub fn chosen(&self) -> Option<u64> {
        self.chosen
    }

    /// From now on other checkpoints may also be offered.
    pub fn forget_choice(&mut self) {
        self.chosen = None;
    }

    /// Checkpoints that may be whole but could not be used.
    pub fn unavailable(&self) -> &[Unavailable] {
        &self.unavailable
    }

    /// Checkpoints that could not be used for this reason may be offered again.
    pub fn try_again(&mut self, cause: Cause) {
        self.unavailable.retain(|one| one.cause != cause);
    }

    /// Offers no checkpoint that another number of ranks has written.
    pub fn withdraw_of_other_ranks(&mut self) {
        self.files.take_if(|offered| offered.writers.are_others());
    }

    /// What could not be used keeps nothing from being offered any more.
    pub fn forget_unavailable(&mut self) {
        self.unavailable.clear();
    }

    /// The checkpoints that do not fit this program, in the order in which they were offered, each with the reason.
    pub fn unfit(&self) -> &[(u64, String)] {
        &self.unfit
    }

    /// Notes that a checkpoint does not fit this program.
    pub fn does_not_fit(&mut self, id: u64, why: String) {
        self.unfit.push((id, why));
    }

    /// The program may have changed: checkpoints that did not fit may be offered again.
    pub fn forget_unfit(&mut self) {
        self.unfit.clear();
    }

    /// The id of the checkpoint that is offered.
    pub fn id(&self) -> Option<u64> {
        self.files.as_ref().map(|files| files.dataset.id)
    }

    /// True if a restart from `dataset` passes over no newer checkpoint that may be whole, and `dataset`
    /// was not found to be of another program.
    pub fn allows(&self, dataset: &Dataset) -> bool {
        !self.is_unfit(dataset.id) && self.unavailable.iter().all(|one| one.allows(dataset))
    }

    /// True for a checkpoint that was found to be of another program.
    fn is_unfit(&self, id: u64) -> bool {
        self.unfit.iter().any(|(unfit, _)| *unfit == id)
    }

    /// Notes a checkpoint that cannot be used.
    pub fn cannot_use(&mut self, unavailable: Unavailable) {
        self.unavailable.push(unavailable);
    }

    /// The newest checkpoint that may be whole but could not be used. If a checkpoint failed twice, the first
    /// failure.
    pub fn newest_unavailable(&self) -> Option<&Unavailable> {
        let all = self.unavailable.iter().rev();
        all.max_by_key(|one| one.id)
    }
}

impl RestartSearch {
    /// Forgets directories that were removed, and ids without any directory.
    pub fn forget(&mut self, slots: &[Slot], ids: &[u64]) {
        if let Some(survey) = self.survey.get_mut() {
            survey.forget(slots);
        }
        let files = &mut self.offer.files;
        files.take_if(|offered| ids.contains(&offered.dataset.id));
    }

    /// A search begins. Datasets that could not be used in the prefix directory are looked at
    /// again.
    pub fn begin(&mut self) {
        self.offer.try_again(Cause::InPrefix);
        if let Some(survey) = self.survey.get_mut() {
            survey.fetch = None;
        }
    }

    /// Takes note of a checkpoint that is passed over. Local.
    pub fn pass_over(&mut self, passed: PassedOver) {
        if let Some(survey) = self.survey.get_mut() {
            survey.passed_over.push(passed);
        }
    }

    /// See [`Survey::tell_passed_over`].
    pub fn tell_passed_over(&mut self, run: &Run) {
        if let Some(survey) = self.survey.get_mut() {
            survey.tell_passed_over(run);
        }
    }

    /// The newest recovered, written or fetched checkpoint of this run that may be offered, unless
    /// the prefix directory has a newer one, or the cache one that was not tried yet. Collective.
    pub fn newest_of_run(
        &self,
        run: &Run,
        cached: &CachedDatasets,
    ) -> Result<Option<RestartFiles>> {
        let chosen = self.offer.chosen;
        let usable = |c: &&CachedDataset| {
            let chosen = chosen.is_none_or(|chosen| chosen == c.dataset.id);
            chosen && c.is_whole() && c.dataset.is_checkpoint() && self.offer.allows(&c.dataset)
        };
        let usable = cached.entries.iter().filter(usable);
        let Some(newest) = usable.max_by_key(|c| c.dataset.id) else {
            return Ok(None);
        };
        let is_older = |survey: &Survey| survey.has_newer(run, &newest.dataset);
        if chosen.is_none() && run.share(self.survey.as_ref().map(is_older))? {
            return Ok(None);
        }
        Ok(newest.restart_files(run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SCR_Init` recovers the datasets to flush oldest first.
    #[test]
    fn no_checkpoint_is_offered_before_a_newer_one_that_could_not_be_read() {
        let dataset = |id: u64| crate::format::Dataset {
            id,
            created: id,
            ..crate::format::Dataset::default()
        };
        let mut offer = Offer::default();
        assert!(offer.newest_unavailable().is_none());
        for id in [1, 3] {
            let why = format!("of {id}");
            offer.cannot_use(Unavailable::new(&dataset(id), Cause::InCache, why));
        }
        let allowed: Vec<u64> = (1..=4).filter(|id| offer.allows(&dataset(*id))).collect();
        assert_eq!(allowed, [3, 4]);
        assert_eq!(offer.newest_unavailable().map(|one| one.id), Some(3));
    }
}
