//! The simulated file system and the real one: the same operations give the same results.

use crate::files::SimFiles;
use crate::volume::{Profile, Volume};
use scr::store::posix::{Beneath, Posix};
use scr::store::{Durability, File, Files, Lock, Stat};
use scr::system::simulated::Random;
use scr::system::simulated::scheduler::{Simulation, Step};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// How many sequences, and how many operations in each.
const SEQUENCES: u64 = 40;
const OPERATIONS: usize = 150;

const SIM: &str = "/sim/local";

/// One of both file systems, with what is open and locked.
struct Side {
    files: Box<dyn Files>,
    root: PathBuf,
    open: Vec<Box<dyn File>>,
    locks: Vec<Box<dyn Lock>>,
}

/// What an operation has given, for comparison.
type Told = Result<String, i32>;

/// What is to be done; it is the same for both.
#[derive(Debug, Clone)]
enum Operation {
    Open(PathBuf),
    Create(PathBuf, u32),
    Rewrite(PathBuf, u32),
    Close(usize),
    Size(usize),
    ReadAt(usize, u64, usize),
    WriteAt(usize, u64, usize),
    Allocate(usize, u64),
    SetSize(usize, u64),
    Data(usize),
    Sync(usize),
    Read(PathBuf, u64),
    Replace(PathBuf, usize, Durability),
    Append(PathBuf, u32, usize),
    MakeDirs(PathBuf),
    MakePrivate(PathBuf, PathBuf),
    List(PathBuf),
    Stat(PathBuf),
    Rename(PathBuf, PathBuf),
    RemoveFile(PathBuf),
    RemoveDir(PathBuf),
    RemoveTree(PathBuf),
    SyncDir(PathBuf),
    SyncFs(PathBuf),
    Restore(PathBuf, u32, i64),
    Lock(PathBuf),
    LockShared(PathBuf),
    Unlock(usize),
    RealDir(PathBuf),
}

/// A path of few names, so that operations meet. Now and then one that is too long.
fn path(random: &mut Random) -> PathBuf {
    let mut path = PathBuf::new();
    for _ in 0..random.between(1, 3) {
        if random.once_in(60) {
            path.push("n".repeat(256))
        } else {
            path.push(random.one_of(&["a", "b", "c"]))
        }
    }
    path
}

fn draw(random: &mut Random) -> Operation {
    let file = random.below(3) as usize;
    let at = random.below(1500);
    let length = random.below(1200) as usize;
    let mode = *random.one_of(&[0o600, 0o640, 0o644]);
    match random.below(36) {
        0 | 1 => Operation::Open(path(random)),
        2..=4 => Operation::Create(path(random), mode),
        5 => Operation::Rewrite(path(random), mode),
        6 => Operation::Close(file),
        7 if random.once_in(2) => Operation::Append(path(random), mode, length),
        7 => Operation::Size(file),
        8 | 9 => Operation::ReadAt(file, at, length),
        10..=12 => Operation::WriteAt(file, at, length),
        13 => Operation::Allocate(file, at * random.below(2)),
        14 => Operation::SetSize(file, at * random.below(2)),
        15 => Operation::Data(file),
        16 => Operation::Sync(file),
        17 | 18 => Operation::Read(path(random), at),
        19 => Operation::Replace(path(random), length, Durability::Atomic),
        20 => Operation::Replace(path(random), length, Durability::Synced),
        21 | 22 => Operation::MakeDirs(path(random)),
        23 => Operation::MakePrivate(path(random), path(random)),
        24 => Operation::List(path(random)),
        25 => Operation::Stat(path(random)),
        26 | 27 => Operation::Rename(path(random), path(random)),
        28 => Operation::RemoveFile(path(random)),
        29 => Operation::RemoveDir(path(random)),
        30 => Operation::RemoveTree(path(random)),
        31 => Operation::SyncDir(path(random)),
        32 => Operation::SyncFs(path(random)),
        33 => Operation::Restore(path(random), mode, at as i64),
        34 if random.below(2) == 0 => Operation::LockShared(path(random)),
        34 => Operation::Lock(path(random)),
        _ if random.once_in(2) => Operation::Unlock(file),
        _ => Operation::RealDir(path(random)),
    }
}

/// Bytes that tell where they belong.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..length).map(|_| random.between(1, 255) as u8).collect()
}

/// What of the attributes depends on the operations alone. Sizes of directories differ between all file systems,
/// and the umask takes from the modes for others.
fn stat_told(stat: Option<Stat>) -> String {
    let told = |stat: Stat| {
        let size = match stat.kind {
            scr::store::FileKind::File => stat.size,
            _ => 0,
        };
        format!("{:?} {size} {:o}", stat.kind, stat.mode & !0o077)
    };
    stat.map_or_else(|| "nothing".to_string(), told)
}

