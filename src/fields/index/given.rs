//! The indices that the program gives.

use super::MOST;
use super::ids::{Encoder, Ids, Run};
use crate::Result;
use crate::fields::entry::wrong_list;

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

impl Given<'_> {
    /// Checks the indices and encodes them.
    ///
    /// # Errors
    /// The whole is too large, or an index is not in it.
    pub fn encode(&self) -> Result<Ids> {
        let whole = u64::try_from(self.whole)
            .ok()
            .filter(|whole| *whole <= MOST);
        let Some(whole) = whole else {
            let what = format!("its whole cannot have {} elements", self.whole);
            return Err(wrong_list(self.name, what));
        };
        match self.indices {
            Indices::Four(indices) => self.encode_all(indices.iter().map(|i| i64::from(*i)), whole),
            Indices::Eight(indices) => self.encode_all(indices.iter().copied(), whole),
        }
    }

    fn encode_all(&self, indices: impl Iterator<Item = i64>, whole: u64) -> Result<Ids> {
        let mut encoder = Encoder::default();
        let mut run: Option<Run> = None;
        for (place, index) in indices.enumerate() {
            let id = index.checked_sub(self.first).map(|id| id as u64);
            let Some(first) = id.filter(|id| *id < whole) else {
                return Err(self.outside(place as u64, index));
            };
            match &mut run {
                Some(run) if run.end() == first => run.count += 1,
                _ => {
                    if let Some(before) = run.replace(Run { first, count: 1 }) {
                        encoder.add(before);
                    }
                }
            }
        }
        if let Some(last) = run {
            encoder.add(last);
        }
        Ok(encoder.finish())
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

#[cfg(test)]
mod tests {
    use super::{Given, Indices};

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
