//! Looks through the indices in the memory of the program, some at a time.

use super::given::{Given, Indices};
use super::set::{Builder, Set};
use crate::Result;

/// What a pass over a list finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scanned {
    /// Each index is larger than the one before.
    pub ascending: bool,
    /// A checksum of the indices, of four bytes or eight alike.
    pub print: u64,
}

/// Indices that are looked at together, for the first-level cache.
const BLOCK: usize = 1024;

/// Indices of a word.
const WORD: u64 = u64::BITS as u64;

impl Given<'_> {
    /// Checks the indices.
    ///
    /// # Errors
    /// The whole is too large, or an index is not in it.
    pub fn scan(&self) -> Result<Scanned> {
        let whole = self.checked_whole()?;
        let (mut crc, mut bytes) = (crc32fast::Hasher::new(), [[0; 8]; BLOCK]);
        let (mut ascending, mut inside, mut last) = (true, true, None);
        self.each_block(|ids, in_order| {
            // Without a branch for each index, which would take most of the time.
            inside &= in_order & ids.iter().fold(true, |all, id| all & (*id < whole));
            let pairs = ids.iter().zip(ids.iter().skip(1));
            ascending &= pairs.fold(true, |all, (a, b)| all & (a < b));
            ascending &= last.is_none_or(|last| ids.first().is_none_or(|first| last < *first));
            last = ids.last().copied();
            for (bytes, id) in bytes.iter_mut().zip(ids) {
                *bytes = id.to_le_bytes();
            }
            crc.update(bytes.get(..ids.len()).unwrap_or_default().as_flattened());
        });
        if !inside {
            self.refuse_outside(whole)?;
        }
        Ok(Scanned {
            ascending,
            print: crc.finalize().into(),
        })
    }

    /// The set of a list that ascends.
    pub fn set(&self) -> Set {
        let mut builder = Builder::default();
        let (mut word, mut bits) = (0, 0);
        self.each_block(|ids, _| {
            for id in ids {
                if id / WORD != word {
                    builder.add_word(word, bits);
                    (word, bits) = (id / WORD, 0);
                }
                bits |= 1u64 << (id % WORD);
            }
        });
        builder.add_word(word, bits);
        builder.finish()
    }

    /// Visits the indices, from 0 on, and whether none of them is before the first one of the whole.
    fn each_block(&self, visit: impl FnMut(&[u64], bool)) {
        match self.indices {
            Indices::Four(indices) => each_block(indices, self.first, |i| i64::from(*i), visit),
            Indices::Eight(indices) => each_block(indices, self.first, |i| *i, visit),
        }
    }
}

fn each_block<T>(
    indices: &[T],
    first: i64,
    index: impl Fn(&T) -> i64,
    mut visit: impl FnMut(&[u64], bool),
) {
    let mut ids = [0; BLOCK];
    for some in indices.chunks(BLOCK) {
        let mut in_order = true;
        for (id, i) in ids.iter_mut().zip(some) {
            let index = index(i);
            in_order &= index >= first;
            *id = index.wrapping_sub(first) as u64;
        }
        visit(ids.get(..some.len()).unwrap_or_default(), in_order);
    }
}

#[cfg(test)]
mod tests {
    use crate::fields::index::set::Set;
    use crate::fields::index::{Given, Indices};

    fn of(indices: Indices<'_>, first: i64) -> Given<'_> {
        Given {
            name: "nodes",
            indices,
            first,
            whole: 20_000,
        }
    }

    #[test]
    fn a_scan_finds_the_order_and_each_difference() {
        let all: Vec<i64> = (0..5000).map(|i| 3 * i + 1).collect();
        let four: Vec<i32> = all.iter().map(|i| *i as i32).collect();
        let scanned = of(Indices::Eight(&all), 1).scan().unwrap();
        assert!(scanned.ascending);
        assert_eq!(of(Indices::Four(&four), 1).scan().unwrap(), scanned);
        for at in [0, 1, 1023, 1024, 1025, 4998] {
            let mut other = all.clone();
            other[at] += 1;
            let changed = of(Indices::Eight(&other), 1).scan().unwrap();
            assert!(changed.ascending && changed.print != scanned.print, "{at}");
            let mut turned = all.clone();
            turned.swap(at, at + 1);
            let turned = of(Indices::Eight(&turned), 1).scan().unwrap();
            assert!(!turned.ascending && turned.print != scanned.print, "{at}");
            let mut twice = all.clone();
            twice[at + 1] = twice[at];
            assert!(!of(Indices::Eight(&twice), 1).scan().unwrap().ascending);
            for wrong in [0, 20_001, i64::MIN, i64::MAX] {
                let mut outside = all.clone();
                outside[at] = wrong;
                let given = of(Indices::Eight(&outside), 1);
                let told = format!("number {} of this rank's list is the index {wrong}", at + 1);
                assert!(given.scan().unwrap_err().to_string().contains(&told));
            }
        }
        assert!(of(Indices::Eight(&[]), 0).scan().unwrap().ascending);
    }

    #[test]
    fn the_set_of_a_list_has_its_indices() {
        for list in [
            vec![],
            vec![0],
            vec![63, 64, 16_383, 16_384],
            (0..19_000).filter(|i| i * i % 7 != 2).collect(),
        ] {
            let given = of(Indices::Eight(&list), 0);
            let right = Set::of(&given.encode().unwrap(), 20_000).unwrap();
            assert_eq!(given.set(), right);
        }
    }
}
