//! Moves parts of a dataset to the nodes where their ranks run now.
//!
//! The holder of a part announces its record, the state of its files and the header of its redundancy
//! file. The [`pipeline`] moves the blocks. Then the holder says whether it could read all blocks that
//! it sent, and the rank compares the written files with the checksums. The holder keeps its copy.
//!
//! A rebuild does this in the pass that rebuilds, if all holders are members of the set. Each block is sent
//! once, and is used on arrival. All other parts are moved by [`move_parts`] before that pass. They go
//! through the first stage of the pipeline only.

use super::code::BlockPlace;
use super::logical::LogicalReader;
use super::member_io::{KeptOpen, MemberIo, PartReader};
use super::parity_file::{ParityReader, block_lengths};
use super::pipeline::{self, PieceTask, Route};
use super::{
    Context, LocalPart, PartHealth, RankRecord, Set, Verification, redundancy_file, scheme_and_set,
};
use crate::comm::Local;
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::format::{Dataset, Reddesc, from_message, to_message};
use crate::system::limits::share_of_open_files;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Least number of pieces in a stage. The size of a piece depends on it, and must be the same on holder and
/// receiver, which may have other numbers of parts.
const PIECES: usize = 16;

/// Files that a rank keeps open of all the parts that it holds.
const MOST_OPEN: usize = 256;

/// The part of another rank, which this rank holds.
pub struct HeldPart {
    set: Set,
    data_dir: PathBuf,
    meta_dir: PathBuf,
    /// The header of the redundancy file, since the part was announced.
    header: Option<ParityHeader>,
    /// The part, checked by [`Verification::SizesOnly`].
    pub part: LocalPart,
    /// Read errors.
    pub problems: Vec<Error>,
}

/// Message of a holder to the rank whose part it holds.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Announcement {
    part: Option<PartReport>,
}

/// A part with a record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) struct PartReport {
    dataset: Dataset,
    reddesc: Reddesc,
    files: RankFiles,
    /// True if all files exist with their sizes.
    data: bool,
    /// True if the redundancy file can be read, or the scheme has none.
    redundancy: bool,
    /// The header of the redundancy file.
    parity: Option<ParityHeader>,
}

impl HeldPart {
    /// The part of the rank whose `record` is given, with its files in `data_dir` and its redundancy file in
    /// `meta_dir`. Local.
    pub fn new(
        context: &Context,
        record: RankRecord,
        data_dir: PathBuf,
        meta_dir: PathBuf,
    ) -> Result<HeldPart> {
        let (scheme, set) = scheme_and_set(&record.dataset, &record.reddesc)?;
        let theirs = Context {
            set: &set,
            data_dir: &data_dir,
            meta_dir: &meta_dir,
            ..*context
        };
        let part = LocalPart::new(&scheme, &theirs, record, Verification::SizesOnly);
        Ok(HeldPart {
            set,
            data_dir,
            meta_dir,
            header: None,
            part,
            problems: Vec::new(),
        })
    }

    /// The rank whose part it is.
    fn rank(&self) -> usize {
        self.set.right(0)
    }

    /// The context of the rank whose part it is, with this node's paths.
    fn context<'a>(&'a self, context: &Context<'a>) -> Context<'a> {
        Context {
            set: &self.set,
            data_dir: &self.data_dir,
            meta_dir: &self.meta_dir,
            ..*context
        }
    }

    /// Reads the header of the redundancy file, and describes the part. No file stays open: there may be many parts.
    fn report(&mut self, context: &Context) -> PartReport {
        let input = match &self.part.health.parity {
            Ok(()) => ParityReader::of_record(&self.context(context), &self.part.record),
            Err(error) => Err(error.clone()),
        };
        self.part.health.parity = input.as_ref().map(drop).map_err(Clone::clone);
        self.header = input.ok().flatten().map(|input| input.header);
        let LocalPart { record, health, .. } = &self.part;
        PartReport {
            dataset: record.dataset.clone(),
            reddesc: record.reddesc.clone(),
            files: record.files.clone(),
            data: health.data.is_ok(),
            redundancy: health.parity.is_ok(),
            parity: self.header.clone(),
        }
    }

