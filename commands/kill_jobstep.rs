//! `scr kill-jobstep`: ends a job step.

use super::call::Invocation;
use super::job::Job;
use super::{Command, CommandGroup, Outcome, RunCommand};
use scr_jobs::launcher::Launcher;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("kill-jobstep", &["scr_kill_jobstep"], CommandGroup::Scripts);

/// End a job step; the job goes on
///
/// The scheduler ends steps of srun and flux. A process gets SIGTERM and, if it does not end within
/// ten seconds, SIGKILL, together with its process group if it leads one. A step that has ended
/// already is not an error.
///
/// Exit status: 0 done, 1 the step could not be ended.
#[derive(clap::Args)]
struct Options {
    /// The launcher: srun, mpirun, flux ...
    #[arg(short, long, value_name = "LAUNCHER", default_value = "srun")]
    launcher: String,
    /// The step, as scr get-jobstep-id prints it
    #[arg(short, long, alias = "jobStepId", value_name = "ID")]
    jobstep: String,
    /// No effect, as a warning says: in SCR v3.1.0 the directory of its commands
    #[arg(short, long, value_name = "DIR")]
    bindir: Option<PathBuf>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        if self.bindir.is_some() {
            call.warn(&"--bindir has no effect: no other command of SCR is called");
        }
        let environment = Job::here(None)?.environment;
        Launcher::named(&self.launcher, &environment)?.kill(&environment, &self.jobstep)?;
        Ok(ExitCode::SUCCESS)
    }
}
