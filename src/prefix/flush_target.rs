//! The files of one rank on their way from the cache to the prefix directory: copied to their paths, or
//! packed into containers. Needs no MPI.

use super::containers::{ContainerPlace, Numbering, Writer, segments};
use super::paths::Prefix;
use super::rank2file::entry_of;
use crate::Result;
use crate::format::rank2file::{Attributes, FileEntry, RankEntry};
use crate::format::{FileMeta, RankFiles};
use crate::store::Files;
use crate::transfer::copy::{Content, Copier, CopyMode};
use crate::transfer::sync::{SyncPlan, Unsynced};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The destination of files that are copied out of the cache, and the way of copying.
pub struct FlushTarget<'a> {
    /// The files in cache and prefix directory.
    pub files: &'a dyn Files,
    /// The prefix directory.
    pub prefix: &'a Prefix,
    /// Restore mode and times of copies (`SCR_COPY_METADATA`).
    pub metadata: bool,
    /// The use of checksums.
    pub checksums: Checksums,
    /// Make the directories of the files. If false, they exist.
    pub make_dirs: bool,
}

/// The use of checksums in a copy out of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksums {
    /// Compares the checksums that are recorded in the cache, takes the missing ones, and records
    /// all (`SCR_CRC_ON_FLUSH=1`).
    Record,
    /// Compares checksums that are recorded in the cache, and records none: with `SCR_CRC_ON_FLUSH=0`, when the run
    /// that wrote the files may have ended. They may have been damaged since.
    Compare,
    /// None: with `SCR_CRC_ON_FLUSH=0`, in the run that has written the files, or compared them in its start.
    Ignore,
}

impl Checksums {
    /// For a process outside of the run: a daemon or a command. `record`: `SCR_CRC_ON_FLUSH`.
    pub fn beside_a_run(record: bool) -> Self {
        if record {
            Checksums::Record
        } else {
            Checksums::Compare
        }
    }

    /// For a rank of the run. `record`: `SCR_CRC_ON_FLUSH`.
    pub fn in_a_run(record: bool) -> Self {
        if record {
            Checksums::Record
        } else {
            Checksums::Ignore
        }
    }

    fn are_recorded(self) -> bool {
        self == Checksums::Record
    }
}

/// The directories to which one process copies the files of several ranks: each is made once, and synced once
/// for all of them.
#[derive(Default)]
pub struct TargetDirs {
    /// The directories that exist.
    made: BTreeSet<PathBuf>,
    /// The directories with new entries that are not on stable storage yet.
    unsynced: BTreeSet<PathBuf>,
}

impl TargetDirs {
    /// Brings the new entries to stable storage. Local.
    pub fn sync(&mut self, files: &dyn Files) -> Result<()> {
        let dirs = std::mem::take(&mut self.unsynced);
        dirs.iter().try_for_each(|dir| files.sync_dir(dir))
    }
}

impl FlushTarget<'_> {
    /// Copies the files of one rank from its directory `data`, and syncs them, or leaves that to a sync of the
    /// file system. [`TargetDirs::sync`] must follow in any case. Adds the checksums that were taken to `list`.
    /// Gives the entry for the rank2file. Local.
    pub fn copy_rank(
        &self,
        copier: &mut Copier,
        list: &mut RankFiles,
        data: &Path,
        dirs: &mut TargetDirs,
    ) -> Result<(RankEntry, Unsynced)> {
        let prefix = self.prefix;
        let plan = SyncPlan::of(list.files.iter().map(|file| file.size));
        let mut parents: BTreeSet<PathBuf> = BTreeSet::new();
        for file in &mut list.files {
            let to = prefix.absolute(&file.file)?;
            let parent = to.parent().unwrap_or(prefix.root()).to_path_buf();
            let from = file.file.below(data)?;
            if self.make_dirs && !dirs.made.contains(&parent) {
                self.files.make_dirs(&parent)?;
                dirs.made.insert(parent.clone());
            }
            let recorded = self.content_to_compare(file.size, file.crc);
            let mode = CopyMode {
                crc: self.checksums.are_recorded(),
                sync: plan.alone(file.size),
            };
            let stat = self.metadata.then(|| file.stat());
            let found = copier.copy_with(&from, &to, Some(&recorded), mode, stat.as_ref())?;
            file.crc = found.crc.or(file.crc);
            parents.insert(parent);
        }
        if plan.rest() == Unsynced::Nothing {
            let new = parents.iter().flat_map(|dir| prefix.dirs_from(dir));
            dirs.unsynced.extend(new);
        }
        let entry = with_or_without(entry_of(list), self.checksums.are_recorded());
        Ok((entry, plan.rest()))
    }

    /// Writes the files of one rank from its directory `data` into containers. [`Writer::sync`] must
    /// follow. Adds the checksums that were taken to `list`. Gives the entry for the rank2file. Local.
    pub fn pack_rank(
        &self,
        copier: &mut Copier,
        list: &mut RankFiles,
        data: &Path,
        writer: &mut Writer,
    ) -> Result<RankEntry> {
        let mut entry = RankEntry::default();
        let record = self.checksums.are_recorded();
        for file in &mut list.files {
            // The path is checked as if a file were to be written there, as happens when the dataset is
            // read.
            self.prefix.absolute(&file.file)?;
            let from = file.file.below(data)?;
            let recorded = self.content_to_compare(file.size, file.crc);
            let (found, segments) = writer.append(copier, &from, &recorded, record)?;
            file.crc = found.crc.or(file.crc);
            let of_file = FileEntry {
                size: Some(file.size),
                crc: found.crc.filter(|_| record),
                attributes: self.metadata.then(|| attributes_of(file)),
                segments: Some(segments),
            };
            entry.files.insert(file.file.clone(), of_file);
        }
        Ok(entry)
    }

    /// The size and checksum with which a file is compared.
    fn content_to_compare(&self, size: u64, crc: Option<u32>) -> Content {
        Content {
            size,
            crc: crc.filter(|_| self.checksums != Checksums::Ignore),
        }
    }
}

/// The entry that a rank will have, before its files are copied; without the checksums that are not
/// recorded yet.
pub fn planned_entry(list: &RankFiles, containers: Option<ContainerPlace>) -> RankEntry {
    let mut entry = entry_of(list);
    let Some(ContainerPlace { size, mut begin }) = containers else {
        return entry;
    };
    for file in &list.files {
        if let Some(planned) = entry.files.get_mut(&file.file) {
            planned.attributes = Some(attributes_of(file));
            planned.segments = Some(segments(begin, file.size, size, Numbering::ALL));
            begin = begin.saturating_add(file.size);
        }
    }
    entry
}

fn attributes_of(file: &FileMeta) -> Attributes {
    Attributes {
        mode: file.mode & 0o7777,
        mtime_secs: file.mtime.0,
        mtime_nsecs: file.mtime.1,
    }
}

/// The entry, without checksums if they are not wanted.
pub(super) fn with_or_without(mut entry: RankEntry, checksums: bool) -> RankEntry {
    if !checksums {
        entry.files.values_mut().for_each(|file| file.crc = None);
    }
    entry
}
