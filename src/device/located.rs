//! Memory of a device that was found.

use super::context::{Context, Copies};
use super::driver::{Kind, Known, Rows, Shape, Way};
use super::pinned::{Registered, is_pinned};
use super::rows::{Packed, Parts};
use super::staging::STREAMS;
use super::{Pin, Rectangle, Remote};
use crate::{Error, Result};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// The most bytes of a buffer through which pieces go.
const BUFFER: usize = 8 << 20;

/// Rows of at least so many bytes are copied straight from and to memory that is not pinned, through the driver's own
/// buffers.
const LONG_ROW: usize = 1 << 20;

/// Memory that the driver of a device copies.
pub struct Located {
    context: Arc<Context>,
    /// Of the first element.
    address: usize,
    kind: Kind,
    /// Bytes of the allocation, from the first element on.
    bounds: Option<Range<i64>>,
    /// The stream that is waited for, in place of all work in the context.
    stream: Option<usize>,
    /// The program's work was waited for.
    ready: Cell<bool>,
}

impl Located {
    pub(super) fn new(
        context: Arc<Context>,
        known: &Known,
        address: usize,
        stream: Option<usize>,
    ) -> Located {
        let distance = |at: usize| at.wrapping_sub(address) as i64;
        Located {
            context,
            address,
            kind: known.kind,
            bounds: known
                .range
                .as_ref()
                .map(|range| distance(range.start)..distance(range.end)),
            stream,
            ready: Cell::new(false),
        }
    }

    /// The device in words: "CUDA device 0".
    pub fn name(&self) -> &str {
        self.context.name()
    }

    /// True if the processor can read and write the memory, too, as managed memory. System calls may refuse it.
    pub fn processor_reaches(&self) -> bool {
        self.kind != Kind::Device
    }

    /// Waits until the program's work on the memory has ended. Other calls do so themselves.
    ///
    /// # Errors
    /// That work, or the driver, has failed.
    pub fn wait(&self) -> Result<()> {
        if !self.ready.get() {
            self.context.wait(self.stream)?;
            self.ready.set(true);
        }
        Ok(())
    }

    /// # Errors
    /// The bytes are not those of the memory.
    fn check(&self, bytes: Range<i64>) -> Result<()> {
        match &self.bounds {
            Some(bounds) if bytes.start < bounds.start || bytes.end > bounds.end => {
                let what = format!(
                    "its memory has bytes {} to {} from the first element",
                    bounds.start, bounds.end
                );
                let action = format!("copy bytes {} to {}", bytes.start, bytes.end);
                Err(Error::device(self.name(), action, what))
            }
            _ => Ok(()),
        }
    }

    /// # Errors
    /// A row is not in the memory, or the rows have another size than the host's bytes.
    fn check_rectangles(&self, rectangles: &[Rectangle], host: usize) -> Result<()> {
        let mut all = 0_usize;
        for one in rectangles {
            if one.rows > 0 && one.width > 0 {
                let bytes = extent(one).ok_or_else(|| self.too_large())?;
                self.check(bytes)?;
            }
            let size = one.width.checked_mul(one.rows);
            let sum = size.and_then(|size| all.checked_add(size));
            all = sum.ok_or_else(|| self.too_large())?;
        }
        if all == host {
            return Ok(());
        }
        let what = format!("the rows have {all} bytes, and the host's memory {host}");
        Err(Error::device(self.name(), "copy rows", what))
    }

    fn too_large(&self) -> Error {
        Error::device(self.name(), "copy rows", "their size is too large")
    }

    /// Address of the byte at an offset.
    fn at(&self, offset: i64) -> usize {
        self.address.wrapping_add(offset as usize)
    }

    fn line(&self, offset: i64, host: *mut u8, width: usize) -> Rows {
        Rows {
            device: self.at(offset),
            host,
            shape: Shape::line(width),
        }
    }

    /// Waits for the program's work, and begins copies.
    fn begin(&self) -> Result<Copies<'_>> {
        self.wait()?;
        self.context.copies()
    }

    /// Copies `length` bytes from `offset` on in pieces, each to where `place` says, and shows them to `arrived`.
    ///
    /// # Safety
    /// `place` gives memory that nobody else uses until `arrived` has seen it, and that lives until `copies` is dropped.
    unsafe fn pieces(
        &self,
        copies: &Copies<'_>,
        (offset, length): (i64, u64),
        piece: usize,
        place: &mut dyn FnMut(u64, usize) -> *mut u8,
        arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let piece = piece.max(1) as u64;
        let size = |at: u64| piece.min(length - at) as usize;
        let stream = |at: u64| (at / piece % STREAMS as u64) as usize;
        let mut start = |at: u64| {
            let (host, from) = (place(at, stream(at)), offset.wrapping_add(at as i64));
            // SAFETY: by the promise to this function the memory is ours until it was shown.
            let begun =
                unsafe { copies.start(Way::ToHost, self.line(from, host, size(at)), stream(at)) };
            begun.map(|()| host)
        };
        let mut under_way = std::collections::VecDeque::new();
        let mut next = 0;
        loop {
            while next < length && under_way.len() < STREAMS {
                under_way.push_back((next, start(next)?));
                next += piece.min(length - next);
            }
            let Some((at, host)) = under_way.pop_front() else {
                return Ok(());
            };
            copies.wait(Way::ToHost, stream(at))?;
            // SAFETY: these bytes have arrived, and the next copy to them begins after this.
            arrived(unsafe { std::slice::from_raw_parts(host, size(at)) })?;
        }
    }
}

