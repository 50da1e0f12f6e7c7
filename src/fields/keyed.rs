//! A restart of bags by a key: the program tells the owner of each element, or the bag is sorted.
//!
//! The key is a field of the bag. Each rank looks at the keys in the files that it reads, when the routine lists the bag
//! for the first time. Then all ranks find out together which elements each of them gets, and the routine is called
//! again. From then on such a bag is read as any other: by a list of elements, in the order of the files.

use super::convert::{convert, is_lossless};
use super::entry::{Link, wrong_bag};
use super::finding::{Finding, Found};
use super::index::cells::Parcels;
use super::index::ids::{Encoder, Ids, Run, Runs};
use super::kind::{Class, Kind};
use super::messages::wrong_message;
use super::sources::{Sources, chunks_in};
use crate::Result;
use crate::comm::{Agreed, Communicator, Term, collective, deliver};
use std::collections::BTreeMap;

/// Tells the ranks that get elements: their keys, and the place for as many ranks.
pub type Owner<'a> = dyn FnMut(&[i64], &mut [i32]) -> Result<()> + 'a;

/// How the elements of a bag are shared on another number of ranks.
pub struct Key<'n, 'a> {
    /// The field of the bag that has a number for each element.
    pub field: &'n str,
    /// Tells the owners; `None` if each rank gets an equal share in the order of the keys.
    pub owner: Option<&'a mut Owner<'a>>,
}

/// What the keys in the files of this rank say of a bag.
pub(super) struct Keyed {
    /// The name of the bag.
    pub bag: String,
    answer: Answer,
}

enum Answer {
    /// The elements that each rank gets.
    Owned(BTreeMap<usize, Ids>),
    /// The keys, in an order of numbers without sign, with their elements; ascending.
    Sorted(Vec<(u64, u64)>),
}

impl Keyed {
    /// True if the program has told the owners.
    pub fn is_owned(&self) -> bool {
        matches!(self.answer, Answer::Owned(_))
    }

    /// Looks at the keys in this rank's files. `field` is the full name of the key. Local.
    pub fn of(
        sources: &mut Sources,
        bag: &str,
        field: &str,
        mut owner: Option<&mut Owner<'_>>,
        size: usize,
    ) -> Found<Keyed> {
        let mut owned: BTreeMap<usize, Encoder> = BTreeMap::new();
        let mut sorted = Vec::new();
        for writer in sources.held.clone() {
            let (number, kind) = key_of(sources, writer, (bag, field), owner.is_some())?;
            let known = sources.bags.get(bag);
            let mut next = known.map_or(0, |bag| bag.first_of(writer));
            let before = next;
            let stored = sources.field(writer, number)?;
            let of_file = stored.entry.kind;
            for chunk in 0..chunks_in(stored) {
                let bytes = sources.chunk((writer, number, chunk))?;
                let bytes = convert(of_file, kind, bytes);
                let keys = bytes.as_chunks().0.iter();
                let keys: Vec<i64> = keys.map(|bytes| i64::from_le_bytes(*bytes)).collect();
                let Some(owner) = &mut owner else {
                    let ordered = keys.iter().map(|key| in_order(*key, kind));
                    sorted.extend(ordered.zip(next..));
                    next += keys.len() as u64;
                    continue;
                };
                let is_large = |key: &i64| *key < 0 && kind.class() == Class::Unsigned;
                if let Some(at) = keys.iter().position(is_large) {
                    let what = format!(
                        "element {} of rank {writer} of those that wrote it has the key {}, and an owner function gets \
                         keys below 2^63",
                        next - before + at as u64,
                        keys.get(at).copied().unwrap_or_default() as u64
                    );
                    return Err(wrong_bag(bag, what).into());
                }
                let mut ranks = vec![-1; keys.len()];
                owner(&keys, &mut ranks)?;
                for (key, rank) in keys.iter().zip(ranks) {
                    let to = usize::try_from(rank).ok().filter(|rank| *rank < size);
                    let Some(to) = to else {
                        let what = format!(
                            "the owner of element {} of rank {writer} of those that wrote it, with the key {key}, is \
                             said to be rank {rank}; there are the ranks 0 to {}",
                            next - before,
                            size - 1
                        );
                        return Err(wrong_bag(bag, what).into());
                    };
                    let count = 1;
                    owned.entry(to).or_default().add(Run { first: next, count });
                    next += 1;
                }
            }
        }
        sorted.sort_unstable();
        let owned = owned.into_iter().map(|(to, ids)| (to, ids.finish()));
        Ok(Keyed {
            bag: bag.to_string(),
            answer: match owner {
                Some(_) => Answer::Owned(owned.collect()),
                None => Answer::Sorted(sorted),
            },
        })
    }
}

