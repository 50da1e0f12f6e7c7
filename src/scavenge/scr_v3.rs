//! A dataset that SCR v3.1.0 scavenged but did not build. It has `.redset` files, and filemaps of
//! its own format, which name absolute paths.
//!
//! ```text
//!   FILE
//!     /dev/shm/user1/scr.1001/scr.dataset.1/x0
//!       META
//!         COMPLETE = 1
//!         NAME = x0
//!         PATH = /pfs/run/a
//!         RANKS = 4
//!         SIZE = 10
//!         ...
//! ```
//!
//! If all files are there, they are used to complete the dataset. Lost files can be rebuilt by SCR
//! v3.1.0 only.

use crate::cache::layout::filemap_rank;
use crate::format::rank2file::RankEntry;
use crate::format::{Dataset, Name, Tree, read_tree};
use crate::prefix::paths::{Prefix, from_bytes};
use crate::prefix::{index, rank2file, records};
use crate::store::{FileKind, Files};
use crate::text::ranks_in_words;
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Limit for the number of ranks in a damaged filemap; no program has as many.
const MOST_RANKS: usize = 1 << 22;

/// The files that are left of such a dataset.
#[derive(Debug)]
pub struct ScrV3Dataset {
    /// The dataset, from flush file or index: its filemaps do not name it.
    pub dataset: Dataset,
    /// Entries of the ranks whose files are all there, with the recorded sizes.
    pub entries: BTreeMap<usize, RankEntry>,
}

impl ScrV3Dataset {
    /// Syncs the files of the dataset, since the program that copied them may not have done so.
    /// Local.
    ///
    /// # Errors
    /// A file is gone, or cannot be synced.
    pub fn sync(&self, files: &dyn Files, prefix: &Prefix) -> Result<()> {
        let mut dirs = BTreeSet::new();
        for name in self.entries.values().flat_map(|entry| entry.files.keys()) {
            let path = prefix.absolute(name)?;
            files.open(&path)?.sync()?;
            dirs.extend(prefix.dirs_from(path.parent().unwrap_or(prefix.root())));
        }
        dirs.iter().try_for_each(|dir| files.sync_dir(dir))
    }
}

/// True if the directory of a dataset has redundancy files of SCR v3.1.0, as all its scavenged
/// datasets have. Local.
///
/// # Errors
/// The directory cannot be read.
pub fn is_from_scr_v3(files: &dyn Files, dir: &Path) -> Result<bool> {
    let names = files.list(dir)?;
    let ours = |name: &str| name.ends_with(".redset");
    Ok(names.iter().filter_map(|name| name.to_str()).any(ours))
}

/// Reads what SCR v3.1.0 scavenged of dataset `id`. Local.
///
/// # Errors
/// Neither flush file nor index describe the dataset, files of a rank are lost, or records
/// contradict each other.
pub fn read(files: &dyn Files, prefix: &Prefix, id: u64) -> Result<ScrV3Dataset> {
    let dir = prefix.dataset(id);
    let dataset = describe(files, prefix, id)?;
    let unusable = |what: String| Error::dataset(id, dataset.name.to_string(), what);
    let (mut entries, mut total) = (BTreeMap::new(), None);
    for name in files.list(&dir)? {
        let Some(rank) = name.to_str().and_then(filemap_rank) else {
            continue;
        };
        let path = dir.join(&name);
        // A rank without a readable record counts as lost.
        let Ok(tree) = read_tree(files, &path) else {
            continue;
        };
        for (_, file) in tree.get("FILE").into_iter().flat_map(Tree::iter) {
            let ranks = file
                .get("META")
                .and_then(|meta| meta.value("RANKS")?.number());
            if *total.get_or_insert(ranks) != ranks || ranks.is_none() {
                return Err(unusable(format!(
                    "{} has another number of ranks than the other records",
                    path.display()
                )));
            }
        }
        if let Some(entry) = present(files, prefix, &tree)? {
            entries.insert(rank, entry);
        }
    }
    let last = entries.keys().next_back();
    let known = last.map_or(0, |last| last.saturating_add(1));
    let ranks: usize = total.flatten().unwrap_or(known);
    if ranks > MOST_RANKS || known > ranks {
        let rank = known.saturating_sub(1);
        let what = format!("its records are of {ranks} ranks, and there is one of rank {rank}");
        return Err(unusable(what));
    }
    let lost: Vec<usize> = (0..ranks)
        .filter(|rank| !entries.contains_key(rank))
        .collect();
    if ranks == 0 || !lost.is_empty() {
        return Err(unusable(format!(
            "the files of {} are lost or damaged; it was scavenged by SCR v3.1.0, whose own \
             scr_index --build may rebuild them",
            ranks_in_words(&lost)
        )));
    }
    Ok(ScrV3Dataset { dataset, entries })
}

/// The dataset that the last run had under this id.
fn describe(files: &dyn Files, prefix: &Prefix, id: u64) -> Result<Dataset> {
    let record = records::read_flush_file(files, prefix).unwrap_or_default();
    let told = record
        .datasets
        .get(&id)
        .and_then(|entry| entry.dataset.clone());
    let index = index::read(files, prefix)?;
    let known = || index.get(id).and_then(|entry| entry.dataset.clone());
    let dataset = told.or_else(known).filter(|dataset| dataset.id == id);
    dataset.ok_or_else(|| {
        let what = "it was scavenged by SCR v3.1.0, and neither flush.scr nor the index tells \
                    its name";
        Error::dataset(id, "", what)
    })
}

/// The files of a filemap; `None` if one of them is missing or its size differs.
fn present(files: &dyn Files, prefix: &Prefix, tree: &Tree) -> Result<Option<RankEntry>> {
    let mut list = Vec::new();
    for (_, file) in tree.get("FILE").into_iter().flat_map(Tree::iter) {
        let Some((path, size, crc)) = file.get("META").and_then(recorded) else {
            return Ok(None);
        };
        // The path may be an attack, or the prefix directory may have been moved.
        let Ok(name) = prefix.relative(&path, prefix.root()) else {
            return Ok(None);
        };
        let path = prefix.root().join(&name);
        let stat = files
            .stat(&path)?
            .filter(|stat| stat.kind == FileKind::File);
        if stat.is_none_or(|stat| stat.size != size) {
            return Ok(None);
        }
        list.push((Name::from(name.as_path()), size, crc));
    }
    Ok(Some(rank2file::entry(list)))
}

/// Path, size and checksum of a file, if its entry says that it is complete.
fn recorded(meta: &Tree) -> Option<(PathBuf, u64, Option<u32>)> {
    let dir = from_bytes(meta.value("PATH")?.as_bytes());
    let path = dir.join(from_bytes(meta.value("NAME")?.as_bytes()));
    let crc = meta.value("CRC").and_then(|crc| {
        let digits = crc.as_str()?.strip_prefix("0x")?;
        u32::from_str_radix(digits, 16).ok()
    });
    let complete = meta.value("COMPLETE")?.number() == Some(1);
    let size = meta.value("SIZE")?.number()?;
    complete.then_some((path, size, crc))
}
