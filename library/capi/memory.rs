//! The memory of a field of C.

use crate::device::Remote;
use crate::fields::{Kind, Memory};
use crate::{Error, Result};
use std::ops::Range;
use std::slice;

/// The memory of a field of C.
pub(super) struct RawMemory {
    /// The first element.
    pub first: *mut u8,
    /// Who copies it, if the processor does not.
    pub remote: Option<Box<dyn Remote>>,
}

impl RawMemory {
    /// An error if the processor does not reach the memory.
    fn must_be_near(&self) -> Result<()> {
        match self.remote {
            None => Ok(()),
            Some(_) => {
                let what = "an internal error: memory that is copied was accessed";
                Err(Error::usage("SCR_Field", what))
            }
        }
    }
}

impl Memory for RawMemory {
    fn bytes(&self, offset: i64, length: usize) -> Result<&[u8]> {
        self.must_be_near()?;
        // SAFETY: the library asks for bytes of elements only. By the promise of SCR_Field's caller the
        // elements that extents and strides describe exist, and nobody changes them during the call.
        Ok(unsafe { slice::from_raw_parts(self.first.offset(offset as isize), length) })
    }

    fn bytes_mut(&mut self, offset: i64, length: usize) -> Result<&mut [u8]> {
        self.must_be_near()?;
        // SAFETY: as above, and `self` is borrowed as long as the result.
        Ok(unsafe { slice::from_raw_parts_mut(self.first.offset(offset as isize), length) })
    }

    fn remote(&self) -> Option<&dyn Remote> {
        self.remote.as_deref()
    }

    fn remote_mut(&mut self) -> Option<&mut dyn Remote> {
        match &mut self.remote {
            Some(remote) => Some(&mut **remote),
            None => None,
        }
    }
}

/// The addresses of a field with elements, of which the first one lies at `first`: from the lowest byte to the highest one.
/// Arguments that are wrong are found later.
pub(super) fn addresses(
    first: usize,
    kind: Kind,
    extents: &[i64],
    strides: Option<&[i64]>,
) -> Range<usize> {
    let size = kind.size() as i64;
    let (mut low, mut high) = (0_i64, size);
    match strides {
        None => high = extents.iter().fold(size, |all, n| all.saturating_mul(*n)),
        Some(strides) => {
            for (extent, stride) in extents.iter().zip(strides) {
                let far = extent.saturating_sub(1).saturating_mul(*stride);
                low = low.saturating_add(far.min(0));
                high = high.saturating_add(far.max(0));
            }
        }
    }
    let address = |offset: i64| first.saturating_add_signed(offset as isize);
    address(low)..address(high)
}

#[cfg(test)]
mod tests {
    use super::addresses;
    use crate::fields::{Class, Kind};

    #[test]
    fn the_addresses_of_a_field_are_those_from_its_lowest_byte_on() {
        let of =
            |extents: &[i64], strides| addresses(1000, Kind::new(Class::Real, 8), extents, strides);
        assert_eq!(of(&[], None), 1000..1008);
        assert_eq!(of(&[2, 3], None), 1000..1048);
        assert_eq!(of(&[2, 3], Some(&[-100, 16])), 900..1040);
        assert_eq!(
            of(&[i64::MAX, 3], Some(&[-100, i64::MAX])),
            0..usize::MAX / 2 + 1000
        );
    }
}
