//! XOR: a set can lose any one member (the SCR developer guide, "XOR algorithm").
//!
//! With N members, `chunk = ceil(largest logical file / (N - 1))`, at least 1. Chunk `c` of
//! the parity, kept by member `c`, is the xor over all other members `s` of chunk `c` (if
//! `c < s`, else `c - 1`) of their logical files: the layout of SCR v3.1.0.
//!
//! Each such column travels once around the ring. It starts at the right neighbour of the
//! member that will keep it, and each member on the way adds its own chunk. All columns are
//! on the way at once, so every member reads each byte once, sends and receives N - 1 chunks
//! and only to and from its neighbours.

use super::logical::{Reader, total};
use super::parity_file::{self, Input, Output};
use super::ring::{self, Ring};
use super::single::Single;
use super::single::{BLOCK, check_data};
use super::{Context, First, Health, Outcome, Record, Scheme, Set, kernel};
use crate::format::files::{FileMeta, RankFiles};
use crate::format::xor::{Group, XorHeader};
use crate::format::{from_message, to_message};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The scheme.
pub struct Xor;

impl Scheme for Xor {
    fn name(&self) -> &'static str {
        "XOR"
    }

    fn losses(&self) -> usize {
        1
    }

    /// A set of one has no redundancy file.
    fn redundancy_file(&self, meta_dir: &Path, set: &Set) -> Option<PathBuf> {
        (set.size() > 1).then(|| parity_file::path(meta_dir, set))
    }

    fn encode(&self, context: &Context, record: &mut Record) -> Result<()> {
        if context.set.size() < 2 {
            return Single.encode(context, record);
        }
        context.members()?;
        encode(context, record)
    }

    fn check(&self, context: &Context, record: &Record) -> Health {
        let parity = match context.set.size() {
            0 | 1 => Ok(()),
            _ => Input::open(context, record).and_then(|parity| parity.verify()),
        };
        Health {
            data: check_data(context, record),
            parity,
        }
    }

    fn rebuild(
        &self,
        context: &Context,
        mine: Option<(Record, Health)>,
    ) -> Result<(Record, Outcome)> {
        if context.set.size() < 2 {
            return Single.rebuild(context, mine);
        }
        context.members()?;
        super::xor_rebuild::rebuild(context, mine)
    }
}

/// Which chunk of its logical file member `member` adds to column `column`.
pub(super) fn chunk_index(column: usize, member: usize) -> u64 {
    if column < member {
        column as u64
    } else {
        (column as u64).saturating_sub(1)
    }
}

/// Sends a few numbers to all other members and receives theirs, own included, in set order:
/// one round. Only a failing transport, or nonsense from it, is an error.
pub(super) fn announce<const N: usize>(context: &Context, mine: [u64; N]) -> Result<Vec<[u64; N]>> {
    let bytes: Vec<u8> = mine.iter().flat_map(|n| n.to_le_bytes()).collect();
    let sends: Vec<_> = context
        .others()
        .map(|to| context.comm.isend(to, context.tag, bytes.clone()))
        .collect::<Result<_>>()?;
    let mut all = Vec::with_capacity(context.set.size());
    for (index, from) in context.set.members.iter().enumerate() {
        if index == context.set.index {
            all.push(mine);
            continue;
        }
        let message = context
            .comm
            .irecv(*from, context.tag, vec![0; 8 * N])?
            .wait()?;
        let (words, _) = message.as_chunks::<8>();
        let mut theirs = [0; N];
        for (number, word) in theirs.iter_mut().zip(words) {
            *number = u64::from_le_bytes(*word);
        }
        all.push(theirs);
    }
    sends
        .into_iter()
        .try_for_each(|send| send.wait().map(drop))?;
    Ok(all)
}

/// The pieces of a column in order: step (member on the way), offset in the chunk, length.
/// A window of pieces goes through all steps before the next window begins.
fn schedule(
    chunk: u64,
    piece: usize,
    window: usize,
    steps: std::ops::Range<usize>,
) -> impl Iterator<Item = (usize, u64, usize)> {
    let span = piece.saturating_mul(window).max(1);
    (0..chunk).step_by(span).flat_map(move |start| {
        let end = chunk.min(start.saturating_add(span as u64));
        steps
            .clone()
            .flat_map(move |step| pieces(start, end, piece).map(move |(o, n)| (step, o, n)))
    })
}

