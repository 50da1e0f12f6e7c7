//! `scr halt-cntl`: changes a halt file, for scripts.

use super::call::{Failure, Invocation};
use super::halt::{Change, settings};
use super::{Outcome, RunCommand, place};
use scr_engine::format::Name;
use scr_engine::prefix::{paths::Prefix, records};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Set, unset and list the conditions in a halt file
///
/// For scripts; scr halt does the same for people. Times are in seconds since 1970. Prints one line
/// for each change, then all conditions.
///
/// Exit status: 0 done, 1 the file cannot be read or changed.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").multiple(true).required(true))]
pub(super) struct Options {
    /// The file: PREFIX/.scr/halt.scr
    #[arg(short, long)]
    file: PathBuf,
    /// Print the conditions
    #[arg(short, long, group = "what")]
    list: bool,
    /// Stop after this many more checkpoints
    #[arg(short, long, value_name = "N", group = "what",
        value_parser = clap::value_parser!(i64).range(0..))]
    checkpoints: Option<i64>,
    /// Stop so that the run has ended by this time
    #[arg(short, long, value_name = "TIME", group = "what",
        value_parser = clap::value_parser!(i64).range(0..))]
    before: Option<i64>,
    /// Stop after the first checkpoint after this time
    #[arg(short, long, value_name = "TIME", group = "what",
        value_parser = clap::value_parser!(i64).range(0..))]
    after: Option<i64>,
    /// Stop this many seconds before the end of the allocation, or before the time of --before
    #[arg(short, long, value_name = "N", group = "what",
        value_parser = clap::value_parser!(i64).range(0..))]
    seconds: Option<i64>,
    /// Stop as soon as possible, for this reason
    #[arg(short, long, value_name = "WORD", group = "what")]
    reason: Option<String>,
    /// Unset a condition, by the letter of its option
    #[arg(short = 'x', long, value_name = "LETTER", group = "what")]
    unset: Vec<Unset>,
}

/// A condition to unset.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Unset {
    /// --checkpoints
    C,
    /// --before
    B,
    /// --after
    A,
    /// --seconds
    S,
    /// --reason
    R,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let root = root_of(&self.file)?;
        let changes = self.changes();
        let prefix = if changes.iter().any(Change::sets) {
            place::begun(call, &root)?
        } else {
            place::used(Some(&root))?
        };
        let halt = if changes.is_empty() {
            records::read_halt(&*place::files(&prefix), &prefix)?
        } else {
            let mut after = None;
            records::update_halt(&*place::files(&prefix), &prefix, |halt| {
                changes.iter().for_each(|change| change.apply(halt));
                after = Some(halt.clone());
            })?;
            for change in &changes {
                writeln!(call.out, "{}", change.brief())?;
            }
            writeln!(call.out)?;
            after.unwrap_or_default()
        };
        writeln!(call.out, "{}", settings(&self.file, &halt))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Options {
    /// All changes, in the order of SCR v3.1.0. A condition that is both set and unset is set, as
    /// there.
    fn changes(&self) -> Vec<Change> {
        let change = |letter, value: Option<i64>, make: fn(Option<i64>) -> Change| {
            let wanted = value.is_some() || self.unset.contains(&letter);
            wanted.then(|| make(value))
        };
        let reason = self.reason.as_deref().map(Name::from);
        let reason = (reason.is_some() || self.unset.contains(&Unset::R)).then_some(reason);
        let all = [
            change(Unset::C, self.checkpoints, Change::Checkpoints),
            change(Unset::A, self.after, Change::After),
            change(Unset::B, self.before, Change::Before),
            change(Unset::S, self.seconds, Change::Seconds),
            reason.map(Change::Reason),
        ];
        all.into_iter().flatten().collect()
    }
}

/// The prefix directory of a halt file. Other files are refused, because SCR neither locks nor reads
/// them.
fn root_of(file: &Path) -> Result<PathBuf, Failure> {
    let path = place::absolute(file)?;
    let root = path.parent().and_then(Path::parent);
    match root.filter(|root| path == Prefix::new(root).file("halt.scr")) {
        Some(root) => Ok(root.to_path_buf()),
        None => Err(Failure::said(format!(
            "{} is not a halt file of SCR; name it as PREFIX/.scr/halt.scr",
            file.display()
        ))),
    }
}
