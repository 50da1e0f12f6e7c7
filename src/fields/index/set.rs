//! Sets of indices, or of places: ascending, and each once. They are kept, sent and compared window by window, most of
//! them as one bit for each index, so that one step of the processor looks at 64 indices.
//!
//! A window has the indices of a range of [`WINDOW`]. Its bytes are its number (LEB128), a length of two bytes, and so
//! many bytes of runs; or the length 0, and a bit for each index. A run is the gap to it times 2 for one index; or that
//! plus 1, and the number of its indices less 2. Runs are used where they take less than the bits: for indices that
//! follow each other, and for few of them.

use super::ids::{Ids, Run, put, take};
use super::words::{NONE, pack};
pub use super::words::{WINDOW, WORDS, Words};
use crate::{Error, Result};
use std::ops::Range;

/// Indices of a word.
const WORD: u64 = u64::BITS as u64;

/// Bytes of a window with a bit for each index.
const BITS: usize = WORDS * 8;

/// The most runs of a window that is written as runs.
const MOST_RUNS: u32 = (BITS / 2) as u32;

/// Windows between two marks.
const STEP: usize = 32;

/// A set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Set {
    /// Its windows, as the module describes them.
    pub bytes: Vec<u8>,
    /// Number of indices.
    pub count: u64,
    /// Some of its windows.
    marks: Vec<Mark>,
}

/// Where a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    /// Its number.
    number: u64,
    /// Its place in the bytes.
    at: usize,
    /// Number of indices in the windows before.
    before: u64,
}

/// Makes a set.
#[derive(Debug)]
pub struct Builder {
    set: Set,
    windows: usize,
    number: u64,
    words: Box<Words>,
    /// The words of the window that are not 0 are from this one on, and before that one.
    used: (usize, usize),
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            set: Set::default(),
            windows: 0,
            number: 0,
            words: Box::new([0; WORDS]),
            used: (WORDS, 0),
        }
    }
}

impl Builder {
    /// Adds indices, which are in the window of the last one or in one after that.
    #[inline]
    pub fn add(&mut self, run: Run) {
        let Run { first, count } = run;
        if count == 1 {
            self.turn_to(first / WINDOW);
            self.set_bits((first % WINDOW / WORD) as usize, 1 << (first % WORD));
            return;
        }
        let (mut next, end) = (first, first + count);
        while next < end {
            self.turn_to(next / WINDOW);
            let to = end.min((next / WORD + 1) * WORD);
            let bits = (u64::MAX >> (WORD - (to - next))) << (next % WORD);
            self.set_bits((next % WINDOW / WORD) as usize, bits);
            next = to;
        }
    }

    /// Adds those of the indices from `at` on that have a bit in `bits`.
    #[inline]
    pub fn add_bits(&mut self, at: u64, bits: u64) {
        let shift = at % WORD;
        self.turn_to(at / WINDOW);
        self.set_bits((at % WINDOW / WORD) as usize, bits << shift);
        let rest = if shift > 0 { bits >> (WORD - shift) } else { 0 };
        if rest != 0 {
            let at = at - shift + WORD;
            self.turn_to(at / WINDOW);
            self.set_bits((at % WINDOW / WORD) as usize, rest);
        }
    }

    /// Adds the indices of a word, from 64 times its number on.
    #[inline]
    pub fn add_word(&mut self, number: u64, bits: u64) {
        if bits != 0 {
            self.turn_to(number / WORDS as u64);
            self.set_bits((number % WORDS as u64) as usize, bits);
        }
    }

    /// Adds those of the indices from `at` on that have a bit.
    fn add_words(&mut self, at: u64, words: &Words) {
        for (at, bits) in (at..).step_by(WORD as usize).zip(words) {
            if *bits != 0 {
                self.add_bits(at, *bits);
            }
        }
    }

