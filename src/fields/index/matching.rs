//! Which of the indices that some ranks need are in which file, in one range of the whole: what the rank that looks after
//! the range tells those that need indices, and those that read files.

use super::cells::{Held, InRange, common, in_range};
use super::set::{Builder, WINDOW, Words, first_of};
use super::split::{Split, Splitter};
use super::words::NONE;
use crate::Result;
use std::collections::BTreeMap;

/// The most pairs of a file and a rank in a window that are compared word by word; if there are more, each index is looked
/// at by itself, so that the work does not grow with the ranks squared.
const FEW: usize = 512;

/// Indices in the range that one rank needs, or that a file has.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// A set.
    pub ids: &'a [u8],
    /// The list ascends. Otherwise the set is that of a list in any order.
    pub ascends: bool,
}

/// What was found. Files and needs are meant by their numbers among those that asked.
#[derive(Debug, Default)]
pub struct Matches {
    /// For each file that ascends: how its indices are split among the needs.
    pub of_files: Vec<Option<Split>>,
    /// For each need that ascends: how its indices are split among the files that ascend.
    pub of_needs: Vec<Option<Split>>,
    /// For a file in any order, and a need: the indices. Also those of a file that ascends that an earlier need has, too.
    pub sent: BTreeMap<(usize, usize), Vec<u8>>,
    /// For a file that ascends, and a need in any order: the indices.
    pub come: BTreeMap<(usize, usize), Vec<u8>>,
    /// The first index that is needed and in no file, with the number of the need.
    pub missing: Option<(u64, usize)>,
}

/// The indices of one that asked, and how they are split among the others.
struct Side {
    ascends: bool,
    first: Option<u64>,
    /// The numbers of the others in the split.
    numbers: BTreeMap<usize, usize>,
    others: Vec<u64>,
    /// The planes of the window that is looked at.
    planes: Vec<Words>,
    splitter: Splitter,
}

impl Side {
    fn new(ascends: bool) -> Self {
        Side {
            ascends,
            first: None,
            numbers: BTreeMap::new(),
            others: Vec::new(),
            planes: Vec::new(),
            splitter: Splitter::default(),
        }
    }

    fn number(&mut self, other: usize) -> usize {
        let next = self.others.len() + 1;
        let number = *self.numbers.entry(other).or_insert(next);
        if number == next {
            self.others.push(other as u64);
        }
        let planes = (usize::BITS - number.leading_zeros()) as usize;
        self.planes.resize(self.planes.len().max(planes), NONE);
        number
    }

    /// Some indices of the window are shared with another.
    fn mark(&mut self, other: usize, some: &Words) {
        let number = self.number(other);
        for (bit, plane) in self.planes.iter_mut().enumerate() {
            if number >> bit & 1 == 1 {
                plane.iter_mut().zip(some).for_each(|(a, b)| *a |= b);
            }
        }
    }

    /// As [`Side::mark`], of one index.
    fn mark_one(&mut self, other: usize, place: usize) {
        let number = self.number(other);
        for (bit, plane) in self.planes.iter_mut().enumerate() {
            if let Some(word) = plane.get_mut(place / 64) {
                *word |= (number as u64 >> bit & 1) << (place % 64);
            }
        }
    }

    /// Indices of the window that are marked.
    fn marked(&self) -> Words {
        let mut all = NONE;
        for plane in &self.planes {
            all.iter_mut().zip(plane).for_each(|(a, b)| *a |= b);
        }
        all
    }

    /// Ends a window, in which this one has `all`.
    fn end_window(&mut self, number: u64, all: &Words) {
        if !self.ascends {
            return;
        }
        self.first = self.first.or_else(|| first_of(all, number));
        self.splitter.add(all, &self.planes);
        self.planes.iter_mut().for_each(|plane| *plane = NONE);
    }

    fn finish(self) -> Option<Split> {
        let first = self.first?;
        Some(self.splitter.finish(first, self.others))
    }
}

/// The work on one range.
struct Matching {
    files: Vec<Side>,
    needs: Vec<Side>,
    sent: BTreeMap<(usize, usize), Builder>,
    come: BTreeMap<(usize, usize), Builder>,
    missing: Option<(u64, usize)>,
}

/// The files that have indices of a window: the number, and those that no file before has.
type Having = Vec<(usize, Words)>;

