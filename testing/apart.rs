//! Memory that only copies reach, as a device's: nothing else reads its bytes.
//!
//! Pieces arrive in lengths that no block has, and what has not arrived has wrong bytes. The n-th copy fails. Pins say
//! whether their pages were there when they went.

use crate::device::{Pin, Rectangle, Remote};
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What happens to the copies of some memory, also while it is in use.
#[derive(Debug, Clone, Default)]
pub struct Copies(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Copies so far.
    made: AtomicU64,
    /// The number of the copy that fails, and all that follow it; 0 for none.
    fail: AtomicU64,
    no_pins: AtomicBool,
    pins: AtomicU64,
    /// Bytes that were copied to places that were pinned for it, and to others.
    pinned: AtomicU64,
    /// Pins whose pages were gone before.
    late: AtomicU64,
}

impl Copies {
    /// Makes the `n`-th copy from now on fail, and those after it; 0 for none.
    pub fn fail_at(&self, n: u64) {
        let at = if n == 0 { 0 } else { self.made() + n };
        self.0.fail.store(at, Relaxed);
    }

    /// Number of copies so far.
    pub fn made(&self) -> u64 {
        self.0.made.load(Relaxed)
    }

    /// Nothing can be pinned.
    pub fn refuse_pins(&self) {
        self.0.no_pins.store(true, Relaxed);
    }

    /// Number of pins that were made.
    pub fn pins(&self) -> u64 {
        self.0.pins.load(Relaxed)
    }

    /// Bytes that were copied straight to where the caller wanted them.
    pub fn straight(&self) -> u64 {
        self.0.pinned.load(Relaxed)
    }

    /// Number of pins whose pages were unmapped before they went.
    pub fn late(&self) -> u64 {
        self.0.late.load(Relaxed)
    }

    fn copy(&self) -> Result<()> {
        let number = self.0.made.fetch_add(1, Relaxed) + 1;
        let fail = self.0.fail.load(Relaxed);
        if fail > 0 && number >= fail {
            let what = "DEVICE_LOST";
            return Err(Error::device("device 0", "copy bytes", what));
        }
        Ok(())
    }
}

/// The memory.
pub struct Apart {
    bytes: Vec<u8>,
    first: usize,
    copies: Copies,
}

impl Apart {
    /// Bytes of which byte `first` is the first one of the field's first element.
    pub fn new(bytes: Vec<u8>, first: usize, copies: &Copies) -> Self {
        let copies = copies.clone();
        Apart {
            bytes,
            first,
            copies,
        }
    }

    /// The bytes as they are now.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn place(&self, offset: i64, length: usize) -> Result<Range<usize>> {
        let from = usize::try_from(self.first as i64 + offset);
        let place = from.ok().map(|from| from..from + length);
        let place = place.filter(|place| place.end <= self.bytes.len());
        place.ok_or_else(|| {
            let what = format!("a copy of {length} bytes at {offset} was out of bounds");
            Error::usage("SCR_Field", what)
        })
    }

    fn rows(&self, rectangles: &[Rectangle]) -> Result<Vec<Range<usize>>> {
        let mut rows = Vec::new();
        for one in rectangles {
            for row in 0..one.rows as i64 {
                rows.push(self.place(one.offset + row * one.pitch, one.width)?);
            }
        }
        Ok(rows)
    }
}

struct OnePin {
    copies: Copies,
    address: usize,
    length: usize,
}

impl Drop for OnePin {
    fn drop(&mut self) {
        let mut pages = vec![0u8; self.length.div_ceil(4096)];
        let address = self.address as *mut libc::c_void;
        // SAFETY: the call changes nothing but `pages`, which has a byte for each page.
        let there = unsafe { libc::mincore(address, self.length, pages.as_mut_ptr().cast()) };
        if there != 0 {
            self.copies.0.late.fetch_add(1, Relaxed);
        }
    }
}

impl Remote for Apart {
    fn bounds(&self) -> Option<Range<i64>> {
        let first = self.first as i64;
        Some(-first..self.bytes.len() as i64 - first)
    }

    fn copy_to(
        &self,
        offset: i64,
        to: &mut [u8],
        piece: usize,
        arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let from = self.place(offset, to.len())?;
        let from = self.bytes.get(from).unwrap_or_default();
        to.fill(0xda);
        let piece = (piece - piece / 7).max(1);
        for (number, now) in from.chunks(piece).enumerate() {
            self.copies.copy()?;
            let place = to.get_mut(number * piece..).unwrap_or_default();
            let (place, _) = place.split_at_mut(now.len());
            place.copy_from_slice(now);
            self.copies.0.pinned.fetch_add(now.len() as u64, Relaxed);
            arrived(place)?;
        }
        Ok(())
    }

    fn show(
        &self,
        offset: i64,
        length: u64,
        piece: usize,
        arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let from = self.place(offset, length as usize)?;
        let from = self.bytes.get(from).unwrap_or_default();
        for now in from.chunks((piece - piece / 5).max(1)) {
            self.copies.copy()?;
            // What is shown goes after the call, as a buffer is filled again.
            let copy = now.to_vec();
            arrived(&copy)?;
        }
        Ok(())
    }

    fn gather(&self, rectangles: &[Rectangle], to: &mut [u8]) -> Result<()> {
        self.copies.copy()?;
        let mut left = to;
        for row in self.rows(rectangles)? {
            let (now, rest) = std::mem::take(&mut left).split_at_mut(row.len());
            now.copy_from_slice(self.bytes.get(row).unwrap_or_default());
            left = rest;
        }
        assert!(left.is_empty(), "rectangles are all of the bytes");
        Ok(())
    }

    fn scatter(&mut self, rectangles: &[Rectangle], from: &[u8]) -> Result<()> {
        self.copies.copy()?;
        let mut left = from;
        for row in self.rows(rectangles)? {
            let (now, rest) = left.split_at(row.len());
            if let Some(place) = self.bytes.get_mut(row) {
                place.copy_from_slice(now);
            }
            left = rest;
        }
        assert!(left.is_empty(), "rectangles are all of the bytes");
        Ok(())
    }

    fn pins(&self) -> Option<&'static str> {
        Some("device 0")
    }

    unsafe fn pin(&self, address: *mut u8, length: usize) -> Option<Pin> {
        if self.copies.0.no_pins.load(Relaxed) {
            return None;
        }
        self.copies.0.pins.fetch_add(1, Relaxed);
        let pin = OnePin {
            copies: self.copies.clone(),
            address: address.addr(),
            length,
        };
        Some(Box::new(pin))
    }
}
