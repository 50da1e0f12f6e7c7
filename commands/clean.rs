//! `scr clean`: removes what jobs left in the storage of this node.

use super::call::Invocation;
use super::job::Job;
use super::json::{self, object};
use super::list_dir::{Which, bases, id_of, user_of};
use super::place::absolute;
use super::{Outcome, RunCommand};
use scr_engine::config::Settings;
use scr_engine::config::describe::descriptors;
use scr_engine::job::node_name;
use scr_engine::store::posix::Posix;
use scr_engine::text::{bytes, counted};
use scr_jobs::clean::{Cleaned, Done, JobDirectory, clean, directories};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Remove what ended jobs left in the storage of this node
///
/// Removes a job's directories in the caches and in the control directory: datasets, those that were
/// never saved too, and records. Run it at the end of a job, for instance in the epilog of the resource
/// manager, after `scr postrun`. It works on this node only.
///
/// Kept are: all directories of a job of which a run or a transfer daemon is alive on this node; those
/// with transfers that `scr poststage` has to finish, without --force; files that are not SCR's;
/// anything that belongs to another user. Links are not followed. Stores that several nodes see are
/// left out, unless --cache names them. Only root can clean up for another user.
///
/// Exit status: 0 done, or nothing was there, or it is kept; 1 something could not be removed or looked
/// at.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Only say what would be removed
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// The job, instead of the one of this environment
    #[arg(short, long, value_name = "ID", conflicts_with = "all")]
    job: Option<String>,
    /// All jobs of the user
    #[arg(short, long)]
    all: bool,
    /// The user whose jobs they are, instead of the one who calls
    #[arg(short, long, value_name = "NAME")]
    user: Option<String>,
    /// Remove transfers, too, that `scr poststage` has to finish
    #[arg(short, long)]
    force: bool,
    /// Base directory of caches or control directories, instead of those that the parameters name; may
    /// be repeated
    #[arg(long, value_name = "BASE")]
    cache: Vec<PathBuf>,
    /// Print JSON, for programs; described in docs/formats/json.md
    #[arg(long)]
    json: bool,
    /// Prefix directory, instead of SCR_PREFIX or the current directory; nothing in it is removed
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        let user = user_of(&job, self.user.as_deref())?;
        let id = if self.all {
            None
        } else {
            Some(id_of(&job, self.job.as_deref())?)
        };
        let bases = match &self.cache[..] {
            [] => node_bases(&job)?,
            given => given
                .iter()
                .map(|base| absolute(base))
                .collect::<Result<_, _>>()?,
        };
        let (mut jobs, mut problems) = (BTreeMap::<String, Vec<JobDirectory>>::new(), Vec::new());
        for base in &bases {
            match directories(&Posix, base, &user, id.as_deref()) {
                Ok(found) => {
                    for directory in found {
                        match directory {
                            Ok(found) => jobs.entry(found.job.clone()).or_default().push(found),
                            Err(error) => problems.push(error),
                        }
                    }
                }
                Err(error) => problems.push(error),
            }
        }
        let mut code = ExitCode::SUCCESS;
        for problem in &problems {
            call.error(problem);
            code = ExitCode::FAILURE;
        }
        let mut list = Vec::new();
        for directories in jobs.values() {
            for cleaned in clean(directories, self.dry_run, self.force) {
                for problem in &cleaned.problems {
                    call.error(problem);
                    code = ExitCode::FAILURE;
                }
                if self.json {
                    list.push(as_json(cleaned))
                } else {
                    print(call, &cleaned)?
                }
            }
        }
        if self.json {
            let done = object! {
                user: user,
                dry_run: self.dry_run,
                directories: list,
            };
            json::print(call, "clean", done)?;
        }
        Ok(code)
    }
}

/// The base directories of this node's own storage.
fn node_bases(job: &Job) -> Result<Vec<PathBuf>, super::call::Failure> {
    let settings = Settings::from(&job.config)?;
    let node = node_name(&job.environment, &|name| job.get(name))?.value;
    let stores = descriptors(&job.config, &settings, &node)?.stores;
    let own = stores.into_iter().filter(|store| !store.outlives_nodes());
    let mut all = bases(job, Which::Control)?;
    all.extend(own.map(|store| store.dir));
    all.sort();
    all.dedup();
    Ok(all)
}

fn print(call: &mut Invocation, cleaned: &Cleaned) -> std::io::Result<()> {
    let path = scr_engine::text::escaped(&cleaned.path.to_string_lossy()).into_owned();
    let amount = || {
        let files = usize::try_from(cleaned.files).unwrap_or(usize::MAX);
        format!("{}, {}", counted(files, "file"), bytes(cleaned.bytes))
    };
    match &cleaned.done {
        Done::Removed => writeln!(call.out, "Removed {path}: {}", amount())?,
        Done::WouldRemove => writeln!(call.out, "Would remove {path}: {}", amount())?,
        Done::Kept(reason) => writeln!(call.out, "Kept {path}: {reason}")?,
    }
    for foreign in &cleaned.foreign {
        let path = scr_engine::text::escaped(&foreign.to_string_lossy()).into_owned();
        writeln!(call.out, "Kept {path}: not SCR's")?;
    }
    Ok(())
}

fn as_json(cleaned: Cleaned) -> impl Serialize {
    let (action, reason) = match cleaned.done {
        Done::Removed => ("removed", None),
        Done::WouldRemove => ("would_remove", None),
        Done::Kept(reason) => ("kept", Some(reason)),
    };
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    object! {
        path: text(&cleaned.path),
        job: cleaned.job,
        action: action,
        reason: reason,
        files: cleaned.files,
        bytes: cleaned.bytes,
        foreign: cleaned.foreign.iter().map(text).collect::<Vec<_>>(),
        problems: cleaned.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
    }
}
