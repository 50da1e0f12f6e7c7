//! `scr index`: lists and changes the datasets of a prefix directory.

use super::call::Invocation;
use super::complete::complete;
use super::delete::delete;
use super::index_add::add;
use super::index_list::{list, list_json, list_long};
use super::{Outcome, RunCommand, place};
use scr_engine::format::Name;
use scr_engine::format::print::escaped;
use scr_jobs::datasets::by_name;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

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
pub(super) struct Options {
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
    /// List all datasets, output too, with number of ranks and files, size, seconds and rate, and of how
    /// many files there are checksums. Seconds and rate are of the flush, or of the program if it wrote to
    /// the prefix directory itself, from the event log. A - stands for an unknown value
    #[arg(long)]
    long: bool,
    /// Print the list as JSON, for programs, with output datasets too; described in
    /// docs/formats/json.md
    #[arg(long, conflicts_with = "action")]
    json: bool,
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let prefix = place::used(self.prefix.as_deref())?;
        let files = place::files(&prefix);
        place::finish_flushes(call, &prefix);
        if let Some(name) = &self.add {
            add(call, &prefix, name)?;
        } else if let Some(name) = &self.drop {
            by_name::drop_one(&*files, &prefix, &Name::from(name.as_os_str()))?;
        } else if let Some(name) = &self.drop_after {
            by_name::drop_after(&*files, &prefix, &Name::from(name.as_os_str()))?;
        } else if let Some(name) = &self.current {
            let name = Name::from(name.as_os_str());
            if !by_name::make_current(&*files, &prefix, &name)? {
                call.warn(&format_args!(
                    "`{}' is not complete, or a restart from it has failed: the next run tries it, and then older checkpoints, but \
                     none that is newer",
                    escaped(&name)
                ));
            }
        } else if let Some(name) = &self.delete {
            delete(call, &prefix, &Name::from(name.as_os_str()), self.yes)?;
        } else if let Some(id) = self.build {
            complete(call, &prefix, id)?;
        }
        if self.json {
            list_json(call, &prefix, self.long)?;
        } else if self.long {
            list_long(call, &prefix)?;
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
