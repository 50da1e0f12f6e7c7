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
//! write over what is left of its own files, all are verified first, and who has files without a
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

use self::restore::{RoundInput, restore};
use self::verdict::{DATA, MemberState, PARITY, RECORD, UNVERIFIED, VERIFIED, judge};
use super::code::Code;
use super::logical::{FileToWrite, total_size};
use super::parity_file::{self, ParityReader, ParityWriter};
use super::{
    Context, FirstError, HeldPart, LocalPart, RebuildOutcome, Record, RedundancyScheme, Round,
    Verification,
};
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::{Error, Result};
use std::path::PathBuf;

/// See [`RedundancyScheme::rebuild`]; the set has at least two members.
pub fn rebuild(
    context: &Context,
    scheme: &dyn RedundancyScheme,
    code: &Code,
    mine: &mut Option<LocalPart>,
    mut held_part: Option<&mut HeldPart>,
) -> Result<(Record, RebuildOutcome)> {
    let context = &mut Context { ..*context };
    let mut away = relocated::exchange_held_parts(
        context,
        code,
        scheme.name(),
        mine,
        held_part.as_deref_mut(),
    )?;
    // Later it is what was rebuilt that is here.
    let mut first_turn = true;
    // Each turn but the last proves what was not verified, looks at what is left or finds a loss
    // that was not known, so there is a last one.
    loop {
        let path = parity_file::path(context.meta_dir, context.set, scheme.name());
        let (mut state, parity) =
            local_state(context, code, path.clone(), mine.as_ref(), away.take());
        if std::mem::take(&mut first_turn)
            && state.lacks(RECORD)
            && orphans::has_files(context, &path)
        {
            state.has |= UNVERIFIED;
        }
        let messages = context.exchange(|_| state.to_bytes())?;
        let read = |m: &Vec<u8>| MemberState::from_bytes(m, code.parities());
        let all: Vec<MemberState> = messages.iter().map(read).collect();
        let id = all.iter().find(|s| s.id != 0).map_or(0, |s| s.id);
        let verdict = judge(context, code, scheme.name(), all).map_err(|what| {
            let (dataset, here) = describe_damage(mine.as_ref());
            Error::dataset(id, dataset, format!("{what}{here}"))
        })?;
        let outcome = match verdict.all.get(context.set.index) {
            Some(me) if me.lacks(DATA) => RebuildOutcome::Restored,
            _ if verdict.any_lacks(DATA) => RebuildOutcome::Helped,
            _ if verdict.any_lacks(PARITY) => RebuildOutcome::Encoded,
            _ => RebuildOutcome::Intact,
        };
        // A record that is of no use counts as none.
        let record = mine.as_ref().filter(|_| !state.lacks(RECORD));
        let record = record.map(|mine| mine.record.clone());
        let verified = mine.as_ref().is_none_or(|mine| mine.verified);
        let verify_first = verdict.must_verify_first();
        let told = match verify_first {
            true => orphans::exchange_records(context, code, &verdict, parity.as_ref())?,
            false => None,
        };
        let idle = verify_first || outcome == RebuildOutcome::Intact;
        let (mut made, health) = if idle && context.relocated_members().is_empty() {
            verify_all(context, scheme, record, verified)
        } else {
            let held_part = held_part.as_deref_mut();
            let have = RoundInput {
                scheme: scheme.name(),
                record,
                parity,
                verified,
                held_part,
            };
            let (context, rebuild) = (&*context, !verify_first);
            std::thread::scope(|scope| {
                restore(scope, context, code, path, &verdict, have, rebuild)
            })?
        };
        // All that could come home has.
        context.holders = &[];
        let worse = mine
            .as_mut()
            .is_some_and(|mine| update_health(mine, health));
        if mine.is_none() && !state.lacks(UNVERIFIED) {
            *mine = told.and_then(|record| orphans::verify_files(context, scheme, record));
        }
        let dataset = made.record.as_ref().map(|record| record.dataset.clone());
        let dataset = dataset.unwrap_or_default();
        let turn = match made.relocation_failed {
            true => Round::Stop,
            false if verify_first || worse => Round::Again,
            false => Round::Last,
        };
        if made.first.share_with_set(context, &dataset, turn)? {
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
    Here(ParityReader),
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
struct RoundOutput {
    record: Option<Record>,
    /// A redundancy file that lacks its header and its name.
    output: Option<(ParityWriter, ParityHeader)>,
    /// What failed.
    first: FirstError,
    /// Whether that kept something from coming home.
    relocation_failed: bool,
}

/// What a survivor's files turned out to be, if that is known now: data, redundancy.
type Findings = Option<(Result<()>, Result<()>)>;

/// Nothing is missing: sees whether the content is right, too.
fn verify_all(
    context: &Context,
    scheme: &dyn RedundancyScheme,
    record: Option<Record>,
    verified: bool,
) -> (RoundOutput, Findings) {
    let health = record
        .as_ref()
        .filter(|_| !verified)
        .map(|record| scheme.check(context, record, Verification::Full));
    let made = RoundOutput {
        record,
        ..RoundOutput::default()
    };
    (made, health.map(|health| (health.data, health.parity)))
}

/// Takes over what was found out. True if that is a loss that was not known before.
fn update_health(mine: &mut LocalPart, findings: Findings) -> bool {
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
    mine.verified = true;
    worse
}

/// The name of the dataset, and what is wrong on this rank, for an error.
fn describe_damage(mine: Option<&LocalPart>) -> (String, String) {
    let Some(LocalPart { record, health, .. }) = mine else {
        return (String::new(), String::new());
    };
    let damage = health.data.as_ref().err().or(health.parity.as_ref().err());
    let here = damage.map_or_else(String::new, |e| format!("; on this rank: {e}"));
    (record.dataset.name.to_string(), here)
}

/// What this member has.
fn local_state(
    context: &Context,
    code: &Code,
    path: PathBuf,
    mine: Option<&LocalPart>,
    away: Option<ParityHeader>,
) -> (MemberState, Option<Parity>) {
    let mut state = MemberState {
        has: 0,
        id: 0,
        created: 0,
        piece: context.piece as u64,
        chunk: 0,
        size: 0,
        lefts: vec![0; code.parities()],
    };
    let Some(LocalPart {
        record,
        health,
        verified,
    }) = mine
    else {
        return (state, None);
    };
    let size = |list: &RankFiles| total_size(list.files.iter().map(|f| f.size));
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
    if *verified {
        state.has |= VERIFIED;
    }
    let parity = match away {
        Some(header) => Some(Parity::Away(header)),
        None if context.holder(context.set.index) != context.comm.rank() => None,
        None => {
            let open = |()| ParityReader::open(context, path, record, code.parities());
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
fn targets(context: &Context, record: &Record) -> Result<Vec<FileToWrite>> {
    let paths = context.paths(&record.files)?;
    let targets = paths.into_iter().zip(&record.files.files);
    let targets = targets.map(|((path, _), meta)| FileToWrite {
        path,
        crc: meta.crc,
        stat: meta.stat(),
    });
    Ok(targets.collect())
}
