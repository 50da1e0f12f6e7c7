//! The loop that all engines share, over vectors of any width.

use super::field::{FACTORS, Factor};
use std::marker::PhantomData;

/// A register of field elements. The functions may only be called on processors with the
/// instructions that the implementation needs. They are inlined into functions that enable these
/// instructions.
pub(super) trait Vector: Copy {
    /// Bytes in a register.
    const BYTES: usize;

    /// # Safety
    /// The processor has this engine.
    unsafe fn zero() -> Self;

    /// # Safety
    /// The processor has this engine, and `BYTES` bytes can be read at `from`.
    unsafe fn load(from: *const u8) -> Self;

    /// # Safety
    /// The processor has this engine, and `BYTES` bytes can be written at `to`.
    unsafe fn store(self, to: *mut u8);

    /// The sum.
    ///
    /// # Safety
    /// The processor has this engine.
    unsafe fn xor(self, other: Self) -> Self;

    /// The product of each element with one factor.
    ///
    /// # Safety
    /// The processor has this engine.
    unsafe fn mul(self, factor: &'static Factor) -> Self;
}

/// Width of the widest register.
pub(super) const MOST_BYTES: usize = 64;

/// Sums of products to compute: `destinations[d]` becomes the sum over `s` of `factors[d][s] *
/// sources[s]`, added to its old content if `add`.
///
/// All pointers are valid for `length` bytes during `'a`, and no destination overlaps with anything
/// else. The slices that they come from guarantee that.
pub(super) struct ProductSums<'a> {
    sources: Vec<*const u8>,
    destinations: Vec<*mut u8>,
    /// Row by row.
    factors: Vec<&'static Factor>,
    length: usize,
    add: bool,
    /// True if all factors are 1.
    plain: bool,
    slices: PhantomData<(&'a [u8], &'a mut [u8])>,
}

