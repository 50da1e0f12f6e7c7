//! The rank2file: which rank wrote which files. It is a tree of small files, so that no rank reads or
//! writes much more than a megabyte of it at once.

use crate::comm::{Communicator, Tag, Term, collective};
use crate::format::rank2file::{
    BASE, Branch, FileEntry, Leaf, Rank2File, RankEntry, branches, leaf_writers, packed_size,
};
use crate::format::{self, Name, RankFiles, from_message, to_message};
use crate::store::{Durability, Files};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const ENTRIES: Tag = 0x20;

/// More levels than any job needs: each branch holds tens of thousands of children.
const MAX_LEVEL: u32 = 16;

/// The leaf of a rank's entry, as rank 0 sends it to the rank.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct LeafShare {
    /// The rank that writes the leaf.
    writer: usize,
    /// One past the last rank of the leaf.
    end: usize,
}

/// The leaves that one rank reads.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct LeafTask {
    leaves: Vec<Name>,
}

/// Writes the tree into `dir`. `mine` are this rank's files by path relative to the prefix.
/// Collective. The outer error is the transport's. The inner result is this rank's; the caller must
/// agree on it.
pub fn write(
    comm: &dyn Communicator,
    files: &dyn Files,
    dir: &Path,
    mine: &RankEntry,
) -> Result<Result<()>> {
    let message = to_message(mine)?;
    let sizes = collective::gather(comm, 0, to_message(&(message.len() as u64))?)?;
    let sizes = sizes.unwrap_or_default();
    let sizes = sizes.iter().map(|size| from_message(size));
    let writer_of = leaf_writers(&sizes.collect::<Result<Vec<u64>>>()?);
    let shares = if comm.rank() == 0 {
        Some(shares(&writer_of)?)
    } else {
        None
    };
    let share: LeafShare = from_message(&collective::scatter(comm, 0, shares)?)?;

    let sent = comm.isend(share.writer, ENTRIES, message)?;
    let mut done = Ok(());
    if share.writer == comm.rank() {
        let mut leaf = Leaf::new(comm.size() as u64, Default::default());
        for rank in share.writer..share.end {
            leaf.entries
                .insert(rank as u64, from_message(&comm.recv(rank, ENTRIES)?)?);
        }
        let path = dir.join(format!("{BASE}.0.{}", share.writer));
        done = format::write(files, &path, &leaf, Durability::Synced);
    }
    sent.wait()?;
    if comm.rank() == 0 {
        done = done.and(write_branches(files, dir, comm.size() as u64, writer_of));
    }
    Ok(done)
}

/// Writes the tree into `dir`, one entry for each rank. Local: for commands.
pub fn write_all(files: &dyn Files, dir: &Path, entries: Vec<RankEntry>) -> Result<()> {
    let sizes = entries.iter().map(packed_size);
    let writer_of = leaf_writers(&sizes.collect::<Result<Vec<_>>>()?);
    let ranks = entries.len() as u64;
    let mut leaves: BTreeMap<usize, Leaf> = BTreeMap::new();
    for ((rank, entry), writer) in (0..).zip(entries).zip(&writer_of) {
        let leaf = leaves
            .entry(*writer)
            .or_insert_with(|| Leaf::new(ranks, Default::default()));
        leaf.entries.insert(rank, entry);
    }
    for (writer, leaf) in &leaves {
        let path = dir.join(format!("{BASE}.0.{writer}"));
        format::write(files, &path, leaf, Durability::Synced)?;
    }
    write_branches(files, dir, ranks, writer_of)
}

/// Writes all levels above the leaves.
fn write_branches(
    files: &dyn Files,
    dir: &Path,
    ranks: u64,
    mut writers: Vec<usize>,
) -> Result<()> {
    writers.dedup();
    let leaves: Vec<u64> = writers.iter().map(|&writer| writer as u64).collect();
    let levels = branches(ranks, &leaves)?;
    let top = levels.len();
    for (level, branches) in (1..).zip(&levels) {
        for (writer, branch) in branches {
            let name = if level == top {
                BASE.to_string()
            } else {
                format!("{BASE}.{level}.{writer}")
            };
            format::write(files, &dir.join(name), branch, Durability::Synced)?;
        }
    }
    Ok(())
}

fn shares(writer_of: &[usize]) -> Result<Vec<Vec<u8>>> {
    let mut end = writer_of.len();
    let mut shares = Vec::with_capacity(writer_of.len());
    for (rank, &writer) in writer_of.iter().enumerate().rev() {
        shares.push(to_message(&LeafShare { writer, end })?);
        if writer == rank {
            end = rank;
        }
    }
    shares.reverse();
    Ok(shares)
}

/// Reads the tree in `dir` and gives every rank its own entry. Collective. The outer error is the
/// transport's. The inner result is this rank's; the caller must agree on it. If a rank cannot read
/// its part of the tree, only that rank has an error. A rank whose entry is missing because of that
/// gets an empty one.
pub fn read(comm: &dyn Communicator, files: &dyn Files, dir: &Path) -> Result<Result<RankEntry>> {
    let mut outgoing = Vec::new();
    let read = for_each_shared(comm, files, dir, |rank, entry| {
        if rank < comm.size() as u64 {
            outgoing.push((rank as usize, to_message(&entry)?));
        }
        Ok(())
    })?;
    let incoming = collective::exchange(comm, outgoing)?;
    let mut unread = [Term::Max(read.is_err().into())];
    comm.allreduce(&mut unread)?;
    let entry = match incoming.as_slice() {
        [(_, message)] => from_message(message),
        [] if unread[0].value() > 0 => Ok(RankEntry::default()),
        [] => Err(bad_entry(dir, comm.rank(), "has no entry")),
        _ => Err(bad_entry(dir, comm.rank(), "has more than one entry")),
    };
    Ok(read.and(entry))
}

