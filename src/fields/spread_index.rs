//! A restart with other index lists than were written: finds out which rank needs which elements of which file, and
//! sends them.
//!
//! As with boxes, each file is read by one rank, once, which sends every other rank its elements; and each rank finds
//! out the needs in one range of the whole. A rank that reads a file keeps, for each rank that it sends elements to,
//! their places in the file, and tells that rank their indices, once for each list. From these the receiver has the
//! places in its memory, in the same order. So the messages of the fields have the elements alone, and no rank looks
//! up an index for each field.

use super::entry::{Entry, Link};
use super::finding::{Finding, Found};
use super::index::bits::Bits;
use super::index::cells::{self, Cells, Parcels, Windows};
use super::index::cover::OwnList;
use super::index::ids::{Cursor, Encoder, Ids, Run, Runs, put, take};
use super::index::places::{Section, add_places, copy_out};
use super::index::positions::{Again, Positions};
use super::messages::wrong_message;
use super::sources::{ChunkKey, Sources, chunk_of, chunks_in};
use crate::comm::{Communicator, Term, collective};
use crate::system::size::scaled;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// Mark of a part of a request: indices in a file, or indices that are needed.
const HAVE: u64 = 0;
const NEED: u64 = 1;

/// Mark of an answer to a rank whose index is in no file.
const MISSING: u64 = u64::MAX;

/// Bytes of the index lists of files whose indices are told at a time.
const TOLD: usize = 1 << 19;

/// Bytes of memory for the positions in the lists of files. Those of a list that does not fit are found out again when
/// they are needed.
const KEPT: usize = 1 << 25;

/// The elements of one file that this rank sends.
struct Share {
    writer: u64,
    /// Number of elements in the file.
    count: u64,
    /// The places in the file, ascending, of the elements for each rank.
    to: Vec<(usize, Ids)>,
}

/// One index list.
#[derive(Default)]
struct List {
    shares: Vec<Share>,
    /// The places in this rank's memory of the elements that come from each file, in the order in which they come.
    places: BTreeMap<u64, Ids>,
    /// Number of elements that come.
    count: u64,
    /// Positions of indices that this rank's list has more than once.
    again: Vec<Again>,
}

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
    to: Vec<Cursor>,
    /// The places that follow those of the elements that have come from each file.
    from: BTreeMap<u64, Cursor>,
}

/// This rank's work in a restart with other index lists.
pub struct IndexSpread {
    lists: Vec<List>,
    fields: Vec<Field>,
}

/// The index list in a file, and the positions of its indices if they have been found out.
struct OfFile {
    ids: Ids,
    positions: Option<Positions>,
}

/// The files that this rank reads, by the number of the list and the rank that wrote the file.
type OfFiles = BTreeMap<(usize, u64), OfFile>;

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

