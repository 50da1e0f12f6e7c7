//! The limit on the size of files (`ulimit -f`). A write that goes beyond it fails, and the system sends SIGXFSZ to the thread,
//! which ends the program by default. Our own writes get only the error. A handler of the program gets the signals of its own writes.

use crate::Error;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;

/// Runs a system call that can make a file larger. A SIGXFSZ from it reaches nobody.
pub(super) fn limited<T>(call: impl FnOnce() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    let blocked = BlockedSizeSignal::new();
    let done = call();
    if matches!(done, Err(Errno::FBIG)) {
        blocked.take_signal();
    }
    done
}

/// The error of an action that was [`limited`]; it names the limit.
pub(super) fn failed_in_limit(action: &'static str, path: &Path, errno: Errno) -> Error {
    match (errno, getrlimit(Resource::Fsize).current) {
        (Errno::FBIG, Some(limit)) => Error::Io {
            action,
            path: path.to_path_buf(),
            errno: Some(errno.raw_os_error()),
            text: format!(
                "{errno}: files may have {limit} bytes here (ulimit -f); raise the limit in the job script"
            ),
        },
        _ => Error::io(action, path, errno.into()),
    }
}

/// While a value exists, the calling thread has SIGXFSZ blocked.
struct BlockedSizeSignal {
    /// The mask before; `None` if it could not be changed.
    before: Option<libc::sigset_t>,
    /// The program has blocked the signal, and it has come already.
    pending: bool,
}

impl BlockedSizeSignal {
    fn new() -> Self {
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the pointers are to live locals, which are read only if the calls that write them have succeeded.
        unsafe {
            let set = size_signal();
            let done = libc::pthread_sigmask(libc::SIG_BLOCK, &set, before.as_mut_ptr());
            let before = (done == 0).then(|| before.assume_init());
            let was_blocked =
                before.is_some_and(|before| libc::sigismember(&before, libc::SIGXFSZ) == 1);
            BlockedSizeSignal {
                before,
                pending: was_blocked
                    && libc::sigpending(pending.as_mut_ptr()) == 0
                    && libc::sigismember(pending.as_ptr(), libc::SIGXFSZ) == 1,
            }
        }
    }

    /// Takes the signal that a call of ours has caused.
    fn take_signal(&self) {
        if self.before.is_none() || self.pending {
            return;
        }
        let at_once = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let set = size_signal();
        // SAFETY: the set is blocked in this thread, and the pointers are to live locals. The call does not
        // wait.
        unsafe { libc::sigtimedwait(&set, ptr::null_mut(), &at_once) };
    }
}

impl Drop for BlockedSizeSignal {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: a set that pthread_sigmask gave us.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
        }
    }
}

fn size_signal() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set; the number is that of a signal.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGXFSZ);
        set.assume_init()
    }
}
