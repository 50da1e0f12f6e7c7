//! Writing a dataset; the cache and the flush.

use super::{Cached, Model, Phase};
use crate::answer::{Answer, Place};
use crate::calls::Valid;
use crate::differences::Difference;
use crate::index::Dataset;
use scr::session::state::State;

impl Model {
    /// `SCR_Start_output`, `SCR_Start_checkpoint`: new ids, evictions, and in bypass the entry in the
    /// index.
    pub(super) fn start(&mut self, name: Option<String>, checkpoint: bool, output: bool) -> Answer {
        let (id, ckpt) = self.next_ids();
        self.ids = (id, if checkpoint { ckpt } else { self.ids.1 });
        self.starts += 1;
        let serial = self.starts;
        let dir = name.clone().unwrap_or_else(|| format!("start{serial}"));
        let dataset = Dataset {
            id,
            name: name.unwrap_or_else(|| format!("scr.dataset.{id}")),
            serial,
            ckpt: checkpoint.then_some(ckpt),
            output,
            dir,
            files: false,
        };
        self.end_offer();
        self.cache.retain(|c| c.dataset.id != id);
        if self.config.bypass && self.differs(Difference::NameUsedAgain) {
            self.cache.retain(|c| c.dataset.name != dataset.name);
        }
        if !checkpoint && self.differs(Difference::DisplacedByOutput) {
            self.save_displaced();
        }
        let before = self.cache.clone();
        self.make_room();
        self.displace(before);
        if checkpoint {
            self.last = id;
        }
        if self.config.bypass {
            self.enter(&dataset, false);
        }
        let missing = false;
        self.phase = Some(Phase { dataset, missing });
        Answer::Ok
    }

    /// Of what was in the cache `before`, and is not any more, the newest checkpoint goes on to count without fetches.
    fn displace(&mut self, before: Vec<Cached>) {
        if self.config.fetch || !self.differs(Difference::DisplacedCounts) {
            return;
        }
        let stays = |c: &Cached| {
            self.cache
                .iter()
                .any(|s| s.dataset.serial == c.dataset.serial)
        };
        let gone = before.into_iter().filter(|c| !stays(c));
        let gone: Vec<Dataset> = gone.map(|c| c.dataset).collect();
        for dataset in &gone {
            self.note_left(dataset.serial, false);
        }
        let newest = gone
            .into_iter()
            .filter(|d| d.ckpt.is_some() && self.index.has(d));
        let Some(newest) = newest.max_by_key(|d| d.id) else {
            return;
        };
        let mut staying = self.cache.iter().filter(|c| c.dataset.ckpt.is_some());
        if staying.any(|c| c.dataset.id > newest.id) {
            return;
        }
        if self
            .displaced
            .as_ref()
            .is_none_or(|one| one.id <= newest.id)
        {
            self.note_left(newest.serial, true);
            self.displaced = Some(newest);
        }
    }

    /// Whether the flush file has what an earlier run has left in the prefix directory.
    pub(super) fn note_left(&mut self, serial: u64, noted: bool) {
        let mut left = self.left.iter_mut();
        if let Some((_, is_noted)) = left.find(|(dataset, _)| dataset.serial == serial) {
            *is_noted = noted;
        }
    }

    pub(super) fn end_offer(&mut self) {
        (self.loaded, self.asked) = (None, None);
    }

    /// Enters a dataset in the index. v3.1.0 first removes the entry of its name, as `SCR_Drop` does.
    fn enter(&mut self, dataset: &Dataset, complete: bool) {
        let id = self.index.id(&dataset.name);
        if let Some(id) = id.filter(|_| !self.differs(Difference::MarkerStays)) {
            self.index.remove(id);
        }
        self.index.enter(dataset, complete);
    }

    /// v3.1.0 counts on from the last checkpoint that was restarted from or made current. It reads the
    /// index if it has no ids yet, or if an offer is open.
    fn next_ids(&mut self) -> (u64, u64) {
        if self.loaded.is_some() || self.ids.0 == 0 {
            let (id, ckpt) = self.index.highest();
            self.ids = (self.ids.0.max(id), self.ids.1.max(ckpt));
        }
        let last = if self.differs(Difference::Ids) {
            self.met
        } else {
            self.ids
        };
        (last.0 + 1, last.1 + 1)
    }

    /// Evicts datasets so that there is a place for one more in the cache.
    pub(super) fn make_room(&mut self) {
        while self.cache.len() >= self.config.size {
            let worth = |c: &Cached| {
                if self.differs(Difference::Eviction) {
                    (self.worth(c), c.dataset.id)
                } else {
                    (0, c.dataset.id)
                }
            };
            let all = self.cache.iter().map(worth).enumerate();
            let Some((least, _)) = all.min_by_key(|(_, worth)| *worth) else {
                return;
            };
            self.cache.remove(least);
        }
    }

