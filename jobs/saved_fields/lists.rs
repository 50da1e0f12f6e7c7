//! The index lists of all ranks that wrote a dataset: which rank has which elements of the whole, and where.

use scr_engine::Result;
use scr_engine::fields::index::ids::{Cursor, Ids, Run, Runs};
use std::ops::Range;

/// The most indices that are checked together.
const WINDOW: u64 = 1 << 26;

/// The index lists of all ranks. In memory they are as in the files: one or two bytes for each index, or less.
pub(super) struct Lists {
    whole: u64,
    ids: Vec<Ids>,
    /// Several ranks may have an index: their elements are equal.
    shared: bool,
}

/// The places in ascending lists that were reached, and the positions in the lists.
pub(super) struct Reached(Vec<(Cursor, u64)>);

/// An index that not exactly one rank has, once; of shared lists, that none has.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrongIndex {
    /// The index, from 0 on.
    pub id: u64,
    /// The ranks that have it. A rank that has it twice is there twice.
    pub ranks: Vec<usize>,
}

impl Lists {
    /// The lists by rank, of a whole of so many elements.
    pub fn new(whole: u64, ids: Vec<Ids>, shared: bool) -> Self {
        Lists { whole, ids, shared }
    }

    /// True if no rank has an index before a smaller one.
    pub fn ascend(&self) -> bool {
        self.ids.iter().all(|ids| ids.ascending)
    }

    /// The beginning of all lists.
    pub fn begin(&self) -> Reached {
        Reached(vec![Default::default(); self.ids.len()])
    }

    /// Calls `visit` with the indices of `window` that a rank has, in the order of its list: the position of the first
    /// index, and indices that follow each other there. The window begins where the one before ended; its indices
    /// from `again` on belong to the next one, too.
    ///
    /// # Errors
    /// The errors of `visit`.
    pub fn each_in(
        &self,
        reached: &mut Reached,
        rank: usize,
        (window, again): (Range<u64>, u64),
        mut visit: impl FnMut(u64, Run) -> Result<()>,
    ) -> Result<()> {
        let (Some(ids), Some((cursor, position))) = (self.ids.get(rank), reached.0.get_mut(rank))
        else {
            return Ok(());
        };
        if !ids.ascending {
            return each_of(ids, self.whole, &window, visit);
        }
        let mut runs = Runs::from(&ids.bytes, self.whole, *cursor);
        while let Some(run) = runs.take_below(again)? {
            visit(*position, run)?;
            *position += run.count;
        }
        *cursor = runs.cursor();
        let mut position = *position;
        while let Some(run) = runs.take_below(window.end)? {
            visit(position, run)?;
            position += run.count;
        }
        Ok(())
    }

    /// The first index that not exactly one rank has, or of shared lists none.
    ///
    /// # Errors
    /// A list is damaged.
    pub fn first_wrong(&self) -> Result<Option<WrongIndex>> {
        let counts = self.ids.iter().map(|ids| ids.count);
        let all = counts.fold(0, u64::saturating_add);
        // If fewer indices are there than the whole has elements, one of the first of these is missing.
        let step = WINDOW.min(all.saturating_add(1));
        let (mut reached, mut begin) = (self.begin(), 0);
        let mut seen: Vec<u64> = Vec::new();
        while begin < self.whole {
            let window = begin..self.whole.min(begin + step);
            let length = window.end - begin;
            seen.clear();
            seen.resize(length.div_ceil(64) as usize, 0);
            let mut twice: Option<u64> = None;
            for rank in 0..self.ids.len() {
                let window = (window.clone(), window.end);
                self.each_in(&mut reached, rank, window, |_, run| {
                    for id in run.first..run.end() {
                        let (place, bit) = ((id - begin) / 64, 1 << ((id - begin) % 64));
                        if let Some(word) = seen.get_mut(place as usize) {
                            if *word & bit != 0 && !self.shared {
                                twice = Some(twice.map_or(id, |twice| twice.min(id)));
                            }
                            *word |= bit;
                        }
                    }
                    Ok(())
                })?;
            }
            let hole = seen
                .iter()
                .zip((begin..).step_by(64))
                .find_map(|(word, first)| {
                    let id = first + u64::from(word.trailing_ones());
                    (*word != u64::MAX && id < window.end).then_some(id)
                });
            if let Some(id) = twice.into_iter().chain(hole).min() {
                return Ok(Some(self.wrong(id)?));
            }
            begin = window.end;
        }
        Ok(None)
    }

