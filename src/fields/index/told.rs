//! What a rank that reads a file tells the others of the order of its elements, if that is not the order of their
//! indices.

use super::ids::{Encoder, Ids, Run, Runs};
use super::places::not_in_file;
use super::positions::Positions;
use super::set_runs::SetRuns;
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
    /// Indices that follow each other in a file, of which the first one has the place `at`.
    pub fn of(at: u64, all: &[Run]) -> Self {
        let (mut end, mut runs) = (at, Vec::with_capacity(all.len()));
        for run in all {
            runs.push((end, *run));
            end += run.count;
        }
        Section { end, runs }
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
    use super::{Section, told_places};
    use crate::fields::index::ids::{Encoder, Ids, Run};
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
                let all: Vec<Run> = file.runs(300).map(Result::unwrap).collect();
                let (mut at, mut left, mut found) = (0, set.runs(), Vec::new());
                for some in all.chunks(length) {
                    let section = Section::of(at, some);
                    at += some.iter().map(|run| run.count).sum::<u64>();
                    let indices = section.indices(&mut left).unwrap();
                    let runs = indices.runs(300).map(Result::unwrap);
                    found.extend(runs.flat_map(|run| run.first..run.end()));
                }
                let runs = places.runs(300).map(Result::unwrap);
                let right = runs.flat_map(|run| run.first..run.end());
                assert!(right.map(|at| list[at as usize]).eq(found));
            }
        }
        let section = Section::of(0, &[Run { first: 7, count: 5 }]);
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
}
