//! The best time between checkpoints, from the failures that were seen.

use super::failure_rate::expected_failures;
use super::run::{Activity, Phase, Run};
use scr_engine::policy::interval::Formula;

/// The assumptions of both formulas, in sentences.
pub(super) const ASSUMPTIONS: &str = "Failures are independent of each other and come at a constant rate; \
     each costs the work since the last checkpoint; all checkpoints take the same time. Young (1974) holds \
     if a checkpoint takes much less time than passes between failures; Daly (2006) is more exact if it does not.";

/// A formula and its results, seconds of computation between checkpoints.
#[derive(Debug, Clone, Copy)]
pub(super) struct Advice {
    pub name: &'static str,
    /// The best interval for the mean time between failures.
    pub best: Option<f64>,
    /// The best intervals for the limits of that mean time.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// The rate of failures, and the best time between checkpoints.
#[derive(Debug, Clone)]
pub(super) struct Estimate {
    pub failures: u64,
    /// All runs together, seconds.
    pub observed: f64,
    /// Mean time between failures; `None` without a failure, unless the user has given one.
    pub between: Option<f64>,
    /// True if the user has given the mean time, which then has no limits.
    pub assumed: bool,
    /// The limits of the mean time; no upper limit without a failure.
    pub between_low: Option<f64>,
    pub between_high: Option<f64>,
    /// Time that the program waits for a checkpoint and its flush; `None` without a checkpoint.
    pub cost: Option<f64>,
    /// Mean time of computation between checkpoints so far.
    pub present: Option<f64>,
    pub advice: [Advice; 2],
}

impl Estimate {
    /// The estimate from the runs. `every` is a mean time between failures that the user knows, in place of the observed
    /// time.
    pub fn of(runs: &[Run], failures: u64, every: Option<f64>) -> Self {
        let observed: f64 = runs.iter().map(Run::seconds).sum();
        let (fewest, most) = expected_failures(failures);
        let some = |time: f64| Some(time).filter(|time| time.is_finite() && *time > 0.0);
        let (between, low, high) = match every {
            Some(every) => (some(every), None, None),
            None => (
                some(observed / failures as f64),
                some(observed / most),
                some(observed / fewest),
            ),
        };
        let phases = || runs.iter().flat_map(|run| &run.phases);
        let sum = |wanted: fn(&Phase) -> bool| -> f64 {
            phases().filter(|p| wanted(p)).map(|p| p.seconds).sum()
        };
        let count = runs.iter().map(|run| run.checkpoints.len()).sum::<usize>() as f64;
        let waited = sum(|phase| match phase.activity {
            Activity::Checkpoint => phase.is_whole,
            Activity::Flush => phase.is_whole && phase.of_checkpoint,
            _ => false,
        });
        let own = sum(|phase| matches!(phase.activity, Activity::Compute | Activity::Output));
        let cost = some(waited / count);
        let advice = [("Young", Formula::Young), ("Daly", Formula::Daly)];
        Estimate {
            failures,
            observed,
            between,
            assumed: every.is_some(),
            between_low: low,
            between_high: high,
            cost,
            present: some(own / count),
            advice: advice.map(|(name, formula)| {
                let of = |between: Option<f64>| Some(formula.interval(cost?, between?));
                Advice {
                    name,
                    best: of(between),
                    low: of(low),
                    high: of(high),
                }
            }),
        }
    }

    /// The share of the time that checkpoints and lost work take with a checkpoint every `interval`
    /// seconds, of first order: each costs its time, and each failure half an interval.
    pub fn expected_loss(&self, interval: f64) -> Option<f64> {
        let (cost, between) = (self.cost?, self.between.or(self.between_low)?);
        Some((cost / interval + interval / (2.0 * between)).min(1.0))
    }
}
