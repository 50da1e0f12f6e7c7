//! Arrays of Fortran of which gfortran tells no type: of texts whose length is set later, and parts of a type that are of this
//! type again. What they are is read from their descriptors, and what an object of `class(*)` is from its table.

use super::types::{Kind, TypeId};
use super::walk::{MOST_NESTED, Path, Root, Walker};

/// Offsets in gfortran's descriptor of an array, and in the table of a type.
const ELEMENT: u64 = 16;
const VERSION: u64 = 24;
const RANK: u64 = 28;
const TYPE: u64 = 29;
const SPAN: u64 = 32;
const DIMENSIONS: u64 = 40;
const DIMENSION: u64 = 24;
const SIZE_IN_TABLE: u64 = 8;

impl<'a> Walker<'a> {
    /// Follows the array at a descriptor. `own` is the type that it is a part of.
    pub fn descriptor(&mut self, root: &Root<'a>, own: Option<TypeId>, at: u64, path: &Path) {
        let Some(first) = self.memory.number(at, 8) else {
            return;
        };
        let there = self.memory.is_data(first);
        if first == 0 || there {
            self.presence(root, path, (at, there));
        }
        let Some((size, dims)) = self.described(at).filter(|_| there) else {
            return;
        };
        if !self.are_there(first, &dims, size) {
            return;
        }
        match own.filter(|own| self.types.size(*own) == Some(size)) {
            Some(own) if self.types.is_plain(own, MOST_NESTED) => {
                self.value(root, own, first, &path.with(&dims));
            }
            Some(own) => self.each(root, own, first, (path, &dims)),
            None => {
                let (kind, name) = self.element(at, size);
                self.add(root, &path.with(&dims), first, (kind, size, &name));
            }
        }
    }

    /// Size of an element and the dimensions, the fastest last; `None` if it is no descriptor.
    fn described(&self, at: u64) -> Option<(u64, Vec<(u64, i64)>)> {
        let number = |offset: u64, size| self.memory.number(at.checked_add(offset)?, size);
        let size = number(ELEMENT, 8)?;
        let span = Some(number(SPAN, 8)?)
            .filter(|span| *span > 0)
            .unwrap_or(size);
        let rank = number(RANK, 1)?;
        if number(VERSION, 4)? != 0 || !(1..=15).contains(&rank) || size == 0 {
            return None;
        }
        let mut dims = Vec::new();
        for place in 0..rank {
            let word = |which: u64| number(DIMENSIONS + place * DIMENSION + which * 8, 8);
            let (stride, lower, upper) = (word(0)? as i64, word(1)? as i64, word(2)? as i64);
            let count = upper.checked_sub(lower)?.checked_add(1)?.max(0);
            dims.push((count.unsigned_abs(), stride.checked_mul(span as i64)?));
        }
        dims.reverse();
        Some((size, dims))
    }

    fn element(&self, at: u64, size: u64) -> (Kind, String) {
        match self.memory.number(at.wrapping_add(TYPE), 1) {
            Some(1) => (Kind::Signed, format!("integer({size})")),
            Some(2) => (Kind::Bytes, format!("logical({size})")),
            Some(3) => (Kind::Real, format!("real({size})")),
            Some(4) => (Kind::Complex, format!("complex({})", size / 2)),
            Some(6) => (Kind::Bytes, format!("character({size})")),
            _ => (Kind::Bytes, format!("{size} bytes")),
        }
    }

    /// An object of `class(*)` that is of no derived type. A text has a length.
    pub fn of_any_type(
        &mut self,
        root: &Root<'a>,
        data: u64,
        (table, length): (u64, u64),
        path: &Path,
    ) {
        let number = |at: u64| self.memory.number(at, 8);
        let (Some(first), Some(size)) = (number(data), number(table.wrapping_add(SIZE_IN_TABLE)))
        else {
            return;
        };
        let size = size.saturating_mul(number(length).unwrap_or(0).max(1));
        let there = self.memory.is_data(first);
        self.presence(root, path, (data, there));
        if there {
            let name = format!("{size} bytes");
            self.add(root, path, first, (Kind::Bytes, size, &name));
        }
    }
}
