//! Redundancy schemes: what lets a dataset in cache outlive the loss of a node.
//!
//! A [`RedundancyScheme`] works on one set of ranks at a time ([`sets`]), which exchange messages among
//! themselves only; no communicator is made. [`mod@code`] says which blocks protect which,
//! `encode` and `rebuild` make them, `flow` moves them with several messages under way,
//! [`kernel`] computes, [`logical`] joins a rank's files to one.

pub mod code;
mod encode;
mod erasure;
pub mod kernel;
pub mod logical;
mod member_io;
mod parity_file;
mod pipeline;
mod rebuild;
pub mod sets;
mod single;
mod sums;
pub mod topology;

#[cfg(test)]
mod relocated_tests;
#[cfg(test)]
mod scheme_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod xor_tests;

pub use code::MAX_BLOCKS;
pub use parity_file::{ParityFileName, final_name, temporary_name};
pub use rebuild::offline;
pub use sets::{Set, make_sets, survives};

use crate::comm::{Communicator, Tag};
use crate::format::dataset::Dataset;
use crate::format::filemap::{Filemap, Reddesc};
use crate::format::files::RankFiles;
use crate::store::{FileKind, Files};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A number of tolerated losses that no failure of nodes reaches, as of a dataset in a store that
/// outlives the nodes.
pub const EVERYTHING: usize = u32::MAX as usize;

/// Where a scheme works and with whom.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// All ranks; the members of `set` are ranks of it.
    pub comm: &'a dyn Communicator,
    /// The cache's file system.
    pub files: &'a dyn Files,
    /// The set of this rank.
    pub set: &'a Set,
    /// Existing directory below which the names of this rank's files lie.
    pub data_dir: &'a Path,
    /// Existing directory for the redundancy file.
    pub meta_dir: &'a Path,
    /// Largest message, bytes (`SCR_MPI_BUF_SIZE`), the same on all members. About 4 MiB of
    /// buffers are used, whatever it is, and 6 while parts come home: messages are smaller in
    /// large sets.
    pub piece: usize,
    /// Tag of all messages. Two calls may use one tag, one after the other.
    pub tag: Tag,
    /// For each member the rank that has its part, where that is not the member itself: the
    /// part comes home in [`RedundancyScheme::rebuild`]. Each member holds that of one other at most.
    /// Empty if all have their own.
    pub holders: &'a [usize],
    /// Bring the redundancy file to stable storage (one fsync). Without it the file survives
    /// a killed process, not a power loss.
    pub sync: bool,
}

/// What a rank knows of its part of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The dataset.
    pub dataset: Dataset,
    /// RedundancyScheme and set that protect it.
    pub reddesc: Reddesc,
    /// The files of this rank, in the order in which they are joined.
    pub files: RankFiles,
}

impl From<Filemap> for Record {
    fn from(map: Filemap) -> Self {
        Record {
            dataset: map.dataset,
            reddesc: map.reddesc,
            files: map.files,
        }
    }
}

/// The state of what one rank holds of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartHealth {
    /// Whether all application files are there with their recorded sizes and checksums.
    pub data: Result<()>,
    /// The same of the redundancy file. `Ok` for a scheme that has none.
    pub parity: Result<()>,
}

/// How the content of files is compared with their record.
#[derive(Debug, Clone, Copy)]
pub enum Verification<'a> {
    /// Every byte is read.
    Full,
    /// Not now: only names, sizes and the header of the redundancy file.
    SizesOnly,
    /// By the checksums of whole files, taken while they were written just now.
    Checksums(&'a BTreeMap<PathBuf, u32>),
}

/// What one rank has for a rebuild.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalPart {
    /// Its record.
    pub record: Record,
    /// The state of its files.
    pub health: PartHealth,
    /// Whether `health` tells of their content too, not of [`Verification::SizesOnly`] alone.
    pub verified: bool,
}

impl LocalPart {
    /// What `scheme` finds of a record.
    pub fn new(
        scheme: &dyn RedundancyScheme,
        context: &Context,
        record: Record,
        verification: Verification,
    ) -> LocalPart {
        LocalPart {
            health: scheme.check(context, &record, verification),
            verified: !matches!(verification, Verification::SizesOnly),
            record,
        }
    }
}

/// What a rank has of another member of the set.
pub struct HeldPart<'a> {
    /// The set as that member sees it.
    pub set: &'a Set,
    /// Where its files are.
    pub data_dir: &'a Path,
    /// Where its redundancy file is.
    pub meta_dir: &'a Path,
    /// What is there, by [`Verification::SizesOnly`].
    pub part: LocalPart,
    /// Why not all of it could be read.
    pub problems: Vec<Error>,
}

/// What [`RedundancyScheme::rebuild`] did on this rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RebuildOutcome {
    /// Nothing was missing in the set.
    Intact,
    /// All application files were there; the redundancy of the set was made anew.
    Encoded,
    /// This rank's files were made anew.
    Restored,
    /// Another rank's files were made anew, with this rank's help.
    Helped,
}

