//! Copies the parts of a dataset in one node's cache to the prefix directory.
//!
//! Data files go to their paths, completion records and redundancy files to the dataset's directory
//! in `.scr`. With `SCR_USE_CONTAINERS=1` the data files of this node's ranks go into containers of its
//! own; see [`contain`](super::contain). The record of a rank is written last, after its files are complete and synced. So a
//! copy may be killed, repeated, or run on several nodes at once, and does not copy again the files
//! that are already there.

use super::caches;
use crate::cache::inventory::DirectoryRecords;
use crate::cache::layout::{Layout, filemap_name};
use crate::format::filemap::Filemap;
use crate::format::index::IndexEntry;
use crate::format::summary::Summary;
use crate::format::{self, Dataset, FileMeta};
use crate::prefix::paths::Prefix;
use crate::prefix::{index, permit, rank2file, records};
use crate::store::Watch;
use crate::store::{Durability, FileKind, Files};
use crate::system::time::sleep;
use crate::transfer::copy::{Content, Copier, CopyMode};
use crate::transfer::sync::{SyncPlan, Unsynced};
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A redundancy file is synced. Its checksums are compared when it is used.
const SYNCED: CopyMode = CopyMode {
    crc: false,
    sync: true,
};

/// The redundancy files that are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redundancy<'a> {
    /// All redundancy files.
    All,
    /// The redundancy files of sets that miss a rank's record in the prefix directory, or have a record that was written on
    /// one of these nodes. For a second pass, after all nodes have copied their data.
    Needed(&'a [String]),
    /// No redundancy files.
    None,
}

/// The places and settings of a copy.
#[derive(Clone, Copy)]
pub struct CopySettings<'a> {
    /// Cache and prefix.
    pub files: &'a dyn Files,
    /// The prefix directory.
    pub prefix: &'a Prefix,
    /// Name of this node. In a store that all nodes see, a pass without redundancy copies only the
    /// ranks of this node.
    pub node: &'a str,
    /// The redundancy files that are copied.
    pub redundancy: Redundancy<'a>,
    /// Copy only redundancy files.
    pub only_redundancy: bool,
    /// Put the data files into containers of this size, bytes (`SCR_USE_CONTAINERS`,
    /// `SCR_CONTAINER_SIZE`).
    pub containers: Option<u64>,
    /// Take the checksums that are not recorded (`SCR_CRC_ON_FLUSH`). Those that are recorded are compared in
    /// any case: the cache may have been damaged since.
    pub checksums: bool,
    /// Copy buffer, bytes (`SCR_FILE_BUF_SIZE`).
    pub buffer: usize,
    /// Give copies the mode and times of the files (`SCR_COPY_METADATA`).
    pub metadata: bool,
    /// Learns how far the copy has come.
    pub watch: &'a dyn Watch,
}

/// The result of a copy.
#[derive(Debug, Default)]
pub struct CopyResult {
    /// The dataset; `None` if there is nothing of it on this node.
    pub dataset: Option<Dataset>,
    /// Ranks whose files are in the prefix directory now.
    pub ranks: BTreeSet<usize>,
    /// Number of files that were copied. Files that were already there do not count.
    pub files: u64,
    /// Bytes in these files.
    pub bytes: u64,
    /// What could not be copied. Ranks with a damaged file are left out; all others are copied.
    pub problems: Vec<Error>,
}

/// Copies the parts of dataset `id` that are in `stores`, the caches of one node. From then on the
/// index has the dataset as not complete, unless it was complete before. Local.
pub fn copy(settings: &CopySettings, stores: &[Layout], id: u64) -> CopyResult {
    let after_piece = |bytes| {
        settings.watch.moved(bytes);
        Ok(())
    };
    let mut node = NodeCopy {
        settings,
        id,
        dir: settings.prefix.dataset(id),
        complete: false,
        copier: Copier::new(settings.files, settings.buffer).watched(&after_piece),
        done: CopyResult::default(),
    };
    let mut parts = Vec::new();
    for layout in stores {
        let problems = &mut node.done.problems;
        match caches::records(settings.files, layout, id, problems) {
            Ok(found) => parts.extend(found),
            Err(error) => node.done.problems.push(error),
        }
    }
    for (layout, records) in &mut parts {
        if layout.level().is_some() && settings.redundancy == Redundancy::None {
            records
                .filemaps
                .retain(|map| map.node == settings.node.into());
        }
    }
    // A node that was away may have an older dataset of this id.
    let maps = parts.iter().flat_map(|(_, records)| &records.filemaps);
    let newest = maps.max_by_key(|map| map.dataset.created);
    let Some(dataset) = newest.map(|map| map.dataset.clone()) else {
        return node.done;
    };
    node.done.dataset = Some(dataset.clone());
    if let Err(error) = node.begin(&dataset) {
        node.done.problems.push(error);
        return node.done;
    }
    for (_, records) in &mut parts {
        let maps = &mut records.filemaps;
        maps.retain(|map| map.dataset.created == dataset.created);
    }
    if !settings.only_redundancy {
        node.data(&parts);
    }
    for (layout, records) in &parts {
        node.redundancy(layout, records);
    }
    node.done
}

