//! Rebuilds one set in one process, from files alone, for commands that run outside of a job.
//!
//! Instead of messages, the files of all members are read here. Verdict, routes, reading and
//! writing are the same as in a job's rebuild. Only the exchange is replaced by a loop over pieces
//! of columns.

mod examine;
mod restore;

pub use self::examine::examine;
use self::restore::Restore;
use super::*;
use crate::comm::solo::Solo;
use crate::format::Dataset;
use crate::format::filemap::Reddesc;
use crate::redundancy::Set;
use crate::redundancy::member_io::KeptOpen;
use crate::store::Files;
use crate::system::limits::share_of_open_files;

/// Bytes in the buffers for one piece of a column, for all its blocks together.
const BUFFERS: usize = 8 << 20;

/// The place of the application files of each rank.
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

/// The place of a dataset's files.
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

/// The state in which one member was found.
#[derive(Debug, Clone)]
pub struct Member {
    /// World rank.
    pub rank: usize,
    /// The record of the member, from any source; `None` without a record in any source.
    pub record: Option<RankRecord>,
    /// The state of the member's files, with every byte compared.
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

/// Files that stay open of all members together, where that many may be open.
const MOST_OPEN: usize = 512;

/// The verdict on a set, and the redundancy files of its members that can be read.
type Judged<'a> = (Verdict, Vec<Option<ParityReader<'a>>>);

/// The values to which the [`Context`] of one member refers.
struct MemberContext {
    comm: Solo,
    set: Set,
    data_dir: PathBuf,
}

impl ExaminedSet<'_> {
    /// The losses. An error, which names dataset, set and ranks, if the scheme does not tolerate
    /// the losses; or the error of a part that could not be read, if it may pass.
    pub fn verdict(&self) -> Result<Losses> {
        let judged = self.verdict_and_inputs()?;
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

    /// Rebuilds missing files, and returns the records of all members. Each file is compared with
    /// its recorded checksum after its last byte was written. With `redundancy`, redundancy files
    /// are rebuilt too and synced; without, they are not changed. The caller must remove the
    /// completion records of ranks without data before, and write them after this. Memory is
    /// bounded for files of any size. Local.
    ///
    /// # Errors
    /// The errors of [`ExaminedSet::verdict`], after which no file is changed. Or a file cannot be read or written;
    /// after that the lost files are still lost.
    pub fn rebuild(&self, redundancy: bool) -> Result<Vec<RankRecord>> {
        if let (Some((verdict, inputs)), Some(code)) = (self.verdict_and_inputs()?, &self.code) {
            let restore = Restore {
                set: self,
                code,
                verdict: &verdict,
                redundancy,
            };
            restore.run(inputs)?;
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
            watch: &(),
        })
    }

    /// Bytes of each block in one step.
    fn piece(&self) -> usize {
        let blocks = self.code.as_ref().map_or(1, |c| c.data() + c.parities());
        (BUFFERS / blocks.max(1)).clamp(16 << 10, 1 << 20)
    }

    /// The files of each member that stay open.
    fn kept_open(&self) -> KeptOpen {
        // SCR reads no other files meanwhile.
        KeptOpen::of(self.members.len(), 2 * share_of_open_files(MOST_OPEN / 2))
    }

    fn redundancy_file(&self, context: &Context) -> PathBuf {
        parity_file::path(context.meta_dir, context.set, self.scheme.scheme())
    }

    /// `None` for a set without redundancy that lost nothing.
    fn verdict_and_inputs(&self) -> Result<Option<Judged<'_>>> {
        let Some(code) = &self.code else {
            let mut lost = self.members.iter().filter(|m| m.health.data.is_err());
            return lost.next().map_or(Ok(None), |member| {
                let lost = self.lost(format!(
                    "the files of rank {} are lost or damaged, and SINGLE keeps no redundancy",
                    member.rank
                ));
                Err(member.health.unread().cloned().unwrap_or(lost))
            });
        };
        let (mut states, mut inputs) = (Vec::new(), Vec::new());
        let mut unread = None;
        let files = (!self.kept_open().redundancy).then_some(self.location.files);
        for (index, member) in self.members.iter().enumerate() {
            let context = self.context(index)?;
            let path = self.redundancy_file(&context);
            let mut mine = member.record.clone().map(|record| LocalPart {
                record,
                health: member.health.clone(),
                verified: true,
            });
            let (state, parity) = local_state(&context, code, &path, &mut mine, None);
            states.push(state);
            let health = mine.as_ref().map_or(&member.health, |mine| &mine.health);
            unread = unread.or_else(|| health.unread().cloned());
            inputs.push(match parity {
                Some(Parity::Here(input)) => Some(input.without_checksums().opened_per_read(files)),
                _ => None,
            });
        }
        let verdict = judge(&self.context(0)?, code, self.scheme.scheme(), states);
        // A part that cannot be read now may be whole.
        let verdict = verdict.map_err(|what| unread.unwrap_or_else(|| self.lost(what)))?;
        Ok(Some((verdict, inputs)))
    }
}
