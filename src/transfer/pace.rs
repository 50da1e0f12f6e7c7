//! Keeps a background transfer within its share of bandwidth and processor time.

use super::worker::Cancel;
use crate::system::time::Instant;
use crate::system::time::sleep;
use crate::{Error, Result};
use std::cell::Cell;
use std::time::Duration;

/// Longest pause before the transfer looks whether it was cancelled.
const LONGEST_NAP: Duration = Duration::from_millis(20);

/// Time by which a transfer that was held up may run ahead of its bandwidth, to catch up.
const CREDIT: Duration = Duration::from_millis(100);

/// Limits of a background transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Bytes per second; 0 for no limit.
    pub bandwidth: u64,
    /// Share of time in which it works, percent; 0 or 100 for no limit.
    pub percent: f64,
}

impl Limits {
    /// The size of the pieces in which a file is copied, bytes, so that pauses are short and no
    /// second gets much more than its share: at most `most`.
    pub fn piece(&self, most: usize) -> usize {
        let share = match self.bandwidth {
            0 => usize::MAX,
            bandwidth => usize::try_from(bandwidth / 50).unwrap_or(usize::MAX),
        };
        most.min(4 << 20).min(share.max(64 << 10))
    }
}

/// The pace of one transfer.
pub struct Pace<'a> {
    limits: Cell<Limits>,
    cancel: &'a Cancel,
    /// The time at which the next piece may start, by the bandwidth.
    due: Cell<Instant>,
    /// The time at which the work on the present piece began.
    begun: Cell<Instant>,
}

impl<'a> Pace<'a> {
    /// The pace of a transfer that begins now.
    pub fn new(limits: Limits, cancel: &'a Cancel) -> Self {
        let now = Instant::now();
        Pace {
            limits: Cell::new(limits),
            cancel,
            due: Cell::new(now),
            begun: Cell::new(now),
        }
    }

    /// Like [`Pace::after`], with limits that may change, also during the wait. After a change, the debt by the
    /// old limits is forgotten.
    pub fn after_within(&self, bytes: u64, now: impl Fn() -> Limits) -> Result<()> {
        self.limits.set(now());
        self.wait(bytes, || now() == self.limits.get())
    }

    /// Waits, after a piece of `bytes` was moved, until the next piece may start.
    ///
    /// # Errors
    /// The transfer was cancelled.
    pub fn after(&self, bytes: u64) -> Result<()> {
        self.wait(bytes, || true)
    }

    fn wait(&self, bytes: u64, holds: impl Fn() -> bool) -> Result<()> {
        let now = Instant::now();
        let limits = self.limits.get();
        let mut until = now;
        if limits.bandwidth > 0 {
            let cost = Duration::from_secs_f64(bytes as f64 / limits.bandwidth as f64);
            let earliest = now.checked_sub(CREDIT).unwrap_or(now);
            let due = self.due.get().max(earliest) + cost;
            self.due.set(due);
            until = until.max(due);
        }
        let share = limits.percent / 100.0;
        if share > 0.0 && share < 1.0 {
            let worked = now.saturating_duration_since(self.begun.get());
            until = until.max(now + worked.mul_f64((1.0 - share) / share));
        }
        loop {
            if self.cancel.is_cancelled() {
                let interrupted = std::io::ErrorKind::Interrupted.into();
                return Err(Error::io("go on with", "a cancelled transfer", interrupted));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if !holds() {
                self.due.set(Instant::now());
                break;
            }
            sleep(left.min(LONGEST_NAP));
        }
        self.begun.set(Instant::now());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only lower bounds: a busy machine may take longer.
    #[test]
    fn pieces_take_at_least_the_time_of_their_bandwidth() {
        let cancel = Cancel::default();
        let limits = Limits {
            bandwidth: 10 << 20,
            percent: 0.0,
        };
        let pace = Pace::new(limits, &cancel);
        let begun = Instant::now();
        for _ in 0..4 {
            pace.after(256 << 10).unwrap();
        }
        assert!(begun.elapsed() >= Duration::from_millis(99));
        assert_eq!(limits.piece(32 << 20), (10 << 20) / 50);
        let slowest = Limits {
            bandwidth: 1,
            ..limits
        };
        assert_eq!(slowest.piece(32 << 20), 64 << 10);
        assert_eq!(
            Limits {
                bandwidth: 0,
                ..limits
            }
            .piece(1 << 20),
            1 << 20
        );
    }

    #[test]
    fn a_share_of_time_is_followed_by_a_pause() {
        let cancel = Cancel::default();
        let limits = Limits {
            bandwidth: 0,
            percent: 25.0,
        };
        let pace = Pace::new(limits, &cancel);
        sleep(Duration::from_millis(10));
        let begun = Instant::now();
        pace.after(1).unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(30));
    }

    #[test]
    fn a_cancelled_transfer_does_not_go_on() {
        let cancel = Cancel::default();
        let limits = Limits {
            bandwidth: 1,
            percent: 0.0,
        };
        let pace = Pace::new(limits, &cancel);
        cancel.cancel();
        assert!(pace.after(1 << 30).is_err());
    }

    /// An hour with the old limits.
    #[test]
    fn new_limits_end_a_wait_and_old_ones_hold() {
        let cancel = Cancel::default();
        let slow = |bandwidth| Limits {
            bandwidth,
            percent: 0.0,
        };
        let pace = Pace::new(slow(1 << 20), &cancel);
        let begun = Instant::now();
        pace.after_within(100 << 10, || slow(1 << 20)).unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(90));
        let calls = Cell::new(0);
        let faster = || {
            calls.set(calls.get() + 1);
            slow(if calls.get() < 3 { 1 << 10 } else { 1 << 30 })
        };
        pace.after_within(3600 << 10, faster).unwrap();
        assert_eq!(calls.get(), 3);
        // Nothing is owed any more.
        pace.after_within(1, || slow(1 << 30)).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(3000));
    }
}
