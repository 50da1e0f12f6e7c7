//! Lists in any order: their indices as a set, and the places of some of them.

use super::bits::Bits;
use super::ids::{Encoder, Ids, Run};
use super::listing::Listing;
use super::positions::Positions;
use super::set::{Builder, Set};
use super::set_runs::SetRuns;
use crate::fields::messages::wrong_message;
use crate::system::size::scaled;
use crate::{Error, Result};

/// Bytes of bits that are used for each run of a list at most, rather than to sort the runs.
const BITS_A_RUN: u64 = 16;

/// The runs of a list, counted.
struct Size {
    runs: u64,
    from: u64,
    end: u64,
}

fn size_of(list: &mut impl Listing) -> Result<Size> {
    let (mut runs, mut from, mut end) = (0, u64::MAX, 0);
    list.each(|run| {
        runs += 1;
        from = from.min(run.first);
        end = end.max(run.end());
    })?;
    let from = from.min(end);
    Ok(Size { runs, from, end })
}

/// The indices of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sorted {
    /// All of them.
    pub set: Set,
    /// The smallest one that the list has twice.
    pub twice: Option<u64>,
    /// They are so near to each other that a bit for each index of their range takes little.
    pub dense: bool,
}

/// The indices of a list, in whatever order.
///
/// # Errors
/// The list is damaged, or cannot be read.
pub fn sorted(list: &mut impl Listing) -> Result<Sorted> {
    let mut builder = Builder::default();
    if list.ascends() {
        list.each(|run| builder.add(run))?;
        let set = builder.finish();
        return Ok(Sorted {
            set,
            ..Sorted::default()
        });
    }
    let size = size_of(list)?;
    let dense = Bits::bytes(size.from, size.end) <= BITS_A_RUN * size.runs;
    if dense {
        let (mut bits, mut twice) = (Bits::new(size.from, size.end), u64::MAX);
        list.each(|run| {
            for id in run.first..run.end() {
                if !bits.insert(id) {
                    twice = twice.min(id);
                }
            }
        })?;
        bits.words()
            .for_each(|(at, bits)| builder.add_bits(at, bits));
        let set = builder.finish();
        let twice = Some(twice).filter(|id| *id != u64::MAX);
        return Ok(Sorted { set, twice, dense });
    }
    let mut runs = Vec::with_capacity(size.runs as usize);
    list.each(|run| runs.push(run))?;
    runs.sort_unstable();
    let (mut end, mut twice) = (0, None);
    for run in runs {
        if run.first < end {
            twice = twice.or(Some(run.first));
        }
        let first = run.first.max(end);
        if first < run.end() {
            let count = run.end() - first;
            builder.add(Run { first, count });
            end = run.end();
        }
    }
    let set = builder.finish();
    Ok(Sorted { set, twice, dense })
}

/// Bytes of the bits of sets that are looked for in a list at a time.
const AT_A_TIME: usize = 1 << 23;

/// The places, in a list in any order, of the indices of sets, each of which is in its bytes; ascending.
///
/// # Errors
/// The list does not have an index, or a set is damaged.
pub fn places_in(list: &mut impl Listing, sets: &[Vec<u8>]) -> Result<Vec<Set>> {
    let (mut found, mut wanted, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut sets = sets.iter().peekable();
    while let Some(set) = sets.next() {
        let bits = Bits::of_set(set)?;
        bytes += bits.in_memory();
        wanted.push(Looked {
            total: bits.total(),
            bits,
            found: 0,
            places: Builder::default(),
        });
        if bytes >= scaled(AT_A_TIME) || sets.peek().is_none() {
            found.extend(look_for(list, std::mem::take(&mut wanted))?);
            bytes = 0;
        }
    }
    Ok(found)
}

/// A set that is looked for.
struct Looked {
    bits: Bits,
    total: u64,
    found: u64,
    places: Builder,
}

/// Looks for several sets in one pass over a list.
fn look_for(list: &mut impl Listing, mut wanted: Vec<Looked>) -> Result<Vec<Set>> {
    let mut at = 0;
    let mut look = |some: &[u64]| {
        for looked in &mut wanted {
            let bit = |(bit, id): (usize, &u64)| u64::from(looked.bits.has(*id)) << bit;
            let bits: u64 = some.iter().enumerate().map(bit).sum();
            if bits != 0 {
                looked.places.add_bits(at, bits);
                looked.found += u64::from(bits.count_ones());
            }
        }
        at += some.len() as u64;
    };
    let (mut some, mut filled) = ([0; 64], 0);
    list.each(|run| {
        for id in run.first..run.end() {
            if let Some(place) = some.get_mut(filled) {
                *place = id;
            }
            filled += 1;
            if filled == some.len() {
                look(&some);
                filled = 0;
            }
        }
    })?;
    look(some.get(..filled).unwrap_or_default());
    let sets = wanted.into_iter().map(|looked| {
        if looked.found != looked.total {
            return Err(not_there());
        }
        Ok(looked.places.finish())
    });
    sets.collect()
}

fn not_there() -> Error {
    wrong_message("it asks for an index that is not in the file")
}

/// As [`places_in`], of one set in a list whose positions are known.
///
/// # Errors
/// As [`places_in`].
pub fn known_places(positions: &Positions, bytes: &[u8]) -> Result<Set> {
    let mut builder = Builder::default();
    let mut found = Vec::new();
    for run in SetRuns::new(bytes) {
        let all = positions.each(run?, |first, count| {
            found.push(Run { first, count });
            Ok(())
        })?;
        if !all {
            return Err(not_there());
        }
    }
    found.sort_unstable();
    found.into_iter().for_each(|run| builder.add(run));
    Ok(builder.finish())
}

/// Places in a list that is known by its positions, in the order of the indices of a set.
///
/// # Errors
/// The list does not have an index, or the set is damaged.
pub fn listed_places(positions: &Positions, bytes: &[u8]) -> Result<Ids> {
    let mut encoder = Encoder::default();
    for run in SetRuns::new(bytes) {
        let all = positions.each(run?, |first, count| {
            encoder.add(Run { first, count });
            Ok(())
        })?;
        if !all {
            return Err(wrong_message(
                "it has an index that is not in this rank's list",
            ));
        }
    }
    Ok(encoder.finish())
}
