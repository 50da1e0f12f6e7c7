//! The steps in which a job that hangs is ended, each with its limit.

use scr_engine::system::time::Instant;
use std::time::Duration;

/// The limits of the steps.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Ladder {
    /// A signal that asks the program for a checkpoint: its name and number.
    pub signal: Option<(&'static str, i32)>,
    /// Time that the program may take to end after it.
    pub signal_limit: Duration,
    /// Time that the program may take to end after SIGTERM.
    pub term_limit: Duration,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum LadderStep {
    /// The signal that asks for a checkpoint.
    Ask(&'static str, i32),
    /// SIGTERM, as the launcher or the scheduler gives it.
    Terminate,
    /// SIGKILL.
    Kill,
}

/// A job that is being ended.
pub(in super::super) struct Ending {
    ladder: Ladder,
    last: Option<LadderStep>,
    due: Instant,
}

impl Ending {
    /// Begins now.
    pub fn new(ladder: Ladder) -> Self {
        Ending {
            ladder,
            last: None,
            due: Instant::now(),
        }
    }

    /// The step that is due now, if one is. SIGKILL comes again and again: a process on a file system that hangs
    /// may end later.
    pub fn next(&mut self) -> Option<LadderStep> {
        if Instant::now() < self.due {
            return None;
        }
        let (step, limit) = self.ladder.after(self.last);
        self.last = Some(step);
        self.due = Instant::now() + limit;
        self.last
    }
}

impl Ladder {
    /// The step after `last`, and how long it may take.
    fn after(&self, last: Option<LadderStep>) -> (LadderStep, Duration) {
        match (last, self.signal) {
            (None, Some((name, number))) => (LadderStep::Ask(name, number), self.signal_limit),
            (None | Some(LadderStep::Ask(..)), _) => (LadderStep::Terminate, self.term_limit),
            (Some(_), _) => (LadderStep::Kill, self.term_limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_its_limit_and_the_signal_is_optional() {
        let [long, short] = [60, 30].map(Duration::from_secs);
        let mut ladder = Ladder {
            signal: Some(("USR1", 10)),
            signal_limit: long,
            term_limit: short,
        };
        let ask = LadderStep::Ask("USR1", 10);
        assert_eq!(ladder.after(None), (ask, long));
        assert_eq!(ladder.after(Some(ask)), (LadderStep::Terminate, short));
        for last in [LadderStep::Terminate, LadderStep::Kill] {
            assert_eq!(ladder.after(Some(last)), (LadderStep::Kill, short));
        }
        ladder.signal = None;
        assert_eq!(ladder.after(None), (LadderStep::Terminate, short));
    }
}
