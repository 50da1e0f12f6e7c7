//! One round of a rebuild: records and lists are exchanged, then blocks, and their content is
//! verified.

use super::lost_records::{receive_header, record_from_header, send_header};
use super::orphans;
use super::routes::{ToRebuild, plan_routes, rebuild_tasks, relocation_tasks, workers};
use super::verdict::{DATA, PARITY, Verdict};
use super::{Findings, Parity, RoundOutput};
use crate::Result;
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::format::to_message;
use crate::redundancy::code::Code;
use crate::redundancy::encode::parse_file_list;
use crate::redundancy::logical::{LogicalReader, LogicalWriter};
use crate::redundancy::member_io::{MemberIo, places};
use crate::redundancy::parity_file::{ParityWriter, header};
use crate::redundancy::{Context, HeldPart, RankRecord, pipeline, relocate};
use crate::store::write_behind::WriteBehind;
use crate::system::thread::Scope;
use std::path::Path;

/// One round of a rebuild on this rank.
pub(super) struct RestoreRound<'r, 'env> {
    pub context: &'env Context<'env>,
    pub code: &'r Code,
    /// The redundancy file.
    pub path: &'r Path,
    pub verdict: &'r Verdict,
    /// True if the content is known to be right.
    pub verified: bool,
    /// False if parts are only moved.
    pub rebuild: bool,
}

/// The values that are known when the files are open and needed to end the round.
#[derive(Default)]
struct Ready {
    /// The header of the redundancy file that is rebuilt.
    new_header: Option<ParityHeader>,
    /// The checksums that files which are read must have; `None` if they are not compared.
    sums: Option<Vec<Option<u32>>>,
}

