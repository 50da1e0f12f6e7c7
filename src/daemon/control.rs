//! The files of the transfer daemon in the control directory of a job on a node.
//!
//! | file | what |
//! |---|---|
//! | `transfer.scrinfo` | the orders and the answers, changed under a lock |
//! | `transfer.lock` | that lock, held for milliseconds |
//! | `transfer.daemon` | a lock that the daemon holds while it lives, and who it is |
//!
//! The directory is private to the user. A file that belongs to somebody else is refused all the same.

use crate::format::{self, transfer::Transfer};
use crate::job::holders;
use crate::store::{Durability, FileKind, Files, Lock, LockAttempt, wait_for_lock, without_locks};
use crate::system::process::{self, host};
use crate::system::time::Instant;
use crate::system::time::sleep;
use crate::text::escaped_bytes;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Name of the transfer file.
pub const FILE: &str = "transfer.scrinfo";
const LOCK: &str = "transfer.lock";
const DAEMON: &str = "transfer.daemon";
const DAMAGED: &str = "transfer.scrinfo.damaged";

/// The longest time to wait for another process that changes the transfer file. A change takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a daemon that starts waits for its lock: a process that asks whether a daemon lives has the lock for a
/// moment.
const START: Duration = Duration::from_secs(1);

/// How long a living daemon may take to put a damaged transfer file aside.
const REPAIR: Duration = Duration::from_secs(10);

/// The time after which a daemon whose claim was taken away writes nothing any more. A daemon looks for its claim
/// more often than that, and while it does not look, its copying thread waits.
pub const LEFT_OUT: Duration = Duration::from_secs(2);

/// The longest name of a daemon, bytes.
const LONGEST_NAME: u64 = 300;

/// The largest transfer file that is read, bytes.
const LARGEST: u64 = 256 << 20;

/// How often a lock file that somebody has removed is made again.
const TRIES: u32 = 10;

/// The control directory of a job on this node.
#[derive(Clone)]
pub struct Control {
    files: Arc<dyn Files>,
    dir: PathBuf,
    /// How long to wait for the lock on the transfer file.
    lock_timeout: Duration,
}

/// Identifies one state of the transfer file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version((i64, u32), u64);

/// The right to be the daemon of the node. It ends with the process.
pub struct Claim {
    _lock: Box<dyn Lock>,
}

/// True for a file that is not what was written to it.
pub fn is_damage(error: &Error) -> bool {
    matches!(error, Error::Format { .. } | Error::Corrupt { .. })
}

/// True for the name of a file of the transfer daemon in a job's control directory.
pub fn is_control_file(name: &str) -> bool {
    let known = |name: &str| [FILE, LOCK, DAEMON, DAMAGED].contains(&name);
    known(name) || crate::cache::layout::temporary_of(name).is_some_and(known)
}

/// This process, as other processes name it. With its host: control directories may be on a file system
/// that nodes share.
pub fn this_process() -> String {
    format!("process {} on {}", process::id(), host())
}

impl Control {
    /// The directory `dir`, which [`Files::make_private_dirs`] has made or checked.
    pub fn new(files: &dyn Files, dir: PathBuf) -> Self {
        let files = files.beneath(std::slice::from_ref(&dir));
        Control {
            files,
            dir,
            lock_timeout: LOCK_TIMEOUT,
        }
    }

    /// For a caller that gives up on a daemon once it has shown no progress for `patience`.
    pub fn with_patience(self, patience: Duration) -> Self {
        Control {
            lock_timeout: LOCK_TIMEOUT.min(patience),
            ..self
        }
    }

