//! Copies of files for all ranks of a node, in a restart on another number of ranks.
//!
//! Each rank of such a restart may read any file of the prefix directory. If fetched files go to the cache,
//! [`Session::route`](super::Session::route) copies a file there when the first rank of a node asks for it.
//! The other ranks of the node get the same copy. So the node reads it from the parallel file system once.
//! The first rank does not know whether others will ask; a file that only one rank needs is still read
//! once.
//!
//! All of this is local. The ranks of a node find each other by a locked file for each file that is
//! copied. A copy gets its name when it is complete and found to be as recorded. A file that cannot be
//! copied is read in the prefix directory.

use crate::comm::{Agreed, Term};
use crate::events::Severity;
use crate::format::rank2file::FileEntry;
use crate::messages::READ_IN_PLACE;
use crate::prefix::paths::MAX_FILENAME;
use crate::session::datasets::cached::title;
use crate::session::datasets::deletion::BackgroundDeletion;
use crate::session::datasets::restart_files::RestartFiles;
use crate::session::run::Run;
use crate::store::{FileKind, Lock, LockAttempt, Stat, retry, wait_for_lock};
use crate::system::time::Instant;
use crate::text::{bytes, compared, counted};
use crate::transfer::copy::{Content, Copier, CopyMode, PIECE};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time that a rank waits for the copy of another rank while nothing is written to it. The other
/// rank may be stopped, or its read may hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time between two looks of a waiting rank at the copy.
const LOOK: Duration = Duration::from_secs(1);

/// File systems allocate space in blocks, commonly of this size, bytes.
const BLOCK: u64 = 4096;

/// A file of the checkpoint that is being read.
pub(in crate::session) struct FileToCopy<'a> {
    /// The prefix directory.
    pub root: &'a Path,
    /// Its path, relative to that.
    pub relative: &'a Path,
    /// The rank that wrote the file.
    pub writer: u64,
    /// The record of the file.
    pub recorded: &'a FileEntry,
}

/// The copies of this rank's node.
#[derive(Default)]
pub(in crate::session) struct NodeCopies {
    /// The number of restarts that were begun. The same on all ranks.
    restarts: u64,
    /// `None` if files are read in the prefix directory.
    place: Option<CopyDir>,
    counts: Counts,
    /// The error of the system when a file in the prefix directory could not be read.
    trouble: Option<Error>,
}

/// The directory of the copies.
struct CopyDir {
    /// Index of the store.
    store: usize,
    base: PathBuf,
    /// The directory of the copies, relative to `base`.
    below: PathBuf,
    patience: Duration,
    /// This rank makes no more copies, since the store, or its locks, did not work.
    given_up: bool,
}

/// Counts of this rank's actions in a restart.
#[derive(Default)]
struct Counts {
    copied: i64,
    bytes: i64,
    /// Number of files for which a copy was there.
    taken: i64,
    /// Number of files without a copy, of which none could be made.
    in_place: i64,
}

impl NodeCopies {
    /// A restart from `offered` begins. Local.
    pub fn begin(&mut self, run: &Run, offered: &RestartFiles) {
        self.restarts += 1;
        self.counts = Counts::default();
        self.place = self.find_place(run, offered);
    }

    fn find_place(&self, run: &Run, offered: &RestartFiles) -> Option<CopyDir> {
        if !offered.writers.are_others() || run.settings.fetch_bypass {
            return None;
        }
        let scheme = run.descriptor_of(&offered.dataset)?;
        let descriptor = run.descriptors.stores.get(scheme.store)?;
        // A store outside of the nodes is as far away as the prefix directory.
        if scheme.bypass || !descriptor.enabled || descriptor.outlives_nodes() {
            return None;
        }
        let store = run.stores.get(scheme.store)?;
        let sharing = &store.sharing;
        let alone = sharing.leader == run.rank() && sharing.ranks(run.comm.size()).len() == 1;
        (!alone).then(|| CopyDir {
            store: scheme.store,
            base: store.layout.base().to_path_buf(),
            below: store
                .layout
                .restart_below(self.restarts, run.of_node.number),
            patience: PATIENCE,
            given_up: false,
        })
    }

    /// This restart makes no copies. Local.
    pub fn leave_out(&mut self) {
        self.place = None;
    }