/// Calls `each` for every entry of the tree in `dir`. The leaves are divided among the ranks, so each
/// entry is seen by one rank. Collective. The outer error is the transport's; the inner result is
/// this rank's.
pub fn for_each_shared(
    comm: &dyn Communicator,
    files: &dyn Files,
    dir: &Path,
    mut each: impl FnMut(u64, RankEntry) -> Result<()>,
) -> Result<Result<()>> {
    let mut local = Ok(());
    let mut messages = None;
    if comm.rank() == 0 {
        let leaves = leaf_names(files, dir).unwrap_or_else(|error| {
            local = Err(error);
            Vec::new()
        });
        messages = Some(tasks(comm.size(), leaves)?);
    }
    let task: LeafTask = from_message(&collective::scatter(comm, 0, messages)?)?;
    for name in &task.leaves {
        let read = read_leaf(files, dir, name).and_then(|leaf| {
            let mut entries = leaf.entries.into_iter();
            let done = entries.try_for_each(|(rank, entry)| each(rank, entry));
            done.map_err(|e| e.in_file(dir.join(name.as_path())))
        });
        local = local.and(read);
    }
    Ok(local)
}

/// Divides leaves among ranks as far apart as possible. One message for each rank.
fn tasks(ranks: usize, leaves: Vec<String>) -> Result<Vec<Vec<u8>>> {
    let mut tasks: Vec<LeafTask> = Vec::new();
    tasks.resize_with(ranks, LeafTask::default);
    let stride = ranks.div_ceil(leaves.len().max(1)).max(1);
    for (i, leaf) in leaves.into_iter().enumerate() {
        tasks[i * stride % ranks].leaves.push(leaf.as_str().into());
    }
    tasks.iter().map(to_message).collect()
}

fn bad_entry(dir: &Path, rank: usize, what: &str) -> Error {
    Error::corrupt(dir.join(BASE), format!("rank {rank} {what}"))
}

/// How many ranks wrote the dataset. Local.
pub fn ranks(files: &dyn Files, dir: &Path) -> Result<u64> {
    Ok(read_branch(files, &dir.join(BASE))?.ranks)
}

/// Calls `each` for every rank's entry, one leaf at a time. Local: for commands.
pub fn for_each(
    files: &dyn Files,
    dir: &Path,
    mut each: impl FnMut(u64, &RankEntry) -> Result<()>,
) -> Result<()> {
    for name in leaf_names(files, dir)? {
        let path = dir.join(&name);
        for (rank, entry) in &read_leaf(files, dir, &name.into())?.entries {
            each(*rank, entry).map_err(|e| e.in_file(&path))?;
        }
    }
    Ok(())
}

pub(super) fn read_leaf(files: &dyn Files, dir: &Path, name: &Name) -> Result<Leaf> {
    let path = name.below(dir)?;
    match Rank2File::from_tree(&format::read_tree(files, &path)?) {
        Ok(Rank2File::Leaf(leaf)) => Ok(leaf),
        Ok(Rank2File::Branch(_)) => Err(Error::corrupt(path, "is a branch where a leaf must be")),
        Err(error) => Err(error.in_file(path)),
    }
}

fn read_branch(files: &dyn Files, path: &Path) -> Result<Branch> {
    match Rank2File::from_tree(&format::read_tree(files, path)?) {
        Ok(Rank2File::Branch(branch)) => Ok(branch),
        Ok(Rank2File::Leaf(_)) => Err(Error::corrupt(path, "is a leaf where a branch must be")),
        Err(error) => Err(error.in_file(path)),
    }
}

/// The file names of all leaves, from the branches above them.
pub(super) fn leaf_names(files: &dyn Files, dir: &Path) -> Result<Vec<String>> {
    let mut leaves = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![(BASE.to_string(), MAX_LEVEL + 1)];
    while let Some((name, above)) = open.pop() {
        let path = dir.join(name);
        let branch = read_branch(files, &path)?;
        if branch.level == 0 || branch.level >= above {
            return Err(Error::corrupt(
                path,
                format!("has level {} below level {above}", branch.level),
            ));
        }
        for child in branch.children.values() {
            let (file, level) = child.file(branch.level).map_err(|e| e.in_file(&path))?;
            // If two entries could name one file, a small tree could take for ever to read.
            if !seen.insert(file.clone()) {
                return Err(Error::corrupt(
                    path,
                    format!("names {file}, which another entry names too"),
                ));
            }
            if level == 0 {
                leaves.push(file)
            } else {
                open.push((file, branch.level))
            }
        }
    }
    Ok(leaves)
}

/// The entry of a rank with these files, with the checksums that are known.
pub fn entry_of(list: &RankFiles) -> RankEntry {
    let files = list.files.iter();
    entry(files.map(|file| (file.file.clone(), file.size, file.crc)))
}

/// An entry made of paths with sizes and checksums.
pub fn entry(list: impl IntoIterator<Item = (Name, u64, Option<u32>)>) -> RankEntry {
    let files = list.into_iter().map(|(path, size, crc)| {
        (
            path,
            FileEntry {
                size: Some(size),
                crc,
            },
        )
    });
    RankEntry {
        count: None,
        files: files.collect(),
    }
}
