//! Redundancy schemes, which let a cached dataset survive the loss of a node.
//!
//! A [`RedundancyScheme`] works on one set of ranks ([`sets`]). The members exchange messages among
//! themselves only, without a communicator of their own. [`mod@code`] says which blocks protect
//! which, `encode` and `rebuild` make them, `pipeline` moves them with several messages in
//! progress, [`kernel`] computes, [`logical`] joins a rank's files to one.

pub mod code;
mod encode;
mod fold;
pub mod kernel;
pub mod logical;
mod member_io;
mod parity_file;
mod pipeline;
mod rebuild;
mod relocate;
mod scheme;
pub mod sets;
mod single;
mod sums;
pub mod topology;

#[cfg(test)]
mod proof_tests;
#[cfg(test)]
mod relocated_tests;
#[cfg(test)]
mod scheme_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod xor_tests;

use self::logical::{FileToWrite, LogicalWriter};
use self::scheme::known_scheme;
pub use code::MAX_BLOCKS;
pub use encode::{Encoded, NoteFiles};
pub use parity_file::{ParityFileName, final_name, temporary_name};
pub use rebuild::offline;
pub use relocate::{HeldPart, move_parts};
pub use scheme::{RedundancyScheme, redundancy_file, scheme_and_set, scheme_of};
pub use sets::{Set, survives};

use crate::comm::{Communicator, Tag};
use crate::format::dataset::Dataset;
use crate::format::filemap::{Filemap, Reddesc};
use crate::format::files::{FileMeta, RankFiles};
use crate::format::identity::OwnPrefix;
use crate::store::{FileKind, Files, Watch};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Number of tolerated losses of a dataset that no loss of nodes can destroy, because its store is
/// not in the nodes.
pub const EVERYTHING: usize = u32::MAX as usize;

/// The context in which a scheme works on one rank.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// All ranks; the members of `set` are ranks of it.
    pub comm: &'a dyn Communicator,
    /// The cache's files.
    pub files: &'a dyn Files,
    /// The set of this rank.
    pub set: &'a Set,
    /// Directory of this rank's files, which exists.
    pub data_dir: &'a Path,
    /// True if other ranks also have their files in `data_dir`.
    pub common: bool,
    /// Directory of the redundancy file, which exists.
    pub meta_dir: &'a Path,
    /// Largest message, bytes (`SCR_MPI_BUF_SIZE`), the same on all members. Messages are smaller
    /// in large sets: buffers take about 4 MiB in all, 6 MiB while parts are moved between nodes.
    pub piece: usize,
    /// Tag of all messages. Calls that do not overlap may use the same tag.
    pub tag: Tag,
    /// For each member, the rank that holds its part. [`RedundancyScheme::rebuild`] moves parts
    /// that another rank holds. Each member holds the part of at most one other. Empty if all
    /// members hold their own.
    pub holders: &'a [usize],
    /// Sync the redundancy file. Without it, the file survives a killed process but not a power
    /// loss.
    pub sync: bool,
    /// Learns how far the members have come.
    pub watch: &'a dyn Watch,
}

/// The completion record of one rank's part of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct RankRecord {
    /// The dataset.
    pub dataset: Dataset,
    /// The scheme and the set.
    pub reddesc: Reddesc,
    /// The files of this rank, in the order in which they form the logical file.
    pub files: RankFiles,
}

impl RankRecord {
    /// The completion record of a rank on `node`, in a run of `ranks` ranks.
    pub fn into_filemap(self, ranks: usize, node: &str, prefix: Option<&OwnPrefix>) -> Filemap {
        Filemap {
            rank: self.files.rank,
            ranks,
            node: node.into(),
            prefix: prefix.map(|prefix| prefix.path.clone()),
            prefix_id: prefix.and_then(|prefix| prefix.tag.clone()),
            bypass: false,
            contained: None,
            dataset: self.dataset,
            reddesc: self.reddesc,
            files: self.files,
        }
    }
}

impl From<Filemap> for RankRecord {
    fn from(map: Filemap) -> Self {
        RankRecord {
            dataset: map.dataset,
            reddesc: map.reddesc,
            files: map.files,
        }
    }
}

/// State of one rank's part of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartHealth {
    /// `Ok` if all application files exist with their recorded sizes and checksums.
    pub data: Result<()>,
    /// `Ok` if the redundancy file is valid, or the scheme has none.
    pub parity: Result<()>,
}

impl PartHealth {
    /// The faults of the part.
    pub fn errors(self) -> impl Iterator<Item = Error> {
        [self.data, self.parity].into_iter().filter_map(Result::err)
    }

    /// The error with which a part could not be read, if it may pass: the part may be whole.
    pub fn unread(&self) -> Option<&Error> {
        let errors = [&self.data, &self.parity].map(|part| part.as_ref().err());
        errors
            .into_iter()
            .flatten()
            .find(|error| error.is_transient())
    }
}

/// The way in which the content of files is compared with the record.
#[derive(Debug, Clone, Copy)]
pub enum Verification {
    /// Every byte is read.
    Full,
    /// The content is not read: only names, sizes and the header of the redundancy file.
    SizesOnly,
}

/// A rank's part as a rebuild finds it.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalPart {
    /// The record of the rank.
    pub record: RankRecord,
    /// The state of the rank's files.
    pub health: PartHealth,
    /// True if `health` includes the content, so [`Verification::SizesOnly`] was not used.
    pub verified: bool,
}

impl LocalPart {
    /// Checks the files of `record`. Local.
    pub fn new(
        scheme: &RedundancyScheme,
        context: &Context,
        record: RankRecord,
        verification: Verification,
    ) -> LocalPart {
        LocalPart {
            health: scheme.check(context, &record, verification),
            verified: !matches!(verification, Verification::SizesOnly),
            record,
        }
    }
}

