//! Totals of a log: how often and how long.

use super::Record;
use crate::events::Event;

/// The number of events of one kind, and their total time in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TimeSum {
    /// Number of transfers.
    pub count: f64,
    /// Their total time.
    pub seconds: f64,
}

impl TimeSum {
    fn add(&mut self, line: &Record) {
        self.count += 1.0;
        self.seconds += line.secs.unwrap_or(0.0);
    }

    /// Mean time of one transfer, seconds; 0 without any.
    pub fn mean(self) -> f64 {
        self.seconds / self.count.max(1.0)
    }
}

/// The totals of a log.
#[derive(Debug, Default)]
pub struct Totals {
    /// Runs that began.
    pub starts: f64,
    /// Runs that did not end by themselves.
    pub failures: f64,
    /// A run has begun, and not ended by itself.
    running: bool,
    /// Fetches.
    pub fetch: TimeSum,
    /// Recoveries of the cache, with or without success.
    pub rebuild: TimeSum,
    /// Computation of the program.
    pub compute: TimeSum,
    /// Checkpoints, without their flushes.
    pub checkpoint: TimeSum,
    /// Flushes of checkpoints while the program waited.
    pub flush_checkpoint: TimeSum,
    /// Flushes of other output while the program waited.
    pub flush_output: TimeSum,
    in_checkpoint: bool,
}

impl Totals {
    /// Counts a record. They come in the order of the log.
    pub fn add(&mut self, record: &Record) {
        match record.event {
            Event::Start => {
                self.starts += 1.0;
                self.failures += f64::from(u8::from(self.running));
                self.running = true;
            }
            Event::End | Event::Halt => self.running = false,
            Event::ComputeStart => self.in_checkpoint = false,
            Event::CheckpointStart => self.in_checkpoint = true,
            Event::ComputeEnd => self.compute.add(record),
            Event::CheckpointEnd => self.checkpoint.add(record),
            Event::RestartSuccess | Event::RestartFail => self.rebuild.add(record),
            Event::Fetch => self.fetch.add(record),
            Event::FlushSync if self.in_checkpoint => self.flush_checkpoint.add(record),
            Event::FlushSync => self.flush_output.add(record),
            _ => {}
        }
    }

    /// Ends the count. Call this only if no run goes on now: a run without an end counts as failed.
    pub fn end(&mut self) {
        self.failures += f64::from(u8::from(self.running));
        self.running = false;
    }

    /// Mean time of a checkpoint, with its share of the flushes.
    pub fn cost(&self) -> f64 {
        (self.checkpoint.seconds + self.flush_checkpoint.seconds) / self.checkpoint.count.max(1.0)
    }

    /// Seconds of all runs.
    pub fn total(&self) -> f64 {
        let all = [
            self.fetch,
            self.rebuild,
            self.compute,
            self.checkpoint,
            self.flush_checkpoint,
            self.flush_output,
        ];
        all.iter().map(|sum| sum.seconds).sum()
    }

    /// Mean time from one failure to the next.
    pub fn between(&self) -> f64 {
        self.total() / self.failures.max(1.0)
    }
}
