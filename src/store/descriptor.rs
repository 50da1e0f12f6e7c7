//! Descriptors 0 to 2 stay the program's, even where it has closed them: what the program and its libraries print goes
//! there, whatever file that is.
//!
//! Closed descriptors are not filled with /dev/null: a program may close one, and then open its own file in its place.

use super::retry::retry_on_intr;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::fcntl_dupfd_cloexec;

/// The lowest descriptor that has no meaning of its own.
const LOWEST: i32 = 3;

/// Opens a file, again if a signal comes, under a descriptor that is not the program's.
pub(super) fn opened(
    open: impl FnMut() -> rustix::io::Result<OwnedFd>,
) -> rustix::io::Result<OwnedFd> {
    let fd = retry_on_intr(open)?;
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
