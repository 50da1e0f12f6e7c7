//! Fetches the files of one rank: compares them with their records, and copies them into the cache, if any.

use super::access::PrefixAccess;
use super::containers::{self, ContainerReader, Restored};
use super::paths::seen_by_program;
use crate::format::rank2file::{BASE, FileEntry, RankEntry};
use crate::format::{FileMeta, Name, RankFiles};
use crate::store::{FileKind, Files, Stat};
use crate::transfer::copy::{Content, Copier, CopyMode};
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The place to which fetched files are written: a rank's own directory in the cache, or one of all
/// ranks.
#[derive(Debug, Clone)]
pub struct FetchTarget<'a> {
    /// The store's base directory.
    pub base: &'a Path,
    /// The rank's directory relative to it. The fetch makes the directory, and removes its earlier
    /// content.
    pub below: PathBuf,
    /// Other ranks have their files in it, too: only files of this rank are removed.
    pub common: bool,
}

impl FetchTarget<'_> {
    fn dir(&self) -> PathBuf {
        self.base.join(&self.below)
    }

    /// The path to which the file `name` is written. Its directory is made, if it is not one of those
    /// that were `made`.
    fn place(
        &self,
        files: &dyn Files,
        name: &Name,
        made: &mut BTreeSet<PathBuf>,
    ) -> Result<PathBuf> {
        let path = name.below(&self.dir())?;
        let parent = name.as_path().parent().unwrap_or(Path::new(""));
        if !made.contains(parent) {
            files.make_private_dirs(self.base, &self.below.join(parent))?;
            made.insert(parent.to_path_buf());
        }
        Ok(path)
    }

    /// Removes this rank's files there, which `entry` lists. Local.
    pub(super) fn clear(&self, files: &dyn Files, entry: &RankEntry) -> Result<()> {
        if !self.common {
            return files.remove_tree(&self.dir());
        }
        let mut names = entry.files.keys();
        names.try_for_each(|name| files.remove_tree(&name.below(&self.dir())?))
    }
}

/// The dataset to fetch.
#[derive(Debug, Clone, Copy)]
pub struct FetchRequest<'a> {
    /// The id of the dataset.
    pub id: u64,
    /// The name of the dataset in the index.
    pub name: &'a Name,
    /// Compare contents with recorded checksums. If false, only sizes are compared.
    pub checksums: bool,
    /// The program will read the files where they are: follow symbolic links, as it does itself, and
    /// extract files from containers.
    pub in_place: bool,
    /// The number of ranks that wrote it. If this number differs from that of the run, the dataset
    /// can only be verified in place.
    pub ranks: u64,
}

/// One rank's part of a dataset.
#[derive(Default)]
pub struct FetchedPart {
    /// The files.
    pub files: RankFiles,
    /// Number of files without a checksum.
    pub unverified: usize,
    /// A symbolic link on the path to a file.
    pub link: Option<PathBuf>,
    /// Number of files that were extracted to the prefix directory.
    pub extracted: i64,
    /// Plain files that were extracted before and damaged since. They have their content again.
    pub mended: Vec<PathBuf>,
}

/// Fetches the files of `entry` into `cache`, or with `None` verifies them where they are. Local.
pub fn fetch_files(
    access: &PrefixAccess,
    wanted: &FetchRequest,
    entry: &RankEntry,
    cache: Option<&FetchTarget>,
) -> Result<FetchedPart> {
    let after_piece = |bytes| {
        access.watch.moved(bytes);
        Ok(())
    };
    // The prefix directory only: a later run renames caches so that this process finds nothing there.
    let held = access.files.holding(&[access.prefix.root()]);
    let files = &*held;
    if cache.is_some() || wanted.checksums {
        let sizes = entry.files.values().filter_map(|file| file.size);
        sizes.for_each(|size| access.watch.expect(size));
    }
    if let Some(target) = cache {
        target.clear(files, entry)?;
        files.make_private_dirs(target.base, &target.below)?;
    }
    let dir = access.prefix.dataset(wanted.id);
    check_count(&dir, access.comm.rank(), entry)?;
    let contained = entry.files.values().any(|file| file.segments.is_some());
    let mut part = PartFetch {
        access,
        files,
        wanted,
        cache,
        copier: Copier::new(files, access.buffer).watched(&after_piece),
        reader: ContainerReader::new(files, &dir).with_metadata(access.metadata),
        buffer: vec![0; if contained { access.buffer.max(1) } else { 0 }],
        dir,
        made: BTreeSet::new(),
        fetched: FetchedPart::default(),
    };
    part.reader.check_all(entry)?;
    part.fetched.files.rank = access.comm.rank();
    for (name, recorded) in &entry.files {
        let meta = match recorded.segments {
            Some(_) => part.fetch_contained(name, recorded)?,
            None => part.fetch_plain(name, recorded)?,
        };
        part.fetched.files.files.push(meta);
    }
    let unverified = entry.files.values().filter(|file| file.crc.is_none());
    part.fetched.unverified = unverified.count();
    Ok(part.fetched)
}

/// Compares the number of files with the one that was recorded, if it was.
fn check_count(dir: &Path, rank: usize, entry: &RankEntry) -> Result<()> {
    let listed = entry.files.len();
    match entry.count.filter(|count| *count != listed as u64) {
        Some(count) => {
            let what = format!("lists {listed} files of rank {rank}, {count} expected");
            Err(Error::corrupt(dir, what))
        }
        None => Ok(()),
    }
}

