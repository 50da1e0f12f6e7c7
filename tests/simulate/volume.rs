//! A file system in memory, which knows what a power loss would leave of it.
//!
//! What was written and not synced is kept beside what is on stable storage: bytes by file, changes of
//! directories in one list for the volume. A rename is one change.

use scr::store::FileKind;
use scr::system::simulated::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};

/// An inode's number.
pub type Ino = u64;

/// What a power loss leaves of what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Nothing at all, not even of what was synced: memory.
    Tmpfs,
    /// The first of the changes of directories, and all bytes of a file that was renamed before: ext4.
    Ordered,
    /// Any of them; writes tear at [`SECTOR`].
    Weakest,
}

/// What a disk writes in one step, bytes.
const SECTOR: usize = 512;

/// What a file's block is counted as, bytes.
const BLOCK: u64 = 512;

const ROOT: Ino = 1;

#[derive(Debug, Clone)]
enum Change {
    Write(u64, Vec<u8>),
    Size(u64),
}

impl Change {
    fn apply(&self, data: &mut Vec<u8>) {
        match self {
            Change::Write(offset, bytes) => {
                let (begin, end) = (*offset as usize, *offset as usize + bytes.len());
                data.resize(data.len().max(end), 0);
                data[begin..end].copy_from_slice(bytes);
            }
            Change::Size(size) => data.resize(*size as usize, 0),
        }
    }
}

/// A change of directories: each entry with what it names then.
#[derive(Debug, Clone)]
struct Renaming(Vec<(Ino, OsString, Option<Ino>)>);

#[derive(Debug, Clone)]
pub struct Inode {
    pub directory: bool,
    pub mode: u32,
    pub mtime: (i64, u32),
    pub ctime: (i64, u32),
    data: Vec<u8>,
    synced: Vec<u8>,
    changes: Vec<Change>,
    /// Of a directory; the second is on stable storage.
    entries: BTreeMap<OsString, Ino>,
    stable: BTreeMap<OsString, Ino>,
}

impl Inode {
    pub fn kind(&self) -> FileKind {
        match self.directory {
            true => FileKind::Directory,
            false => FileKind::File,
        }
    }

    pub fn data(&self) -> &[u8] {
        &self.data
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.data);
        self.changes.push(change);
    }
}

/// An error, as errno(3) has it.
pub type Errno = i32;

type Outcome<T> = Result<T, Errno>;

/// One file system.
#[derive(Debug)]
pub struct Volume {
    profile: Profile,
    capacity: u64,
    used: u64,
    inodes: BTreeMap<Ino, Inode>,
    next: Ino,
    /// Changes of directories that are not on stable storage, oldest first.
    pending: Vec<Renaming>,
    pub locked: BTreeSet<Ino>,
}

impl Volume {
    pub fn new(profile: Profile, capacity: u64) -> Self {
        let mut volume = Volume {
            profile,
            capacity,
            used: 0,
            inodes: BTreeMap::new(),
            next: ROOT,
            pending: Vec::new(),
            locked: BTreeSet::new(),
        };
        volume.add(true, 0o755, (0, 0));
        volume
    }

