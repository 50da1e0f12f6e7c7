//! CRC32 of a file whose bytes are read in a few ascending streams.

use crc32fast::Hasher;

/// Bytes read at a time. They are still in the processor's cache when the checksum is taken.
pub const BLOCK: usize = 256 << 10;

/// Checksum of the bytes `start..end`.
struct Segment {
    start: u64,
    end: u64,
    hasher: Hasher,
}

/// Checksums of the bytes that were read.
#[derive(Default)]
pub struct Checksums {
    segments: Vec<Segment>,
}

impl Checksums {
    /// Adds bytes at `offset` to the segment that ends there. There are few streams, so there are
    /// few segments to search.
    pub fn add(&mut self, offset: u64, bytes: &[u8]) {
        self.add_to_block(offset, bytes, false);
    }

    /// Adds bytes as [`Checksums::add`] does. With `begins`, a block begins at `offset`: a new segment begins, so that
    /// no segment belongs to two blocks.
    pub fn add_to_block(&mut self, offset: u64, bytes: &[u8], begins: bool) {
        let end = offset + bytes.len() as u64;
        let mut segments = self.segments.iter_mut().filter(|_| !begins);
        if let Some(segment) = segments.find(|s| s.end == offset) {
            segment.hasher.update(bytes);
            segment.end = end;
        } else {
            let mut hasher = Hasher::new();
            hasher.update(bytes);
            self.segments.push(Segment {
                start: offset,
                end,
                hasher,
            });
        }
    }

    /// Adds `length` bytes at `offset` with this checksum, as a segment of their own.
    pub fn add_summed(&mut self, offset: u64, length: u64, hasher: Hasher) {
        self.segments.push(Segment {
            start: offset,
            end: offset + length,
            hasher,
        });
    }

    /// Offsets and lengths of the bytes among the first `size` that were not added yet.
    pub fn gaps(&mut self, size: u64) -> Vec<(u64, u64)> {
        self.segments.sort_by_key(|s| s.start);
        let (mut gaps, mut at) = (Vec::new(), 0);
        let bounds = self.segments.iter().map(|s| (s.start, s.end));
        for (start, end) in bounds.chain([(size, size)]) {
            if start > at {
                gaps.push((at, start - at));
            }
            at = at.max(end);
        }
        gaps
    }

    /// Offset, length and checksum of each segment, in ascending order.
    pub fn segments(&mut self) -> impl Iterator<Item = (u64, u64, &Hasher)> {
        self.segments.sort_by_key(|s| s.start);
        let segments = self.segments.iter();
        segments.map(|s| (s.start, s.end - s.start, &s.hasher))
    }

    /// CRC32 of the first `size` bytes, each of which must have been added exactly once. The error
    /// is the number of bytes up to the first gap or overlap.
    pub fn crc(&mut self, size: u64) -> Result<u32, u64> {
        self.segments.sort_by_key(|s| s.start);
        let (mut crc, mut at) = (Hasher::new(), 0);
        for segment in &self.segments {
            if segment.start == at {
                crc.combine(&segment.hasher);
                at = segment.end;
            }
        }
        if at == size {
            Ok(crc.finalize())
        } else {
            Err(at)
        }
    }
}

/// The checksum of `length` zeros.
pub fn zeros(mut length: u64) -> Hasher {
    let (mut all, mut power) = (Hasher::new(), Hasher::new());
    power.update(&[0]);
    while length > 0 {
        if length & 1 == 1 {
            all.combine(&power);
        }
        let half = power.clone();
        power.combine(&half);
        length >>= 1;
    }
    all
}

/// CRC32 of the sum (XOR) of blocks of `length` bytes with these checksums. CRC32 is linear but for a constant, which is
/// that of zeros.
pub fn sum_of_blocks(sums: impl IntoIterator<Item = u32>, length: u64) -> u32 {
    let constant = zeros(length).finalize();
    let sums = sums.into_iter();
    sums.fold(constant, |all, sum| all ^ sum ^ constant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_sum_follows_from_those_of_its_blocks() {
        for length in [0usize, 1, 5, 64, 1000] {
            assert_eq!(
                zeros(length as u64).finalize(),
                crc32fast::hash(&vec![0; length])
            );
            let mut sum = vec![0u8; length];
            let mut sums = Vec::new();
            for block in 1..6u64 {
                let bytes: Vec<u8> = (0..length as u64)
                    .map(|at| (at * 37 * block + block + at / 256) as u8)
                    .collect();
                sum.iter_mut().zip(&bytes).for_each(|(a, b)| *a ^= b);
                sums.push(crc32fast::hash(&bytes));
                let found = sum_of_blocks(sums.iter().copied(), length as u64);
                assert_eq!(found, crc32fast::hash(&sum), "{block} of {length}");
            }
        }
    }

    #[test]
    fn gaps_are_the_bytes_that_are_missing() {
        let bytes: Vec<u8> = (0..100u8).collect();
        let whole = crc32fast::hash(&bytes);
        for mask in 0..1u32 << 10 {
            let mut sums = Checksums::default();
            let has = |i: usize| mask >> i & 1 == 1;
            for i in (0..10).rev().filter(|i| has(*i)) {
                sums.add(10 * i as u64, &bytes[10 * i..10 * i + 10]);
            }
            let missing = (0..10).filter(|i| !has(*i)).count() as u64;
            let gaps = sums.gaps(100);
            assert_eq!(gaps.iter().map(|g| g.1).sum::<u64>(), 10 * missing);
            assert_eq!(sums.crc(100).is_ok(), missing == 0);
            for (at, length) in gaps {
                let (from, to) = (at as usize, (at + length) as usize);
                sums.add(at, &bytes[from..to]);
            }
            assert_eq!((sums.crc(100), sums.gaps(100)), (Ok(whole), vec![]));
        }
        assert_eq!(Checksums::default().crc(0), Ok(0));
        assert_eq!(Checksums::default().crc(3), Err(0));
    }
}
