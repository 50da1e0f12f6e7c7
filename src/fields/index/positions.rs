//! Where each index stands in the list of a rank.

use super::bits::Bits;
use super::ids::{Ids, Run};
use super::listing::{Listed, Listing};
use super::set::{Builder, Set};
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

/// The indices of a list, in the form that takes less memory; or in a table, if that is small.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    /// Ascending, without an index that is there twice.
    Runs(Vec<Placed>),
    /// A bit for each index. `order` are the positions by the size of the index, if they do not ascend with it.
    Bits { bits: Bits, order: Vec<u32> },
    /// The position of each index from `from` on, or [`NONE`]. So one place in memory is looked at for each index, while
    /// bits take three.
    Table { from: u64, places: Vec<u32> },
}

/// The mark of an index that is not in the list.
const NONE: u32 = u32::MAX;

/// The most bytes of a table; of one with a place for each index or few more, any.
const TABLE: u64 = 1 << 24;

/// The positions of all indices of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Positions {
    known: Known,
    again: Vec<Again>,
    /// Number of indices in the list.
    count: u64,
}

/// The runs of a list, counted.
struct Size {
    runs: u64,
    from: u64,
    end: u64,
}

impl Positions {
    /// The positions of a list with indices below `whole`.
    ///
    /// # Errors
    /// The list is damaged.
    pub fn of(ids: &Ids, whole: u64) -> Result<Self> {
        Positions::of_list(&mut Listed(ids, whole))
    }

    /// The positions of a list, which is visited some times.
    ///
    /// # Errors
    /// The list is damaged, or cannot be read.
    pub fn of_list(list: &mut impl Listing) -> Result<Self> {
        let mut size = Size {
            runs: 0,
            from: u64::MAX,
            end: 0,
        };
        list.each(|run| {
            size.runs += 1;
            size.from = size.from.min(run.first);
            size.end = size.end.max(run.end());
        })?;
        let as_runs = size.runs * size_of::<Placed>() as u64;
        let order = if list.ascends() { 0 } else { 4 * list.count() };
        let most = u64::from(u32::MAX);
        let range = size.end.saturating_sub(size.from);
        let small = 4 * range.min(most) <= TABLE && range / 16 <= list.count();
        let full = range < most && range <= list.count() + list.count() / 8;
        if !list.ascends() && list.count() < most && (small || full) {
            return Positions::of_table(list, &size);
        }
        if size.runs > 0
            && Bits::bytes(size.from, size.end) + order < as_runs
            && list.count() < most
        {
            Positions::of_bits(list, &size)
        } else {
            Positions::of_runs(list)
        }
    }

    fn of_table(list: &mut impl Listing, size: &Size) -> Result<Self> {
        let from = size.from.min(size.end);
        let mut places = vec![NONE; (size.end - from) as usize];
        let (mut at, mut again) = (0, Vec::new());
        list.each(|run| {
            for id in run.first..run.end() {
                match places.get_mut((id - from) as usize) {
                    Some(place) if *place == NONE => *place = at as u32,
                    first => again.push(Again {
                        at,
                        first: first.map_or(0, |first| u64::from(*first)),
                        count: 1,
                    }),
                }
                at += 1;
            }
        })?;
        let known = Known::Table { from, places };
        let count = list.count();
        Ok(Positions {
            known,
            again,
            count,
        })
    }

    fn of_runs(list: &mut impl Listing) -> Result<Self> {
        let (mut runs, mut at) = (Vec::new(), 0);
        list.each(|run| {
            runs.push(Placed { run, at });
            at += run.count;
        })?;
        let mut again = Vec::new();
        if !list.ascends() {
            runs.sort_unstable();
            runs = distinct(runs, &mut again)?;
        }
        let known = Known::Runs(runs);
        let count = list.count();
        Ok(Positions {
            known,
            again,
            count,
        })
    }

