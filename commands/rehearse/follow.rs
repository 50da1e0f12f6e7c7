//! Follows a command that goes on after a kill: `scr run`, and a program that repairs itself.

use super::super::call::Failure;
use super::super::run::Signals;
use super::plan::{Kill, Victim};
use super::stage::{Counts, Ending, LOST, Stage, TICK, Watch, now};
use scr_engine::Error;
use scr_engine::job::program::{code, signal};
use scr_engine::system::time::{Instant, sleep};
use std::fs::File;
use std::process::{Child, Command};
use std::time::Duration;

/// Time in which a process that was killed is gone.
const TO_GO: Duration = Duration::from_secs(5);

pub(super) struct Following<'a> {
    pub stage: &'a Stage,
    pub kills: &'a [Kill],
    /// The times at which launches have begun. Each has a kill.
    pub begins: &'a dyn Fn() -> Result<Vec<f64>, Failure>,
    /// True if the command is at its end though it has not ended. The argument: the times of the kills.
    pub is_over: &'a dyn Fn(&[f64]) -> Result<bool, Failure>,
}

/// What a command has come to.
pub(super) struct Followed {
    pub last: Ending,
    /// Times of the kills.
    pub strikes: Vec<f64>,
    pub ended: f64,
    /// The state of the ranks, if it hung.
    pub stacks: Vec<String>,
}

impl Following<'_> {
    /// Starts the command, kills when the moments come, and waits for its end.
    pub fn to_end(
        &self,
        command: &mut Command,
        (limit, signals): (Duration, &mut Signals),
    ) -> Result<Followed, Failure> {
        let child = command.spawn();
        let failed = |error| Error::io("run", command.get_program(), error);
        let mut child = child.map_err(failed)?;
        let mut strikes = Vec::new();
        let followed = self.follow(&mut child, &mut strikes, (limit, signals));
        let last = self.stage.or_end(&mut child, followed)?;
        let ended = now();
        let stacks = match last {
            Ending::Hung => self.stage.stacks(),
            _ => Vec::new(),
        };
        if matches!(child.try_wait(), Ok(None)) {
            signal(child.id(), libc::SIGTERM);
        }
        self.stage.bury(&mut child)?;
        Ok(Followed {
            last,
            strikes,
            ended,
            stacks,
        })
    }

    fn follow(
        &self,
        child: &mut Child,
        strikes: &mut Vec<f64>,
        (limit, signals): (Duration, &mut Signals),
    ) -> Result<Ending, Failure> {
        let (start, mut watch) = (Instant::now(), None::<Watch>);
        loop {
            let status = child.try_wait();
            if let Some(status) =
                status.map_err(|error| Error::io("wait for", "a launch", error))?
            {
                return Ok(Ending::Code(code(status)));
            }
            if (self.is_over)(strikes)? {
                return Ok(Ending::Code(0));
            }
            if start.elapsed() > limit {
                return Ok(Ending::Hung);
            }
            if watch.is_none()
                && let Some(kill) = self.kills.get(strikes.len())
                && let Some(begun) = (self.begins)()?.get(strikes.len())
            {
                watch = Some(Watch::new(kill, *begun));
            }
            if let Some(one) = &mut watch
                && one.has_come(self.stage, &Counts::new())?
                && let Some(at) = self.strike(one)?
            {
                strikes.push(at);
                watch = None;
            }
            if let Some((_, name)) = signals.end() {
                return Err(Failure::said(format!(
                    "{name} was received, so the launch was ended"
                )));
            }
            signals.wait(watch.as_ref().map_or(TICK, Watch::tick));
        }
    }

    /// Kills what the moment has come for, and returns the time of that. `None` if it is not there (yet).
    fn strike(&self, watch: &Watch) -> Result<Option<f64>, Failure> {
        let stage = self.stage;
        let node = match watch.victim() {
            Victim::Node(node) => Some(node),
            _ => None,
        };
        if !stage.has_rank(|rank, node| watch.hits(rank, node)) {
            return Ok(None);
        }
        // A test of the node must know it before the launch has ended.
        if let Some(node) = node {
            let path = stage.behind().join(LOST).join(node);
            File::create(&path).map_err(|error| Error::io("create", &path, error))?;
        }
        let at = now();
        if stage.kill(|rank, node| watch.hits(rank, node)) == 0 {
            return Ok(None);
        }
        if let Some(node) = node {
            let end = Instant::now() + TO_GO;
            while stage.has_rank(|_, own| own == node) && Instant::now() < end {
                sleep(Duration::from_millis(5));
            }
            stage.lose(node)?;
        }
        Ok(Some(at))
    }
}
