//! `scr watchdog`: ends a run that makes no progress.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::{Outcome, RunCommand, place};
use scr_engine::format::flush_file::FlushFile;
use scr_engine::policy::halt::FINALIZED;
use scr_engine::prefix::{paths::Prefix, records};
use scr_engine::system::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use scr_engine::system::thread;
use scr_engine::system::time::{Instant, sleep};
use scr_jobs::hang::watchdog::{Limits, Watchdog};
use scr_jobs::launcher::Launcher;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// End a job step when it makes no progress
///
/// Progress is a new dataset, or a step of its flush, as recorded in .scr/flush.scr. A run may go
/// without progress for SCR_WATCHDOG_TIMEOUT seconds, or for SCR_WATCHDOG_TIMEOUT_PFS while the
/// prefix directory is read or written. scr run does this itself if SCR_WATCHDOG=1. Watches until it
/// has ended the step, or the program has called SCR_Finalize. A job script runs it in the
/// background and kills it after the run.
///
/// Exit status: 0 the step was ended, or the program has called SCR_Finalize; 1 it could not be
/// ended.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, visible_alias = "dir", value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// The launcher: srun, mpirun, flux ...
    #[arg(short, long, value_name = "LAUNCHER", default_value = "srun")]
    launcher: String,
    /// The step, as scr get-jobstep-id prints it
    #[arg(short, long, value_name = "ID")]
    jobstep: String,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        let launcher = Launcher::named(&self.launcher, &job.environment)?;
        let limits = limits(&job)?.ok_or_else(|| {
            Failure::said("set SCR_WATCHDOG_TIMEOUT, in seconds: the watchdog needs a limit")
        })?;
        let mut watch = Watch::new(limits, &job.prefix);
        while !watch.is_over() {
            sleep(watch.pause());
            if let Some(limit) = watch.look(&job.prefix) {
                let step = &self.jobstep;
                let seconds = limit.as_secs();
                writeln!(call.out, "no progress for {seconds} s: ending step {step}")?;
                launcher.kill(&job.environment, step)?;
                break;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The configured limits; `None` without SCR_WATCHDOG_TIMEOUT. Without a limit of its own, the prefix
/// directory has the limit of the run.
pub(super) fn limits(job: &Job) -> Result<Option<Limits>, Failure> {
    let seconds = |name: &str| -> Result<Option<Duration>, Failure> {
        let number = job
            .number(name)?
            .and_then(|number| u64::try_from(number).ok());
        Ok(number.map(Duration::from_secs))
    };
    let cache = seconds("SCR_WATCHDOG_TIMEOUT")?;
    let prefix = seconds("SCR_WATCHDOG_TIMEOUT_PFS")?;
    Ok(cache.map(|cache| Limits {
        cache,
        prefix: prefix.unwrap_or(cache),
    }))
}

/// A [`Watchdog`] with a clock and the flush file.
pub(super) struct Watch {
    dog: Watchdog,
    last: Instant,
    /// True once the halt file is that of this run, not of the last run.
    begun: bool,
    over: bool,
    /// The last state of the prefix directory.
    known: Seen,
    /// The question to the prefix directory that is not answered yet.
    asked: Option<Receiver<Seen>>,
}

/// The state of a run, as the prefix directory shows it.
#[derive(Debug, Clone, Default)]
struct Seen {
    finalized: bool,
    record: Option<FlushFile>,
}

/// Time without an answer of the prefix directory after which that counts as no progress.
const ANSWER: Duration = Duration::from_secs(2);

impl Watch {
    /// A watchdog for a run that has begun or will begin.
    pub fn new(limits: Limits, prefix: &Prefix) -> Self {
        let known = Seen::now(prefix);
        Watch {
            dog: Watchdog::new(limits, known.record.clone()),
            last: Instant::now(),
            begun: !known.finalized,
            over: false,
            known,
            asked: None,
        }
    }

    /// The time until the next check.
    pub fn pause(&self) -> Duration {
        self.dog.interval().saturating_sub(self.last.elapsed())
    }

    /// Checks, if it is time to. Returns the limit if the run has exceeded it.
    pub fn look(&mut self, prefix: &Prefix) -> Option<Duration> {
        if self.over || !self.pause().is_zero() {
            return None;
        }
        let passed = self.last.elapsed();
        self.last = Instant::now();
        self.ask(prefix);
        let Seen { finalized, record } = self.known.clone();
        // SCR_Init removes the records of the last run.
        self.begun |= !finalized;
        self.over = self.begun && finalized;
        let late = self.dog.look(record, passed);
        (late && !self.over).then(|| self.dog.limit())
    }

    /// Asks the prefix directory in a thread, since its file system may hang, which counts as no
    /// progress.
    fn ask(&mut self, prefix: &Prefix) {
        let answer = self.asked.take().unwrap_or_else(|| {
            let (send, answer) = channel();
            let prefix = prefix.clone();
            thread::spawn(move || send.send(Seen::now(&prefix)));
            answer
        });
        match answer.recv_timeout(ANSWER) {
            Ok(seen) => self.known = seen,
            Err(RecvTimeoutError::Timeout) => self.asked = Some(answer),
            Err(RecvTimeoutError::Disconnected) => {}
        }
    }

    /// True if the program has called SCR_Finalize. After that it makes no datasets.
    pub fn is_over(&self) -> bool {
        self.over
    }
}

impl Seen {
    fn now(prefix: &Prefix) -> Self {
        let files = &*place::files(prefix);
        let halt = records::read_halt(files, prefix).unwrap_or_default();
        let finalized = |reason| reason == FINALIZED.into();
        Seen {
            finalized: halt.exit_reason.is_some_and(finalized),
            record: records::read_flush_file(files, prefix).ok(),
        }
    }
}
