//! Memory of a device that was found.

use super::{Pin, Rectangle, Remote};
use crate::{Error, Result};
use std::ops::Range;

/// Memory that the driver of a device copies.
pub struct Located {
    name: String,
}

impl Located {
    /// The device in words: "CUDA device 0".
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if the processor can read and write the memory, too, as managed memory. System calls may refuse it.
    pub fn processor_reaches(&self) -> bool {
        false
    }

    fn refused(&self) -> Error {
        Error::usage("SCR_Field", format!("{} cannot be used", self.name))
    }
}

impl Remote for Located {
    fn bounds(&self) -> Option<Range<i64>> {
        None
    }

    fn copy_to(
        &self,
        _offset: i64,
        _to: &mut [u8],
        _piece: usize,
        _arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        Err(self.refused())
    }

    fn show(
        &self,
        _offset: i64,
        _length: u64,
        _piece: usize,
        _arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        Err(self.refused())
    }

    fn gather(&self, _rectangles: &[Rectangle], _to: &mut [u8]) -> Result<()> {
        Err(self.refused())
    }

    fn scatter(&mut self, _rectangles: &[Rectangle], _from: &[u8]) -> Result<()> {
        Err(self.refused())
    }

    unsafe fn pin(&self, _address: *mut u8, _length: usize) -> Option<Pin> {
        None
    }
}
