//! Makes what a set lost anew: files, redundancy, or both.
//!
//! Every member tells what it has; all come to the same verdict. A rank without a record
//! gets it from a right neighbour, whose redundancy file holds it; then who needs a new
//! redundancy file gets the lists of its left neighbours. Then the blocks flow, column by
//! column, in the order in which lost files are written. In each column enough members send
//! what they have; which of them do, and which of these computes, goes round, so that all
//! links and disks work at once. Who lost data and redundancy writes both side by side.
//!
//! What the survivors have is compared with its checksums in the same pass, and what the flow
//! did not read, after it. A survivor whose content proves bad says so, and all begin again
//! with one loss more, so that what was rebuilt of bad data is made again. Where somebody would
//! write over what is left of its own files, all are proven first.

pub mod offline;
mod routes;
mod verdict;

use self::routes::{routes, tasks};
use self::verdict::{DATA, PARITY, PROVEN, RECORD, State, Verdict, judge};
use super::code::Code;
use super::encode::accept;
use super::flow;
use super::local::Local;
use super::logical::{Reader, Target, Writer, total};
use super::parity_file::{self, Input, Output, header};
use super::{Context, First, Found, Outcome, Proof, Record, Scheme};
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::format::{from_message, to_message};
use crate::store::behind::Behind;
use crate::{Error, Result};
use std::path::PathBuf;
use std::thread::Scope;

/// See [`Scheme::rebuild`]; the set has at least two members.
pub fn rebuild(
    context: &Context,
    scheme: &dyn Scheme,
    code: &Code,
    mine: &mut Option<Found>,
) -> Result<(Record, Outcome)> {
    // Each turn but the last proves what was not proven or finds a loss that was not known, so
    // there is a last one.
    loop {
        let path = parity_file::path(context.meta_dir, context.set, scheme.name());
        let (state, input) = own(context, code, path.clone(), mine.as_ref());
        let messages = context.exchange(|_| state.to_bytes())?;
        let read = |m: &Vec<u8>| State::from_bytes(m, code.parities());
        let all: Vec<State> = messages.iter().map(read).collect();
        let id = all.iter().find(|s| s.id != 0).map_or(0, |s| s.id);
        let verdict = judge(context, code, scheme.name(), all).map_err(|what| {
            let (dataset, here) = complain(mine.as_ref());
            Error::dataset(id, dataset, format!("{what}{here}"))
        })?;
        let outcome = match verdict.all.get(context.set.index) {
            Some(me) if me.lacks(DATA) => Outcome::Restored,
            _ if verdict.any_lacks(DATA) => Outcome::Helped,
            _ if verdict.any_lacks(PARITY) => Outcome::Encoded,
            _ => Outcome::Intact,
        };
        // A record that is of no use counts as none.
        let record = mine.as_ref().filter(|_| !state.lacks(RECORD));
        let record = record.map(|mine| mine.record.clone());
        let proven = mine.as_ref().is_none_or(|mine| mine.proven);
        let rash = verdict.is_rash();
        let (mut made, health) = if rash || outcome == Outcome::Intact {
            prove(context, scheme, record, proven)
        } else {
            let have = (record, input, proven);
            std::thread::scope(|scope| restore(scope, context, code, path, &verdict, have))?
        };
        let worse = mine.as_mut().is_some_and(|mine| learn(mine, health));
        let dataset = made.record.as_ref().map(|record| record.dataset.clone());
        let dataset = dataset.unwrap_or_default();
        if made.first.share(context, &dataset, rash || worse)? {
            continue;
        }
        if let (Some((output, header)), false) = (made.output, made.first.failed()) {
            let done = output.finish(context.files, header, context.sync);
            made.first.keep(done);
        }
        let lost = || Error::dataset(dataset.id, "", "a rank could not be restored");
        let record = made.record.ok_or_else(lost);
        return made.first.result(()).and(record).map(|r| (r, outcome));
    }
}

/// What one turn made.
#[derive(Default)]
struct Made {
    record: Option<Record>,
    /// A redundancy file that lacks its header and its name.
    output: Option<(Output, ParityHeader)>,
    /// What failed.
    first: First,
}

/// What a survivor's files turned out to be, if that is known now: data, redundancy.
type Findings = Option<(Result<()>, Result<()>)>;

/// Nothing is missing: sees whether the content is right, too.
fn prove(
    context: &Context,
    scheme: &dyn Scheme,
    record: Option<Record>,
    proven: bool,
) -> (Made, Findings) {
    let health = record
        .as_ref()
        .filter(|_| !proven)
        .map(|record| scheme.check(context, record, Proof::Read));
    let made = Made {
        record,
        ..Made::default()
    };
    (made, health.map(|health| (health.data, health.parity)))
}

/// Takes over what was found out. True if that is a loss that was not known before.
fn learn(mine: &mut Found, findings: Findings) -> bool {
    let Some((data, parity)) = findings else {
        return false;
    };
    let mut worse = false;
    for (known, found) in [
        (&mut mine.health.data, data),
        (&mut mine.health.parity, parity),
    ] {
        if known.is_ok() && found.is_err() {
            *known = found;
            worse = true;
        }
    }
    mine.proven = true;
    worse
}

