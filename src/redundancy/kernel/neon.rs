//! Vectors of 64-bit ARM, which all such processors have. Products are looked up in tables of 16
//! entries, for the low and the high half of each byte.

use super::field::Factor;
use super::pages::{Page, Pages};
use super::vector::{ProductSums, Vector};
use std::arch::aarch64::*;

#[derive(Clone, Copy)]
pub(super) struct Neon(uint8x16_t);

impl Vector for Neon {
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: NEON is part of the architecture.
        unsafe { Neon(vdupq_n_u8(0)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller says that the bytes are there; no alignment is asked.
        unsafe { Neon(vld1q_u8(from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: as above.
        unsafe { vst1q_u8(to, self.0) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: NEON is part of the architecture.
        unsafe { Neon(veorq_u8(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn mul(self, factor: &'static Factor) -> Self {
        // SAFETY: the tables have 16 bytes; an index is at most 15.
        unsafe {
            let low = vld1q_u8(factor.low.as_ptr());
            let high = vld1q_u8(factor.high.as_ptr());
            let lower = vqtbl1q_u8(low, vandq_u8(self.0, vdupq_n_u8(15)));
            Neon(veorq_u8(lower, vqtbl1q_u8(high, vshrq_n_u8::<4>(self.0))))
        }
    }
}

pub(super) fn run(sums: &ProductSums) {
    // SAFETY: NEON is part of the architecture.
    unsafe { sums.run::<Neon>() };
}

pub(super) fn fold(pages: &mut Pages, new: &[Page]) {
    // SAFETY: NEON is part of the architecture.
    unsafe { pages.fold::<Neon>(new) };
}
