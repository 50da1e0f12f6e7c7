//! Leases of files (`F_SETLEASE`). While a process has the lease of a file, no other process has the file open. A process
//! that opens or shortens it waits until the lease is given back, for at most `/proc/sys/fs/lease-break-time`.

use super::block_signals::BlockedSignals;
use crate::system::sync::mpsc::{Sender, channel};
use crate::system::thread::{self, JoinHandle};
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::{Errno, Result};

/// The system tells by a signal that somebody waits for a lease: SIGIO, which ends a program that does not expect it.
/// Such signals go to this thread, which does nothing and has all signals blocked. So nobody notices them, and the
/// program's own signals go where they went before.
pub(super) struct SignalTaker {
    /// The number of the thread.
    id: libc::pid_t,
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl SignalTaker {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn start() -> Result<Self> {
        let (told, tell) = (channel::<libc::pid_t>(), channel::<()>());
        let (sender, receiver) = (told.0, tell.1);
        let wait = move || {
            let _ = sender.send(rustix::thread::gettid().as_raw_pid());
            // Ends when the other end is dropped.
            let _ = receiver.recv();
        };
        let blocked = BlockedSignals::new();
        let thread = thread::Builder::new().name("scr-lease".to_string());
        let thread = thread.spawn(wait).map_err(|_| Errno::AGAIN)?;
        drop(blocked);
        let id = told.1.recv().map_err(|_| Errno::AGAIN)?;
        let running = Some((tell.0, thread));
        Ok(SignalTaker { id, running })
    }
}

impl Drop for SignalTaker {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.running.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

/// The lease of a file. It is given back when it is dropped.
pub(super) struct Lease<'a> {
    file: BorrowedFd<'a>,
}

impl<'a> Lease<'a> {
    /// Takes it. Its signals go to `taker`.
    ///
    /// # Errors
    /// Somebody else has the file open, or the file belongs to another user, or the system has no leases.
    pub(super) fn take(file: BorrowedFd<'a>, taker: &SignalTaker) -> Result<Self> {
        Lease::take_as(libc::F_WRLCK, file, taker)
    }

    /// Takes one of a file that is open for reading alone. Others may read it, too, and nobody can open it for writing, or
    /// shorten it. Its signals go to `taker`.
    ///
    /// # Errors
    /// Somebody has the file open for writing, or the file belongs to another user, or the system has no leases.
    pub(super) fn take_to_read(file: BorrowedFd<'a>, taker: &SignalTaker) -> Result<Self> {
        Lease::take_as(libc::F_RDLCK, file, taker)
    }

    fn take_as(kind: libc::c_int, file: BorrowedFd<'a>, taker: &SignalTaker) -> Result<Self> {
        // Each time: who gives a lease back takes the owner away, and a lease without owner takes the process.
        set_owner(file, taker.id)?;
        set(file, kind)?;
        Ok(Lease { file })
    }

    /// Gives it back. False if the system has taken it away before.
    pub(super) fn give_back(self) -> bool {
        let kept = set(self.file, libc::F_UNLCK).is_ok();
        std::mem::forget(self);
        kept
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let _ = set(self.file, libc::F_UNLCK);
    }
}

fn set(file: BorrowedFd<'_>, to: libc::c_int) -> Result<()> {
    // SAFETY: the descriptor is open, and the call takes two integers.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, to) };
    result(done)
}

/// Makes a thread the owner of an open file, to which the system sends signals about it.
fn set_owner(file: BorrowedFd<'_>, thread: libc::pid_t) -> Result<()> {
    /// `struct f_owner_ex` of the system.
    #[repr(C)]
    struct Owner {
        kind: libc::c_int,
        id: libc::pid_t,
    }
    const F_SETOWN_EX: libc::c_int = 15;
    const F_OWNER_TID: libc::c_int = 0;
    let owner = Owner {
        kind: F_OWNER_TID,
        id: thread,
    };
    // SAFETY: the descriptor is open, and the call reads the local value.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), F_SETOWN_EX, &raw const owner) };
    result(done)
}

fn result(done: libc::c_int) -> Result<()> {
    match done {
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        _ => Ok(()),
    }
}
