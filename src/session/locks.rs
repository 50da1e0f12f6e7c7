//! Locks. A prefix directory belongs to one run at a time, and so does the cache of a job on a node:
//! a second run would mistake the files of the first for the remains of a killed run. The first run
//! may have been killed, while one of its processes is still there, for example stopped.
//!
//! The control directory of a job on a node may have no cache in it. The runs of a job share a lock on the
//! file with the count of calls, so that nobody removes its directory while one of them uses it.

use crate::cache::earlier_runs::take_over_earlier_runs;
use crate::cache::layout::{Layout, temporary_of};
use crate::events::Severity;
use crate::format::{self, Name};
use crate::job::holders;
use crate::messages::{CACHE_IN_USE, OTHER_DIRECTORY, PREFIX_IN_USE};
use crate::prefix::paths::Prefix;
use crate::session::datasets::cached::CachedDatasets;
use crate::session::run::{Run, Store};
use crate::session::stores::SHARED;
use crate::system::process;

use crate::store::{CALLS_FILE, Durability, FileKind, Files, Lock, LockAttempt, wait_for_lock};
use crate::system::time::{Instant, sleep};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// The file in a job's cache directory that names the run that holds the lock.
const OWNER: &str = ".scr.run";

/// Beginning of the names of [`Session::reported_file`](super::Session::reported_file).
pub(in crate::session) const REPORTED: &str = ".scr.reported.";

/// Time to wait for a store that this run does not need: another rank of this run may hold the lock
/// and may not have named the run yet.
const UNUSED_STORE: Duration = Duration::from_secs(1);

/// Time to wait for the lock before the file that names its owner is read again.
const RETRY: Duration = Duration::from_millis(20);

/// The locks of this process. The locks end with the process, however it ends.
#[derive(Default)]
pub(in crate::session) struct Locks {
    /// The lock on the prefix directory. Only rank 0 has it.
    prefix: Option<Box<dyn Lock>>,
    /// The locks on the cache directories, each with the index of the store. Only leaders have them.
    stores: Vec<(usize, Box<dyn Lock>)>,
    /// The lock on the control directory, shared with other runs of the job. One rank of each node has it.
    control: Option<Box<dyn Lock>>,
}

/// The run that holds a job's cache directory.
///
/// ```text
///   NODE = n3
///   PID = 4242
///   PREFIX = /p/run1
///   RANK = 3
///   RUN = 6fd1be5a0a6f42c7
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Owner {
    /// The identity of the run, as in the name of its directory.
    run: Name,
    node: Name,
    pid: u32,
    rank: usize,
    /// The prefix directory of the run.
    prefix: Name,
}

/// Result of locking a cache directory.
enum Locked {
    /// This run has the lock. No lock is taken if another rank of this run holds it, or if the file
    /// system has no locks.
    ByThisRun(Option<Box<dyn Lock>>),
    /// Another run has the lock.
    ByOther(Owner),
}

/// Rank 0: locks the prefix directory. Waits up to `timeout` for another run to end. `None` if the file system has no
/// locks. Local.
///
/// # Errors
/// Another run has the lock.
pub(in crate::session) fn lock_prefix(
    files: &dyn Files,
    prefix: &Prefix,
    timeout: Duration,
) -> Result<Option<Box<dyn Lock>>> {
    match wait_for_lock(files, &prefix.meta(), Instant::now() + timeout)? {
        LockAttempt::Acquired(lock) => Ok(Some(lock)),
        LockAttempt::Unsupported => Ok(None),
        LockAttempt::HeldByOther => Err(prefix_in_use(prefix)),
    }
}

impl Locks {
    /// Takes the lock on the prefix directory out, for the next run of the session. Local.
    pub fn take_prefix(&mut self) -> Option<Box<dyn Lock>> {
        self.prefix.take()
    }

    /// Adds the lock on the prefix directory. Local.
    pub fn hold_prefix(&mut self, lock: Option<Box<dyn Lock>>) {
        self.prefix = lock;
    }

