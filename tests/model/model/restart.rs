//! The checkpoint that `SCR_Have_restart` offers.

use super::{Cached, Model};
use crate::answer::Answer;
use crate::calls::Valid;
use crate::differences::Difference;
use crate::index::{Dataset, Entry};
use scr::session::state::State;

impl Model {
    /// `SCR_Have_restart`: the checkpoint that is offered already, else the newest in the cache, else
    /// the first that can be fetched: the current one, then the good ones with lower ids.
    pub(super) fn have_restart(&mut self) -> Option<String> {
        if let Some(loaded) = &self.loaded {
            return Some(loaded.name.clone());
        }
        let found = self.search()?;
        let name = found.name.clone();
        self.loaded = Some(found);
        Some(name)
    }

    fn search(&mut self) -> Option<Dataset> {
        let asked = self.asked.take();
        if self.cache.iter().any(|c| Some(c.dataset.id) == asked) {
            return self.take_cached(asked?);
        }
        if let Some(left) = self.best_left().filter(|left| Some(left.id) == asked) {
            return self.fetch_left(left);
        }
        // The checkpoint that the user has named comes before the cache, if it can be fetched.
        let mut prefix_first = asked.is_some() && self.config.fetch;
        let mut marker = self.index.current.clone();
        let mut below = None;
        loop {
            if !prefix_first && let Some(id) = self.best_cached(below) {
                return self.take_cached(id);
            }
            if let Some(left) = self.best_left() {
                return self.fetch_left(left);
            }
            prefix_first = false;
            if !self.config.fetch {
                return None;
            }
            let id = match marker.take() {
                Some(name) => match self.marked(&name) {
                    Some(id) => id,
                    None => continue,
                },
                None => match self.index.newest_good(below) {
                    Some(id) => id,
                    None => return self.found_nothing(),
                },
            };
            if let Some(dataset) = self.fetch(id) {
                return Some(dataset);
            }
            below = Some(id);
        }
    }

    /// No checkpoint could be fetched, and none is in the cache.
    fn found_nothing(&mut self) -> Option<Dataset> {
        if !self.differs(Difference::CacheStays) {
            self.cache.clear();
        }
        None
    }

    /// The newest checkpoint that counts as cached and is in the prefix directory alone.
    fn best_left(&self) -> Option<Dataset> {
        let all = self.left.iter().map(|(dataset, _)| dataset);
        let all = all.chain(&self.displaced);
        let good = |d: &&Dataset| {
            let entry = self.index.entries.get(&d.id);
            entry.is_some_and(|entry| entry.is_good() && entry.dataset.serial == d.serial)
        };
        let all = all.filter(good);
        all.filter(|_| !self.config.fetch)
            .max_by_key(|d| d.id)
            .cloned()
    }

    /// Reads it in the prefix directory. One that is current and newer stays so.
    fn fetch_left(&mut self, dataset: Dataset) -> Option<Dataset> {
        let current = self.index.current.clone();
        let found = self.fetch(dataset.id);
        self.note_left(dataset.serial, false);
        if self.newer_is_current(current.as_ref(), &dataset) {
            self.index.current = current;
        }
        found
    }

    /// A good checkpoint that is newer was current; where none was, any that is newer.
    fn newer_is_current(&self, current: Option<&String>, dataset: &Dataset) -> bool {
        let is_good = |id: &u64| {
            let entry = self.index.entries.get(id);
            entry.is_some_and(|entry| entry.is_good() && entry.dataset.ckpt.is_some())
        };
        let current = current.and_then(|name| self.index.id(name));
        match current.filter(is_good) {
            Some(current) => current > dataset.id,
            None => self
                .index
                .entries
                .keys()
                .any(|id| *id > dataset.id && is_good(id)),
        }
    }

