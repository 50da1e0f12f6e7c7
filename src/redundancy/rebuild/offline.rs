//! Rebuilds one set in one process, from files alone, for commands that run outside of a job.
//!
//! Instead of messages, the files of all members are read here. Verdict, routes, reading and
//! writing are the same as in a job's rebuild. Only the exchange is replaced by a loop over pieces
//! of columns.

use super::routes::{ToRebuild, plan_routes, rebuild_tasks};
use super::verdict::Verdict;
use super::*;
use crate::comm::Communicator;
use crate::comm::solo::Solo;
use crate::format::filemap::Reddesc;
use crate::format::{Dataset, read_header};
use crate::redundancy::kernel::Kernel;
use crate::redundancy::logical::{LogicalReader, LogicalWriter};
use crate::redundancy::member_io::{MemberIo, places};
use crate::redundancy::parity_file::header;
use crate::redundancy::pipeline::{self, PieceTask, Route};
use crate::redundancy::single::check_data;
use crate::redundancy::{PartHealth, Set, scheme_of};
use crate::store::Files;
use crate::store::write_behind::WriteBehind;
use std::path::Path;

/// Bytes in the buffers for one piece of a column, for all its blocks together.
const BUFFERS: usize = 8 << 20;

/// Data files open at the same time, of all members together.
const MOST_OPEN: usize = 256;

/// Where the application files of each rank are.
pub trait DataLocation: Sync {
    /// The directory that the names of a rank's files are relative to.
    fn directory(&self, rank: usize) -> PathBuf;

    /// Checks that these names, which are not trusted, lead to files in the directory.
    fn check_names(&self, list: &RankFiles) -> Result<()>;

    /// Makes the directories for these files.
    fn make_dirs(&self, files: &dyn Files, list: &RankFiles) -> Result<()>;

    /// Syncs rebuilt files, if files in this location must survive a power loss.
    fn sync(&self, files: &dyn Files, list: &RankFiles) -> Result<()>;
}

/// Where the files of a dataset are.
#[derive(Clone, Copy)]
pub struct DatasetLocation<'a> {
    /// The file system.
    pub files: &'a dyn Files,
    /// The directory of the redundancy files.
    pub meta_dir: &'a Path,
    /// The location of the application files.
    pub data: &'a dyn DataLocation,
}

/// A set of a dataset, as its records describe it.
#[derive(Debug, Clone, Copy)]
pub struct SetRecord<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// Number of ranks that wrote it.
    pub ranks: usize,
    /// The descriptor of any member.
    pub reddesc: &'a Reddesc,
}

/// What was found of one member.
#[derive(Debug, Clone)]
pub struct Member {
    /// World rank.
    pub rank: usize,
    /// Its record, from any source; `None` if there is none.
    pub record: Option<Record>,
    /// The state of its files, with every byte compared.
    pub health: PartHealth,
}

/// World ranks of a set that lost something.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Losses {
    /// Ranks that lost files.
    pub data: Vec<usize>,
    /// Ranks that lost their redundancy file.
    pub redundancy: Vec<usize>,
}

/// A set that was examined.
pub struct ExaminedSet<'a> {
    location: DatasetLocation<'a>,
    record: SetRecord<'a>,
    scheme: RedundancyScheme,
    code: Option<Code>,
    contexts: Vec<MemberContext>,
    /// The members in set order.
    pub members: Vec<Member>,
}

/// The verdict on a set, and the redundancy files of its members that can be read.
type Judged = (Verdict, Vec<Option<ParityReader>>);

/// What the [`Context`] of one member refers to.
struct MemberContext {
    comm: Solo,
    set: Set,
    data_dir: PathBuf,
}

