//! Directories that no other user can have prepared.

use super::beneath::At;
use super::descriptor::opened;
use super::failure::{failed, refused};
use super::retry::retry_on_intr;
use crate::Result;
use crate::messages::{NOT_OURS, UNSAFE_BASE};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, fstat, mkdirat, openat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::path::{Component, Path, PathBuf};

const ACTION: &str = "use directory";

/// Makes the directories of `below` under `base`; see
/// [`Files::make_private_dirs`](super::Files::make_private_dirs).
///
/// Each step works relative to the directory that was checked before, so that nothing can be
/// exchanged between check and use. In a `base` that passes [`check_base`], only this user and
/// trusted ones can rename the first directory.
pub(super) fn make(roots: &[PathBuf], base: &Path, below: &Path) -> Result<()> {
    walk(roots, base, below, true)
}

/// Checks the directories that exist, and makes no directory.
pub(super) fn check_all(roots: &[PathBuf], base: &Path, below: &Path) -> Result<()> {
    match walk(roots, base, below, false) {
        Err(error) if error.is_not_found() => Ok(()),
        other => other,
    }
}

fn walk(roots: &[PathBuf], base: &Path, below: &Path, make: bool) -> Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let at = At::find(roots, ACTION, base)?;
    let mut directory: OwnedFd = at.open(flags).map_err(|errno| match errno {
        Errno::NOTDIR | Errno::LOOP => {
            let text = format!(
                "it is a symbolic link or a file where a base directory is needed; name a \
                 directory, or the one that the link leads to ({NOT_OURS})"
            );
            refused(ACTION, base, errno, text)
        }
        _ => failed(ACTION, base, errno),
    })?;
    check_base(&directory, base)?;
    let mut path = base.to_path_buf();
    for component in below.components() {
        let Component::Normal(name) = component else {
            let whole = base.join(below);
            let text = "a path of plain names, without '..', is needed here";
            return Err(refused(ACTION, &whole, Errno::INVAL, text));
        };
        path.push(name);
        if make {
            match retry_on_intr(|| mkdirat(&directory, name, Mode::RWXU)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed("make directory", &path, errno)),
            }
        }
        directory =
            opened(|| openat(&directory, name, flags, Mode::empty())).map_err(
                |errno| match errno {
                    Errno::NOTDIR | Errno::LOOP => {
                        let text = format!(
                            "it is a symbolic link or a file where a directory of ours is needed; \
                             remove it or choose another base directory ({NOT_OURS})"
                        );
                        refused(ACTION, &path, errno, text)
                    }
                    _ => failed(ACTION, &path, errno),
                },
            )?;
        check(&directory, &path)?;
    }
    Ok(())
}

/// A user who may rename entries of a base directory could put other directories in place of ours.
/// This is its owner, sticky or not, and, unless it is sticky, everybody who may write to it. Its group
/// is trusted: with umask 002, directories are writable by their group.
fn check_base(directory: &OwnedFd, base: &Path) -> Result<()> {
    const STICKY: u32 = 0o1000;
    let stat = fstat(directory).map_err(|errno| failed(ACTION, base, errno))?;
    let us = geteuid().as_raw();
    let sticky = stat.st_mode & STICKY != 0;
    let text = if stat.st_uid != us && stat.st_uid != 0 && !(sticky && is_unknown(stat.st_uid)) {
        format!(
            "it belongs to user {}, not to us (user {us}) or root, and its owner can rename or \
             remove what we put there, also with a sticky bit; choose another base directory, or \
             have this one given to root (chown root) ({UNSAFE_BASE})",
            stat.st_uid
        )
    } else if !sticky && stat.st_mode & 0o002 != 0 {
        format!(
            "everybody may write to it (mode {:03o}), and it has no sticky bit, so what we put \
             there is not safe; choose another base directory, or have this one made sticky \
             (chmod +t) ({UNSAFE_BASE})",
            stat.st_mode & 0o777
        )
    } else {
        return Ok(());
    };
    Err(refused(ACTION, base, Errno::ACCESS, text))
}

/// True for the number that stands for all owners whom this user name space does not know. In a
/// container without root, `/tmp` and `/dev/shm` of the host belong to this id: their owner is
/// root.
fn is_unknown(uid: u32) -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let all_known = read("/proc/self/uid_map")
        .split_whitespace()
        .eq(["0", "0", "4294967295"]);
    !all_known && read("/proc/sys/kernel/overflowuid").trim() == uid.to_string()
}

fn check(directory: &OwnedFd, path: &Path) -> Result<()> {
    let stat = fstat(directory).map_err(|errno| failed(ACTION, path, errno))?;
    let us = geteuid().as_raw();
    if stat.st_uid != us {
        let text = format!(
            "it belongs to user {}, not to us (user {us}); have it removed or choose another \
             base directory ({NOT_OURS})",
            stat.st_uid
        );
        return Err(refused(ACTION, path, Errno::ACCESS, text));
    }
    if stat.st_mode & 0o022 != 0 {
        let text = format!(
            "it belongs to user {us}, but others may write to it (mode {:03o}); run chmod \
             go-w on it or remove it ({NOT_OURS})",
            stat.st_mode & 0o777
        );
        return Err(refused(ACTION, path, Errno::ACCESS, text));
    }
    Ok(())
}
