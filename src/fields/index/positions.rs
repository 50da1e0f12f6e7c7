//! Where each index stands in the list of a rank.

use super::ids::{Ids, Run};
use crate::Result;

/// A run of a list, and the position of its first index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Placed {
    run: Run,
    at: u64,
}

/// Positions of indices that the list had before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// The first position.
    pub at: u64,
    /// The position at which the list had the same index first.
    pub first: u64,
    /// How many positions.
    pub count: u64,
}

/// The positions of all indices of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positions {
    /// Ascending, without an index that is there twice.
    runs: Vec<Placed>,
    again: Vec<Again>,
}

impl Positions {
    /// The positions of a list with indices below `whole`.
    ///
    /// # Errors
    /// The list is damaged.
    pub fn of(ids: &Ids, whole: u64) -> Result<Self> {
        let (mut runs, mut at) = (Vec::new(), 0);
        for run in ids.runs(whole) {
            let run = run?;
            runs.push(Placed { run, at });
            at += run.count;
        }
        let mut positions = Positions {
            runs,
            again: Vec::new(),
        };
        if !ids.ascending {
            positions.sort()?;
        }
        Ok(positions)
    }

    /// Sorts the runs, and cuts out the indices that are there twice.
    fn sort(&mut self) -> Result<()> {
        let mut given = std::mem::take(&mut self.runs);
        given.sort_unstable();
        let mut end = 0;
        for mut placed in given {
            let twice = end.min(placed.run.end()).saturating_sub(placed.run.first);
            if twice > 0 {
                let run = Run {
                    count: twice,
                    ..placed.run
                };
                let (mut again, mut at) = (Vec::new(), placed.at);
                self.each(run, |first, count| {
                    again.push(Again { at, first, count });
                    at += count;
                    Ok(())
                })?;
                self.again.append(&mut again);
                placed.run.first += twice;
                placed.run.count -= twice;
                placed.at += twice;
            }
            if placed.run.count > 0 {
                end = placed.run.end();
                self.runs.push(placed);
            }
        }
        Ok(())
    }

    /// Positions of indices that the list had before.
    pub fn again(&self) -> &[Again] {
        &self.again
    }

    /// The indices, ascending, each once.
    pub fn sorted(&self) -> impl Iterator<Item = Run> {
        self.runs.iter().map(|placed| placed.run)
    }

    /// Visits the positions of indices, as a position and the number of positions that follow each other; false if
    /// the list does not have all of them.
    ///
    /// # Errors
    /// The errors of `visit`.
    pub fn each(&self, run: Run, mut visit: impl FnMut(u64, u64) -> Result<()>) -> Result<bool> {
        let mut place = self
            .runs
            .partition_point(|placed| placed.run.end() <= run.first);
        let mut next = run.first;
        while next < run.end() {
            let placed = self
                .runs
                .get(place)
                .filter(|placed| placed.run.first <= next);
            let Some(placed) = placed else {
                return Ok(false);
            };
            let count = run.end().min(placed.run.end()) - next;
            visit(placed.at + next - placed.run.first, count)?;
            next += count;
            place += 1;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::{Again, Positions};
    use crate::fields::index::ids::{Encoder, Ids, Run};

    fn ids(indices: &[u64]) -> Ids {
        let mut encoder = Encoder::default();
        indices.iter().for_each(|first| {
            encoder.add(Run {
                first: *first,
                count: 1,
            })
        });
        encoder.finish()
    }

    #[test]
    fn each_index_is_found_where_it_stands() {
        let mut x = 7u64;
        let mut random = |below: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (x >> 33) % below
        };
        for case in 0..2000 {
            let whole = 1 + random(40);
            let mut list: Vec<u64> = (0..random(30)).map(|_| random(whole)).collect();
            if case % 3 == 0 {
                list.sort_unstable();
            }
            let positions = Positions::of(&ids(&list), whole).unwrap();
            let first = |id: u64| list.iter().position(|other| *other == id);
            let mut distinct = list.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let sorted: Vec<u64> = positions
                .sorted()
                .flat_map(|run| run.first..run.end())
                .collect();
            assert_eq!(sorted, distinct);
            for from in 0..whole {
                for count in 1..=whole - from {
                    let (mut id, mut right) = (from, true);
                    let found = positions.each(Run { first: from, count }, |at, count| {
                        for at in at..at + count {
                            right &= list[at as usize] == id;
                            id += 1;
                        }
                        Ok(())
                    });
                    assert!(right, "{list:?}");
                    let has_all = (from..from + count).all(|id| first(id).is_some());
                    assert_eq!(found, Ok(has_all), "{list:?}: {from}, {count}");
                }
            }
            let mut seen: Vec<(u64, u64)> = Vec::new();
            for Again { at, first, count } in positions.again() {
                seen.extend((0..*count).map(|i| (at + i, first + i)));
            }
            let same = |(at, first): &(u64, u64)| list[*at as usize] == list[*first as usize];
            assert!(seen.iter().all(same), "{list:?}");
            assert_eq!(seen.len(), list.len() - distinct.len(), "{list:?}");
        }
    }
}
