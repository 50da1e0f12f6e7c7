//! Paths in the prefix directory.

use crate::config::fold_dots;
use crate::format::Name;
use crate::messages::OUTSIDE_OF_PREFIX;
use crate::store::{FileKind, Files};
use crate::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest path that fits into an application's buffer, including its terminator.
pub const MAX_FILENAME: usize = 1024;

/// The prefix directory and the paths in its `.scr`.
#[derive(Debug, Clone)]
pub struct Prefix {
    root: PathBuf,
    real: PathBuf,
}

impl Prefix {
    /// The prefix directory `root`, as configured and absolute. If it contains symbolic links,
    /// programs may use it under either name.
    pub fn new(root: &Path) -> Self {
        let root = fold_dots(root);
        let real = std::fs::canonicalize(&root).unwrap_or_else(|_| root.clone());
        Prefix { root, real }
    }

    /// `files`, restricted so that no symbolic link is followed below this directory and below
    /// `jobs`, the directories of jobs in caches.
    pub fn confine(
        &self,
        files: &dyn Files,
        jobs: impl IntoIterator<Item = PathBuf>,
    ) -> Arc<dyn Files> {
        let mut roots = vec![self.root.clone(), self.real.clone()];
        roots.extend(jobs);
        files.beneath(&roots)
    }

    /// The directory, as configured.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory with all symbolic links resolved, so that it has only one name.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// `.scr`, the directory of all of SCR's own files.
    pub fn meta(&self) -> PathBuf {
        self.root.join(".scr")
    }

    /// A file in `.scr`: `index.scr`, `flush.scr`, `halt.scr`, `nodes.scr`, `app.conf`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.meta().join(name)
    }

    /// The file that holds the name of the session. The session of MPI_COMM_WORLD has no such file.
    pub fn session_file(&self) -> PathBuf {
        self.file("session")
    }

    /// The directory with a file for each session of the job that has a name: its prefix directory.
    pub fn sessions(&self) -> PathBuf {
        self.file("sessions")
    }

    /// The directory of the summary and the rank2file of a dataset.
    pub fn dataset(&self, id: u64) -> PathBuf {
        self.meta().join(format!("scr.dataset.{id}"))
    }

    /// The ids of all datasets that have such a directory, in no order.
    pub fn ids(&self, files: &dyn Files) -> Result<Vec<u64>> {
        let id_of = |entry: OsString| {
            let id = entry.to_str()?.strip_prefix("scr.dataset.")?.parse().ok()?;
            (self.dataset(id).file_name() == Some(&*entry)).then_some(id)
        };
        let entries = files.list(&self.meta())?;
        Ok(entries.into_iter().filter_map(id_of).collect())
    }

    /// The path of `name` relative to the prefix. A relative `name` is taken from `cwd`;
    /// `.` and `..` are folded as text, as in SCR v3.1.0.
    ///
    /// # Errors
    /// The path is not strictly below the prefix, or it is SCR's own `.scr`.
    pub fn relative(&self, name: &Path, cwd: &Path) -> Result<PathBuf> {
        let path = fold_dots(&cwd.join(name));
        let below = path
            .strip_prefix(&self.root)
            .or_else(|_| path.strip_prefix(&self.real))
            .ok()
            .or_else(|| self.under_another_name(&path));
        match below {
            Some(rest) if rest.starts_with(".scr") => Err(Error::usage(
                "SCR_Route_file",
                format!(
                    "{} is in SCR's own directory; choose another name",
                    path.display()
                ),
            )),
            Some(rest) if !rest.as_os_str().is_empty() => Ok(rest.to_path_buf()),
            _ => Err(Error::usage(
                "SCR_Route_file",
                format!(
                    "{} is not below the prefix directory {}; write there, or set SCR_PREFIX ({OUTSIDE_OF_PREFIX})",
                    path.display(),
                    self.root.display()
                ),
            )),
        }
    }

    /// The rest of a path that leads through this directory under a third name: through a link in the path of the
    /// working directory, which a program may know by `PWD` alone.
    fn under_another_name<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        let is_this = |dir: &Path| std::fs::canonicalize(dir).is_ok_and(|dir| dir == self.real);
        let same = above.into_iter().find(|dir| is_this(dir))?;
        path.strip_prefix(same).ok()
    }

    /// The absolute path of a relative one. The path was read from a file, so it may be hostile.
    ///
    /// # Errors
    /// The path would leave the prefix directory, or is in SCR's own `.scr`.
    pub fn absolute(&self, relative: &Name) -> Result<PathBuf> {
        let path = relative.below(&self.root)?;
        if path.starts_with(self.meta()) {
            let what = format!("`{relative}` is in SCR's own directory, no file of a dataset");
            return Err(Error::format(0, what));
        }
        Ok(path)
    }

    /// The first symbolic link on the way to a path below the prefix directory; `None` without one.
    pub fn link_to(&self, files: &dyn Files, path: &Path) -> Option<PathBuf> {
        let mut way: Vec<&Path> = path.ancestors().skip(1).collect();
        way.retain(|dir| dir.starts_with(&self.root) && **dir != self.root);
        let is_link = |dir: &&&Path| {
            let stat = files.stat(dir).ok().flatten();
            stat.is_some_and(|stat| stat.kind == FileKind::Other)
        };
        way.iter().rev().find(is_link).map(|dir| dir.to_path_buf())
    }

    /// A directory below the prefix and all above it up to the prefix. They may be new, and then must
    /// be synced. The prefix itself has its resolved name, because links are not followed.
    pub fn dirs_from(&self, dir: &Path) -> Vec<PathBuf> {
        dir.ancestors()
            .take_while(|dir| dir.starts_with(&self.root))
            .map(|dir| if dir == self.root { &self.real } else { dir })
            .map(Path::to_path_buf)
            .collect()
    }
}

