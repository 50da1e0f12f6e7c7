//! The bytes of an index list, in the order of the program. Indices begin with 0.
//!
//! A run is a first index and the number of indices that follow each other. A run is one number, `difference` times
//! 2, for a run of one index; or that plus 1, and a second number, the length less 2. The difference is from the end
//! of the run before to the first index, as zigzag (0, -1, 1, -2, ...). Numbers are LEB128: seven bits a byte, the
//! lowest first, and a bit that says that more follow. So a list of one run takes a few bytes, and a list of scattered
//! indices about one or two bytes for each.

use super::MOST;
use crate::{Error, Result};

/// Bytes of a run at most: two numbers.
pub const LONGEST: usize = 20;

/// Indices that follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The first one.
    pub first: u64,
    /// How many there are; at least 1.
    pub count: u64,
}

impl Run {
    /// The index after the last one.
    #[inline]
    pub fn end(self) -> u64 {
        self.first + self.count
    }
}

/// An index list, or a part of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ids {
    /// The runs, as the module describes them.
    pub bytes: Vec<u8>,
    /// Number of indices.
    pub count: u64,
    /// Each index is larger than the one before.
    pub ascending: bool,
}

/// Makes an index list.
#[derive(Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
    /// The end of the run that was written last.
    end: u64,
    /// The run that may go on.
    run: Option<Run>,
    count: u64,
    descends: bool,
}

impl Encoder {
    /// Adds a run. Its indices are below [`MOST`].
    #[inline]
    pub fn add(&mut self, run: Run) {
        self.count += run.count;
        match &mut self.run {
            Some(before) if before.end() == run.first => before.count += run.count,
            _ => {
                self.write();
                self.run = Some(run);
            }
        }
    }

    /// Writes the last run.
    #[inline]
    fn write(&mut self) {
        let Some(run) = self.run.take() else {
            return;
        };
        self.descends |= run.first < self.end;
        let difference = run.first as i64 - self.end as i64;
        let zigzag = ((difference << 1) ^ (difference >> 63)) as u64;
        if run.count == 1 {
            put(&mut self.bytes, zigzag << 1);
        } else {
            put(&mut self.bytes, zigzag << 1 | 1);
            put(&mut self.bytes, run.count - 2);
        }
        self.end = run.end();
    }

    /// The bytes so far, which may be taken away.
    #[inline]
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The list, without bytes that were taken away.
    pub fn finish(mut self) -> Ids {
        self.write();
        Ids {
            bytes: self.bytes,
            count: self.count,
            ascending: !self.descends,
        }
    }
}

/// Adds a number to `out`, as LEB128.
#[inline]
pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number from the beginning of `bytes`.
///
/// # Errors
/// The bytes end too early, or the number has more than 64 bits.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Result<u64> {
    match take_quickly(bytes) {
        Some(number) => Ok(number),
        None => take_slowly(bytes),
    }
}

/// Takes a number of few bytes that is not near the end of `bytes`; or leaves them as they are.
#[inline(always)]
fn take_quickly(bytes: &mut &[u8]) -> Option<u64> {
    let (byte, rest) = bytes.split_first()?;
    if byte & 0x80 == 0 {
        *bytes = rest;
        return Some((*byte).into());
    }
    let word = u64::from_le_bytes(*bytes.first_chunk()?);
    let last = !word & 0x8080_8080_8080_8080;
    if last == 0 {
        return None;
    }
    *bytes = bytes.get(last.trailing_zeros() as usize / 8 + 1..)?;
    Some(joined(word & (last ^ last.wrapping_sub(1))))
}

/// The lower seven bits of each byte, one after the other.
#[inline]
fn joined(word: u64) -> u64 {
    let pairs = (word & 0x7f00_7f00_7f00_7f00) >> 1 | word & 0x007f_007f_007f_007f;
    let fours = (pairs & 0x3fff_0000_3fff_0000) >> 2 | pairs & 0x0000_3fff_0000_3fff;
    (fours & 0x0fff_ffff_0000_0000) >> 4 | fours & 0x0fff_ffff
}

