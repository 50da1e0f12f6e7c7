//! Lists of ranks that are short where ranks are placed regularly.

use crate::{Error, Result};
use std::ops::Range;

/// Ranks in few numbers: runs whose ranks are the same step apart. The ranks of a node are one run, both if
/// they are numbered one after the other and if they are dealt out to the nodes in turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankList(Vec<Run>);

/// `count` ranks from `first` on. The step is 0 if there is only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: u32,
    step: u32,
    count: u32,
}

impl Run {
    fn last(self) -> u32 {
        self.first + self.step * (self.count - 1)
    }

    /// This run and `next` joined to one, if that is possible.
    fn with(self, next: Run) -> Option<Run> {
        let gap = next.first.checked_sub(self.last())?;
        let fits = |run: Run| run.count == 1 || run.step == gap;
        (gap > 0 && fits(self) && fits(next)).then_some(Run {
            first: self.first,
            step: gap,
            count: self.count + next.count,
        })
    }
}

impl RankList {
    /// A list of one rank.
    pub fn one(rank: usize) -> Self {
        // A group has at most 2^31 - 1 ranks, as MPI numbers them with an int.
        RankList(vec![Run {
            first: rank as u32,
            step: 0,
            count: 1,
        }])
    }

    /// All ranks of a group of `size`.
    pub fn all(size: usize) -> Self {
        let mut list = RankList::one(0);
        if let Some(run) = list.0.first_mut().filter(|_| size > 1) {
            (run.step, run.count) = (1, size as u32);
        }
        list
    }

    /// Adds ranks at the end.
    pub fn append(&mut self, more: &RankList) {
        for run in &more.0 {
            match self.0.last_mut() {
                Some(last) => match last.with(*run) {
                    Some(joined) => *last = joined,
                    None => self.0.push(*run),
                },
                None => self.0.push(*run),
            }
        }
    }

    /// These ranks in rising order, if the list rises except at one place, where it falls to its lowest rank.
    pub(super) fn rotated(mut self) -> Self {
        let falls = |pair: &[Run]| {
            pair.first()
                .zip(pair.last())
                .is_some_and(|(a, b)| b.first < a.last())
        };
        let Some(at) = self.0.windows(2).position(falls) else {
            return self;
        };
        let mut first = RankList(self.0.split_off(at + 1));
        first.append(&self);
        first
    }

    /// The ranks, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let ranks = |run: &Run| {
            let Run { first, step, count } = *run;
            (0..count as usize).map(move |at| first as usize + at * step as usize)
        };
        self.0.iter().flat_map(ranks)
    }

    /// Number of ranks.
    pub fn len(&self) -> usize {
        self.0.iter().map(|run| run.count as usize).sum()
    }

    /// True without any rank.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first rank of the list.
    pub fn first(&self) -> Option<usize> {
        self.0.first().map(|run| run.first as usize)
    }

    /// The ranks of the list that are in `span`.
    pub(super) fn within(&self, span: &Range<usize>) -> RankList {
        let (start, end) = (span.start as u64, span.end as u64);
        let cut = |run: &Run| {
            let Run { first, step, count } = *run;
            let (first, step) = (u64::from(first), u64::from(step.max(1)));
            // How many ranks of the run are below `rank`.
            let below = |rank: u64| rank.saturating_sub(first).div_ceil(step).min(count.into());
            let (skipped, kept) = (below(start), below(end).saturating_sub(below(start)));
            (kept > 0).then_some(Run {
                first: (first + skipped * step) as u32,
                step: if kept == 1 { 0 } else { run.step },
                count: kept as u32,
            })
        };
        RankList(self.0.iter().filter_map(cut).collect())
    }

    /// A message of the list and of data about its ranks: the number of runs (u32, little endian), the runs, and
    /// `body`.
    pub(super) fn pack_with(&self, body: &[u8]) -> Vec<u8> {
        let runs = (self.0.len() as u32).to_le_bytes();
        [&runs[..], &self.pack(), body].concat()
    }

    /// Takes the message of [`RankList::pack_with`] apart.
    pub(super) fn unpack_with(message: &[u8], size: usize) -> Result<(Self, Vec<u8>)> {
        let split = message.split_first_chunk::<4>().and_then(|(runs, rest)| {
            let length = 12 * u64::from(u32::from_le_bytes(*runs));
            rest.split_at_checked(usize::try_from(length).ok()?)
        });
        let (ranks, body) = split.ok_or_else(|| Error::format(0, "no list of ranks"))?;
        Ok((RankList::unpack(ranks, size)?, body.to_vec()))
    }

    /// The list in numbers, three for each run.
    pub fn numbers(&self) -> Vec<u32> {
        let numbers = self
            .0
            .iter()
            .flat_map(|run| [run.first, run.step, run.count]);
        numbers.collect()
    }

    /// The list from the numbers of a rank of a group of `size`.
    ///
    /// # Errors
    /// The list is empty, has more ranks than the group, or names a rank that is not in the group.
    pub fn from_numbers(numbers: &[u32], size: usize) -> Result<Self> {
        let (runs, more) = numbers.as_chunks::<3>();
        let run = |[first, step, count]: &[u32; 3]| {
            let run = Run {
                first: *first,
                step: *step,
                count: *count,
            };
            let steps = u64::from(count.checked_sub(1)?) * u64::from(*step);
            let rises = (*count == 1) == (*step == 0);
            (rises && u64::from(*first) + steps < size as u64).then_some(run)
        };
        let runs: Option<Vec<Run>> = runs.iter().map(run).collect();
        let list = runs.map(RankList).filter(|list| list.len() <= size);
        let list = list.filter(|_| more.is_empty());
        list.ok_or_else(|| Error::format(0, "no list of ranks of this group"))
    }

    /// [`RankList::numbers`], with the ranks as distances from `origin`. So lists of ranks that are placed alike
    /// become the same.
    pub fn distances(&self, origin: usize) -> Vec<u32> {
        moved(self.numbers(), |first| first.wrapping_sub(origin as u32))
    }

    /// The list from its [`RankList::distances`] from a rank of a group of `size`; errors as of
    /// [`RankList::from_numbers`].
    pub fn from_distances(distances: &[u32], origin: usize, size: usize) -> Result<Self> {
        let numbers = moved(distances.to_vec(), |first| {
            first.wrapping_add(origin as u32)
        });
        RankList::from_numbers(&numbers, size)
    }

    /// The list as a message: 4 bytes a number, little endian.
    pub fn pack(&self) -> Vec<u8> {
        self.numbers()
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect()
    }

    /// The list from a message of [`RankList::pack`]; errors as of [`RankList::from_numbers`].
    pub fn unpack(message: &[u8], size: usize) -> Result<Self> {
        let (numbers, rest) = message.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(Error::format(0, "no list of ranks"));
        }
        let numbers: Vec<u32> = numbers.iter().map(|n| u32::from_le_bytes(*n)).collect();
        RankList::from_numbers(&numbers, size)
    }
}

