//! `scr halt`: asks a run to stop.

use super::call::{Failure, Invocation};
use super::json::{self, Bytes, object};
use super::{Outcome, RunCommand, place};
use scr_engine::format::print::escaped;
use scr_engine::format::{Name, halt::Halt};
use scr_engine::job::clock;
use scr_engine::prefix::{index::lock_prefix, paths::Prefix, records};
use serde::Serialize;
use std::fmt;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The reason that this command sets.
const HALTED: &str = "JOB_HALTED";

/// Largest number that SCR v3.1.0 can read.
const MOST: i64 = i32::MAX as i64;

/// Ask a running job to stop
///
/// Sets conditions in the halt file of each prefix directory, and prints all conditions in it. The
/// job sees them when it next completes a checkpoint or calls SCR_Should_exit or
/// SCR_Need_checkpoint. Without an option it stops then, as with --immediate. A condition stays for
/// later runs until it is unset. It can be set before the first run, in a directory that is named: then the directory .scr is
/// made. It holds for the sessions of the program that have a name, too.
///
/// TIME is local, as YYYY-MM-DDTHH:MM:SS.
///
/// Exit status: 0 done, 1 a directory is not a prefix directory or its halt file cannot be
/// changed; the others are changed.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Stop after this many more checkpoints; 0: as --immediate
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..=MOST))]
    checkpoints: Option<i64>,
    /// Stop so that the run has ended by this time, see --seconds
    #[arg(short, long, value_name = "TIME", value_parser = clock::parse)]
    before: Option<i64>,
    /// Stop after the first checkpoint after this time
    #[arg(short, long, value_name = "TIME", value_parser = clock::parse)]
    after: Option<i64>,
    /// Stop this many seconds before the end of the allocation, or before the time of --before;
    /// 0: as --immediate
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..=MOST))]
    seconds: Option<i64>,
    /// Stop as soon as possible: set the reason JOB_HALTED. Kills no process
    #[arg(short, long)]
    immediate: bool,
    /// Only print the conditions, unless another option sets one
    #[arg(short, long)]
    list: bool,
    /// Print the conditions as JSON, for programs, and set none without another option; described in
    /// docs/formats/json.md
    #[arg(long)]
    json: bool,
    /// Unset --checkpoints
    #[arg(long, conflicts_with = "checkpoints")]
    unset_checkpoints: bool,
    /// Unset --before
    #[arg(long, conflicts_with = "before")]
    unset_before: bool,
    /// Unset --after
    #[arg(long, conflicts_with = "after")]
    unset_after: bool,
    /// Unset --seconds
    #[arg(long, conflicts_with = "seconds")]
    unset_seconds: bool,
    /// Unset the reason to stop, of --immediate or of an earlier run
    #[arg(long, conflicts_with = "immediate")]
    unset_reason: bool,
    /// Remove the halt file and with it all conditions
    #[arg(short, long, conflicts_with_all = ["checkpoints", "before", "after", "seconds",
        "immediate", "unset_checkpoints", "unset_before", "unset_after", "unset_seconds",
        "unset_reason"])]
    remove: bool,
    /// Name each halt file before it is changed
    #[arg(short, long)]
    verbose: bool,
    /// Prefix directories, instead of SCR_PREFIX or the current directory
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,
}

/// A condition set to a value or, with `None`, unset.
pub(super) enum Change {
    Checkpoints(Option<i64>),
    Before(Option<i64>),
    After(Option<i64>),
    Seconds(Option<i64>),
    Reason(Option<Name>),
}

impl Change {
    /// Makes the change.
    pub fn apply(&self, halt: &mut Halt) {
        match self {
            Change::Checkpoints(value) => halt.checkpoints_left = *value,
            Change::Before(value) => halt.exit_before = *value,
            Change::After(value) => halt.exit_after = *value,
            Change::Seconds(value) => halt.halt_seconds = *value,
            Change::Reason(value) => halt.exit_reason.clone_from(value),
        }
    }

