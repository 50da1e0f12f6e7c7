//! The indices that the program gives.

use super::MOST;
use super::ids::{Encoder, Ids, Run};
use super::listing::Listing;
use crate::Result;
use crate::fields::entry::wrong_list;
use crate::system::size::scaled;

/// Indices in the memory of the program.
#[derive(Debug, Clone, Copy)]
pub enum Indices<'a> {
    /// Of four bytes.
    Four(&'a [i32]),
    /// Of eight bytes.
    Eight(&'a [i64]),
}

/// An index list as the program gives it.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The name by which fields refer to it.
    pub name: &'a str,
    /// The number of each element of this rank.
    pub indices: Indices<'a>,
    /// The number of the first element of the whole: 0 or 1 in most programs.
    pub first: i64,
    /// Number of elements of the whole.
    pub whole: i64,
}

/// An index list that was encoded piece by piece.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Encoded {
    /// Number of indices.
    pub count: u64,
    /// Each index is larger than the one before.
    pub ascending: bool,
    /// Number of bytes.
    pub bytes: u64,
}

/// Bytes that are encoded at a time.
const PIECE: usize = 1 << 16;

/// Takes bytes of a list; false if no more are wanted.
pub type Take<'a> = dyn FnMut(&[u8]) -> Result<bool> + 'a;

impl Given<'_> {
    /// Checks the indices and encodes them.
    ///
    /// # Errors
    /// The whole is too large, or an index is not in it.
    pub fn encode(&self) -> Result<Ids> {
        let ids = self.encode_all(usize::MAX, &mut |_| Ok(true))?;
        Ok(ids.unwrap_or_default())
    }

    /// Checks the indices and encodes them. `take` gets the bytes piece by piece, so that no more than a piece is in
    /// memory; when it returns false, the rest is not encoded, and there is no result.
    ///
    /// # Errors
    /// As [`Given::encode`]; or those of `take`.
    pub fn encode_in_pieces(&self, take: &mut Take<'_>) -> Result<Option<Encoded>> {
        let mut bytes = 0;
        let mut piece = |piece: &[u8]| {
            bytes += piece.len() as u64;
            take(piece)
        };
        let last = match self.encode_all(scaled(PIECE), &mut piece)? {
            Some(last) if piece(&last.bytes)? => last,
            _ => return Ok(None),
        };
        Ok(Some(Encoded {
            count: last.count,
            ascending: last.ascending,
            bytes,
        }))
    }

    /// The number of elements of the whole.
    pub(super) fn checked_whole(&self) -> Result<u64> {
        let whole = u64::try_from(self.whole).ok();
        whole.filter(|whole| *whole <= MOST).ok_or_else(|| {
            let what = format!("its whole cannot have {} elements", self.whole);
            wrong_list(self.name, what)
        })
    }

    /// The indices are encoded, and `take` gets pieces of at least `most` bytes; the rest is in the result.
    fn encode_all(&self, most: usize, take: &mut Take<'_>) -> Result<Option<Ids>> {
        let mut encoder = Encoder::default();
        let ascending = self.scan()?.ascending;
        let mut one = |run: Run| {
            encoder.add(run);
            if encoder.bytes().len() < most {
                return Ok(true);
            }
            let goes_on = take(encoder.bytes())?;
            encoder.bytes().clear();
            Ok(goes_on)
        };
        let all = if ascending {
            self.each_run(one)?
        } else {
            let first = self.first;
            match self.indices {
                Indices::Four(indices) => {
                    try_each_run(indices.iter().map(|i| i64::from(*i) - first), &mut one)?
                }
                Indices::Eight(indices) => {
                    try_each_run(indices.iter().map(|i| i - first), &mut one)?
                }
            }
        };
        Ok(all.then(|| encoder.finish()))
    }

    /// The error of the first index that is not in the whole.
    pub(super) fn refuse_outside(&self, whole: u64) -> Result<()> {
        let is_outside = |index: i64| {
            let id = index.checked_sub(self.first).map(|id| id as u64);
            id.is_none_or(|id| id >= whole)
        };
        let outside = match self.indices {
            Indices::Four(indices) => {
                let mut all = indices.iter().map(|i| i64::from(*i)).enumerate();
                all.find(|(_, index)| is_outside(*index))
            }
            Indices::Eight(indices) => {
                let mut all = indices.iter().copied().enumerate();
                all.find(|(_, index)| is_outside(*index))
            }
        };
        match outside {
            Some((place, index)) => Err(self.outside(place as u64, index)),
            None => Ok(()),
        }
    }

    /// The number of indices.
    pub fn count(&self) -> usize {
        match self.indices {
            Indices::Four(indices) => indices.len(),
            Indices::Eight(indices) => indices.len(),
        }
    }

    fn outside(&self, place: u64, index: i64) -> crate::Error {
        let range = match self.whole {
            0 => "no element".to_string(),
            whole => {
                let last = self.first.saturating_add(whole - 1);
                format!("the indices {} to {last}", self.first)
            }
        };
        let what = format!(
            "number {} of this rank's list is the index {index}; the whole has {range}",
            place + 1
        );
        wrong_list(self.name, what)
    }
}

