//! The file systems that one simulated node sees, behind [`Files`].
//!
//! Every operation pauses first, so that others may run and the process may be killed there. Operations of
//! several steps (a replace, the removal of a tree) pause before each. What a killed process still does
//! fails and has no effect.

use crate::faults::Faults;
use crate::volume::{Errno, Ino, Volume, taken};
use scr::store::{Durability, File, FileKind, Files, Lock, Space, Stat};
use scr::system::simulated::scheduler;
use scr::system::time::{SystemTime, UNIX_EPOCH};
use scr::{Error, Result};
use std::cell::RefCell;
use std::ffi::OsString;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// A volume that several nodes and processes may use.
pub type Shared = Arc<Mutex<Volume>>;

/// Directories with the volumes that are mounted there.
#[derive(Clone)]
pub struct SimFiles {
    pub mounts: Vec<(PathBuf, Shared)>,
    pub faults: Arc<Faults>,
}

fn failed(action: &'static str, path: &Path, errno: Errno) -> Error {
    Error::io(action, path, std::io::Error::from_raw_os_error(errno))
}

fn refused(action: &'static str, path: &Path, errno: Errno, text: &str) -> Error {
    Error::Io {
        action,
        path: path.to_path_buf(),
        errno: Some(errno),
        text: text.to_string(),
    }
}

/// The time that the process shows.
fn time() -> (i64, u32) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    (since.as_secs() as i64, since.subsec_nanos())
}

fn locked(volume: &Shared) -> MutexGuard<'_, Volume> {
    volume.lock().unwrap()
}

impl SimFiles {
    /// Begins an operation: others may run before it, and it may fail.
    fn begin<'a>(&self, action: &'static str, path: &'a Path) -> Result<(&Shared, &'a Path)> {
        scheduler::pause();
        if scheduler::is_dead() {
            return Err(failed(action, path, libc::EIO));
        }
        let mount = self.mounts.iter().find(|(at, _)| path.starts_with(at));
        let (at, volume) = mount.ok_or_else(|| failed(action, path, libc::ENOENT))?;
        let below = path.strip_prefix(at).unwrap_or(path);
        self.faults
            .check(action)
            .map_err(|errno| failed(action, path, errno))?;
        Ok((volume, below))
    }

    fn on<T>(
        &self,
        action: &'static str,
        path: &Path,
        work: impl FnOnce(&mut Volume, &Path) -> std::result::Result<T, Errno>,
    ) -> Result<T> {
        let (volume, below) = self.begin(action, path)?;
        work(&mut locked(volume), below).map_err(|errno| failed(action, path, errno))
    }

    fn opened(&self, path: &Path, volume: &Shared, ino: Ino) -> Box<dyn File> {
        Box::new(SimFile {
            files: self.clone(),
            volume: volume.clone(),
            ino,
            path: path.to_path_buf(),
            failure: RefCell::default(),
        })
    }

    fn open_to_write(&self, path: &Path, mode: u32, empty: bool) -> Result<Box<dyn File>> {
        let (volume, below) = self.begin("create", path)?;
        let mut there = locked(volume);
        let fail = |errno| failed("create", path, errno);
        let ino = match there.find(below) {
            Ok(ino) if there.inode(ino).map_err(fail)?.directory => return Err(fail(libc::EISDIR)),
            Ok(ino) => ino,
            Err(libc::ENOENT) => there
                .make(below, false, mode & !0o022, time())
                .map_err(fail)?,
            Err(errno) => return Err(fail(errno)),
        };
        if empty {
            there.set_size(ino, 0, time()).map_err(fail)?;
        }
        drop(there);
        Ok(self.opened(path, volume, ino))
    }

    fn make_all(&self, path: &Path, mode: u32) -> Result<()> {
        const ACTION: &str = "make directory";
        // As the real one: another process may remove a directory that is still empty.
        const TRIES: u32 = 10;
        let mount = self.mounts.iter().find(|(at, _)| path.starts_with(at));
        let (at, _) = mount.ok_or_else(|| failed(ACTION, path, libc::EACCES))?;
        let mut tries = 0;
        loop {
            let mut made = at.clone();
            let mut names = path.strip_prefix(at).unwrap_or(path).iter();
            let done = names.try_for_each(|name| {
                made.push(name);
                self.make_one(ACTION, &made, mode)
            });
            match done {
                Err(error) if error.is_not_found() && tries < TRIES => tries += 1,
                other => return other,
            }
        }
    }

    fn make_one(&self, action: &'static str, path: &Path, mode: u32) -> Result<()> {
        self.on(action, path, |volume, below| {
            match volume.make(below, true, mode, time()) {
                Err(libc::EEXIST) => {
                    let ino = volume.find(below)?;
                    match volume.inode(ino)?.directory {
                        true => Ok(()),
                        false => Err(libc::ENOTDIR),
                    }
                }
                other => other.map(drop),
            }
        })
    }
}