    /// Adds a window after the last one.
    pub fn add_window(&mut self, number: u64, words: &Words) {
        self.end_window();
        self.number = number;
        self.note();
        self.set.count += encode(&mut self.set.bytes, number, words, 0..WORDS);
    }

    #[inline]
    fn set_bits(&mut self, word: usize, bits: u64) {
        if let Some(word) = self.words.get_mut(word) {
            *word |= bits;
        }
        let (from, to) = self.used;
        self.used = (from.min(word), to.max(word + 1));
    }

    #[inline]
    fn turn_to(&mut self, number: u64) {
        if number != self.number {
            self.end_window();
            self.number = number;
        }
    }

    fn note(&mut self) {
        if self.windows.is_multiple_of(STEP) {
            self.set.marks.push(Mark {
                number: self.number,
                at: self.set.bytes.len(),
                before: self.set.count,
            });
        }
        self.windows += 1;
    }

    #[cold]
    fn end_window(&mut self) {
        let (from, to) = std::mem::replace(&mut self.used, (WORDS, 0));
        if to == 0 {
            return;
        }
        let used = from..to;
        self.note();
        let number = self.number;
        self.set.count += encode(&mut self.set.bytes, number, &self.words, used.clone());
        if let Some(used) = self.words.get_mut(used) {
            used.fill(0);
        }
    }

    /// The set.
    pub fn finish(mut self) -> Set {
        self.end_window();
        self.set
    }
}

/// Writes a window, of which the words outside of `used` are 0. Number of its indices.
pub(super) fn encode(bytes: &mut Vec<u8>, number: u64, words: &Words, used: Range<usize>) -> u64 {
    let (mut count, mut runs, mut before) = (0, 0, 0);
    for word in words.get(used).into_iter().flatten() {
        count += word.count_ones();
        runs += (word & !(word << 1 | before)).count_ones();
        before = word >> (WORD - 1);
    }
    if count == 0 {
        return 0;
    }
    put(bytes, number);
    let length = bytes.len();
    bytes.extend([0; 2]);
    if runs < MOST_RUNS {
        let mut end = 0;
        each_run(words, |first, count| {
            let single = count == 1;
            put(bytes, (first - end) << 1 | u64::from(!single));
            if !single {
                put(bytes, count - 2);
            }
            end = first + count;
        });
        let taken = bytes.len() - length - 2;
        if taken < BITS {
            if let Some(place) = bytes.get_mut(length..length + 2) {
                place.copy_from_slice(&(taken as u16).to_le_bytes());
            }
            return count.into();
        }
        bytes.truncate(length + 2);
    }
    let mut bits = [0; BITS];
    for (place, word) in bits.as_chunks_mut().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    bytes.extend_from_slice(&bits);
    count.into()
}

/// Calls `visit` with the first bit and the number of bits of each run.
fn each_run(words: &Words, mut visit: impl FnMut(u64, u64)) {
    let mut open: Option<u64> = None;
    for (base, word) in (0..).step_by(WORD as usize).zip(words) {
        let mut at = 0;
        while at < WORD {
            let rest = word >> at;
            match open {
                None if rest == 0 => break,
                None => {
                    at += u64::from(rest.trailing_zeros());
                    open = Some(base + at);
                }
                Some(first) => {
                    at += u64::from(rest.trailing_ones());
                    if at < WORD {
                        visit(first, base + at - first);
                        open = None;
                    }
                }
            }
        }
    }
    if let Some(first) = open {
        visit(first, WINDOW - first);
    }
}