#[cold]
fn take_slowly(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for place in 0.. {
        let Some((byte, rest)) = bytes.split_first() else {
            return Err(Error::format(0, "an index list ends too early"));
        };
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if place > 9 || place == 9 && bits > 1 {
            break;
        }
        number |= bits << (7 * place);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Error::format(0, "a number of an index list is too large"))
}

impl Ids {
    /// A list that was read. All of its indices are below `whole`.
    ///
    /// # Errors
    /// The bytes are not those of such a list with `count` indices.
    pub fn read(bytes: Vec<u8>, count: u64, whole: u64) -> Result<Ids> {
        let (mut end, mut ascending, mut found) = (0, true, 0u64);
        Runs::new(&bytes, whole).each(|run| {
            ascending &= run.first >= end;
            end = run.end();
            found = found.saturating_add(run.count);
            Ok(run.count)
        })?;
        if found != count {
            let what = format!("an index list has {found} indices, not {count}");
            return Err(Error::format(0, what));
        }
        Ok(Ids {
            bytes,
            count,
            ascending,
        })
    }

    /// Its runs, which are all below `whole`.
    pub fn runs(&self, whole: u64) -> Runs<'_> {
        Runs::new(&self.bytes, whole)
    }
}

/// A place in a list, between two indices.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cursor {
    /// The place in the bytes.
    at: usize,
    /// The end of the run that was read last.
    end: u64,
    /// What is left of a run; its count is 0 if there is nothing.
    left: Run,
}

impl Cursor {
    /// The beginning of bytes that go on with a list whose last run ended at `end`.
    pub fn after(end: u64) -> Self {
        Cursor {
            end,
            ..Cursor::default()
        }
    }

    /// Bytes of the list that were read.
    pub fn bytes(self) -> usize {
        self.at
    }

    /// Takes the bytes that were read away.
    pub fn forget(&mut self, bytes: &mut Vec<u8>) {
        bytes.drain(..self.at.min(bytes.len()));
        self.at = 0;
    }

    /// The end of the run that was read last.
    pub fn last_end(self) -> u64 {
        self.end
    }
}

/// The runs of a list, from a place on.
#[derive(Debug, Clone)]
pub struct Runs<'a> {
    bytes: &'a [u8],
    whole: u64,
    cursor: Cursor,
}

impl<'a> Runs<'a> {
    /// The runs in these bytes, all below `whole`.
    pub fn new(bytes: &'a [u8], whole: u64) -> Self {
        Runs::from(bytes, whole, Cursor::default())
    }

    /// [`Runs::new`] from a place on.
    pub fn from(bytes: &'a [u8], whole: u64, cursor: Cursor) -> Self {
        let whole = whole.min(MOST);
        Runs {
            bytes,
            whole,
            cursor,
        }
    }

