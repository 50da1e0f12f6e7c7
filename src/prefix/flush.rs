//! Flushes a dataset: copies it to the prefix directory.
//!
//! A kill is harmless at any point because of the order: the index says "not complete" before the
//! first byte is copied, and "complete" after all bytes and records are on stable storage. Once the
//! last record is there, the next reader does the rest; see [`finish`].

use super::containers::{self, Containers, Writer};
use super::directories;
use super::finish;
use super::flush_target::{FlushTarget, with_or_without};
use super::names::{Names, Owners, exchange_names, rank_of};
use super::paths::{Prefix, dir_of_program, seen_by_program};
use super::rank2file;
use crate::comm::{Communicator, Term, collective};
use crate::format::filemap::Filemap;
use crate::format::rank2file::RankEntry;
use crate::format::{Name, RankFiles, from_message, to_message};
use crate::store::Files;
use crate::transfer::Watch;
use crate::transfer::copy::Copier;
use crate::transfer::sync::Unsynced;
use crate::transfer::turns::in_turns;
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// What flush, fetch and deletion work with.
pub struct PrefixAccess<'a> {
    /// All ranks.
    pub comm: &'a dyn Communicator,
    /// The files in cache and prefix directory.
    pub files: &'a dyn Files,
    /// The prefix directory.
    pub prefix: &'a Prefix,
    /// This rank's node.
    pub node: &'a str,
    /// True if this rank acts for its node: one rank of each node does.
    pub first_of_node: bool,
    /// At most so many ranks copy at once (`SCR_FLUSH_WIDTH`, `SCR_FETCH_WIDTH`).
    pub width: usize,
    /// Copy buffer, bytes (`SCR_FILE_BUF_SIZE`).
    pub buffer: usize,
    /// Restore mode and times of copies (`SCR_COPY_METADATA`).
    pub metadata: bool,
    /// Learns how far the copies of this rank have come.
    pub watch: &'a dyn Watch,
    /// A flush calls it when the files are copied, before they are recorded. Local.
    pub before_records: &'a dyn Fn(),
    /// Flush from the cache into containers (`SCR_USE_CONTAINERS`); the same on all ranks.
    pub containers: Option<Containers>,
}

/// Flushes this rank's part of a dataset. `data` is the directory of the rank's files in the cache,
/// or `None` if they are in the prefix directory already (bypass). `checksums`: take checksums of what is
/// copied, and record those that are known. `time` is the time in the index. False if somebody has taken the dataset
/// out of the index meanwhile. Collective; all ranks return the same.
pub fn flush(
    access: &PrefixAccess,
    filemap: &mut Filemap,
    data: Option<&Path>,
    checksums: bool,
    time: &str,
) -> Result<bool> {
    let &PrefixAccess {
        comm,
        files,
        prefix,
        node,
        ..
    } = access;
    let id = filemap.dataset.id;
    let dir = prefix.dataset(id);
    let mut writer = None;
    // In bypass the files are in the prefix directory already.
    if let (Some(_), Some(containers)) = (data, access.containers) {
        let bytes = filemap.files.size().unwrap_or(u64::MAX);
        let begin = containers::place(comm, &containers, bytes)?;
        writer = Some(Writer::new(files, &dir, containers.size, begin));
    }
    let made = match (data, &writer) {
        (Some(_), None) => {
            directories::make(comm, files, prefix.root(), &directories_of(prefix, filemap))?
        }
        _ => Ok(()),
    };
    let announced = made.and_then(|()| {
        collective::if_root(comm, || finish::announce(files, prefix, &filemap.dataset))
    });
    collective::agree(comm, node, announced)?;

    let copied = in_turns(comm, node, access.width, || match data {
        Some(data) => copy_out(access, &mut filemap.files, data, checksums, writer.as_mut()),
        None => {
            sync_in_place(access, &filemap.files)?;
            let entry = rank2file::entry_of(&filemap.files);
            Ok((with_or_without(entry, checksums), Unsynced::Nothing))
        }
    })?;
    // The rank2file certifies the files, so all of them must be on stable storage before.
    let mut unsynced = [Term::Max(
        matches!(copied, Ok((_, Unsynced::FileSystem))).into(),
    )];
    let (entry, _) = collective::agree_with(comm, node, copied, &mut unsynced)?;
    if unsynced[0].value() > 0 {
        let synced = match access.first_of_node {
            true => files.sync_fs(prefix.root()),
            false => Ok(()),
        };
        collective::agree(comm, node, synced)?;
    }
    (access.before_records)();
    let written = rank2file::write(comm, files, &dir, &entry)?;
    collective::agree(comm, node, written)?;

    let mut taken_out = [Term::Max(0)];
    let ended = collective::if_root(comm, || {
        let entered = finish::complete(files, prefix, &filemap.dataset, time)?;
        taken_out[0] = Term::Max((!entered).into());
        Ok(())
    });
    collective::agree_with(comm, node, ended, &mut taken_out)?;
    Ok(taken_out[0].value() == 0)
}

