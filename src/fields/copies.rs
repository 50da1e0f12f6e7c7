//! Elements that several ranks write (`SCR_SHARED`), such as halos: finds out which, and compares the copies.
//!
//! Which ranks share an element is found out by the ranks that look after the ranges of the whole, and kept as long as
//! no rank changes its lists. Then each checkpoint takes one message to each rank with a lower number that has copies:
//! a checksum for each field. Bytes are read back from the rank's own file, so no memory is needed for them.

use super::entry::{Link, wrong};
use super::file::Stored;
use super::index::cells::{Cells, Held, Parcels};
use super::index::cover::OwnList;
use super::index::listing::Listed;
use super::index::positions::Positions;
use super::index::set::Builder;
use super::index::set_runs::SetRuns;
use super::index::sorted::sorted;
use super::messages::wrong_message;
use super::write::Writer;
use crate::comm::{Communicator, Local, Term, collective, deliver};
use crate::session::{CopiedRun, Copies};
use crate::{Error, Result};
use std::collections::{BTreeMap, HashMap};

/// Bytes of the file that are read together.
const PIECE: u64 = 1 << 18;

/// Finds the elements that this rank shares with others, by shared lists, which have each index of the whole. The lists
/// are the same ones in the same order on all ranks. Collective; two exchanges.
///
/// # Errors
/// The ranks cannot reach each other.
pub fn find_copies(comm: &dyn Communicator, lists: &[OwnList]) -> Result<Vec<Copies>> {
    let (me, size) = (comm.rank(), comm.size());
    let shared = || lists.iter().enumerate().filter(|(_, list)| list.shared);
    let mut parcels = Parcels::default();
    for (number, list) in shared() {
        let cells = Cells::new(list.whole, number, size);
        let all = sorted(&mut Listed(&list.ids, list.whole))?;
        cells.cut(&all.set, (0, 1), |to, ids| {
            parcels.add(to, number, [0; 2], ids);
        })?;
    }
    let received = parcels.exchange(comm, lists.len())?;
    let mut parcels = Parcels::default();
    for (number, list) in shared() {
        let Some(range) = Cells::new(list.whole, number, size).of_rank(me) else {
            continue;
        };
        let have = received.iter().filter(|(_, part)| part.list == number);
        let (ranks, sets): (Vec<usize>, Vec<&[u8]>) =
            have.map(|(from, part)| (*from, &part.ids[..])).unzip();
        let mut pairs: BTreeMap<(usize, usize), Builder> = BTreeMap::new();
        let found = Held::new(range, sets.into_iter()).and_then(|held| {
            held.each_twice(|a, b, window, words| {
                pairs.entry((a, b)).or_default().add_window(window, words);
            })
        });
        found.map_err(|error| wrong_message(&error.to_string()))?;
        for ((a, b), ids) in pairs {
            let (Some(a), Some(b), ids) = (ranks.get(a), ranks.get(b), ids.finish()) else {
                continue;
            };
            parcels.add(*a, number, [*b as u64, 0], &ids.bytes);
            parcels.add(*b, number, [*a as u64, 0], &ids.bytes);
        }
    }
    drop(received);
    let mut found: BTreeMap<(usize, usize), Vec<Vec<u8>>> = BTreeMap::new();
    for (_, part) in parcels.exchange(comm, lists.len())? {
        let pair = (part.list, part.marks[0] as usize);
        found.entry(pair).or_default().push(part.ids);
    }
    let mut positions: Option<(usize, Positions)> = None;
    let mut copies = Vec::new();
    for ((number, peer), parts) in found {
        let list = lists.get(number).filter(|list| list.shared);
        let list = list.ok_or_else(|| wrong_message("it has a list that is not shared"))?;
        // Those of one list follow each other.
        let (_, positions) = match positions.take() {
            Some(known) if known.0 == number => positions.insert(known),
            _ => positions.insert((number, Positions::of(&list.ids, list.whole)?)),
        };
        let mut places = Vec::new();
        for ids in &parts {
            for run in SetRuns::new(ids) {
                let run = run?;
                let mut id = run.first;
                let all = positions.each(run, |at, count| {
                    places.push(CopiedRun { at, id, count });
                    id += count;
                    Ok(())
                })?;
                if !all {
                    let what = "it has an index that this rank does not list";
                    return Err(wrong_message(what));
                }
            }
        }
        places.sort_unstable_by_key(|place| place.at);
        copies.push(Copies {
            list: number,
            peer,
            places,
        });
    }
    Ok(copies)
}

