//! Writing over a file of tmpfs, and reading it, through a mapping.
//!
//! `pwrite` looks up, locks and marks each page. Through a mapping that was made once, with stores that do not read
//! what they overwrite, the same takes less than half the time. A store to a page that is not in the file would end
//! the program by SIGBUS. That cannot happen here: a [`Lease`] keeps others from shortening the file, and the pages are
//! there, as the file has no holes. So no page is allocated, however full the store is. Where one of these does not
//! hold, nothing is stored, and the caller uses `pwrite`.

use super::attributes::allocated;
use super::fill::Fill;
use super::lease::{Lease, SignalTaker};
use super::pinned::Pinned;
use crate::Error;
use rustix::fd::BorrowedFd;
use rustix::fs::{SeekFrom, fstat, fstatfs, seek};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::process::{Resource, getrlimit};
use std::ffi::c_void;
use std::ops::Range;

/// Fewer bytes are written and read faster without a lease.
const LEAST: usize = 64 << 10;

/// Bytes that are stored before they are read again: they fit the nearest cache.
const NEAR: usize = 16 << 10;

/// Bytes that are shown under one lease, so that nobody waits for it long.
const SHOWN: u64 = 64 << 20;

/// Files below this size are not mapped.
const LEAST_FILE: u64 = 1 << 20;

/// Bytes of a line of the cache.
const LINE: u64 = 64;

const PAGE: usize = 4096;

/// The type of tmpfs in `fstatfs`.
pub(super) const TMPFS: u64 = 0x0102_1994;

/// A file that is mapped whole. Its pages count to this process's resident memory.
pub(super) struct Mapping {
    address: *mut c_void,
    length: usize,
    /// Gets the signals of its leases.
    signals: SignalTaker,
    pinned: Pinned,
}

// SAFETY: the mapping belongs to the process, and only this value has its address.
unsafe impl Send for Mapping {}

/// True if writing over this file through a mapping may be faster.
pub(super) fn helps(fd: BorrowedFd<'_>) -> bool {
    cfg!(target_arch = "x86_64")
        && fstatfs(fd).is_ok_and(|system| system.f_type as u64 == TMPFS)
        && fstat(fd).is_ok_and(|stat| stat.st_size as u64 >= LEAST_FILE)
        // The program needs the address space, where that is limited.
        && getrlimit(Resource::As).current.is_none()
}

impl Mapping {
    /// Maps a file for which mapping [`helps`], as long as it is now. The pages are entered now, which takes about as
    /// long as to write them; so keep the mapping.
    ///
    /// # Errors
    /// The file has holes, or the system refuses.
    pub(super) fn new(fd: BorrowedFd<'_>) -> rustix::io::Result<Mapping> {
        let stat = fstat(fd)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if !is_whole(&stat) || seek(fd, SeekFrom::Hole(0))? < size {
            return Err(Errno::NXIO);
        }
        let signals = SignalTaker::start()?;
        let length = usize::try_from(size).map_err(|_| Errno::NOMEM)?;
        let (protection, flags) = (
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED | MapFlags::POPULATE,
        );
        // SAFETY: a new mapping at an address that the system chooses; nobody else knows it.
        let address = unsafe { mmap(std::ptr::null_mut(), length, protection, flags, fd, 0)? };
        let mapping = Mapping {
            address,
            length,
            signals,
            pinned: Pinned::default(),
        };
        // A child of the program must not hold the file, and a dump of its memory need not have it.
        for advice in [Advice::LinuxDontFork, Advice::LinuxDontDump] {
            // SAFETY: the whole mapping. The advice does not change what this process sees.
            unsafe { madvise(address, length, advice)? };
        }
        Ok(mapping)
    }

    /// Length, bytes.
    pub(super) fn length(&self) -> u64 {
        self.length as u64
    }

    /// The part of `length` bytes at `offset` that is stored through the mapping: whole lines, and not the last bytes.
    /// Those are written by `pwrite`, so that the file gets a new time of change.
    pub(super) fn part(&self, offset: u64, length: usize) -> Option<Range<usize>> {
        let begin = (offset.next_multiple_of(LINE) - offset) as usize;
        let last = length.checked_sub(PAGE)?;
        let end = begin + last.checked_sub(begin)? / LINE as usize * LINE as usize;
        let inside = offset.checked_add(end as u64)? <= self.length();
        (inside && end - begin >= LEAST).then_some(begin..end)
    }

    /// Stores whole lines at `offset` of the file `fd`, which is the mapped one. False if that cannot be done now, or
    /// may not have been done.
    pub(super) fn store(&self, fd: BorrowedFd<'_>, offset: u64, data: &[u8]) -> bool {
        let end = offset.saturating_add(data.len() as u64);
        if !offset.is_multiple_of(LINE) || !data.len().is_multiple_of(LINE as usize) {
            return false;
        }
        let Some(lease) = self.lease_to(fd, end) else {
            return false;
        };
        // SAFETY: the range is in the mapping, which this value owns, and its pages are in the file as long as the lease
        // is held. The data is not in the mapping, as nobody has a reference to that.
        unsafe { copy_past_caches(self.address.cast::<u8>().add(offset as usize), data) };
        lease.give_back()
    }

