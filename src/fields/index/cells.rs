//! Who has an index, and who needs it. The whole is cut into ranges, and each rank looks after one of them. It gets
//! the indices in its range from all ranks, ascending, and looks at one window after the other, so that its memory
//! does not grow with the whole.

use super::ids::{Encoder, Ids, Run, Runs, put, take};
use super::positions::Positions;
use crate::Result;
use crate::comm::{Communicator, deliver};
use crate::fields::messages::wrong_message;
use crate::fields::region::{Grid, cell_of, owner};
use std::collections::BTreeMap;
use std::ops::Range;

/// Indices that are looked at together.
const WINDOW: u64 = 1 << 16;

/// The mark of an index that nobody has.
const NOBODY: u32 = u32::MAX;

/// Indices of one list in a message, with two numbers whose meaning is that of the message.
#[derive(Debug)]
pub struct Part {
    /// The number of the list among those of the program.
    pub list: usize,
    /// Say what the indices are.
    pub marks: [u64; 2],
    /// The indices.
    pub ids: Vec<u8>,
}

/// Messages to other ranks, made of parts.
#[derive(Default)]
pub struct Parcels(BTreeMap<usize, Vec<u8>>);

impl Parcels {
    /// Adds a part to the message for a rank.
    pub fn add(&mut self, to: usize, list: usize, marks: [u64; 2], ids: &[u8]) {
        let message = self.0.entry(to).or_default();
        for number in [list as u64, marks[0], marks[1], ids.len() as u64] {
            put(message, number);
        }
        message.extend_from_slice(ids);
    }

    /// Sends the messages; the parts that come, each with its sender. `lists` is the number of lists. Collective.
    pub fn exchange(self, comm: &dyn Communicator, lists: usize) -> Result<Vec<(usize, Part)>> {
        let received = deliver(comm, self.0.into_iter().collect())?;
        let mut parts = Vec::new();
        for (from, message) in received {
            let mut rest = &message[..];
            while !rest.is_empty() {
                let part = part(&mut rest).map_err(|error| wrong_message(&error.to_string()))?;
                if part.list >= lists {
                    return Err(wrong_message("it has an index list that is not there"));
                }
                parts.push((from, part));
            }
        }
        Ok(parts)
    }
}

fn part(rest: &mut &[u8]) -> Result<Part> {
    let list = take(rest)? as usize;
    let marks = [take(rest)?, take(rest)?];
    let length = take(rest)? as usize;
    let (ids, after) = rest
        .split_at_checked(length)
        .ok_or_else(|| wrong_message("it ends too early"))?;
    *rest = after;
    Ok(Part {
        list,
        marks,
        ids: ids.to_vec(),
    })
}

/// The ranges of the whole of one list.
pub struct Cells {
    grid: Grid,
    list: usize,
    size: usize,
}

impl Cells {
    /// The ranges of list number `list` for `size` ranks.
    pub fn new(whole: u64, list: usize, size: usize) -> Self {
        let grid = Grid::new(&[whole], size);
        Cells { grid, list, size }
    }

    /// The range of a rank, if it has one.
    pub fn of_rank(&self, rank: usize) -> Option<Range<u64>> {
        let cell = cell_of(self.list, rank, self.size, &self.grid)?;
        Some(self.range(cell))
    }

    fn range(&self, cell: u64) -> Range<u64> {
        let region = self.grid.cell(cell);
        let (at, extent) = (region.at.first(), region.extents.first());
        let at = at.copied().unwrap_or(0);
        at..at + extent.copied().unwrap_or(0)
    }

    /// Cuts a list, in whatever order, into the indices of each range, ascending and each once, and calls `each` with the
    /// rank of the range. Returns the positions of the list if they were needed.
    ///
    /// # Errors
    /// The list is damaged.
    pub fn cut_list(
        &self,
        ids: &Ids,
        whole: u64,
        each: impl FnMut(usize, Ids),
    ) -> Result<Option<Positions>> {
        if ids.ascending {
            self.cut(ids.runs(whole), each)?;
            return Ok(None);
        }
        let positions = Positions::of(ids, whole)?;
        self.cut(positions.sorted().map(Ok), each)?;
        Ok(Some(positions))
    }

