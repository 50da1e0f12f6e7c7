//! Flushes a dataset while the program waits: all ranks copy their own files to the prefix directory.
//!
//! A kill is harmless at any point because of the order: the index says "not complete" before the first
//! byte is copied, and "complete" after all bytes and records are on stable storage. Once the last leaf
//! of the rank2file is there, the next reader does the rest; see [`finish`]. The steps are those of a
//! [`part`](super::part), with all ranks in place of one process.

use super::access::{PrefixAccess, first_with};
use super::containers::{ContainerPlace, Writer};
use super::directories;
use super::finish::{self, Entered, Entering, Time};
use super::flush_target::{Checksums, FlushTarget, TargetDirs, with_or_without};
use super::paths::{Prefix, dir_of_program, seen_by_program};
use super::rank2file::{self, RecordTarget};
use crate::Result;
use crate::comm::{Agreed, Local, Term, collective};
use crate::format::rank2file::RankEntry;
use crate::format::{Dataset, RankFiles};
use crate::transfer::copy::{Copier, TargetWatch};
use crate::transfer::sync::Unsynced;
use crate::transfer::turns::in_turns;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The sources and the destinations of a rank's files.
#[derive(Clone, Copy)]
pub enum RankFlush<'a> {
    /// The files are in the prefix directory (bypass), and stay where they are.
    InPlace,
    /// The files are copied from the cache to their paths. [`make_directories`] has made their directories.
    ToPaths(CacheFiles<'a>),
    /// The files are copied from the cache into containers.
    ToContainers(CacheFiles<'a>, ContainerPlace),
}

/// A rank's files in the cache, and how they are copied.
#[derive(Clone, Copy)]
pub struct CacheFiles<'a> {
    /// Their directory.
    pub data: &'a Path,
    /// Asked before each file: the permit of this flush.
    pub targets: &'a dyn TargetWatch,
}

/// Makes the directories of this rank's files in the prefix directory. Collective.
pub fn make_directories(access: &PrefixAccess, list: &RankFiles) -> Result<Local<()>> {
    let dirs = directories_of(access.prefix, list);
    directories::make(access.comm, access.files, access.prefix.root(), &dirs)
}

/// Brings this rank's files to stable storage in the prefix directory, on at most `width` ranks at a time. `checksums`:
/// take checksums of the copied files, add them to `list`, and record the known ones. Gives the entry for the
/// rank2file, and the first rank that has [noted](crate::store::Unkept) something. Collective; all ranks return the
/// same verdict.
pub fn copy_together(
    access: &PrefixAccess,
    id: u64,
    list: &mut RankFiles,
    flush: RankFlush,
    checksums: bool,
) -> Result<(RankEntry, Agreed<i64>)> {
    let &PrefixAccess { comm, node, .. } = access;
    let copied = in_turns(comm, node, access.width, || match flush {
        RankFlush::InPlace => {
            sync_in_place(access, list)?;
            let entry = rank2file::entry_of(list);
            Ok((with_or_without(entry, checksums), Unsynced::Nothing))
        }
        RankFlush::ToPaths(from) => copy_out(access, list, from, checksums, None),
        RankFlush::ToContainers(from, ContainerPlace { size, begin }) => {
            let dir = access.prefix.dataset(id);
            let writer = Writer::new(access.files, &dir, size, begin);
            copy_out(access, list, from, checksums, Some(writer))
        }
    })?
    .result();
    let unsynced = matches!(copied, Ok((_, Unsynced::FileSystem)));
    let unkept = first_with(access.unkept.is_untold(), comm.rank());
    let terms = [Term::Max(unsynced.into()), unkept];
    let agreement = collective::agree_with(comm, node, copied, terms)?;
    let ((entry, _), [unsynced, unkept]) = agreement.all_done()?;
    if unsynced.on_any() {
        let synced = if access.first_of_node {
            access.files.sync_fs(access.prefix.root())
        } else {
            Ok(())
        };
        collective::agree(comm, node, synced)?;
    }
    Ok((entry, unkept))
}

