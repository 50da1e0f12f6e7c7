//! Datasets by name.

use super::Model;
use crate::answer::Answer;
use crate::differences::Difference;
use crate::index::Dataset;

impl Model {
    /// `SCR_Current`: sets the marker, removes newer datasets from the cache, and ends the offer.
    pub(super) fn current(&mut self, name: &str) -> Answer {
        let indexed = self
            .index
            .id(name)
            .map(|id| &self.index.entries[&id].dataset);
        let indexed = indexed.filter(|dataset| dataset.ckpt.is_some()).cloned();
        let cached = self.cache.iter().map(|c| &c.dataset);
        let cached = cached.filter(|d| d.ckpt.is_some() && d.name == name);
        let cached = cached.max_by_key(|d| d.id).cloned();
        let cached = cached.filter(|_| self.differs(Difference::CurrentOfCached));
        let newer = |cached: &Dataset| indexed.as_ref().is_none_or(|one| cached.id > one.id);
        let newer = cached.filter(newer);
        if newer.is_none() && indexed.is_some() {
            self.index.current = Some(name.to_string());
        }
        let Some(dataset) = newer.or(indexed) else {
            return if self.differs(Difference::UnknownCurrent) {
                Answer::Error
            } else {
                Answer::Ok
            };
        };
        (self.loaded, self.last) = (None, dataset.id);
        self.cache.retain(|c| c.dataset.id <= dataset.id);
        self.displaced.take_if(|one| one.id > dataset.id);
        self.left.retain(|(one, _)| one.id <= dataset.id);
        self.count_from(&dataset);
        let first = self.differs(Difference::CurrentFirst);
        self.asked = first.then_some(dataset.id);
        Answer::Ok
    }

    /// `SCR_Drop`: removes the entry, and no file.
    pub(super) fn remove(&mut self, name: &str) -> Answer {
        let Some(id) = self.index.id(name) else {
            return Answer::Ok;
        };
        self.index.remove(id);
        // Datasets that an earlier run wrote in bypass are known only from the index.
        let bypass = self.config.bypass && self.differs(Difference::DroppedInBypass);
        self.cache
            .retain(|c| !(bypass && c.earlier) || c.dataset.id != id);
        self.asked.take_if(|asked| *asked == id);
        Answer::Ok
    }

    /// `SCR_Delete`: deletes a dataset from cache and prefix directory.
    pub(super) fn delete(&mut self, name: &str) -> Answer {
        let id = self.index.id(name);
        let cached = self.cache.iter().any(|c| c.dataset.name == name);
        if id.is_none() && !cached {
            return Answer::Ok;
        }
        self.cache.retain(|c| c.dataset.name != name);
        if self.differs(Difference::DeletedOffer) {
            self.loaded.take_if(|loaded| loaded.name == name);
        }
        if let Some(entry) = id.and_then(|id| self.index.entries.get(&id)) {
            // A dataset that was never complete has no list of its files.
            if entry.complete && entry.dataset.files {
                self.files.remove(&entry.dataset.dir);
            }
            let id = entry.dataset.id;
            self.index.remove(id);
        }
        let cached = |id: &u64| self.cache.iter().any(|c| c.dataset.id == *id);
        let there = |id: &u64| cached(id) || self.index.entries.contains_key(id);
        self.asked = self.asked.filter(there);
        Answer::Ok
    }
}
