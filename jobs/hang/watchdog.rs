//! Decides whether a run still makes progress (`SCR_WATCHDOG`).

use scr_engine::format::flush_file::{FLUSHING, FlushFile, SYNC_FLUSHING};
use std::time::Duration;

/// Time that a run may go without progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Limit without a new dataset (`SCR_WATCHDOG_TIMEOUT`).
    pub cache: Duration,
    /// Limit while the prefix directory is read or written (`SCR_WATCHDOG_TIMEOUT_PFS`).
    pub prefix: Duration,
}

/// Watches one launch. Any change of the flush file counts as progress: the library enters each
/// dataset there, and its locations.
#[derive(Debug)]
pub struct Watchdog {
    limits: Limits,
    before: u64,
    seen: Option<FlushFile>,
    still: Duration,
}

impl Watchdog {
    /// Starts with the content of the flush file before the launch.
    pub fn new(limits: Limits, before: Option<FlushFile>) -> Self {
        Watchdog {
            limits,
            before: newest(&before),
            seen: before,
            still: Duration::ZERO,
        }
    }

    /// Time between two calls of [`Watchdog::look`].
    pub fn interval(&self) -> Duration {
        let shortest = self.limits.cache.min(self.limits.prefix);
        (shortest / 10).clamp(Duration::from_millis(200), Duration::from_secs(10))
    }

    /// Compares with the current flush file (`None` if it cannot be read). `passed` is the time
    /// since the last call; if it is longer than two intervals, only two count, since the watchdog
    /// itself was late. Returns true if the run made no progress for too long.
    pub fn look(&mut self, now: Option<FlushFile>, passed: Duration) -> bool {
        if now.is_some() && now != self.seen {
            self.seen = now;
            self.still = Duration::ZERO;
            return false;
        }
        self.still += passed.min(self.interval() * 2);
        self.still > self.limit()
    }

    /// The limit that holds now. Before the first new dataset, the program may still be reading its
    /// checkpoint from the prefix directory.
    pub fn limit(&self) -> Duration {
        let last = self
            .seen
            .as_ref()
            .and_then(|seen| seen.datasets.values().last());
        let flushes = last.is_some_and(|entry| entry.is_at(SYNC_FLUSHING) || entry.is_at(FLUSHING));
        match flushes {
            true => self.limits.prefix,
            false if newest(&self.seen) <= self.before => self.limits.cache.max(self.limits.prefix),
            false => self.limits.cache,
        }
    }
}

/// The highest dataset id; 0 without a dataset.
fn newest(file: &Option<FlushFile>) -> u64 {
    let last = file.as_ref().and_then(|file| file.datasets.keys().last());
    last.copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scr_engine::format::flush_file::FlushEntry;

    const LIMITS: Limits = Limits {
        cache: Duration::from_secs(10),
        prefix: Duration::from_secs(30),
    };
    const SECOND: Duration = Duration::from_secs(1);

    fn file(id: u64, place: &str) -> Option<FlushFile> {
        let entry = FlushEntry {
            locations: [place.into()].into(),
            ..FlushEntry::default()
        };
        Some(FlushFile {
            datasets: [(id, entry)].into(),
        })
    }

    /// Seconds until the watchdog reports a hang.
    fn seconds_until_alarm(watchdog: &mut Watchdog, now: &Option<FlushFile>) -> usize {
        (1..100)
            .find(|_| watchdog.look(now.clone(), SECOND))
            .unwrap()
    }

    #[test]
    fn the_limit_depends_on_what_the_run_does() {
        let mut watchdog = Watchdog::new(LIMITS, None);
        assert_eq!(
            seconds_until_alarm(&mut watchdog, &None),
            31,
            "the start may read the prefix directory"
        );
        let mut watchdog = Watchdog::new(LIMITS, file(1, "CACHE"));
        assert!(!watchdog.look(file(2, "CACHE"), SECOND));
        assert_eq!(seconds_until_alarm(&mut watchdog, &file(2, "CACHE")), 11);
        assert!(!watchdog.look(file(2, SYNC_FLUSHING), SECOND));
        assert_eq!(
            seconds_until_alarm(&mut watchdog, &file(2, SYNC_FLUSHING)),
            31
        );
    }

    #[test]
    fn each_change_is_progress() {
        let mut watchdog = Watchdog::new(LIMITS, None);
        for id in 1..100 {
            assert!(!watchdog.look(file(id, "CACHE"), SECOND * 9));
        }
        // A file that is damaged or being replaced is ignored.
        assert!(!watchdog.look(None, SECOND));
    }

    #[test]
    fn a_delay_of_the_watchdog_does_not_count() {
        let mut watchdog = Watchdog::new(LIMITS, None);
        watchdog.look(file(1, "CACHE"), SECOND);
        assert!(!watchdog.look(file(1, "CACHE"), SECOND * 1000));
    }
}
