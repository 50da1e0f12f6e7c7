//! Recovers one cached dataset: moves parts to the nodes of their ranks, verifies and rebuilds
//! them.

use super::layout::Layout;
use super::plan::{PartToSend, RecoveryOrder};
use super::{dataset, relocate};
use crate::comm::{Agreement, Communicator, Tag, Term, VerdictExt, collective};
use crate::format;
use crate::format::filemap::Filemap;
use crate::redundancy::{
    self, Context, HeldPart, LocalPart, RebuildOutcome, Record, RedundancyScheme, Set, Verification,
};
use crate::store::{Files, retry};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const REBUILD: Tag = 0x38;

/// What all steps of a recovery use.
pub struct CacheAccess<'a> {
    /// All ranks.
    pub comm: &'a dyn Communicator,
    /// The cache's files.
    pub files: &'a dyn Files,
    /// The store of the dataset on this rank's node, at the level of this rank's part.
    pub layout: &'a Layout,
    /// This rank's node.
    pub node: &'a str,
    /// The prefix directory of this run.
    pub prefix: &'a Path,
    /// Bytes per message.
    pub piece: usize,
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
}

/// Why a dataset could not be recovered.
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
    let &CacheAccess {
        comm,
        files,
        layout,
        node,
        piece,
        ..
    } = access;
    let mut damage = Vec::new();
    let moved = relocate::move_parts(comm, files, layout, order, piece, &mut damage)?.result();
    let local = rebuild(access, order, moved, &mut damage);

    let beyond = |error: &Error| matches!(error, Error::Dataset { .. } | Error::Corrupt { .. });
    let (restored, encoded) = match &local {
        Ok((_, RebuildOutcome::Restored)) => (1, 0),
        Ok((_, RebuildOutcome::Encoded)) => (0, 1),
        _ => (0, 0),
    };
    let lacks_checksum = |(filemap, _): &(Filemap, RebuildOutcome)| {
        filemap.files.files.iter().any(|file| file.crc.is_none())
    };
    let terms = [
        Term::Sum(restored),
        Term::Sum(encoded),
        Term::Max(i64::from(
            local.as_ref().is_err_and(|e| !beyond(e)) || damage.iter().any(Error::is_transient),
        )),
        Term::Max(i64::from(
            local.as_ref().is_err_and(Error::is_full) || damage.iter().any(Error::is_full),
        )),
        Term::Sum(local.as_ref().is_ok_and(lacks_checksum).into()),
    ];
    let Agreement { verdict, terms } = collective::agree_with(comm, node, local.verdict()?, terms)?;
    let [restored, encoded, passing, full, unverified] = terms;
    match verdict {
        Ok((filemap, _)) => {
            let id = order.dataset.id;
            let sent: Vec<PartToSend> = order.sends.iter().copied().chain(order.holds).collect();
            damage.extend(relocate::discard_sent_parts(files, layout, id, &sent));
            Ok(Ok(Recovered {
                filemap,
                damage,
                restored: restored.count() as usize,
                encoded: encoded.count() as usize,
                unverified: unverified.count() as usize,
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

/// Checks this rank's files, rebuilds with the set, and writes the record if it has changed.
/// Collective over the set.
fn rebuild(
    access: &CacheAccess,
    order: &RecoveryOrder,
    moved: Result<BTreeMap<PathBuf, u32>>,
    damage: &mut Vec<Error>,
) -> Result<(Filemap, RebuildOutcome)> {
    let &CacheAccess {
        comm,
        files,
        layout,
        node,
        prefix,
        piece,
    } = access;
    let (id, rank) = (order.dataset.id, comm.rank());
    let reddesc = &order.reddesc;
    let unusable = |what: &str| Error::dataset(id, order.dataset.name.to_string(), what);
    // These checks depend on the order alone, which agrees within a set: all members return or
    // none.
    let set = Set::new(reddesc.set_rank, reddesc.members.clone())
        .ok_or_else(|| unusable("its redundancy set is damaged"))?;
    let scheme = redundancy::scheme_of(reddesc).ok_or_else(|| {
        unusable(&format!(
            "its redundancy scheme {} is not known to this release",
            reddesc.scheme
        ))
    })?;

    let (moved, ready) = match moved {
        Ok(moved) => (moved, Ok(())),
        Err(error) => (BTreeMap::new(), Err(error)),
    };
    let relocates_in_rebuild = order.relocates_in_rebuild(rank);
    // If another rank holds the part, files here do not count. If nobody has a record, files that
    // are here may still be whole.
    let ready = ready.and_then(|()| match relocates_in_rebuild {
        true => dataset::make_empty_directories(files, layout, id, rank),
        false => dataset::make_directories(files, layout, id, rank),
    });
    let (data_dir, meta_dir) = (layout.data(id, rank), layout.meta(id));
    let context = Context {
        comm,
        files,
        set: &set,
        data_dir: &data_dir,
        common: layout.is_common(),
        meta_dir: &meta_dir,
        piece,
        tag: REBUILD,
        holders: &order.holders,
        sync: true,
    };
    let source = order.source.filter(|_| !relocates_in_rebuild);
    let mut before = None;
    let mut mine = match source.map(|_| read_record(access, order, layout, rank)) {
        Some(Ok(map)) => {
            let record = Record::from(map.clone());
            before = Some(map);
            damage.extend(remove_obstacles(&context, &scheme, &record).err());
            let verification = match order.source {
                Some(from) if from != rank => Verification::Checksums(&moved),
                _ => Verification::SizesOnly,
            };
            Some(LocalPart::new(&scheme, &context, record, verification))
        }
        Some(Err(error)) => {
            damage.push(error);
            None
        }
        None => None,
    };
    let mut held = match order
        .holds
        .map(|sent| held_part(access, order, &scheme, &context, sent))
    {
        Some(Ok(held)) => Some(held),
        Some(Err(error)) => {
            damage.push(error);
            None
        }
        None => None,
    };
    let rebuilt = scheme.rebuild(&context, &mut mine, held.as_mut());
    if let Some(HeldPart { part, problems, .. }) = held {
        damage.extend(part.health.errors());
        damage.extend(problems);
    }
    damage.extend(mine.into_iter().flat_map(|mine| mine.health.errors()));
    // Why files could not be moved here is more useful than the set's error that they are missing.
    // Their holder still has them.
    let rebuilt = rebuilt.verdict()?;
    if let Err(error) = ready {
        // All ranks may report the error of another rank.
        damage.push(error.clone());
        return Err(error);
    }
    let (record, outcome) = rebuilt?;
    let filemap = record.into_filemap(comm.size(), node, Some(prefix.into()));
    // If the files were rebuilt, the record was removed before.
    let there = before.filter(|_| outcome != RebuildOutcome::Restored);
    if there.as_ref() != Some(&filemap)
        && let Err(error) = write_record(access, &filemap)
    {
        // The existing record is as good if only node and prefix directory differ.
        let mut there = there.ok_or_else(|| error.clone())?;
        (there.node, there.prefix) = (filemap.node.clone(), filemap.prefix.clone());
        if there != filemap {
            return Err(error);
        }
        damage.push(error);
    }
    Ok((filemap, outcome))
}

/// Writes this rank's record, and removes anything else at its path.
fn write_record(access: &CacheAccess, filemap: &Filemap) -> Result<()> {
    let CacheAccess { files, layout, .. } = access;
    let id = filemap.dataset.id;
    let path = layout.filemap(id, filemap.rank);
    if let Some(other) = redundancy::find_obstacle(*files, &layout.meta(id), &path)? {
        files.remove_tree(&other)?;
    }
    dataset::write_record(*files, layout, filemap)
}

/// Removes anything but a file from the path of a file, and anything but a directory from the path
/// of a directory, so that the files can be rebuilt. The application wrote regular files, so
/// nothing of it is lost.
fn remove_obstacles(context: &Context, scheme: &RedundancyScheme, record: &Record) -> Result<()> {
    let mut wanted = Vec::new();
    for file in &record.files.files {
        wanted.push((context.data_dir, file.file.below(context.data_dir)?));
    }
    let parity = scheme.redundancy_file(context.meta_dir, context.set);
    wanted.extend(parity.map(|path| (context.meta_dir, path)));
    for (root, path) in wanted {
        if let Some(other) = redundancy::find_obstacle(context.files, root, &path)? {
            context.files.remove_tree(&other)?;
        }
    }
    Ok(())
}

/// The part that this rank holds for another member of its set.
fn held_part(
    access: &CacheAccess,
    order: &RecoveryOrder,
    scheme: &RedundancyScheme,
    context: &Context,
    sent: PartToSend,
) -> Result<HeldPart> {
    let (id, layout) = (order.dataset.id, access.layout.at(sent.level));
    let record = Record::from(read_record(access, order, &layout, sent.rank)?);
    let dirs = (layout.data(id, sent.rank), layout.meta(id));
    HeldPart::new(scheme, context, record, dirs)
}

/// Reads the record of a rank's part in `layout`. It must belong to the dataset and set of the
/// order.
fn read_record(
    access: &CacheAccess,
    order: &RecoveryOrder,
    layout: &Layout,
    rank: usize,
) -> Result<Filemap> {
    let path = layout.filemap(order.dataset.id, rank);
    let map: Filemap = retry(|| format::read(access.files, &path))?;
    let same = map.rank == rank
        && map.dataset.created == order.dataset.created
        && map.reddesc.members == order.reddesc.members;
    if !same {
        return Err(Error::corrupt(
            path,
            "is the record of another dataset or rank",
        ));
    }
    Ok(map)
}

#[cfg(test)]
#[path = "recover_tests.rs"]
mod tests;
