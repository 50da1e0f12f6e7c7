//! The process of the launcher in one launch.

use super::super::call::Failure;
use super::super::watch::{Ending, Ladder, LadderStep, Lookout};
use super::super::watchdog::Watch;
use super::signals::{Signals, name};
use rustix::process::{Pid, Signal, kill_process};
use scr_engine::Error;
use scr_engine::job::Environment;
use scr_engine::job::program::{code, signal};
use scr_engine::prefix::paths::Prefix;
use scr_jobs::launcher::{Launcher, LauncherKind};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longest pause between two checks.
const TICK: Duration = Duration::from_secs(1);

/// The position of standard input. Each launch reads it from where it was at the start of the loop.
pub(super) fn input() -> Option<u64> {
    rustix::fs::seek(std::io::stdin(), rustix::fs::SeekFrom::Current(0)).ok()
}

/// Starts a launcher as the leader of a new process group. So it can be ended together with its
/// children, and signals of a terminal reach it only through us.
pub(super) fn start(
    command: &[OsString],
    set: &[(&str, OsString)],
    input: Option<u64>,
) -> Result<Child, Failure> {
    let (word, arguments) = match command.split_first() {
        Some((word, arguments)) => (word, arguments),
        None => return Err(Failure::said("there is nothing to launch")),
    };
    let mut launch = Command::new(word);
    launch
        .args(arguments)
        .envs(set.iter().map(|(name, value)| (name, value)));
    launch.process_group(0);
    // A background process group may not read from a terminal.
    if std::io::stdin().is_terminal() {
        launch.stdin(Stdio::null());
    } else if let Some(place) = input {
        // A pipe has no position: bytes that were read from it cannot be read again.
        let _ = rustix::fs::seek(std::io::stdin(), rustix::fs::SeekFrom::Start(place));
    }
    launch
        .spawn()
        .map_err(|error| Error::io("run", word, error).into())
}

/// A launch in progress.
pub(super) struct Launch<'a> {
    pub child: Child,
    pub launcher: &'a Launcher,
    pub environment: &'a Environment,
    pub prefix: &'a Prefix,
    pub watch: Option<Watch>,
    /// Other signs of the launch's progress.
    pub lookout: Option<Lookout>,
    pub ladder: Ladder,
}

/// A launch that makes no progress.
#[derive(Clone)]
pub(super) struct NoProgress {
    pub why: String,
    /// Time without progress.
    pub pause: Duration,
}

/// The end of a launch.
pub(super) struct Ended {
    /// The exit code as a shell reports it.
    pub code: i32,
    /// True if it was ended because it made no progress.
    pub hung: bool,
}

impl Launch<'_> {
    /// Waits for the end. Passes signals on to the launcher, which passes them on to the program. Calls `say` with
    /// one line for each action. `look` takes note of a hang and reports the state of the ranks, before the run is
    /// ended.
    pub fn wait(
        mut self,
        signals: &mut Signals,
        mut say: impl FnMut(&str),
        look: impl Fn(&NoProgress) -> Vec<String>,
    ) -> Result<Ended, Failure> {
        let mut ended: Option<Ending> = None;
        loop {
            let status = self.child.try_wait();
            let status =
                status.map_err(|error| Error::io("wait for", self.launcher.word(), error))?;
            if let Some(status) = status {
                return Ok(Ended {
                    code: code(status),
                    hung: ended.is_some(),
                });
            }
            for number in signals.wait(self.pause()) {
                say(&format!(
                    "{} is passed on to {}",
                    name(number),
                    self.launcher.word()
                ));
                self.pass_on(number);
            }
            if ended.is_none()
                && let Some(hang) = self.hangs(&mut say)
            {
                say(&format!("{}, so the run is ended", hang.why));
                look(&hang).iter().for_each(|line| say(line));
                ended = Some(Ending::new(self.ladder));
            }
            if let Some(step) = ended.as_mut().and_then(Ending::next) {
                self.go_down(step, &mut say);
            }
        }
    }

    /// The time until the next check.
    fn pause(&self) -> Duration {
        let dog = self.watch.as_ref().map(Watch::pause);
        let lookout = self.lookout.as_ref().map(Lookout::pause);
        dog.into_iter().chain(lookout).fold(TICK, Duration::min)
    }

    /// The reason why the run counts as hanging, if it does.
    fn hangs(&mut self, say: &mut impl FnMut(&str)) -> Option<NoProgress> {
        let late = self.watch.as_mut();
        let late = late.and_then(|watch| watch.look(self.prefix));
        if let Some(limit) = late {
            let seconds = limit.as_secs();
            return Some(NoProgress {
                why: format!("no progress for {seconds} s (SCR_WATCHDOG)"),
                pause: limit,
            });
        }
        let hang = self.lookout.as_mut()?.look(say)?;
        Some(NoProgress {
            why: hang.to_string(),
            pause: hang.pause,
        })
    }

    fn go_down(&self, step: LadderStep, say: &mut impl FnMut(&str)) {
        let word = self.launcher.word();
        match step {
            LadderStep::Ask(name, number) => {
                say(&format!("SIG{name} asks the program for a checkpoint"));
                self.pass_on(number);
            }
            LadderStep::Terminate => self.end(say),
            LadderStep::Kill => {
                say(&format!("{word} did not end, so it is killed"));
                signal(self.child.id(), libc::SIGKILL);
            }
        }
    }

    fn pass_on(&self, number: i32) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let signal = Signal::from_named_raw(number);
        if let (Some(pid), Some(signal)) = (pid, signal) {
            // A launcher that has ended needs no signal.
            let _ = kill_process(pid, signal);
        }
    }

    /// Ends the job step, or if it is not known, the launcher.
    fn end(&self, say: &mut impl FnMut(&str)) {
        let pid = self.child.id();
        let scheduled = matches!(
            self.launcher.kind(),
            LauncherKind::Srun | LauncherKind::Flux
        );
        let step = if scheduled {
            self.launcher.step(self.environment, pid)
        } else {
            Ok(None)
        };
        let killed = step.and_then(|step| match step {
            Some(step) => self.launcher.kill(self.environment, &step).map(|()| true),
            None => Ok(false),
        });
        if let Err(error) = &killed {
            say(&format!("the job step could not be ended: {error}"));
        }
        if killed != Ok(true) {
            signal(pid, libc::SIGTERM);
        }
    }
}