    /// The id of the newest checkpoint in the cache. A fetch has been tried of those not `below`.
    fn best_cached(&mut self, below: Option<u64>) -> Option<u64> {
        self.pass_over_output();
        let cached = &self.newest_cached()?.dataset;
        let untried = |entry: &Entry| below.is_none_or(|below| entry.dataset.id < below);
        let newer = |entry: &Entry| entry.is_good() && entry.dataset.serial > cached.serial;
        let current = self.index.current.as_ref() == Some(&cached.name) && self.index.has(cached);
        if !current && self.best_left().is_some_and(|left| left.id > cached.id) {
            return None;
        }
        let differs = self.differs(Difference::OldCacheLoses) && self.config.fetch && !current;
        let mut entries = self.index.entries.values();
        if differs && entries.any(|entry| newer(entry) && untried(entry)) {
            None
        } else {
            Some(cached.id)
        }
    }

    /// Output of earlier runs, all of it in the prefix directory, is deleted as it is met in the
    /// search for a checkpoint.
    fn pass_over_output(&mut self) {
        let newest = self.newest_cached();
        let newest = newest.map_or((0, true), |c| (c.dataset.id, c.earlier));
        let met = |c: &Cached| c.earlier && newest.1 && c.dataset.id > newest.0;
        if self.differs(Difference::Eviction) {
            self.cache.retain(|c| !met(c));
        }
    }

    fn take_cached(&mut self, id: u64) -> Option<Dataset> {
        let fetched = self.config.bypass && self.differs(Difference::BypassNotCached);
        let cached = self.cache.iter_mut().find(|c| c.dataset.id == id)?;
        let dataset = cached.dataset.clone();
        self.last = id;
        if std::mem::take(&mut cached.earlier) && fetched {
            self.index.current = Some(dataset.name.clone());
        }
        Some(dataset)
    }

    /// The id of the current dataset. v3.1.0 tries it also if it is not a checkpoint.
    fn marked(&mut self, name: &str) -> Option<u64> {
        let id = self.index.id(name)?;
        let entry = self.index.entries.get(&id)?;
        if entry.dataset.ckpt.is_some() {
            return Some(id);
        }
        if !self.differs(Difference::MarkerOfNothing) {
            self.index.mark_failed(id);
        }
        None
    }

    /// Fetches a dataset if it is complete. It takes a place in the cache.
    fn fetch(&mut self, id: u64) -> Option<Dataset> {
        let clear = self.differs(Difference::FailedCleared);
        let entry = self.index.entries.get_mut(&id)?;
        if !entry.complete {
            self.index.mark_failed(id);
            // v3.1.0 empties the cache; here only records of datasets in bypass are removed.
            if self.config.bypass {
                self.make_room();
            }
            return None;
        }
        if clear {
            entry.failed = false;
        }
        let dataset = entry.dataset.clone();
        self.index.current = Some(dataset.name.clone());
        self.cache.retain(|c| c.dataset.id != id);
        self.make_room();
        self.cache.push(Cached {
            dataset: dataset.clone(),
            flushed: true,
            earlier: false,
        });
        self.last = id;
        self.count_from(&dataset);
        Some(dataset)
    }

    pub(super) fn start_restart(&mut self) -> Answer {
        self.state = State::Restart;
        let name = self.loaded.as_ref().map(|dataset| dataset.name.clone());
        Answer::Name(name.unwrap_or_default())
    }

    /// `SCR_Complete_restart`: ends the offer. A rejected checkpoint is marked as failed and removed
    /// from the cache.
    pub(super) fn complete_restart(&mut self, valid: Valid) -> Answer {
        self.state = State::Idle;
        let Some(loaded) = self.loaded.take() else {
            return Answer::Error;
        };
        if valid == Valid::OnAll {
            self.count_from(&loaded);
            return Answer::Ok;
        }
        // v3.1.0 looks for its name in the index.
        let named = self.index.id(&loaded.name);
        let same = |id: &u64| self.index.entries[id].dataset.serial == loaded.serial;
        let strict = self.differs(Difference::RejectedUnknown);
        if let Some(id) = named.filter(|id| !strict || same(id)) {
            self.index.mark_failed(id);
        }
        self.cache.retain(|c| c.dataset.id != loaded.id);
        (self.ids, self.last) = ((0, 0), 0);
        Answer::Error
    }
}
