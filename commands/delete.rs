//! `scr index --delete`: lists the files of a dataset, asks, and deletes the dataset.

use super::call::{Failure, Invocation};
use super::place;
use scr_engine::Error;
use scr_engine::format::Name;
use scr_engine::format::print::escaped;
use scr_engine::job::Environment;
use scr_engine::prefix::paths::Prefix;
use scr_engine::text::counted;
use scr_jobs::datasets::by_name::Deletion;
use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::PathBuf;

/// Number of files that are listed, at most.
const MANY: usize = 20;

/// Deletes the dataset of that name. Without `yes` it asks first, if standard input is a terminal. A
/// script is not asked.
pub(super) fn delete(
    call: &mut Invocation,
    prefix: &Prefix,
    name: &Name,
    yes: bool,
) -> Result<(), Failure> {
    let (files, host) = (place::files(prefix), Environment::of_process().host);
    let deletion = Deletion::of(&*files, prefix, &host, name)?;
    let id = deletion.id;
    let what = format!("dataset {id} (`{}')", escaped(name));
    list(call, &what, &deletion.files().map_err(alone)?)?;
    if !yes && io::stdin().is_terminal() && !agreed(call, &what)? {
        return Err(Failure::said("nothing was deleted"));
    }
    let deleted = deletion.carry_out().map_err(alone)?;
    for kept in deleted.dirs {
        writeln!(call.out, "{} is not empty and stays", kept.display())?;
    }
    if deleted.shared > 0 {
        writeln!(
            call.out,
            "Files that stay, because other datasets have them, too: {}",
            deleted.shared
        )?;
    }
    writeln!(call.out, "Deleted {what}")?;
    Ok(())
}

/// Prints the files that will be deleted.
fn list(call: &mut Invocation, what: &str, files: &BTreeSet<PathBuf>) -> Result<(), Failure> {
    let number = match files.len() {
        0 => "no file of its own".to_string(),
        n => format!("{}:", counted(n, "file")),
    };
    writeln!(call.out, "To be deleted: {what} with {number}")?;
    for file in files.iter().take(MANY) {
        writeln!(call.out, "  {}", escaped(&file.as_os_str().into()))?;
    }
    if files.len() > MANY {
        writeln!(call.out, "  and {} more", files.len() - MANY)?;
    }
    Ok(())
}

/// Asks at the terminal. Every answer except yes means no.
fn agreed(call: &mut Invocation, what: &str) -> Result<bool, Failure> {
    /// The longest answer that is read, bytes.
    const LONGEST: u64 = 100;
    call.out.flush()?;
    // The question is not for standard output, which may be a file.
    let mut terminal = io::stderr();
    let asked = write!(terminal, "Delete {what} with its files? [y/N] ");
    asked.and_then(|()| terminal.flush())?;
    let mut answer = String::new();
    let read = io::stdin().lock().take(LONGEST).read_line(&mut answer);
    read.map_err(|error| Failure::said(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// An error without the number of the only rank.
fn alone(error: Error) -> Failure {
    match error {
        Error::Remote { error, .. } => Failure::said(error),
        other => other.into(),
    }
}
