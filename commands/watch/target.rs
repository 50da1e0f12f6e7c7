//! The job that `scr watch` watches: a process of this node, or a step of a scheduler.

use super::super::call::Failure;
use super::ladder::LadderStep;
use rustix::process::{Pid, test_kill_process};
use scr_engine::job::Environment;
use scr_jobs::launcher::Launcher;
use scr_jobs::ranks::{ProcessTree, age, started};
use std::cell::RefCell;
use std::time::Duration;

/// The job that is watched.
pub(super) enum Target {
    /// A launcher or any other process, with all that it has started.
    Process {
        /// The id of the process.
        pid: u32,
        /// The time at which the process was started, since another process may get its id.
        started: u64,
        /// The processes that are ended with it.
        tree: RefCell<ProcessTree>,
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
        let tree = RefCell::new(ProcessTree::new(pid, started));
        Ok(Target::Process { pid, started, tree })
    }

    /// The time for which it has run by now; for a step that is not known.
    pub fn age(&self) -> Duration {
        match self {
            Target::Process { pid, .. } => age(*pid).unwrap_or_default(),
            Target::Step(..) => Duration::ZERO,
        }
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
            Target::Process {
                pid, started: at, ..
            } => Ok(started(*pid) == Some(*at)),
            Target::Step(launcher, step) => Ok(launcher.runs(environment, step)?),
        }
    }

    /// True if it and all that it had started when it was being ended have gone.
    pub fn is_gone(&self, environment: &Environment) -> Result<bool, Failure> {
        match self {
            Target::Process { tree, .. } => Ok(tree.borrow_mut().look().is_empty()),
            Target::Step(..) => Ok(!self.runs(environment)?),
        }
    }

    /// Takes a step of its end. A line reports each step.
    pub fn go_down(&self, step: LadderStep, environment: &Environment) -> Result<String, Failure> {
        let (name, number) = match step {
            LadderStep::Ask(name, number) => (name, number),
            LadderStep::Terminate => ("TERM", libc::SIGTERM),
            LadderStep::Kill => ("KILL", libc::SIGKILL),
        };
        let what = match self {
            Target::Process { tree, .. } => tree.borrow_mut().in_words(),
            Target::Step(_, step) => format!("job step {step}"),
        };
        match (self, step) {
            (Target::Process { tree, .. }, LadderStep::Ask(..)) => {
                tree.borrow_mut().signal_programs(number);
            }
            (Target::Process { tree, .. }, _) => tree.borrow_mut().signal(number),
            (Target::Step(launcher, step), LadderStep::Terminate) => {
                launcher.kill(environment, step)?;
            }
            (Target::Step(launcher, step), _) => launcher.signal(environment, step, name)?,
        }
        Ok(match step {
            LadderStep::Ask(..) => format!("SIG{name} asks the program for a checkpoint"),
            LadderStep::Terminate => format!("SIGTERM is sent to {what}"),
            LadderStep::Kill => format!("{what} did not end, and gets SIGKILL"),
        })
    }
}
