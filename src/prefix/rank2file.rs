//! The rank2file: which rank wrote which files. It is a tree of small files, so that no rank reads or
//! writes much more than a megabyte of it at once.

use crate::comm::{Communicator, Tag, Term, collective};
use crate::format::rank2file::{
    BASE, Branch, BranchChild, FileEntry, Leaf, Rank2File, RankEntry, branches, fits_in_one,
    leaf_writers, packed_size, starts_group,
};
use crate::format::{self, Name, RankFiles, from_message, to_message};
use crate::store::{Durability, Files};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const ENTRIES: Tag = 0x20;
const BEGINS: Tag = 0x21;

/// More levels than any job needs: each branch holds tens of thousands of children.
const MAX_LEVEL: u32 = 16;

/// Writes the tree into `dir`. `mine` are this rank's files by path relative to the prefix.
/// Collective. The outer error is the transport's. The inner result is this rank's; the caller must
/// agree on it.
///
/// Each rank finds from sums over the ranks before it who writes its entry, so no rank holds more than
/// one file of the tree. The tree is the same with and without checksums, so they may be added later:
/// each file is replaced in one step.
pub fn write(
    comm: &dyn Communicator,
    files: &dyn Files,
    dir: &Path,
    mine: &RankEntry,
) -> Result<Result<()>> {
    let (me, ranks) = (comm.rank(), comm.size() as u64);
    let leaves = find_group(comm, Some(full_size(mine)?))?;
    let mut done = Ok(());
    if let Some(leaf) = gather(comm, &leaves, mine)? {
        done = write_leaf(files, dir, me as u64, &leaf);
    }

    let mut below = leaves;
    for level in 1.. {
        let child = (below.writer == me).then(|| BranchChild::new(level - 1, me as u64));
        let (above, children) = match below.alone {
            // Rank 0 has the only file below.
            true => (below, child.iter().map(|_| 0).collect()),
            false => {
                let size = child.as_ref().map(packed_size).transpose()?;
                let above = find_group(comm, size)?;
                let told = child.iter().map(|_| (above.writer, Vec::new()));
                let children = collective::exchange(comm, told.collect())?;
                let writers = children.iter().map(|(from, _)| *from as u64);
                (above, writers.collect::<Vec<u64>>())
            }
        };
        if !children.is_empty() {
            let name = match above.alone {
                true => BASE.to_string(),
                false => format!("{BASE}.{level}.{me}"),
            };
            let branch = Branch::new(level, ranks, children);
            let written = format::write(files, &dir.join(name), &branch, Durability::Synced);
            done = done.and(written);
        }
        if above.alone {
            break;
        }
        below = above;
    }
    Ok(done)
}

/// Gathers the leaf that this rank writes, if it writes one: like [`write()`], for a tree that is there
/// already. [`write_leaf`] puts the leaf in its place. Collective.
pub fn gather_leaf(comm: &dyn Communicator, mine: &RankEntry) -> Result<Option<Leaf>> {
    let leaves = find_group(comm, Some(full_size(mine)?))?;
    gather(comm, &leaves, mine)
}

/// Writes the leaf of rank `writer`, durably. Local.
pub fn write_leaf(files: &dyn Files, dir: &Path, writer: u64, leaf: &Leaf) -> Result<()> {
    let path = dir.join(leaf_name(&writer));
    format::write(files, &path, leaf, Durability::Synced)
}

/// Sends each rank's entry to the rank that writes it, and gives that rank its leaf. Collective.
fn gather(comm: &dyn Communicator, leaves: &Group, mine: &RankEntry) -> Result<Option<Leaf>> {
    let me = comm.rank();
    let message = to_message(mine)?;
    let last = match leaves.alone {
        true => me + 1 == comm.size(),
        false => is_last(comm, leaves)?,
    };
    let message = [&[u8::from(last)][..], &message].concat();
    let sent = comm.isend(leaves.writer, ENTRIES, message)?;
    let mut leaf = None;
    if leaves.writer == me {
        let mut gathered = Leaf::new(comm.size() as u64, Default::default());
        for rank in me..comm.size() {
            let received = comm.recv(rank, ENTRIES)?;
            let (last, entry) = received.split_first().unwrap_or((&0, &[]));
            gathered.entries.insert(rank as u64, from_message(entry)?);
            if *last == 1 {
                break;
            }
        }
        leaf = Some(gathered);
    }
    sent.wait()?;
    Ok(leaf)
}

