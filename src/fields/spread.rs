//! A restart in other boxes than were written: who needs which part of whose file.
//!
//! Each file is read by one rank, once, which sends every other rank what that one needs. So no byte of the
//! prefix directory is read twice, and a rank of the same number that has its file in the cache reads it
//! there. Who needs what is found out by ranks that look at one cell of a whole each, as when the
//! checkpoint was written; no rank holds the boxes of all.

use super::agreement::{cell_of, owner};
use super::entry::Entry;
use super::region::{Grid, Region};
use super::sources::{ChunkKey, Finding, Found, Sources, chunk_of, chunks_in};
use super::walk::Walk;
use super::words::{Messages, Taker, Words, exchange};
use crate::comm::Communicator;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// A part of a file that a rank needs.
struct Piece {
    to: usize,
    region: Region,
    /// Its elements as places in the section.
    walk: Walk,
}

/// A piece of a file that is read, and who gets something of it.
struct Job {
    key: ChunkKey,
    /// The bytes of the section that it has.
    bytes: std::ops::Range<i64>,
    /// Places in `pieces`.
    pieces: Vec<usize>,
}

/// What this rank reads of one field for others.
#[derive(Default)]
struct Share {
    pieces: Vec<Piece>,
    jobs: Vec<Job>,
}

/// What this rank does in a restart in other boxes.
pub struct Spread {
    /// By the number of the field among the parts that are listed.
    shares: Vec<Share>,
}

const HAVE: u64 = 0;
const WANT: u64 = 1;

/// The parts that this rank has in its files, and that it needs: what the ranks of the cells must know.
fn requests(sources: &Sources, parts: &[Entry], size: usize) -> Messages {
    let mut messages = Messages::new();
    for (field, part) in parts.iter().enumerate() {
        let grid = Grid::new(&part.whole, size);
        let mut tell = |kind: u64, rank: u64, region: &Region| {
            for cell in grid.cells_of(region) {
                let message = messages.entry(owner(field, cell, size)).or_default();
                message.put(kind);
                message.put(field as u64);
                message.put(rank);
                message.put_region(region);
            }
        };
        tell(WANT, 0, &part.region());
        for rank in sources.held.clone() {
            let source = sources.opened(rank);
            let number = source.and_then(|source| source.number(&part.name));
            let stored = number.and_then(|number| sources.field(rank, number).ok());
            if let Some(stored) = stored.filter(|stored| stored.entry.whole == part.whole) {
                tell(HAVE, rank, &stored.entry.region());
            }
        }
    }
    messages
}

/// A box in a cell: the rank that sent it, the rank that wrote the file, the box.
type Boxes = Vec<(usize, u64, Region)>;

/// What the rank of a cell tells: to those who have a part, who needs it; to those who need it, how much comes.
fn matches(
    comm: &dyn Communicator,
    parts: &[Entry],
    received: &[(usize, Vec<u8>)],
) -> Result<Messages> {
    let size = comm.size();
    let mut boxes: Vec<[Boxes; 2]> = parts.iter().map(|_| [Vec::new(), Vec::new()]).collect();
    for (from, message) in received {
        let mut taker = Taker(message);
        while !taker.0.is_empty() {
            let (kind, field, rank) = (taker.take()?, taker.take()?, taker.take()?);
            let region = taker.region()?;
            let boxes = boxes.get_mut(field as usize);
            if let Some(boxes) = boxes.and_then(|both| both.get_mut(kind as usize)) {
                boxes.push((*from, rank, region));
            }
        }
    }
    let mut messages = Messages::new();
    for (field, (part, [have, want])) in parts.iter().zip(&boxes).enumerate() {
        let grid = Grid::new(&part.whole, size);
        let Some(cell) = cell_of(field, comm.rank(), size, &grid) else {
            continue;
        };
        let cell = grid.cell(cell);
        for (to, _, wanted) in want {
            for (holder, rank, held) in have {
                // Of the cells that both meet, the one with the first element tells it.
                let Some(met) = wanted.meet(held).filter(|met| cell.has(&met.at)) else {
                    continue;
                };
                let message = messages.entry(*holder).or_default();
                message.put(HAVE);
                message.put(field as u64);
                message.put(*rank);
                message.put(*to as u64);
                message.put_region(&met);
                let message = messages.entry(*to).or_default();
                message.put(WANT);
                message.put(field as u64);
                message.put(met.volume());
            }
        }
    }
    Ok(messages)
}

