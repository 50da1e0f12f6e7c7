//! Bags: elements without a number, such as particles. In a restart on another number of ranks each rank gets an
//! equal share of them, or those that a key says.
//!
//! The elements of all ranks, in the order of the ranks that wrote them, make up a whole. So a restart reads a bag as
//! it reads fields by index, where each list is one run.

use super::ids::{Encoder, Ids, Run};
use std::collections::{BTreeMap, HashMap};

/// A bag in a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bag {
    /// Number of elements of all ranks.
    pub whole: u64,
    /// The elements that this rank gets, in this order.
    pub own: Ids,
    /// The elements in each file that this rank reads.
    pub writers: BTreeMap<u64, (u64, u64)>,
}

/// All bags of a checkpoint, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bags(pub HashMap<String, Bag>);

/// Elements that follow each other: the first one, and how many.
pub fn as_ids((first, count): (u64, u64)) -> Ids {
    let mut encoder = Encoder::default();
    if count > 0 {
        encoder.add(Run { first, count });
    }
    encoder.finish()
}

impl Bag {
    /// The first element in the file of a rank.
    pub fn first_of(&self, writer: u64) -> u64 {
        self.writers.get(&writer).map_or(0, |(first, _)| *first)
    }

    /// The elements in the file of a rank.
    pub fn ids_of(&self, writer: u64) -> Ids {
        as_ids(self.writers.get(&writer).copied().unwrap_or_default())
    }
}

impl Bags {
    /// A bag.
    pub fn get(&self, name: &str) -> Option<&Bag> {
        self.0.get(name)
    }

    /// Sets the elements of a bag that this rank gets.
    pub fn set_own(&mut self, name: &str, own: Ids) {
        if let Some(bag) = self.0.get_mut(name) {
            bag.own = own;
        }
    }
}
