//! Writes a rank's file of fields in one pass, with the checksums on the way.

use super::entry::Entry;
use super::file::{ENDS, LARGE, Section, Stored, Table, block_of, encode_end, header, place_for};
use super::index::cover::{InFile, OwnList};
use super::index::{Encoded, Given};
use super::kind::Kind;
use super::memory::{Memory, Slice, gather};
use super::sums::Sums;
use super::walk::Walk;
use super::write_remote::{Copies, Target};
use crate::Result;
use crate::store::{File, Watch, retry};
use crate::system::size::scaled;
use crc32fast::Hasher;

/// Bytes of small fields that are packed before they are written.
const BUFFER: usize = 1 << 20;

/// Bytes that are packed at a time, for the second-level cache, and written.
const PACKED: usize = 512 << 10;

/// Bytes that are written at a time if they lie in memory as they go to the file.
const PIECE: u64 = 4 << 20;

/// A file that is being written.
pub struct Writer {
    file: Box<dyn File>,
    /// Offset in the file of the first byte in the buffer.
    begin: u64,
    buffer: Vec<u8>,
    /// Learns of the bytes that were written.
    watch: Box<dyn Watch>,
    /// Checksum of all bytes before the buffer.
    crc: Hasher,
    /// Threads that may take checksums of what a device copies.
    threads: usize,
    /// The fields so far.
    pub fields: Vec<Stored>,
    /// The index lists so far.
    pub indices: Vec<OwnList>,
}

/// A file that was written.
pub struct Written {
    /// The open file.
    pub file: Box<dyn File>,
    /// CRC32 (IEEE) of all of it, from memory.
    pub crc: u32,
    /// Its fields.
    pub fields: Vec<Stored>,
}

