//! Programs that tests write themselves, on a PATH of their own.

#![allow(clippy::unwrap_used)] // A test may stop at what it did not expect.

use crate::job::Environment;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A directory of small shell scripts.
pub struct Programs(TempDir);

impl Programs {
    /// An empty one.
    #[allow(clippy::new_without_default)] // It makes a directory.
    pub fn new() -> Self {
        Programs(tempfile::tempdir().unwrap())
    }

    /// Replaces a program as a whole: one that still runs keeps the old text. A shell writes
    /// it, because a child that another thread starts meanwhile would hold our open file, and
    /// no program can be run that is open for writing.
    pub fn add(&self, name: &str, script: &str) {
        let (new, path) = (self.dir().join(".new"), self.dir().join(name));
        let write =
            "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2\" && chmod 755 \"$2\" && mv \"$2\" \"$3\"";
        let written = Command::new("/bin/sh")
            .args(["-c", write, "sh", script])
            .args([new, path])
            .status();
        assert!(written.unwrap().success());
    }

    /// The path of the directory of the programs.
    pub fn dir(&self) -> &Path {
        self.0.path()
    }

    /// An environment in which only these programs are found.
    pub fn environment(&self) -> Environment {
        Environment::empty()
            .with("PATH", self.dir().to_str().unwrap())
            .with_host("here")
    }
}
