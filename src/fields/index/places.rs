//! The places of elements, in a file or in memory, as numbers that count elements. They are kept as sets if they ascend,
//! or as index lists are, and read once for each field, from one place on.

use super::ids::{Cursor, Ids, Run, Runs};
use super::set::{Builder, Set, WINDOW, WORDS, Windows, Words};
use super::set_runs::SetRuns;
use super::split::{At, Split};
use super::words::NONE;
use crate::fields::messages::wrong_message;
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Places, in the order of the elements that are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    pieces: Vec<Piece>,
    /// Number of places.
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// The bytes of sets, each of which begins after the one before.
    Ascending(Vec<u8>),
    Listed(Ids),
    /// Places that seldom follow each other.
    Direct(Vec<u32>),
    /// Those elements of a split list that have a number; the place of the first element of the list.
    Chosen(u64, Arc<Split>, u64),
}

/// Where the next place is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Next {
    piece: usize,
    /// Of a set: the byte of the next window, and the place up to which those of this window are used.
    window: usize,
    place: u64,
    /// Of a split list.
    chosen: At,
    /// Of places one by one: how many are used.
    direct: usize,
    /// Of a list.
    listed: Cursor,
}

impl Places {
    /// Adds places that ascend, after all before if those ascend, too: a set of `count`.
    pub fn add_set(&mut self, set: Vec<u8>, count: u64) {
        self.count += count;
        match self.pieces.last_mut() {
            Some(Piece::Ascending(bytes)) => bytes.extend_from_slice(&set),
            _ => self.pieces.push(Piece::Ascending(set)),
        }
    }

    /// Adds places in any order.
    pub fn add_list(&mut self, ids: Ids) {
        self.count += ids.count;
        self.pieces.push(Piece::Listed(ids));
    }

    /// Adds places in any order, of which few follow each other.
    pub fn add_direct(&mut self, places: Vec<u32>) {
        self.count += places.len() as u64;
        self.pieces.push(Piece::Direct(places));
    }

    /// Adds the elements of a split list that have a number, `count` of them. Its first element has the place `from`.
    pub fn add_chosen(&mut self, from: u64, split: &Arc<Split>, number: u64, count: u64) {
        self.count += count;
        let piece = Piece::Chosen(from, Arc::clone(split), number);
        self.pieces.push(piece);
    }

    /// These places and others, ascending. Both ascend, and have no place in common.
    ///
    /// # Errors
    /// The places are damaged.
    pub fn or(&self, other: &Places) -> Result<Places> {
        let both = self.set()?.or(&other.set()?)?;
        let mut places = Places::default();
        places.add_set(both.bytes, both.count);
        places.shrink();
        Ok(places)
    }

    fn set(&self) -> Result<Set> {
        let mut all = Builder::default();
        self.visit(&mut Next::default(), &mut all)?;
        Ok(all.finish())
    }

    /// Returns memory that is not needed when all places are there.
    pub fn shrink(&mut self) {
        for piece in &mut self.pieces {
            match piece {
                Piece::Ascending(bytes) => bytes.shrink_to_fit(),
                Piece::Listed(ids) => ids.bytes.shrink_to_fit(),
                Piece::Direct(_) | Piece::Chosen(..) => {}
            }
        }
    }

    /// The places as runs, if they ascend.
    pub fn runs(&self) -> SetRuns<'_> {
        match self.pieces.first() {
            Some(Piece::Ascending(bytes)) => SetRuns::new(bytes),
            _ => SetRuns::new(&[]),
        }
    }

    /// Visits the places from `next` on, as bits from a place on, or as runs. The visitors tell which bits they have not
    /// used, or how many of the run they have; if not all, that ends it.
    #[inline]
    fn visit<V: Visit>(&self, next: &mut Next, visit: &mut V) -> Result<()> {
        while let Some(piece) = self.pieces.get(next.piece) {
            let all = match piece {
                Piece::Ascending(bytes) => visit_set(bytes, next, visit)?,
                Piece::Chosen(from, split, number) => {
                    visit_chosen((*from, split, *number), next, visit)?
                }
                Piece::Direct(places) => {
                    let left = places.get(next.direct..).unwrap_or_default();
                    let used = visit.direct(left)?;
                    next.direct += used;
                    used == left.len()
                }
                Piece::Listed(ids) => {
                    let mut runs = Runs::from(&ids.bytes, u64::MAX, next.listed);
                    let mut all = true;
                    runs.each(|run| {
                        let used = visit.run(run)?;
                        all &= used == run.count;
                        Ok(used)
                    })?;
                    next.listed = runs.cursor();
                    all
                }
            };
            if !all {
                break;
            }
            *next = Next {
                piece: next.piece + 1,
                ..Next::default()
            };
        }
        Ok(())
    }
}

