//! Commands on a system that refuses one kind of call each time (`strace --inject`): what `tests/session/prefix/refused.rs`
//! tries with a file system of its own is so with the real one.

use crate::sandbox::{Said, program, said};
use crate::site::{Rank, Site};
use scr::config::Config;
use scr::format::Name;
use std::os::unix::fs::{FileExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

const ERRNOS: [&str; 8] = [
    "EPERM",
    "EACCES",
    "EINVAL",
    "ENOSYS",
    "EOPNOTSUPP",
    "ENODEV",
    "EINTR",
    "EIO",
];

const NO_ROOM: [&str; 2] = ["ENOSPC", "EDQUOT"];

/// Large enough that space is reserved for it.
const DENSE: usize = (1 << 20) + 10;

const HOLE: u64 = 1 << 18;

/// A job of one rank that was killed after its checkpoint, whose files have another owner if this user may give them one.
fn killed(more: &[(&str, &str)], finalize: bool) -> Site {
    let mut site = Site::new().set("SCR_COPY_TYPE", "SINGLE");
    for (name, value) in more {
        site = site.set(name, value);
    }
    site.run(&["n0"], |rank| {
        write(rank);
        if finalize {
            rank.session.finalize(&mut Config::new()).unwrap();
        }
    });
    site
}

fn write(rank: &mut Rank) {
    let session = &mut rank.session;
    session
        .start_output(Some(Name::from("ck")), true, false)
        .unwrap();
    let dense = session.route(Path::new("ck/dense")).unwrap();
    std::fs::write(&dense, vec![7; DENSE]).unwrap();
    // As root, so that the copy must be given away.
    let _ = chown(&dense, Some(12345), Some(12345));
    let sparse = std::fs::File::create(session.route(Path::new("ck/sparse")).unwrap()).unwrap();
    sparse.set_len(HOLE).unwrap();
    sparse.write_all_at(b"end", HOLE - 3).unwrap();
    session.complete_output(true).unwrap();
}

/// A command on the node while the system refuses these calls, at one path if it is given; `None` if it cannot be traced.
fn refused(
    site: &Site,
    calls: &str,
    errno: &str,
    at: Option<PathBuf>,
    args: &[&str],
) -> Option<Said> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null"]);
    command
        .arg("-e")
        .arg(format!("inject={calls}:error={errno}"));
    if let Some(at) = at {
        command.arg("-P").arg(at);
    }
    let plain = program("scr", args);
    command.arg(plain.get_program()).args(args);
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let base = site.node("n0");
    command.current_dir(site.prefix()).envs([
        ("SCR_NODE_NAME", "n0".as_ref()),
        ("SCR_CACHE_BASE", base.as_os_str()),
        ("SCR_CNTL_BASE", base.as_os_str()),
    ]);
    command.envs(site.vars.iter().map(|(name, value)| (name, value)));
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let untraced = ["strace:", "ptrace"].iter().any(|word| text.contains(word));
    (!untraced).then(|| said(output))
}

/// True, with a note, if nothing can be traced here.
fn no_strace() -> bool {
    let works = Command::new("strace")
        .args([
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            "inject=chroot:error=EPERM",
            "true",
        ])
        .output()
        .is_ok_and(|output| output.status.success());
    if !works {
        println!("SKIPPED: there is no strace here that injects errors, or it may not trace");
    }
    !works
}

fn is_whole(site: &Site) -> bool {
    let dir = site.prefix().join("ck");
    let mut sparse = vec![0; HOLE as usize];
    sparse[HOLE as usize - 3..].copy_from_slice(b"end");
    std::fs::read(dir.join("dense")).unwrap() == vec![7; DENSE]
        && std::fs::read(dir.join("sparse")).unwrap() == sparse
}

/// As if nothing had been copied.
fn forget(site: &Site) {
    for name in ["ck", ".scr/scr.dataset.1", ".scr/index.scr"] {
        let path = site.prefix().join(name);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else if path.exists() {
            std::fs::remove_file(path).unwrap();
        }
    }
}

/// Calls, the errors with which they are refused, and whether the user is told that something was not kept.
type Optional = (&'static str, Vec<&'static str>, fn(&str) -> bool);

/// The calls that a copy can do without.
fn optional() -> Vec<Optional> {
    let all = [&ERRNOS[..], &NO_ROOM[..]].concat();
    // A user may not give files away, which is no news.
    let given_away = |errno: &str| !["EPERM", "EINVAL"].contains(&errno);
    let is_root = rustix::process::geteuid().is_root();
    vec![
        ("utimensat", all.clone(), |_| true),
        (
            "chown,fchown,fchownat",
            all.clone(),
            if is_root { given_away } else { |_| false },
        ),
        ("fallocate", ERRNOS.to_vec(), |_| false),
        ("ftruncate,truncate", ERRNOS.to_vec(), |_| true),
        ("statfs,fstatfs", all.clone(), |_| false),
        ("link,linkat", all.clone(), |_| false),
        ("sync_file_range", all, |_| false),
    ]
}

