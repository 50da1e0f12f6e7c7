//! Finds out, for a restart with other index lists, which rank needs which elements of which file.
//!
//! Each rank looks after a range of the whole: it hears which files have the indices of the range and which ranks need
//! them, and tells both sides. This is done slice by slice of all ranges, so that the memory for it does not grow with
//! the whole. If the indices of a file do not ascend, its reader tells the receivers their order, too.

use super::finding::{Finding, Found};
use super::index::cells::{self, Cells, Held, Parcels};
use super::index::ids::{Encoder, Ids, Run, Runs};
use super::index::matching::Asked;
use super::index::needed::{Kept, Needed};
use super::index::places::{Next, Places, copy_out};
use super::index::positions::{Again, Positions};
use super::index::set::Set;
use super::index::set_runs::SetRuns;
use super::index::sorted::listed_places;
use super::index::split::Split;
use super::index::told::{Section, not_listed, told_places};
use super::messages::wrong_message;
use super::sources::Sources;
use super::stored_index::{OfFile, Reading, Share, StoredList, shares, stored_needs};
use crate::comm::{Communicator, Term, collective};
use crate::system::size::scaled;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// Marks of a part of a request: indices that are needed, indices of a list that ascends, or of one in any order.
const NEED: u64 = 0;
const ASCENDING: u64 = 1;
const ANY_ORDER: u64 = 2;

/// Marks of an answer to a rank that needs indices: they come from this file; one of them is in no file; or the files from
/// which the indices of a range come. An answer to the reader of a file has the rank that needs the indices, or the mark
/// that it tells how the indices of a range are split among such ranks.
const COMES: u64 = u64::MAX;
const MISSING: u64 = u64::MAX - 1;
const SOURCES: u64 = u64::MAX - 2;
const SPLIT: u64 = u64::MAX - 3;

/// How the indices of a file are told: as runs, or one by one with four bytes each.
const RUNS: u64 = 0;
const ONE_BY_ONE: u64 = 1;

/// Bytes of an index that is told by itself, and the largest whole with such indices.
const FOUR: usize = 4;
const ONE_BY_ONE_BELOW: u64 = u32::MAX as u64;

/// Sets that are sent to the ranks of the ranges at a time: pieces of this size, and their number.
const PIECE: usize = 1 << 16;
const PIECES: usize = 16;

/// Bytes of the index lists of files whose indices are told at a time.
const TOLD: usize = 1 << 19;

/// What is done for one index list.
#[derive(Default)]
pub struct List {
    /// What this rank sends.
    pub shares: Vec<Share>,
    /// The places in this rank's memory of the elements that come from each file, in the order in which they come.
    pub places: BTreeMap<u64, Places>,
    /// Number of elements that come.
    pub count: u64,
    /// Positions of indices that this rank's list has more than once.
    pub again: Vec<Again>,
}

/// The list of this rank.
struct Own {
    name: String,
    whole: u64,
    /// The number that the program gives the first element.
    first: i64,
    set: Set,
    /// The positions of the indices, if the list does not ascend.
    positions: Option<Positions>,
}

impl Own {
    /// If the list is the one in this rank's file, it is read from there. Local.
    fn of(sources: &mut Sources, list: Needed) -> (Self, Found<()>) {
        let Needed {
            name,
            whole,
            first,
            kept,
            ..
        } = list;
        let kept = match kept {
            Kept::Stored => stored_needs(sources, &name),
            other => Ok(other),
        };
        let (set, positions, found) = match kept {
            Ok(Kept::Ascending(set)) => (set, None, Ok(())),
            Ok(Kept::AnyOrder(positions)) => (positions.set(), Some(positions), Ok(())),
            Ok(Kept::Stored) => (Set::default(), None, Ok(())),
            Err(finding) => (Set::default(), None, Err(finding)),
        };
        let own = Own {
            name,
            whole,
            first,
            set,
            positions,
        };
        (own, found)
    }

    /// The positions of the indices, also of a list that ascends.
    fn positions(&mut self) -> Result<&Positions> {
        let known = match self.positions.take() {
            Some(known) => known,
            None => Positions::of_list(&mut &self.set)?,
        };
        Ok(self.positions.insert(known))
    }
}

/// The files that this rank reads, by the number of the list and the rank that wrote the file.
type OfFiles = BTreeMap<(usize, u64), OfFile>;