pub(super) struct NodeCopy<'a> {
    pub(super) settings: &'a CopySettings<'a>,
    pub(super) id: u64,
    /// The dataset's directory in `.scr` of the prefix directory.
    pub(super) dir: PathBuf,
    /// The dataset is complete in the prefix directory, and no restart from it has failed.
    complete: bool,
    pub(super) copier: Copier<'a>,
    pub(super) done: CopyResult,
}

impl NodeCopy<'_> {
    /// Prepares the prefix directory. The dataset must not be older than one of the same id there.
    /// The index entry and the removal of an old summary keep others from using the dataset while
    /// it is incomplete.
    fn begin(&mut self, dataset: &Dataset) -> Result<()> {
        let CopySettings { files, prefix, .. } = *self.settings;
        let flush = records::read_flush_file(files, prefix).unwrap_or_default();
        let known = flush.datasets.get(&self.id);
        let known = known.and_then(|entry| entry.dataset.as_ref());
        if known.is_some_and(|known| known.created > dataset.created) {
            let what = "is older than the dataset of the same id in the flush file";
            return Err(Error::dataset(self.id, dataset.name.to_string(), what));
        }
        match index::enter_once(files, prefix, dataset) {
            Err(error @ Error::Dataset { .. }) => return Err(error),
            // An error in the index is no reason to stop: the node's cache may soon be gone.
            Err(error) => self.done.problems.push(error),
            Ok(()) => {}
        }
        files.make_dirs(&self.dir)?;
        // A process of a killed run that was stopped, or a daemon that cannot be reached, may go on.
        if permit::revoke(files, prefix, self.id)? {
            sleep(permit::GRACE);
        }
        let path = self.dir.join("summary.scr");
        if let Ok(summary) = format::read::<Summary>(files, &path) {
            if summary.dataset.created == dataset.created {
                // After a failed restart its files may be damaged, and the cache may have better ones.
                self.complete = summary.complete
                    && index::read(files, prefix)
                        .is_ok_and(|index| index.get(self.id).is_some_and(IndexEntry::is_good));
            } else {
                // An older dataset had this id. Its list of files goes first: it does not tell whose it is.
                rank2file::remove(files, &self.dir)?;
                files.remove_file(&path)?;
            }
        }
        files.sync_dir(&self.settings.prefix.meta())
    }

    /// Copies the files and records of all ranks. Files that are recorded as contained stay so.
    fn data(&mut self, parts: &[(Layout, DirectoryRecords)]) {
        let maps = parts
            .iter()
            .flat_map(|(layout, records)| records.filemaps.iter().map(move |map| (layout, map)));
        let mut plain: Vec<(&Layout, &Filemap)> = maps.collect();
        let files = plain.iter().flat_map(|(_, map)| &map.files.files);
        files.for_each(|file| self.settings.watch.expect(file.size));
        plain.retain(|(_, map)| {
            let contained = self.is_contained(map);
            if contained {
                self.done.ranks.insert(map.rank);
                self.settings.watch.moved(map.files.size().unwrap_or(0));
            }
            !contained
        });
        if let Some(size) = self.settings.containers {
            plain = self.contain(plain, size);
        }
        for (layout, map) in plain {
            match self.rank(layout, map) {
                Ok(()) => drop(self.done.ranks.insert(map.rank)),
                Err(error) => self.done.problems.push(error),
            }
        }
    }

    /// Copies a rank's files, then its record.
    fn rank(&mut self, layout: &Layout, map: &Filemap) -> Result<()> {
        let CopySettings { files, prefix, .. } = *self.settings;
        let path = self.dir.join(filemap_name(map.rank));
        let recorded = self.recorded(map);
        if !recorded {
            files.remove_file(&path)?;
        }
        let (rank, mut map) = (map.rank, map.clone());
        let data = layout.data(self.id, map.rank);
        let plan = SyncPlan::of(map.files.files.iter().map(|file| file.size));
        let mut dirs = BTreeSet::new();
        for file in &mut map.files.files {
            let from = file.file.below(&data);
            let paths = from.and_then(|from| Ok((from, prefix.absolute(&file.file)?)));
            // An invalid name means that the record is damaged.
            let (from, to) = paths.map_err(|e| e.in_file(layout.filemap(self.id, rank)))?;
            self.file(&from, &to, file, plan)?;
            let parent = to.parent().unwrap_or(prefix.root());
            dirs.extend(prefix.dirs_from(parent));
        }
        if recorded {
            return Ok(());
        }
        match plan.rest() {
            Unsynced::Nothing => dirs.iter().try_for_each(|dir| files.sync_dir(dir))?,
            Unsynced::FileSystem => files.sync_fs(prefix.root())?,
        }
        format::write(files, &path, &map, Durability::Synced)
    }

    /// True if the prefix directory has the record of a rank with plain files: the same as in the cache,
    /// but for checksums that a copy has added.
    pub(super) fn recorded(&self, map: &Filemap) -> bool {
        let path = self.dir.join(filemap_name(map.rank));
        let there = format::read::<Filemap>(self.settings.files, &path);
        there.is_ok_and(|there| is_same(there, map, false))
    }

    /// Copies one file, and adds its checksum to `meta` if it was taken.
    fn file(&mut self, from: &Path, to: &Path, meta: &mut FileMeta, plan: SyncPlan) -> Result<()> {
        let CopySettings {
            files,
            metadata,
            checksums,
            ..
        } = *self.settings;
        let expected = Content {
            size: meta.size,
            crc: meta.crc,
        };
        let there = files.stat(to)?;
        let there = there.filter(|stat| stat.kind == FileKind::File && stat.size == meta.size);
        if let Some(stat) = there {
            // Times are set last, after the content was synced. So equal times mean that the copy
            // is complete.
            if metadata && stat.mtime == meta.mtime {
                return Ok(());
            }
            // A flush has synced the file. The copy on the node may have lost parts, so it does not replace that one.
            if self.complete && expected.crc.is_none() {
                return Ok(());
            }
            if expected.crc.is_some() && self.copier.checksum(to)? == expected {
                files.open(to)?.sync()?;
                return if metadata {
                    files.restore(to, &meta.stat()).map(drop)
                } else {
                    Ok(())
                };
            }
        }
        if let Some(parent) = to.parent() {
            files.make_dirs(parent)?;
        }
        let mode = CopyMode {
            crc: checksums || meta.crc.is_some(),
            sync: plan.alone(meta.size),
        };
        let stat = metadata.then(|| meta.stat());
        let copied = self
            .copier
            .copy_with(from, to, Some(&expected), mode, stat.as_ref());
        meta.crc = meta.crc.or(copied?.crc);
        self.done.files += 1;
        self.done.bytes += meta.size;
        Ok(())
    }

    fn redundancy(&mut self, layout: &Layout, records: &DirectoryRecords) {
        for (name, file) in &records.redundancy {
            let wanted = match self.settings.redundancy {
                Redundancy::All => true,
                Redundancy::Needed(down) => self.may_need(name.set, records, down),
                Redundancy::None => false,
            };
            if wanted {
                let from = layout.meta(self.id).join(file);
                let copied = self.redundancy_file(&from, &self.dir.join(file));
                self.done.problems.extend(copied.err());
            }
        }
    }

    /// True if the record of a member may be missing in the prefix directory, or was written on one of
    /// the nodes that are `down`.
    fn may_need(&self, set: usize, records: &DirectoryRecords, down: &[String]) -> bool {
        let of_set = records
            .filemaps
            .iter()
            .find(|map| map.reddesc.set_id == set);
        of_set.is_none_or(|map| {
            let mut members = map.reddesc.members.iter();
            members.any(|rank| {
                let path = self.dir.join(filemap_name(*rank));
                let there = format::read::<Filemap>(self.settings.files, &path);
                // The record may belong to an earlier dataset of this id.
                let there = there.ok().filter(|there| there.dataset == map.dataset);
                there.is_none_or(|there| down.iter().any(|node| there.node == node.as_str().into()))
            })
        })
    }

    /// Copies a redundancy file. Its header says which dataset it belongs to, and its checksums are
    /// compared when it is used.
    fn redundancy_file(&mut self, from: &Path, to: &Path) -> Result<()> {
        let files = self.settings.files;
        let missing = || Error::corrupt(from, "was removed meanwhile");
        let stat = files.stat(from)?.ok_or_else(missing)?;
        let there = files.stat(to)?;
        if there.is_some_and(|there| (there.size, there.mtime) == (stat.size, stat.mtime)) {
            return Ok(());
        }
        self.copier.copy_with(from, to, None, SYNCED, Some(&stat))?;
        self.done.files += 1;
        self.done.bytes += stat.size;
        Ok(())
    }
}

/// True if two records of one rank say the same. Checksums may be known to one only. `contained`: the
/// first one must be of files in containers, else of plain ones.
pub(super) fn is_same(there: Filemap, map: &Filemap, contained: bool) -> bool {
    let (mut there, mut map) = (there, map.clone());
    if there.contained.take().is_some() != contained {
        return false;
    }
    let (one, other) = (&mut there.files.files, &mut map.files.files);
    for (a, b) in one.iter_mut().zip(other) {
        if a.crc.is_none() || b.crc.is_none() {
            (a.crc, b.crc) = (None, None);
        }
    }
    there == map
}