    /// The place of the next index.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The next run, or what is left of it; `None` at the end.
    ///
    /// # Errors
    /// The list is damaged.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<Run>> {
        if self.cursor.left.count == 0 {
            let mut rest = self.bytes.get(self.cursor.at..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(None);
            }
            let run = self.read(self.cursor.end, &mut rest)?;
            self.cursor.at = self.bytes.len() - rest.len();
            self.cursor.end = run.end();
            self.cursor.left = run;
        }
        Ok(Some(self.cursor.left))
    }

    /// Takes at most `most` indices of the next run, which is not 0.
    ///
    /// # Errors
    /// The list is damaged.
    #[inline]
    pub fn take_most(&mut self, most: u64) -> Result<Option<Run>> {
        let Some(run) = self.peek()? else {
            return Ok(None);
        };
        let count = run.count.min(most);
        self.cursor.left = Run {
            first: run.first + count,
            count: run.count - count,
        };
        Ok(Some(Run { count, ..run }))
    }

    /// Takes the next indices if they are below `end`.
    ///
    /// # Errors
    /// The list is damaged.
    #[inline]
    pub fn take_below(&mut self, end: u64) -> Result<Option<Run>> {
        match self.peek()? {
            Some(run) if run.first < end => self.take_most(end - run.first),
            _ => Ok(None),
        }
    }

    /// Visits the next runs, until `visit` takes fewer indices of a run than it has. It gives the number of those that
    /// it takes. Faster than taking the runs one by one.
    ///
    /// # Errors
    /// The list is damaged; or those of `visit`.
    #[inline]
    pub fn each(&mut self, visit: impl FnMut(Run) -> Result<u64>) -> Result<()> {
        self.each_until(0, visit)
    }

    /// [`Runs::each`], until `open` bytes or fewer are left.
    ///
    /// # Errors
    /// As [`Runs::each`].
    #[inline]
    pub fn each_until(
        &mut self,
        open: usize,
        mut visit: impl FnMut(Run) -> Result<u64>,
    ) -> Result<()> {
        let Cursor { at, mut end, left } = self.cursor;
        let mut rest = self.bytes.get(at..).unwrap_or_default();
        let mut run = left;
        loop {
            if run.count > 0 {
                let taken = visit(run)?.min(run.count);
                run.first += taken;
                run.count -= taken;
                if run.count > 0 {
                    break;
                }
            }
            if rest.len() <= open {
                break;
            }
            run = self.read(end, &mut rest)?;
            end = run.end();
        }
        self.cursor = Cursor {
            at: self.bytes.len() - rest.len(),
            end,
            left: run,
        };
        Ok(())
    }

    /// The run at the beginning of `rest`, if the one before ended at `end`.
    #[inline(always)]
    fn read(&self, end: u64, rest: &mut &[u8]) -> Result<Run> {
        let head = take(rest)?;
        let zigzag = head >> 1;
        let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        let count = match head & 1 {
            0 => 1,
            _ => take(rest)?.saturating_add(2),
        };
        // The whole is at most MOST, so a difference beyond it cannot lead back into the whole.
        let first = end.wrapping_add_signed(difference);
        if first >= self.whole || count > self.whole - first {
            return Err(self.outside());
        }
        Ok(Run { first, count })
    }

    #[cold]
    fn outside(&self) -> Error {
        let whole = self.whole;
        let what = format!("an index list has an index that is not in the whole of {whole}");
        Error::format(0, what)
    }
}