/// Numbers of a list with the first rank of each run changed.
fn moved(mut numbers: Vec<u32>, change: impl Fn(u32) -> u32) -> Vec<u32> {
    let runs = numbers.chunks_mut(3);
    let firsts = runs.filter_map(|run| run.first_mut());
    firsts.for_each(|first| *first = change(*first));
    numbers
}

impl FromIterator<usize> for RankList {
    fn from_iter<I: IntoIterator<Item = usize>>(ranks: I) -> Self {
        let mut list = RankList::default();
        for rank in ranks {
            list.append(&RankList::one(rank));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(ranks: &[usize]) -> RankList {
        ranks.iter().copied().collect()
    }

    #[test]
    fn regular_ranks_are_one_run() {
        for (ranks, runs) in [
            (&[][..], 0),
            (&[7], 1),
            (&[0, 1, 2, 3], 1),
            (&[5, 13, 21, 29], 1),
            (&[0, 1, 2, 8, 9, 10], 2),
            (&[0, 5, 6, 7], 2),
        ] {
            let list = list(ranks);
            assert_eq!(list.0.len(), runs, "{ranks:?}");
            assert_eq!(list.iter().collect::<Vec<_>>(), ranks);
            assert_eq!((list.len(), list.is_empty()), (ranks.len(), runs == 0));
            assert_eq!(list.first(), ranks.first().copied());
            assert_eq!(RankList::unpack(&list.pack(), 30), Ok(list));
        }
    }

    #[test]
    fn lists_that_are_joined_are_as_short_as_one_that_was_made_at_once() {
        let mut joined = list(&[1, 4]);
        joined.append(&list(&[7, 10]));
        joined.append(&list(&[13]));
        assert_eq!(joined, list(&[1, 4, 7, 10, 13]));
        assert_eq!(joined.0.len(), 1);
    }

    #[test]
    fn a_list_that_begins_again_is_put_in_order() {
        assert_eq!(list(&[6, 7, 0, 1]).rotated(), list(&[0, 1, 6, 7]));
        assert_eq!(list(&[2, 4]).rotated(), list(&[2, 4]));
        assert_eq!(list(&[4, 2]).rotated(), list(&[2, 4]));
    }

    #[test]
    fn a_part_of_a_list_has_the_ranks_of_the_span() {
        let all = list(&[1, 2, 3, 10, 14, 18, 22, 5]);
        for start in 0..24 {
            for end in start..24 {
                let part = all.within(&(start..end));
                let expected: Vec<usize> = all
                    .iter()
                    .filter(|rank| (start..end).contains(rank))
                    .collect();
                assert_eq!(part.iter().collect::<Vec<_>>(), expected, "{start}..{end}");
                let message = part.pack_with(b"body");
                let unpacked = RankList::unpack_with(&message, 24).unwrap();
                assert_eq!(unpacked, (part, b"body".to_vec()));
            }
        }
        assert!(RankList::unpack_with(&[9, 0, 0, 0, 1], 24).is_err());
        assert!(RankList::unpack_with(&[], 24).is_err());
    }

    #[test]
    fn lists_of_ranks_that_are_placed_alike_have_the_same_distances() {
        let distances = list(&[1, 4, 7, 20]).distances(7);
        assert_eq!(distances, list(&[10, 13, 16, 29]).distances(16));
        let there = RankList::from_distances(&distances, 16, 30);
        assert_eq!(there, Ok(list(&[10, 13, 16, 29])));
        assert!(RankList::from_distances(&distances, 16, 29).is_err());
        assert!(RankList::from_distances(&distances, 5, 30).is_err());
        assert!(RankList::from_distances(&distances[1..], 16, 30).is_err());
    }

    #[test]
    fn messages_with_wild_numbers_are_refused() {
        let packed = list(&[0, 2, 4, 6]).pack();
        assert!(RankList::unpack(&packed, 7).is_ok());
        assert!(RankList::unpack(&packed, 6).is_err());
        assert!(RankList::unpack(&packed[1..], 7).is_err());
        assert!(RankList::unpack(&packed[4..], 7).is_err());
        for numbers in [[0, 0, 5], [0, 1, 0], [0, u32::MAX, u32::MAX], [0, 1, 1]] {
            let message: Vec<u8> = numbers.into_iter().flat_map(u32::to_le_bytes).collect();
            assert!(RankList::unpack(&message, 9).is_err(), "{numbers:?}");
        }
        let twice = [packed.clone(), packed].concat();
        assert!(RankList::unpack(&twice, 7).is_err());
    }
}
