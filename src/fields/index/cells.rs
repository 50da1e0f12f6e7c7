//! Who has an index, and who needs it. The whole is cut into ranges, and each rank looks after one of them. It gets
//! the indices in its range from all ranks, ascending, and looks at one window after the other, so that its memory
//! does not grow with the whole.

use super::ids::{put, take};
use super::set::{Set, WINDOW, WORDS, Windows, Words, first_of, keep};
use crate::Result;
use crate::comm::{Communicator, deliver};
use crate::fields::messages::wrong_message;
use crate::fields::region::{Grid, cell_of, owner};
use std::collections::BTreeMap;
use std::ops::Range;

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

    /// The part of a range that is looked at as number `slice` of `slices`.
    pub fn slice_of(range: &Range<u64>, slice: u64, slices: u64) -> Range<u64> {
        let length = u128::from(range.end - range.start);
        let begin = |slice: u64| (length * u128::from(slice) / u128::from(slices.max(1))) as u64;
        range.start + begin(slice)..range.start + begin(slice + 1)
    }

    /// Cuts a set into the indices of each range that are in this slice, and calls `each` with the rank of the range, and
    /// the bytes of its set.
    ///
    /// # Errors
    /// The set is damaged.
    pub fn cut(
        &self,
        set: &Set,
        (slice, slices): (u64, u64),
        mut each: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        let mut from = 0;
        while let Some(first) = set.first_from(from)? {
            let cell = self.grid.number(0, first);
            let range = self.range(cell);
            from = range.end.max(first + 1);
            let bytes = set.cut(&Cells::slice_of(&range, slice, slices))?;
            if !bytes.is_empty() {
                each(owner(self.list, cell, self.size), &bytes);
            }
        }
        Ok(())
    }
}

/// A set in a message, window by window.
pub(super) struct InRange<'a> {
    windows: Windows<'a>,
    /// The number of the next window.
    next: Option<u64>,
    pub words: Box<Words>,
}

impl InRange<'_> {
    /// True if there are indices in this window, which are in `words` then.
    pub fn read(&mut self, number: u64) -> Result<bool> {
        if self.next != Some(number) {
            return Ok(false);
        }
        self.windows.read(&mut self.words)?;
        self.next = self.windows.peek()?;
        match self.next {
            Some(next) if next <= number => Err(wrong_message("its indices do not ascend")),
            _ => Ok(true),
        }
    }
}

pub(super) fn in_range<'a>(sets: impl Iterator<Item = &'a [u8]>) -> Result<Vec<InRange<'a>>> {
    sets.map(|bytes| {
        let windows = Windows::new(bytes, 0);
        Ok(InRange {
            next: windows.peek()?,
            windows,
            words: Box::new([0; WORDS]),
        })
    })
    .collect()
}

/// The indices of a range that several ranks have, window by window.
pub struct Held<'a> {
    range: Range<u64>,
    pub(super) have: Vec<InRange<'a>>,
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

impl<'a> Held<'a> {
    /// `have`: sets of indices in the range.
    ///
    /// # Errors
    /// A set is damaged.
    pub fn new(range: Range<u64>, have: impl Iterator<Item = &'a [u8]>) -> Result<Self> {
        let have = in_range(have)?;
        Ok(Held { range, have })
    }

    /// Reads the window of this number. Calls `visit` with the number of each one that has some of its indices, those
    /// that one before has, too, and those that none before has.
    pub(super) fn each(
        &mut self,
        number: u64,
        taken: &mut Words,
        mut visit: impl FnMut(usize, &Words, &Words),
    ) -> Result<()> {
        taken.fill(0);
        for (who, have) in self.have.iter_mut().enumerate() {
            if have.read(number)? {
                let (mut twice, mut new) = ([0; WORDS], [0; WORDS]);
                let all = twice.iter_mut().zip(&mut new).zip(taken.iter_mut());
                for (((twice, new), taken), have) in all.zip(have.words.iter()) {
                    *twice = have & *taken;
                    *new = have & !*taken;
                    *taken |= have;
                }
                visit(who, &twice, &new);
            }
        }
        Ok(())
    }

