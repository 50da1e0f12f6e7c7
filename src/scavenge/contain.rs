//! Scavenging into containers. Each call for a node takes containers that nobody else has, so the files of
//! a node are together, and a call that is killed or repeated does no harm: the record of a rank, which is
//! written last, says where its files are. Files that no record names are removed when the dataset is
//! completed.

use super::copy::{CopySettings, NodeCopy, is_same};
use crate::Result;
use crate::cache::layout::{Layout, filemap_name};
use crate::format::filemap::Filemap;
use crate::format::rank2file::RankEntry;
use crate::format::{self, RankFiles};
use crate::prefix::containers::{self, ContainedFiles, ContainerReader, Writer};
use crate::prefix::flush_target::{Checksums, FlushTarget};
use crate::prefix::paths::Prefix;
use crate::store::{Durability, Files};

/// A rank to copy, and where it is.
type Part<'a> = (&'a Layout, &'a Filemap);

impl NodeCopy<'_> {
    /// True if the prefix directory has all files of a rank in containers.
    pub(super) fn is_contained(&self, map: &Filemap) -> bool {
        let files = self.settings.files;
        let path = self.dir.join(filemap_name(map.rank));
        let Ok(there) = format::read::<Filemap>(files, &path) else {
            return false;
        };
        let entry = contained(&there);
        let whole = entry.is_some_and(|entry| {
            ContainerReader::new(files, &self.dir)
                .check_all(&entry)
                .is_ok()
        });
        whole && is_same(there, map, true)
    }

    /// Copies the files of ranks into containers of `size` bytes, then their records. In a store that all
    /// nodes see, copies only the ranks of this node. Gives the ranks that are to be copied as plain
    /// files: the other ranks, or all ranks if no containers can be had.
    pub(super) fn contain<'m>(&mut self, parts: Vec<Part<'m>>, size: u64) -> Vec<Part<'m>> {
        let own = |(layout, map): &Part| {
            layout.level().is_none() || map.node == self.settings.node.into()
        };
        let recorded = |(_, map): &Part| self.recorded(map);
        let (mut mine, mut plain): (Vec<Part>, Vec<Part>) = parts
            .into_iter()
            .partition(|part| own(part) && !recorded(part));
        mine.sort_by_key(|(_, map)| map.rank);
        let Some((_, first)) = mine.first() else {
            return plain;
        };
        let sizes = mine.iter().map(|(_, map)| map.files.size().unwrap_or(0));
        let bytes = sizes.fold(0u64, u64::saturating_add);
        let place = (first.rank as u64, first.ranks as u64);
        let claimed = containers::claim(self.settings.files, &self.dir, (bytes, size), place);
        let numbering = match claimed {
            Ok(Some(numbering)) => numbering,
            other => {
                // To save the files is more important than their form.
                self.done.problems.extend(other.err());
                plain.extend(mine);
                return plain;
            }
        };
        let dir = self.dir.clone();
        let writer = Writer::new(self.settings.files, &dir, size, 0);
        let mut writer = writer.numbered(numbering);
        for (layout, map) in mine {
            match self.contain_rank(&mut writer, layout, map) {
                Ok(()) => drop(self.done.ranks.insert(map.rank)),
                Err(error) => self.done.problems.push(error),
            }
        }
        plain
    }

    fn contain_rank(&mut self, writer: &mut Writer, layout: &Layout, map: &Filemap) -> Result<()> {
        let CopySettings {
            files,
            prefix,
            metadata,
            ..
        } = *self.settings;
        let path = self.dir.join(filemap_name(map.rank));
        files.remove_file(&path)?;
        let target = FlushTarget {
            files,
            prefix,
            metadata,
            // The build leaves out checksums that shall not be recorded.
            checksums: Checksums::Record,
            make_dirs: false,
        };
        let mut map = map.clone();
        let data = layout.data(self.id, map.rank);
        let entry = target.pack_rank(&mut self.copier, &mut map.files, &data, writer)?;
        writer.sync()?;
        self.done.files += entry.files.len() as u64;
        self.done.bytes += map.files.size().unwrap_or(0);
        map.contained = Some(entry);
        format::write(files, &path, &map, Durability::Synced)
    }
}

/// Where the files of a rank are, if its record says that all are in containers. The record was read from
/// a file: it must give each file its size.
pub fn contained(map: &Filemap) -> Option<RankEntry> {
    let mut entry = map.contained.clone()?;
    let listed = |list: &RankFiles, entry: &mut RankEntry| {
        list.files.iter().all(|file| {
            let Some(there) = entry.files.get_mut(&file.file) else {
                return false;
            };
            there.crc = file.crc.or(there.crc);
            there.segments.is_some() && there.size == Some(file.size)
        })
    };
    let all = listed(&map.files, &mut entry) && entry.files.len() == map.files.files.len();
    all.then_some(entry)
}

/// A view of `files` that also shows files in containers. The view shows each file in these records
/// of dataset `id` at the path of the file.
pub fn shown<'a, 'm>(
    files: &'a dyn Files,
    prefix: &Prefix,
    id: u64,
    maps: impl IntoIterator<Item = &'m Filemap>,
) -> ContainedFiles<'a> {
    let view = ContainedFiles::new(files, prefix, id);
    for map in maps {
        let Some(mut entry) = contained(map) else {
            continue;
        };
        for file in &map.files.files {
            // An invalid path is an error of whoever uses it.
            if let (Ok(path), Some(place)) =
                (prefix.absolute(&file.file), entry.files.remove(&file.file))
            {
                view.show(path, place, file.stat());
            }
        }
    }
    view
}
