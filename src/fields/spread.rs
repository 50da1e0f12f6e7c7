//! A restart in other boxes than were written: finds out which rank needs which part of which file.
//!
//! Each file is read by one rank, once, which sends every other rank its part. So no byte of the prefix
//! directory is read twice, and a rank of the same number that has its file in the cache reads it there.
//! Each rank finds out the needs in one cell of a whole, as when the checkpoint was written. So no rank
//! holds the boxes of all ranks.

use super::entry::Entry;
use super::finding::Found;
use super::messages::{PartBox, Post, wrong_message};
use super::region::{Grid, Region, cell_of, owner};
use super::sources::{ChunkKey, Sources, chunk_of, chunks_in};
use super::walk::Walk;
use crate::comm::Communicator;
use crate::format::{from_tree, to_message, unpack};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A part of a file that a rank needs.
struct Piece {
    to: usize,
    region: Region,
    /// The elements of the part, as places in the section of the file.
    walk: Walk,
}

/// A chunk of a file that is read once, and the pieces that have bytes in the chunk.
struct ReadTask {
    key: ChunkKey,
    /// The place of the chunk in the section, in bytes.
    bytes: std::ops::Range<i64>,
    /// The pieces, as indices in [`Share::pieces`].
    pieces: Vec<usize>,
}

/// The data of one field that this rank reads for others.
#[derive(Default)]
struct Share {
    pieces: Vec<Piece>,
    tasks: Vec<ReadTask>,
}

/// This rank's work in a restart in other boxes.
pub struct Spread {
    /// Indexed by the number of the field among the listed parts.
    shares: Vec<Share>,
}

/// The message to the rank of a cell: the boxes of the sender that meet the cell.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct CellRequest {
    have: Vec<Held>,
    want: Vec<PartBox>,
}

/// A box that is in a file.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Held {
    part: PartBox,
    /// The rank that wrote the file.
    writer: u64,
}

/// The answer of the rank of a cell.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Matches {
    /// The pieces that the receiver of the answer sends.
    send: Vec<Needed>,
    /// The pieces that the receiver of the answer gets.
    coming: Vec<Coming>,
}

/// A part of a file that a rank needs.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Needed {
    held: Held,
    /// The rank that needs it.
    to: usize,
}

/// Elements of a field that come to a rank.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Coming {
    elements: u64,
    field: usize,
}

/// The head of a message, before its bytes.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Head {
    /// The box.
    pub region: Region,
    /// The first element of the box whose bytes the message has.
    pub from: u64,
}

/// The parts that this rank has in its files, and the parts that it needs, for the ranks of the cells.
fn boxes_of(sources: &Sources, parts: &[Entry], size: usize) -> Post<CellRequest> {
    let mut post: Post<CellRequest> = Post::default();
    for (field, part) in parts.iter().enumerate() {
        let grid = Grid::new(&part.whole, size);
        let region = part.region();
        for cell in grid.cells_of(&region) {
            let region = region.clone();
            let boxes = post.to(owner(field, cell, size));
            boxes.want.push(PartBox { field, region });
        }
        for writer in sources.held.clone() {
            let source = sources.opened(writer);
            let number = source.and_then(|source| source.number(&part.name));
            let stored = number.and_then(|number| sources.field(writer, number).ok());
            let Some(stored) = stored.filter(|stored| stored.entry.whole == part.whole) else {
                continue;
            };
            let region = stored.entry.region();
            for cell in grid.cells_of(&region) {
                let region = region.clone();
                let part = PartBox { field, region };
                let boxes = post.to(owner(field, cell, size));
                boxes.have.push(Held { part, writer });
            }
        }
    }
    post
}

/// The boxes that meet this rank's cell of one field, each with the rank that sent it.
#[derive(Default)]
struct InCell {
    have: Vec<(usize, u64, Region)>,
    want: Vec<(usize, Region)>,
}

/// The reports of the ranks about this rank's cells, by the field. Local.
fn in_cells(parts: &[Entry], received: Vec<(usize, CellRequest)>) -> Result<Vec<InCell>> {
    let mut cells: Vec<InCell> = parts.iter().map(|_| InCell::default()).collect();
    for (from, boxes) in received {
        for Held { part, writer } in boxes.have {
            part.check(parts)?;
            cells[part.field].have.push((from, writer, part.region));
        }
        for part in boxes.want {
            part.check(parts)?;
            cells[part.field].want.push((from, part.region));
        }
    }
    Ok(cells)
}

/// The messages of the rank of a cell: a rank with a part hears which ranks need it, and a rank with a need
/// hears how much will come.
fn matches(comm: &dyn Communicator, parts: &[Entry], cells: &[InCell]) -> Post<Matches> {
    let mut post: Post<Matches> = Post::default();
    for (field, (part, InCell { have, want })) in parts.iter().zip(cells).enumerate() {
        let grid = Grid::new(&part.whole, comm.size());
        let Some(cell) = cell_of(field, comm.rank(), comm.size(), &grid) else {
            continue;
        };
        let cell = grid.cell(cell);
        for (to, wanted) in want {
            for (holder, writer, held) in have {
                // If several cells meet both boxes, the cell with the first common element reports
                // it.
                let Some(region) = wanted.meet(held).filter(|met| cell.has(&met.at)) else {
                    continue;
                };
                let elements = region.volume();
                post.to(*to).coming.push(Coming { elements, field });
                let part = PartBox { field, region };
                let held = Held {
                    part,
                    writer: *writer,
                };
                post.to(*holder).send.push(Needed { held, to: *to });
            }
        }
    }
    post
}

