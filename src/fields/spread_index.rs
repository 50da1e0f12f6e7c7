//! A restart with other index lists than were written: finds out which rank needs which elements of which file, and
//! sends them.
//!
//! As with boxes, each file is read by one rank, once, which sends every other rank its elements; and each rank finds
//! out the needs in one range of the whole. A rank that reads a file keeps, for each rank that it sends elements to,
//! their positions in the file. Messages say which indices they have.

use super::entry::{Entry, Link};
use super::finding::{Finding, Found};
use super::index::MOST;
use super::index::cells::{self, Cells, Parcels, Windows};
use super::index::cover::OwnList;
use super::index::ids::{Cursor, Encoder, Ids, Run, Runs, put, take};
use super::index::positions::Positions;
use super::messages::wrong_message;
use super::sources::{ChunkKey, Sources, chunk_of, chunks_in};
use crate::comm::Communicator;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// Mark of a part of a request: indices in a file, or indices that are needed.
const HAVE: u64 = 0;
const NEED: u64 = 1;

/// Mark of an answer to a rank whose index is in no file.
const MISSING: u64 = u64::MAX;

/// The elements of one file that this rank sends.
struct Share {
    writer: u64,
    /// The index list in the file.
    ids: Ids,
    /// The positions in the file, ascending, of the elements for each rank.
    to: Vec<(usize, Ids)>,
}

/// One index list.
struct List {
    whole: u64,
    /// The positions of the indices in this rank's memory.
    positions: Positions,
    shares: Vec<Share>,
}

/// A field whose elements go by an index list.
struct Field {
    list: usize,
    name: String,
    /// Elements for each index.
    row: u64,
    /// The pieces of files that are read, in the order of the rounds: the share, and the piece.
    pieces: Vec<(usize, ChunkKey)>,
    /// The indices and positions that follow the piece that was sent last.
    next: Next,
}

#[derive(Default)]
struct Next {
    round: u64,
    ids: Cursor,
    to: Vec<Cursor>,
}

/// This rank's work in a restart with other index lists.
pub struct IndexSpread {
    lists: Vec<List>,
    fields: Vec<Field>,
}

/// The indices that ranks need of the file of a rank, by the number of the list and that rank, then by the rank that
/// needs them.
type Wanted = BTreeMap<(usize, u64), BTreeMap<usize, Vec<Vec<u8>>>>;

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

/// The positions, in a list, of indices that it has; ascending.
fn positions_of(ids: &Ids, whole: u64, mut wanted: Vec<Vec<u8>>) -> Result<Ids> {
    let first = |bytes: &Vec<u8>| Runs::new(bytes, whole).peek().ok().flatten();
    wanted.sort_by_key(first);
    let wanted = wanted.iter().flat_map(|bytes| Runs::new(bytes, whole));
    let not_there = || wrong_message("it asks for an index that is not in the file");
    let mut encoder = Encoder::default();
    if ids.ascending {
        let (mut runs, mut at) = (ids.runs(whole), 0);
        for run in wanted {
            let run = run?;
            while let Some(before) = runs.take_below(run.first)? {
                at += before.count;
            }
            let mut next = run.first;
            while next < run.end() {
                let found = runs.take_below(run.end())?;
                let found = found
                    .filter(|found| found.first == next)
                    .ok_or_else(not_there)?;
                let count = found.count;
                encoder.add(Run { first: at, count });
                at += count;
                next += count;
            }
        }
        return Ok(encoder.finish());
    }
    let positions = Positions::of(ids, whole)?;
    let mut found = Vec::new();
    for run in wanted {
        let all = positions.each(run?, |first, count| {
            found.push(Run { first, count });
            Ok(())
        })?;
        if !all {
            return Err(not_there());
        }
    }
    found.sort_unstable();
    found.into_iter().for_each(|run| encoder.add(run));
    Ok(encoder.finish())
}