/// Visits the runs of indices until `visit` returns false; whether it has visited all.
fn try_each_run(
    indices: impl Iterator<Item = i64>,
    visit: &mut impl FnMut(Run) -> Result<bool>,
) -> Result<bool> {
    let mut run = Run::default();
    for first in indices.map(|id| id as u64) {
        if run.end() == first && run.count > 0 {
            run.count += 1;
            continue;
        }
        if run.count > 0 && !visit(run)? {
            return Ok(false);
        }
        run = Run { first, count: 1 };
    }
    Ok(run.count == 0 || visit(run)?)
}

/// The indices in the memory of the program, which were found to be in the whole.
pub struct InMemory<'a, 'g> {
    /// The list.
    pub given: &'a Given<'g>,
    /// Each index is larger than the one before.
    pub ascends: bool,
}

impl Listing for InMemory<'_, '_> {
    fn count(&self) -> u64 {
        self.given.count() as u64
    }

    fn ascends(&self) -> bool {
        self.ascends
    }

    fn each(&mut self, mut visit: impl FnMut(Run)) -> Result<()> {
        let first = self.given.first;
        let mut one = |run| {
            visit(run);
            Ok(true)
        };
        match self.given.indices {
            Indices::Four(indices) => {
                try_each_run(indices.iter().map(|i| i64::from(*i) - first), &mut one)
            }
            Indices::Eight(indices) => try_each_run(indices.iter().map(|i| i - first), &mut one),
        }
        .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::{Given, InMemory, Indices};
    use crate::fields::index::listing::{Listed, Listing};

    fn given(indices: &[i64], first: i64, whole: i64) -> Result<(u64, Vec<u64>), String> {
        let given = Given {
            name: "nodes",
            indices: Indices::Eight(indices),
            first,
            whole,
        };
        let ids = given.encode().map_err(|error| error.to_string())?;
        let runs = ids.runs(1 << 60).map(Result::unwrap);
        let all = runs.flat_map(|run| run.first..run.end()).collect();
        Ok((ids.count, all))
    }

    #[test]
    fn indices_are_counted_from_the_first() {
        assert_eq!(given(&[3, 4, 1], 1, 4), Ok((3, vec![2, 3, 0])));
        assert_eq!(given(&[-2, 0], -2, 3), Ok((2, vec![0, 2])));
        assert_eq!(given(&[], 0, 0), Ok((0, vec![])));
        let four = Given {
            name: "nodes",
            indices: Indices::Four(&[1, 2]),
            first: 1,
            whole: 2,
        };
        assert_eq!(four.encode().unwrap().count, 2);
    }

    #[test]
    fn a_list_in_pieces_is_the_same_one() {
        let many: Vec<i64> = (0..200_000).map(|i| i * i % 65_537).collect();
        for indices in [&[][..], &[7], &[3, 4, 5, 1], &many] {
            let given = Given {
                name: "nodes",
                indices: Indices::Eight(indices),
                first: 0,
                whole: 70_000,
            };
            let (all, mut joined) = (given.encode().unwrap(), Vec::new());
            let encoded = given.encode_in_pieces(&mut |piece| {
                joined.extend_from_slice(piece);
                Ok(true)
            });
            let encoded = encoded.unwrap().unwrap();
            assert_eq!(joined, all.bytes);
            assert_eq!(encoded.bytes, all.bytes.len() as u64);
            assert_eq!(
                (encoded.count, encoded.ascending),
                (all.count, all.ascending)
            );
            let (mut runs, mut right) = (Vec::new(), Vec::new());
            let mut memory = InMemory {
                given: &given,
                ascends: all.ascending,
            };
            memory.each(|run| runs.push(run)).unwrap();
            Listed(&all, 70_000).each(|run| right.push(run)).unwrap();
            assert_eq!(runs, right);
        }
    }

    #[test]
    fn an_index_that_is_not_in_the_whole_is_named() {
        for (indices, first, whole, told) in [
            (
                &[1i64, 2, 5][..],
                1,
                4,
                "number 3 of this rank's list is the index 5",
            ),
            (&[0], 1, 4, "the whole has the indices 1 to 4"),
            (&[0], 0, 0, "the whole has no element"),
            (
                &[i64::MIN],
                i64::MAX,
                4,
                "is the index -9223372036854775808",
            ),
            (&[], 0, -1, "cannot have -1 elements"),
            (&[], 0, i64::MAX, "cannot have"),
        ] {
            let error = given(indices, first, whole).unwrap_err();
            assert!(
                error.contains(told) && error.contains("\"nodes\""),
                "{error}"
            );
        }
    }
}
