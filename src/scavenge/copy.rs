//! Copies the parts of a dataset in one node's cache to the prefix directory.
//!
//! Data files go to their paths, completion records and redundancy files to the dataset's directory
//! in `.scr`. The record of a rank is written last, after its files are complete and synced. So a
//! copy may be killed, repeated, or run on several nodes at once, and does not copy again the files
//! that are already there.

use super::caches;
use crate::cache::inventory::DirectoryRecords;
use crate::cache::layout::{Layout, filemap_name};
use crate::format::filemap::Filemap;
use crate::format::summary::Summary;
use crate::format::{self, Dataset, FileMeta};
use crate::prefix::paths::Prefix;
use crate::prefix::{index, records};
use crate::store::{Durability, FileKind, Files, Stat};
use crate::transfer::copy::{Content, Copier, CopyMode};
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A file is synced before the record that certifies it is written.
const SYNCED: CopyMode = CopyMode {
    crc: false,
    sync: true,
};

/// Which redundancy files are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redundancy {
    /// All redundancy files.
    All,
    /// Those of sets that miss a rank's record in the prefix directory. For a second pass, after
    /// all nodes have copied their data.
    Needed,
    /// No redundancy files.
    None,
}

/// What a copy uses.
#[derive(Clone, Copy)]
pub struct CopySettings<'a> {
    /// Cache and prefix.
    pub files: &'a dyn Files,
    /// The prefix directory.
    pub prefix: &'a Prefix,
    /// Name of this node. In a store that all nodes see, a pass without redundancy copies only the
    /// ranks of this node.
    pub node: &'a str,
    /// Which redundancy files are copied.
    pub redundancy: Redundancy,
    /// Copy buffer, bytes (`SCR_FILE_BUF_SIZE`).
    pub buffer: usize,
    /// Give copies the mode and times of the files (`SCR_COPY_METADATA`).
    pub metadata: bool,
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
    let mut node = NodeCopy {
        settings,
        id,
        dir: settings.prefix.dataset(id),
        copier: Copier::new(settings.files, settings.buffer),
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
    if let Err(error) = node.begin(&dataset) {
        node.done.problems.push(error);
        return node.done;
    }
    for (layout, records) in &parts {
        let maps = records.filemaps.iter();
        for map in maps.filter(|map| map.dataset.created == dataset.created) {
            match node.rank(layout, map) {
                Ok(()) => drop(node.done.ranks.insert(map.rank)),
                Err(error) => node.done.problems.push(error),
            }
        }
        node.redundancy(layout, records);
    }
    node.done.dataset = Some(dataset);
    node.done
}

struct NodeCopy<'a> {
    settings: &'a CopySettings<'a>,
    id: u64,
    /// The dataset's directory in `.scr` of the prefix directory.
    dir: PathBuf,
    copier: Copier<'a>,
    done: CopyResult,
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
        let path = self.dir.join("summary.scr");
        let summary = format::read::<Summary>(files, &path);
        if summary.is_ok_and(|summary| summary.dataset.created != dataset.created) {
            files.remove_file(&path)?;
        }
        files.sync_dir(&self.settings.prefix.meta())
    }

    /// Copies a rank's files, then its record.
    fn rank(&mut self, layout: &Layout, map: &Filemap) -> Result<()> {
        let CopySettings { files, prefix, .. } = *self.settings;
        let path = self.dir.join(filemap_name(map.rank));
        let recorded = format::read::<Filemap>(files, &path);
        let recorded = recorded.is_ok_and(|there| there == *map);
        if !recorded {
            files.remove_file(&path)?;
        }
        let data = layout.data(self.id, map.rank);
        let mut dirs = BTreeSet::new();
        for file in &map.files.files {
            let from = file.file.below(&data);
            let paths = from.and_then(|from| Ok((from, prefix.absolute(&file.file)?)));
            // An invalid name means that the record is damaged.
            let record = layout.filemap(self.id, map.rank);
            let (from, to) = paths.map_err(|e| e.in_file(record))?;
            self.file(&from, &to, file)?;
            let parent = to.parent().unwrap_or(prefix.root());
            dirs.extend(prefix.dirs_from(parent));
        }
        if recorded {
            return Ok(());
        }
        dirs.iter().try_for_each(|dir| files.sync_dir(dir))?;
        format::write(files, &path, map, Durability::Synced)
    }

    fn file(&mut self, from: &Path, to: &Path, meta: &FileMeta) -> Result<()> {
        let CopySettings {
            files, metadata, ..
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
            let found = self.copier.checksum(to)?;
            if meta.crc.is_some() && found == expected {
                files.open(to)?.sync()?;
                return self.restore_attributes(to, &meta.stat());
            }
        }
        if let Some(parent) = to.parent() {
            files.make_dirs(parent)?;
        }
        self.copier.copy(from, to, Some(&expected), SYNCED)?;
        self.done.files += 1;
        self.done.bytes += meta.size;
        self.restore_attributes(to, &meta.stat())
    }

    fn restore_attributes(&self, path: &Path, stat: &Stat) -> Result<()> {
        match self.settings.metadata {
            true => self.settings.files.restore(path, stat),
            false => Ok(()),
        }
    }

    fn redundancy(&mut self, layout: &Layout, records: &DirectoryRecords) {
        for (name, file) in &records.redundancy {
            let wanted = match self.settings.redundancy {
                Redundancy::All => true,
                Redundancy::Needed => self.lacks_record(name.set, records),
                Redundancy::None => false,
            };
            if wanted {
                let from = layout.meta(self.id).join(file);
                let copied = self.redundancy_file(&from, &self.dir.join(file));
                self.done.problems.extend(copied.err());
            }
        }
    }

    /// True if the record of a member may be missing in the prefix directory.
    fn lacks_record(&self, set: usize, records: &DirectoryRecords) -> bool {
        let of_set = records
            .filemaps
            .iter()
            .find(|map| map.reddesc.set_id == set);
        of_set.is_none_or(|map| {
            let mut members = map.reddesc.members.iter();
            members.any(|rank| {
                let path = self.dir.join(filemap_name(*rank));
                let there = format::read::<Filemap>(self.settings.files, &path);
                // It may belong to an earlier dataset of this id.
                !there.is_ok_and(|there| there.dataset == map.dataset)
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
        self.copier.copy(from, to, None, SYNCED)?;
        self.done.files += 1;
        self.done.bytes += stat.size;
        files.restore(to, &stat)
    }
}
