//! What the loss of nodes, power and bytes excuses.

use super::dataset::{Dataset, Fate};
use super::{Excuse, Oracle};
use crate::machine::Hit;
use crate::places::Place;
use std::path::Path;

impl Oracle {
    /// Something has happened to the machine between two runs.
    pub fn is_hit(&mut self, hit: &Hit) {
        match hit {
            Hit::Power => self.power_is_lost(),
            Hit::PowerOfNodes => {
                // What was renamed or removed in a cache without a sync may be there again.
                self.may_turn_up();
                self.may_be_torn();
            }
            Hit::Node(node) | Hit::Old(node) => {
                if matches!(hit, Hit::Old(_)) {
                    // What was removed there since is there again.
                    self.may_turn_up();
                }
                for one in &mut self.datasets {
                    one.node_is_lost(*node);
                }
            }
            Hit::Swapped(one, other) => {
                for dataset in &mut self.datasets {
                    dataset.nodes_are_swapped(*one, *other);
                }
            }
            Hit::Cache => self.may_be_torn(),
            Hit::Prefix(path) => self.prefix_is_damaged(path),
        }
    }

    fn power_is_lost(&mut self) {
        // What was renamed or removed in a cache without a sync may be there again.
        self.may_turn_up();
        self.may_be_torn();
        self.caches_lost(Excuse::PowerLost);
    }

    /// The bytes of files in a cache may be others, with the right sizes.
    fn may_be_torn(&mut self) {
        for at in 0..self.datasets.len() {
            self.datasets[at].unnoticed |= self.may_lack_checksums(at);
        }
    }

    /// What was deleted or rejected may be offered again.
    pub(super) fn may_turn_up(&mut self) {
        let gone = |one: &&mut Dataset| one.fate == Fate::Gone;
        let gone = self.datasets.iter_mut().filter(gone);
        for one in gone {
            one.fate = Fate::GivenUp;
            one.turns_up = Some(Excuse::ThereAgain);
        }
    }

    /// True if no checksums of its files may be recorded. In bypass and with SINGLE they are taken in the
    /// background, and are there at the latest before the next dataset of the run counts.
    fn may_lack_checksums(&self, at: usize) -> bool {
        let one = &self.datasets[at];
        let mut later = self.datasets.iter().skip(at + 1);
        let later = later.any(|other| other.run == one.run && other.good > 0);
        // An I/O error may have kept them from being taken.
        let taken = later && !self.faults.ever_hit();
        let at_once = match one.place {
            Some(Place::Store(store)) => {
                let tolerates = |nodes| self.all_runs.places.tolerates(store, nodes);
                one.nodes.iter().all(|nodes| tolerates(nodes) > 0)
            }
            _ => false,
        };
        // What is fetched is as it was flushed.
        let fetched = self.plan.is_off("SCR_CRC_ON_FLUSH");
        one.good == 0 || !at_once && (!taken || fetched)
    }

    /// The files of a dataset in the prefix directory may be damaged.
    pub(super) fn is_damaged_in_prefix(&mut self, at: usize) {
        let checksums = !self.plan.is_off("SCR_CRC_ON_FLUSH");
        let lacks = self.may_lack_checksums(at);
        let one = &mut self.datasets[at];
        one.unnoticed |= !checksums || lacks;
        // What is in the prefix directory need not be in the cache any more.
        one.lose_prefix(Excuse::Damaged);
        one.lose_cache(Excuse::DamageUnread);
        one.damaged = true;
    }

    /// Below this path, which begins with the prefix directory.
    fn prefix_is_damaged(&mut self, path: &Path) {
        let name = path.iter().nth(1).and_then(|name| name.to_str());
        let checksums = !self.plan.is_off("SCR_CRC_ON_FLUSH");
        let mut known = false;
        for at in 0..self.datasets.len() {
            if Some(&*self.datasets[at].name) == name {
                known = true;
                self.is_damaged_in_prefix(at);
            }
        }
        let container = path.file_name().and_then(|name| name.to_str());
        if !known && !checksums && container.is_some_and(|name| name.starts_with("ctr.")) {
            self.datasets
                .iter_mut()
                .for_each(|one| one.unnoticed = true);
        }
        self.broken |= !known;
        self.prefix_damaged = true;
    }
}
