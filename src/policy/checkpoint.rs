//! Decides when a checkpoint is due (`SCR_Need_checkpoint`).

/// The user's rules. Zero switches a rule off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// `SCR_CHECKPOINT_INTERVAL`: a checkpoint after so many calls of `SCR_Need_checkpoint`.
    pub interval: u64,
    /// `SCR_CHECKPOINT_SECONDS`: at most so many seconds between two checkpoints.
    pub seconds: u64,
    /// `SCR_CHECKPOINT_OVERHEAD`: largest share of checkpoints in the run time, percent.
    pub overhead: f64,
}

/// What has happened in this run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct History {
    /// Calls of `SCR_Need_checkpoint`, this one included.
    pub calls: u64,
    /// Checkpoints made.
    pub checkpoints: u64,
    /// Seconds spent in checkpoints.
    pub cost: f64,
    /// Seconds since the end of the last checkpoint, or since the start of the run.
    pub since_last: f64,
}

/// True if a checkpoint is due. If a halt condition holds (`halting`), one is due at once, so that
/// no work is lost.
pub fn due(rules: &Rules, history: &History, halting: bool) -> bool {
    halting
        || (rules.interval > 0 && history.calls.is_multiple_of(rules.interval))
        || (rules.seconds > 0 && history.since_last >= rules.seconds as f64)
        || (rules.overhead > 0.0 && affordable(rules.overhead, history))
}

/// True if the next checkpoint, at the average cost of the earlier ones, stays within the share.
fn affordable(percent: f64, history: &History) -> bool {
    if history.checkpoints == 0 {
        return true;
    }
    let average = history.cost / history.checkpoints as f64;
    let span = history.since_last + average;
    span > 0.0 && average / span * 100.0 < percent
}

#[cfg(test)]
mod tests {
    use super::{History, Rules, due};

    const OFF: Rules = Rules {
        interval: 0,
        seconds: 0,
        overhead: 0.0,
    };

    #[test]
    fn nothing_configured_means_never_unless_halting() {
        let history = History {
            calls: 7,
            since_last: 1e9,
            ..History::default()
        };
        assert!(!due(&OFF, &history, false));
        assert!(due(&OFF, &history, true));
    }

    #[test]
    fn every_third_call() {
        let rules = Rules { interval: 3, ..OFF };
        let days: Vec<u64> = (1..=9)
            .filter(|&calls| {
                due(
                    &rules,
                    &History {
                        calls,
                        ..History::default()
                    },
                    false,
                )
            })
            .collect();
        assert_eq!(days, [3, 6, 9]);
    }

    #[test]
    fn seconds_since_the_last() {
        let rules = Rules { seconds: 60, ..OFF };
        let at = |since_last| {
            due(
                &rules,
                &History {
                    since_last,
                    ..History::default()
                },
                false,
            )
        };
        assert!(!at(59.9));
        assert!(at(60.0));
    }

    #[test]
    fn overhead_waits_until_the_average_is_paid_for() {
        let rules = Rules {
            overhead: 10.0,
            ..OFF
        };
        let at = |checkpoints, since_last| {
            due(
                &rules,
                &History {
                    calls: 1,
                    checkpoints,
                    cost: 2.0,
                    since_last,
                },
                false,
            )
        };
        assert!(at(0, 0.0), "the first is made at once, to learn its cost");
        assert!(!at(1, 18.0), "2 / 20 is 10 percent, not less");
        assert!(at(1, 18.1));
        assert!(!at(1, 0.0));
    }
}
