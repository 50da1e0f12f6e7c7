//! Is a run still getting on? (`SCR_WATCHDOG`)

use crate::format::flush_file::{FLUSHING, FlushFile, SYNC_FLUSHING};
use std::time::Duration;

/// How long a run may stand still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Without a new dataset (`SCR_WATCHDOG_TIMEOUT`).
    pub cache: Duration,
    /// While the prefix directory is read or written (`SCR_WATCHDOG_TIMEOUT_PFS`).
    pub prefix: Duration,
}

/// Watches one launch. Progress is any change of the flush file, in which the library enters
/// each dataset and where it is.
#[derive(Debug)]
pub struct Watchdog {
    limits: Limits,
    before: u64,
    seen: Option<FlushFile>,
    still: Duration,
}

impl Watchdog {
    /// Begins with what the flush file says before the launch.
    pub fn new(limits: Limits, before: Option<FlushFile>) -> Self {
        Watchdog {
            limits,
            before: newest(&before),
            seen: before,
            still: Duration::ZERO,
        }
    }

    /// How often to look.
    pub fn interval(&self) -> Duration {
        let shortest = self.limits.cache.min(self.limits.prefix);
        (shortest / 10).clamp(Duration::from_millis(200), Duration::from_secs(10))
    }

    /// Takes what the flush file says now; `None` if it cannot be read. `passed` is the time
    /// since the last look. True if the run has stood still for too long. A look that comes late
    /// counts as one that came in time: then it was the watchdog that stood still.
    pub fn look(&mut self, now: Option<FlushFile>, passed: Duration) -> bool {
        if now.is_some() && now != self.seen {
            self.seen = now;
            self.still = Duration::ZERO;
            return false;
        }
        self.still += passed.min(self.interval() * 2);
        self.still > self.limit()
    }

    /// The limit that holds now. Until there is a new dataset the program starts, and may read
    /// its checkpoint from the prefix directory.
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

/// The highest id; 0 if there is no dataset.
fn newest(file: &Option<FlushFile>) -> u64 {
    let last = file.as_ref().and_then(|file| file.datasets.keys().last());
    last.copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::flush_file::FlushEntry;

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

    /// Seconds until it barks.
    fn patience(dog: &mut Watchdog, now: &Option<FlushFile>) -> usize {
        (1..100).find(|_| dog.look(now.clone(), SECOND)).unwrap()
    }

    #[test]
    fn it_waits_as_long_as_what_goes_on_may_take() {
        let mut dog = Watchdog::new(LIMITS, None);
        assert_eq!(
            patience(&mut dog, &None),
            31,
            "the start may read the prefix directory"
        );
        let mut dog = Watchdog::new(LIMITS, file(1, "CACHE"));
        assert!(!dog.look(file(2, "CACHE"), SECOND));
        assert_eq!(patience(&mut dog, &file(2, "CACHE")), 11);
        assert!(!dog.look(file(2, SYNC_FLUSHING), SECOND));
        assert_eq!(patience(&mut dog, &file(2, SYNC_FLUSHING)), 31);
    }

    #[test]
    fn each_change_is_progress() {
        let mut dog = Watchdog::new(LIMITS, None);
        for id in 1..100 {
            assert!(!dog.look(file(id, "CACHE"), SECOND * 9));
        }
        // A file that is just being replaced, or damaged, says nothing.
        assert!(!dog.look(None, SECOND));
    }

    #[test]
    fn its_own_standstill_is_not_the_run_s() {
        let mut dog = Watchdog::new(LIMITS, None);
        dog.look(file(1, "CACHE"), SECOND);
        assert!(!dog.look(file(1, "CACHE"), SECOND * 1000));
    }
}