/// The elements of a list of this rank that come from files whose indices ascend.
#[derive(Default)]
struct Coming {
    /// If the list ascends: from which files the elements come, by the first index.
    sources: BTreeMap<u64, Split>,
    /// If it does not: the places in memory, by the rank that wrote the file, and by the first index.
    listed: BTreeMap<u64, BTreeMap<u64, Ids>>,
}

/// This rank's part in finding out who needs what.
struct Planning {
    own: Vec<Own>,
    files: OfFiles,
    /// For each list: what comes.
    coming: Vec<Coming>,
    /// The first index that is in no file, with the number of its list.
    missing: Option<(usize, u64)>,
}

/// Finds out which rank needs which elements. All ranks have the same lists in the same order. The inner result is that of
/// this rank alone. Collective; two allreduces, and two exchanges for some MiB of sets. If an index list of a file does
/// not ascend, an exchange for each half MiB of such lists.
///
/// # Errors
/// The ranks cannot reach each other.
pub fn plan(
    comm: &dyn Communicator,
    sources: &mut Sources,
    lists: Vec<Needed>,
) -> Result<Found<Vec<List>>> {
    let mut found: Found<()> = Ok(());
    let (mut own, mut files) = (Vec::new(), OfFiles::new());
    for (number, list) in lists.into_iter().enumerate() {
        let (list, read) = Own::of(sources, list);
        found = found.and(read);
        for writer in sources.held.clone() {
            match OfFile::read(sources, writer, &list.name) {
                Ok(file) => drop(files.insert((number, writer), file)),
                Err(finding) => found = found.and(Err(finding)),
            }
        }
        own.push(list);
    }
    let mut planning = Planning {
        coming: own.iter().map(|_| Coming::default()).collect(),
        own,
        files,
        missing: None,
    };
    let bytes = planning.bytes();
    let slices = bytes.div_ceil(scaled(PIECES) * scaled(PIECE)).max(1) as i64;
    let [slices] = collective::combine(comm, [Term::Max(slices)])?;
    for slice in 0..slices.count() {
        let sliced = planning.slice(comm, (slice, slices.count()))?;
        found = found.and(sliced.map_err(Finding::from));
    }
    if let Some((list, id)) = planning.missing {
        let (name, first) = planning
            .own
            .get(list)
            .map_or(("", 0), |list| (&list.name[..], list.first));
        let index = (id as i64).saturating_add(first);
        let what = format!("index list \"{name}\": no file has the index {index}");
        found = found.and(Err(Error::format(0, what).into()));
    }
    let (mut lists, shared) = planning.lists(sources);
    let found = found.and(shared.map_err(Finding::from));
    let told = tell(comm, sources, &mut planning, &mut lists, found.is_err())?;
    let found = found.and(told);
    for (list, own) in lists.iter_mut().zip(planning.own) {
        list.places.values_mut().for_each(Places::shrink);
        list.again = own.positions.map_or_else(Vec::new, Positions::into_again);
    }
    Ok(found.map(|()| lists))
}

impl Planning {
    /// Bytes of all sets.
    fn bytes(&self) -> usize {
        let own = self.own.iter().map(|own| own.set.bytes.len());
        let files = self.files.values().map(|file| file.set.bytes.len());
        own.chain(files).sum()
    }

    /// Finds out who needs what of a slice of each range. Collective.
    fn slice(&mut self, comm: &dyn Communicator, slice: (u64, u64)) -> Result<Result<()>> {
        let mut parcels = Parcels::default();
        for (number, own) in self.own.iter().enumerate() {
            let cells = Cells::new(own.whole, number, comm.size());
            let order = match &own.positions {
                None => ASCENDING,
                Some(_) => ANY_ORDER,
            };
            cells.cut(&own.set, slice, |to, ids| {
                parcels.add(to, number, [NEED, order], ids);
            })?;
            for ((_, writer), file) in self.files.range((number, 0)..=(number, u64::MAX)) {
                let order = match &file.list {
                    None => ASCENDING,
                    Some(_) => ANY_ORDER,
                };
                cells.cut(&file.set, slice, |to, ids| {
                    parcels.add(to, number, [order, *writer], ids);
                })?;
            }
        }
        let requests = parcels.exchange(comm, self.own.len())?;
        // The other ranks wait for the answers.
        let (answers, mut found) = match answers(comm, &self.own, slice, &requests) {
            Ok(answers) => (answers, Ok(())),
            Err(error) => (Parcels::default(), Err(error)),
        };
        drop(requests);
        for (_, part) in answers.exchange(comm, self.own.len())? {
            found = found.and(self.take(part));
        }
        Ok(found)
    }

