//! One node's part of a flush, without MPI: a background thread or another process copies the files of
//! the ranks of a node, and records that they are complete.
//!
//! The records are the rank2file itself. A part writes its leaf when its files are on stable storage.
//! Leaves and branches are in groups of [`FANOUT`]. After its own record a part looks for the others of
//! the group; if all are there, it writes the branch above them, and looks one level up. So each part
//! looks at no more than one group of files for each level. The last part writes the top and completes
//! the dataset. If two parts are last at the same time, both write the same bytes.

use super::containers::{ContainerPlace, Writer};
use super::finish::{self, Entering, Time};
use super::flush_target::{FlushTarget, TargetDirs};
use super::rank2file::{LeafCutter, RecordTarget, file_name};
use crate::format::filemap::Filemap;
use crate::format::rank2file::{BASE, Branch, Leaf, RankEntry, starts_group};
use crate::format::{self, Dataset};
use crate::system::size::scaled;
use crate::transfer::copy::Copier;
use crate::transfer::sync::Unsynced;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Number of records below a branch.
pub const FANOUT: usize = 64;

/// The place of a part among all parts of a dataset. All parts have the same value, except for
/// `part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartPlace {
    /// Number of this part, from 0.
    pub part: u64,
    /// Number of parts; at most the number of ranks.
    pub parts: u64,
    /// Number of ranks of all parts.
    pub ranks: u64,
    /// True if the entries of a part may need more than one leaf. Then each part has a branch of
    /// its own.
    pub split: bool,
    /// The place of the files in containers; `None` if they are copied as plain files.
    pub containers: Option<ContainerPlace>,
}

/// The place of a rank's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankSource {
    /// The rank's completion record in the cache.
    pub record: PathBuf,
    /// The rank's directory in the cache.
    pub data: PathBuf,
}

/// The number of copied files and bytes.
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
/// A file cannot be read, copied or recorded. Copies that were not recorded do not count.
/// The part may be copied again.
pub fn flush_part(
    target: &FlushTarget,
    copier: &mut Copier,
    dataset: &Dataset,
    place: &PartPlace,
    sources: &[RankSource],
    time: Time,
) -> Result<Copied> {
    let mut part = PartRecords {
        target,
        dir: target.prefix.dataset(dataset.id),
        place: *place,
        cutter: LeafCutter::new(place.ranks, place.split),
        leaves: Vec::new(),
        unsynced: false,
        dirs: TargetDirs::default(),
        writer: None,
    };
    if let Some(ContainerPlace { size, begin }) = place.containers {
        part.writer = Some(Writer::new(target.files, &part.dir, size, begin));
    }
    let mut copied = Copied::default();
    if let Some(entries) = part.take_recorded(dataset)? {
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
                let (entry, unsynced) = target.copy_rank(copier, list, data, &mut part.dirs)?;
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
    cutter: LeafCutter,
    /// The numbers of the leaves that were written.
    leaves: Vec<u64>,
    /// True if only a sync of the whole file system brings some of the copied files to stable
    /// storage.
    unsynced: bool,
    /// The directories of the copied files.
    dirs: TargetDirs,
    /// Writes the files into containers; `None` if they are copied as plain files.
    writer: Option<Writer<'a>>,
}

impl PartRecords<'_> {
    /// The files of this part that an earlier attempt has recorded, if they are there: that attempt may have
    /// been killed before it could report, or its record in a transfer file was lost. The files in the cache
    /// may be damaged by now, so they are not copied again over the good copies. If files are missing, the
    /// record is removed: nobody may rely on it while they are copied again.
    fn take_recorded(&self, dataset: &Dataset) -> Result<Option<BTreeMap<u64, RankEntry>>> {
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
            let check = |entry| finish::check_files(files, self.target.prefix, dataset.id, entry);
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
    fn end(self, copier: &Copier, dataset: &Dataset, time: Time) -> Result<()> {
        let FlushTarget { files, prefix, .. } = *self.target;
        if self.record(copier)? {
            finish::complete(files, prefix, dataset, Entering::Announced, time).map(drop)
        } else {
            Ok(())
        }
    }

    fn records<'b>(&'b self, copier: &Copier<'b>) -> RecordTarget<'b> {
        RecordTarget {
            files: self.target.files,
            dir: &self.dir,
            targets: copier.targets(),
        }
    }

    fn add(&mut self, copier: &Copier, rank: u64, entry: RankEntry) -> Result<()> {
        match self.cutter.add(rank, entry)? {
            Some(leaf) => self.write_leaf(copier, &leaf),
            None => Ok(()),
        }
    }

    /// Writes a leaf after its files are on stable storage.
    fn write_leaf(&mut self, copier: &Copier, leaf: &Leaf) -> Result<()> {
        let FlushTarget { files, prefix, .. } = *self.target;
        if let Some(writer) = &mut self.writer {
            writer.sync()?;
        }
        if std::mem::take(&mut self.unsynced) {
            files.sync_fs(prefix.root())?;
        }
        self.dirs.sync(files)?;
        let number = match (self.place.split, leaf.entries.keys().next()) {
            (true, Some(rank)) => *rank,
            _ => self.place.part,
        };
        self.leaves.push(number);
        self.records(copier).write_leaf(number, leaf)
    }

    /// Writes the last leaf of this part, and the branches above it whose other records are there.
    /// True if the top of the tree was written: all parts are there.
    fn record(mut self, copier: &Copier) -> Result<bool> {
        let PartPlace {
            part,
            parts,
            ranks,
            split,
            ..
        } = self.place;
        // Only a part without ranks has no last leaf. It writes an empty one.
        let last = self.cutter.last();
        let last = last.unwrap_or_else(|| Leaf::new(ranks, BTreeMap::new()));
        self.write_leaf(copier, &last)?;
        let records = self.records(copier);
        let write = |level, number, top: bool, children| {
            let branch = Branch::new(level, ranks, children);
            let number = (!top).then_some(number);
            records.write_branch(number, &branch)
        };
        let (mut level, mut number, mut count) = (0, part, parts);
        if split {
            write(1, part, parts == 1, self.leaves.clone())?;
            level = 1;
            if parts == 1 {
                return Ok(true);
            }
        }
        let group = scaled(FANOUT) as u64;
        loop {
            let above = number / group;
            let children = above * group..count.min(above * group + group);
            for child in children.clone() {
                let path = self.dir.join(file_name(level, child));
                // Opened: NFS may know for seconds the size of a file that is gone.
                match self.target.files.open(&path) {
                    Err(error) if error.is_not_found() => return Ok(false),
                    there => drop(there?),
                }
            }
            (level, number, count) = (level + 1, above, count.div_ceil(group));
            write(level, number, count == 1, children.collect())?;
            if count == 1 {
                return Ok(true);
            }
        }
    }
}
