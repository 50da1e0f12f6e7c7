//! The kinds of elements: the types of C, C++, Fortran and Python in a file of fields.

use crate::{Error, Result};
use std::fmt;

/// A kind of element, as the number that stands in files and in the C interface: the class times 2^24, and
/// the bytes of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(u32);

/// The meaning of the bytes of an element. The numbers are written to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Two's complement.
    Integer = 1,
    /// No sign.
    Unsigned = 2,
    /// IEEE 754.
    Real = 3,
    /// Two of IEEE 754: real and imaginary part.
    Complex = 4,
    /// Zero is false.
    Logical = 5,
    /// Text of a fixed length, without a NUL.
    Character = 6,
    /// A record that only the program understands.
    Bytes = 7,
    /// The 80 bits of x87, in 12 or 16 bytes.
    Extended = 8,
    /// Two of x87.
    ExtendedComplex = 9,
}

const CLASSES: [Class; 9] = [
    Class::Integer,
    Class::Unsigned,
    Class::Real,
    Class::Complex,
    Class::Logical,
    Class::Character,
    Class::Bytes,
    Class::Extended,
    Class::ExtendedComplex,
];

/// The bytes of the 80 bits of x87.
const EXTENDED_BYTES: usize = 10;

/// The bits of the size.
const SIZE_BITS: u32 = 24;

impl Kind {
    /// `size` is the bytes of one element; only the lower 24 bits count.
    pub const fn new(class: Class, size: u32) -> Kind {
        Kind((class as u32) << SIZE_BITS | size & ((1 << SIZE_BITS) - 1))
    }

    /// The kind of this number.
    ///
    /// # Errors
    /// No kind has this code.
    pub fn of_code(code: u32) -> Result<Kind> {
        let kind = Kind(code);
        let class = CLASSES.into_iter().find(|c| *c as u32 == code >> SIZE_BITS);
        let size = kind.size();
        let known = class.is_some_and(|class| match class {
            Class::Integer | Class::Unsigned => matches!(size, 1 | 2 | 4 | 8 | 16),
            Class::Logical => matches!(size, 1 | 2 | 4 | 8 | 16),
            Class::Real => matches!(size, 2 | 4 | 8 | 16),
            Class::Complex => matches!(size, 4 | 8 | 16 | 32),
            Class::Character | Class::Bytes => true,
            Class::Extended => matches!(size, 12 | 16),
            Class::ExtendedComplex => matches!(size, 24 | 32),
        });
        if known {
            Ok(kind)
        } else {
            Err(Error::format(0, format!("{code:#x} is no type of a field")))
        }
    }

    /// The number of this kind.
    pub fn code(self) -> u32 {
        self.0
    }

    /// Bytes of one element.
    pub fn size(self) -> u64 {
        u64::from(self.0 & ((1 << SIZE_BITS) - 1))
    }

    /// Bytes of each number of an element. A complex element has two numbers.
    pub fn number_bytes(self) -> usize {
        let size = self.size() as usize;
        match self.class() {
            Class::Complex | Class::ExtendedComplex => size / 2,
            _ => size,
        }
    }

    /// Number of the first bytes of a number that are its value. The rest is padding.
    pub fn value_bytes(self) -> usize {
        match self.class() {
            Class::Extended | Class::ExtendedComplex => self.number_bytes().min(EXTENDED_BYTES),
            _ => self.number_bytes(),
        }
    }

    /// True if numbers have padding.
    pub fn has_padding(self) -> bool {
        self.value_bytes() < self.number_bytes()
    }

    /// Sets the padding of elements to 0: it may differ where values do not.
    pub fn clear_padding(self, elements: &mut [u8]) {
        if self.has_padding() {
            let numbers = elements.chunks_mut(self.number_bytes());
            let paddings = numbers.filter_map(|number| number.get_mut(self.value_bytes()..));
            paddings.for_each(|padding| padding.fill(0));
        }
    }

    /// The class of the type. A kind of no known class counts as bytes.
    pub fn class(self) -> Class {
        let class = CLASSES.into_iter();
        let mut class = class.filter(|c| *c as u32 == self.0 >> SIZE_BITS);
        class.next().unwrap_or(Class::Bytes)
    }
}

/// The name of the type in numpy, if numpy has such a type: "float64", "character(8)".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, bits) = (self.size(), 8 * self.size());
        match self.class() {
            Class::Integer => write!(f, "int{bits}"),
            Class::Unsigned => write!(f, "uint{bits}"),
            Class::Real => write!(f, "float{bits}"),
            Class::Complex => write!(f, "complex{bits}"),
            Class::Logical => write!(f, "logical{bits}"),
            Class::Character => write!(f, "character({size})"),
            Class::Bytes => write!(f, "bytes({size})"),
            Class::Extended => write!(f, "extended{bits}"),
            Class::ExtendedComplex => write!(f, "extended complex{bits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, Class, Kind};

    #[test]
    fn bytes_beside_a_value_are_cleared() {
        let cleared = |class, size: u32| {
            let mut bytes = vec![1; 2 * size as usize];
            Kind::new(class, size).clear_padding(&mut bytes);
            bytes.iter().map(|byte| *byte as usize).sum::<usize>()
        };
        assert_eq!(cleared(Class::Extended, 16), 20);
        assert_eq!(cleared(Class::Extended, 12), 20);
        assert_eq!(cleared(Class::ExtendedComplex, 32), 40);
        assert_eq!(cleared(Class::Real, 16), 32);
    }

    #[test]
    fn a_kind_has_a_number_and_a_name() {
        let named = |class, size| Kind::new(class, size).to_string();
        assert_eq!(named(Class::Real, 8), "float64");
        assert_eq!(named(Class::Complex, 16), "complex128");
        assert_eq!(named(Class::Character, 10), "character(10)");
        assert_eq!(Kind::new(Class::Integer, 4).code(), 0x0100_0004);
        for class in CLASSES {
            let size = if class == Class::ExtendedComplex {
                32
            } else {
                16
            };
            let kind = Kind::new(class, size);
            assert_eq!(Kind::of_code(kind.code()), Ok(kind));
            assert_eq!((kind.class(), kind.size()), (class, u64::from(size)));
        }
        for code in [0, 8, 0x0100_0003, 0x0300_0001, 0x0a00_0004, u32::MAX] {
            assert!(Kind::of_code(code).is_err(), "{code:#x}");
        }
    }
}
