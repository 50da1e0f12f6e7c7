//! Recovers one cached dataset: moves parts to the nodes of their ranks, verifies and rebuilds
//! them.

use super::dataset;
use super::layout::Layout;
use super::plan::{PartToSend, RecoveryOrder};
use super::relocate::{self, Peers};
use crate::comm::{Agreement, Communicator, Local, Tag, Term, VerdictExt, collective};
use crate::format::filemap::{Filemap, Reddesc};
use crate::format::files::FileMeta;
use crate::format::identity::OwnPrefix;
use crate::format::{self, Dataset};
use crate::redundancy::{
    self, Context, HeldPart, LocalPart, RankRecord, RebuildOutcome, RedundancyScheme, Verification,
    find_obstacle, redundancy_file, scheme_and_set,
};
use crate::store::{FileStamp, Files, Watch};
use crate::{Error, Result};

const REBUILD: Tag = 0x38;

const FOREIGN: &str = "is the record of another dataset or rank";

/// The dataset, and the parts of the run that all steps of its recovery use.
pub struct CacheAccess<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// All ranks.
    pub comm: &'a dyn Communicator,
    /// The cache's files.
    pub files: &'a dyn Files,
    /// Its store on this rank's node, at the level of this rank's part.
    pub layout: &'a Layout,
    /// This rank's node.
    pub node: &'a str,
    /// The prefix directory of this run.
    pub prefix: &'a OwnPrefix,
    /// Bytes per message.
    pub piece: usize,
    /// Learns how far the rebuild has come.
    pub watch: &'a dyn Watch,
}

/// A dataset that was recovered.
#[derive(Debug)]
pub struct Recovered {
    /// This rank's record.
    pub filemap: Filemap,
    /// Damage that was found on this rank's node.
    pub damage: Vec<Error>,
    /// Number of ranks whose files were rebuilt.
    pub restored: usize,
    /// Number of ranks that had all files but took part in rebuilding redundancy.
    pub encoded: usize,
    /// Number of ranks with files that have no checksum, so that only their sizes were compared.
    pub unverified: usize,
    /// For each file of the record, how it was before its content was compared with its checksum, and found right. `None`
    /// if it was not, or is small. Empty if it is not known of any.
    pub verified: Vec<Option<FileStamp>>,
}

/// The reason why a dataset could not be recovered.
#[derive(Debug)]
pub struct RecoveryFailure {
    /// The error that all ranks agreed on.
    pub error: Error,
    /// Damage that was found on this rank's node.
    pub damage: Vec<Error>,
    /// True if data are lost or damaged beyond repair. False if something else failed, so that a
    /// later attempt may succeed.
    pub beyond_repair: bool,
    /// True if a store had no room.
    pub full: bool,
}

/// Carries out the orders of all ranks for one dataset. Collective. The outer error is a failure of
/// communication; the inner result is the same on all ranks.
pub fn recover_dataset(
    access: &CacheAccess,
    order: &RecoveryOrder,
) -> Result<std::result::Result<Recovered, RecoveryFailure>> {
    let mut recovery = Recovery {
        access,
        order,
        damage: Vec::new(),
        verified: Vec::new(),
    };
    let local = recovery.of_own_part().verdict()?;
    let Recovery {
        mut damage,
        verified,
        ..
    } = recovery;
    let terms = terms(&local, &damage);
    let agreed = collective::agree_with(access.comm, access.node, local, terms)?;
    let Agreement { verdict, terms } = agreed;
    let [restored, encoded, passing, full, unverified] = terms;
    match verdict {
        Ok((filemap, _)) => {
            let (id, sends) = (access.dataset.id, &order.sends);
            let (files, layout) = (access.files, access.layout);
            damage.extend(relocate::discard_sent_parts(files, layout, id, sends));
            Ok(Ok(Recovered {
                filemap,
                damage,
                restored: restored.count() as usize,
                encoded: encoded.count() as usize,
                unverified: unverified.count() as usize,
                verified,
            }))
        }
        Err(error) => Ok(Err(RecoveryFailure {
            error,
            damage,
            beyond_repair: !passing.on_any(),
            full: full.on_any(),
        })),
    }
}

/// The results that ranks sum up and compare: ranks with rebuilt files, ranks that helped with
/// redundancy, whether a later attempt may succeed, whether a store was full, ranks with unverified files.
fn terms(local: &Result<(Filemap, RebuildOutcome)>, damage: &[Error]) -> [Term; 5] {
    let did = |what| matches!(local, Ok((_, outcome)) if *outcome == what);
    let beyond = |error: &Error| matches!(error, Error::Dataset { .. } | Error::Corrupt { .. });
    let may_pass =
        local.as_ref().is_err_and(|e| !beyond(e)) || damage.iter().any(Error::is_transient);
    let full = local.as_ref().is_err_and(Error::is_full) || damage.iter().any(Error::is_full);
    let files = local.as_ref().map_or(&[][..], |(map, _)| &map.files.files);
    [
        Term::Sum(did(RebuildOutcome::Restored).into()),
        Term::Sum(did(RebuildOutcome::Encoded).into()),
        Term::Max(may_pass.into()),
        Term::Max(full.into()),
        Term::Sum(files.iter().any(|file| file.crc.is_none()).into()),
    ]
}

