//! Writes fields whose memory the processor does not reach.
//!
//! Where the file is mapped, the bytes are copied straight to their place in it; else through memory of the one who copies,
//! and by writes.
//!
//! Bytes and checksum are always of one time, though the program's memory could change under the copy: each byte is copied
//! once, and its checksum is taken from where it then lies, in the file or in the memory that is written to the file,
//! piece by piece behind the copy. If the file could not be filled after all, the bytes are
//! copied again, and the checksums are taken again.

use super::kind::Kind;
use super::remote::gather;
use super::sums::Sums;
use super::walk::Walk;
use crate::device::Remote;
use crate::store::{File, Fill, Pin, Watch};
use crate::system::size::scaled;
use crate::{Error, Result};

/// Bytes that are filled at a time. Others who want the file wait as long; and between two of them nothing is copied.
const STAGE: usize = 1 << 30;

/// Bytes whose checksums are taken at a time, while the next ones come.
const PIECE: usize = 16 << 20;

/// Bytes that are written at a time.
const WRITTEN: usize = 4 << 20;

/// What is copied.
pub(super) struct Copies<'a> {
    pub remote: &'a dyn Remote,
    pub walk: &'a Walk,
    pub kind: Kind,
    /// The bytes lie one after the other, as in the file.
    pub as_it_is: bool,
}

impl Copies<'_> {
    /// Whole blocks of about so many bytes.
    fn step(&self, sums: &Sums, bytes: usize) -> u64 {
        let block = sums.section.block.max(1);
        (scaled(bytes) as u64 / block).max(1) * block
    }

    /// Copies elements that lie apart, from byte `from` of the field on.
    fn pack(&self, from: u64, to: &mut [u8]) -> Result<()> {
        gather(self.remote, self.walk, from / self.walk.size().max(1), to)?;
        self.kind.clear_padding(to);
        Ok(())
    }
}

/// The file to which a field goes.
pub(super) struct Target<'a> {
    pub file: &'a dyn File,
    /// The place of the first byte.
    pub begin: u64,
    /// For bytes that are packed.
    pub buffer: &'a mut Vec<u8>,
    pub watch: &'a dyn Watch,
}

impl Target<'_> {
    /// Writes the elements of a large field. After an error the place in the file has any content.
    ///
    /// # Errors
    /// The file cannot be written, or a copy has failed.
    pub(super) fn put(&mut self, copies: &Copies<'_>, sums: &mut Sums) -> Result<()> {
        let bytes = copies.walk.count() * copies.walk.size();
        let stage = copies.step(sums, STAGE);
        let mut done = 0;
        while done < bytes {
            let length = stage.min(bytes - done);
            let before = sums.mark();
            let mut filling = Filling {
                copies,
                from: done,
                sums: &mut *sums,
                watch: self.watch,
            };
            let place = self.begin..self.begin + length;
            if !self.file.fill_at(place, &mut filling)? {
                sums.back_to(before);
                self.write(copies, (done, length), sums)?;
            }
            self.begin += length;
            done += length;
        }
        sums.finish();
        Ok(())
    }

    /// Writes `length` bytes from byte `from` of the field on, which are not shown to the file where they are.
    fn write(
        &mut self,
        copies: &Copies<'_>,
        (from, length): (u64, u64),
        sums: &mut Sums,
    ) -> Result<()> {
        let (file, watch) = (self.file, self.watch);
        let step = copies.step(sums, WRITTEN);
        let mut place = self.begin;
        let mut write = |bytes: &[u8]| {
            sums.add(bytes);
            file.write_at(place, bytes)?;
            watch.moved(bytes.len() as u64);
            place += bytes.len() as u64;
            Ok(())
        };
        if copies.as_it_is {
            let offset = copies.walk.base() + from as i64;
            let shown = copies
                .remote
                .show(offset, length, step as usize, &mut write);
            return shown.and_then(|()| all_came(place - self.begin, length));
        }
        self.buffer.resize(step.min(length) as usize, 0);
        let mut done = 0;
        while done < length {
            let count = step.min(length - done) as usize;
            let piece = self.buffer.get_mut(..count).unwrap_or_default();
            copies.pack(from + done, piece)?;
            write(piece)?;
            done += count as u64;
        }
        self.buffer.clear();
        Ok(())
    }
}

/// # Errors
/// Fewer bytes, or more, have come than were asked for.
fn all_came(came: u64, wanted: u64) -> Result<()> {
    if came == wanted {
        return Ok(());
    }
    let what = format!("{came} bytes have come where {wanted} were to be copied");
    Err(Error::usage("SCR_Field", what))
}

/// The bytes of a field from byte `from` on, which go to their place in the file.
struct Filling<'a> {
    copies: &'a Copies<'a>,
    from: u64,
    sums: &'a mut Sums,
    watch: &'a dyn Watch,
}

impl Fill for Filling<'_> {
    fn pins(&self) -> Option<&'static str> {
        self.copies.remote.pins()
    }

    unsafe fn pin(&self, address: *mut u8, length: usize) -> Option<Pin> {
        // SAFETY: as the caller promises.
        unsafe { self.copies.remote.pin(address, length) }
    }

    fn fill(&mut self, to: &mut [u8]) -> Result<()> {
        let Filling {
            copies,
            from,
            sums,
            watch,
        } = self;
        let piece = copies.step(sums, PIECE) as usize;
        if copies.as_it_is {
            let offset = copies.walk.base() + *from as i64;
            let (mut came, wanted) = (0, to.len() as u64);
            let mut arrived = |bytes: &[u8]| {
                sums.add(bytes);
                watch.moved(bytes.len() as u64);
                came += bytes.len() as u64;
                Ok(())
            };
            copies.remote.copy_to(offset, to, piece, &mut arrived)?;
            return all_came(came, wanted);
        }
        let mut before: &[u8] = &[];
        for place in to.chunks_mut(piece) {
            sums.add_beside(before, || copies.pack(*from, place))?;
            watch.moved(place.len() as u64);
            *from += place.len() as u64;
            before = place;
        }
        sums.add(before);
        Ok(())
    }
}