/// The packed size of an entry with the checksums of all its files, bytes.
pub fn full_size(entry: &RankEntry) -> Result<u64> {
    let mut full = entry.clone();
    for file in full.files.values_mut() {
        file.crc.get_or_insert(u32::MAX);
    }
    packed_size(&full)
}

/// The file of the tree into which a rank's part goes.
#[derive(Clone, Copy)]
struct Group {
    /// The rank that writes it. Of a rank that has no part: the one that writes the file of the ranks
    /// before it.
    writer: usize,
    /// True if it is the only file of its level. The same on all ranks.
    alone: bool,
}

/// Finds the file of this rank's part, which has `size` packed bytes; `None` for a rank without one.
/// Rank 0 has one. Collective; the inverse of what [`leaf_writers`] does in one place.
fn find_group(comm: &dyn Communicator, size: Option<u64>) -> Result<Group> {
    let bytes = size.unwrap_or(0) as i64;
    let mut total = [Term::Sum(bytes)];
    comm.allreduce(&mut total)?;
    if fits_in_one(total[0].value() as u64) {
        return Ok(Group {
            writer: 0,
            alone: true,
        });
    }
    let mut begin = [Term::Sum(bytes)];
    collective::exscan(comm, &mut begin)?;
    let (me, begin) = (comm.rank(), begin[0].value() as u64);
    let starts = size.is_some_and(|size| starts_group(me == 0, begin, size));
    let mut before = [Term::Max(if starts { me as i64 } else { 0 })];
    collective::exscan(comm, &mut before)?;
    let writer = match starts {
        true => me,
        false => usize::try_from(before[0].value()).unwrap_or(0),
    };
    Ok(Group {
        writer,
        alone: false,
    })
}

/// True if this rank is the last one whose entry goes into the leaf: each rank tells the one before it
/// whether it begins a leaf. Collective.
fn is_last(comm: &dyn Communicator, leaves: &Group) -> Result<bool> {
    let (me, begins) = (comm.rank(), leaves.writer == comm.rank());
    let sent = match me {
        0 => None,
        _ => Some(comm.isend(me - 1, BEGINS, vec![begins.into()])?),
    };
    let last = match me + 1 < comm.size() {
        true => comm.irecv(me + 1, BEGINS, vec![0])?.wait()? == [1],
        false => true,
    };
    if let Some(sent) = sent {
        sent.wait()?;
    }
    Ok(last)
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
    write_levels(files, dir, &branches(ranks, &leaves)?)
}

