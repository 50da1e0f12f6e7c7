//! Gives files back from containers. The rank2file is untrusted: all its entries are checked before
//! a byte is written.

use crate::format::Name;
use crate::format::rank2file::{Attributes, BASE, FileEntry, RankEntry, Segment};
use crate::messages::{FILE_IN_THE_WAY, WRONG_CHECKSUM};
use crate::store::{File, FileKind, Files, Stat, reach, write_with_holes};
use crate::transfer::copy::{Content, Copier};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// A file in containers: its name and its entry in the rank2file.
pub type ContainedFile<'a> = (&'a Name, &'a FileEntry);

/// Reads the files of one dataset from its containers.
pub struct ContainerReader<'a> {
    files: &'a dyn Files,
    /// The dataset's directory.
    dir: PathBuf,
    /// Files get their recorded mode and time.
    metadata: bool,
    /// The container that was read last, with its size.
    open: Option<(PathBuf, Box<dyn File>, u64)>,
}

/// The result of [`ContainerReader::restore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// The file was written.
    Written,
    /// The file was there, with this content.
    Same,
    /// The file was there with its size and its time of change, but with other content: it was damaged since it was
    /// extracted. The file has its content again.
    Mended,
}

impl<'a> ContainerReader<'a> {
    /// A reader of the dataset with this directory in `.scr`.
    pub fn new(files: &'a dyn Files, dir: &Path) -> Self {
        ContainerReader {
            files,
            dir: dir.to_path_buf(),
            metadata: true,
            open: None,
        }
    }

    /// Gives files their recorded mode and time only if `metadata` is true (`SCR_COPY_METADATA`).
    #[must_use]
    pub fn with_metadata(self, metadata: bool) -> Self {
        ContainerReader { metadata, ..self }
    }

    /// Checks without reading that the files of a rank that are in containers can be there: each has a
    /// place of its own in a container that is long enough. Local.
    ///
    /// # Errors
    /// Names the first file without such a place.
    pub fn check_all(&mut self, entry: &RankEntry) -> Result<()> {
        let mut files = entry.files.iter();
        files.try_for_each(|file| self.check(file).map(drop))?;
        self.check_places(entry)
    }

    /// Checks that no two files of a rank have the same bytes of a container. Local.
    pub fn check_places(&self, entry: &RankEntry) -> Result<()> {
        let mut places = Vec::new();
        for (name, file) in &entry.files {
            for segment in file.segments.iter().flatten().filter(|s| s.length > 0) {
                let begin = segment.offset;
                let end = begin.saturating_add(segment.length);
                places.push((self.container(segment)?, begin, end, name));
            }
        }
        places.sort();
        let mut pairs = places.iter().zip(places.iter().skip(1));
        match pairs.find(|(a, b)| a.0 == b.0 && a.2 > b.1) {
            None => Ok(()),
            Some((a, b)) => Err(self.wrong(format!(
                "says that bytes from {} on in {} are of {} and of {}",
                b.1,
                a.0.display(),
                a.3,
                b.3
            ))),
        }
    }

    /// Checks one file likewise. Gives its size.
    fn check(&mut self, (name, entry): ContainedFile) -> Result<u64> {
        let segments = entry.segments.as_deref().unwrap_or_default();
        let mut lengths = segments.iter().map(|segment| segment.length);
        let size = lengths.try_fold(0u64, u64::checked_add);
        let recorded = entry.size.or(size);
        let Some(size) = size.filter(|size| entry.segments.is_none() || recorded == Some(*size))
        else {
            return Err(self.wrong(format!(
                "gives the segments of {name} another length in all than its {} bytes",
                recorded.unwrap_or(0)
            )));
        };
        for segment in segments {
            let path = self.container(segment)?;
            let (_, length) = self.open(&path, name)?;
            let end = segment.offset.checked_add(segment.length);
            if end.is_none_or(|end| end > length) {
                return Err(Error::corrupt(
                    path,
                    format!(
                        "is cut short: it has {length} bytes, and {name} should have {} bytes from \
                         {} on",
                        segment.length, segment.offset
                    ),
                ));
            }
        }
        Ok(size)
    }

    /// Reads a file and compares it with its recorded size and, if `checksums`, checksum.
    pub fn verify(
        &mut self,
        file: ContainedFile,
        checksums: bool,
        buffer: &mut [u8],
    ) -> Result<Content> {
        self.check(file)?;
        self.pass(file, checksums, buffer, &mut |_, _| Ok(()))
    }

