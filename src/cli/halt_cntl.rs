//! `scr halt-cntl`: the halt file, by numbers.

use super::call::{Call, Failure};
use super::halt::settings;
use super::{Command, Group, Outcome, Run, place};
use crate::format::{Name, halt::Halt};
use crate::prefix::{paths::Prefix, records};
use crate::store::posix::Posix;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("halt-cntl", &["scr_halt_cntl"], Group::Scripts);

/// Set, unset and list the conditions in a halt file
///
/// For scripts; scr halt does the same for people. Times are in seconds since 1970.
///
/// Exit status: 0 done, 1 the file cannot be read or changed.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").multiple(true).required(true))]
struct Options {
    /// The file: PREFIX/.scr/halt.scr
    #[arg(short, long)]
    file: PathBuf,
    /// Print the conditions
    #[arg(short, long, group = "what")]
    list: bool,
    /// Stop after so many more checkpoints
    #[arg(short, long, value_name = "N", group = "what",
        value_parser = clap::value_parser!(i64).range(0..))]
    checkpoints: Option<i64>,
    /// Stop so that the job is over at this time
    #[arg(short, long, value_name = "TIME", group = "what",
        value_parser = clap::value_parser!(i64).range(0..))]
    before: Option<i64>,
    /// Stop after the first checkpoint after this time
    #[arg(short, long, value_name = "TIME", group = "what",
        value_parser = clap::value_parser!(i64).range(0..))]
    after: Option<i64>,
    /// Stop so many seconds before the end of the allocation, or before the time of --before
    #[arg(short, long, value_name = "N", group = "what",
        value_parser = clap::value_parser!(i64).range(0..))]
    seconds: Option<i64>,
    /// Stop as soon as possible, for this reason
    #[arg(short, long, value_name = "WORD", group = "what")]
    reason: Option<String>,
    /// Forget a condition, by the letter of its option
    #[arg(short = 'x', long, value_name = "LETTER", group = "what")]
    unset: Vec<Unset>,
}

/// A condition that is to be forgotten.
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

impl Run for Options {
    fn run(&self, call: &mut Call) -> Outcome {
        let prefix = prefix_of(&self.file)?;
        let halt = if self.changes() {
            let mut after = None;
            records::update_halt(&Posix, &prefix, |halt| {
                self.apply(halt);
                after = Some(halt.clone());
            })?;
            after.unwrap_or_default()
        } else {
            records::read_halt(&Posix, &prefix)?
        };
        if self.list {
            call.out.write_all(settings(&halt).as_bytes())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Options {
    fn changes(&self) -> bool {
        let numbers = [self.checkpoints, self.before, self.after, self.seconds];
        numbers.iter().any(Option::is_some) || self.reason.is_some() || !self.unset.is_empty()
    }

    fn apply(&self, halt: &mut Halt) {
        let gone = |letter| self.unset.contains(&letter);
        let set = |field: &mut Option<i64>, value: Option<i64>, letter| {
            *field = value.or(*field).filter(|_| !gone(letter));
        };
        set(&mut halt.checkpoints_left, self.checkpoints, Unset::C);
        set(&mut halt.exit_before, self.before, Unset::B);
        set(&mut halt.exit_after, self.after, Unset::A);
        set(&mut halt.halt_seconds, self.seconds, Unset::S);
        if let Some(reason) = &self.reason {
            halt.exit_reason = Some(Name::from(reason.as_str()));
        }
        if gone(Unset::R) {
            halt.exit_reason = None;
        }
    }
}

/// The prefix directory whose halt file this is: others are not locked and read like it.
fn prefix_of(file: &Path) -> Result<Prefix, Failure> {
    let path = place::absolute(file)?;
    let root = path.parent().and_then(Path::parent);
    match root.filter(|root| path == Prefix::new(root).file("halt.scr")) {
        Some(root) => place::used(Some(root)),
        None => Err(Failure::said(format!(
            "{} is no halt file of SCR; name it as PREFIX/.scr/halt.scr",
            file.display()
        ))),
    }
}
