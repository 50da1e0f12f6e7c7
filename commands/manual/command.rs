//! `scr manual`: the manual pages, for `man` and for the installation.

use super::{calls, pages};
use crate::call::{Failure, Invocation};
use crate::{COMMANDS, Command, Outcome, RunCommand};
use scr_engine::{Error, Result};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print a manual page
///
/// The page is for man: scr manual index | man -l - shows that of scr index. With --dir writes the pages of all
/// names. An installation has these already.
///
/// Exit status: 0 done, 1 no such command, or a file cannot be written.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The command; without one, scr itself
    command: Option<String>,
    /// Write all pages below this directory, as man looks for them
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
    /// Write the pages of the library's calls, too: docs/c-api.md and fortran/scrf.F90
    #[arg(long, num_args = 2, value_name = "FILE", requires = "dir", hide = true)]
    calls: Vec<PathBuf>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        if let Some(dir) = &self.dir {
            let pages = pages::all().map_err(not_made)?;
            write_all(&dir.join("man1"), &pages)?;
            if let [api, module] = &self.calls[..] {
                let pages = calls::all(&read(api)?, &read(module)?);
                write_all(&dir.join("man3"), &pages)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        let page = match &self.command {
            None => pages::overview(),
            Some(name) => pages::of(find(name)?),
        };
        call.out.write_all(page.map_err(not_made)?.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The command with this name, or classic name.
fn find(name: &str) -> std::result::Result<&'static Command, Failure> {
    let mut commands = COMMANDS.iter();
    let found = commands.find(|command| command.name == name || command.classic.contains(&name));
    found.ok_or_else(|| Failure::said(format!("{name}: no such command; `scr --help` lists all")))
}

fn not_made(error: io::Error) -> Error {
    Error::io("make", "the manual page", error)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Error::io("read", path, error))
}

fn write_all(dir: &Path, pages: &[(String, String)]) -> Result<()> {
    fs::create_dir_all(dir).map_err(|error| Error::io("make directory", dir, error))?;
    for (name, text) in pages {
        let path = dir.join(name);
        fs::write(&path, text).map_err(|error| Error::io("write", &path, error))?;
    }
    Ok(())
}