    /// Takes an answer.
    fn take(&mut self, part: cells::Part) -> Result<()> {
        let cells::Part { list, marks, ids } = part;
        match marks {
            [id, MISSING] => {
                let missing = self.missing.get_or_insert((list, id));
                *missing = (list, id).min(*missing);
                Ok(())
            }
            [_, SOURCES] => {
                let split = Split::read(&ids)?;
                if let Some(coming) = self.coming.get_mut(list) {
                    coming.sources.insert(split.first, split);
                }
                Ok(())
            }
            [writer, COMES] => {
                let own = self.own.get(list).and_then(|own| own.positions.as_ref());
                let first = SetRuns::new(&ids).next().transpose()?;
                let (Some(positions), Some(first), Some(coming)) =
                    (own, first, self.coming.get_mut(list))
                else {
                    return Ok(());
                };
                let of_file = coming.listed.entry(writer).or_default();
                of_file.insert(first.first, listed_places(positions, &ids)?);
                Ok(())
            }
            [writer, SPLIT] => self.file(list, writer)?.split(Split::read(&ids)?),
            [writer, to] => self.file(list, writer)?.need(to as usize, ids),
        }
    }

    fn file(&mut self, list: usize, writer: u64) -> Result<&mut OfFile> {
        let file = self.files.get_mut(&(list, writer));
        file.ok_or_else(|| wrong_message("it asks for a file that this rank does not read"))
    }

    /// What is known of each list, but for the order that is told; and whether all needs could be met.
    fn lists(&mut self, sources: &mut Sources) -> (Vec<List>, Result<()>) {
        let mut lists: Vec<List> = self.own.iter().map(|_| List::default()).collect();
        let mut found = Ok(());
        for ((number, writer), file) in &mut self.files {
            match (file.share(*writer, sources), lists.get_mut(*number)) {
                (Ok(share), Some(list)) => list.shares.push(share),
                (Err(error), _) => found = found.and(Err(error)),
                (_, None) => {}
            }
        }
        let all = lists.iter_mut().zip(std::mem::take(&mut self.coming));
        for ((list, coming), own) in all.zip(&self.own) {
            for (writer, pieces) in coming.listed {
                let places = list.places.entry(writer).or_default();
                pieces
                    .into_values()
                    .for_each(|piece| places.add_list(piece));
            }
            let shares = shares(coming.sources, own.set.count);
            match shares {
                Ok(shares) if list.places.is_empty() => list.places = shares,
                Ok(_) => {}
                Err(error) => found = found.and(Err(error)),
            }
            list.count = list.places.values().map(|places| places.count).sum();
        }
        (lists, found)
    }
}