impl IndexSpread {
    /// Finds out which rank needs which elements. All ranks have the same lists and fields, in the same order;
    /// `fields` are fields with the numbers of their lists. The inner result is that of this rank alone. Collective;
    /// two exchanges.
    ///
    /// # Errors
    /// The ranks cannot reach each other.
    pub fn plan(
        comm: &dyn Communicator,
        sources: &mut Sources,
        lists: &[OwnList],
        fields: Vec<(Entry, usize)>,
    ) -> Result<Found<IndexSpread>> {
        let mut found: Found<()> = Ok(());
        let mut parcels = Parcels::default();
        let mut own = Vec::new();
        let mut files: BTreeMap<(usize, u64), Ids> = BTreeMap::new();
        for (number, list) in lists.iter().enumerate() {
            let cells = Cells::new(list.whole, number, comm.size());
            let positions = Positions::of(&list.ids, list.whole)?;
            cells.cut(positions.sorted().map(Ok), |to, ids| {
                parcels.add(to, number, [NEED, 0], &ids.bytes);
            })?;
            own.push(positions);
            for writer in sources.held.clone() {
                let ids = stored_ids(sources, writer, &list.name).and_then(|ids| {
                    let add = |to: usize, part: Ids| {
                        parcels.add(to, number, [HAVE, writer], &part.bytes);
                    };
                    cells.cut_list(&ids, list.whole, add)?;
                    Ok(ids)
                });
                match ids {
                    Ok(ids) => drop(files.insert((number, writer), ids)),
                    Err(finding) => found = found.and(Err(finding)),
                }
            }
        }
        let requests = parcels.exchange(comm, lists.len())?;
        let answers = answers(comm, lists, &requests)?.exchange(comm, lists.len())?;
        drop(requests);
        let mut wanted = Wanted::new();
        for (_, part) in answers {
            let [writer, to] = part.marks;
            if writer == MISSING {
                let name = lists.get(part.list).map_or("", |list| &list.name);
                let what = format!("index list \"{name}\": no file has the element {to} (from 0)");
                found = found.and(Err(Error::format(0, what).into()));
            } else {
                let of_file = wanted.entry((part.list, writer)).or_default();
                of_file.entry(to as usize).or_default().push(part.ids);
            }
        }
        let mut spread = IndexSpread {
            lists: own
                .into_iter()
                .zip(lists)
                .map(|(positions, list)| List {
                    whole: list.whole,
                    positions,
                    shares: Vec::new(),
                })
                .collect(),
            fields: Vec::new(),
        };
        let shares = spread.add_shares(files, wanted);
        let found = found
            .and(shares)
            .and_then(|()| spread.add_fields(sources, fields));
        Ok(found.map(|()| spread))
    }