    /// Cuts ascending indices into those of each range, and calls `each` with the rank of the range.
    pub fn cut(
        &self,
        runs: impl Iterator<Item = Result<Run>>,
        mut each: impl FnMut(usize, Ids),
    ) -> Result<()> {
        let mut now: Option<(u64, Range<u64>, Encoder)> = None;
        let mut finish = |cell: u64, encoder: Encoder| {
            each(owner(self.list, cell, self.size), encoder.finish());
        };
        for run in runs {
            let mut run = run?;
            while run.count > 0 {
                let beyond = |range: &Range<u64>| run.first >= range.end;
                if now.as_ref().is_none_or(|(_, range, _)| beyond(range)) {
                    let cell = self.grid.number(0, run.first);
                    let next = Some((cell, self.range(cell), Encoder::default()));
                    if let Some((cell, _, encoder)) = std::mem::replace(&mut now, next) {
                        finish(cell, encoder);
                    }
                }
                let Some((_, range, encoder)) = &mut now else {
                    break;
                };
                let count = run.count.min(range.end - run.first);
                encoder.add(Run { count, ..run });
                run.first += count;
                run.count -= count;
            }
        }
        if let Some((cell, _, encoder)) = now {
            finish(cell, encoder);
        }
        Ok(())
    }
}

/// The indices of a range from several ranks, window by window.
pub struct Windows<'a> {
    range: Range<u64>,
    /// Who has each index of a window.
    owners: Vec<u32>,
    have: Vec<Runs<'a>>,
}

/// An index that two have, or that nobody has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// The index, and the numbers of the two that have it.
    Twice(u64, usize, usize),
    /// The index.
    Missing(u64),
}

impl Wrong {
    /// The index.
    pub fn index(self) -> u64 {
        match self {
            Wrong::Twice(index, ..) | Wrong::Missing(index) => index,
        }
    }
}

impl<'a> Windows<'a> {
    /// `have`: ascending indices in the range.
    pub fn new(range: Range<u64>, have: Vec<Runs<'a>>) -> Self {
        Windows {
            range,
            owners: Vec::new(),
            have,
        }
    }

    /// Notes who has the indices of the next window. `twice` is called for an index that two have.
    fn next(&mut self, mut twice: impl FnMut(u64, usize, usize)) -> Result<Option<Range<u64>>> {
        if self.range.is_empty() {
            return Ok(None);
        }
        let window = self.range.start..self.range.end.min(self.range.start + WINDOW);
        self.range.start = window.end;
        self.owners.clear();
        self.owners
            .resize((window.end - window.start) as usize, NOBODY);
        for (number, runs) in self.have.iter_mut().enumerate() {
            while let Some(run) = runs.take_below(window.end)? {
                let from = run.first.checked_sub(window.start);
                let places = from.and_then(|from| {
                    let from = from as usize;
                    self.owners.get_mut(from..from + run.count as usize)
                });
                let places = places.ok_or_else(|| wrong_message("its indices do not ascend"))?;
                for (id, place) in (run.first..).zip(places) {
                    match *place {
                        NOBODY => *place = number as u32,
                        other => twice(id, other as usize, number),
                    }
                }
            }
        }
        Ok(Some(window))
    }

    /// The first index of the range that not exactly one has; if it may be `shared`, that nobody has.
    ///
    /// # Errors
    /// The indices do not ascend, or are damaged.
    pub fn first_wrong(mut self, shared: bool) -> Result<Option<Wrong>> {
        let mut first: Option<Wrong> = None;
        loop {
            let window = self.next(|id, a, b| {
                if !shared && first.is_none_or(|wrong| id < wrong.index()) {
                    first = Some(Wrong::Twice(id, a, b));
                }
            })?;
            let Some(window) = window else {
                return Ok(None);
            };
            let hole = self.owners.iter().position(|owner| *owner == NOBODY);
            let hole = hole.map(|place| Wrong::Missing(window.start + place as u64));
            let wrong = first
                .into_iter()
                .chain(hole)
                .min_by_key(|wrong| wrong.index());
            if wrong.is_some() {
                return Ok(wrong);
            }
        }
    }

    /// Calls `twice` for each index that several have: the index, the number of the first one that has it, and that of
    /// another. For each pair the indices ascend.
    ///
    /// # Errors
    /// The indices do not ascend, or are damaged.
    pub fn each_twice(mut self, mut twice: impl FnMut(u64, usize, usize)) -> Result<()> {
        while self.next(&mut twice)?.is_some() {}
        Ok(())
    }

