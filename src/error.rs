//! The error type of the crate. Only `capi` and `cli` print errors.
//!
//! An error names the thing (file, parameter, dataset), the place (path, rank, node, offset) and the
//! remedy, if there is one. Each layer adds the facts that it knows.

use crate::messages::{CALL_ORDER, COMMUNICATION_FAILED, DISK_FULL, TOO_MANY_FILES};
use crate::system::limits::open_files;
use crate::text::{escaped, plural};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The kinds of errors. `Clone`, because a collective verdict gives one rank's error to all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A system call on a file or directory failed.
    Io {
        /// The attempted action, as a verb phrase: "open", "write", "make directory".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error number, where there was one.
        errno: Option<i32>,
        /// The system's words.
        text: String,
    },
    /// Bytes of a file, or of a message, do not follow its format.
    Format {
        /// The file; `None` while its name is not known to the decoder.
        path: Option<PathBuf>,
        /// Offset of the offending byte.
        offset: u64,
        /// The fault of the dataset.
        what: String,
    },
    /// A parameter or a configuration line that cannot be used.
    Config {
        /// The place of the setting: "environment", "FILE:LINE", "SCR_Config".
        place: String,
        /// The fault, and the right form.
        what: String,
    },
    /// A call in a state that does not allow it.
    State {
        /// The C name of the call.
        call: &'static str,
        /// The state in words: "before SCR_Init", "inside an output phase".
        state: &'static str,
        /// The call to make first.
        remedy: &'static str,
    },
    /// A call in a phase whose start has failed. The failure of the start was reported, so this error
    /// need not be.
    NotStarted {
        /// The C name of the call.
        call: &'static str,
    },
    /// An argument that the interface forbids.
    Usage {
        /// The C name of the call.
        call: &'static str,
        /// The fault, with the name of the argument.
        what: String,
    },
    /// The transport failed.
    Comm {
        /// The operation, e.g. "MPI_Isend to rank 3".
        call: String,
        /// The library's words.
        what: String,
    },
    /// A device, or its driver, has failed, or does not know memory.
    Device {
        /// The device in words: "CUDA device 0".
        device: String,
        /// The attempted action, as a verb phrase.
        action: String,
        /// The fault: the driver's name of it, such as "CUDA_ERROR_ECC_UNCORRECTABLE".
        what: String,
    },
    /// A file exists, but its content is not as it was written.
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// The way in which the damage was noticed, with expected and found values.
        what: String,
    },
    /// A dataset cannot be used or recovered; says why.
    Dataset {
        /// Dataset id.
        id: u64,
        /// The name of the dataset, if known.
        name: String,
        /// The reason why it cannot be used.
        what: String,
    },
    /// The collective verdict of a step that failed on some rank.
    Remote {
        /// Lowest rank that failed.
        rank: usize,
        /// The node of that rank.
        node: String,
        /// Number of ranks that failed.
        count: usize,
        /// The message of the lowest rank.
        error: String,
    },
}

/// One line, escaped: names and files in it are untrusted.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&self.text()))
    }
}

impl std::error::Error for Error {}

impl Error {
    fn text(&self) -> String {
        match self {
            Error::Io {
                action,
                path,
                errno,
                text,
            } => {
                let why = errno_text(*errno, text);
                format!("cannot {action} {}: {why}", path.display())
            }
            Error::Format { path, offset, what } => {
                format!("{}{what}", format_place(path.as_deref(), *offset))
            }
            Error::Config { place, what } => format!("{place}: {what}"),
            Error::State {
                call,
                state,
                remedy,
            } => format!("{call} is not allowed {state}; {remedy} ({CALL_ORDER})"),
            Error::NotStarted { call } => format!("{call}: the start of this phase has failed"),
            Error::Usage { call, what } => format!("{call}: {what}"),
            Error::Comm { call, what } => {
                format!("communication failed in {call}: {what} ({COMMUNICATION_FAILED})")
            }
            Error::Device {
                device,
                action,
                what,
            } => format!("{device}: cannot {action}: {what}"),
            Error::Corrupt { path, what } => format!("{}: {what}", path.display()),
            Error::Dataset { id, name, what } => {
                format!("dataset {id}{}: {what}", display_name(name))
            }
            Error::Remote {
                rank,
                node,
                count,
                error,
            } => format!("rank {rank} on node {node}: {error}{}", others(*count)),
        }
    }

    /// Wraps an I/O error with the attempted action and the path.
    pub fn io(action: &'static str, path: impl AsRef<Path>, error: io::Error) -> Self {
        Error::Io {
            action,
            path: path.as_ref().to_path_buf(),
            errno: error.raw_os_error(),
            text: error.to_string(),
        }
    }

    /// A format error at `offset` of a file whose name the caller adds with [`Error::in_file`].
    pub fn format(offset: u64, what: impl Into<String>) -> Self {
        Error::Format {
            path: None,
            offset,
            what: what.into(),
        }
    }

    /// A parameter or a line that cannot be used; `place` is where it was set.
    pub fn config(place: impl Into<String>, what: impl Into<String>) -> Self {
        Error::Config {
            place: place.into(),
            what: what.into(),
        }
    }

