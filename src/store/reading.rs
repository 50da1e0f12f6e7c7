//! Looking at the bytes of a file of tmpfs where they lie, through a mapping of a few megabytes at a time.
//!
//! `pread` copies each page, which takes longer than to map it, and much longer where the store has huge pages. A load from
//! a page that is not in the file would end the program by SIGBUS. That cannot happen here: a [`Lease`] keeps others from
//! shortening the file, and the system has entered the pages before they are looked at, or has said that it cannot. Where
//! one of these does not hold, the caller reads.

use super::attributes::allocated;
use super::lease::{Lease, SignalTaker};
use super::mapping;
use rustix::fd::BorrowedFd;
use rustix::fs::fstat;
use rustix::io::Result;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::ffi::c_void;
use std::ops::Range;

/// Bytes that are mapped at a time: so few that they hardly count to the resident memory, and whole huge pages. Fewer
/// bytes are read as fast.
const WINDOW: u64 = 4 << 20;

/// Bytes of a page of an x86-64; files are mapped on no other processor.
const PAGE: u64 = 4096;

/// Shows the bytes of a file that is open for reading alone, in order and in pieces of at most `piece` bytes, or of a
/// window. False if that cannot be done now, or what was shown may not have been the file, or reading is faster.
pub(super) fn show(
    fd: BorrowedFd<'_>,
    bytes: &Range<u64>,
    piece: usize,
    see: &mut dyn FnMut(&[u8]),
) -> bool {
    if bytes.end.saturating_sub(bytes.start) < WINDOW || !mapping::helps(fd) {
        return false;
    }
    let Ok(signals) = SignalTaker::start() else {
        return false;
    };
    let mut at = bytes.start;
    while at < bytes.end {
        let end = (at + 1).next_multiple_of(WINDOW).min(bytes.end);
        if !matches!(show_window(fd, at..end, (piece, &signals), see), Ok(true)) {
            return false;
        }
        at = end;
    }
    true
}

fn show_window(
    fd: BorrowedFd<'_>,
    bytes: Range<u64>,
    (piece, signals): (usize, &SignalTaker),
    see: &mut dyn FnMut(&[u8]),
) -> Result<bool> {
    let lease = Lease::take_to_read(fd, signals)?;
    // Only now can nobody change it. To look at a hole would allocate it.
    let stat = fstat(fd)?;
    let size = stat.st_size as u64;
    if size < bytes.end || allocated(&stat) < size {
        return Ok(false);
    }
    let window = Window::new(fd, bytes)?;
    window.bytes().chunks(piece.max(1)).for_each(see);
    drop(window);
    Ok(lease.give_back())
}

/// A part of a file that is mapped for reading. Its pages were entered.
struct Window {
    address: *mut c_void,
    length: usize,
    /// Bytes before those that are wanted.
    skip: usize,
}

impl Window {
    /// # Errors
    /// The system refuses, or a page cannot be read.
    fn new(fd: BorrowedFd<'_>, bytes: Range<u64>) -> Result<Window> {
        let start = bytes.start - bytes.start % PAGE;
        let length = (bytes.end - start) as usize;
        let (read, shared) = (ProtFlags::READ, MapFlags::SHARED);
        // SAFETY: a new mapping at an address that the system chooses; nobody else knows it.
        let address = unsafe { mmap(std::ptr::null_mut(), length, read, shared, fd, start)? };
        let skip = (bytes.start - start) as usize;
        let window = Window {
            address,
            length,
            skip,
        };
        // SAFETY: the whole mapping. The advice changes no content.
        unsafe { madvise(address, length, Advice::LinuxPopulateRead)? };
        Ok(window)
    }

    /// For the time of the lease.
    fn bytes(&self) -> &[u8] {
        // SAFETY: the range is in the mapping, which this value owns, and its pages are in the file as long as the lease is
        // held. Nobody writes to it: the lease is given only if nobody has the file open or mapped for writing.
        unsafe {
            let from = self.address.cast::<u8>().add(self.skip);
            std::slice::from_raw_parts(from, self.length - self.skip)
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping of this value, to which nothing refers.
        let _ = unsafe { munmap(self.address, self.length) };
    }
}
