//! Runs the program in a copy of a fixture.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub const FIXTURES: [&str; 3] = ["basic", "failed", "output"];

/// The result of a call.
#[derive(Debug, PartialEq)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    /// The output of a call that must have succeeded without a message.
    pub fn out(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The message of a call that must have failed and printed nothing else.
    pub fn failed(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{}", self.err);
        assert!(!self.err.is_empty());
        self.err
    }
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// The program under another name, in an environment that sets no parameter. UTC.
pub fn program(name: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scr"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SCR_") {
            command.env_remove(name);
        }
    }
    command
        .arg0(format!("/some/where/{name}"))
        .args(args)
        .env("TZ", "UTC");
    // Without the system's own configuration.
    command.env("SCR_SYSTEM_CONF", "/nonexistent/scr.conf");
    command
}

pub fn said(output: Output) -> Said {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said {
        code: output.status.code().expect("not killed by a signal"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

pub struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    /// An empty directory.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Sandbox { dir }
    }

    /// A copy of a fixture.
    pub fn of(name: &str) -> Self {
        let sandbox = Sandbox::empty();
        copy(&fixture(name), sandbox.path());
        sandbox
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Runs the program in the directory under a classic name.
    pub fn run_as(&self, name: &str, args: &[&str]) -> Said {
        let mut command = program(name, args);
        said(command.current_dir(self.path()).output().unwrap())
    }

    /// Runs `scr` in the directory.
    pub fn run(&self, args: &[&str]) -> Said {
        self.run_as("scr", args)
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A directory of programs, which is the only one on PATH.
pub struct Programs {
    dir: TempDir,
}

impl Programs {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Programs { dir }
    }

    /// Adds a shell script. A shell writes it, because a child process of another test could inherit
    /// a file that we have open for writing, and a file open for writing cannot be executed.
    pub fn add(self, name: &str, script: &str) -> Self {
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2\" && chmod 755 \"$2\"";
        let written = Command::new("/bin/sh")
            .args(["-c", write, "sh", script])
            .arg(self.dir.path().join(name))
            .status();
        assert!(written.unwrap().success());
        self
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Runs `scr` in `sandbox` with only these programs, outside of a job except for `set`.
    pub fn run(&self, sandbox: &Sandbox, set: &[(&str, &str)], args: &[&str]) -> Said {
        said(self.command(sandbox, set, args).output().unwrap())
    }

    /// The command that [`Programs::run`] runs.
    pub fn command(&self, sandbox: &Sandbox, set: &[(&str, &str)], args: &[&str]) -> Command {
        let mut command = outside("scr", args);
        command.current_dir(sandbox.path());
        command.env("PATH", self.path()).envs(set.iter().copied());
        command
    }
}

/// The program, outside of a job of a resource manager.
pub fn outside(name: &str, args: &[&str]) -> Command {
    let mut command = program(name, args);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let of_manager = ["SLURM_", "FLUX_", "LSB_", "PBS_", "PMIX_"];
        if of_manager.iter().any(|start| name.starts_with(start)) {
            command.env_remove(&*name);
        }
    }
    command
}

/// The arguments of `scr log-event` with this word in each field.
pub fn log_event_of(word: &str) -> [&str; 13] {
    [
        "log-event",
        "-T",
        word,
        "-N",
        word,
        "-n",
        word,
        "-u",
        word,
        "-j",
        word,
        "-i",
        word,
    ]
}
