//! What one member reads and writes while blocks flow.

use super::First;
use super::code::{Code, Place};
use super::flow::Ends;
use super::logical::{Reader, Writer};
use super::parity_file::{Input, Output};
use super::sums::BLOCK;
use crate::store::behind::{Behind, Sink};
use crate::{Error, Result};

/// This member's files, those that are there and those that are made. After the first error
/// of a file it is neither read nor written, zeros go out, and the flow goes on.
#[derive(Default)]
pub struct Local<'a> {
    /// Its block of each route.
    pub places: Vec<Option<Place>>,
    /// Bytes of a chunk.
    pub chunk: u64,
    /// Data to be read.
    pub reader: Option<Reader<'a>>,
    /// Redundancy to be read.
    pub input: Option<Input>,
    /// Data to be made.
    pub writer: Option<Behind<'a, Writer<'a>>>,
    /// Redundancy to be made.
    pub output: Option<Behind<'a, Output>>,
    /// Why the data cannot be read.
    pub data: First,
    /// Why the redundancy cannot be read.
    pub parity: First,
    /// What else failed.
    pub first: First,
}

impl Sink for Writer<'_> {
    fn put(&mut self, _: usize, bytes: &[u8]) -> Result<()> {
        self.append(bytes)
    }
}

impl Sink for Output {
    fn put(&mut self, block: usize, bytes: &[u8]) -> Result<()> {
        self.append(block, bytes)
    }
}

impl Local<'_> {
    /// The place of member `me` in the given columns.
    pub fn places(
        code: &Code,
        columns: impl Iterator<Item = usize>,
        me: usize,
    ) -> Vec<Option<Place>> {
        let mine = |column| code.column(column).into_iter().find(|b| b.member == me);
        columns.map(|c| mine(c).map(|b| b.place)).collect()
    }

    fn place(&self, route: usize) -> Option<Place> {
        self.places.get(route).copied().flatten()
    }

    /// What keeps the block of a route from being read.
    fn unread(&mut self, route: usize) -> &mut First {
        match self.place(route) {
            Some(Place::Parity(_)) => &mut self.parity,
            _ => &mut self.data,
        }
    }

    /// Block by block, so that the checksum finds the bytes in the processor's cache.
    fn fill(&mut self, route: usize, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut offset = offset;
        let place = self.place(route);
        for block in buffer.chunks_mut(BLOCK) {
            match (place, &mut self.reader, &mut self.input) {
                (Some(Place::Data(number)), Some(reader), _) => {
                    let start = (number as u64).saturating_mul(self.chunk);
                    reader.read_at(start.saturating_add(offset), block)?;
                }
                (Some(Place::Parity(number)), _, Some(input)) => {
                    input.read_at(number, offset, block)?;
                }
                _ => return Err(unplanned()),
            }
            offset += block.len() as u64;
        }
        Ok(())
    }
}

fn unplanned() -> Error {
    Error::format(0, "a block was asked for that is not here")
}

impl Ends for Local<'_> {
    fn read(&mut self, route: usize, offset: u64, buffer: &mut [u8]) {
        let done = match self.unread(route).failed() {
            true => None,
            false => {
                let filled = self.fill(route, offset, buffer);
                self.unread(route).keep(filled)
            }
        };
        if done.is_none() {
            buffer.fill(0);
        }
    }

    fn write(&mut self, route: usize, bytes: Vec<u8>) -> Option<Vec<u8>> {
        match (self.place(route), &mut self.writer, &mut self.output) {
            (Some(Place::Data(_)), Some(writer), _) => writer.put(0, bytes),
            (Some(Place::Parity(number)), _, Some(output)) => output.put(number, bytes),
            _ => {
                self.first.keep::<()>(Err(unplanned()));
                Some(bytes)
            }
        }
    }
}