/// The recovery of one dataset on this rank.
struct Recovery<'a> {
    access: &'a CacheAccess<'a>,
    order: &'a RecoveryOrder,
    /// Damage that was found on this rank's node.
    damage: Vec<Error>,
    /// As in [`Recovered`].
    verified: Vec<Option<FileStamp>>,
}

impl Recovery<'_> {
    /// Moves the parts that the rebuild does not move, rebuilds with the set, and writes this rank's record
    /// if it has changed. Collective.
    fn of_own_part(&mut self) -> Result<(Filemap, RebuildOutcome)> {
        let &CacheAccess { layout, .. } = self.access;
        let (id, rank) = (self.access.dataset.id, self.access.comm.rank());
        let peers = Peers::new(self.order, rank)?;
        let context = Context {
            comm: self.access.comm,
            files: self.access.files,
            set: &peers.set,
            data_dir: &layout.data(id, rank),
            common: layout.is_common(),
            meta_dir: &layout.meta(id),
            piece: self.access.piece,
            tag: REBUILD,
            holders: &peers.holders,
            sync: true,
            watch: self.access.watch,
        };
        let moved = self.move_parts(&context)?.result();
        // These checks depend on the order alone, which is equal within a set: all members return,
        // or no member does.
        let (scheme, set) = scheme_and_set(self.access.dataset, &self.order.reddesc)?;
        let context = Context {
            set: &set,
            holders: &self.order.holders,
            ..context
        };
        let (moved, ready) = match moved {
            Ok(moved) => (moved, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let before = self.own_record();
        let stamps = before.as_ref().map(|record| stamps(&context, record));
        let own = before.clone().map(RankRecord::from);
        let own = own.map(|record| self.examine(&scheme, &context, record));
        let mut mine = moved.or(own);
        let mut held = self.held_parts(&context, true);
        let rebuilt = scheme.rebuild(&context, &mut mine, &mut held);
        self.note_damage(held);
        let intact = mine
            .as_ref()
            .is_some_and(|mine| mine.verified && mine.health.data.is_ok());
        let found = mine.into_iter().flat_map(|mine| mine.health.errors());
        self.damage.extend(found);
        // The reason why files could not be moved here is more useful than the set's error that they
        // are missing. Their holder still has them.
        let rebuilt = rebuilt.verdict()?;
        if let Err(error) = ready {
            // All ranks may report the error of another rank.
            self.damage.push(error.clone());
            return Err(error);
        }
        let (record, outcome) = rebuilt?;
        if intact && outcome == RebuildOutcome::Intact {
            self.verified = stamps.unwrap_or_default();
        }
        // A rebuild of the files has already removed the old record, so the record must be written again even if it is the
        // same.
        let before = before.filter(|_| outcome != RebuildOutcome::Restored);
        Ok((self.write_record(record, before)?, outcome))
    }

    /// Makes the directories of this rank, and moves the parts that the rebuild does not move. Returns this
    /// rank's part if it was moved. Collective.
    fn move_parts(&mut self, context: &Context) -> Result<Local<Option<LocalPart>>> {
        let &CacheAccess { files, layout, .. } = self.access;
        let (id, rank) = (self.access.dataset.id, context.comm.rank());
        // If another rank holds the part, files here do not count. Without any record, the files that
        // are here may still be whole.
        let ready = match self.order.source {
            Some(from) if from != rank => {
                dataset::make_empty_directories_of(files, layout, id, rank)
            }
            _ => dataset::make_directories(files, layout, id, rank),
        };
        let mut held = self.held_parts(context, false);
        let moved = redundancy::move_parts(context, &mut held, ready)?;
        self.note_damage(held);
        let moved = moved.result().map(|part| {
            let RankRecord {
                dataset, reddesc, ..
            } = &part.as_ref()?.record;
            if self.belongs(rank, dataset, reddesc) {
                return part;
            }
            let error = Error::corrupt(layout.filemap(id, rank), FOREIGN);
            self.damage.push(error);
            None
        });
        Ok(moved.into())
    }

    /// The record of this rank, if its part is on its node.
    fn own_record(&mut self) -> Option<Filemap> {
        let rank = self.access.comm.rank();
        if self.order.source != Some(rank) {
            return None;
        }
        let map = self.read_record(self.access.layout, rank);
        self.keep(map)
    }

    /// This rank's part, which is on its node. Its content is verified later.
    fn examine(
        &mut self,
        scheme: &RedundancyScheme,
        context: &Context,
        record: RankRecord,
    ) -> LocalPart {
        let removed = remove_obstacles(context, &record);
        self.keep(removed);
        LocalPart::new(scheme, context, record, Verification::SizesOnly)
    }

    /// The parts that this rank sends, `in_rebuild` or before it. A part without a readable record is left
    /// out; its rank has it rebuilt.
    fn held_parts(&mut self, context: &Context, in_rebuild: bool) -> Vec<HeldPart> {
        let (order, id) = (self.order, self.access.dataset.id);
        let sent = order.sends.iter();
        let sent = sent.filter(|sent| order.moves_in_rebuild(sent.rank) == in_rebuild);
        let read = |sent: &PartToSend| {
            let layout = self.access.layout.at(sent.level);
            let record = self.read_record(&layout, sent.rank)?.into();
            HeldPart::new(context, record, layout.data(id, sent.rank), layout.meta(id))
        };
        let parts: Vec<Result<HeldPart>> = sent.map(read).collect();
        let parts = parts.into_iter().filter_map(|part| self.keep(part));
        parts.collect()
    }

    /// Notes the damage of parts that were sent.
    fn note_damage(&mut self, held: Vec<HeldPart>) {
        for HeldPart { part, problems, .. } in held {
            self.damage.extend(part.health.errors());
            self.damage.extend(problems);
        }
    }

    /// Notes an error as damage.
    fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.damage.push(error)).ok()
    }

    /// Reads the record of a rank's part in `layout`.
    fn read_record(&self, layout: &Layout, rank: usize) -> Result<Filemap> {
        let path = layout.filemap(self.access.dataset.id, rank);
        let map: Filemap = format::read(self.access.files, &path)?;
        if map.rank == rank && self.belongs(rank, &map.dataset, &map.reddesc) {
            Ok(map)
        } else {
            Err(Error::corrupt(path, FOREIGN))
        }
    }

    /// True if a record of `rank` belongs to the dataset, and, if that is known, to the set of
    /// the rank.
    fn belongs(&self, rank: usize, dataset: &Dataset, reddesc: &Reddesc) -> bool {
        let members = &self.order.reddesc.members;
        dataset.created == self.access.dataset.created
            && (reddesc.members == *members || !members.contains(&rank))
    }

    /// Writes this rank's record if it differs from the one that is there. Returns it.
    fn write_record(&mut self, record: RankRecord, there: Option<Filemap>) -> Result<Filemap> {
        let &CacheAccess {
            comm, node, prefix, ..
        } = self.access;
        let filemap = record.into_filemap(comm.size(), node, Some(prefix));
        if there.as_ref() == Some(&filemap) {
            return Ok(filemap);
        }
        if let Err(error) = write_record(self.access, &filemap) {
            // The existing record is as good if only node and prefix directory differ.
            let there = there.ok_or_else(|| error.clone())?;
            let there = Filemap {
                node: filemap.node.clone(),
                prefix: filemap.prefix.clone(),
                prefix_id: filemap.prefix_id.clone(),
                ..there
            };
            if there != filemap {
                return Err(error);
            }
            self.damage.push(error);
        }
        Ok(filemap)
    }
}

