//! Random numbers that depend on the seed alone.

/// The generator SplitMix64: small, fast, and the same on all machines.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// All further numbers follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// A number below `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        let product = u128::from(self.number()) * u128::from(limit);
        (product >> 64) as u64
    }

    /// True in one of `times` cases on average.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A number between `least` and `most`, both possible.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// One of the elements of `all`.
    ///
    /// # Panics
    /// The slice is empty.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
}

/// A number that differs in about half of its bits if `value` differs in one.
pub(super) fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