/// The places, in a file, of indices that its list has; ascending.
fn places_of(file: &mut OfFile, whole: u64, mut wanted: Vec<Vec<u8>>) -> Result<Ids> {
    let first = |bytes: &Vec<u8>| Runs::new(bytes, whole).peek().ok().flatten();
    wanted.sort_by_key(first);
    let runs = wanted.iter().flat_map(|bytes| Runs::new(bytes, whole));
    let not_there = || wrong_message("it asks for an index that is not in the file");
    let (ids, mut encoder) = (&file.ids, Encoder::default());
    if ids.ascending {
        let (mut list, mut at) = (ids.runs(whole), 0);
        for run in runs {
            let run = run?;
            while let Some(before) = list.take_below(run.first)? {
                at += before.count;
            }
            let mut next = run.first;
            while next < run.end() {
                let found = list.take_below(run.end())?;
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
    if file.positions.is_none() {
        file.positions = Some(Positions::of(ids, whole)?);
    }
    let Some(positions) = &file.positions else {
        return Ok(Ids::default());
    };
    // Marking the places of many elements takes less than sorting them.
    let length: usize = wanted.iter().map(Vec::len).sum();
    let mut marks = (length as u64 >= ids.count / 64).then(|| Bits::new(0, ids.count));
    let mut found = Vec::new();
    for run in runs {
        let all = positions.each(run?, |first, count| {
            match &mut marks {
                Some(marks) => (first..first + count).for_each(|place| {
                    marks.insert(place);
                }),
                None => found.push(Run { first, count }),
            }
            Ok(())
        })?;
        if !all {
            return Err(not_there());
        }
    }
    found.sort_unstable();
    found.into_iter().for_each(|run| encoder.add(run));
    let marks = marks.iter().flat_map(Bits::runs);
    marks.for_each(|run| encoder.add(run));
    Ok(encoder.finish())
}

impl IndexSpread {
    /// Finds out which rank needs which elements. All ranks have the same lists and fields, in the same order;
    /// `fields` are fields with the numbers of their lists. The inner result is that of this rank alone. Collective;
    /// two exchanges, and those of [`IndexSpread::tell`].
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
        let (mut files, mut room) = (OfFiles::new(), KEPT);
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
                    let positions = cells.cut_list(&ids, list.whole, add)?;
                    let positions = positions.filter(|positions| positions.bytes() <= room);
                    room -= positions.as_ref().map_or(0, Positions::bytes);
                    Ok(OfFile { ids, positions })
                });
                match ids {
                    Ok(file) => drop(files.insert((number, writer), file)),
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
            lists: lists.iter().map(|_| List::default()).collect(),
            fields: Vec::new(),
        };
        let shares = spread.add_shares(&mut files, lists, wanted);
        let found = found
            .and(shares)
            .and_then(|()| spread.add_fields(sources, fields));
        let told = spread.tell(comm, lists, &own, &files, found.is_err())?;
        for (list, positions) in spread.lists.iter_mut().zip(own) {
            list.again = positions.into_again();
        }
        let found = found.and(told);
        Ok(found.map(|()| spread))
    }

    fn add_shares(&mut self, files: &mut OfFiles, lists: &[OwnList], wanted: Wanted) -> Found<()> {
        for ((number, writer), ranks) in wanted {
            let list = lists.get(number).zip(self.lists.get_mut(number));
            let (Some((own, list)), Some(file)) = (list, files.get_mut(&(number, writer))) else {
                return Err(
                    wrong_message("it asks for a file that this rank does not read").into(),
                );
            };
            let mut to = Vec::new();
            for (rank, parts) in ranks {
                to.push((rank, places_of(file, own.whole, parts)?));
            }
            // The positions are not needed again.
            file.positions = None;
            let count = file.ids.count;
            list.shares.push(Share { writer, count, to });
        }
        Ok(())
    }

    /// Tells each rank the indices of the elements that it will get, in the order in which they come, and finds out
    /// the places of those that this rank will get. `failed` is true if this rank cannot go on; then no rank tells
    /// its indices. The inner result is that of this rank alone. Collective; an allreduce, and an exchange for each
    /// half MiB of lists.
    fn tell(
        &mut self,
        comm: &dyn Communicator,
        lists: &[OwnList],
        own: &[Positions],
        files: &OfFiles,
        failed: bool,
    ) -> Result<Found<()>> {
        let shares = self.lists.iter().enumerate();
        let shares: Vec<(usize, &Share)> = shares
            .flat_map(|(number, list)| list.shares.iter().map(move |share| (number, share)))
            .collect();
        let ids = |(number, share): &(usize, &Share)| {
            files.get(&(*number, share.writer)).map(|file| &file.ids)
        };
        let bytes: usize = shares
            .iter()
            .filter_map(ids)
            .map(|ids| ids.bytes.len())
            .sum();
        let rounds = bytes.div_ceil(scaled(TOLD)) as i64;
        let terms = [Term::Max(rounds), Term::any(failed)];
        let [rounds, failed] = collective::combine(comm, terms)?;
        if failed.on_any() {
            return Ok(Ok(()));
        }
        let mut found = Ok(());
        let mut places: Vec<BTreeMap<u64, Encoder>> =
            lists.iter().map(|_| BTreeMap::new()).collect();
        let mut counts = vec![0; lists.len()];
        let mut shares = shares.into_iter();
        let mut now: Option<Telling<'_>> = None;
        for _ in 0..rounds.count() {
            let (mut parcels, mut room) = (Parcels::default(), scaled(TOLD));
            while room > 0 {
                if now.as_ref().is_none_or(Telling::is_done) {
                    now = shares.next().and_then(|(number, share)| {
                        Telling::of(number, share, ids(&(number, share))?)
                    });
                }
                let Some(telling) = &mut now else {
                    break;
                };
                let whole = lists.get(telling.list).map_or(0, |list| list.whole);
                match telling.add(whole, room, &mut parcels) {
                    Ok(bytes) => room = room.saturating_sub(bytes.max(1)),
                    Err(error) => {
                        found = found.and(Err(error.into()));
                        break;
                    }
                }
            }
            for (_, part) in parcels.exchange(comm, lists.len())? {
                let list = own.get(part.list).zip(places.get_mut(part.list));
                let Some(((positions, places), count)) = list.zip(counts.get_mut(part.list)) else {
                    continue;
                };
                let places = places.entry(part.marks[0]).or_default();
                match add_places(positions, Runs::new(&part.ids, u64::MAX), places) {
                    Ok(added) => *count += added,
                    Err(error) => found = found.and(Err(error.into())),
                }
            }
        }
        let all = self
            .lists
            .iter_mut()
            .zip(lists)
            .zip(own)
            .zip(places)
            .zip(counts);
        for ((((list, listed), positions), places), count) in all {
            let wanted = positions.distinct();
            if count != wanted {
                let what = format!(
                    "the files have {count} of the {wanted} elements of index list \"{}\"",
                    listed.name
                );
                found = found.and(Err(wrong_message(&what).into()));
            }
            list.count = count;
            let places = places.into_iter();
            list.places = places
                .map(|(writer, places)| (writer, places.finish()))
                .collect();
        }
        Ok(found)
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
    pub fn places(&mut self, field: usize, writer: u64) -> Option<(&Ids, &mut Cursor)> {
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
            field.to = vec![Cursor::default(); share.to.len()];
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

/// What is left to tell about the elements of a file.
struct Telling<'a> {
    list: usize,
    share: &'a Share,
    ids: &'a Ids,
    /// The next index of the file, and its place.
    next: Cursor,
    at: u64,
    /// The next place for each rank.
    to: Vec<Cursor>,
}

impl<'a> Telling<'a> {
    fn of(list: usize, share: &'a Share, ids: &'a Ids) -> Option<Self> {
        Some(Telling {
            list,
            share,
            ids,
            next: Cursor::default(),
            at: 0,
            to: vec![Cursor::default(); share.to.len()],
        })
    }

    fn is_done(&self) -> bool {
        self.at >= self.ids.count
    }

    /// Adds what the next bytes of the list have for other ranks. Number of these bytes.
    fn add(&mut self, whole: u64, length: usize, parcels: &mut Parcels) -> Result<usize> {
        let before = self.next.bytes();
        let section = Section::of(self.ids, whole, &mut self.next, &mut self.at, length)?;
        for ((to, places), next) in self.share.to.iter().zip(&mut self.to) {
            let indices = section.indices(places, next)?;
            if indices.count > 0 {
                parcels.add(*to, self.list, [self.share.writer, 0], &indices.bytes);
            }
        }
        Ok(self.next.bytes() - before)
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