    /// A file that is not as it was written, and how that was noticed.
    pub fn corrupt(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Error::Corrupt {
            path: path.into(),
            what: what.into(),
        }
    }

    /// A failure of a device; `action` is a verb phrase.
    pub fn device(
        device: impl Into<String>,
        action: impl Into<String>,
        what: impl Into<String>,
    ) -> Self {
        Error::Device {
            device: device.into(),
            action: action.into(),
            what: what.into(),
        }
    }

    /// A failure of the transport in `call`.
    pub fn comm(call: impl Into<String>, what: impl Into<String>) -> Self {
        Error::Comm {
            call: call.into(),
            what: what.into(),
        }
    }

    /// A dataset that cannot be used, and why.
    pub fn dataset(id: u64, name: impl Into<String>, what: impl Into<String>) -> Self {
        Error::Dataset {
            id,
            name: name.into(),
            what: what.into(),
        }
    }

    /// An argument that `call` forbids.
    pub fn usage(call: &'static str, what: impl Into<String>) -> Self {
        Error::Usage {
            call,
            what: what.into(),
        }
    }

    /// Names the file of a format error that does not have one yet.
    #[must_use]
    pub fn in_file(self, file: impl AsRef<Path>) -> Self {
        match self {
            Error::Format {
                path: None,
                offset,
                what,
            } => Error::Format {
                path: Some(file.as_ref().to_path_buf()),
                offset,
                what,
            },
            other => other,
        }
    }

    /// Adds a remedy to the error of a damaged file.
    #[must_use]
    pub fn remedy(self, remedy: &str) -> Self {
        match self {
            Error::Format { path, offset, what } => Error::Format {
                path,
                offset,
                what: format!("{what}; {remedy}"),
            },
            Error::Corrupt { path, what } => Error::Corrupt {
                path,
                what: format!("{what}; {remedy}"),
            },
            other => other,
        }
    }

    /// Adds another fact to the error of a file or dataset.
    #[must_use]
    pub fn with_note(self, note: &str) -> Self {
        match self {
            Error::Io {
                action,
                path,
                errno,
                text,
            } => Error::Io {
                action,
                path,
                errno,
                text: format!("{text}: {note}"),
            },
            Error::Dataset { id, name, what } => Error::Dataset {
                id,
                name,
                what: format!("{what}; {note}"),
            },
            Error::Device {
                device,
                action,
                what,
            } => Error::Device {
                device,
                action,
                what: format!("{what}; {note}"),
            },
            other => other.remedy(note),
        }
    }

    /// The system's error number, if a system call caused this error.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Error::Io { errno, .. } => *errno,
            _ => None,
        }
    }

    /// True if the file or directory does not exist.
    pub fn is_not_found(&self) -> bool {
        self.errno() == Some(libc::ENOENT)
    }

    /// True if a file system or a quota is full.
    pub fn is_full(&self) -> bool {
        matches!(self.errno(), Some(libc::ENOSPC | libc::EDQUOT))
    }

    /// True if this process, or the node, may have no more files open.
    pub fn is_too_many_open(&self) -> bool {
        matches!(self.errno(), Some(libc::EMFILE | libc::ENFILE))
    }

    /// True if another process keeps a lock for too long.
    pub fn is_busy(&self) -> bool {
        self.errno() == Some(libc::EAGAIN)
    }

    /// True if a path contains a symbolic link that is not followed.
    pub fn is_link(&self) -> bool {
        self.errno() == Some(libc::ELOOP)
    }

    /// True for errors of the system or of a device that may be gone the next time. They say nothing of the data. False
    /// if the file does not exist or the error is of another kind.
    pub fn is_transient(&self) -> bool {
        const LASTING: [i32; 7] = [
            libc::ENOENT,
            libc::ENOTDIR,
            libc::EISDIR,
            libc::ELOOP,
            libc::ENAMETOOLONG,
            libc::EINVAL,
            libc::ENXIO,
        ];
        matches!(self, Error::Device { .. })
            || self.errno().is_some_and(|errno| !LASTING.contains(&errno))
    }
}

fn errno_text(errno: Option<i32>, text: &str) -> String {
    match errno {
        Some(libc::ENOSPC) => {
            format!("{text}; free space there or choose another directory ({DISK_FULL})")
        }
        Some(libc::EMFILE) => {
            let limit = open_files().map_or("no limit".to_string(), |limit| limit.to_string());
            format!(
                "{text}: this process may have {limit} of them (ulimit -n); raise that limit ({TOO_MANY_FILES})"
            )
        }
        Some(libc::EROFS) => format!("{text}; choose another directory"),
        _ => text.to_string(),
    }
}

/// The place of the error. Offset 0 is not shown.
fn format_place(path: Option<&Path>, offset: u64) -> String {
    match (path, offset) {
        (Some(path), 0) => format!("{}: ", path.display()),
        (Some(path), offset) => format!("{}: byte {offset}: ", path.display()),
        (None, 0) => String::new(),
        (None, offset) => format!("byte {offset} of a message between ranks: "),
    }
}

fn display_name(name: &str) -> String {
    if name.is_empty() {
        String::new()
    } else {
        format!(" ({name})")
    }
}

fn others(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        n => format!(" (and {} other {})", n - 1, plural(n - 1, "rank")),
    }
}
