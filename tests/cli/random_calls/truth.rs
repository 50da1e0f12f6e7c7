//! What must be in the prefix directory and the caches, as far as a story has made it certain.

use std::collections::{BTreeMap, BTreeSet};

/// What is known of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the caches of the last run, and perhaps in the prefix directory.
    Cached,
    /// Whole in the prefix directory, and in the index.
    Saved,
    /// Perhaps in one of both, perhaps in neither.
    Unknown,
    /// A command has taken it out of the index.
    Removed,
}

/// The datasets of a story.
#[derive(Debug, Default)]
pub struct Truth {
    /// By number, which is their order.
    pub datasets: BTreeMap<u64, Place>,
    /// Those which are checkpoints.
    pub checkpoints: BTreeSet<u64>,
    /// True while the next run must take the newest: nobody has chosen another one, and no number was given twice.
    pub newest_is_next: bool,
    /// True if somebody has chosen a checkpoint that may not be whole, so that the next run may find no older one.
    pub can_begin: bool,
}

/// The name of a dataset. Commands must pass on each letter of it.
pub fn name(number: u64) -> String {
    format!("ck {number}'s")
}

/// The dataset of this name.
pub fn number(name: &str) -> Option<u64> {
    name.strip_prefix("ck ")?.strip_suffix("'s")?.parse().ok()
}

impl Truth {
    /// The datasets of this kind.
    pub fn at(&self, place: Place) -> Vec<u64> {
        let there = self.datasets.iter().filter(|(_, is)| **is == place);
        there.map(|(number, _)| *number).collect()
    }

    /// The newest checkpoint that a restart must find, in the prefix directory or a cache.
    pub fn newest(&self) -> Option<u64> {
        let certain = |number: &&u64| {
            matches!(
                self.datasets.get(number),
                Some(Place::Cached | Place::Saved)
            )
        };
        self.checkpoints.iter().rev().find(certain).copied()
    }

    /// The caches may have lost their datasets.
    pub fn forget_caches(&mut self) {
        for place in self
            .datasets
            .values_mut()
            .filter(|is| **is == Place::Cached)
        {
            *place = Place::Unknown;
        }
    }
}
