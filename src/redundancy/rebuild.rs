//! Rebuilds the losses of a set: files, redundancy, or both.
//!
//! Every member announces its files, and all come to the same verdict. A rank without a record gets
//! it from a right neighbour, whose redundancy file contains it. Ranks that need a new redundancy
//! file get the file lists of their left neighbours. Then the blocks are exchanged column by
//! column, in the order in which lost files are written. The sending members and the computing one
//! change from piece to piece, so that all links and disks are used. A rank that lost data and
//! redundancy writes both at the same time.
//!
//! The content of the survivors is compared with its checksums in the same pass; bytes that the
//! pass did not read are read after it. If content turns out to be damaged, its rank announces
//! that, and the rebuild starts another round with one more loss. If a rank would overwrite files
//! that may be right, all survivors are verified first, and files of ranks without a record are
//! verified too (`orphans`).
//!
//! A part that another member holds is moved in the first round that rebuilds (`relocate`): its holder
//! sends it, its rank writes it, and the blocks that arrive are used to rebuild others.

mod lost_records;
pub mod offline;
mod orphans;
mod restore;
mod routes;
mod verdict;
#[cfg(test)]
mod verdict_tests;

use self::restore::RestoreRound;
use self::verdict::{DATA, MemberState, PARITY, RECORD, UNVERIFIED, Verdict, judge};
use super::code::Code;
use super::logical::total_size;
use super::parity_file::{self, ParityReader, ParityWriter};
use super::{
    Context, FirstError, HeldPart, LocalPart, PartHealth, RankRecord, RebuildOutcome,
    RedundancyScheme, Round, Verification, relocate,
};
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::system::thread;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// See [`RedundancyScheme::rebuild`]; the set has at least two members.
pub fn rebuild(
    context: &Context,
    scheme: &RedundancyScheme,
    code: &Code,
    mine: &mut Option<LocalPart>,
    held: &mut [HeldPart],
) -> Result<(RankRecord, RebuildOutcome)> {
    let mut relocated_header = None;
    if let Some(report) = relocate::announce(context, held)? {
        let (part, header) = report.into_part(context);
        (*mine, relocated_header) = (Some(part), header);
    }
    let mut rebuild = Rebuild {
        context: *context,
        scheme,
        code,
        path: parity_file::path(context.meta_dir, context.set, scheme.scheme()),
        mine,
        held,
        relocated_header,
        orphans: true,
    };
    // Each round but the last verifies content, examines files without a record, or finds a new
    // loss. So the number of rounds is limited.
    loop {
        if let Some(done) = rebuild.round()? {
            return Ok(done);
        }
    }
}

/// A rebuild on this rank, between its rounds.
struct Rebuild<'r, 'c> {
    context: Context<'c>,
    scheme: &'r RedundancyScheme,
    code: &'r Code,
    /// The redundancy file.
    path: PathBuf,
    mine: &'r mut Option<LocalPart>,
    held: &'r mut [HeldPart],
    /// The header of the redundancy file, if another rank holds that file. Only used in the first round.
    relocated_header: Option<ParityHeader>,
    /// True in the first round. In later rounds, files without a record may have been rebuilt by an
    /// earlier round.
    orphans: bool,
}

impl Rebuild<'_, '_> {
    /// One round. `None` if another round is needed.
    fn round(&mut self) -> Result<Option<(RankRecord, RebuildOutcome)>> {
        let context = self.context;
        let (state, parity) = self.announce();
        let verdict = self.exchange_states(&state)?;
        let outcome = verdict.outcome(context.set.index);
        let verify_first = verdict.must_verify_first();
        let received = if verify_first {
            orphans::exchange_records(&context, self.code, &verdict, parity.as_ref())?
        } else {
            None
        };
        let idle = verify_first || outcome == RebuildOutcome::Intact;
        let (made, findings) = if idle && context.relocated_members().is_empty() {
            self.verify(&state)
        } else {
            self.restore(&state, &verdict, parity, !verify_first)?
        };
        // Parts are moved only once.
        self.context.holders = &[];
        let mine = self.mine.as_mut();
        let worse = mine.is_some_and(|mine| update_health(mine, findings));
        if self.mine.is_none() && !state.lacks(UNVERIFIED) {
            let verify = |record| orphans::verify_files(&context, self.scheme, record);
            *self.mine = received.and_then(verify);
        }
        let record = decide(&context, made, verify_first || worse)?;
        Ok(record.map(|record| (record, outcome)))
    }

    /// The state that this member announces, and its redundancy file. In the first round, the state tells
    /// whether there are files without a record.
    fn announce(&mut self) -> (MemberState, Option<Parity>) {
        let (context, relocated_header) = (&self.context, self.relocated_header.take());
        let (mut state, parity) =
            local_state(context, self.code, &self.path, self.mine, relocated_header);
        let orphans = std::mem::take(&mut self.orphans);
        if orphans && state.lacks(RECORD) && orphans::has_files(context, &self.path) {
            state.has |= UNVERIFIED;
        }
        (state, parity)
    }