    /// True unless the change unsets a condition.
    pub fn sets(&self) -> bool {
        self.parts().1.is_some()
    }

    /// The change in the words of SCR v3.1.0, without the value.
    pub fn brief(&self) -> String {
        let (name, value) = self.parts();
        let what = if value.is_some() {
            "Setting"
        } else {
            "Unsetting"
        };
        format!("{what} {name}")
    }

    /// The key of the condition in the halt file, and the value.
    fn parts(&self) -> (&'static str, Option<String>) {
        let number = |n: &Option<i64>| n.map(|n| n.to_string());
        let time = |t: &Option<i64>| t.map(clock::asctime);
        match self {
            Change::Checkpoints(value) => ("CheckpointsLeft", number(value)),
            Change::Before(value) => ("ExitBefore", time(value)),
            Change::After(value) => ("ExitAfter", time(value)),
            Change::Seconds(value) => ("HaltSeconds", number(value)),
            Change::Reason(value) => ("ExitReason", value.as_ref().map(escaped)),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.brief())?;
        match self.parts().1 {
            Some(value) => write!(f, " to {value}"),
            None => Ok(()),
        }
    }
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let dirs = match &self.dirs[..] {
            [] => vec![Self::default_dir()?],
            named => named.to_vec(),
        };
        let (mut code, changes) = (ExitCode::SUCCESS, self.changes());
        let mut halts = Vec::new();
        let with_sessions = dirs.iter().flat_map(|dir| {
            let sessions = place::absolute(dir).map(|dir| place::sessions(&Prefix::new(&dir)));
            std::iter::once(dir.clone()).chain(sessions.unwrap_or_default())
        });
        for dir in &with_sessions.collect::<Vec<_>>() {
            let prefix = if changes.iter().any(Change::sets) {
                place::begun(call, dir)
            } else {
                place::used(Some(dir))
            };
            let changed = prefix.and_then(|prefix| {
                let halt = self.one(call, &prefix, &changes)?;
                Ok((prefix, halt))
            });
            match changed {
                Err(Failure::Said(text)) => {
                    call.error(&text);
                    code = ExitCode::FAILURE;
                }
                other => halts.push(other?),
            }
        }
        if self.json {
            let halts = halts.iter().map(|(prefix, halt)| conditions(prefix, halt));
            let halts = object! { halts: halts.collect::<Vec<_>>() };
            json::print(call, "halt", halts)?;
        }
        Ok(code)
    }
}

impl Options {
    /// The prefix directory if the user names none. A condition in a directory that no job has used would stop nothing,
    /// and the user would not notice.
    fn default_dir() -> Result<PathBuf, Failure> {
        match place::used(None) {
            Ok(prefix) => Ok(prefix.root().to_path_buf()),
            Err(Failure::Said(why)) => Err(Failure::said(format!(
                "{why}; name the prefix directory of the job, as in `scr halt DIR', or set SCR_PREFIX"
            ))),
            Err(other) => Err(other),
        }
    }

    fn one(
        &self,
        call: &mut Invocation,
        prefix: &Prefix,
        changes: &[Change],
    ) -> Result<Halt, Failure> {
        let (files, path) = (&*place::files(prefix), prefix.file("halt.scr"));
        let printed = !self.json;
        if self.verbose && printed {
            writeln!(call.out, "Halt file: {}", path.display())?;
        }
        if self.remove {
            let _lock = lock_prefix(files, prefix)?;
            if files.stat(&path)?.is_some() {
                files.remove_file(&path)?;
                if printed {
                    writeln!(call.out, "Removing {}", path.display())?;
                }
            }
        } else if !changes.is_empty() {
            records::update_halt(files, prefix, |halt| {
                changes.iter().for_each(|change| change.apply(halt));
            })?;
        }
        for change in changes.iter().filter(|_| printed) {
            writeln!(call.out, "{change}")?;
        }
        let halt = records::read_halt(files, prefix)?;
        if printed {
            writeln!(call.out, "\n{}", settings(&path, &halt))?;
        }
        self.warn_of_past(call, &halt);
        Ok(halt)
    }