impl<'env> RestoreRound<'_, 'env> {
    /// Exchanges headers, opens and creates the files, moves the blocks, and verifies the bytes that were
    /// read. `record` and `parity` are this rank's own.
    pub fn run<'scope>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        record: Option<RankRecord>,
        parity: Option<Parity>,
        held: &mut [HeldPart],
    ) -> Result<(RoundOutput, Findings)> {
        let mut local = MemberIo {
            chunk: self.code.chunk(&self.verdict.sizes),
            ..MemberIo::default()
        };
        let survivor = record.is_some();
        let record = self.exchange_headers(record, parity.as_ref(), &mut local)?;
        let partners = self.exchange_lists(record.as_ref(), &mut local)?;
        self.open_parity(parity, &mut local);
        let mut ready = Ready::default();
        if let Some(record) = &record {
            ready.sums = self.open_data(scope, record, survivor, &mut local);
            let create = |partners| self.create_parity(scope, record, partners, &mut local);
            ready.new_header = partners.map(create);
        }
        self.move_blocks(record.as_ref(), held, &mut local)?;
        let (made, findings) = verify(self.context, local, record, ready);
        Ok((made, findings.filter(|_| survivor)))
    }

    fn lacks(&self, member: usize, what: u64) -> bool {
        let state = self.verdict.all.get(member);
        state.is_none_or(|state| state.lacks(what))
    }

    /// Survivors send their headers to the ranks that lost their records, which make new records
    /// from the headers. Returns this rank's record. One round of messages.
    fn exchange_headers(
        &self,
        record: Option<RankRecord>,
        parity: Option<&Parity>,
        local: &mut MemberIo,
    ) -> Result<Option<RankRecord>> {
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

    /// Survivors send their file lists to the ranks that write a new redundancy file. Returns the records
    /// of the left neighbours on such a rank, and `None` on others and after an error. One round of
    /// messages.
    fn exchange_lists(
        &self,
        record: Option<&RankRecord>,
        local: &mut MemberIo,
    ) -> Result<Option<Vec<RankFiles>>> {
        if !self.rebuild {
            return Ok(None);
        }
        let (context, set, parities) = (self.context, self.context.set, self.code.parities());
        let needs = |index: usize| self.lacks(index, PARITY);
        let rights = (1..=parities).map(|steps| (set.index + steps) % set.size());
        let mut asking = rights.filter(|i| needs(*i)).peekable();
        let message = record
            .filter(|_| asking.peek().is_some())
            .map(|record| to_message(&record.files));
        let message = message.and_then(|made| local.error.keep(made));
        let message = message.unwrap_or_default();
        let to = asking.map(|index| (context.member(index), message.clone()));
        let lefts = || set.lefts(if needs(set.index) { parities } else { 0 });
        let heard = context.send_and_receive(to, lefts())?;
        if !needs(set.index) {
            return Ok(None);
        }
        let lists = lefts().zip(&heard);
        let lists = lists.map(|(rank, message)| parse_file_list(message, rank));
        Ok(local.error.keep(lists.collect()))
    }

    /// Opens this rank's redundancy file, or creates the file that another rank sends.
    fn open_parity(&self, parity: Option<Parity>, local: &mut MemberIo) {
        match parity.filter(|_| !self.lacks(self.context.set.index, PARITY)) {
            Some(Parity::Here(input)) if self.verified => {
                local.own.input = Some(input.without_checksums())
            }
            Some(Parity::Here(input)) => local.own.input = Some(input),
            Some(Parity::Relocated(header)) => {
                let path = self.path.to_path_buf();
                local.arriving.create_redundancy(self.context, path, header);
            }
            None => {}
        }
    }

    /// Opens the files that are here, or creates those that are rebuilt or that another rank sends.
    /// Returns the checksums with which this rank's files must be compared.
    fn open_data<'scope>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        record: &RankRecord,
        survivor: bool,
        local: &mut MemberIo<'scope>,
    ) -> Option<Vec<Option<u32>>> {
        let context = self.context;
        if self.lacks(context.set.index, DATA) {
            let make = || {
                if !survivor {
                    orphans::remove_files(context, record)?;
                }
                context.create(&record.files)
            };
            let writer = self.rebuild.then(make);
            let writer = writer.and_then(|writer| local.error.keep(writer));
            local.writer = writer.map(|writer| WriteBehind::start(scope, writer));
            return None;
        }
        if context.holder(context.set.index) != context.comm.rank() {
            local.arriving.create_data(context, &record.files);
            return None;
        }
        let sums: Vec<Option<u32>> = record.files.files.iter().map(|file| file.crc).collect();
        let summed = !self.verified && sums.iter().any(Option::is_some);
        let list = context.paths(&record.files);
        let reader = list.and_then(|list| LogicalReader::new(context.files, list, summed));
        local.own.reader = local.own.errors.data.keep(reader);
        summed.then_some(sums)
    }

    /// Creates the redundancy file that is rebuilt, and returns its header.
    fn create_parity<'scope>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        record: &RankRecord,
        partners: Vec<RankFiles>,
        local: &mut MemberIo<'scope>,
    ) -> ParityHeader {
        let new = header(self.context, record, local.chunk, partners);
        let output = ParityWriter::create(self.context.files, self.path.to_path_buf(), &new);
        let output = output.map(|output| WriteBehind::start(scope, output));
        local.output = local.error.keep(output);
        new
    }

    /// Moves blocks between the members, and computes lost ones on the way.
    fn move_blocks(
        &self,
        record: Option<&RankRecord>,
        held: &mut [HeldPart],
        local: &mut MemberIo<'env>,
    ) -> Result<()> {
        let (context, code, verdict) = (self.context, self.code, self.verdict);
        let relocated = context.relocated_members();
        let to_rebuild = if self.rebuild {
            ToRebuild::DataAndRedundancy
        } else {
            ToRebuild::Nothing
        };
        let (columns, routes) = plan_routes(code, &verdict.all, &relocated, to_rebuild)?;
        let places = |member| places(code, columns.iter().copied(), member);
        local.own.places = places(context.set.index);
        local.held = relocate::open_held(context, held, |member, _| places(member));
        let (piece, window) = pipeline::shape(context.piece, code.members());
        let sizes = &verdict.sizes;
        if relocated.is_empty() {
            let tasks = rebuild_tasks(code, &columns, &routes, sizes, piece);
            return pipeline::run(context, &routes, tasks, window, local);
        }
        let workers = workers(context, &routes);
        let tasks = relocation_tasks(code, &columns, &workers, sizes, piece);
        pipeline::run(context, &routes, tasks, window, local)?;
        let dataset = record.map(|record| record.dataset.clone());
        relocate::exchange_read_errors(context, &dataset.unwrap_or_default(), held, local)
    }
}

/// Ends the round after the exchange: reads the bytes that were not read yet, compares all files with
/// their checksums, and waits for all writes.
fn verify(
    context: &Context,
    local: MemberIo,
    record: Option<RankRecord>,
    ready: Ready,
) -> (RoundOutput, Findings) {
    let MemberIo { own, mut error, .. } = local;
    let mut found = own.errors;
    if let (Some(reader), Some(sums), false) = (own.reader, ready.sums, found.data.failed()) {
        found.data.keep(reader.verify(sums));
    }
    if let Some(mut input) = own.input.filter(|_| !found.parity.failed()) {
        found.parity.keep(input.verify());
    }
    let moved = local.arriving.finish(context, &mut found);
    let relocation_failed = moved.is_err();
    error.keep(moved);
    if let Some(writer) = local.writer {
        error.keep(writer.finish().and_then(LogicalWriter::finish));
    }
    let output = local.output.and_then(|output| error.keep(output.finish()));
    let made = RoundOutput {
        record,
        output: output.zip(ready.new_header),
        error,
        relocation_failed,
    };
    (made, Some(found.health()))
}