fn write_levels(files: &dyn Files, dir: &Path, levels: &[BTreeMap<u64, Branch>]) -> Result<()> {
    let top = levels.len();
    for (level, branches) in (1..).zip(levels) {
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

/// Calls `each` for every entry of the tree in `dir`. Each file of the tree is read by one rank, which
/// its name tells, so each entry is seen by one rank: if there are as many ranks as wrote the tree, by
/// the one that wrote the leaf; else the leaves are spread over all ranks. Collective. The outer error
/// is the transport's; the inner result is this rank's.
pub fn for_each_shared(
    comm: &dyn Communicator,
    files: &dyn Files,
    dir: &Path,
    mut each: impl FnMut(u64, RankEntry) -> Result<()>,
) -> Result<Result<()>> {
    let mut reader = TreeReader::new(files, dir, comm.rank(), comm.size());
    let mut done = Ok(());
    if comm.rank() == 0 {
        done = reader.top();
    }
    loop {
        let mut more = [Term::Max((!reader.outgoing.is_empty()).into())];
        comm.allreduce(&mut more)?;
        if more[0].value() == 0 {
            break;
        }
        let messages = std::mem::take(&mut reader.outgoing).into_iter();
        let messages = messages.map(|(to, task)| Ok((to, to_message(&task)?)));
        for (_, message) in collective::exchange(comm, messages.collect::<Result<_>>()?)? {
            done = done.and(reader.follow(from_message(&message)?));
        }
    }
    for name in &reader.leaves {
        let read = read_leaf(files, dir, name).and_then(|leaf| {
            let mut entries = leaf.entries.into_iter();
            let done = entries.try_for_each(|(rank, entry)| each(rank, entry));
            done.map_err(|e| e.in_file(dir.join(name.as_path())))
        });
        done = done.and(read);
    }
    Ok(done)
}

fn bad_entry(dir: &Path, rank: usize, what: &str) -> Error {
    Error::corrupt(dir.join(BASE), format!("rank {rank} {what}"))
}

/// Removes the tree: first the top, without which nobody reads the rest. Local.
pub fn remove(files: &dyn Files, dir: &Path) -> Result<()> {
    files.remove_file(&dir.join(BASE))?;
    let names = match files.list(dir) {
        Err(error) if error.is_not_found() => return Ok(()),
        names => names?,
    };
    let of_tree = |name: &&std::ffi::OsString| name.to_string_lossy().starts_with(BASE);
    let mut of_tree = names.iter().filter(of_tree);
    of_tree.try_for_each(|name| files.remove_file(&dir.join(name)))
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
        let path = dir.join(name.as_path());
        for (rank, entry) in &read_leaf(files, dir, &name)?.entries {
            each(*rank, entry).map_err(|e| e.in_file(&path))?;
        }
    }
    Ok(())
}

/// The file names of the leaves in `dir`. Without the top of the tree, all leaves that are there, in
/// the order of their writers. Local.
pub fn leaves_there(files: &dyn Files, dir: &Path) -> Result<Vec<Name>> {
    match leaf_names(files, dir) {
        Err(error) if error.is_not_found() => {
            let writers = writers_there(files, dir)?;
            let name = |writer| leaf_name(writer).as_str().into();
            Ok(writers.iter().map(name).collect())
        }
        other => other,
    }
}

/// The writers of the leaves in `dir`, ascending.
fn writers_there(files: &dyn Files, dir: &Path) -> Result<BTreeSet<u64>> {
    let names = match files.list(dir) {
        Err(error) if error.is_not_found() => Vec::new(),
        other => other?,
    };
    let writer = |name: &std::ffi::OsString| {
        let digits = name.to_str()?.strip_prefix(BASE)?.strip_prefix(".0.")?;
        let writer = digits.parse().ok()?;
        (leaf_name(&writer) == name.to_str()?).then_some(writer)
    };
    Ok(names.iter().filter_map(writer).collect())
}

fn leaf_name(writer: &u64) -> String {
    format!("{BASE}.0.{writer}")
}

/// Writes the branches above the leaves in `dir`, unless the top of the tree is there. Local.
pub fn complete_branches(files: &dyn Files, dir: &Path) -> Result<()> {
    if files.stat(&dir.join(BASE))?.is_some() {
        return Ok(());
    }
    let writers = writers_there(files, dir)?;
    let Some(first) = writers.first() else {
        return Ok(());
    };
    let ranks = read_leaf(files, dir, &leaf_name(first).as_str().into())?.ranks;
    write_levels(files, dir, &branches(ranks, &Vec::from_iter(writers))?)
}

/// Reads one leaf. Local.
pub fn read_leaf(files: &dyn Files, dir: &Path, name: &Name) -> Result<Leaf> {
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

/// The file names of all leaves, from the branches above them. Local.
fn leaf_names(files: &dyn Files, dir: &Path) -> Result<Vec<Name>> {
    let mut reader = TreeReader::new(files, dir, 0, 1);
    reader.top()?;
    Ok(reader.leaves)
}

/// Children of one branch that one rank is to read.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct ReadTask {
    /// Number of ranks of the dataset, as the top says.
    ranks: u64,
    /// Name and level of the branch.
    branch: Name,
    level: u32,
    /// The suffixes of the children.
    children: Vec<Name>,
}

/// One rank's part of reading the tree: its branches, and the names of its leaves. Each file has one
/// reader, which its name tells.
struct TreeReader<'a> {
    files: &'a dyn Files,
    dir: &'a Path,
    rank: usize,
    size: usize,
    /// The leaves that this rank is to read.
    leaves: Vec<Name>,
    /// All files that were named to this rank. It is the only reader of each, so this shows every file
    /// that is named twice. If it were read twice, a small tree could take for ever.
    seen: BTreeSet<String>,
    /// Tasks for other ranks.
    outgoing: Vec<(usize, ReadTask)>,
}

