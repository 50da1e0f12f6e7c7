//! Commands on a system that refuses one kind of call each time (`strace --inject`): what `tests/session/prefix/refused.rs`
//! tries with a file system of its own is so with the real one. `../transfer/refused.rs` does it to a transfer daemon.

mod copy;
mod postrun;
pub mod table;

use crate::site::{Rank, Site};
use scr::config::Config;
use std::os::unix::fs::{FileExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use table::{Refusal, SYNC_OF_DIRECTORIES};

/// Large enough that space is reserved for it.
const DENSE: usize = (1 << 20) + 10;

const HOLE: u64 = 1 << 18;

/// A job that was killed after its checkpoint, whose files have another owner if this user may give them one. Rank r was on
/// `nodes[r]`.
pub fn killed(nodes: &[&str], set: &[(&str, &str)], finalize: bool) -> Site {
    let mut site = Site::new();
    for (name, value) in set {
        site = site.set(name, value);
    }
    site.run(nodes, |rank| {
        write(rank);
        if finalize {
            rank.session.finalize(&mut Config::new()).unwrap();
        }
    });
    site
}

/// A file in the dataset.
pub fn name(rank: usize, kind: &str) -> String {
    format!("ck/{kind}.{rank}")
}

pub fn write(rank: &mut Rank) {
    let (dense, sparse) = (name(rank.rank, "dense"), name(rank.rank, "sparse"));
    let session = &mut rank.session;
    session
        .start_output(Some("ck".into()), true, false)
        .unwrap();
    let dense = session.route(Path::new(&dense)).unwrap();
    std::fs::write(&dense, self::dense()).unwrap();
    // As root, so that the copy must be given away.
    let _ = chown(&dense, Some(12345), Some(12345));
    let sparse = std::fs::File::create(session.route(Path::new(&sparse)).unwrap()).unwrap();
    sparse.set_len(HOLE).unwrap();
    sparse.write_all_at(b"end", HOLE - 3).unwrap();
    session.complete_output(true).unwrap();
}

/// Restarts from what [`write`] has written.
pub fn restart(rank: &mut Rank) {
    let session = &mut rank.session;
    assert_eq!(session.have_restart().unwrap(), Some("ck".into()));
    session.start_restart().unwrap();
    let mut read = |kind| std::fs::read(session.route(Path::new(&name(rank.rank, kind))).unwrap());
    assert!(read("dense").unwrap() == dense() && read("sparse").unwrap() == sparse());
    session.complete_restart(true).unwrap();
}

fn dense() -> Vec<u8> {
    vec![7; DENSE]
}

fn sparse() -> Vec<u8> {
    let mut sparse = vec![0; HOLE as usize];
    sparse[HOLE as usize - 3..].copy_from_slice(b"end");
    sparse
}

/// True if the prefix directory has the content that so many ranks have written.
pub fn is_whole(site: &Site, ranks: usize) -> bool {
    let read = |rank, kind| std::fs::read(site.prefix().join(name(rank, kind))).unwrap();
    (0..ranks).all(|rank| read(rank, "dense") == dense() && read(rank, "sparse") == sparse())
}

/// A row of the table, for the dataset of this site.
pub fn refusal<'a>(site: &Site, calls: &'a str, errno: &'a str) -> Refusal<'a> {
    let prefix = site.prefix();
    let containers = (0..16).map(|number| format!(".scr/scr.dataset.1/ctr.{number}.scr"));
    let files: Vec<String> = containers.chain(["ck/dense.0".into()]).collect();
    let directories = ["ck", ".scr", ".scr/scr.dataset.1"].map(String::from);
    let below =
        |paths: &[String]| -> Vec<PathBuf> { paths.iter().map(|path| prefix.join(path)).collect() };
    match calls {
        "fsync" => Refusal::new(calls, errno).at(below(&files)),
        SYNC_OF_DIRECTORIES => {
            Refusal::new("fsync", errno).at([vec![prefix.clone()], below(&directories)].concat())
        }
        _ => Refusal::new(calls, errno),
    }
}

/// The command, under strace: the system refuses these calls to it, and to what it starts, and each refusal is a line of
/// the file `log`.
pub fn refused(plain: &Command, refusal: &Refusal, log: &Path) -> Command {
    let Refusal { calls, errno, at } = refusal;
    let inject = format!("inject={calls}:error={errno}");
    traced(plain, log, &[&format!("trace={calls}"), &inject], at)
}

/// The command, under strace: it, or a process that it starts, is killed at the call of this number that is one of `calls`.
pub fn killed_at(plain: &Command, calls: &str, number: u64) -> Command {
    let inject = format!("inject={calls}:signal=SIGKILL:when={number}");
    let trace = format!("trace={calls}");
    traced(plain, Path::new("/dev/null"), &[&trace, &inject], &[])
}

/// The command, under strace with these expressions, for calls at these paths. Without paths, for calls at any path.
fn traced(plain: &Command, log: &Path, expressions: &[&str], at: &[PathBuf]) -> Command {
    let mut command = Command::new(strace());
    // The command stays the child of this process, and strace watches from outside.
    command.args(["-D", "-f", "-qq", "-o"]).arg(log);
    for expression in expressions {
        command.args(["-e", expression]);
    }
    at.iter().for_each(|path| {
        command.arg("-P").arg(path);
    });
    command.arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(dir) = plain.get_current_dir() {
        command.current_dir(dir);
    }
    command
}

/// How many calls were refused.
pub fn count(log: &Path) -> usize {
    let text = std::fs::read_to_string(log).unwrap();
    text.matches("(INJECTED)").count()
}

/// The path of strace: the command may have another PATH.
fn strace() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|dir| dir.join("strace"));
    places
        .find(|place| place.exists())
        .unwrap_or("strace".into())
}

/// True, with a note, if nothing can be traced here.
pub fn no_strace() -> bool {
    let refusal = Refusal::new("chroot", "EPERM");
    let works = refused(&Command::new("true"), &refusal, Path::new("/dev/null"))
        .output()
        .is_ok_and(|output| output.status.success() && output.stderr.is_empty());
    if !works {
        println!("SKIPPED: there is no strace here that injects errors, or it may not trace");
    }
    !works
}
