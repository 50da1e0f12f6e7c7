//! The index lists in the files that a rank reads in a restart with other lists.

use super::entry::Link;
use super::finding::{Finding, Found};
use super::index::ids::{Cursor, Ids, Runs};
use super::index::places::Places;
use super::index::positions::Positions;
use super::index::set::{Builder, Set, SetRuns};
use super::index::sorted::{Sorted, known_places, places_in, sorted};
use super::messages::wrong_message;
use super::sources::{Sources, chunks_in};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// Ranks that need indices of a file, each of which is looked for by itself if the file is in any order. If there are
/// more, the positions of all indices in the file are found out.
const FEW: usize = 8;

/// The elements of one file that this rank sends.
pub struct Share {
    /// The rank that wrote the file.
    pub writer: u64,
    /// Number of elements in the file.
    pub count: u64,
    /// The places in the file, ascending, of the elements for each rank.
    pub to: Vec<(usize, Places)>,
}

/// A file that this rank reads.
pub struct OfFile {
    /// All of its indices.
    pub set: Set,
    /// The list, if it does not ascend.
    pub ids: Option<Ids>,
    dense: bool,
    /// What each rank needs, by the first index: places in the file; or indices, if the list does not ascend.
    needed: BTreeMap<usize, BTreeMap<u64, Set>>,
}

/// The index list in the file of a rank. Local.
pub fn stored_ids(sources: &mut Sources, writer: u64, name: &str) -> Found<Ids> {
    let number = sources
        .opened(writer)
        .and_then(|source| source.number(name));
    let number = number.unwrap_or(usize::MAX);
    let stored = sources.field(writer, number)?;
    if let Link::Bag { .. } = stored.entry.link {
        let bag = sources.bags.get(name);
        return Ok(bag.map_or_else(Ids::default, |bag| bag.ids_of(writer)));
    }
    let (whole, count) = stored
        .entry
        .of_index()
        .ok_or_else(|| Finding::unfit(format!("\"{name}\" is no index list in the checkpoint")))?;
    let (chunks, length) = (chunks_in(stored), stored.entry.bytes());
    let mut bytes = Vec::with_capacity(length as usize);
    for chunk in 0..chunks {
        bytes.extend_from_slice(sources.chunk((writer, number, chunk))?);
    }
    let read = Ids::read(bytes, count, whole);
    read.map_err(|error| match sources.opened(writer) {
        Some(source) => source.is_damaged(error).into(),
        None => error.into(),
    })
}

/// Bytes of a run at most: two numbers.
const LONGEST: usize = 20;

/// The indices in the file of a rank if they ascend there, read without the whole list in memory. `None` also if something
/// is wrong with the list. Local.
fn stored_set(sources: &mut Sources, writer: u64, name: &str) -> Found<Option<Set>> {
    let source = sources.opened(writer);
    let number = source.and_then(|source| source.number(name));
    let number = number.unwrap_or(usize::MAX);
    let stored = sources.field(writer, number)?;
    let (chunks, Some((whole, count))) = (chunks_in(stored), stored.entry.of_index()) else {
        return Ok(None);
    };
    let (mut builder, mut end, mut left) = (Builder::default(), 0, Vec::new());
    for chunk in 0..chunks {
        left.extend_from_slice(sources.chunk((writer, number, chunk))?);
        // The last run may go on in the next piece.
        let open = if chunk + 1 < chunks { LONGEST } else { 0 };
        let sure = left.len().saturating_sub(open);
        let mut runs = Runs::from(&left, whole, Cursor::after(end));
        while runs.cursor().bytes() < sure {
            match runs.take_most(u64::MAX) {
                Ok(Some(run)) if run.first >= end => {
                    end = run.end();
                    builder.add(run);
                }
                _ => return Ok(None),
            }
        }
        let used = runs.cursor().bytes();
        left.drain(..used);
    }
    let set = builder.finish();
    Ok((set.count == count).then_some(set))
}

impl OfFile {
    /// Looks at the index list of this name, of a whole, in the file of a rank. Local.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn read(sources: &mut Sources, writer: u64, (name, whole): (&str, u64)) -> Found<OfFile> {
        if let Some(set) = stored_set(sources, writer, name)? {
            return Ok(OfFile {
                set,
                ids: None,
                dense: false,
                needed: BTreeMap::new(),
            });
        }
        let ids = stored_ids(sources, writer, name)?;
        let Sorted { set, twice, dense } = sorted(&ids, whole)?;
        if twice {
            let error = Error::format(0, "an index list has an index twice");
            return Err(match sources.opened(writer) {
                Some(source) => source.is_damaged(error).into(),
                None => error.into(),
            });
        }
        Ok(OfFile {
            set,
            ids: (!ids.ascending).then_some(ids),
            dense,
            needed: BTreeMap::new(),
        })
    }

    /// A rank needs these indices, a set which is in `bytes`.
    ///
    /// # Errors
    /// They are not all in the file.
    pub fn need(&mut self, to: usize, bytes: Vec<u8>) -> Result<()> {
        let Some(first) = SetRuns::new(&bytes).next().transpose()? else {
            return Ok(());
        };
        let set = match &self.ids {
            Some(_) => Set::from(bytes),
            None => self
                .set
                .places_of(&bytes)?
                .ok_or_else(|| wrong_message("it asks for an index that is not in the file"))?,
        };
        self.needed.entry(to).or_default().insert(first.first, set);
        Ok(())
    }

    /// What is sent of the file.
    ///
    /// # Errors
    /// The indices that are needed are not all in the file.
    pub fn share(&mut self, writer: u64, whole: u64) -> Result<Share> {
        let needed = std::mem::take(&mut self.needed);
        let count = self.set.count;
        let positions = match &self.ids {
            Some(ids) if !self.dense || needed.len() > FEW => Some(Positions::of(ids, whole)?),
            _ => None,
        };
        let (ranks, parts): (Vec<usize>, Vec<Vec<Set>>) = needed
            .into_iter()
            .map(|(rank, parts)| (rank, parts.into_values().collect()))
            .unzip();
        let bytes = |parts: Vec<Set>| {
            let parts: Vec<Vec<u8>> = parts.into_iter().map(|set| set.bytes).collect();
            parts.concat()
        };
        let sets: Vec<Vec<Set>> = match (&self.ids, &positions) {
            (None, _) => parts,
            (Some(_), Some(positions)) => {
                let of = |parts| Ok(vec![known_places(positions, &bytes(parts))?]);
                parts.into_iter().map(of).collect::<Result<_>>()?
            }
            (Some(ids), None) => {
                let wanted: Vec<Vec<u8>> = parts.into_iter().map(bytes).collect();
                let found = places_in(ids, whole, &wanted)?;
                found.into_iter().map(|set| vec![set]).collect()
            }
        };
        let places = sets.into_iter().map(|sets| {
            let mut places = Places::default();
            for set in sets {
                places.add_set(set.bytes, set.count);
            }
            places.shrink();
            places
        });
        let to = ranks.into_iter().zip(places).collect();
        Ok(Share { writer, count, to })
    }
}
