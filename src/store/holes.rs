//! Writes that leave the holes of a file.

use super::File;
use crate::Result;
use crate::system::size::scaled;
use std::ops::Range;

/// A run of fewer zeros than this, with other bytes before or after it, is written as it is: a hole must
/// save more than the additional calls cost.
const CELL: usize = 64 << 10;

/// Writes `data` at `offset`. If the data have many zeros and the file has a hole there, the hole stays: it takes
/// no space, and is read as zeros. So zeros at the end may leave the file shorter than `data` reaches: [`reach`]
/// ends it.
pub fn write_with_holes(file: &dyn File, offset: u64, data: &[u8]) -> Result<()> {
    let (mut at, mut begin) = (0, 0);
    for cell in data.chunks(scaled(CELL)) {
        let end = at + cell.len();
        if is_zero(cell) {
            write(file, offset, data, begin..at)?;
            fill(file, offset + at as u64..offset + end as u64, cell)?;
            begin = end;
        }
        at = end;
    }
    write(file, offset, data, begin..at)
}

/// Makes a file at least `size` bytes long, if a hole at its end has left it shorter: a zero is written in the last
/// place. The size is not set, since some file systems refuse that. Also other ranks may write behind that place, as
/// in containers.
pub fn reach(file: &dyn File, size: u64) -> Result<()> {
    if size > 0 && file.size()? < size {
        file.write_at(size - 1, &[0])?;
    }
    Ok(())
}

fn write(file: &dyn File, offset: u64, data: &[u8], part: Range<usize>) -> Result<()> {
    match data.get(part.clone()) {
        Some(bytes) if !bytes.is_empty() => file.write_at(offset + part.start as u64, bytes),
        _ => Ok(()),
    }
}

/// Makes a range of the file zeros, which are in `zeros`. The range may have old content.
fn fill(file: &dyn File, range: Range<u64>, zeros: &[u8]) -> Result<()> {
    let mut at = range.start;
    while at < range.end {
        let run = match file.data_from(at)? {
            Some(run) if run.start < range.end => run.start.max(at)..run.end.min(range.end),
            _ => return Ok(()),
        };
        let length = (run.end.saturating_sub(run.start)) as usize;
        match zeros.get(..length) {
            Some(bytes) if !bytes.is_empty() => file.write_at(run.start, bytes)?,
            _ => return Ok(()),
        }
        at = run.end;
    }
    Ok(())
}

/// True if all bytes are zero.
fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<16>();
    words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::{CELL, write_with_holes};
    use crate::store::Files;
    use crate::store::posix::Posix;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    fn blocks(path: &Path) -> u64 {
        std::fs::metadata(path).unwrap().blocks() * 512
    }

    /// Zeros except for some bytes, at an offset that is in the middle of a block.
    fn sparse(size: usize) -> Vec<u8> {
        let mut data = vec![0; size];
        for at in [0, 3 * CELL, size / 2, size - 1] {
            data[at] = 7;
        }
        data
    }

    #[test]
    fn zeros_stay_holes_and_replace_what_was_there() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let data = sparse(64 * CELL);
        for piece in [CELL / 4, CELL, 3 * CELL + 5, 64 * CELL] {
            let path = dir.path().join("new");
            let file = Posix.create(&path, 0o600).unwrap();
            file.set_size(100 + data.len() as u64).unwrap();
            for (number, bytes) in data.chunks(piece).enumerate() {
                write_with_holes(&*file, 100 + (number * piece) as u64, bytes).unwrap();
            }
            assert_eq!(std::fs::read(&path).unwrap()[100..], data, "{piece}");
            assert!(
                blocks(&path) < 8 * CELL as u64,
                "{piece}: {}",
                blocks(&path)
            );
        }
        // Over old content, in some places.
        let path = dir.path().join("old");
        let file = Posix.create(&path, 0o600).unwrap();
        file.set_size(data.len() as u64).unwrap();
        for at in [0, 10 * CELL + 9, 40 * CELL] {
            file.write_at(at as u64, &vec![0xee; 5 * CELL]).unwrap();
        }
        write_with_holes(&*file, 0, &data).unwrap();
        assert!(std::fs::read(&path).unwrap() == data);
        assert!(blocks(&path) < 24 * CELL as u64, "{}", blocks(&path));
        // Without a size the end of the file is missing.
        let path = dir.path().join("short");
        let file = Posix.create(&path, 0o600).unwrap();
        write_with_holes(&*file, 0, &[0; 10]).unwrap();
        assert_eq!(file.size().unwrap(), 0);
    }
}
