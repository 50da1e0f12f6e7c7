//! One node's part of a flush, without MPI: a background thread or another process copies the files of
//! the ranks of a node, and records that they are complete.
//!
//! The records are the rank2file itself. A part writes its leaf when its files are on stable storage.
//! Leaves and branches are in groups of [`FANOUT`]. After its own record a part looks for the others of
//! the group; if all are there, it writes the branch above them, and looks one level up. So each part
//! looks at no more than one group of files for each level. The last part writes the top and completes
//! the dataset. If two parts are last at the same time, both write the same bytes.

use super::containers::{ContainerPlace, Writer};
use super::finish;
use super::flush_target::FlushTarget;
use crate::format::filemap::Filemap;
use crate::format::rank2file::{
    BASE, Branch, BranchChild, Leaf, RankEntry, packed_size, starts_group,
};
use crate::format::{self, Dataset};
use crate::store::Durability;
use crate::system::size::scaled;
use crate::transfer::copy::Copier;
use crate::transfer::sync::Unsynced;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How many records are below a branch.
pub const FANOUT: usize = 64;

/// The place of a part among all parts of a dataset. The same for all parts, but for `part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartPlace {
    /// Number of this part, from 0.
    pub part: u64,
    /// How many parts there are; not more than ranks.
    pub parts: u64,
    /// Number of ranks of all parts.
    pub ranks: u64,
    /// True if the entries of a part may need more than one leaf. Each part has a branch of its own
    /// then.
    pub split: bool,
    /// Where the files go in containers; `None` if they are copied as plain files.
    pub containers: Option<ContainerPlace>,
}

/// Where the files of a rank are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankSource {
    /// Its completion record in the cache.
    pub record: PathBuf,
    /// Its directory in the cache.
    pub data: PathBuf,
}

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Number of files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
}

/// True if parts of at most `ranks` ranks, with entries of at most `largest` bytes, may need more than
/// one leaf; see [`PartPlace::split`].
pub fn may_split(ranks: u64, largest: u64) -> bool {
    starts_group(false, 0, ranks.saturating_mul(largest))
}

/// Copies the part of `dataset` that is in `sources`, in the order of ranks, and records it. If it is the
/// last part, completes the dataset, with `time` in the index. [`finish::announce`] must have been called.
/// Local.
///
/// # Errors
/// The copies that were not recorded do not count. The part may be copied again.
pub fn flush_part(
    target: &FlushTarget,
    copier: &mut Copier,
    dataset: &Dataset,
    place: &PartPlace,
    sources: &[RankSource],
    time: &dyn Fn() -> String,
) -> Result<Copied> {
    let mut part = PartRecords {
        target,
        dir: target.prefix.dataset(dataset.id),
        place: *place,
        leaves: BTreeMap::new(),
        open: BTreeMap::new(),
        bytes: 0,
        unsynced: false,
        writer: None,
    };
    if let Some(ContainerPlace { size, begin }) = place.containers {
        part.writer = Some(Writer::new(target.files, &part.dir, size, begin));
    }
    let mut copied = Copied::default();
    if let Some(entries) = part.recorded(dataset)? {
        for (rank, entry) in entries {
            let sizes = entry.files.values().filter_map(|file| file.size);
            copied.bytes += sizes.sum::<u64>();
            copied.files += entry.files.len() as u64;
            part.add(copier, rank, entry)?;
        }
        return part.end(copier, dataset, time).map(|()| copied);
    }
    for source in sources {
        let mut filemap: Filemap = format::read(target.files, &source.record)?;
        if filemap.dataset.created != dataset.created {
            let what = format!(
                "is of another dataset than {} ({})",
                dataset.id, dataset.name
            );
            return Err(Error::corrupt(&source.record, what));
        }
        let (list, data) = (&mut filemap.files, &source.data);
        let entry = match &mut part.writer {
            Some(writer) => target.pack_rank(copier, list, data, writer)?,
            None => {
                let (entry, unsynced) = target.copy_rank(copier, list, data)?;
                part.unsynced |= unsynced == Unsynced::FileSystem;
                entry
            }
        };
        let files = &filemap.files.files;
        copied.files += files.len() as u64;
        copied.bytes += files.iter().map(|file| file.size).sum::<u64>();
        part.add(copier, filemap.rank as u64, entry)?;
    }
    part.end(copier, dataset, time).map(|()| copied)
}

/// The records of a part.
struct PartRecords<'a> {
    target: &'a FlushTarget<'a>,
    /// The dataset's directory in `.scr` of the prefix directory.
    dir: PathBuf,
    place: PartPlace,
    /// With more than one leaf: those that were written, by the rank in their names.
    leaves: BTreeMap<u64, BranchChild>,
    /// The entries of the leaf that is written next.
    open: BTreeMap<u64, RankEntry>,
    /// Packed bytes of all entries so far.
    bytes: u64,
    /// Files were copied that only a sync of the file system brings to stable storage.
    unsynced: bool,
    /// Into containers.
    writer: Option<Writer<'a>>,
}