/// Writes the leaves of the rank2file, which certify the files: all of them are on stable storage. Each rank
/// asks `targets` first. Rank 0 gets the numbers of the leaves. Collective; all ranks return the same verdict.
pub fn record_together(
    access: &PrefixAccess,
    id: u64,
    entry: &RankEntry,
    targets: &dyn TargetWatch,
) -> Result<Vec<u64>> {
    let &PrefixAccess {
        comm, files, node, ..
    } = access;
    let dir = access.prefix.dataset(id);
    let target = RecordTarget {
        files,
        dir: &dir,
        targets,
    };
    rank2file::write_leaves_together(comm, &target, entry)?.agree(comm, node)
}

/// Completes a dataset whose leaves were written. False if somebody has taken the dataset out of the index
/// meanwhile. Collective; all ranks return the same.
pub fn complete_together(
    access: &PrefixAccess,
    dataset: &Dataset,
    leaves: &[u64],
    time: Time,
) -> Result<bool> {
    let &PrefixAccess {
        comm,
        files,
        prefix,
        node,
        ..
    } = access;
    let mut taken_out = false;
    let completed = collective::if_root(comm, || {
        let (dir, ranks) = (prefix.dataset(dataset.id), comm.size() as u64);
        rank2file::write_branches(files, &dir, ranks, leaves)?;
        let entered = finish::complete(files, prefix, dataset, Entering::Announced, time)?;
        taken_out = entered == Entered::TakenOut;
        Ok(())
    });
    let agreement = collective::agree_with(comm, node, completed, [Term::Max(taken_out.into())])?;
    let (_, [taken_out]) = agreement.all_done()?;
    Ok(!taken_out.on_any())
}

/// Copies this rank's files out of the cache; with a `writer` into containers, which are synced. Gives the entry for the rank2file. Local.
fn copy_out(
    access: &PrefixAccess,
    list: &mut RankFiles,
    from: CacheFiles,
    checksums: bool,
    writer: Option<Writer>,
) -> Result<(RankEntry, Unsynced)> {
    let after_piece = |bytes| {
        access.watch.moved(bytes);
        Ok(())
    };
    let sizes = list.files.iter().map(|file| file.size);
    sizes.for_each(|size| access.watch.expect(size));
    let CacheFiles { data, targets } = from;
    let held = access.files.holding(&[data, access.prefix.root()]);
    let files = &*held;
    let copier = Copier::new(files, access.buffer).watched(&after_piece);
    let mut copier = copier.deciding(targets);
    let target = FlushTarget {
        files,
        prefix: access.prefix,
        metadata: access.metadata,
        checksums: Checksums::in_a_run(checksums),
        make_dirs: false,
    };
    match writer {
        Some(mut writer) => {
            let entry = target.pack_rank(&mut copier, list, data, &mut writer)?;
            writer.sync()?;
            Ok((entry, Unsynced::Nothing))
        }
        None => {
            let mut dirs = TargetDirs::default();
            let copied = target.copy_rank(&mut copier, list, data, &mut dirs)?;
            dirs.sync(files)?;
            Ok(copied)
        }
    }
}

/// Brings this rank's files in the prefix directory, and their directories, to stable storage. The
/// program may not have synced them. Local.
fn sync_in_place(access: &PrefixAccess, list: &RankFiles) -> Result<()> {
    let &PrefixAccess { files, prefix, .. } = access;
    let mut dirs: BTreeSet<PathBuf> = BTreeSet::new();
    for file in &list.files {
        let path = prefix.absolute(&file.file)?;
        let parent = path.parent().unwrap_or(prefix.root());
        seen_by_program(files, &path, |path| files.open(path)?.sync())?;
        dirs.extend(prefix.dirs_from(parent));
    }
    dirs.iter()
        .try_for_each(|dir| dir_of_program(files, dir, |dir| files.sync_dir(dir)))
}

/// The directories of a rank's files in the prefix directory. An invalid name is an error when the
/// file is copied.
fn directories_of(prefix: &Prefix, list: &RankFiles) -> BTreeSet<PathBuf> {
    let files = list.files.iter();
    files
        .filter_map(|file| Some(prefix.absolute(&file.file).ok()?.parent()?.to_path_buf()))
        .collect()
}