/// A way to protect datasets.
pub trait RedundancyScheme: Send + Sync {
    /// The name in configuration and records: `XOR`.
    fn name(&self) -> &'static str;

    /// Members of a set of so many that may be lost, whichever they are.
    fn losses(&self, members: usize) -> usize;

    /// True if a set survives the loss of exactly these members, by their place in it. Some
    /// schemes survive some losses of more members than [`RedundancyScheme::losses`].
    fn recoverable(&self, lost: &[bool]) -> bool;

    /// The redundancy file of a rank in this set, if the scheme makes one.
    fn redundancy_file(&self, meta_dir: &Path, set: &Set) -> Option<PathBuf>;

    /// Makes the redundancy data. Where that means to read the application files, their
    /// checksums go into `record` from the same pass; checksums that are there already must
    /// agree.
    ///
    /// Collective over the members of the set. A rank that fails takes part in all messages
    /// to the end; then every member returns an error that names the cause, and no redundancy
    /// file is valid. Only what fails after that, in the last write, is one rank's own, so a
    /// verdict over all ranks must follow anyway. A failing transport returns at once.
    fn encode(&self, context: &Context, record: &mut Record) -> Result<()>;

    /// Compares what is on disk with `record`, which [`RedundancyScheme::encode`] or
    /// [`RedundancyScheme::rebuild`] gave, reading each byte at most once. MemberIo.
    fn check(&self, context: &Context, record: &Record, verification: Verification) -> PartHealth;

    /// Makes anew what the set lost, full redundancy included, and gives this rank's record.
    ///
    /// `mine` is what this rank has; `None` if it has no record. What is not verified yet is
    /// compared with its checksums in the pass that rebuilds a lost rank, else in one of its
    /// own. What does not agree counts as lost: it is noted in `mine`, and the rebuild
    /// begins again without it.
    ///
    /// What is here of a rank without a record is compared with what a neighbour knows of it,
    /// and is its own again if all of it is right; else it is removed, with the useless record,
    /// right before its files are made anew.
    ///
    /// If the set lost more than the scheme tolerates, every member gets [`Error::Dataset`], and
    /// no file is touched. Other errors are as in
    /// [`RedundancyScheme::encode`]. Files that are made anew are compared with their recorded
    /// checksums.
    ///
    /// A part that another member has ([`Context::holders`]), `held_part` there, comes home in the
    /// same pass, and `mine` tells of it afterwards. The holder keeps what it has.
    ///
    /// Collective over the members of the set.
    fn rebuild(
        &self,
        context: &Context,
        mine: &mut Option<LocalPart>,
        held_part: Option<&mut HeldPart>,
    ) -> Result<(Record, RebuildOutcome)>;
}

/// The scheme of that name, in any case of letters, that tolerates so many losses where it can
/// (the same as one with fewer where the set is too small for them).
pub fn by_name(name: &str, failures: usize) -> Option<Box<dyn RedundancyScheme>> {
    if name.eq_ignore_ascii_case("SINGLE") {
        return Some(Box::new(single::Single));
    }
    let (kind, failures) = (kind(name)?, failures.max(1));
    Some(Box::new(erasure::Erasure { kind, failures }))
}

/// The kind of code of a scheme that has one.
fn kind(name: &str) -> Option<code::CodeKind> {
    match () {
        () if name.eq_ignore_ascii_case("PARTNER") => Some(code::CodeKind::Partner),
        () if name.eq_ignore_ascii_case("XOR") => Some(code::CodeKind::Xor),
        () if name.eq_ignore_ascii_case("RS") => Some(code::CodeKind::Rs),
        () => None,
    }
}

/// The code that a descriptor says; `None` for SINGLE and a set of one.
fn code_of(reddesc: &Reddesc) -> Result<Option<code::Code>> {
    let (name, members) = (reddesc.scheme.as_str(), reddesc.members.len());
    if name.eq_ignore_ascii_case("SINGLE") {
        return Ok(None);
    }
    let what = || format!("its redundancy scheme {name} is not known to this release");
    let kind = kind(name).ok_or_else(|| Error::format(0, what()))?;
    erasure::code(kind, members, reddesc.set_failures.max(1))
}

/// The scheme that a descriptor says; `None` if there is none of its name.
pub fn scheme_of(reddesc: &Reddesc) -> Option<Box<dyn RedundancyScheme>> {
    by_name(&reddesc.scheme, reddesc.set_failures)
}

