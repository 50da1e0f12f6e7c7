//! `scr index --delete`: lists the files, and asks at a terminal.

use crate::sandbox::{Said, Sandbox, program, said};
use std::fs::File;
use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Stdio;

/// A pseudo-terminal: the side of the user, and the side of programs.
fn terminal() -> (File, OwnedFd) {
    let (mut user, mut programs) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: both numbers are written before the call returns; the other arguments may be null.
    let opened = unsafe { libc::openpty(&mut user, &mut programs, none, none.cast(), none.cast()) };
    assert_eq!(opened, 0);
    // SAFETY: the call has just opened both, and nobody else has them.
    unsafe { (File::from_raw_fd(user), OwnedFd::from_raw_fd(programs)) }
}

/// Runs `scr index` with these arguments at a terminal at which a user types.
fn at_terminal(sandbox: &Sandbox, types: &str, args: &[&str]) -> Said {
    let (mut user, programs) = terminal();
    user.write_all(types.as_bytes()).unwrap();
    let mut command = program("scr", &[&["index"], args].concat());
    command
        .current_dir(sandbox.path())
        .stdin(programs)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    said(command.spawn().unwrap().wait_with_output().unwrap())
}

const LIST: &str = "To be deleted: dataset 1 (`timestep.1') with 8 files:
  timestep.1/fields/temp/T_0.dat
  timestep.1/fields/temp/T_1.dat
  timestep.1/fields/temp/T_2.dat
  timestep.1/fields/temp/T_3.dat
  timestep.1/rank_0/state_0.dat
  timestep.1/rank_1/state_1.dat
  timestep.1/rank_2/state_2.dat
  timestep.1/rank_3/state_3.dat
";

const QUESTION: &str = "Delete dataset 1 (`timestep.1') with its files? [y/N] ";

fn is_there(sandbox: &Sandbox) -> bool {
    let file = sandbox.path().join("timestep.1/rank_0/state_0.dat");
    let listed = sandbox.run(&["index"]).out().contains("timestep.1");
    assert_eq!(file.exists(), listed);
    listed
}

#[test]
fn delete_without_a_terminal_lists_and_deletes() {
    let sandbox = Sandbox::of("basic");
    let out = sandbox.run(&["index", "--delete=timestep.1"]).out();
    assert_eq!(out, format!("{LIST}Deleted dataset 1 (`timestep.1')\n"));
    assert!(!is_there(&sandbox));
}

#[test]
fn delete_asks_at_a_terminal() {
    for no in ["n\n", "\n", "no\n", "yellow\n", "\x04"] {
        let sandbox = Sandbox::of("basic");
        let said = at_terminal(&sandbox, no, &["--delete=timestep.1"]);
        assert_eq!((said.code, said.out.as_str()), (1, LIST), "{no:?}");
        assert!(said.err.starts_with(QUESTION), "{said:?}");
        assert!(said.err.ends_with("nothing was deleted\n"), "{said:?}");
        assert!(is_there(&sandbox), "{no:?}");
    }
    for yes in ["y\n", "yes\n", " Y \n"] {
        let sandbox = Sandbox::of("basic");
        let said = at_terminal(&sandbox, yes, &["--delete=timestep.1"]);
        assert_eq!((said.code, said.err.as_str()), (0, QUESTION), "{yes:?}");
        assert!(said.out.starts_with(LIST), "{said:?}");
        assert!(!is_there(&sandbox), "{yes:?}");
    }
}

#[test]
fn delete_with_yes_does_not_ask() {
    for yes in ["--yes", "-y"] {
        let sandbox = Sandbox::of("basic");
        at_terminal(&sandbox, "n\n", &["--delete=timestep.1", yes]).out();
        assert!(!is_there(&sandbox));
    }
}

#[test]
fn a_long_list_is_cut() {
    let sandbox = Sandbox::of("basic");
    let map = sandbox.path().join(".scr/scr.dataset.1/rank2file.0.0");
    let mut tree = scr::format::read_tree(&scr::store::posix::Posix, &map).unwrap();
    let mut files = scr::format::Tree::new();
    for n in 10..40 {
        files.set(format!("many/{n}\x1b[31m"), scr::format::Tree::new());
    }
    let mut rank = scr::format::Tree::new();
    rank.set("FILE", files);
    let mut ranks = tree.remove("RANK").unwrap();
    ranks.set("0", rank);
    tree.set("RANK", ranks);
    std::fs::write(&map, scr::format::encode(&tree)).unwrap();
    let out = sandbox.run(&["index", "--delete=timestep.1"]).out();
    // 30 of rank 0, and two of each other rank.
    assert!(
        out.contains("with 36 files:\n  many/10\\x1b[31m\n"),
        "{out}"
    );
    assert!(
        out.contains("\n  many/29\\x1b[31m\n  and 16 more\n"),
        "{out}"
    );
}