/// The windows of a set, one after the other.
#[derive(Debug, Clone)]
pub struct Windows<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Windows<'a> {
    /// The windows in these bytes, from a place on.
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Windows { bytes, at }
    }

    /// The place of the next window in the bytes.
    pub fn place(&self) -> usize {
        self.at
    }

    /// The number of the next window.
    ///
    /// # Errors
    /// The set is damaged.
    pub fn peek(&self) -> Result<Option<u64>> {
        let mut rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        match take(&mut rest)? {
            number if number < u64::MAX / WINDOW => Ok(Some(number)),
            _ => Err(damaged()),
        }
    }

    /// The bytes of the next window after the length, and whether they are runs.
    fn payload(&mut self) -> Result<(&'a [u8], bool)> {
        let mut rest = self.bytes.get(self.at..).unwrap_or_default();
        take(&mut rest)?;
        let (length, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
        let length = usize::from(u16::from_le_bytes(*length));
        let all = if length == 0 { BITS } else { length };
        let (bytes, rest) = rest.split_at_checked(all).ok_or_else(damaged)?;
        self.at = self.bytes.len() - rest.len();
        Ok((bytes, length > 0))
    }

    /// Passes over the next window.
    ///
    /// # Errors
    /// The set is damaged.
    pub fn skip(&mut self) -> Result<()> {
        self.payload().map(drop)
    }

    /// Takes the next window.
    ///
    /// # Errors
    /// The set is damaged.
    pub fn read(&mut self, words: &mut Words) -> Result<()> {
        let (bytes, is_runs) = self.payload()?;
        if !is_runs {
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            return Ok(());
        }
        words.fill(0);
        let (mut rest, mut end) = (bytes, 0u64);
        while !rest.is_empty() {
            let head = take(&mut rest)?;
            let count = match head & 1 {
                0 => 1,
                _ => take(&mut rest)?.saturating_add(2),
            };
            let first = end + (head >> 1);
            end = first.saturating_add(count);
            if end > WINDOW {
                return Err(damaged());
            }
            fill(words, first, end);
        }
        Ok(())
    }
}

/// Sets the bits from `first` to before `end`, which are in the window.
fn fill(words: &mut Words, first: u64, end: u64) {
    let mut next = first;
    while next < end {
        let to = end.min((next / WORD + 1) * WORD);
        let bits = (u64::MAX >> (WORD - (to - next))) << (next % WORD);
        if let Some(word) = words.get_mut((next / WORD) as usize) {
            *word |= bits;
        }
        next = to;
    }
}

/// Leaves in a window only the indices of a range.
pub fn keep(words: &mut Words, number: u64, range: &Range<u64>) {
    let base = number * WINDOW;
    let from = range.start.saturating_sub(base).min(WINDOW);
    let to = range.end.saturating_sub(base).min(WINDOW);
    if from == 0 && to == WINDOW {
        return;
    }
    for (first, word) in (0..).step_by(WORD as usize).zip(words.iter_mut()) {
        let (low, high) = (
            from.clamp(first, first + WORD),
            to.clamp(first, first + WORD),
        );
        *word = match high.checked_sub(low) {
            None | Some(0) => 0,
            Some(count) => *word & (u64::MAX >> (WORD - count)) << (low - first),
        };
    }
}

/// The first index of a window.
pub fn first_of(words: &Words, number: u64) -> Option<u64> {
    let word = words.iter().position(|word| *word != 0)?;
    let bits = words.get(word)?;
    Some(number * WINDOW + word as u64 * WORD + u64::from(bits.trailing_zeros()))
}

#[cold]
fn damaged() -> Error {
    Error::format(0, "a set of indices is damaged")
}

impl From<Vec<u8>> for Set {
    /// A set that was received. It is as if it had no marks, and nothing is known of its count.
    fn from(bytes: Vec<u8>) -> Self {
        Set {
            bytes,
            ..Set::default()
        }
    }
}

impl Set {
    /// The set of the indices of a list that ascends.
    ///
    /// # Errors
    /// The list is damaged.
    pub fn of(ids: &Ids, whole: u64) -> Result<Set> {
        let mut builder = Builder::default();
        ids.runs(whole).each(|run| {
            builder.add(run);
            Ok(run.count)
        })?;
        Ok(builder.finish())
    }