/// The answers of this rank about its ranges: a rank that reads a file hears which ranks need which of its elements,
/// and a rank that needs indices, from which file they come if they ascend there, or that no file has one.
fn answers<'a>(
    comm: &dyn Communicator,
    lists: &[Own],
    (slice, slices): (u64, u64),
    requests: &'a [(usize, cells::Part)],
) -> Result<Parcels> {
    let mut parcels = Parcels::default();
    for (number, list) in lists.iter().enumerate() {
        let Some(range) = Cells::new(list.whole, number, comm.size()).of_rank(comm.rank()) else {
            continue;
        };
        let range = Cells::slice_of(&range, slice, slices);
        let of_list = requests.iter().filter(|(_, part)| part.list == number);
        let (need, have): (Vec<_>, Vec<_>) = of_list.partition(|(_, part)| part.marks[0] == NEED);
        let asked = |all: &[&'a (usize, cells::Part)], ascends: fn([u64; 2]) -> bool| -> Vec<_> {
            let all = all.iter();
            all.map(|(_, part)| Asked {
                ids: &part.ids,
                ascends: ascends(part.marks),
            })
            .collect()
        };
        let files = asked(&have, |marks| marks[0] == ASCENDING);
        let needs = asked(&need, |marks| marks[1] == ASCENDING);
        let held = Held::new(range, files.iter().map(|file| file.ids));
        let matches = held.and_then(|held| held.matches(&files, &needs));
        let matches = matches.map_err(|error| wrong_message(&error.to_string()))?;
        let file = |number: usize| {
            let (holder, part) = have.get(number)?;
            Some((*holder, part.marks[1]))
        };
        let rank = |number: usize| need.get(number).map(|(rank, _)| *rank);
        for (number_of_file, split) in matches.of_files.into_iter().enumerate() {
            if let (Some(mut split), Some((holder, writer))) = (split, file(number_of_file)) {
                let ranks = split.others.iter().filter_map(|to| rank(*to as usize));
                split.others = ranks.map(|rank| rank as u64).collect();
                parcels.add(holder, number, [writer, SPLIT], &split.message());
            }
        }
        for (number_of_need, split) in matches.of_needs.into_iter().enumerate() {
            if let (Some(mut split), Some(to)) = (split, rank(number_of_need)) {
                let writers = split.others.iter().filter_map(|of| file(*of as usize));
                split.others = writers.map(|(_, writer)| writer).collect();
                parcels.add(to, number, [0, SOURCES], &split.message());
            }
        }
        for ((of, needs), ids) in matches.sent {
            if let (Some((holder, writer)), Some(to)) = (file(of), rank(needs)) {
                parcels.add(holder, number, [writer, to as u64], &ids);
            }
        }
        for ((of, needs), ids) in matches.come {
            if let (Some((_, writer)), Some(to)) = (file(of), rank(needs)) {
                parcels.add(to, number, [writer, COMES], &ids);
            }
        }
        let missing = matches.missing;
        if let Some((id, needs)) = missing
            && let Some((to, _)) = need.get(needs)
        {
            parcels.add(*to, number, [id, MISSING], &[]);
        }
    }
    Ok(parcels)
}

/// Tells each rank the indices of the elements that it will get from files in which they do not ascend, in the order in
/// which they come, and finds out the places of those that this rank will get. `failed` is true if this rank cannot go on;
/// then no rank tells its indices. The inner result is that of this rank alone. Collective; an allreduce, and an exchange
/// for each half MiB of such lists.
fn tell(
    comm: &dyn Communicator,
    sources: &mut Sources,
    planning: &mut Planning,
    lists: &mut [List],
    failed: bool,
) -> Result<Found<()>> {
    let Planning { own, files, .. } = planning;
    let stored = |number: usize, share: &Share| files.get(&(number, share.writer))?.list;
    let all = lists.iter().enumerate();
    let all = all.flat_map(|(number, list)| list.shares.iter().map(move |share| (number, share)));
    let shares: Vec<Telling<'_>> = all
        .filter_map(|(number, share)| {
            let whole = own.get(number).map_or(0, |list| list.whole);
            Some(Telling::of((number, whole), share, stored(number, share)?))
        })
        .collect();
    let bytes: usize = shares.iter().map(Telling::bytes).sum();
    let rounds = bytes.div_ceil(scaled(TOLD)) as i64;
    let terms = [Term::Max(rounds), Term::any(failed)];
    let [rounds, failed] = collective::combine(comm, terms)?;
    if failed.on_any() {
        return Ok(Ok(()));
    }
    let mut found = Ok(());
    let mut places: Vec<BTreeMap<u64, Places>> = own.iter().map(|_| BTreeMap::new()).collect();
    let mut shares = shares.into_iter();
    let mut now = shares.next();
    for _ in 0..rounds.count() {
        let (mut parcels, mut room) = (Parcels::default(), scaled(TOLD));
        while room > 0
            && let Some(telling) = &mut now
        {
            match telling.add(sources, room, &mut parcels) {
                Ok(bytes) => room = room.saturating_sub(bytes),
                Err(error) => {
                    found = found.and(Err(error.into()));
                    now = None;
                    break;
                }
            }
            if telling.is_done() {
                now = shares.next();
            }
        }
        for (_, part) in parcels.exchange(comm, own.len())? {
            let list = own.get_mut(part.list).zip(places.get_mut(part.list));
            if let Some((own, places)) = list {
                let places = places.entry(part.marks[0]).or_default();
                let heard = own.positions().and_then(|known| hear(known, &part, places));
                found = found.and(heard.map_err(Finding::from));
            }
        }
    }
    for ((list, own), places) in lists.iter_mut().zip(own).zip(places) {
        for (writer, places) in places {
            list.count += places.count;
            list.places.insert(writer, places);
        }
        if list.count != own.set.count {
            let what = format!(
                "the files have {} of the {} elements of index list \"{}\"",
                list.count, own.set.count, own.name
            );
            found = found.and(Err(wrong_message(&what).into()));
        }
    }
    Ok(found)
}

