//! A lock where the file system has none (`flock` fails on NFS mounted with `nolock`, and on Lustre mounted without
//! `flock`): a directory of one name, which only one process can rename into its place, since it is not empty.
//!
//! Nobody frees the lock of a process that was killed, so one that has not changed hands for [`ABANDONED`] is
//! broken. A process that was stopped for longer than that, and goes on, has lost its lock and does not know it.

use super::{Durability, Files, Lock};
use crate::Result;
use crate::system::process::random;
use crate::system::time::{Instant, sleep};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The name of the directory. Before it has its place, and after, it has a number behind that.
pub const NAME: &str = ".scr.lock";

/// The file in it that tells one holder from another.
const HOLDER: &str = "holder";

/// After so long a lock that did not change hands is taken away. A change takes milliseconds.
const ABANDONED: Duration = Duration::from_secs(15);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

struct LockDirectory {
    files: Arc<dyn Files>,
    /// Its place.
    place: PathBuf,
    /// Its name before and after.
    own: PathBuf,
    token: Vec<u8>,
}

impl Lock for LockDirectory {}

impl Drop for LockDirectory {
    fn drop(&mut self) {
        if holder(&*self.files, &self.place).as_ref() == Some(&self.token)
            && self.files.rename(&self.place, &self.own).is_ok()
        {
            // What is left has no meaning.
            let _ = self.files.remove_tree(&self.own);
        }
    }
}

/// Takes the lock in the directory `dir`, and tries again until the time `until`. `None` if others held it all the
/// time. Local.
///
/// # Errors
/// The directory is missing, or cannot be written.
pub fn lock_by_directory(
    files: &dyn Files,
    dir: &Path,
    until: Instant,
) -> Result<Option<Box<dyn Lock>>> {
    lock(files, dir, until, ABANDONED)
}

fn lock(
    files: &dyn Files,
    dir: &Path,
    until: Instant,
    abandoned: Duration,
) -> Result<Option<Box<dyn Lock>>> {
    let token = format!("{:016x}", random());
    let (place, own) = (dir.join(NAME), dir.join(format!("{NAME}.{token}")));
    // It is not made here, as the others below it are.
    files.list(dir)?;
    let made = files
        .make_dirs(&own)
        .and_then(|()| files.replace(&own.join(HOLDER), token.as_bytes(), Durability::Atomic))
        .and_then(|()| take(files, (&own, &place), until, abandoned));
    match made {
        Ok(true) => Ok(Some(Box::new(LockDirectory {
            files: files.holding(&[]),
            place,
            own,
            token: token.into_bytes(),
        }))),
        not_taken => {
            // The first error is reported.
            let _ = files.remove_tree(&own);
            not_taken.map(|_| None)
        }
    }
}

/// Renames `own` to `place`. False if others were there until the time `until`.
fn take(
    files: &dyn Files,
    (own, place): (&Path, &Path),
    until: Instant,
    abandoned: Duration,
) -> Result<bool> {
    let mut seen: Option<(Vec<u8>, Instant)> = None;
    loop {
        match files.rename(own, place) {
            Err(error) if matches!(error.errno(), Some(libc::ENOTEMPTY | libc::EEXIST)) => {}
            other => return other.map(|()| true),
        }
        let now = holder(files, place);
        let since = match (&seen, &now) {
            (Some((before, since)), Some(now)) if before == now => *since,
            _ => Instant::now(),
        };
        if since.elapsed() >= abandoned {
            let broken = own.with_extension("broken");
            if files.rename(place, &broken).is_ok() {
                let _ = files.remove_tree(&broken);
            }
        } else if Instant::now() >= until {
            return Ok(false);
        }
        seen = now.map(|now| (now, since));
        sleep(PAUSE);
    }
}

/// What tells the holder from others; `None` if nobody holds it, or that cannot be read.
fn holder(files: &dyn Files, place: &Path) -> Option<Vec<u8>> {
    files.read(&place.join(HOLDER), 64).ok()
}

#[cfg(test)]
mod tests {
    use super::{HOLDER, NAME, lock, lock_by_directory};
    use crate::store::posix::Posix;
    use crate::system::time::Instant;
    use std::fs;
    use std::time::Duration;

    #[test]
    fn one_at_a_time_has_it_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let number = dir.path().join("number");
        fs::write(&number, "0").unwrap();
        let until = Instant::now() + Duration::from_secs(600);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let lock = lock_by_directory(&Posix, dir.path(), until).unwrap();
                        assert!(lock.is_some());
                        let now: u32 = fs::read_to_string(&number).unwrap().parse().unwrap();
                        std::thread::yield_now();
                        fs::write(&number, (now + 1).to_string()).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&number).unwrap(), "100");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn who_waits_gives_up_in_time_or_breaks_the_lock_of_a_killed_process() {
        let dir = tempfile::tempdir().unwrap();
        let now = || lock_by_directory(&Posix, dir.path(), Instant::now());
        let held = now().unwrap();
        assert!(held.is_some());
        assert!(now().unwrap().is_none());
        drop(held);
        // As a killed process leaves it.
        fs::create_dir(dir.path().join(NAME)).unwrap();
        fs::write(dir.path().join(NAME).join(HOLDER), "killed").unwrap();
        assert!(now().unwrap().is_none());
        let until = Instant::now() + Duration::from_secs(600);
        let taken = lock(&Posix, dir.path(), until, Duration::from_millis(100)).unwrap();
        assert!(taken.is_some());
        drop(taken);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let missing = lock_by_directory(&Posix, &dir.path().join("none"), until);
        assert!(missing.err().unwrap().is_not_found());
    }
}
