//! What a rank that reads a file tells the others of the order of its elements, if that is not the order of their
//! indices.

use super::ids::{Cursor, Encoder, Ids, Run, Runs};
use super::places::not_in_file;
use super::positions::Positions;
use super::set::SetRuns;
use crate::fields::messages::wrong_message;
use crate::{Error, Result};

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

    /// The indices at those of the places that are in this section. The places ascend, and `places` are those that are
    /// left.
    ///
    /// # Errors
    /// A place is not in the file.
    pub fn indices(&self, places: &mut SetRuns<'_>) -> Result<Ids> {
        let (mut indices, mut runs) = (Encoder::default(), &self.runs[..]);
        while let Some(run) = places.take_below(self.end)? {
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
                    return Err(not_in_file());
                };
                let count = run.end().min(from + ids.count) - at;
                let first = ids.first + (at - from);
                indices.add(Run { first, count });
                at += count;
            }
        }
        Ok(indices.finish())
    }
}

/// Runs that are looked at one by one.
const NEAR: usize = 64;

/// The next indices of a list, `most` at most, four bytes each; none of them is above [`u32::MAX`].
///
/// # Errors
/// The list is damaged.
pub fn one_by_one(ids: &Ids, whole: u64, next: &mut Cursor, most: u64) -> Result<Vec<[u8; 4]>> {
    let mut runs = Runs::from(&ids.bytes, whole, *next);
    let mut left = most;
    let mut indices = Vec::with_capacity(most.min(ids.count) as usize);
    runs.each(|run| {
        let count = run.count.min(left);
        left -= count;
        let all = run.first..run.first + count;
        indices.extend(all.map(|id| (id as u32).to_le_bytes()));
        Ok(count)
    })?;
    *next = runs.cursor();
    Ok(indices)
}

/// The positions in this rank's memory of the indices of a message.
///
/// # Errors
/// The message is damaged, or this rank's list does not have an index.
pub fn told_places(positions: &Positions, mut runs: Runs<'_>) -> Result<Ids> {
    let mut places = Encoder::default();
    runs.each(|run| {
        let all = positions.each(run, |first, count| {
            places.add(Run { first, count });
            Ok(())
        })?;
        if !all {
            return Err(not_listed());
        }
        Ok(run.count)
    })?;
    Ok(places.finish())
}

/// A message has an index that this rank does not need.
#[cold]
pub fn not_listed() -> Error {
    wrong_message("it has an index that is not in this rank's list")
}

#[cfg(test)]
mod tests {
    use super::{Section, one_by_one, told_places};
    use crate::fields::index::ids::{Cursor, Encoder, Ids, Run};
    use crate::fields::index::positions::Positions;
    use crate::fields::index::set::Set;

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
                let set = Set::of(&places, 300).unwrap();
                let (mut next, mut at, mut left) = (Cursor::default(), 0, set.runs());
                let mut found = Vec::new();
                while at < 201 {
                    let section = Section::of(&file, 300, &mut next, &mut at, length).unwrap();
                    let indices = section.indices(&mut left).unwrap();
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
        let beyond = section.indices(&mut Set::of(&ids(&[250]), 300).unwrap().runs());
        assert_eq!(beyond.unwrap().count, 0);
    }

    #[test]
    fn places_are_the_positions_in_this_ranks_list() {
        let list = ids(&[7, 3, 4, 9]);
        let positions = Positions::of(&list, 10).unwrap();
        let places = told_places(&positions, ids(&[9, 3, 4]).runs(10));
        assert_eq!(places.unwrap(), ids(&[3, 1, 2]));
        assert!(told_places(&positions, ids(&[8]).runs(10)).is_err());
    }

    #[test]
    fn indices_are_told_one_by_one() {
        let list = [5, 6, 7, 8, 1, 2, 40, 41, 9];
        let file = ids(&list);
        for most in 1..10 {
            let (mut next, mut found) = (Cursor::default(), Vec::new());
            while found.len() < list.len() {
                let some = one_by_one(&file, 42, &mut next, most).unwrap();
                assert_eq!(
                    some.len() as u64,
                    most.min((list.len() - found.len()) as u64)
                );
                found.extend(some.into_iter().map(|id| u64::from(u32::from_le_bytes(id))));
            }
            assert_eq!(found, list);
        }
    }
}
