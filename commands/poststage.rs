//! `scr poststage`: finishes flushes that a run has left behind.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::scavenge::ReachedNodes;
use super::{Outcome, RunCommand, daemons, place, status};
use scr_engine::format::flush_file::FlushFile;
use scr_engine::format::print::escaped;
use scr_engine::prefix::records;
use scr_engine::text::escaped as escaped_text;
use scr_jobs::datasets::poststage::left_behind;
use scr_jobs::hostlist::expand;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Finish the flushes that the last run of a job has left in the background
///
/// With SCR_FLUSH_POSTSTAGE=1, SCR_Finalize does not wait for flushes in the background. This command
/// does, in the same allocation: runs `scr transfer --finish` on each node, and enters the datasets
/// in the index, for the sessions of the program that have a name, too. scr postrun does the same, and then saves what is still only in the caches.
///
/// Exit status: 0 all flushes are complete, 1 one is not.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// What the program was launched with: srun, mpirun, flux ...
    #[arg(short, long, value_name = "LAUNCHER")]
    joblauncher: Option<String>,
    /// Nodes that are known to be down
    #[arg(short, long, value_name = "NODES", default_value = "")]
    down: String,
    /// Print each step, and the output of each node
    #[arg(short, long)]
    verbose: bool,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        call.verbose = self.verbose || job.debug();
        if !job.is_on("SCR_ENABLE")? {
            return Ok(ExitCode::SUCCESS);
        }
        let mut good = self.finish_session(call, &job)?;
        for dir in place::sessions(&job.prefix) {
            writeln!(
                call.out,
                "Session in {}:",
                escaped_text(&dir.to_string_lossy())
            )?;
            good &= self.finish_session(call, &Job::here(Some(&dir))?)?;
        }
        Ok(status(good))
    }
}

impl Options {
    /// Finishes the flushes of one session. True if all are complete.
    fn finish_session(&self, call: &mut Invocation, job: &Job) -> Result<bool, Failure> {
        place::used(Some(job.prefix.root()))?;
        let files = place::files(&job.prefix);
        let before: FlushFile = records::read_flush_file(&*files, &job.prefix)?;
        let open = left_behind(&before);
        let launcher = job.launcher(self.joblauncher.as_deref())?;
        let known = expand(&self.down)?;
        let nodes = ReachedNodes::tested(call, job, launcher.as_ref(), &job.nodes()?, &known)?;
        daemons::end(call, job, &nodes)?;
        let after = records::read_flush_file(&*files, &job.prefix)?;
        let mut good = true;
        for id in &open {
            let name = |file: &FlushFile| file.datasets.get(id)?.own_name().map(escaped);
            let name = name(&after).or_else(|| name(&before)).unwrap_or_default();
            let entry = after.datasets.get(id);
            if entry.is_some_and(|entry| !entry.needs_flush()) {
                writeln!(
                    call.out,
                    "Dataset {id} (`{name}') is complete in the prefix directory"
                )?;
            } else {
                call.error(&format_args!(
                    "dataset {id} (`{name}') is not complete in the prefix directory; scr postrun \
                     saves it from the caches"
                ));
                good = false;
            }
        }
        if open.is_empty() {
            writeln!(call.out, "The last run has left no flush behind")?;
        }
        Ok(good)
    }
}