/// The settings for the fetch of each file of a rank.
struct PartFetch<'a> {
    access: &'a PrefixAccess<'a>,
    /// The files of cache and prefix directory.
    files: &'a dyn Files,
    wanted: &'a FetchRequest<'a>,
    cache: Option<&'a FetchTarget<'a>>,
    copier: Copier<'a>,
    reader: ContainerReader<'a>,
    /// For files in containers.
    buffer: Vec<u8>,
    /// The dataset's directory of records.
    dir: PathBuf,
    /// Directories in the cache that were made.
    made: BTreeSet<PathBuf>,
    fetched: FetchedPart,
}

impl PartFetch<'_> {
    /// The path of a file in the prefix directory.
    fn source(&self, name: &Name) -> Result<PathBuf> {
        let path = self.access.prefix.absolute(name);
        path.map_err(|error| error.in_file(self.dir.join(BASE)))
    }

    fn fetch_plain(&mut self, name: &Name, recorded: &FileEntry) -> Result<FileMeta> {
        let (from, stat) = self.find(name)?;
        let mut meta = FileMeta::new(name.clone(), name.clone(), &stat);
        let checksums = self.wanted.checksums;
        let expected = Content {
            size: recorded.size.unwrap_or(stat.size),
            crc: recorded.crc.filter(|_| checksums),
        };
        if let Some(target) = self.cache {
            let to = target.place(self.files, name, &mut self.made)?;
            let mode = CopyMode {
                crc: checksums,
                // The copies are not synced, like the program's own files in the cache: after a power loss, sizes
                // and checksums show which files are incomplete.
                sync: false,
            };
            let stat = self.access.metadata.then_some(&stat);
            let found = self
                .copier
                .copy_with(&from, &to, Some(&expected), mode, stat)?;
            meta.crc = found.crc;
            return Ok(meta);
        }
        let found = Content {
            size: stat.size,
            crc: None,
        };
        found.check(&expected, &from)?;
        if expected.crc.is_some() {
            self.copier.checksum(&from)?.check(&expected, &from)?;
        }
        meta.crc = expected.crc;
        Ok(meta)
    }

    /// Finds a plain file. If the program will read it in place, links are followed, as it does itself.
    fn find(&mut self, name: &Name) -> Result<(PathBuf, Stat)> {
        let mut from = self.source(name)?;
        let (files, prefix) = (self.files, self.access.prefix);
        let stat = match files.stat(&from) {
            Err(error) if error.is_link() && self.wanted.in_place => {
                let link = self.fetched.link.take();
                self.fetched.link = link.or_else(|| prefix.link_to(files, &from));
                seen_by_program(files, &from.clone(), |path| {
                    from = path.to_path_buf();
                    files.stat(path)
                })
            }
            other => other,
        };
        match stat? {
            Some(stat) if stat.kind == FileKind::File => Ok((from, stat)),
            Some(_) => Err(Error::corrupt(from, "is not a regular file")),
            None => Err(Error::corrupt(from, "is missing")),
        }
    }

    /// Fetches or verifies a file in containers. The program cannot read it there, so in bypass it gets a
    /// plain file at its path.
    fn fetch_contained(&mut self, name: &Name, recorded: &FileEntry) -> Result<FileMeta> {
        let wanted = self.wanted;
        let in_place = self.source(name)?;
        let mut crc = recorded.crc.filter(|_| wanted.checksums);
        let (reader, buffer) = (&mut self.reader, &mut self.buffer);
        let path = match self.cache {
            Some(target) => {
                let to = target.place(self.access.files, name, &mut self.made)?;
                let found = reader.extract((name, recorded), &to, wanted.checksums, buffer)?;
                crc = found.crc;
                Some(to)
            }
            None if wanted.in_place => {
                let restored = reader.restore((name, recorded), &in_place, false, buffer);
                let restored = restored.map_err(|error| of_extraction(error, &self.dir))?;
                match restored {
                    Restored::Written => self.fetched.extracted += 1,
                    Restored::Mended => self.fetched.mended.push(in_place.clone()),
                    Restored::Same => {}
                }
                Some(in_place)
            }
            None => {
                reader.verify((name, recorded), wanted.checksums, buffer)?;
                None
            }
        };
        let gone = |path| Error::corrupt(path, "was removed meanwhile");
        let stat = match path {
            Some(path) => self.access.files.stat(&path)?.ok_or_else(|| gone(path))?,
            None => {
                let attributes = recorded.attributes.filter(|_| self.access.metadata);
                let recorded = recorded.clone();
                containers::stat_of(&FileEntry {
                    attributes,
                    ..recorded
                })
            }
        };
        let mut meta = FileMeta::new(name.clone(), name.clone(), &stat);
        meta.crc = crc;
        Ok(meta)
    }
}

/// An error of the path to which a file from the containers in `dir` is extracted is no sign that the
/// dataset is bad.
fn of_extraction(mut error: Error, dir: &Path) -> Error {
    let lasting = !error.is_transient() && !error.is_link();
    if let Error::Io { path, errno, .. } = &mut error
        && lasting
        && !path.starts_with(dir)
    {
        *errno = None;
    }
    error
}