    /// Writes a file to `to`, over any file there, with its recorded mode and time. The directory must exist.
    /// Compares as [`ContainerReader::verify`] does; if the file is not as recorded, `to` is removed. Does not
    /// sync: the containers keep the file.
    pub fn extract(
        &mut self,
        file: ContainedFile,
        to: &Path,
        checksums: bool,
        buffer: &mut [u8],
    ) -> Result<Content> {
        let size = self.check(file)?;
        let files = self.files;
        // A private file is private from the beginning.
        let attributes = file.1.attributes.filter(|_| self.metadata);
        let mode = attributes.map_or(0o666, |a| a.mode & 0o777);
        let target = files.create(to, mode | 0o600)?;
        // No space is reserved: the file may have holes.
        let done = self
            .pass(file, checksums, buffer, &mut |offset, data| {
                write_with_holes(&*target, offset, data)
            })
            .and_then(|found| reach(&*target, size).map(|()| found))
            .and_then(|found| match attributes {
                Some(attributes) => restore_attributes(files, to, &attributes).map(|()| found),
                None => Ok(found),
            });
        if done.is_err() {
            // The first error is reported.
            let _ = files.remove_file(to);
        }
        done
    }

    /// Gives the file at `to` its content, unless the file already has it. Makes the directory. Another file there is
    /// written over only by `force`, after the content was found to be as recorded. A file with the recorded size and
    /// time of change is the same file. Without a recorded time, the file gets the time of its container instead. After
    /// a kill or a power loss the file is whole, or as before: a part of it would be mistaken for another file.
    pub fn restore(
        &mut self,
        file: ContainedFile,
        to: &Path,
        force: bool,
        buffer: &mut [u8],
    ) -> Result<Restored> {
        let (_, entry) = file;
        let mut done = Restored::Written;
        match self.files.stat(to)? {
            None => {}
            Some(stat) => {
                let wanted = self.verify(file, true, buffer)?;
                if stat.kind == FileKind::File
                    && stat.size == wanted.size
                    && Copier::new(self.files, buffer.len()).checksum(to)? == wanted
                {
                    return Ok(Restored::Same);
                }
                if stat.kind == FileKind::File && self.is_extracted(entry, &stat, wanted.size)? {
                    done = Restored::Mended;
                } else if !force || stat.kind != FileKind::File {
                    return Err(other_file(to));
                }
            }
        }
        if let Some(parent) = to.parent() {
            self.files.make_dirs(parent)?;
        }
        let part = temporary_path(to);
        self.extract(file, &part, true, buffer)?;
        let placed = self
            .mark(entry, &part)
            .and_then(|()| self.files.open(&part))
            .and_then(|file| file.sync())
            .and_then(|()| self.files.rename(&part, to));
        if placed.is_err() {
            // The first error is reported.
            let _ = self.files.remove_file(&part);
        }
        placed.map(|()| done)
    }

    /// True if a plain file has the size and the time of change, to the nanosecond, of a file in containers, or the
    /// time that [`ContainerReader::mark`] gives: it was extracted, and nobody has written to it since.
    fn is_extracted(&self, entry: &FileEntry, stat: &Stat, size: u64) -> Result<bool> {
        let recorded = entry.attributes.map(|a| (a.mtime_secs, a.mtime_nsecs));
        Ok(stat.size == size
            && (recorded == Some(stat.mtime) || self.container_time(entry)? == Some(stat.mtime)))
    }

    /// Gives a file that was extracted without a recorded time the time of its container. So it is known later whether
    /// somebody has written to it.
    fn mark(&self, entry: &FileEntry, path: &Path) -> Result<()> {
        let keeps = self.metadata && entry.attributes.is_some();
        let time = self.container_time(entry)?.filter(|_| !keeps);
        let Some((mtime, there)) = time.zip(self.files.stat(path)?) else {
            return Ok(());
        };
        self.files.restore(path, &Stat { mtime, ..there }).map(drop)
    }

    /// Time at which the container with the first bytes of a file was written. `None` for a file without
    /// content.
    fn container_time(&self, entry: &FileEntry) -> Result<Option<(i64, u32)>> {
        let Some(first) = entry.segments.iter().flatten().next() else {
            return Ok(None);
        };
        let stat = self.files.stat(&self.container(first)?)?;
        Ok(stat.map(|stat| stat.mtime))
    }