    fn of_bits(list: &mut impl Listing, size: &Size) -> Result<Self> {
        let mut bits = Bits::new(size.from, size.end);
        let (mut at, mut twice) = (0, Vec::new());
        list.each(|run| {
            for id in run.first..run.end() {
                if !bits.insert(id) {
                    twice.push((at, id));
                }
                at += 1;
            }
        })?;
        bits.count();
        let (mut order, mut again) = (Vec::new(), Vec::new());
        if !list.ascends() {
            order = vec![0; list.count() as usize - twice.len()];
            let (mut at, mut twice) = (0, twice.into_iter().peekable());
            list.each(|run| {
                let below = bits.below(run.first);
                for place in below..below + run.count {
                    let Some(position) = order.get_mut(place as usize) else {
                        continue;
                    };
                    if twice.next_if(|(other, _)| *other == at).is_some() {
                        let first = u64::from(*position);
                        again.push(Again {
                            at,
                            first,
                            count: 1,
                        });
                    } else {
                        *position = at as u32;
                    }
                    at += 1;
                }
            })?;
        }
        let known = Known::Bits { bits, order };
        let count = list.count();
        Ok(Positions {
            known,
            again,
            count,
        })
    }

    /// Positions of indices that the list had before.
    pub fn again(&self) -> &[Again] {
        &self.again
    }

    /// Positions of indices that the list had before, without the rest.
    pub fn into_again(self) -> Vec<Again> {
        self.again
    }

    /// Number of different indices.
    pub fn distinct(&self) -> u64 {
        let again = self.again.iter().map(|again| again.count);
        self.count - again.sum::<u64>()
    }

    /// Number of indices in the list, also those that it has twice.
    pub fn listed(&self) -> u64 {
        self.count
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        let known = match &self.known {
            Known::Runs(runs) => size_of_val(&runs[..]),
            Known::Bits { bits, order } => bits.in_memory() + size_of_val(&order[..]),
            Known::Table { places, .. } => size_of_val(&places[..]),
        };
        known + size_of_val(&self.again[..])
    }

    /// The indices.
    pub fn set(&self) -> Set {
        let mut builder = Builder::default();
        match &self.known {
            Known::Runs(runs) => runs.iter().for_each(|placed| builder.add(placed.run)),
            Known::Bits { bits, .. } => bits.words().for_each(|(at, bits)| {
                builder.add_bits(at, bits);
            }),
            Known::Table { from, places } => {
                for (at, places) in (*from..).step_by(64).zip(places.chunks(64)) {
                    let bit = |(bit, place): (usize, &u32)| u64::from(*place != NONE) << bit;
                    builder.add_bits(at, places.iter().enumerate().map(bit).sum());
                }
            }
        }
        builder.finish()
    }

    /// The positions of indices, which have four bytes each; `None` if the list does not have all of them. The list has
    /// less than [`u32::MAX`] indices.
    pub fn look_up(&self, ids: &[[u8; 4]]) -> Option<Vec<u32>> {
        let ids = ids.iter().map(|id| u32::from_le_bytes(*id));
        // Nothing in a step waits for the one before, so the processor fetches many places at the same time.
        let found: Vec<u32> = match &self.known {
            Known::Table { from, places } => {
                let place = |id: u32| places.get(u64::from(id).wrapping_sub(*from) as usize);
                ids.map(|id| place(id).copied().unwrap_or(NONE)).collect()
            }
            Known::Bits { bits, order } if order.is_empty() => ids
                .map(|id| bits.rank(id.into()).map_or(NONE, |place| place as u32))
                .collect(),
            Known::Bits { bits, order } => {
                let below = |id: u32| bits.rank(id.into()).unwrap_or(u64::MAX) as usize;
                let places = ids.map(|id| order.get(below(id)).copied());
                places.map(|place| place.unwrap_or(NONE)).collect()
            }
            Known::Runs(runs) => ids.map(|id| of_runs(runs, id.into())).collect(),
        };
        (!found.contains(&NONE)).then_some(found)
    }

    /// Visits the positions of indices, as a position and the number of positions that follow each other; false if
    /// the list does not have all of them.
    ///
    /// # Errors
    /// The errors of `visit`.
    pub fn each(&self, run: Run, visit: impl FnMut(u64, u64) -> Result<()>) -> Result<bool> {
        match &self.known {
            Known::Runs(runs) => each_of_runs(runs, run, visit),
            Known::Bits { bits, order } => each_of_bits(bits, order, run, visit),
            Known::Table { from, places } => each_of_table(*from, places, run, visit),
        }
    }
}

