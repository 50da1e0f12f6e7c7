//! Paths on the command line: the prefix directory, and files.

use super::call::{Failure, Invocation};
pub(super) use super::configuration::absolute;
use super::configuration::load;
use scr_engine::Error;
use scr_engine::format::print::escaped;
use scr_engine::job::clock::local_time;
use scr_engine::prefix::{finish, identity, paths::Prefix};
use scr_engine::store::{Files, LockAttempt, posix::Posix, wait_for_lock};
use scr_engine::system::time::{Instant, SystemTime};
use scr_jobs::tally::{CountingFiles, FileTally};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that a path has at most.
const LONGEST_PATH: u64 = 4096;

// No doc comment: clap would take it for the help of the command.
#[derive(clap::Args)]
pub(super) struct Dir {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, alias = "prefix", value_name = "DIR")]
    dir: Option<PathBuf>,
    // Stands for --dir, as the SCR developer guide writes it.
    #[arg(hide = true, conflicts_with = "dir")]
    place: Option<PathBuf>,
}

impl Dir {
    /// The prefix directory. Fails if SCR has not used it before, see [`used`].
    pub fn used(&self) -> Result<Prefix, Failure> {
        used(self.dir.as_deref().or(self.place.as_deref()))
    }
}

/// The prefix directory `dir`, by default SCR_PREFIX from the environment or a configuration file, else the current directory: as
/// of a job that starts here.
pub(super) fn prefix(dir: Option<&Path>) -> Result<Prefix, Failure> {
    Ok(Prefix::new(&match dir {
        Some(dir) => absolute(dir)?,
        None => load(None)?.0.prefix()?,
    }))
}

/// Like [`prefix`], for a job that has run.
///
/// # Errors
/// SCR has never used the directory.
pub(super) fn used(dir: Option<&Path>) -> Result<Prefix, Failure> {
    let prefix = prefix(dir)?;
    match std::fs::metadata(prefix.meta()) {
        Ok(meta) if meta.is_dir() => Ok(prefix),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::io("look at", prefix.meta(), error).into())
        }
        _ => Err(Failure::said(format!(
            "{} is not a prefix directory of SCR: there is no directory .scr in it",
            prefix.root().display()
        ))),
    }
}

/// The prefix directory, for a command that may run before the first job. Makes the directory .scr,
/// and says so, because the name may be mistyped. The prefix directory itself must exist.
pub(super) fn begun(call: &mut Invocation, dir: &Path) -> Result<Prefix, Failure> {
    let prefix = Prefix::new(&absolute(dir)?);
    let is_dir = |path: &Path| std::fs::metadata(path).is_ok_and(|meta| meta.is_dir());
    if is_dir(prefix.root()) && !is_dir(&prefix.meta()) {
        files(&prefix).make_dirs(&prefix.meta())?;
        call.warn(&format!(
            "SCR has not used {} yet: made .scr in it",
            prefix.root().display()
        ));
    }
    used(Some(dir))
}

/// Gives an existing prefix directory its identity before a run does. So a search without a job id looks where the run
/// will be. If a run exists there, it has done so already. If nothing can be written, the command goes on with a
/// warning.
pub(super) fn establish(call: &mut Invocation, prefix: &Prefix) {
    if std::fs::metadata(prefix.root()).is_ok_and(|meta| meta.is_dir())
        && let Err(error) = identity_of_own(prefix)
    {
        call.warn(&format_args!(
            "{error}; without SCR_JOB_ID, a run may not be found that begins later"
        ));
    }
}

fn identity_of_own(prefix: &Prefix) -> scr_engine::Result<()> {
    let files = files(prefix);
    files.make_dirs(&prefix.meta())?;
    if let LockAttempt::Acquired(_held) = wait_for_lock(&*files, &prefix.meta(), Instant::now())? {
        identity::establish(&*files, prefix)?;
    }
    Ok(())
}

/// The prefix directories of the sessions with a name that a job in `prefix` had. Sessions that are gone, or that another job uses by
/// now, are left out.
pub(super) fn sessions(prefix: &Prefix) -> Vec<PathBuf> {
    let files = files(prefix);
    let mut found = Vec::new();
    for name in files.list(&prefix.sessions()).unwrap_or_default() {
        let Ok(path) = files.read(&prefix.sessions().join(&name), LONGEST_PATH) else {
            continue;
        };
        let dir = PathBuf::from(OsStr::from_bytes(&path));
        let own = Prefix::new(&dir);
        // A session can use the prefix directory of the job itself.
        if own.real() == prefix.real() {
            continue;
        }
        let named = self::files(&own).read(&own.session_file(), LONGEST_PATH);
        if named.is_ok_and(|named| named == name.as_bytes()) {
            found.push(dir);
        }
    }
    found.sort();
    found
}

/// The files of a prefix directory: no symbolic link below it is followed.
pub(super) fn files(prefix: &Prefix) -> Arc<dyn Files> {
    files_and(prefix, None)
}

/// Likewise, with counts of the operations on them.
pub(super) fn counted_files(prefix: &Prefix) -> (Arc<dyn Files>, FileTally) {
    let files = CountingFiles::new(Posix);
    (prefix.confine(&files, None), files.tally())
}

/// [`files`] for work in one more directory, below which no link is followed either.
pub(super) fn files_and(prefix: &Prefix, dir: Option<&Path>) -> Arc<dyn Files> {
    prefix.confine(&Posix, dir.map(Path::to_path_buf))
}

/// Finishes the flushes that ended while their processes were killed, and says so; see [`finish`].
/// Problems are only warnings: the command does not need the file.
pub(super) fn finish_flushes(call: &mut Invocation, prefix: &Prefix) {
    let mut problems = Vec::new();
    let now = || local_time(SystemTime::now());
    let finished = finish::finish_ended(&*files(prefix), prefix, &now, &mut problems);
    for dataset in finished.unwrap_or_default() {
        let (id, name) = (dataset.id, escaped(&dataset.name));
        call.warn(&format_args!(
            "the flush of dataset {id} (`{name}') had ended without its entry in the index: it is \
             complete now"
        ));
    }
    for problem in &problems {
        call.warn(problem);
    }
}

/// The file that a user named, with links resolved: `store` does not follow them.
pub(super) fn file(path: &Path) -> Result<PathBuf, Failure> {
    std::fs::canonicalize(path).map_err(|error| Error::io("open", path, error).into())
}
