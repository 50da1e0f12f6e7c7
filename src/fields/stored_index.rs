//! The index lists in the files that a rank reads in a restart with other lists.

use super::entry::Entry;
use super::finding::{Finding, Found};
use super::index::ids::{Cursor, LONGEST, Run, Runs};
use super::index::listing::{Decoder, Listing};
use super::index::needed::Kept;
use super::index::places::Places;
use super::index::positions::Positions;
use super::index::set::{Builder, Set};
use super::index::set_runs::SetRuns;
use super::index::sorted::{Sorted, known_places, places_in, sorted};
use super::index::split::Split;
use super::messages::wrong_message;
use super::sources::{Sources, chunks_in};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// An index list in a file.
#[derive(Debug, Clone, Copy)]
pub struct StoredList {
    /// The rank that wrote it.
    pub writer: u64,
    number: usize,
    chunks: u64,
    /// Bytes of the list.
    pub bytes: u64,
    whole: u64,
    /// Number of indices.
    pub count: u64,
    ascending: bool,
}

impl StoredList {
    /// The list of this name in the file of a rank. Local.
    fn find(sources: &Sources, writer: u64, name: &str) -> Found<StoredList> {
        let source = sources.opened(writer);
        let number = source.and_then(|source| source.number(name));
        let number = number.unwrap_or(usize::MAX);
        let stored = sources.field(writer, number)?;
        let Some((whole, count)) = stored.entry.of_index() else {
            let what = format!("\"{name}\" is no index list in the checkpoint");
            return Err(Finding::unfit(what));
        };
        Ok(StoredList {
            writer,
            number,
            chunks: chunks_in(stored),
            bytes: stored.entry.bytes(),
            whole,
            count,
            ascending: false,
        })
    }

    fn read<'a>(&self, sources: &'a mut Sources) -> InFile<'a> {
        InFile {
            list: *self,
            sources,
        }
    }
}

/// An index list that is read from its file, piece by piece, each time that it is visited.
struct InFile<'a> {
    list: StoredList,
    sources: &'a mut Sources,
}

impl Listing for InFile<'_> {
    fn count(&self) -> u64 {
        self.list.count
    }

    fn ascends(&self) -> bool {
        self.list.ascending
    }

    fn each(&mut self, mut visit: impl FnMut(Run)) -> Result<()> {
        let list = self.list;
        let (mut decoder, mut found) = (Decoder::default(), 0u64);
        for chunk in 0..list.chunks {
            let key = (list.writer, list.number, chunk);
            let bytes = self.sources.chunk(key).map_err(|finding| finding.error)?;
            let read = decoder.add(bytes, chunk + 1 == list.chunks, list.whole, |run| {
                found = found.saturating_add(run.count);
                visit(run);
            });
            read.map_err(|error| in_file(self.sources, list.writer, error))?;
        }
        if found != list.count {
            let what = format!("an index list has {found} indices, not {}", list.count);
            return Err(in_file(self.sources, list.writer, Error::format(0, what)));
        }
        Ok(())
    }
}

fn in_file(sources: &Sources, writer: u64, error: Error) -> Error {
    match sources.opened(writer) {
        Some(source) => source.is_damaged(error),
        None => error,
    }
}

/// Compares the bytes of a list with those in this rank's file.
pub struct Stored<'a> {
    sources: &'a mut Sources,
    list: StoredList,
    next: u64,
    /// What is left of the piece that was read last.
    left: Vec<u8>,
    at: usize,
}

impl<'a> Stored<'a> {
    /// The list of this name, if there is one.
    pub fn of(sources: &'a mut Sources, name: &str) -> Option<Self> {
        let list = StoredList::find(sources, sources.home, name).ok()?;
        Some(Stored {
            sources,
            list,
            next: 0,
            left: Vec::new(),
            at: 0,
        })
    }

