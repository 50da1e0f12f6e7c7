//! Repeats operations that failed with a transient error.

use crate::Result;
use crate::system::time::sleep;
use rustix::io::Errno;
use std::time::Duration;

/// Repeats a system call that a signal has interrupted. Not for ever: a file system may say so each time.
pub(super) fn retry_on_intr<T>(
    mut call: impl FnMut() -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    const TRIES: u32 = 1000;
    for _ in 1..TRIES {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
    call()
}

/// Pauses before the further attempts. They are short: they help against a single failure. Lasting
/// errors are reported to the user, who can start again.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(40)];

/// Repeats `work`, which must only read, after a [transient](crate::Error::is_transient) error:
/// three attempts in all. Returns any other error at once, and else the error of the last attempt.
/// Local.
pub fn retry<T>(mut work: impl FnMut() -> Result<T>) -> Result<T> {
    for pause in PAUSES {
        match work() {
            Err(error) if error.is_transient() => sleep(pause),
            other => return other,
        }
    }
    work()
}

#[cfg(test)]
mod tests {
    use super::retry;
    use crate::Error;

    /// The result of work that fails with `errno` this often, and the number of attempts.
    fn tried(failures: u32, errno: i32) -> (crate::Result<()>, u32) {
        let mut attempts = 0;
        let result = retry(|| {
            attempts += 1;
            if attempts <= failures {
                let error = std::io::Error::from_raw_os_error(errno);
                return Err(Error::io("read", "/f", error));
            }
            Ok(())
        });
        (result, attempts)
    }

    #[test]
    fn transient_errors_are_tried_three_times_and_no_others() {
        assert_eq!(tried(0, libc::EIO), (Ok(()), 1));
        assert_eq!(tried(1, libc::EIO), (Ok(()), 2));
        assert_eq!(tried(2, libc::EIO), (Ok(()), 3));
        let (result, attempts) = tried(9, libc::EIO);
        assert_eq!(
            (result.unwrap_err().errno(), attempts),
            (Some(libc::EIO), 3)
        );
        let (result, attempts) = tried(9, libc::ENOENT);
        assert_eq!(result.unwrap_err().errno(), Some(libc::ENOENT));
        assert_eq!(attempts, 1, "what is not there does not come by waiting");
        let mut attempts = 0;
        let damaged = retry(|| {
            attempts += 1;
            Err::<(), _>(Error::format(0, "damaged"))
        });
        assert_eq!((damaged.is_err(), attempts), (true, 1));
    }
}
