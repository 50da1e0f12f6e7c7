//! What one member reads and writes while blocks are exchanged.

use super::FirstError;
use super::code::{BlockPlace, Code};
use super::logical::{LogicalReader, LogicalWriter};
use super::parity_file::{ParityReader, ParityWriter};
use super::pipeline::MemberBlocks;
use super::sums::BLOCK;
use crate::store::write_behind::{BlockSink, WriteBehind};
use crate::{Error, Result};

/// The open files of this member. After its first error a file is no longer read or written; the
/// member sends zeros instead and the exchange goes on.
#[derive(Default)]
pub struct MemberIo<'a> {
    /// Bytes of a chunk.
    pub chunk: u64,
    /// This member's files, open for reading.
    pub own: PartReader<'a>,
    /// The part of another member that this rank holds.
    pub held: Option<PartReader<'a>>,
    /// Data to rebuild.
    pub writer: Option<WriteBehind<'a, LogicalWriter<'a>>>,
    /// Redundancy to rebuild.
    pub output: Option<WriteBehind<'a, ParityWriter>>,
    /// Data that another rank holds and sends to this one.
    pub data_relocated: Option<LogicalWriter<'a>>,
    /// Redundancy that another rank holds and sends to this one.
    pub parity_relocated: Option<ParityWriter>,
    /// Why moved files cannot be written.
    pub relocation: FirstError,
    /// Any other error.
    pub error: FirstError,
}

/// The files of one member, open for reading.
#[derive(Default)]
pub struct PartReader<'a> {
    /// For each route, the place of the member's block.
    pub places: Vec<Option<BlockPlace>>,
    /// The data.
    pub reader: Option<LogicalReader<'a>>,
    /// The redundancy.
    pub input: Option<ParityReader>,
    /// Why the data cannot be read, or are wrong.
    pub data_error: FirstError,
    /// Why the redundancy cannot be read, or is wrong.
    pub parity_error: FirstError,
}

impl BlockSink for LogicalWriter<'_> {
    fn put(&mut self, _: usize, bytes: &[u8]) -> Result<()> {
        self.append(bytes)
    }
}

impl BlockSink for ParityWriter {
    fn put(&mut self, block: usize, bytes: &[u8]) -> Result<()> {
        self.append(block, bytes)
    }
}

/// The places of the blocks of member `me` in the given columns.
pub fn places(
    code: &Code,
    columns: impl Iterator<Item = usize>,
    me: usize,
) -> Vec<Option<BlockPlace>> {
    let mine = |column| code.column(column).into_iter().find(|b| b.member == me);
    columns.map(|c| mine(c).map(|b| b.place)).collect()
}

impl PartReader<'_> {
    fn place(&self, route: usize) -> Option<BlockPlace> {
        self.places.get(route).copied().flatten()
    }

    /// Fills `buffer` with the block, or with zeros after an error.
    fn read(&mut self, route: usize, chunk: u64, offset: u64, buffer: &mut [u8]) {
        let place = self.place(route);
        let is_parity = matches!(place, Some(BlockPlace::Parity(_)));
        let failed = match is_parity {
            true => self.parity_error.failed(),
            false => self.data_error.failed(),
        };
        let filled = match failed {
            true => return buffer.fill(0),
            false => self.fill(place, chunk, offset, buffer),
        };
        if filled.is_err() {
            buffer.fill(0);
        }
        match is_parity {
            true => self.parity_error.keep(filled),
            false => self.data_error.keep(filled),
        };
    }

    /// Reads in blocks that fit the processor's cache, for the checksum.
    fn fill(
        &mut self,
        place: Option<BlockPlace>,
        chunk: u64,
        mut offset: u64,
        buffer: &mut [u8],
    ) -> Result<()> {
        for block in buffer.chunks_mut(BLOCK) {
            match (place, &mut self.reader, &mut self.input) {
                (Some(BlockPlace::Data(number)), Some(reader), _) => {
                    let start = (number as u64).saturating_mul(chunk);
                    reader.read_at(start.saturating_add(offset), block)?;
                }
                (Some(BlockPlace::Parity(number)), _, Some(input)) => {
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
    Error::format(0, "a block was requested that this rank does not have")
}

impl MemberBlocks for MemberIo<'_> {
    fn read(&mut self, route: usize, offset: u64, buffer: &mut [u8]) {
        self.own.read(route, self.chunk, offset, buffer);
    }

    fn read_held(&mut self, route: usize, offset: u64, buffer: &mut [u8]) {
        match &mut self.held {
            Some(held) => held.read(route, self.chunk, offset, buffer),
            None => buffer.fill(0),
        }
    }

    /// Wrong content counts as a loss that was found. Failed writes are errors.
    fn write_relocated(&mut self, route: usize, bytes: &[u8]) {
        if self.relocation.failed() {
            return;
        }
        let (written, of) = match (
            self.own.place(route),
            &mut self.data_relocated,
            &mut self.parity_relocated,
        ) {
            (Some(BlockPlace::Data(_)), Some(_), _) if self.own.data_error.failed() => return,
            (Some(BlockPlace::Data(_)), Some(writer), _) => {
                (writer.append(bytes), &mut self.own.data_error)
            }
            (Some(BlockPlace::Parity(number)), _, Some(output)) => {
                (output.append(number, bytes), &mut self.own.parity_error)
            }
            _ => return,
        };
        match written {
            Err(Error::Corrupt { .. }) => of.keep(written),
            _ => self.relocation.keep(written),
        };
    }

    fn write(&mut self, route: usize, bytes: Vec<u8>) -> Option<Vec<u8>> {
        match (self.own.place(route), &mut self.writer, &mut self.output) {
            (Some(BlockPlace::Data(_)), Some(writer), _) => writer.put(0, bytes),
            (Some(BlockPlace::Parity(number)), _, Some(output)) => output.put(number, bytes),
            _ => {
                self.error.keep::<()>(Err(unplanned()));
                Some(bytes)
            }
        }
    }
}
