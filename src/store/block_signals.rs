//! Blocks signals in the threads that SCR starts in the application's process.
//!
//! A signal to a process goes to any thread that has not blocked it. A signal handler of the
//! application expects to run on one of the application's own threads.

use std::mem::MaybeUninit;

/// While a value exists, the calling thread has all signals blocked. Threads that it starts
/// meanwhile have them blocked until they end.
pub struct BlockedSignals(Option<libc::sigset_t>);

impl BlockedSignals {
    /// Blocks all signals. If that fails, nothing changes.
    pub fn new() -> BlockedSignals {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: both pointers are to live locals; `all` is initialised by sigfillset before
        // it is read, `before` by pthread_sigmask if that returns 0. Signals that a fault of
        // the thread itself raises are delivered all the same (signal(7)).
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            let done = libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            BlockedSignals((done == 0).then(|| before.assume_init()))
        }
    }
}

impl Default for BlockedSignals {
    fn default() -> Self {
        BlockedSignals::new()
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: a set that pthread_sigmask gave us.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if the calling thread has SIGUSR1 blocked.
    fn blocked() -> bool {
        let mut now = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: with no new set, the old one is written to a live local.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), now.as_mut_ptr());
            libc::sigismember(now.as_ptr(), libc::SIGUSR1) == 1
        }
    }

    #[test]
    fn a_thread_started_meanwhile_blocks_signals_and_the_caller_does_not() {
        assert!(!blocked());
        let blocking = BlockedSignals::new();
        let thread = std::thread::spawn(blocked);
        drop(blocking);
        assert!(thread.join().unwrap());
        assert!(!blocked());
    }
}
