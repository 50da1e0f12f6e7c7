//! A restart with other index lists than were written: finds out which rank needs which elements of which file, and
//! sends them.
//!
//! As with boxes, each file is read by one rank, once, which sends every other rank its elements; and each rank finds
//! out the needs in one range of the whole. A rank that reads a file keeps, for each rank that it sends elements to,
//! their places in the file, and tells that rank their indices, once for each list. From these the receiver has the
//! places in its memory, in the same order. So the messages of the fields have the elements alone, and no rank looks
//! up an index for each field.

use super::entry::Entry;
use super::finding::Found;
use super::index::ids::{put, take};
use super::index::needed::Needed;
use super::index::places::{Next, Places, copy_out};
use super::index::positions::Again;
use super::plan_index::{List, plan};
use super::sources::{ChunkKey, Sources, chunk_of, chunks_in};
use crate::comm::Communicator;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// A field whose elements go by an index list.
struct Field {
    list: usize,
    name: String,
    /// Elements for each index.
    row: u64,
    /// The pieces of files that are read, in the order of the rounds: the share, and the piece.
    pieces: Vec<(usize, ChunkKey)>,
    /// The round that is next.
    round: u64,
    /// The places that follow the piece that was sent last.
    to: Vec<Next>,
    /// The places that follow those of the elements that have come from each file.
    from: BTreeMap<u64, Next>,
}

/// This rank's work in a restart with other index lists.
pub struct IndexSpread {
    lists: Vec<List>,
    fields: Vec<Field>,
}

impl IndexSpread {
    /// Finds out which rank needs which elements. All ranks have the same lists and fields, in the same order;
    /// `fields` are fields with the numbers of their lists. The inner result is that of this rank alone. Collective, as
    /// [`plan`].
    ///
    /// # Errors
    /// The ranks cannot reach each other.
    pub fn plan(
        comm: &dyn Communicator,
        sources: &mut Sources,
        lists: Vec<Needed>,
        fields: Vec<(Entry, usize)>,
    ) -> Result<Found<IndexSpread>> {
        let lists = plan(comm, sources, lists)?;
        Ok(lists.and_then(|lists| {
            let mut spread = IndexSpread {
                lists,
                fields: Vec::new(),
            };
            spread.add_fields(sources, fields)?;
            Ok(spread)
        }))
    }

    fn add_fields(&mut self, sources: &Sources, fields: Vec<(Entry, usize)>) -> Found<()> {
        for (entry, list) in fields {
            let mut pieces = Vec::new();
            let shares = self.lists.get(list).map_or(&[][..], |list| &list.shares);
            for (place, share) in shares.iter().enumerate() {
                let source = sources.opened(share.writer);
                let number = source.and_then(|source| source.number(&entry.name));
                let number = number.unwrap_or(usize::MAX);
                let stored = sources.field(share.writer, number)?;
                if stored.entry.extents.first() != Some(&share.count) {
                    let what = format!(
                        "field \"{}\" has other elements than its index list",
                        entry.name
                    );
                    return Err(Error::format(0, what).into());
                }
                let chunks = 0..chunks_in(stored);
                pieces.extend(chunks.map(|chunk| (place, (share.writer, number, chunk))));
            }
            self.fields.push(Field {
                list,
                row: entry.row(),
                name: entry.name,
                pieces,
                round: 0,
                to: Vec::new(),
                from: BTreeMap::new(),
            });
        }
        Ok(())
    }

    /// Reads and checks the parts of this rank's files that others need. Local.
    ///
    /// # Errors
    /// A file is damaged, or cannot be read.
    pub fn verify(&self, sources: &mut Sources) -> Found<()> {
        let mut pieces = self.fields.iter().flat_map(|field| &field.pieces);
        pieces.try_for_each(|(_, key)| sources.verify(*key))
    }

    /// Number of messages with data of a field that this rank sends to another.
    pub fn rounds(&self, field: usize) -> u64 {
        let field = self.fields.get(field);
        field.map_or(0, |field| field.pieces.len() as u64)
    }

    /// The places in this rank's memory of the elements of a field from the file of a rank, and where the next ones
    /// are among them. `None` if none come from there.
    pub fn places(&mut self, field: usize, writer: u64) -> Option<(&Places, &mut Next)> {
        let field = self.fields.get_mut(field)?;
        let places = self.lists.get(field.list)?.places.get(&writer)?;
        Some((places, field.from.entry(writer).or_default()))
    }

    /// Number of elements of a field that come, and the positions of indices that this rank's list has more than once.
    pub fn own(&self, field: usize) -> Option<(u64, &[Again])> {
        let list = self.lists.get(self.fields.get(field)?.list)?;
        Some((list.count, &list.again))
    }

    /// The messages of one round of a field. Local.
    ///
    /// # Errors
    /// A file is damaged, or cannot be read.
    pub fn messages(
        &mut self,
        sources: &mut Sources,
        field: usize,
        round: u64,
    ) -> Found<Vec<(usize, Vec<u8>)>> {
        let Some(field) = self.fields.get_mut(field) else {
            return Ok(Vec::new());
        };
        let Some((place, key)) = field.pieces.get(round as usize).copied() else {
            return Ok(Vec::new());
        };
        let list = self.lists.get(field.list);
        let Some(share) = list.and_then(|list| list.shares.get(place)) else {
            return Ok(Vec::new());
        };
        let stored = sources.field(key.0, key.1)?;
        let unit = field.row * stored.entry.kind.size();
        let rows = (chunk_of(&stored.section) / unit.max(1)).max(1);
        if key.2 == 0 {
            field.round = round;
            field.to = vec![Next::default(); share.to.len()];
        }
        if field.round != round {
            let what = format!("field \"{}\": its pieces are out of order", field.name);
            return Err(Error::comm("fields", what).into());
        }
        field.round += 1;
        let first = key.2 * rows;
        let bytes = sources.chunk(key)?;
        let from = first..first + bytes.len() as u64 / unit.max(1);
        let mut messages = Vec::new();
        for ((to, places), next) in share.to.iter().zip(&mut field.to) {
            // A little more than the share of a rank whose elements are spread evenly over the file.
            let part = places.count as f64 / share.count.max(1) as f64 * 1.05;
            let mut message = Vec::with_capacity((bytes.len() as f64 * part) as usize + 64);
            put(&mut message, key.0);
            let head = message.len();
            copy_out(
                places,
                next,
                from.clone(),
                (bytes, unit as usize),
                &mut message,
            )?;
            if message.len() > head {
                messages.push((*to, message));
            }
        }
        Ok(messages)
    }
}

/// The rank that wrote the elements of a message of [`IndexSpread::messages`], and their bytes.
///
/// # Errors
/// The message is cut.
pub fn open_message(mut message: &[u8]) -> Result<(u64, &[u8])> {
    let writer = take(&mut message)?;
    Ok((writer, message))
}