/// Calls `look` on a file that the program itself writes and reads in the prefix directory (bypass).
/// The program follows links in its own directories, so `look` gets the path to the same file without
/// links. Not for copying, renaming or removing.
pub fn seen_by_program<T>(
    files: &dyn Files,
    path: &Path,
    look: impl FnMut(&Path) -> Result<T>,
) -> Result<T> {
    let real = |path: &Path| match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => Ok(files.real_dir(dir)?.join(name)),
        _ => Ok(path.to_path_buf()),
    };
    unless_link(path, real, look)
}

/// Follows links in the path of a directory with files of the program, to make or to sync it.
pub fn dir_of_program<T>(
    files: &dyn Files,
    dir: &Path,
    look: impl FnMut(&Path) -> Result<T>,
) -> Result<T> {
    unless_link(dir, |dir| files.real_dir(dir), look)
}

fn unless_link<T>(
    path: &Path,
    real: impl Fn(&Path) -> Result<PathBuf>,
    mut look: impl FnMut(&Path) -> Result<T>,
) -> Result<T> {
    match look(path) {
        Err(error) if error.is_link() => look(&real(path)?),
        other => other,
    }
}

/// A path from the bytes of a C string.
pub fn from_bytes(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::{Prefix, seen_by_program};
    use crate::Error;
    use crate::store::posix::Posix;
    use std::path::{Path, PathBuf};

    fn relative(name: &str, cwd: &str) -> Option<PathBuf> {
        Prefix::new(Path::new("/p/run/./x/.."))
            .relative(Path::new(name), Path::new(cwd))
            .ok()
    }

    #[test]
    fn only_what_is_strictly_below() {
        assert_eq!(relative("/p/run/a/b", "/"), Some("a/b".into()));
        assert_eq!(relative("a//./c/../b", "/p/run"), Some("a/b".into()));
        assert_eq!(relative("../run/b", "/p/run"), Some("b".into()));
        for bad in ["", ".", "..", "/p/runner/a", "/p", "a/../../x", "/p/run/"] {
            assert_eq!(relative(bad, "/p/run"), None, "{bad}");
        }
        assert_eq!(relative(".scr/index.scr", "/p/run"), None);
        assert_eq!(relative(".scratch", "/p/run"), Some(".scratch".into()));
    }

    #[test]
    fn both_names_of_a_linked_prefix_are_accepted() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap().join("real");
        let link = dir.path().join("link");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let prefix = Prefix::new(&link);
        for at in [&real, &link] {
            assert_eq!(prefix.relative(Path::new("f"), at).unwrap(), Path::new("f"));
        }
    }
    #[test]
    fn only_links_below_the_prefix_are_on_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        std::os::unix::fs::symlink("a", real.join("in")).unwrap();
        let prefix = Prefix::new(&link);
        let found = |name: &str| prefix.link_to(&Posix, &link.join(name));
        assert_eq!(found("in/b/f"), Some(link.join("in")));
        assert_eq!(found("a/b/f"), None);
        assert_eq!(found("f"), None);
    }

    #[test]
    fn a_file_is_looked_at_again_only_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&real, real.join("in")).unwrap();
        let looks = |errno: i32| {
            let mut seen = Vec::new();
            let looked = seen_by_program(&Posix, &real.join("in/f"), |path| {
                seen.push(path.to_path_buf());
                let error = std::io::Error::from_raw_os_error(errno);
                Err::<(), _>(Error::io("open", path, error))
            });
            assert!(looked.is_err());
            seen
        };
        assert_eq!(looks(libc::EIO), [real.join("in/f")]);
        assert_eq!(looks(libc::ELOOP), [real.join("in/f"), real.join("f")]);
    }
}