impl Side {
    fn at(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    fn opened(&mut self, file: scr::Result<Box<dyn File>>) -> scr::Result<String> {
        self.open.push(file?);
        if self.open.len() > 3 {
            self.open.remove(0);
        }
        Ok("open".to_string())
    }

    /// The data of a file, and zeros where it has holes: whether a file system knows holes is its own affair.
    fn data(&self, file: &dyn File) -> scr::Result<String> {
        let size = file.size()?;
        let mut content = vec![0; size as usize];
        let mut from = 0;
        while let Some(run) = file.data_from(from)? {
            assert!(
                from <= run.start && run.start < run.end && run.end <= size,
                "{run:?}"
            );
            let range = run.start as usize..run.end as usize;
            file.read_at(run.start, &mut content[range])?;
            from = run.end;
        }
        Ok(format!("{size} bytes {:x}", crc32fast::hash(&content)))
    }

    fn done(&mut self, operation: &Operation) -> scr::Result<String> {
        let nothing = |()| String::new();
        if let Operation::Size(at)
        | Operation::ReadAt(at, ..)
        | Operation::WriteAt(at, ..)
        | Operation::Allocate(at, _)
        | Operation::SetSize(at, _)
        | Operation::Data(at)
        | Operation::Sync(at) = operation
        {
            let Some(file) = self.open.get(*at) else {
                return Ok("not open".to_string());
            };
            return match operation {
                Operation::Size(_) => file.size().map(|size| size.to_string()),
                Operation::ReadAt(_, from, length) => {
                    let mut buffer = vec![0; *length];
                    let read = file.read_at(*from, &mut buffer);
                    read.map(|()| format!("{:x}", crc32fast::hash(&buffer)))
                }
                Operation::WriteAt(_, from, length) => {
                    file.write_at(*from, &bytes(*from, *length)).map(nothing)
                }
                Operation::Allocate(_, size) => file.allocate(*size).map(nothing),
                Operation::SetSize(_, size) => file.set_size(*size).map(nothing),
                Operation::Data(_) => self.data(&**file),
                _ => file.sync().map(nothing),
            };
        }
        match operation {
            Operation::Open(path) => {
                let file = self.files.open(&self.at(path));
                self.opened(file)
            }
            Operation::Create(path, mode) => {
                let file = self.files.create(&self.at(path), *mode);
                self.opened(file)
            }
            Operation::Rewrite(path, mode) => {
                let file = self.files.rewrite(&self.at(path), *mode);
                self.opened(file)
            }
            Operation::Close(at) => {
                let known = *at < self.open.len();
                known.then(|| self.open.remove(*at));
                Ok(String::new())
            }
            Operation::Read(path, limit) => {
                let read = self.files.read(&self.at(path), *limit);
                read.map(|data| format!("{} {:x}", data.len(), crc32fast::hash(&data)))
            }
            Operation::Replace(path, length, durability) => {
                let data = bytes(1, *length);
                let replaced = self.files.replace(&self.at(path), &data, *durability);
                replaced.map(nothing)
            }
            Operation::Append(path, mode, length) => {
                let size = self.files.append(&self.at(path), *mode, &bytes(2, *length));
                size.map(|size| size.to_string())
            }
            Operation::MakeDirs(path) => self.files.make_dirs(&self.at(path)).map(nothing),
            Operation::MakePrivate(base, below) => self
                .files
                .make_private_dirs(&self.at(base), below)
                .map(nothing),
            Operation::List(path) => self
                .files
                .list(&self.at(path))
                .map(|all| format!("{all:?}")),
            Operation::Stat(path) => self.files.stat(&self.at(path)).map(stat_told),
            Operation::Rename(from, to) => {
                self.files.rename(&self.at(from), &self.at(to)).map(nothing)
            }
            Operation::RemoveFile(path) => self.files.remove_file(&self.at(path)).map(nothing),
            Operation::RemoveDir(path) => self
                .files
                .remove_dir(&self.at(path))
                .map(|done| done.to_string()),
            Operation::RemoveTree(path) => self.files.remove_tree(&self.at(path)).map(nothing),
            Operation::SyncDir(path) => self.files.sync_dir(&self.at(path)).map(nothing),
            Operation::SyncFs(path) => self.files.sync_fs(&self.at(path)).map(nothing),
            Operation::Restore(path, mode, time) => self.restored(&self.at(path), *mode, *time),
            Operation::Lock(path) => self.locked(self.files.try_lock(&self.at(path))?),
            Operation::LockShared(path) => self.locked(self.files.try_lock_shared(&self.at(path))?),
            Operation::Unlock(at) => {
                let known = *at < self.locks.len();
                known.then(|| self.locks.remove(*at));
                Ok(String::new())
            }
            Operation::RealDir(path) => {
                let real = self.files.real_dir(&self.at(path))?;
                let below = real.strip_prefix(&self.root);
                Ok(format!("{below:?}"))
            }
            other => panic!("{other:?} is about an open file"),
        }
    }

    fn locked(&mut self, lock: Option<Box<dyn Lock>>) -> scr::Result<String> {
        let told = lock.is_some().to_string();
        self.locks.extend(lock);
        Ok(told)
    }

    fn restored(&self, path: &Path, mode: u32, seconds: i64) -> scr::Result<String> {
        let Some(stat) = self.files.stat(path)? else {
            return Ok("nothing".to_string());
        };
        // Of a directory that nobody may search nothing could be compared any more.
        let mode = stat.mode & !0o777 | mode | 0o700;
        let mtime = (seconds, 7);
        self.files.restore(
            path,
            &Stat {
                mode,
                mtime,
                ..stat
            },
        )?;
        let now = self.files.stat(path)?;
        Ok(format!(
            "{} {:?}",
            stat_told(now),
            now.map(|stat| stat.mtime)
        ))
    }

    fn told(&mut self, operation: &Operation) -> Told {
        self.done(operation).map_err(|error| {
            let text = error.to_string();
            let named = text.contains(&self.root.display().to_string());
            assert!(named, "{operation:?}: no path in '{text}'");
            match (operation, error.errno().unwrap_or(0)) {
                // Space that the file system does not reserve is not asked for.
                (Operation::Allocate(..), libc::EINVAL) => libc::EBADF,
                // What stands in the way is not a directory; which of both is told depends on the call.
                (Operation::MakeDirs(_) | Operation::MakePrivate(..), libc::EEXIST) => {
                    libc::ENOTDIR
                }
                (_, errno) => errno,
            }
        })
    }

    /// Everything below a directory.
    fn tree(&self, path: &Path, told: &mut Vec<String>) {
        for name in self.files.list(path).unwrap() {
            let path = path.join(name);
            let stat = self.files.stat(&path).unwrap().unwrap();
            let name = path.strip_prefix(&self.root).unwrap().display();
            let content = match stat.kind {
                scr::store::FileKind::File => self.files.read(&path, 1 << 20).unwrap(),
                _ => Vec::new(),
            };
            let crc = crc32fast::hash(&content);
            told.push(format!("{name}: {} {crc:x}", stat_told(Some(stat))));
            if stat.kind == scr::store::FileKind::Directory {
                self.tree(&path, told);
            }
        }
    }
}

/// Does the same on both, and returns the first difference.
fn compare(seed: u64, root: &Path) -> Option<String> {
    let mut random = Random::new(seed);
    let profile = *random.one_of(&[Profile::Tmpfs, Profile::Ordered, Profile::Weakest]);
    let volume = Arc::new(Mutex::new(Volume::new(profile, 64 << 20)));
    let simulated = SimFiles {
        node: 0,
        mounts: vec![(PathBuf::from(SIM), volume)],
        faults: Arc::default(),
        view: Arc::default(),
    };
    let real: Box<dyn Files> = if random.once_in(2) {
        Box::new(Posix)
    } else {
        Box::new(Beneath::new(&[root.to_path_buf()]))
    };
    let side = |files: Box<dyn Files>, root: &Path| Side {
        files,
        root: root.to_path_buf(),
        open: Vec::new(),
        locks: Vec::new(),
    };
    let mut sides = [side(Box::new(simulated), Path::new(SIM)), side(real, root)];
    let mut story = Vec::new();
    for number in 0..OPERATIONS {
        let operation = draw(&mut random);
        let told = sides.each_mut().map(|side| side.told(&operation));
        let trees = sides.each_ref().map(|side| {
            let mut told = Vec::new();
            if number % 10 == 9 || number + 1 == OPERATIONS {
                side.tree(&side.root, &mut told);
            }
            told
        });
        story.push(format!("{operation:?}: {:?}", told[0]));
        if told[0] != told[1] || trees[0] != trees[1] {
            let tail = story.split_off(story.len().saturating_sub(40)).join("\n");
            return Some(format!(
                "{tail}\nsimulated {:?} {:#?}\nreal {:?} {:#?}",
                told[0], trees[0], told[1], trees[1]
            ));
        }
    }
    None
}

#[test]
fn the_simulated_file_system_does_what_the_real_one_does() {
    for seed in 0..SEQUENCES {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        let simulation = Simulation::new(seed);
        let difference = Rc::new(RefCell::new(None));
        let found = difference.clone();
        simulation.start(1, "operations", move || {
            *found.borrow_mut() = compare(seed, &root)
        });
        while simulation.step() != Step::Ended {}
        assert_eq!(
            simulation.take_panics(),
            Vec::<String>::new(),
            "seed {seed}"
        );
        let difference = difference.borrow_mut().take();
        assert!(
            difference.is_none(),
            "seed {seed}:\n{}",
            difference.unwrap_or_default()
        );
    }
}
