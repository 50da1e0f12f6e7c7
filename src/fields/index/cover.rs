//! Checks that the index lists of all ranks have each index of the whole once; of a shared list, at least once.

use super::cells::{Cells, Held, Parcels, Wrong};
use super::ids::{Ids, Run};
use super::positions::Positions;
use super::sorted::sorted;
use crate::comm::Communicator;
use crate::fields::entry::wrong_list;
use crate::fields::finding::WrongPlace;
use crate::fields::messages::wrong_message;
use crate::{Error, Result};

/// The index list of this rank.
#[derive(Debug, Clone)]
pub struct OwnList {
    /// Its name.
    pub name: String,
    /// Number of elements of the whole.
    pub whole: u64,
    /// The number that the program gives the first element.
    pub first: i64,
    /// When the state is written, several ranks may list an index.
    pub shared: bool,
    /// The indices, from 0 on.
    pub ids: Ids,
}

impl OwnList {
    /// An index as the program has it.
    pub fn named(&self, id: u64) -> i64 {
        (id as i64).saturating_add(self.first)
    }

    fn twice(&self, id: u64, a: usize, b: usize) -> Error {
        let (a, b, index) = (a.min(b), a.max(b), self.named(id));
        let who = if a == b {
            format!("rank {a} lists the index {index} twice")
        } else {
            format!("ranks {a} and {b} both list the index {index}")
        };
        let what = format!(
            "{who}; when the state is written, each element belongs to one rank, so leave ghost elements out{}",
            if a == b {
                ""
            } else {
                ", or say SCR_SHARED if all copies are equal"
            }
        );
        wrong_list(&self.name, what)
    }

    fn missing(&self, id: u64) -> Error {
        let what = format!(
            "no rank lists the index {} of the whole of {} elements, which begins with {}; the lists of all ranks must \
             have each index",
            self.named(id),
            self.whole,
            self.first
        );
        wrong_list(&self.name, what)
    }
}

/// The first index of this rank's ranges that not exactly one rank has (of a shared list: none), or that this rank lists twice. The lists are
/// those of this rank, the same ones in the same order on all ranks. Collective; an exchange.
///
/// # Errors
/// The ranks cannot reach each other.
pub(in crate::fields) fn first_wrong_index(
    comm: &dyn Communicator,
    lists: &[OwnList],
) -> Result<Option<WrongPlace>> {
    let (me, size) = (comm.rank(), comm.size());
    let mut parcels = Parcels::default();
    let mut first: Option<WrongPlace> = None;
    for (number, list) in lists.iter().enumerate() {
        let cells = Cells::new(list.whole, number, size);
        let all = sorted(&list.ids, list.whole)?;
        cells.cut(&all.set, (0, 1), |to, ids| {
            parcels.add(to, number, [0; 2], ids);
        })?;
        if all.twice
            && let Some(id) = first_repeated(list)?
            && first.is_none()
        {
            first = Some(WrongPlace {
                field: number,
                place: id,
                error: list.twice(id, me, me),
            });
        }
    }
    let mut have: Vec<Vec<(usize, Vec<u8>)>> = lists.iter().map(|_| Vec::new()).collect();
    for (from, part) in parcels.exchange(comm, lists.len())? {
        if let Some(have) = have.get_mut(part.list) {
            have.push((from, part.ids));
        }
    }
    for (number, (list, have)) in lists.iter().zip(&have).enumerate() {
        let Some(range) = Cells::new(list.whole, number, size).of_rank(me) else {
            continue;
        };
        let sets = have.iter().map(|(_, ids)| &ids[..]);
        let wrong = Held::new(range, sets).and_then(|held| held.first_wrong(list.shared));
        let Some(wrong) = wrong.map_err(|error| wrong_message(&error.to_string()))? else {
            continue;
        };
        let rank = |number: usize| have.get(number).map_or(me, |(rank, _)| *rank);
        let found = WrongPlace {
            field: number,
            place: wrong.index(),
            error: match wrong {
                Wrong::Twice(id, a, b) => list.twice(id, rank(a), rank(b)),
                Wrong::Missing(id) => list.missing(id),
            },
        };
        let is_first = |first: &WrongPlace| (found.field, found.place) < (first.field, first.place);
        if first.as_ref().is_none_or(is_first) {
            first = Some(found);
        }
    }
    Ok(first)
}

/// The smallest index that this rank lists twice.
fn first_repeated(list: &OwnList) -> Result<Option<u64>> {
    let positions = Positions::of(&list.ids, list.whole)?;
    let (mut at, mut least) = (0, None);
    for run in list.ids.runs(list.whole) {
        let Run { first, count } = run?;
        for again in positions.again() {
            let from = again.at.max(at);
            if from < (again.at + again.count).min(at + count) {
                let id = first + (from - at);
                least = Some(least.map_or(id, |least: u64| least.min(id)));
            }
        }
        at += count;
    }
    Ok(least)
}
