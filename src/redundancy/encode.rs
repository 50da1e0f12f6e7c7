//! Writes the redundancy of a set.
//!
//! The members exchange small messages twice: sizes and lists of files before the data, checksums
//! and failures after it. With the checksums each member proves that its redundancy file is right ([`proof`]).

mod proof;

use self::proof::{BlockSums, Proof};
use super::code::Code;
use super::fold::Fold;
use super::logical::{LogicalReader, same_crc, total_size};
use super::member_io::{MemberIo, places};
use super::parity_file::{Blocks, ParityWriter, header};
use super::pipeline::{self, PieceTask, Route};
use super::{Context, FAILURE_LIMIT, FirstError, RankRecord};
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::format::{from_message, to_message};
use crate::store::write_behind::WriteBehind;
use crate::{Error, Result};
use std::path::PathBuf;

/// Numbers at the start of the first message: dataset id, creation time, message size, bytes of
/// data.
const NUMBERS: usize = 4;

/// The redundancy of a rank, once it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Encoded {
    /// It is what follows from the data of the set.
    Right,
    /// It is not, for this reason: something was changed in a message, in memory or in the file. It does not count, and
    /// can be made again.
    Wrong(Error),
}

impl Encoded {
    /// For a caller that does not make it again: redundancy that is not right is an error.
    pub fn right(self) -> Result<()> {
        match self {
            Encoded::Right => Ok(()),
            Encoded::Wrong(error) => Err(error),
        }
    }
}

/// Notes the files of this rank, whose checksums are known. Local.
pub type NoteFiles<'a> = &'a mut dyn FnMut(&RankFiles) -> Result<()>;

/// Encodes a set of two or more. Once the members know each other's sizes, only a failure of
/// communication stops the exchange: a rank that fails sends zeros.
pub fn encode(
    context: &Context,
    code: &Code,
    path: PathBuf,
    record: &mut RankRecord,
    note: NoteFiles,
) -> Result<Encoded> {
    let mut local = MemberIo::default();
    let Announced { sizes, partners } = exchange_lists(context, code, record, &mut local)?;
    local.chunk = code.chunk(&sizes);
    let header = partners.map(|partners| header(context, record, local.chunk, partners));
    let list = context.paths(&record.files);
    if let Some(header) = &header {
        let own = list.as_ref().map_or(&[][..], Vec::as_slice);
        let blocks = Blocks::of(context.files, own);
        let output = ParityWriter::create_over(context.files, path, header, blocks);
        let output = output.map(|output| {
            if code.is_sum() {
                output
            } else {
                output.with_folds()
            }
        });
        local.output = local.error.keep(output.map(WriteBehind::direct));
    }
    let reader = list.and_then(|list| LogicalReader::new(context.files, list, true));
    let reader = local.error.keep(reader);
    local.own.reader = reader.map(|reader| reader.with_blocks(local.chunk));
    if !code.is_sum() {
        local.own.folds = vec![Fold::default(); code.blocks_of_data()];
    }
    let known = record.files.files.iter().all(|file| file.crc.is_some());
    if known && !local.error.failed() {
        local.error.keep(note(&record.files));
    }

    let routes = routes(code)?;
    local.own.places = places(code, 0..code.members(), context.set.index);
    let (piece, window) = pipeline::shape(context.piece, code.members());
    let tasks = tasks(code, &routes, &sizes, piece);
    pipeline::run(context, &routes, tasks, window, &mut local)?;
    let proof = Proof::new(code, &sizes, context.set.index);
    let note = (!known).then_some(note);
    finish(context, &proof, local, header, record, note)
}

/// The announcement of a member before the data are exchanged.
struct Announced {
    /// Bytes of each member's data.
    sizes: Vec<u64>,
    /// The files of the left neighbours; `None` after an error.
    partners: Option<Vec<RankFiles>>,
}