    fn add_shares(&mut self, mut files: BTreeMap<(usize, u64), Ids>, wanted: Wanted) -> Found<()> {
        for ((number, writer), ranks) in wanted {
            let (Some(list), Some(ids)) =
                (self.lists.get_mut(number), files.remove(&(number, writer)))
            else {
                return Err(
                    wrong_message("it asks for a file that this rank does not read").into(),
                );
            };
            let mut to = Vec::new();
            for (rank, parts) in ranks {
                to.push((rank, positions_of(&ids, list.whole, parts)?));
            }
            list.shares.push(Share { writer, ids, to });
        }
        Ok(())
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
                if stored.entry.extents.first() != Some(&share.ids.count) {
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
                next: Next::default(),
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

    /// The positions of the indices of a field in this rank's memory.
    pub fn positions(&self, field: usize) -> Option<&Positions> {
        let field = self.fields.get(field)?;
        Some(&self.lists.get(field.list)?.positions)
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
        let share = list.and_then(|list| Some((list.whole, list.shares.get(place)?)));
        let Some((whole, share)) = share else {
            return Ok(Vec::new());
        };
        let stored = sources.field(key.0, key.1)?;
        let row = field.row * stored.entry.kind.size();
        let rows = (chunk_of(&stored.section) / row.max(1)).max(1);
        if key.2 == 0 {
            field.next = Next {
                round,
                ids: Cursor::default(),
                to: vec![Cursor::default(); share.to.len()],
            };
        }
        if field.next.round != round {
            let what = format!("field \"{}\": its pieces are out of order", field.name);
            return Err(Error::comm("fields", what).into());
        }
        field.next.round += 1;
        let first = key.2 * rows;
        let bytes = sources.chunk(key)?;
        let count = bytes.len() as u64 / row.max(1);
        let piece = Piece::of(share, whole, (first, count), &mut field.next.ids)?;
        let mut messages = Vec::new();
        for ((to, positions), cursor) in share.to.iter().zip(&mut field.next.to) {
            let message = piece.message(positions, cursor, bytes, row)?;
            messages.extend(message.map(|message| (*to, message)));
        }
        Ok(messages)
    }
}

/// The indices of the elements in a piece of a file.
struct Piece {
    first: u64,
    count: u64,
    /// The runs of indices, each with its position in the file.
    runs: Vec<(u64, Run)>,
}

impl Piece {
    /// The piece with `count` elements from `first` on. `next` is the place of its first index in the list.
    fn of(
        share: &Share,
        whole: u64,
        (first, count): (u64, u64),
        next: &mut Cursor,
    ) -> Result<Self> {
        let mut ids = Runs::from(&share.ids.bytes, whole, *next);
        let (mut runs, mut at) = (Vec::new(), first);
        while at < first + count {
            let Some(run) = ids.take_most(first + count - at)? else {
                break;
            };
            runs.push((at, run));
            at += run.count;
        }
        *next = ids.cursor();
        Ok(Piece { first, count, runs })
    }

    /// The message with those elements of the piece that are at `positions`, from `next` on; `None` if there are
    /// none.
    fn message(
        &self,
        positions: &Ids,
        next: &mut Cursor,
        bytes: &[u8],
        row: u64,
    ) -> Result<Option<Vec<u8>>> {
        let mut positions = Runs::from(&positions.bytes, u64::MAX, *next);
        let (mut indices, mut parts, mut length) = (Encoder::default(), Vec::new(), 0);
        let mut place = 0;
        while let Some(run) = positions.take_below(self.first + self.count)? {
            let mut at = run.first;
            while at < run.end() {
                // Positions ascend, so the search goes on where it was.
                while self
                    .runs
                    .get(place)
                    .is_some_and(|(from, ids)| from + ids.count <= at)
                {
                    place += 1;
                }
                let Some((from, ids)) = self.runs.get(place).filter(|(from, _)| *from <= at) else {
                    return Err(wrong_message(
                        "it asks for a position that is not in the file",
                    ));
                };
                let count = run.end().min(from + ids.count) - at;
                indices.add(Run {
                    first: ids.first + (at - from),
                    count,
                });
                at += count;
            }
            let begin = (run.first.saturating_sub(self.first) * row) as usize;
            let part = bytes.get(begin..begin + (run.count * row) as usize);
            let part = part.unwrap_or_default();
            length += part.len();
            parts.push(part);
        }
        *next = positions.cursor();
        let indices = indices.finish();
        if indices.count == 0 {
            return Ok(None);
        }
        let mut message = Vec::with_capacity(indices.bytes.len() + length + 10);
        put(&mut message, indices.bytes.len() as u64);
        message.extend_from_slice(&indices.bytes);
        parts
            .iter()
            .for_each(|part| message.extend_from_slice(part));
        Ok(Some(message))
    }
}

/// The indices of a message of [`IndexSpread::messages`], and the bytes of their elements.
///
/// # Errors
/// The message is cut.
pub fn open_message(mut message: &[u8]) -> Result<(Runs<'_>, &[u8])> {
    let length = take(&mut message)? as usize;
    let (ids, bytes) = message
        .split_at_checked(length)
        .ok_or_else(|| wrong_message("it ends too early"))?;
    Ok((Runs::new(ids, MOST), bytes))
}

/// The answers of this rank about its ranges: a rank that reads a file hears which ranks need which of its elements,
/// and a rank that needs an index that no file has hears that.
fn answers(
    comm: &dyn Communicator,
    lists: &[OwnList],
    requests: &[(usize, cells::Part)],
) -> Result<Parcels> {
    let mut parcels = Parcels::default();
    for (number, list) in lists.iter().enumerate() {
        let Some(range) = Cells::new(list.whole, number, comm.size()).of_rank(comm.rank()) else {
            continue;
        };
        let of_kind = |kind| {
            let parts = requests.iter();
            parts.filter(move |(_, part)| part.list == number && part.marks[0] == kind)
        };
        let (have, need): (Vec<_>, Vec<_>) = (of_kind(HAVE).collect(), of_kind(NEED).collect());
        let mut found: BTreeMap<(usize, usize), Encoder> = BTreeMap::new();
        let missing = Windows::new(range, runs_of(&have, list.whole)).matches(
            runs_of(&need, list.whole),
            |h, n, run| {
                found.entry((h, n)).or_default().add(run);
            },
        );
        let missing = missing.map_err(|error| wrong_message(&error.to_string()))?;
        for ((h, n), encoder) in found {
            if let (Some((holder, part)), Some((to, _))) = (have.get(h), need.get(n)) {
                let marks = [part.marks[1], *to as u64];
                parcels.add(*holder, number, marks, &encoder.finish().bytes);
            }
        }
        if let Some((id, n)) = missing
            && let Some((to, _)) = need.get(n)
        {
            parcels.add(*to, number, [MISSING, id], &[]);
        }
    }
    Ok(parcels)
}

fn runs_of<'a>(parts: &[&'a (usize, cells::Part)], whole: u64) -> Vec<Runs<'a>> {
    let parts = parts.iter();
    parts.map(|(_, part)| Runs::new(&part.ids, whole)).collect()
}
