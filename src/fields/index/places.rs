//! The places of elements, in a file or in memory, as numbers that count elements. They are kept as index lists are,
//! and read once for each field, from a cursor on.

use super::ids::{Cursor, Encoder, Ids, Run, Runs};
use super::positions::Positions;
use crate::fields::messages::wrong_message;
use crate::{Error, Result};
use std::ops::Range;

/// Adds the elements at `places` to `out`, from `next` on. `bytes` are the elements in the range `from`, `unit` bytes
/// each, and the places ascend.
///
/// # Errors
/// A place before the range is left over.
pub fn copy_out(
    places: &Ids,
    next: &mut Cursor,
    from: Range<u64>,
    (bytes, unit): (&[u8], usize),
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut runs = Runs::from(&places.bytes, u64::MAX, *next);
    let each = Out { from, bytes, unit };
    match unit {
        4 => each.copy::<4>(&mut runs, out),
        8 => each.copy::<8>(&mut runs, out),
        16 => each.copy::<16>(&mut runs, out),
        24 => each.copy::<24>(&mut runs, out),
        32 => each.copy::<32>(&mut runs, out),
        _ => each.copy::<0>(&mut runs, out),
    }?;
    *next = runs.cursor();
    Ok(())
}

struct Out<'a> {
    from: Range<u64>,
    bytes: &'a [u8],
    unit: usize,
}

impl Out<'_> {
    /// `N` is the size of an element, or 0 for any size.
    fn copy<const N: usize>(&self, runs: &mut Runs<'_>, out: &mut Vec<u8>) -> Result<()> {
        let wrong = || wrong_message("it asks for a place that is not in the file");
        runs.each(|run| {
            if run.first >= self.from.end {
                return Ok(0);
            }
            let count = run.count.min(self.from.end - run.first);
            let begin = run.first.checked_sub(self.from.start).ok_or_else(wrong)?;
            let begin = begin as usize * self.unit;
            let from = self.bytes.get(begin..).ok_or_else(wrong)?;
            if N > 0 && count <= SHORT {
                let (elements, _) = from.as_chunks::<N>();
                let elements = elements.get(..count as usize).ok_or_else(wrong)?;
                elements.iter().for_each(|one| out.extend_from_slice(one));
            } else {
                let all = from.get(..count as usize * self.unit);
                out.extend_from_slice(all.ok_or_else(wrong)?);
            }
            Ok(count)
        })
    }
}

/// Elements that are copied one by one, since a call for all of them takes longer.
const SHORT: u64 = 4;

/// Copies elements of `unit` bytes to their places in `memory`, from `next` on.
///
/// # Errors
/// There are more elements than places, or a place is not in the memory.
pub fn copy_in(
    places: &Ids,
    next: &mut Cursor,
    (bytes, unit): (&[u8], usize),
    memory: &mut [u8],
) -> Result<()> {
    let mut runs = Runs::from(&places.bytes, u64::MAX, *next);
    match unit {
        4 => put_all::<4>(&mut runs, bytes, unit, memory),
        8 => put_all::<8>(&mut runs, bytes, unit, memory),
        16 => put_all::<16>(&mut runs, bytes, unit, memory),
        24 => put_all::<24>(&mut runs, bytes, unit, memory),
        32 => put_all::<32>(&mut runs, bytes, unit, memory),
        _ => put_all::<0>(&mut runs, bytes, unit, memory),
    }?;
    *next = runs.cursor();
    Ok(())
}

/// `N` is `unit`, or 0 for any.
fn put_all<const N: usize>(
    runs: &mut Runs<'_>,
    mut left: &[u8],
    unit: usize,
    memory: &mut [u8],
) -> Result<()> {
    let mut count = (left.len() / unit.max(1)) as u64;
    runs.each(|run| {
        let now = run.count.min(count);
        count -= now;
        if N > 0 && now <= SHORT {
            let (places, _) = memory.as_chunks_mut::<N>();
            for at in run.first..run.first + now {
                let place = places.get_mut(at as usize).ok_or_else(no_place)?;
                let (one, rest) = left.split_first_chunk::<N>().ok_or_else(no_place)?;
                *place = *one;
                left = rest;
            }
        } else {
            let place = (run.first as usize)
                .checked_mul(unit)
                .ok_or_else(no_place)?;
            let length = now as usize * unit;
            let place = memory
                .get_mut(place..)
                .and_then(|place| place.get_mut(..length));
            let (bytes, rest) = left.split_at_checked(length).ok_or_else(no_place)?;
            place.ok_or_else(no_place)?.copy_from_slice(bytes);
            left = rest;
        }
        Ok(now)
    })?;
    match left {
        [] => Ok(()),
        _ => Err(no_place()),
    }
}

