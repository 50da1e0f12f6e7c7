//! Removes the directories of one job, unless a run of it is alive.
//!
//! Only files and directories that SCR itself makes there are removed. The lock of the job's directory
//! is held meanwhile, so that no run of the job can start.

mod owner;
#[cfg(test)]
mod tests;

pub use owner::{JobDirectory, directories};

use scr_engine::cache::layout::{
    CacheEntry, cache_entry, is_job_file, level, rank_of_dir, run_of_dir,
};
use scr_engine::daemon::{Control, is_control_file};
use scr_engine::format::{self, transfer::Transfer};
use scr_engine::store::{CALLS_FILE, FileKind, Files, Lock, LockAttempt, wait_for_lock};
use scr_engine::system::time::Instant;
use scr_engine::text::counted;
use scr_engine::{Error, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time to wait for the last processes of a run to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// A directory of a job, and the result of the cleaning.
pub struct Cleaned {
    /// The directory.
    pub path: PathBuf,
    /// The job's id.
    pub job: String,
    /// The action.
    pub done: Done,
    /// Number and size of the files that were removed, or would be removed.
    pub files: u64,
    /// See `files`.
    pub bytes: u64,
    /// Entries that are not SCR's, which are kept.
    pub foreign: Vec<PathBuf>,
    /// Errors of files that could not be removed or looked at.
    pub problems: Vec<Error>,
}

impl Cleaned {
    /// False only if the directory is known to be gone. If the directory cannot be looked at, the
    /// error is noted.
    fn is_left(&mut self, directory: &JobDirectory) -> bool {
        match directory.files.stat(&directory.path) {
            Ok(stat) => stat.is_some(),
            Err(error) => {
                self.problems.push(error);
                true
            }
        }
    }
}

/// The action on a directory.
pub enum Done {
    /// The directory was removed.
    Removed,
    /// The directory would be removed.
    WouldRemove,
    /// The directory was kept, for this reason.
    Kept(String),
}

/// Cleans the directories of one job on this node. If one directory of the job is in use, all are
/// kept.
pub fn clean(directories: &[JobDirectory], dry_run: bool, force: bool) -> Vec<Cleaned> {
    let (mut locks, mut reason, mut there) = (Vec::new(), None, Vec::new());
    for directory in directories {
        match in_use(directory, force, &mut locks) {
            Ok(Use::Free) => there.push((directory, None)),
            Ok(Use::Kept(why)) => {
                reason.get_or_insert(why);
                there.push((directory, None));
            }
            // The last run, or another call, has removed the directory meanwhile.
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                let why = "it is not known whether a run of this job is alive".to_string();
                reason.get_or_insert(why);
                there.push((directory, Some(error)));
            }
        }
    }
    let one = |(directory, error): (&JobDirectory, Option<Error>)| {
        let mut cleaned = Cleaned {
            path: directory.path.clone(),
            job: directory.job.clone(),
            done: match (&reason, dry_run) {
                (Some(reason), _) => Done::Kept(reason.clone()),
                (None, true) => Done::WouldRemove,
                (None, false) => Done::Removed,
            },
            files: 0,
            bytes: 0,
            foreign: Vec::new(),
            problems: error.into_iter().collect(),
        };
        if reason.is_none() {
            let mut removal = Removal {
                files: &*directory.files,
                owner: directory.owner,
                dry_run,
                cleaned: &mut cleaned,
            };
            removal.job(&directory.path);
            if !dry_run && cleaned.is_left(directory) {
                let part = match (cleaned.files, cleaned.problems.is_empty()) {
                    (0, true) => "it has nothing of SCR",
                    (_, true) => "the rest of it was removed",
                    (_, false) => "not all of it could be removed",
                };
                cleaned.done = Done::Kept(part.to_string());
            }
        }
        cleaned
    };
    there.into_iter().map(one).collect()
}

/// Tells whether a job's directory is in use.
enum Use {
    Free,
    /// The directory must be kept, for this reason.
    Kept(String),
}

