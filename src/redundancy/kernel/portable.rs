//! For all other processors: eight elements in a machine word, which compilers turn into vectors if
//! possible.

use super::field::Factor;
use super::pages::{Page, Pages};
use super::vector::{ProductSums, Vector};

const WORDS: usize = 4;

/// A number of words that is enough for a compiler to use vectors.
#[derive(Clone, Copy)]
pub(super) struct Words([u64; WORDS]);

impl Words {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut result = [0; WORDS];
        for (r, (a, b)) in result.iter_mut().zip(self.0.into_iter().zip(other.0)) {
            *r = f(a, b);
        }
        Words(result)
    }
}

/// Multiplies each of eight elements by x.
#[inline(always)]
fn double(word: u64) -> u64 {
    let carry = word >> 7 & 0x0101_0101_0101_0101;
    let reduced = carry ^ carry << 2 ^ carry << 3 ^ carry << 4;
    (word & 0x7f7f_7f7f_7f7f_7f7f) << 1 ^ reduced
}

impl Vector for Words {
    const BYTES: usize = 8 * WORDS;

    #[inline(always)]
    unsafe fn zero() -> Self {
        Words([0; WORDS])
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller says that the bytes of all words are there; no alignment is asked.
        Words(unsafe { from.cast::<[u64; WORDS]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as above.
        unsafe { to.cast::<[u64; WORDS]>().write_unaligned(self.0) };
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }

    #[inline(always)]
    unsafe fn mul(self, factor: &'static Factor) -> Self {
        let (mut sum, mut power) = (Words([0; WORDS]), self);
        for bit in 0..8 {
            let mask = 0u64.wrapping_sub(u64::from(factor.value >> bit & 1));
            sum = sum.zip(power, |s, p| s ^ p & mask);
            power = power.zip(power, |p, _| double(p));
        }
        sum
    }
}

pub(super) fn run(sums: &ProductSums) {
    // SAFETY: every processor has words.
    unsafe { sums.run::<Words>() };
}

pub(super) fn fold(pages: &mut Pages, new: &[Page]) {
    // SAFETY: every processor has words.
    unsafe { pages.fold::<Words>(new) };
}