    /// Locks the stores that this rank leads, and takes over the datasets that earlier runs left in them. This rank
    /// no longer leads a store that a run in another prefix directory has and that no dataset of this run will use.
    /// The newest checkpoint may be in a store that a process of an earlier run in this prefix directory has. Waits
    /// up to `timeout` for a run whose last processes are ending. Locks that this process has from an earlier run
    /// of the session stay, or end if another rank leads the store now. Local.
    ///
    /// # Errors
    /// Another run has a store that this run needs, or the content of the store cannot be taken
    /// over.
    pub fn lock_stores(&mut self, run: &mut Run, timeout: Duration) -> Result<()> {
        let begun = Instant::now();
        let mut held = std::mem::take(&mut self.stores);
        held.retain(|(at, _)| run.led_store(*at).is_some());
        for at in 0..run.stores.len() {
            let own = held.iter().position(|(store, _)| *store == at);
            let own = own.map(|own| held.swap_remove(own).1);
            let Some(store) = run.led_store(at) else {
                continue;
            };
            let (layout, used) = (store.layout.clone(), is_used(run, at));
            let soon = if used {
                timeout
            } else {
                timeout.min(UNUSED_STORE)
            };
            let owner = Owner {
                run: run_name(&layout),
                node: run.node().into(),
                pid: process::id(),
                rank: run.rank(),
                prefix: Name::from(run.prefix.real()),
            };
            let needed = |other: &Owner| used || other.prefix == owner.prefix;
            let mut locked = lock_store(&*run.files, &layout, own, &owner, begun + soon)?;
            if matches!(&locked, Locked::ByOther(other) if !used && needed(other)) {
                locked = lock_store(&*run.files, &layout, None, &owner, begun + timeout)?;
            }
            match locked {
                Locked::ByThisRun(lock) => self.stores.extend(lock.map(|lock| (at, lock))),
                Locked::ByOther(other) if !needed(&other) => {
                    let who = holder(None, &other);
                    let text = format!(
                        "{} is held by {who}: it is not used",
                        layout.job().display()
                    );
                    run.tell(Severity::Debug(1), text);
                    run.stores[at].leader = false;
                }
                Locked::ByOther(other) => return Err(store_in_use(run, &layout.job(), &other)),
            }
        }
        self.share_control(run, begun + timeout);
        for (store, _) in &self.stores {
            tell_gone(run, &run.stores[*store].layout);
        }
        Ok(())
    }

