//! Clocks, and sleep. See [`std::time`].

use super::scheduler;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A time of the virtual clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

impl Instant {
    /// Now.
    pub fn now() -> Self {
        Instant(scheduler::now().unwrap_or_default())
    }

    /// The time since this instant.
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// The time since `earlier`, or zero.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The time since `earlier`, or zero.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }

    /// A later time.
    pub fn checked_add(&self, by: Duration) -> Option<Instant> {
        self.0.checked_add(by).map(Instant)
    }

    /// An earlier time.
    pub fn checked_sub(&self, by: Duration) -> Option<Instant> {
        self.0.checked_sub(by).map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, by: Duration) -> Instant {
        Instant(self.0 + by)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, by: Duration) {
        self.0 += by;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, by: Duration) -> Instant {
        Instant(self.0 - by)
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}

/// A time that the clock of a process shows: since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemTime(Duration);

/// The beginning of 1970.
pub const UNIX_EPOCH: SystemTime = SystemTime(Duration::ZERO);

/// The time at which simulations begin, as seconds since 1970; any time will do.
const BEGIN: Duration = Duration::from_secs(1_750_000_000);

impl SystemTime {
    /// Now.
    pub fn now() -> Self {
        SystemTime(BEGIN + scheduler::wall_time().unwrap_or_default())
    }

    /// A later time.
    pub fn checked_add(&self, by: Duration) -> Option<SystemTime> {
        self.0.checked_add(by).map(SystemTime)
    }

    /// The time since `earlier`; the time until then if that is later.
    pub fn duration_since(&self, earlier: SystemTime) -> Result<Duration, Duration> {
        let since = self.0.checked_sub(earlier.0);
        since.ok_or_else(|| earlier.0 - self.0)
    }
}

impl Add<Duration> for SystemTime {
    type Output = SystemTime;
    fn add(self, by: Duration) -> SystemTime {
        SystemTime(self.0 + by)
    }
}

/// Waits for a time.
pub fn sleep(time: Duration) {
    if let Some(now) = scheduler::now() {
        let until = now.saturating_add(time);
        while scheduler::now().is_some_and(|now| now < until) {
            // Nobody wakes this key.
            scheduler::wait(0, Some(until));
        }
    }
}
