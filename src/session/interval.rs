//! Whether the program should write a checkpoint now (`SCR_Need_checkpoint`).

use super::Session;
use super::state::Call;
use crate::Result;
use crate::events::Severity;
use crate::policy::checkpoint::{History, Rules, due};
use std::time::Instant;

/// When checkpoints were written, and what they cost. The counts are the same on all ranks.
pub(super) struct CheckpointInterval {
    history: History,
    last: Instant,
}

impl CheckpointInterval {
    /// Before the first checkpoint.
    pub fn new() -> Self {
        CheckpointInterval {
            history: History::default(),
            last: Instant::now(),
        }
    }

    /// Counts a checkpoint that was started at `begun` and is complete now.
    pub fn count(&mut self, begun: Instant) {
        self.history.checkpoints += 1;
        self.history.cost += begun.elapsed().as_secs_f64();
        self.last = Instant::now();
    }
}

impl Session {
    /// True if the program should write a checkpoint now (`SCR_Need_checkpoint`): rank 0 decides for
    /// all, unless a signal has come to any rank. Collective; one round.
    pub fn need_checkpoint(&mut self) -> Result<bool> {
        self.state.allow(Call::NeedCheckpoint)?;
        self.interval.history.calls += 1;
        let history = History {
            since_last: self.interval.last.elapsed().as_secs_f64(),
            ..self.interval.history
        };
        let settings = &self.run.settings;
        let rules = Rules {
            interval: settings.checkpoint_interval,
            seconds: settings.checkpoint_seconds,
            overhead: settings.checkpoint_overhead,
        };
        let decision = self.halt.decide(&self.run, || {
            let halting = !self.halt.reasons(&self.run)?.is_empty();
            Ok(due(&rules, &history, halting))
        })?;
        let text = match decision.is_yes() {
            true => "a checkpoint is due",
            false => "no checkpoint is due",
        };
        self.run.tell_once(Severity::Debug(2), text);
        Ok(decision.is_yes())
    }
}
