//! Finds the directories of a user's jobs below a base directory. The base and its content may belong
//! to anybody: only a directory of the right owner is used, and no link is followed.

use scr_engine::cache::layout::Layout;
use scr_engine::job::is_of_job;
use scr_engine::store::{FileKind, Files};
use scr_engine::system::process;
use scr_engine::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directory `BASE/USER/scr.JOB`.
pub struct JobDirectory {
    /// The directory.
    pub path: PathBuf,
    /// The job's id.
    pub job: String,
    /// Numeric id of the user whom it belongs to.
    pub owner: u32,
    /// The file system; no link below the base is followed.
    pub files: Arc<dyn Files>,
}

/// The directories of the user's jobs below `base`, or only those of one job and of its sessions; an error for each
/// directory that is not the user's or cannot be looked at.
///
/// # Errors
/// The directory with the user's name belongs to somebody else, or cannot be looked at.
pub fn directories(
    files: &dyn Files,
    base: &Path,
    user: &str,
    job: Option<&str>,
) -> Result<Vec<Result<JobDirectory>>> {
    let files = files.beneath(&[base.to_path_buf()]);
    let of_user = base.join(user);
    // Root acts for the owner of the directory; everybody else for himself.
    let us = process::user();
    let owner = match stat_directory(&*files, &of_user)? {
        None => return Ok(Vec::new()),
        Some(uid) if us == 0 || uid == us => uid,
        Some(uid) => return Err(not_ours(&of_user, uid)),
    };
    let listed = files.list(&of_user)?.into_iter();
    let listed = listed.filter_map(|name| name.into_string().ok());
    let jobs = listed.filter_map(|name| Some(name.strip_prefix("scr.")?.to_string()));
    let is_wanted = |name: &String| job.is_none_or(|job| is_of_job(name, job));
    let names = jobs.filter(|name| !name.is_empty() && is_wanted(name));
    let mut found = Vec::new();
    for name in names.collect::<Vec<String>>() {
        let path = Layout::new(base, user, &name).job();
        match stat_directory(&*files, &path) {
            Ok(None) => {}
            Ok(Some(uid)) if uid == owner => found.push(Ok(JobDirectory {
                path,
                job: name,
                owner,
                files: files.clone(),
            })),
            Ok(Some(uid)) => found.push(Err(not_ours(&path, uid))),
            // A link or a file of this name is not SCR's.
            Err(Error::Config { .. }) if job.is_none() => {}
            Err(error) => found.push(Err(error)),
        }
    }
    Ok(found)
}

/// The owner of a directory; `None` if it does not exist.
fn stat_directory(files: &dyn Files, path: &Path) -> Result<Option<u32>> {
    match files.stat(path)? {
        None => Ok(None),
        Some(stat) if stat.kind == FileKind::Directory => Ok(Some(stat.uid)),
        Some(_) => Err(Error::config(
            path.display().to_string(),
            "is no directory, so it is not SCR's and is kept".to_string(),
        )),
    }
}

fn not_ours(path: &Path, uid: u32) -> Error {
    Error::config(
        path.display().to_string(),
        format!("belongs to user {uid}, so it is kept; only root can clean up for others"),
    )
}
