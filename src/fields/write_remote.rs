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

/// In this crate's tests of itself, fields of a few megabytes are cut as often as those of gigabytes.
const IN_TESTS: usize = if cfg!(test) { 10 } else { 0 };

/// Bytes that are filled at a time. Others who want the file wait as long; and between two of them nothing is copied.
const STAGE: usize = (1 << 30) >> IN_TESTS;

/// Bytes whose checksums are taken at a time, while the next ones come.
const PIECE: usize = (16 << 20) >> (IN_TESTS / 2);

/// Bytes that are written at a time.
const WRITTEN: usize = (4 << 20) >> (IN_TESTS / 2);

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

#[cfg(test)]
mod tests {
    use super::{Copies, PIECE, STAGE, Target, WRITTEN};
    use crate::device::{Rectangle, Remote};
    use crate::fields::file::Section;
    use crate::fields::kind::{Class, Kind};
    use crate::fields::sums::Sums;
    use crate::fields::walk::Walk;
    use crate::store::mapping_tests::{SIZE, content, mapped, memory};
    use crate::store::{File, Fill, KeptFile, Pin, Refused, Stat};
    use crate::{Result, forward};
    use rustix::fd::BorrowedFd;
    use std::cell::Cell;
    use std::ops::Range;

    /// Bytes that are copied.
    struct Bytes {
        all: Vec<u8>,
        /// How often they were copied straight to where they stay.
        straight: Cell<usize>,
        /// One byte less comes than is asked for.
        is_short: bool,
    }

    impl Remote for Bytes {
        fn bounds(&self) -> Option<Range<i64>> {
            None
        }

        fn copy_to(
            &self,
            offset: i64,
            to: &mut [u8],
            piece: usize,
            arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
        ) -> Result<()> {
            self.straight.set(self.straight.get() + 1);
            to.copy_from_slice(&self.all[offset as usize..][..to.len()]);
            let came = to.len() - usize::from(self.is_short);
            to[..came].chunks(piece).try_for_each(arrived)
        }

        fn show(
            &self,
            offset: i64,
            length: u64,
            piece: usize,
            arrived: &mut dyn FnMut(&[u8]) -> Result<()>,
        ) -> Result<()> {
            let came = length as usize - usize::from(self.is_short);
            let shown = &self.all[offset as usize..][..came];
            shown.chunks(piece).try_for_each(arrived)
        }

        fn gather(&self, rectangles: &[Rectangle], to: &mut [u8]) -> Result<()> {
            let mut left = to;
            for one in rectangles {
                for row in 0..one.rows as i64 {
                    let from = (one.offset + row * one.pitch) as usize;
                    let (now, rest) = std::mem::take(&mut left).split_at_mut(one.width);
                    now.copy_from_slice(&self.all[from..][..one.width]);
                    left = rest;
                }
            }
            Ok(())
        }

        fn scatter(&mut self, _: &[Rectangle], _: &[u8]) -> Result<()> {
            Ok(())
        }

        fn pins(&self) -> Option<&'static str> {
            None
        }