    /// The number of the one that has an index of the window that was read last.
    fn first_with(&self, number: u64, id: u64) -> Option<usize> {
        let at = id.checked_sub(number * WINDOW)? as usize;
        let has = |have: &InRange<'_>| {
            have.words
                .get(at / 64)
                .is_some_and(|word| word >> (at % 64) & 1 == 1)
        };
        self.have.iter().position(has)
    }

    /// The first index of the range that not exactly one has; if it may be `shared`, that nobody has.
    ///
    /// # Errors
    /// The indices do not ascend, or are damaged.
    pub fn first_wrong(mut self, shared: bool) -> Result<Option<Wrong>> {
        let range = self.range.clone();
        if range.is_empty() {
            return Ok(None);
        }
        let mut taken = [0; WORDS];
        for number in range.start / WINDOW..range.end.div_ceil(WINDOW) {
            let mut first: Option<(u64, usize)> = None;
            // Words of a window before have nothing in common with this one.
            self.have.iter_mut().for_each(|have| have.words.fill(0));
            self.each(number, &mut taken, |who, twice, _| {
                let found = first_of(twice, number).filter(|_| !shared);
                if let Some(id) = found.filter(|id| first.is_none_or(|(first, _)| *id < first)) {
                    first = Some((id, who));
                }
            })?;
            let mut holes = taken.map(|word| !word);
            keep(&mut holes, number, &range);
            let hole = first_of(&holes, number).map(Wrong::Missing);
            let twice = first
                .map(|(id, who)| Wrong::Twice(id, self.first_with(number, id).unwrap_or(who), who));
            let wrong = twice.into_iter().chain(hole);
            let wrong = wrong.min_by_key(|wrong| wrong.index());
            if wrong.is_some() {
                return Ok(wrong);
            }
        }
        Ok(None)
    }

    /// The next window in which one of these has indices.
    pub(super) fn next_window(&self, others: &[InRange<'_>]) -> Option<u64> {
        let all = self.have.iter().chain(others);
        all.filter_map(|set| set.next).min()
    }

    /// Calls `twice` for the indices of a window that several have: the number of the first one that has them, that of
    /// another, and the window. For each pair the windows ascend.
    ///
    /// # Errors
    /// The indices do not ascend, or are damaged.
    pub fn each_twice(mut self, mut twice: impl FnMut(usize, usize, u64, &Words)) -> Result<()> {
        let mut taken = [0; WORDS];
        // Who has an index first, and is the only one so far to have it in this window.
        let mut first: Vec<(usize, Words)> = Vec::new();
        while let Some(number) = self.next_window(&[]) {
            first.clear();
            self.each(number, &mut taken, |who, again, new| {
                for (before, words) in &first {
                    let both = common(words, again);
                    if both.iter().any(|word| *word != 0) {
                        twice(*before, who, number, &both);
                    }
                }
                first.push((who, *new));
            })?;
        }
        Ok(())
    }
}

/// What two windows have in common.
pub(super) fn common(a: &Words, b: &Words) -> Words {
    let mut both = *a;
    both.iter_mut()
        .zip(b)
        .for_each(|(word, other)| *word &= other);
    both
}

#[cfg(test)]
mod tests {
    use super::{Cells, Held, Wrong};
    use crate::fields::index::set::{Builder, Set};
    use crate::fields::index::set_runs::SetRuns;
    use std::collections::BTreeMap;

    fn set(indices: impl IntoIterator<Item = u64>) -> Set {
        let mut builder = Builder::default();
        indices.into_iter().for_each(|id| builder.add_bits(id, 1));
        builder.finish()
    }

