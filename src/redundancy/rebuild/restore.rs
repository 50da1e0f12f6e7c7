//! One round of a rebuild: records and lists are exchanged, then blocks, and their content is
//! verified.

use super::lost_records::{receive_header, record_from_header, send_header};
use super::routes::{ToRebuild, plan_routes, rebuild_tasks, relocation_tasks, workers};
use super::verdict::{DATA, PARITY, Verdict};
use super::{Findings, Parity, RoundOutput, targets};
use super::{orphans, relocated};
use crate::format::Scheme;
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::format::to_message;
use crate::redundancy::code::Code;
use crate::redundancy::encode::parse_file_list;
use crate::redundancy::logical::{LogicalReader, LogicalWriter};
use crate::redundancy::member_io::{MemberIo, PartReader, places};
use crate::redundancy::parity_file::{ParityReader, ParityWriter, header};
use crate::redundancy::pipeline;
use crate::redundancy::{Context, FirstError, HeldPart, PartHealth, Record};
use crate::store::write_behind::WriteBehind;
use crate::system::thread::{self, Scope};
use crate::{Error, Result};
use std::path::PathBuf;

/// What this rank has at the start of a round.
pub(super) struct RoundInput<'h> {
    /// The scheme.
    pub scheme: Scheme,
    pub record: Option<Record>,
    pub parity: Option<Parity>,
    /// True if the content is known to be right.
    pub verified: bool,
    pub held_part: Option<&'h mut HeldPart>,
}

/// Rebuilds what the verdict asks for. Without `rebuild`, only moves parts that other ranks hold.
pub(super) fn restore(
    context: &Context,
    code: &Code,
    path: PathBuf,
    verdict: &Verdict,
    input: RoundInput,
    rebuild: bool,
) -> Result<(RoundOutput, Findings)> {
    let round = RestoreRound {
        context,
        code,
        path,
        verdict,
        scheme: input.scheme,
        verified: input.verified,
        rebuild,
    };
    // Threads write what is rebuilt.
    thread::scope(|scope| round.run(scope, input))
}

/// One round of a rebuild on this rank.
struct RestoreRound<'r, 'env> {
    context: &'env Context<'env>,
    code: &'r Code,
    /// The redundancy file.
    path: PathBuf,
    verdict: &'r Verdict,
    scheme: Scheme,
    /// True if the content is known to be right.
    verified: bool,
    /// False if parts are only moved.
    rebuild: bool,
}

/// What is known when the files are open, and is needed to end the round.
#[derive(Default)]
struct Ready {
    /// The header of the redundancy file that is rebuilt.
    new_header: Option<ParityHeader>,
    /// The header of a redundancy file that another rank sends.
    relocated_header: Option<ParityHeader>,
    /// The checksums that files which are read must have; `None` if they are not compared.
    sums: Option<Vec<Option<u32>>>,
}