        unsafe fn pin(&self, _: *mut u8, _: usize) -> Option<Pin> {
            None
        }
    }

    /// The lease of the file is taken away while it is filled.
    struct Lost(Box<dyn File>);

    impl File for Lost {
        fn fill_at(&self, bytes: Range<u64>, fill: &mut dyn Fill) -> Result<bool> {
            fill.fill(&mut vec![0; (bytes.end - bytes.start) as usize])?;
            Ok(false)
        }

        fn keep(self: Box<Self>) -> Option<KeptFile> {
            None
        }

        fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile> {
            Some(kept)
        }

        forward! { self.0;
            fn show(&self, bytes: Range<u64>, piece: usize, see: &mut dyn FnMut(&[u8])) -> Result<bool>;
            fn write_and_see(&self, offset: u64, data: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool>;
            fn size(&self) -> Result<u64>;
            fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
            fn write_at(&self, offset: u64, data: &[u8]) -> Result<()>;
            fn allocate(&self, size: u64) -> Result<()>;
            fn set_size(&self, size: u64) -> Result<()>;
            fn data_from(&self, from: u64) -> Result<Option<Range<u64>>>;
            fn copy_from(&self, source: &dyn File, bytes: Range<u64>) -> Result<bool>;
            fn start_sync(&self, bytes: Range<u64>) -> Result<()>;
            fn sync(&self) -> Result<()>;
            fn restore(&self, stat: &Stat) -> Result<Refused>;
            fn descriptor(&self) -> Result<BorrowedFd<'_>>;
        }
    }

    fn put(file: &dyn File, remote: &Bytes, walk: &Walk) -> Result<Sums> {
        let mut sums = Sums::new(Section {
            block: 8000,
            ..Section::default()
        });
        let copies = Copies {
            remote,
            walk,
            kind: Kind::new(Class::Real, 8),
            as_it_is: walk.is_contiguous(),
        };
        let mut target = Target {
            file,
            begin: 4096,
            buffer: &mut Vec::new(),
            watch: &(),
        };
        target.put(&copies, &mut sums).map(|()| sums)
    }

    /// Whether the file is filled or written, and however often the bytes are cut.
    #[test]
    fn each_piece_of_a_field_has_its_place_and_its_checksum() {
        let Some(dir) = memory() else { return };
        let (file, path) = mapped(dir.path());
        let count = (5 * STAGE / 2 + 40) as u64 / 8;
        assert!(count as usize * 8 < SIZE - 4096 && STAGE > PIECE && STAGE > WRITTEN);
        let mut remote = Bytes {
            all: content(3, 4 * SIZE),
            straight: Cell::new(0),
            is_short: false,
        };
        let rows = count / 5;
        let walks = [
            Walk::new(&[rows, 5], &[40, 8], 72, 8),
            Walk::new(&[rows, 5], &[56, 8], 24, 8),
        ];
        for (number, walk) in walks.iter().enumerate() {
            let mut expected = Vec::new();
            let add = |run: crate::fields::walk::ElementRun| {
                for at in 0..run.count as i64 {
                    let from = (run.offset + at * run.stride) as usize;
                    expected.extend_from_slice(&remote.all[from..][..8]);
                }
                Ok(())
            };
            walk.runs(0, walk.count(), add).unwrap();
            let right: Vec<u32> = expected.chunks(8000).map(crc32fast::hash).collect();
            for is_filled in [true, false] {
                // Who has a file open keeps others from storing to its mapping.
                let reader = (!is_filled).then(|| std::fs::File::open(&path).unwrap());
                let before = remote.straight.get();
                let sums = put(&*file, &remote, walk).unwrap();
                drop(reader);
                let straight = remote.straight.get() - before;
                assert_eq!(straight, if is_filled && number == 0 { 3 } else { 0 });
                let there = std::fs::read(&path).unwrap();
                let there = &there[4096..][..expected.len()];
                assert!(there == expected, "walk {number}, {is_filled}");
                assert_eq!(sums.section.blocks, right);
                assert_eq!(sums.section.crc, crc32fast::hash(&expected));
            }
        }
        // Bytes that were filled for nothing are not counted.
        let lost = Lost(mapped(dir.path()).0);
        let sums = put(&lost, &remote, &walks[0]).unwrap();
        let expected = &remote.all[72..][..count as usize * 8];
        assert!(std::fs::read(&path).unwrap()[4096..].starts_with(expected));
        assert_eq!(sums.section.crc, crc32fast::hash(expected));
        assert_eq!(sums.section.blocks.len(), expected.len().div_ceil(8000));
        remote.is_short = true;
        for is_filled in [true, false] {
            let reader = (!is_filled).then(|| std::fs::File::open(&path).unwrap());
            let error = put(&*file, &remote, &walks[0]).map(|_| ()).unwrap_err();
            drop(reader);
            assert!(error.to_string().contains("bytes have come"), "{error}");
        }
    }
}
