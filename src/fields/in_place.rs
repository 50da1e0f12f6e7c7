//! Copies a field from its file to memory and checks it in one pass.

use super::file::Section;
use crate::Result;
use crate::device::{Rectangle, Remote};
use crate::store::{File, SHOWN, copy_past_caches};
use crc32fast::Hasher;

/// Result of a copy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Copied {
    /// All was copied, and has the right checksums.
    Right,
    /// The block at this offset has a wrong checksum.
    Wrong(u64),
    /// The bytes must be read; the memory has any content.
    Not,
}

/// Copies a field to `memory`, which is as long, past the processor's caches. Each block is compared with its checksum as
/// it is copied. `moved` learns how many bytes more were copied.
pub(super) fn copy_in_place(
    file: &dyn File,
    section: &Section,
    memory: &mut [u8],
    moved: &dyn Fn(u64),
) -> Result<Copied> {
    let length = memory.len() as u64;
    let mut copy = Copy {
        section,
        memory,
        at: 0,
        sum: Hasher::new(),
        block: 0,
        wrong: None,
        moved,
    };
    let bytes = section.offset..section.offset.saturating_add(length);
    let shown = file.show(bytes, SHOWN, &mut |bytes| copy.add(bytes))?;
    Ok(match copy.wrong {
        _ if !shown || copy.at as u64 != length => Copied::Not,
        Some(at) => Copied::Wrong(at),
        None => Copied::Right,
    })
}

/// Bytes that are checked, and then copied to memory that the processor does not reach: few enough to be in its caches.
const WINDOW: usize = 4 << 20;

/// As [`copy_in_place`], to bytes of memory that the processor does not reach, from an offset on, and so many. Each block is
/// compared with its checksum as it is copied, and nothing more is copied after a wrong one.
///
/// # Errors
/// The file cannot be shown, or the copy has failed.
pub(super) fn copy_to_remote(
    file: &dyn File,
    section: &Section,
    (remote, base, length): (&mut dyn Remote, i64, u64),
    moved: &dyn Fn(u64),
) -> Result<Copied> {
    let mut check = Check {
        section,
        length,
        at: 0,
        sum: Hasher::new(),
        block: 0,
        wrong: None,
    };
    let mut copied = Ok(());
    let bytes = section.offset..section.offset.saturating_add(length);
    let shown = file.show(bytes, WINDOW, &mut |bytes| {
        let offset = base + check.at as i64;
        check.add(bytes);
        let row = Rectangle {
            offset,
            width: bytes.len(),
            rows: 1,
            pitch: bytes.len() as i64,
        };
        if copied.is_ok() && check.wrong.is_none() && !bytes.is_empty() {
            copied = remote.scatter(&[row], bytes);
        }
        moved(bytes.len() as u64);
    })?;
    copied?;
    Ok(match check.wrong {
        _ if !shown || check.at != length => Copied::Not,
        Some(at) => Copied::Wrong(at),
        None => Copied::Right,
    })
}

/// Compares blocks with their checksums, as their bytes come.
struct Check<'a> {
    section: &'a Section,
    length: u64,
    /// Bytes that have come.
    at: u64,
    /// The checksum of what has come of the block `block`.
    sum: Hasher,
    block: usize,
    /// Offset of the first block with a wrong checksum.
    wrong: Option<u64>,
}

impl Check<'_> {
    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.at < self.length {
            let begin = self.block as u64 * self.section.block;
            let end = begin.saturating_add(self.section.block).min(self.length);
            let missing = end.saturating_sub(self.at) as usize;
            let (now, rest) = bytes.split_at(missing.min(bytes.len()));
            self.sum.update(now);
            self.at += now.len() as u64;
            bytes = rest;
            if self.at == end {
                let sum = std::mem::take(&mut self.sum).finalize();
                if self.section.blocks.get(self.block) != Some(&sum) {
                    self.wrong.get_or_insert(begin);
                }
                self.block += 1;
            }
        }
    }
}

