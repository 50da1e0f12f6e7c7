//! Which mutants are written: the same for the same seed and code.

use crate::Source;
use std::collections::BTreeSet;

/// Where a mutant is: which module, which of its files, which of the file's mutants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    pub module: usize,
    pub source: usize,
    pub mutant: usize,
}

pub struct Choice {
    /// By module: all mutants in the order in which they are taken, without those that were refused.
    order: Vec<Vec<At>>,
    count: usize,
}

/// Numbers that look random (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((value ^ (value >> 31)) % limit.max(1) as u64) as usize
    }
}

impl Choice {
    pub fn new(all: &[Vec<Source>], count: usize, seed: u64) -> Choice {
        let mut draw = Draw(seed);
        let order = all.iter().enumerate().map(|(module, sources)| {
            let mut order = Vec::new();
            for (source, text) in sources.iter().enumerate() {
                let every = 0..text.mutants.len();
                order.extend(every.map(|mutant| At {
                    module,
                    source,
                    mutant,
                }));
            }
            for left in (1..order.len()).rev() {
                order.swap(left, draw.below(left + 1));
            }
            order
        });
        Choice {
            order: order.collect(),
            count,
        }
    }

    /// Numbers from 1 on. A module with few mutants leaves more to the others.
    pub fn numbered(&self) -> Vec<(usize, At)> {
        let mut shares = vec![0; self.order.len()];
        let mut left = self.count;
        loop {
            let before = left;
            for (share, order) in shares.iter_mut().zip(&self.order) {
                if left > 0 && *share < order.len() {
                    *share += 1;
                    left -= 1;
                }
            }
            if left == before {
                break;
            }
        }
        let taken = self.order.iter().zip(&shares);
        let mut taken: Vec<At> = taken
            .flat_map(|(order, share)| &order[..*share])
            .copied()
            .collect();
        taken.sort_unstable();
        (1..).zip(taken).collect()
    }

    pub fn replace(&mut self, refused: &BTreeSet<At>) {
        for order in &mut self.order {
            order.retain(|at| !refused.contains(at));
        }
    }
}