/// The attributes of the large files of a record that have a checksum, by which it is seen later whether they were changed.
fn stamps(context: &Context, record: &Filemap) -> Vec<Option<FileStamp>> {
    /// It does not matter whether smaller files are read once or twice.
    const LARGE: u64 = 1 << 20;
    let stamp = |file: &FileMeta| {
        file.crc.filter(|_| file.size >= LARGE)?;
        let path = file.file.below(context.data_dir).ok()?;
        let stat = context.files.stat(&path).ok().flatten();
        stat.map(|stat| stat.stamp())
    };
    record.files.files.iter().map(stamp).collect()
}

/// Writes this rank's record, and removes anything else at its path.
fn write_record(access: &CacheAccess, filemap: &Filemap) -> Result<()> {
    let CacheAccess { files, layout, .. } = access;
    let id = filemap.dataset.id;
    let path = layout.filemap(id, filemap.rank);
    if let Some(other) = find_obstacle(*files, &layout.meta(id), &path)? {
        files.remove_tree(&other)?;
    }
    dataset::write_record(*files, layout, filemap)
}

/// Removes anything but a file from the path of a file, and anything but a directory from the path
/// of a directory, so that the files can be rebuilt. The application wrote regular files, so none
/// of them is lost.
fn remove_obstacles(context: &Context, record: &RankRecord) -> Result<()> {
    let mut wanted = Vec::new();
    for file in &record.files.files {
        wanted.push((context.data_dir, file.file.below(context.data_dir)?));
    }
    let parity = redundancy_file(context.meta_dir, &record.reddesc);
    wanted.extend(parity.map(|path| (context.meta_dir, path)));
    for (root, path) in wanted {
        if let Some(other) = find_obstacle(context.files, root, &path)? {
            context.files.remove_tree(&other)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "recover_tests.rs"]
mod tests;