impl Spread {
    /// Finds out who needs what of the parts, which all ranks list in the same order. The inner result is of
    /// this rank. Collective; two exchanges.
    pub fn plan(
        comm: &dyn Communicator,
        sources: &Sources,
        parts: &[Entry],
    ) -> Result<Found<Spread>> {
        let requests = requests(sources, parts, comm.size());
        let received = exchange(comm, requests)?;
        let received = exchange(comm, matches(comm, parts, &received)?)?;
        let mut coming = vec![0u64; parts.len()];
        let mut needed: Vec<(usize, u64, usize, Region)> = Vec::new();
        for (_, message) in received {
            let mut taker = Taker(&message);
            while !taker.0.is_empty() {
                let (kind, field) = (taker.take()?, taker.take()? as usize);
                match kind {
                    HAVE => needed.push((
                        field,
                        taker.take()?,
                        taker.take()? as usize,
                        taker.region()?,
                    )),
                    _ => {
                        let volume = taker.take()?;
                        if let Some(coming) = coming.get_mut(field) {
                            *coming += volume;
                        }
                    }
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

    /// Reads and checks what others need of this rank's files. Local.
    pub fn verify(&self, sources: &mut Sources) -> Found<()> {
        let mut jobs = self.shares.iter().flat_map(|share| &share.jobs);
        jobs.try_for_each(|job| sources.verify(job.key))
    }

    /// How often this rank sends something of a field.
    pub fn rounds(&self, field: usize) -> u64 {
        self.shares
            .get(field)
            .map_or(0, |share| share.jobs.len() as u64)
    }

    /// The messages of one round of a field, each with the box and the first element that it has. Local.
    pub fn messages(
        &self,
        sources: &mut Sources,
        field: usize,
        round: u64,
    ) -> Found<Vec<(usize, Vec<u8>)>> {
        let share = self.shares.get(field);
        let Some((share, job)) =
            share.and_then(|share| Some((share, share.jobs.get(round as usize)?)))
        else {
            return Ok(Vec::new());
        };
        let chunk = sources.chunk(job.key)?;
        let mut messages = Vec::new();
        for piece in job.pieces.iter().filter_map(|at| share.pieces.get(*at)) {
            let walk = &piece.walk;
            let from = walk.elements_before(job.bytes.start);
            let to = walk.elements_before(job.bytes.end);
            let mut message = Words::default();
            message.put_region(&piece.region);
            message.put(from);
            let mut message = message.0;
            walk.runs(from, to, |run| {
                // In a file the elements of the last dimension follow each other, but for boxes of one column.
                for i in 0..run.count {
                    let (begin, length) = match run.stride == walk.size() as i64 {
                        true if i > 0 => break,
                        true => (run.offset, run.count * walk.size()),
                        false => (run.offset + i as i64 * run.stride, walk.size()),
                    };
                    let begin = (begin - job.bytes.start) as usize;
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

/// What this rank reads for others of each field.
fn shares(
    sources: &Sources,
    parts: &[Entry],
    needed: Vec<(usize, u64, usize, Region)>,
) -> Found<Vec<Share>> {
    let mut shares: Vec<Share> = parts.iter().map(|_| Share::default()).collect();
    let mut by_file: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
    for (field, rank, to, region) in needed {
        let (Some(part), Some(share)) = (parts.get(field), shares.get_mut(field)) else {
            continue;
        };
        let number = sources
            .opened(rank)
            .and_then(|source| source.number(&part.name));
        let stored = sources.field(rank, number.unwrap_or(usize::MAX))?;
        let walk = stored.entry.walk(&region);
        by_file
            .entry((field, rank))
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
                share.jobs.push(Job {
                    key: (rank, number, chunk),
                    bytes,
                    pieces,
                });
            }
        }
    }
    Ok(shares)
}

/// A message of [`Spread::messages`]: its box, the first element of the box that it has, and the bytes.
pub fn open_message(message: &[u8]) -> Found<(Region, u64, &[u8])> {
    let mut taker = Taker(message);
    let region = taker.region().map_err(Finding::from)?;
    let from = taker.take().map_err(Finding::from)?;
    Ok((region, from, taker.rest()))
}
