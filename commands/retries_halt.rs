//! `scr retries-halt`: tells whether another run is wanted.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::{Outcome, RunCommand, place};
use scr_engine::format::print::escaped;
use scr_engine::job::clock;
use scr_engine::policy::halt::{FINALIZED, reasons};
use scr_engine::prefix::{paths::Prefix, records};
use std::io::Write;
use std::process::ExitCode;

/// Tell whether a job should stop instead of being run again
///
/// Checks the halt conditions. That the last run called SCR_Finalize (SCR_FINALIZE_CALLED) is a
/// reason to stop, too, although the library goes on in this case. SCR_HALT_SECONDS counts for the
/// time of `scr halt --before` if the halt file has no such number.
///
/// Exit status: 0 stop, 1 go on, or the conditions cannot be read.
#[derive(clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    dir: place::Dir,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let prefix = self.dir.used()?;
        // Commands that need the configuration report its problems.
        let job = Job::here(Some(prefix.root())).ok();
        let seconds = job.and_then(|job| halt_seconds(&job).ok().flatten());
        let found = halt_reasons(&prefix, seconds, || Ok(None))?;
        for reason in &found {
            writeln!(call.out, "scr_retries_halt: HALT RUN: Reason: {reason}.")?;
        }
        if found.is_empty() {
            writeln!(
                call.out,
                "scr_retries_halt: CONTINUE RUN: nothing asks for a halt."
            )?;
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The SCR_HALT_SECONDS that the next run of the job will take.
pub(super) fn halt_seconds(job: &Job) -> Result<Option<i64>, Failure> {
    job.number("SCR_HALT_SECONDS")
}

/// The reasons not to run again, in the words of SCR; empty without a reason. `seconds` is used for
/// `ExitBefore` if the halt file has no `HaltSeconds`. `end` returns the end of the allocation, if it
/// is known; it is called only if the halt file has `HaltSeconds`.
pub(super) fn halt_reasons(
    prefix: &Prefix,
    seconds: Option<i64>,
    end: impl FnOnce() -> Result<Option<i64>, Failure>,
) -> Result<Vec<String>, Failure> {
    let mut halt = records::read_halt(&*place::files(prefix), prefix)?;
    let end = match halt.halt_seconds {
        Some(1..) => end()?,
        _ => None,
    };
    halt.halt_seconds = halt.halt_seconds.or(seconds);
    halt.exit_reason = halt.exit_reason.map(|reason| escaped(&reason).into());
    let finalized = halt.exit_reason == Some(FINALIZED.into());
    let mut found = reasons(&halt, clock::now(), end);
    if finalized {
        found.insert(0, FINALIZED.to_string());
    }
    Ok(found)
}
