//! Windows of indices, one bit each, word by word.

/// Indices of a window.
pub const WINDOW: u64 = 1 << 14;

/// Words of a window.
pub const WORDS: usize = (WINDOW / u64::BITS as u64) as usize;

/// The indices of a window, one bit each.
pub type Words = [u64; WORDS];

/// A window without an index.
pub const NONE: Words = [0; WORDS];

/// Packs bits: those of `some` at the places of the bits of `all`, next to each other, into `packed`, whose other bits
/// are 0. The number of bits of `all`; `None` if `some` has a bit that `all` does not have.
pub fn pack(some: &Words, all: &Words, packed: &mut Words) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    if bmi2::is_there() {
        // SAFETY: the processor has the instructions.
        return unsafe { bmi2::pack(some, all, packed) };
    }
    pack_with(compressed, some, all, packed)
}

/// [`pack`] with a function that compresses one word.
#[inline(always)]
fn pack_with(
    compress: impl Fn(u64, u64) -> u64,
    some: &Words,
    all: &Words,
    packed: &mut Words,
) -> Option<u64> {
    packed.fill(0);
    // Bits that are filled in the word of this number, and these bits.
    let (mut word, mut filled, mut bits) = (0usize, 0u32, 0u64);
    let mut missing = 0;
    for (some, all) in some.iter().zip(all) {
        missing |= some & !all;
        let (next, count) = (compress(*some, *all), all.count_ones());
        bits |= next << filled;
        filled += count;
        if filled >= u64::BITS {
            if let Some(place) = packed.get_mut(word) {
                *place = bits;
            }
            filled -= u64::BITS;
            word += 1;
            bits = next.checked_shr(count - filled).unwrap_or(0);
        }
    }
    if let Some(place) = packed.get_mut(word) {
        *place = bits;
    }
    (missing == 0).then_some(word as u64 * u64::from(u64::BITS) + u64::from(filled))
}

#[cfg(target_arch = "x86_64")]
mod bmi2 {
    use super::{Words, pack_with};

    pub fn is_there() -> bool {
        std::arch::is_x86_feature_detected!("bmi2") && std::arch::is_x86_feature_detected!("popcnt")
    }

    /// # Safety
    /// The processor has the instructions.
    #[target_feature(enable = "bmi2,popcnt")]
    pub unsafe fn pack(some: &Words, all: &Words, packed: &mut Words) -> Option<u64> {
        let compress = |some, all| std::arch::x86_64::_pext_u64(some, all);
        pack_with(compress, some, all, packed)
    }
}

/// The bits of `some` at the places of the bits of `all`, next to each other: the compress operation of Hacker's Delight,
/// with six steps for any bits.
#[inline]
fn compressed(some: u64, all: u64) -> u64 {
    let some = some & all;
    if some == all {
        let count = all.count_ones();
        return u64::MAX.checked_shr(u64::BITS - count).unwrap_or(0);
    }
    if all == u64::MAX {
        return some;
    }
    if some & some.wrapping_sub(1) == 0 {
        let below = all & some.wrapping_sub(1);
        return if some == 0 {
            0
        } else {
            1 << below.count_ones()
        };
    }
    let (mut bits, mut mask, mut zeros) = (some, all, !all << 1);
    for step in 0..6 {
        let mut odd = zeros ^ (zeros << 1);
        for shift in [2, 4, 8, 16, 32] {
            odd ^= odd << shift;
        }
        let moved = odd & mask;
        mask = (mask ^ moved) | (moved >> (1 << step));
        let now = bits & moved;
        bits = (bits ^ now) | (now >> (1 << step));
        zeros &= !odd;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::{NONE, compressed, pack, pack_with};

    #[test]
    fn bits_are_packed_in_order() {
        let mut x = 3u64;
        let mut random = || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            x ^ x >> 29
        };
        for case in 0..300 {
            let (mut some, mut all) = (NONE, NONE);
            for (some, all) in some.iter_mut().zip(&mut all) {
                *all = match case % 5 {
                    0 => u64::MAX,
                    1 => random() & random() & random(),
                    2 => random() | random() | random(),
                    3 => [0, u64::MAX, 1 << 63, random()][random() as usize % 4],
                    _ => random(),
                };
                *some = *all
                    & [0, u64::MAX, random(), *all & all.wrapping_neg()][random() as usize % 4];
            }
            let (mut right, mut count) = (NONE, 0);
            for (some, all) in some.iter().zip(&all) {
                for bit in (0..64).filter(|bit| all >> bit & 1 == 1) {
                    right[count / 64] |= (some >> bit & 1) << (count % 64);
                    count += 1;
                }
            }
            let mut packed = [7; 256];
            assert_eq!(pack(&some, &all, &mut packed), Some(count as u64));
            assert!(packed == right, "{case}");
            assert_eq!(
                pack_with(compressed, &some, &all, &mut packed),
                Some(count as u64)
            );
            assert!(packed == right, "{case}");
            if let Some(place) = all.iter().position(|word| *word != u64::MAX) {
                some[place] |= 1 << all[place].trailing_ones();
                assert_eq!(pack(&some, &all, &mut packed), None);
                assert_eq!(pack_with(compressed, &some, &all, &mut packed), None);
            }
        }
    }
}