    /// The path of the node's copy of a file. Makes the copy if it is missing. `None` if the file must be read
    /// in the prefix directory. May wait for another rank of the node that is copying it. Local.
    ///
    /// # Errors
    /// The file is not as recorded.
    pub fn path_of(
        &mut self,
        run: &Run,
        offered: &RestartFiles,
        wanted: &FileToCopy,
    ) -> Result<Option<PathBuf>> {
        let Some(place) = &mut self.place else {
            return Ok(None);
        };
        let path = place.file(wanted.relative);
        if path.as_os_str().len() >= MAX_FILENAME {
            return Ok(None);
        }
        let source = wanted.root.join(wanted.relative);
        let of_source = |error: &Error| matches!(error, Error::Io { path, .. } if *path == source);
        // An error of the store is not tried again: the prefix directory has the file.
        let provided = retry(|| match place.provide(run, wanted, &path) {
            Err(error) if of_source(&error) => Err(error),
            other => Ok(other),
        });
        let why = match provided.and_then(|provided| provided) {
            Ok(Provided::There) => {
                self.counts.taken += 1;
                return Ok(Some(path));
            }
            Ok(Provided::Copied(size)) => {
                self.counts.copied += 1;
                self.counts.bytes = self.counts.bytes.saturating_add_unsigned(size);
                return Ok(Some(path));
            }
            Err(error @ Error::Corrupt { .. }) => {
                let what = format!(
                    "cannot be read: rank {} wrote {}, and now {error}",
                    wanted.writer,
                    wanted.relative.display()
                );
                let name = offered.dataset.name.to_string();
                return Err(Error::dataset(offered.dataset.id, name, what));
            }
            Ok(Provided::No(why)) => why,
            Err(error) => {
                let text = error.to_string();
                if of_source(&error) {
                    self.trouble = Some(error).filter(Error::is_transient)
                } else {
                    place.given_up |= !error.is_full()
                }
                text
            }
        };
        if self.counts.in_place == 0 {
            let text = format!(
                "{} is read in the prefix directory: {why}",
                wanted.relative.display()
            );
            run.tell(Severity::Debug(1), text);
        }
        self.counts.in_place += 1;
        Ok(None)
    }

    /// The error of the system when the last file could not be read in the prefix directory. Local.
    pub fn take_trouble(&mut self) -> Option<Error> {
        self.trouble.take()
    }

    /// This rank's terms in the sums of all ranks, for [`NodeCopies::end`].
    pub fn terms(&self) -> [Term; 4] {
        let Counts {
            copied,
            bytes,
            taken,
            in_place,
        } = self.counts;
        [copied, bytes, taken, in_place].map(Term::Sum)
    }

    /// The restart has ended on all ranks, with these `sums`: tells about the copies, and deletes them.
    /// Local.
    pub fn end(
        &mut self,
        run: &Run,
        deletion: &mut BackgroundDeletion,
        offered: &RestartFiles,
        sums: [Agreed<i64>; 4],
    ) {
        self.tell(run, offered, sums.map(Agreed::count));
        let Some(place) = self.place.take() else {
            return;
        };
        let dir = place.dir();
        if run.led_store(place.store).is_some() && !matches!(run.files.stat(&dir), Ok(None)) {
            deletion.start_tree(run, dir);
        }
    }

    fn tell(&self, run: &Run, offered: &RestartFiles, sums: [u64; 4]) {
        let [copied, size, taken, in_place] = sums;
        let title = title(&offered.dataset);
        if copied > 0 {
            let text = format!(
                "{title}: {} ({}) went from the prefix directory to the cache, each once a node; ranks \
                 took copies of others {taken} times",
                counted(copied as usize, "file"),
                bytes(size)
            );
            run.tell_once(Severity::Debug(1), text);
        }
        if in_place > 0 {
            let text = format!(
                "{title}: ranks read files in the prefix directory {in_place} times, because the cache \
                 could not take them; SCR_DEBUG=1 tells why ({READ_IN_PLACE})"
            );
            run.tell_once(Severity::Warning, text);
        }
    }
}

/// Since when another rank's copy has not changed.
struct Growth {
    seen: Option<Stat>,
    since: Instant,
}

impl Growth {
    fn new(seen: Option<Stat>, since: Instant) -> Self {
        Growth { seen, since }
    }

    /// The time for which it has not changed.
    fn pause(&mut self, seen: Option<Stat>, now: Instant) -> Duration {
        // The time of the last access does not count.
        let content = |stat: &Option<Stat>| stat.map(|s| (s.mtime, s.size, s.blocks));
        if content(&seen) != content(&self.seen) {
            *self = Growth::new(seen, now);
        }
        now.saturating_duration_since(self.since)
    }
}

