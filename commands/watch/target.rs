//! The job that `scr watch` watches: a process of this node, or a step of a scheduler.

use super::super::call::Failure;
use super::ladder::LadderStep;
use rustix::process::{Pid, Signal, getpgid, kill_process, test_kill_process};
use scr_engine::job::program::signal;
use scr_engine::job::ranks::started;
use scr_engine::job::{Environment, Launcher};
use std::time::Duration;

/// What is watched.
pub(super) enum Target {
    /// A launcher or any other process.
    Process {
        /// Its id.
        pid: u32,
        /// When it was started, since another process may get its id.
        started: u64,
    },
    /// A step, as its scheduler names it.
    Step(Launcher, String),
}

impl Target {
    /// The target that a word names: a number is a process.
    ///
    /// # Errors
    /// No such process or job step runs, or this user cannot end it.
    pub fn named(
        word: &str,
        launcher: Option<Launcher>,
        environment: &Environment,
        ends: bool,
    ) -> Result<Self, Failure> {
        let pid = word.parse::<u32>();
        let target = match (pid, launcher) {
            (Ok(pid), None) => Target::of_process(pid, ends)?,
            (Err(_), None) if word.contains('.') => {
                Target::Step(Launcher::named("srun", environment)?, word.to_string())
            }
            (_, Some(launcher)) => Target::Step(launcher, word.to_string()),
            (Err(_), None) => {
                return Err(Failure::said(format!(
                    "`{word}` is neither a process id nor a job step of Slurm such as 123.0; for \
                     others name the launcher, as in --launcher flux"
                )));
            }
        };
        if !target.runs(environment)? {
            return Err(Failure::said(format!("there is no job step {word}")));
        }
        Ok(target)
    }

    fn of_process(pid: u32, ends: bool) -> Result<Self, Failure> {
        let missing = || Failure::said(format!("there is no process {pid} on this node"));
        let started = started(pid).filter(|_| pid > 1).ok_or_else(missing)?;
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        if ends && raw.is_none_or(|pid| test_kill_process(pid).is_err()) {
            return Err(Failure::said(format!(
                "process {pid} belongs to another user, so it cannot be ended; use --no-kill"
            )));
        }
        Ok(Target::Process { pid, started })
    }

    /// Time between two questions whether it has ended. A scheduler is not to be asked often.
    pub fn interval(&self) -> Duration {
        match self {
            Target::Process { .. } => Duration::ZERO,
            Target::Step(..) => Duration::from_secs(5),
        }
    }

    /// False if it has ended.
    pub fn runs(&self, environment: &Environment) -> Result<bool, Failure> {
        match self {
            Target::Process { pid, started: at } => Ok(started(*pid) == Some(*at)),
            Target::Step(launcher, step) => Ok(launcher.runs(environment, step)?),
        }
    }

    /// Takes a step of its end. A line says what was done.
    pub fn go_down(&self, step: LadderStep, environment: &Environment) -> Result<String, Failure> {
        let (text, name, number) = match step {
            LadderStep::Ask(name, number) => (
                format!("SIG{name} asks the program for a checkpoint"),
                name,
                number,
            ),
            LadderStep::Terminate => ("the job is ended".to_string(), "TERM", libc::SIGTERM),
            LadderStep::Kill => (
                "the job did not end, so it is killed".to_string(),
                "KILL",
                libc::SIGKILL,
            ),
        };
        match self {
            // It may have ended, and another process may have its id.
            Target::Process { .. } if !self.runs(environment)? => {}
            Target::Process { pid, .. } => send(*pid, number),
            Target::Step(launcher, step) if number == libc::SIGTERM => {
                launcher.kill(environment, step)?;
            }
            Target::Step(launcher, step) => launcher.signal(environment, step, name)?,
        }
        Ok(text)
    }
}

/// Sends a signal to the process group that a process leads, or to the process alone.
fn send(pid: u32, number: i32) {
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let leads = process.is_some_and(|pid| getpgid(Some(pid)) == Ok(pid));
    if leads {
        signal(pid, number);
    } else if let (Some(process), Some(number)) = (process, Signal::from_named_raw(number)) {
        // A process that has ended needs no signal.
        let _ = kill_process(process, number);
    }
}