/// The name of the dataset, and what is wrong on this rank, for an error.
fn complain(mine: Option<&Found>) -> (String, String) {
    let Some(Found { record, health, .. }) = mine else {
        return (String::new(), String::new());
    };
    let damage = health.data.as_ref().err().or(health.parity.as_ref().err());
    let here = damage.map_or_else(String::new, |e| format!("; on this rank: {e}"));
    (record.dataset.name.to_string(), here)
}

/// What this member has.
fn own(
    context: &Context,
    code: &Code,
    path: PathBuf,
    mine: Option<&Found>,
) -> (State, Option<Input>) {
    let mut state = State {
        has: 0,
        id: 0,
        created: 0,
        piece: context.piece as u64,
        chunk: 0,
        size: 0,
        lefts: vec![0; code.parities()],
    };
    let Some(Found {
        record,
        health,
        proven,
    }) = mine
    else {
        return (state, None);
    };
    let size = |list: &RankFiles| total(list.files.iter().map(|f| f.size));
    // A record whose names lead elsewhere, or whose sizes are absurd, is none.
    let usable = context
        .paths(&record.files)
        .and_then(|_| size(&record.files));
    let Ok(own_size) = usable else {
        return (state, None);
    };
    (state.id, state.created) = (record.dataset.id, record.dataset.created);
    (state.has, state.size) = (RECORD, own_size);
    if health.data.is_ok() {
        state.has |= DATA;
    }
    if *proven {
        state.has |= PROVEN;
    }
    let open = |()| Input::open(context, path, record, code.parities());
    let input = health.parity.clone().and_then(open).ok();
    if let Some(input) = &input {
        state.has |= PARITY;
        state.chunk = input.header.chunk;
        // The header could be opened, so its sizes add up.
        state.lefts = input
            .header
            .partners()
            .map(|p| size(p).unwrap_or(0))
            .collect();
    }
    (state, input)
}

/// Does what the verdict asks for.
fn restore<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    context: &'env Context<'env>,
    code: &Code,
    path: PathBuf,
    verdict: &Verdict,
    (record, input, proven): (Option<Record>, Option<Input>, bool),
) -> Result<(Made, Findings)> {
    let me = context.set.index;
    let lacks = |what| verdict.all.get(me).is_none_or(|s| s.lacks(what));
    let mut local = Local {
        chunk: code.chunk(&verdict.sizes),
        ..Local::default()
    };
    let survivor = record.is_some();
    let record = match record {
        Some(record) => {
            tell(context, verdict, input.as_ref(), &mut local)?;
            Some(record)
        }
        None => {
            let theirs = learn_record(context, verdict)?;
            local
                .first
                .keep(theirs.and_then(|h| adopt(context, verdict, h, local.chunk)))
        }
    };
    let partners = neighbours(context, code, verdict, record.as_ref(), &mut local)?;
    if !lacks(PARITY) {
        local.input = input.map(|input| if proven { input.trusted() } else { input });
    }
    let mut heading = None;
    let files = record.iter().flat_map(|record| &record.files.files);
    let sums: Vec<Option<u32>> = files.map(|file| file.crc).collect();
    let mut summed = false;
    if let Some(record) = &record {
        if lacks(DATA) {
            let writer = new_files(context, record);
            local.writer = local.first.keep(writer.map(|w| Behind::start(scope, w)));
        } else {
            summed = !proven && sums.iter().any(Option::is_some);
            let list = context.paths(&record.files);
            let reader = list.and_then(|list| Reader::new(context.files, list, summed));
            local.reader = local.data.keep(reader);
        }
        if let Some(partners) = partners {
            let new = header(context, record, local.chunk, partners);
            let output = Output::create(context.files, path, &new);
            local.output = local.first.keep(output.map(|o| Behind::start(scope, o)));
            heading = Some(new);
        }
    }

    let (columns, routes) = routes(code, &verdict.all)?;
    local.places = Local::places(code, columns.iter().copied(), me);
    let (piece, window) = flow::shape(context.piece, code.members());
    let tasks = tasks(code, &columns, &routes, &verdict.sizes, piece);
    flow::run(context, &routes, tasks, window, &mut local)?;
    let (made, findings) = finish(local, record, heading, summed.then_some(sums));
    Ok((made, findings.filter(|_| survivor)))
}

/// The flow is over: reads what it did not read, if the checksums `sums` are to be compared,
/// and waits for what is being written.
fn finish(
    local: Local,
    record: Option<Record>,
    heading: Option<ParityHeader>,
    sums: Option<Vec<Option<u32>>>,
) -> (Made, Findings) {
    let Local {
        reader,
        input,
        writer,
        output,
        mut data,
        mut parity,
        mut first,
        ..
    } = local;
    if let (Some(reader), Some(sums), false) = (reader, sums, data.failed()) {
        data.keep(reader.prove(sums));
    }
    if let Some(mut input) = input.filter(|_| !parity.failed()) {
        parity.keep(input.prove());
    }
    if let Some(writer) = writer {
        first.keep(writer.finish().and_then(Writer::finish));
    }
    let output = output.and_then(|output| first.keep(output.finish()));
    let made = Made {
        record,
        output: output.zip(heading),
        first,
    };
    (made, Some((data.result(()), parity.result(()))))
}

