//! Reads the fields of a checkpoint that was found to be whole into the program's memory.

use super::convert::convert;
use super::entry::{Entry, Listed, wrong};
use super::finding::{Finding, Found};
use super::index::places::{copy_in, each_place};
use super::index::positions::Again;
use super::kind::Kind;
use super::memory::{Memory, Slice, gather, scatter};
use super::messages::wrong_message;
use super::region::Region;
use super::sources::{Sources, chunk_of, chunks_in};
use super::spread::{Spread, open_message};
use super::spread_index::{self, IndexSpread};
use super::walk::row_major;
use crate::comm::{Communicator, deliver};
use crate::{Error, Result};
use std::collections::HashMap;

/// The source of a listed field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// The memory stays as it is.
    Nothing,
    /// All of field `number` of the file of `rank`.
    Local { rank: u64, number: usize },
    /// The readers of several files send the field. `part` is its number among the parts.
    Spread { part: usize },
}

/// A field that the readers of several files send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The number of a box among the boxes.
    Box(usize),
    /// The number of a field by index among such fields.
    Indexed(usize),
}

/// A field of the list, and where it comes from.
pub(super) struct Wanted {
    pub listed: Listed,
    pub want: Want,
    /// The kind in the files.
    pub kind: Kind,
}

/// The fields that are read when the routine is called for the second time.
pub(super) struct FieldReader {
    pub sources: Sources,
    pub wanted: Vec<Wanted>,
    pub spread: Option<Spread>,
    pub indices: Option<IndexSpread>,
    /// What each part is.
    pub parts: Vec<Part>,
    /// The number of rounds in which each part is sent: the largest number of any rank.
    pub rounds: Vec<u64>,
    /// A number of each index list that was compared.
    pub lists: HashMap<String, u64>,
    /// The next field, and the next part.
    pub next: usize,
    pub next_part: usize,
    /// An error of the transport: the ranks are out of step.
    pub broken: Option<Error>,
}

/// The memory of a field in a restart.
struct Destination<'a> {
    entry: &'a Entry,
    strides: &'a [i64],
    /// The kind in the file.
    kind: Kind,
    memory: &'a mut dyn Memory,
}

impl Destination<'_> {
    /// Puts bytes from the file where they belong: the elements of a box of the whole, from element `from` on.
    fn put(&mut self, region: &Region, from: u64, bytes: &[u8]) -> Result<()> {
        if !region.is_in(&self.entry.region()) {
            return Err(wrong_message("its box is not in this rank's part"));
        }
        let walk = self.entry.walk_in(region, self.strides);
        if self.kind == self.entry.kind {
            scatter(self.memory, &walk, from, bytes)
        } else {
            let converted = convert(self.kind, self.entry.kind, bytes);
            scatter(self.memory, &walk, from, &converted)
        }
    }
}

impl Destination<'_> {
    /// Puts the elements of a message to their places in memory. Their number.
    fn put_indexed(
        &mut self,
        indices: &mut IndexSpread,
        number: usize,
        message: &[u8],
    ) -> Result<u64> {
        let (writer, bytes) = spread_index::open_message(message)?;
        let (places, next) = indices
            .places(number, writer)
            .ok_or_else(|| wrong_message("it is of a file of which no element is needed"))?;
        let converted;
        let elements = if self.kind == self.entry.kind {
            bytes
        } else {
            converted = convert(self.kind, self.entry.kind, bytes);
            &converted
        };
        let walk = self.entry.walk_in(&self.entry.region(), self.strides);
        let (row, unit) = (self.entry.row(), self.entry.unit() as usize);
        let from = (elements, unit);
        if walk.is_contiguous() {
            let length = (walk.count() * walk.size()) as usize;
            let memory = self.memory.bytes_mut(walk.base(), length)?;
            copy_in(places, next, from, memory)?;
        } else {
            each_place(places, next, from, |at, bytes| {
                scatter(self.memory, &walk, at * row, bytes)
            })?;
        }
        Ok((elements.len() / unit.max(1)) as u64)
    }

    /// Copies the elements of indices that this rank's list has more than once.
    fn repeat(&mut self, all: &[Again]) -> Result<()> {
        const MOST: u64 = 1 << 20;
        let walk = self.entry.walk_in(&self.entry.region(), self.strides);
        let (row, unit) = (self.entry.row(), self.entry.unit().max(1));
        let mut bytes = Vec::new();
        for again in all {
            let step = (MOST / unit).max(1);
            for from in (0..again.count).step_by(step as usize) {
                let count = step.min(again.count - from);
                let (source, target) = ((again.first + from) * row, (again.at + from) * row);
                bytes.resize((count * row * walk.size()) as usize, 0);
                gather(self.memory, &walk, source, &mut bytes)?;
                scatter(self.memory, &walk, target, &bytes)?;
            }
        }
        Ok(())
    }
}

