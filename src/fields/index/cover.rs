//! Checks that the index lists of all ranks have each index of the whole once; of a shared list, at least once.

use super::Encoded;
use super::cells::{Cells, Held, Parcels, Wrong};
use super::ids::{Ids, Run};
use super::listing::{Decoder, Listed, Listing};
use super::set::Set;
use super::sorted::{Sorted, sorted};
use crate::comm::{Communicator, Term, collective};
use crate::fields::entry::wrong_list;
use crate::fields::finding::WrongPlace;
use crate::fields::messages::wrong_message;
use crate::system::size::scaled;
use crate::{Error, Result};
use std::borrow::Cow;

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
    /// The indices, from 0 on; none if they are in the file only.
    pub ids: Ids,
    /// A long list is in the file only.
    pub written: Option<InFile>,
    /// The set of the indices, if it is known.
    pub set: Option<Set>,
}

/// An index list in the file that is being written.
#[derive(Debug, Clone, Copy)]
pub struct InFile {
    /// Offset of its first byte.
    pub offset: u64,
    /// What was written.
    pub encoded: Encoded,
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

/// Bytes of sets that are sent at a time.
const SENT: usize = 1 << 20;

/// A list, read from where it is.
struct Own<'a> {
    list: &'a OwnList,
    read: &'a mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
}

/// Reads bytes of the file that is being written.
pub type ReadBack<'a> = dyn FnMut(u64, &mut [u8]) -> Result<()> + 'a;

impl Listing for Own<'_> {
    fn count(&self) -> u64 {
        match &self.list.written {
            Some(written) => written.encoded.count,
            None => self.list.ids.count,
        }
    }

    fn ascends(&self) -> bool {
        match &self.list.written {
            Some(written) => written.encoded.ascending,
            None => self.list.ids.ascending,
        }
    }

    fn each(&mut self, mut visit: impl FnMut(Run)) -> Result<()> {
        let Some(InFile { offset, encoded }) = self.list.written else {
            return Listed(&self.list.ids, self.list.whole).each(visit);
        };
        let step = scaled(SENT) as u64;
        let (mut decoder, mut buffer, mut at) = (Decoder::default(), Vec::new(), 0);
        while at < encoded.bytes {
            let length = step.min(encoded.bytes - at);
            buffer.resize(length as usize, 0);
            (self.read)(offset + at, &mut buffer)?;
            at += length;
            decoder.add(&buffer, at == encoded.bytes, self.list.whole, &mut visit)?;
        }
        Ok(())
    }
}

/// The first index of this rank's ranges that not exactly one rank has (of a shared list: none), or that this rank lists
/// twice. The lists are those of this rank, the same ones in the same order on all ranks; `read` reads those that are
/// in the file only. Collective; an allreduce, and an exchange for each MiB of sets.
///
/// # Errors
/// The ranks cannot reach each other; or the file cannot be read, which this rank tells when all have compared.
pub(in crate::fields) fn first_wrong_index(
    comm: &dyn Communicator,
    lists: &[OwnList],
    read: &mut ReadBack<'_>,
) -> Result<Result<Option<WrongPlace>>> {
    let me = comm.rank();
    let (mut found, mut first): (Result<()>, _) = (Ok(()), None);
    let mut sets = Vec::new();
    for (number, list) in lists.iter().enumerate() {
        if let Some(set) = &list.set {
            sets.push(Cow::Borrowed(set));
            continue;
        }
        let all = sorted(&mut Own {
            list,
            read: &mut *read,
        });
        let all = all.unwrap_or_else(|error| {
            found = Err(error);
            Sorted::default()
        });
        if let Some(id) = all.twice {
            keep_first(&mut first, (number, id), list.twice(id, me, me));
        }
        sets.push(Cow::Owned(all.set));
    }
    let bytes: usize = sets.iter().map(|set| set.bytes.len()).sum();
    let slices = bytes.div_ceil(scaled(SENT)).max(1) as i64;
    let [slices] = collective::combine(comm, [Term::Max(slices)])?;
    for slice in 0..slices.count() {
        compare_slice(comm, lists, &sets, (slice, slices.count()), &mut first)?;
    }
    Ok(found.map(|()| first))
}

/// Keeps an error if its index is the first one so far.
fn keep_first(first: &mut Option<WrongPlace>, (field, place): (usize, u64), error: Error) {
    let before = first.as_ref().map(|first| (first.field, first.place));
    if before.is_none_or(|before| (field, place) < before) {
        *first = Some(WrongPlace {
            field,
            place,
            error,
        });
    }
}

/// Compares the sets of all ranks in a slice of each range. Collective; an exchange.
fn compare_slice(
    comm: &dyn Communicator,
    lists: &[OwnList],
    sets: &[Cow<'_, Set>],
    (slice, slices): (u64, u64),
    first: &mut Option<WrongPlace>,
) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let mut parcels = Parcels::default();
    for (number, (list, set)) in lists.iter().zip(sets).enumerate() {
        let cells = Cells::new(list.whole, number, size);
        cells.cut(set, (slice, slices), |to, ids| {
            parcels.add(to, number, [0; 2], ids);
        })?;
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
        let range = Cells::slice_of(&range, slice, slices);
        let sets = have.iter().map(|(_, ids)| &ids[..]);
        let wrong = Held::new(range, sets).and_then(|held| held.first_wrong(list.shared));
        let Some(wrong) = wrong.map_err(|error| wrong_message(&error.to_string()))? else {
            continue;
        };
        let rank = |number: usize| have.get(number).map_or(me, |(rank, _)| *rank);
        let error = match wrong {
            Wrong::Twice(id, a, b) => list.twice(id, rank(a), rank(b)),
            Wrong::Missing(id) => list.missing(id),
        };
        keep_first(first, (number, wrong.index()), error);
    }
    Ok(())
}