/// The bytes from the first to the last one of the rows of a rectangle.
fn extent(one: &Rectangle) -> Option<Range<i64>> {
    let steps = i64::try_from(one.rows.checked_sub(1)?).ok()?;
    let last = one.offset.checked_add(steps.checked_mul(one.pitch)?)?;
    let (first, last) = (one.offset.min(last), one.offset.max(last));
    Some(first..last.checked_add(i64::try_from(one.width).ok()?)?)
}

impl Remote for Located {
    fn bounds(&self) -> Option<Range<i64>> {
        self.bounds.clone()
    }

    fn copy_to(
        &self,
        offset: i64,
        to: &mut [u8],
        piece: usize,
        arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let length = to.len() as u64;
        self.check(offset..offset.saturating_add_unsigned(length))?;
        let copies = self.begin()?;
        let first = to.as_mut_ptr();
        let mut place = |at: u64, _| first.wrapping_add(at as usize);
        // SAFETY: pieces of `to`, which is borrowed longer than `copies` lives.
        unsafe { self.pieces(&copies, (offset, length), piece, &mut place, arrived) }
    }

    fn show(
        &self,
        offset: i64,
        length: u64,
        piece: usize,
        arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.check(offset..offset.saturating_add_unsigned(length))?;
        let copies = self.begin()?;
        let piece = piece.clamp(1, BUFFER);
        let most = usize::try_from(length).unwrap_or(piece).clamp(1, piece);
        let mut staging = self.context.take_staging(most);
        let mut place = |_, stream| staging.buffer(stream);
        // SAFETY: two buffers in turns, which are given back below, after the copies have ended.
        let result = unsafe { self.pieces(&copies, (offset, length), piece, &mut place, arrived) };
        drop(copies);
        self.context.give_staging(staging);
        result
    }

    fn gather(&self, rectangles: &[Rectangle], to: &mut [u8]) -> Result<()> {
        self.check_rectangles(rectangles, to.len())?;
        let copies = self.begin()?;
        let first = to.as_mut_ptr();
        let parts = self.parts(rectangles, first.addr(), to.len());
        // SAFETY: `to` is borrowed longer than `copies` lives, and has a place for each row.
        unsafe { self.move_rows(copies, Way::ToHost, parts, first) }
    }

    fn scatter(&mut self, rectangles: &[Rectangle], from: &[u8]) -> Result<()> {
        self.check_rectangles(rectangles, from.len())?;
        let copies = self.begin()?;
        let first = from.as_ptr().cast_mut();
        let parts = self.parts(rectangles, first.addr(), from.len());
        // SAFETY: `from` is borrowed longer than `copies` lives; on this way nothing is written to it.
        unsafe { self.move_rows(copies, Way::ToDevice, parts, first) }
    }

    fn pins(&self) -> Option<&'static str> {
        Some(self.context.driver().name())
    }

    unsafe fn pin(&self, address: *mut u8, length: usize) -> Option<Pin> {
        let _entered = self.context.enter().ok()?;
        // SAFETY: the caller's promise.
        let registered = unsafe { Registered::new(self.context.driver(), address, length) };
        registered.map(|registered| Box::new(registered) as Pin)
    }
}

impl Located {
    fn parts<'r>(&self, rectangles: &'r [Rectangle], host: usize, length: usize) -> Parts<'r> {
        let pinned = is_pinned(self.context.driver(), host, length);
        let direct = if pinned { 1 } else { LONG_ROW };
        Parts::new(rectangles, direct, pinned, BUFFER.min(length).max(1))
    }

    /// Copies the rows of rectangles, to or from the bytes at `host`, one row after the other.
    ///
    /// # Safety
    /// The memory at `host` has all rows, and lives until this returns; on the way to the host nobody else uses it.
    unsafe fn move_rows(
        &self,
        copies: Copies<'_>,
        way: Way,
        parts: Parts<'_>,
        host: *mut u8,
    ) -> Result<()> {
        let mut staging = None;
        let result = (|| {
            // What lies packed in the buffer of each stream.
            let mut packed: [Packed; STREAMS] = Default::default();
            let mut stream = 0;
            let mut parts = parts;
            while let Some(part) = parts.next() {
                let rows = Rows {
                    device: self.at(part.offset),
                    host: host.wrapping_add(part.host),
                    shape: part.shape,
                };
                if part.is_direct {
                    // SAFETY: the place of these rows in the caller's memory.
                    unsafe { copies.start(way, rows, stream)? };
                    continue;
                }
                let buffers =
                    staging.get_or_insert_with(|| self.context.take_staging(parts.buffer()));
                if packed[stream].bytes + part.bytes() > buffers.size() {
                    stream = (stream + 1) % STREAMS;
                    copies.wait(way, stream)?;
                    // SAFETY: the buffer is idle.
                    unsafe { packed[stream].empty(way, buffers.buffer(stream), host) };
                }
                let buffer = buffers.buffer(stream);
                let at = packed[stream].bytes;
                // SAFETY: there is room for the part in the buffer; these bytes of it are idle.
                unsafe {
                    packed[stream].add(way, part, buffer, host);
                    let rows = Rows {
                        host: buffer.wrapping_add(at),
                        ..rows
                    };
                    copies.start(way, rows, stream)?;
                }
            }
            copies.finish(way)?;
            for (stream, packed) in packed.iter_mut().enumerate() {
                if let Some(buffers) = &mut staging {
                    // SAFETY: all copies have ended.
                    unsafe { packed.empty(way, buffers.buffer(stream), host) };
                }
            }
            Ok(())
        })();
        drop(copies);
        if let Some(staging) = staging {
            self.context.give_staging(staging);
        }
        result
    }
}