    /// Calls `found` with the number of the one that has wanted indices, the number of the one that wants them, and
    /// the indices: ascending for each pair. Returns the first index that is wanted and that nobody has, with the
    /// number of the one that wants it.
    ///
    /// # Errors
    /// The indices do not ascend, or are damaged.
    pub fn matches(
        mut self,
        mut want: Vec<Runs<'_>>,
        mut found: impl FnMut(usize, usize, Run),
    ) -> Result<Option<(u64, usize)>> {
        let mut missing = None;
        // If several have the same index, the first one sends it.
        while let Some(window) = self.next(|_, _, _| ())? {
            for (number, runs) in want.iter_mut().enumerate() {
                while let Some(run) = runs.take_below(window.end)? {
                    let from = run.first.checked_sub(window.start);
                    let owners = from.and_then(|from| {
                        let from = from as usize;
                        self.owners.get(from..from + run.count as usize)
                    });
                    let owners =
                        owners.ok_or_else(|| wrong_message("its indices do not ascend"))?;
                    let mut first = run.first;
                    for same in owners.chunk_by(|a, b| a == b) {
                        let count = same.len() as u64;
                        match same.first() {
                            Some(&NOBODY) | None => {
                                missing.get_or_insert((first, number));
                            }
                            Some(owner) => found(*owner as usize, number, Run { first, count }),
                        }
                        first += count;
                    }
                }
            }
        }
        Ok(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, Windows, Wrong};
    use crate::fields::index::ids::{Encoder, Ids, Run};
    use std::collections::BTreeMap;

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
    fn indices_go_to_the_ranks_of_their_ranges() {
        for (whole, size) in [(1, 3), (10, 1), (10, 4), (1000, 7), (200_000, 3)] {
            for list in 0..3 {
                let cells = Cells::new(whole, list, size);
                let all = ids(&(0..whole).filter(|id| id % 3 != 1).collect::<Vec<_>>());
                let mut found = Vec::new();
                let cut = cells.cut(all.runs(whole), |rank, ids| {
                    let range = cells.of_rank(rank).unwrap();
                    for run in ids.runs(whole) {
                        let run = run.unwrap();
                        assert!(range.contains(&run.first) && run.end() <= range.end);
                        found.extend(run.first..run.end());
                    }
                });
                cut.unwrap();
                assert!(
                    found
                        .iter()
                        .copied()
                        .eq((0..whole).filter(|id| id % 3 != 1))
                );
                let ranges = (0..size).filter_map(|rank| cells.of_rank(rank));
                assert_eq!(
                    ranges.map(|range| range.end - range.start).sum::<u64>(),
                    whole
                );
            }
        }
    }

    #[test]
    fn the_first_wrong_index_is_found() {
        let whole = 200_000u64;
        let block = |from: u64, to: u64| ids(&(from..to).collect::<Vec<_>>());
        let wrong = |lists: &[Ids]| {
            let runs = lists.iter().map(|ids| ids.runs(whole)).collect();
            Windows::new(10..whole, runs).first_wrong(false).unwrap()
        };
        let (a, b) = (block(10, 90_000), block(90_000, whole));
        assert_eq!(wrong(&[a.clone(), b.clone()]), None);
        assert_eq!(wrong(&[b.clone(), a.clone()]), None);
        assert_eq!(
            wrong(std::slice::from_ref(&a)),
            Some(Wrong::Missing(90_000))
        );
        assert_eq!(wrong(&[]), Some(Wrong::Missing(10)));
        let again = ids(&[150_000, 150_001]);
        let lists = [a.clone(), again.clone(), b.clone()];
        assert_eq!(wrong(&lists), Some(Wrong::Twice(150_000, 1, 2)));
        let lists = [a, again, block(90_001, whole)];
        assert_eq!(wrong(&lists), Some(Wrong::Missing(90_000)));
    }

    #[test]
    fn wanted_indices_are_matched_with_those_that_have_them() {
        let whole = 150_000u64;
        let have: Vec<Ids> = (0..3)
            .map(|rank| {
                ids(&(0..whole)
                    .filter(|id| id / 5 % 3 == rank)
                    .collect::<Vec<_>>())
            })
            .collect();
        let want = [
            ids(&(0..whole / 2).collect::<Vec<_>>()),
            ids(&[1, 6, 140_000]),
        ];
        let mut found: BTreeMap<(usize, usize), Vec<u64>> = BTreeMap::new();
        let windows = Windows::new(0..whole, have.iter().map(|ids| ids.runs(whole)).collect());
        let missing = windows.matches(
            want.iter().map(|ids| ids.runs(whole)).collect(),
            |h, w, run| {
                found
                    .entry((h, w))
                    .or_default()
                    .extend(run.first..run.end());
            },
        );
        assert_eq!(missing, Ok(None));
        assert_eq!(found[&(0, 1)], [1]);
        assert_eq!(found[&(1, 1)], [6, 140_000]);
        for rank in 0..3u64 {
            let right: Vec<u64> = (0..whole / 2).filter(|id| id / 5 % 3 == rank).collect();
            assert_eq!(found[&(rank as usize, 0)], right);
        }
        let windows = Windows::new(0..whole, vec![have[0].runs(whole)]);
        let missing = windows.matches(vec![want[1].runs(whole)], |_, _, _| ());
        assert_eq!(missing, Ok(Some((6, 0))));
    }
}
