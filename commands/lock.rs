//! Locks that keep a second command off the same work.

use super::call::Failure;
use super::job::Job;
use super::place;
use scr_engine::store::{Lock, LockAttempt, wait_for_lock};
use scr_engine::system::process;
use scr_engine::system::time::Instant;
use scr_engine::text::escaped_bytes;

/// Takes the lock `name` in the prefix directory. `None` if the file system has no locks. `refused` makes the
/// message if another process has the lock, from a text that names that process.
pub(super) fn only_one(
    job: &Job,
    name: &str,
    refused: impl FnOnce(&str) -> String,
) -> Result<Option<Box<dyn Lock>>, Failure> {
    let (files, path) = (place::files(&job.prefix), job.prefix.file(name));
    let file = files.rewrite(&path, 0o666)?;
    match wait_for_lock(&*files, &path, Instant::now())? {
        LockAttempt::Acquired(lock) => {
            // The content is for the message of a second command.
            let me = format!("process {} on {}\n", process::id(), job.environment.host);
            let write = |()| file.write_at(0, me.as_bytes());
            let _ = file.allocate(0).and_then(write);
            Ok(Some(lock))
        }
        LockAttempt::HeldByOther => {
            let holder = files.read(&path, 200).unwrap_or_default();
            let holder = escaped_bytes(holder.trim_ascii());
            Err(Failure::said(refused(&holder)))
        }
        LockAttempt::Unsupported => Ok(None),
    }
}