/// The members exchange their sizes, and send their lists of files to their right neighbours. One round of
/// messages.
fn exchange_lists(
    context: &Context,
    code: &Code,
    record: &RankRecord,
    local: &mut MemberIo,
) -> Result<Announced> {
    let parities = code.parities();
    // A list that cannot be serialized is sent empty, which the neighbours refuse.
    let list = local.error.keep(to_message(&record.files));
    let list = list.unwrap_or_default();
    let sizes = record.files.files.iter().map(|f| f.size);
    let size = local.error.keep(total_size(sizes)).unwrap_or(0);
    let dataset = &record.dataset;
    let mine = [dataset.id, dataset.created, context.piece as u64, size];
    let bytes = |steps| {
        let mut bytes = to_bytes(&mine);
        bytes.extend_from_slice(if steps <= parities { &list } else { &[] });
        bytes
    };
    let theirs = context.exchange(bytes)?;
    let all: Vec<(Vec<u64>, &[u8])> = theirs.iter().map(|m| from_bytes(m, NUMBERS)).collect();
    let same = |numbers: &[u64]| numbers.get(..NUMBERS - 1) == mine.get(..NUMBERS - 1);
    if all.iter().any(|(numbers, _)| !same(numbers)) {
        let what = "the members of a redundancy set do not agree on dataset or message size";
        return Err(Error::dataset(dataset.id, dataset.name.to_string(), what));
    }
    // A size that no file system allows comes from a member that has failed.
    let last = |numbers: &Vec<u64>| numbers.last().copied().unwrap_or(0);
    let sizes = all
        .iter()
        .map(|(numbers, _)| last(numbers).min(i64::MAX as u64 / 4));
    let lefts = context.set.lefts(parities).zip(context.set.left_indices());
    let partners =
        lefts.map(|(rank, index)| parse_file_list(all.get(index).map_or(&[], |a| a.1), rank));
    Ok(Announced {
        sizes: sizes.collect(),
        partners: local.error.keep(partners.collect()),
    })
}

/// Ends the files after the exchange: enters the checksums in `record` and in the header, and gives the
/// redundancy file its name if it is right. One round of messages.
fn finish(
    context: &Context,
    proof: &Proof,
    local: MemberIo,
    header: Option<ParityHeader>,
    record: &mut RankRecord,
    note: Option<NoteFiles>,
) -> Result<Encoded> {
    let MemberIo {
        own,
        output,
        mut error,
        ..
    } = local;
    error.keep(own.errors.data.result(()));
    let output = output.and_then(|output| error.keep(output.finish()));
    let mut blocks = BlockSums::default();
    if let Some(mut reader) = own.reader.filter(|_| !error.failed()) {
        blocks = if proof.code.is_sum() {
            BlockSums::Crcs(reader.block_sums(proof.code.blocks_of_data()))
        } else {
            BlockSums::Folds(own.folds.into_iter().map(Fold::finish).collect())
        };
        let sums = error.keep(reader.finish());
        sums.and_then(|sums| error.keep(record_checksums(context, &mut record.files, &sums)));
        if let Some(note) = note.filter(|_| !error.failed()) {
            error.keep(note(&record.files));
        }
    }
    let theirs = exchange_checksums(context, &mut error, proof, &blocks, header.as_ref(), record)?;
    if let (Some(header), Some(output), false) = (header, output, error.failed()) {
        if let Err(wrong) = proof.check(context, &theirs, &output) {
            return Ok(Encoded::Wrong(wrong));
        }
        let (lefts, nothing) = (context.set.left_indices(), SentSums::default());
        let sent = |index| theirs.get(index).and_then(Option::as_ref);
        let lefts = lefts.map(|index| sent(index).unwrap_or(&nothing));
        let header = complete(header, record, lefts);
        match header.and_then(|header| output.finish(context.files, header, context.sync)) {
            Err(wrong @ Error::Corrupt { .. }) => return Ok(Encoded::Wrong(wrong)),
            finished => error.keep(finished),
        };
    }
    error.result(Encoded::Right)
}

