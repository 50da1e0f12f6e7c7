//! Rebuilds the losses of a set: opens and creates the files of all members, computes piece by piece, and
//! gives new redundancy files their names.

use super::ExaminedSet;
use crate::format::files::RankFiles;
use crate::format::parity::ParityHeader;
use crate::redundancy::code::Code;
use crate::redundancy::kernel::Kernel;
use crate::redundancy::logical::{LogicalReader, LogicalWriter};
use crate::redundancy::member_io::{MemberIo, places};
use crate::redundancy::parity_file::{ParityReader, ParityWriter, header};
use crate::redundancy::pipeline::{MemberBlocks, PieceTask, Route};
use crate::redundancy::rebuild::routes::{ToRebuild, plan_routes, rebuild_tasks};
use crate::redundancy::rebuild::verdict::{DATA, PARITY, Verdict};
use crate::redundancy::{Context, RankRecord};
use crate::store::write_behind::WriteBehind;
use crate::{Error, Result};

/// A rebuild of the files that the verdict names.
pub(super) struct Restore<'s> {
    pub set: &'s ExaminedSet<'s>,
    pub code: &'s Code,
    pub verdict: &'s Verdict,
    /// True if redundancy files are also rebuilt.
    pub redundancy: bool,
}

impl<'s> Restore<'s> {
    /// Rebuilds. `inputs` are the redundancy files that are there, by member.
    pub fn run(&self, inputs: Vec<Option<ParityReader<'s>>>) -> Result<()> {
        let (code, verdict) = (self.code, self.verdict);
        let to_rebuild = if self.redundancy {
            ToRebuild::DataAndRedundancy
        } else {
            ToRebuild::Data
        };
        let (columns, routes) = plan_routes(code, &verdict.all, &[], to_rebuild)?;
        let open = |(index, input)| {
            let mut local = self.open(index, input)?;
            local.own.places = places(code, columns.iter().copied(), index);
            let header = self.create_redundancy(index, &mut local)?;
            Ok((local, header))
        };
        let opened = inputs.into_iter().enumerate().map(open);
        let opened: Vec<(MemberIo, Option<ParityHeader>)> = opened.collect::<Result<_>>()?;
        let (mut locals, headers): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        for task in rebuild_tasks(code, &columns, &routes, &verdict.sizes, self.set.piece()) {
            run_task(&routes, &task, &mut locals)?;
        }
        let mut done = locals.into_iter().zip(headers);
        done.try_for_each(|(local, header)| self.finish(local, header))
    }

    fn lacks(&self, index: usize, what: u64) -> bool {
        let state = self.verdict.all.get(index);
        state.is_none_or(|state| state.lacks(what))
    }

    fn record(&self, index: usize) -> Result<&'s RankRecord> {
        let member = self.set.members.get(index);
        let record = member.and_then(|member| member.record.as_ref());
        record.ok_or_else(|| self.set.lost("a record is lost".to_string()))
    }

    /// Opens the files of a member that are there, and creates its data if they are rebuilt.
    fn open(&self, index: usize, input: Option<ParityReader<'s>>) -> Result<MemberIo<'s>> {
        let context = self.set.context(index)?;
        let files = &self.record(index)?.files;
        let mut local = MemberIo {
            chunk: self.code.chunk(&self.verdict.sizes),
            ..MemberIo::default()
        };
        local.own.input = input;
        if self.lacks(index, DATA) {
            self.set.location.data.make_dirs(context.files, files)?;
            let writer = LogicalWriter::new(context.files, context.targets(files)?);
            local.writer = Some(WriteBehind::direct(writer));
        } else {
            let reader = LogicalReader::new(context.files, context.paths(files)?, false)?;
            local.own.reader = Some(reader.with_open(self.set.kept_open().data));
        }
        Ok(local)
    }

    /// Creates the redundancy file of a member, if it is rebuilt. Returns its header.
    fn create_redundancy(
        &self,
        index: usize,
        local: &mut MemberIo,
    ) -> Result<Option<ParityHeader>> {
        if !self.redundancy || !self.lacks(index, PARITY) {
            return Ok(None);
        }
        let context = self.set.context(index)?;
        let lefts = self.lefts(&context)?;
        let new = header(&context, self.record(index)?, local.chunk, lefts);
        let path = self.set.redundancy_file(&context);
        let output = ParityWriter::create(context.files, path, &new)?;
        local.output = Some(WriteBehind::direct(output));
        Ok(Some(new))
    }

    /// The files of a member's left neighbours, for the header of its redundancy file.
    fn lefts(&self, context: &Context) -> Result<Vec<RankFiles>> {
        let indices = context.set.left_indices().take(self.code.parities());
        let lists = indices.map(|index| Ok(self.record(index)?.files.clone()));
        lists.collect()
    }

    /// Ends the files of a member.
    fn finish(&self, local: MemberIo, header: Option<ParityHeader>) -> Result<()> {
        if let Some(writer) = local.writer {
            writer.finish()?.finish()?;
        }
        if let (Some(output), Some(header)) = (local.output, header) {
            let output = output.finish()?;
            output.finish(self.set.location.files, header, true)?;
        }
        Ok(())
    }
}

/// Reads, computes and writes one piece of a column.
fn run_task(routes: &[Route], task: &PieceTask, locals: &mut [MemberIo]) -> Result<()> {
    let missing = || Error::format(0, "no such member");
    let route = routes.get(task.route).ok_or_else(missing)?;
    let mut sources = vec![vec![0; task.length]; route.sources.len()];
    let mut results = vec![vec![0; task.length]; route.targets.len()];
    for (member, buffer) in route.sources.iter().zip(&mut sources) {
        let local = locals.get_mut(*member).ok_or_else(missing)?;
        local.read(task.route, task.offset, buffer);
        failure(local)?;
    }
    let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
    let mut slices: Vec<&mut [u8]> = results.iter_mut().map(Vec::as_mut_slice).collect();
    Kernel::best().apply(&route.coefficients, &sources, &mut slices);
    for (member, result) in route.targets.iter().zip(results) {
        let local = locals.get_mut(*member).ok_or_else(missing)?;
        local.write(task.route, result);
        failure(local)?;
    }
    Ok(())
}

/// The error of a member that could not read or write.
fn failure(local: &mut MemberIo) -> Result<()> {
    let errors = std::mem::take(&mut local.own.errors).health();
    std::mem::take(&mut local.error).result(())?;
    errors.data.and(errors.parity)
}
