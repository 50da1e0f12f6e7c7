//! `scr should-exit`: tells whether a run loop should stop.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::retries_halt::{halt_reasons, halt_seconds};
use super::{Outcome, RunCommand};
use scr_jobs::hostlist::{expand, minus};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Tell whether a job script should stop instead of launching the program again
///
/// It should if a halt condition holds, if the last run called SCR_Finalize (SCR_FINALIZE_CALLED),
/// if too few nodes are left, or if no run is left.
///
/// Exit status: 0 stop, 1 go on, or it is not known.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Nodes that cannot be used
    #[arg(short, long, value_name = "NODES", default_value = "")]
    down: String,
    /// Number of nodes that a run needs, instead of SCR_MIN_NODES, the number of the last run, or all
    #[arg(short, long, value_name = "N")]
    min_nodes: Option<u64>,
    /// Number of runs that are left; a negative number: no limit
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    runs: Option<i64>,
    /// Print the reason to stop
    #[arg(short, long)]
    verbose: bool,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        let reason = self.reason(&job)?;
        let verbose = self.verbose || job.debug();
        if let Some(reason) = reason.as_ref().filter(|_| verbose) {
            writeln!(call.out, "{reason}")?;
        }
        Ok(match reason {
            Some(_) => ExitCode::SUCCESS,
            None => ExitCode::FAILURE,
        })
    }
}

impl Options {
    fn reason(&self, job: &Job) -> Result<Option<String>, Failure> {
        let reasons = halt_reasons(&job.prefix, halt_seconds(job)?, || job.end())?;
        if !reasons.is_empty() {
            let reasons = reasons.join(", ");
            return Ok(Some(format!("Halt condition detected: {reasons}")));
        }
        match self.nodes(job) {
            Ok((left, needed)) if left < needed => {
                let short = format!("nodes_remaining={left} < nodes_needed={needed}");
                Ok(Some(short))
            }
            // With no run left, the nodes of the job need not be known.
            _ if self.runs == Some(0) => Ok(Some("runs_remaining=0".to_string())),
            nodes => nodes.map(|_| None),
        }
    }

    /// Number of remaining nodes, and number of nodes that a run needs.
    fn nodes(&self, job: &Job) -> Result<(u64, u64), Failure> {
        let all = job.nodes()?;
        let left = minus(&all, &expand(&self.down)?).len();
        let needed = match self.min_nodes {
            Some(needed) => needed,
            None => needed_nodes(job, all.len())?,
        };
        Ok((left as u64, needed))
    }
}

/// Number of nodes that a run needs: SCR_MIN_NODES, else as many as the last one used, else all. 0
/// counts as not set.
pub(super) fn needed_nodes(job: &Job, all: usize) -> Result<u64, Failure> {
    let set = job.number("SCR_MIN_NODES")?;
    let set = set.and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
    match set {
        Some(needed) => Ok(needed),
        None => Ok(job.run_nodes()?.filter(|n| *n > 0).unwrap_or(all as u64)),
    }
}
