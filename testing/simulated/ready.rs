//! Notes which of thousands of tasks can go on: one bit for each, by their places.

/// The bits, and how many are set.
#[derive(Debug, Default)]
pub(super) struct Ready {
    words: Vec<u64>,
    /// Places.
    len: usize,
    count: usize,
}

impl Ready {
    /// Number of tasks that can go on.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// A new last place, whose task can go on.
    pub(super) fn push(&mut self) {
        self.len += 1;
        if self.len > 64 * self.words.len() {
            self.words.push(0);
        }
        self.set(self.len - 1, true);
    }

    /// Notes whether the task at a place can go on.
    pub(super) fn set(&mut self, at: usize, to: bool) {
        if let Some(word) = self.words.get_mut(at / 64) {
            let bit = 1 << (at % 64);
            self.count = self.count - usize::from(*word & bit != 0) + usize::from(to);
            *word = if to { *word | bit } else { *word & !bit };
        }
    }

    /// Takes a place out: those after it move down by one.
    pub(super) fn remove(&mut self, at: usize) {
        self.set(at, false);
        let first = at / 64;
        let below = (1 << (at % 64)) - 1;
        let mut carry = 0;
        for (place, word) in self.words.iter_mut().enumerate().skip(first).rev() {
            let low = *word & 1;
            *word = if place == first {
                (*word & below) | ((*word >> 1) & !below) | carry << 63
            } else {
                *word >> 1 | carry << 63
            };
            carry = low;
        }
        self.len -= 1;
    }

    /// The place of number `n` of those that can go on, in their order.
    pub(super) fn nth(&self, n: usize) -> Option<usize> {
        let mut left = n;
        for (place, word) in self.words.iter().enumerate() {
            let here = word.count_ones() as usize;
            if left < here {
                let mut bits = *word;
                (0..left).for_each(|_| bits &= bits - 1);
                return Some(64 * place + bits.trailing_zeros() as usize);
            }
            left -= here;
        }
        None
    }
}
