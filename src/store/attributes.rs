//! Mode, owner and times of files.

use super::{FileKind, Stat};
use rustix::fd::{AsFd, AsRawFd};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, Timespec, Timestamps, Uid, chownat, fchmod, fstat, futimens,
};
use rustix::io::{Errno, Result, retry_on_intr};

/// What the system tells of a file.
pub(super) fn stat_of(stat: &rustix::fs::Stat) -> Stat {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        _ => FileKind::Other,
    };
    let time = |seconds, nanoseconds| (seconds, u32::try_from(nanoseconds).unwrap_or(0));
    Stat {
        kind,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        blocks: allocated(stat),
        mode: stat.st_mode,
        uid: stat.st_uid,
        gid: stat.st_gid,
        atime: time(stat.st_atime, stat.st_atime_nsec),
        ctime: time(stat.st_ctime, stat.st_ctime_nsec),
        mtime: time(stat.st_mtime, stat.st_mtime_nsec),
    }
}

/// Space that is allocated for a file, bytes.
pub(super) fn allocated(stat: &rustix::fs::Stat) -> u64 {
    u64::try_from(stat.st_blocks)
        .unwrap_or(0)
        .saturating_mul(512)
}

/// The times of last access and change of `stat`.
pub(super) fn times_of(stat: &Stat) -> Timestamps {
    let time = |(tv_sec, nsec): (i64, u32)| Timespec {
        tv_sec,
        tv_nsec: nsec.into(),
    };
    Timestamps {
        last_access: time(stat.atime),
        last_modification: time(stat.mtime),
    }
}

/// Gives an open file the mode, owner and times of `stat`; the owner as far as permitted.
pub(super) fn restore(fd: impl AsFd, stat: &Stat) -> Result<()> {
    let found = stat_of(&fstat(&fd)?);
    let mode = restore_owner(&fd, &found, stat)?;
    if (found.uid, found.gid) != (stat.uid, stat.gid) || found.mode & 0o7777 != mode.bits() {
        retry_on_intr(|| fchmod(&fd, mode))?;
    }
    retry_on_intr(|| futimens(&fd, &times_of(stat)))
}

/// Gives a file, which may be an `O_PATH` handle, the owner of `stat`, as far as permitted. Returns the
/// mode that it may have then. `found` is what it has now.
pub(super) fn restore_owner(fd: impl AsFd, found: &Stat, stat: &Stat) -> Result<Mode> {
    let chown = |uid, gid| match chownat(&fd, "", uid, gid, AtFlags::EMPTY_PATH) {
        // Not permitted, or the id is unknown to this user namespace.
        Err(Errno::PERM | Errno::INVAL) => Ok(()),
        other => other,
    };
    let owner = |stat: &Stat| (stat.uid, stat.gid);
    let mut same_owner = owner(found) == owner(stat);
    if !same_owner {
        if found.gid != stat.gid {
            chown(None, Some(Gid::from_raw(stat.gid)))?;
        }
        if found.uid != stat.uid {
            chown(Some(Uid::from_raw(stat.uid)), None)?;
        }
        same_owner = owner(&stat_of(&fstat(&fd)?)) == owner(stat);
    }
    // Set-id bits must not pass to another owner.
    let bits = if same_owner { 0o7777 } else { 0o1777 };
    Ok(Mode::from_raw_mode(stat.mode & bits))
}

/// Changes the mode of an `O_PATH` handle, which fchmod does not accept.
pub(super) fn chmod_handle(handle: impl AsFd, mode: Mode) -> Result<()> {
    let path = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
    retry_on_intr(|| rustix::fs::chmod(path.as_str(), mode))
}
