//! Decides whether the program should write a checkpoint now (`SCR_Need_checkpoint`).

use crate::Result;
use crate::config::{IntervalSetting, Settings};
use crate::events::Severity;
use crate::messages::NONE_DUE;
use crate::policy::checkpoint::{Best, History, Rules, best, due};
use crate::policy::halt;
use crate::prefix::records;
use crate::session::halt::HaltState;
use crate::session::output::failures::FailureRate;
use crate::session::run::Run;
use crate::system::time::Instant;
use crate::text::duration;
use std::time::Duration;

/// The best interval is reported again after a change by this factor.
const NOTABLE: f64 = 1.2;

/// The time after which the user is told why a program has asked for checkpoints in vain.
const IN_VAIN: Duration = Duration::from_secs(60);

/// The times of checkpoints, and their cost. The counts are the same on all ranks.
pub(in crate::session) struct CheckpointInterval {
    history: History,
    begun: Instant,
    /// The end of the last checkpoint.
    last: Instant,
    /// The end of the last checkpoint with its flush.
    resumed: Instant,
    /// Time at which the checkpoint began that is complete, and may still be flushed.
    counted: Option<Instant>,
    /// Rank 0 with `SCR_CHECKPOINT_INTERVAL=auto`.
    failures: Option<FailureRate>,
    /// The best interval in the last message, seconds.
    told: Option<f64>,
    /// True if a checkpoint was due, or if the reason why none ever is was looked for.
    explained: bool,
}

impl CheckpointInterval {
    /// The state before the first checkpoint.
    pub fn new(failures: Option<FailureRate>) -> Self {
        let now = Instant::now();
        CheckpointInterval {
            history: History::default(),
            begun: now,
            last: now,
            resumed: now,
            counted: None,
            failures,
            told: None,
            explained: false,
        }
    }

    /// True if the program has asked in this run, and neither was a checkpoint due nor has it written one.
    fn is_in_vain(&self) -> bool {
        !self.explained && self.history.calls > 0 && self.history.checkpoints == 0
    }

    /// Counts a checkpoint that was started at `begun` and is complete now, but not flushed.
    pub fn count(&mut self, begun: Instant) {
        self.history.checkpoints += 1;
        self.history.cost += begun.elapsed().as_secs_f64();
        self.last = Instant::now();
        self.counted = Some(begun);
    }

    /// The program goes on after the checkpoint that was counted, if one was.
    pub fn resume(&mut self) {
        if let Some(begun) = self.counted.take() {
            self.history.waited += begun.elapsed().as_secs_f64();
            self.resumed = Instant::now();
        }
    }

    fn rules(&self, settings: &Settings) -> Rules {
        let this_run = self.begun.elapsed().as_secs_f64();
        Rules {
            interval: match settings.checkpoint_interval {
                IntervalSetting::Calls(calls) => calls,
                IntervalSetting::Auto => 0,
            },
            seconds: settings.checkpoint_seconds,
            overhead: settings.checkpoint_overhead,
            between_failures: self.failures.map(|failures| failures.between(this_run)),
        }
    }

    /// The history until now.
    fn history(&self) -> History {
        History {
            since_last: self.last.elapsed().as_secs_f64(),
            computed: self.resumed.elapsed().as_secs_f64(),
            ..self.history
        }
    }

    /// Rank 0: tells the best interval and why it is that, if it has changed notably. Local.
    fn tell(&mut self, run: &Run, rules: &Rules) {
        let (Some(failures), Some(between), Some(best)) = (
            self.failures,
            rules.between_failures,
            best(rules, &self.history),
        ) else {
            return;
        };
        let Best {
            seconds,
            cost,
            limited,
        } = best;
        let near = |told: f64| seconds <= told * NOTABLE && told <= seconds * NOTABLE;
        if self.told.is_some_and(near) {
            return;
        }
        self.told = Some(seconds);
        let limit = if limited {
            format!(
                "; SCR_CHECKPOINT_OVERHEAD={} allows no more",
                rules.overhead
            )
        } else {
            String::new()
        };
        let text = format!(
            "a checkpoint every {}: one costs {}, and a failure comes every {} ({}){limit}",
            duration(seconds),
            duration(cost),
            duration(between),
            failures.source()
        );
        run.tell_once(Severity::Note, text);
    }

    /// True if the program should write a checkpoint now: rank 0 decides for all, unless a signal has come to any
    /// rank. Collective; one round.
    pub fn decide(&mut self, run: &Run, halt: &HaltState) -> Result<bool> {
        self.history.calls += 1;
        let history = self.history();
        let rules = self.rules(&run.settings);
        let decision = halt.decide(run, || {
            let halting = !halt.reasons(run)?.is_empty();
            Ok(due(&rules, &history, halting))
        })?;
        self.tell(run, &rules);
        if decision.is_yes() {
            self.explained = true;
        } else if self.begun.elapsed() >= IN_VAIN {
            self.explain_none_due(run);
        }
        let text = if decision.is_yes() {
            "a checkpoint is due"
        } else {
            "no checkpoint is due"
        };
        run.tell_once(Severity::Debug(2), text);
        Ok(decision.is_yes())
    }

    /// Tells a program that asks in vain that nothing is set which could make a checkpoint due, once in a run. Local.
    pub fn explain_none_due(&mut self, run: &Run) {
        if !self.is_in_vain() || run.rank() != 0 {
            return;
        }
        self.explained = true;
        let settings = &run.settings;
        if self.rules(settings).any() || !settings.halt_signals.is_empty() {
            return;
        }
        let halt = records::read_halt(&*run.files, &run.prefix);
        if halt.is_ok_and(|halt| halt::is_empty(&halt)) {
            let text = format!(
                "SCR_Need_checkpoint was called {} and has never said yes, so the program has written no checkpoint: set \
                 SCR_CHECKPOINT_INTERVAL (auto leaves it to SCR), SCR_CHECKPOINT_SECONDS or SCR_CHECKPOINT_OVERHEAD \
                 ({NONE_DUE})",
                times(self.history.calls)
            );
            run.tell_once(Severity::Warning, text);
        }
    }
}

/// `once`, `5 times`.
fn times(count: u64) -> String {
    match count {
        1 => "once".to_string(),
        _ => format!("{count} times"),
    }
}
