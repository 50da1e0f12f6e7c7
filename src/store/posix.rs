//! The real file system.

use super::attributes::{restore_path, stat_of};
use super::beneath::{self, At, HeldDirs};
use super::descriptor::opened;
use super::failure::{failed, refused};
use super::file::PosixFile;
use super::retry::retry_on_intr;
use super::size_limit::{failed_in_limit, limited};
use super::{Durability, File, FileKind, Files, Lock, Refused, Space, Stat, private, tree};
use crate::Result;
use crate::messages::SYMBOLIC_LINK;
use crate::system::time::sleep;
use rustix::fd::{AsRawFd, IntoRawFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, accessat, flock, fstat,
    fstatvfs, fsync, ftruncate, openat, renameat, statat, syncfs, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Files and directories of the operating system (Linux). Modes are set through /proc if no other
/// call avoids links.
#[derive(Debug, Clone, Copy, Default)]
pub struct Posix;

/// The real file system, with directories below which no link is followed; see [`Files::beneath`].
#[derive(Debug, Clone, Default)]
pub struct Beneath {
    roots: Vec<PathBuf>,
}

impl Beneath {
    /// Follows no link below `roots`.
    pub fn new(roots: &[PathBuf]) -> Self {
        let roots = roots.to_vec();
        Beneath { roots }
    }
}

/// The real file system, with directories that stay open; see [`Files::holding`].
struct Holding {
    roots: Vec<PathBuf>,
    held: HeldDirs,
}

/// An operating system with directories below which no link is followed.
trait System: Send + Sync {
    /// The directories below which no link is followed.
    fn roots(&self) -> &[PathBuf];

    /// Resolves the path of a file that is opened, created or looked at.
    fn find<'a>(&self, action: &'static str, path: &'a Path) -> Result<At<'a>> {
        At::find(self.roots(), action, path)
    }

    /// Closes the directories that stay open. False if it did not exist.
    fn close_held(&self) -> bool {
        false
    }

    /// Calls `open`. If too many files are open, closes the held directories and calls `open` again.
    fn with_few_open<T>(&self, open: impl Fn() -> Result<T>) -> Result<T> {
        match open() {
            Err(error) if error.is_too_many_open() && self.close_held() => open(),
            other => other,
        }
    }
}

impl System for Posix {
    fn roots(&self) -> &[PathBuf] {
        &[]
    }
}

impl System for Beneath {
    fn roots(&self) -> &[PathBuf] {
        &self.roots
    }
}

impl System for Holding {
    fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    fn find<'a>(&self, action: &'static str, path: &'a Path) -> Result<At<'a>> {
        At::find_held(&self.roots, Some(&self.held), action, path)
    }

    fn close_held(&self) -> bool {
        self.held.close()
    }
}

/// Flags that avoid blocking on a FIFO, following a link in the last component, and leaking into a
/// child.
const SAFE: OFlags = OFlags::CLOEXEC
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK);

/// Number of temporary names that [`Files::replace`] tries. A name is in use only if a process with
/// the same number on another node is writing the same file, or died while it did.
const NAMES: u32 = 1000;

/// Bytes of the target's name in a temporary name, whose limit is 255 (NAME_MAX).
const NAME_PART: usize = 200;

/// Opens a regular file, and returns its attributes.
fn open_regular(
    action: &'static str,
    path: &Path,
    at: &At,
    (flags, mode): (OFlags, u32),
) -> Result<(OwnedFd, rustix::fs::Stat)> {
    let mode = Mode::from_raw_mode(mode);
    let fd = opened(|| openat(at.dir(), at.name(), flags | SAFE, mode));
    let fd = fd.map_err(|errno| match errno {
        Errno::LOOP => refused(
            action,
            path,
            errno,
            format!("it is a symbolic link, which is not followed here ({SYMBOLIC_LINK})"),
        ),
        // A FIFO without a reader, or a socket.
        Errno::NXIO => refused(action, path, errno, "it is not a regular file"),
        _ => failed(action, path, errno),
    })?;
    let stat = fstat(&fd).map_err(|errno| failed(action, path, errno))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((fd, stat)),
        FileType::Directory => Err(refused(
            action,
            path,
            Errno::ISDIR,
            "it is a directory, not a file",
        )),
        _ => Err(refused(
            action,
            path,
            Errno::INVAL,
            "it is not a regular file",
        )),
    }
}

