//! The elements of an array, a few megabytes at a time, from the files of the ranks that wrote it.

use super::{Array, blocks_of};
use scr_engine::fields::file::Stored;
use scr_engine::fields::memory::{Slice, scatter};
use scr_engine::fields::region::Region;
use scr_engine::fields::sources::{chunk_of, read_blocks};
use scr_engine::fields::walk::{Walk, row_major};
use scr_engine::store::{File, Files, retry};
use scr_engine::system::limits::share_of_open_files;
use scr_engine::{Error, Result};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

/// Bytes of a band.
const BAND: u64 = 8 << 20;

/// Bytes of blocks at the border of two bands that are kept for the second one, at most; bytes beyond that are
/// read again. A whole that is cut in several dimensions has as many such blocks as ranks share a band: up to
/// 1,024.
const KEPT: usize = 256 << 20;

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
    /// For each part the end of the block that was read last. This end belongs to the next band.
    rests: HashMap<usize, Rest>,
    /// Bytes of all rests.
    kept: usize,
}

/// Bytes of a part that were read and checked, and not yet used.
struct Rest {
    begin: u64,
    bytes: Vec<u8>,
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
            rests: HashMap::new(),
            kept: 0,
        }
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

    /// Puts elements of a part into their places in the band: the rest of the block that was read last, and newly read
    /// ones.
    fn add(&mut self, part: usize, walk: &Walk, (from, to): (u64, u64)) -> Result<()> {
        let (mut at, end) = (from * walk.size(), to * walk.size());
        if let Some(mut rest) = self.take_rest(part, at) {
            let used = rest.bytes.len().min((end - at) as usize);
            self.place(walk, at, &rest.bytes[..used])?;
            at += used as u64;
            rest.bytes.drain(..used);
            self.keep_rest(part, at, rest.bytes);
        }
        if at == end {
            return Ok(());
        }
        let rank = self.parts[part].0;
        self.open_file(rank)?;
        let path = self.paths.get(rank).cloned().unwrap_or_default();
        let all = self.parts[part].2.entry.bytes();
        let (mut block, last) = blocks_of(&self.parts[part].2.section, (at, end), all);
        let mut blocks = std::mem::take(&mut self.blocks);
        while block < last {
            let stored = &self.parts[part].2;
            let file = self.open.iter().find(|(open, _)| *open == rank);
            let (_, file) = file.ok_or_else(|| Error::corrupt(&path, "is not open"))?;
            let length = chunk_of(&stored.section).min(last - block);
            blocks.resize(length as usize, 0);
            read_blocks(&**file, &path, stored, block, &mut blocks)?;
            let until = end.min(block + length);
            let (first, used) = ((at - block) as usize, (until - block) as usize);
            self.place(walk, at, &blocks[first..used])?;
            self.keep_rest(part, until, blocks[used..].to_vec());
            at = until;
            block += length;
        }
        self.blocks = blocks;
        Ok(())
    }

    /// Puts bytes of a part, which begin at `at`, into the band.
    fn place(&mut self, walk: &Walk, at: u64, bytes: &[u8]) -> Result<()> {
        let mut band = Slice::of_bytes(&mut self.band, 0);
        scatter(&mut band, walk, at / walk.size(), bytes)
    }

    /// The rest of a part, from `at` on.
    fn take_rest(&mut self, part: usize, at: u64) -> Option<Rest> {
        let rest = self.rests.remove(&part)?;
        self.kept -= rest.bytes.len();
        (rest.begin == at).then_some(rest)
    }

    /// Keeps the rest of a part, if there is room.
    fn keep_rest(&mut self, part: usize, begin: u64, bytes: Vec<u8>) {
        if !bytes.is_empty() && self.kept + bytes.len() <= KEPT {
            self.kept += bytes.len();
            self.rests.insert(part, Rest { begin, bytes });
        }
    }

    /// Opens the file of a rank, unless it is open.
    fn open_file(&mut self, rank: usize) -> Result<()> {
        if self.open.iter().any(|(open, _)| *open == rank) {
            return Ok(());
        }
        let path = self.paths.get(rank).cloned().unwrap_or_default();
        while self.open.len() >= share_of_open_files(MOST_OPEN) {
            self.open.pop_front();
        }
        let file = retry(|| self.files.open(&path))?;
        self.open.push_back((rank, file));
        Ok(())
    }
}