/// Offsets and lengths of the pieces of `start..end`.
pub(super) fn pieces(start: u64, end: u64, piece: usize) -> impl Iterator<Item = (u64, usize)> {
    let piece = piece.max(1);
    (start..end)
        .step_by(piece)
        .map(move |o| (o, (end - o).min(piece as u64) as usize))
}

/// Fills `buffer` block by block, or, with `scratch`, adds to it; `read` gets place and
/// target of each block. Blocks are still in the processor's cache when they are added.
pub(super) fn blocks(
    buffer: &mut [u8],
    scratch: Option<&mut [u8]>,
    mut read: impl FnMut(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let mut offset = 0;
    match scratch {
        None => {
            for block in buffer.chunks_mut(BLOCK) {
                read(offset, block)?;
                offset += block.len() as u64;
            }
        }
        Some(scratch) => {
            for block in buffer.chunks_mut(scratch.len().max(1)) {
                let own = scratch.get_mut(..block.len()).unwrap_or_default();
                read(offset, own)?;
                kernel::xor_into(block, own);
                offset += block.len() as u64;
            }
        }
    }
    Ok(())
}

/// Encodes a set of two or more. Once the members know each other's sizes, nothing but the
/// transport stops the exchange: a rank that failed sends on what it gets.
fn encode(context: &Context, record: &mut Record) -> Result<()> {
    let set = context.set;
    let members = set.size();
    let mut first = First::default();

    let size = first
        .keep(total(record.files.files.iter().map(|f| f.size)))
        .unwrap_or(0);
    let dataset = &record.dataset;
    let all = announce(
        context,
        [dataset.id, dataset.created, context.piece as u64, size],
    )?;
    let same = |a: &[u64; 4], b: &[u64; 4]| a[..3] == b[..3];
    if all.iter().any(|other| !same(other, &all[0])) {
        let what = "the members of a redundancy set do not agree on dataset or message size";
        return Err(Error::dataset(dataset.id, dataset.name.to_string(), what));
    }
    let largest = all
        .iter()
        .map(|n| n[3])
        .max()
        .unwrap_or(0)
        .min(i64::MAX as u64);
    let chunk = largest.div_ceil(members as u64 - 1).max(1);

    let partner = exchange_files(context, &record.files)?;
    let header = first
        .keep(partner)
        .map(|partner| header_of(context, record, chunk, partner));
    let path = parity_file::path(context.meta_dir, set);
    let mut parity = header
        .as_ref()
        .and_then(|header| first.keep(Output::create(context.files, path, header)));
    let mut reader = first.keep(
        context
            .paths(&record.files)
            .and_then(|list| Reader::new(context.files, list, true)),
    );

    let piece = context.piece.max(1);
    let window = ring::window(piece);
    let lengths = schedule(chunk, piece, window, 1..members).map(|(_, _, length)| length);
    let mut ring = Ring::new(
        context.comm,
        (set.left(), set.right(1)),
        context.tag,
        window,
        lengths,
    )?;
    let mut scratch = vec![0; BLOCK.min(piece)];
    for (step, offset, length) in schedule(chunk, piece, window, 0..members) {
        let column = (set.index + members - 1 - step) % members;
        let from = chunk_index(column, set.index) * chunk + offset;
        let mut buffer = if step == 0 {
            ring.buffer(length)?
        } else {
            ring.receive()?
        };
        if step == members - 1 {
            if let Some(file) = parity.as_mut().filter(|_| !first.failed()) {
                first.keep(file.append(&buffer));
            }
            ring.release(buffer);
            continue;
        }
        let scratch = (step > 0).then_some(&mut scratch[..]);
        let fresh = scratch.is_none();
        let own = reader
            .as_mut()
            .filter(|_| !first.failed())
            .and_then(|reader| {
                first.keep(blocks(&mut buffer, scratch, |at, block| {
                    reader.read_at(from + at, block)
                }))
            });
        if own.is_none() && fresh {
            buffer.fill(0);
        }
        ring.send(buffer)?;
    }
    ring.finish()?;

    let sums = match reader {
        Some(reader) if !first.failed() => first.keep(reader.finish()),
        _ => None,
    };
    if let Some(sums) = sums {
        first.keep(settle(context, &mut record.files, &sums));
    }
    let theirs = exchange_sums(context, &record.files)?;
    first.share(context, &record.dataset)?;
    if let (Some(header), Some(parity), false) = (header, parity, first.failed()) {
        first.keep(
            complete(header, record, &theirs)
                .and_then(|header| parity.finish(header, context.sync)),
        );
    }
    first.result(())
}

/// Gives this rank's list of files to the right neighbour and takes that of the left one.
/// The outer error is the transport's.
fn exchange_files(context: &Context, mine: &RankFiles) -> Result<Result<RankFiles>> {
    // A list that has no form as a message goes out empty, which the neighbour refuses.
    let message = to_message(mine);
    let bytes = message.as_ref().cloned().unwrap_or_default();
    let send = context
        .comm
        .isend(context.set.right(1), context.tag, bytes)?;
    let theirs = context.comm.recv(context.set.left(), context.tag)?;
    send.wait()?;
    Ok(message.and_then(|_| accept(&theirs, context.set.left())))
}

/// The list of files in a message from `rank`.
pub(super) fn accept(message: &[u8], rank: usize) -> Result<RankFiles> {
    let list: RankFiles = from_message(message)?;
    if list.rank != rank {
        return Err(Error::format(
            0,
            format!("rank {rank} sent the files of rank {}", list.rank),
        ));
    }
    Ok(list)
}

/// The header of this rank's redundancy file. Checksums that are not known yet are there as
/// 0, to have their place.
pub(super) fn header_of(
    context: &Context,
    record: &Record,
    chunk: u64,
    mut partner: RankFiles,
) -> XorHeader {
    let mut current = record.files.clone();
    for file in current.files.iter_mut().chain(&mut partner.files) {
        file.crc.get_or_insert(0);
    }
    XorHeader {
        dataset: record.dataset.clone(),
        ranks: context.comm.size(),
        group: Group(context.set.members.to_vec()),
        chunk,
        crc: Some(0),
        reddesc: record.reddesc.clone(),
        current,
        partner,
    }
}

/// Puts the checksums into the record. One that is there already must agree.
fn settle(context: &Context, list: &mut RankFiles, sums: &[u32]) -> Result<()> {
    let paths = context.paths(list)?;
    for ((file, crc), (path, _)) in list.files.iter_mut().zip(sums).zip(paths) {
        super::logical::same_crc(&path, *crc, file.crc)?;
        file.crc = Some(*crc);
    }
    Ok(())
}

/// Gives the checksums of this rank's files to the right neighbour and takes those of the
/// left one. Nobody uses them if there was a failure.
fn exchange_sums(context: &Context, mine: &RankFiles) -> Result<Vec<u8>> {
    let sum = |f: &FileMeta| f.crc.unwrap_or(0).to_le_bytes();
    let bytes = mine.files.iter().flat_map(sum).collect();
    let send = context
        .comm
        .isend(context.set.right(1), context.tag, bytes)?;
    let theirs = context.comm.recv(context.set.left(), context.tag)?;
    send.wait()?;
    Ok(theirs)
}

/// The header with the checksums of this rank's and its left neighbour's files.
fn complete(mut header: XorHeader, record: &Record, theirs: &[u8]) -> Result<XorHeader> {
    let partner = &mut header.partner.files;
    let (sums, rest) = theirs.as_chunks::<4>();
    if sums.len() != partner.len() || !rest.is_empty() {
        let what = format!(
            "{} files, {} bytes of checksums",
            partner.len(),
            theirs.len()
        );
        return Err(Error::format(0, what));
    }
    for (file, crc) in partner.iter_mut().zip(sums) {
        file.crc = Some(u32::from_le_bytes(*crc));
    }
    header.current = record.files.clone();
    Ok(header)
}