    /// Whether the next bytes are these; also false if they cannot be read. Local.
    pub fn has(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let left = self.left.get(self.at..).unwrap_or_default();
            if left.is_empty() {
                let key = (self.list.writer, self.list.number, self.next);
                if self.next == self.list.chunks {
                    return false;
                }
                let Ok(chunk) = self.sources.chunk(key) else {
                    return false;
                };
                self.left.clear();
                self.left.extend_from_slice(chunk);
                (self.next, self.at) = (self.next + 1, 0);
                continue;
            }
            let length = left.len().min(bytes.len());
            let (now, rest) = bytes.split_at(length);
            if left.get(..length) != Some(now) {
                return false;
            }
            self.at += length;
            bytes = rest;
        }
        true
    }

    /// Whether all bytes were compared, of a list with this entry.
    pub fn was(&self, entry: &Entry) -> bool {
        let ended = self.next == self.list.chunks && self.at == self.left.len();
        let stored = (self.list.whole, self.list.count);
        ended && entry.of_index() == Some(stored) && entry.bytes() == self.list.bytes
    }
}

/// What an index list, or a bag, in the file of a rank says of the elements that the same rank needs. Local.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn stored_needs(sources: &mut Sources, name: &str) -> Found<Kept> {
    let home = sources.home;
    if let Some(bag) = sources.bags.get(name) {
        return Ok(Kept::of(&bag.ids_of(home), bag.whole)?);
    }
    let mut list = StoredList::find(sources, home, name)?;
    if let Some(set) = ascending(sources, &mut list)? {
        return Ok(Kept::Ascending(set));
    }
    Ok(Kept::AnyOrder(Positions::of_list(&mut list.read(sources))?))
}

/// The indices of a list if they ascend, which is noted.
fn ascending(sources: &mut Sources, list: &mut StoredList) -> Result<Option<Set>> {
    let (mut builder, mut end, mut ascends) = (Builder::default(), 0, true);
    list.read(sources).each(|run| {
        ascends &= run.first >= end;
        end = run.end();
        if ascends {
            builder.add(run);
        }
    })?;
    list.ascending = ascends;
    Ok(ascends.then(|| builder.finish()))
}

/// Reads a list in parts of any length.
pub struct Reading {
    list: StoredList,
    next: u64,
    bytes: Vec<u8>,
    cursor: Cursor,
}

impl Reading {
    /// From the beginning on.
    pub fn new(list: StoredList) -> Self {
        Reading {
            list,
            next: 0,
            bytes: Vec::new(),
            cursor: Cursor::default(),
        }
    }

    /// Reads the next piece. False at the end of the list.
    fn fill(&mut self, sources: &mut Sources) -> Result<bool> {
        if self.next == self.list.chunks {
            return Ok(false);
        }
        self.cursor.forget(&mut self.bytes);
        let key = (self.list.writer, self.list.number, self.next);
        let chunk = sources.chunk(key).map_err(|finding| finding.error)?;
        self.bytes.extend_from_slice(chunk);
        self.next += 1;
        Ok(true)
    }

    /// Visits the next runs, until `visit` takes fewer indices of one than it has, or the list ends. Local.
    ///
    /// # Errors
    /// The list cannot be read, or is damaged.
    pub fn each(&mut self, sources: &mut Sources, mut visit: impl FnMut(Run) -> u64) -> Result<()> {
        loop {
            let open = if self.next < self.list.chunks {
                LONGEST
            } else {
                0
            };
            let mut runs = Runs::from(&self.bytes, self.list.whole, self.cursor);
            let mut stopped = false;
            let read = runs.each_until(open, |run| {
                let taken = visit(run);
                stopped = taken < run.count;
                Ok(taken)
            });
            self.cursor = runs.cursor();
            read.map_err(|error| in_file(sources, self.list.writer, error))?;
            if stopped || !self.fill(sources)? {
                return Ok(());
            }
        }
    }
}

/// A file that this rank reads.
pub struct OfFile {
    /// All of its indices.
    pub set: Set,
    /// The list, if it does not ascend.
    pub list: Option<StoredList>,
    dense: bool,
    /// If the list ascends: how its indices are split among the ranks that need them, by the first index.
    splits: BTreeMap<u64, Split>,
    /// What each rank needs besides, by the first index: places in the file; or indices, if the list does not ascend.
    needed: BTreeMap<usize, BTreeMap<u64, Set>>,
}

