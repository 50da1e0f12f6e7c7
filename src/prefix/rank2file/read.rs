//! Reads the tree: each rank its own entry, or one process all entries.

use super::file_name;
use crate::comm::{Communicator, Local, Term, collective};
use crate::format::rank2file::{BASE, Branch, BranchChild, Leaf, Rank2File, RankEntry};
use crate::format::{self, Name, from_message, to_message};
use crate::store::Files;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// More levels than any job needs: each branch holds tens of thousands of children.
const MAX_LEVEL: u32 = 16;

/// Reads the tree in `dir` and gives every rank its own entry. Collective. If a rank cannot read its part of the tree,
/// only that rank has an error. A rank whose entry is missing for that reason gets an empty entry.
pub fn read(comm: &dyn Communicator, files: &dyn Files, dir: &Path) -> Result<Local<RankEntry>> {
    let mut outgoing = Vec::new();
    let read = for_each_shared(comm, files, dir, |rank, entry| {
        if rank < comm.size() as u64 {
            outgoing.push((rank as usize, to_message(&entry)?));
        }
        Ok(())
    })?
    .result();
    let incoming = collective::exchange(comm, outgoing)?;
    let [unread] = collective::combine(comm, [Term::Max(read.is_err().into())])?;
    let entry = match incoming.as_slice() {
        [(_, message)] => from_message(message),
        [] if unread.on_any() => Ok(RankEntry::default()),
        [] => Err(bad_entry(dir, comm.rank(), "has no entry")),
        _ => Err(bad_entry(dir, comm.rank(), "has more than one entry")),
    };
    Ok(read.and(entry).into())
}

/// Calls `each` for every entry of the tree in `dir`. The name of each file of the tree tells which
/// rank reads it, so each entry is seen by one rank: if as many ranks read the tree as wrote it, by
/// the rank that wrote the leaf; else the leaves are spread over all ranks. Collective.
pub fn for_each_shared(
    comm: &dyn Communicator,
    files: &dyn Files,
    dir: &Path,
    mut each: impl FnMut(u64, RankEntry) -> Result<()>,
) -> Result<Local<()>> {
    let (mut done, names) = share_leaves(comm, files, dir)?;
    for name in &names {
        let read = read_leaf(files, dir, name).and_then(|leaf| {
            let mut entries = leaf.entries.into_iter();
            let done = entries.try_for_each(|(rank, entry)| each(rank, entry));
            done.map_err(|e| e.in_file(dir.join(name.as_path())))
        });
        done = done.and(read);
    }
    Ok(done.into())
}

/// The names of the leaves that this rank is to read, as far as the branches above them can be read.
/// Collective.
pub(super) fn share_leaves(
    comm: &dyn Communicator,
    files: &dyn Files,
    dir: &Path,
) -> Result<(Result<()>, Vec<Name>)> {
    let mut reader = TreeReader::new(files, dir, comm.rank(), comm.size());
    let mut done = Ok(());
    if comm.rank() == 0 {
        done = reader.top();
    }
    loop {
        let more = [Term::Max((!reader.outgoing.is_empty()).into())];
        let [more] = collective::combine(comm, more)?;
        if !more.on_any() {
            break;
        }
        let messages = std::mem::take(&mut reader.outgoing).into_iter();
        let messages = messages.map(|(to, task)| Ok((to, to_message(&task)?)));
        for (_, message) in collective::exchange(comm, messages.collect::<Result<_>>()?)? {
            done = done.and(reader.follow(from_message(&message)?));
        }
    }
    Ok((done, reader.leaves))
}

fn bad_entry(dir: &Path, rank: usize, what: &str) -> Error {
    Error::corrupt(dir.join(BASE), format!("rank {rank} {what}"))
}

/// Removes the tree, beginning with the top: without it the rest is not read. Local.
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

/// Number of ranks that wrote the dataset. Local.
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

/// The file names of the leaves in `dir`. If the top of the tree is missing: all leaves that are
/// there, in the order of their writers. Local.
pub fn leaves_there(files: &dyn Files, dir: &Path) -> Result<Vec<Name>> {
    match leaf_names(files, dir) {
        Err(error) if error.is_not_found() => {
            let writers = writers_there(files, dir)?;
            let name = |writer: &u64| file_name(0, *writer).as_str().into();
            Ok(writers.iter().map(name).collect())
        }
        other => other,
    }
}

/// The writers of the leaves in `dir`, ascending.
pub(super) fn writers_there(files: &dyn Files, dir: &Path) -> Result<BTreeSet<u64>> {
    let names = match files.list(dir) {
        Err(error) if error.is_not_found() => Vec::new(),
        other => other?,
    };
    let writer = |name: &std::ffi::OsString| {
        let digits = name.to_str()?.strip_prefix(BASE)?.strip_prefix(".0.")?;
        let writer = digits.parse().ok()?;
        (file_name(0, writer) == name.to_str()?).then_some(writer)
    };
    Ok(names.iter().filter_map(writer).collect())
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
/// reader. The name of the file tells which rank is the reader.
struct TreeReader<'a> {
    files: &'a dyn Files,
    dir: &'a Path,
    rank: usize,
    size: usize,
    /// The leaves that this rank is to read.
    leaves: Vec<Name>,
    /// All files that were named to this rank. No other rank reads these files, so this rank notices
    /// every file that is named twice. If such files were read twice, even a small tree could take for
    /// ever.
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

    /// The rank that reads the file that rank `writer` of `ranks` has written: the same rank, if the
    /// number of ranks is the same.
    fn reader(&self, writer: u64, ranks: u64) -> usize {
        let spread = u128::from(writer) * self.size as u128 / u128::from(ranks.max(1));
        spread.min(self.size as u128 - 1) as usize
    }

    /// Notes the leaves of a task, and reads its branches. After an error it goes on with the other
    /// branches.
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
