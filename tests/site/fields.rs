//! Checkpoints of fields: shared by the test programs `session` and `cli`.

use crate::site::Rank;
use scr::fields::{
    Class, Element, Kind, List, Memory, Place, RemoteMemory, Slice, Spec, checkpoint,
};
use scr::format::Name;
use scr_testing::apart::{Apart, Copies};
use std::cell::RefCell;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// A box: where it begins, and its extents.
pub type Part = (Vec<i64>, Vec<i64>);

/// A generator of small numbers.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

/// Cuts a whole into one box for each rank, at random places. Some boxes may be empty.
pub fn cut(whole: &[i64], ranks: usize, random: &mut Random) -> Vec<Part> {
    let mut parts = vec![(vec![0; whole.len()], whole.to_vec())];
    while parts.len() < ranks {
        let which = random.below(parts.len() as u64) as usize;
        let dim = random.below(whole.len() as u64) as usize;
        let (mut at, mut extents) = parts[which].clone();
        let first = random.below(extents[dim] as u64 + 1) as i64;
        parts[which].1[dim] = first;
        at[dim] += first;
        extents[dim] -= first;
        parts.push((at, extents));
    }
    // Any rank may have any box.
    for i in (1..parts.len()).rev() {
        parts.swap(i, random.below(i as u64 + 1) as usize);
    }
    parts
}

/// The elements of a box of a whole whose elements are their numbers.
pub fn elements(whole: &[i64], (at, extents): &Part, add: f64) -> Vec<f64> {
    let count: i64 = extents.iter().product();
    let element = |number: i64| {
        let (mut rest, mut index, mut step) = (number, 0, 1);
        for dim in (0..whole.len()).rev() {
            index += (at[dim] + rest % extents[dim]) * step;
            rest /= extents[dim];
            step *= whole[dim];
        }
        index as f64 + add
    };
    (0..count).map(element).collect()
}

/// Which fields of a rank lie in memory that only copies reach, as on a device.
#[derive(Clone)]
#[allow(dead_code)] // As below.
pub struct Devices {
    seed: u64,
    /// Of how many fields one does not; 0 for none.
    every: u64,
    pub copies: Copies,
}

#[allow(dead_code)] // Not all test programs put fields on devices.
impl Devices {
    /// Some, by their names.
    pub fn some(seed: u64) -> Self {
        let copies = Copies::default();
        Devices {
            seed,
            every: 3,
            copies,
        }
    }

    /// All.
    pub fn all() -> Self {
        let every = 0;
        Devices {
            every,
            ..Devices::some(0)
        }
    }

    fn has(&self, name: &str) -> bool {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        self.every == 0 || hasher.hash_one((self.seed, name)) % self.every > 0
    }

    /// From now on the fields of this rank, which is a thread.
    pub fn use_now(&self) {
        DEVICES.set(Some(self.clone()));
    }

    /// All fields of this rank are in the processor's memory.
    pub fn none() {
        DEVICES.set(None);
    }
}

thread_local! {
    static DEVICES: RefCell<Option<Devices>> = const { RefCell::new(None) };
}

/// Lists a field in `length` bytes of memory, of which byte `first` is that of its first element.
pub fn give(
    list: &mut List<'_>,
    spec: Spec<'_>,
    memory: &mut Slice<'_>,
    (first, length): (usize, usize),
) -> scr::Result<()> {
    let devices = DEVICES.with_borrow(|devices| devices.clone());
    let Some(devices) = devices.filter(|devices| devices.has(spec.name)) else {
        return list.field(spec, Some(memory));
    };
    let begin = -(first as i64);
    let bytes = memory.bytes(begin, length)?.to_vec();
    let mut apart = RemoteMemory(Apart::new(bytes, first, &devices.copies));
    let listed = list.field(spec, Some(&mut apart));
    let bytes = apart.0.into_bytes();
    memory.bytes_mut(begin, length)?.copy_from_slice(&bytes);
    listed
}

pub fn list_part(
    list: &mut List<'_>,
    name: &str,
    whole: &[i64],
    (at, extents): &Part,
    data: &mut [f64],
) -> scr::Result<()> {
    let spec = Spec {
        name,
        kind: Kind::new(Class::Real, 8),
        extents,
        strides: None,
        place: Place::Part { whole, at },
    };
    let length = size_of_val(data);
    give(list, spec, &mut Slice::new(data), (0, length))
}

/// The index lists of all ranks that have each index of a whole once, in any order: blocks, or scattered indices.
pub fn partition((first, whole): (i64, i64), ranks: usize, random: &mut Random) -> Vec<Vec<i64>> {
    let mut lists: Vec<Vec<i64>> = vec![Vec::new(); ranks];
    let style = random.below(4);
    let block = 1 + random.below(7) as i64;
    for index in 0..whole {
        let rank = match style {
            0 => index as usize * ranks / whole.max(1) as usize,
            1 => (index / block) as usize % ranks,
            // Some ranks may get nothing.
            _ => random.below(ranks as u64) as usize,
        };
        lists[rank].push(index + first);
    }
    for list in &mut lists {
        match random.below(3) {
            0 => list.reverse(),
            1 => shuffle(list, random),
            _ => {}
        }
    }
    lists
}

fn shuffle(list: &mut [i64], random: &mut Random) {
    for at in (1..list.len()).rev() {
        list.swap(at, random.below(at as u64 + 1) as usize);
    }
}

/// Lists an array whose slowest dimension goes by an index list.
pub fn by_index<T: Element>(
    list: &mut List<'_>,
    (name, index): (&str, &str),
    extents: &[i64],
    data: &mut [T],
) -> scr::Result<()> {
    let known = list.known_index(index)?;
    let spec = Spec {
        name,
        kind: T::KIND,
        extents,
        strides: None,
        place: Place::Indexed { list: &known },
    };
    let length = size_of_val(data);
    give(list, spec, &mut Slice::new(data), (0, length))
}

/// Writes a checkpoint of what `routine` lists.
pub fn save(
    rank: &mut Rank,
    name: &str,
    mut routine: impl FnMut(&mut List<'_>) -> scr::Result<()>,
) -> scr::Result<()> {
    let flags = Ok((true, false));
    let name = Some(Name::from(name));
    checkpoint(&mut rank.session, name, flags, &mut routine)
}