impl Held<'_> {
    /// Finds out in which file each index is that is needed. If several files have one, the first is said to have it.
    /// `files` are those of which the indices are held.
    ///
    /// # Errors
    /// The indices do not ascend, or are damaged.
    pub fn matches(mut self, files: &[Asked<'_>], needs: &[Asked<'_>]) -> Result<Matches> {
        let mut want = in_range(needs.iter().map(|need| need.ids))?;
        let sides = |asked: &[Asked<'_>]| asked.iter().map(|one| Side::new(one.ascends)).collect();
        let mut all = Matching {
            files: sides(files),
            needs: sides(needs),
            sent: BTreeMap::new(),
            come: BTreeMap::new(),
            missing: None,
        };
        let (mut taken, mut have, mut wanting) = (NONE, Having::new(), Vec::new());
        while let Some(number) = self.next_window(&want) {
            have.clear();
            self.each(number, &mut taken, |who, _, new| have.push((who, *new)))?;
            wanting.clear();
            for (who, set) in want.iter_mut().enumerate() {
                if set.read(number)? {
                    wanting.push(who);
                }
            }
            for who in &wanting {
                if let Some(set) = want.get(*who) {
                    let none = taken.map(|word| !word);
                    all.note_missing(first_of(&common(&none, &set.words), number), *who);
                }
            }
            if have.len() * wanting.len() <= FEW {
                all.by_words(number, &have, &wanting, &want);
            } else {
                all.by_index(number, &have, &wanting, &want);
            }
            for (who, _) in &have {
                if let (Some(side), Some(set)) = (all.files.get_mut(*who), self.have.get(*who)) {
                    side.end_window(number, &set.words);
                }
            }
            for who in &wanting {
                if let (Some(side), Some(set)) = (all.needs.get_mut(*who), want.get(*who)) {
                    side.end_window(number, &set.words);
                }
            }
        }
        Ok(all.finish())
    }
}

impl Matching {
    fn note_missing(&mut self, id: Option<u64>, who: usize) {
        if let Some(id) = id.filter(|id| self.missing.is_none_or(|(first, _)| *id < first)) {
            self.missing = Some((id, who));
        }
    }

