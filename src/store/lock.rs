//! Waiting for a lock on a file or directory.

use super::{Files, Lock};
use crate::system::time::Instant;
use crate::system::time::sleep;
use crate::{Error, Result};
use std::path::Path;
use std::time::Duration;

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// The result of [`wait_for_lock`].
pub enum LockAttempt {
    /// This process holds the lock until the value is dropped.
    Acquired(Box<dyn Lock>),
    /// Another process held the lock all the time.
    HeldByOther,
    /// The file system does not support locks.
    Unsupported,
}

/// Takes the lock on `path`, which must exist; tries again until the time `until` while another
/// process holds it. At least one attempt is made. Local.
pub fn wait_for_lock(files: &dyn Files, path: &Path, until: Instant) -> Result<LockAttempt> {
    loop {
        match files.try_lock(path) {
            Ok(Some(lock)) => return Ok(LockAttempt::Acquired(lock)),
            Ok(None) if Instant::now() < until => sleep(PAUSE),
            Ok(None) => return Ok(LockAttempt::HeldByOther),
            Err(error) if without_locks(&error) => return Ok(LockAttempt::Unsupported),
            Err(error) => return Err(error),
        }
    }
}

/// True for the errors of `flock` on a file system that does not support it.
pub fn without_locks(error: &Error) -> bool {
    matches!(
        error.errno(),
        Some(libc::ENOSYS | libc::EOPNOTSUPP | libc::ENOLCK | libc::EBADF | libc::EINVAL)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::posix::Posix;
    use crate::system::thread;

    #[test]
    fn a_lock_is_waited_for_until_the_given_time() {
        let dir = tempfile::tempdir().unwrap();
        let wait = |milliseconds| {
            let until = Instant::now() + Duration::from_millis(milliseconds);
            wait_for_lock(&Posix, dir.path(), until).unwrap()
        };
        let LockAttempt::Acquired(lock) = wait(0) else {
            panic!("nobody else holds the lock");
        };
        assert!(matches!(wait(0), LockAttempt::HeldByOther));
        assert!(matches!(wait(15), LockAttempt::HeldByOther));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| matches!(wait(60_000), LockAttempt::Acquired(_)));
            drop(lock);
            assert!(waiting.join().unwrap());
        });
        let missing = wait_for_lock(&Posix, &dir.path().join("missing"), Instant::now());
        assert!(missing.err().unwrap().is_not_found());
    }

    #[test]
    fn errors_that_mean_that_there_are_no_locks() {
        let error = |errno| Error::io("lock", "/p", std::io::Error::from_raw_os_error(errno));
        for errno in [
            libc::ENOSYS,
            libc::EOPNOTSUPP,
            libc::ENOLCK,
            libc::EBADF,
            libc::EINVAL,
        ] {
            assert!(without_locks(&error(errno)));
        }
        assert!(!without_locks(&error(libc::EIO)));
    }
}
