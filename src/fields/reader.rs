//! Reads the fields of a checkpoint that was found to be whole into the program's memory.

use super::convert::convert;
use super::entry::{Entry, Listed};
use super::finding::{Finding, Found};
use super::kind::Kind;
use super::memory::{Memory, scatter};
use super::messages::wrong_message;
use super::region::Region;
use super::sources::{Sources, chunk_of, chunks_in};
use super::spread::{Spread, open_message};
use crate::comm::{Communicator, deliver};
use crate::{Error, Result};

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
    /// The number of rounds in which each part is sent: the largest number of any rank.
    pub rounds: Vec<u64>,
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

impl FieldReader {
    /// Checks all bytes of the fields that this rank reads for itself. Local.
    pub fn verify_local(&mut self) -> Found<()> {
        let mut verified = Ok(());
        for wanted in &self.wanted {
            if let Want::Local { rank, number } = wanted.want {
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
        let (want, kind) = (wanted.want, wanted.kind);
        self.next += 1;
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
                self.receive(comm, part, target.as_mut())
            }
        }
    }

    fn read_local(&mut self, rank: u64, number: usize, target: &mut Destination<'_>) -> Found<()> {
        let stored = self.sources.field(rank, number)?;
        let (step, size) = (chunk_of(&stored.section), stored.entry.kind.size().max(1));
        let region = target.entry.region();
        let walk = target.entry.walk_in(&region, target.strides);
        let straight = walk.is_contiguous() && target.kind == target.entry.kind;
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

    /// Sends the parts that other ranks need, and receives those that this rank needs. All rounds take
    /// place, even if one fails. Collective.
    fn receive(
        &mut self,
        comm: &dyn Communicator,
        part: usize,
        mut target: Option<&mut Destination<'_>>,
    ) -> Found<()> {
        let mut found = Ok(());
        for round in 0..self.rounds.get(part).copied().unwrap_or(0) {
            self.sources.goes_on();
            let messages = match &self.spread {
                Some(spread) => spread.messages(&mut self.sources, part, round),
                None => Ok(Vec::new()),
            };
            let messages = messages.unwrap_or_else(|finding| {
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
                let put = open_message(&message).and_then(|(head, bytes)| match &mut target {
                    Some(target) => target.put(&head.region, head.from, bytes),
                    None => Ok(()),
                });
                found = found.and(put.map_err(Finding::from));
            }
        }
        found
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
