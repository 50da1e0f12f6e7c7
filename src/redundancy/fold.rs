//! A checksum of blocks that is linear in the field of the codes: that of a sum of multiples of blocks is the sum of the
//! same multiples of their checksums. CRC32 has this property for sums only.
//!
//! The lines of a page are added, and the sums of pages are the coefficients of a polynomial, which is evaluated at the
//! generator of the field. So any change within [`LINE`] bytes is noticed, and also exchanged pages; of other changes all
//! but one of 2^128.

use super::kernel::Kernel;
use super::kernel::field::mul;
use super::kernel::pages::{PAGE, Pages};

pub use super::kernel::pages::LINE;

/// The checksum.
pub type Digest = [u8; LINE];

/// A checksum in the making, of bytes that come in order.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    /// Of the complete pages.
    pages: Pages,
    /// The sum of the lines of the last page, and its bytes so far.
    last: Digest,
    filled: usize,
}

impl Fold {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let missing = match self.filled {
            0 => 0,
            filled => PAGE - filled,
        };
        let (head, rest) = bytes.split_at(missing.min(bytes.len()));
        self.add_to_page(head);
        let (pages, tail) = rest.as_chunks::<PAGE>();
        Kernel::best().fold(&mut self.pages, pages);
        self.add_to_page(tail);
    }

    /// Adds bytes that do not go over the end of the last page.
    fn add_to_page(&mut self, bytes: &[u8]) {
        let inside = self.filled % LINE;
        self.filled += bytes.len();
        let (head, rest) = bytes.split_at(((LINE - inside) % LINE).min(bytes.len()));
        let places = self.last.iter_mut().skip(inside);
        places.zip(head).for_each(|(sum, byte)| *sum ^= byte);
        let (lines, tail) = rest.as_chunks::<LINE>();
        let lines = lines.iter().map(|line| u128::from_ne_bytes(*line));
        let sum = lines.fold(u128::from_ne_bytes(self.last), |sum, line| sum ^ line);
        self.last = sum.to_ne_bytes();
        let places = self.last.iter_mut().zip(tail);
        places.for_each(|(sum, byte)| *sum ^= byte);
        if self.filled == PAGE {
            self.pages = Pages(self.value());
            (self.last, self.filled) = ([0; LINE], 0);
        }
    }

    /// The checksum with the last page, whether it is full or not.
    fn value(&self) -> Digest {
        let pages = u128::from_ne_bytes(self.pages.0.map(|byte| mul(2, byte)));
        (pages ^ u128::from_ne_bytes(self.last)).to_ne_bytes()
    }

    /// The checksum of all bytes.
    pub fn finish(self) -> Digest {
        match self.filled {
            0 => self.pages.0,
            _ => self.value(),
        }
    }
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
