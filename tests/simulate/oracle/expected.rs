//! Which checkpoint the failure model promises at least.

use super::dataset::{Dataset, Fate};
use super::{Excuse, Oracle};
use crate::places::Place;
use crate::plan::{Loss, Run};

impl Oracle {
    /// The position of the oldest checkpoint that may be offered now; `None` if nothing must be.
    pub(super) fn expected(&self) -> Option<usize> {
        (0..self.datasets.len())
            .rev()
            .find(|at| self.is_promised(*at))
    }

    pub(super) fn is_promised(&self, at: usize) -> bool {
        let one = &self.datasets[at];
        one.checkpoint && one.is_whole() && self.excuse_of(at).is_none()
    }

    /// What excuses that a whole checkpoint is not offered.
    pub(super) fn excuse_of(&self, at: usize) -> Option<Excuse> {
        let one = &self.datasets[at];
        // The checksums of fields show damage that no checksum of files shows.
        if self.plan.fields && one.unnoticed {
            return Some(Excuse::Unnoticed);
        }
        if !self.fits(one) {
            return Some(Excuse::OtherRanks);
        }
        let (prefix, cache) = (self.excuse_in_prefix(at)?, self.excuse_in_cache(at)?);
        Some(match one.place {
            Some(Place::Store(_)) => cache,
            _ => prefix,
        })
    }

    /// The program can restart from it with the ranks of this run.
    fn fits(&self, one: &Dataset) -> bool {
        !self.plan.anew || one.ranks() == self.node_of.len()
    }

    /// It, or one that is newer, was reported as saved, or flushed as SCR_FLUSH says, and is not outside of the sliding
    /// window.
    pub(super) fn is_in_prefix(&self, at: usize) -> bool {
        self.excuse_in_prefix(at).is_none()
    }

    /// One of the checkpoints that were completed one after the other from this one on was flushed.
    pub(super) fn is_due(&self, at: usize) -> bool {
        let due = &self.datasets[at].due;
        let mut row = self.datasets.iter().filter(|one| due.contains(&one.key));
        let stands =
            |one: &Dataset| one.fate == Fate::Counts && !one.damaged && one.prefix_lost.is_none();
        !due.is_empty() && row.all(stands)
    }

    fn excuse_in_prefix(&self, at: usize) -> Option<Excuse> {
        let one = &self.datasets[at];
        if !one.saved && !self.is_due(at) {
            return Some(one.prefix_lost.unwrap_or(Excuse::NotFlushed));
        }
        if !self.plan.fetch_in(&self.plan.runs[self.run]) {
            return Some(Excuse::NoFetch);
        }
        let window = self.all_runs.window;
        let newer = self.datasets.iter().skip(at + 1);
        // While one of these may be offered, it does not matter that they push this one out.
        let may_be_offered = |one: &Dataset| {
            let damaged = self.prefix_damaged && !one.saved;
            one.fate == Fate::Counts && !damaged && self.fits(one)
        };
        let gone = newer.filter(|one| one.checkpoint && one.is_finished() && !may_be_offered(one));
        (window > 0 && gone.count() >= window).then_some(Excuse::Window)
    }

    /// It is in the cache, and can be read or rebuilt there.
    pub(super) fn is_in_cache(&self, at: usize) -> bool {
        self.excuse_in_cache(at).is_none()
    }

    /// It may have left the cache, or cannot be read or rebuilt there.
    fn excuse_in_cache(&self, at: usize) -> Option<Excuse> {
        let (one, places) = (&self.datasets[at], &self.all_runs.places);
        let Some(Place::Store(store)) = one.place else {
            return Some(Excuse::NotFlushed);
        };
        if one.cache_lost.is_some() {
            return one.cache_lost;
        }
        if self.has_lost_too_much(one, store) {
            return Some(Excuse::LostNodes);
        }
        // One that was read in the prefix directory may still be here, too.
        let here = |other: &&Dataset| match other.place {
            Some(Place::Store(other)) => other == store,
            _ => true,
        };
        let newer = self.datasets.iter().skip(at + 1);
        let newest = !newer
            .clone()
            .any(|other| other.checkpoint && other.is_finished());
        // Output takes the place of the newest only when that is in the prefix directory. What was damaged there
        // since counts as saved.
        let saved = self.all_runs.flush && self.all_runs.fetch && !one.damaged;
        let harmless = |other: &Dataset| !other.checkpoint && newest && saved;
        let after = newer.filter(here).filter(|other| !harmless(other)).count();
        let count = places.stores[store].count as usize;
        let since = self.plan.runs.get(one.run..=self.run).unwrap_or_default();
        // A global restart brings only the newest to the prefix directory, unless it seems to be there, and empties
        // the cache.
        let global = since
            .iter()
            .any(|run| self.plan.is_set_in(run, "SCR_GLOBAL_RESTART"));
        if global && (!newest || one.damaged) {
            return Some(Excuse::GlobalRestart);
        }
        if after == 0 || (newest && self.stays_without_fetch(one)) {
            return None;
        }
        // The oldest leaves first, where all are protected alike, and none is being flushed.
        let alike = |other: &Dataset| other.nodes == one.nodes;
        if !places.is_even(store) || !self.datasets.iter().filter(here).all(alike) {
            return Some(Excuse::Uneven);
        }
        if after >= count {
            return Some(Excuse::Evicted);
        }
        if newest {
            return None;
        }
        if since.iter().any(Run::is_tight) {
            return Some(Excuse::NoRoom);
        }
        let background = since.iter().any(|run| self.plan.background_in(run));
        let older = self.datasets[..at].iter().filter(here);
        let stays = older.filter(|older| !older.saved && older.fate != Fate::Gone);
        let stays = if background { stays.count() } else { 0 };
        (after + stays >= count).then_some(Excuse::OnTheWay)
    }

    /// It is saved, and the newest. Runs that do not fetch go on to use it when it has left the cache for a dataset that
    /// is not complete, if they could note that, and nothing has happened to what they noted.
    fn stays_without_fetch(&self, one: &Dataset) -> bool {
        let since = self.plan.runs.get(one.run..=self.run).unwrap_or_default();
        let earlier = self.plan.runs.get(one.run..self.run).unwrap_or_default();
        let fetches = |run: &Run| self.plan.fetch_in(run) || run.repairs.is_some();
        let loses = |run: &Run| !matches!(run.loss, Loss::Nothing);
        one.saved && !since.iter().any(fetches) && !earlier.iter().any(loses) && self.is_clear()
    }

    /// With the nodes of this run it cannot be rebuilt in a store.
    fn has_lost_too_much(&self, one: &Dataset, store: usize) -> bool {
        let places = &self.all_runs.places;
        let tolerates = one.nodes.iter().map(|nodes| places.tolerates(store, nodes));
        let tolerates = tolerates.min().unwrap_or(0);
        !places.stores[store].global && one.losses(&self.used) > tolerates
    }

    /// A run sets aside what it cannot rebuild with its nodes. It does not come back with the missing nodes, whether a
    /// rank was told or not.
    pub(super) fn sets_aside(&mut self) {
        let is_set_aside = |one: &Dataset| match one.place {
            Some(Place::Store(store)) => self.has_lost_too_much(one, store),
            _ => false,
        };
        let aside: Vec<bool> = self.datasets.iter().map(is_set_aside).collect();
        let all = self.datasets.iter_mut().zip(aside);
        for (one, _) in all.filter(|(_, is_aside)| *is_aside) {
            one.lose_cache(Excuse::SetAside);
        }
    }
}
