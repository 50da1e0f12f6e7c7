//! `scr index`: lists and changes the datasets of a prefix directory.

use super::call::{Failure, Invocation};
use super::complete::complete;
use super::delete::delete;
use super::index_add::add;
use super::json::{self, IndexJson, IndexedJson};
use super::terminal::{HEADING, Line, WRONG};
use super::{Command, CommandGroup, Outcome, RunCommand, place};
use crate::format::Name;
use crate::format::flush_file::{CACHE, FlushEntry};
use crate::format::index::{Index, IndexEntry, table};
use crate::format::print::escaped;
use crate::prefix::index::{self, no_such_dataset};
use crate::prefix::{paths::Prefix, records};
use crate::{Error, Result};
use clap::builder::styling::Style;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("index", &["scr_index"], CommandGroup::Datasets);

/// Column of the names in the table.
const NAMES: usize = 35;

/// List the saved datasets, and choose where the next run starts
///
/// Without an option lists the checkpoints in the prefix directory, newest first: id; YES if all
/// files are there and no restart has failed; time of completion; a star at the one that the next
/// run tries first; name. With --list, the list also follows a change. Only --delete deletes files
/// of datasets.
///
/// Exit status: 0 done, 1 there is no index, no dataset of that name, or it failed. If there is no
/// index, the message says what the caches of the last run hold.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("action").multiple(false))]
struct Options {
    /// List the checkpoints (default), after the change of another option
    #[arg(short, long)]
    list: bool,
    /// Enter a dataset that is in the prefix directory, given by its name, or by a directory that has all
    /// of its files. If its summary is missing, completes it first, and rebuilds missing parts if its
    /// redundancy allows it. If it was entered before, clears the mark of a failed restart
    #[arg(short, long, value_name = "NAME|DIR", group = "action")]
    add: Option<OsString>,
    /// Remove a dataset from the index; its files stay
    #[arg(
        short,
        long,
        visible_alias = "remove",
        value_name = "NAME",
        group = "action"
    )]
    drop: Option<OsString>,
    /// Remove all datasets from the index that are newer than this one; their files stay
    #[arg(long, value_name = "NAME", group = "action")]
    drop_after: Option<OsString>,
    /// Start the next run from this checkpoint
    #[arg(short, long, value_name = "NAME", group = "action")]
    current: Option<OsString>,
    /// Delete a dataset: its entry in the index, its files, except those that another dataset has,
    /// too, and directories that become empty. Lists them first, and asks if standard input is a
    /// terminal
    #[arg(long, value_name = "NAME", group = "action")]
    delete: Option<OsString>,
    /// With --delete: do not ask
    #[arg(short, long, requires = "delete")]
    yes: bool,
    /// Complete a dataset after `scr copy`: rebuild missing parts, if its redundancy allows it, and
    /// enter it. A checkpoint becomes the one that the next run tries first, unless a newer one is
    #[arg(short, long, value_name = "ID", group = "action")]
    build: Option<u64>,
    /// Print the list as JSON, for programs, with output datasets too; described in
    /// docs/formats/json.md
    #[arg(long, conflicts_with = "action")]
    json: bool,
    /// Prefix directory, instead of the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let prefix = place::used(self.prefix.as_deref())?;
        place::finish_flushes(call, &prefix);
        if let Some(name) = &self.add {
            add(call, &prefix, name)?;
        } else if let Some(name) = &self.drop {
            change(&prefix, name, |index, name| index.remove(name).is_some())?;
        } else if let Some(name) = &self.drop_after {
            change(&prefix, name, |index, name| {
                index.drop_after(name).is_some()
            })?;
        } else if let Some(name) = &self.current {
            current(&prefix, &Name::from(name.as_os_str()))?;
        } else if let Some(name) = &self.delete {
            delete(call, &prefix, &Name::from(name.as_os_str()), self.yes)?;
        } else if let Some(id) = self.build {
            complete(call, &prefix, id)?;
        }
        if self.json {
            list_json(call, &prefix)?;
        } else if self.list || !self.changes() {
            list(call, &prefix)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Options {
    fn changes(&self) -> bool {
        let named = [
            &self.add,
            &self.drop,
            &self.drop_after,
            &self.current,
            &self.delete,
        ];
        self.build.is_some() || named.iter().any(|name| name.is_some())
    }
}

fn list(call: &mut Invocation, prefix: &Prefix) -> std::result::Result<(), Failure> {
    let rows = existing(prefix)?.list();
    let style = |row: usize| match rows.get(row) {
        Some(row) if row.current => HEADING,
        Some(row) if !row.valid => WRONG,
        _ => Style::new(),
    };
    Ok(call.show(&Line::table(&table(&rows), NAMES, style))?)
}

/// Reads the index. A missing one is an error, as in SCR v3.1.0: most likely it is the wrong directory,
/// or a run was killed early.
fn existing(prefix: &Prefix) -> std::result::Result<Index, Failure> {
    match Index::read(&*place::files(prefix), &prefix.file("index.scr")) {
        Err(error) if error.is_not_found() => Err(nothing_flushed(prefix)),
        other => Ok(other?),
    }
}

/// Prints all datasets as JSON, newest first.
fn list_json(call: &mut Invocation, prefix: &Prefix) -> std::result::Result<(), Failure> {
    let index = existing(prefix)?;
    let current = index.current_id();
    let one = |(&id, entry): (&u64, &IndexEntry)| {
        let (name, name_hex) = json::named(index.name(id));
        let dataset = entry.dataset.as_ref();
        let words = |name: &Name| json::text(name.as_bytes());
        let given = |name: &&Name| !name.is_empty();
        IndexedJson {
            id,
            name,
            name_hex,
            checkpoint: entry.is_checkpoint(),
            output: dataset.is_some_and(|d| d.flag_output),
            valid: entry.is_good(),
            complete: entry.complete,
            current: current == Some(id),
            flushed: entry.flushed.as_ref().map(words),
            fetched: entry.fetched.iter().map(words).collect(),
            failed: entry.failed.as_ref().map(words),
            created: dataset.map(|d| d.created).filter(|time| *time > 0),
            files: dataset.and_then(|d| d.files),
            bytes: dataset.and_then(|d| d.size),
            user: dataset.map(|d| &d.user).filter(given).map(words),
            job: dataset.map(|d| &d.jobid).filter(given).map(words),
        }
    };
    let root = prefix.root().as_os_str().as_bytes();
    let list = IndexJson {
        prefix: json::text(root),
        prefix_hex: json::hex(root),
        current,
        datasets: index.datasets().iter().rev().map(one).collect(),
    };
    json::print(call, "index", list)
}

/// The message if there is no index, with the datasets in the caches of the last run.
fn nothing_flushed(prefix: &Prefix) -> Failure {
    /// How many datasets are named at most.
    const MANY: usize = 10;
    let held = match records::read_flush_file(&*place::files(prefix), prefix) {
        Err(error) => format!("what the caches hold is not known: {error}"),
        Ok(record) => {
            let held = record.datasets.iter().rev();
            let held: Vec<_> = held.filter(|(_, entry)| entry.is_at(CACHE)).collect();
            let mut words: Vec<String> = held.iter().take(MANY).map(cached).collect();
            if held.len() > MANY {
                words.push(format!("{} older ones", held.len() - MANY));
            }
            match words.is_empty() {
                true => "no run has recorded a dataset in a cache".to_string(),
                false => format!(
                    "the last run left in the caches of its nodes: {}; the next run of the job \
                     finds them there, and `scr postrun` saves the newest",
                    words.join(", ")
                ),
            }
        }
    };
    let index = prefix.file("index.scr");
    Failure::said(format!(
        "nothing was flushed to this prefix directory yet: there is no {}; {held}",
        index.display()
    ))
}

fn cached((id, entry): &(&u64, &FlushEntry)) -> String {
    let name = entry
        .own_name()
        .map_or(String::new(), |name| format!(" (`{}')", escaped(name)));
    let kind = if entry.ckpt { "" } else { ", output" };
    format!("dataset {id}{name}{kind}")
}

/// Changes the index by a name that must be in it.
fn change(
    prefix: &Prefix,
    name: &OsString,
    change: impl FnOnce(&mut Index, &Name) -> bool,
) -> Result<()> {
    let name = Name::from(name.as_os_str());
    index::update(&*place::files(prefix), prefix, |index| {
        change(index, &name)
            .then_some(())
            .ok_or_else(|| no_such_dataset(prefix, index, &name, "a dataset"))
    })
}

fn current(prefix: &Prefix, name: &Name) -> Result<()> {
    index::update(&*place::files(prefix), prefix, |index| {
        if index.set_current(name) {
            return Ok(());
        }
        Err(match index.id(name) {
            Some(id) => Error::dataset(
                id,
                escaped(name),
                "is not a checkpoint, so no run can restart from it",
            ),
            None => no_such_dataset(prefix, index, name, "a checkpoint"),
        })
    })
}