    fn indices(bytes: &[u8]) -> impl Iterator<Item = u64> {
        let runs: Vec<_> = SetRuns::new(bytes).map(Result::unwrap).collect();
        runs.into_iter().flat_map(|run| run.first..run.end())
    }

    #[test]
    fn indices_go_to_the_ranks_of_their_ranges() {
        for (whole, size) in [(1, 3), (10, 1), (10, 4), (1000, 7), (200_000, 3)] {
            for (list, slices) in [(0, 1), (1, 2), (2, 7)] {
                let cells = Cells::new(whole, list, size);
                let all = set((0..whole).filter(|id| id % 3 != 1));
                let mut found = Vec::new();
                for slice in 0..slices {
                    let cut = cells.cut(&all, (slice, slices), |rank, bytes| {
                        let range = cells.of_rank(rank).unwrap();
                        let range = Cells::slice_of(&range, slice, slices);
                        for id in indices(bytes) {
                            assert!(range.contains(&id));
                            found.push(id);
                        }
                    });
                    cut.unwrap();
                }
                found.sort_unstable();
                assert!(found.into_iter().eq((0..whole).filter(|id| id % 3 != 1)));
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
        let wrong = |sets: &[Set], shared: bool| {
            let have = sets.iter().map(|set| &set.bytes[..]);
            let held = Held::new(10..whole, have).unwrap();
            held.first_wrong(shared).unwrap()
        };
        let (a, b) = (set(10..90_000), set(90_000..whole));
        assert_eq!(wrong(&[a.clone(), b.clone()], false), None);
        assert_eq!(wrong(&[b.clone(), a.clone()], false), None);
        let missing = Some(Wrong::Missing(90_000));
        assert_eq!(wrong(std::slice::from_ref(&a), false), missing);
        assert_eq!(wrong(&[], false), Some(Wrong::Missing(10)));
        let again = set([150_000, 150_001]);
        let sets = [a.clone(), again.clone(), b.clone()];
        assert_eq!(wrong(&sets, false), Some(Wrong::Twice(150_000, 1, 2)));
        assert_eq!(wrong(&sets, true), None);
        let sets = [set([70_000]), a.clone(), set([65_536]), b.clone()];
        assert_eq!(wrong(&sets, false), Some(Wrong::Twice(65_536, 1, 2)));
        let sets = [a, again, set(90_001..whole)];
        assert_eq!(wrong(&sets, false), Some(Wrong::Missing(90_000)));
        assert_eq!(wrong(&sets, true), Some(Wrong::Missing(90_000)));
    }

    #[test]
    fn indices_that_several_have_are_found() {
        let sets = [
            set(0..40_000),
            set(39_000..60_000),
            set((10..59_000).step_by(100)),
        ];
        let held = Held::new(0..60_000, sets.iter().map(|set| &set.bytes[..])).unwrap();
        let mut pairs: BTreeMap<(usize, usize), Builder> = BTreeMap::new();
        let found = held.each_twice(|a, b, number, words| {
            pairs.entry((a, b)).or_default().add_window(number, words);
        });
        found.unwrap();
        let found: BTreeMap<_, Vec<u64>> = pairs
            .into_iter()
            .map(|(pair, builder)| (pair, indices(&builder.finish().bytes).collect()))
            .collect();
        assert_eq!(found.len(), 3);
        assert!(found[&(0, 1)].iter().copied().eq(39_000..40_000));
        assert!(found[&(0, 2)].iter().copied().eq((10..40_000).step_by(100)));
        assert!(
            found[&(1, 2)]
                .iter()
                .copied()
                .eq((40_010..59_000).step_by(100))
        );
    }

    #[test]
    fn windows_that_do_not_ascend_are_an_error() {
        let bytes = [set([100_000]).bytes, set([5]).bytes].concat();
        let held = || Held::new(0..200_000, [&bytes[..]].into_iter()).unwrap();
        assert!(held().each_twice(|_, _, _, _| ()).is_err());
        assert!(held().first_wrong(false).unwrap().is_some());
    }
}