/// The number of the key in the file of a rank, and the kind as which it is used.
fn key_of(
    sources: &Sources,
    writer: u64,
    (bag, field): (&str, &str),
    is_owned: bool,
) -> Found<(usize, Kind)> {
    const WHOLE: Kind = Kind::new(Class::Integer, 8);
    const NATURAL: Kind = Kind::new(Class::Unsigned, 8);
    const REAL: Kind = Kind::new(Class::Real, 8);
    let unfit = |what: String| Err(Finding::unfit(format!("bag \"{bag}\": its key {what}")));
    let source = sources.opened(writer);
    let Some(number) = source.and_then(|source| source.number(field)) else {
        return unfit(format!("\"{field}\" is not in the checkpoint"));
    };
    let entry = &sources.field(writer, number)?.entry;
    if entry.link != Link::By(bag.to_string()) || entry.row() != 1 {
        return unfit(format!(
            "{entry} is no field of the bag with one number for each element"
        ));
    }
    if is_lossless(entry.kind, WHOLE) {
        return Ok((number, WHOLE));
    }
    if entry.kind == NATURAL {
        return Ok((number, NATURAL));
    }
    if !is_owned && is_lossless(entry.kind, REAL) {
        return Ok((number, REAL));
    }
    let real = ", and no real number of 32 or 64 bits";
    unfit(format!(
        "{entry} is no integer of at most 64 bits{}",
        if is_owned { "" } else { real }
    ))
}

/// A number without sign that is in the order of the keys, from the bits of a key.
fn in_order(bits: i64, kind: Kind) -> u64 {
    let number = bits as u64;
    match kind.class() {
        Class::Real if bits < 0 => !number,
        Class::Unsigned => number,
        _ => number ^ SIGN,
    }
}

/// Finds out which elements this rank gets of the bags that have a key. All ranks have the same bags here, in the same
/// order. Collective; an exchange for all bags with owners, and for each sorted bag at most 24 allreduces, a scan and an
/// exchange.
///
/// # Errors
/// The ranks cannot reach each other.
pub(super) fn settle(
    comm: &dyn Communicator,
    sources: &mut Sources,
    keyed: Vec<Keyed>,
) -> Result<()> {
    let mut parcels = Parcels::default();
    for (number, keyed) in keyed.iter().enumerate() {
        if let Answer::Owned(ranks) = &keyed.answer {
            for (to, ids) in ranks {
                parcels.add(*to, number, [0; 2], &ids.bytes);
            }
        }
    }
    let mut own: Vec<Encoder> = keyed.iter().map(|_| Encoder::default()).collect();
    // In the order of the ranks, and so of the files.
    for (_, part) in parcels.exchange(comm, keyed.len())? {
        let whole = keyed
            .get(part.list)
            .and_then(|keyed| sources.bags.get(&keyed.bag));
        let whole = whole.map_or(0, |bag| bag.whole);
        for run in Runs::new(&part.ids, whole) {
            let run = run.map_err(|error| wrong_message(&error.to_string()))?;
            if let Some(own) = own.get_mut(part.list) {
                own.add(run);
            }
        }
    }
    for (Keyed { bag, answer }, mut own) in keyed.into_iter().zip(own) {
        let whole = sources.bags.get(&bag).map_or(0, |bag| bag.whole);
        if let Answer::Sorted(keys) = answer {
            for first in own_share(comm, &keys, whole)? {
                own.add(Run { first, count: 1 });
            }
        }
        sources.bags.set_own(&bag, own.finish());
    }
    Ok(())
}