/// Examines the files of a set, and reads each byte once. `known` gives the file list of a rank's
/// own completion record. If there is none, the list comes from the redundancy file of the rank or
/// of a right neighbour. Local.
///
/// # Errors
/// The scheme is unknown, or the set is invalid. Missing or damaged files are no error here; see
/// [`ExaminedSet::members`].
pub fn examine<'a>(
    location: DatasetLocation<'a>,
    record: SetRecord<'a>,
    known: &dyn Fn(usize) -> Option<RankFiles>,
) -> Result<ExaminedSet<'a>> {
    let SetRecord {
        dataset,
        ranks,
        reddesc,
    } = record;
    let unusable = |what: String| Error::dataset(dataset.id, dataset.name.to_string(), what);
    let unknown = || {
        let name = &reddesc.scheme;
        unusable(format!(
            "its redundancy scheme {name} is not known to this release"
        ))
    };
    let scheme = scheme_of(reddesc).ok_or_else(unknown)?;
    let code = scheme
        .code(reddesc.members.len())
        .map_err(|e| unusable(e.to_string()))?;
    let contexts = reddesc.members.iter().enumerate().map(|(index, &rank)| {
        let set = Set::new(index, reddesc.members.clone());
        let set = set.filter(|_| rank < ranks);
        let set = set.ok_or_else(|| unusable("its redundancy set is damaged".to_string()))?;
        Ok(MemberContext {
            comm: Solo::of_rank(rank, ranks),
            set,
            data_dir: location.data.directory(rank),
        })
    });
    let mut set = ExaminedSet {
        location,
        record,
        scheme,
        code,
        contexts: contexts.collect::<Result<_>>()?,
        members: Vec::new(),
    };
    for index in 0..set.contexts.len() {
        let member = set.examine_member(index, known)?;
        set.members.push(member);
    }
    Ok(set)
}

impl<'a> ExaminedSet<'a> {
    /// The losses. An error, which names dataset, set and ranks, if the scheme does not tolerate
    /// them.
    pub fn verdict(&self) -> Result<Losses> {
        let judged = self.judge()?;
        let lack = |what: u64| {
            let states = judged.iter().flat_map(|(verdict, _)| &verdict.all);
            let lacking = states.zip(&self.members).filter(|(s, _)| s.lacks(what));
            lacking.map(|(_, member)| member.rank).collect()
        };
        Ok(Losses {
            data: lack(DATA),
            redundancy: lack(PARITY),
        })
    }

    /// Rebuilds what is missing, and returns the records of all members. Each file is compared with
    /// its recorded checksum after its last byte was written. With `redundancy`, redundancy files
    /// are rebuilt too and synced; without, they are not changed. The caller must remove the
    /// completion records of ranks without data before, and write them after this. Memory is
    /// bounded for files of any size. Local.
    ///
    /// # Errors
    /// As [`ExaminedSet::verdict`]; then no file is changed. Or a file cannot be read or written;
    /// then the lost files are still lost.
    pub fn rebuild(&self, redundancy: bool) -> Result<Vec<Record>> {
        if let (Some((verdict, inputs)), Some(code)) = (self.judge()?, &self.code) {
            self.restore(code, &verdict, inputs, redundancy)?;
        }
        let records = self.members.iter().map(|m| m.record.clone());
        records
            .collect::<Option<_>>()
            .ok_or_else(|| self.lost("a record is lost".to_string()))
    }

    fn lost(&self, what: String) -> Error {
        let dataset = self.record.dataset;
        Error::dataset(dataset.id, dataset.name.to_string(), what)
    }