    fn add(&mut self, directory: bool, mode: u32, time: (i64, u32)) -> Ino {
        let ino = self.next;
        self.next += 1;
        let inode = Inode {
            directory,
            mode,
            mtime: time,
            ctime: time,
            data: Vec::new(),
            synced: Vec::new(),
            changes: Vec::new(),
            entries: BTreeMap::new(),
            stable: BTreeMap::new(),
        };
        self.inodes.insert(ino, inode);
        ino
    }

    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Lets it hold no more than this. What is there stays.
    pub fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    pub fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.used)
    }

    pub fn inode(&self, ino: Ino) -> Outcome<&Inode> {
        self.inodes.get(&ino).ok_or(libc::ESTALE)
    }

    pub fn inode_mut(&mut self, ino: Ino) -> Outcome<&mut Inode> {
        self.inodes.get_mut(&ino).ok_or(libc::ESTALE)
    }

    /// What a path below the volume's root names.
    pub fn find(&self, path: &Path) -> Outcome<Ino> {
        let mut here = ROOT;
        for component in path.components() {
            let Component::Normal(name) = component else {
                return Err(libc::EINVAL);
            };
            let directory = self.inode(here)?;
            if !directory.directory {
                return Err(libc::ENOTDIR);
            }
            here = *directory.entries.get(name).ok_or(libc::ENOENT)?;
        }
        Ok(here)
    }

    /// The directory of a path, and its last name.
    fn place<'a>(&self, path: &'a Path) -> Outcome<(Ino, &'a OsStr)> {
        let parent = self.find(path.parent().ok_or(libc::EBUSY)?)?;
        let name = path.file_name().ok_or(libc::EBUSY)?;
        match self.inode(parent)?.directory {
            true => Ok((parent, name)),
            false => Err(libc::ENOTDIR),
        }
    }

    fn rename_entries(&mut self, changes: Vec<(Ino, OsString, Option<Ino>)>, time: (i64, u32)) {
        let mut gone = Vec::new();
        for (directory, name, target) in &changes {
            let Some(directory) = self.inodes.get_mut(directory) else {
                continue;
            };
            (directory.mtime, directory.ctime) = (time, time);
            gone.extend(match target {
                Some(target) => directory.entries.insert(name.clone(), *target),
                None => directory.entries.remove(name),
            });
        }
        self.pending.push(Renaming(changes));
        // An inode stays until no stable entry names it; its space is given back at once.
        for ino in gone {
            let named = |inode: &Inode| inode.entries.values().any(|other| *other == ino);
            if !self.inodes.values().any(named)
                && let Some(inode) = self.inodes.get(&ino)
            {
                self.used -= taken(inode.data.len() as u64).min(self.used);
            }
        }
    }

    /// Makes a directory or an empty file.
    pub fn make(
        &mut self,
        path: &Path,
        directory: bool,
        mode: u32,
        time: (i64, u32),
    ) -> Outcome<Ino> {
        let (parent, name) = self.place(path)?;
        if self.inode(parent)?.entries.contains_key(name) {
            return Err(libc::EEXIST);
        }
        let ino = self.add(directory, mode, time);
        self.rename_entries(vec![(parent, name.to_os_string(), Some(ino))], time);
        Ok(ino)
    }

    pub fn list(&self, path: &Path) -> Outcome<Vec<OsString>> {
        let inode = self.inode(self.find(path)?)?;
        match inode.directory {
            true => Ok(inode.entries.keys().cloned().collect()),
            false => Err(libc::ENOTDIR),
        }
    }

    /// Removes a file, or an empty directory.
    pub fn remove(&mut self, path: &Path, directory: bool, time: (i64, u32)) -> Outcome<()> {
        let (parent, name) = self.place(path)?;
        let inode = self.inode(self.find(path)?)?;
        match (inode.directory, directory) {
            (true, false) => return Err(libc::EISDIR),
            (false, true) => return Err(libc::ENOTDIR),
            (true, true) if !inode.entries.is_empty() => return Err(libc::ENOTEMPTY),
            _ => {}
        }
        self.rename_entries(vec![(parent, name.to_os_string(), None)], time);
        Ok(())
    }

    pub fn rename(&mut self, from: &Path, to: &Path, time: (i64, u32)) -> Outcome<()> {
        let ino = self.find(from)?;
        let (old, old_name) = self.place(from)?;
        let (new, new_name) = self.place(to)?;
        if to.starts_with(from) && to != from {
            return Err(libc::EINVAL);
        }
        if let Some(there) = self.inode(new)?.entries.get(new_name).copied() {
            if there == ino {
                return Ok(());
            }
            let (inode, target) = (self.inode(ino)?, self.inode(there)?);
            match (inode.directory, target.directory) {
                (true, false) => return Err(libc::ENOTDIR),
                (false, true) => return Err(libc::EISDIR),
                (true, true) if !target.entries.is_empty() => return Err(libc::ENOTEMPTY),
                _ => {}
            }
        }
        let changes = vec![
            (new, new_name.to_os_string(), Some(ino)),
            (old, old_name.to_os_string(), None),
        ];
        self.rename_entries(changes, time);
        Ok(())
    }

    pub fn write(&mut self, ino: Ino, offset: u64, bytes: &[u8], time: (i64, u32)) -> Outcome<()> {
        let size = self.inode(ino)?.data.len() as u64;
        self.reserve(size, size.max(offset + bytes.len() as u64))?;
        let inode = self.inode_mut(ino)?;
        (inode.mtime, inode.ctime) = (time, time);
        inode.change(Change::Write(offset, bytes.to_vec()));
        Ok(())
    }

    pub fn set_size(&mut self, ino: Ino, size: u64, time: (i64, u32)) -> Outcome<()> {
        let before = self.inode(ino)?.data.len() as u64;
        self.reserve(before, size)?;
        let inode = self.inode_mut(ino)?;
        (inode.mtime, inode.ctime) = (time, time);
        if before != size {
            inode.change(Change::Size(size));
        }
        Ok(())
    }

    fn reserve(&mut self, before: u64, after: u64) -> Outcome<()> {
        let used = self.used.saturating_sub(taken(before)) + taken(after);
        if used > self.capacity && after > before {
            return Err(libc::ENOSPC);
        }
        self.used = used;
        Ok(())
    }

    /// Brings a file's bytes, or a directory's entries, to stable storage.
    pub fn sync(&mut self, ino: Ino) -> Outcome<()> {
        let inode = self.inode_mut(ino)?;
        inode.synced.clone_from(&inode.data);
        inode.changes.clear();
        if !inode.directory {
            return Ok(());
        }
        let touches =
            |renaming: &Renaming| renaming.0.iter().any(|(directory, ..)| *directory == ino);
        let last = self
            .pending
            .iter()
            .rposition(touches)
            .map_or(0, |at| at + 1);
        let (now, later): (Vec<_>, Vec<_>) = match self.profile {
            // One journal: what came before is there, too.
            Profile::Ordered => (self.pending[..last].to_vec(), self.pending[last..].to_vec()),
            _ => self.pending.drain(..).partition(touches),
        };
        self.pending = later;
        now.iter().for_each(|renaming| self.make_stable(renaming));
        Ok(())
    }

    pub fn sync_all(&mut self) {
        for inode in self.inodes.values_mut() {
            inode.synced.clone_from(&inode.data);
            inode.changes.clear();
        }
        for renaming in std::mem::take(&mut self.pending) {
            self.make_stable(&renaming);
        }
    }

    /// A sync has failed: the bytes that it should have written will not be written any more.
    pub fn lose_changes(&mut self, ino: Ino) {
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.changes.clear();
        }
    }

    fn make_stable(&mut self, renaming: &Renaming) {
        for (directory, name, target) in &renaming.0 {
            let Some(directory) = self.inodes.get_mut(directory) else {
                continue;
            };
            match target {
                Some(target) => directory.stable.insert(name.clone(), *target),
                None => directory.stable.remove(name),
            };
        }
    }

    /// What is left after a power loss. Nobody has a file open any more.
    pub fn lose_power(&mut self, random: &mut Random) {
        self.locked.clear();
        if self.profile == Profile::Tmpfs {
            let capacity = self.capacity;
            *self = Volume::new(Profile::Tmpfs, capacity);
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        match self.profile {
            Profile::Ordered => pending.truncate(random.below(pending.len() as u64 + 1) as usize),
            _ => pending.retain(|_| random.once_in(2)),
        }
        if self.profile == Profile::Ordered {
            let moved = pending.iter().filter(|renaming| renaming.0.len() > 1);
            let targets: Vec<Ino> = moved.filter_map(|renaming| renaming.0[0].2).collect();
            for ino in targets {
                if let Some(inode) = self.inodes.get_mut(&ino) {
                    inode.synced.clone_from(&inode.data);
                    inode.changes.clear();
                }
            }
        }
        pending
            .iter()
            .for_each(|renaming| self.make_stable(renaming));
        for inode in self.inodes.values_mut() {
            let mut changes = std::mem::take(&mut inode.changes);
            match self.profile {
                Profile::Ordered => {
                    changes.truncate(random.below(changes.len() as u64 + 1) as usize)
                }
                _ => changes.retain(|_| random.once_in(2)),
            }
            if let (Profile::Weakest, Some(Change::Write(_, bytes))) =
                (self.profile, changes.last_mut())
            {
                let sectors = bytes.len() / SECTOR;
                bytes.truncate(random.below(sectors as u64 + 2) as usize * SECTOR);
            }
            changes
                .iter()
                .for_each(|change| change.apply(&mut inode.synced));
            inode.data.clone_from(&inode.synced);
            inode.entries.clone_from(&inode.stable);
        }
        self.drop_unnamed();
    }

    fn drop_unnamed(&mut self) {
        let (mut named, mut todo) = (BTreeSet::new(), vec![ROOT]);
        while let Some(ino) = todo.pop() {
            if named.insert(ino)
                && let Some(inode) = self.inodes.get(&ino)
            {
                todo.extend(inode.entries.values());
            }
        }
        self.inodes.retain(|ino, _| named.contains(ino));
        for inode in self.inodes.values_mut() {
            inode.entries.retain(|_, ino| named.contains(ino));
            inode.stable.retain(|_, ino| named.contains(ino));
        }
        self.used = self
            .inodes
            .values()
            .map(|inode| taken(inode.data.len() as u64))
            .sum();
    }

    /// Forgets files that nothing names and nobody can reach after a run; keeps memory small.
    pub fn settle(&mut self) {
        if self.profile == Profile::Tmpfs {
            self.sync_all();
            self.drop_unnamed();
        }
    }
}

/// The space that a file of a size takes, bytes.
pub fn taken(size: u64) -> u64 {
    size.next_multiple_of(BLOCK)
}