    /// `data` as [`Mapping::store_and_see`] takes it, and its last bytes, which are written by `pwrite`, as those of
    /// [`Mapping::part`]. `None` if `data` at `offset` is too short or not in the mapping.
    pub(super) fn seen_part<'a>(
        &self,
        offset: u64,
        data: &'a [u8],
    ) -> Option<(&'a [u8], &'a [u8])> {
        let inside = offset.checked_add(data.len() as u64)? <= self.length();
        let last = data.len().checked_sub(PAGE)?;
        let both = data.split_at_checked(last)?;
        (inside && data.len() >= LEAST).then_some(both)
    }

    /// Stores `data` at `offset` of the file `fd`, which is the mapped one, and shows what then lies there, and the `rest` of
    /// the bytes behind it. False if that cannot be done now, or may not have been done.
    ///
    /// The stores go to the processor's caches, where the bytes are read: to store past the caches and to read from memory
    /// took longer.
    pub(super) fn store_and_see(
        &self,
        fd: BorrowedFd<'_>,
        offset: u64,
        data: &[u8],
        rest: usize,
        see: &mut dyn FnMut(&[u8]),
    ) -> bool {
        let length = data.len() as u64 + rest as u64;
        let Some(lease) = self.lease_to(fd, offset.saturating_add(length)) else {
            return false;
        };
        // The lease is for all bytes from here to the end of the rest.
        let mut place = self.address.cast::<u8>().wrapping_add(offset as usize);
        for part in data.chunks(NEAR) {
            // SAFETY: the part has its place in the mapping, which this value owns, and its pages are in the file as long as
            // the lease is held. The data is not in the mapping, as nobody has a reference to that now.
            unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), place, part.len()) };
            // SAFETY: as above. Nothing is stored there until the reference is gone.
            see(unsafe { as_it_lies(place, part.len()) });
            place = place.wrapping_add(part.len());
        }
        // SAFETY: as above, behind the data.
        see(unsafe { as_it_lies(place, rest) });
        lease.give_back()
    }

    /// Fills `buffer` from `offset` of the file `fd`, which is the mapped one. False if that cannot be done now, or may
    /// not have been done, or is slower than a call.
    pub(super) fn load(&self, fd: BorrowedFd<'_>, offset: u64, buffer: &mut [u8]) -> bool {
        let end = offset.saturating_add(buffer.len() as u64);
        if buffer.len() < LEAST {
            return false;
        }
        let Some(lease) = self.lease_to(fd, end) else {
            return false;
        };
        // SAFETY: the range is in the mapping, which this value owns, and its pages are in the file as long as the lease
        // is held. The buffer is not in the mapping, as nobody has a reference to that.
        unsafe {
            let from = self.address.cast::<u8>().add(offset as usize);
            std::ptr::copy_nonoverlapping(from, buffer.as_mut_ptr(), buffer.len());
        }
        lease.give_back()
    }

    /// Lets `fill` fill bytes of the file `fd`, which is the mapped one, where they lie. Returns the last of them, as they lie
    /// there then: the caller writes them by `pwrite`, so that the file gets a new time of change, as in
    /// [`Mapping::part`]. `None` if that cannot be done now, or may not have been done, or is slower than to write.
    ///
    /// # Errors
    /// Those of `fill`.
    pub(super) fn fill(
        &self,
        fd: BorrowedFd<'_>,
        bytes: &Range<u64>,
        fill: &mut dyn Fill,
    ) -> Result<Option<Vec<u8>>, Error> {
        let length = bytes.end.saturating_sub(bytes.start) as usize;
        if length < LEAST {
            return Ok(None);
        }
        let Some((lease, stat)) = self.lease_and_stat(fd, bytes.end) else {
            return Ok(None);
        };
        let there = self.length().min(stat.st_size as u64);
        let address = self.address.cast::<u8>();
        // SAFETY: `there` bytes of the mapping, which stay mapped until the pins were dropped (see `drop`).
        unsafe { self.pinned.pin(fill, address, (bytes.end, there), &stat) };
        // SAFETY: the range is in the mapping, which this value owns, and its pages are in the file as long as the lease is
        // held. Nobody else has a reference to it now.
        let place = unsafe {
            let from = address.add(bytes.start as usize);
            std::slice::from_raw_parts_mut(from, length)
        };
        let filled = fill.fill(place);
        // To enter a page into the mapping changes the time, too.
        self.pinned.changed(fd);
        filled?;
        let (_, last) = place.split_at(length - LINE as usize);
        let last = last.to_vec();
        if !lease.give_back() {
            self.pinned.release();
            return Ok(None);
        }
        Ok(Some(last))
    }

    /// Shows bytes of the file `fd`, which is the mapped one, in order, in pieces of at most `piece` bytes. False if that
    /// cannot be done now, or what was shown may not have been the file.
    pub(super) fn show(
        &self,
        fd: BorrowedFd<'_>,
        bytes: &Range<u64>,
        piece: usize,
        see: &mut dyn FnMut(&[u8]),
    ) -> bool {
        let mut at = bytes.start;
        while at < bytes.end {
            let end = at.saturating_add(SHOWN).min(bytes.end);
            let Some(lease) = self.lease_to(fd, end) else {
                return false;
            };
            // SAFETY: as in `load`; nothing is stored there until the reference is gone.
            let shown = unsafe {
                let from = self.address.cast::<u8>().add(at as usize);
                std::slice::from_raw_parts(from.cast_const(), (end - at) as usize)
            };
            shown.chunks(piece.max(1)).for_each(&mut *see);
            if !lease.give_back() {
                return false;
            }
            at = end;
        }
        true
    }

    /// For a change of the file by a call, which the pins must learn of, if there are any.
    pub(super) fn changes<'a>(&'a self, fd: BorrowedFd<'a>) -> Option<Change<'a>> {
        if !self.pinned.any() {
            return None;
        }
        let lease = self.lease_to(fd, 0)?;
        Some(Change {
            file: fd,
            pinned: &self.pinned,
            _lease: lease,
        })
    }

    /// The file will be cut to `size` bytes: no page that goes then may be pinned.
    pub(super) fn cut(&self, size: u64) {
        self.pinned.cut(size);
    }

    /// The lease of the file, if it has all bytes up to `end`, and the mapping has them.
    fn lease_to<'a>(&self, fd: BorrowedFd<'a>, end: u64) -> Option<Lease<'a>> {
        self.lease_and_stat(fd, end).map(|(lease, _)| lease)
    }

    /// [`Mapping::lease_to`], with what the system says of the file under it. Others may have changed the file before:
    /// where that is possible, nothing stays pinned.
    fn lease_and_stat<'a>(
        &self,
        fd: BorrowedFd<'a>,
        end: u64,
    ) -> Option<(Lease<'a>, rustix::fs::Stat)> {
        let taken = Lease::take(fd, &self.signals);
        // Only now can nobody else change it.
        let taken = taken.and_then(|lease| Ok((lease, fstat(fd)?)));
        let Ok((lease, stat)) = taken else {
            self.pinned.release();
            return None;
        };
        let whole = is_whole(&stat);
        self.pinned.check(&stat, whole);
        let there = self.length().min(stat.st_size as u64);
        (whole && end <= there).then_some((lease, stat))
    }
}