    fn wrong(&self, id: u64) -> Result<WrongIndex> {
        let mut ranks = Vec::new();
        for (rank, ids) in self.ids.iter().enumerate() {
            each_of(ids, self.whole, &(id..id + 1), |_, _| {
                ranks.push(rank);
                Ok(())
            })?;
        }
        Ok(WrongIndex { id, ranks })
    }
}

/// Visits the indices of `window` in one list, which need not ascend.
fn each_of(
    ids: &Ids,
    whole: u64,
    window: &Range<u64>,
    mut visit: impl FnMut(u64, Run) -> Result<()>,
) -> Result<()> {
    let mut position = 0;
    for run in ids.runs(whole) {
        let run = run?;
        let (first, end) = (run.first.max(window.start), run.end().min(window.end));
        if first < end {
            let count = end - first;
            visit(position + first - run.first, Run { first, count })?;
        }
        position += run.count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Lists, WrongIndex};
    use scr_engine::fields::index::ids::{Encoder, Ids, Run};

    fn ids(indices: &[u64]) -> Ids {
        let mut encoder = Encoder::default();
        let runs = indices.iter().map(|first| Run {
            first: *first,
            count: 1,
        });
        runs.for_each(|run| encoder.add(run));
        encoder.finish()
    }

    fn lists(whole: u64, all: &[&[u64]]) -> Lists {
        Lists::new(whole, all.iter().map(|list| ids(list)).collect(), false)
    }

    #[test]
    fn each_window_has_the_indices_that_are_in_it() {
        let all = [&[1u64, 2, 3, 6, 7][..], &[5, 8, 0, 4], &[]];
        let lists = lists(9, &all);
        for step in 1..=10 {
            // A border may be in the middle of the elements of an index.
            for shared in [false, true] {
                let mut reached = lists.begin();
                let mut begin = 0;
                while begin < 9 {
                    let again = 9.min(begin + step);
                    let window = begin..9.min(again + u64::from(shared));
                    for (rank, list) in all.iter().enumerate() {
                        let mut found = Vec::new();
                        let place = (window.clone(), again);
                        let visit = |position: u64, run: Run| {
                            for (position, id) in (position..).zip(run.first..run.end()) {
                                assert_eq!(list[position as usize], id);
                                found.push(id);
                            }
                            Ok(())
                        };
                        lists.each_in(&mut reached, rank, place, visit).unwrap();
                        let mut right = list.to_vec();
                        right.retain(|id| window.contains(id));
                        assert_eq!(found, right, "{step} {window:?}");
                    }
                    begin = again;
                }
            }
        }
    }

    #[test]
    fn the_first_wrong_index_is_found_with_its_ranks() {
        let wrong = |whole, all: &[&[u64]]| lists(whole, all).first_wrong().unwrap();
        let found = |id, ranks: &[usize]| {
            Some(WrongIndex {
                id,
                ranks: ranks.to_vec(),
            })
        };
        assert_eq!(wrong(4, &[&[0, 3], &[2, 1]]), None);
        assert_eq!(wrong(0, &[&[]]), None);
        assert_eq!(wrong(4, &[&[0, 3], &[2]]), found(1, &[]));
        assert_eq!(wrong(4, &[&[0, 3], &[2, 1, 3]]), found(3, &[0, 1]));
        assert_eq!(wrong(4, &[&[0], &[2, 1, 3, 2]]), found(2, &[1, 1]));
        // A hole before and after one that is there twice.
        assert_eq!(wrong(5, &[&[3], &[0, 1, 3]]), found(2, &[]));
        assert_eq!(wrong(5, &[&[3, 4], &[0, 1, 0]]), found(0, &[1, 1]));
        let shared = |whole, all: &[&[u64]]| {
            let ids = all.iter().map(|list| ids(list)).collect();
            Lists::new(whole, ids, true).first_wrong().unwrap()
        };
        assert_eq!(shared(4, &[&[0, 3, 1], &[2, 1, 3], &[3]]), None);
        assert_eq!(shared(5, &[&[0, 3, 1], &[2, 1, 3], &[3]]), found(4, &[]));
        // The whole is much larger than the lists.
        assert_eq!(wrong(1 << 60, &[&[0], &[1]]), found(2, &[]));
        let long: Vec<u64> = (0..200).collect();
        assert_eq!(wrong(200, &[&long[..64], &long[64..]]), None);
        assert_eq!(wrong(201, &[&long[..64], &long[64..]]), found(200, &[]));
        assert_eq!(wrong(200, &[&long[..64], &long[65..]]), found(64, &[]));
    }
}
