//! Resolves paths without following links.
//!
//! Below some directories, the roots, only SCR and the program may decide where a path leads: below
//! the prefix directory, and below the directories of a job in the caches. There, the parent of
//! each path is opened first, relative to its root, and no component may be a symbolic link. The
//! operation then works relative to the open parent. So links that someone puts there at any time
//! have no effect. A root itself may be reached through links.

use super::descriptor::{duplicate, opened};
use super::failure::{failed, refused};
use super::retry::retry_on_intr;
use crate::system::limits::share_of_open_files;
use crate::{Error, Result};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, open, openat, openat2, readlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Flags to open a directory as a starting point only.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Number of directories that are held at once: those of the sources and targets of a copy, and
/// some for programs that write into several.
const HELD: usize = 8;

/// Directories that stay open; see [`Files::holding`](super::Files::holding).
#[derive(Debug)]
pub(super) struct HeldDirs {
    tops: Vec<PathBuf>,
    /// The most recent one comes last.
    open: Mutex<Vec<(PathBuf, Arc<OwnedFd>)>>,
}

impl HeldDirs {
    /// Holds `dirs`, and those below them.
    pub fn below(dirs: &[&Path]) -> Self {
        HeldDirs {
            tops: dirs.iter().map(|dir| dir.to_path_buf()).collect(),
            open: Mutex::default(),
        }
    }

    /// The open directory `dir`, which `open` opens if it is not held.
    fn get(&self, dir: &Path, open: impl Fn() -> Result<Arc<OwnedFd>>) -> Result<Arc<OwnedFd>> {
        let mut held = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(one, _): &&(PathBuf, _)| one.as_os_str() == dir.as_os_str();
        if let Some((_, found)) = held.iter().rev().find(same) {
            return Ok(found.clone());
        }
        let found = match open() {
            Err(error) if error.is_too_many_open() && !held.is_empty() => {
                held.clear();
                open()?
            }
            other => other?,
        };
        if self.tops.iter().any(|top| dir.starts_with(top)) {
            while held.len() >= share_of_open_files(HELD) {
                held.remove(0);
            }
            held.push((dir.to_path_buf(), found.clone()));
        }
        Ok(found)
    }

    /// Closes all. False if it did not exist.
    pub fn close(&self) -> bool {
        let mut held = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let some = !held.is_empty();
        held.clear();
        some
    }
}

/// A path, as a name relative to an open directory.
pub(super) struct At<'a> {
    /// The parent, if the path is below a root. Then `name` is one component.
    parent: Option<Arc<OwnedFd>>,
    name: &'a Path,
    path: &'a Path,
}

impl<'a> At<'a> {
    /// Resolves `path` for `action`.
    ///
    /// # Errors
    /// The parent cannot be opened, or one of its components is a link.
    pub fn find(roots: &[PathBuf], action: &'static str, path: &'a Path) -> Result<At<'a>> {
        At::find_held(roots, None, action, path)
    }

    /// Resolves `path`. A directory that `held` has open is not opened again.
    pub fn find_held(
        roots: &[PathBuf],
        held: Option<&HeldDirs>,
        action: &'static str,
        path: &'a Path,
    ) -> Result<At<'a>> {
        let Some((root, below)) = root_of(roots, path) else {
            let (parent, name) = (None, path);
            return Ok(At { parent, name, path });
        };
        let (Some(above), Some(name)) = (below.parent(), below.file_name()) else {
            return Err(no_plain_names(action, path));
        };
        let resolver = Resolver { root, path, action };
        let open = || resolver.open(above).map(Arc::new);
        let parent = match (held, path.parent()) {
            (Some(held), Some(dir)) => held.get(dir, open),
            _ => open(),
        };
        let (parent, name) = (Some(parent?), Path::new(name));
        Ok(At { parent, name, path })
    }

    /// The directory that [`At::name`] is relative to.
    pub fn dir(&self) -> BorrowedFd<'_> {
        self.parent.as_ref().map_or(CWD, |parent| parent.as_fd())
    }

    /// The name to use with [`At::dir`].
    pub fn name(&self) -> &Path {
        self.name
    }

    /// The open parent, and the last component; `None` for a path without one, such as `/`.
    pub fn parent(self) -> rustix::io::Result<Option<(OwnedFd, &'a OsStr)>> {
        let Some(name) = self.path.file_name() else {
            return Ok(None);
        };
        let parent = match (self.parent, self.path.parent()) {
            (Some(parent), _) => match Arc::try_unwrap(parent) {
                Ok(parent) => parent,
                Err(held) => duplicate(&held)?,
            },
            (None, Some(parent)) => opened(|| open(parent, DIRECTORY, Mode::empty()))?,
            (None, None) => return Ok(None),
        };
        Ok(Some((parent, name)))
    }

    /// Opens the path. Below a root, a link in the last component is not followed either.
    pub fn open(&self, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let no_link = match self.parent {
            Some(_) => OFlags::NOFOLLOW,
            None => OFlags::empty(),
        };
        let flags = flags | no_link | OFlags::CLOEXEC;
        opened(|| openat(self.dir(), self.name, flags, Mode::empty()))
    }

    /// The error of `action` on this path. Its text names a link, if a link is the reason.
    pub fn error(&self, action: &'static str, errno: Errno) -> Error {
        match (&self.parent, errno) {
            (Some(parent), Errno::NOTDIR | Errno::LOOP) => {
                link(parent, self.name.as_os_str(), self.path).map_or_else(
                    || failed(action, self.path, errno),
                    |text| refused(action, self.path, Errno::LOOP, text),
                )
            }
            _ => failed(action, self.path, errno),
        }
    }
}