impl PartRecords<'_> {
    /// What an earlier attempt has recorded of this part, if its files are there: it may have been killed
    /// before it could tell, or its record in a transfer file was lost. The files in the cache may be
    /// worse by now, so they are not copied again over the good ones. If files are missing, what was recorded
    /// is removed: nobody may rely on it while they are copied again.
    fn recorded(&self, dataset: &Dataset) -> Result<Option<BTreeMap<u64, RankEntry>>> {
        let (files, PartPlace { part, parts, .. }) = (self.target.files, self.place);
        let top = match (self.place.split, parts) {
            (true, 1) => BASE.to_string(),
            (split, _) => file_name(split.into(), part),
        };
        let top = self.dir.join(top);
        if files.stat(&top)?.is_none() {
            return Ok(None);
        }
        let entries = || -> Result<BTreeMap<u64, RankEntry>> {
            if !self.place.split {
                return Ok(format::read::<Leaf>(files, &top)?.entries);
            }
            let mut all = BTreeMap::new();
            for leaf in format::read::<Branch>(files, &top)?.children.keys() {
                let path = self.dir.join(file_name(0, *leaf));
                all.extend(format::read::<Leaf>(files, &path)?.entries);
            }
            Ok(all)
        };
        let there = entries().and_then(|entries| {
            let mut all = entries.values();
            let check =
                |entry| finish::check_files(files, self.target.prefix, dataset.id, entry, "");
            all.try_for_each(check).map(|()| entries)
        });
        match there {
            Err(error) if error.is_transient() => Err(error),
            Err(_) => {
                files.remove_file(&top)?;
                files.sync_dir(&self.dir)?;
                Ok(None)
            }
            Ok(entries) => Ok(Some(entries)),
        }
    }

    /// Records the part, and completes the dataset if it is the last one.
    fn end(self, copier: &Copier, dataset: &Dataset, time: &dyn Fn() -> String) -> Result<()> {
        let target = self.target;
        match self.record(copier)? {
            true => finish::complete_later(target.files, target.prefix, dataset, time),
            false => Ok(()),
        }
    }

    fn add(&mut self, copier: &Copier, rank: u64, entry: RankEntry) -> Result<()> {
        let size = packed_size(&entry)?;
        let full = starts_group(false, self.bytes, size) && !self.open.is_empty();
        if self.place.split && full {
            self.write_leaf(copier)?;
        }
        self.bytes += size;
        self.open.insert(rank, entry);
        Ok(())
    }

    /// Writes the leaf of the open entries, durably, after their files are on stable storage.
    fn write_leaf(&mut self, copier: &Copier) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            writer.sync()?;
        }
        if std::mem::take(&mut self.unsynced) {
            self.target.files.sync_fs(self.target.prefix.root())?;
        }
        // The sync may have taken long.
        copier.may_record()?;
        let entries = std::mem::take(&mut self.open);
        let name = match (self.place.split, entries.keys().next()) {
            (true, Some(rank)) => *rank,
            _ => self.place.part,
        };
        self.leaves.insert(name, BranchChild::new(0, name));
        let leaf = Leaf::new(self.place.ranks, entries);
        let path = self.dir.join(file_name(0, name));
        format::write(self.target.files, &path, &leaf, Durability::Synced)
    }

    /// Writes the last records of this part, and the branches above it whose other records are there.
    /// True if the top of the tree was written: all parts are there.
    fn record(mut self, copier: &Copier) -> Result<bool> {
        self.write_leaf(copier)?;
        let PartPlace { part, parts, .. } = self.place;
        let (mut level, mut number, mut count) = (0, part, parts);
        let group = scaled(FANOUT) as u64;
        if self.place.split {
            let leaves = std::mem::take(&mut self.leaves);
            self.write_branch(1, part, parts == 1, leaves)?;
            level = 1;
            if parts == 1 {
                return Ok(true);
            }
        }
        loop {
            let above = number / group;
            let children = above * group..count.min(above * group + group);
            for child in children.clone() {
                let path = self.dir.join(file_name(level, child));
                if self.target.files.stat(&path)?.is_none() {
                    return Ok(false);
                }
            }
            let children = children.map(|child| (child, BranchChild::new(level, child)));
            let children = children.collect();
            (level, number, count) = (level + 1, above, count.div_ceil(group));
            self.write_branch(level, number, count == 1, children)?;
            if count == 1 {
                return Ok(true);
            }
        }
    }

    fn write_branch(
        &self,
        level: u32,
        number: u64,
        top: bool,
        children: BTreeMap<u64, BranchChild>,
    ) -> Result<()> {
        let branch = Branch {
            level,
            ranks: self.place.ranks,
            children,
        };
        let name = match top {
            true => BASE.to_string(),
            false => file_name(level, number),
        };
        format::write(
            self.target.files,
            &self.dir.join(name),
            &branch,
            Durability::Synced,
        )
    }
}

fn file_name(level: u32, number: u64) -> String {
    format!("{BASE}.{level}.{number}")
}
