//! Decides when a checkpoint is due (`SCR_Need_checkpoint`).

use super::interval::Formula;

/// The user's rules. Zero switches a rule off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// `SCR_CHECKPOINT_INTERVAL`: a checkpoint after this many calls of `SCR_Need_checkpoint`.
    pub interval: u64,
    /// `SCR_CHECKPOINT_SECONDS`: the most seconds between two checkpoints.
    pub seconds: u64,
    /// `SCR_CHECKPOINT_OVERHEAD`: largest share of checkpoints in the run time, percent.
    pub overhead: f64,
    /// `SCR_CHECKPOINT_INTERVAL=auto`: the mean time between failures, seconds. `None` switches the
    /// rule off.
    pub between_failures: Option<f64>,
}

impl Rules {
    /// True if any rule is on.
    pub fn any(&self) -> bool {
        self.interval > 0
            || self.seconds > 0
            || self.overhead > 0.0
            || self.between_failures.is_some()
    }
}

/// The events of this run so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct History {
    /// Calls of `SCR_Need_checkpoint`, this one included.
    pub calls: u64,
    /// Checkpoints made.
    pub checkpoints: u64,
    /// Seconds spent in checkpoints, without their flushes.
    pub cost: f64,
    /// Seconds that the program has waited for checkpoints, with their flushes.
    pub waited: f64,
    /// Seconds since the program went on after the last checkpoint and its flush.
    pub computed: f64,
    /// Seconds since the end of the last checkpoint, or since the start of the run.
    pub since_last: f64,
}

/// The best time between two checkpoints, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Best {
    /// Seconds from the end of a checkpoint to the beginning of the next one.
    pub seconds: f64,
    /// Seconds that the program waits for one, on average.
    pub cost: f64,
    /// True if the interval would be shorter without [`Rules::overhead`].
    pub limited: bool,
}

/// The best time between two checkpoints by the formula of Daly; `None` if it is not wanted, or before
/// the first checkpoint, when the cost is not known.
pub fn best(rules: &Rules, history: &History) -> Option<Best> {
    let between = rules.between_failures?;
    if history.checkpoints == 0 {
        return None;
    }
    let cost = history.waited / history.checkpoints as f64;
    let best = Formula::Daly.interval(cost, between);
    let least = if rules.overhead > 0.0 {
        cost * (100.0 / rules.overhead - 1.0)
    } else {
        0.0
    };
    Some(Best {
        seconds: best.max(least),
        cost,
        limited: least > best,
    })
}

/// True if a checkpoint is due. If a halt condition holds (`halting`), one is due at once, so that
/// no work is lost.
pub fn due(rules: &Rules, history: &History, halting: bool) -> bool {
    halting
        || (rules.interval > 0 && history.calls.is_multiple_of(rules.interval))
        || (rules.seconds > 0 && history.since_last >= rules.seconds as f64)
        || match rules.between_failures {
            // The first one is made at once, to learn its cost.
            Some(_) => best(rules, history).is_none_or(|best| history.computed >= best.seconds),
            None => rules.overhead > 0.0 && affordable(rules.overhead, history),
        }
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
    use super::{Best, History, Rules, best, due};

    const OFF: Rules = Rules {
        interval: 0,
        seconds: 0,
        overhead: 0.0,
        between_failures: None,
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
                    ..History::default()
                },
                false,
            )
        };
        assert!(at(0, 0.0), "the first is made at once, to learn its cost");
        assert!(!at(1, 18.0), "2 / 20 is 10 percent, not less");
        assert!(at(1, 18.1));
        assert!(!at(1, 0.0));
    }

    /// Four checkpoints; the program has waited 2 s for each, a half of it for flushes.
    const FOUR: History = History {
        calls: 9,
        checkpoints: 4,
        cost: 4.0,
        waited: 8.0,
        since_last: 1.0,
        computed: 0.0,
    };

    #[test]
    fn the_best_interval_is_from_what_the_program_waits() {
        let rules = Rules {
            between_failures: Some(100.0),
            ..OFF
        };
        let found = best(&rules, &FOUR).unwrap();
        let by_hand = 20.0 * (1.0 + 0.1 / 3.0 + 0.01 / 9.0) - 2.0;
        assert!((found.seconds - by_hand).abs() < 1e-9, "{found:?}");
        assert_eq!((found.cost, found.limited), (2.0, false));
        let at = |computed| due(&rules, &History { computed, ..FOUR }, false);
        assert!(!at(0.0) && !at(by_hand - 0.001) && at(by_hand + 0.001));
        let none = History::default();
        assert_eq!(best(&rules, &none), None);
        assert!(due(&rules, &none, false), "the first one teaches the cost");
        assert_eq!(best(&OFF, &FOUR), None);
    }

    #[test]
    fn the_share_limits_the_best_interval() {
        let rules = |overhead| Rules {
            between_failures: Some(100.0),
            overhead,
            ..OFF
        };
        // 2 s of 100 s.
        let expected = Best {
            seconds: 98.0,
            cost: 2.0,
            limited: true,
        };
        assert_eq!(best(&rules(2.0), &FOUR), Some(expected));
        let at = |overhead, computed| due(&rules(overhead), &History { computed, ..FOUR }, false);
        assert!(!at(2.0, 97.9) && at(2.0, 98.0));
        // 10.02 % is the share of the best interval.
        assert!(!best(&rules(50.0), &FOUR).unwrap().limited);
        assert!(!best(&rules(100.0), &FOUR).unwrap().limited);
        assert!(!at(50.0, 2.1));
    }

    #[test]
    fn other_rules_count_beside_the_best_interval() {
        let rules = Rules {
            between_failures: Some(1e9),
            seconds: 60,
            ..OFF
        };
        let at = |since_last| due(&rules, &History { since_last, ..FOUR }, false);
        assert!(!at(59.0) && at(60.0));
        assert!(due(&rules, &FOUR, true), "halting");
    }
}
