//! Which checkpoint the failure model promises at least.

use super::Oracle;
use super::dataset::{Dataset, Fate};
use crate::places::Place;
use crate::plan::Run;

impl Oracle {
    /// The position of the oldest checkpoint that may be offered now; `None` if nothing must be.
    pub(super) fn expected(&self) -> Option<usize> {
        (0..self.datasets.len())
            .rev()
            .find(|at| self.is_promised(*at))
    }

    pub(super) fn is_promised(&self, at: usize) -> bool {
        let one = &self.datasets[at];
        let kept = self.is_in_prefix(at) || self.is_in_cache(at);
        // The checksums of fields show damage that no checksum of files shows.
        let noticed = self.plan.fields && one.unnoticed;
        one.checkpoint && one.is_whole() && self.fits(one) && kept && !noticed
    }

    /// The program can restart from it with the ranks of this run.
    fn fits(&self, one: &Dataset) -> bool {
        !self.plan.anew || one.ranks() == self.node_of.len()
    }

    /// It was reported as saved, and is not outside of the sliding window.
    pub(super) fn is_in_prefix(&self, at: usize) -> bool {
        let window = self.all_runs.window;
        let fetch = self.plan.fetch_in(&self.plan.runs[self.run]);
        let newer = self.datasets.iter().skip(at + 1);
        // While one of these may be offered, it does not matter that they push this one out.
        let may_be_offered = |one: &Dataset| {
            let damaged = self.prefix_damaged && !one.saved;
            one.fate == Fate::Counts && !damaged && self.fits(one)
        };
        let gone = newer.filter(|one| one.checkpoint && one.is_finished() && !may_be_offered(one));
        self.datasets[at].saved && fetch && (window == 0 || gone.count() < window)
    }

    /// It is still in the cache, and can be read or rebuilt there.
    fn is_in_cache(&self, at: usize) -> bool {
        let (one, places) = (&self.datasets[at], &self.all_runs.places);
        let Some(Place::Store(store)) = one.place else {
            return false;
        };
        if one.cache_lost {
            return false;
        }
        if self.has_lost_too_much(one, store) {
            return false;
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
        // The oldest leaves first, where all are protected alike, and none is being flushed.
        let alike = |other: &Dataset| other.nodes == one.nodes;
        let all_alike = places.is_even(store) && self.datasets.iter().filter(here).all(alike);
        // A global restart brings only the newest to the prefix directory, unless it seems to be there, and empties
        // the cache.
        let kept = (newest && !one.damaged) || !self.plan.is_set("SCR_GLOBAL_RESTART");
        let room = newest || (self.runs_without_limit() && self.all_runs.foreground);
        kept && (after == 0 || (after < count && all_alike && room))
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
        for (one, is_aside) in self.datasets.iter_mut().zip(aside) {
            one.cache_lost |= is_aside;
        }
    }

    fn runs_without_limit(&self) -> bool {
        !self.plan.runs.iter().any(Run::is_tight)
    }
}
