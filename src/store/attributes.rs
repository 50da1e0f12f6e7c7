//! Mode, owner and times of files.

use super::beneath::At;
use super::retry::retry_on_intr;
use super::{FileKind, Stat};
use rustix::fd::{AsFd, AsRawFd};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, Timespec, Timestamps, Uid, chownat, fchmod, fstat, futimens,
    utimensat,
};
use rustix::io::{Errno, Result};
use std::path::Path;

/// The first step that the file system has refused, and its error.
pub(super) type Refusal = Option<(&'static str, Errno)>;

/// The attributes of a file, as the system tells them.
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
        inode: stat.st_ino,
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

/// Gives an open file the mode, owner and times of `stat`, as far as permitted.
pub(super) fn restore_file(fd: impl AsFd, path: &Path, stat: &Stat) -> Result<Refusal> {
    let found = stat_of(&fstat(&fd)?);
    let mut refused = None;
    let mode = restore_owner(&fd, path, (&found, stat), &mut refused);
    if (found.uid, found.gid) != (stat.uid, stat.gid) || found.mode & 0o7777 != mode.bits() {
        let done = retry_on_intr(|| fchmod(&fd, mode));
        note(&mut refused, "set the mode of", done);
    }
    let done = retry_on_intr(|| futimens(&fd, &times_of(stat)));
    note(&mut refused, "set the times of", done);
    Ok(refused)
}

/// Gives a file or directory, which `at` names and `handle` is open for, mode, owner and times of `stat`, as far as permitted.
pub(super) fn restore_path(
    at: &At,
    handle: impl AsFd,
    path: &Path,
    stats: (&Stat, &Stat),
) -> Refusal {
    let mut refused = None;
    let mode = restore_owner(&handle, path, stats, &mut refused);
    let done = chmod_handle(&handle, mode);
    note(&mut refused, "set the mode of", done);
    let times = times_of(stats.1);
    let done = retry_on_intr(|| utimensat(at.dir(), at.name(), &times, AtFlags::SYMLINK_NOFOLLOW));
    note(&mut refused, "set the times of", done);
    refused
}

/// The first error is kept.
fn note(refused: &mut Refusal, action: &'static str, done: Result<()>) {
    if let Err(errno) = done {
        refused.get_or_insert((action, errno));
    }
}

/// Gives a file, which may be an `O_PATH` handle, the owner of `stat`, as far as permitted. Returns the mode that the
/// file may have with its new owner. `found` are its present attributes. If the directory of the file gives its group
/// to new files, the file keeps that group: people share the directory by that group, and space may be accounted to
/// the group.
fn restore_owner(
    fd: impl AsFd,
    path: &Path,
    (found, stat): (&Stat, &Stat),
    refused: &mut Refusal,
) -> Mode {
    let mut chown = |action, uid, gid| {
        match retry_on_intr(|| chownat(&fd, "", uid, gid, AtFlags::EMPTY_PATH)) {
            // Not permitted, or the id is unknown to this user namespace.
            Err(Errno::PERM | Errno::INVAL) => {}
            done => note(refused, action, done),
        }
    };
    let owner = |stat: &Stat| (stat.uid, stat.gid);
    let mut same_owner = owner(found) == owner(stat);
    if !same_owner {
        if found.gid != stat.gid && !path.parent().is_some_and(gives_group) {
            let group = Some(Gid::from_raw(stat.gid));
            chown("set the group of", None, group);
        }
        if found.uid != stat.uid {
            let user = Some(Uid::from_raw(stat.uid));
            chown("set the owner of", user, None);
        }
        same_owner = fstat(&fd).is_ok_and(|now| owner(&stat_of(&now)) == owner(stat));
    }
    // Set-id bits must not pass to another owner.
    let bits = if same_owner { 0o7777 } else { 0o1777 };
    Mode::from_raw_mode(stat.mode & bits)
}

/// True for a directory with the set-group-id bit.
fn gives_group(dir: &Path) -> bool {
    rustix::fs::stat(dir).is_ok_and(|stat| Mode::from_raw_mode(stat.st_mode).contains(Mode::SGID))
}

/// Changes the mode of an `O_PATH` handle, which fchmod does not accept.
pub(super) fn chmod_handle(handle: impl AsFd, mode: Mode) -> Result<()> {
    let path = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
    retry_on_intr(|| rustix::fs::chmod(path.as_str(), mode))
}