impl Files for SimFiles {
    fn beneath(&self, _roots: &[PathBuf]) -> Arc<dyn Files> {
        Arc::new(self.clone())
    }

    fn holding(&self, _dirs: &[&Path]) -> Arc<dyn Files> {
        Arc::new(self.clone())
    }

    fn real_dir(&self, path: &Path) -> Result<PathBuf> {
        Ok(path.to_path_buf())
    }

    fn open(&self, path: &Path) -> Result<Box<dyn File>> {
        let (volume, below) = self.begin("open", path)?;
        let there = locked(volume);
        let ino = there
            .find(below)
            .map_err(|errno| failed("open", path, errno))?;
        let directory = there.inode(ino).is_ok_and(|inode| inode.directory);
        drop(there);
        match directory {
            true => Err(refused(
                "open",
                path,
                libc::EISDIR,
                "it is a directory, not a file",
            )),
            false => Ok(self.opened(path, volume, ino)),
        }
    }

    fn create(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.open_to_write(path, mode, true)
    }

    fn rewrite(&self, path: &Path, mode: u32) -> Result<Box<dyn File>> {
        self.open_to_write(path, mode, false)
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>> {
        let file = self.open(path)?;
        let size = file.size()?;
        if size > limit {
            let text = format!("it has {size} bytes, but at most {limit} are allowed here");
            return Err(refused("read", path, libc::EFBIG, &text));
        }
        let mut data = vec![0; size as usize];
        file.read_at(0, &mut data)?;
        Ok(data)
    }

    fn replace(&self, path: &Path, data: &[u8], durability: Durability) -> Result<()> {
        // As the real one names it.
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        let process = scheduler::current_process().unwrap_or(0);
        let unique = scheduler::draw(|random| random.number());
        name.push(format!(".tmp.{process}.{unique}"));
        let temporary = path.with_file_name(name);
        let replaced = (|| {
            let file = self.create(&temporary, 0o666)?;
            file.write_at(0, data)?;
            if durability == Durability::Synced {
                file.sync()?;
            }
            self.rename(&temporary, path)
        })();
        if replaced.is_err() {
            let _ = self.remove_file(&temporary);
        }
        replaced?;
        match (durability, path.parent()) {
            (Durability::Synced, Some(directory)) => self.sync_dir(directory),
            _ => Ok(()),
        }
    }

    fn append(&self, path: &Path, mode: u32, data: &[u8]) -> Result<u64> {
        drop(self.open_to_write(path, mode, false)?);
        self.on("write", path, |volume, below| {
            let ino = volume.find(below)?;
            let size = volume.inode(ino)?.data().len() as u64;
            volume.write(ino, size, data, time())?;
            Ok(size + data.len() as u64)
        })
    }

    fn make_dirs(&self, path: &Path) -> Result<()> {
        self.make_all(path, 0o755)
    }

    fn make_private_dirs(&self, base: &Path, below: &Path) -> Result<()> {
        self.make_all(base, 0o755)?;
        self.make_all(&base.join(below), 0o700)
    }

    fn check_private_dirs(&self, base: &Path, below: &Path) -> Result<()> {
        let path = base.join(below);
        match self.stat(&path)? {
            Some(stat) if stat.kind != FileKind::Directory => {
                Err(failed("use directory", &path, libc::ENOTDIR))
            }
            _ => Ok(()),
        }
    }

    fn list(&self, path: &Path) -> Result<Vec<OsString>> {
        self.on("list directory", path, |volume, below| volume.list(below))
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>> {
        let found = self.on("stat", path, |volume, below| match volume.find(below) {
            Ok(ino) => Ok(Some(stat_of(volume, ino)?)),
            Err(libc::ENOENT) => Ok(None),
            Err(errno) => Err(errno),
        });
        match found {
            Err(error) if error.is_not_found() => Ok(None),
            other => other,
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let target = self.mounts.iter().find(|(at, _)| to.starts_with(at));
        let (at, other) = target.ok_or_else(|| failed("rename", to, libc::ENOENT))?;
        let new = to.strip_prefix(at).unwrap_or(to);
        let (volume, old) = self.begin("rename", from)?;
        if !Arc::ptr_eq(volume, other) {
            return Err(failed("rename", from, libc::EXDEV));
        }
        let done = locked(volume).rename(old, new, time());
        done.map_err(|errno| failed("rename", from, errno))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.on("remove", path, |volume, below| {
            match volume.remove(below, false, time()) {
                Err(libc::ENOENT) => Ok(()),
                other => other,
            }
        })
    }

    fn remove_dir(&self, path: &Path) -> Result<bool> {
        self.on("remove directory", path, |volume, below| {
            match volume.remove(below, true, time()) {
                Err(libc::ENOENT | libc::ENOTEMPTY) => Ok(false),
                other => other.map(|()| true),
            }
        })
    }

    fn remove_tree(&self, path: &Path) -> Result<()> {
        match self.stat(path)?.map(|stat| stat.kind) {
            None => return Ok(()),
            Some(FileKind::Directory) => {}
            Some(_) => return self.remove_file(path),
        }
        for name in self.list(path)? {
            self.remove_tree(&path.join(name))?;
        }
        self.remove_dir(path).map(drop)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.on("sync", path, |volume, below| {
            let ino = volume.find(below)?;
            volume.sync(ino)
        })
    }

    fn sync_fs(&self, path: &Path) -> Result<()> {
        self.on("sync", path, |volume, below| {
            volume.find(below)?;
            volume.sync_all();
            Ok(())
        })
    }

    fn restore(&self, path: &Path, stat: &Stat) -> Result<()> {
        self.open(path)?.restore(stat)
    }

    fn space(&self, path: &Path) -> Result<Space> {
        self.on("stat the file system of", path, |volume, _| {
            let (total, free) = (volume.capacity(), volume.free());
            Ok(Space { total, free })
        })
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        let (volume, below) = self.begin("lock", path)?;
        let mut there = locked(volume);
        let ino = there
            .find(below)
            .map_err(|errno| failed("lock", path, errno))?;
        if !there.locked.insert(ino) {
            return Ok(None);
        }
        drop(there);
        let volume = volume.clone();
        Ok(Some(Box::new(SimLock { volume, ino })))
    }
}

fn stat_of(volume: &Volume, ino: Ino) -> std::result::Result<Stat, Errno> {
    let inode = volume.inode(ino)?;
    let size = inode.data().len() as u64;
    let format = if inode.directory {
        0o040_000
    } else {
        0o100_000
    };
    Ok(Stat {
        kind: inode.kind(),
        size,
        blocks: taken(size),
        mode: inode.mode | format,
        uid: 0,
        gid: 0,
        atime: inode.mtime,
        ctime: inode.ctime,
        mtime: inode.mtime,
    })
}

/// A lock ends with its process, also with a killed one.
struct SimLock {
    volume: Shared,
    ino: Ino,
}

impl Lock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        locked(&self.volume).locked.remove(&self.ino);
    }
}

/// An open file. After a failed write or sync every later call returns that error, as for the real one.
struct SimFile {
    files: SimFiles,
    volume: Shared,
    ino: Ino,
    path: PathBuf,
    failure: RefCell<Option<Error>>,
}

impl SimFile {
    fn on<T>(
        &self,
        action: &'static str,
        work: impl FnOnce(&mut Volume) -> std::result::Result<T, Errno>,
    ) -> Result<T> {
        self.failure.borrow().clone().map_or(Ok(()), Err)?;
        scheduler::pause();
        let dead = scheduler::is_dead().then_some(libc::EIO);
        let fault = dead.map_or_else(|| self.files.faults.check(action), Err);
        fault
            .and_then(|()| work(&mut locked(&self.volume)))
            .map_err(|errno| failed(action, &self.path, errno))
    }

