//! Rebuilds what a set lost: files, redundancy, or both.
//!
//! Every member announces what it has, and all come to the same verdict. A rank without a record
//! gets it from a right neighbour, whose redundancy file contains it. Ranks that need a new
//! redundancy file get the file lists of their left neighbours. Then the blocks are exchanged
//! column by column, in the order in which lost files are written. Which members send, and which of
//! them computes, changes from piece to piece, so that all links and disks are used. A rank that
//! lost data and redundancy writes both at the same time.
//!
//! The content of the survivors is compared with its checksums in the same pass; what the pass did
//! not read is read after it. If content turns out to be damaged, its rank announces that, and the
//! rebuild starts another round with one more loss. If a rank would overwrite files that may be
//! right, all survivors are verified first, and files of ranks without a record are verified too
//! (`orphans`).
//!
//! A part that another member holds is moved in the first round that rebuilds (`relocated`): its
//! holder sends it, its rank writes it, and the blocks that arrive are used to rebuild others.

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
use self::verdict::{DATA, MemberState, PARITY, RECORD, UNVERIFIED, VERIFIED, Verdict, judge};
use super::code::Code;
use super::logical::{FileToWrite, total_size};
use super::parity_file::{self, ParityReader, ParityWriter};
use super::{
    Context, FirstError, HeldPart, LocalPart, PartHealth, RebuildOutcome, Record, RedundancyScheme,
    Round, Verification,
};
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// See [`RedundancyScheme::rebuild`]; the set has at least two members.
pub fn rebuild(
    context: &Context,
    scheme: &RedundancyScheme,
    code: &Code,
    mine: &mut Option<LocalPart>,
    mut held_part: Option<&mut HeldPart>,
) -> Result<(Record, RebuildOutcome)> {
    let context = &mut Context { ..*context };
    let held = held_part.as_deref_mut();
    let mut away = relocated::exchange_held_parts(context, code, scheme.scheme(), mine, held)?;
    // In later rounds files without a record may be what was rebuilt.
    let mut first_round = true;
    // Each round but the last verifies content, examines files without a record, or finds a new
    // loss. So the number of rounds is limited.
    loop {
        let path = parity_file::path(context.meta_dir, context.set, scheme.scheme());
        let orphans = std::mem::take(&mut first_round);
        let (state, parity) = announce(context, code, &path, mine.as_mut(), away.take(), orphans);
        let verdict = exchange_states(context, code, scheme, mine.as_ref(), &state)?;
        let outcome = outcome(context, &verdict);
        let verify_first = verdict.must_verify_first();
        let received = match verify_first {
            true => orphans::exchange_records(context, code, &verdict, parity.as_ref())?,
            false => None,
        };
        let held = held_part.as_deref_mut();
        let input = round_input(scheme, &state, mine.as_ref(), parity, held);
        let idle = verify_first || outcome == RebuildOutcome::Intact;
        let (made, findings) = match idle && context.relocated_members().is_empty() {
            true => verify_all(context, scheme, input.record, input.verified),
            false => restore(context, code, path, &verdict, input, !verify_first)?,
        };
        // Parts are moved only once.
        context.holders = &[];
        let worse = mine.as_mut().map(|mine| update_health(mine, findings));
        let again = verify_first || worse == Some(true);
        if mine.is_none() && !state.lacks(UNVERIFIED) {
            *mine = received.and_then(|record| orphans::verify_files(context, scheme, record));
        }
        if let Some(record) = decide(context, made, again)? {
            return Ok((record, outcome));
        }
    }
}

/// The state that this member announces, and its redundancy file. With `orphans`, the state tells
/// whether there are files without a record.
fn announce(
    context: &Context,
    code: &Code,
    path: &Path,
    mine: Option<&mut LocalPart>,
    away: Option<ParityHeader>,
    orphans: bool,
) -> (MemberState, Option<Parity>) {
    let (mut state, parity) = local_state(context, code, path.to_path_buf(), mine, away);
    if orphans && state.lacks(RECORD) && orphans::has_files(context, path) {
        state.has |= UNVERIFIED;
    }
    (state, parity)
}

/// Every member announces its state, and judges what all have announced. One round of messages.
fn exchange_states(
    context: &Context,
    code: &Code,
    scheme: &RedundancyScheme,
    mine: Option<&LocalPart>,
    state: &MemberState,
) -> Result<Verdict> {
    let messages = context.exchange(|_| state.to_bytes())?;
    let read = |m: &Vec<u8>| MemberState::from_bytes(m, code.parities());
    let all: Vec<MemberState> = messages.iter().map(read).collect();
    let id = all.iter().find(|s| s.id != 0).map_or(0, |s| s.id);
    judge(context, code, scheme.scheme(), all).map_err(|what| {
        let (dataset, here) = describe_damage(mine);
        Error::dataset(id, dataset, format!("{what}{here}"))
    })
}

