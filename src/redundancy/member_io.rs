//! The files that one member reads and writes while blocks are exchanged.

use super::code::{BlockPlace, Code};
use super::fold::Fold;
use super::logical::{LogicalReader, LogicalWriter};
use super::parity_file::{ParityReader, ParityWriter};
use super::pipeline::MemberBlocks;
use super::sums::BLOCK;
use super::{Context, FirstError, PartHealth};
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::store::write_behind::{BlockSink, WriteBehind};
use crate::{Error, Result};
use std::path::PathBuf;

/// The open files of this member. After its first error a file is no longer read or written; the
/// member sends zeros instead and the exchange goes on.
#[derive(Default)]
pub struct MemberIo<'a> {
    /// Bytes of a chunk.
    pub chunk: u64,
    /// This member's files, open for reading.
    pub own: PartReader<'a>,
    /// The parts of other members that this rank holds.
    pub held: Vec<PartReader<'a>>,
    /// Data to rebuild.
    pub writer: Option<WriteBehind<'a, LogicalWriter<'a>>>,
    /// Redundancy to rebuild.
    pub output: Option<WriteBehind<'a, ParityWriter>>,
    /// This member's part, if another rank holds and sends it.
    pub arriving: ArrivingPart<'a>,
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
    pub input: Option<ParityReader<'a>>,
    /// For each block of data, a checksum of the bytes as they were read, with zeros after the end. Empty if they are not
    /// taken. The bytes of each block must be read in order.
    pub folds: Vec<Fold>,
    /// The files that cannot be read, or are wrong.
    pub errors: PartErrors,
}

/// The files of a part that stay open between two reads.
#[derive(Clone, Copy)]
pub struct KeptOpen {
    /// Number of data files.
    pub data: usize,
    /// True for the redundancy file.
    pub redundancy: bool,
}

impl KeptOpen {
    /// For a process that reads so `many` parts side by side, with at most `all` files open.
    pub fn of(many: usize, all: usize) -> Self {
        let each = all / many.max(1);
        let redundancy = each > 1;
        KeptOpen {
            data: each - usize::from(redundancy),
            redundancy,
        }
    }
}

/// The first errors of a part.
#[derive(Default)]
pub struct PartErrors {
    /// The reason why the data cannot be read, or are wrong.
    pub data: FirstError,
    /// The reason why the redundancy cannot be read, or is wrong.
    pub parity: FirstError,
}

impl PartErrors {
    /// Keeps the errors of `found`.
    pub fn keep(&mut self, found: PartHealth) {
        self.data.keep(found.data);
        self.parity.keep(found.parity);
    }

    /// The state in which the part was found.
    pub fn health(self) -> PartHealth {
        PartHealth {
            data: self.data.result(()),
            parity: self.parity.result(()),
        }
    }
}

/// A part that another rank sends, as it is written here. Wrong content counts as a loss that was found; a
/// failed write is an error of the move.
#[derive(Default)]
pub struct ArrivingPart<'a> {
    data: Option<LogicalWriter<'a>>,
    redundancy: Option<(ParityWriter, ParityHeader)>,
    /// The reason why the file cannot be written.
    pub error: FirstError,
}

impl<'a> ArrivingPart<'a> {
    /// Creates the files that will arrive.
    pub fn create_data(&mut self, context: &Context<'a>, files: &RankFiles) {
        if !self.error.failed() {
            self.data = self.error.keep(context.create(files));
        }
    }

    /// Creates the redundancy file that will arrive, with this header.
    pub fn create_redundancy(&mut self, context: &Context, path: PathBuf, header: ParityHeader) {
        if !self.error.failed() {
            let output = ParityWriter::create(context.files, path, &header);
            self.redundancy = self.error.keep(output).map(|output| (output, header));
        }
    }

    /// Takes the next bytes of a block.
    fn write(&mut self, place: Option<BlockPlace>, bytes: &[u8], errors: &mut PartErrors) {
        if self.error.failed() {
            return;
        }
        let (written, found) = match (place, &mut self.data, &mut self.redundancy) {
            (Some(BlockPlace::Data(_)), Some(_), _) if errors.data.failed() => return,
            (Some(BlockPlace::Data(_)), Some(writer), _) => {
                (writer.append(bytes), &mut errors.data)
            }
            (Some(BlockPlace::Parity(number)), _, Some((output, _))) => {
                (output.append(number, bytes), &mut errors.parity)
            }
            _ => return,
        };
        match written {
            Err(Error::Corrupt { .. }) => found.keep(written),
            _ => self.error.keep(written),
        };
    }

    /// Ends the files, and compares them with their checksums. Returns why they could not be written.
    pub fn finish(mut self, context: &Context, errors: &mut PartErrors) -> Result<()> {
        if let Some(writer) = self.data.take()
            && !errors.data.failed()
            && !self.error.failed()
        {
            match writer.finish() {
                wrong @ Err(Error::Corrupt { .. }) => errors.data.keep(wrong),
                other => self.error.keep(other),
            };
        }
        if let Some((output, header)) = self.redundancy.take()
            && !errors.parity.failed()
            && !self.error.failed()
            && errors.parity.keep(output.verify(&header)).is_some()
        {
            let finished = output.finish(context.files, header, context.sync);
            self.error.keep(finished);
        }
        self.error.result(())
    }
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
        let failed = if is_parity {
            self.errors.parity.failed()
        } else {
            self.errors.data.failed()
        };
        let filled = if failed {
            return buffer.fill(0);
        } else {
            self.fill(place, chunk, offset, buffer)
        };
        if filled.is_err() {
            buffer.fill(0);
        }
        if is_parity {
            self.errors.parity.keep(filled)
        } else {
            self.errors.data.keep(filled)
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
                    if let Some(fold) = self.folds.get_mut(number) {
                        fold.update(block);
                    }
                }
                (Some(BlockPlace::Parity(number)), _, Some(input)) => {
                    input.read_at(number, offset, block)?;
                }
                _ => return Err(unplanned_block()),
            }
            offset += block.len() as u64;
        }
        Ok(())
    }
}

fn unplanned_block() -> Error {
    Error::format(0, "a block was requested that this rank does not have")
}

impl MemberBlocks for MemberIo<'_> {
    fn read(&mut self, route: usize, offset: u64, buffer: &mut [u8]) {
        self.own.read(route, self.chunk, offset, buffer);
    }

    fn read_held(&mut self, route: usize, offset: u64, buffer: &mut [u8]) {
        let mut held = self.held.iter_mut();
        match held.find(|part| part.place(route).is_some()) {
            Some(part) => part.read(route, self.chunk, offset, buffer),
            None => buffer.fill(0),
        }
    }

    fn write_relocated(&mut self, route: usize, bytes: &[u8]) {
        let place = self.own.place(route);
        self.arriving.write(place, bytes, &mut self.own.errors);
    }

    fn write(&mut self, route: usize, bytes: Vec<u8>) -> Option<Vec<u8>> {
        match (self.own.place(route), &mut self.writer, &mut self.output) {
            (Some(BlockPlace::Data(_)), Some(writer), _) => writer.put(0, bytes),
            (Some(BlockPlace::Parity(number)), _, Some(output)) => output.put(number, bytes),
            _ => {
                self.error.keep::<()>(Err(unplanned_block()));
                Some(bytes)
            }
        }
    }
}