impl<'a> ProductSums<'a> {
    /// Processes the length of the shortest slice. Missing coefficients count as 0.
    pub fn new(
        coefficients: &[u8],
        sources: &[&'a [u8]],
        destinations: &'a mut [&mut [u8]],
        add: bool,
    ) -> Self {
        let lengths = sources.iter().map(|s| s.len());
        let length = lengths
            .chain(destinations.iter().map(|d| d.len()))
            .min()
            .unwrap_or(0);
        let wanted = sources.len() * destinations.len();
        let coefficients = coefficients.iter().copied().chain(std::iter::repeat(0));
        let factors: Vec<_> = coefficients
            .take(wanted)
            .map(|c| &FACTORS[usize::from(c)])
            .collect();
        ProductSums {
            sources: sources.iter().map(|s| s.as_ptr()).collect(),
            destinations: destinations.iter_mut().map(|d| d.as_mut_ptr()).collect(),
            plain: factors.iter().all(|f| f.value == 1),
            factors,
            length,
            add,
            slices: PhantomData,
        }
    }

    /// Computes the sums.
    ///
    /// # Safety
    /// The processor has the engine `V`.
    #[inline(always)]
    pub unsafe fn run<V: Vector>(&self) {
        // SAFETY: passed on.
        unsafe {
            if self.plain {
                self.all::<V, true>();
            } else {
                self.all::<V, false>();
            }
        }
    }

    /// Up to four destinations at a time, whose sums stay in registers. For more destinations the
    /// sources are read again, from the nearest cache.
    ///
    /// # Safety
    /// As [`ProductSums::run`].
    #[inline(always)]
    unsafe fn all<V: Vector, const PLAIN: bool>(&self) {
        const STRIP: usize = 2048;
        // SAFETY: as for this function.
        let head = unsafe { self.head::<V, PLAIN>() };
        let whole = head + (self.length - head) / V::BYTES * V::BYTES;
        let count = self.destinations.len();
        let strip = if count > 4 { STRIP } else { whole.max(1) };
        for start in (head..whole).step_by(strip) {
            let end = whole.min(start + strip);
            for first in (0..count).step_by(4) {
                // SAFETY: `first + D` is at most `count`, `end` at most `length`.
                unsafe {
                    match count - first {
                        1 => self.strip::<V, PLAIN, 1, 4>(first, start, end),
                        2 => self.strip::<V, PLAIN, 2, 4>(first, start, end),
                        3 => self.strip::<V, PLAIN, 3, 2>(first, start, end),
                        _ => self.strip::<V, PLAIN, 4, 2>(first, start, end),
                    }
                }
            }
        }
        self.rest(whole);
    }

    /// The first bytes, up to an address from which stores of registers fill whole cache lines.
    /// This doubles the speed of wide registers. Returns their number.
    ///
    /// # Safety
    /// As [`ProductSums::run`].
    #[inline(always)]
    unsafe fn head<V: Vector, const PLAIN: bool>(&self) -> usize {
        const { assert!(V::BYTES <= MOST_BYTES) };
        let to = self.destinations.first().map_or(0, |to| to.addr());
        let head = to.wrapping_neg() % V::BYTES;
        if self.length < V::BYTES {
            return 0;
        }
        for (d, to) in self.destinations.iter().enumerate() {
            let mut register = [0; MOST_BYTES];
            // SAFETY: the length is at least that of a register, which is no longer than the
            // array, and `head` is less.
            unsafe {
                let [[sum]] = self.sums::<V, PLAIN, 1, 1>(d, 0);
                sum.store(register.as_mut_ptr());
                std::ptr::copy_nonoverlapping(register.as_ptr(), *to, head);
            }
        }
        head
    }

    /// The bytes `start..end` of `D` destinations from `first` on, `U` registers at a time.
    ///
    /// # Safety
    /// As [`ProductSums::run`]; `first + D` destinations exist, `end` is at most `length`, and
    /// from `start` to it is a multiple of the width.
    #[inline(always)]
    unsafe fn strip<V: Vector, const PLAIN: bool, const D: usize, const U: usize>(
        &self,
        first: usize,
        start: usize,
        end: usize,
    ) {
        let mut at = start;
        // SAFETY: offsets stay below `end`.
        unsafe {
            if PLAIN && D == 1 && self.add && self.sources.len() == 1 {
                at = self.pair::<V>(first, start, end);
            }
            while at + U * V::BYTES <= end {
                self.step::<V, PLAIN, D, U>(first, at);
                at += U * V::BYTES;
            }
            while at < end {
                self.step::<V, PLAIN, D, 1>(first, at);
                at += V::BYTES;
            }
        }
    }

    /// The most frequent case, `destination ^= source`, without looking up pointers. Returns the
    /// offset at which it ended.
    ///
    /// # Safety
    /// As [`ProductSums::strip`]; there is a source.
    #[inline(always)]
    unsafe fn pair<V: Vector>(&self, first: usize, start: usize, end: usize) -> usize {
        const AT_ONCE: usize = 4;
        let mut at = start;
        // SAFETY: both pointers are valid up to `end`.
        unsafe {
            let to = *self.destinations.get_unchecked(first);
            let from = *self.sources.get_unchecked(0);
            while at + AT_ONCE * V::BYTES <= end {
                for u in 0..AT_ONCE {
                    let (to, from) = (to.add(at + u * V::BYTES), from.add(at + u * V::BYTES));
                    V::load(to).xor(V::load(from)).store(to);
                }
                at += AT_ONCE * V::BYTES;
            }
        }
        at
    }

    /// `U` registers of `D` destinations at offset `at`.
    ///
    /// # Safety
    /// As [`ProductSums::strip`]; `at + U * BYTES` is at most `length`.
    #[inline(always)]
    unsafe fn step<V: Vector, const PLAIN: bool, const D: usize, const U: usize>(
        &self,
        first: usize,
        at: usize,
    ) {
        // SAFETY: there are `first + D` destinations, valid for `at + U * BYTES` bytes.
        unsafe {
            let sums = self.sums::<V, PLAIN, D, U>(first, at);
            for (d, sum) in sums.into_iter().enumerate() {
                let to = self.destinations.get_unchecked(first + d).add(at);
                for (u, sum) in sum.into_iter().enumerate() {
                    sum.store(to.add(u * V::BYTES));
                }
            }
        }
    }

    /// The values that [`ProductSums::step`] stores.
    ///
    /// # Safety
    /// As [`ProductSums::step`].
    #[inline(always)]
    unsafe fn sums<V: Vector, const PLAIN: bool, const D: usize, const U: usize>(
        &self,
        first: usize,
        at: usize,
    ) -> [[V; U]; D] {
        let count = self.sources.len();
        // SAFETY: there are `first + D` destinations, `count` factors for each of them, and
        // all pointers are valid for `at + U * BYTES` bytes.
        unsafe {
            let mut sums = [[V::zero(); U]; D];
            if self.add {
                for (d, sum) in sums.iter_mut().enumerate() {
                    let from = self.destinations.get_unchecked(first + d).add(at);
                    for (u, sum) in sum.iter_mut().enumerate() {
                        *sum = V::load(from.add(u * V::BYTES));
                    }
                }
            }
            for s in 0..count {
                let from = self.sources.get_unchecked(s).add(at);
                let mut source = [V::zero(); U];
                for (u, source) in source.iter_mut().enumerate() {
                    *source = V::load(from.add(u * V::BYTES));
                }
                for (d, sum) in sums.iter_mut().enumerate() {
                    for (sum, source) in sum.iter_mut().zip(source) {
                        *sum = sum.xor(if PLAIN {
                            source
                        } else {
                            source.mul(self.factors.get_unchecked((first + d) * count + s))
                        });
                    }
                }
            }
            sums
        }
    }

    /// The bytes after the last whole register, one by one.
    fn rest(&self, whole: usize) {
        let rows = self.factors.chunks(self.sources.len().max(1));
        let rows = rows.chain(std::iter::repeat(&[][..]));
        for (to, row) in self.destinations.iter().zip(rows) {
            for at in whole..self.length {
                // SAFETY: `at` is less than `length`, for which all pointers are valid.
                unsafe {
                    let mut sum = if self.add { to.add(at).read() } else { 0 };
                    for (from, factor) in self.sources.iter().zip(row) {
                        let byte = from.add(at).read();
                        let (low, high) = (usize::from(byte & 15), usize::from(byte >> 4));
                        sum ^= factor.low[low] ^ factor.high[high];
                    }
                    to.add(at).write(sum);
                }
            }
        }
    }
}