impl FieldReader {
    /// Checks all bytes of the fields that this rank reads for itself, unless the start of the process has found them right.
    /// Local.
    pub fn verify_local(&mut self) -> Found<()> {
        let mut verified = Ok(());
        for wanted in &self.wanted {
            if let Want::Local { rank, number } = wanted.want
                && !self.sources.is_verified(rank)
            {
                let chunks = self.sources.field(rank, number).map_or(0, chunks_in);
                let sources = &mut self.sources;
                let all = (0..chunks).try_for_each(|chunk| sources.verify((rank, number, chunk)));
                verified = verified.and(all);
            }
        }
        verified
    }

    /// Reads the next field of the list. Local, or for a part in other boxes collective.
    pub fn read(
        &mut self,
        comm: &dyn Communicator,
        listed: &Listed,
        strides: &[i64],
        memory: Option<&mut dyn Memory>,
    ) -> Found<()> {
        self.sources.goes_on();
        let (want, kind) = self.next_wanted(listed)?;
        let mut target = memory.map(|memory| Destination {
            entry: &listed.entry,
            strides,
            kind,
            memory,
        });
        match want {
            Want::Nothing => Ok(()),
            Want::Local { rank, number } => match &mut target {
                Some(target) => self.read_local(rank, number, target),
                None => Ok(()),
            },
            Want::Spread { part } => {
                self.next_part = part + 1;
                let by_index = matches!(self.parts.get(part), Some(Part::Indexed(_)));
                match &mut target {
                    Some(target) if by_index && target.memory.remote().is_some() => {
                        self.receive_for_copy(comm, part, target)
                    }
                    target => self.receive(comm, part, target.as_mut()),
                }
            }
        }
    }

    /// An index list with this fingerprint is listed again: it must be the one that was compared. Local.
    pub fn skip_index(&mut self, listed: &Listed, print: u64) -> Found<()> {
        // First, since the next message would not tell two lists with as many indices apart.
        let kept = self.lists.get(&listed.entry.name);
        if kept.is_some_and(|kept| *kept != print) {
            let what = format!(
                "the index list \"{}\" has other indices when the state is read than when it was compared",
                listed.entry.name
            );
            return Err(Error::usage("SCR_Restore", what).into());
        }
        self.next_wanted(listed).map(drop)
    }

    /// Where the next field of the list comes from; it must be the one that was compared.
    fn next_wanted(&mut self, listed: &Listed) -> Found<(Want, Kind)> {
        let Some(wanted) = self
            .wanted
            .get(self.next)
            .filter(|wanted| wanted.listed == *listed)
        else {
            let before = self.wanted.get(self.next);
            let before = before.map_or("nothing more".to_string(), |wanted| {
                wanted.listed.entry.to_string()
            });
            let what = format!(
                "the routine lists {} as number {} when the state is read, and listed {before} when it was compared; \
                 the list may depend on counts, and on nothing that is read",
                listed.entry,
                self.next + 1
            );
            return Err(Error::usage("SCR_Restore", what).into());
        };
        let found = (wanted.want, wanted.kind);
        self.next += 1;
        Ok(found)
    }

    fn read_local(&mut self, rank: u64, number: usize, target: &mut Destination<'_>) -> Found<()> {
        let stored = self.sources.field(rank, number)?;
        let (step, size) = (chunk_of(&stored.section), stored.entry.kind.size().max(1));
        let region = target.entry.region();
        let walk = target.entry.walk_in(&region, target.strides);
        let straight = walk.is_contiguous() && target.kind == target.entry.kind;
        if straight
            && self
                .sources
                .copy_into((rank, number), target.memory, walk.base())?
        {
            return Ok(());
        }
        for chunk in 0..chunks_in(stored) {
            let key = (rank, number, chunk);
            if straight && self.sources.read_into(key, target.memory, walk.base())? {
                continue;
            }
            let bytes = self.sources.chunk(key)?;
            target.put(&region, chunk * step / size, bytes)?;
        }
        Ok(())
    }