    /// The classes of docs/user-guide.md, "What leaves the cache". All datasets of a sequence are
    /// written by one scheme, and none of them is damaged. In bypass, what the last run wrote goes
    /// before what this run has.
    fn worth(&self, cached: &Cached) -> u8 {
        if self.config.bypass && cached.earlier {
            return 0;
        }
        let saved = |c: &Cached| self.config.fetch && self.index.has(&c.dataset);
        let outdone = |other: &Cached| {
            let newer = other.dataset.ckpt.is_some() && other.dataset.id > cached.dataset.id;
            newer && (saved(other) || !saved(cached))
        };
        match cached.dataset.ckpt {
            None if saved(cached) => 2,
            Some(_) if self.cache.iter().any(outdone) => 3,
            Some(_) if saved(cached) => 4,
            None => 5,
            Some(_) => 6,
        }
    }

    /// `SCR_Route_file` of the file that a dataset has on each rank.
    pub(super) fn route(&mut self) -> Answer {
        let bypass = self.config.bypass;
        if let Some(phase) = &mut self.phase {
            phase.dataset.files = true;
            let Dataset {
                id, serial, dir, ..
            } = &phase.dataset;
            if !bypass {
                return Answer::Path(Place::Cache(*id), None);
            }
            self.files.insert(dir.clone(), *serial);
            return Answer::Path(Place::Prefix, None);
        }
        let Some(loaded) = self
            .loaded
            .as_ref()
            .filter(|_| self.state == State::Restart)
        else {
            return Answer::AsGiven;
        };
        match (bypass, self.files.get(&loaded.dir)) {
            (true, Some(serial)) => Answer::Path(Place::Prefix, Some(*serial)),
            (false, _) if loaded.files => {
                Answer::Path(Place::Cache(loaded.id), Some(loaded.serial))
            }
            _ => Answer::Error,
        }
    }

    /// `SCR_Route_file` of a file that is not written.
    pub(super) fn route_missing(&mut self) -> Answer {
        let restart = self.state == State::Restart;
        let Some(phase) = &mut self.phase else {
            return if restart {
                Answer::Error
            } else {
                Answer::AsGiven
            };
        };
        phase.missing = true;
        let place = if self.config.bypass {
            Place::Prefix
        } else {
            Place::Cache(phase.dataset.id)
        };
        Answer::Path(place, None)
    }

    /// `SCR_Complete_output`, `SCR_Complete_checkpoint`: a good dataset is cached, and flushed if it
    /// is due.
    pub(super) fn complete(&mut self, valid: Valid) -> Answer {
        self.state = State::Idle;
        let Some(Phase { dataset, missing }) = self.phase.take() else {
            return Answer::Error;
        };
        if valid != Valid::OnAll || missing {
            return Answer::Error;
        }
        let every = self.config.flush;
        let counts = |ckpt: u64| every > 0 && ckpt.is_multiple_of(every);
        let due = self.config.bypass || dataset.output || dataset.ckpt.is_some_and(counts);
        let id = dataset.id;
        if dataset.ckpt.is_some() {
            self.displaced = None;
        }
        self.cache.push(Cached {
            dataset,
            flushed: false,
            earlier: false,
        });
        if due {
            self.flush(id);
        }
        Answer::Ok
    }

    fn flush(&mut self, id: u64) {
        let Some(cached) = self.cache.iter_mut().find(|c| c.dataset.id == id) else {
            return;
        };
        cached.flushed = true;
        let dataset = cached.dataset.clone();
        self.enter(&dataset, true);
        if dataset.ckpt.is_some() {
            self.index.current = Some(dataset.name.clone());
        }
        if !self.config.bypass && dataset.ckpt.is_none() && self.differs(Difference::OutputLeaves) {
            self.cache.retain(|c| c.dataset.id != id);
        }
        if dataset.files {
            self.files.insert(dataset.dir, dataset.serial);
        }
    }

    /// The newest cached checkpoint that has its name, if the prefix directory has it not yet.
    fn due(&self) -> Option<u64> {
        let has_its_name = |c: &&Cached| !self.index.has_newer(&c.dataset);
        let checkpoints = self.cache.iter().filter(|c| c.dataset.ckpt.is_some());
        let newest = checkpoints
            .filter(has_its_name)
            .max_by_key(|c| c.dataset.id)?;
        (!newest.flushed && self.config.flush > 0).then_some(newest.dataset.id)
    }

    /// Flushes the checkpoint that is due at the end if it is about to leave the cache.
    fn save_displaced(&mut self) {
        let Some(due) = self.due() else {
            return;
        };
        let cache = self.cache.clone();
        self.make_room();
        let stays = self.cache.iter().any(|c| c.dataset.id == due);
        self.cache = cache;
        if !stays {
            self.flush(due);
        }
    }

    /// `SCR_Finalize`: the newest cached checkpoint goes to the prefix directory.
    pub(super) fn finalize(&mut self) -> Answer {
        self.state = State::Uninit;
        let last = self.cache.iter().find(|c| c.dataset.id == self.last);
        let unsaved = if self.differs(Difference::FlushedAtEnd) {
            self.due()
        } else {
            last.filter(|last| !last.flushed && self.config.flush > 0)
                .map(|last| last.dataset.id)
        };
        if let Some(id) = unsaved {
            self.flush(id);
        }
        if !self.config.bypass && self.config.fetch && self.differs(Difference::EmptiedAtEnd) {
            let is_saved = |c: &Cached| c.flushed && self.index.has(&c.dataset);
            if self.cache.iter().all(is_saved) {
                self.cache.clear();
            }
        }
        Answer::Ok
    }
}
