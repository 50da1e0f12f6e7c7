//! The elements of an array, a few megabytes at a time, from the files of the ranks that wrote it.

use super::super::file::Stored;
use super::super::memory::{Slice, scatter};
use super::super::region::Region;
use super::super::sources::{chunk_of, read_blocks};
use super::super::walk::{Walk, row_major};
use super::{Array, blocks_of};
use crate::store::{File, Files, retry};
use crate::{Error, Result};
use std::collections::VecDeque;
use std::path::PathBuf;

/// Bytes of a band. A block of a file at the border of two bands is read for each of them, and a whole that is cut
/// in several dimensions has as many such blocks as ranks share a band; so a band has many blocks.
const BAND: u64 = 8 << 20;

/// Files that stay open.
const MOST_OPEN: usize = 64;

/// Reads an array in row-major order, the slowest dimension of the files first. The checksums of all blocks that are
/// read are compared.
pub struct Bands<'a> {
    files: &'a dyn Files,
    paths: &'a [PathBuf],
    array: Array,
    /// The rank that wrote a part, where it is in the array, and where it is in the rank's file.
    parts: Vec<(usize, Region, Stored)>,
    /// The first element of the next band.
    next: u64,
    open: VecDeque<(usize, Box<dyn File>)>,
    band: Vec<u8>,
    blocks: Vec<u8>,
}

impl<'a> Bands<'a> {
    /// The parts make up the array.
    pub(super) fn new(
        files: &'a dyn Files,
        paths: &'a [PathBuf],
        array: Array,
        parts: Vec<(usize, Region, Stored)>,
    ) -> Self {
        Bands {
            files,
            paths,
            array,
            parts,
            next: 0,
            open: VecDeque::new(),
            band: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// What is read.
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
        let count = left.min((BAND / size).max(1));
        self.band.resize((count * size) as usize, 0);
        let begin = (self.next * size) as i64;
        let strides = row_major(&self.array.extents, size);
        for part in 0..self.parts.len() {
            let (_, region, _) = &self.parts[part];
            let places = region.at.iter().zip(&strides);
            let base: i64 = places.map(|(at, stride)| *at as i64 * stride).sum();
            let walk = Walk::new(&region.extents, &strides, base - begin, size);
            let from = walk.elements_before(0);
            let to = walk.elements_before((count * size) as i64);
            if from < to {
                self.add(part, &walk, (from, to))?;
            }
        }
        self.next += count;
        Ok(Some(&self.band))
    }

    /// Reads elements of a part, and puts them where they belong in the band.
    fn add(&mut self, part: usize, walk: &Walk, (from, to): (u64, u64)) -> Result<()> {
        let rank = self.parts[part].0;
        self.open_file(rank)?;
        let (_, _, stored) = &self.parts[part];
        let path = self.paths.get(rank).cloned().unwrap_or_default();
        let file = self.open.iter().find(|(open, _)| *open == rank);
        let (_, file) = file.ok_or_else(|| Error::corrupt(&path, "is not open"))?;
        let (section, size) = (&stored.section, walk.size());
        let bytes = (from * size, to * size);
        let (mut at, end) = blocks_of(section, bytes, stored.entry.bytes());
        while at < end {
            let length = chunk_of(section).min(end - at);
            self.blocks.resize(length as usize, 0);
            read_blocks(&**file, &path, stored, at, &mut self.blocks)?;
            let first = bytes.0.max(at);
            let last = bytes.1.min(at + length);
            let wanted = &self.blocks[(first - at) as usize..(last - at) as usize];
            let mut band = Slice::of_bytes(&mut self.band, 0);
            scatter(&mut band, walk, first / size, wanted)?;
            at += length;
        }
        Ok(())
    }

    /// Opens the file of a rank, unless it is open.
    fn open_file(&mut self, rank: usize) -> Result<()> {
        if self.open.iter().any(|(open, _)| *open == rank) {
            return Ok(());
        }
        let path = self.paths.get(rank).cloned().unwrap_or_default();
        let file = retry(|| self.files.open(&path))?;
        if self.open.len() == MOST_OPEN {
            self.open.pop_front();
        }
        self.open.push_back((rank, file));
        Ok(())
    }
}