#[cold]
fn no_place() -> Error {
    wrong_message("it has an element without a place in memory")
}

/// As [`copy_in`], for memory with gaps: calls `put` with a place, and the bytes of elements that follow each other
/// from there on.
///
/// # Errors
/// There are more elements than places; or those of `put`.
pub fn each_place(
    places: &Ids,
    next: &mut Cursor,
    (bytes, unit): (&[u8], usize),
    mut put: impl FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut runs = Runs::from(&places.bytes, u64::MAX, *next);
    let mut left = bytes;
    runs.each(|run| {
        let count = run.count.min((left.len() / unit.max(1)) as u64);
        let all = left.split_at_checked(count as usize * unit);
        let (now, rest) = all.ok_or_else(no_place)?;
        if count > 0 {
            put(run.first, now)?;
            left = rest;
        }
        Ok(count)
    })?;
    *next = runs.cursor();
    match left {
        [] => Ok(()),
        _ => Err(no_place()),
    }
}

/// Some of the indices in a file, one after the other.
pub struct Section {
    /// The place after the last one.
    end: u64,
    /// The runs of indices, each with its place.
    runs: Vec<(u64, Run)>,
}

impl Section {
    /// The indices of about `length` bytes of a list, from `next` on; the first one has the place `at`, and `at`
    /// becomes the place after the last one.
    ///
    /// # Errors
    /// The list is damaged.
    pub fn of(
        ids: &Ids,
        whole: u64,
        next: &mut Cursor,
        at: &mut u64,
        length: usize,
    ) -> Result<Self> {
        let mut left = Runs::from(&ids.bytes, whole, *next);
        let (mut runs, from) = (Vec::new(), left.cursor().bytes());
        while left.cursor().bytes() < from.saturating_add(length)
            && let Some(run) = left.take_most(u64::MAX)?
        {
            runs.push((*at, run));
            *at += run.count;
        }
        *next = left.cursor();
        Ok(Section { end: *at, runs })
    }

    /// The indices at those of the places that are in this section, from `next` on. The places ascend.
    ///
    /// # Errors
    /// A place is not in the file.
    pub fn indices(&self, places: &Ids, next: &mut Cursor) -> Result<Ids> {
        let mut left = Runs::from(&places.bytes, u64::MAX, *next);
        let (mut indices, mut runs) = (Encoder::default(), &self.runs[..]);
        while let Some(run) = left.take_below(self.end)? {
            let mut at = run.first;
            while at < run.end() {
                let before = |(from, ids): &(u64, Run)| from + ids.count <= at;
                // The next ones are near, unless few places are asked for.
                let near = runs.iter().take(NEAR).take_while(|run| before(run)).count();
                let skipped = match near {
                    NEAR => runs.partition_point(before),
                    near => near,
                };
                runs = runs.get(skipped..).unwrap_or_default();
                let Some((from, ids)) = runs.first().filter(|(from, _)| *from <= at) else {
                    return Err(wrong_message("it asks for a place that is not in the file"));
                };
                let count = run.end().min(from + ids.count) - at;
                let first = ids.first + (at - from);
                indices.add(Run { first, count });
                at += count;
            }
        }
        *next = left.cursor();
        Ok(indices.finish())
    }
}

/// Runs that are looked at one by one.
const NEAR: usize = 64;

/// Adds the positions in this rank's memory of the indices of a message to `places`. Their number.
///
/// # Errors
/// The message is damaged, or this rank's list does not have an index.
pub fn add_places(positions: &Positions, mut runs: Runs<'_>, places: &mut Encoder) -> Result<u64> {
    let mut added = 0;
    runs.each(|run| {
        let all = positions.each(run, |first, count| {
            places.add(Run { first, count });
            Ok(())
        })?;
        if !all {
            return Err(wrong_message(
                "it has an index that is not in this rank's list",
            ));
        }
        added += run.count;
        Ok(run.count)
    })?;
    Ok(added)
}

#[cfg(test)]
mod tests {
    use super::{Section, add_places, copy_in, copy_out, each_place};
    use crate::fields::index::ids::{Cursor, Encoder, Ids, Run};
    use crate::fields::index::positions::Positions;

    fn ids(list: &[u64]) -> Ids {
        let mut encoder = Encoder::default();
        for first in list {
            encoder.add(Run {
                first: *first,
                count: 1,
            });
        }
        encoder.finish()
    }

    const PLACES: [u64; 7] = [1, 2, 3, 6, 9, 10, 14];