    /// Every member sends its state. Gives the verdict on the announcements of all members. One
    /// round of messages.
    fn exchange_states(&self, state: &MemberState) -> Result<Verdict> {
        let messages = self.context.exchange(|_| state.to_bytes())?;
        let read = |m: &Vec<u8>| MemberState::from_bytes(m, self.code.parities());
        let all: Vec<MemberState> = messages.iter().map(read).collect();
        let id = all.iter().find(|s| s.id != 0).map_or(0, |s| s.id);
        judge(&self.context, self.code, self.scheme.scheme(), all).map_err(|what| {
            let (dataset, here) = describe_damage(self.mine.as_ref());
            Error::dataset(id, dataset, format!("{what}{here}"))
        })
    }

    /// The record of this rank. A record that cannot be used counts as lost.
    fn record(&self, state: &MemberState) -> Option<RankRecord> {
        let usable = self.mine.as_ref().filter(|_| !state.lacks(RECORD));
        usable.map(|mine| mine.record.clone())
    }

    /// True if the content is known to be right.
    fn is_verified(&self) -> bool {
        self.mine.as_ref().is_none_or(|mine| mine.verified)
    }

    /// Verifies the content where nothing is moved or rebuilt in this round. Local.
    fn verify(&self, state: &MemberState) -> (RoundOutput, Findings) {
        let record = self.record(state);
        let unverified = record.as_ref().filter(|_| !self.is_verified());
        let check = |record| self.scheme.check(&self.context, record, Verification::Full);
        let findings = unverified.map(check);
        let made = RoundOutput {
            record,
            ..RoundOutput::default()
        };
        (made, findings)
    }

    /// Moves the parts that other ranks hold. With `rebuild`, also rebuilds the files that the verdict
    /// names.
    fn restore(
        &mut self,
        state: &MemberState,
        verdict: &Verdict,
        parity: Option<Parity>,
        rebuild: bool,
    ) -> Result<(RoundOutput, Findings)> {
        let round = RestoreRound {
            context: &self.context,
            code: self.code,
            path: &self.path,
            verdict,
            verified: self.is_verified(),
            rebuild,
        };
        let record = self.record(state);
        // Threads write the rebuilt files.
        thread::scope(|scope| round.run(scope, record, parity, self.held))
    }
}

/// The set decides whether another round is needed; `again` says that this member asks for one.
/// `None` if another round is needed. Otherwise the redundancy file gets its final name, and the record is
/// returned. One round of messages.
fn decide(context: &Context, mut made: RoundOutput, again: bool) -> Result<Option<RankRecord>> {
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
    Here(ParityReader<'static>),
    /// The header of a file that another rank holds.
    Relocated(ParityHeader),
}

impl Parity {
    fn header(&self) -> &ParityHeader {
        match self {
            Parity::Here(input) => &input.header,
            Parity::Relocated(header) => header,
        }
    }
}

/// The result of one round.
#[derive(Default)]
struct RoundOutput {
    record: Option<RankRecord>,
    /// A redundancy file without its header and its final name.
    output: Option<(ParityWriter, ParityHeader)>,
    /// The first error.
    error: FirstError,
    /// True if a moved part could not be written.
    relocation_failed: bool,
}

/// The health of a survivor's data and redundancy, if it is known now.
type Findings = Option<PartHealth>;

/// Enters the findings in `mine`. Returns true if that is a new loss.
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

/// The state that this member announces, and its redundancy file. If that cannot be opened, `mine` has the
/// error.
fn local_state(
    context: &Context,
    code: &Code,
    path: &Path,
    mine: &mut Option<LocalPart>,
    relocated_header: Option<ParityHeader>,
) -> (MemberState, Option<Parity>) {
    let mut state = MemberState::of_nothing(context.piece, code.parities());
    let Some(part) = mine else {
        return (state, None);
    };
    let size = |list: &RankFiles| total_size(list.files.iter().map(|f| f.size));
    // A record with names that lead out of the directory, or with impossible sizes, counts as lost.
    let files = &part.record.files;
    let Ok(own_size) = context.paths(files).and_then(|_| size(files)) else {
        return (state, None);
    };
    state.add_part(part, own_size);
    let parity = match relocated_header {
        Some(header) => Some(Parity::Relocated(header)),
        None if context.holder(context.set.index) != context.comm.rank() => None,
        None => open_parity(context, code, path, part),
    };
    if let Some(header) = parity.as_ref().map(Parity::header) {
        state.has |= PARITY;
        state.chunk = header.chunk;
        // The file was opened, which checks that its sizes can be added.
        state.lefts = header.partners().map(|p| size(p).unwrap_or(0)).collect();
    }
    (state, parity)
}

/// Opens the redundancy file of this rank. If that fails, its health has the error: the verdict only says
/// that the file is missing, but after an error that may pass it is not.
fn open_parity(
    context: &Context,
    code: &Code,
    path: &Path,
    part: &mut LocalPart,
) -> Option<Parity> {
    let path = path.to_path_buf();
    let open = |()| ParityReader::open(context, path, &part.record, code.parities());
    match part.health.parity.clone().and_then(open) {
        Ok(input) => Some(Parity::Here(input)),
        Err(error) => {
            part.health.parity = Err(error);
            None
        }
    }
}
