//! The runs of a set, one after the other.

use super::ids::Run;
use super::set::{Set, WINDOW, WORDS, Windows, Words};
use crate::Result;

/// Indices of a word.
const WORD: u64 = u64::BITS as u64;

impl Set {
    /// The set as runs, ascending; two that follow each other may meet.
    pub fn runs(&self) -> SetRuns<'_> {
        SetRuns::new(&self.bytes)
    }
}

/// The runs of a set.
#[derive(Debug, Clone)]
pub struct SetRuns<'a> {
    windows: Windows<'a>,
    words: Box<Words>,
    number: u64,
    word: usize,
    left: Run,
}

impl<'a> SetRuns<'a> {
    /// The runs of the set in these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        SetRuns {
            windows: Windows::new(bytes, 0),
            words: Box::new([0; WORDS]),
            number: 0,
            word: WORDS,
            left: Run::default(),
        }
    }

    /// Takes the next indices if they are below `end`.
    ///
    /// # Errors
    /// The set is damaged.
    pub fn take_below(&mut self, end: u64) -> Result<Option<Run>> {
        if self.left.count == 0 {
            match self.find()? {
                Some(run) => self.left = run,
                None => return Ok(None),
            }
        }
        let Run { first, count } = self.left;
        let count = count.min(end.saturating_sub(first));
        self.left.first += count;
        self.left.count -= count;
        Ok((count > 0).then_some(Run { first, count }))
    }

    fn find(&mut self) -> Result<Option<Run>> {
        loop {
            while let Some(word) = self.words.get_mut(self.word) {
                if *word == 0 {
                    self.word += 1;
                    continue;
                }
                let from = word.trailing_zeros();
                let count = (*word >> from).trailing_ones();
                *word &= u64::MAX.checked_shl(from + count).unwrap_or(0);
                let base = self.number * WINDOW + self.word as u64 * WORD;
                return Ok(Some(Run {
                    first: base + u64::from(from),
                    count: count.into(),
                }));
            }
            let Some(number) = self.windows.peek()? else {
                return Ok(None);
            };
            self.windows.read(&mut self.words)?;
            (self.number, self.word) = (number, 0);
        }
    }
}

impl Iterator for SetRuns<'_> {
    type Item = Result<Run>;

    fn next(&mut self) -> Option<Result<Run>> {
        self.take_below(u64::MAX).transpose()
    }
}
