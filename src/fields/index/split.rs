//! How the elements of an ascending list are split among other ranks: a number for each element, which stands for one of
//! the ranks, or 0 for none. The bits of the numbers lie in planes, so that one step looks at 64 elements, and memory grows
//! with the logarithm of the number of ranks.

use super::ids::{put, take};
use super::set::{WINDOW, WORDS, Windows, Words, encode};
use super::words::{NONE, pack};
use crate::Result;
use crate::fields::messages::wrong_message;

/// Indices of a word.
const WORD: u64 = u64::BITS as u64;

/// A part of a list that follows on other parts, and how it is split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The first index of the part.
    pub first: u64,
    /// Number of elements.
    pub count: u64,
    /// What the numbers stand for, from 1 on.
    pub others: Vec<u64>,
    /// Windows of the planes, as those of a set: window `n` of the elements in plane `p` of `P` has the number `n P + p`.
    bytes: Vec<u8>,
}

/// The planes that the numbers of so many others take.
fn planes_for(others: usize) -> usize {
    (usize::BITS - others.leading_zeros()) as usize
}

impl Split {
    /// Takes a split from a message.
    ///
    /// # Errors
    /// The message is damaged.
    pub fn read(mut message: &[u8]) -> Result<Split> {
        let bad = |_| wrong_message("a split of a list is cut");
        let rest = &mut message;
        let first = take(rest).map_err(bad)?;
        let count = take(rest).map_err(bad)?;
        let length = take(rest).map_err(bad)?;
        let mut others = Vec::new();
        for _ in 0..length {
            others.push(take(rest).map_err(bad)?);
        }
        Ok(Split {
            first,
            count,
            others,
            bytes: message.to_vec(),
        })
    }

    /// The bytes of a message.
    pub fn message(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.bytes.len() + 32);
        for number in [self.first, self.count, self.others.len() as u64] {
            put(&mut message, number);
        }
        self.others.iter().for_each(|rank| put(&mut message, *rank));
        message.extend_from_slice(&self.bytes);
        message
    }

    /// The windows of the elements that have a number, from one on.
    pub fn windows(&self, number: u64, at: At) -> Chosen<'_> {
        Chosen {
            split: self,
            number,
            planes: planes_for(self.others.len()),
            windows: Windows::new(&self.bytes, at.byte),
            window: at.window,
        }
    }

    /// How many elements have a number.
    ///
    /// # Errors
    /// The split is damaged.
    pub fn count_of(&self, number: u64) -> Result<u64> {
        let (mut windows, mut words, mut count) = (self.windows(number, At::default()), NONE, 0);
        while windows.read(&mut words)? {
            let ones = words.iter().map(|word| u64::from(word.count_ones()));
            count += ones.sum::<u64>();
        }
        Ok(count)
    }
}

/// A place between two windows of a split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct At {
    byte: usize,
    /// The number of the next window.
    pub window: u64,
}

/// The elements of a split that have one number, window by window.
pub struct Chosen<'a> {
    split: &'a Split,
    number: u64,
    planes: usize,
    windows: Windows<'a>,
    window: u64,
}

impl Chosen<'_> {
    /// The place of the next window.
    pub fn at(&self) -> At {
        At {
            byte: self.windows.place(),
            window: self.window,
        }
    }

    /// Reads the next window, with a bit for each of its elements that has the number; false at the end.
    ///
    /// # Errors
    /// The split is damaged.
    pub fn read(&mut self, words: &mut Words) -> Result<bool> {
        let left = self.split.count.saturating_sub(self.window * WINDOW);
        if left == 0 {
            return Ok(false);
        }
        words.fill(u64::MAX);
        let mut plane_words = NONE;
        for plane in 0..self.planes {
            let wanted = self.number >> plane & 1 == 1;
            let number = self.window * self.planes as u64 + plane as u64;
            if self.windows.peek()? == Some(number) {
                self.windows.read(&mut plane_words)?;
                let not = if wanted { 0 } else { u64::MAX };
                for (word, bits) in words.iter_mut().zip(&plane_words) {
                    *word &= bits ^ not;
                }
            } else if wanted {
                words.fill(0);
            }
        }
        if left < WINDOW {
            let (full, rest) = ((left / WORD) as usize, left % WORD);
            for (at, word) in words.iter_mut().enumerate().skip(full) {
                *word &= if at == full { (1 << rest) - 1 } else { 0 };
            }
        }
        self.window += 1;
        Ok(true)
    }
}

/// Makes a split.
#[derive(Debug, Default)]
pub struct Splitter {
    count: u64,
    /// The bits of the numbers of all elements so far, in as many planes as were used.
    planes: Vec<Vec<u64>>,
}

