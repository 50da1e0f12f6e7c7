//! Looks through the indices in the memory of the program, some at a time.

use super::given::{Given, Indices};
use super::ids::Run;
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
        let (mut ascending, mut inside, mut before) = (true, true, None);
        self.each_block(|indices| {
            inside &= are_inside(indices, self.first, whole);
            ascending &= ascend(indices);
            let first = indices.first().copied();
            ascending &= before.is_none_or(|before| first.is_none_or(|first| before < first));
            before = indices.last().copied();
            for (bytes, index) in bytes.iter_mut().zip(indices) {
                *bytes = index.to_le_bytes();
            }
            crc.update(
                bytes
                    .get(..indices.len())
                    .unwrap_or_default()
                    .as_flattened(),
            );
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
        self.each_block(|indices| {
            for some in indices.chunks(WORD as usize) {
                if let Some(run) = run_of(some, self.first) {
                    builder.add_word(word, std::mem::take(&mut bits));
                    builder.add(run);
                    word = (run.end() - 1) / WORD;
                    continue;
                }
                for index in some {
                    let id = (index - self.first) as u64;
                    if id / WORD != word {
                        builder.add_word(word, bits);
                        (word, bits) = (id / WORD, 0);
                    }
                    bits |= 1u64 << (id % WORD);
                }
            }
        });
        builder.add_word(word, bits);
        builder.finish()
    }

    /// Visits the runs of a list that ascends; two may follow each other without a gap.
    pub fn each_run(&self, mut visit: impl FnMut(Run) -> Result<bool>) -> Result<bool> {
        let (mut run, mut goes_on) = (Run::default(), Ok(true));
        self.each_block(|indices| {
            for some in indices.chunks(WORD as usize) {
                let mut add = |next: Run| {
                    if run.end() == next.first && run.count > 0 {
                        run.count += next.count;
                        return;
                    }
                    if run.count > 0 && matches!(goes_on, Ok(true)) {
                        goes_on = visit(run);
                    }
                    run = next;
                };
                if let Some(run) = run_of(some, self.first) {
                    add(run);
                    continue;
                }
                for index in some {
                    let first = (index - self.first) as u64;
                    add(Run { first, count: 1 });
                }
            }
        });
        match goes_on {
            Ok(true) if run.count > 0 => visit(run),
            other => other,
        }
    }

    fn each_block(&self, mut visit: impl FnMut(&[i64])) {
        match self.indices {
            Indices::Four(indices) => {
                let mut block = [0; BLOCK];
                for some in indices.chunks(BLOCK) {
                    for (place, index) in block.iter_mut().zip(some) {
                        *place = (*index).into();
                    }
                    visit(block.get(..some.len()).unwrap_or_default());
                }
            }
            Indices::Eight(indices) => indices.chunks(BLOCK).for_each(visit),
        }
    }
}

/// The run of indices that ascend, if they follow each other.
fn run_of(some: &[i64], first: i64) -> Option<Run> {
    let (from, last) = (some.first()?, some.last()?);
    let count = some.len() as u64;
    let follow = last.wrapping_sub(*from) as u64 == count - 1;
    (follow && count > 1).then(|| Run {
        first: (from - first) as u64,
        count,
    })
}

/// Whether all indices are in the whole, which begins with `first`. The signs of differences are joined, which takes no
/// branch for each index, and several indices at a time.
fn are_inside(indices: &[i64], first: i64, whole: u64) -> bool {
    let last = whole as i64 - 1;
    let wrong = indices.iter().fold(0, |wrong, index| {
        let id = index.wrapping_sub(first);
        let overflow = (index ^ first) & (index ^ id);
        wrong | overflow | id | last.wrapping_sub(id)
    });
    wrong >= 0
}

/// Whether each index is larger than the one before. They are in one whole, or the result does not matter.
fn ascend(indices: &[i64]) -> bool {
    let pairs = indices.iter().zip(indices.get(1..).unwrap_or_default());
    pairs.fold(0, |wrong, (a, b)| {
        wrong | b.wrapping_sub(*a).wrapping_sub(1)
    }) >= 0
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