/// The checksums that a member has sent.
#[derive(Debug, Clone, Default)]
struct SentSums {
    /// Of its files, 4 bytes each, if it is a left neighbour.
    files: Vec<u8>,
    /// Of its blocks that this rank's redundancy file protects.
    blocks: Vec<u8>,
}

/// One route for each column. The first member that keeps redundancy of the column computes it,
/// also for the others.
fn routes(code: &Code) -> Result<Vec<Route>> {
    let data = code.data();
    let positions: Vec<usize> = (0..data + code.parities()).collect();
    let (sources, targets) = positions.split_at(data);
    (0..code.members())
        .map(|column| {
            let coefficients = code.solve(column, sources, targets);
            let members = code.column(column).into_iter().map(|b| b.member);
            let mut sources: Vec<usize> = members.collect();
            let targets = sources.split_off(data);
            Ok(Route {
                sources,
                targets,
                coefficients: coefficients
                    .ok_or_else(|| Error::format(0, "the code has no solution"))?,
                relocated: Vec::new(),
            })
        })
        .collect()
}

/// All columns side by side, piece by piece, so that every member is busy all the time.
fn tasks<'a>(
    code: &'a Code,
    routes: &'a [Route],
    sizes: &'a [u64],
    piece: usize,
) -> impl Iterator<Item = PieceTask> + 'a {
    let lengths: Vec<u64> = (0..routes.len()).map(|c| code.length(sizes, c)).collect();
    pipeline::side_by_side(lengths, piece).map(|(column, offset, length)| {
        let targets = routes.get(column).map_or(&[][..], |route| &route.targets);
        PieceTask {
            route: column,
            worker: targets.first().copied().unwrap_or(0),
            offset,
            length,
        }
    })
}

/// Tells all members whether this one has failed, and sends its checksums: those of its files to its right
/// neighbours, those of its blocks to the members whose redundancy protects them. Afterwards the call has failed on all
/// members or on none. Returns what each member has sent, in set order. One round of messages.
fn exchange_checksums(
    context: &Context,
    error: &mut FirstError,
    proof: &Proof,
    blocks: &BlockSums,
    header: Option<&ParityHeader>,
    record: &RankRecord,
) -> Result<Vec<Option<SentSums>>> {
    let parities = proof.code.parities();
    let files = record.files.files.iter();
    let sums = files.flat_map(|f| f.crc.unwrap_or(0).to_le_bytes());
    let sums: Vec<u8> = sums.collect();
    let text = error.text(FAILURE_LIMIT).into_bytes();
    let messages = context.exchange(|steps| {
        let own = if steps <= parities { &sums[..] } else { &[] };
        let message = [own, &proof.message(steps, blocks), &text].concat();
        let crc = crc32fast::hash(&message).to_le_bytes();
        [&message[..], &crc].concat()
    })?;
    let mut lengths = vec![0; messages.len()];
    let partners = header.into_iter().flat_map(|h| h.partners());
    for (index, partner) in context.set.left_indices().zip(partners) {
        if let Some(length) = lengths.get_mut(index) {
            *length = 4 * partner.files.len();
        }
    }
    let mut sums = vec![None; messages.len()];
    for (index, (message, length)) in messages.into_iter().zip(lengths).enumerate() {
        if index == context.set.index {
            continue;
        }
        let whole = message.split_last_chunk::<4>();
        let whole = whole.filter(|(message, crc)| crc32fast::hash(message).to_le_bytes() == **crc);
        let Some((message, _)) = whole else {
            // A failure of that rank is told by itself.
            continue;
        };
        let split = message.split_at_checked(length);
        let split = split.and_then(|(files, rest)| {
            let (blocks, failure) = rest.split_at_checked(proof.length(index))?;
            Some((files, blocks, failure))
        });
        match split {
            Some((files, blocks, failure)) => {
                error.take_over(context.member(index), failure, &record.dataset);
                if let Some(place) = sums.get_mut(index) {
                    *place = Some(SentSums {
                        files: files.to_vec(),
                        blocks: blocks.to_vec(),
                    });
                }
            }
            None => error.take_over(
                context.member(index),
                b"sent too few checksums",
                &record.dataset,
            ),
        }
    }
    Ok(sums)
}

