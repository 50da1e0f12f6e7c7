//! Fields in memory that only copies reach: whether they lie in it, and whose copy has failed.

use super::entry::{Entry, wrong};
use super::memory::Memory;
use crate::device::Remote;
use crate::{Error, Result};

/// Memory that only copies reach, as the memory of a field.
pub struct RemoteMemory<R>(pub R);

impl<R: Remote> Memory for RemoteMemory<R> {
    fn bytes(&self, _: i64, _: usize) -> Result<&[u8]> {
        Err(out_of_reach())
    }

    fn bytes_mut(&mut self, _: i64, _: usize) -> Result<&mut [u8]> {
        Err(out_of_reach())
    }

    fn remote(&self) -> Option<&dyn Remote> {
        Some(&self.0)
    }

    fn remote_mut(&mut self) -> Option<&mut dyn Remote> {
        Some(&mut self.0)
    }
}

/// The error if bytes are asked for that the processor cannot read.
pub fn out_of_reach() -> Error {
    let what = "the processor cannot read its memory, which must be copied";
    Error::usage("SCR_Field", what)
}

/// Checks that all elements of a field lie in the memory, if it is known which bytes belong to that.
///
/// # Errors
/// They do not. The error names the field and the bytes.
pub fn check_bounds(entry: &Entry, strides: &[i64], memory: Option<&dyn Memory>) -> Result<()> {
    let remote = memory.and_then(Memory::remote);
    let bounds = remote
        .filter(|_| entry.bytes() > 0)
        .and_then(Remote::bounds);
    let Some(bounds) = bounds else { return Ok(()) };
    let reach = entry.walk_in(&entry.region(), strides).reach();
    if bounds.start <= reach.start && reach.end <= bounds.end {
        return Ok(());
    }
    let what = format!(
        "its elements take the bytes from {} to before {}, counted from the pointer, and the allocation that the pointer \
         is in has those from {} to before {}",
        reach.start, reach.end, bounds.start, bounds.end
    );
    Err(wrong(&entry.name, what))
}

/// An error of a copy, which does not know for which field it was made.
pub fn of_field(error: Error, name: &str) -> Error {
    match error {
        Error::Usage { call, what } if call == "SCR_Field" && !what.starts_with("field \"") => {
            wrong(name, what)
        }
        device @ Error::Device { .. } => device.with_note(&format!("field \"{name}\"")),
        other => other,
    }
}