trait Visit {
    /// Gets the places from `base` on that have a bit, of which there is one; those that are left over.
    fn bits(&mut self, base: u64, bits: u64) -> Result<u64>;

    /// Gets a run of places; the number of those that were used.
    fn run(&mut self, run: Run) -> Result<u64>;

    /// Gets places one by one; the number of those that were used.
    fn direct(&mut self, places: &[u32]) -> Result<usize> {
        in_runs(self, places)
    }
}

/// Gives places to the visitor as runs; the number of those that were used.
fn in_runs(visit: &mut (impl Visit + ?Sized), places: &[u32]) -> Result<usize> {
    let mut all = 0;
    for run in places.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
        let first = run.first().copied().unwrap_or(0).into();
        let count = run.len() as u64;
        let used = visit.run(Run { first, count })?;
        all += used as usize;
        if used < count {
            break;
        }
    }
    Ok(all)
}

/// Gives the places from `base` on that have a bit to the visitor as runs; those that are left over.
#[inline]
fn as_runs(visit: &mut impl Visit, base: u64, mut bits: u64) -> Result<u64> {
    while bits != 0 {
        let from = bits.trailing_zeros();
        let count = (bits >> from).trailing_ones();
        let used = visit.run(Run {
            first: base + u64::from(from),
            count: count.into(),
        })?;
        bits &= u64::MAX.checked_shl(from + used as u32).unwrap_or(0);
        if used < count.into() {
            break;
        }
    }
    Ok(bits)
}

