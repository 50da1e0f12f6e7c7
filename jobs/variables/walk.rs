//! Follows the variables of a process to their elements.

use super::dwarf::Language;
use super::locate::{Frame, Place};
use super::memory::Memory;
use super::types::{Array, Bits, Expression, Kind, Member, Type, TypeId, Types};
use std::cell::Cell;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::rc::Rc;

mod pointers;

/// Pointers are followed so far.
const MOST_DEPTH: usize = 100;
/// Records without pointers have records inside so far.
pub(super) const MOST_NESTED: usize = 12;
/// A process is looked at with so many parts.
pub const MOST_LEAVES: usize = 100_000;
/// An array of records with pointers is followed so far.
const MOST_RECORDS: u64 = 2000;
/// An element, such as a text, has at most so many bytes.
const LARGEST_ELEMENT: u64 = 1 << 24;
/// A block of malloc of glibc is at most so many bytes larger than what was asked for.
const SLACK: u64 = 31;
/// A block of malloc may have so many bytes before it is taken for none.
const LARGEST_BLOCK: u64 = 1 << 46;

/// Elements of one type, with equal distances.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// The path from the variable, by which the leaves of two processes are compared.
    pub key: String,
    /// As users write it.
    pub shown: String,
    /// The place of the declaration, which may be "".
    pub place: String,
    /// `real(8)`, `double`.
    pub type_name: String,
    /// What its elements are.
    pub kind: Kind,
    /// Size of an element, bytes.
    pub size: u64,
    /// The address of the first element.
    pub address: u64,
    /// The bytes of its elements, if they are not in memory.
    pub value: Option<Vec<u8>>,
    /// Number of elements and their distance in bytes for each dimension, the fastest last.
    pub dims: Vec<(u64, i64)>,
    /// The dimensions in the order of the language.
    pub by_column: bool,
    /// The bits of an element that count, of a bit field.
    pub bits: Option<Bits>,
    /// Bytes at the end that may be none of its elements: a block of malloc is larger than what was asked for.
    pub slack: u64,
    /// In a frame: what lies there need not be in use.
    pub local: bool,
}

impl Leaf {
    /// The elements that both have, if these are parts of blocks of which one may be larger.
    pub(super) fn common(&self, other: &Leaf) -> Option<Leaf> {
        let ([(own, stride)], [(count, _)]) = (&self.dims[..], &other.dims[..]) else {
            return None;
        };
        let beyond = own.abs_diff(*count).saturating_mul(stride.unsigned_abs());
        let alike = self.size == other.size && self.slack > 0 && beyond <= self.slack;
        alike.then(|| Leaf {
            dims: vec![(*own.min(count), *stride)],
            ..self.clone()
        })
    }

    /// True if all elements from this one on may be none.
    pub(super) fn may_end_before(&self, element: u64) -> bool {
        let [(count, stride)] = self.dims[..] else {
            return false;
        };
        let behind = (count.saturating_sub(element)).saturating_mul(stride.unsigned_abs());
        // What is small is in the slack as a whole.
        let small = count.saturating_mul(stride.unsigned_abs()) <= 2 * self.slack;
        !small && behind <= self.slack
    }

    /// The bytes of the array before the address of its first element, and from that address on. `None` if the array has
    /// no element, or if its elements overlap.
    pub(super) fn reach(&self) -> Option<(u64, u64)> {
        reach(&self.dims, self.size).filter(|_| self.count() > 0)
    }

    /// Number of elements.
    pub fn count(&self) -> u64 {
        number_of(&self.dims)
    }

    /// `128x64`; "" for a single element.
    pub fn shape(&self) -> String {
        let mut counts: Vec<String> = self
            .dims
            .iter()
            .map(|(count, _)| count.to_string())
            .collect();
        if self.by_column {
            counts.reverse();
        }
        counts.join("x")
    }
}

fn number_of(dims: &[(u64, i64)]) -> u64 {
    dims.iter()
        .map(|(count, _)| *count)
        .fold(1, u64::saturating_mul)
}

/// How many bytes elements of a size reach before the first one and from it on. `None` if they lie in each other's place.
fn reach(dims: &[(u64, i64)], size: u64) -> Option<(u64, u64)> {
    let (mut before, mut after) = (0i128, i128::from(size));
    let mut bytes = i128::from(size);
    for (count, stride) in dims {
        let far = i128::from(count.saturating_sub(1)) * i128::from(*stride);
        before += (-far).max(0);
        after += far.max(0);
        bytes = bytes.checked_mul(i128::from(*count))?;
    }
    let fits = bytes <= before + after;
    fits.then_some((u64::try_from(before).ok()?, u64::try_from(after).ok()?))
}

