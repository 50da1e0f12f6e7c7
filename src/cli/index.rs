//! `scr index`: the datasets of a prefix directory.

use super::call::{Call, Failure};
use super::{Command, Group, Outcome, Run, place};
use crate::cache::plan::ranks_in_words;
use crate::comm::solo::Solo;
use crate::format::index::{Index, table};
use crate::format::print::escaped;
use crate::format::{Name, read, summary::Summary};
use crate::job::Environment;
use crate::job::clock::local_time;
use crate::prefix::delete::{self, Plan};
use crate::prefix::flush::Ground;
use crate::prefix::{index, paths::Prefix};
use crate::scavenge::build;
use crate::store::{Files, posix::Posix};
use crate::{Error, Result};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("index", &["scr_index"], Group::Datasets);

/// List the saved datasets, and choose where the next run starts
///
/// Without an option that says otherwise, lists the checkpoints in the prefix directory, newest
/// first: number, whether all of it is there and no restart from it failed, when it was
/// completed, a star at the one that the next run tries first, name. The options that change
/// the index leave the files of a dataset where they are, but for --remove.
///
/// Exit status: 0 done, 1 there is no index, no dataset of that name, or it failed.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("action").multiple(false))]
struct Options {
    /// List the checkpoints (default)
    #[arg(short, long, group = "action")]
    list: bool,
    /// Enter a dataset that is in the prefix directory, again if need be: that a restart from
    /// it failed is forgotten
    #[arg(short, long, value_name = "NAME", group = "action")]
    add: Option<OsString>,
    /// Take a dataset out of the index
    #[arg(short, long, value_name = "NAME", group = "action")]
    drop: Option<OsString>,
    /// Take all datasets out of the index that are newer than this one
    #[arg(long, value_name = "NAME", group = "action")]
    drop_after: Option<OsString>,
    /// Start the next run from this checkpoint
    #[arg(short, long, value_name = "NAME", group = "action")]
    current: Option<OsString>,
    /// Delete a dataset: its entry in the index, its files but for those that another dataset has,
    /// too, and directories left empty
    #[arg(long, value_name = "NAME", visible_alias = "delete", group = "action")]
    remove: Option<OsString>,
    /// Complete a dataset of which parts were copied to the prefix directory by `scr copy`:
    /// rebuild what is missing, if its redundancy allows it, and enter it. A checkpoint becomes
    /// the one that the next run tries first, unless a newer one is
    #[arg(short, long, value_name = "ID", group = "action")]
    build: Option<u64>,
    /// Prefix directory, instead of the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

impl Run for Options {
    fn run(&self, call: &mut Call) -> Outcome {
        let prefix = place::used(self.prefix.as_deref())?;
        if let Some(name) = &self.add {
            add(call, &prefix, &Name::from(name.as_os_str()))?;
        } else if let Some(name) = &self.drop {
            change(&prefix, name, |index, name| index.remove(name).is_some())?;
        } else if let Some(name) = &self.drop_after {
            change(&prefix, name, |index, name| {
                index.drop_after(name).is_some()
            })?;
        } else if let Some(name) = &self.current {
            current(&prefix, &Name::from(name.as_os_str()))?;
        } else if let Some(name) = &self.remove {
            remove(call, &prefix, &Name::from(name.as_os_str()))?;
        } else if let Some(id) = self.build {
            complete(call, &prefix, id)?;
        } else {
            list(call, &prefix)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(call: &mut Call, prefix: &Prefix) -> std::result::Result<(), Failure> {
    // Here a missing index is an error, as in SCR v3.1.0: most likely the wrong directory.
    let index = Index::read(&Posix, &prefix.file("index.scr"))?;
    call.out.write_all(table(&index.list()).as_bytes())?;
    Ok(())
}

/// Changes the index by a name that must be in it.
fn change(
    prefix: &Prefix,
    name: &OsString,
    change: impl FnOnce(&mut Index, &Name) -> bool,
) -> Result<()> {
    let name = Name::from(name.as_os_str());
    index::update(&Posix, prefix, |index| {
        change(index, &name)
            .then_some(())
            .ok_or_else(|| unknown(prefix, &name, "a dataset"))
    })
}

fn current(prefix: &Prefix, name: &Name) -> Result<()> {
    index::update(&Posix, prefix, |index| {
        if index.set_current(name) {
            return Ok(());
        }
        Err(match index.id(name) {
            Some(id) => Error::dataset(
                id,
                escaped(name),
                "is no checkpoint, so nothing can start from it",
            ),
            None => unknown(prefix, name, "a checkpoint"),
        })
    })
}

fn remove(call: &mut Call, prefix: &Prefix, name: &Name) -> std::result::Result<(), Failure> {
    let index = index::read(&Posix, prefix)?;
    let id = index.id(name);
    let id = id.ok_or_else(|| unknown(prefix, name, "a dataset"))?;
    let ground = Ground {
        comm: &Solo::new(),
        files: &Posix,
        prefix,
        node: &Environment::of_process().host,
        width: 1,
        buffer: 0,
        metadata: false,
    };
    let deleted = delete::delete(&ground, &Plan::new(&index, &[id])).map_err(alone)?;
    if let Some(error) = deleted.refused.into_iter().next() {
        return Err(error.into());
    }
    for kept in deleted.dirs {
        writeln!(call.out, "{} is not empty and stays", kept.display())?;
    }
    if deleted.shared > 0 {
        writeln!(
            call.out,
            "Files that other datasets have, too, and that stay: {}",
            deleted.shared
        )?;
    }
    Ok(())
}

/// What happened to the only rank there is, without its number.
fn alone(error: Error) -> Failure {
    match error {
        Error::Remote { error, .. } => Failure::said(error),
        other => other.into(),
    }
}

/// Completes a dataset from its parts in the prefix directory, and tells what was rebuilt.
pub(super) fn complete(
    call: &mut Call,
    prefix: &Prefix,
    id: u64,
) -> std::result::Result<(), Failure> {
    let (host, mut notes) = (Environment::of_process().host, Vec::new());
    let time = local_time(SystemTime::now());
    let built = build(&Posix, prefix, id, (&host, &time), &mut notes);
    for note in &notes {
        call.warn(note);
    }
    let built = built?;
    if !built.rebuilt.is_empty() {
        let ranks = ranks_in_words(&built.rebuilt);
        writeln!(call.out, "Rebuilt the files of {ranks}")?;
    }
    let (name, ranks) = (escaped(&built.dataset.name), built.ranks);
    writeln!(
        call.out,
        "Dataset {id} (`{name}'), {ranks} ranks, is complete and in the index"
    )?;
    Ok(())
}

fn unknown(prefix: &Prefix, name: &Name, what: &str) -> Error {
    Error::Config {
        place: prefix.file("index.scr").display().to_string(),
        what: format!(
            "`{}' is not the name of {what} there; `scr index --list` shows the checkpoints",
            escaped(name)
        ),
    }
}

/// Enters the dataset that a summary describes.
fn add(call: &mut Call, prefix: &Prefix, name: &Name) -> std::result::Result<(), Failure> {
    let Some((id, summary)) = find(call, prefix, name)? else {
        return Err(Failure::said(format!(
            "no summary in {} describes a dataset `{}'",
            prefix.meta().display(),
            escaped(name)
        )));
    };
    let (dir, name) = (prefix.dataset(id), escaped(name));
    writeln!(
        call.out,
        "Found `{name}' as dataset {id} at {}",
        dir.display()
    )?;
    writeln!(call.out, "Adding `{name}' to index")?;
    // The summary was written when the last of the files was there.
    let written = Posix.stat(&dir.join("summary.scr"))?;
    let seconds = written.map_or(0, |stat| u64::try_from(stat.mtime.0).unwrap_or(0));
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    let time = local_time(time.unwrap_or(UNIX_EPOCH));
    index::update(&Posix, prefix, |index| {
        if summary.complete {
            index.set_complete(summary.dataset, time);
        } else {
            index.add(summary.dataset);
        }
        Ok(())
    })?;
    Ok(())
}

/// The newest dataset whose summary has this name. A summary that cannot be read is reported
/// and passed over: it is the summary of a dataset that nobody can restart from.
fn find(call: &mut Call, prefix: &Prefix, name: &Name) -> Result<Option<(u64, Summary)>> {
    let mut found: Option<(u64, Summary)> = None;
    for entry in Posix.list(&prefix.meta())? {
        let Some(id) = entry
            .to_str()
            .and_then(|entry| entry.strip_prefix("scr.dataset."))
            .and_then(|id| id.parse::<u64>().ok())
        else {
            continue;
        };
        let path = prefix.dataset(id).join("summary.scr");
        match read::<Summary>(&Posix, &path) {
            Ok(summary) if summary.dataset.name != *name => {}
            Ok(summary) if summary.dataset.id != id => {
                let other = summary.dataset.id;
                call.warn(&format_args!(
                    "{} describes dataset {other}, and is passed over",
                    path.display()
                ));
            }
            Ok(summary) if found.as_ref().is_none_or(|(newest, _)| id > *newest) => {
                found = Some((id, summary));
            }
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => call.warn(&error),
        }
    }
    Ok(found)
}