/// Gives those without a record the header that knows it.
fn tell(
    context: &Context,
    verdict: &Verdict,
    input: Option<&Input>,
    local: &mut Local,
) -> Result<()> {
    let asks = verdict.donors.iter().enumerate();
    let asking: Vec<usize> = asks
        .filter(|(_, donor)| **donor == Some(context.set.index))
        .map(|(member, _)| context.member(member))
        .collect();
    if asking.is_empty() {
        return Ok(());
    }
    let message = input.map(|input| to_message(&input.header));
    let message = message
        .and_then(|m| local.first.keep(m))
        .unwrap_or_default();
    let to = asking.into_iter().map(|rank| (rank, message.clone()));
    context.deliver(to, std::iter::empty()).map(drop)
}

/// The other side of [`tell`]. The outer error is the transport's.
fn learn_record(context: &Context, verdict: &Verdict) -> Result<Result<ParityHeader>> {
    let donor = verdict.donors.get(context.set.index).copied().flatten();
    let from = donor.map(|index| context.member(index));
    let heard = context.deliver(std::iter::empty(), from.into_iter())?;
    let message = heard.first().map_or(&[][..], |m| m);
    Ok(from_message(message))
}

/// The record of a rank that lost it, from a right neighbour's header, which is not trusted.
fn adopt(context: &Context, verdict: &Verdict, theirs: ParityHeader, chunk: u64) -> Result<Record> {
    let (set, rank) = (context.set, context.comm.rank());
    let (id, created) = (theirs.dataset.id, theirs.dataset.created);
    let mut peers = verdict.all.iter().filter(|s| !s.lacks(RECORD));
    let mut fits = peers.all(|s| (s.id, s.created) == (id, created));
    fits &= theirs.group.0[..] == set.members[..] && theirs.chunk == chunk;
    let files = theirs.partners().find(|list| list.rank == rank).cloned();
    let size = files
        .as_ref()
        .map(|list| total(list.files.iter().map(|f| f.size)));
    fits &= size.transpose()?.as_ref() == verdict.sizes.get(set.index);
    let (Some(files), true) = (files, fits) else {
        let what = format!("the right neighbour's record does not fit rank {rank} of this set");
        return Err(Error::dataset(id, theirs.dataset.name.to_string(), what));
    };
    let reddesc = theirs.reddesc.of_member(set.index);
    let reddesc = reddesc.filter(|r| r.members[..] == set.members[..]);
    Ok(Record {
        dataset: theirs.dataset,
        reddesc: reddesc.ok_or_else(|| Error::format(0, "the descriptor is of another set"))?,
        files,
    })
}

/// The files of the left neighbours of those that make a new redundancy file; `None` for the
/// others, and after a failure. The error is the transport's.
fn neighbours(
    context: &Context,
    code: &Code,
    verdict: &Verdict,
    record: Option<&Record>,
    local: &mut Local,
) -> Result<Option<Vec<RankFiles>>> {
    let (set, keepers) = (context.set, code.parities());
    let needs = |index: usize| verdict.all.get(index).is_some_and(|s| s.lacks(PARITY));
    let rights = (1..=keepers).map(|steps| (set.index + steps) % set.size());
    let asking: Vec<usize> = rights
        .filter(|i| needs(*i))
        .map(|i| context.member(i))
        .collect();
    let message = record
        .filter(|_| !asking.is_empty())
        .map(|r| to_message(&r.files));
    let message = message
        .and_then(|m| local.first.keep(m))
        .unwrap_or_default();
    let to = asking.into_iter().map(|rank| (rank, message.clone()));
    let from = set.lefts(if needs(set.index) { keepers } else { 0 });
    let heard = context.deliver(to, from)?;
    if !needs(set.index) {
        return Ok(None);
    }
    let lists = set
        .lefts(keepers)
        .zip(&heard)
        .map(|(rank, m)| accept(m, rank));
    Ok(local.first.keep(lists.collect()))
}

/// Makes the directories of a rank's files, and will write them.
fn new_files<'a>(context: &Context<'a>, record: &Record) -> Result<Writer<'a>> {
    let targets = targets(context, record)?;
    for meta in &record.files.files {
        let parent = meta.file.as_path().parent();
        if let Some(parent) = parent.filter(|p| !p.as_os_str().is_empty()) {
            context.files.make_private_dirs(context.data_dir, parent)?;
        }
    }
    Ok(Writer::new(context.files, targets))
}

/// A rank's files, to be written.
fn targets(context: &Context, record: &Record) -> Result<Vec<Target>> {
    let paths = context.paths(&record.files)?;
    let targets = paths.into_iter().zip(&record.files.files);
    let targets = targets.map(|((path, _), meta)| Target {
        path,
        crc: meta.crc,
        stat: meta.stat(),
    });
    Ok(targets.collect())
}
