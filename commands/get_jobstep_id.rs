//! `scr get-jobstep-id`: the job step of a launcher.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::{Command, CommandGroup, Outcome, RunCommand};
use scr_jobs::launcher::Launcher;
use std::io::Write;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command = Command::of::<Options>(
    "get-jobstep-id",
    &["scr_get_jobstep_id"],
    CommandGroup::Scripts,
);

/// Print the job step of a launcher that runs on this node
///
/// For srun it is JOB.STEP, for flux the id of the newest job in the instance, for others the
/// process id itself. scr kill-jobstep takes it.
///
/// Exit status: 0 printed, 1 there is no step (yet).
#[derive(clap::Args)]
struct Options {
    /// The launcher: srun, mpirun, flux ...
    #[arg(short, long, value_name = "LAUNCHER", default_value = "srun")]
    launcher: String,
    /// The process id of the launcher
    #[arg(value_parser = clap::value_parser!(u32).range(2..))]
    pid: u32,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let environment = Job::here(None)?.environment;
        let launcher = Launcher::named(&self.launcher, &environment)?;
        let step = launcher.step(&environment, self.pid)?.ok_or_else(|| {
            let word = launcher.word();
            Failure::said(format!(
                "process {} is not {word} with a job step",
                self.pid
            ))
        })?;
        writeln!(call.out, "{step}")?;
        Ok(ExitCode::SUCCESS)
    }
}