/// Cuts out the indices of sorted runs that are there twice.
fn distinct(sorted: Vec<Placed>, again: &mut Vec<Again>) -> Result<Vec<Placed>> {
    let (mut runs, mut end): (Vec<Placed>, u64) = (Vec::new(), 0);
    for mut placed in sorted {
        let twice = end.min(placed.run.end()).saturating_sub(placed.run.first);
        if twice > 0 {
            let run = Run {
                count: twice,
                ..placed.run
            };
            let mut at = placed.at;
            each_of_runs(&runs, run, |first, count| {
                again.push(Again { at, first, count });
                at += count;
                Ok(())
            })?;
            placed.run.first += twice;
            placed.run.count -= twice;
            placed.at += twice;
        }
        if placed.run.count > 0 {
            end = placed.run.end();
            runs.push(placed);
        }
    }
    Ok(runs)
}

fn each_of_runs(
    runs: &[Placed],
    run: Run,
    mut visit: impl FnMut(u64, u64) -> Result<()>,
) -> Result<bool> {
    let mut place = runs.partition_point(|placed| placed.run.end() <= run.first);
    let mut next = run.first;
    while next < run.end() {
        let placed = runs.get(place).filter(|placed| placed.run.first <= next);
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

/// The position of an index, or [`NONE`].
fn of_runs(runs: &[Placed], id: u64) -> u32 {
    let place = runs.partition_point(|placed| placed.run.end() <= id);
    let placed = runs.get(place).filter(|placed| placed.run.first <= id);
    placed.map_or(NONE, |placed| (placed.at + id - placed.run.first) as u32)
}

fn each_of_bits(
    bits: &Bits,
    order: &[u32],
    run: Run,
    mut visit: impl FnMut(u64, u64) -> Result<()>,
) -> Result<bool> {
    if run.count == 1 {
        let Some(below) = bits.rank(run.first) else {
            return Ok(false);
        };
        let at = order.get(below as usize).copied();
        visit(at.map_or(below, u64::from), 1)?;
        return Ok(true);
    }
    if bits.follow(run.first, run.count) < run.count {
        return Ok(false);
    }
    let below = bits.below(run.first);
    if order.is_empty() {
        visit(below, run.count)?;
        return Ok(true);
    }
    let order = order.get(below as usize..(below + run.count) as usize);
    each_in_order(order.unwrap_or_default(), visit)?;
    Ok(true)
}

/// Visits positions, those together that follow each other.
fn each_in_order(positions: &[u32], mut visit: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
    for next in positions.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
        let first = next.first().copied().unwrap_or(0);
        visit(first.into(), next.len() as u64)?;
    }
    Ok(())
}

#[inline]
fn each_of_table(
    from: u64,
    places: &[u32],
    run: Run,
    mut visit: impl FnMut(u64, u64) -> Result<()>,
) -> Result<bool> {
    let Some(first) = run.first.checked_sub(from) else {
        return Ok(false);
    };
    if run.count == 1 {
        return match places.get(first as usize) {
            None | Some(&NONE) => Ok(false),
            Some(place) => visit(u64::from(*place), 1).map(|()| true),
        };
    }
    let places = places.get(first as usize..(first + run.count) as usize);
    match places {
        Some(places) if !places.contains(&NONE) => each_in_order(places, visit).map(|()| true),
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::{Again, Known, Listed, Positions, Size};
    use crate::fields::index::ids::{Encoder, Ids, Run};

    fn ids(indices: &[u64]) -> Ids {
        let mut encoder = Encoder::default();
        indices.iter().for_each(|first| {
            encoder.add(Run {
                first: *first,
                count: 1,
            });
        });
        encoder.finish()
    }

    /// A generator of small numbers.
    fn random() -> impl FnMut(u64) -> u64 {
        let mut x = 7u64;
        move |below| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (x >> 33) % below
        }
    }

    fn check(list: &[u64], whole: u64, positions: &Positions) {
        let first = |id: u64| list.iter().position(|other| *other == id);
        let mut distinct = list.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let set = positions.set();
        let sorted = set.runs().map(Result::unwrap);
        let sorted = sorted.flat_map(|run| run.first..run.end());
        assert!(sorted.eq(distinct.iter().copied()), "{list:?}");
        let as_bytes = |ids: &[u64]| -> Vec<[u8; 4]> {
            let numbers = ids.iter().map(|id| *id as u32);
            numbers.map(u32::to_le_bytes).collect()
        };
        let looked_up = positions.look_up(&as_bytes(list)).unwrap();
        let same = |(at, id): (&u32, &u64)| list[*at as usize] == *id;
        assert!(looked_up.iter().zip(list).all(same), "{list:?}");
        assert_eq!(looked_up.len(), list.len());
        let missing = (0..whole + 2).find(|id| first(*id).is_none()).unwrap();
        let some = [list, &[missing]].concat();
        assert_eq!(positions.look_up(&as_bytes(&some)), None, "{missing}");
        for from in 0..whole {
            for count in 1..=(whole - from).min(70) {
                let (mut id, mut right) = (from, true);
                let run = Run { first: from, count };
                let found = positions.each(run, |at, count| {
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

    #[test]
    fn each_index_is_found_where_it_stands() {
        let mut random = random();
        let (mut in_bits, mut in_table) = (0, 0);
        for case in 0..1000 {
            let whole = 1 + random(150);
            let mut list: Vec<u64> = (0..random(60)).map(|_| random(whole)).collect();
            match case % 3 {
                0 => list.sort_unstable(),
                1 => {
                    list.sort_unstable();
                    list.dedup();
                }
                _ => {}
            }
            let ids = ids(&list);
            check(
                &list,
                whole,
                &Positions::of_runs(&mut Listed(&ids, whole)).unwrap(),
            );
            let chosen = Positions::of(&ids, whole).unwrap();
            in_bits += u32::from(matches!(chosen.known, Known::Bits { .. }));
            in_table += u32::from(matches!(chosen.known, Known::Table { .. }));
            check(&list, whole, &chosen);
            let (from, end) = (list.iter().min(), list.iter().max());
            let size = Size {
                runs: list.len() as u64,
                from: from.copied().unwrap_or(u64::MAX),
                end: end.map_or(0, |last| last + 1),
            };
            if from.is_some() {
                check(
                    &list,
                    whole,
                    &Positions::of_bits(&mut Listed(&ids, whole), &size).unwrap(),
                );
            }
        }
        assert!(in_bits > 100 && in_table > 200, "{in_bits} {in_table}");
    }

    #[test]
    fn a_block_is_one_run_and_scattered_indices_are_bits() {
        let block: Vec<u64> = (500..90_000).collect();
        let positions = Positions::of(&ids(&block), 100_000).unwrap();
        assert!(matches!(&positions.known, Known::Runs(runs) if runs.len() == 1));
        let odd: Vec<u64> = (0..50_000).map(|i| 2 * i + 1).collect();
        let positions = Positions::of(&ids(&odd), 100_000).unwrap();
        assert!(matches!(&positions.known, Known::Bits { order, .. } if order.is_empty()));
        let back: Vec<u64> = odd.iter().map(|id| 99 * id).rev().collect();
        let positions = Positions::of(&ids(&back), 9_900_000).unwrap();
        assert!(matches!(&positions.known, Known::Runs(_)));
        let back: Vec<u64> = odd.into_iter().rev().collect();
        let positions = Positions::of(&ids(&back), 100_000).unwrap();
        assert!(matches!(&positions.known, Known::Table { places, .. } if places.len() == 99_999));
        let run = Run { first: 7, count: 1 };
        let mut found = 0;
        positions
            .each(run, |at, _| {
                found = at;
                Ok(())
            })
            .unwrap();
        assert_eq!((found, positions.distinct()), (49_996, 50_000));
    }
}