/// Copies this rank's files from its directory `data` in the cache; `writer`: into containers, which are
/// synced. Gives the entry for the rank2file. Local.
fn copy_out(
    access: &PrefixAccess,
    list: &mut RankFiles,
    data: &Path,
    checksums: bool,
    writer: Option<&mut Writer>,
) -> Result<(RankEntry, Unsynced)> {
    let after_piece = |bytes| {
        access.watch.moved(bytes);
        Ok(())
    };
    let sizes = list.files.iter().map(|file| file.size);
    sizes.for_each(|size| access.watch.expect(size));
    let held = access.files.holding(&[data, access.prefix.root()]);
    let files = &*held;
    let mut copier = Copier::new(files, access.buffer).watched(&after_piece);
    let target = FlushTarget {
        files,
        prefix: access.prefix,
        metadata: access.metadata,
        checksums,
        make_dirs: false,
    };
    match writer {
        Some(writer) => {
            let entry = target.pack_rank(&mut copier, list, data, writer)?;
            writer.sync()?;
            Ok((entry, Unsynced::Nothing))
        }
        None => target.copy_rank(&mut copier, list, data),
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
fn directories_of(prefix: &Prefix, filemap: &Filemap) -> BTreeSet<PathBuf> {
    let files = filemap.files.files.iter();
    files
        .filter_map(|file| Some(prefix.absolute(&file.file).ok()?.parent()?.to_path_buf()))
        .collect()
}

/// Finds files that several ranks have registered. Returns for each of `mine` the lowest rank that
/// has it. Each name is sent to the rank that its hash tells, and that rank answers. Collective.
pub fn owners(comm: &dyn Communicator, mine: &[&Path]) -> Result<Vec<usize>> {
    let judges: Vec<usize> = mine.iter().map(|path| rank_of(path, comm.size())).collect();
    let mut asked: BTreeMap<usize, Names> = BTreeMap::new();
    for (judge, path) in judges.iter().zip(mine) {
        let names = &mut asked.entry(*judge).or_default().names;
        names.push(path.as_os_str().into());
    }
    let questions = exchange_names(comm, &asked)?;
    let mut lowest: BTreeMap<&Name, usize> = BTreeMap::new();
    for (rank, Names { names }) in &questions {
        for name in names {
            // Questions come sorted by rank.
            lowest.entry(name).or_insert(*rank);
        }
    }
    let answer = |(rank, Names { names }): &(usize, Names)| {
        let owner = |name| lowest.get(name).copied().unwrap_or(*rank);
        let owners = names.iter().map(owner).collect();
        Ok((*rank, to_message(&Owners { owners })?))
    };
    let answers = questions.iter().map(answer).collect::<Result<_>>()?;
    let mut owners: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
    for (judge, message) in collective::exchange(comm, answers)? {
        let answer: Owners = from_message(&message)?;
        owners.insert(judge, answer.owners.into());
    }
    let mut next = |judge| owners.get_mut(judge)?.pop_front();
    judges
        .iter()
        .map(|judge| {
            next(judge).ok_or_else(|| Error::comm("exchange of file names", "an answer is missing"))
        })
        .collect()
}
