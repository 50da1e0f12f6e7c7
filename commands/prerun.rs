//! `scr prerun`: prepares a prefix directory for a job.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::{Outcome, RunCommand, daemons, place};
use scr_engine::format::print::escaped;
use scr_engine::policy::halt::SET_BY_SCR;
use scr_engine::prefix::{identity, records};
use scr_engine::store::{LockAttempt, wait_for_lock};
use scr_engine::system::time::Instant;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prepare a prefix directory for a job
///
/// Makes its directory .scr, and removes records of earlier jobs: which datasets were in their
/// caches, how many nodes they used, and why SCR ended their last run. Halt conditions that the user
/// has set stay. With SCR_FLUSH_ASYNC=1 and SCR_FLUSH_TYPE=DAEMON, starts a transfer daemon on each
/// node, which scr postrun ends. scr run does all this itself.
///
/// Exit status: 0 done, 1 it failed, or a run uses the directory.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Print each step
    #[arg(short, long)]
    verbose: bool,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        if job.is_on("SCR_ENABLE")? {
            make(call, &job)?;
            let mut lines = prepare(&job)?;
            if daemons::are_wanted(&job) {
                lines.push(daemons::start(&job, None, &job.nodes()?)?);
            }
            for line in lines {
                if self.verbose || job.debug() {
                    writeln!(call.out, "{line}")?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Makes the prefix directory if it is missing, and warns, because its name may be mistyped.
pub(super) fn make(call: &mut Invocation, job: &Job) -> Result<(), Failure> {
    let (root, files) = (job.prefix.root(), place::files(&job.prefix));
    let there = files.stat(root)?.is_some();
    files.make_dirs(&job.prefix.meta())?;
    if !there {
        call.warn(&format!(
            "the prefix directory {} did not exist, so it was made",
            root.display()
        ));
    }
    Ok(())
}

/// Prepares an existing prefix directory. Returns the steps that were done.
pub(super) fn prepare(job: &Job) -> Result<Vec<String>, Failure> {
    let (prefix, mut done) = (&job.prefix, Vec::new());
    let files = &*place::files(prefix);
    // The library holds this lock while a run is alive.
    let _lock = match wait_for_lock(files, &prefix.meta(), Instant::now())? {
        LockAttempt::HeldByOther => {
            return Err(Failure::said(format!(
                "a run uses the prefix directory {}; wait for its end, or give each run its own \
                 SCR_PREFIX",
                prefix.root().display()
            )));
        }
        LockAttempt::Acquired(lock) => Some(lock),
        LockAttempt::Unsupported => None,
    };
    // An unreadable halt file is an error before anything is removed.
    let halt = records::read_halt(files, prefix)?;
    // A transfer daemon that is started now must find the caches of the run.
    done.extend(
        identity::establish(files, prefix)?
            .note
            .map(|note| note.text),
    );
    for name in ["flush.scr", "nodes.scr"] {
        let path = prefix.file(name);
        if files.stat(&path)?.is_some() {
            files.remove_file(&path)?;
            done.push(format!("removed {}", path.display()));
        }
    }
    // A reason that SCR has set follows from conditions in the same file, which are checked again.
    let own = |reason: &String| SET_BY_SCR.contains(&reason.as_str());
    if let Some(reason) = halt.exit_reason.as_ref().map(escaped).filter(own) {
        records::update_halt(files, prefix, |halt| halt.exit_reason = None)?;
        done.push(format!(
            "removed the reason of the last run's end, {reason}"
        ));
    }
    Ok(done)
}