    /// Opens the part for reading; `places` are the places of its block in each route. If a file
    /// cannot be opened, zeros are sent and the error is kept.
    fn open<'a>(
        &self,
        context: &Context<'a>,
        places: Vec<Option<BlockPlace>>,
        kept: KeptOpen,
    ) -> PartReader<'a> {
        let mut reader = PartReader {
            places,
            ..PartReader::default()
        };
        let (theirs, record) = (self.context(context), &self.part.record);
        if self.header.is_some() {
            let input = ParityReader::of_record(&theirs, record);
            let input = reader.errors.parity.keep(input).flatten();
            let files = (!kept.redundancy).then_some(context.files);
            reader.input = input.map(|input| input.without_checksums().opened_per_read(files));
        }
        if self.part.health.data.is_ok() {
            let list = theirs.paths(&record.files);
            let data = list.and_then(|list| LogicalReader::new(context.files, list, false));
            let data = data.map(|data| data.with_open(kept.data));
            reader.reader = reader.errors.data.keep(data);
        }
        reader
    }
}

impl PartReport {
    /// The part by the records of its rank, and the header of its redundancy file. The holder reports
    /// missing files.
    pub fn into_part(self, context: &Context) -> (LocalPart, Option<ParityHeader>) {
        let missing = |there: bool, what: &str| {
            if there {
                Ok(())
            } else {
                Err(remote_damage(context, &self.dataset, what))
            }
        };
        let redundancy = "its redundancy file is missing or damaged";
        let part = LocalPart {
            health: PartHealth {
                data: missing(self.data, "files are missing or damaged"),
                parity: missing(self.redundancy, redundancy),
            },
            verified: false,
            record: RankRecord {
                dataset: self.dataset,
                reddesc: self.reddesc,
                files: self.files,
            },
        };
        (part, self.parity)
    }
}

/// Damage on the holder's node, which reports the details itself.
fn remote_damage(context: &Context, dataset: &Dataset, what: &str) -> Error {
    let holder = context.holder(context.set.index);
    let what = format!("{what} on the node of rank {holder}");
    Error::dataset(dataset.id, dataset.name.to_string(), what)
}

/// The rank that holds this rank's part, if it is another one.
fn own_holder(context: &Context) -> Option<usize> {
    let holder = context.holder(context.set.index);
    (holder != context.comm.rank()).then_some(holder)
}

/// The members whose parts this rank holds.
fn held_members(context: &Context) -> impl Iterator<Item = usize> {
    let away = context.relocated_members().into_iter();
    away.filter(|member| context.holder(*member) == context.comm.rank())
}

/// Each holder announces the parts that it holds to their ranks. Returns the records that were announced
/// to this rank. One round of messages.
pub(super) fn announce(context: &Context, held: &mut [HeldPart]) -> Result<Option<PartReport>> {
    // A part without a record, or that cannot be serialized, counts as lost. The message is sent all the
    // same, since it is waited for.
    let to = held_members(context).map(|member| {
        let rank = context.member(member);
        let part = held.iter_mut().find(|part| part.rank() == rank);
        let part = part.map(|part| part.report(context));
        (rank, to_message(&Announcement { part }).unwrap_or_default())
    });
    let heard = context.send_and_receive(to, own_holder(context).into_iter())?;
    let message = heard.first().and_then(|message| from_message(message).ok());
    Ok(message.and_then(|Announcement { part }| part))
}

/// Opens the parts that this rank holds. `places` gives the place of a member's block in each route.
pub(super) fn open_held<'a>(
    context: &Context<'a>,
    held: &[HeldPart],
    mut places: impl FnMut(usize, &HeldPart) -> Vec<Option<BlockPlace>>,
) -> Vec<PartReader<'a>> {
    let kept = KeptOpen::of(held.len(), share_of_open_files(MOST_OPEN));
    let open = |part: &HeldPart| {
        let places = held_members(context)
            .find(|member| context.member(*member) == part.rank())
            .map(|member| places(member, part));
        // Parts are moved only once.
        places.map_or_else(PartReader::default, |places| {
            part.open(context, places, kept)
        })
    };
    held.iter().map(open).collect()
}

