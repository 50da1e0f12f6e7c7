//! Making a lost member of an XOR set anew.
//!
//! All that the lost member had, parity included, is the xor of what the others have in the
//! same column. A chain runs from its right neighbour along the ring to itself; each member
//! adds its own chunk of the column, parity or data. Every link carries the same load, and
//! all disks work at once. Columns go in the order of the lost logical file, its parity
//! last, so that files are written front to back.

use super::logical::{Reader, Target, Writer, total};
use super::parity_file::{self, Input, Output, list};
use super::ring::{self, Ring};
use super::single::BLOCK;
use super::xor::{Xor, accept, announce, blocks, chunk_index, header_of, pieces};
use super::{Context, First, Health, Outcome, Record, Scheme};
use crate::format::dataset::Dataset;
use crate::format::files::RankFiles;
use crate::format::xor::XorHeader;
use crate::format::{from_message, to_message};
use crate::{Error, Result};

const DATA: u64 = 1;
const PARITY: u64 = 2;

/// What one member tells the others: what it has whole, and of which dataset.
#[derive(Clone, Copy)]
struct State {
    has: u64,
    id: u64,
    created: u64,
    chunk: u64,
    piece: u64,
}

/// What the set needs.
enum Need {
    Nothing,
    Redundancy,
    /// The member at this place in the set.
    Member(usize),
}

/// See [`Scheme::rebuild`]; the set has at least two members.
pub fn rebuild(context: &Context, mine: Option<(Record, Health)>) -> Result<(Record, Outcome)> {
    let (mut state, mut parity, mut record) = (
        State {
            has: 0,
            id: 0,
            created: 0,
            chunk: 0,
            piece: context.piece as u64,
        },
        None,
        None,
    );
    let mut damage = None;
    if let Some((known, health)) = mine {
        (state.id, state.created) = (known.dataset.id, known.dataset.created);
        if health.data.is_ok() {
            state.has = DATA;
        }
        damage = health.data.err().or(health.parity.clone().err());
        parity = health
            .parity
            .and_then(|()| Input::open(context, &known))
            .ok();
        if let Some(parity) = parity.as_ref().filter(|_| state.has == DATA) {
            state.has |= PARITY;
            state.chunk = parity.header.chunk;
        }
        record = Some(known);
    }
    let all = announce(
        context,
        [state.has, state.id, state.created, state.chunk, state.piece],
    )?;
    let all: Vec<State> = all
        .into_iter()
        .map(|[has, id, created, chunk, piece]| State {
            has,
            id,
            created,
            chunk,
            piece,
        })
        .collect();

    let refuse = |what: String| {
        let known = all.iter().find(|s| s.id != 0).map_or(0, |s| s.id);
        let name = record
            .as_ref()
            .map_or_else(String::new, |r| r.dataset.name.to_string());
        let here = damage.map_or_else(String::new, |e| format!("; on this rank: {e}"));
        Err(Error::dataset(known, name, format!("{what}{here}")))
    };
    let need = match verdict(context, &all) {
        Ok(need) => need,
        Err(what) => return refuse(what),
    };
    match (need, record) {
        (Need::Nothing, Some(record)) => Ok((record, Outcome::Intact)),
        (Need::Redundancy, Some(mut record)) => {
            drop(parity);
            Xor.encode(context, &mut record)?;
            Ok((record, Outcome::Encoded))
        }
        (Need::Member(lost), _) if lost == context.set.index => {
            let chunk = all.get((lost + 1) % all.len()).map_or(1, |s| s.chunk);
            Ok((restore(context, &all, chunk)?, Outcome::Restored))
        }
        (Need::Member(lost), Some(record)) => match parity {
            Some(parity) => {
                help(context, lost, &record, &parity)?;
                Ok((record, Outcome::Helped))
            }
            None => Err(Error::dataset(state.id, "", "the redundancy file has gone")),
        },
        // Not reached: without a record this rank is a lost member.
        (_, None) => Err(Error::dataset(
            state.id,
            "",
            "the record of this rank is lost",
        )),
    }
}