    /// Compares each file with each need.
    fn by_words(&mut self, number: u64, have: &Having, wanting: &[usize], want: &[InRange<'_>]) {
        for (need, file, new) in pairs(wanting, have) {
            let Some(set) = want.get(need) else { continue };
            let mut both = common(&set.words, new);
            if is_empty(&both) {
                continue;
            }
            let sides = self.files.get_mut(file).zip(self.needs.get_mut(need));
            let Some((of_file, of_need)) = sides else {
                continue;
            };
            match (of_file.ascends, of_need.ascends) {
                (true, true) => of_need.mark(file, &both),
                (true, false) => add(&mut self.come, (file, need), number, &both),
                (false, _) => {}
            }
            if of_file.ascends {
                let before = of_file.marked();
                let again = common(&both, &before);
                both.iter_mut().zip(&before).for_each(|(a, b)| *a &= !b);
                of_file.mark(need, &both);
                both = again;
            }
            if !is_empty(&both) {
                add(&mut self.sent, (file, need), number, &both);
            }
        }
    }

    /// Looks at one index after the other.
    fn by_index(&mut self, number: u64, have: &Having, wanting: &[usize], want: &[InRange<'_>]) {
        const NOBODY: usize = usize::MAX;
        let (mut file_of, mut marked) = (vec![NOBODY; WINDOW as usize], NONE);
        for (file, new) in have {
            each_bit(new, |place| {
                if let Some(of) = file_of.get_mut(place) {
                    *of = *file;
                }
            });
        }
        for need in wanting {
            let (Some(set), Some(of_need)) = (want.get(*need), self.needs.get_mut(*need)) else {
                continue;
            };
            let (files, sent, come) = (&mut self.files, &mut self.sent, &mut self.come);
            each_bit(&set.words, |place| {
                let file = file_of.get(place).copied().unwrap_or(NOBODY);
                let Some(of_file) = files.get_mut(file) else {
                    return;
                };
                let one = |to: &mut BTreeMap<(usize, usize), Builder>| {
                    let at = number * WINDOW + place as u64;
                    to.entry((file, *need)).or_default().add_bits(at, 1);
                };
                if !of_file.ascends {
                    return one(sent);
                }
                if of_need.ascends {
                    of_need.mark_one(file, place);
                } else {
                    one(come);
                }
                match marked.get_mut(place / 64) {
                    Some(word) if *word >> (place % 64) & 1 == 0 => {
                        *word |= 1 << (place % 64);
                        of_file.mark_one(*need, place);
                    }
                    _ => one(sent),
                }
            });
        }
    }

    fn finish(self) -> Matches {
        let splits = |sides: Vec<Side>| sides.into_iter().map(Side::finish).collect();
        let sets = |all: BTreeMap<(usize, usize), Builder>| {
            let all = all.into_iter();
            all.map(|(pair, set)| (pair, set.finish().bytes)).collect()
        };
        Matches {
            of_files: splits(self.files),
            of_needs: splits(self.needs),
            sent: sets(self.sent),
            come: sets(self.come),
            missing: self.missing,
        }
    }
}

/// Each need with each file, and the indices that the file has.
fn pairs<'a>(
    wanting: &'a [usize],
    have: &'a Having,
) -> impl Iterator<Item = (usize, usize, &'a Words)> {
    let needs = wanting.iter();
    needs.flat_map(|need| have.iter().map(|(file, new)| (*need, *file, new)))
}

fn is_empty(words: &Words) -> bool {
    words.iter().all(|word| *word == 0)
}

fn add(
    to: &mut BTreeMap<(usize, usize), Builder>,
    pair: (usize, usize),
    number: u64,
    words: &Words,
) {
    to.entry(pair).or_default().add_window(number, words);
}

/// Visits the places of the bits.
fn each_bit(words: &Words, mut visit: impl FnMut(usize)) {
    for (at, word) in words.iter().enumerate() {
        let mut bits = *word;
        while bits != 0 {
            visit(at * 64 + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, Matches};
    use crate::fields::index::cells::Held;
    use crate::fields::index::set::{Builder, Set};
    use crate::fields::index::set_runs::SetRuns;
    use crate::fields::index::split::{At, Split};
    use crate::fields::index::words::NONE;
    use std::collections::BTreeMap;

    fn set(indices: impl IntoIterator<Item = u64>) -> Set {
        let mut builder = Builder::default();
        indices.into_iter().for_each(|id| builder.add_bits(id, 1));
        builder.finish()
    }

    fn indices(bytes: &[u8]) -> Vec<u64> {
        let runs = SetRuns::new(bytes).map(Result::unwrap);
        runs.flat_map(|run| run.first..run.end()).collect()
    }

    /// The indices that a split gives each of the others.
    fn shares(split: &Split, own: &[u64]) -> BTreeMap<usize, Vec<u64>> {
        let mut shares = BTreeMap::new();
        for (number, other) in (1..).zip(&split.others) {
            let (mut windows, mut words) = (split.windows(number, At::default()), NONE);
            let (mut at, mut found) = (0, Vec::new());
            while windows.read(&mut words).unwrap() {
                for word in words {
                    let bits = (0..64).filter(|bit| word >> bit & 1 == 1);
                    found.extend(bits.map(|bit| own[at + bit]));
                    at += 64;
                }
            }
            shares.insert(*other as usize, found);
        }
        shares
    }

    fn found(files: &[(Set, bool)], needs: &[(Set, bool)]) -> Matches {
        let asked = |sets: &[(Set, bool)]| -> Vec<(Vec<u8>, bool)> {
            let sets = sets.iter();
            sets.map(|(set, ascends)| (set.bytes.clone(), *ascends))
                .collect()
        };
        let (files, needs) = (asked(files), asked(needs));
        let as_asked = |all: &'static [(Vec<u8>, bool)]| -> Vec<Asked<'static>> {
            let all = all.iter();
            all.map(|(ids, ascends)| Asked {
                ids,
                ascends: *ascends,
            })
            .collect()
        };
        let (files, needs) = (as_asked(files.leak()), as_asked(needs.leak()));
        let held = Held::new(0..1 << 20, files.iter().map(|file| file.ids)).unwrap();
        held.matches(&files, &needs).unwrap()
    }

    /// Compares what was found with what each pair has in common.
    fn check(files: &[(Set, bool)], needs: &[(Set, bool)]) {
        let matches = found(files, needs);
        let (mut of_files, mut of_needs) = (BTreeMap::new(), BTreeMap::new());
        for (sides, splits, all) in [
            (files, &matches.of_files, &mut of_files),
            (needs, &matches.of_needs, &mut of_needs),
        ] {
            for (who, ((set, ascends), split)) in sides.iter().zip(splits).enumerate() {
                let own = indices(&set.bytes);
                assert_eq!(split.is_some(), *ascends && !own.is_empty(), "{who}");
                if let Some(split) = split {
                    assert_eq!((split.first, split.count), (own[0], own.len() as u64));
                    for (other, share) in shares(split, &own) {
                        all.insert((who, other), share);
                    }
                }
            }
        }
        let mut before: Vec<u64> = Vec::new();
        for (file, (has, file_ascends)) in files.iter().enumerate() {
            let has: Vec<u64> = indices(&has.bytes)
                .into_iter()
                .filter(|id| !before.contains(id))
                .collect();
            for (need, (wants, need_ascends)) in needs.iter().enumerate() {
                let wants = indices(&wants.bytes);
                let both: Vec<u64> = has
                    .iter()
                    .copied()
                    .filter(|id| wants.binary_search(id).is_ok())
                    .collect();
                let of = |all: &BTreeMap<(usize, usize), Vec<u8>>| {
                    all.get(&(file, need))
                        .map_or(Vec::new(), |ids| indices(ids))
                };
                let of_split = of_files.get(&(file, need)).cloned().unwrap_or_default();
                let mut to_reader: Vec<u64> = [of_split.clone(), of(&matches.sent)].concat();
                to_reader.sort_unstable();
                assert_eq!(to_reader, both, "file {file}, need {need}");
                assert!(*file_ascends || of_split.is_empty());
                let of_split = of_needs.get(&(need, file)).cloned().unwrap_or_default();
                let to_need = [of_split.clone(), of(&matches.come)].concat();
                let right = if *file_ascends { both } else { Vec::new() };
                assert_eq!(to_need, right, "file {file}, need {need}");
                assert!(*need_ascends || of_split.is_empty());
            }
            before.extend(has);
        }
    }

    #[test]
    fn needs_are_matched_with_files_of_any_order() {
        let whole = 60_000u64;
        for (readers, writers) in [(2, 3), (7, 8), (40, 30)] {
            for any_order in [false, true] {
                let mut files: Vec<_> = (0..writers)
                    .map(|rank| set((0..whole).filter(move |id| id / 5 % writers == rank)))
                    .map(|set| (set, true))
                    .collect();
                // An index that a file before has, too.
                files.push((set([6, 50_000]), true));
                let mut needs: Vec<_> = (0..readers)
                    .map(|rank| {
                        // Some indices are needed by two.
                        let next = (rank + 1) % readers;
                        let wants = move |id: &u64| {
                            id % readers == rank || id.is_multiple_of(97) && id % readers == next
                        };
                        (set((0..whole).filter(wants)), true)
                    })
                    .collect();
                needs.push((set([]), true));
                if any_order {
                    files.iter_mut().step_by(2).for_each(|file| file.1 = false);
                    needs
                        .iter_mut()
                        .skip(1)
                        .step_by(2)
                        .for_each(|need| need.1 = false);
                }
                check(&files, &needs);
            }
        }
    }

    #[test]
    fn the_first_index_that_no_file_has_is_found() {
        let file = |ids: &[u64]| (set(ids.iter().copied()), true);
        let needs = [file(&[3, 70_000]), file(&[6, 3])];
        let matches = found(&[file(&[3, 6])], &needs);
        assert_eq!(matches.missing, Some((70_000, 0)));
        let matches = found(&[file(&[70_000])], &needs);
        assert_eq!(matches.missing, Some((3, 0)));
        assert_eq!(found(&[file(&[3, 6, 70_000])], &needs).missing, None);
    }

    #[test]
    fn windows_that_do_not_ascend_are_an_error() {
        let bytes = [set([100_000]).bytes, set([5]).bytes].concat();
        let held = Held::new(0..200_000, [&bytes[..]].into_iter()).unwrap();
        let file = Asked {
            ids: &bytes,
            ascends: true,
        };
        assert!(held.matches(&[file], &[]).is_err());
    }
}