/// Ends the reading of held parts. Holders tell the ranks whether they could read all that they sent. One
/// round of messages.
pub(super) fn exchange_read_errors(
    context: &Context,
    dataset: &Dataset,
    held: &mut [HeldPart],
    io: &mut MemberIo,
) -> Result<()> {
    let readers = std::mem::take(&mut io.held);
    let to = held_members(context).map(|member| {
        let rank = context.member(member);
        let at = held.iter().position(|part| part.rank() == rank);
        let reader = at.and_then(|at| readers.get(at));
        let failed = reader.map(|reader| [&reader.errors.data, &reader.errors.parity]);
        let whole = failed.map_or([true; 2], |errors| errors.map(|error| !error.failed()));
        (rank, whole.map(u8::from).to_vec())
    });
    let heard = context.send_and_receive(to, own_holder(context).into_iter())?;
    for (part, reader) in held.iter_mut().zip(readers) {
        part.problems.extend(reader.errors.health().errors());
    }
    let mut words = heard.iter().flatten().copied();
    let mut read = |what: &str| match words.next() {
        Some(0) => Err(remote_damage(context, dataset, what)),
        _ => Ok(()),
    };
    io.own.errors.keep(PartHealth {
        data: read("its files could not be read"),
        parity: read("its redundancy file could not be read"),
    });
    Ok(())
}

/// Receives this rank's part and sends those that it holds, before any rebuild. Afterwards all content of the
/// part is verified. `None` if no other rank has it with a record. `context` has the ranks that this rank
/// exchanges parts with as its set, and their [`Context::holders`]. After an error in `ready`, nothing is
/// written.
///
/// The blocks of all parts are sent side by side, in pieces. A stage of the pipeline has more pieces than
/// blocks exist, so a rank waits only for pieces of a lower number than its present ones. The rank with
/// the lowest number can always continue, whichever ranks send to which.
pub fn move_parts(
    context: &Context,
    held: &mut [HeldPart],
    ready: Result<()>,
) -> Result<Local<Option<LocalPart>>> {
    let announced = announce(context, held)?.map(|report| report.into_part(context));
    let (part, header) = announced.map_or((None, None), |(part, header)| (Some(part), header));
    let mut io = MemberIo::default();
    let mut moves = Moves::default();
    io.arriving.error.keep(ready);
    if let Some(LocalPart { record, health, .. }) = &part {
        let data = health.data.is_ok().then_some(&record.files);
        io.own.places = moves.add(context.set.index, data, header.as_ref());
        io.own.errors.keep(health.clone());
        if let Some(files) = data {
            io.arriving.create_data(context, files);
        }
        let path = redundancy_file(context.meta_dir, &record.reddesc);
        if let Some((path, header)) = path.zip(header) {
            io.arriving.create_redundancy(context, path, header);
        }
    }
    io.held = open_held(context, held, |member, part| {
        let data = part.part.health.data.is_ok();
        let data = data.then_some(&part.part.record.files);
        moves.add(member, data, part.header.as_ref())
    });
    moves.run(context, &mut io)?;
    let dataset = part.as_ref().map(|part| part.record.dataset.clone());
    exchange_read_errors(context, &dataset.unwrap_or_default(), held, &mut io)?;
    let written = io.arriving.finish(context, &mut io.own.errors);
    let health = io.own.errors.health();
    let part = part.map(|part| LocalPart {
        health,
        verified: true,
        ..part
    });
    Ok(written.map(|()| part).into())
}

/// The blocks that are only moved.
#[derive(Default)]
struct Moves {
    routes: Vec<Route>,
    /// Bytes of each block.
    lengths: Vec<u64>,
}

impl Moves {
    /// Adds the part of `member`: its data as one block, and the blocks of its redundancy file. Returns their
    /// places, by route.
    fn add(
        &mut self,
        member: usize,
        data: Option<&RankFiles>,
        redundancy: Option<&ParityHeader>,
    ) -> Vec<Option<BlockPlace>> {
        let mut places = vec![None; self.routes.len()];
        let data = data.map(|files| (BlockPlace::Data(0), files.size().unwrap_or(0)));
        let lengths = redundancy.map(|header| block_lengths(header).unwrap_or_default());
        let parity = lengths.into_iter().flatten().enumerate();
        let parity = parity.map(|(number, length)| (BlockPlace::Parity(number), length));
        for (place, length) in data.into_iter().chain(parity) {
            places.push(Some(place));
            self.lengths.push(length);
            self.routes.push(Route {
                relocated: vec![member],
                ..Route::default()
            });
        }
        places
    }

    fn run(self, context: &Context, io: &mut MemberIo) -> Result<()> {
        let (piece, window) = pipeline::shape(context.piece, PIECES);
        let window = window.max(self.routes.len() + 1);
        let pieces = pipeline::side_by_side(self.lengths, piece);
        let tasks = pieces.map(|(route, offset, length)| PieceTask {
            route,
            worker: context.set.index,
            offset,
            length,
        });
        pipeline::run(context, &self.routes, tasks, window, io)
    }
}