/// What a rebuild after this verdict does on this rank.
fn outcome(context: &Context, verdict: &Verdict) -> RebuildOutcome {
    match verdict.all.get(context.set.index) {
        Some(me) if me.lacks(DATA) => RebuildOutcome::Restored,
        _ if verdict.any_lacks(DATA) => RebuildOutcome::Helped,
        _ if verdict.any_lacks(PARITY) => RebuildOutcome::Encoded,
        _ => RebuildOutcome::Intact,
    }
}

/// What this rank has at the start of a round. A record that cannot be used counts as lost.
fn round_input<'h>(
    scheme: &RedundancyScheme,
    state: &MemberState,
    mine: Option<&LocalPart>,
    parity: Option<Parity>,
    held_part: Option<&'h mut HeldPart>,
) -> RoundInput<'h> {
    let usable = mine.filter(|_| !state.lacks(RECORD));
    RoundInput {
        scheme: scheme.scheme(),
        record: usable.map(|mine| mine.record.clone()),
        parity,
        verified: mine.is_none_or(|mine| mine.verified),
        held_part,
    }
}

/// The set decides whether another round is needed; `again` says that this member asks for one.
/// `None` if it is. Otherwise the redundancy file gets its final name, and the record is returned.
/// One round of messages.
fn decide(context: &Context, mut made: RoundOutput, again: bool) -> Result<Option<Record>> {
    let dataset = made.record.as_ref().map(|record| record.dataset.clone());
    let dataset = dataset.unwrap_or_default();
    let round = match made.relocation_failed {
        true => Round::Stop,
        false if again => Round::Again,
        false => Round::Last,
    };
    if made.error.share_with_set(context, &dataset, round)? {
        return Ok(None);
    }
    if let (Some((output, header)), false) = (made.output, made.error.failed()) {
        let done = output.finish(context.files, header, context.sync);
        made.error.keep(done);
    }
    let lost = || Error::dataset(dataset.id, "", "a rank could not be restored");
    let record = made.record.ok_or_else(lost);
    made.error.result(()).and(record).map(Some)
}

/// The redundancy file of this rank.
enum Parity {
    Here(ParityReader),
    /// The header of a file that another rank holds.
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

/// The result of one round.
#[derive(Default)]
struct RoundOutput {
    record: Option<Record>,
    /// A redundancy file without its header and its final name.
    output: Option<(ParityWriter, ParityHeader)>,
    /// The first error.
    error: FirstError,
    /// True if a moved part could not be written.
    relocation_failed: bool,
}

/// Whether a survivor's data and redundancy are right, if that is known now.
type Findings = Option<PartHealth>;

/// Verifies the content of a set that misses nothing.
fn verify_all(
    context: &Context,
    scheme: &RedundancyScheme,
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
    (made, health)
}

/// Enters what was found in `mine`. Returns true if that is a new loss.
fn update_health(mine: &mut LocalPart, findings: Findings) -> bool {
    let Some(PartHealth { data, parity }) = findings else {
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

/// For an error message: the name of the dataset, and the damage on this rank.
fn describe_damage(mine: Option<&LocalPart>) -> (String, String) {
    let Some(LocalPart { record, health, .. }) = mine else {
        return (String::new(), String::new());
    };
    let damage = health.data.as_ref().err().or(health.parity.as_ref().err());
    let here = damage.map_or_else(String::new, |e| format!("; on this rank: {e}"));
    (record.dataset.name.to_string(), here)
}

/// The state that this member announces, and its redundancy file. If that cannot be opened, `mine` knows why.
fn local_state(
    context: &Context,
    code: &Code,
    path: PathBuf,
    mine: Option<&mut LocalPart>,
    away: Option<ParityHeader>,
) -> (MemberState, Option<Parity>) {
    let mut state = MemberState::of_nothing(context.piece, code.parities());
    let Some(LocalPart {
        record,
        health,
        verified,
    }) = mine
    else {
        return (state, None);
    };
    let size = |list: &RankFiles| total_size(list.files.iter().map(|f| f.size));
    // A record with names that lead out of the directory, or with impossible sizes, counts as lost.
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
        None => open_parity(context, code, path, record, health),
    };
    if let Some(header) = parity.as_ref().map(Parity::header) {
        state.has |= PARITY;
        state.chunk = header.chunk;
        // The file was opened, which checks that its sizes can be added.
        state.lefts = header.partners().map(|p| size(p).unwrap_or(0)).collect();
    }
    (state, parity)
}

/// Opens the redundancy file of this rank. If that fails, `health` knows why: the verdict says only that
/// it is missing, which an error that may pass is not.
fn open_parity(
    context: &Context,
    code: &Code,
    path: PathBuf,
    record: &Record,
    health: &mut PartHealth,
) -> Option<Parity> {
    let open = |()| ParityReader::open(context, path, record, code.parities());
    match health.parity.clone().and_then(open) {
        Ok(input) => Some(Parity::Here(input)),
        Err(error) => {
            health.parity = Err(error);
            None
        }
    }
}

/// The files of a rank, to be written.
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
