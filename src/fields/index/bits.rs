//! A set of indices with one bit for each index of a range, which tells how many of the set are below an index.

use super::set::{WINDOW, WORDS, Windows};
use crate::Result;

/// Bits of a word.
const WORD: u64 = 64;

/// Words for which a count is kept.
const STEP: usize = 8;

/// A set of indices from `base` on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bits {
    base: u64,
    words: Vec<u64>,
    /// How many of the set are before each [`STEP`] words.
    before: Vec<u64>,
}

impl Bits {
    /// Bytes of a set in this range.
    pub fn bytes(from: u64, end: u64) -> u64 {
        (end - from) / 8 + (end - from) / (WORD * STEP as u64) * 8
    }

    /// An empty set of indices from `from` to before `end`.
    pub fn new(from: u64, end: u64) -> Self {
        let base = from / WORD * WORD;
        Bits {
            base,
            words: vec![0; (end.saturating_sub(base)).div_ceil(WORD) as usize],
            before: Vec::new(),
        }
    }

    fn place(&self, index: u64) -> (usize, u64) {
        let from = index.wrapping_sub(self.base);
        ((from / WORD) as usize, from % WORD)
    }

    /// Adds an index; false if it is there already. All indices are in the range.
    pub fn insert(&mut self, index: u64) -> bool {
        let (word, bit) = self.place(index);
        let Some(word) = self.words.get_mut(word) else {
            return false;
        };
        let is_new = *word >> bit & 1 == 0;
        *word |= 1 << bit;
        is_new
    }

    /// The indices of a set, which is in `bytes`.
    ///
    /// # Errors
    /// The set is damaged.
    pub fn of_set(bytes: &[u8]) -> Result<Self> {
        let mut windows = Windows::new(bytes, 0);
        let (first, mut last) = (windows.peek()?, None);
        while let Some(number) = windows.peek()? {
            last = last.max(Some(number));
            windows.skip()?;
        }
        let (Some(first), Some(last)) = (first, last) else {
            return Ok(Bits::default());
        };
        let mut bits = Bits::new(first * WINDOW, (last + 1) * WINDOW);
        let (mut windows, mut words) = (Windows::new(bytes, 0), [0; WORDS]);
        while let Some(number) = windows.peek()? {
            windows.read(&mut words)?;
            let from = number.saturating_sub(first) as usize * WORDS;
            let places = bits.words.get_mut(from..).into_iter().flatten();
            places.zip(&words).for_each(|(place, word)| *place |= word);
        }
        Ok(bits)
    }

    /// Whether an index is in the set.
    #[inline]
    pub fn has(&self, index: u64) -> bool {
        let (word, bit) = self.place(index);
        self.words
            .get(word)
            .is_some_and(|word| word >> bit & 1 == 1)
    }

    /// Number of indices.
    pub fn total(&self) -> u64 {
        let ones = self.words.iter().map(|word| u64::from(word.count_ones()));
        ones.sum()
    }

    /// The words that are not 0, each with its first index.
    pub fn words(&self) -> impl Iterator<Item = (u64, u64)> {
        let all = (self.base..).step_by(WORD as usize).zip(&self.words);
        all.filter(|(_, word)| **word != 0)
            .map(|(at, word)| (at, *word))
    }

    /// Counts the indices, when all have been added.
    pub fn count(&mut self) {
        let mut all = 0;
        self.before.clear();
        for words in self.words.chunks(STEP) {
            self.before.push(all);
            all += words
                .iter()
                .map(|word| u64::from(word.count_ones()))
                .sum::<u64>();
        }
    }

    /// Bytes of memory.
    pub fn in_memory(&self) -> usize {
        size_of_val(&self.words[..]) + size_of_val(&self.before[..])
    }

    /// How many are below an index of the set; `None` if it is not in the set.
    #[inline]
    pub fn rank(&self, index: u64) -> Option<u64> {
        self.has(index).then(|| self.below(index))
    }

    /// How many are below an index.
    #[inline]
    pub fn below(&self, index: u64) -> u64 {
        let (word, bit) = self.place(index);
        let first = word / STEP * STEP;
        let before = self.before.get(word / STEP).copied().unwrap_or(0);
        let words = self.words.get(first..word).unwrap_or_default();
        let rest = self
            .words
            .get(word)
            .map_or(0, |word| word & ((1 << bit) - 1));
        let ones = words
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum::<u64>();
        before + ones + u64::from(rest.count_ones())
    }

    /// The number of indices from `index` on that follow each other, `most` at most.
    pub fn follow(&self, index: u64, most: u64) -> u64 {
        let mut found = 0;
        let (mut word, mut bit) = self.place(index);
        while found < most {
            let bits = self.words.get(word).map_or(0, |word| word >> bit);
            let ones = u64::from(bits.trailing_ones()).min(WORD - bit);
            found += ones;
            if ones < WORD - bit {
                break;
            }
            (word, bit) = (word + 1, 0);
        }
        found.min(most)
    }
}