#[inline]
fn visit_set<V: Visit>(bytes: &[u8], next: &mut Next, visit: &mut V) -> Result<bool> {
    let mut windows = Windows::new(bytes, next.window);
    let mut words: Words = [0; WORDS];
    while let Some(number) = windows.peek()? {
        next.window = windows.place();
        windows.read(&mut words)?;
        if !visit_window(number * WINDOW, &words, &mut next.place, visit)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[inline]
fn visit_chosen<V: Visit>(
    (from, split, number): (u64, &Split, u64),
    next: &mut Next,
    visit: &mut V,
) -> Result<bool> {
    let (mut windows, mut words) = (split.windows(number, next.chosen), NONE);
    loop {
        next.chosen = windows.at();
        if !windows.read(&mut words)? {
            return Ok(true);
        }
        let base = from + next.chosen.window * WINDOW;
        if !visit_window(base, &words, &mut next.place, visit)? {
            return Ok(false);
        }
    }
}

/// Visits the places of a window, from `base` on; those before `next` have been visited. False if some are left.
#[inline]
fn visit_window<V: Visit>(
    mut base: u64,
    words: &Words,
    next: &mut u64,
    visit: &mut V,
) -> Result<bool> {
    let used = next.saturating_sub(base).min(WINDOW);
    for (at, word) in words.iter().enumerate() {
        let used = used.saturating_sub(64 * at as u64).min(64);
        let word = word & u64::MAX.checked_shl(used as u32).unwrap_or(0);
        if word != 0 {
            let left = visit.bits(base, word)?;
            if left != 0 {
                *next = base + u64::from(left.trailing_zeros());
                return Ok(false);
            }
        }
        base += 64;
    }
    Ok(true)
}

impl Visit for Builder {
    fn bits(&mut self, base: u64, bits: u64) -> Result<u64> {
        self.add_bits(base, bits);
        Ok(0)
    }

    fn run(&mut self, run: Run) -> Result<u64> {
        self.add(run);
        Ok(run.count)
    }
}

/// Adds the elements at `places` to `out`, from `next` on. `bytes` are the elements in the range `from`, `unit` bytes
/// each, and the places ascend.
///
/// # Errors
/// A place before the range is left over.
pub fn copy_out(
    places: &Places,
    next: &mut Next,
    from: Range<u64>,
    (bytes, unit): (&[u8], usize),
    out: &mut Vec<u8>,
) -> Result<()> {
    match unit {
        4 => places.visit(next, &mut Out::<4>::new(from, bytes, unit, out)),
        8 => places.visit(next, &mut Out::<8>::new(from, bytes, unit, out)),
        16 => places.visit(next, &mut Out::<16>::new(from, bytes, unit, out)),
        24 => places.visit(next, &mut Out::<24>::new(from, bytes, unit, out)),
        32 => places.visit(next, &mut Out::<32>::new(from, bytes, unit, out)),
        _ => places.visit(next, &mut Out::<0>::new(from, bytes, unit, out)),
    }
}

/// `N` is the size of an element, or 0 for any size.
struct Out<'a, const N: usize> {
    from: Range<u64>,
    bytes: &'a [u8],
    unit: usize,
    out: &'a mut Vec<u8>,
}

impl<'a, const N: usize> Out<'a, N> {
    fn new(from: Range<u64>, bytes: &'a [u8], unit: usize, out: &'a mut Vec<u8>) -> Self {
        Out {
            from,
            bytes,
            unit,
            out,
        }
    }

    #[inline]
    fn few(&mut self, elements: &[[u8; N]], mut bits: u64) -> Result<()> {
        // One call for all of them takes less than one for each.
        let (mut packed, mut count) = ([[0; N]; 64], 0);
        while bits != 0 {
            let element = elements.get(bits.trailing_zeros() as usize);
            if let Some(place) = packed.get_mut(count) {
                *place = *element.ok_or_else(not_in_file)?;
            }
            bits &= bits - 1;
            count += 1;
        }
        let packed = packed.get(..count).unwrap_or_default();
        self.out.extend_from_slice(packed.as_flattened());
        Ok(())
    }
}

impl<const N: usize> Visit for Out<'_, N> {
    #[inline]
    fn bits(&mut self, base: u64, bits: u64) -> Result<u64> {
        let here = self.from.end.saturating_sub(base).min(64) as u32;
        let later = bits & u64::MAX.checked_shl(here).unwrap_or(0);
        let now = bits ^ later;
        if now == 0 {
            return Ok(later);
        }
        if N > 0 && now != u64::MAX && base >= self.from.start {
            let begin = (base - self.from.start) as usize * N;
            let elements = self.bytes.get(begin..).ok_or_else(not_in_file)?;
            self.few(elements.as_chunks().0, now)?;
            return Ok(later);
        }
        as_runs(self, base, now)?;
        Ok(later)
    }

    fn run(&mut self, run: Run) -> Result<u64> {
        if run.first >= self.from.end {
            return Ok(0);
        }
        let count = run.count.min(self.from.end - run.first);
        let begin = run.first.checked_sub(self.from.start);
        let begin = begin.ok_or_else(not_in_file)? as usize * self.unit;
        let all = self.bytes.get(begin..begin + count as usize * self.unit);
        self.out.extend_from_slice(all.ok_or_else(not_in_file)?);
        Ok(count)
    }
}

#[cold]
pub(super) fn not_in_file() -> Error {
    wrong_message("it asks for a place that is not in the file")
}

/// Elements that are copied one by one, since a call for all of them takes longer.
const SHORT: u64 = 4;

/// Copies elements of `unit` bytes to their places in `memory`, from `next` on.
///
/// # Errors
/// There are more elements than places, or a place is not in the memory.
pub fn copy_in(
    places: &Places,
    next: &mut Next,
    (bytes, unit): (&[u8], usize),
    memory: &mut [u8],
) -> Result<()> {
    match unit {
        4 => put_all::<4>(places, next, bytes, unit, memory),
        8 => put_all::<8>(places, next, bytes, unit, memory),
        16 => put_all::<16>(places, next, bytes, unit, memory),
        24 => put_all::<24>(places, next, bytes, unit, memory),
        32 => put_all::<32>(places, next, bytes, unit, memory),
        _ => put_all::<0>(places, next, bytes, unit, memory),
    }
}

fn put_all<const N: usize>(
    places: &Places,
    next: &mut Next,
    left: &[u8],
    unit: usize,
    memory: &mut [u8],
) -> Result<()> {
    let mut all = In::<N> { left, unit, memory };
    places.visit(next, &mut all)?;
    match all.left {
        [] => Ok(()),
        _ => Err(no_place()),
    }
}