impl<'env> RestoreRound<'_, 'env> {
    fn run<'scope>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        input: RoundInput,
    ) -> Result<(RoundOutput, Findings)> {
        let (context, code, verdict) = (self.context, self.code, self.verdict);
        let mut local = MemberIo {
            chunk: code.chunk(&verdict.sizes),
            ..MemberIo::default()
        };
        let survivor = input.record.is_some();
        let record = self.exchange_headers(input.record, input.parity.as_ref(), &mut local)?;
        let partners = match self.rebuild {
            true => neighbours(context, code, verdict, record.as_ref(), &mut local)?,
            false => None,
        };
        let mut ready = Ready {
            relocated_header: self.open_parity(input.parity, &mut local),
            ..Ready::default()
        };
        if let Some(record) = &record {
            ready.sums = self.open_data(scope, record, survivor, &mut local);
            let create = |partners| self.create_parity(scope, record, partners, &mut local);
            ready.new_header = partners.map(create);
        }
        self.move_blocks(record.as_ref(), input.held_part, &mut local)?;
        let (made, findings) = verify(context, local, record, ready);
        Ok((made, findings.filter(|_| survivor)))
    }

    fn lacks(&self, what: u64) -> bool {
        let me = self.verdict.all.get(self.context.set.index);
        me.is_none_or(|state| state.lacks(what))
    }

    /// Survivors send their headers to the ranks that lost their records, which make new ones of
    /// them. Returns this rank's record. One round of messages.
    fn exchange_headers(
        &self,
        record: Option<Record>,
        parity: Option<&Parity>,
        local: &mut MemberIo,
    ) -> Result<Option<Record>> {
        let (context, verdict) = (self.context, self.verdict);
        if !self.rebuild {
            return Ok(record);
        }
        if record.is_some() {
            let header = parity.map(Parity::header);
            send_header(context, verdict, header, &mut local.error)?;
            return Ok(record);
        }
        let theirs = receive_header(context, verdict)?.result();
        let record = theirs.and_then(|h| record_from_header(context, verdict, h, local.chunk));
        Ok(local.error.keep(record))
    }

    /// Opens the redundancy file that is here, or creates the one that another rank sends. Returns the
    /// header of the latter.
    fn open_parity(&self, parity: Option<Parity>, local: &mut MemberIo) -> Option<ParityHeader> {
        match parity.filter(|_| !self.lacks(PARITY))? {
            Parity::Here(input) => {
                local.own.input = Some(match self.verified {
                    true => input.trusted(),
                    false => input,
                });
                None
            }
            Parity::Away(header) => {
                let output = ParityWriter::create(self.context.files, self.path.clone(), &header);
                local.parity_relocated = local.relocation.keep(output);
                Some(header)
            }
        }
    }

    /// Opens the files that are here, or creates those that are rebuilt or that another rank sends.
    /// Returns the checksums with which files that are here must be compared.
    fn open_data<'scope>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        record: &Record,
        survivor: bool,
        local: &mut MemberIo<'scope>,
    ) -> Option<Vec<Option<u32>>> {
        let context = self.context;
        if self.lacks(DATA) {
            let make = || {
                if !survivor {
                    orphans::remove_files(context, record)?;
                }
                new_files(context, record)
            };
            let writer = self.rebuild.then(make);
            let writer = writer.and_then(|writer| local.error.keep(writer));
            local.writer = writer.map(|writer| WriteBehind::start(scope, writer));
            return None;
        }
        if context.holder(context.set.index) != context.comm.rank() {
            let writer = new_files(context, record);
            local.data_relocated = local.relocation.keep(writer);
            return None;
        }
        let sums: Vec<Option<u32>> = record.files.files.iter().map(|file| file.crc).collect();
        let summed = !self.verified && sums.iter().any(Option::is_some);
        let list = context.paths(&record.files);
        let reader = list.and_then(|list| LogicalReader::new(context.files, list, summed));
        local.own.reader = local.own.data_error.keep(reader);
        summed.then_some(sums)
    }

    /// Creates the redundancy file that is rebuilt, and returns its header.
    fn create_parity<'scope>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        record: &Record,
        partners: Vec<RankFiles>,
        local: &mut MemberIo<'scope>,
    ) -> ParityHeader {
        let new = header(self.context, record, local.chunk, partners);
        let output = ParityWriter::create(self.context.files, self.path.clone(), &new);
        let output = output.map(|output| WriteBehind::start(scope, output));
        local.output = local.error.keep(output);
        new
    }

    /// Moves blocks between the members, and computes lost ones on the way.
    fn move_blocks(
        &self,
        record: Option<&Record>,
        held_part: Option<&mut HeldPart>,
        local: &mut MemberIo<'env>,
    ) -> Result<()> {
        let (context, code, verdict) = (self.context, self.code, self.verdict);
        let away = context.relocated_members();
        let to_rebuild = match self.rebuild {
            true => ToRebuild::DataAndRedundancy,
            false => ToRebuild::Nothing,
        };
        let (columns, routes) = plan_routes(code, &verdict.all, &away, to_rebuild)?;
        let places = |member| places(code, columns.iter().copied(), member);
        local.own.places = places(context.set.index);
        if let (Some(part), Some(member)) = (&held_part, relocated::held_member(context)) {
            let reader = held_reader(context, code, verdict, (self.scheme, part), member);
            let places = places(member);
            local.held = Some(PartReader { places, ..reader });
        }
        let (piece, window) = pipeline::shape(context.piece, code.members());
        let sizes = &verdict.sizes;
        if away.is_empty() {
            let tasks = rebuild_tasks(code, &columns, &routes, sizes, piece);
            return pipeline::run(context, &routes, tasks, window, local);
        }
        let workers = workers(context, &routes);
        let tasks = relocation_tasks(code, &columns, &workers, sizes, piece);
        pipeline::run(context, &routes, tasks, window, local)?;
        report_read(context, record, held_part, local)
    }
}

/// Holders tell whether they could read what they sent. One round of messages.
fn report_read(
    context: &Context,
    record: Option<&Record>,
    held_part: Option<&mut HeldPart>,
    local: &mut MemberIo,
) -> Result<()> {
    let held = local.held.take();
    let read = held.as_ref().map_or((true, true), |held| {
        (!held.data_error.failed(), !held.parity_error.failed())
    });
    if let (Some(held), Some(part)) = (held, held_part) {
        let errors = [held.data_error, held.parity_error].into_iter();
        part.problems
            .extend(errors.filter_map(|error| error.result(()).err()));
    }
    let dataset = record.map(|record| record.dataset.clone());
    let (data, parity) =
        relocated::exchange_read_results(context, read, &dataset.unwrap_or_default())?;
    local.own.data_error.keep(data);
    local.own.parity_error.keep(parity);
    Ok(())
}

