//! Which calls are refused, and with which errors: those of their manual pages, and some more that file systems give. Those
//! of wrong arguments (EBADF, EFAULT) are not among them.

use std::path::PathBuf;

/// What the system refuses.
pub struct Refusal<'a> {
    /// Names of calls, with commas.
    pub calls: &'a str,
    pub errno: &'a str,
    /// Only at these paths, if there are any.
    pub at: Vec<PathBuf>,
}

impl<'a> Refusal<'a> {
    pub fn new(calls: &'a str, errno: &'a str) -> Self {
        let at = Vec::new();
        Refusal { calls, errno, at }
    }

    pub fn at(self, at: Vec<PathBuf>) -> Self {
        Refusal { at, ..self }
    }
}

/// Calls that a copy can do without.
pub struct Optional {
    pub calls: &'static str,
    pub errnos: &'static [&'static str],
    /// True if the user is told (SCR-321) that something was not kept.
    pub tells: fn(&str) -> bool,
}

/// Of the calls that give a file its owner or mode.
const OWNER_AND_MODE: &[&str] = &[
    "EPERM",
    "EACCES",
    "EROFS",
    "EINVAL",
    "ENOENT",
    "ENOTDIR",
    "ELOOP",
    "ENAMETOOLONG",
    "ENOMEM",
    "ENOSYS",
    "EOPNOTSUPP",
    "EINTR",
    "EIO",
    "ENOSPC",
    "EDQUOT",
    "ESTALE",
];

/// In a copy of files to plain files.
pub const OPTIONAL: &[Optional] = &[
    Optional {
        calls: "utimensat",
        errnos: &[
            "EPERM",
            "EACCES",
            "EROFS",
            "EINVAL",
            "ENOENT",
            "ENOTDIR",
            "ELOOP",
            "ENAMETOOLONG",
            "ESRCH",
            "ENOSYS",
            "EOPNOTSUPP",
            "EINTR",
            "EIO",
            "ENOSPC",
            "EDQUOT",
            "ESTALE",
        ],
        tells: |_| true,
    },
    Optional {
        calls: "chown,fchown,fchownat",
        errnos: OWNER_AND_MODE,
        // That a user may not give files away is no news.
        tells: |errno| is_root() && !["EPERM", "EINVAL"].contains(&errno),
    },
    Optional {
        calls: "chmod,fchmod,fchmodat",
        errnos: OWNER_AND_MODE,
        // Only what was given away needs it.
        tells: |_| is_root(),
    },
    Optional {
        calls: "truncate,ftruncate",
        errnos: &[
            "EPERM",
            "EACCES",
            "EROFS",
            "EINVAL",
            "ENOENT",
            "ENOTDIR",
            "ELOOP",
            "ENAMETOOLONG",
            "EISDIR",
            "EFBIG",
            "ETXTBSY",
            "ENOSYS",
            "EOPNOTSUPP",
            "EINTR",
            "EIO",
            "ESTALE",
        ],
        tells: |_| true,
    },
    Optional {
        calls: "fallocate",
        errnos: &[
            "EPERM",
            "EINVAL",
            "ENODEV",
            "ESPIPE",
            "ETXTBSY",
            "ENOSYS",
            "EOPNOTSUPP",
            "EINTR",
            "EIO",
        ],
        tells: |_| false,
    },
    Optional {
        calls: "statfs,fstatfs",
        errnos: &[
            "EPERM",
            "EACCES",
            "ENOENT",
            "ENOTDIR",
            "ELOOP",
            "ENAMETOOLONG",
            "ENOMEM",
            "EOVERFLOW",
            "ENOSYS",
            "EOPNOTSUPP",
            "EINTR",
            "EIO",
            "ESTALE",
        ],
        tells: |_| false,
    },
    // A file system that cannot sync directories orders their changes itself.
    Optional {
        calls: SYNC_OF_DIRECTORIES,
        errnos: &["EINVAL", "ENOSYS", "EOPNOTSUPP"],
        tells: |_| false,
    },
];

/// No call of the system, but one that is refused at directories only.
pub const SYNC_OF_DIRECTORIES: &str = "sync of directories";

/// Calls without which a dataset is not whole, or not on stable storage.
pub const MANDATORY: &[(&str, &[&str])] = &[
    (
        "fsync",
        &[
            "EINTR", "EIO", "ENOSPC", "EDQUOT", "EROFS", "EINVAL", "ENOSYS", "EPERM",
        ],
    ),
    (
        SYNC_OF_DIRECTORIES,
        &[
            "EINTR", "EIO", "ENOSPC", "EDQUOT", "EROFS", "EPERM", "EACCES",
        ],
    ),
    // A file must not be begun that cannot be written.
    ("fallocate", &["ENOSPC", "EDQUOT", "EFBIG"]),
];

/// What is told of a row of [`MANDATORY`].
pub fn told_of(calls: &str) -> &'static str {
    match calls {
        "fsync" => "cannot sync ",
        "fallocate" => "cannot allocate ",
        _ => "cannot sync directory ",
    }
}

/// SCR makes no hard links, which many file systems do not have.
pub const NOT_MADE: &str = "link,linkat";

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// All cases if `SCR_TEST_ALL` is set, else one of five of each row.
pub fn optional() -> impl Iterator<Item = (&'static Optional, &'static str)> {
    let of_row = |row: &'static Optional| taken(row.errnos).map(move |errno| (row, errno));
    OPTIONAL.iter().flat_map(of_row)
}

/// Likewise.
pub fn mandatory() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_row = |(calls, errnos): &(&'static str, &'static [&'static str])| {
        let calls = *calls;
        taken(errnos).map(move |errno| (calls, errno))
    };
    MANDATORY.iter().flat_map(of_row)
}

fn taken(errnos: &'static [&'static str]) -> impl Iterator<Item = &'static str> {
    let step = match std::env::var_os("SCR_TEST_ALL") {
        Some(_) => 1,
        None => 5,
    };
    errnos.iter().step_by(step).copied()
}