impl Writer {
    /// Begins the file of rank `rank` of `ranks`.
    pub fn new(file: Box<dyn File>, rank: u64, ranks: u64, watch: Box<dyn Watch>) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER);
        buffer.extend(header(rank, ranks));
        Writer {
            file,
            begin: 0,
            buffer,
            watch,
            crc: Hasher::new(),
            threads: 1,
            fields: Vec::new(),
            indices: Vec::new(),
        }
    }

    /// Lets so many threads take the checksums of what a device copies. One alone does not keep up with its bus, while what
    /// comes from the processor's memory is written more slowly than one takes them.
    pub fn use_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// Offset in the file of the next byte.
    fn end(&self) -> u64 {
        self.begin + self.buffer.len() as u64
    }

    fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.crc.update(&self.buffer);
            self.file.write_at(self.begin, &self.buffer)?;
            self.watch.moved(self.buffer.len() as u64);
            self.begin = self.end();
            self.buffer.clear();
        }
        Ok(())
    }

    /// Fills up to `place` with zeros.
    fn pad(&mut self, place: u64) -> Result<()> {
        let length = self.buffer.len() + (place - self.end()) as usize;
        self.buffer.resize(length, 0);
        if self.buffer.len() > BUFFER {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes the elements of a field. `memory` is `None` only if the field has no bytes.
    ///
    /// # Errors
    /// The file cannot be written, or an element is not in the memory.
    pub fn put(
        &mut self,
        entry: Entry,
        strides: &[i64],
        memory: Option<&dyn Memory>,
    ) -> Result<()> {
        // The program may have computed for long before this call.
        self.watch.moved(0);
        let bytes = entry.bytes();
        self.pad(place_for(self.end(), bytes))?;
        let mut sums = Sums::new(Section {
            offset: self.end(),
            block: block_of(entry.unit()),
            ..Section::default()
        });
        if let Some(memory) = memory.filter(|_| bytes > 0) {
            let walk = entry.walk_in(&entry.region(), strides);
            let as_it_is = walk.is_contiguous() && !entry.kind.has_padding();
            let remote = memory.remote();
            if let Some(remote) = remote.filter(|_| bytes >= scaled(LARGE as usize) as u64) {
                let copies = Copies {
                    remote,
                    walk: &walk,
                    kind: entry.kind,
                    as_it_is,
                };
                self.put_remote(&copies, bytes, &mut sums)?
            } else if bytes < LARGE {
                self.put_small(entry.kind, memory, &walk, &mut sums)?
            } else if as_it_is {
                self.put_direct(memory, walk.base(), bytes, &mut sums)?
            } else {
                self.put_packed(entry.kind, memory, &walk, &mut sums)?
            }
        }
        sums.finish();
        self.fields.push(Stored {
            entry,
            section: sums.section,
        });
        Ok(())
    }

    /// Reads bytes of fields that were written.
    ///
    /// # Errors
    /// The file cannot be written, or read.
    pub fn read_back(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.flush()?;
        self.watch.moved(0);
        retry(|| self.file.read_at(offset, buffer))
    }

    /// Writes an index list, and keeps it until the ranks have compared their lists.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put_index(&mut self, entry: Entry, mut list: OwnList) -> Result<()> {
        self.put(entry, &[1], Some(&Slice::of_bytes(&mut list.ids.bytes, 0)))?;
        self.indices.push(list);
        Ok(())
    }

    /// Writes an index list while it is encoded, of which no more than a piece is in memory. `entry` and `list` get what
    /// is known of it at the end.
    ///
    /// # Errors
    /// The file cannot be written; or the index list is wrong.
    pub fn encode_index(
        &mut self,
        given: &Given<'_>,
        entry: impl FnOnce(&Encoded) -> Entry,
        mut list: OwnList,
    ) -> Result<()> {
        self.watch.moved(0);
        self.pad(place_for(self.end(), LARGE))?;
        self.flush()?;
        let mut sums = Sums::new(Section {
            offset: self.begin,
            block: block_of(1),
            ..Section::default()
        });
        // Whole blocks.
        let block = sums.section.block as usize;
        let most = (scaled(PACKED) / block).max(1) * block;
        let mut left = Vec::new();
        let mut write = |bytes: &[u8]| {
            sums.add(bytes);
            self.file.write_at(self.begin, bytes)?;
            self.watch.moved(bytes.len() as u64);
            self.begin += bytes.len() as u64;
            Ok(())
        };
        let encoded = given.encode_in_pieces(&mut |piece| {
            left.extend_from_slice(piece);
            while left.len() >= most {
                write(left.get(..most).unwrap_or_default())?;
                left.drain(..most);
            }
            Ok(true)
        })?;
        let encoded = encoded.unwrap_or_default();
        write(&left)?;
        sums.finish();
        self.crc.combine(&sums.all);
        let offset = sums.section.offset;
        self.fields.push(Stored {
            entry: entry(&encoded),
            section: sums.section,
        });
        list.set = encoded.ascending.then(|| given.set());
        list.written = Some(InFile { offset, encoded });
        self.indices.push(list);
        Ok(())
    }

    /// Writes bytes that lie in memory as in the file. They are not copied, and each piece is written when its checksum
    /// was taken.
    fn put_direct(
        &mut self,
        memory: &dyn Memory,
        base: i64,
        bytes: u64,
        sums: &mut Sums,
    ) -> Result<()> {
        self.flush()?;
        let piece = (PIECE / sums.section.block).max(1) * sums.section.block;
        let mut done = 0;
        while done < bytes {
            let length = piece.min(bytes - done);
            let data = memory.bytes(base + done as i64, length as usize)?;
            sums.add(data);
            self.file.write_at(self.begin, data)?;
            self.watch.moved(length);
            self.begin += length;
            done += length;
        }
        sums.finish();
        self.crc.combine(&sums.all);
        Ok(())
    }

    /// Writes bytes that the processor does not reach.
    fn put_remote(&mut self, copies: &Copies<'_>, bytes: u64, sums: &mut Sums) -> Result<()> {
        self.flush()?;
        sums.use_threads(self.threads);
        let mut target = Target {
            file: &*self.file,
            begin: self.begin,
            buffer: &mut self.buffer,
            watch: &*self.watch,
        };
        target.put(copies, sums)?;
        self.begin += bytes;
        self.crc.combine(&sums.all);
        Ok(())
    }

    /// Packs elements that do not lie in memory as in the file. Checksum and file take each piece from the processor's
    /// cache.
    fn put_packed(
        &mut self,
        kind: Kind,
        memory: &dyn Memory,
        walk: &Walk,
        sums: &mut Sums,
    ) -> Result<()> {
        self.flush()?;
        let each = walk.size();
        // Whole blocks; one may be larger than the buffer.
        let block = sums.section.block;
        let step = (scaled(PACKED) as u64 / block).max(1) * block / each;
        self.buffer
            .resize((step.min(walk.count()) * each) as usize, 0);
        let mut from = 0;
        while from < walk.count() {
            let count = step.min(walk.count() - from);
            let piece = &mut self.buffer[..(count * each) as usize];
            gather(memory, walk, from, piece)?;
            kind.clear_padding(piece);
            sums.add(piece);
            self.file.write_at(self.begin, piece)?;
            self.watch.moved(piece.len() as u64);
            self.begin += piece.len() as u64;
            from += count;
        }
        self.buffer.clear();
        sums.finish();
        self.crc.combine(&sums.all);
        Ok(())
    }

    /// Packs a field that is written together with others.
    fn put_small(
        &mut self,
        kind: Kind,
        memory: &dyn Memory,
        walk: &Walk,
        sums: &mut Sums,
    ) -> Result<()> {
        let bytes = (walk.count() * walk.size()) as usize;
        if self.buffer.len() + bytes > BUFFER {
            self.flush()?;
        }
        let begin = self.buffer.len();
        self.buffer.resize(begin + bytes, 0);
        let place = &mut self.buffer[begin..];
        gather(memory, walk, 0, place)?;
        kind.clear_padding(place);
        sums.add(place);
        Ok(())
    }

    /// Writes table and trailer.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(
        mut self,
        (rank, ranks): (u64, u64),
        list: u64,
        same_counts: bool,
    ) -> Result<Written> {
        self.pad(self.end().next_multiple_of(ENDS))?;
        let fields = std::mem::take(&mut self.fields);
        let table = Table {
            rank,
            ranks,
            list,
            same_counts,
            fields,
        };
        let end = encode_end(&table, self.end());
        self.buffer.extend(end);
        self.flush()?;
        // This file may have been written over that of an older checkpoint, which may have been longer.
        self.file.set_size(self.begin)?;
        Ok(Written {
            file: self.file,
            crc: self.crc.finalize(),
            fields: table.fields,
        })
    }
}
