//! Makes what a set lost anew: files, redundancy, or both.
//!
//! Every member tells what it has; all come to the same verdict. A rank without a record
//! gets it from a right neighbour, whose redundancy file holds it; then who needs a new
//! redundancy file gets the lists of its left neighbours. Then the blocks flow, column by
//! column, in the order in which lost files are written. In each column enough members send
//! what they have; which of them do, and which of these computes, goes round, so that all
//! links and disks work at once. Columns that lost nothing are not touched: after the loss
//! of one redundancy file only its own columns are read.

pub mod offline;

use super::code::{Block, Code, Place};
use super::encode::{accept, from_bytes, to_bytes};
use super::flow::{self, Route, Task};
use super::local::Local;
use super::logical::{Reader, Target, Writer, total};
use super::parity_file::{Input, Output, header, list};
use super::{Context, Health, Outcome, Record};
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::format::{from_message, to_message};
use crate::{Error, Result};
use std::path::PathBuf;

const RECORD: u64 = 1;
const DATA: u64 = 2;
const PARITY: u64 = 4;

/// Numbers of a [`State`] in a message, before the sizes of the neighbours.
const NUMBERS: usize = 6;

/// What one member tells the others.
struct State {
    /// What it has whole.
    has: u64,
    id: u64,
    created: u64,
    piece: u64,
    /// From its redundancy file.
    chunk: u64,
    /// Bytes of its files, and of those of its left neighbours as its redundancy file says.
    size: u64,
    lefts: Vec<u64>,
}

impl State {
    fn to_bytes(&self) -> Vec<u8> {
        let mut numbers = vec![
            self.has,
            self.id,
            self.created,
            self.piece,
            self.chunk,
            self.size,
        ];
        numbers.extend(&self.lefts);
        to_bytes(&numbers)
    }

    fn from_bytes(message: &[u8], neighbours: usize) -> State {
        let (mut numbers, _) = from_bytes(message, NUMBERS + neighbours);
        numbers.resize(NUMBERS + neighbours, 0);
        let lefts = numbers.split_off(NUMBERS);
        let number = |i: usize| numbers.get(i).copied().unwrap_or(0);
        State {
            has: number(0),
            id: number(1),
            created: number(2),
            piece: number(3),
            chunk: number(4),
            size: number(5).min(i64::MAX as u64 / 4),
            lefts: lefts
                .into_iter()
                .map(|n| n.min(i64::MAX as u64 / 4))
                .collect(),
        }
    }

    fn lacks(&self, what: u64) -> bool {
        self.has & what == 0
    }
}

/// What all members know before anything is done.
struct Verdict {
    all: Vec<State>,
    /// Bytes of each member's files.
    sizes: Vec<u64>,
    /// For a member without a record, who tells it.
    donors: Vec<Option<usize>>,
}

impl Verdict {
    fn any_lacks(&self, what: u64) -> bool {
        self.all.iter().any(|s| s.lacks(what))
    }
}

/// See [`Scheme::rebuild`](super::Scheme::rebuild); the set has at least two members.
pub fn rebuild(
    context: &Context,
    code: &Code,
    (path, name): (PathBuf, &str),
    mine: Option<(Record, Health)>,
) -> Result<(Record, Outcome)> {
    let (state, input, record, damage) = own(context, code, path.clone(), mine);
    let messages = context.exchange(|_| state.to_bytes())?;
    let read = |m: &Vec<u8>| State::from_bytes(m, code.parities());
    let all: Vec<State> = messages.iter().map(read).collect();
    let id = all.iter().find(|s| s.id != 0).map_or(0, |s| s.id);
    let verdict = match judge(context, code, name, all) {
        Ok(verdict) => verdict,
        Err(what) => {
            let dataset = record.map_or_else(String::new, |r| r.dataset.name.to_string());
            let here = damage.map_or_else(String::new, |e| format!("; on this rank: {e}"));
            return Err(Error::dataset(id, dataset, format!("{what}{here}")));
        }
    };
    let outcome = match verdict.all.get(context.set.index) {
        Some(me) if me.lacks(DATA) => Outcome::Restored,
        _ if verdict.any_lacks(DATA) => Outcome::Helped,
        _ if verdict.any_lacks(PARITY) => Outcome::Encoded,
        _ => Outcome::Intact,
    };
    match record {
        Some(record) if outcome == Outcome::Intact => Ok((record, outcome)),
        record => Ok((
            restore(context, code, path, &verdict, record, input)?,
            outcome,
        )),
    }
}