#[test]
fn a_node_is_saved_whatever_optional_call_the_system_refuses() {
    if no_strace() {
        return;
    }
    let site = killed(&[("SCR_FLUSH", "0")], false);
    for (calls, errnos, tells) in optional() {
        for errno in errnos {
            forget(&site);
            let copied = refused(&site, calls, errno, None, &["copy", "--id", "1"]).unwrap();
            let what = format!("{calls}, {errno}: {copied:?}");
            assert_eq!(copied.code, 0, "{what}");
            assert!(is_whole(&site), "{what}");
            let told = copied.err.matches("(SCR-321)").count();
            assert_eq!(told, usize::from(tells(errno)), "{what}");
            let only = copied.err.lines().count() == told;
            assert!(only, "{what}");
        }
        let built = refused(&site, calls, "EPERM", None, &["index", "--build", "1"]).unwrap();
        assert_eq!(built.code, 0, "{calls}: {built:?}");
    }
}

#[test]
fn mode_bits_that_cannot_be_set_are_told() {
    if no_strace() || !rustix::process::geteuid().is_root() {
        return;
    }
    let site = killed(&[("SCR_FLUSH", "0")], false);
    for errno in ERRNOS {
        forget(&site);
        let calls = "chmod,fchmod,fchmodat";
        let copied = refused(&site, calls, errno, None, &["copy", "--id", "1"]).unwrap();
        assert_eq!(copied.code, 0, "{errno}: {copied:?}");
        assert!(
            is_whole(&site) && copied.err.contains("cannot set the mode of"),
            "{copied:?}"
        );
    }
}

#[test]
fn content_must_come_to_stable_storage() {
    if no_strace() {
        return;
    }
    let site = killed(&[("SCR_FLUSH", "0")], false);
    let copy = |calls: &str, errno: &str, at: Option<PathBuf>| {
        forget(&site);
        refused(&site, calls, errno, at, &["copy", "--id", "1"]).unwrap()
    };
    let dir = || Some(site.prefix());
    for errno in ["EPERM", "EIO", "ENOSPC", "EDQUOT", "EINVAL", "ENOSYS"] {
        let failed = copy("fsync", errno, Some(site.prefix().join("ck/dense")));
        assert_eq!(failed.code, 1, "{errno}: {failed:?}");
        assert!(failed.err.contains("cannot sync") && failed.err.contains("ck/dense"));
    }
    // A file system that cannot sync directories orders their changes itself.
    for errno in ["EINVAL", "ENOSYS", "EOPNOTSUPP"] {
        let copied = copy("fsync", errno, dir());
        assert_eq!((copied.code, &*copied.err), (0, ""), "{errno}: {copied:?}");
        assert!(is_whole(&site));
    }
    for errno in ["EPERM", "EACCES", "EIO", "ENOSPC", "EDQUOT", "EINTR"] {
        let failed = copy("fsync", errno, dir());
        assert_eq!(failed.code, 1, "{errno}: {failed:?}");
        assert!(failed.err.contains("cannot sync directory"), "{failed:?}");
    }
    for errno in NO_ROOM {
        let failed = copy("fallocate", errno, None);
        assert_eq!(failed.code, 1, "{errno}: {failed:?}");
        assert!(failed.err.contains("ck/dense"), "{failed:?}");
    }
    // Nothing is lost by any of that.
    forget(&site);
    let copied = crate::scavenge::on(&site, "n0", "scr", &["copy", "--id", "1"]);
    assert_eq!(copied.code, 0, "{copied:?}");
    assert!(is_whole(&site));
}

/// What a run has left to `scr transfer --finish` is copied by the daemon's code.
#[test]
fn a_daemon_copies_whatever_optional_call_the_system_refuses() {
    if no_strace() {
        return;
    }
    for (calls, errno) in [
        ("utimensat", "EPERM"),
        ("fallocate", "EINVAL"),
        ("ftruncate", "ENOSYS"),
        ("statfs,fstatfs", "EACCES"),
    ] {
        let site = killed(
            &[
                ("SCR_FLUSH", "1"),
                ("SCR_FLUSH_ASYNC", "1"),
                ("SCR_FLUSH_ASYNC_BW", "1"),
                ("SCR_FLUSH_POSTSTAGE", "1"),
            ],
            true,
        );
        let done = refused(&site, calls, errno, None, &["transfer", "--finish"]).unwrap();
        let what = format!("{calls}, {errno}: {done:?}");
        assert!(done.code == 0 && is_whole(&site), "{what}");
        let told = format!("{}{}", done.out, done.err);
        let tells = ["utimensat", "ftruncate"].contains(&calls);
        assert_eq!(
            told.matches("(SCR-321)").count(),
            usize::from(tells),
            "{what}"
        );
    }
}
