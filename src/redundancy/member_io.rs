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
    /// For each route, the place of this member's block.
    pub places: Vec<Option<BlockPlace>>,
    /// Bytes of a chunk.
    pub chunk: u64,
    /// Data to read.
    pub reader: Option<LogicalReader<'a>>,
    /// Redundancy to read.
    pub input: Option<ParityReader>,
    /// Data to rebuild.
    pub writer: Option<WriteBehind<'a, LogicalWriter<'a>>>,
    /// Redundancy to rebuild.
    pub output: Option<WriteBehind<'a, ParityWriter>>,
    /// Data that another rank holds and sends to this one.
    pub data_relocated: Option<LogicalWriter<'a>>,
    /// Redundancy that another rank holds and sends to this one.
    pub parity_relocated: Option<ParityWriter>,
    /// The part of another member that this rank holds.
    pub held_part: Option<HeldReader<'a>>,
    /// Why the data cannot be read, or are wrong.
    pub data: FirstError,
    /// Why the redundancy cannot be read.
    pub parity: FirstError,
    /// Why moved files cannot be written.
    pub home: FirstError,
    /// Any other error.
    pub first: FirstError,
}

/// The part of another member that this rank holds, open for reading.
#[derive(Default)]
pub struct HeldReader<'a> {
    /// For each route, the place of the other member's block.
    pub places: Vec<Option<BlockPlace>>,
    /// Its data.
    pub reader: Option<LogicalReader<'a>>,
    /// Its redundancy.
    pub input: Option<ParityReader>,
    /// Why the data cannot be read.
    pub data: FirstError,
    /// Why the redundancy cannot be read.
    pub parity: FirstError,
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

impl MemberIo<'_> {
    /// The places of the blocks of member `me` in the given columns.
    pub fn places(
        code: &Code,
        columns: impl Iterator<Item = usize>,
        me: usize,
    ) -> Vec<Option<BlockPlace>> {
        let mine = |column| code.column(column).into_iter().find(|b| b.member == me);
        columns.map(|c| mine(c).map(|b| b.place)).collect()
    }

    fn place(&self, route: usize) -> Option<BlockPlace> {
        self.places.get(route).copied().flatten()
    }
}

/// The files from which a block is read.
struct BlockSource<'s, 'a> {
    place: Option<BlockPlace>,
    chunk: u64,
    reader: &'s mut Option<LogicalReader<'a>>,
    input: &'s mut Option<ParityReader>,
    /// Read errors of data and redundancy.
    data: &'s mut FirstError,
    parity: &'s mut FirstError,
}

impl BlockSource<'_, '_> {
    /// Fills `buffer` with the block, or with zeros after an error.
    fn read(mut self, offset: u64, buffer: &mut [u8]) {
        let failed = |source: &Self| match source.place {
            Some(BlockPlace::Parity(_)) => source.parity.failed(),
            _ => source.data.failed(),
        };
        if !failed(&self) {
            let filled = self.fill(offset, buffer);
            match self.place {
                Some(BlockPlace::Parity(_)) => self.parity.keep(filled),
                _ => self.data.keep(filled),
            };
        }
        if failed(&self) {
            buffer.fill(0);
        }
    }

    /// Reads in blocks that fit the processor's cache, for the checksum.
    fn fill(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut offset = offset;
        for block in buffer.chunks_mut(BLOCK) {
            match (self.place, &mut self.reader, &mut self.input) {
                (Some(BlockPlace::Data(number)), Some(reader), _) => {
                    let start = (number as u64).saturating_mul(self.chunk);
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
    Error::format(0, "a block was asked for that is not here")
}

impl MemberBlocks for MemberIo<'_> {
    fn read(&mut self, route: usize, offset: u64, buffer: &mut [u8]) {
        let source = BlockSource {
            place: self.place(route),
            chunk: self.chunk,
            reader: &mut self.reader,
            input: &mut self.input,
            data: &mut self.data,
            parity: &mut self.parity,
        };
        source.read(offset, buffer);
    }

    fn read_held(&mut self, route: usize, offset: u64, buffer: &mut [u8]) {
        let Some(held_part) = &mut self.held_part else {
            return buffer.fill(0);
        };
        let source = BlockSource {
            place: held_part.places.get(route).copied().flatten(),
            chunk: self.chunk,
            reader: &mut held_part.reader,
            input: &mut held_part.input,
            data: &mut held_part.data,
            parity: &mut held_part.parity,
        };
        source.read(offset, buffer);
    }

    /// Wrong content counts as a loss that was found. Failed writes are errors.
    fn write_relocated(&mut self, route: usize, bytes: &[u8]) {
        if self.home.failed() {
            return;
        }
        let (written, of) = match (
            self.place(route),
            &mut self.data_relocated,
            &mut self.parity_relocated,
        ) {
            (Some(BlockPlace::Data(_)), Some(_), _) if self.data.failed() => return,
            (Some(BlockPlace::Data(_)), Some(writer), _) => (writer.append(bytes), &mut self.data),
            (Some(BlockPlace::Parity(number)), _, Some(output)) => {
                (output.append(number, bytes), &mut self.parity)
            }
            _ => return,
        };
        match written {
            Err(Error::Corrupt { .. }) => of.keep(written),
            _ => self.home.keep(written),
        };
    }

    fn write(&mut self, route: usize, bytes: Vec<u8>) -> Option<Vec<u8>> {
        match (self.place(route), &mut self.writer, &mut self.output) {
            (Some(BlockPlace::Data(_)), Some(writer), _) => writer.put(0, bytes),
            (Some(BlockPlace::Parity(number)), _, Some(output)) => output.put(number, bytes),
            _ => {
                self.first.keep::<()>(Err(unplanned()));
                Some(bytes)
            }
        }
    }
}