/// Keys that are counted in an allreduce, of all shares together and of each one at least.
const CUTS: usize = 256;
const FEWEST_CUTS: usize = 7;

/// The keys among which is the one that is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Among {
    least: u64,
    most: u64,
}

impl Among {
    /// Keys that cut the range into parts of about the same size.
    fn cuts(self, number: u64) -> impl Iterator<Item = u64> {
        let length = u128::from(self.most.saturating_sub(self.least));
        let part = move |cut: u64| length * u128::from(cut) / u128::from(number + 1);
        (1..=number).map(move |cut| self.least + part(cut) as u64)
    }

    /// The part with the smallest key up to which there are at least `end` elements. `counts` says how many there are up
    /// to each of the cuts.
    fn with(self, end: u64, counts: &[u64]) -> Among {
        let cuts: Vec<u64> = self.cuts(counts.len() as u64).collect();
        let below = counts.partition_point(|count| *count < end);
        let least = below.checked_sub(1).and_then(|last| cuts.get(last));
        Among {
            least: least.map_or(self.least, |cut| (cut + 1).min(self.most)),
            most: cuts.get(below).copied().unwrap_or(self.most),
        }
    }
}

const SIGN: u64 = 1 << 63;

/// Numbers with a sign, in the same order.
fn signed(key: u64) -> i64 {
    (key ^ SIGN) as i64
}

fn unsigned(key: i64) -> u64 {
    key as u64 ^ SIGN
}

/// The elements of this rank's equal share in the order of the keys. `keys` are those of this rank's files, ascending.
/// Collective.
fn own_share(comm: &dyn Communicator, keys: &[(u64, u64)], whole: u64) -> Result<Vec<u64>> {
    let size = comm.size() as u64;
    let below = |key: u64| keys.partition_point(|(other, _)| *other < key) as u64;
    let up_to = |key: u64| keys.partition_point(|(other, _)| *other <= key) as u64;
    let term = |number: u64| Term::Sum(number as i64);
    let (least, most) = (keys.first(), keys.last());
    let terms = [
        Term::Min(least.map_or(i64::MAX, |(key, _)| signed(*key))),
        Term::Max(most.map_or(i64::MIN, |(key, _)| signed(*key))),
    ];
    let [least, most] = collective::combine(comm, terms)?.map(|key| unsigned(key.get()));
    // Where each share but the last one ends, and the smallest key with so many up to it.
    let ends: Vec<u64> = (1..size)
        .map(|rank| (u128::from(whole) * u128::from(rank) / u128::from(size)) as u64)
        .collect();
    let mut ranges = vec![Among { least, most }; ends.len()];
    let cuts = (CUTS / ends.len().max(1)).max(FEWEST_CUTS) as u64;
    // All ranks have the same ranges.
    while whole > 0 && ranges.iter().any(|range| range.least < range.most) {
        let keys = ranges.iter().flat_map(|range| range.cuts(cuts));
        let counts = collective::combine_all(comm, keys.map(|key| term(up_to(key))).collect())?;
        let counts: Vec<u64> = counts.into_iter().map(Agreed::count).collect();
        let counts = counts.chunks(cuts as usize);
        for ((range, end), counts) in ranges.iter_mut().zip(&ends).zip(counts) {
            *range = range.with(*end, counts);
        }
    }
    // Equal keys are taken in the order of the files.
    let splitters: Vec<u64> = ranges.iter().map(|range| range.least).collect();
    let less = splitters.iter().map(|key| term(below(*key)));
    let less = collective::combine_all(comm, less.collect())?;
    let equal = |key: &u64| up_to(*key) - below(*key);
    let mut before: Vec<Term> = splitters.iter().map(|key| term(equal(key))).collect();
    collective::exscan(comm, &mut before)?;
    let mut cuts = vec![0];
    for (((key, end), less), before) in splitters.iter().zip(&ends).zip(less).zip(before) {
        let before = less.count().saturating_add(before.value() as u64);
        cuts.push(below(*key) + end.saturating_sub(before).min(equal(key)));
    }
    cuts.push(keys.len() as u64);
    let mut messages = Vec::new();
    for (to, cut) in cuts.windows(2).enumerate() {
        let [from, end] = *cut else { continue };
        let share = keys.get(from as usize..end as usize).unwrap_or_default();
        if !share.is_empty() {
            let numbers = share.iter().flat_map(|(key, id)| [*key, *id]);
            messages.push((to, numbers.flat_map(u64::to_le_bytes).collect()));
        }
    }
    let mut own = Vec::new();
    for (_, message) in deliver(comm, messages)? {
        let numbers: &[[u8; 8]] = message.as_chunks().0;
        for [key, id] in numbers.as_chunks().0 {
            own.push((u64::from_le_bytes(*key), u64::from_le_bytes(*id)));
        }
    }
    own.sort_unstable();
    if own.iter().any(|(_, id)| *id >= whole) {
        return Err(wrong_message(
            "it has an element that the bag does not have",
        ));
    }
    Ok(own.into_iter().map(|(_, id)| id).collect())
}