    /// The transfer file.
    pub fn file(&self) -> PathBuf {
        self.dir.join(FILE)
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The version of the transfer file; `None` without a file. Two versions of the same moment may look
    /// alike.
    pub fn version(&self) -> Result<Option<Version>> {
        let stat = self.files.stat(&self.file())?;
        Ok(stat.map(|stat| Version(stat.ctime, stat.size)))
    }

    /// Reads the transfer file; `None` if there is none.
    ///
    /// # Errors
    /// The file is damaged, or belongs to somebody else.
    pub fn read(&self) -> Result<Option<Transfer>> {
        let path = self.file();
        let Some(stat) = self.files.stat(&path)? else {
            return Ok(None);
        };
        let us = process::user();
        if stat.uid != us {
            return Err(Error::config(
                path.display().to_string(),
                format!(
                    "it belongs to user {}, not to us (user {us}), so it is not used; have it \
                     removed, or choose another SCR_CNTL_BASE",
                    stat.uid
                ),
            ));
        }
        if stat.kind != FileKind::File || stat.size > LARGEST {
            let what = format!("is no transfer file: no file, or larger than {LARGEST} bytes");
            return Err(Error::corrupt(path, what));
        }
        match format::read(&*self.files, &path) {
            Err(error) if error.is_not_found() => Ok(None),
            other => other.map(Some),
        }
    }

    /// Changes the transfer file, or makes it.
    ///
    /// # Errors
    /// The file is damaged, or cannot be written.
    pub fn update<T>(&self, change: impl FnOnce(&mut Transfer) -> T) -> Result<T> {
        let _lock = self.lock()?;
        let mut transfer = self.read()?.unwrap_or_default();
        let before = transfer.clone();
        let result = change(&mut transfer);
        if transfer != before {
            format::write(&*self.files, &self.file(), &transfer, Durability::Atomic)?;
        }
        Ok(result)
    }

    /// Changes the transfer file as [`Control::update`] does. A damaged file is put aside: by the daemon if one lives, since it must first stop to
    /// copy what the file has told it, else at once. Datasets are not lost with it.
    pub fn update_repaired<T>(&self, mut change: impl FnMut(&mut Transfer) -> T) -> Result<T> {
        let end = Instant::now() + REPAIR;
        loop {
            match self.update(&mut change) {
                Err(error) if is_damage(&error) && Instant::now() < end => {
                    if self.living()?.is_none() {
                        self.put_aside()?;
                    } else {
                        sleep(Duration::from_millis(50));
                    }
                }
                other => return other,
            }
        }
    }

    /// Renames a damaged transfer file. Returns its new path.
    pub fn put_aside(&self) -> Result<PathBuf> {
        let _lock = self.lock()?;
        let aside = self.dir.join(DAMAGED);
        if self.files.stat(&aside)?.is_some() {
            self.files.remove_tree(&aside)?;
        }
        match self.files.rename(&self.file(), &aside) {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(aside),
        }
    }

    /// Removes the transfer file, and what killed processes have left of it.
    pub fn remove(&self) -> Result<()> {
        let _lock = self.lock()?;
        self.remove_temporaries()?;
        self.files.remove_file(&self.file())
    }

    /// Describes the living daemon of this node; `None` without one, as always on a file system
    /// without locks.
    pub fn living(&self) -> Result<Option<String>> {
        match self.files.try_lock(&self.dir.join(DAEMON)) {
            Ok(None) => Ok(Some(self.who())),
            Ok(Some(_)) => Ok(None),
            Err(error) if error.is_not_found() || without_locks(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// True if a daemon lives on this host, and not on another one that shares the directory.
    pub fn is_served(&self) -> Result<bool> {
        let who = self.living()?;
        Ok(who.is_some_and(|who| who.split_once(" on ").is_some_and(|(_, on)| on == host())))
    }

    /// Runs `work` while there is no daemon, and none can start; `None` if there is one.
    pub fn without_daemon<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        match self.files.try_lock(&self.dir.join(DAEMON)) {
            Ok(None) => Ok(None),
            Ok(Some(_lock)) => work().map(Some),
            Err(error) if error.is_not_found() || without_locks(&error) => work().map(Some),
            Err(error) => Err(error),
        }
    }

    fn who(&self) -> String {
        let path = self.dir.join(DAEMON);
        let told = self.files.read(&path, LONGEST_NAME).unwrap_or_default();
        match told.trim_ascii() {
            [] => holders::in_words(&path).unwrap_or_else(|| "a process".to_string()),
            told => escaped_bytes(told),
        }
    }

    /// Becomes the daemon of the node.
    ///
    /// # Errors
    /// The node has a daemon already, or the file system has no locks.
    pub fn claim(&self) -> Result<Claim> {
        let path = self.dir.join(DAEMON);
        for _ in 0..TRIES {
            let file = self.files.rewrite(&path, 0o600)?;
            match wait_for_lock(&*self.files, &path, Instant::now() + START) {
                Ok(LockAttempt::Acquired(lock)) => {
                    file.set_size(0)?;
                    file.write_at(0, this_process().as_bytes())?;
                    if self.files.stat(&path)?.is_some() {
                        return Ok(Claim { _lock: lock });
                    }
                }
                Ok(LockAttempt::HeldByOther) => {
                    return Err(Error::config(
                        self.dir.display().to_string(),
                        format!(
                            "{} is the transfer daemon here already; `scr transfer --stop` ends it",
                            self.who()
                        ),
                    ));
                }
                Ok(LockAttempt::Unsupported) => {
                    return Err(Error::config(
                        self.dir.display().to_string(),
                        "a transfer daemon needs a file system with locks; name a directory on \
                         another one with SCR_CNTL_BASE",
                    ));
                }
                // The daemon before has removed its files when it ended.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Err(self.vanishes(&path))
    }

    /// True while the claim of this process is there: nobody has removed it, or made a new one.
    pub fn is_claimed(&self) -> bool {
        match self.files.read(&self.dir.join(DAEMON), LONGEST_NAME) {
            Ok(who) => who == this_process().as_bytes(),
            // Other errors do not tell whether the file is there.
            Err(error) => !error.is_not_found(),
        }
    }

    /// Leaves out a daemon that lives but does nothing: takes its claim away, and changes the transfer file.
    /// A daemon that was stopped looks for its claim before it writes anything else, and then ends.
    /// After [`LEFT_OUT`] the daemon writes nothing any more, even if it lives. If there is no space, the transfer file
    /// stays as it is: a daemon that comes later leaves alone what was copied. Local.
    ///
    /// # Errors
    /// The claim of the daemon cannot be removed, or the transfer file cannot be changed.
    pub fn leave_out(&self, change: impl FnMut(&mut Transfer)) -> Result<()> {
        self.files.remove_file(&self.dir.join(DAEMON))?;
        let lock = self.dir.join(LOCK);
        match wait_for_lock(&*self.files, &lock, Instant::now() + self.lock_timeout) {
            // The daemon may have been stopped while it held the lock.
            Ok(LockAttempt::HeldByOther) => self.files.remove_file(&lock)?,
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        match self.update_repaired(change) {
            Err(error) if error.is_full() => Ok(()),
            other => other,
        }
    }

    /// Removes all files of the daemon if no part is left in the transfer file, and the directories that are
    /// empty without these files. Local; only with a claim.
    pub fn clean_up(&self, _claim: &Claim) -> Result<()> {
        self.remove_if_done()
    }

    /// Cleans up if there is no daemon: one that was killed leaves its files. Local.
    pub fn sweep(&self) -> Result<()> {
        if self.is_used()? {
            self.without_daemon(|| self.remove_if_done()).map(drop)
        } else {
            Ok(())
        }
    }

    fn remove_if_done(&self) -> Result<()> {
        let left = match self.read() {
            // The next process that uses the file puts it aside and reports it.
            Err(error) if is_damage(&error) => return Ok(()),
            left => left?,
        };
        if left.is_some_and(|file| file.parts().next().is_some()) {
            return Ok(());
        }
        self.remove_files()?;
        // The caches of the job may be here, and a run that starts has locked them.
        let lock = match wait_for_lock(&*self.files, &self.dir, Instant::now()) {
            Ok(LockAttempt::HeldByOther) => return Ok(()),
            Err(error) if error.is_not_found() => return Ok(()),
            lock => lock?,
        };
        let removed = self.files.remove_dir(&self.dir)?;
        drop(lock);
        if removed && let Some(user) = self.dir.parent() {
            // The user's directory stays if another job has something in it.
            let _ = self.files.remove_dir(user);
        }
        Ok(())
    }

    /// Removes all files of the daemon, and what killed processes have left of those that they were
    /// replacing. Call it only while no daemon lives. Local.
    pub fn remove_files(&self) -> Result<()> {
        let lock = self.lock();
        if let Err(error) = lock.as_ref()
            && !error.is_full()
        {
            return lock.map(drop);
        }
        self.remove_temporaries()?;
        let names = [FILE, DAEMON, LOCK];
        names
            .iter()
            .try_for_each(|name| self.files.remove_file(&self.dir.join(name)))
    }

    /// True if there is a file of a daemon, living or dead.
    pub fn is_used(&self) -> Result<bool> {
        let there = |name| Ok(self.files.stat(&self.dir.join(name))?.is_some());
        Ok(there(FILE)? || there(DAEMON)? || !self.temporaries()?.is_empty())
    }

    fn remove_temporaries(&self) -> Result<()> {
        let names = self.temporaries()?;
        let mut paths = names.iter().map(|name| self.dir.join(name));
        paths.try_for_each(|path| self.files.remove_file(&path))
    }

    /// The temporary files of replacements in this directory. The caller has the lock.
    fn temporaries(&self) -> Result<Vec<String>> {
        let names = match self.files.list(&self.dir) {
            Err(error) if error.is_not_found() => Vec::new(),
            other => other?,
        };
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        let ours = names.filter(|name| name.starts_with('.') && is_control_file(name));
        Ok(ours.collect())
    }

    fn lock(&self) -> Result<Option<Box<dyn Lock>>> {
        let path = self.dir.join(LOCK);
        let end = Instant::now() + self.lock_timeout;
        for _ in 0..TRIES {
            self.files.rewrite(&path, 0o600)?;
            match wait_for_lock(&*self.files, &path, end) {
                Ok(LockAttempt::Acquired(lock)) => {
                    if self.files.stat(&path)?.is_some() {
                        return Ok(Some(lock));
                    }
                }
                Ok(LockAttempt::Unsupported) => return Ok(None),
                Ok(LockAttempt::HeldByOther) => {
                    let who = holders::in_words(&path).unwrap_or_else(|| "another process".into());
                    let seconds = self.lock_timeout.as_secs();
                    return Err(Error::Io {
                        action: "lock",
                        path,
                        errno: Some(libc::EAGAIN),
                        text: format!("{who} has kept the lock for {seconds} s; end it"),
                    });
                }
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Err(self.vanishes(&path))
    }

    fn vanishes(&self, path: &Path) -> Error {
        let what = "is removed again and again by another process";
        Error::config(path.display().to_string(), what)
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
