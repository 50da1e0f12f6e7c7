//! The system calls of a command, and what it needs on the machine.

use crate::sandbox::{Sandbox, outside};
use std::fs;
use std::process::Command;

/// The system calls of a command, one per line; `None` if they cannot be traced. Those that look for links in the
/// path of the working directory are left out: their number is that of its components.
fn trace(sandbox: &Sandbox, program: &str, args: &[&str]) -> Option<Vec<String>> {
    let file = sandbox.path().join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-s", "0", "-o"]).arg(&file);
    command.arg(program).args(args).current_dir(sandbox.path());
    // With the environment of the other tests.
    command.env_clear();
    let plain = outside("scr", &[]);
    let set = plain.get_envs().filter_map(|(name, v)| Some((name, v?)));
    command.envs(set).env("PATH", "/usr/bin:/bin");
    match command.output() {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
            let calls = text.lines().filter(|call| !call.contains(" readlink("));
            Some(calls.map(str::to_string).collect())
        }
        other => {
            eprintln!("SKIPPED: there is no strace here, or it may not trace: {other:?}");
            None
        }
    }
}

/// System calls beyond those of a program that does nothing, which are the loader's. A third of them is for the prefix directory:
/// the configuration files may name it, and without USER in the environment the password database has the user.
const MOST: usize = 110;

#[test]
fn a_few_dozen_system_calls_and_no_other_program() {
    let sandbox = Sandbox::of("basic");
    let Some(nothing) = trace(&sandbox, "true", &[]) else {
        return;
    };
    let scr = env!("CARGO_BIN_EXE_scr");
    for args in [
        &["--version"][..],
        &["glob-hosts", "--count", "atlas[3,5-7,9-11]"],
        &["index", "--list"],
        &["halt", "--list"],
        &["index", "--help"],
    ] {
        let calls = trace(&sandbox, scr, args).unwrap();
        let more = calls.len().saturating_sub(nothing.len());
        assert!(more <= MOST, "{args:?}: {more} more\n{}", calls.join("\n"));
        let started = calls.iter().filter(|call| call.contains("execve(")).count();
        assert_eq!(started, 1, "{args:?}");
    }
}

#[test]
fn no_command_links_mpi_or_an_interpreter() {
    let Ok(output) = Command::new("ldd").arg(env!("CARGO_BIN_EXE_scr")).output() else {
        eprintln!("SKIPPED: there is no ldd here");
        return;
    };
    let libraries = String::from_utf8_lossy(&output.stdout).to_lowercase();
    assert!(!libraries.is_empty());
    // Only the names: the addresses after them may contain any digits.
    for line in libraries.lines() {
        let name = line.trim().rsplit('/').next().unwrap_or_default();
        for other in ["mpi", "pmi", "python", "perl"] {
            assert!(!name.contains(other), "{line}");
        }
    }
}
