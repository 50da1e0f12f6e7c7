//! Searches the files that a program has written for the bytes of its variables.
//!
//! Of each variable two short pieces are looked for, all at once while a file is read. Where one is found, the whole variable is
//! compared with the file around it.

use scr_jobs::variables::{Leaf, Memory, Process};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// What was found of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InFile {
    No,
    /// All bytes follow each other in the file of this name.
    Whole(String),
    /// Some do.
    Partly(String),
}

/// Bytes of a piece that is looked for. Smaller variables are not.
const PIECE: usize = 64;
/// A piece has so many different words if it is taken for a part of the variable, and not for something that looks alike.
const DIFFERENT: usize = 4;
/// Bytes that are read at a time. Tests have variables across several pieces.
const AT_ONCE: usize = if cfg!(test) { 100 } else { 4 << 20 };
/// A variable is compared with so many places.
const MOST_PLACES: usize = 16;
/// Files of this size are searched in all.
const MOST_BYTES: u64 = 8 << 30;

/// The bytes that may still be searched.
pub(super) struct Budget {
    left: u64,
    spent: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            left: MOST_BYTES,
            spent: false,
        }
    }
}

impl Budget {
    /// True if a file was left out.
    pub fn is_spent(&self) -> bool {
        self.spent
    }

    /// Looks for the values of leaves in files, which have names.
    pub fn find(
        &mut self,
        process: &Process,
        leaves: &[&Leaf],
        files: &[(String, PathBuf)],
    ) -> Vec<InFile> {
        let mut found = vec![InFile::No; leaves.len()];
        if files.is_empty() {
            return found;
        }
        let pieces = Pieces::of(process, leaves);
        let files: BTreeMap<_, _> = files.iter().map(|(name, path)| (path, name)).collect();
        for (path, name) in files {
            let Ok(file) = File::open(path) else { continue };
            let size = file.metadata().map_or(0, |metadata| metadata.len());
            let Some(left) = self.left.checked_sub(size) else {
                self.spent = true;
                continue;
            };
            self.left = left;
            let mut search = Search {
                process,
                leaves,
                file: &file,
                size,
                name,
                tried: HashMap::new(),
                found: &mut found,
            };
            // What cannot be read has nothing.
            let _ = search.run(&pieces);
        }
        found
    }
}

/// A piece of a leaf.
struct Piece {
    leaf: usize,
    /// Its place in the leaf.
    offset: u64,
    bytes: [u8; PIECE],
}

/// The pieces by their first words.
struct Pieces {
    all: Vec<Piece>,
    by_word: HashMap<u64, Vec<usize>>,
    /// A bit for each hash of a first word.
    bits: Vec<u64>,
}

/// Most places of a file have another first word than any piece: this tells so without a look into the table.
fn slot(word: u64) -> usize {
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize
}

impl Pieces {
    fn of(process: &Process, leaves: &[&Leaf]) -> Self {
        let mut pieces = Pieces {
            all: Vec::new(),
            by_word: HashMap::new(),
            bits: vec![0; 1 << 10],
        };
        for (number, leaf) in leaves.iter().enumerate() {
            let (begin, end) = leaf.span();
            let bytes = leaf.bytes();
            if leaf.value.is_some() || bytes < PIECE as u64 || bytes != end - begin {
                continue;
            }
            let first = first_piece(process, (begin, end), begin);
            let middle = first_piece(process, (begin, end), begin + bytes / 2 / 8 * 8);
            let same = |one: &(u64, [u8; PIECE])| first.is_some_and(|first| first.0 == one.0);
            let middle = middle.filter(|middle| !same(middle));
            for (offset, bytes) in first.into_iter().chain(middle) {
                pieces.add(Piece {
                    leaf: number,
                    offset,
                    bytes,
                });
            }
        }
        pieces
    }

    fn add(&mut self, piece: Piece) {
        let Some(word) = word_at(&piece.bytes, 0) else {
            return;
        };
        let slot = slot(word);
        if let Some(bits) = self.bits.get_mut(slot / 64) {
            *bits |= 1 << (slot % 64);
        }
        self.by_word.entry(word).or_default().push(self.all.len());
        self.all.push(piece);
    }

    fn beginning_with(&self, word: u64) -> &[usize] {
        let slot = slot(word);
        let bits = self.bits.get(slot / 64).copied().unwrap_or(0);
        if bits >> (slot % 64) & 1 == 0 {
            return &[];
        }
        self.by_word.get(&word).map_or(&[], Vec::as_slice)
    }
}

fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

/// The first piece at or after `from` that begins with another word than the one before; `None` for what is the same all over.
fn first_piece(
    process: &Process,
    (begin, end): (u64, u64),
    from: u64,
) -> Option<(u64, [u8; PIECE])> {
    let mut buffer = Vec::new();
    let mut at = from;
    while at + PIECE as u64 <= end {
        buffer.resize(AT_ONCE.min((end - at) as usize), 0);
        if !process.read(at, &mut buffer) {
            return None;
        }
        let words = buffer.chunks_exact(8);
        let mut pairs = words.clone().zip(words.skip(1));
        let differs = pairs.position(|(one, other)| one != other);
        if let Some(place) = differs {
            // The last piece of a variable may begin with a word that is as the one before.
            let address = (at + 8 * (place as u64 + 1)).min(end - PIECE as u64);
            let mut bytes = [0; PIECE];
            return process
                .read(address, &mut bytes)
                .then_some((address - begin, bytes));
        }
        at += (buffer.len() as u64 - 8).max(8);
    }
    None
}

