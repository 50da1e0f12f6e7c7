//! The files of a dataset by the ranks that wrote them, read when somebody asks: a rank that looks for
//! the files of one old rank reads one leaf of the rank2file.

use super::paths::Prefix;
use super::rank2file::{leaves_there, ranks, read_leaf};
use crate::format::Name;
use crate::format::rank2file::{FileEntry, Leaf};
use crate::store::Files;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The lists of one dataset in the prefix directory. Holds the names of the leaves, one leaf, and the
/// list that was asked for last.
pub struct FileLists {
    dir: PathBuf,
    ranks: u64,
    /// Keyed by the rank that wrote each.
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
        for name in leaves_there(files, &dir)? {
            let writer = name.as_str().and_then(|text| text.rsplit('.').next());
            let writer = writer.and_then(|digits| digits.parse().ok());
            leaves.insert(writer.unwrap_or(0), name);
        }
        Ok(FileLists {
            dir,
            ranks,
            leaves,
            leaf: None,
            last: None,
        })
    }

    /// Number of ranks that wrote the dataset.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// The absolute paths of the files that rank `rank` wrote. Reads one leaf, and only if the files
    /// are not in the one that was read last. Local.
    ///
    /// # Errors
    /// The dataset has no such rank, or its leaf cannot be read.
    pub fn of_rank(&mut self, files: &dyn Files, prefix: &Prefix, rank: u64) -> Result<&[PathBuf]> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != rank) {
            self.last = None;
            let list = self.read(files, prefix, rank)?;
            self.last = Some((rank, list));
        }
        Ok(self.last())
    }

    /// The list that [`FileLists::of_rank`] gave last. Local.
    pub fn last(&self) -> &[PathBuf] {
        self.last.as_ref().map_or(&[], |(_, list)| list)
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

    /// The file of this path, relative to the prefix directory, with the rank that wrote it; `None` if
    /// the dataset has no such file. Reads leaves until one has the file, the last one first. Local.
    pub fn find(
        &mut self,
        files: &dyn Files,
        relative: &Path,
    ) -> Result<Option<(u64, &FileEntry)>> {
        let name = Name::from(relative);
        let has = |leaf: &Leaf| leaf.entries.values().any(|e| e.files.contains_key(&name));
        let leaf = self.find_leaf(files, 0, has)?;
        let mut entries = leaf.into_iter().flat_map(|leaf| &leaf.entries);
        Ok(entries.find_map(|(rank, entry)| Some((*rank, entry.files.get(&name)?))))
    }

    /// The first `wanted` leaf in this order: the leaf that was read last, the leaf in which rank `near`
    /// should be, any other.
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

#[cfg(test)]
mod tests {
    use super::FileLists;
    use crate::format::rank2file::{BASE, Branch, BranchChild, Leaf, RankEntry};
    use crate::format::{self, Name};
    use crate::prefix::paths::Prefix;
    use crate::prefix::rank2file::{entry, write_all};
    use crate::store::Durability;
    use crate::store::posix::Posix;
    use crate::tally::CountingFiles;
    use std::path::Path;

    /// An entry of about 600 kB, so that leaves begin with ranks 0, 1 and 3.
    fn large(rank: u64) -> RankEntry {
        let name = |file| Name::from(format!("{file}/{rank}/{}", "x".repeat(3000)));
        entry((0..200u32).map(|file| (name(file), u64::from(file), None)))
    }

    fn prefix(dir: &Path) -> Prefix {
        let prefix = Prefix::new(dir);
        std::fs::create_dir_all(prefix.dataset(1)).unwrap();
        prefix
    }

    #[test]
    fn one_leaf_is_read_for_the_list_of_a_rank_and_none_for_what_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = prefix(dir.path());
        let entries = (0..4).map(large).collect();
        write_all(&Posix, &prefix.dataset(1), entries).unwrap();
        let files = CountingFiles::new(Posix);
        let tally = files.tally();
        let mut lists = FileLists::open(&files, &prefix, 1).unwrap();
        assert_eq!(lists.ranks(), 4);
        let reads = || tally.take().values().sum::<u64>();
        reads();
        for (rank, leaves) in [(2, 1), (2, 0), (1, 0), (3, 1), (0, 1)] {
            let list = lists.of_rank(&files, &prefix, rank).unwrap();
            let names = large(rank);
            let expected = names
                .files
                .keys()
                .map(|name| prefix.absolute(name).unwrap());
            assert!(list.iter().cloned().eq(expected), "rank {rank}");
            assert_eq!(reads() > 0, leaves > 0, "rank {rank}");
        }
        lists.of_rank(&files, &prefix, 4).unwrap_err();
        // A name is looked for in the leaf that is held, then in all.
        let one = reads();
        assert!(one > 0);
        for (rank, leaves) in [(0, 0), (3, 1), (3, 0), (2, 1)] {
            let name = large(rank);
            let name = name.files.keys().next().unwrap();
            let (writer, _) = lists.find(&files, name.as_path()).unwrap().unwrap();
            assert_eq!(writer, rank);
            assert_eq!(reads() > 0, leaves > 0, "a file of rank {rank}");
        }
        assert_eq!(lists.find(&files, Path::new("none")).unwrap(), None);
    }

    /// SCR v3.1.0 may make trees in which a leaf has another number than its first rank.
    #[test]
    fn a_list_is_found_wherever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = prefix(dir.path());
        let dataset = prefix.dataset(1);
        let leaf = |rank: u64| {
            let name = Name::from(format!("f{rank}"));
            Leaf::new(2, [(rank, entry([(name, 1, None)]))].into())
        };
        for (writer, rank) in [(0, 1), (1, 0)] {
            let path = dataset.join(format!("{BASE}.0.{writer}"));
            format::write(&Posix, &path, &leaf(rank), Durability::Atomic).unwrap();
        }
        let top = Branch {
            level: 1,
            ranks: 2,
            children: [(0, BranchChild::new(0, 0)), (1, BranchChild::new(0, 1))].into(),
        };
        format::write(&Posix, &dataset.join(BASE), &top, Durability::Atomic).unwrap();
        let mut lists = FileLists::open(&Posix, &prefix, 1).unwrap();
        for rank in 0..2 {
            let expected = prefix.root().join(format!("f{rank}"));
            assert_eq!(lists.of_rank(&Posix, &prefix, rank).unwrap(), [expected]);
        }
    }
}