/// The same answer on all members, from what they announced. An error says why not.
fn verdict(context: &Context, all: &[State]) -> std::result::Result<Need, String> {
    let ranks = |pick: &dyn Fn(&State) -> bool| -> Vec<usize> {
        let both = all.iter().zip(context.set.members.iter());
        both.filter(|(s, _)| pick(s)).map(|(_, r)| *r).collect()
    };
    let lost = ranks(&|s| s.has & DATA == 0);
    let bare = ranks(&|s| s.has == DATA);
    let set = list(&context.set.members);
    let plural = |ranks: &[usize]| if ranks.len() == 1 { "rank" } else { "ranks" };
    if lost.len() > 1 || (lost.len() == 1 && !bare.is_empty()) {
        let mut what = format!("the files of {} {}", plural(&lost), list(&lost));
        if !bare.is_empty() {
            what += &format!(" and the redundancy of {} {}", plural(&bare), list(&bare));
        }
        return Err(format!(
            "{what} are lost or damaged; XOR set {set} stands the loss of one"
        ));
    }
    let whole: Vec<&State> = all.iter().filter(|s| s.has & DATA != 0).collect();
    let same = |f: fn(&State) -> u64| whole.windows(2).all(|w| f(w[0]) == f(w[1]));
    if !same(|s| s.id) || !same(|s| s.created) {
        return Err(format!(
            "the ranks {set} of an XOR set hold files of different datasets"
        ));
    }
    if all.windows(2).any(|w| w[0].piece != w[1].piece) {
        return Err(format!(
            "the ranks {set} of an XOR set do not agree on the message size"
        ));
    }
    match all.iter().position(|s| s.has & DATA == 0) {
        None if bare.is_empty() && same(|s| s.chunk) => Ok(Need::Nothing),
        None => Ok(Need::Redundancy),
        Some(_) if !same(|s| s.chunk) || whole.iter().any(|s| s.chunk == 0) => Err(format!(
            "the redundancy files of the ranks {set} do not belong together"
        )),
        Some(lost) => Ok(Need::Member(lost)),
    }
}

/// Columns in the order in which the lost member writes them.
fn columns(members: usize, lost: usize) -> impl Iterator<Item = usize> {
    (0..members).filter(move |c| *c != lost).chain([lost])
}

/// All pieces of all columns.
fn flow(
    members: usize,
    lost: usize,
    chunk: u64,
    piece: usize,
) -> impl Iterator<Item = (usize, u64, usize)> {
    columns(members, lost)
        .flat_map(move |column| pieces(0, chunk, piece).map(move |(o, n)| (column, o, n)))
}

/// A whole member's part.
fn help(context: &Context, lost: usize, record: &Record, parity: &Input) -> Result<()> {
    let (set, members, chunk) = (context.set, context.set.size(), parity.header.chunk);
    let distance = (set.index + members - lost) % members;
    let root = set.right(members - distance);
    let mut first = First::default();
    let mut sends = Vec::new();
    // To its right neighbour the lost member was the partner; its left one is its partner.
    let heading = (distance == 1).then(|| to_message(&parity.header));
    let neighbour = (distance == members - 1).then(|| to_message(&record.files));
    for message in heading.into_iter().chain(neighbour) {
        let bytes = first.keep(message).unwrap_or_default();
        sends.push(context.comm.isend(root, context.tag, bytes)?);
    }
    let mut reader = first.keep(
        context
            .paths(&record.files)
            .and_then(|list| Reader::new(context.files, list, false)),
    );

    let piece = context.piece.max(1);
    let lengths = flow(members, lost, chunk, piece)
        .map(|(_, _, n)| n)
        .filter(|_| distance > 1);
    let neighbours = (set.left(), set.right(1));
    let mut ring = Ring::new(
        context.comm,
        neighbours,
        context.tag,
        ring::window(piece),
        lengths,
    )?;
    let mut scratch = vec![0; BLOCK.min(piece)];
    for (column, offset, length) in flow(members, lost, chunk, piece) {
        let fresh = distance == 1;
        let mut buffer = if fresh {
            ring.buffer(length)?
        } else {
            ring.receive()?
        };
        let from = chunk_index(column, set.index)
            .saturating_mul(chunk)
            .saturating_add(offset);
        let scratch = (!fresh).then_some(&mut scratch[..]);
        let own = reader
            .as_mut()
            .filter(|_| !first.failed())
            .and_then(|reader| {
                first.keep(blocks(&mut buffer, scratch, |at, block| {
                    match column == set.index {
                        true => parity.read_at(offset + at, block),
                        false => reader.read_at(from + at, block),
                    }
                }))
            });
        if own.is_none() && fresh {
            buffer.fill(0);
        }
        ring.send(buffer)?;
    }
    ring.finish()?;
    sends
        .into_iter()
        .try_for_each(|send| send.wait().map(drop))?;
    first.share(context, &record.dataset)?;
    first.result(())
}

