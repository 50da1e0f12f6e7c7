//! Removal of a directory with its content.
//!
//! Everything works relative to an open directory, and directories are opened without following
//! links. So no link leads outside. Only one directory is open at a time: the way back up is `..`,
//! which must be the directory that was left. So depth and path length have no limit.

use super::attributes::chmod_handle;
use super::beneath::At;
use super::descriptor::opened;
use super::failure::{failed, refused};
use super::retry::retry_on_intr;
use crate::Result;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fchmod, fstat, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Number of attempts to empty a directory to which other processes add files.
const TRIES: u32 = 4;

const ACTION: &str = "remove";

/// A directory between the root of the removal and the current one.
struct DirectoryLevel {
    /// The name of the directory in the level above.
    name: OsString,
    identity: (u64, u64),
    directories: Vec<OsString>,
    tries: u32,
}

/// Removes `path`. A missing path is no error. Below `roots`, no link is followed.
pub(super) fn remove(roots: &[PathBuf], path: &Path) -> Result<()> {
    let parent = match At::find(roots, ACTION, path).map(At::parent) {
        Err(error) if error.is_not_found() => return Ok(()),
        found => match found? {
            Err(Errno::NOENT) => return Ok(()),
            other => other.map_err(|errno| failed(ACTION, path, errno))?,
        },
    };
    let Some((parent, name)) = parent else {
        let text = "a tree to remove needs a name, not '/' or '..'";
        return Err(refused(ACTION, path, Errno::INVAL, text));
    };
    match unlink(&parent, name) {
        Ok(()) => Ok(()),
        Err(Errno::ISDIR) => TreeRemoval {
            root: path,
            levels: Vec::new(),
        }
        .run(parent, name),
        Err(errno) => Err(failed(ACTION, path, errno)),
    }
}

struct TreeRemoval<'a> {
    root: &'a Path,
    levels: Vec<DirectoryLevel>,
}

impl TreeRemoval<'_> {
    fn run(mut self, parent: OwnedFd, name: &OsStr) -> Result<()> {
        let top = identity(&parent).map_err(|errno| failed(ACTION, self.root, errno))?;
        let mut here = self
            .descend(&parent, name.to_os_string(), 0)?
            .unwrap_or(parent);
        while let Some(level) = self.levels.last_mut() {
            if let Some(name) = level.directories.pop() {
                if let Some(below) = self.descend(&here, name, 0)? {
                    here = below;
                }
                continue;
            }
            // The directory is empty now. The directory is removed from the one above it.
            let above = self
                .levels
                .len()
                .checked_sub(2)
                .and_then(|i| self.levels.get(i));
            let expected = above.map_or(top, |level| level.identity);
            here = self.ascend(&here, expected)?;
            let Some(DirectoryLevel { name, tries, .. }) = self.levels.pop() else {
                break;
            };
            match retry_on_intr(|| unlinkat(&here, &name, AtFlags::REMOVEDIR)) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::NOTEMPTY | Errno::EXIST) if tries < TRIES => {
                    if let Some(below) = self.descend(&here, name, tries + 1)? {
                        here = below;
                    }
                }
                Err(errno) => return Err(failed(ACTION, &self.path(&name), errno)),
            }
        }
        Ok(())
    }

    /// Opens a directory, removes everything in it but directories, and lists these. Returns `None`
    /// if the directory is gone, or was something else, which is then removed.
    fn descend(&mut self, parent: &OwnedFd, name: OsString, tries: u32) -> Result<Option<OwnedFd>> {
        let path = self.path(&name);
        let fail = |errno| failed(ACTION, &path, errno);
        let directory = match open_directory(parent, &name) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return unlink(parent, &name).map(|()| None).map_err(fail);
            }
            Err(errno) => return Err(fail(errno)),
        };
        let stat = fstat(&directory).map_err(fail)?;
        if stat.st_mode & 0o700 != 0o700 && stat.st_uid == geteuid().as_raw() {
            fchmod(&directory, Mode::RWXU).map_err(fail)?;
        }
        let mut directories = Vec::new();
        for entry in Dir::read_from(&directory).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let below = OsStr::from_bytes(entry.file_name().to_bytes());
            if below == "." || below == ".." {
                continue;
            }
            if entry.file_type() == FileType::Directory {
                directories.push(below.to_os_string());
                continue;
            }
            match unlink(&directory, below) {
                Ok(()) => {}
                Err(Errno::ISDIR) => directories.push(below.to_os_string()),
                Err(errno) => return Err(failed(ACTION, &path.join(below), errno)),
            }
        }
        let identity = identity(&directory).map_err(fail)?;
        self.levels.push(DirectoryLevel {
            name,
            identity,
            directories,
            tries,
        });
        Ok(Some(directory))
    }

    fn ascend(&self, here: &OwnedFd, expected: (u64, u64)) -> Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let above = opened(|| openat(here, "..", flags, Mode::empty()))
            .map_err(|errno| failed(ACTION, self.root, errno))?;
        match identity(&above) {
            Ok(found) if found == expected => Ok(above),
            Ok(_) => {
                let text = "a directory in it was moved away meanwhile";
                Err(refused(ACTION, self.root, Errno::AGAIN, text))
            }
            Err(errno) => Err(failed(ACTION, self.root, errno)),
        }
    }

    /// Path of an entry of the innermost level, for messages.
    fn path(&self, name: &OsStr) -> PathBuf {
        if self.levels.is_empty() {
            return self.root.to_path_buf();
        }
        let mut path = self.root.to_path_buf();
        path.extend(self.levels.iter().skip(1).map(|level| &level.name));
        path.push(name);
        path
    }
}

/// Opens a directory of this user for reading, even if its mode does not allow that.
fn open_directory(parent: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let open = |flags| {
        let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        opened(|| openat(parent, name, flags, Mode::empty()))
    };
    match open(OFlags::RDONLY) {
        Err(Errno::ACCESS) => {
            let handle = open(OFlags::PATH)?;
            if fstat(&handle)?.st_uid != geteuid().as_raw() {
                return Err(Errno::ACCESS);
            }
            chmod_handle(&handle, Mode::RWXU)?;
            open(OFlags::RDONLY)
        }
        other => other,
    }
}

/// Removes anything but a directory; fails with ISDIR for a directory.
fn unlink(parent: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    match retry_on_intr(|| unlinkat(parent, name, AtFlags::empty())) {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

fn identity(directory: &OwnedFd) -> rustix::io::Result<(u64, u64)> {
    fstat(directory).map(|stat| (stat.st_dev, stat.st_ino))
}
