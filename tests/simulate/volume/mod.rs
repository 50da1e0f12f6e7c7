//! A file system in memory, which knows what a power loss would leave of it.
//!
//! What was written and not synced is kept beside what is on stable storage: bytes by file, changes of
//! directories in one list for the volume. A rename is one change. `stable.rs` says what a sync and a loss of power do,
//! `damage.rs` what happens to bytes at rest.

mod damage;
mod locks;
mod stable;

pub use damage::Damage;

use locks::Locks;
use scr::store::FileKind;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
    /// All changes of directories, which the server makes stable at once. What a node has written is seen by
    /// others, and stable, once it is synced or the file is closed. No locks.
    Nfs,
}

/// What a disk writes in one step, bytes.
const SECTOR: usize = 512;

/// The longest name of an entry (NAME_MAX), bytes.
const LONGEST_NAME: usize = 255;

/// What a file's block is counted as, bytes.
const BLOCK: u64 = 512;

const ROOT: Ino = 1;

#[derive(Debug, Clone)]
enum What {
    Write(u64, Vec<u8>),
    Size(u64),
}

/// A change of a file that is not on stable storage.
#[derive(Debug, Clone)]
struct Change {
    what: What,
    /// The node in whose memory it is.
    node: usize,
}

impl Change {
    /// The bytes that it is about.
    fn bytes(&self) -> Range<u64> {
        match &self.what {
            What::Write(offset, bytes) => *offset..offset + bytes.len() as u64,
            What::Size(_) => 0..u64::MAX,
        }
    }

    fn meets(&self, other: &Change) -> bool {
        let (one, other) = (self.bytes(), other.bytes());
        one.start < other.end && other.start < one.end
    }

    fn apply(&self, data: &mut Vec<u8>) {
        match &self.what {
            What::Write(offset, bytes) => {
                let (begin, end) = (*offset as usize, *offset as usize + bytes.len());
                data.resize(data.len().max(end), 0);
                data[begin..end].copy_from_slice(bytes);
            }
            What::Size(size) => data.resize(*size as usize, 0),
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
    /// The node that has removed its last name.
    removed_by: Option<usize>,
}

impl Inode {
    pub fn kind(&self) -> FileKind {
        if self.directory {
            FileKind::Directory
        } else {
            FileKind::File
        }
    }

    /// Nothing names it.
    pub fn is_removed(&self) -> bool {
        self.removed_by.is_some()
    }

    /// All that was written, by whichever node.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// What a name stands for in this directory.
    fn entry(&self, name: &OsStr) -> Outcome<Option<Ino>> {
        if name.len() > LONGEST_NAME {
            Err(libc::ENAMETOOLONG)
        } else {
            Ok(self.entries.get(name).copied())
        }
    }

    fn change(&mut self, node: usize, what: What) {
        let change = Change { what, node };
        self.hand_over(node, |other| other.meets(&change));
        change.apply(&mut self.data);
        self.changes.push(change);
    }
}

/// An error, as errno(3) has it.
pub type Errno = i32;

type Outcome<T> = Result<T, Errno>;

/// One file system.
#[derive(Debug, Clone)]
pub struct Volume {
    profile: Profile,
    /// The node that works now.
    node: usize,
    capacity: u64,
    used: u64,
    inodes: BTreeMap<Ino, Inode>,
    next: Ino,
    /// Changes of directories that are not on stable storage, oldest first.
    pending: Vec<Renaming>,
    pub locked: Locks,
    /// How often each inode is open, and those of them whose space is taken though nothing names them.
    opened: BTreeMap<Ino, usize>,
    held: BTreeSet<Ino>,
}

impl Volume {
    pub fn new(profile: Profile, capacity: u64) -> Self {
        let mut volume = Volume {
            profile,
            node: 0,
            capacity,
            used: 0,
            inodes: BTreeMap::new(),
            next: ROOT,
            pending: Vec::new(),
            locked: Locks::default(),
            opened: BTreeMap::new(),
            held: BTreeSet::new(),
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
            removed_by: None,
        };
        self.inodes.insert(ino, inode);
        ino
    }

    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// What follows is done by a process of this node.
    pub fn work_for(&mut self, node: usize) -> &mut Self {
        self.node = node;
        self
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
        // Not by its components: this is done at each operation.
        let names = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
        for name in names.filter(|name| !name.is_empty()) {
            let name = OsStr::from_bytes(name);
            if name == "." || name == ".." {
                return Err(libc::EINVAL);
            }
            let directory = self.inode(here)?;
            if !directory.directory {
                return Err(libc::ENOTDIR);
            }
            here = directory.entry(name)?.ok_or(libc::ENOENT)?;
        }
        Ok(here)
    }

    /// The directory of a path, and its last name.
    fn place<'a>(&self, path: &'a Path) -> Outcome<(Ino, &'a OsStr)> {
        let bytes = path.as_os_str().as_bytes();
        let slash = bytes.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = match slash {
            Some(at) => (&bytes[..at], &bytes[at + 1..]),
            None => (&bytes[..0], bytes),
        };
        if matches!(name, b"" | b"." | b"..") {
            return Err(libc::EBUSY);
        }
        let parent = self.find(Path::new(OsStr::from_bytes(parent)))?;
        let name = OsStr::from_bytes(name);
        if self.inode(parent)?.directory {
            Ok((parent, name))
        } else {
            Err(libc::ENOTDIR)
        }
    }

    /// The bytes of a file as the node that works sees them.
    pub fn data(&mut self, ino: Ino) -> Outcome<Cow<'_, [u8]>> {
        let (node, profile) = (self.node, self.profile);
        let inode = self.inode_mut(ino)?;
        if profile != Profile::Nfs {
            inode.hand_over(node, |_| true);
            return Ok(Cow::Borrowed(&inode.data));
        }
        if inode.changes.iter().all(|change| change.node == node) {
            return Ok(Cow::Borrowed(&inode.data));
        }
        let mut seen = inode.synced.clone();
        let own = inode.changes.iter().filter(|change| change.node == node);
        own.for_each(|change| change.apply(&mut seen));
        Ok(Cow::Owned(seen))
    }

