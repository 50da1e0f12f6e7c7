//! The file systems that one simulated node sees, behind [`Files`].
//!
//! Every operation pauses first, so that others may run and the process may be killed there. Operations of
//! several steps (a replace, the removal of a tree) pause before each. What a killed process still does
//! fails and has no effect.

mod open;
mod view;

use crate::faults::Faults;
use crate::volume::{Errno, Ino, Profile, Volume};
use open::{SimFile, restore, stat_of};
use scr::store::{Durability, File, FileKind, Files, Lock, Refused, Space, Stat};
use scr::system::simulated::scheduler;
use scr::system::time::{SystemTime, UNIX_EPOCH, sleep};
use scr::{Error, Result};
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
pub use view::View;

/// A volume that several nodes and processes may use.
pub type Shared = Arc<Mutex<Volume>>;

/// Directories with the volumes that are mounted there.
#[derive(Clone)]
pub struct SimFiles {
    pub node: usize,
    pub mounts: Vec<(PathBuf, Shared)>,
    pub faults: Arc<Faults>,
    /// What the processes of the node remember of a network file system.
    pub view: Arc<Mutex<View>>,
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

/// The path below a directory, or none. Compares bytes, since this is done at each operation: all paths are
/// written in one way.
fn below<'a>(path: &'a Path, directory: &Path) -> Option<&'a Path> {
    let bytes = path.as_os_str().as_bytes();
    let rest = bytes.strip_prefix(directory.as_os_str().as_bytes())?;
    match rest {
        [] => Some(Path::new("")),
        [b'/', rest @ ..] => Some(Path::new(OsStr::from_bytes(rest))),
        _ => None,
    }
}

/// Prints an operation on a path with the text of `SCR_SIM_TRACE` in it.
fn trace(action: &str, node: usize, path: &Path) {
    static TRACED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("SCR_SIM_TRACE").ok());
    if let Some(text) = &*TRACED
        && path.to_string_lossy().contains(text.as_str())
    {
        let now = scheduler::now().unwrap_or_default().as_secs_f64() - 1e6;
        let process = scheduler::current_process().unwrap_or(0);
        println!(
            "{now:12.6} process {process} on n{node}: {action} {}",
            path.display()
        );
    }
}

fn locked(volume: &Shared) -> MutexGuard<'_, Volume> {
    volume.lock().unwrap()
}

impl SimFiles {
    /// Lets others run, and tells whether an operation fails.
    fn fault(&self, action: &'static str, path: &Path) -> std::result::Result<(), Errno> {
        scheduler::pause();
        trace(action, self.node, path);
        if let Some(time) = self.faults.delay(self.node, path) {
            sleep(time);
        }
        if scheduler::is_dead() {
            Err(libc::EIO)
        } else {
            self.faults.check(action, self.node, path)
        }
    }