impl Splitter {
    /// Adds the elements of the next window of the list, which are `all`, and the planes of their numbers.
    pub fn add(&mut self, all: &Words, planes: &[Words]) {
        if self.planes.len() < planes.len() {
            self.planes.resize(planes.len(), Vec::new());
        }
        let mut packed = NONE;
        // The numbers are those of elements of `all`.
        for (plane, some) in self.planes.iter_mut().zip(planes) {
            if some.iter().any(|word| *word != 0) && pack(some, all, &mut packed).is_some() {
                append(plane, self.count, &packed);
            }
        }
        let ones = all.iter().map(|word| u64::from(word.count_ones()));
        self.count += ones.sum::<u64>();
    }

    /// The split, of a part that begins with index `first`, into the shares of `others`.
    pub fn finish(self, first: u64, others: Vec<u64>) -> Split {
        let planes = planes_for(others.len());
        let (mut bytes, mut words) = (Vec::new(), NONE);
        for window in 0..self.count.div_ceil(WINDOW) as usize {
            for (number, plane) in self.planes.iter().take(planes).enumerate() {
                let from = window * WORDS;
                let to = (from + WORDS).min(plane.len());
                let Some(some) = plane.get(from..to) else {
                    continue;
                };
                words.fill(0);
                for (word, bits) in words.iter_mut().zip(some) {
                    *word = *bits;
                }
                let number = (window * planes + number) as u64;
                encode(&mut bytes, number, &words, 0..WORDS);
            }
        }
        bytes.shrink_to_fit();
        Split {
            first,
            count: self.count,
            others,
            bytes,
        }
    }
}

/// Sets bits from place `at` on.
fn append(plane: &mut Vec<u64>, at: u64, bits: &Words) {
    let used = bits
        .iter()
        .rposition(|word| *word != 0)
        .map_or(0, |last| last + 1);
    let (first, shift) = ((at / WORD) as usize, (at % WORD) as u32);
    plane.resize(plane.len().max(first + used + 1), 0);
    let places = plane.get_mut(first..).unwrap_or_default();
    let mut carried = 0;
    for (place, word) in places.iter_mut().zip(bits.iter().take(used).chain([&0])) {
        *place |= word << shift | carried;
        carried = word.checked_shr(u64::BITS - shift).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::{At, Split, Splitter, planes_for};
    use crate::fields::index::set::{WINDOW, WORDS, Words};
    use crate::fields::index::words::NONE;

    fn set_bit(words: &mut Words, at: u64) {
        words[(at / 64) as usize] |= 1 << (at % 64);
    }

    #[test]
    fn each_element_is_in_the_share_of_its_number() {
        for (windows, step, others) in [
            (1, 1, 1u64),
            (3, 1, 3),
            (5, 3, 7),
            (9, 2, 8),
            (2, 1000, 2),
            (70, 7, 100),
        ] {
            let number = |id: u64| id * id % 11 * (id % 13) % (others + 1);
            let (mut splitter, mut numbers) = (Splitter::default(), Vec::new());
            for window in 0..windows {
                let (mut all, mut planes) = (NONE, vec![NONE; planes_for(others as usize)]);
                for at in (window % step..WINDOW).step_by(step as usize) {
                    let number = number(window * WINDOW + at);
                    set_bit(&mut all, at);
                    for (bit, plane) in planes.iter_mut().enumerate() {
                        if number >> bit & 1 == 1 {
                            set_bit(plane, at);
                        }
                    }
                    numbers.push(number);
                }
                splitter.add(&all, &planes);
            }
            let split = splitter.finish(5, (100..100 + others).collect());
            let split = Split::read(&split.message()).unwrap();
            assert_eq!((split.first, split.count), (5, numbers.len() as u64));
            for other in 0..=others {
                let (mut chosen, mut words) = (split.windows(other, At::default()), [7; WORDS]);
                let (mut found, mut window) = (Vec::new(), 0);
                while chosen.read(&mut words).unwrap() {
                    let bits =
                        (0..WINDOW).filter(|at| words[(at / 64) as usize] >> (at % 64) & 1 == 1);
                    found.extend(bits.map(|at| window * WINDOW + at));
                    window += 1;
                    // It goes on from a place as well.
                    chosen = split.windows(other, chosen.at());
                }
                let right = (0..).zip(&numbers).filter(|(_, number)| **number == other);
                assert!(right.map(|(at, _)| at).eq(found.iter().copied()), "{other}");
                assert_eq!(split.count_of(other).unwrap(), found.len() as u64);
            }
        }
    }

    #[test]
    fn a_cut_message_is_an_error() {
        let mut splitter = Splitter::default();
        splitter.add(&[u64::MAX; WORDS], &[[0x5555_5555_5555_5555; WORDS]]);
        let message = splitter.finish(300, vec![900]).message();
        for end in 0..message.len() {
            let split = Split::read(&message[..end]);
            let counted = split.and_then(|split| split.count_of(1));
            // A plane without any byte has no bit.
            assert!(counted.is_err() || counted == Ok(0), "{end}");
        }
    }
}
