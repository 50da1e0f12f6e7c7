//! Vectors of x86-64.
//!
//! Multiplication by a constant is linear, so two look-ups in tables of 16 entries (for the low and
//! the high half of each byte) give the product. `pshufb` does 32 or 64 look-ups at once. GFNI
//! instead applies an 8 x 8 bit matrix to each byte; its own multiplication is in another field
//! (0x11B).

use super::field::Factor;
use super::pages::{Page, Pages};
use super::vector::{ProductSums, Vector};
use std::arch::x86_64::*;

/// Defines a vector and the functions that run jobs with it.
macro_rules! engine {
    ($(#[$doc:meta])* $name:ident, $run:ident, $fold:ident, $needs:literal, $register:ty, $bytes:literal,
     $zero:ident, $load:ident, $store:ident, $xor:ident,
     |$source:ident, $factor:ident| $mul:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name($register);

        // SAFETY (of all functions): the caller says that the processor has the instructions
        // and that the memory is there; loads and stores are the unaligned ones.
        impl Vector for $name {
            const BYTES: usize = $bytes;

            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: see above.
                unsafe { $name($zero()) }
            }

            #[inline(always)]
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: see above.
                unsafe { $name($load(from.cast())) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: see above.
                unsafe { $store(to.cast(), self.0) }
            }

            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                // SAFETY: see above.
                unsafe { $name($xor(self.0, other.0)) }
            }

            #[inline(always)]
            unsafe fn mul(self, $factor: &'static Factor) -> Self {
                let $source = self.0;
                // SAFETY: see above.
                unsafe { $name($mul) }
            }
        }

        /// # Safety
        /// The processor has the instructions.
        #[target_feature(enable = $needs)]
        pub(super) unsafe fn $run(sums: &ProductSums) {
            // SAFETY: passed on.
            unsafe { sums.run::<$name>() };
        }

        /// # Safety
        /// The processor has the instructions.
        #[target_feature(enable = $needs)]
        pub(super) unsafe fn $fold(pages: &mut Pages, new: &[Page]) {
            // SAFETY: passed on.
            unsafe { pages.fold::<$name>(new) };
        }
    };
}

engine!(
    /// 32 bytes, products by look-up.
    Avx2, run_avx2, fold_avx2, "avx2", __m256i, 32,
    _mm256_setzero_si256, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256,
    |source, factor| {
        let mask = _mm256_set1_epi8(15);
        let low = _mm256_broadcastsi128_si256(_mm_loadu_si128(factor.low.as_ptr().cast()));
        let high = _mm256_broadcastsi128_si256(_mm_loadu_si128(factor.high.as_ptr().cast()));
        let upper = _mm256_and_si256(_mm256_srli_epi64::<4>(source), mask);
        _mm256_xor_si256(
            _mm256_shuffle_epi8(low, _mm256_and_si256(source, mask)),
            _mm256_shuffle_epi8(high, upper),
        )
    }
);

engine!(
    /// 32 bytes, products by matrix.
    Avx2Gfni, run_avx2_gfni, fold_avx2_gfni, "avx2,gfni", __m256i, 32,
    _mm256_setzero_si256, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256,
    |source, factor| {
        let matrix = _mm256_set1_epi64x(factor.affine as i64);
        _mm256_gf2p8affine_epi64_epi8::<0>(source, matrix)
    }
);

engine!(
    /// 64 bytes, products by look-up.
    Avx512, run_avx512, fold_avx512, "avx512f,avx512bw", __m512i, 64,
    _mm512_setzero_si512, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_xor_si512,
    |source, factor| {
        let mask = _mm512_set1_epi8(15);
        let low = _mm512_broadcast_i32x4(_mm_loadu_si128(factor.low.as_ptr().cast()));
        let high = _mm512_broadcast_i32x4(_mm_loadu_si128(factor.high.as_ptr().cast()));
        let upper = _mm512_and_si512(_mm512_srli_epi64::<4>(source), mask);
        _mm512_xor_si512(
            _mm512_shuffle_epi8(low, _mm512_and_si512(source, mask)),
            _mm512_shuffle_epi8(high, upper),
        )
    }
);

engine!(
    /// 64 bytes, products by matrix.
    Avx512Gfni, run_avx512_gfni, fold_avx512_gfni, "avx512f,avx512bw,gfni", __m512i, 64,
    _mm512_setzero_si512, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_xor_si512,
    |source, factor| {
        let matrix = _mm512_set1_epi64(factor.affine as i64);
        _mm512_gf2p8affine_epi64_epi8::<0>(source, matrix)
    }
);