    /// The volume of a path, and the path below it.
    fn place<'a>(&self, path: &'a Path) -> Option<(&Shared, &'a Path)> {
        let mut mounts = self.mounts.iter();
        mounts.find_map(|(at, volume)| Some((volume, below(path, at)?)))
    }

    /// The bytes of a file as they are now, for those who check: not a step of the simulation.
    pub fn look_at(&self, path: &Path) -> Option<Vec<u8>> {
        let (volume, below) = self.place(path)?;
        let volume = locked(volume);
        let ino = volume.find(below).ok()?;
        Some(volume.inode(ino).ok()?.data().to_vec())
    }

    /// Begins an operation: others may run before it, and it may fail.
    fn begin<'a>(&self, action: &'static str, path: &'a Path) -> Result<(&Shared, &'a Path)> {
        let fault = self.fault(action, path);
        let place = fault.and_then(|()| self.place(path).ok_or(libc::ENOENT));
        place.map_err(|errno| failed(action, path, errno))
    }

    fn on<T>(
        &self,
        action: &'static str,
        path: &Path,
        work: impl FnOnce(&mut Volume, &Path) -> std::result::Result<T, Errno>,
    ) -> Result<T> {
        let (volume, below) = self.begin(action, path)?;
        work(locked(volume).work_for(self.node), below).map_err(|errno| failed(action, path, errno))
    }

    /// Does what changes a directory: this node sees it at once.
    fn change<T>(
        &self,
        action: &'static str,
        path: &Path,
        work: impl FnOnce(&mut Volume, &Path) -> std::result::Result<T, Errno>,
    ) -> Result<T> {
        let done = self.on(action, path, work);
        self.view.lock().unwrap().forget(path);
        done
    }

    /// True for a path of a network file system.
    fn is_remote(&self, path: &Path) -> bool {
        let place = self.place(path);
        place.is_some_and(|(volume, _)| locked(volume).profile() == Profile::Nfs)
    }

    fn opened(&self, path: &Path, volume: &Shared, (ino, writable): (Ino, bool)) -> Box<dyn File> {
        locked(volume).open(ino);
        Box::new(SimFile {
            files: self.clone(),
            volume: volume.clone(),
            ino,
            path: path.to_path_buf(),
            writable,
            failure: RefCell::default(),
        })
    }

    fn open_to_write(&self, path: &Path, mode: u32, empty: bool) -> Result<Box<dyn File>> {
        let (volume, below) = self.begin("create", path)?;
        self.view.lock().unwrap().forget(path);
        let mut there = locked(volume);
        there.work_for(self.node);
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
        Ok(self.opened(path, volume, (ino, true)))
    }

    fn make_all(&self, path: &Path, mode: u32) -> Result<()> {
        const ACTION: &str = "make directory";
        // As the real one: another process may remove a directory that is still empty.
        const TRIES: u32 = 100;
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
        self.change(action, path, |volume, below| {
            match volume.make(below, true, mode, time()) {
                Err(libc::EEXIST) => {
                    let ino = volume.find(below)?;
                    if volume.inode(ino)?.directory {
                        Ok(())
                    } else {
                        Err(libc::EEXIST)
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
        // There are no links.
        self.on("find", path, |volume, below| match volume.find(below) {
            Ok(_) | Err(libc::ENOENT) => Ok(path.to_path_buf()),
            Err(errno) => Err(errno),
        })
    }

    fn open(&self, path: &Path) -> Result<Box<dyn File>> {
        let (volume, below) = self.begin("open", path)?;
        self.view.lock().unwrap().forget(path);
        let there = locked(volume);
        let ino = there
            .find(below)
            .map_err(|errno| failed("open", path, errno))?;
        let directory = there.inode(ino).is_ok_and(|inode| inode.directory);
        drop(there);
        if directory {
            Err(refused(
                "open",
                path,
                libc::EISDIR,
                "it is a directory, not a file",
            ))
        } else {
            Ok(self.opened(path, volume, (ino, false)))
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

    fn may_add(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn identity(&self, _: &Path) -> Option<(u64, u64)> {
        None
    }

    fn append(&self, path: &Path, mode: u32, data: &[u8]) -> Result<u64> {
        drop(self.open_to_write(path, mode, false)?);
        self.on("write", path, |volume, below| {
            let ino = volume.find(below)?;
            let size = volume.data(ino)?.len() as u64;
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
        const ACTION: &str = "list directory";
        if !self.is_remote(path) {
            return self.on(ACTION, path, |volume, below| volume.list(below));
        }
        let seen = |volume: &mut Volume, below: &Path| {
            let mut view = self.view.lock().unwrap();
            view.list(path, || volume.list(below))
        };
        self.on(ACTION, path, seen)
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>> {
        let remote = self.is_remote(path);
        let found = self.on("stat", path, |volume, below| {
            let mut look = || match volume.find(below) {
                Ok(ino) => Ok(Some(stat_of(volume, ino)?)),
                Err(libc::ENOENT) => Ok(None),
                Err(errno) => Err(errno),
            };
            if remote {
                self.view.lock().unwrap().stat(path, look)
            } else {
                look()
            }
        });
        match found {
            Err(error) if error.is_not_found() => Ok(None),
            other => other,
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let target = self.place(to);
        let (other, new) = target.ok_or_else(|| failed("rename", to, libc::ENOENT))?;
        let (volume, old) = self.begin("rename", from)?;
        if !Arc::ptr_eq(volume, other) {
            return Err(failed("rename", from, libc::EXDEV));
        }
        for path in [from, to] {
            self.view.lock().unwrap().forget(path);
        }
        let done = locked(volume).work_for(self.node).rename(old, new, time());
        done.map_err(|errno| failed("rename", from, errno))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.change("remove", path, |volume, below| {
            match volume.remove(below, false, time()) {
                Err(libc::ENOENT) => Ok(()),
                other => other,
            }
        })
    }

    fn remove_dir(&self, path: &Path) -> Result<bool> {
        self.change("remove directory", path, |volume, below| {
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
        // As the real one, which another process that removes the same does not disturb.
        let names = match self.list(path) {
            Err(error) if error.is_not_found() => return Ok(()),
            other => other?,
        };
        for name in names {
            self.remove_tree(&path.join(name))?;
        }
        self.remove_dir(path).map(drop)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.on("sync", path, |volume, below| {
            let ino = volume.find(below)?;
            if volume.inode(ino)?.directory {
                volume.sync(ino)
            } else {
                Err(libc::ENOTDIR)
            }
        })
    }

    fn sync_fs(&self, path: &Path) -> Result<()> {
        self.on("sync", path, |volume, below| {
            volume.find(below)?;
            volume.sync_all();
            Ok(())
        })
    }

    fn restore(&self, path: &Path, stat: &Stat) -> Result<Refused> {
        self.on("restore the attributes of", path, |volume, below| {
            let ino = volume.find(below)?;
            restore(volume, ino, stat)
        })
        .map(|()| None)
    }

    fn space(&self, path: &Path) -> Result<Space> {
        self.on("stat the file system of", path, |volume, _| {
            let (total, free) = (volume.capacity(), volume.free());
            Ok(Space { total, free })
        })
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        self.lock(path, false)
    }

    fn try_lock_shared(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        self.lock(path, true)
    }
}