fn open_to_read(system: &impl System, path: &Path) -> Result<PosixFile> {
    let at = system.find("open", path)?;
    let (fd, _) = open_regular("open", path, &at, (OFlags::RDONLY, 0))?;
    Ok(PosixFile::new(fd, path))
}

/// Opens a file for writing, and creates it if it is missing. A file with several hard links is
/// unlinked and created again: the other links, such as those of `cp -l`, must keep their content.
/// Also returns the size.
fn open_to_write(system: &impl System, path: &Path, mode: u32) -> Result<(OwnedFd, i64)> {
    const ACTION: &str = "create";
    let at = system.find(ACTION, path)?;
    let flags = OFlags::RDWR | OFlags::CREATE;
    let (fd, stat) = open_regular(ACTION, path, &at, (flags, mode))?;
    if stat.st_nlink < 2 {
        return Ok((fd, stat.st_size));
    }
    match retry_on_intr(|| unlinkat(at.dir(), at.name(), AtFlags::empty())) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(failed(ACTION, path, errno)),
    }
    let (fd, _) = open_regular(ACTION, path, &at, (flags | OFlags::EXCL, mode))?;
    Ok((fd, 0))
}

impl<S: System> Files for S {
    fn beneath(&self, roots: &[PathBuf]) -> Arc<dyn Files> {
        Arc::new(Beneath::new(&[self.roots(), roots].concat()))
    }

    fn holding(&self, dirs: &[&Path]) -> Arc<dyn Files> {
        Arc::new(Holding {
            roots: self.roots().to_vec(),
            held: HeldDirs::below(dirs),
        })
    }

    fn real_dir(&self, path: &Path) -> Result<PathBuf> {
        beneath::real_dir(path)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn File>> {
        let file = self.with_few_open(|| open_to_read(self, path))?;
        Ok(Box::new(file))
    }

    fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        let (fd, size) = self.with_few_open(|| open_to_write(self, path, mode))?;
        // Truncated only now, when it is known to be a regular file without other links. And only
        // then: ext4 writes the content of a file that was truncated to the disk when it is closed.
        if size > 0 {
            retry_on_intr(|| ftruncate(&fd, 0)).map_err(|errno| failed("truncate", path, errno))?;
        }
        Ok(Box::new(PosixFile::new(fd, path)))
    }

    fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        let (fd, _) = self.with_few_open(|| open_to_write(self, path, mode))?;
        Ok(Box::new(PosixFile::new(fd, path)))
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>> {
        let file = open_to_read(self, path)?;
        let size = file.size()?;
        if size > limit {
            let text = format!("it has {size} bytes, but at most {limit} are allowed here");
            return Err(refused("read", path, Errno::FBIG, text));
        }
        let mut data = Vec::new();
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        data.try_reserve_exact(length).map_err(|_| {
            refused(
                "read",
                path,
                Errno::NOMEM,
                format!("{size} bytes of memory"),
            )
        })?;
        data.resize(length, 0);
        file.read_at(0, &mut data)?;
        Ok(data)
    }

    fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> Result<()> {
        let (fd, temporary) = create_temporary(self.roots(), path)?;
        let replaced = (|| {
            let file = PosixFile::new(fd, &temporary);
            file.write_at(0, data)?;
            if durability == Durability::Synced {
                file.sync()?;
            }
            // Some network file systems report a full disk only here.
            close(file.into_fd()).map_err(|errno| failed("close", &temporary, errno))?;
            self.rename(&temporary, path)
        })();
        if replaced.is_err() {
            // The first error is the one to report.
            let _ = self.remove_file(&temporary);
        }
        replaced?;
        match (durability, path.parent()) {
            (Durability::Synced, Some(directory)) => self.sync_dir(directory),
            _ => Ok(()),
        }
    }

