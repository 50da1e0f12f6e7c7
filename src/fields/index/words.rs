//! Bits of a word.

/// The bits of `some` at the places of the bits of `all`, of which there are `count`, next to each other: the compress
/// operation of Hacker's Delight, with six steps for any bits.
#[inline]
pub fn compressed(some: u64, all: u64, count: u64) -> u64 {
    if some == all {
        return u64::MAX.checked_shr(u64::BITS - count as u32).unwrap_or(0);
    }
    if all == u64::MAX {
        return some;
    }
    if some & (some - 1) == 0 {
        return 1 << (all & (some - 1)).count_ones();
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