/// Opens a held part for reading. If that fails, zeros are sent and the error is kept.
fn held_reader<'a>(
    context: &Context<'a>,
    code: &Code,
    verdict: &Verdict,
    (scheme, held_part): (Scheme, &HeldPart),
    member: usize,
) -> PartReader<'a> {
    let mut held_reader = PartReader::default();
    let has = |what| verdict.all.get(member).is_some_and(|s| !s.lacks(what));
    if has(DATA) {
        let list = held_part
            .context(context)
            .paths(&held_part.part.record.files);
        let reader = list.and_then(|list| LogicalReader::new(context.files, list, false));
        held_reader.reader = held_reader.data_error.keep(reader);
    }
    if has(PARITY) {
        let input = relocated::open(context, code, scheme, held_part);
        held_reader.input = held_reader
            .parity_error
            .keep(input.map(ParityReader::trusted));
    }
    held_reader
}

/// Ends the round after the exchange: compares with the checksums, for which it reads what was not read
/// yet, and waits for all writes.
fn verify(
    context: &Context,
    local: MemberIo,
    record: Option<Record>,
    ready: Ready,
) -> (RoundOutput, Findings) {
    let MemberIo {
        own,
        writer,
        output,
        mut relocation,
        mut error,
        ..
    } = local;
    let (mut data_error, mut parity_error) = (own.data_error, own.parity_error);
    if let (Some(reader), Some(sums), false) = (own.reader, ready.sums, data_error.failed()) {
        data_error.keep(reader.verify(sums));
    }
    if let Some(mut input) = own.input.filter(|_| !parity_error.failed()) {
        parity_error.keep(input.verify());
    }
    let moved = (
        local.data_relocated,
        local.parity_relocated.zip(ready.relocated_header),
    );
    let errors = (&mut data_error, &mut parity_error);
    finish_moved(context, moved, &mut relocation, errors);
    let relocation_failed = relocation.failed();
    error.keep(relocation.result(()));
    if let Some(writer) = writer {
        error.keep(writer.finish().and_then(LogicalWriter::finish));
    }
    let output = output.and_then(|output| error.keep(output.finish()));
    let made = RoundOutput {
        record,
        output: output.zip(ready.new_header),
        error,
        relocation_failed,
    };
    let findings = PartHealth {
        data: data_error.result(()),
        parity: parity_error.result(()),
    };
    (made, Some(findings))
}

/// Ends the files that another rank sent. Wrong content counts as a loss that was found; failed writes are
/// errors of the relocation.
fn finish_moved(
    context: &Context,
    (data, parity): (Option<LogicalWriter>, Option<(ParityWriter, ParityHeader)>),
    relocation: &mut FirstError,
    (data_error, parity_error): (&mut FirstError, &mut FirstError),
) {
    if let Some(writer) = data.filter(|_| !data_error.failed() && !relocation.failed()) {
        match writer.finish() {
            wrong @ Err(Error::Corrupt { .. }) => data_error.keep(wrong),
            other => relocation.keep(other),
        };
    }
    let wrong = parity_error.failed() || relocation.failed();
    if let Some((output, header)) = parity.filter(|_| !wrong)
        && parity_error.keep(output.verify(&header)).is_some()
    {
        relocation.keep(output.finish(context.files, header, context.sync));
    }
}

/// Exchanges file lists. Returns the files of the left neighbours on ranks that write a new
/// redundancy file, and `None` on others and after an error. The outer error is a failure of
/// communication.
fn neighbours(
    context: &Context,
    code: &Code,
    verdict: &Verdict,
    record: Option<&Record>,
    local: &mut MemberIo,
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
        .and_then(|m| local.error.keep(m))
        .unwrap_or_default();
    let to = asking.into_iter().map(|rank| (rank, message.clone()));
    let from = set.lefts(if needs(set.index) { keepers } else { 0 });
    let heard = context.send_and_receive(to, from)?;
    if !needs(set.index) {
        return Ok(None);
    }
    let lists = set
        .lefts(keepers)
        .zip(&heard)
        .map(|(rank, m)| parse_file_list(m, rank));
    Ok(local.error.keep(lists.collect()))
}

/// Makes the directories of a rank's files, and a writer for the files.
fn new_files<'a>(context: &Context<'a>, record: &Record) -> Result<LogicalWriter<'a>> {
    let targets = targets(context, record)?;
    for meta in &record.files.files {
        let parent = meta.file.as_path().parent();
        if let Some(parent) = parent.filter(|p| !p.as_os_str().is_empty()) {
            context.files.make_private_dirs(context.data_dir, parent)?;
        }
    }
    Ok(LogicalWriter::new(context.files, targets))
}