/// Makes the directory `path` and its missing parents, with `mode` less the umask.
pub(super) fn make_dirs(roots: &[PathBuf], path: &Path, mode: u32) -> Result<()> {
    let action = "make directory";
    let plain = |path: &Path| {
        let made = DirBuilder::new().recursive(true).mode(mode).create(path);
        made.map_err(|error| Error::io(action, path, error))
    };
    let Some((root, below)) = root_of(roots, path) else {
        return plain(path);
    };
    plain(root)?;
    Resolver { root, path, action }.make(below, Mode::from_raw_mode(mode))
}

/// The innermost root that `path` is below, and the rest of the path. `None` for a root itself.
fn root_of<'r, 'p>(roots: &'r [PathBuf], path: &'p Path) -> Option<(&'r Path, &'p Path)> {
    let below = roots
        .iter()
        .filter_map(|root| Some((root.as_path(), path.strip_prefix(root).ok()?)));
    let innermost = below.min_by_key(|(_, below)| below.as_os_str().len());
    innermost.filter(|(_, below)| !below.as_os_str().is_empty())
}

/// Resolves the directory of `path` below a root, for `action`.
struct Resolver<'a> {
    root: &'a Path,
    path: &'a Path,
    action: &'static str,
}

impl Resolver<'_> {
    fn failed(&self, errno: Errno) -> Error {
        failed(self.action, self.path, errno)
    }

    fn top(&self) -> Result<OwnedFd> {
        opened(|| open(self.root, DIRECTORY, Mode::empty())).map_err(|e| self.failed(e))
    }

    /// Opens the directory `below` the root.
    fn open(&self, below: &Path) -> Result<OwnedFd> {
        let mut names = below.components();
        if names.any(|name| !matches!(name, Component::Normal(_))) {
            return Err(no_plain_names(self.action, self.path));
        }
        let top = self.top()?;
        if below.as_os_str().is_empty() {
            return Ok(top);
        }
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match opened(|| openat2(&top, below, DIRECTORY, Mode::empty(), how)) {
            Ok(directory) => Ok(directory),
            // The call is unknown to kernels before 5.6 and to sandboxes. Or there is a link, which
            // the error must name.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::LOOP | Errno::NOTDIR) => {
                self.step(top, below, |_, _| Ok(()))
            }
            Err(errno) => Err(self.failed(errno)),
        }
    }

    /// Makes the directory `below` the root and its missing parents.
    fn make(&self, below: &Path, mode: Mode) -> Result<()> {
        if self.open(below).is_ok() {
            return Ok(());
        }
        let make = |parent: &OwnedFd, name: &OsStr| mkdirat(parent, name, mode);
        // Mostly only the last component is missing.
        if let (Some(above), Some(name)) = (below.parent(), below.file_name())
            && let Ok(parent) = self.open(above)
            && make(&parent, name).is_ok()
        {
            return Ok(());
        }
        self.step(self.top()?, below, make).map(drop)
    }

    /// Opens one component after the other, and calls `before` for each. Errors of `before` count
    /// only if the directory then does not exist: a read-only file system also reports them for
    /// directories that exist.
    fn step(
        &self,
        top: OwnedFd,
        below: &Path,
        before: impl Fn(&OwnedFd, &OsStr) -> rustix::io::Result<()>,
    ) -> Result<OwnedFd> {
        let (mut directory, mut here) = (top, self.root.to_path_buf());
        for component in below.components() {
            let Component::Normal(name) = component else {
                return Err(no_plain_names(self.action, self.path));
            };
            here.push(name);
            let done = retry_on_intr(|| before(&directory, name));
            let flags = DIRECTORY | OFlags::NOFOLLOW;
            let next = opened(|| openat(&directory, name, flags, Mode::empty()));
            directory = match next {
                Ok(next) => next,
                Err(errno @ (Errno::NOTDIR | Errno::LOOP)) => {
                    return Err(match link(&directory, name, &here) {
                        Some(text) => refused(self.action, self.path, Errno::LOOP, text),
                        None => self.failed(done.err().unwrap_or(errno)),
                    });
                }
                Err(errno) => return Err(self.failed(done.err().unwrap_or(errno))),
            };
        }
        Ok(directory)
    }
}