/// The lost member's part.
fn restore(context: &Context, all: &[State], chunk: u64) -> Result<Record> {
    let (set, members) = (context.set, context.set.size());
    let heading = context.comm.recv(set.right(1), context.tag)?;
    let neighbour = context.comm.recv(set.left(), context.tag)?;
    let mut first = First::default();
    let plan = first.keep(prepare(context, all, chunk, &heading, &neighbour));
    let (record, header, mut writer, mut parity) = match plan {
        Some(plan) => (Some(plan.0), Some(plan.1), Some(plan.2), Some(plan.3)),
        None => (None, None, None, None),
    };

    let piece = context.piece.max(1);
    let lengths = flow(members, set.index, chunk, piece).map(|(_, _, length)| length);
    let neighbours = (set.left(), set.right(1));
    let mut ring = Ring::new(
        context.comm,
        neighbours,
        context.tag,
        ring::window(piece),
        lengths,
    )?;
    for (column, _, _) in flow(members, set.index, chunk, piece) {
        let buffer = ring.receive()?;
        if !first.failed() {
            first.keep(match (&mut writer, &mut parity) {
                (_, Some(parity)) if column == set.index => parity.append(&buffer),
                (Some(writer), _) => writer.append(&buffer),
                _ => Ok(()),
            });
        }
        ring.release(buffer);
    }
    ring.finish()?;
    if let Some(writer) = writer.filter(|_| !first.failed()) {
        first.keep(writer.finish());
    }
    let dataset = record
        .as_ref()
        .map_or_else(Dataset::default, |r| r.dataset.clone());
    first.share(context, &dataset)?;
    match (record, header, parity) {
        (Some(record), Some(header), Some(parity)) if !first.failed() => {
            parity.finish(header, context.sync)?;
            Ok(record)
        }
        _ => first.result(()).and_then(|()| {
            Err(Error::dataset(
                dataset.id,
                "",
                "a rank could not be restored",
            ))
        }),
    }
}

type Plan<'a> = (Record, XorHeader, Writer<'a>, Output);

/// What the lost member is to have, from its neighbours' records, none of which is trusted.
fn prepare<'a>(
    context: &Context<'a>,
    all: &[State],
    chunk: u64,
    heading: &[u8],
    neighbour: &[u8],
) -> Result<Plan<'a>> {
    let (set, rank) = (context.set, context.comm.rank());
    let theirs: XorHeader = from_message(heading)?;
    let partner: RankFiles = accept(neighbour, set.left())?;
    let (id, created) = (theirs.dataset.id, theirs.dataset.created);
    let whole = all.iter().find(|s| s.has & DATA != 0);
    let agrees = whole.is_some_and(|s| (s.id, s.created) == (id, created))
        && theirs.partner.rank == rank
        && theirs.group.0[..] == set.members[..]
        && theirs.chunk == chunk;
    let size = total(theirs.partner.files.iter().map(|f| f.size))?;
    if !agrees || size.div_ceil(set.size() as u64 - 1) > chunk {
        let what = format!("the right neighbour's record does not fit rank {rank} of this set");
        return Err(Error::dataset(id, theirs.dataset.name.to_string(), what));
    }
    let reddesc = theirs
        .reddesc
        .of_member(set.index)
        .filter(|r| r.members[..] == set.members[..]);
    let reddesc = reddesc.ok_or_else(|| Error::format(0, "the descriptor is of another set"))?;
    let record = Record {
        dataset: theirs.dataset,
        reddesc,
        files: theirs.partner,
    };
    let header = header_of(context, &record, chunk, partner);

    let paths = context.paths(&record.files)?;
    for meta in &record.files.files {
        let parent = meta
            .file
            .as_path()
            .parent()
            .filter(|p| !p.as_os_str().is_empty());
        if let Some(parent) = parent {
            context.files.make_private_dirs(context.data_dir, parent)?;
        }
    }
    let targets = paths.into_iter().zip(&record.files.files);
    let targets = targets
        .map(|((path, _), meta)| Target {
            path,
            crc: meta.crc,
            stat: meta.stat(),
        })
        .collect();
    let writer = Writer::new(context.files, targets);
    let path = parity_file::path(context.meta_dir, set);
    let parity = Output::create(context.files, path, &header)?;
    Ok((record, header, writer, parity))
}