/// Compares the elements that this rank shares with others. An error on one rank names the first field with a
/// difference, its smallest index, and two ranks; the other ranks get `Ok`. `lists` are all index lists, of which one
/// at least is shared. Collective; an exchange and an allreduce, and if there is a difference two more of each.
///
/// # Errors
/// The ranks cannot reach each other.
pub fn compare_copies(
    comm: &dyn Communicator,
    writer: &mut Writer,
    lists: &[OwnList],
    copies: &[Copies],
) -> Result<Local<()>> {
    let me = comm.rank();
    let fields = std::mem::take(&mut writer.fields);
    let compared = Compared {
        me,
        fields: &fields,
        lists,
        copies,
    };
    let found = compared.find(comm, writer);
    writer.fields = fields;
    found.map(Local::from)
}

/// What is compared.
struct Compared<'a> {
    me: usize,
    fields: &'a [Stored],
    lists: &'a [OwnList],
    copies: &'a [Copies],
}

impl Compared<'_> {
    /// The number of the list by which a field goes, if it is shared.
    fn list_of(&self, field: &Stored) -> Option<usize> {
        let Link::By(name) = &field.entry.link else {
            return None;
        };
        let list = self.lists.iter().position(|list| list.name == *name)?;
        self.lists.get(list)?.shared.then_some(list)
    }

    /// The fields that go by a list, with their numbers.
    fn fields_of(&self, list: usize) -> impl Iterator<Item = (usize, &Stored)> {
        let fields = self.fields.iter().enumerate();
        fields.filter(move |(_, field)| self.list_of(field) == Some(list))
    }

    /// The inner result is an error on one rank if copies differ. Collective.
    fn find(&self, comm: &dyn Communicator, writer: &mut Writer) -> Result<Result<()>> {
        const NONE: i64 = i64::MAX;
        let sums = self.sums(writer);
        let mut messages: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for (copies, sums) in self.copies.iter().zip(sums.iter().flatten()) {
            if copies.peer < self.me {
                let message = messages.entry(copies.peer).or_default();
                message.extend(sums.iter().flat_map(|(_, sum)| sum.to_le_bytes()));
            }
        }
        let mut received = numbers_by_rank(deliver(comm, messages.into_iter().collect())?);
        let mut first = NONE;
        for (copies, sums) in self.copies.iter().zip(sums.iter().flatten()) {
            // A rank that could not read its file sends nothing, and tells so.
            let Some(theirs) = received.get_mut(&copies.peer) else {
                continue;
            };
            for (field, sum) in sums {
                if theirs.next() != Some(*sum) {
                    first = first.min(*field as i64);
                }
            }
        }
        let terms = [Term::Min(first), Term::any(sums.is_err())];
        let [first, failed] = collective::combine(comm, terms)?;
        if let Err(error) = sums {
            return Ok(Err(error));
        }
        if failed.on_any() || first.get() == NONE {
            return Ok(Ok(()));
        }
        let field = self.fields.get(first.get() as usize);
        let field = field.ok_or_else(|| wrong_message("it has a field that is not there"))?;
        let wrong = self.first_wrong(comm, writer, field)?;
        let least = wrong.as_ref().map_or(NONE, |(id, _)| *id as i64);
        let [least] = collective::combine(comm, [Term::Min(least)])?;
        Ok(match wrong {
            Some((id, error)) if id as i64 == least.get() => Err(error),
            _ => Ok(()),
        })
    }

    /// For each of the copies, and each field that goes by its list, the number of the field, and a checksum. Local.
    fn sums(&self, writer: &mut Writer) -> Result<Vec<Vec<(usize, u64)>>> {
        let mut all = Vec::new();
        for copies in self.copies {
            let mut sums = Vec::new();
            for (number, field) in self.fields_of(copies.list) {
                let mut sum = 0u64;
                each_element(writer, field, &copies.places, |id, bytes| {
                    // The other rank has its elements in another order.
                    sum = sum.wrapping_add(checksum(id, bytes));
                })?;
                sums.push((number, sum));
            }
            all.push(sums);
        }
        Ok(all)
    }

    /// The first index of this field whose elements differ, of those that this rank compares, with the error. If this
    /// rank's file cannot be read, that is the error, and the index is 0. Collective.
    fn first_wrong(
        &self,
        comm: &dyn Communicator,
        writer: &mut Writer,
        field: &Stored,
    ) -> Result<Option<(u64, Error)>> {
        let list = self.list_of(field);
        let of_list = || {
            self.copies
                .iter()
                .filter(|copies| Some(copies.list) == list)
        };
        let (mut messages, mut failed) = (Vec::new(), None);
        for copies in of_list().filter(|copies| copies.peer < self.me) {
            let mut message = Vec::new();
            let read = each_element(writer, field, &copies.places, |id, bytes| {
                message.extend(id.to_le_bytes());
                message.extend(checksum(id, bytes).to_le_bytes());
            });
            failed = failed.or(read.err());
            messages.push((copies.peer, message));
        }
        let mut received = numbers_by_rank(deliver(comm, messages)?);
        let mut first: Option<(u64, usize)> = None;
        for copies in of_list().filter(|copies| copies.peer > self.me) {
            let mut theirs = HashMap::new();
            let numbers = received.get_mut(&copies.peer).into_iter().flatten();
            let mut numbers = numbers.fuse();
            while let (Some(id), Some(sum)) = (numbers.next(), numbers.next()) {
                theirs.insert(id, sum);
            }
            let read = each_element(writer, field, &copies.places, |id, bytes| {
                let differs = theirs.get(&id) != Some(&checksum(id, bytes));
                if differs && first.is_none_or(|first| (id, copies.peer) < first) {
                    first = Some((id, copies.peer));
                }
            });
            failed = failed.or(read.err());
        }
        if let Some(error) = failed {
            return Ok(Some((0, error)));
        }
        let list = list.and_then(|list| self.lists.get(list));
        Ok(first.zip(list).map(|((id, peer), list)| {
            let what = format!(
                "ranks {} and {peer} both have the element of index {} of \"{}\", and their copies differ; with \
                 SCR_SHARED all copies must be equal bit for bit when the state is written",
                self.me,
                list.named(id),
                list.name
            );
            (id, wrong(&field.entry.name, what))
        }))
    }
}