    fn append(&self, path: &Path, mode: u32, data: &[u8]) -> Result<u64> {
        let at = At::find(self.roots(), "write", path)?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        let (fd, stat) = open_regular("write", path, &at, (flags, mode))?;
        match limited(|| retry_on_intr(|| rustix::io::write(&fd, data))) {
            Ok(written) if written == data.len() => Ok(stat.st_size as u64 + written as u64),
            Ok(_) => Err(refused(
                "write",
                path,
                Errno::NOSPC,
                "only a part of the data was written",
            )),
            Err(errno) => Err(failed_in_limit("write", path, errno)),
        }
    }

    fn make_dirs(&self, path: &Path) -> Result<()> {
        despite_removal(|| beneath::make_dirs(self.roots(), path, 0o777))
    }

    fn make_private_dirs(&self, base: &Path, below: &Path) -> Result<()> {
        despite_removal(|| {
            beneath::make_dirs(self.roots(), base, 0o755)?;
            private::make(self.roots(), base, below)
        })
    }

    fn check_private_dirs(&self, base: &Path, below: &Path) -> Result<()> {
        private::check_all(self.roots(), base, below)
    }

    fn may_add(&self, dir: &Path) -> Result<()> {
        const ACTION: &str = "write to directory";
        let at = At::find(self.roots(), ACTION, dir)?;
        let handle = at.open(OFlags::PATH | OFlags::DIRECTORY);
        let handle = handle.map_err(|errno| at.error(ACTION, errno))?;
        // The path uses the number: only newer systems look at an open directory itself.
        let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        let may = retry_on_intr(|| accessat(CWD, path.as_str(), wanted, AtFlags::EACCESS));
        may.map_err(|errno| failed(ACTION, dir, errno))
    }