    /// [`FieldReader::receive`] for elements by index in memory that the processor does not reach. They come in any order,
    /// and may lie anywhere: so all of them are put together first, and then copied at once. This takes memory for one field
    /// at a time. Collective.
    fn receive_for_copy(
        &mut self,
        comm: &dyn Communicator,
        part: usize,
        target: &mut Destination<'_>,
    ) -> Found<()> {
        let (entry, kind) = (target.entry, target.kind);
        let mut bytes = Vec::new();
        let length = entry.bytes() as usize;
        if bytes.try_reserve_exact(length).is_err() {
            // The others need this rank all the same.
            self.receive(comm, part, None)?;
            let what = format!("there is no memory for {length} bytes that are to be copied");
            return Err(wrong(&entry.name, what).into());
        }
        bytes.resize(length, 0);
        let mut together = Destination {
            entry,
            strides: &row_major(&entry.extents, entry.kind.size()),
            kind,
            memory: &mut Slice::of_bytes(&mut bytes, 0),
        };
        self.receive(comm, part, Some(&mut together))?;
        let walk = entry.walk_in(&entry.region(), target.strides);
        Ok(scatter(target.memory, &walk, 0, &bytes)?)
    }

    /// Sends the parts that other ranks need, and receives those that this rank needs. All rounds take
    /// place, even if one fails. Collective.
    fn receive(
        &mut self,
        comm: &dyn Communicator,
        part: usize,
        mut target: Option<&mut Destination<'_>>,
    ) -> Found<()> {
        let mut found = Ok(());
        let mut put = 0;
        let what = self.parts.get(part).copied();
        for round in 0..self.rounds.get(part).copied().unwrap_or(0) {
            self.sources.goes_on();
            let messages = self.messages(what, round).unwrap_or_else(|finding| {
                found = Err(finding);
                Vec::new()
            });
            let received = match deliver(comm, messages) {
                Ok(received) => received,
                Err(error) => {
                    self.broken = Some(error.clone());
                    return Err(error.into());
                }
            };
            for (_, message) in received {
                let done = match (&mut target, what, &mut self.indices) {
                    (None, ..) => Ok(0),
                    (Some(target), Some(Part::Indexed(number)), Some(indices)) => {
                        target.put_indexed(indices, number, &message)
                    }
                    (Some(target), ..) => open_message(&message)
                        .and_then(|(head, bytes)| target.put(&head.region, head.from, bytes))
                        .map(|()| 0),
                };
                match done {
                    Ok(count) => put += count,
                    Err(error) => found = found.and(Err(error.into())),
                }
            }
        }
        match (target, self.own(what)) {
            (Some(target), Some((wanted, again))) => {
                let repeated: Found<()> = target.repeat(again).map_err(Finding::from);
                found
                    .and(repeated)
                    .and_then(|()| complete(target, wanted, put))
            }
            _ => found,
        }
    }

    /// The messages of one round of a part. Local.
    fn messages(&mut self, part: Option<Part>, round: u64) -> Found<Vec<(usize, Vec<u8>)>> {
        match (part, &self.spread, &mut self.indices) {
            (Some(Part::Box(number)), Some(spread), _) => {
                spread.messages(&mut self.sources, number, round)
            }
            (Some(Part::Indexed(number)), _, Some(indices)) => {
                indices.messages(&mut self.sources, number, round)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// How many elements of a field by index come, and the positions of indices that the list has more than once.
    fn own(&self, part: Option<Part>) -> Option<(u64, &[Again])> {
        match part {
            Some(Part::Indexed(number)) => self.indices.as_ref()?.own(number),
            _ => None,
        }
    }

    /// The routine has ended: takes part in the remaining messages between the other ranks.
    /// Collective.
    pub fn finish(&mut self, comm: &dyn Communicator) -> Found<()> {
        let mut found = Ok(());
        while self.broken.is_none() && self.next_part < self.rounds.len() {
            let part = self.next_part;
            self.next_part += 1;
            found = found.and(self.receive(comm, part, None));
        }
        if self.next < self.wanted.len() {
            let missing = self
                .wanted
                .get(self.next)
                .map(|wanted| wanted.listed.entry.to_string());
            let what = format!(
                "the routine does not list {} when the state is read, and listed it when it was compared",
                missing.unwrap_or_default()
            );
            found = found.and(Err(Error::usage("SCR_Restore", what).into()));
        }
        found
    }
}

/// Checks that the elements of all indices of this rank have come.
fn complete(target: &Destination<'_>, wanted: u64, put: u64) -> Found<()> {
    if put == wanted || target.entry.unit() == 0 {
        return Ok(());
    }
    let what = format!(
        "field \"{}\": {put} of the {wanted} elements of this rank's index list have come",
        target.entry.name
    );
    Err(wrong_message(&what).into())
}