impl Context<'_> {
    /// Paths and sizes of a rank's files in cache. An error if a name leads elsewhere.
    fn paths(&self, list: &RankFiles) -> Result<Vec<(PathBuf, u64)>> {
        list.files
            .iter()
            .map(|f| Ok((f.file.below(self.data_dir)?, f.size)))
            .collect()
    }

    /// The set, checked against the communicator.
    fn members(&self) -> Result<&[usize]> {
        let members = &self.set.members;
        let size = self.comm.size();
        let fits = members.iter().all(|r| *r < size)
            && members.get(self.set.index) == Some(&self.comm.rank());
        if fits {
            Ok(members)
        } else {
            Err(Error::format(0, "the set does not fit this run"))
        }
    }

    /// World rank of the one that has the part of the member at that place in the set.
    fn holder(&self, index: usize) -> usize {
        let holder = self.holders.get(index).copied();
        holder.unwrap_or_else(|| self.member(index))
    }

    /// The members whose part others have.
    fn relocated_members(&self) -> Vec<usize> {
        let all = 0..self.holders.len();
        all.filter(|index| self.holder(*index) != self.member(*index))
            .collect()
    }

    /// World rank of the member at that place in the set.
    fn member(&self, index: usize) -> usize {
        self.set.members.get(index).copied().unwrap_or(self.set.id)
    }

    /// Sends each message to its rank and receives one from each of the others. One round.
    fn send_and_receive(
        &self,
        to: impl Iterator<Item = (usize, Vec<u8>)>,
        from: impl Iterator<Item = usize>,
    ) -> Result<Vec<Vec<u8>>> {
        let sends: Vec<_> = to
            .map(|(rank, message)| self.comm.isend(rank, self.tag, message))
            .collect::<Result<_>>()?;
        let messages = from
            .map(|rank| self.comm.recv(rank, self.tag))
            .collect::<Result<_>>()?;
        sends
            .into_iter()
            .try_for_each(|send| send.wait().map(drop))?;
        Ok(messages)
    }

    /// Sends `make(steps)` to the member that many steps to the right, and gives what all
    /// members sent to this one, in set order; its own place has `make(0)`. One round.
    fn exchange(&self, make: impl Fn(usize) -> Vec<u8>) -> Result<Vec<Vec<u8>>> {
        let to = (1..self.set.size()).map(|steps| (self.set.right(steps), make(steps)));
        let others = self.set.members.iter().copied();
        let from = others.filter(|rank| *rank != self.comm.rank());
        let mut messages = self.send_and_receive(to, from)?;
        messages.insert(self.set.index.min(messages.len()), make(0));
        Ok(messages)
    }
}

/// What stands where the file `path` below `root`, or a directory on the way to it, belongs, and is
/// none; the outermost. Nothing may be done beyond it: it may be a link.
pub fn find_obstacle(files: &dyn Files, root: &Path, path: &Path) -> Result<Option<PathBuf>> {
    let mut here = root.to_path_buf();
    for component in path.strip_prefix(root).unwrap_or(path).components() {
        here.push(component);
        let kind = match here == path {
            true => FileKind::File,
            false => FileKind::Directory,
        };
        match files.stat(&here)? {
            // What is missing has nothing below it.
            None => break,
            Some(stat) if stat.kind == kind => {}
            Some(_) => return Ok(Some(here)),
        }
    }
    Ok(None)
}

/// What a member says of the turn of a rebuild that is over. The greatest counts.
#[derive(Clone, Copy)]
enum Round {
    /// All is done.
    Last = 0,
    /// There must be another.
    Again = 1,
    /// There must be none: something is not where another would look for it.
    Stop = 2,
}

/// Characters of an error that other ranks are told.
const FAILURE_LIMIT: usize = 600;

/// Keeps the first error of a rank that must go on exchanging messages.
#[derive(Default)]
struct FirstError(Option<Error>);

impl FirstError {
    /// The value, or `None` with the error kept if it is the first.
    fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        result
            .map_err(|e| {
                self.0.get_or_insert(e);
            })
            .ok()
    }

    fn failed(&self) -> bool {
        self.0.is_some()
    }

    /// The failure for others, shortened; empty if there is none.
    fn text(&self, limit: usize) -> String {
        let text = self.0.as_ref().map_or_else(String::new, Error::to_string);
        text.chars().take(limit).collect()
    }

    /// Takes over the failure that `rank` told, if it told one and this is the first.
    fn take_over(&mut self, rank: usize, failure: &[u8], dataset: &Dataset) {
        if !failure.is_empty() {
            let what = format!("rank {rank}: {}", String::from_utf8_lossy(failure));
            let name = dataset.name.to_string();
            self.0
                .get_or_insert_with(|| Error::dataset(dataset.id, name, what));
        }
    }

    /// Tells all members of the set whether this one has failed, and takes over the failure
    /// of another if it has not: afterwards all have failed or none. True if any member asks for
    /// another turn and none says that there must be none. One round. The outer error is the
    /// transport's.
    fn share_with_set(
        &mut self,
        context: &Context,
        dataset: &Dataset,
        turn: Round,
    ) -> Result<bool> {
        let text = self.text(FAILURE_LIMIT).into_bytes();
        let messages = context.exchange(|_| [&[turn as u8], &text[..]].concat())?;
        let mut all = Round::Last as u8;
        for (rank, message) in context.set.members.iter().zip(messages) {
            let (turn, failure) = message.split_first().unwrap_or((&0, &[]));
            all = all.max(*turn);
            if *rank != context.comm.rank() {
                self.take_over(*rank, failure, dataset);
            }
        }
        Ok(all == Round::Again as u8)
    }

    fn result<T>(self, value: T) -> Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
