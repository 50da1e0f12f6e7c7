//! `scr get-jobstep-id`, `scr kill-jobstep`: the job step of a launcher.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::{Outcome, RunCommand};
use scr_jobs::launcher::Launcher;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print the job step of a launcher that runs on this node
///
/// For srun it is JOB.STEP, for flux the id of the newest job in the instance, for others the
/// process id itself. scr kill-jobstep takes it.
///
/// Exit status: 0 printed, 1 there is no step (yet).
#[derive(clap::Args)]
pub(super) struct GetId {
    /// The launcher: srun, mpirun, flux ...
    #[arg(short, long, value_name = "LAUNCHER", default_value = "srun")]
    launcher: String,
    /// The process id of the launcher
    #[arg(value_parser = clap::value_parser!(u32).range(2..))]
    pid: u32,
}

impl RunCommand for GetId {
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

/// End a job step; the job goes on
///
/// The scheduler ends steps of srun and flux. A process gets SIGTERM and, if it does not end within
/// ten seconds, SIGKILL, together with its process group if it leads one. A step that has ended
/// already is not an error.
///
/// Exit status: 0 done, 1 the step could not be ended.
#[derive(clap::Args)]
pub(super) struct Kill {
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

impl RunCommand for Kill {
    fn run(&self, call: &mut Invocation) -> Outcome {
        if self.bindir.is_some() {
            call.warn(&"--bindir has no effect: no other command of SCR is called");
        }
        let environment = Job::here(None)?.environment;
        Launcher::named(&self.launcher, &environment)?.kill(&environment, &self.jobstep)?;
        Ok(ExitCode::SUCCESS)
    }
}
