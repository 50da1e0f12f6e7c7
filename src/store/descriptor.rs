//! Descriptors 0 to 2 stay the program's, even where it has closed them: what the program and its libraries print goes
//! there, whatever file that is.
//!
//! Closed descriptors are not filled with /dev/null: a program may close one, and then open its own file in its place.

use super::retry::retry_on_intr;
use crate::system::time::sleep;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::time::Duration;

/// The lowest descriptor that has no meaning of its own.
const LOWEST: i32 = 3;

/// Opens a file, again if a signal comes, under a descriptor that is not the program's. Files are opened without
/// blocking, and then the system refuses one of which another process has a lease; this waits for a moment.
pub(super) fn opened(
    mut open: impl FnMut() -> rustix::io::Result<OwnedFd>,
) -> rustix::io::Result<OwnedFd> {
    const TRIES: u32 = 1000;
    let mut tried = 0;
    let fd = loop {
        match retry_on_intr(&mut open) {
            Err(Errno::AGAIN) if tried < TRIES => {
                tried += 1;
                sleep(Duration::from_millis(1));
            }
            other => break other?,
        }
    };
    if fd.as_raw_fd() < LOWEST {
        return fcntl_dupfd_cloexec(&fd, LOWEST);
    }
    Ok(fd)
}

/// Another descriptor of an open file.
pub(super) fn duplicate(fd: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    fcntl_dupfd_cloexec(fd, LOWEST)
}

/// Runs `connect`, which opens something by way of another library, so that it gets no descriptor of the program: those
/// that are closed lead to /dev/null meanwhile.
pub fn beyond_standard<T>(connect: impl FnOnce() -> T) -> T {
    let mut taken = Vec::new();
    while let Ok(fd) = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        && fd.as_raw_fd() < LOWEST
    {
        taken.push(fd);
    }
    connect()
}
