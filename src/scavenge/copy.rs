//! Copies what one node has of a dataset from its cache to the prefix directory.
//!
//! Data go to their paths, completion records and redundancy files to the dataset's directory
//! in `.scr`. The record of a rank goes last: where it is, the rank's files were whole and on
//! stable storage. So a copy that is killed, or repeated, or done for several nodes at once,
//! does no harm, and files that are there already are not copied again.

use super::caches;
use crate::cache::inventory::DirectoryRecords;
use crate::cache::layout::{Layout, filemap_name};
use crate::format::filemap::Filemap;
use crate::format::summary::Summary;
use crate::format::{self, Dataset, FileMeta};
use crate::prefix::paths::Prefix;
use crate::prefix::{index, records};
use crate::store::{Durability, FileKind, Files, Stat};
use crate::transfer::copy::{Content, checksum, copy as copy_file};
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Which redundancy files are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redundancy {
    /// All.
    All,
    /// Those of sets of which the prefix directory lacks_record a rank: for a second round, after all
    /// nodes have copied their data.
    Needed,
    /// None.
    None,
}

/// What a copy works with.
#[derive(Clone, Copy)]
pub struct CopySettings<'a> {
    /// Cache and prefix.
    pub files: &'a dyn Files,
    /// The prefix directory.
    pub prefix: &'a Prefix,
    /// This node. In a store that all nodes see, a first round (without redundancy) leaves
    /// the ranks of the others to them.
    pub node: &'a str,
    /// Which redundancy files are copied.
    pub redundancy: Redundancy,
    /// Copy buffer, bytes (`SCR_FILE_BUF_SIZE`).
    pub buffer: usize,
    /// Give the copies mode and times of the files (`SCR_COPY_METADATA`).
    pub metadata: bool,
}

/// What was copied.
#[derive(Debug, Default)]
pub struct CopyResult {
    /// The dataset; `None` if this node has nothing of it.
    pub dataset: Option<Dataset>,
    /// Ranks whose files are in the prefix directory now.
    pub ranks: BTreeSet<usize>,
    /// Files that were copied, and their bytes; those that were there are not counted.
    pub files: u64,
    /// See `files`.
    pub bytes: u64,
    /// What could not be copied. A rank with a damaged file is left out; all else goes on.
    pub problems: Vec<Error>,
}

/// Copies the part of dataset `id` that is in `stores`, those of one node. The index has the
/// dataset as not complete from then on, unless it is complete there. Local.
pub fn copy(settings: &CopySettings, stores: &[Layout], id: u64) -> CopyResult {
    let mut node = NodeCopy {
        settings,
        id,
        dir: settings.prefix.dataset(id),
        buffer: vec![0; settings.buffer.max(1)],
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
    // A node that was away may have a dataset of that number from an earlier time.
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
    buffer: Vec<u8>,
    done: CopyResult,
}

impl NodeCopy<'_> {
    /// Sees that the dataset is not of an earlier time, and that nobody takes what is there of
    /// another one for it, nor for complete what is now being changed.
    fn begin(&mut self, dataset: &Dataset) -> Result<()> {
        let CopySettings { files, prefix, .. } = *self.settings;
        let flush = records::read_flush_file(files, prefix).unwrap_or_default();
        let known = flush.datasets.get(&self.id);
        let known = known.and_then(|entry| entry.dataset.as_ref());
        if known.is_some_and(|known| known.created > dataset.created) {
            let what = "is of an earlier time than the dataset of that number in the flush file";
            return Err(Error::dataset(self.id, dataset.name.to_string(), what));
        }
        match index::enter_once(files, prefix, dataset) {
            Err(error @ Error::Dataset { .. }) => return Err(error),
            // Bookkeeping can wait; the node's cache may not be there much longer.
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
            // What is wrong with a name is wrong with the record.
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
            // The times come last, after the content is on stable storage.
            if metadata && stat.mtime == meta.mtime {
                return Ok(());
            }
            let found = checksum(files, to, &mut self.buffer)?;
            if meta.crc.is_some() && found == expected {
                files.open(to)?.sync()?;
                return self.restore_attributes(to, &meta.stat());
            }
        }
        if let Some(parent) = to.parent() {
            files.make_dirs(parent)?;
        }
        copy_file(files, from, to, Some(&expected), &mut self.buffer)?;
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

    /// True if the prefix directory lacks_record the record of a member, or may.
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
                // It may be that of an earlier dataset of the number.
                !there.is_ok_and(|there| there.dataset == map.dataset)
            })
        })
    }

    /// It says itself of what it is, and is compared with its checksums when it is used.
    fn redundancy_file(&mut self, from: &Path, to: &Path) -> Result<()> {
        let files = self.settings.files;
        let missing = || Error::Corrupt {
            path: from.to_path_buf(),
            what: "is gone".to_string(),
        };
        let stat = files.stat(from)?.ok_or_else(missing)?;
        let there = files.stat(to)?;
        if there.is_some_and(|there| (there.size, there.mtime) == (stat.size, stat.mtime)) {
            return Ok(());
        }
        copy_file(files, from, to, None, &mut self.buffer)?;
        self.done.files += 1;
        self.done.bytes += stat.size;
        files.restore(to, &stat)
    }
}
