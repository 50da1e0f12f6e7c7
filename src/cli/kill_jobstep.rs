//! `scr kill-jobstep`: ends what a launcher started.

use super::call::Invocation;
use super::job::Job;
use super::{Command, CommandGroup, Outcome, RunCommand};
use crate::job::Launcher;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("kill-jobstep", &["scr_kill_jobstep"], CommandGroup::Scripts);

/// End a job step, and leave the job
///
/// Steps of srun and flux are ended by the scheduler; a process by SIGTERM, and by SIGKILL if
/// it does not end within ten seconds, together with its process group if it leads one. A
/// step that has ended already is no error.
///
/// Exit status: 0 done, 1 it could not be ended.
#[derive(clap::Args)]
struct Options {
    /// The launcher: srun, mpirun, flux ...
    #[arg(short, long, value_name = "LAUNCHER", default_value = "srun")]
    launcher: String,
    /// The step, as scr get-jobstep-id prints it
    #[arg(short, long, alias = "jobStepId", value_name = "ID")]
    jobstep: String,
    /// Where SCR v3.1.0 has its own commands. No other command of SCR is called here, so it has
    /// no effect, which is said
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