    /// The same for what changes the file: a failure stays.
    fn change(
        &self,
        action: &'static str,
        work: impl FnOnce(&mut Volume) -> std::result::Result<(), Errno>,
    ) -> Result<()> {
        self.on(action, work).inspect_err(|error| {
            self.failure
                .borrow_mut()
                .get_or_insert_with(|| error.clone());
        })
    }
}

impl File for SimFile {
    fn size(&self) -> Result<u64> {
        self.on("stat", |volume| {
            Ok(volume.inode(self.ino)?.data().len() as u64)
        })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.on("read", |volume| {
            let data = volume.inode(self.ino)?.data();
            let begin = offset as usize;
            let wanted = data.get(begin..begin + buffer.len());
            buffer.copy_from_slice(wanted.ok_or(libc::EIO)?);
            Ok(())
        })
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.change("write", |volume| {
            volume.write(self.ino, offset, data, time())
        })
    }

    fn allocate(&self, size: u64) -> Result<()> {
        self.change("allocate", |volume| volume.set_size(self.ino, size, time()))
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.change("set the size of", |volume| {
            volume.set_size(self.ino, size, time())
        })
    }

    fn data_from(&self, from: u64) -> Result<Option<Range<u64>>> {
        let size = self.size()?;
        Ok((from < size).then_some(from..size))
    }

    fn copy_from(&self, _source: &dyn File, _bytes: Range<u64>) -> Result<bool> {
        Ok(false)
    }

    fn start_sync(&self, _bytes: Range<u64>) -> Result<()> {
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let synced = self.change("sync", |volume| volume.sync(self.ino));
        if synced.is_err() && !scheduler::is_dead() {
            locked(&self.volume).lose_changes(self.ino);
        }
        synced
    }

    fn restore(&self, stat: &Stat) -> Result<()> {
        self.on("restore the attributes of", |volume| {
            let inode = volume.inode_mut(self.ino)?;
            (inode.mode, inode.mtime) = (stat.mode & 0o7777, stat.mtime);
            Ok(())
        })
    }

    fn descriptor(&self) -> Result<BorrowedFd<'_>> {
        Err(failed("copy", &self.path, libc::EOPNOTSUPP))
    }
}