/// What this member has, and what is wrong with it.
fn own(
    context: &Context,
    code: &Code,
    path: PathBuf,
    mine: Option<(Record, Health)>,
) -> (State, Option<Input>, Option<Record>, Option<Error>) {
    let mut state = State {
        has: 0,
        id: 0,
        created: 0,
        piece: context.piece as u64,
        chunk: 0,
        size: 0,
        lefts: vec![0; code.parities()],
    };
    let Some((record, health)) = mine else {
        return (state, None, None, None);
    };
    let size = |list: &RankFiles| total(list.files.iter().map(|f| f.size));
    // A record whose names lead elsewhere, or whose sizes are absurd, is none.
    let usable = context
        .paths(&record.files)
        .and_then(|_| size(&record.files));
    let Ok(own_size) = usable else {
        return (state, None, None, health.data.err());
    };
    (state.id, state.created) = (record.dataset.id, record.dataset.created);
    (state.has, state.size) = (RECORD, own_size);
    if health.data.is_ok() {
        state.has |= DATA;
    }
    let damage = health.data.err().or(health.parity.clone().err());
    let open = || Input::open(context, path, &record, code.parities());
    let input = health.parity.and_then(|()| open()).ok();
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
    (state, input, Some(record), damage)
}

/// The same answer on all members, from what they announced. An error says why not.
fn judge(
    context: &Context,
    code: &Code,
    name: &str,
    mut all: Vec<State>,
) -> std::result::Result<Verdict, String> {
    let (members, keepers) = (code.members(), code.parities());
    let set = list(&context.set.members);
    let with_record = || all.iter().filter(|s| !s.lacks(RECORD));
    let same = |f: fn(&State) -> u64| {
        let mut values = with_record().map(f);
        let first = values.next();
        values.all(|v| Some(v) == first)
    };
    if !same(|s| s.id) || !same(|s| s.created) {
        return Err(format!(
            "the ranks {set} of a redundancy set hold files of different datasets"
        ));
    }
    if all
        .windows(2)
        .any(|w| matches!(w, [a, b] if a.piece != b.piece))
    {
        return Err(format!(
            "the ranks {set} of a redundancy set do not agree on the message size"
        ));
    }
    // A right neighbour that has its redundancy file knows the files of a rank.
    let donor = |member: usize| {
        (1..=keepers)
            .map(|steps| (steps, (member + steps) % members))
            .find(|(_, i)| all.get(*i).is_some_and(|s| !s.lacks(PARITY)))
    };
    let known = (0..members).map(|member| {
        let state = all.get(member)?;
        if !state.lacks(RECORD) {
            return Some((None, state.size));
        }
        let (steps, index) = donor(member)?;
        let size = all.get(index)?.lefts.get(steps - 1)?;
        Some((Some(index), *size))
    });
    let Some(known) = known.collect::<Option<Vec<_>>>() else {
        return Err(complaint(context, code, name, &all));
    };
    let (donors, sizes): (Vec<Option<usize>>, Vec<u64>) = known.into_iter().unzip();
    // A redundancy file that was made of files of other sizes does not count.
    let chunk = code.chunk(&sizes);
    for (member, state) in all.iter_mut().enumerate() {
        let left = |steps: usize| sizes.get((member + members - steps) % members);
        let fits = state.chunk == chunk
            && state
                .lefts
                .iter()
                .zip(1..)
                .all(|(size, steps)| left(steps) == Some(size));
        if !fits {
            state.has &= !PARITY;
        }
    }
    let flags = |what| all.iter().map(|s| s.lacks(what)).collect::<Vec<_>>();
    let informed = all.iter().zip(&donors).all(|(state, donor)| {
        let sound = |i: usize| all.get(i).is_some_and(|s| !s.lacks(PARITY));
        !state.lacks(RECORD) || donor.is_some_and(sound)
    });
    if !informed || !code.recoverable(&flags(DATA), &flags(PARITY)) {
        return Err(complaint(context, code, name, &all));
    }
    Ok(Verdict { all, sizes, donors })
}

/// Which losses are too many.
fn complaint(context: &Context, code: &Code, name: &str, all: &[State]) -> String {
    let ranks = |pick: &dyn Fn(&State) -> bool| -> Vec<usize> {
        let both = all.iter().zip(context.set.members.iter());
        both.filter(|(s, _)| pick(s)).map(|(_, r)| *r).collect()
    };
    let lost = ranks(&|s| s.lacks(DATA));
    let bare = ranks(&|s| !s.lacks(DATA) && s.lacks(PARITY));
    let plural = |ranks: &[usize]| if ranks.len() == 1 { "rank" } else { "ranks" };
    let mut what = format!("the files of {} {}", plural(&lost), list(&lost));
    if !bare.is_empty() {
        what += &format!(" and the redundancy of {} {}", plural(&bare), list(&bare));
    }
    let stands = match code.parities() {
        1 => "one".to_string(),
        n => format!("any {n}"),
    };
    let set = list(&context.set.members);
    format!("{what} are lost or damaged; {name} set {set} stands the loss of {stands}")
}

