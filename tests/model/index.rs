//! The index file in the model.

use std::collections::BTreeMap;

/// A dataset, whether good, bad or still being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    pub id: u64,
    pub name: String,
    /// The number of the start in the sequence, from 1. It decides the bytes, and which of two
    /// datasets is newer.
    pub serial: u64,
    /// Its number among the checkpoints, if it is one.
    pub ckpt: Option<u64>,
    pub output: bool,
    /// The directory of its files in the prefix directory.
    pub dir: String,
    /// True if it has files.
    pub files: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub dataset: Dataset,
    pub complete: bool,
    pub failed: bool,
}

impl Entry {
    /// True if a restart may choose it by itself.
    pub fn is_good(&self) -> bool {
        self.complete && !self.failed && self.dataset.ckpt.is_some()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Index {
    pub entries: BTreeMap<u64, Entry>,
    pub current: Option<String>,
    /// The highest id of an entry that was removed.
    pub removed: u64,
}

impl Index {
    /// Enters a dataset; names are unique, and so are ids.
    pub fn enter(&mut self, dataset: &Dataset, complete: bool) {
        let entry = Entry {
            dataset: dataset.clone(),
            complete,
            failed: false,
        };
        self.entries.retain(|_, e| e.dataset.name != dataset.name);
        self.entries.insert(dataset.id, entry);
    }

    pub fn id(&self, name: &str) -> Option<u64> {
        let mut entries = self.entries.iter();
        let found = entries.find(|(_, e)| e.dataset.name == name)?;
        Some(*found.0)
    }

    /// True if this dataset, not another with its name, is in the prefix directory.
    pub fn has(&self, dataset: &Dataset) -> bool {
        let entry = self.entries.get(&dataset.id);
        entry.is_some_and(|e| e.complete && e.dataset.serial == dataset.serial)
    }

    /// True if a newer dataset has the name.
    pub fn has_newer(&self, dataset: &Dataset) -> bool {
        let mut newer = self.entries.range(dataset.id + 1..);
        newer.any(|(_, e)| e.dataset.name == dataset.name)
    }

    /// Removes an entry. The current marker moves to the newest good checkpoint below.
    pub fn remove(&mut self, id: u64) {
        let Some(entry) = self.entries.remove(&id) else {
            return;
        };
        self.removed = self.removed.max(id);
        if self.current.as_ref() == Some(&entry.dataset.name) {
            let below = self.newest_good(Some(id));
            self.current = below.map(|id| self.entries[&id].dataset.name.clone());
        }
    }

    pub fn mark_failed(&mut self, id: u64) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.failed = true;
        }
        self.current = None;
    }

    /// The newest good checkpoint with an id below the given one.
    pub fn newest_good(&self, below: Option<u64>) -> Option<u64> {
        let below = |id: &u64| below.is_none_or(|limit| *id < limit);
        let entries = self.entries.iter().rev();
        let mut good = entries.filter(|(id, entry)| below(id) && entry.is_good());
        good.next().map(|(id, _)| *id)
    }

    /// The highest dataset id and the highest checkpoint number; 0 where there is none.
    pub fn highest(&self) -> (u64, u64) {
        highest(self.entries.values().map(|entry| &entry.dataset))
    }

    /// One line, as in `cases.txt`: `1 a; 2 b incomplete; 3 c failed; current a`.
    pub fn line(&self) -> String {
        let entry = |entry: &Entry| {
            let Dataset { id, name, .. } = &entry.dataset;
            let word = |when: bool, word: &str| {
                if when {
                    format!(" {word}")
                } else {
                    String::new()
                }
            };
            format!(
                "{id} {name}{}{}{}",
                word(entry.dataset.ckpt.is_none(), "no checkpoint"),
                word(!entry.complete, "incomplete"),
                word(entry.failed, "failed"),
            )
        };
        let mut parts: Vec<String> = self.entries.values().map(entry).collect();
        parts.extend(self.current.iter().map(|name| format!("current {name}")));
        parts.join("; ")
    }
}

/// The highest dataset id and the highest checkpoint number; 0 where there is none.
pub fn highest<'a>(datasets: impl Iterator<Item = &'a Dataset>) -> (u64, u64) {
    datasets.fold((0, 0), |(id, ckpt), dataset| {
        (id.max(dataset.id), ckpt.max(dataset.ckpt.unwrap_or(0)))
    })
}
