//! The elements of an array, a few megabytes at a time, from the files of the ranks that wrote it.

use super::Array;
use super::blocks::Blocks;
use super::lists::{Lists, Reached};
use scr_engine::Result;
use scr_engine::fields::file::Stored;
use scr_engine::fields::index::ids::{Cursor, Ids, Runs};
use scr_engine::fields::memory::{Slice, scatter};
use scr_engine::fields::region::Region;
use scr_engine::fields::walk::{Walk, row_major};

/// Bytes of a band.
const BAND: u64 = 8 << 20;

/// Bytes of a band of indices, which are not read from files.
const INDICES: u64 = 512 << 10;

/// Bands that are read together where the elements of a rank are in any order: each of its blocks may be read for any
/// band.
const TOGETHER: u64 = 16;

/// Where the elements come from.
pub(super) enum From {
    /// The rank that wrote a part, where it is in the array, and where it is in the rank's file.
    Boxes(Vec<(usize, Region, Stored)>),
    /// The part of each rank, and the index lists that say what is in it.
    Lists(Vec<Stored>, Lists),
    /// An index list of a whole of so many elements, and the number of its first element.
    Indices(Ids, u64, i64),
}

/// Reads an array in row-major order, the slowest dimension of the files first. The checksums of all blocks that are
/// read are compared.
pub struct Bands<'a> {
    blocks: Blocks<'a>,
    array: Array,
    from: From,
    /// Number of elements of a band.
    step: u64,
    /// Number of elements that are read together.
    window: u64,
    /// The first element of the next band.
    next: u64,
    /// The elements that were read last, and the number of the first of them.
    held: Vec<u8>,
    first: u64,
    /// Of lists that ascend, the indices that were reached.
    reached: Option<Reached>,
    /// Of an index list, the place that was reached.
    cursor: Cursor,
}

impl<'a> Bands<'a> {
    /// The parts make up the array.
    pub(super) fn new(blocks: Blocks<'a>, array: Array, from: From) -> Self {
        let (band, together) = match &from {
            From::Boxes(_) => (BAND, 1),
            From::Lists(_, lists) if lists.ascend() => (BAND, 1),
            From::Lists(..) => (BAND, TOGETHER),
            From::Indices(..) => (INDICES, 1),
        };
        let bands = Bands {
            blocks,
            array,
            from,
            step: 0,
            window: 0,
            next: 0,
            held: Vec::new(),
            first: 0,
            reached: None,
            cursor: Cursor::default(),
        };
        bands.of_bytes(band, together)
    }

    /// Sets the number of bytes of a band, and how many bands are read together.
    pub(super) fn of_bytes(mut self, band: u64, together: u64) -> Self {
        self.step = (band / self.array.kind.size().max(1)).max(1);
        self.window = self.step * together;
        self
    }

    /// The array that is read.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// The next elements, as many as fit into a band; `None` after the last one. Arrays of the same kind and
    /// extents have the same bands.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn next_band(&mut self) -> Result<Option<&[u8]>> {
        let size = self.array.kind.size();
        let left = self.array.count() - self.next;
        if left == 0 || size == 0 {
            return Ok(None);
        }
        let held = self.held.len() as u64 / size;
        if self.next == self.first + held {
            let count = left.min(self.window);
            self.first = self.next;
            self.held.resize((count * size) as usize, 0);
            match self.from {
                From::Boxes(_) => self.read_boxes()?,
                From::Lists(..) => self.read_by_index()?,
                From::Indices(..) => self.read_indices()?,
            }
        }
        let count = left.min(self.step);
        let from = ((self.next - self.first) * size) as usize;
        self.next += count;
        Ok(self.held.get(from..from + (count * size) as usize))
    }

    /// Fills the window with elements of boxes: the rest of the block that was read last, and newly read ones.
    fn read_boxes(&mut self) -> Result<()> {
        let From::Boxes(parts) = &self.from else {
            return Ok(());
        };
        let size = self.array.kind.size();
        let begin = (self.first * size) as i64;
        let strides = row_major(&self.array.extents, size);
        for (rank, region, stored) in parts {
            let places = region.at.iter().zip(&strides);
            let base: i64 = places.map(|(at, stride)| *at as i64 * stride).sum();
            let walk = Walk::new(&region.extents, &strides, base - begin, size);
            let from = walk.elements_before(0) * size;
            let to = walk.elements_before(self.held.len() as i64) * size;
            if from == to {
                continue;
            }
            let mut piece = self.blocks.rest(*rank);
            let mut memory = Slice::of_bytes(&mut self.held, 0);
            self.blocks
                .read((*rank, stored), &mut piece, (from, to), |at, bytes| {
                    scatter(&mut memory, &walk, at / size, bytes)
                })?;
            self.blocks.keep(*rank, piece, to);
        }
        Ok(())
    }

    /// Fills the window with elements by index. Its borders may be between the elements of an index.
    fn read_by_index(&mut self) -> Result<()> {
        let From::Lists(parts, lists) = &self.from else {
            return Ok(());
        };
        let size = self.array.kind.size();
        let row = self.array.extents.iter().skip(1).product::<u64>() * size;
        let begin = self.first * size;
        let end = begin + self.held.len() as u64;
        let (window, again) = (begin / row..end.div_ceil(row), end / row);
        let reached = self.reached.get_or_insert_with(|| lists.begin());
        let (blocks, held) = (&mut self.blocks, &mut self.held);
        for (rank, stored) in parts.iter().enumerate() {
            let (mut piece, mut last) = (blocks.rest(rank), 0);
            let window = (window.clone(), again);
            lists.each_in(reached, rank, window, |position, run| {
                // Places in the file, and in the whole.
                let (at, place) = (position * row, run.first * row);
                let skip = begin.saturating_sub(place);
                let stop = end.min(run.end() * row) - place;
                last = at + stop;
                blocks.read(
                    (rank, stored),
                    &mut piece,
                    (at + skip, last),
                    |found, bytes| {
                        let to = (place + (found - at) - begin) as usize;
                        if let Some(held) = held.get_mut(to..to + bytes.len()) {
                            held.copy_from_slice(bytes);
                        }
                        Ok(())
                    },
                )
            })?;
            blocks.keep(rank, piece, last);
        }
        Ok(())
    }

    /// Fills the window with indices as the program has them.
    fn read_indices(&mut self) -> Result<()> {
        let From::Indices(ids, whole, first) = &self.from else {
            return Ok(());
        };
        let mut runs = Runs::from(&ids.bytes, *whole, self.cursor);
        let (mut places, _) = self.held.as_chunks_mut::<8>();
        while !places.is_empty()
            && let Some(run) = runs.take_most(places.len() as u64)?
        {
            let (now, rest) = places.split_at_mut(run.count as usize);
            for (place, id) in now.iter_mut().zip(run.first..) {
                *place = first.saturating_add(id as i64).to_le_bytes();
            }
            places = rest;
        }
        self.cursor = runs.cursor();
        Ok(())
    }
}