/// The result of [`RedundancyScheme::rebuild`] on this rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RebuildOutcome {
    /// The set was complete.
    Intact,
    /// All application files were there; redundancy of the set was rebuilt.
    Encoded,
    /// This rank's files were rebuilt.
    Restored,
    /// This rank helped to rebuild the files of another.
    Helped,
}

impl<'a> Context<'a> {
    /// Paths and sizes of a rank's files in cache. A name that leads out of the directory is an
    /// error.
    fn paths(&self, list: &RankFiles) -> Result<Vec<(PathBuf, u64)>> {
        list.files
            .iter()
            .map(|f| Ok((f.file.below(self.data_dir)?, f.size)))
            .collect()
    }

    /// The files of a rank, to be written.
    fn targets(&self, list: &RankFiles) -> Result<Vec<FileToWrite>> {
        let target = |meta: &FileMeta| {
            Ok(FileToWrite {
                path: meta.file.below(self.data_dir)?,
                crc: meta.crc,
                stat: meta.stat(),
            })
        };
        list.files.iter().map(target).collect()
    }

    /// Makes the directories of a rank's files, and a writer for the files.
    fn create(&self, list: &RankFiles) -> Result<LogicalWriter<'a>> {
        let targets = self.targets(list)?;
        for meta in &list.files {
            let parent = meta.file.as_path().parent();
            if let Some(parent) = parent.filter(|p| !p.as_os_str().is_empty()) {
                self.files.make_private_dirs(self.data_dir, parent)?;
            }
        }
        Ok(LogicalWriter::new(self.files, targets))
    }

    /// The members of the set, checked against the communicator.
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

    /// World rank of the rank that holds the part of a member.
    fn holder(&self, index: usize) -> usize {
        let holder = self.holders.get(index).copied();
        holder.unwrap_or_else(|| self.member(index))
    }

    /// The members whose parts other ranks hold.
    fn relocated_members(&self) -> Vec<usize> {
        let all = 0..self.holders.len();
        all.filter(|index| self.holder(*index) != self.member(*index))
            .collect()
    }

    /// World rank of a member.
    fn member(&self, index: usize) -> usize {
        self.set.members.get(index).copied().unwrap_or(self.set.id)
    }

    /// Sends each message to its rank, and receives one from each rank in `from`. One round.
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

    /// Sends `make(steps)` to the member that many steps to the right. Returns the values that all
    /// members sent to this one, in set order; its own entry is `make(0)`. One round.
    fn exchange(&self, make: impl Fn(usize) -> Vec<u8>) -> Result<Vec<Vec<u8>>> {
        let to = (1..self.set.size()).map(|steps| (self.set.right(steps), make(steps)));
        let others = self.set.members.iter().copied();
        let from = others.filter(|rank| *rank != self.comm.rank());
        let mut messages = self.send_and_receive(to, from)?;
        messages.insert(self.set.index.min(messages.len()), make(0));
        Ok(messages)
    }
}

/// The first component of `path` below `root` that exists and is not a directory, or, for `path`
/// itself, not a file. The path may be a link, so nothing behind it may be used. `None` without a
/// redundancy file.
pub fn find_obstacle(files: &dyn Files, root: &Path, path: &Path) -> Result<Option<PathBuf>> {
    let mut here = root.to_path_buf();
    for component in path.strip_prefix(root).unwrap_or(path).components() {
        here.push(component);
        let kind = if here == path {
            FileKind::File
        } else {
            FileKind::Directory
        };
        match files.stat(&here)? {
            // Nothing exists below a missing directory.
            None => break,
            Some(stat) if stat.kind == kind => {}
            Some(_) => return Ok(Some(here)),
        }
    }
    Ok(None)
}

/// The word of a member at the end of a round of a rebuild. The greatest value counts.
#[derive(Clone, Copy)]
enum Round {
    /// The rebuild is complete.
    Last = 0,
    /// Another round is needed.
    Again = 1,
    /// No other round is possible: a moved part could not be written.
    Stop = 2,
}

/// Longest error text sent to other ranks, characters.
const FAILURE_LIMIT: usize = 600;

/// Keeps the first error of a rank that must go on exchanging messages.
#[derive(Default)]
struct FirstError(Option<Error>);

impl FirstError {
    /// The value of `result`, or `None`. An error is kept if it is the first.
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

    /// The error for other ranks, shortened; empty without an error.
    fn text(&self, limit: usize) -> String {
        let text = self.0.as_ref().map_or_else(String::new, Error::to_string);
        text.chars().take(limit).collect()
    }

    /// Keeps the error text that `rank` sent, if it sent one and this is the first.
    fn take_over(&mut self, rank: usize, failure: &[u8], dataset: &Dataset) {
        if !failure.is_empty() {
            let what = format!("rank {rank}: {}", String::from_utf8_lossy(failure));
            let name = dataset.name.to_string();
            self.0
                .get_or_insert_with(|| Error::dataset(dataset.id, name, what));
        }
    }

    /// Tells all members whether this one has failed. Afterwards the call has failed on all members
    /// or on none. Returns true if another round is needed and possible. One round of messages. The
    /// outer error is a failure of communication.
    fn share_with_set(
        &mut self,
        context: &Context,
        dataset: &Dataset,
        round: Round,
    ) -> Result<bool> {
        let text = self.text(FAILURE_LIMIT).into_bytes();
        let messages = context.exchange(|_| [&[round as u8], &text[..]].concat())?;
        let mut all = Round::Last as u8;
        for (rank, message) in context.set.members.iter().zip(messages) {
            let (round, failure) = message.split_first().unwrap_or((&0, &[]));
            all = all.max(*round);
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