/// The error text if the component is a link; `None` if it is not.
fn link(parent: &OwnedFd, name: &OsStr, path: &Path) -> Option<String> {
    let target = readlinkat(parent, name, Vec::new()).ok()?;
    let target = Path::new(OsStr::from_bytes(target.as_bytes()));
    Some(format!(
        "{} is a symbolic link to {}, which SCR does not follow here; put the directory itself in \
         its place",
        path.display(),
        target.display()
    ))
}

fn no_plain_names(action: &'static str, path: &Path) -> Error {
    let text = "a path of plain names, without '..', is needed here";
    refused(action, path, Errno::INVAL, text)
}

/// The path of a directory with all links resolved. Its last components need not exist.
pub(super) fn real_dir(path: &Path) -> Result<PathBuf> {
    for above in path.ancestors() {
        match std::fs::canonicalize(above) {
            Ok(real) => {
                let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
                return Ok(real.join(rest));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("find", path, error)),
        }
    }
    Ok(path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Directories stay open for speed alone.
    #[test]
    fn held_directories_are_closed_where_the_system_opens_no_more() {
        let held = HeldDirs::below(&[Path::new("/")]);
        let open = |dir: &str| {
            let opened = opened(|| open(dir, DIRECTORY, Mode::empty()));
            Ok(Arc::new(opened.unwrap()))
        };
        let top = Arc::downgrade(&held.get(Path::new("/"), || open("/")).unwrap());
        let dev = Path::new("/dev");
        let if_few = || match top.upgrade() {
            Some(_) => Err(failed("open", dev, Errno::MFILE)),
            None => open("/dev"),
        };
        held.get(dev, if_few).unwrap();
        assert!(held.close());
        assert!(!held.close(), "nothing is held any more");
    }

    /// Resolving in the kernel, and step by step without openat2, gives the same results.
    #[test]
    fn both_ways_find_the_same_directories_and_the_same_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir_all(root.join("a/b/c")).unwrap();
        std::fs::create_dir(dir.path().join("out")).unwrap();
        std::fs::write(root.join("a/file"), "").unwrap();
        symlink("../../../out", root.join("a/b/away")).unwrap();
        symlink("c", root.join("a/b/within")).unwrap();
        symlink("nowhere", root.join("a/dangling")).unwrap();
        symlink(&root, dir.path().join("alias")).unwrap();
        for root in [root.clone(), dir.path().join("alias")] {
            for (below, expected) in [
                ("a/b/c", None),
                ("a", None),
                (
                    "a/b/away",
                    Some((Errno::LOOP, "b/away is a symbolic link to ../../../out")),
                ),
                (
                    "a/b/away/x",
                    Some((Errno::LOOP, "a/b/away is a symbolic link")),
                ),
                (
                    "a/b/within",
                    Some((Errno::LOOP, "within is a symbolic link to c")),
                ),
                (
                    "a/dangling/x",
                    Some((Errno::LOOP, "dangling is a symbolic link")),
                ),
                ("a/file/x", Some((Errno::NOTDIR, ""))),
                ("a/none", Some((Errno::NOENT, ""))),
                ("a/../a", Some((Errno::INVAL, "plain names"))),
            ] {
                let path = root.join(below).join("f");
                let resolver = Resolver {
                    root: &root,
                    path: &path,
                    action: "open",
                };
                let kernel = resolver.open(Path::new(below));
                let steps = resolver.step(resolver.top().unwrap(), Path::new(below), |_, _| Ok(()));
                for found in [kernel, steps] {
                    let told = found.err().map(|e| (e.errno().unwrap(), e.to_string()));
                    let errno = expected.map(|(errno, _)| errno.raw_os_error());
                    assert_eq!(told.as_ref().map(|(errno, _)| *errno), errno, "{below}");
                    let (_, text) = told.unwrap_or_default();
                    assert!(
                        text.contains(expected.map_or("", |(_, text)| text)),
                        "{text}"
                    );
                }
            }
        }
    }
}