/// The result of [`CopyDir::provide`].
enum Provided {
    /// The copy was there, perhaps after a while.
    There,
    /// This rank has made the copy, which has this many bytes.
    Copied(u64),
    /// No copy was made, for this reason.
    No(String),
}

impl CopyDir {
    fn dir(&self) -> PathBuf {
        self.base.join(&self.below)
    }

    /// Path of the copy of a file.
    fn file(&self, relative: &Path) -> PathBuf {
        self.dir().join("files").join(relative)
    }

    /// Makes the copy of a file at `path`, unless it is there.
    fn provide(&mut self, run: &Run, wanted: &FileToCopy, path: &Path) -> Result<Provided> {
        let files = &*run.files;
        let is_there = || {
            let stat = files.stat(path)?;
            Ok::<bool, Error>(stat.is_some_and(|stat| stat.kind == FileKind::File))
        };
        if is_there()? {
            return Ok(Provided::There);
        }
        if self.given_up {
            return Ok(Provided::No("no more copies are made".to_string()));
        }
        files.make_private_dirs(&self.base, &self.below)?;
        // Files of one sum wait for each other.
        let sum = crc32fast::hash(wanted.relative.as_os_str().as_encoded_bytes());
        let (lock, partial) = (
            self.dir().join(format!("{sum:08x}.lock")),
            self.dir().join(format!("{sum:08x}.part")),
        );
        drop(files.rewrite(&lock, 0o600)?);
        let _lock = match self.wait(run, &lock, &partial)? {
            Ok(lock) => lock,
            Err(why) => return Ok(Provided::No(why)),
        };
        if is_there()? {
            return Ok(Provided::There);
        }
        self.copy(run, wanted, &partial, path)
    }

    /// Takes the lock of a file. While another rank makes the copy, waits as long as the file at
    /// `partial` grows. The inner error tells why it has no lock.
    fn wait(
        &mut self,
        run: &Run,
        lock: &Path,
        partial: &Path,
    ) -> Result<std::result::Result<Box<dyn Lock>, String>> {
        let files = &*run.files;
        let look = || files.stat(partial).ok().flatten();
        let mut growth = Growth::new(look(), Instant::now());
        loop {
            let until = Instant::now() + LOOK.min(self.patience);
            match wait_for_lock(files, lock, until)? {
                LockAttempt::Acquired(lock) => return Ok(Ok(lock)),
                LockAttempt::Unsupported => {
                    self.given_up = true;
                    return Ok(Err("the store does not support locks".to_string()));
                }
                LockAttempt::HeldByOther => {}
            }
            if growth.pause(look(), Instant::now()) >= self.patience {
                return Ok(Err(format!(
                    "another process of this node is copying it, and has written nothing for {} s",
                    self.patience.as_secs()
                )));
            }
        }
    }