    /// Reads the bytes of a file that has been checked.
    fn pass(
        &mut self,
        (name, entry): ContainedFile,
        checksums: bool,
        buffer: &mut [u8],
        each: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<Content> {
        let mut hasher = crc32fast::Hasher::new();
        let mut size = 0;
        let segments = entry.segments.as_deref().unwrap_or_default();
        for segment in segments {
            let path = self.container(segment)?;
            let (container, _) = self.open(&path, name)?;
            let mut done = 0;
            while done < segment.length {
                let n = (segment.length - done).min(buffer.len() as u64) as usize;
                let piece = &mut buffer[..n];
                container.read_at(segment.offset + done, piece)?;
                hasher.update(piece);
                each(size, piece)?;
                (done, size) = (done + n as u64, size + n as u64);
            }
        }
        let crc = hasher.finalize();
        match entry.crc.filter(|wanted| checksums && *wanted != crc) {
            None => {}
            Some(wanted) => {
                let what = format!(
                    "{name} has CRC32 0x{crc:08x}, 0x{wanted:08x} was recorded{} ({WRONG_CHECKSUM})",
                    segments.first().map_or(String::new(), |first| format!(
                        "; it begins at offset {} of this container",
                        first.offset
                    ))
                );
                let first = segments.first().map(|first| self.container(first));
                return Err(Error::corrupt(first.unwrap_or(Ok(self.top()))?, what));
            }
        }
        Ok(Content {
            size,
            crc: Some(crc),
        })
    }

    /// The path of a segment's container.
    fn container(&self, segment: &Segment) -> Result<PathBuf> {
        let path = segment.container.below(&self.dir);
        path.map_err(|e| e.in_file(self.top()))
    }

    /// Opens a container, and gives its size. `name`: a file in it.
    fn open(&mut self, path: &Path, name: &Name) -> Result<(&dyn File, u64)> {
        let open = match self.open.take().filter(|(open, ..)| open == path) {
            Some(open) => open,
            None => {
                let file = self.files.open(path).map_err(|error| {
                    if error.is_not_found() {
                        Error::corrupt(path, format!("is missing; {name} is in it"))
                    } else {
                        error
                    }
                })?;
                let size = file.size()?;
                (path.to_path_buf(), file, size)
            }
        };
        let (_, file, size) = &*self.open.insert(open);
        Ok((&**file, *size))
    }

    fn top(&self) -> PathBuf {
        self.dir.join(BASE)
    }

    fn wrong(&self, what: String) -> Error {
        Error::corrupt(self.top(), what)
    }
}

/// Path of a file until it is whole: beside its final path, since only there a rename is sure to be
/// possible. The path is always the same, so that the next attempt writes over the remains of a killed
/// one.
pub fn temporary_path(to: &Path) -> PathBuf {
    let name = to.file_name().unwrap_or_default().as_encoded_bytes();
    to.with_file_name(format!(
        ".scr.extract.{:08x}.{}",
        crc32fast::hash(name),
        name.len()
    ))
}

/// The attributes of a file in containers, as `stat` would give them.
pub(in crate::prefix) fn stat_of(entry: &FileEntry) -> Stat {
    let lengths = entry.segments.iter().flatten().map(|s| s.length);
    let size = lengths.fold(0, u64::saturating_add);
    let mode = entry.attributes.map_or(0o600, |a| a.mode & 0o777);
    let mtime = entry
        .attributes
        .map_or((0, 0), |a| (a.mtime_secs, a.mtime_nsecs));
    Stat {
        kind: FileKind::File,
        size,
        blocks: 0,
        inode: 0,
        mode: libc::S_IFREG | mode,
        uid: 0,
        gid: 0,
        atime: mtime,
        ctime: mtime,
        mtime,
    }
}

/// Gives a file its recorded mode, without set-id bits, and time.
fn restore_attributes(files: &dyn Files, path: &Path, recorded: &Attributes) -> Result<()> {
    let Some(there) = files.stat(path)? else {
        return Err(Error::corrupt(path, "was removed meanwhile"));
    };
    files
        .restore(
            path,
            &Stat {
                mode: recorded.mode & 0o777,
                mtime: (recorded.mtime_secs, recorded.mtime_nsecs.min(999_999_999)),
                ..there
            },
        )
        .map(drop)
}

/// The error for a file with another content where one is to be extracted.
pub fn other_file(path: &Path) -> Error {
    Error::Io {
        action: "extract",
        path: path.to_path_buf(),
        // The error is no sign of damage in the dataset.
        errno: None,
        text: format!(
            "another file is there; move it away, or write over it with `scr extract --force` \
             ({FILE_IN_THE_WAY})"
        ),
    }
}
