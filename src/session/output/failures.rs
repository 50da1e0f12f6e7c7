//! The rate of failing runs, as far as the event log of the prefix directory tells
//! (`SCR_CHECKPOINT_INTERVAL=auto`).

use crate::config::IntervalSetting;
use crate::events::Severity;
use crate::log::{Totals, read_end};
use crate::session::run::Run;
use crate::text::counted;

/// Most of the log that `SCR_Init` reads, bytes: some ten thousand lines. A larger one must not delay it.
const MOST: u64 = 8 << 20;

/// The rate of failing runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::session) enum FailureRate {
    /// The log has failures.
    Seen {
        /// Number of runs that have failed, at least 1.
        failures: f64,
        /// Seconds of all earlier runs, above 0.
        seconds: f64,
    },
    /// The log has no failure: `SCR_MEAN_TIME_TO_FAILURE`, seconds.
    Assumed(f64),
}

impl FailureRate {
    /// Rank 0: the rate by the log before this run writes to it; `None` if `auto` is not set. A log that
    /// cannot be read is reported, and changes nothing else. Local.
    pub fn find(run: &Run) -> Option<Self> {
        let settings = &run.settings;
        if run.rank() != 0 || settings.checkpoint_interval != IntervalSetting::Auto {
            return None;
        }
        let assumed = FailureRate::Assumed(settings.mean_time_to_failure as f64);
        let log = run.prefix.file("log");
        let mut totals = Totals::default();
        match read_end(&*run.files, &log, MOST, |record| totals.add(&record)) {
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                let text = format!(
                    "the failures in the event log are not known, so SCR_CHECKPOINT_INTERVAL=auto uses \
                     SCR_MEAN_TIME_TO_FAILURE: {error}"
                );
                run.tell_once(Severity::Warning, text);
                return Some(assumed);
            }
            Ok(not_read) => {
                if let Some(text) = not_read.text() {
                    run.tell_once(Severity::Warning, format!("{}: {text}", log.display()));
                }
            }
        }
        // No run goes on in this prefix directory but this one.
        totals.end();
        let (failures, seconds) = (totals.failures, totals.total());
        Some(if failures >= 1.0 && seconds > 0.0 {
            FailureRate::Seen { failures, seconds }
        } else {
            assumed
        })
    }

    /// Mean time between failures, seconds, if this run goes on for `this_run` seconds without one.
    pub fn between(self, this_run: f64) -> f64 {
        match self {
            FailureRate::Seen { failures, seconds } => (seconds + this_run) / failures,
            FailureRate::Assumed(seconds) => seconds,
        }
    }

    /// The source of the rate, in words.
    pub fn source(self) -> String {
        match self {
            FailureRate::Seen { failures, .. } => {
                format!("{} in the event log", counted(failures as usize, "failure"))
            }
            FailureRate::Assumed(_) => "SCR_MEAN_TIME_TO_FAILURE".to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FailureRate;

    #[test]
    fn the_time_between_failures_is_all_time_by_failures_or_what_was_assumed() {
        let seen = FailureRate::Seen {
            failures: 4.0,
            seconds: 900.0,
        };
        assert_eq!(seen.between(0.0), 225.0);
        assert_eq!(seen.between(100.0), 250.0);
        assert_eq!(FailureRate::Assumed(86400.0).between(100.0), 86400.0);
    }
}