/// The variable that is followed.
pub(super) struct Root<'a> {
    pub name: &'a str,
    pub place: &'a str,
    pub language: Language,
    pub local: bool,
}

pub(super) struct Walker<'a> {
    pub memory: &'a dyn Memory,
    pub types: &'a Types,
    pub bias: u64,
    pub frame: Option<(Frame, Option<&'a Expression>)>,
    pub seen: &'a mut Seen,
    /// Pointers are followed, too.
    pub pointers: bool,
    /// Records of a list or a tree that are still to be followed.
    pub pending: VecDeque<(TypeId, u64, Path)>,
    pub elsewhere: &'a Elsewhere<'a>,
}

/// The types that one file declares and another one has: by their names, each with the types of its file, and what is added to
/// addresses of this file.
pub(super) type Elsewhere<'a> = BTreeMap<&'a str, (&'a Types, TypeId, u64)>;

/// What was found in a process.
#[derive(Default)]
pub struct Seen {
    /// The elements of its variables.
    pub leaves: Vec<Leaf>,
    /// There was more than was followed.
    pub cut: bool,
    /// So many variables were put together from pieces.
    pub assembled: u64,
    visited: HashSet<(u64, Extent)>,
}

/// Something at the same address may be a record and its first member.
type Extent = (u64, bool, u64);

#[derive(Clone)]
pub(super) struct Path {
    key: String,
    shown: String,
    pub dims: Vec<(u64, i64)>,
    by_column: bool,
    depth: usize,
    bits: Option<Bits>,
    slack: u64,
    /// In the frame itself, and not behind a pointer.
    local: bool,
    chain: Option<Rc<Chain>>,
}

/// Records that point to records of their type: lists and trees. They are numbered, and have one name.
#[derive(Clone)]
struct Chain {
    record: TypeId,
    key: String,
    shown: String,
    depth: usize,
    /// Length of the name of the record that is followed.
    own: usize,
    count: Rc<Cell<u64>>,
    /// That of the record that this one is in, or that points to it.
    outer: Option<Rc<Chain>>,
}

impl Path {
    /// With these dimensions, too.
    pub fn with(&self, dims: &[(u64, i64)]) -> Self {
        let mut with = self.clone();
        with.dims.extend(dims);
        with
    }

    /// The chain of records of this type that it is in.
    fn chain_of(&self, record: TypeId) -> Option<Rc<Chain>> {
        let mut chain = self.chain.clone();
        while let Some(found) = chain.as_ref().filter(|found| found.record != record) {
            chain = found.outer.clone();
        }
        chain
    }
}

impl Path {
    pub fn below(&self, key: &str, shown: &str) -> Self {
        Path {
            key: format!("{}{key}", self.key),
            shown: format!("{}{shown}", self.shown),
            ..self.clone()
        }
    }

    pub fn deeper(&self) -> Self {
        Path {
            depth: self.depth + 1,
            ..self.clone()
        }
    }
}

impl<'a> Walker<'a> {
    /// Adds what can be reached from a variable at an address.
    pub fn follow(&mut self, root: &Root<'a>, of: TypeId, address: u64) {
        let path = Path {
            key: root.name.to_string(),
            shown: root.name.to_string(),
            dims: Vec::new(),
            by_column: root.language == Language::Fortran,
            depth: 0,
            bits: None,
            slack: 0,
            local: root.local,
            chain: None,
        };
        self.value(root, of, address, &path);
        self.follow_pending(root);
    }

    fn follow_pending(&mut self, root: &Root<'a>) {
        while let Some((of, address, path)) = self.pending.pop_front() {
            self.value(root, of, address, &path);
        }
    }

    pub fn add(&mut self, root: &Root<'a>, path: &Path, address: u64, what: (Kind, u64, &str)) {
        let (kind, size, type_name) = what;
        if self.seen.leaves.len() >= MOST_LEAVES {
            self.seen.cut = true;
            return;
        }
        let count = number_of(&path.dims);
        if size > 0 && !self.is_there(address, size) {
            return;
        }
        // Another name for the same elements.
        let bits = path.bits.map_or(0, Bits::mask);
        let place = (address, (count.wrapping_mul(size), false, bits));
        if size > 0 && count > 0 && !self.seen.visited.insert(place) {
            return;
        }
        self.seen.leaves.push(Leaf {
            key: path.key.clone(),
            shown: path.shown.clone(),
            place: root.place.to_string(),
            type_name: type_name.to_string(),
            kind,
            size,
            address,
            value: None,
            dims: path.dims.clone(),
            by_column: path.by_column,
            bits: path.bits,
            slack: path.slack,
            local: path.local,
        });
    }

    /// False for what only looks like an element, such as a variable that was not set yet.
    fn is_there(&self, address: u64, size: u64) -> bool {
        let last = address.checked_add(size - 1);
        size <= LARGEST_ELEMENT
            && self.memory.mapping(address).is_some()
            && last.is_some_and(|last| self.memory.mapping(last).is_some())
    }

    /// Whether there is something behind the pointer or descriptor at an address.
    pub fn presence(&mut self, root: &Root<'a>, path: &Path, (at, present): (u64, bool)) {
        if !self.seen.visited.insert((at, (0, false, 0))) {
            return;
        }
        let path = Path {
            key: format!("{} is there", path.key),
            dims: Vec::new(),
            ..path.clone()
        };
        self.add(root, &path, 0, (Kind::Presence(present), 0, ""));
    }

    pub fn value(&mut self, root: &Root<'a>, of: TypeId, address: u64, path: &Path) {
        if path.depth > MOST_DEPTH {
            self.seen.cut = true;
            return;
        }
        let types = self.types;
        match types.get(of) {
            Type::Scalar { kind, size, name } => match kind {
                Kind::Words => self.words(root, path, address, *size),
                kind => self.add(root, path, address, (*kind, *size, name)),
            },
            Type::Text { length } => {
                let place = self.place(address);
                let length = place.number(length).unwrap_or(0);
                let length = u64::try_from(length).unwrap_or(0);
                if length > 0 && self.memory.mapping(address).is_some() {
                    let name = format!("character({length})");
                    self.add(root, path, address, (Kind::Bytes, length, &name));
                }
            }
            Type::Array(array) => self.array(root, array, address, path),
            Type::Record { name, members, .. } if name.starts_with("__class_") => {
                self.class(root, members, address, path);
            }
            Type::Record { name, members, .. } => {
                if !self.is_of_library(root, (of, name), address, path) {
                    let path = self.chained(of, path);
                    self.members(root, members, address, &path);
                }
            }
            Type::Pointer { to } => self.pointer(root, *to, address, path),
            Type::Descriptor { own } => self.descriptor(root, *own, address, path),
            Type::Declared { .. } | Type::Skipped => {}
        }
    }

    fn place(&self, object: u64) -> Place<'a> {
        Place {
            memory: self.memory,
            bias: self.bias,
            object,
            frame: self.frame,
        }
    }

    fn members(&mut self, root: &Root<'a>, members: &[Member], address: u64, path: &Path) {
        let mark = match root.language {
            Language::Fortran => '%',
            Language::C => '.',
        };
        for member in members {
            // What the compilers put around a value is no name that a user knows.
            let hidden =
                member.name.is_empty() || member.name.starts_with("_M_") || member.name == "_data";
            if member.name == "_vptr" || member.name.starts_with("_vptr.") {
                continue;
            }
            let key = format!("{mark}{}@{}", member.name, member.offset);
            let shown = if hidden {
                String::new()
            } else {
                format!("{mark}{}", member.name)
            };
            let mut below = path.below(&key, &shown);
            let at = match &member.base {
                // A virtual base class may be elsewhere in each class.
                Some(base) => self.place(address).from(base, address),
                None => Some(address.wrapping_add(member.offset)),
            };
            let Some(at) = at else { continue };
            match (member.bits, self.types.get(member.of)) {
                (Some(bits), Type::Scalar { kind, name, .. }) => {
                    below.bits = Some(bits);
                    self.add(root, &below, at, (*kind, bits.bytes(), name));
                }
                _ => self.value(root, member.of, at, &below),
            }
        }
    }

    /// An object of Fortran's `class`: its data are of the type that its `_vptr` tells.
    fn class(&mut self, root: &Root<'a>, members: &[Member], address: u64, path: &Path) {
        let types = self.types;
        let find = |name: &str| members.iter().find(|member| member.name == name);
        let table = find("_vptr").map(|member| address.wrapping_add(member.offset));
        if let Some(table) = table {
            self.target(root, table, &path.below("%_vptr", " (its type)"));
        }
        let table = table.and_then(|at| self.memory.number(at, 8));
        let dynamic = table.and_then(|at| types.dynamic.get(&at.wrapping_sub(self.bias)));
        let Some(data) = find("_data") else {
            return;
        };
        let (at, path) = (address.wrapping_add(data.offset), path.below("%_data", ""));
        let Some(dynamic) = dynamic else {
            match (types.get(data.of), table, find("_len")) {
                (Type::Pointer { .. }, Some(table), Some(length)) => {
                    let length = address.wrapping_add(length.offset);
                    self.of_any_type(root, at, (table, length), &path);
                }
                _ => self.value(root, data.of, at, &path),
            }
            return;
        };
        match types.get(data.of) {
            Type::Array(array) => {
                let array = Array {
                    element: *dynamic,
                    ..array.clone()
                };
                self.array(root, &array, at, &path);
            }
            _ => self.pointer(root, Some(*dynamic), at, &path),
        }
    }

    /// A pointer to something in a file, which is compared as it is. False if it is not one.
    fn target(&mut self, root: &Root<'a>, address: u64, path: &Path) -> bool {
        let target = self.memory.number(address, 8);
        let mapping = target.and_then(|target| self.memory.mapping(target));
        let in_file = mapping.is_some_and(|mapping| mapping.file.starts_with('/'));
        if in_file {
            self.add(root, path, address, (Kind::Target, 8, "pointer"));
        }
        in_file
    }

    fn array(&mut self, root: &Root<'a>, array: &Array, address: u64, path: &Path) {
        if array.pointer && !self.pointers {
            return;
        }
        let place = self.place(address);
        let mut first = address;
        if let Some(location) = &array.location {
            let present = array.present.as_ref();
            let present = present.and_then(|present| place.evaluate(present));
            let found = place.evaluate(location).unwrap_or(0);
            let there = present != Some(0) && self.memory.mapping(found).is_some();
            self.presence(root, path, (address, there));
            if !there {
                return;
            }
            first = found;
        }
        let Some(dims) = self.dims(array, &place) else {
            return;
        };
        let size = self.types.size(array.element).unwrap_or(0);
        if !self.are_there(first, &dims, size.max(1)) {
            return;
        }
        if self.types.is_plain(array.element, MOST_NESTED) {
            self.value(root, array.element, first, &path.with(&dims));
        } else {
            self.each(root, array.element, first, (path, &dims));
        }
    }

    /// False if the elements that a descriptor tells of cannot be there: it may not have been set yet.
    pub fn are_there(&self, first: u64, dims: &[(u64, i64)], size: u64) -> bool {
        let is_mapped = |at: Option<u64>| at.is_some_and(|at| self.memory.mapping(at).is_some());
        let within = |(before, after): (u64, u64)| {
            is_mapped(first.checked_sub(before)) && is_mapped(first.checked_add(after - 1))
        };
        number_of(dims) > 0 && reach(dims, size).is_some_and(within)
    }

    /// The dimensions, the fastest last.
    fn dims(&self, array: &Array, place: &Place<'_>) -> Option<Vec<(u64, i64)>> {
        let element = match self.types.get(array.element) {
            // An array of texts that share a length.
            Type::Text { length } => u64::try_from(place.number(length)?).ok()?,
            _ => self.types.size(array.element).unwrap_or(0),
        };
        let mut extents: Vec<_> = array.extents.iter().collect();
        if !array.by_column {
            extents.reverse();
        }
        // The fastest first, as long as the distances are found.
        let mut dims = Vec::new();
        let mut next = i64::try_from(element).ok()?;
        for extent in extents {
            let count = match (&extent.count, &extent.upper) {
                (Some(count), _) => place.number(count)?,
                (None, Some(upper)) => {
                    let lower = place.number(&extent.lower)?;
                    place.number(upper)?.checked_sub(lower)?.checked_add(1)?
                }
                _ => return None,
            };
            let count = count.max(0);
            let stride = match &extent.stride {
                Some(stride) => place.number(stride)?,
                None => next,
            };
            next = stride.checked_mul(count.max(1))?;
            dims.push((count.unsigned_abs(), stride));
        }
        dims.reverse();
        Some(dims)
    }

    /// Follows each element of an array of records with pointers.
    pub fn each(
        &mut self,
        root: &Root<'a>,
        element: TypeId,
        first: u64,
        (path, dims): (&Path, &[(u64, i64)]),
    ) {
        let count = number_of(dims);
        if count > MOST_RECORDS {
            self.seen.cut = true;
        }
        for number in 0..count.min(MOST_RECORDS) {
            let (mut left, mut address) = (number, first);
            for (count, stride) in dims.iter().rev() {
                let step = (left % count) as i64;
                address = address.wrapping_add_signed(step.wrapping_mul(*stride));
                left /= count;
            }
            let shown = match root.language {
                Language::Fortran => "(:)",
                Language::C => "[]",
            };
            let below = path.below(&format!("[{number}]"), shown).deeper();
            self.value(root, element, address, &below);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::reach;

    #[test]
    fn elements_do_not_lie_in_each_others_place() {
        assert_eq!(reach(&[(3, 32), (4, 8)], 8), Some((0, 96)));
        assert_eq!(reach(&[(4, -8)], 8), Some((24, 8)));
        assert_eq!(reach(&[(10, 24)], 8), Some((0, 224)));
        // As in a descriptor that was not set.
        assert_eq!(reach(&[(1 << 40, 0)], 8), None);
        assert_eq!(reach(&[(u64::MAX, i64::MAX)], 8), None);
    }
}
