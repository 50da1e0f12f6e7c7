//! A lock for file systems without locks (`flock` fails on NFS mounted with `nolock`, and on Lustre mounted without
//! `flock`): a directory of one name, which only one process can rename into its place, since it is not empty.
//!
//! Nobody frees the lock of a process that was killed. So a thread of the holder writes a number that grows as long as
//! the lock is held, and a lock whose number has not changed for [`ABANDONED`] is broken. A process that was stopped
//! for longer than that, and goes on, has lost its lock without knowing.

use super::{Durability, Files, Lock};
use crate::Result;
use crate::system::process::random;
use crate::system::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use crate::system::thread::{Builder, JoinHandle};
use crate::system::time::{Instant, sleep};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The name of the directory. Before it has its place, and after, it has a number behind that.
pub const NAME: &str = ".scr.lock";

/// The file in it that tells one holder from another.
const HOLDER: &str = "holder";

/// The file in it whose number grows. Its name differs from the file above: a holder that has lost the lock without
/// knowing must not write over the file of the next one.
const ALIVE: &str = "alive";

/// A lock whose holder shows no sign of life for this time is taken away.
const ABANDONED: Duration = Duration::from_secs(15);

/// Time between two signs of the holder. Most locks are held for milliseconds, and their holders
/// show no sign.
const SIGN: Duration = Duration::from_secs(3);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

struct LockDirectory {
    files: Arc<dyn Files>,
    /// The path of the lock directory while the lock is held.
    place: PathBuf,
    /// The path of the directory before and after that.
    own: PathBuf,
    token: Vec<u8>,
    /// Writes the signs of life until its sender is dropped.
    alive: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Lock for LockDirectory {}

impl Drop for LockDirectory {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.alive.take() {
            drop(end);
            // A thread that has panicked writes nothing any more.
            let _ = thread.join();
        }
        let holder = self.files.read(&self.place.join(HOLDER), 64);
        if holder.as_ref() == Ok(&self.token) && self.files.rename(&self.place, &self.own).is_ok() {
            // A directory that cannot be removed has no meaning.
            let _ = self.files.remove_tree(&self.own);
        }
    }
}

/// Takes the lock in the directory `dir`, and tries again until the time `until`. `None` if others held it all the
/// time. Local.
///
/// # Errors
/// The directory is missing, or cannot be written; or the owner of the lock cannot be read.
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
    // The directory itself is not made here, only those below it.
    files.list(dir)?;
    let made = files
        .make_dirs(&own)
        .and_then(|()| files.replace(&own.join(HOLDER), token.as_bytes(), Durability::Atomic))
        .and_then(|()| take(files, (&own, &place), until, abandoned));
    match made {
        Ok(true) => {
            let files = files.holding(&[]);
            Ok(Some(Box::new(LockDirectory {
                alive: show_signs(files.clone(), place.join(ALIVE)),
                files,
                place,
                own,
                token: token.into_bytes(),
            })))
        }
        not_taken => {
            // The first error is reported.
            let _ = files.remove_tree(&own);
            not_taken.map(|_| None)
        }
    }
}

/// Starts the thread that shows the signs of life in the file `path`. Without a sign, the lock belongs to a process
/// that must be done with it in [`ABANDONED`].
fn show_signs(files: Arc<dyn Files>, path: PathBuf) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (end, ended) = channel();
    let show = move || show_until(&*files, &path, &ended);
    let thread = Builder::new().name("scr lock".to_string()).spawn(show);
    thread.ok().map(|thread| (end, thread))
}

fn show_until(files: &dyn Files, path: &Path, ended: &Receiver<()>) {
    let mut number = 0u64;
    while ended.recv_timeout(SIGN) == Err(RecvTimeoutError::Timeout) {
        number += 1;
        // The next sign may succeed where this one fails.
        let _ = files.replace(path, number.to_string().as_bytes(), Durability::Atomic);
    }
}

/// Renames `own` to `place`. False if others were there until the time `until`.
///
/// # Errors
/// The lock cannot be renamed, or until then its owner could not be read.
fn take(
    files: &dyn Files,
    (own, place): (&Path, &Path),
    until: Instant,
    abandoned: Duration,
) -> Result<bool> {
    let mut seen: Option<(Life, Instant)> = None;
    loop {
        match files.rename(own, place) {
            Err(error) if matches!(error.errno(), Some(libc::ENOTEMPTY | libc::EEXIST)) => {}
            other => return other.map(|()| true),
        }
        let now = life(files, place);
        let since = match (&seen, &now) {
            (Some((before, since)), Ok(Some(now))) if before == now => *since,
            _ => Instant::now(),
        };
        if since.elapsed() >= abandoned {
            let broken = own.with_extension("broken");
            if files.rename(place, &broken).is_ok() {
                let _ = files.remove_tree(&broken);
            }
        } else if Instant::now() >= until {
            // Perhaps no process has the lock, and an unreadable entry is in the way.
            return now.map(|_| false);
        }
        seen = now.ok().flatten().map(|now| (now, since));
        sleep(PAUSE);
    }
}

/// The holder, and its last sign of life.
type Life = (Vec<u8>, Option<Vec<u8>>);

/// `None` if no process holds the lock.
fn life(files: &dyn Files, place: &Path) -> Result<Option<Life>> {
    match files.read(&place.join(HOLDER), 64) {
        Ok(holder) => Ok(Some((holder, files.read(&place.join(ALIVE), 64).ok()))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
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
        // The state that a killed process leaves.
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

    /// The file system may have failed when the lock was freed: no process is to be ended.
    #[test]
    fn what_cannot_be_read_is_named_and_no_other_process() {
        let dir = tempfile::tempdir().unwrap();
        let holder = dir.path().join(NAME).join(HOLDER);
        fs::create_dir_all(&holder).unwrap();
        let refused = lock_by_directory(&Posix, dir.path(), Instant::now());
        let error = refused.err().unwrap().to_string();
        assert!(error.contains(&*holder.to_string_lossy()), "{error}");
    }
}
