//! Errors of the real file system.

use crate::Error;
use rustix::io::Errno;
use std::path::Path;

/// An error of the system, with the action and the path.
pub(super) fn failed(action: &'static str, path: &Path, errno: Errno) -> Error {
    Error::io(action, path, errno.into())
}

/// An error that SCR itself detected; `errno` is the closest one of the system.
pub(super) fn refused(
    action: &'static str,
    path: &Path,
    errno: Errno,
    text: impl Into<String>,
) -> Error {
    let (path, errno) = (path.to_path_buf(), Some(errno.raw_os_error()));
    Error::Io {
        action,
        path,
        errno,
        text: text.into(),
    }
}