impl Spread {
    /// Finds out which rank needs which parts. All ranks list the parts in the same order. The inner result
    /// is the result of this rank alone. Collective; two exchanges.
    pub fn plan(
        comm: &dyn Communicator,
        sources: &Sources,
        parts: &[Entry],
    ) -> Result<Found<Spread>> {
        let received = boxes_of(sources, parts, comm.size()).exchange(comm)?;
        let cells = in_cells(parts, received)?;
        let received = matches(comm, parts, &cells).exchange(comm)?;
        let mut coming = vec![0u64; parts.len()];
        let mut needed = Vec::new();
        for (_, Matches { send, coming: more }) in received {
            needed.extend(send);
            for Coming { elements, field } in more {
                if let Some(coming) = coming.get_mut(field) {
                    *coming = coming.saturating_add(elements);
                }
            }
        }
        for (part, coming) in parts.iter().zip(coming) {
            if coming != part.count() {
                let what = format!(
                    "field \"{}\": the files have {coming} of the {} elements of this rank's part",
                    part.name,
                    part.count()
                );
                return Ok(Err(Error::format(0, what).into()));
            }
        }
        Ok(shares(sources, parts, needed).map(|shares| Spread { shares }))
    }

    /// Reads and checks the parts of this rank's files that others need. Local.
    pub fn verify(&self, sources: &mut Sources) -> Found<()> {
        let mut tasks = self.shares.iter().flat_map(|share| &share.tasks);
        tasks.try_for_each(|task| sources.verify(task.key))
    }

    /// Number of messages with data of a field that this rank sends.
    pub fn rounds(&self, field: usize) -> u64 {
        self.shares
            .get(field)
            .map_or(0, |share| share.tasks.len() as u64)
    }

    /// The messages of one round of a field, each with the box and the first element that it has. Local.
    pub fn messages(
        &self,
        sources: &mut Sources,
        field: usize,
        round: u64,
    ) -> Found<Vec<(usize, Vec<u8>)>> {
        let share = self.shares.get(field);
        let Some((share, task)) =
            share.and_then(|share| Some((share, share.tasks.get(round as usize)?)))
        else {
            return Ok(Vec::new());
        };
        let chunk = sources.chunk(task.key)?;
        let mut messages = Vec::new();
        for piece in task.pieces.iter().filter_map(|at| share.pieces.get(*at)) {
            let walk = &piece.walk;
            let from = walk.elements_before(task.bytes.start);
            let to = walk.elements_before(task.bytes.end);
            let mut message = to_message(&Head {
                region: piece.region.clone(),
                from,
            })?;
            walk.runs(from, to, |run| {
                // In a file the elements of the last dimension follow each other, except in boxes of one
                // column.
                for i in 0..run.count {
                    let (begin, length) = match run.stride == walk.size() as i64 {
                        true if i > 0 => break,
                        true => (run.offset, run.count * walk.size()),
                        false => (run.offset + i as i64 * run.stride, walk.size()),
                    };
                    let begin = (begin - task.bytes.start) as usize;
                    let bytes = chunk.get(begin..begin + length as usize);
                    message.extend_from_slice(bytes.unwrap_or_default());
                }
                Ok(())
            })?;
            messages.push((piece.to, message));
        }
        Ok(messages)
    }
}

/// The data of each field that this rank reads for others.
fn shares(sources: &Sources, parts: &[Entry], needed: Vec<Needed>) -> Found<Vec<Share>> {
    let mut shares: Vec<Share> = parts.iter().map(|_| Share::default()).collect();
    let mut by_file: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
    for Needed { held, to } in needed {
        let Held { part, writer } = held;
        let PartBox { field, region } = part;
        let (Some(part), Some(share)) = (parts.get(field), shares.get_mut(field)) else {
            continue;
        };
        let number = sources
            .opened(writer)
            .and_then(|source| source.number(&part.name));
        let stored = sources.field(writer, number.unwrap_or(usize::MAX))?;
        if !region.is_in(&stored.entry.region()) {
            return Err(wrong_message("it asks for a box that is not in the file").into());
        }
        let walk = stored.entry.walk(&region);
        by_file
            .entry((field, writer))
            .or_default()
            .push(share.pieces.len());
        share.pieces.push(Piece { to, region, walk });
    }
    for ((field, rank), pieces) in by_file {
        let (Some(part), Some(share)) = (parts.get(field), shares.get_mut(field)) else {
            continue;
        };
        let number = sources
            .opened(rank)
            .and_then(|source| source.number(&part.name));
        let number = number.unwrap_or(usize::MAX);
        let stored = sources.field(rank, number)?;
        let length = chunk_of(&stored.section) as i64;
        for chunk in 0..chunks_in(stored) {
            let bytes = chunk as i64 * length..(chunk as i64 + 1) * length;
            let has = |at: &usize| {
                share.pieces.get(*at).is_some_and(|piece| {
                    piece.walk.elements_before(bytes.start) < piece.walk.elements_before(bytes.end)
                })
            };
            let pieces: Vec<usize> = pieces.iter().copied().filter(has).collect();
            if !pieces.is_empty() {
                share.tasks.push(ReadTask {
                    key: (rank, number, chunk),
                    bytes,
                    pieces,
                });
            }
        }
    }
    Ok(shares)
}

/// Splits a message of [`Spread::messages`] into its head and its bytes.
pub fn open_message(message: &[u8]) -> Result<(Head, &[u8])> {
    let (head, used) = unpack(message)?;
    Ok((from_tree(&head)?, message.get(used..).unwrap_or_default()))
}