struct Copy<'a> {
    section: &'a Section,
    memory: &'a mut [u8],
    /// Bytes that were copied.
    at: usize,
    /// The checksum of what was copied of the block `block`.
    sum: Hasher,
    block: usize,
    /// Offset of the first block with a wrong checksum.
    wrong: Option<u64>,
    moved: &'a dyn Fn(u64),
}

impl Copy<'_> {
    /// Copies the next bytes.
    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let begin = self.block as u64 * self.section.block;
            let end = begin.saturating_add(self.section.block);
            let end = end.min(self.memory.len() as u64);
            let missing = end.saturating_sub(self.at as u64) as usize;
            let (now, rest) = bytes.split_at(missing.min(bytes.len()));
            let Some(place) = self.memory.get_mut(self.at..).filter(|_| missing > 0) else {
                return;
            };
            self.sum.update(now);
            copy_past_caches(place, now);
            self.at += now.len();
            bytes = rest;
            if self.at as u64 == end {
                let sum = std::mem::take(&mut self.sum).finalize();
                if self.section.blocks.get(self.block) != Some(&sum) {
                    self.wrong.get_or_insert(begin);
                }
                self.block += 1;
                (self.moved)(end - begin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Copied, copy_in_place};
    use crate::fields::file::Section;
    use crate::store::posix::Posix;
    use crate::store::{File, Files, Fill, KeptFile, Refused, Stat};
    use crate::{Result, forward};
    use rustix::fd::BorrowedFd;
    use std::cell::Cell;
    use std::ops::Range;

    /// Shows its bytes in pieces of a length, and then says whether that counts.
    struct Shown<'a> {
        bytes: &'a [u8],
        piece: usize,
        counts: bool,
        /// A file for all else.
        rest: Box<dyn File>,
    }

    impl File for Shown<'_> {
        fn show(&self, bytes: Range<u64>, _: usize, see: &mut dyn FnMut(&[u8])) -> Result<bool> {
            let bytes = &self.bytes[bytes.start as usize..bytes.end as usize];
            bytes.chunks(self.piece).for_each(see);
            Ok(self.counts)
        }

        fn keep(self: Box<Self>) -> Option<KeptFile> {
            None
        }

        fn take_over(&mut self, kept: KeptFile) -> Option<KeptFile> {
            Some(kept)
        }

        forward! { self.rest;
            fn write_and_see(&self, offset: u64, data: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool>;
            fn fill_at(&self, bytes: Range<u64>, fill: &mut dyn Fill) -> Result<bool>;
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

    #[test]
    fn a_flip_of_any_byte_is_noticed_in_its_block() {
        let dir = tempfile::tempdir().unwrap();
        let rest = dir.path().join("rest");
        std::fs::write(&rest, "").unwrap();
        let mut bytes: Vec<u8> = (0..200u8).collect();
        let field = 30..171;
        for block in [1u64, 7, 50, 141, 200] {
            let section = Section {
                offset: field.start as u64,
                block,
                crc: 0,
                blocks: bytes[field.clone()]
                    .chunks(block as usize)
                    .map(crc32fast::hash)
                    .collect(),
            };
            for piece in [1, 7, 64, 500] {
                let copy = |bytes: &[u8], counts| {
                    let file = Shown {
                        bytes,
                        piece,
                        counts,
                        rest: Posix.open(&rest).unwrap(),
                    };
                    let mut memory = vec![0xee; field.len()];
                    let moved = Cell::new(0);
                    let add = |more| moved.set(moved.get() + more);
                    let copied = copy_in_place(&file, &section, &mut memory, &add).unwrap();
                    assert_eq!(moved.get(), field.len() as u64);
                    assert_eq!(memory, bytes[field.clone()]);
                    copied
                };
                assert_eq!(copy(&bytes, true), Copied::Right);
                assert_eq!(copy(&bytes, false), Copied::Not);
                for at in 0..bytes.len() {
                    bytes[at] ^= 0x10;
                    let expected = if field.contains(&at) {
                        let inside = (at - field.start) as u64;
                        Copied::Wrong(inside / block * block)
                    } else {
                        Copied::Right
                    };
                    assert_eq!(copy(&bytes, true), expected, "{at} {block} {piece}");
                    bytes[at] ^= 0x10;
                }
            }
        }
    }
}
