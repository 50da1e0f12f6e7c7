//! Keeps the values of variables in a file, compares them with those of another process, and puts them into it.

use super::memory::{Mapping, Memory, Process};
use super::types::Kind;
use super::walk::Leaf;
use scr_engine::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;

/// Elements that are further apart are read one by one.
const NEAR: u64 = 4096;

/// Values of a process at one moment.
pub struct Image {
    path: PathBuf,
    file: File,
    /// The leaves by their keys, with their offsets in the file.
    leaves: BTreeMap<String, (Leaf, u64)>,
    mappings: Vec<Mapping>,
}

/// How a leaf of a process differs from the image.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The elements of the process.
    pub leaf: Leaf,
    /// Number of elements that differ and that the program has not listed.
    pub count: u64,
    /// Number of elements that differ although they are listed.
    pub listed: u64,
    /// What differs may be no elements.
    pub doubtful: bool,
    /// What is different.
    pub how: How,
}

/// A difference.
#[derive(Debug, Clone, PartialEq)]
pub enum How {
    /// Values of elements.
    Values {
        /// The first one: of the image, and of the process.
        first: Option<(f64, f64)>,
        /// The largest difference.
        largest: Option<f64>,
    },
    /// The image has so many elements.
    Shape {
        /// Their number, as it is shown.
        image: String,
    },
    /// It is there in the image only, or not there in the image only.
    Presence {
        /// It is there in the image.
        image: bool,
    },
}

/// The addresses that a program has listed.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    /// Parts that do not overlap, in order.
    parts: Vec<(u64, u64)>,
}

/// A program lists so many parts; what is beyond is taken as whole spans.
const MOST_PARTS: u64 = 1 << 20;

impl Listed {
    /// Adds elements of this size at an address.
    pub fn add(&mut self, address: u64, size: u64, dims: &[(u64, i64)]) {
        let mut dims: Vec<(u64, i64)> = dims
            .iter()
            .copied()
            .filter(|(count, _)| *count != 1)
            .collect();
        if dims.iter().any(|(count, _)| *count == 0) {
            return;
        }
        dims.sort_by_key(|(_, stride)| stride.unsigned_abs());
        // What lies one after the other is one part.
        let mut whole = size;
        let mut rest = &dims[..];
        while let [(count, stride), more @ ..] = rest
            && stride.unsigned_abs() <= whole
        {
            whole = whole.saturating_mul(*count);
            rest = more;
        }
        let parts = rest
            .iter()
            .map(|(count, _)| *count)
            .fold(1, u64::saturating_mul);
        let backwards = dims.iter().filter(|(_, stride)| *stride < 0);
        let first = backwards.fold(address, |first, (count, stride)| {
            first.wrapping_add_signed(stride.wrapping_mul(*count as i64 - 1))
        });
        if parts > MOST_PARTS {
            let span = rest.last().map_or(whole, |(count, stride)| {
                stride.unsigned_abs().saturating_mul(*count)
            });
            self.parts.push((first, first.saturating_add(span)));
            return;
        }
        for number in 0..parts {
            let (mut left, mut begin) = (number, first);
            for (count, stride) in rest {
                begin = begin.wrapping_add((left % count).wrapping_mul(stride.unsigned_abs()));
                left /= count;
            }
            self.parts.push((begin, begin.saturating_add(whole)));
        }
    }

    /// Call it after the last part was added.
    pub fn settle(&mut self) {
        self.parts.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (begin, end) in self.parts.drain(..) {
            match merged.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((begin, end)),
            }
        }
        self.parts = merged;
    }

    /// True if the program has listed this address.
    pub fn has(&self, address: u64) -> bool {
        let after = self.parts.partition_point(|(begin, _)| *begin <= address);
        let found = after.checked_sub(1).and_then(|at| self.parts.get(at));
        found.is_some_and(|(_, end)| address < *end)
    }

    /// Number of listed bytes from `begin` on and before `end`.
    pub(super) fn within(&self, begin: u64, end: u64) -> u64 {
        let first = self.parts.partition_point(|part| part.1 <= begin);
        let parts = self.parts.get(first..).unwrap_or_default().iter();
        parts
            .take_while(|part| part.0 < end)
            .map(|part| part.1.min(end) - part.0.max(begin))
            .sum()
    }

    /// True if nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