    /// Shares the lock on the control directory of this node, if this rank is the first of the node. The directory
    /// has already been made. A run goes on without this lock. Local.
    fn share_control(&mut self, run: &Run, end: Instant) {
        let store = &run.stores[run.descriptors.control];
        if store.sharing.leader != run.rank() {
            self.control = None;
            return;
        }
        let (files, layout) = (&*run.files, &store.layout);
        let count = layout.job().join(CALLS_FILE);
        while self.control.is_none() {
            match files.try_lock_shared(&count) {
                Ok(Some(lock)) => self.control = Some(lock),
                // A run that ends, or `scr clean`, just removes the directory.
                Ok(None) if Instant::now() < end => sleep(RETRY),
                Err(error) if error.is_not_found() && Instant::now() < end => {
                    let made = files.make_private_dirs(layout.base(), layout.below());
                    if made.and_then(|()| files.rewrite(&count, 0o600)).is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    /// Unlocks the stores that no dataset of this run will use, and in which nothing of use was found. `keep_all` keeps
    /// all locks, since the stores may have something that cannot be read now. Local.
    pub fn unlock_unused(&mut self, run: &Run, cached: &CachedDatasets, keep_all: bool) {
        let holds = |store| cached.iter().any(|c| c.location.store() == store);
        self.stores
            .retain(|(store, _)| keep_all || is_used(run, *store) || holds(*store));
    }

    /// Leaders: removes the directories of this run, this job and this user in each store, as far as
    /// nothing is in them and no other run has the lock. Local.
    pub fn remove_empty_directories(&mut self, run: &Run) {
        self.control = None;
        for at in 0..run.stores.len() {
            let Some(Store { layout, .. }) = run.led_store(at) else {
                continue;
            };
            let is_locked = self.stores.iter().any(|(store, _)| *store == at);
            let again = if is_locked {
                Ok(None)
            } else {
                wait_for_lock(&*run.files, &layout.job(), Instant::now()).map(Some)
            };
            if matches!(again, Ok(Some(LockAttempt::HeldByOther)) | Err(_)) {
                continue;
            }
            let gone = |dir: &Path| {
                let _ = run.files.remove_dir(dir);
                matches!(run.files.stat(dir), Ok(None))
            };
            let job = layout.job();
            let empty = gone(&layout.root());
            // Until the directory is gone, no other run can begin to use it.
            let users = wait_for_lock(&*run.files, &job.join(CALLS_FILE), Instant::now());
            if matches!(users, Ok(LockAttempt::HeldByOther)) {
                continue;
            }
            for name in run.files.list(&job).unwrap_or_default() {
                let name = name.to_string_lossy();
                if name.starts_with(REPORTED) || (empty && is_of_runs(&name)) {
                    let _ = run.files.remove_file(&job.join(&*name));
                }
            }
            if empty {
                let _ = gone(&job) && job.parent().is_some_and(gone);
            }
        }
    }
}

/// Reports caches of an earlier directory at the path of the prefix directory, where no resource manager names the job:
/// no run finds them again. Local.
fn tell_gone(run: &Run, layout: &Layout) {
    let job = layout.job();
    let (Some(user), Some(own)) = (job.parent(), job.file_name()) else {
        return;
    };
    let id = |name: &str| name.strip_prefix("scr.").map(str::to_string);
    let derived = |name: &str| id(name).is_some_and(|id| id.starts_with("prefix-"));
    if !own.to_str().is_some_and(derived) {
        return;
    }
    for name in run.files.list(user).unwrap_or_default() {
        let Some(name) = name.to_str().filter(|name| own != *name && derived(name)) else {
            continue;
        };
        let other = format::read::<Owner>(&*run.files, &user.join(name).join(OWNER));
        if other.is_ok_and(|other| other.prefix == run.own_prefix.path) {
            let text = format!(
                "{} is the cache of a directory that was {} before: it is not used; to remove it: scr clean \
                 --job {} ({OTHER_DIRECTORY})",
                user.join(name).display(),
                run.prefix.real().display(),
                id(name).unwrap_or_default()
            );
            run.tell(Severity::Note, text);
        }
    }
}

/// True for a file in a job's directory that no later run needs: a record of the owner, or a remainder of
/// a killed run.
fn is_of_runs(name: &str) -> bool {
    let name = temporary_of(name).unwrap_or(name);
    name == OWNER || name == SHARED || name == CALLS_FILE
}

/// True if a dataset of this run may be written to a store.
fn is_used(run: &Run, store: usize) -> bool {
    let schemes = &run.descriptors.schemes;
    let mut here = schemes.iter().filter(|s| s.enabled && s.store == store);
    here.any(|scheme| !scheme.bypass)
}

fn prefix_in_use(prefix: &Prefix) -> Error {
    // The process is known only on its own node.
    let who = holders::in_words(&prefix.meta()).map_or_else(String::new, |who| format!(" ({who})"));
    Error::config(
        prefix.root().display().to_string(),
        format!(
            "another run uses this prefix directory{who}; wait for its end, or give each run its \
             own SCR_PREFIX ({PREFIX_IN_USE})"
        ),
    )
}

fn store_in_use(run: &Run, job: &Path, owner: &Owner) -> Error {
    let who = holder(holders::in_words(job), owner);
    Error::config(
        job.display().to_string(),
        format!(
            "on node {} this cache is held by {who} now; if that run was killed, end what is left \
             of it (kill -9), else wait for its end, or give each run of a job its own SCR_JOB_ID, \
             SCR_CACHE_BASE or nodes ({CACHE_IN_USE})",
            run.node()
        ),
    )
}

/// Describes the holder of a lock: `found` is from the system, `owner` from the file of that run.
fn holder(found: Option<String>, owner: &Owner) -> String {
    // The file may be missing, or name an earlier run, if there was no space to write it.
    let other_run = if owner.prefix.is_empty() {
        "another run".to_string()
    } else {
        format!("a run in {}", owner.prefix.as_path().display())
    };
    match found {
        Some(who) => format!("{who} of {other_run}"),
        // The process is on another node or in another container.
        None if owner.pid == 0 => other_run,
        None => {
            let Owner {
                pid, node, rank, ..
            } = owner;
            format!("process {pid} on node {node} (rank {rank}) of {other_run}")
        }
    }
}

/// The identity of the run that a layout is for.
fn run_name(layout: &Layout) -> Name {
    let root = layout.root();
    root.file_name().map(Name::from).unwrap_or_default()
}

/// Locks a job's directory, takes over its datasets, and then names this run as its owner. `held`:
/// the lock, if this process has it already.
fn lock_store(
    files: &dyn Files,
    layout: &Layout,
    mut held: Option<Box<dyn Lock>>,
    owner: &Owner,
    end: Instant,
) -> Result<Locked> {
    let path = layout.job().join(OWNER);
    loop {
        let attempt = match held.take() {
            Some(lock) => Ok(LockAttempt::Acquired(lock)),
            None => wait_for_lock(files, &layout.job(), Instant::now() + RETRY),
        };
        let lock = match attempt {
            Ok(LockAttempt::Acquired(lock)) => Some(lock),
            Ok(LockAttempt::HeldByOther) => None,
            Ok(LockAttempt::Unsupported) => {
                take_over_earlier_runs(files, layout)?;
                return Ok(Locked::ByThisRun(None));
            }
            Err(error) if error.is_not_found() => {
                // The directory was removed meanwhile, as by `scr clean`. Without a lock it would be
                // removed again.
                let made = files.make_private_dirs(layout.base(), layout.below());
                if made.is_ok() && Instant::now() < end {
                    continue;
                }
                // The directory could not be made. A later write to it gets the reason.
                return Ok(Locked::ByThisRun(None));
            }
            Err(error) => return Err(error),
        };
        if lock.is_some() && files.stat(&layout.job())?.is_none() {
            // The last run has removed the directory when it ended.
            files.make_private_dirs(layout.base(), layout.below())?;
            continue;
        }
        if lock.is_some() {
            take_over_earlier_runs(files, layout)?;
            // Without the file other runs do not know the owner. A full file system must not stop
            // this run.
            let _ = format::write(files, &path, owner, Durability::Atomic);
            return Ok(Locked::ByThisRun(lock));
        }
        let other = format::read::<Owner>(files, &path).unwrap_or_default();
        if other.run == owner.run {
            return Ok(Locked::ByThisRun(None));
        }
        if Instant::now() >= end {
            // Another rank of this run may have the lock without space for the file that names this
            // run. Then the directory of this run exists.
            let root = files.stat(&layout.root())?;
            return Ok(if root.is_some_and(|s| s.kind == FileKind::Directory) {
                Locked::ByThisRun(None)
            } else {
                Locked::ByOther(other)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::posix::Posix;

    #[test]
    fn who_has_a_cache_is_told_as_far_as_it_is_known() {
        let owner = Owner {
            run: "scr.run.1".into(),
            node: "n7".into(),
            pid: 42,
            rank: 3,
            prefix: "/p/run".into(),
        };
        let unknown = Owner::default();
        let found = || Some("process 9 (heat)".to_string());
        for (found, owner, told) in [
            (found(), &owner, "process 9 (heat) of a run in /p/run"),
            (found(), &unknown, "process 9 (heat) of another run"),
            (
                None,
                &owner,
                "process 42 on node n7 (rank 3) of a run in /p/run",
            ),
            (None, &unknown, "another run"),
        ] {
            assert_eq!(holder(found, owner), told);
        }
    }

    /// As if `scr clean` had removed it after this run had made it.
    #[test]
    fn a_directory_that_was_removed_meanwhile_is_made_again_and_locked() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path(), "user", "7").of_run(1);
        let lock = |layout: &Layout| {
            let end = Instant::now() + Duration::from_secs(600);
            lock_store(&Posix, layout, None, &Owner::default(), end).unwrap()
        };
        assert!(matches!(lock(&layout), Locked::ByThisRun(Some(_))));
        assert!(layout.job().join(OWNER).exists());
    }
}
