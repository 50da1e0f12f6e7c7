//! What a checkpoint or a restart needs of memory that the processor does not reach.

use crate::Result;
use std::any::Any;
use std::ops::Range;

/// Rows of the same length at equal distances, in memory that is copied. Offsets are bytes from the first element of
/// the field, as in [`Memory`](crate::fields::Memory).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rectangle {
    /// Place of the first row.
    pub offset: i64,
    /// Bytes of a row that belong to the field.
    pub width: usize,
    /// Number of rows, at least 1.
    pub rows: usize,
    /// From the begin of a row to that of the next one, bytes; may be negative.
    pub pitch: i64,
}

/// Keeps pages of this process's memory fast to copy to and from, until it is dropped. It is dropped before the pages go.
pub type Pin = Box<dyn Any + Send>;

/// Memory that is copied by somebody else: the driver of a device, or a function of the program. No call returns, also
/// with an error, while a copy of its own is under way. The first call waits for what the program still does there.
pub trait Remote {
    /// The bytes that are known to belong to the memory, from the first element of the field. `None` if nobody knows.
    fn bounds(&self) -> Option<Range<i64>>;

    /// Fills `to` with the bytes from `offset` on, and shows `arrived` each piece of at most `piece` bytes where it then
    /// lies, in order. The next pieces may be under way meanwhile. An error of `arrived` ends the copy.
    ///
    /// # Errors
    /// The copy has failed, or the error of `arrived`.
    fn copy_to(
        &self,
        offset: i64,
        to: &mut [u8],
        piece: usize,
        arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()>;

    /// Shows `arrived` copies of `length` bytes from `offset` on, as [`Remote::copy_to`], through memory of its own.
    ///
    /// # Errors
    /// As [`Remote::copy_to`].
    fn show(
        &self,
        offset: i64,
        length: u64,
        piece: usize,
        arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()>;

    /// Fills `to` with the rows of rectangles, one after the other.
    ///
    /// # Errors
    /// The copy has failed.
    fn gather(&self, rectangles: &[Rectangle], to: &mut [u8]) -> Result<()>;

    /// Writes `from` to the rows of rectangles. Bytes between the rows stay as they are.
    ///
    /// # Errors
    /// The copy has failed; the memory has any content.
    fn scatter(&mut self, rectangles: &[Rectangle], from: &[u8]) -> Result<()>;

    /// Who makes copies fast by [`Remote::pin`], such as a driver, by name. `None` if nobody does.
    fn pins(&self) -> Option<&'static str>;

    /// Makes copies to and from memory of this process fast. `None` if that is not possible, or does not help.
    ///
    /// # Safety
    /// The bytes at `address` stay mapped and in place until the result was dropped.
    unsafe fn pin(&self, address: *mut u8, length: usize) -> Option<Pin>;
}