impl<'a> TreeReader<'a> {
    fn new(files: &'a dyn Files, dir: &'a Path, rank: usize, size: usize) -> Self {
        TreeReader {
            files,
            dir,
            rank,
            size,
            leaves: Vec::new(),
            seen: BTreeSet::new(),
            outgoing: Vec::new(),
        }
    }

    /// Begins with the top.
    fn top(&mut self) -> Result<()> {
        self.branch(BASE, MAX_LEVEL + 1, None)
    }

    /// Reads a branch, follows this rank's part of its children, and leaves the rest to others. The
    /// branch must be below level `above`. `ranks` as in [`ReadTask`]; `None` for the top.
    fn branch(&mut self, name: &str, above: u32, ranks: Option<u64>) -> Result<()> {
        let path = self.dir.join(name);
        let Branch {
            level,
            ranks: own,
            children,
        } = read_branch(self.files, &path)?;
        if level == 0 || level >= above {
            let what = format!("has level {level} below level {above}");
            return Err(Error::corrupt(path, what));
        }
        let ranks = ranks.unwrap_or(own);
        let mut tasks = BTreeMap::new();
        for child in children.into_values() {
            let file = child.file(level).map_err(|e| e.in_file(&path))?;
            let task = tasks.entry(self.reader(file.writer, ranks));
            let task = task.or_insert_with(|| ReadTask {
                ranks,
                branch: name.into(),
                level,
                children: Vec::new(),
            });
            task.children.push(child.suffix);
        }
        let mine = tasks.remove(&self.rank);
        self.outgoing.extend(tasks);
        mine.map_or(Ok(()), |task| self.follow(task))
    }

    /// The rank that reads what rank `writer` of `ranks` has written: the same one of as many ranks.
    fn reader(&self, writer: u64, ranks: u64) -> usize {
        let spread = u128::from(writer) * self.size as u128 / u128::from(ranks.max(1));
        spread.min(self.size as u128 - 1) as usize
    }

    /// Notes the leaves of a task, and reads its branches. After an error it goes on with the others.
    fn follow(&mut self, task: ReadTask) -> Result<()> {
        let path = self.dir.join(task.branch.as_path());
        let mut done = Ok(());
        for suffix in task.children {
            let child = BranchChild { suffix, offset: 0 };
            let file = child.file(task.level).map_err(|e| e.in_file(&path))?;
            if !self.seen.insert(file.name.clone()) {
                let what = format!("names {}, which another entry names too", file.name);
                return Err(Error::corrupt(path, what));
            }
            if file.level == 0 {
                self.leaves.push(file.name.as_str().into());
            } else {
                done = done.and(self.branch(&file.name, task.level, Some(task.ranks)));
            }
        }
        done
    }
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
                ..FileEntry::default()
            },
        )
    });
    RankEntry {
        count: None,
        files: files.collect(),
    }
}