    /// True if an open file is gone for the node that works: a server does not keep it for a node other than
    /// the one that has removed it.
    pub fn is_stale(&self, ino: Ino) -> bool {
        let removed_by = self.inodes.get(&ino).map(|inode| inode.removed_by);
        self.profile == Profile::Nfs
            && removed_by.is_none_or(|by| by.is_some_and(|by| by != self.node))
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
        // An inode stays until no stable entry names it; its space is given back when nobody has it open.
        for ino in gone {
            let named = |inode: &Inode| inode.entries.values().any(|other| *other == ino);
            if !self.inodes.values().any(named)
                && let Some(inode) = self.inodes.get_mut(&ino)
            {
                inode.removed_by = Some(self.node);
                if self.profile != Profile::Nfs && self.opened.contains_key(&ino) {
                    self.held.insert(ino);
                } else {
                    self.used -= taken(inode.data.len() as u64).min(self.used);
                }
            }
        }
    }

    /// A process opens a file.
    pub fn open(&mut self, ino: Ino) {
        *self.opened.entry(ino).or_default() += 1;
    }

    /// A process that has it open does not need it any more.
    pub fn release(&mut self, ino: Ino) {
        let Some(count) = self.opened.get_mut(&ino) else {
            return;
        };
        *count -= 1;
        if *count > 0 {
            return;
        }
        self.opened.remove(&ino);
        if self.held.remove(&ino)
            && let Some(inode) = self.inodes.get(&ino)
        {
            self.used -= taken(inode.data.len() as u64).min(self.used);
        }
    }

    /// Nobody has a lock or a file open any more.
    pub fn forget_processes(&mut self) {
        self.locked.clear();
        self.opened.clear();
        self.held.clear();
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
        if self.inode(parent)?.entry(name)?.is_some() {
            return Err(libc::EEXIST);
        }
        let ino = self.add(directory, mode, time);
        self.rename_entries(vec![(parent, name.to_os_string(), Some(ino))], time);
        Ok(ino)
    }

    pub fn list(&self, path: &Path) -> Outcome<Vec<OsString>> {
        let inode = self.inode(self.find(path)?)?;
        if inode.directory {
            Ok(inode.entries.keys().cloned().collect())
        } else {
            Err(libc::ENOTDIR)
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
        let (old, old_name) = self.place(from)?;
        let (new, new_name) = self.place(to)?;
        let ino = self.inode(old)?.entry(old_name)?.ok_or(libc::ENOENT)?;
        let there = self.inode(new)?.entry(new_name)?;
        if to.starts_with(from) && to != from {
            return Err(libc::EINVAL);
        }
        if let Some(there) = there {
            if there == ino {
                return Ok(());
            }
            let (inode, target) = (self.inode(ino)?, self.inode(there)?);
            match (inode.directory, target.directory) {
                _ if from.starts_with(to) => return Err(libc::ENOTEMPTY),
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
        if bytes.is_empty() {
            return Ok(());
        }
        let size = self.inode(ino)?.data.len() as u64;
        self.reserve(ino, size, size.max(offset + bytes.len() as u64))?;
        let node = self.node;
        let inode = self.inode_mut(ino)?;
        (inode.mtime, inode.ctime) = (time, time);
        inode.change(node, What::Write(offset, bytes.to_vec()));
        Ok(())
    }

    pub fn set_size(&mut self, ino: Ino, size: u64, time: (i64, u32)) -> Outcome<()> {
        let before = self.inode(ino)?.data.len() as u64;
        self.reserve(ino, before, size)?;
        let node = self.node;
        let inode = self.inode_mut(ino)?;
        (inode.mtime, inode.ctime) = (time, time);
        if before != size {
            inode.change(node, What::Size(size));
        }
        Ok(())
    }

    /// What nobody can reach any more takes no space.
    fn reserve(&mut self, ino: Ino, before: u64, after: u64) -> Outcome<()> {
        if self.inode(ino)?.removed_by.is_some() {
            return Ok(());
        }
        let used = self.used.saturating_sub(taken(before)) + taken(after);
        // A server that others see learns of the bytes later.
        if used > self.capacity && after > before && self.profile != Profile::Nfs {
            return Err(libc::ENOSPC);
        }
        self.used = used;
        Ok(())
    }
}

/// The space that a file of a size takes, bytes.
pub fn taken(size: u64) -> u64 {
    size.next_multiple_of(BLOCK)
}

#[test]
fn a_removed_file_takes_space_as_long_as_it_is_open() {
    let path = Path::new("file");
    let mut volume = Volume::new(Profile::Tmpfs, 1 << 20);
    let ino = volume.make(path, false, 0o644, (0, 0)).unwrap();
    volume.open(ino);
    volume.open(ino);
    volume.write(ino, 0, &[1; 1024], (0, 0)).unwrap();
    let free = volume.free();
    volume.remove(path, false, (0, 0)).unwrap();
    assert_eq!(volume.free(), free);
    volume.release(ino);
    assert_eq!(volume.free(), free);
    volume.release(ino);
    assert_eq!(volume.free(), free + 1024);
}