/// A change of a file under its lease, which ends when this is dropped.
pub(super) struct Change<'a> {
    file: BorrowedFd<'a>,
    pinned: &'a Pinned,
    /// Given back after the time of change was noted.
    _lease: Lease<'a>,
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.pinned.changed(self.file);
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // Pages that are pinned must not go.
        self.pinned.release();
        // SAFETY: the mapping of this value, to which nothing refers.
        let _ = unsafe { munmap(self.address, self.length) };
    }
}

/// The bytes of a mapping, read from there and not from where they were stored from, as a compiler might do that knows
/// of the store.
///
/// # Safety
/// They can be read, and nothing changes them as long as the reference lives.
unsafe fn as_it_lies<'a>(place: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(std::hint::black_box(place), length) }
}

/// True if a file has no holes.
fn is_whole(stat: &rustix::fs::Stat) -> bool {
    allocated(stat) >= stat.st_size as u64
}

/// Copies whole lines by stores that do not read what they overwrite.
///
/// # Safety
/// `to` is the begin of a line, and `from.len()` bytes there can be written. They are not part of `from`.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_past_caches(to: *mut u8, from: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    for (at, line) in from.chunks_exact(LINE as usize).enumerate() {
        let source = line.as_ptr().cast::<__m128i>();
        // SAFETY: all of the line can be read, and its place can be written and is aligned. Every x86-64 has SSE2.
        unsafe {
            let target = to.add(at * LINE as usize).cast::<__m128i>();
            let one = _mm_loadu_si128(source);
            let two = _mm_loadu_si128(source.add(1));
            let three = _mm_loadu_si128(source.add(2));
            let four = _mm_loadu_si128(source.add(3));
            _mm_stream_si128(target, one);
            _mm_stream_si128(target.add(1), two);
            _mm_stream_si128(target.add(2), three);
            _mm_stream_si128(target.add(3), four);
        }
    }
    // SAFETY: every x86-64 has SSE. The stores are seen before the lease is given back.
    unsafe { _mm_sfence() };
}

/// Not reached: mapping [`helps`] only where this was measured.
///
/// # Safety
/// `from.len()` bytes at `to` can be written. They are not part of `from`.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_past_caches(to: *mut u8, from: &[u8]) {
    // SAFETY: as the caller promises.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
}