impl Iterator for Runs<'_> {
    type Item = Result<Run>;

    fn next(&mut self) -> Option<Result<Run>> {
        let run = self.take_most(u64::MAX).transpose();
        if matches!(run, Some(Err(_))) {
            self.cursor.at = self.bytes.len();
        }
        run
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoder, Ids, Run, Runs, put, take};

    fn encoded(indices: &[u64]) -> Ids {
        let mut encoder = Encoder::default();
        for first in indices {
            encoder.add(Run {
                first: *first,
                count: 1,
            });
        }
        encoder.finish()
    }

    fn decoded(ids: &Ids, whole: u64) -> Vec<u64> {
        let runs = ids.runs(whole).map(Result::unwrap);
        runs.flat_map(|run| run.first..run.end()).collect()
    }

    #[test]
    fn a_list_comes_back_in_its_order() {
        let lists: [&[u64]; 7] = [
            &[],
            &[0],
            &[7, 8, 9, 3, 4, 100, 2, 1, 0],
            &[(1 << 60) - 1, 0, (1 << 60) - 2],
            &[5, 5, 5],
            &[0, 1, 2, 3, 10, 11],
            &[1, 3, 5, 7],
        ];
        for list in lists {
            let ids = encoded(list);
            assert_eq!(decoded(&ids, u64::MAX), list);
            assert_eq!(ids.count, list.len() as u64);
            assert_eq!(ids.ascending, list.is_sorted_by(|a, b| a < b), "{list:?}");
            let read = Ids::read(ids.bytes.clone(), ids.count, 1 << 60);
            assert_eq!(read, Ok(ids));
        }
    }

    #[test]
    fn a_list_is_small() {
        let block: Vec<u64> = (1_000_000..2_000_000).collect();
        assert!(encoded(&block).bytes.len() <= 8);
        let every_third: Vec<u64> = (0..300_000).step_by(3).collect();
        assert_eq!(encoded(&every_third).bytes.len(), 100_000);
    }

    #[test]
    fn a_list_is_read_in_pieces() {
        let list = [4u64, 5, 6, 9, 12, 13, 14, 15, 20];
        let ids = encoded(&list);
        for step in 1..=9 {
            let (mut cursor, mut found) = (super::Cursor::default(), Vec::new());
            for _ in 0..=9 / step {
                let mut runs = Runs::from(&ids.bytes, 21, cursor);
                let mut left = step;
                while let Some(run) = runs.take_most(left).unwrap() {
                    found.extend(run.first..run.end());
                    left -= run.count;
                    if left == 0 {
                        break;
                    }
                }
                cursor = runs.cursor();
            }
            assert_eq!(found, list, "{step}");
        }
        for end in 0..22 {
            let (mut runs, mut found) = (ids.runs(21), Vec::new());
            while let Some(run) = runs.take_below(end).unwrap() {
                found.extend(run.first..run.end());
            }
            let below: Vec<u64> = list.iter().copied().filter(|id| *id < end).collect();
            assert_eq!(found, below);
        }
    }

    #[test]
    fn a_number_of_any_length_comes_back() {
        for bits in 0..64 {
            for number in [(1u64 << bits) - 1, 1 << bits, u64::MAX >> bits] {
                for after in [0, 1, 20] {
                    let mut bytes = Vec::new();
                    put(&mut bytes, number);
                    bytes.extend(std::iter::repeat_n(0xff, after));
                    let mut rest = &bytes[..];
                    assert_eq!(take(&mut rest), Ok(number));
                    assert_eq!(rest.len(), after);
                }
            }
        }
    }

    #[test]
    fn runs_are_visited_until_one_is_left_over() {
        let list = [4u64, 5, 6, 9, 12, 13, 3];
        let ids = encoded(&list);
        for most in 0..10 {
            let (mut runs, mut found) = (ids.runs(14), Vec::new());
            for _ in 0..10 {
                let mut left = most;
                let visited = runs.each(|run| {
                    let taken = run.count.min(left);
                    left -= taken;
                    found.extend(run.first..run.first + taken);
                    Ok(taken)
                });
                visited.unwrap();
            }
            let all = (10 * most as usize).min(list.len());
            assert_eq!(found, list[..all], "{most}");
        }
        assert!(ids.runs(13).each(|run| Ok(run.count)).is_err());
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let ids = encoded(&[3, 4, 5, 900, 1]);
        assert!(Ids::read(ids.bytes.clone(), 5, 901).is_ok());
        assert!(Ids::read(ids.bytes.clone(), 5, 900).is_err());
        assert!(Ids::read(ids.bytes.clone(), 4, 901).is_err());
        assert!(Ids::read(vec![0x80], 1, 10).is_err());
        assert!(Ids::read(vec![0xff; 40], 1, 10).is_err());
        // A negative first index, and a run that never ends.
        assert!(Ids::read(vec![2], 1, 10).is_err());
        let mut endless = vec![1];
        put(&mut endless, u64::MAX);
        assert!(Ids::read(endless, u64::MAX, u64::MAX).is_err());
        let cut = &ids.bytes[..ids.bytes.len() - 1];
        assert!(Ids::read(cut.to_vec(), 5, 901).is_err());
        let mut bytes = Vec::new();
        put(&mut bytes, u64::MAX);
        assert_eq!(take(&mut &bytes[..]), Ok(u64::MAX));
    }
}
