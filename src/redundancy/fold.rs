//! A checksum of blocks that is linear in the field of the codes: that of a sum of multiples of blocks is the sum of the
//! same multiples of their checksums. CRC32 has this property for sums only.
//!
//! The lines of a page are added, and the sums of pages are the coefficients of a polynomial, which is evaluated at the
//! generator of the field. So any change within [`LINE`] bytes is noticed, and also exchanged pages; of other changes all
//! but one of 2^128.

use super::kernel::field::mul;

/// Bytes of the checksum, and of a line.
pub const LINE: usize = 16;

/// Bytes of a page.
const PAGE: usize = 4096;

/// Several lines are added side by side.
const WIDE: usize = 4 * LINE;

/// The checksum.
pub type Digest = [u8; LINE];

/// A checksum in the making, of bytes that come in order.
#[derive(Debug, Clone)]
pub struct Fold {
    /// Of the complete pages.
    pages: Digest,
    /// The sum of the lines of the last page, and its bytes so far.
    last: [u8; WIDE],
    filled: usize,
}

impl Default for Fold {
    fn default() -> Self {
        Fold {
            pages: [0; LINE],
            last: [0; WIDE],
            filled: 0,
        }
    }
}

impl Fold {
    /// Adds the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (here, rest) = bytes.split_at(bytes.len().min(PAGE - self.filled));
            self.add_to_page(here);
            bytes = rest;
            if self.filled == PAGE {
                self.end_page();
            }
        }
    }

    fn add_to_page(&mut self, bytes: &[u8]) {
        let inside = self.filled % WIDE;
        self.filled += bytes.len();
        let (head, rest) = bytes.split_at(((WIDE - inside) % WIDE).min(bytes.len()));
        let places = self.last.iter_mut().skip(inside);
        places.zip(head).for_each(|(sum, byte)| *sum ^= byte);
        let (lines, tail) = rest.as_chunks::<WIDE>();
        let mut all = [0u8; WIDE];
        for line in lines {
            all.iter_mut()
                .zip(line)
                .for_each(|(sum, byte)| *sum ^= byte);
        }
        let all = all.iter_mut().zip(&mut self.last);
        all.for_each(|(sum, last)| *last ^= *sum);
        let places = self.last.iter_mut().zip(tail);
        places.for_each(|(sum, byte)| *sum ^= byte);
    }

    fn end_page(&mut self) {
        self.pages = self.value();
        (self.last, self.filled) = ([0; WIDE], 0);
    }

    /// The checksum with the last page, whether it is full or not.
    fn value(&self) -> Digest {
        let mut value = u128::from_ne_bytes(double(self.pages));
        for line in self.last.as_chunks::<LINE>().0 {
            value ^= u128::from_ne_bytes(*line);
        }
        value.to_ne_bytes()
    }

    /// The checksum of all bytes.
    pub fn finish(self) -> Digest {
        match self.filled {
            0 => self.pages,
            _ => self.value(),
        }
    }
}

/// The products of all bytes with the generator: this is done for each page, so [`mul`] would take too long.
fn double(bytes: Digest) -> Digest {
    bytes.map(|byte| (byte << 1) ^ (0x1d & (byte >> 7).wrapping_neg()))
}

/// Adds a multiple of a checksum to another.
pub fn add(to: &mut Digest, other: Digest, coefficient: u8) {
    let both = to.iter_mut().zip(other);
    both.for_each(|(sum, byte)| *sum ^= mul(coefficient, byte));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(length: usize, number: usize) -> Vec<u8> {
        let byte = |at: usize| (at * (2 * number + 37) + at / 251 + number) as u8;
        (0..length).map(byte).collect()
    }

    fn digest(bytes: &[u8]) -> Digest {
        let mut fold = Fold::default();
        fold.update(bytes);
        fold.finish()
    }

    #[test]
    fn it_is_linear_in_the_field() {
        for length in [0, 1, 15, 64, 100, 4095, 4096, 4097, 20_000] {
            let (mut sum, mut expected) = (vec![0; length], [0; LINE]);
            for (number, coefficient) in [1, 2, 0x8e, 255, 0].into_iter().enumerate() {
                let bytes = block(length, number);
                sum.iter_mut()
                    .zip(&bytes)
                    .for_each(|(sum, byte)| *sum ^= mul(coefficient, *byte));
                add(&mut expected, digest(&bytes), coefficient);
                assert_eq!(digest(&sum), expected, "{length}");
            }
        }
    }

    #[test]
    fn pieces_do_not_matter_and_each_changed_bit_and_exchanged_page_does() {
        let bytes = block(3 * PAGE + 77, 3);
        let whole = digest(&bytes);
        for piece in [1, 16, 63, 1000, 4096, 5000] {
            let mut fold = Fold::default();
            bytes.chunks(piece).for_each(|piece| fold.update(piece));
            assert_eq!(fold.finish(), whole, "{piece}");
        }
        for bit in (0..8 * bytes.len()).step_by(37) {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(digest(&changed), whole, "{bit}");
        }
        let (first, second) = (bytes[..PAGE].to_vec(), bytes[PAGE..2 * PAGE].to_vec());
        let exchanged = [second, first, bytes[2 * PAGE..].to_vec()].concat();
        assert_ne!(digest(&exchanged), whole);
    }
}