    fn context(&self, index: usize) -> Result<Context<'_>> {
        let missing = || Error::format(0, "no such member");
        let member = self.contexts.get(index).ok_or_else(missing)?;
        Ok(Context {
            comm: &member.comm,
            files: self.location.files,
            set: &member.set,
            data_dir: &member.data_dir,
            common: false,
            meta_dir: self.location.meta_dir,
            piece: self.piece(),
            tag: 0,
            holders: &[],
            sync: true,
        })
    }

    /// Bytes of each block in one step.
    fn piece(&self) -> usize {
        let blocks = self.code.as_ref().map_or(1, |c| c.data() + c.parities());
        (BUFFERS / blocks.max(1)).clamp(16 << 10, 1 << 20)
    }

    fn redundancy_file(&self, context: &Context) -> PathBuf {
        parity_file::path(context.meta_dir, context.set, self.scheme.scheme())
    }

    fn examine_member(
        &self,
        index: usize,
        known: &dyn Fn(usize) -> Option<RankFiles>,
    ) -> Result<Member> {
        let context = self.context(index)?;
        let rank = context.comm.rank();
        let own = known(rank).and_then(|list| self.record(index, list));
        let record = own.or_else(|| self.record_from_redundancy(index));
        let Some(record) = record else {
            let what = || self.lost(format!("the record of rank {rank} is lost"));
            let health = PartHealth {
                data: Err(what()),
                parity: Err(what()),
            };
            return Ok(Member {
                rank,
                record: None,
                health,
            });
        };
        let parity = match &self.code {
            Some(code) => {
                let path = self.redundancy_file(&context);
                ParityReader::open(&context, path, &record, code.parities())
                    .and_then(|mut p| p.verify())
            }
            None => Ok(()),
        };
        let health = PartHealth {
            data: check_data(&context, &record, Verification::Full),
            parity,
        };
        Ok(Member {
            rank,
            record: Some(record),
            health,
        })
    }

    /// A file list as a member's record, if its names and sizes are valid.
    fn record(&self, index: usize, list: RankFiles) -> Option<Record> {
        let usable = total_size(list.files.iter().map(|f| f.size)).is_ok()
            && self.location.data.check_names(&list).is_ok();
        let reddesc = self.record.reddesc.of_member(index)?;
        usable.then(|| Record {
            dataset: self.record.dataset.clone(),
            reddesc,
            files: list,
        })
    }

    /// The record of a member that lost its own, from the header of its redundancy file or of a
    /// right neighbour's.
    fn record_from_redundancy(&self, index: usize) -> Option<Record> {
        let code = self.code.as_ref()?;
        let rank = self.contexts.get(index)?.comm.rank();
        (0..=code.parities()).find_map(|steps| {
            let keeper = self.context((index + steps) % code.members()).ok()?;
            let path = self.redundancy_file(&keeper);
            let file = self.location.files.open(&path).ok()?;
            let (header, _): (ParityHeader, u64) = read_header(file.as_ref(), &path).ok()?;
            let fits = header.dataset == *self.record.dataset
                && header.ranks == self.record.ranks
                && header.group.0 == self.record.reddesc.members
                && header.current.rank == keeper.comm.rank();
            let mut lists = std::iter::once(&header.current).chain(header.partners());
            let list = lists.find(|list| list.rank == rank).filter(|_| fits)?;
            self.record(index, list.clone())
        })
    }

    /// `None` for a set without redundancy that lost nothing.
    fn judge(&self) -> Result<Option<Judged>> {
        let Some(code) = &self.code else {
            let mut lost = self.members.iter().filter(|m| m.health.data.is_err());
            return match lost.next() {
                None => Ok(None),
                Some(member) => Err(self.lost(format!(
                    "the files of rank {} are lost or damaged, and SINGLE keeps no redundancy",
                    member.rank
                ))),
            };
        };
        let (mut states, mut inputs) = (Vec::new(), Vec::new());
        for (index, member) in self.members.iter().enumerate() {
            let context = self.context(index)?;
            let path = self.redundancy_file(&context);
            let mut mine = member.record.clone().map(|record| LocalPart {
                record,
                health: member.health.clone(),
                verified: true,
            });
            let (state, parity) = local_state(&context, code, path, mine.as_mut(), None);
            states.push(state);
            inputs.push(match parity {
                Some(Parity::Here(input)) => Some(input.trusted()),
                _ => None,
            });
        }
        let verdict = judge(&self.context(0)?, code, self.scheme.scheme(), states);
        let verdict = verdict.map_err(|what| self.lost(what))?;
        Ok(Some((verdict, inputs)))
    }

    fn restore(
        &self,
        code: &Code,
        verdict: &Verdict,
        inputs: Vec<Option<ParityReader>>,
        redundancy: bool,
    ) -> Result<()> {
        let to_rebuild = match redundancy {
            true => ToRebuild::DataAndRedundancy,
            false => ToRebuild::Data,
        };
        let (columns, routes) = plan_routes(code, &verdict.all, &[], to_rebuild)?;
        let chunk = code.chunk(&verdict.sizes);
        let members = self.members.iter().zip(&verdict.all).zip(inputs);
        let mut locals = Vec::with_capacity(self.members.len());
        let mut headers = Vec::with_capacity(self.members.len());
        for (index, ((member, state), input)) in members.enumerate() {
            let context = self.context(index)?;
            let record = member.record.as_ref();
            let record =
                record.ok_or_else(|| self.lost(format!("no record of rank {}", member.rank)))?;
            let mut local = MemberIo {
                chunk,
                ..MemberIo::default()
            };
            local.own.places = places(code, columns.iter().copied(), index);
            if state.lacks(DATA) {
                let location = &self.location;
                location.data.make_dirs(location.files, &record.files)?;
                let targets = targets(&context, record)?;
                local.writer = Some(WriteBehind::direct(LogicalWriter::new(
                    location.files,
                    targets,
                )));
            } else {
                let most = MOST_OPEN / code.members().max(1);
                let reader =
                    LogicalReader::new(context.files, context.paths(&record.files)?, false)?;
                local.own.reader = Some(reader.with_open(most));
            }
            let mut new_header = None;
            if !state.lacks(PARITY) {
                local.own.input = input;
            } else if redundancy {
                let new = header(&context, record, chunk, self.lefts(code, index)?);
                let path = self.redundancy_file(&context);
                local.output = Some(WriteBehind::direct(ParityWriter::create(
                    context.files,
                    path,
                    &new,
                )?));
                new_header = Some(new);
            }
            locals.push(local);
            headers.push(new_header);
        }
        let piece = self.piece();
        for task in rebuild_tasks(code, &columns, &routes, &verdict.sizes, piece) {
            run_task(&routes, &task, &mut locals)?;
        }
        for (local, new_header) in locals.into_iter().zip(headers) {
            if let Some(writer) = local.writer {
                writer.finish()?.finish()?;
            }
            if let (Some(output), Some(new_header)) = (local.output, new_header) {
                output
                    .finish()?
                    .finish(self.location.files, new_header, true)?;
            }
        }
        Ok(())
    }

    /// The files of a member's left neighbours, for the header of its redundancy file.
    fn lefts(&self, code: &Code, index: usize) -> Result<Vec<RankFiles>> {
        let members = code.members();
        let lefts = (1..=code.parities()).map(|steps| {
            let member = self.members.get((index + members - steps) % members)?;
            member.record.as_ref().map(|record| record.files.clone())
        });
        lefts
            .collect::<Option<_>>()
            .ok_or_else(|| self.lost("a left neighbour's record is lost".to_string()))
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
        pipeline::MemberBlocks::read(local, task.route, task.offset, buffer);
        failure(local)?;
    }
    let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
    let mut slices: Vec<&mut [u8]> = results.iter_mut().map(Vec::as_mut_slice).collect();
    Kernel::best().apply(&route.coefficients, &sources, &mut slices);
    for (member, result) in route.targets.iter().zip(results) {
        let local = locals.get_mut(*member).ok_or_else(missing)?;
        pipeline::MemberBlocks::write(local, task.route, result);
        failure(local)?;
    }
    Ok(())
}

/// The error of a member that could not read or write.
fn failure(local: &mut MemberIo) -> Result<()> {
    let errors = [
        &mut local.error,
        &mut local.own.data_error,
        &mut local.own.parity_error,
    ];
    errors
        .into_iter()
        .try_for_each(|error| std::mem::take(error).result(()))
}
