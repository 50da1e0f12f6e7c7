//! The types of a program's variables, as the debug information has them.

use gimli::Encoding;
use std::collections::HashMap;

/// The place of a type in [`Types`].
pub(super) type TypeId = usize;

/// What the elements of a variable are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A real.
    Real,
    /// Two reals.
    Complex,
    /// An integer with a sign.
    Signed,
    /// An integer without a sign.
    Unsigned,
    /// Logicals, characters, unions, and others that have no order.
    Bytes,
    /// Words of which some may be addresses.
    Words,
    /// Whether something is allocated, or a pointer points to something.
    Presence(bool),
    /// An address in a file of the process: a procedure, a constant, or what tells the type of an object.
    Target,
}

/// An expression of DWARF.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expression {
    pub bytes: Vec<u8>,
    pub encoding: Encoding,
}

/// A number in a type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Number {
    Known(i64),
    Computed(Expression),
    /// The value of a variable at this place, of so many bytes.
    At(Expression, u64),
}

/// One dimension of an array.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Extent {
    pub lower: Number,
    /// `None` if it is not known.
    pub upper: Option<Number>,
    /// The number of elements, if that is given in place of the bound.
    pub count: Option<Number>,
    /// Distance of the elements, bytes.
    pub stride: Option<Number>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Array {
    pub element: TypeId,
    pub extents: Vec<Extent>,
    /// Where the elements are, if the variable is a descriptor.
    pub location: Option<Expression>,
    /// Whether there are any.
    pub present: Option<Expression>,
    /// A pointer to elements, which may be those of another variable.
    pub pointer: bool,
    /// The first index is the fastest.
    pub by_column: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    /// "" for a base class.
    pub name: String,
    pub of: TypeId,
    pub offset: u64,
    /// Where a virtual base class is, counted from the object's address.
    pub base: Option<Expression>,
    /// The bits of a bit field from this offset on.
    pub bits: Option<Bits>,
}

/// Bits of the number that begins at an address, from the lowest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits {
    /// Bits before it.
    pub first: u32,
    /// Number of bits.
    pub count: u32,
}

impl Bits {
    /// The bytes that have them.
    pub fn bytes(self) -> u64 {
        u64::from((self.first + self.count).div_ceil(8))
    }

    /// These bits in a number.
    pub fn mask(self) -> u64 {
        let ones = u64::MAX
            .checked_shr(64u32.saturating_sub(self.count))
            .unwrap_or(0);
        ones << self.first
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    Scalar {
        kind: Kind,
        size: u64,
        name: String,
    },
    /// A text of Fortran whose length is elsewhere.
    Text {
        length: Number,
    },
    Array(Array),
    Record {
        name: String,
        size: u64,
        members: Vec<Member>,
        /// The types that a template of C++ was given.
        arguments: Vec<TypeId>,
        /// Its objects tell their class.
        polymorphic: bool,
    },
    Pointer {
        to: Option<TypeId>,
    },
    /// An array of Fortran whose type is not told; maybe of the type that it is a part of.
    Descriptor {
        own: Option<TypeId>,
    },
    /// A record that this file only declares.
    Declared {
        name: String,
    },
    /// Functions, handles and clocks.
    Skipped,
}

/// The types that were met.
#[derive(Debug, Default)]
pub(super) struct Types {
    pub all: Vec<Type>,
    /// The type of an object of Fortran's `class`, by the address in the file to which its `_vptr` points.
    pub dynamic: HashMap<u64, TypeId>,
    /// Classes whose objects tell their class, by the names that these have for the linker.
    pub classes: HashMap<String, TypeId>,
}

impl Types {
    pub fn get(&self, id: TypeId) -> &Type {
        self.all.get(id).unwrap_or(&Type::Skipped)
    }

    /// The size of a value; `None` if that is known only from the variable.
    pub fn size(&self, id: TypeId) -> Option<u64> {
        match self.get(id) {
            Type::Scalar { size, .. } | Type::Record { size, .. } => Some(*size),
            Type::Pointer { .. } => Some(8),
            Type::Array(array) if array.location.is_none() => {
                let one = self.size(array.element)?;
                array
                    .extents
                    .iter()
                    .try_fold(one, |all, extent| all.checked_mul(extent.known_count()?))
            }
            _ => None,
        }
    }

    /// True if a value has no pointer, so that an array of them can be seen as a whole.
    pub fn is_plain(&self, id: TypeId, depth: usize) -> bool {
        match self.get(id) {
            Type::Scalar { .. } => true,
            Type::Array(array) => {
                let mut extents = array.extents.iter();
                array.location.is_none()
                    && extents.all(|extent| extent.known_count().is_some())
                    && self.is_plain(array.element, depth)
            }
            Type::Record { members, .. } if depth > 0 => members
                .iter()
                .all(|member| self.is_plain(member.of, depth - 1)),
            _ => false,
        }
    }

    /// True if a value has an address somewhere.
    pub fn has_pointer(&self, id: TypeId, depth: usize) -> bool {
        match self.get(id) {
            Type::Pointer { .. } => true,
            Type::Scalar { kind, .. } => *kind == Kind::Words,
            Type::Array(array) => {
                array.location.is_some() || depth > 0 && self.has_pointer(array.element, depth - 1)
            }
            Type::Record { members, .. } => {
                let mut members = members.iter();
                depth == 0 || members.any(|member| self.has_pointer(member.of, depth - 1))
            }
            _ => false,
        }
    }

    /// The array at the end of a record that is as long as its block: the element, and the member.
    pub fn open_end(&self, id: TypeId) -> Option<(TypeId, &Member)> {
        let Type::Record { members, .. } = self.get(id) else {
            return None;
        };
        let last = members.last()?;
        let Type::Array(array) = self.get(last.of) else {
            return None;
        };
        let [extent] = &array.extents[..] else {
            return None;
        };
        let open = array.location.is_none() && matches!(extent.known_count(), None | Some(0));
        open.then_some((array.element, last))
    }

    /// A member of a record or of its base classes, or of what the standard library has inside: type and offset.
    pub fn find_member(&self, id: TypeId, wanted: &str, depth: usize) -> Option<(TypeId, u64)> {
        let Type::Record { members, .. } = self.get(id) else {
            return None;
        };
        let mut found = members.iter().filter_map(|member| {
            if member.name == wanted {
                return Some((member.of, member.offset));
            }
            let inside = member.name.is_empty() || member.name.starts_with("_M_");
            let (of, offset) = (inside && depth > 0)
                .then(|| self.find_member(member.of, wanted, depth - 1))
                .flatten()?;
            Some((of, offset.wrapping_add(member.offset)))
        });
        found.next()
    }
}

impl Extent {
    pub fn known_count(&self) -> Option<u64> {
        match (&self.count, &self.lower, &self.upper) {
            (Some(Number::Known(count)), ..) => u64::try_from(*count).ok(),
            (None, Number::Known(lower), Some(Number::Known(upper))) => {
                u64::try_from(upper.checked_sub(*lower)?.checked_add(1)?.max(0)).ok()
            }
            _ => None,
        }
    }
}