    /// Warns of times that this call has set and that have passed.
    fn warn_of_past(&self, call: &mut Invocation, halt: &Halt) {
        let stop = |end: i64| end.saturating_sub(halt.halt_seconds.unwrap_or(0));
        let before = self.before.or(self.seconds).and(halt.exit_before.map(stop));
        for (option, time) in [("before", before), ("after", self.after)] {
            if let Some(time) = time.filter(|time| *time <= clock::now()) {
                let time = clock::asctime(time);
                call.warn(&format!(
                    "{time} has passed, so a run stops when it next calls SCR_Should_exit or \
                     SCR_Need_checkpoint; --unset-{option} removes this condition"
                ));
            }
        }
    }

    fn changes(&self) -> Vec<Change> {
        let unset = [
            (self.unset_checkpoints, Change::Checkpoints(None)),
            (self.unset_before, Change::Before(None)),
            (self.unset_after, Change::After(None)),
            (self.unset_seconds, Change::Seconds(None)),
            (self.unset_reason, Change::Reason(None)),
        ];
        let mut changes: Vec<Change> = unset
            .into_iter()
            .filter_map(|(wanted, change)| wanted.then_some(change))
            .collect();
        let later = |n: &i64| *n > 0;
        let set = [
            self.checkpoints
                .filter(later)
                .map(|n| Change::Checkpoints(Some(n))),
            self.before.map(|t| Change::Before(Some(t))),
            self.after.map(|t| Change::After(Some(t))),
            self.seconds.filter(later).map(|n| Change::Seconds(Some(n))),
        ];
        changes.extend(set.into_iter().flatten());
        let now = self.immediate || self.checkpoints == Some(0) || self.seconds == Some(0);
        if now || (changes.is_empty() && !self.list && !self.json && !self.remove) {
            changes.push(Change::Reason(Some(HALTED.into())));
        }
        changes
    }
}

/// For programs.
fn conditions(prefix: &Prefix, halt: &Halt) -> impl Serialize {
    object! {
        #[serde(flatten)]
        prefix: Bytes("prefix", Some(prefix.root().as_os_str().as_bytes())),
        #[serde(flatten)]
        exit_reason: Bytes("exit_reason", halt.exit_reason.as_ref().map(Name::as_bytes)),
        checkpoints_left: halt.checkpoints_left,
        exit_after: halt.exit_after,
        exit_before: halt.exit_before,
        halt_seconds: halt.halt_seconds,
    }
}

/// The conditions in the halt file `path` as a table with a heading.
pub(super) fn settings(path: &Path, halt: &Halt) -> String {
    let number = |n: Option<i64>| n.map(|n| n.to_string());
    let before = halt.exit_before.zip(halt.halt_seconds);
    let rows = [
        ("ExitReason:", halt.exit_reason.as_ref().map(escaped)),
        ("CheckpointsLeft:", number(halt.checkpoints_left)),
        ("ExitAfter:", halt.exit_after.map(clock::asctime)),
        ("ExitBefore:", halt.exit_before.map(clock::asctime)),
        ("HaltSeconds:", number(halt.halt_seconds)),
        (
            "ExitBefore - HaltSeconds:",
            before.map(|(end, seconds)| clock::asctime(end.saturating_sub(seconds))),
        ),
    ];
    let lines = rows
        .into_iter()
        .filter_map(|(name, value)| Some(format!("\n  {name:<16} {}", value?)));
    let lines: String = lines.collect();
    let lines = if lines.is_empty() { "\n  None" } else { &lines };
    format!("Halt file settings for {}:{lines}", path.display())
}