struct Search<'a> {
    process: &'a Process,
    leaves: &'a [&'a Leaf],
    file: &'a File,
    size: u64,
    name: &'a str,
    /// Number of places that each leaf was compared with.
    tried: HashMap<usize, usize>,
    found: &'a mut [InFile],
}

impl Search<'_> {
    fn run(&mut self, pieces: &Pieces) -> std::io::Result<()> {
        let mut buffer = Vec::new();
        let mut begin = 0;
        while begin + PIECE as u64 <= self.size {
            buffer.resize(AT_ONCE.min((self.size - begin) as usize), 0);
            self.file.read_exact_at(&mut buffer, begin)?;
            let last = buffer.len() - PIECE;
            for (place, word) in buffer.windows(8).take(last + 1).enumerate() {
                let Some(word) = word_at(word, 0) else { break };
                for number in pieces.beginning_with(word) {
                    let Some(piece) = pieces.all.get(*number) else {
                        continue;
                    };
                    if buffer.get(place..place + PIECE) == Some(&piece.bytes) {
                        self.compare(piece, begin + place as u64)?;
                    }
                }
            }
            begin += last as u64 + 1;
        }
        Ok(())
    }

    /// A piece was found at this place of the file.
    fn compare(&mut self, piece: &Piece, place: u64) -> std::io::Result<()> {
        let (Some(leaf), Some(found)) =
            (self.leaves.get(piece.leaf), self.found.get_mut(piece.leaf))
        else {
            return Ok(());
        };
        let tried = self.tried.entry(piece.leaf).or_default();
        if matches!(found, InFile::Whole(_)) || *tried >= MOST_PLACES {
            return Ok(());
        }
        *tried += 1;
        let (address, bytes) = (leaf.span().0, leaf.bytes());
        let same = match place.checked_sub(piece.offset) {
            Some(first) => {
                let bytes = bytes.min(self.size - first);
                same_bytes(self.process, address, (self.file, first), bytes)?
            }
            None => 0,
        };
        let is_same = same > 0 && same + leaf.most_slack() >= bytes;
        let mut words: Vec<_> = piece.bytes.chunks(8).collect();
        words.sort_unstable();
        words.dedup();
        if is_same {
            *found = InFile::Whole(self.name.to_string());
        } else if *found == InFile::No && words.len() >= DIFFERENT {
            *found = InFile::Partly(self.name.to_string());
        }
        Ok(())
    }
}

/// How many bytes are the same, from the first on.
fn same_bytes(
    process: &Process,
    address: u64,
    (file, first): (&File, u64),
    bytes: u64,
) -> std::io::Result<u64> {
    let (mut own, mut other) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < bytes {
        let now = AT_ONCE.min((bytes - done) as usize);
        own.resize(now, 0);
        other.resize(now, 0);
        file.read_exact_at(&mut other, first + done)?;
        if !process.read(address + done, &mut own) {
            return Ok(done);
        }
        let mut pairs = own.iter().zip(&other);
        if let Some(place) = pairs.position(|(one, other)| one != other) {
            return Ok(done + place as u64);
        }
        done += now as u64;
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scr_jobs::variables::Kind;

    fn leaf(values: &[f64]) -> Leaf {
        Leaf {
            key: String::new(),
            shown: String::new(),
            place: String::new(),
            type_name: String::new(),
            kind: Kind::Real,
            size: 8,
            address: values.as_ptr().addr() as u64,
            dims: vec![(values.len() as u64, 8)],
            by_column: false,
            value: None,
            bits: None,
            slack: 0,
            local: false,
        }
    }

    #[test]
    fn variables_are_found_in_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rank_0");
        let numbers = |from: u32, count: usize| -> Vec<f64> {
            (0..count)
                .map(|number| f64::from(from) + (number as f64).sqrt())
                .collect()
        };
        let (whole, part, none) = (numbers(1, 1000), numbers(2000, 100), numbers(9000, 100));
        // Most of it is the same.
        let mut late = vec![0.0; 1000];
        late[999] = 7.0;
        let (zeros, short) = (vec![0.0; 100], numbers(5, 7));
        let bytes = |values: &[f64]| -> Vec<u8> {
            values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect()
        };
        // Between two variables are bytes that move what follows from its words.
        let text = [
            &bytes(&zeros)[..],
            b"end",
            &bytes(&late),
            &bytes(&part[40..]),
            &bytes(&whole),
            &bytes(&short),
        ]
        .concat();
        std::fs::write(&path, text).unwrap();
        let all = [&whole, &part, &none, &late, &zeros, &short];
        let leaves: Vec<Leaf> = all
            .iter()
            .map(|values| leaf(std::hint::black_box(values)))
            .collect();
        let leaves: Vec<&Leaf> = leaves.iter().collect();
        let own = Process::open(std::process::id()).unwrap();
        let name = || "ck.1/rank_0".to_string();
        let files = [(name(), path)];
        let mut budget = Budget::default();
        assert_eq!(
            budget.find(&own, &leaves, &files),
            [
                InFile::Whole(name()),
                InFile::Partly(name()),
                InFile::No,
                InFile::Whole(name()),
                InFile::No,
                InFile::No
            ]
        );
        assert!(!budget.is_spent());
        budget.left = 100;
        assert_eq!(budget.find(&own, &leaves, &files)[0], InFile::No);
        assert!(budget.is_spent());
    }
}
