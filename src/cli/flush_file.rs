//! `scr flush-file`: where the datasets of the last run are.

use super::call::{Call, Failure};
use super::{Command, Group, Outcome, Run, place};
use crate::format::flush_file::{CACHE, Entry, FLUSHING, FlushFile, PFS, SYNC_FLUSHING};
use crate::format::{Name, print::escaped};
use crate::prefix::records;
use crate::store::{Files, posix::Posix};
use std::io::Write;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("flush-file", &["scr_flush_file"], Group::Scripts);

/// Ask where the cached datasets of the last run are
///
/// Exit status: 0 there is an answer, or it is yes; 1 there is none, or it is no.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("question").multiple(false).required(true))]
struct Options {
    #[command(flatten)]
    dir: place::Dir,
    /// Print the ids of output datasets, lowest first
    #[arg(short = 'o', long, group = "question")]
    list_output: bool,
    /// Print the ids of checkpoints, highest first
    #[arg(short = 'c', long, group = "question")]
    list_ckpt: bool,
    /// With a list: only ids below this one; 0 for no limit
    #[arg(short, long, value_name = "ID", default_value_t = 0)]
    before: u64,
    /// Does the prefix directory still lack this dataset?
    #[arg(
        short,
        long,
        value_name = "ID",
        alias = "needflush",
        group = "question"
    )]
    need_flush: Option<u64>,
    /// Print the highest id of a dataset
    #[arg(short, long, group = "question")]
    latest: bool,
    /// Print where this dataset is: SYNC_FLUSHING or FLUSHING while it is being copied, PFS if
    /// it is in the prefix directory, else CACHE
    #[arg(long, value_name = "ID", group = "question")]
    location: Option<u64>,
    /// Print the name of this dataset
    // The SCR developer guide calls it so, from when a dataset had a directory of its name.
    #[arg(long, value_name = "ID", alias = "subdir", group = "question")]
    name: Option<u64>,
}

impl Run for Options {
    fn run(&self, call: &mut Call) -> Outcome {
        let prefix = self.dir.used()?;
        let path = prefix.file("flush.scr");
        // Here a missing file is an error, as in SCR v3.1.0: most likely the wrong directory.
        let record = match Posix.stat(&path)? {
            Some(_) => records::read_flush_file(&Posix, &prefix)?,
            None => return Err(Failure::said(format!("there is no {}", path.display()))),
        };
        let entry = |id: Option<u64>| id.and_then(|id| record.datasets.get(&id));
        if self.need_flush.is_some() {
            let needed = entry(self.need_flush).is_some_and(Entry::needs_flush);
            return Ok(code(needed));
        }
        let answer = if self.list_output {
            self.list(&record, |entry| entry.output)
        } else if self.list_ckpt {
            let mut ids = self.list(&record, |entry| entry.ckpt);
            ids.reverse();
            ids
        } else if self.latest {
            let latest = record.datasets.keys().next_back();
            latest.map(u64::to_string).into_iter().collect()
        } else if self.location.is_some() {
            let place = entry(self.location).and_then(location);
            place.into_iter().map(str::to_string).collect()
        } else {
            let name = entry(self.name).and_then(name);
            name.into_iter().map(escaped).collect()
        };
        if !answer.is_empty() {
            writeln!(call.out, "{}", answer.join(" "))?;
        }
        Ok(code(!answer.is_empty()))
    }
}

impl Options {
    fn list(&self, record: &FlushFile, wanted: impl Fn(&Entry) -> bool) -> Vec<String> {
        record
            .datasets
            .iter()
            .filter(|(id, entry)| wanted(entry) && (self.before == 0 || **id < self.before))
            .map(|(id, _)| id.to_string())
            .collect()
    }
}

/// What says most about a dataset that is in several places.
fn location(entry: &Entry) -> Option<&'static str> {
    let places = [SYNC_FLUSHING, FLUSHING, PFS, CACHE];
    places.into_iter().find(|place| entry.is_at(place))
}

fn name(entry: &Entry) -> Option<&Name> {
    let described = entry.dataset.as_ref().map(|dataset| &dataset.name);
    entry.name.as_ref().or(described)
}

fn code(yes: bool) -> ExitCode {
    if yes {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