    fn list(&self, path: &Path) -> Result<Vec<OsString>> {
        const ACTION: &str = "list directory";
        let at = At::find(self.roots(), ACTION, path)?;
        let directory = at
            .open(OFlags::RDONLY | OFlags::DIRECTORY)
            .map_err(|errno| at.error(ACTION, errno))?;
        let fail = |errno| failed(ACTION, path, errno);
        let mut names = Vec::new();
        for entry in Dir::new(directory).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_os_string());
            }
        }
        names.sort();
        Ok(names)
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>> {
        let at = match self.find("stat", path) {
            Err(error) if error.is_not_found() => return Ok(None),
            other => other?,
        };
        match retry_on_intr(|| statat(at.dir(), at.name(), AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(stat) => Ok(Some(stat_of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed("stat", path, errno)),
        }
    }

    fn identity(&self, path: &Path) -> Option<(u64, u64)> {
        let at = self.find("stat", path).ok()?;
        let stat = retry_on_intr(|| statat(at.dir(), at.name(), AtFlags::SYMLINK_NOFOLLOW)).ok()?;
        Some((stat.st_dev, stat.st_ino))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let old = At::find(self.roots(), "rename", from)?;
        let new = At::find(self.roots(), "rename", to)?;
        retry_on_intr(|| renameat(old.dir(), old.name(), new.dir(), new.name())).map_err(|errno| {
            let text = format!("to {}: {errno}", to.display());
            refused("rename", from, errno, text)
        })
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        let at = match At::find(self.roots(), "remove", path) {
            Err(error) if error.is_not_found() => return Ok(()),
            other => other?,
        };
        match retry_on_intr(|| unlinkat(at.dir(), at.name(), AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(failed("remove", path, errno)),
        }
    }

    fn remove_dir(&self, path: &Path) -> Result<bool> {
        const ACTION: &str = "remove directory";
        let at = match At::find(self.roots(), ACTION, path) {
            Err(error) if error.is_not_found() => return Ok(false),
            other => other?,
        };
        match retry_on_intr(|| unlinkat(at.dir(), at.name(), AtFlags::REMOVEDIR)) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(errno) => Err(at.error(ACTION, errno)),
        }
    }

    fn remove_tree(&self, path: &Path) -> Result<()> {
        tree::remove(self.roots(), path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        const ACTION: &str = "sync directory";
        let at = At::find(self.roots(), ACTION, path)?;
        let directory = at
            .open(OFlags::RDONLY | OFlags::DIRECTORY)
            .map_err(|errno| at.error(ACTION, errno))?;
        match retry_on_intr(|| fsync(&directory)) {
            // A file system that cannot sync directories orders their changes itself.
            Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(errno) => Err(failed(ACTION, path, errno)),
        }
    }

    fn sync_fs(&self, path: &Path) -> Result<()> {
        const ACTION: &str = "sync the file system of";
        let at = At::find(self.roots(), ACTION, path)?;
        let directory = at
            .open(OFlags::RDONLY | OFlags::NONBLOCK)
            .map_err(|errno| at.error(ACTION, errno))?;
        retry_on_intr(|| syncfs(&directory)).map_err(|errno| failed(ACTION, path, errno))
    }

    fn restore(&self, path: &Path, stat: &Stat) -> Result<Refused> {
        let fail = |errno| failed("restore attributes of", path, errno);
        let at = At::find(self.roots(), "restore attributes of", path)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let handle = at.open(flags).map_err(fail)?;
        let found = stat_of(&fstat(&handle).map_err(fail)?);
        if found.kind == FileKind::Other {
            let text = "it is neither a file nor a directory";
            return Err(refused("restore attributes of", path, Errno::INVAL, text));
        }
        let refused = restore_path(&at, &handle, path, (&found, stat));
        Ok(refused.map(|(action, errno)| failed(action, path, errno)))
    }

    fn space(&self, path: &Path) -> Result<Space> {
        let at = At::find(self.roots(), "stat", path)?;
        let handle = at.open(OFlags::PATH);
        let stat = handle.and_then(|handle| retry_on_intr(|| fstatvfs(&handle)));
        let stat = stat.map_err(|errno| failed("stat", path, errno))?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Ok(Space {
            total: bytes(stat.f_blocks),
            free: bytes(stat.f_bavail),
        })
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        lock(self.roots(), path, FlockOperation::NonBlockingLockExclusive)
    }

    fn try_lock_shared(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        lock(self.roots(), path, FlockOperation::NonBlockingLockShared)
    }
}

/// Makes directories, and makes them again if another process has removed one of them meanwhile: a
/// process that ends, or deletes, removes empty directories.
fn despite_removal(make: impl Fn() -> Result<()>) -> Result<()> {
    const TRIES: u32 = 100;
    let mut tries = 0;
    loop {
        match make() {
            Err(error) if error.is_not_found() && tries < TRIES => {
                tries += 1;
                // With growing pauses two processes do not act in turn for ever.
                sleep(Duration::from_micros(11 * u64::from(tries)));
            }
            other => return other,
        }
    }
}

/// True if both are the same file or directory.
fn is_same(one: &OwnedFd, other: &OwnedFd) -> rustix::io::Result<bool> {
    let (one, other) = (fstat(one)?, fstat(other)?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

/// True if [`Files::sync_fs`] tells of data that could not be written, as since Linux 5.8. Local.
pub fn sync_fs_tells_errors() -> bool {
    tells_errors(rustix::system::uname().release().to_str().unwrap_or(""))
}

/// True if a kernel of this release, such as `6.1.0-13-amd64`, reports such errors.
fn tells_errors(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next().and_then(|n| n.parse::<u32>().ok());
    number()
        .zip(number())
        .is_some_and(|version| version >= (5, 8))
}

/// The system releases the lock when the file is closed.
struct PosixLock {
    _fd: OwnedFd,
}

impl Lock for PosixLock {}

/// Tries to lock what exists at `path`.
fn lock(
    roots: &[PathBuf],
    path: &Path,
    operation: FlockOperation,
) -> Result<Option<Box<dyn Lock>>> {
    const TRIES: u32 = 10;
    let fail = |errno| failed("lock", path, errno);
    for _ in 0..TRIES {
        let at = At::find(roots, "lock", path)?;
        let open = |access| at.open(access | SAFE);
        // NFS grants an exclusive lock only on a file that is open for writing.
        let fd = match open(OFlags::RDWR) {
            Err(Errno::ISDIR | Errno::ACCESS | Errno::ROFS | Errno::PERM) => open(OFlags::RDONLY),
            other => other,
        };
        let fd = fd.map_err(fail)?;
        match retry_on_intr(|| flock(&fd, operation)) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(fail(errno)),
        }
        // The last holder of the lock may have removed the opened file, and another file may be in its place.
        let at = At::find(roots, "lock", path)?;
        let there = at.open(OFlags::PATH | SAFE).map_err(fail)?;
        if is_same(&fd, &there).map_err(fail)? {
            return Ok(Some(Box::new(PosixLock { _fd: fd })));
        }
    }
    Ok(None)
}

/// Creates `.<name>.tmp.<pid>.<n>` beside `path`.
fn create_temporary(roots: &[PathBuf], path: &Path) -> Result<(OwnedFd, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| {
        refused(
            "replace",
            path,
            Errno::INVAL,
            "the path does not end with a name",
        )
    })?;
    let name = name.as_bytes();
    let name = OsStr::from_bytes(name.get(..NAME_PART).unwrap_or(name));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SAFE;
    let mut tried = 0;
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        temporary.push(format!(".tmp.{}.{n}", std::process::id()));
        let temporary = path.with_file_name(temporary);
        tried += 1;
        let at = At::find(roots, "create", &temporary)?;
        let mode = Mode::from_raw_mode(0o666);
        let made = opened(|| openat(at.dir(), at.name(), flags, mode));
        match made {
            Ok(fd) => return Ok((fd, temporary)),
            Err(Errno::EXIST) if tried < NAMES => {}
            Err(errno) => return Err(failed("create", &temporary, errno)),
        }
    }
}

/// Closes a file and reports errors. After EINTR, Linux has closed the descriptor anyway.
fn close(fd: OwnedFd) -> rustix::io::Result<()> {
    // SAFETY: the descriptor was owned, and is given up by `into_raw_fd`.
    match unsafe { libc::close(fd.into_raw_fd()) } {
        0 => Ok(()),
        _ => match Errno::from_io_error(&std::io::Error::last_os_error()) {
            None | Some(Errno::INTR) => Ok(()),
            Some(errno) => Err(errno),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Beneath, Holding, Posix, System, tells_errors};
    use crate::store::Files;
    use crate::store::beneath::HeldDirs;
    use crate::store::failure::failed;
    use rustix::io::Errno;
    use std::path::Path;

    #[test]
    fn a_file_is_opened_once_nothing_is_held_if_the_system_opens_no_more() {
        let refused = || Err::<(), _>(failed("open", Path::new("f"), Errno::MFILE));
        assert!(Beneath::default().with_few_open(refused).is_err());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let holding = Holding {
            roots: vec![dir.path().to_path_buf()],
            held: HeldDirs::below(&[dir.path()]),
        };
        assert!(holding.with_few_open(refused).is_err(), "nothing was held");
        Posix.create(&path, 0o600).unwrap();
        holding.open(&path).unwrap();
        let tried = std::cell::Cell::new(0);
        let opened = holding.with_few_open(|| match tried.replace(tried.get() + 1) {
            0 => refused(),
            _ => Ok(()),
        });
        assert_eq!((opened, tried.get()), (Ok(()), 2));
        assert!(!holding.close_held());
    }

    #[test]
    fn kernels_before_5_8_do_not_tell_errors_of_syncfs() {
        for old in ["4.18.0-553.el8_10.x86_64", "5.7.19", "", "x", "5"] {
            assert!(!tells_errors(old), "{old}");
        }
        for new in ["5.8.0", "5.14.0-427.el9.x86_64", "6.1.0-13-amd64", "10.0"] {
            assert!(tells_errors(new), "{new}");
        }
    }
}