/// The shares of the elements of a list that ascends, which has `count` of them, from the splits of its parts.
///
/// # Errors
/// The parts are not those of the list.
pub fn shares(splits: BTreeMap<u64, Split>, count: u64) -> Result<BTreeMap<u64, Places>> {
    let (mut shares, mut from) = (BTreeMap::new(), 0u64);
    for split in splits.into_values() {
        let end = from.saturating_add(split.count);
        if end > count {
            return Err(wrong_message("it splits more elements than a list has"));
        }
        let split = Arc::new(split);
        for (number, other) in (1..).zip(&split.others) {
            let chosen = split.count_of(number)?;
            let places: &mut Places = shares.entry(*other).or_default();
            places.add_chosen(from, &split, number, chosen);
        }
        from = end;
    }
    Ok(shares)
}

impl OfFile {
    /// Looks at the index list of this name in the file of a rank. Local.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn read(sources: &mut Sources, writer: u64, name: &str) -> Found<OfFile> {
        let of_set = |set| OfFile {
            set,
            list: None,
            dense: false,
            splits: BTreeMap::new(),
            needed: BTreeMap::new(),
        };
        if let Some(bag) = sources.bags.get(name) {
            return Ok(of_set(Set::of(&bag.ids_of(writer), bag.whole)?));
        }
        let mut list = StoredList::find(sources, writer, name)?;
        if let Some(set) = ascending(sources, &mut list)? {
            return Ok(of_set(set));
        }
        let Sorted { set, twice, dense } = sorted(&mut list.read(sources))?;
        if twice.is_some() {
            let error = Error::format(0, "an index list has an index twice");
            return Err(in_file(sources, writer, error).into());
        }
        Ok(OfFile {
            list: Some(list),
            dense,
            ..of_set(set)
        })
    }

    /// The indices of a part of the list are split among ranks that need them.
    ///
    /// # Errors
    /// The list is not split, since it does not ascend.
    pub fn split(&mut self, split: Split) -> Result<()> {
        if self.list.is_some() {
            return Err(wrong_message("it splits a list that does not ascend"));
        }
        self.splits.insert(split.first, split);
        Ok(())
    }

    /// A rank needs these indices, a set which is in `bytes`.
    ///
    /// # Errors
    /// They are not all in the file.
    pub fn need(&mut self, to: usize, bytes: Vec<u8>) -> Result<()> {
        let Some(first) = SetRuns::new(&bytes).next().transpose()? else {
            return Ok(());
        };
        let set = match &self.list {
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
    pub fn share(&mut self, writer: u64, sources: &mut Sources) -> Result<Share> {
        let needed = std::mem::take(&mut self.needed);
        let count = self.set.count;
        let positions = match &self.list {
            Some(list) if !self.dense || needed.len() > FEW => {
                Some(Positions::of_list(&mut list.read(sources))?)
            }
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
        let sets: Vec<Vec<Set>> = match (&self.list, &positions) {
            (None, _) => parts,
            (Some(_), Some(positions)) => {
                let of = |parts| Ok(vec![known_places(positions, &bytes(parts))?]);
                parts.into_iter().map(of).collect::<Result<_>>()?
            }
            (Some(list), None) => {
                let wanted: Vec<Vec<u8>> = parts.into_iter().map(bytes).collect();
                let found = places_in(&mut list.read(sources), &wanted)?;
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
        let shares = shares(std::mem::take(&mut self.splits), count)?;
        let mut to: BTreeMap<usize, Places> = shares
            .into_iter()
            .map(|(rank, places)| (rank as usize, places))
            .collect();
        for (rank, more) in ranks.into_iter().zip(places) {
            let both = match to.remove(&rank) {
                Some(places) => places.or(&more)?,
                None => more,
            };
            to.insert(rank, both);
        }
        let to = to.into_iter().collect();
        Ok(Share { writer, count, to })
    }
}
