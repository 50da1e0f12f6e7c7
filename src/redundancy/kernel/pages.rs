//! The sum of the lines of pages, as a polynomial: the loop of a checksum that is linear in the field.

use super::field::FACTORS;
use super::vector::{MOST_BYTES, Vector};

/// Bytes of a line, which is the least register.
pub const LINE: usize = 16;

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// A page.
pub type Page = [u8; PAGE];

/// The generator of the field.
const GENERATOR: u8 = 2;

/// Registers that are added to side by side.
const REGISTERS: usize = 4;

/// The value of the polynomial at the generator. Its coefficients are the sums of the lines of each page, the last page
/// first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pages(pub [u8; LINE]);

impl Pages {
    /// Adds pages, each by whole registers. The lines of the registers are added at the end, which is the same, since all
    /// is linear.
    ///
    /// # Safety
    /// The processor has the engine `V`.
    #[inline(always)]
    pub(super) unsafe fn fold<V: Vector>(&mut self, new: &[Page]) {
        const {
            assert!(V::BYTES <= MOST_BYTES && V::BYTES.is_multiple_of(LINE));
            assert!(PAGE.is_multiple_of(REGISTERS * V::BYTES));
        }
        let mut lines = [0; REGISTERS * MOST_BYTES];
        lines[..LINE].copy_from_slice(&self.0);
        // SAFETY: the array has so many registers, and a page a multiple of them.
        unsafe {
            let mut sums = [V::zero(); REGISTERS];
            for (r, sum) in sums.iter_mut().enumerate() {
                *sum = V::load(lines.as_ptr().add(r * V::BYTES));
            }
            for page in new {
                for sum in &mut sums {
                    *sum = sum.mul(&FACTORS[GENERATOR as usize]);
                }
                let mut at = 0;
                while at < PAGE {
                    for (r, sum) in sums.iter_mut().enumerate() {
                        *sum = sum.xor(V::load(page.as_ptr().add(at + r * V::BYTES)));
                    }
                    at += REGISTERS * V::BYTES;
                }
            }
            for (r, sum) in sums.into_iter().enumerate() {
                sum.store(lines.as_mut_ptr().add(r * V::BYTES));
            }
        }
        // Behind the registers there are zeros.
        let (lines, _) = lines.as_chunks::<LINE>();
        let lines = lines.iter().map(|line| u128::from_ne_bytes(*line));
        self.0 = lines.fold(0, |sum, line| sum ^ line).to_ne_bytes();
    }
}