/// Takes the lock of a job's directory, and looks whether anybody uses it.
///
/// # Errors
/// The directory cannot be looked at, or does not exist any more.
fn in_use(directory: &JobDirectory, force: bool, locks: &mut Vec<Box<dyn Lock>>) -> Result<Use> {
    let (files, path) = (&*directory.files, &directory.path);
    // A run with a cache here has the first lock. A run with its control directory here has the second lock.
    for locked in [path, &path.join(CALLS_FILE)] {
        match wait_for_lock(files, locked, Instant::now() + PATIENCE) {
            Ok(LockAttempt::Acquired(lock)) => locks.push(lock),
            Ok(LockAttempt::HeldByOther) => {
                return Ok(Use::Kept("a run of this job is alive".to_string()));
            }
            Ok(LockAttempt::Unsupported) => {
                return Ok(Use::Kept(
                    "its file system has no locks, so it is not known whether a run is alive"
                        .to_string(),
                ));
            }
            Err(error) if error.is_not_found() && locked != path => {}
            Err(error) => return Err(error),
        }
    }
    let control = Control::new(files, path.clone());
    if let Some(who) = control.living()? {
        return Ok(Use::Kept(format!("its transfer daemon is alive ({who})")));
    }
    // A damaged file has no order that a daemon could carry out. The owner was looked at already.
    let transfer: Transfer = match format::read(files, &control.file()) {
        Ok(transfer) => transfer,
        Err(Error::Format { .. } | Error::Corrupt { .. }) => return Ok(Use::Free),
        Err(error) if error.is_not_found() => return Ok(Use::Free),
        Err(error) => return Err(error),
    };
    let open = transfer.parts().filter(|(_, part)| !part.is_done()).count();
    Ok(if open > 0 && !force {
        Use::Kept(format!(
            "scr poststage has to finish {} of it; --force removes them",
            counted(open, "transfer")
        ))
    } else {
        Use::Free
    })
}

/// The removal of one job's directory.
struct Removal<'a> {
    files: &'a dyn Files,
    owner: u32,
    dry_run: bool,
    cleaned: &'a mut Cleaned,
}

impl Removal<'_> {
    fn job(&mut self, dir: &Path) {
        self.entries(dir, |removal, path, name, kind| match kind {
            FileKind::File if is_job_file(name) || is_control_file(name) => removal.tree(path),
            FileKind::Directory if run_of_dir(name).is_some() => removal.run(path),
            _ => removal.foreign(path),
        });
        self.empty(dir);
        // The user's directory is removed, too, if this was the last job of the user here.
        if let Some(of_user) = dir.parent().filter(|_| !self.dry_run) {
            let _ = self.files.remove_dir(of_user);
        }
    }

    fn run(&mut self, dir: &Path) {
        self.entries(dir, |removal, path, name, kind| {
            match cache_entry(name).filter(|_| kind == FileKind::Directory) {
                Some(CacheEntry::Trash(_) | CacheEntry::Restart) => removal.tree(path),
                Some(_) => removal.dataset(path),
                None => removal.foreign(path),
            }
        });
        self.empty(dir);
    }

    fn dataset(&mut self, dir: &Path) {
        self.entries(dir, |removal, path, name, kind| {
            let ours = rank_of_dir(name).is_some() || level(name).is_some() || name == "files";
            if ours && kind == FileKind::Directory {
                removal.tree(path)
            } else {
                removal.foreign(path)
            }
        });
        self.empty(dir);
    }

    /// Calls `each` for the entries of a directory that belong to the owner.
    fn entries(&mut self, dir: &Path, each: impl Fn(&mut Self, &Path, &str, FileKind)) {
        let names = match self.files.list(dir) {
            Ok(names) => names,
            Err(error) => return self.problem(error),
        };
        for name in names {
            let path = dir.join(&name);
            match (self.files.stat(&path), name.to_str()) {
                (Ok(Some(stat)), Some(name)) if stat.uid == self.owner => {
                    each(self, &path, name, stat.kind);
                }
                (Ok(None), _) => {}
                (Ok(Some(_)), _) => self.foreign(&path),
                (Err(error), _) => self.problem(error),
            }
        }
    }

    /// Removes a file, or a directory that only SCR and the program write to.
    fn tree(&mut self, path: &Path) {
        let (files, bytes) = match tally(self.files, path) {
            Ok(found) => found,
            Err(error) => return self.problem(error),
        };
        if !self.dry_run
            && let Err(error) = self.files.remove_tree(path)
        {
            return self.problem(error);
        }
        self.cleaned.files += files;
        self.cleaned.bytes += bytes;
    }

    /// Removes a directory if nothing is left in it.
    fn empty(&mut self, dir: &Path) {
        if !self.dry_run
            && let Err(error) = self.files.remove_dir(dir)
        {
            self.problem(error);
        }
    }

    fn foreign(&mut self, path: &Path) {
        self.cleaned.foreign.push(path.to_path_buf());
    }

    fn problem(&mut self, error: Error) {
        self.cleaned.problems.push(error);
    }
}

/// Number and bytes of the files in a directory. Links count as files without bytes.
fn tally(files: &dyn Files, path: &Path) -> Result<(u64, u64)> {
    let (mut count, mut bytes) = (0, 0_u64);
    let mut open = vec![path.to_path_buf()];
    while let Some(path) = open.pop() {
        match files.stat(&path)? {
            Some(stat) if stat.kind == FileKind::Directory => {
                let names = files.list(&path)?.into_iter();
                open.extend(names.map(|name| path.join(name)));
            }
            Some(stat) => {
                count += 1;
                if stat.kind == FileKind::File {
                    bytes = bytes.saturating_add(stat.size);
                }
            }
            None => {}
        }
    }
    Ok((count, bytes))
}