    #[test]
    fn elements_of_any_size_are_copied_in_pieces() {
        for unit in [1, 2, 3, 4, 8, 12, 16, 24, 32, 40] {
            let file: Vec<u8> = (0..15 * unit).map(|i| i as u8).collect();
            let places = ids(&PLACES);
            let (mut next, mut out) = (Cursor::default(), Vec::new());
            for from in (0..15).step_by(4) {
                let to = (from + 4).min(15);
                let piece = &file[from * unit..to * unit];
                let range = from as u64..to as u64;
                copy_out(&places, &mut next, range, (piece, unit), &mut out).unwrap();
            }
            let right = PLACES.iter().map(|at| &file[*at as usize * unit..][..unit]);
            assert_eq!(out, right.collect::<Vec<_>>().concat());
            // The copied elements go to places in another order.
            let to = ids(&[5, 4, 0, 1, 2, 3, 6]);
            for with_gaps in [false, true] {
                let (mut next, mut memory) = (Cursor::default(), vec![0; 7 * unit]);
                for piece in out.chunks(2 * unit) {
                    let done = if with_gaps {
                        each_place(&to, &mut next, (piece, unit), |at, bytes| {
                            memory[at as usize * unit..][..bytes.len()].copy_from_slice(bytes);
                            Ok(())
                        })
                    } else {
                        copy_in(&to, &mut next, (piece, unit), &mut memory)
                    };
                    done.unwrap();
                }
                let order = [2, 3, 4, 5, 1, 0, 6].iter();
                let right = order.map(|from| &out[*from * unit..][..unit]);
                assert_eq!(memory, right.collect::<Vec<_>>().concat());
            }
        }
    }

    #[test]
    fn wrong_places_and_elements_are_an_error() {
        let (file, mut out) = ([0; 12], Vec::new());
        let mut out_of = |list: &[u64], from: std::ops::Range<u64>| {
            let mut next = Cursor::default();
            copy_out(&ids(list), &mut next, from, (&file, 4), &mut out)
        };
        assert!(out_of(&[3, 5], 3..6).is_ok());
        assert!(out_of(&[2, 5], 3..6).is_err());
        assert!(out_of(&[6], 3..7).is_err());
        let put = |list: &[u64], length: usize| {
            let (mut next, mut memory) = (Cursor::default(), [0; 12]);
            copy_in(&ids(list), &mut next, (&file[..length], 4), &mut memory)
        };
        assert!(put(&[2, 0], 8).is_ok());
        for (list, length) in [(&[2][..], 8), (&[3], 4), (&[0, 2], 7), (&[1, 2, 3], 12)] {
            assert!(put(list, length).is_err(), "{list:?}, {length}");
        }
        let mut next = Cursor::default();
        let lost = each_place(&ids(&[2]), &mut next, (&file, 4), |_, _| Ok(()));
        assert!(lost.is_err());
    }

    #[test]
    fn indices_are_told_section_by_section() {
        let list: Vec<u64> = (0..100)
            .map(|at| at * 37 % 101)
            .chain(200..300)
            .chain([150])
            .collect();
        let file = ids(&list);
        for places in [
            vec![],
            vec![0, 1, 5, 60, 61, 99, 100, 101, 150, 199, 200],
            (0..201).collect(),
            vec![200],
        ] {
            for length in [1, 7, 1000] {
                let places = ids(&places);
                let (mut next, mut at, mut of_places) = Default::default();
                let mut found = Vec::new();
                while at < 201 {
                    let section = Section::of(&file, 300, &mut next, &mut at, length).unwrap();
                    let indices = section.indices(&places, &mut of_places).unwrap();
                    let runs = indices.runs(300).map(Result::unwrap);
                    found.extend(runs.flat_map(|run| run.first..run.end()));
                }
                let runs = places.runs(300).map(Result::unwrap);
                let right = runs.flat_map(|run| run.first..run.end());
                assert!(right.map(|at| list[at as usize]).eq(found));
            }
        }
        let mut at = 0;
        let section = Section::of(&file, 300, &mut Cursor::default(), &mut at, 5).unwrap();
        let beyond = section.indices(&ids(&[250]), &mut Cursor::default());
        assert_eq!(beyond.unwrap().count, 0);
    }

    #[test]
    fn places_are_the_positions_in_this_ranks_list() {
        let list = ids(&[7, 3, 4, 9]);
        let positions = Positions::of(&list, 10).unwrap();
        let mut places = Encoder::default();
        let added = add_places(&positions, ids(&[9, 3, 4]).runs(10), &mut places);
        assert_eq!(added, Ok(3));
        assert_eq!(places.finish(), ids(&[3, 1, 2]));
        let mut places = Encoder::default();
        assert!(add_places(&positions, ids(&[8]).runs(10), &mut places).is_err());
    }
}
