//! Bytes that come into a file where it lies in memory, without a copy of them before.

use std::any::Any;

use crate::Result;

/// Keeps pages of this process's memory fast to copy to, until it is dropped.
pub type Pin = Box<dyn Any + Send>;

/// Fills a part of a file for [`File::fill_at`](super::File::fill_at).
pub trait Fill {
    /// Who pins, such as a driver. A refusal is remembered by this name. `None` if nobody does, so that pages are left as
    /// they are.
    fn pins(&self) -> Option<&'static str>;

    /// Makes copies to memory of the file fast, as by locking its pages for a device. A file system asks each of [`Fill::pins`]
    /// once as long as the memory is the same, also after the answer `None`: that it is not possible, or does not help.
    ///
    /// # Safety
    /// The bytes stay mapped until the result was dropped.
    unsafe fn pin(&self, address: *mut u8, length: usize) -> Option<Pin>;

    /// Fills all of `to`.
    ///
    /// # Errors
    /// It cannot be filled. `to` has any content.
    fn fill(&mut self, to: &mut [u8]) -> Result<()>;
}
