//! Writes the tree: leaves with the entries of ranks, then the branches above them. All files are written
//! durably, each replaced in one step. Local.

use super::file_name;
use super::read::{read_leaf, writers_there};
use crate::Result;
use crate::format;
use crate::format::rank2file::{
    BASE, Branch, Leaf, RankEntry, branches, packed_size, starts_group,
};
use crate::store::{Durability, Files};
use crate::transfer::copy::TargetWatch;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Cuts the entries of ranks, which come in ascending order, into leaves.
pub struct LeafCutter {
    /// Number of ranks of the dataset.
    ranks: u64,
    /// False if all entries are in one leaf, of any size.
    split: bool,
    /// Packed bytes of all entries so far.
    bytes: u64,
    /// The entries of the leaf that comes next.
    open: BTreeMap<u64, RankEntry>,
}

impl LeafCutter {
    /// The cutter for a dataset of `ranks` ranks. `split`: a leaf has about a megabyte; else there is one leaf.
    pub fn new(ranks: u64, split: bool) -> Self {
        LeafCutter {
            ranks,
            split,
            bytes: 0,
            open: BTreeMap::new(),
        }
    }

    /// Adds the entry of a rank. Returns the leaf of the entries before this one, if this one begins a
    /// new leaf.
    pub fn add(&mut self, rank: u64, entry: RankEntry) -> Result<Option<Leaf>> {
        let size = packed_size(&entry)?;
        let begins = self.split && starts_group(false, self.bytes, size);
        let leaf = if begins { self.last() } else { None };
        self.bytes = self.bytes.saturating_add(size);
        self.open.insert(rank, entry);
        Ok(leaf)
    }

    /// The leaf of the entries that no leaf has yet, if there are any.
    pub fn last(&mut self) -> Option<Leaf> {
        let entries = std::mem::take(&mut self.open);
        (!entries.is_empty()).then(|| Leaf::new(self.ranks, entries))
    }
}

/// The place to which records of a dataset are written, and the check that they may be written.
#[derive(Clone, Copy)]
pub struct RecordTarget<'a> {
    /// The files in the prefix directory.
    pub files: &'a dyn Files,
    /// The dataset's directory in `.scr`.
    pub dir: &'a Path,
    /// Decides.
    pub targets: &'a dyn TargetWatch,
}

impl<'a> RecordTarget<'a> {
    /// Records that are written in any case.
    pub fn new(files: &'a dyn Files, dir: &'a Path) -> Self {
        let targets = &();
        RecordTarget {
            files,
            dir,
            targets,
        }
    }

    /// Writes the leaf of this number.
    pub fn write_leaf(&self, number: u64, leaf: &Leaf) -> Result<()> {
        self.write(&file_name(0, number), leaf)
    }

    /// Writes the branch of this number; `None` for the top of the tree.
    pub fn write_branch(&self, number: Option<u64>, branch: &Branch) -> Result<()> {
        match number {
            None => self.write(BASE, branch),
            Some(number) => self.write(&file_name(branch.level, number), branch),
        }
    }

    fn write(&self, name: &str, record: &impl Serialize) -> Result<()> {
        let write = |path: &Path| format::write(self.files, path, record, Durability::Synced);
        self.targets.record(&self.dir.join(name), &write)
    }
}

/// Writes the leaves for the entries of a dataset of `ranks` ranks. The entries come in ascending order of their
/// ranks. `number` gives the number of a leaf from its first rank. Gives the numbers of the leaves.
pub fn write_leaves(
    files: &dyn Files,
    dir: &Path,
    ranks: u64,
    entries: impl IntoIterator<Item = (u64, RankEntry)>,
    number: impl Fn(u64) -> u64,
) -> Result<Vec<u64>> {
    let mut cutter = LeafCutter::new(ranks, true);
    let mut numbers = Vec::new();
    let mut write = |leaf: Leaf| {
        let number = leaf.entries.keys().next().map_or(0, |first| number(*first));
        numbers.push(number);
        RecordTarget::new(files, dir).write_leaf(number, &leaf)
    };
    for (rank, entry) in entries {
        cutter.add(rank, entry)?.map_or(Ok(()), &mut write)?;
    }
    cutter.last().map_or(Ok(()), &mut write)?;
    Ok(numbers)
}

/// Writes all levels above the leaves of these numbers, which are ascending; the top comes last.
pub fn write_branches(files: &dyn Files, dir: &Path, ranks: u64, leaves: &[u64]) -> Result<()> {
    let levels = branches(ranks, leaves)?;
    let top = levels.len();
    for (level, branches) in (1..).zip(&levels) {
        for (number, branch) in branches {
            let number = (level < top).then_some(*number);
            RecordTarget::new(files, dir).write_branch(number, branch)?;
        }
    }
    Ok(())
}

/// Writes the whole tree, with one entry for each rank.
pub fn write_all(files: &dyn Files, dir: &Path, entries: Vec<RankEntry>) -> Result<()> {
    let ranks = entries.len() as u64;
    let leaves = write_leaves(files, dir, ranks, (0..).zip(entries), |first| first)?;
    write_branches(files, dir, ranks, &leaves)
}

/// Writes the branches above the leaves that are in `dir`, unless the top of the tree is there.
pub fn complete_branches(files: &dyn Files, dir: &Path) -> Result<()> {
    if files.stat(&dir.join(BASE))?.is_some() {
        return Ok(());
    }
    let leaves = Vec::from_iter(writers_there(files, dir)?);
    let Some(first) = leaves.first() else {
        return Ok(());
    };
    let ranks = read_leaf(files, dir, &file_name(0, *first).as_str().into())?.ranks;
    write_branches(files, dir, ranks, &leaves)
}