#[cfg(test)]
mod tests {
    use super::{Among, in_order, signed, unsigned};
    use crate::fields::kind::{Class, Kind};

    #[test]
    fn a_key_is_found_in_few_rounds() {
        let spread: Vec<u64> = (0..1000).map(|i| i * i * i * 18_446_744_073 + 7).collect();
        let many = [vec![3; 500], vec![u64::MAX; 500]].concat();
        for keys in [spread, (5..1005).collect(), many, vec![0; 1000]] {
            for end in [0, 1, 2, 499, 500, 501, 999, 1000] {
                for cuts in [1, 7, 256] {
                    let (least, most) = (keys[0], keys[999]);
                    let (mut range, mut rounds) = (Among { least, most }, 0);
                    while range.least < range.most {
                        let up_to = |key| keys.partition_point(|other| *other <= key) as u64;
                        let counts: Vec<u64> = range.cuts(cuts).map(up_to).collect();
                        range = range.with(end, &counts);
                        rounds += 1;
                    }
                    let right = keys[(end as usize).saturating_sub(1)];
                    assert_eq!(range.least, right, "{end} {cuts}");
                    let bits = (cuts + 1).ilog2();
                    assert!(
                        rounds <= 64_u32.div_ceil(bits) + 1,
                        "{end} {cuts}: {rounds}"
                    );
                }
            }
        }
        for key in [0, 1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX] {
            assert_eq!(unsigned(signed(key)), key);
        }
        assert!(signed(0) < signed(1) && signed(u64::MAX / 2) < signed(u64::MAX / 2 + 1));
    }

    #[test]
    fn keys_are_ordered_as_their_numbers() {
        let whole = |key: i64| in_order(key, Kind::new(Class::Integer, 8));
        assert!([i64::MIN, -7, -1, 0, 1, i64::MAX].is_sorted_by(|a, b| whole(*a) < whole(*b)));
        let natural = |key: u64| in_order(key as i64, Kind::new(Class::Unsigned, 8));
        let keys = [0, 1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX];
        assert!(keys.is_sorted_by(|a, b| natural(*a) < natural(*b)));
        let real = |key: f64| in_order(key.to_bits() as i64, Kind::new(Class::Real, 8));
        let keys = [
            -f64::NAN,
            f64::NEG_INFINITY,
            -2.5,
            -1e-300,
            -0.0,
            0.0,
            1e-300,
            7.0,
            f64::INFINITY,
            f64::NAN,
        ];
        assert!(keys.is_sorted_by(|a, b| real(*a) < real(*b)));
    }
}
