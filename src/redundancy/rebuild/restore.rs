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
use crate::redundancy::{Context, HeldPart, Record};
use crate::store::write_behind::WriteBehind;
use crate::system::thread::Scope;
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
pub(super) fn restore<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    context: &'env Context<'env>,
    code: &Code,
    path: PathBuf,
    verdict: &Verdict,
    have: RoundInput,
    rebuild: bool,
) -> Result<(RoundOutput, Findings)> {
    let me = context.set.index;
    let RoundInput {
        scheme,
        record,
        parity,
        verified,
        held_part,
    } = have;
    let lacks = |what| verdict.all.get(me).is_none_or(|s| s.lacks(what));
    let is_away = context.holder(me) != context.comm.rank();
    let mut local = MemberIo {
        chunk: code.chunk(&verdict.sizes),
        ..MemberIo::default()
    };
    let survivor = record.is_some();
    let record = match record {
        _ if !rebuild => record,
        Some(record) => {
            let header = parity.as_ref().map(Parity::header);
            send_header(context, verdict, header, &mut local.first)?;
            Some(record)
        }
        None => {
            let theirs = receive_header(context, verdict)?;
            local
                .first
                .keep(theirs.and_then(|h| record_from_header(context, verdict, h, local.chunk)))
        }
    };
    let partners = match rebuild {
        true => neighbours(context, code, verdict, record.as_ref(), &mut local)?,
        false => None,
    };
    let mut relocated_header = None;
    match parity.filter(|_| !lacks(PARITY)) {
        Some(Parity::Here(input)) => {
            local.own.input = Some(if verified { input.trusted() } else { input });
        }
        Some(Parity::Away(header)) => {
            let output = ParityWriter::create(context.files, path.clone(), &header);
            local.parity_relocated = local.relocation.keep(output);
            relocated_header = Some(header);
        }
        None => {}
    }
    let mut new_header = None;
    let files = record.iter().flat_map(|record| &record.files.files);
    let sums: Vec<Option<u32>> = files.map(|file| file.crc).collect();
    let mut summed = false;
    if let Some(record) = &record {
        if lacks(DATA) {
            let make = || {
                if !survivor {
                    orphans::remove_files(context, record)?;
                }
                new_files(context, record)
            };
            let writer = rebuild.then(make);
            let writer = writer.and_then(|writer| local.first.keep(writer));
            local.writer = writer.map(|writer| WriteBehind::start(scope, writer));
        } else if is_away {
            let writer = new_files(context, record);
            local.data_relocated = local.relocation.keep(writer);
        } else {
            summed = !verified && sums.iter().any(Option::is_some);
            let list = context.paths(&record.files);
            let reader = list.and_then(|list| LogicalReader::new(context.files, list, summed));
            local.own.reader = local.own.data.keep(reader);
        }
        if let Some(partners) = partners {
            let new = header(context, record, local.chunk, partners);
            let output = ParityWriter::create(context.files, path, &new);
            local.output = local
                .first
                .keep(output.map(|o| WriteBehind::start(scope, o)));
            new_header = Some(new);
        }
    }

    let away = context.relocated_members();
    let to_rebuild = match rebuild {
        true => ToRebuild::DataAndRedundancy,
        false => ToRebuild::Nothing,
    };
    let (columns, routes) = plan_routes(code, &verdict.all, &away, to_rebuild)?;
    let places = |member| places(code, columns.iter().copied(), member);
    local.own.places = places(me);
    if let (Some(part), Some(member)) = (&held_part, relocated::held_member(context)) {
        let reader = held_reader(context, code, verdict, (scheme, part), member);
        let places = places(member);
        local.held = Some(PartReader { places, ..reader });
    }
    let (piece, window) = pipeline::shape(context.piece, code.members());
    let sizes = &verdict.sizes;
    if away.is_empty() {
        let tasks = rebuild_tasks(code, &columns, &routes, sizes, piece);
        pipeline::run(context, &routes, tasks, window, &mut local)?;
    } else {
        let workers = workers(context, &routes);
        let tasks = relocation_tasks(code, &columns, &workers, sizes, piece);
        pipeline::run(context, &routes, tasks, window, &mut local)?;
        let held = local.held.take();
        let read = held.as_ref();
        let read = read.map_or((true, true), |h| (!h.data.failed(), !h.parity.failed()));
        if let (Some(held), Some(part)) = (held, held_part) {
            let errors = [held.data, held.parity].into_iter();
            part.problems
                .extend(errors.filter_map(|error| error.result(()).err()));
        }
        let dataset = record.as_ref().map(|record| record.dataset.clone());
        let (data, parity) =
            relocated::exchange_read_results(context, read, &dataset.unwrap_or_default())?;
        local.own.data.keep(data);
        local.own.parity.keep(parity);
    }
    let sums = summed.then_some(sums);
    let (made, findings) = finish(context, local, record, (new_header, relocated_header), sums);
    Ok((made, findings.filter(|_| survivor)))
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
        held_reader.reader = held_reader.data.keep(reader);
    }
    if has(PARITY) {
        let input = relocated::open(context, code, scheme, held_part);
        held_reader.input = held_reader.parity.keep(input.map(ParityReader::trusted));
    }
    held_reader
}

/// Ends the round after the exchange: compares with the checksums `sums`, if given, for which it
/// reads what was not read yet, and waits for all writes. `relocated_header` is the header of a redundancy
/// file that another rank sent.
fn finish(
    context: &Context,
    local: MemberIo,
    record: Option<Record>,
    (new_header, relocated_header): (Option<ParityHeader>, Option<ParityHeader>),
    sums: Option<Vec<Option<u32>>>,
) -> (RoundOutput, Findings) {
    let MemberIo {
        own,
        writer,
        output,
        data_relocated,
        parity_relocated,
        mut relocation,
        mut first,
        ..
    } = local;
    let (mut data, mut parity) = (own.data, own.parity);
    if let (Some(reader), Some(sums), false) = (own.reader, sums, data.failed()) {
        data.keep(reader.verify(sums));
    }
    if let Some(mut input) = own.input.filter(|_| !parity.failed()) {
        parity.keep(input.verify());
    }
    if let Some(writer) = data_relocated.filter(|_| !data.failed() && !relocation.failed()) {
        match writer.finish() {
            wrong @ Err(Error::Corrupt { .. }) => data.keep(wrong),
            other => relocation.keep(other),
        };
    }
    let wrong = parity.failed() || relocation.failed();
    if let (Some(output), Some(header), false) = (parity_relocated, relocated_header, wrong)
        && parity.keep(output.verify(&header)).is_some()
    {
        relocation.keep(output.finish(context.files, header, context.sync));
    }
    let relocation_failed = relocation.failed();
    first.keep(relocation.result(()));
    if let Some(writer) = writer {
        first.keep(writer.finish().and_then(LogicalWriter::finish));
    }
    let output = output.and_then(|output| first.keep(output.finish()));
    let made = RoundOutput {
        record,
        output: output.zip(new_header),
        first,
        relocation_failed,
    };
    (made, Some((data.result(()), parity.result(()))))
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
        .and_then(|m| local.first.keep(m))
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
    Ok(local.first.keep(lists.collect()))
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