/// The numbers of the message of each rank.
fn numbers_by_rank(messages: Vec<(usize, Vec<u8>)>) -> BTreeMap<usize, impl Iterator<Item = u64>> {
    let numbers = |message: Vec<u8>| {
        let numbers = message.as_chunks().0.to_vec();
        numbers.into_iter().map(u64::from_le_bytes)
    };
    let messages = messages.into_iter();
    messages
        .map(|(from, message)| (from, numbers(message)))
        .collect()
}

/// Calls `visit` with the index and the bytes of each of these elements of a field. Local.
fn each_element(
    writer: &mut Writer,
    field: &Stored,
    places: &[CopiedRun],
    mut visit: impl FnMut(u64, &[u8]),
) -> Result<()> {
    let unit = field.entry.unit();
    let all = field.entry.extents.first().copied().unwrap_or(0);
    if unit == 0 {
        return Ok(());
    }
    let rows = (PIECE / unit).max(1);
    let (mut read, mut buffer) = (0..0, Vec::new());
    for place in places {
        let (mut at, end) = (place.at, all.min(place.at + place.count));
        while at < end {
            if !read.contains(&at) {
                read = at..all.min(at + rows);
                buffer.resize(((read.end - read.start) * unit) as usize, 0);
                writer.read_back(field.section.offset + at * unit, &mut buffer)?;
            }
            // What the piece has of the run.
            let to = end.min(read.end);
            let place_of = |at: u64| ((at - read.start) * unit) as usize;
            let run = buffer.get(place_of(at)..place_of(to)).unwrap_or_default();
            for (id, bytes) in (place.id + (at - place.at)..).zip(run.chunks(unit as usize)) {
                visit(id, bytes);
            }
            at = to;
        }
    }
    Ok(())
}

/// A number of the element of an index. Other bytes, or another index, give the same one only by chance.
fn checksum(id: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let mut sum = mixed(id);
    for word in words {
        sum = mixed(sum ^ u64::from_le_bytes(*word));
    }
    for byte in rest {
        sum = mixed(sum ^ u64::from(*byte));
    }
    sum
}

/// Each bit of the result depends on each bit of `number`; two numbers never give the same.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::checksum;
    use std::collections::HashSet;

    #[test]
    fn each_bit_of_an_element_changes_its_checksum() {
        for length in 0..20usize {
            let bytes = vec![0x5a; length];
            let mut seen = HashSet::from([checksum(7, &bytes), checksum(8, &bytes)]);
            for bit in 0..8 * length {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(seen.insert(checksum(7, &changed)), "{length} {bit}");
            }
            assert_eq!(seen.len(), 8 * length + 2);
        }
    }
}