/// Takes the indices of elements that come from a file, and adds their positions in this rank's list to `places`.
fn hear(known: &Positions, part: &cells::Part, places: &mut Places) -> Result<()> {
    if part.marks[1] == RUNS {
        places.add_list(told_places(known, Runs::new(&part.ids, u64::MAX))?);
        return Ok(());
    }
    let (indices, _) = part.ids.as_chunks();
    if known.listed() < u32::MAX.into() {
        places.add_direct(known.look_up(indices).ok_or_else(not_listed)?);
        return Ok(());
    }
    let mut runs = Encoder::default();
    for index in indices {
        let (first, count) = (u32::from_le_bytes(*index).into(), 1);
        runs.add(Run { first, count });
    }
    places.add_list(told_places(known, runs.finish().runs(u64::MAX))?);
    Ok(())
}

/// What is left to tell about the elements of a file.
struct Telling<'a> {
    list: usize,
    share: &'a Share,
    stored: StoredList,
    reading: Reading,
    /// The place of the next index in the file.
    at: u64,
    /// The next places for each rank.
    to: To<'a>,
}

enum To<'a> {
    Runs(Vec<SetRuns<'a>>),
    OneByOne(Vec<Next>),
}

impl<'a> Telling<'a> {
    fn of((list, whole): (usize, u64), share: &'a Share, stored: StoredList) -> Self {
        let as_runs = stored.bytes < stored.count || whole > ONE_BY_ONE_BELOW;
        let to = if as_runs {
            To::Runs(share.to.iter().map(|(_, places)| places.runs()).collect())
        } else {
            To::OneByOne(vec![Next::default(); share.to.len()])
        };
        Telling {
            list,
            share,
            stored,
            reading: Reading::new(stored),
            at: 0,
            to,
        }
    }

    /// Bytes that are told.
    fn bytes(&self) -> usize {
        match self.to {
            // A run has at least one byte, and counts as four.
            To::Runs(_) => self.stored.bytes as usize * FOUR,
            To::OneByOne(_) => self.stored.count as usize * FOUR,
        }
    }

    fn is_done(&self) -> bool {
        self.at >= self.stored.count
    }

    /// Adds what the next `length` bytes, or a few more, have for other ranks. Number of these bytes.
    fn add(
        &mut self,
        sources: &mut Sources,
        length: usize,
        parcels: &mut Parcels,
    ) -> Result<usize> {
        let (from, writer) = (self.at, self.share.writer);
        match &mut self.to {
            To::Runs(next) => {
                let (mut runs, mut bytes) = (Vec::new(), 0);
                self.reading.each(sources, |run| {
                    if bytes >= length {
                        return 0;
                    }
                    bytes += FOUR;
                    runs.push(run);
                    self.at += run.count;
                    run.count
                })?;
                let section = Section::of(from, &runs);
                for ((to, _), places) in self.share.to.iter().zip(next) {
                    let indices = section.indices(places)?;
                    if indices.count > 0 {
                        parcels.add(*to, self.list, [writer, RUNS], &indices.bytes);
                    }
                }
                Ok(bytes)
            }
            To::OneByOne(next) => {
                let mut left = (length / FOUR).max(1) as u64;
                let mut indices: Vec<[u8; FOUR]> = Vec::with_capacity(left as usize);
                self.reading.each(sources, |run| {
                    let count = run.count.min(left);
                    left -= count;
                    let all = run.first..run.first + count;
                    indices.extend(all.map(|id| (id as u32).to_le_bytes()));
                    count
                })?;
                self.at += indices.len() as u64;
                let all = (indices.as_flattened(), FOUR);
                for ((to, places), next) in self.share.to.iter().zip(next) {
                    let mut told = Vec::new();
                    copy_out(places, next, from..self.at, all, &mut told)?;
                    if !told.is_empty() {
                        parcels.add(*to, self.list, [writer, ONE_BY_ONE], &told);
                    }
                }
                Ok(all.0.len())
            }
        }
    }
}
