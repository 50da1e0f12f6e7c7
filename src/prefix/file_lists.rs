//! The files of a dataset by the ranks that wrote them, read when somebody asks: a rank that looks for
//! the files of one old rank reads one leaf of the rank2file.

use super::paths::Prefix;
use super::rank2file::{leaf_names, ranks, read_leaf};
use crate::format::Name;
use crate::format::rank2file::Leaf;
use crate::store::Files;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The lists of one dataset in the prefix directory. Holds the names of the leaves, one leaf, and the
/// list that was asked for last.
pub struct FileLists {
    dir: PathBuf,
    ranks: u64,
    /// By the rank that wrote each.
    leaves: BTreeMap<u64, Name>,
    /// The leaf that was read last.
    leaf: Option<(Name, Leaf)>,
    last: Option<(u64, Vec<PathBuf>)>,
}

impl FileLists {
    /// The lists of dataset `id`. Reads the branches of the rank2file. Local.
    pub fn open(files: &dyn Files, prefix: &Prefix, id: u64) -> Result<Self> {
        let dir = prefix.dataset(id);
        let ranks = ranks(files, &dir)?;
        let mut leaves = BTreeMap::new();
        for name in leaf_names(files, &dir)? {
            let writer = name.rsplit('.').next().and_then(|w| w.parse().ok());
            leaves.insert(writer.unwrap_or(0), Name::from(name.as_str()));
        }
        Ok(FileLists {
            dir,
            ranks,
            leaves,
            leaf: None,
            last: None,
        })
    }

    /// How many ranks wrote the dataset.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// The absolute paths of the files that rank `rank` wrote. Reads one leaf, and only if the files
    /// are not in the one that was read last. Local.
    ///
    /// # Errors
    /// There is no such rank, or its leaf cannot be read.
    pub fn of_rank(&mut self, files: &dyn Files, prefix: &Prefix, rank: u64) -> Result<&[PathBuf]> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != rank) {
            self.last = None;
            let list = self.read(files, prefix, rank)?;
            self.last = Some((rank, list));
        }
        Ok(self.last.as_ref().map_or(&[], |(_, list)| list))
    }

    fn read(&mut self, files: &dyn Files, prefix: &Prefix, rank: u64) -> Result<Vec<PathBuf>> {
        let found = self.find_leaf(files, rank, |leaf| leaf.entries.contains_key(&rank))?;
        let entry = found.and_then(|leaf| leaf.entries.get(&rank));
        let Some(entry) = entry else {
            let what = format!("has no entry of rank {rank}");
            return Err(Error::corrupt(&self.dir, what));
        };
        let names = entry.files.keys();
        let list: Result<_> = names.map(|name| prefix.absolute(name)).collect();
        list.map_err(|e| e.in_file(&self.dir))
    }

    /// True if the dataset has a file of this path, relative to the prefix directory. Reads leaves
    /// until one has it, the last one first. Local.
    pub fn contains(&mut self, files: &dyn Files, relative: &Path) -> Result<bool> {
        let name = Name::from(relative);
        let has = |leaf: &Leaf| leaf.entries.values().any(|e| e.files.contains_key(&name));
        Ok(self.find_leaf(files, 0, has)?.is_some())
    }

    /// The first leaf that is `wanted`: the last one, the one in which rank `near` should be, any other.
    fn find_leaf(
        &mut self,
        files: &dyn Files,
        near: u64,
        wanted: impl Fn(&Leaf) -> bool,
    ) -> Result<Option<&Leaf>> {
        let held = self.leaf.as_ref();
        if !held.is_some_and(|(_, leaf)| wanted(leaf)) {
            let held = held.map(|(name, _)| name.clone());
            // A leaf begins with the rank that wrote it, unless another program made the tree.
            let before = self.leaves.range(..=near).rev();
            let names = before.chain(self.leaves.range(near.saturating_add(1)..));
            let mut others = names
                .map(|(_, name)| name)
                .filter(|n| held.as_ref() != Some(*n));
            loop {
                let Some(name) = others.next() else {
                    return Ok(None);
                };
                let leaf = read_leaf(files, &self.dir, name)?;
                if wanted(&leaf) {
                    self.leaf = Some((name.clone(), leaf));
                    break;
                }
            }
        }
        Ok(self.leaf.as_ref().map(|(_, leaf)| leaf))
    }
}
