//! Bytes of fields from the files of ranks, with their checksums compared.

use scr_engine::Result;
use scr_engine::fields::file::{Section, Stored};
use scr_engine::fields::sources::{chunk_of, read_blocks};
use scr_engine::store::{File, Files, retry};
use scr_engine::system::limits::share_of_open_files;
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

/// Bytes of blocks at the border of two bands that are kept for the second one, at most; bytes beyond that are
/// read again. A whole that is cut in several dimensions has as many such blocks as ranks share a band: up to
/// 1,024.
const KEPT: usize = 256 << 20;

/// Files that stay open.
const MOST_OPEN: usize = 64;

/// Reads one field of each rank.
pub(super) struct Blocks<'a> {
    files: &'a dyn Files,
    paths: &'a [PathBuf],
    open: VecDeque<(usize, Box<dyn File>)>,
    /// For each rank the end of the block that was read last. This end belongs to the next band.
    rests: HashMap<usize, Piece>,
    /// Bytes of all rests.
    kept: usize,
    /// Memory for the next piece.
    spare: Vec<u8>,
}

/// Bytes of a field of one rank that were read and checked.
#[derive(Default)]
pub(super) struct Piece {
    begin: u64,
    bytes: Vec<u8>,
}

impl Piece {
    /// The bytes from `at` on, if `at` is in the piece.
    fn from(&self, at: u64) -> Option<&[u8]> {
        let skip = usize::try_from(at.checked_sub(self.begin)?).ok()?;
        self.bytes.get(skip..).filter(|rest| !rest.is_empty())
    }
}

impl<'a> Blocks<'a> {
    /// The files of fields of all ranks.
    pub fn new(files: &'a dyn Files, paths: &'a [PathBuf]) -> Self {
        Blocks {
            files,
            paths,
            open: VecDeque::new(),
            rests: HashMap::new(),
            kept: 0,
            spare: Vec::new(),
        }
    }

    /// Calls `each` with bytes of a field of a rank, in pieces: the place of the first byte in the field, and the bytes.
    /// `piece` has what was read last, and gets what is read now.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged; the errors of `each`.
    pub fn read(
        &mut self,
        (rank, stored): (usize, &Stored),
        piece: &mut Piece,
        (from, to): (u64, u64),
        mut each: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut at = from;
        while at < to {
            if piece.from(at).is_none() {
                self.fill(piece, (rank, stored), (at, to))?;
            }
            let bytes = piece.from(at).unwrap_or_default();
            let length = bytes.len().min((to - at) as usize);
            each(at, bytes.get(..length).unwrap_or_default())?;
            at += length as u64;
        }
        Ok(())
    }

    /// All bytes of a small field of a rank.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn all(&mut self, (rank, stored): (usize, &Stored)) -> Result<Vec<u8>> {
        let (mut all, mut piece) = (Vec::new(), Piece::default());
        let range = (0, stored.entry.bytes());
        self.read((rank, stored), &mut piece, range, |_, bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(all)
    }

    /// What is left of the field of a rank from the band before.
    pub fn rest(&mut self, rank: usize) -> Piece {
        let rest = self.rests.remove(&rank);
        self.kept -= rest.as_ref().map_or(0, |rest| rest.bytes.len());
        rest.unwrap_or_else(|| Piece {
            begin: 0,
            bytes: {
                let mut spare = std::mem::take(&mut self.spare);
                spare.clear();
                spare
            },
        })
    }

    /// Keeps what a piece has from `at` on for the next band, if there is room.
    pub fn keep(&mut self, rank: usize, piece: Piece, at: u64) {
        if let Some(rest) = piece.from(at).filter(|rest| self.kept + rest.len() <= KEPT) {
            self.kept += rest.len();
            let rest = Piece {
                begin: at,
                bytes: rest.to_vec(),
            };
            self.rests.insert(rank, rest);
        }
        if piece.bytes.capacity() > self.spare.capacity() {
            self.spare = piece.bytes;
        }
    }

    /// Reads whole blocks from that of `at` on, of those that have bytes before `to`.
    fn fill(
        &mut self,
        piece: &mut Piece,
        (rank, stored): (usize, &Stored),
        (at, to): (u64, u64),
    ) -> Result<()> {
        let (block, last) = blocks_of(&stored.section, (at, to), stored.entry.bytes());
        let length = chunk_of(&stored.section).min(last - block);
        piece.begin = block;
        piece.bytes.resize(length as usize, 0);
        let path = self.paths.get(rank).map_or(Path::new(""), PathBuf::as_path);
        let file = match self.open.iter().position(|(open, _)| *open == rank) {
            Some(place) => self.open.get(place),
            None => {
                while self.open.len() >= share_of_open_files(MOST_OPEN) {
                    self.open.pop_front();
                }
                let file = retry(|| self.files.open(path))?;
                self.open.push_back((rank, file));
                self.open.back()
            }
        };
        match file {
            Some((_, file)) => read_blocks(&**file, path, stored, block, &mut piece.bytes),
            None => Ok(()),
        }
    }
}

/// Bytes of a section that must be read for bytes `from` to `to`: whole blocks.
fn blocks_of(section: &Section, (from, to): (u64, u64), all: u64) -> (u64, u64) {
    let block = section.block.max(1);
    (from / block * block, to.next_multiple_of(block).min(all))
}