/// Does what the verdict asks for; gives this rank's record.
fn restore(
    context: &Context,
    code: &Code,
    path: PathBuf,
    verdict: &Verdict,
    record: Option<Record>,
    input: Option<Input>,
) -> Result<Record> {
    let me = context.set.index;
    let lacks = |what| verdict.all.get(me).is_none_or(|s| s.lacks(what));
    let mut local = Local {
        chunk: code.chunk(&verdict.sizes),
        ..Local::default()
    };
    let record = match record {
        Some(record) => {
            tell(context, verdict, input.as_ref(), &mut local)?;
            Some(record)
        }
        None => {
            let theirs = learn(context, verdict)?;
            local
                .first
                .keep(theirs.and_then(|h| adopt(context, verdict, h, local.chunk)))
        }
    };
    let partners = neighbours(context, code, verdict, record.as_ref(), &mut local)?;
    if !lacks(PARITY) {
        local.input = input;
    }
    let mut heading = None;
    if let Some(record) = &record {
        if lacks(DATA) {
            local.writer = local.first.keep(writer(context, record));
        } else {
            let list = context.paths(&record.files);
            let reader = list.and_then(|list| Reader::new(context.files, list, false));
            local.reader = local.first.keep(reader);
        }
        if let Some(partners) = partners {
            let new = header(context, record, local.chunk, partners);
            local.output = local.first.keep(Output::create(context.files, path, &new));
            heading = Some(new);
        }
    }

    let (columns, routes) = routes(code, &verdict.all)?;
    local.places = Local::places(code, columns.iter().copied(), me);
    let (piece, window) = flow::shape(context.piece, code.members());
    let tasks = tasks(code, &columns, &routes, &verdict.sizes, piece);
    flow::run(context, &routes, tasks, window, &mut local)?;

    let Local {
        writer,
        output,
        mut first,
        ..
    } = local;
    if let Some(writer) = writer.filter(|_| !first.failed()) {
        first.keep(writer.finish());
    }
    let dataset = record
        .as_ref()
        .map(|r| r.dataset.clone())
        .unwrap_or_default();
    first.share(context, &dataset)?;
    if let (Some(output), Some(heading), false) = (output, heading, first.failed()) {
        first.keep(output.finish(context.files, heading, context.sync));
    }
    let lost = || Error::dataset(dataset.id, "", "a rank could not be restored");
    let record = record.ok_or_else(lost);
    first.result(()).and(record)
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
fn learn(context: &Context, verdict: &Verdict) -> Result<Result<ParityHeader>> {
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
fn writer<'a>(context: &Context<'a>, record: &Record) -> Result<Writer<'a>> {
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

/// The columns that lost a block, in rising order, and how these come back.
fn routes(code: &Code, all: &[State]) -> Result<(Vec<usize>, Vec<Route>)> {
    let lost = |block: &Block| {
        let what = match block.place {
            Place::Data(_) => DATA,
            Place::Parity(_) => PARITY,
        };
        all.get(block.member).is_none_or(|state| state.lacks(what))
    };
    let (mut columns, mut routes) = (Vec::new(), Vec::new());
    for column in 0..code.members() {
        let blocks = code.column(column);
        let (targets, mut sources): (Vec<usize>, Vec<usize>) =
            (0..blocks.len()).partition(|b| blocks.get(*b).is_some_and(lost));
        if targets.is_empty() {
            continue;
        }
        let turn = column % sources.len().max(1);
        sources.rotate_left(turn);
        sources.truncate(code.data());
        let coefficients = code
            .solve(column, &sources, &targets)
            .ok_or_else(|| Error::format(0, "the code has no solution"))?;
        let members = |list: Vec<usize>| {
            let block = list.into_iter().filter_map(|b| blocks.get(b));
            block.map(|b| b.member).collect()
        };
        columns.push(column);
        routes.push(Route {
            sources: members(sources),
            targets: members(targets),
            coefficients,
        });
    }
    Ok((columns, routes))
}

/// Column after column, so that lost files are written front to back. Who computes goes
/// round with every piece.
fn tasks<'a>(
    code: &'a Code,
    columns: &'a [usize],
    routes: &'a [Route],
    sizes: &'a [u64],
    piece: usize,
) -> impl Iterator<Item = Task> + 'a {
    let each = columns.iter().zip(routes).enumerate();
    each.flat_map(move |(index, (column, route))| {
        let pieces = flow::pieces(code.length(sizes, *column), piece);
        pieces.enumerate().map(move |(turn, (offset, length))| {
            let at = (turn + column) % route.sources.len().max(1);
            Task {
                route: index,
                worker: route.sources.get(at).copied().unwrap_or(0),
                offset,
                length,
            }
        })
    })
}