/// `N` is `unit`, or 0 for any.
struct In<'a, const N: usize> {
    left: &'a [u8],
    unit: usize,
    memory: &'a mut [u8],
}

impl<const N: usize> Visit for In<'_, N> {
    #[inline]
    fn bits(&mut self, base: u64, mut bits: u64) -> Result<u64> {
        if N > 0 && bits != u64::MAX {
            let memory = (base as usize)
                .checked_mul(N)
                .and_then(|begin| self.memory.get_mut(begin..));
            let (places, _) = memory.ok_or_else(no_place)?.as_chunks_mut::<N>();
            let (elements, _) = self.left.as_chunks::<N>();
            let (mut elements, before) = (elements.iter(), elements.len());
            while bits != 0
                && let Some(element) = elements.next()
            {
                let place = places.get_mut(bits.trailing_zeros() as usize);
                *place.ok_or_else(no_place)? = *element;
                bits &= bits - 1;
            }
            let used = (before - elements.len()) * N;
            self.left = self.left.get(used..).unwrap_or_default();
            return Ok(bits);
        }
        as_runs(self, base, bits)
    }

    #[inline]
    fn run(&mut self, run: Run) -> Result<u64> {
        let now = run.count.min((self.left.len() / self.unit.max(1)) as u64);
        if N > 0 && now <= SHORT {
            let (places, _) = self.memory.as_chunks_mut::<N>();
            for at in run.first..run.first + now {
                let place = places.get_mut(at as usize).ok_or_else(no_place)?;
                let (one, rest) = self.left.split_first_chunk::<N>().ok_or_else(no_place)?;
                *place = *one;
                self.left = rest;
            }
            return Ok(now);
        }
        let place = (run.first as usize)
            .checked_mul(self.unit)
            .ok_or_else(no_place)?;
        let length = now as usize * self.unit;
        let memory = self.memory.get_mut(place..);
        let place = memory.and_then(|place| place.get_mut(..length));
        let (bytes, rest) = self.left.split_at_checked(length).ok_or_else(no_place)?;
        place.ok_or_else(no_place)?.copy_from_slice(bytes);
        self.left = rest;
        Ok(now)
    }

    fn direct(&mut self, places: &[u32]) -> Result<usize> {
        if N == 0 {
            return in_runs(self, places);
        }
        let (elements, _) = self.left.as_chunks::<N>();
        let (memory, _) = self.memory.as_chunks_mut::<N>();
        let mut inside = true;
        // Nothing in a step waits for the one before, so the processor fetches many places at the same time.
        for (place, element) in places.iter().zip(elements) {
            match memory.get_mut(*place as usize) {
                Some(place) => *place = *element,
                None => inside = false,
            }
        }
        if !inside {
            return Err(no_place());
        }
        let used = elements.len().min(places.len());
        self.left = self.left.get(used * N..).unwrap_or_default();
        Ok(used)
    }
}

#[cold]
fn no_place() -> Error {
    wrong_message("it has an element without a place in memory")
}

/// As [`copy_in`], for memory with gaps: calls `put` with a place, and the bytes of elements that follow each other
/// from there on.
///
/// # Errors
/// There are more elements than places; or those of `put`.
pub fn each_place(
    places: &Places,
    next: &mut Next,
    (left, unit): (&[u8], usize),
    put: impl FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut all = Each { left, unit, put };
    places.visit(next, &mut all)?;
    match all.left {
        [] => Ok(()),
        _ => Err(no_place()),
    }
}

struct Each<'a, P> {
    left: &'a [u8],
    unit: usize,
    put: P,
}

impl<P: FnMut(u64, &[u8]) -> Result<()>> Visit for Each<'_, P> {
    fn bits(&mut self, base: u64, bits: u64) -> Result<u64> {
        as_runs(self, base, bits)
    }

    fn run(&mut self, run: Run) -> Result<u64> {
        let count = run.count.min((self.left.len() / self.unit.max(1)) as u64);
        let all = self.left.split_at_checked(count as usize * self.unit);
        let (now, rest) = all.ok_or_else(no_place)?;
        if count > 0 {
            (self.put)(run.first, now)?;
            self.left = rest;
        }
        Ok(count)
    }
}