    /// Copies a file, which is compared with its record, to `partial`, and renames that to `path`.
    fn copy(
        &self,
        run: &Run,
        wanted: &FileToCopy,
        partial: &Path,
        path: &Path,
    ) -> Result<Provided> {
        let (files, settings) = (&*run.files, &run.settings);
        let from = wanted.root.join(wanted.relative);
        let Some(stat) = files.stat(&from)? else {
            return Err(Error::corrupt(from, "is missing"));
        };
        // A file system that does not tell its free space can only be tried.
        let free = files
            .space(&self.dir())
            .map_or(u64::MAX, |space| space.free);
        let needed = stat.space(BLOCK);
        if needed > free {
            let [needed, free] = compared([needed, free]);
            return Ok(Provided::No(format!(
                "it needs {needed}, and {} has {free} free",
                self.base.display()
            )));
        }
        let recorded = Content {
            size: wanted.recorded.size.unwrap_or(stat.size),
            crc: wanted
                .recorded
                .crc
                .filter(|_| settings.crc_on_flush || settings.crc_on_copy),
        };
        let (crc, sync) = (recorded.crc.is_some(), false);
        let mut copier = Copier::new(files, settings.file_buf_size.min(PIECE));
        let stat = settings.copy_metadata.then_some(&stat);
        copier.copy_with(
            &from,
            partial,
            Some(&recorded),
            CopyMode { crc, sync },
            stat,
        )?;
        let done = (|| {
            let parent = wanted.relative.parent().unwrap_or(Path::new(""));
            files.make_private_dirs(&self.base, &self.below.join("files").join(parent))?;
            files.rename(partial, path)
        })();
        if done.is_err() {
            // The first error is reported.
            let _ = files.remove_file(partial);
        }
        done.map(|()| Provided::Copied(recorded.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::run_in;
    use crate::store::Files;
    use crate::store::posix::Posix;
    use crate::system::thread;

    const NAME: &str = "d/file";

    /// A place in the store of `run`, in whose prefix directory there is a file of five bytes.
    fn place(run: &Run) -> CopyDir {
        let root = run.prefix.root();
        std::fs::create_dir_all(root.join("d")).unwrap();
        std::fs::write(root.join(NAME), b"12345").unwrap();
        let layout = &run.stores[0].layout;
        CopyDir {
            store: 0,
            base: layout.base().to_path_buf(),
            below: layout.restart_below(1, 0),
            patience: Duration::from_millis(30),
            given_up: false,
        }
    }

    /// Returns "there", the number of bytes that were copied, or the reason why there is no copy.
    fn provide(place: &mut CopyDir, run: &Run, recorded: &FileEntry) -> Result<String> {
        let wanted = FileToCopy {
            root: run.prefix.root(),
            relative: Path::new(NAME),
            writer: 3,
            recorded,
        };
        let path = place.file(wanted.relative);
        let provided = place.provide(run, &wanted, &path)?;
        Ok(match provided {
            Provided::There => "there".to_string(),
            Provided::Copied(size) => size.to_string(),
            Provided::No(why) => why,
        })
    }

    fn recorded(size: u64) -> FileEntry {
        FileEntry {
            size: Some(size),
            crc: Some(crc32fast::hash(b"12345")),
            ..FileEntry::default()
        }
    }

    #[test]
    fn a_copy_that_grows_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let size = |bytes: usize| {
            std::fs::write(&path, vec![0; bytes]).unwrap();
            Posix.stat(&path).unwrap()
        };
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut growth = Growth::new(None, begun);
        assert_eq!(growth.pause(None, after(7)).as_secs(), 7);
        let (one, two) = (size(1), size(2));
        for (seen, at, pause) in [(one, 8, 0), (one, 20, 12), (two, 21, 0), (two, 81, 60)] {
            assert_eq!(growth.pause(seen, after(at)).as_secs(), pause);
        }
    }

    #[test]
    fn a_rank_waits_for_another_but_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_in(&dir, &[]);
        let mut place = place(&run);
        let sum = crc32fast::hash(NAME.as_bytes());
        let file = |suffix: &str| place.dir().join(format!("{sum:08x}.{suffix}"));
        let (lock, partial) = (file("lock"), file("part"));
        Posix.make_private_dirs(&place.base, &place.below).unwrap();
        for path in [&lock, &partial] {
            std::fs::write(path, b"").unwrap();
        }
        let held = Posix.try_lock(&lock).unwrap().unwrap();
        let why = provide(&mut place, &run, &recorded(5)).unwrap();
        assert!(why.contains("another process of this node"), "{why}");
        place.patience = PATIENCE;
        let made = place.file(Path::new(NAME));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| provide(&mut place, &run, &recorded(5)));
            // The holder makes the copy.
            std::fs::create_dir_all(made.parent().unwrap()).unwrap();
            std::fs::write(&made, b"12345").unwrap();
            drop(held);
            assert_eq!(waiting.join().unwrap().unwrap(), "there");
        });
        // A new copy replaces what a killed process has left of its copy.
        std::fs::remove_dir_all(made.parent().unwrap()).unwrap();
        std::fs::write(&partial, b"the remains of a longer copy").unwrap();
        assert_eq!(provide(&mut place, &run, &recorded(5)).unwrap(), "5");
        assert_eq!(std::fs::read(&made).unwrap(), b"12345");
        assert_eq!(provide(&mut place, &run, &recorded(5)).unwrap(), "there");
        // A rank that makes no more copies still uses those of other ranks.
        place.given_up = true;
        assert_eq!(provide(&mut place, &run, &recorded(5)).unwrap(), "there");
        std::fs::remove_file(&made).unwrap();
        let why = provide(&mut place, &run, &recorded(5)).unwrap();
        assert_eq!(why, "no more copies are made");
    }

    #[test]
    fn a_file_that_is_not_as_recorded_is_no_copy() {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_in(&dir, &[]);
        let mut place = place(&run);
        let other = FileEntry {
            crc: Some(7),
            ..recorded(5)
        };
        for wrong in [recorded(6), other] {
            let error = provide(&mut place, &run, &wrong).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{error}");
        }
        // SCR v3.1.0 records neither size nor checksum.
        let none = FileEntry::default();
        assert_eq!(provide(&mut place, &run, &none).unwrap(), "5");
    }
}