impl Image {
    /// Writes the values of these leaves to a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn take(path: &Path, process: &Process, leaves: Vec<Leaf>) -> Result<Self> {
        let failed = |error| Error::io("write", path, error);
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path);
        let mut image = Image {
            path: path.to_path_buf(),
            file: file.map_err(failed)?,
            leaves: BTreeMap::new(),
            mappings: process.mappings.clone(),
        };
        let mut end = 0;
        for leaf in leaves {
            let begin = end;
            let mut written = Ok(());
            let read = for_each_piece(process, &leaf, &mut |_, bytes| {
                if written.is_ok() {
                    written = image.file.write_all_at(bytes, end);
                }
                end += bytes.len() as u64;
            });
            written.map_err(failed)?;
            // What cannot be read is no variable.
            if read {
                image.leaves.insert(leaf.key.clone(), (leaf, begin));
            } else {
                end = begin;
            }
        }
        Ok(image)
    }

    /// The leaves of a process that differ from those of the image. A leaf that only one of them has is left out.
    ///
    /// # Errors
    /// The file of the image cannot be read.
    pub fn differences(
        &self,
        process: &Process,
        leaves: &[Leaf],
        listed: &Listed,
    ) -> Result<Vec<Difference>> {
        let mut found = Vec::new();
        for leaf in leaves {
            let Some((own, offset)) = self.leaves.get(&leaf.key) else {
                continue;
            };
            let common = leaf.common(own);
            let leaf = common.as_ref().unwrap_or(leaf);
            let difference = match (own.kind, leaf.kind) {
                (Kind::Presence(image), Kind::Presence(now)) => {
                    (image != now).then_some(How::Presence { image })
                }
                _ if common.is_none() && !is_alike(own, leaf) => {
                    let image = match own.dims[..] {
                        // A text has characters.
                        [] => own.size.to_string(),
                        _ => own.shape(),
                    };
                    Some(How::Shape { image })
                }
                _ => {
                    let values = self.compare(process, (leaf, *offset), listed)?;
                    found.extend(values);
                    continue;
                }
            };
            found.extend(difference.map(|how| Difference {
                count: leaf.count().max(1),
                listed: 0,
                doubtful: false,
                leaf: leaf.clone(),
                how,
            }));
        }
        Ok(found)
    }

    fn compare(
        &self,
        process: &Process,
        (leaf, offset): (&Leaf, u64),
        listed: &Listed,
    ) -> Result<Option<Difference>> {
        let mut sum = Sum::default();
        let (mut saved, mut failed) = (Vec::new(), None);
        let size = leaf.size.max(1);
        for_each_piece(process, leaf, &mut |first, bytes| {
            saved.resize(bytes.len(), 0);
            if let Err(error) = self.file.read_exact_at(&mut saved, offset + first * size) {
                failed = Some(Error::io("read", &self.path, error));
                return;
            }
            if saved == bytes {
                return;
            }
            self.pass_over_addresses(process, (leaf, first), &mut saved, bytes);
            let pairs = saved.chunks(size as usize).zip(bytes.chunks(size as usize));
            for (at, (one, other)) in pairs.enumerate() {
                if self.is_same(process, leaf, (one, other)) {
                    continue;
                }
                if listed.has(address_of(leaf, first + at as u64)) {
                    sum.listed += 1;
                } else {
                    sum.begin.get_or_insert(first + at as u64);
                    sum.add(leaf, one, other);
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        Ok((sum.count + sum.listed > 0).then(|| Difference {
            leaf: leaf.clone(),
            count: sum.count,
            listed: sum.listed,
            doubtful: sum.listed == 0 && sum.begin.is_some_and(|at| leaf.may_end_before(at)),
            how: How::Values {
                first: sum.first,
                largest: sum.largest,
            },
        }))
    }

    /// What is an address in both processes is no difference, and is not put: two processes have other ones. This is so in
    /// whatever they lie, such as bytes where the C++ library keeps an object.
    fn pass_over_addresses(
        &self,
        process: &Process,
        (leaf, first): (&Leaf, u64),
        saved: &mut [u8],
        bytes: &[u8],
    ) {
        let packed = leaf
            .dims
            .last()
            .is_none_or(|(_, stride)| *stride == leaf.size as i64);
        if leaf.kind == Kind::Target || !packed && !leaf.size.is_multiple_of(8) {
            return;
        }
        let begin = (8 - address_of(leaf, first) % 8) % 8;
        let saved = saved.get_mut(begin as usize..).unwrap_or_default();
        let bytes = bytes.get(begin as usize..).unwrap_or_default();
        for (one, other) in saved.chunks_exact_mut(8).zip(bytes.chunks_exact(8)) {
            if one != other && self.is_address(one) && is_address_in(process, other) {
                one.copy_from_slice(other);
            }
        }
    }

    fn is_same(&self, process: &Process, leaf: &Leaf, (one, other): (&[u8], &[u8])) -> bool {
        let used = match used_bytes(leaf) {
            used if used < one.len() => used,
            _ => one.len(),
        };
        if let Some(bits) = leaf.bits {
            return (whole(one) ^ whole(other)) & bits.mask() == 0;
        }
        if one.get(..used) == other.get(..used) {
            return true;
        }
        match leaf.kind {
            Kind::Words => self.is_address(one) && is_address_in(process, other),
            Kind::Target => self.target_in(process, one).as_deref() == Some(other),
            _ => false,
        }
    }

    /// The address of a process that is what this one was in the image: as far after the begin of the same file.
    fn target_in(&self, process: &Process, bytes: &[u8]) -> Option<Vec<u8>> {
        let address = word(bytes)?;
        let mut own = self.mappings.iter();
        let of = own.find(|mapping| (mapping.begin..mapping.end).contains(&address))?;
        let begin = |all: &[Mapping]| Some(all.iter().find(|one| one.file == of.file)?.begin);
        let offset = address - begin(&self.mappings)?;
        let there = begin(&process.mappings)?.checked_add(offset)?;
        Some(there.to_le_bytes().to_vec())
    }

    fn is_address(&self, bytes: &[u8]) -> bool {
        let Some(address) = word(bytes) else {
            return false;
        };
        let mut mappings = self.mappings.iter();
        mappings.any(|mapping| (mapping.begin..mapping.end).contains(&address))
    }

    /// Puts the values of the image into a process, of the leaves with these names. Elements that the program has listed stay
    /// as they are. Returns the number of leaves that were written.
    ///
    /// # Errors
    /// The file of the image cannot be read.
    pub fn put(
        &self,
        process: &Process,
        leaves: &[Leaf],
        (names, listed): (&BTreeSet<String>, &Listed),
    ) -> Result<usize> {
        let mut count = 0;
        for leaf in leaves.iter().filter(|leaf| names.contains(&leaf.shown)) {
            let Some((own, offset)) = self.leaves.get(&leaf.key) else {
                continue;
            };
            let common = leaf.common(own);
            let alike = common.is_some() || is_alike(own, leaf);
            let leaf = common.as_ref().unwrap_or(leaf);
            if leaf.size == 0 || leaf.value.is_some() || !alike {
                continue;
            }
            let size = leaf.size as usize;
            let (mut saved, mut failed) = (Vec::new(), None);
            for_each_piece(process, leaf, &mut |first, bytes| {
                saved.resize(bytes.len(), 0);
                if let Err(error) = self
                    .file
                    .read_exact_at(&mut saved, offset + first * leaf.size)
                {
                    failed = Some(Error::io("read", &self.path, error));
                    return;
                }
                self.pass_over_addresses(process, (leaf, first), &mut saved, bytes);
                let pairs = saved.chunks(size).zip(bytes.chunks(size));
                for (at, (one, other)) in pairs.enumerate().filter(|(_, (one, other))| one != other)
                {
                    let address = address_of(leaf, first + at as u64);
                    let is_pointer = leaf.kind == Kind::Words
                        && (self.is_address(one) || is_address_in(process, other));
                    let target = match leaf.kind {
                        Kind::Target => self.target_in(process, one),
                        _ => None,
                    };
                    if is_pointer || listed.has(address) {
                        continue;
                    }
                    match leaf.bits {
                        None => process.write(address, target.as_deref().unwrap_or(one)),
                        Some(bits) => {
                            let (keep, mask) = (whole(other) & !bits.mask(), bits.mask());
                            let merged = (keep | whole(one) & mask).to_le_bytes();
                            process.write(address, merged.get(..size).unwrap_or(&merged))
                        }
                    };
                }
            });
            if let Some(error) = failed {
                return Err(error);
            }
            count += 1;
        }
        Ok(count)
    }

    /// True if the image has a leaf of this key.
    pub fn has(&self, key: &str) -> bool {
        self.leaves.contains_key(key)
    }
}

fn is_alike(own: &Leaf, leaf: &Leaf) -> bool {
    own.count() == leaf.count() && own.size == leaf.size
}

fn word(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

pub(super) fn is_address_in(process: &Process, bytes: &[u8]) -> bool {
    word(bytes).is_some_and(|address| process.mapping(address).is_some())
}

/// Up to eight bytes as a number.
fn whole(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().take(8).enumerate();
    bytes.fold(0, |all, (place, byte)| {
        all | u64::from(*byte) << (8 * place)
    })
}

/// The bytes of an element that have a meaning: the extended numbers of x86 have 10.
pub(super) fn used_bytes(leaf: &Leaf) -> usize {
    let extended = leaf.type_name.contains("long double") || leaf.type_name.contains("(10)");
    match leaf.kind {
        Kind::Real if cfg!(target_arch = "x86_64") && extended => 10,
        _ => leaf.size as usize,
    }
}

/// The address of an element.
pub(super) fn address_of(leaf: &Leaf, number: u64) -> u64 {
    let (mut left, mut address) = (number, leaf.address);
    for (count, stride) in leaf.dims.iter().rev() {
        let step = (left % (*count).max(1)) as i64;
        address = address.wrapping_add_signed(step.wrapping_mul(*stride));
        left /= (*count).max(1);
    }
    address
}

/// Reads the elements of a leaf, a piece at a time, and calls `work` with the number of the first element of each piece. False if
/// they cannot be read.
pub(super) fn for_each_piece(
    process: &Process,
    leaf: &Leaf,
    work: &mut dyn FnMut(u64, &[u8]),
) -> bool {
    let (count, size) = (leaf.count(), leaf.size);
    if size == 0 || count == 0 {
        return true;
    }
    if let Some(value) = &leaf.value {
        work(0, value);
        return true;
    }
    // The elements that have one distance, as far as dimensions follow each other without a gap.
    let (mut row, mut distance) = (1u64, size as i64);
    for (place, (count, stride)) in leaf.dims.iter().rev().enumerate() {
        if place == 0 {
            distance = *stride;
        } else if *stride != distance.wrapping_mul(row as i64) {
            break;
        }
        row = row.saturating_mul(*count);
    }
    let near = distance > 0 && distance.unsigned_abs() <= NEAR.max(size);
    let at_once = if near {
        (PIECE as u64 / distance.unsigned_abs().max(1)).max(1)
    } else {
        1
    };
    let (mut raw, mut packed) = (Vec::new(), Vec::new());
    let mut number = 0;
    while number < count {
        let now = at_once.min(row - number % row.max(1)).min(count - number);
        let span = (now - 1) * distance.unsigned_abs() + size;
        raw.resize(span as usize, 0);
        if !process.read(address_of(leaf, number), &mut raw) {
            return false;
        }
        if now == 1 || distance.unsigned_abs() == size {
            work(number, &raw);
        } else {
            packed.clear();
            for element in raw.chunks(distance.unsigned_abs() as usize) {
                packed.extend_from_slice(element.get(..size as usize).unwrap_or(element));
            }
            work(number, &packed);
        }
        number += now;
    }
    true
}

#[derive(Default)]
struct Sum {
    count: u64,
    listed: u64,
    /// The first element that differs and is not listed.
    begin: Option<u64>,
    first: Option<(f64, f64)>,
    largest: Option<f64>,
}

impl Sum {
    fn add(&mut self, leaf: &Leaf, one: &[u8], other: &[u8]) {
        self.count += 1;
        let (Some(a), Some(b)) = (value(leaf, one), value(leaf, other)) else {
            return;
        };
        self.first.get_or_insert((a, b));
        let distance = (a - b).abs();
        if self.largest.is_none_or(|largest| distance > largest) {
            self.largest = Some(distance);
        }
    }
}

/// An element as a number.
fn value(leaf: &Leaf, bytes: &[u8]) -> Option<f64> {
    let kind = leaf.kind;
    if let Some(bits) = leaf.bits {
        let number = (whole(bytes) & bits.mask()) >> bits.first;
        let shift = 64 - bits.count;
        return Some(match kind {
            Kind::Signed => (((number << shift) as i64) >> shift) as f64,
            _ => number as f64,
        });
    }
    let integer = || {
        let mut whole = [0; 8];
        whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some((u64::from_le_bytes(whole), 64 - 8 * bytes.len() as u32))
    };
    match kind {
        Kind::Real => match bytes.len() {
            4 => Some(f32::from_le_bytes(bytes.try_into().ok()?).into()),
            8 => Some(f64::from_le_bytes(bytes.try_into().ok()?)),
            _ => None,
        },
        Kind::Signed => {
            let (number, shift) = integer()?;
            Some((((number << shift) as i64) >> shift) as f64)
        }
        Kind::Unsigned => Some(integer()?.0 as f64),
        _ => None,
    }
}