    /// The last mark whose window is not after one.
    fn mark(&self, number: u64) -> Mark {
        let after = self.marks.partition_point(|mark| mark.number <= number);
        let mark = after.checked_sub(1).and_then(|last| self.marks.get(last));
        mark.copied().unwrap_or(Mark {
            number: 0,
            at: 0,
            before: 0,
        })
    }

    /// The first index from `from` on.
    ///
    /// # Errors
    /// The set is damaged.
    pub fn first_from(&self, from: u64) -> Result<Option<u64>> {
        let mut windows = Windows::new(&self.bytes, self.mark(from / WINDOW).at);
        let mut words = [0; WORDS];
        while let Some(number) = windows.peek()? {
            if number < from / WINDOW {
                windows.skip()?;
                continue;
            }
            windows.read(&mut words)?;
            keep(&mut words, number, &(from..u64::MAX));
            let first = first_of(&words, number);
            if first.is_some() {
                return Ok(first);
            }
        }
        Ok(None)
    }

    /// The indices in a range.
    ///
    /// # Errors
    /// The set is damaged.
    pub fn cut(&self, range: &Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut windows = Windows::new(&self.bytes, self.mark(range.start / WINDOW).at);
        let mut words = [0; WORDS];
        while let Some(number) = windows.peek()? {
            let (base, place) = (number * WINDOW, windows.place());
            if base >= range.end {
                break;
            }
            if base + WINDOW <= range.start {
                windows.skip()?;
            } else if base >= range.start && base + WINDOW <= range.end {
                windows.skip()?;
                let window = self.bytes.get(place..windows.place());
                bytes.extend_from_slice(window.unwrap_or_default());
            } else {
                windows.read(&mut words)?;
                keep(&mut words, number, range);
                encode(&mut bytes, number, &words, 0..WORDS);
            }
        }
        Ok(bytes)
    }

    /// The places in this set of the indices of another one, which is in `bytes`: how many are below each of them. `None`
    /// if this set does not have all of them.
    ///
    /// # Errors
    /// A set is damaged.
    pub fn places_of(&self, bytes: &[u8]) -> Result<Option<Set>> {
        let (mut builder, mut all) = (Builder::default(), [0; WORDS]);
        let mut wanted = Windows::new(bytes, 0);
        let Some(mut first) = wanted.peek()? else {
            return Ok(Some(Set::default()));
        };
        let Mark { at, before, .. } = self.mark(first);
        let (mut own, mut at) = (Windows::new(&self.bytes, at), before);
        let (mut some, mut packed) = (NONE, NONE);
        while let Some(number) = wanted.peek()? {
            if number < first {
                return Err(damaged());
            }
            first = number + 1;
            wanted.read(&mut some)?;
            while own.peek()?.is_some_and(|own| own < number) {
                own.read(&mut all)?;
                at += all
                    .iter()
                    .map(|word| u64::from(word.count_ones()))
                    .sum::<u64>();
            }
            if own.peek()? != Some(number) {
                return Ok(None);
            }
            own.read(&mut all)?;
            let Some(count) = pack(&some, &all, &mut packed) else {
                return Ok(None);
            };
            builder.add_words(at, &packed);
            at += count;
        }
        Ok(Some(builder.finish()))
    }

    /// The indices of this set, or of another one.
    ///
    /// # Errors
    /// A set is damaged.
    pub fn or(&self, other: &Set) -> Result<Set> {
        let mut builder = Builder::default();
        let mut sides = [self, other].map(|set| Windows::new(&set.bytes, 0));
        loop {
            let [a, b] = &sides;
            let next = [a.peek()?, b.peek()?].into_iter().flatten().min();
            let Some(number) = next else {
                return Ok(builder.finish());
            };
            let (mut all, mut words) = (NONE, NONE);
            for side in &mut sides {
                if side.peek()? == Some(number) {
                    side.read(&mut words)?;
                    all.iter_mut().zip(&words).for_each(|(a, b)| *a |= b);
                }
            }
            builder.add_window(number, &all);
        }
    }
}