/// The header with the checksums of this rank's and its left neighbours' files.
fn complete<'a>(
    mut header: ParityHeader,
    record: &RankRecord,
    theirs: impl Iterator<Item = &'a SentSums>,
) -> Result<ParityHeader> {
    let partners = std::iter::once(&mut header.partner).chain(&mut header.further);
    for (partner, sent) in partners.zip(theirs) {
        let bytes = &sent.files;
        let (sums, rest) = bytes.as_chunks::<4>();
        if sums.len() != partner.files.len() || !rest.is_empty() {
            let (files, bytes) = (partner.files.len(), bytes.len());
            let what = format!("{files} files, {bytes} bytes of checksums");
            return Err(Error::format(0, what));
        }
        for (file, crc) in partner.files.iter_mut().zip(sums) {
            file.crc = Some(u32::from_le_bytes(*crc));
        }
    }
    header.current = record.files.clone();
    Ok(header)
}

/// Enters the checksums in the list. A checksum that the list already has must agree.
pub fn record_checksums(context: &Context, list: &mut RankFiles, sums: &[u32]) -> Result<()> {
    let paths = context.paths(list)?;
    for ((file, crc), (path, _)) in list.files.iter_mut().zip(sums).zip(paths) {
        same_crc(&path, *crc, file.crc)?;
        file.crc = Some(*crc);
    }
    Ok(())
}

/// The list of files in a message from `rank`.
pub fn parse_file_list(message: &[u8], rank: usize) -> Result<RankFiles> {
    let list: RankFiles = from_message(message)?;
    if list.rank != rank {
        let what = format!("rank {rank} sent the files of rank {}", list.rank);
        return Err(Error::format(0, what));
    }
    Ok(list)
}

/// Numbers as a message.
pub fn to_bytes(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// Up to `count` numbers at the start of a message, and the rest of the message.
pub fn from_bytes(message: &[u8], count: usize) -> (Vec<u64>, &[u8]) {
    let (head, rest) = message.split_at(message.len().min(8 * count));
    let (words, _) = head.as_chunks::<8>();
    (words.iter().map(|w| u64::from_le_bytes(*w)).collect(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::files::FileMeta;
    use crate::redundancy::testing::empty_header;
    use crate::store::Files;
    use crate::store::posix::Posix;

    #[test]
    fn checksums_of_another_number_of_files_are_refused() {
        let mut header = empty_header();
        let record = RankRecord {
            dataset: header.dataset.clone(),
            reddesc: header.reddesc.clone(),
            files: RankFiles::default(),
        };
        let stat = Posix.stat(std::path::Path::new("/")).unwrap().unwrap();
        header.partner.files = vec![FileMeta::new("f".into(), "f".into(), &stat); 2];
        let sent = |bytes: u8| SentSums {
            files: (0..bytes).collect(),
            blocks: Vec::new(),
        };
        let with = |bytes: u8| complete(header.clone(), &record, [sent(bytes)].iter());
        let done = with(8).unwrap();
        let found: Vec<_> = done.partner.files.iter().map(|file| file.crc).collect();
        assert_eq!(found, [Some(0x0302_0100), Some(0x0706_0504)]);
        for bytes in [0, 4, 7, 9, 12] {
            let error = with(bytes).unwrap_err();
            let told = format!("2 files, {bytes} bytes of checksums");
            assert!(error.to_string().contains(&told), "{error}");
        }
    }
}
