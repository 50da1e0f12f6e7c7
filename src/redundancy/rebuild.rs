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
//! write over what is left of its own files, all are proven first, and who has files without a
//! record (`left`) sees whether they are right.
//!
//! A part that lies on another member's node comes home in the first such pass (`home`): its
//! holder sends, it is written where its rank is, and blocks that arrive are what others are
//! rebuilt from.

mod lost_records;
pub mod offline;
mod orphans;
mod relocated;
mod restore;
mod routes;
mod verdict;
#[cfg(test)]
mod verdict_tests;

use self::restore::{Have, restore};
use self::verdict::{DATA, LEFT, PARITY, PROVEN, RECORD, State, judge};
use super::code::Code;
use super::logical::{Target, total};
use super::parity_file::{self, Input, Output};
use super::{Context, First, Found, HeldPart, Outcome, Proof, Record, Round, Scheme};
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::{Error, Result};
use std::path::PathBuf;

/// See [`Scheme::rebuild`]; the set has at least two members.
pub fn rebuild(
    context: &Context,
    scheme: &dyn Scheme,
    code: &Code,
    mine: &mut Option<Found>,
    mut lent: Option<&mut HeldPart>,
) -> Result<(Record, Outcome)> {
    let context = &mut Context { ..*context };
    let mut away = relocated::introduce(context, code, scheme.name(), mine, lent.as_deref_mut())?;
    // Later it is what was rebuilt that is here.
    let mut first_turn = true;
    // Each turn but the last proves what was not proven, looks at what is left or finds a loss
    // that was not known, so there is a last one.
    loop {
        let path = parity_file::path(context.meta_dir, context.set, scheme.name());
        let (mut state, parity) = own(context, code, path.clone(), mine.as_ref(), away.take());
        if std::mem::take(&mut first_turn) && state.lacks(RECORD) && orphans::any(context, &path) {
            state.has |= LEFT;
        }
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
        let verify_first = verdict.must_verify_first();
        let told = match verify_first {
            true => orphans::tell(context, code, &verdict, parity.as_ref())?,
            false => None,
        };
        let idle = verify_first || outcome == Outcome::Intact;
        let (mut made, health) = if idle && context.away().is_empty() {
            prove(context, scheme, record, proven)
        } else {
            let lent = lent.as_deref_mut();
            let have = Have {
                scheme: scheme.name(),
                record,
                parity,
                proven,
                lent,
            };
            let (context, rebuild) = (&*context, !verify_first);
            std::thread::scope(|scope| {
                restore(scope, context, code, path, &verdict, have, rebuild)
            })?
        };
        // All that could come home has.
        context.holders = &[];
        let worse = mine.as_mut().is_some_and(|mine| learn(mine, health));
        if mine.is_none() && !state.lacks(LEFT) {
            *mine = told.and_then(|record| orphans::recognize(context, scheme, record));
        }
        let dataset = made.record.as_ref().map(|record| record.dataset.clone());
        let dataset = dataset.unwrap_or_default();
        let turn = match made.stranded {
            true => Round::Stop,
            false if verify_first || worse => Round::Again,
            false => Round::Last,
        };
        if made.first.share(context, &dataset, turn)? {
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

/// The redundancy file of this rank.
enum Parity {
    Here(Input),
    /// On another node; this is its header.
    Away(ParityHeader),
}

impl Parity {
    fn header(&self) -> &ParityHeader {
        match self {
            Parity::Here(input) => &input.header,
            Parity::Away(header) => header,
        }
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
    /// Whether that kept something from coming home.
    stranded: bool,
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
    away: Option<ParityHeader>,
) -> (State, Option<Parity>) {
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
    let parity = match away {
        Some(header) => Some(Parity::Away(header)),
        None if context.holder(context.set.index) != context.comm.rank() => None,
        None => {
            let open = |()| Input::open(context, path, record, code.parities());
            let input = health.parity.clone().and_then(open).ok();
            input.map(Parity::Here)
        }
    };
    if let Some(header) = parity.as_ref().map(Parity::header) {
        state.has |= PARITY;
        state.chunk = header.chunk;
        // The file could be opened, so its sizes add up.
        state.lefts = header.partners().map(|p| size(p).unwrap_or(0)).collect();
    }
    (state, parity)
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
