//! What a run has done so far, for the summary in `SCR_Finalize`.

use super::Session;
use super::run::Run;
use crate::events::Severity;
use crate::format::Dataset;
use crate::text::{bytes, counted};
use std::time::{Duration, Instant};

/// Counts of a run. The same on all ranks, except for times.
pub(super) struct Statistics {
    begun: Instant,
    /// Time that the program has waited for SCR.
    blocked: Duration,
    written: Amount,
    flushed: Amount,
    restarts: usize,
}

/// A number of datasets, and the bytes of their files.
#[derive(Default)]
struct Amount {
    datasets: usize,
    bytes: u64,
}

impl Amount {
    fn add(&mut self, dataset: &Dataset) {
        self.datasets += 1;
        self.bytes = self.bytes.saturating_add(dataset.size.unwrap_or(0));
    }

    fn words(&self) -> String {
        format!(
            "{} ({})",
            counted(self.datasets, "dataset"),
            bytes(self.bytes)
        )
    }
}

impl Statistics {
    /// At the beginning of a run.
    pub fn new() -> Self {
        Statistics {
            begun: Instant::now(),
            blocked: Duration::ZERO,
            written: Amount::default(),
            flushed: Amount::default(),
            restarts: 0,
        }
    }

    /// When the run began.
    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// Counts a dataset that the program has completed.
    pub fn count_written(&mut self, dataset: &Dataset) {
        self.written.add(dataset);
    }

    /// Counts a dataset that was copied to the prefix directory.
    pub fn count_flushed(&mut self, dataset: &Dataset) {
        self.flushed.add(dataset);
    }

    /// Counts a checkpoint that all ranks have read.
    pub fn count_restart(&mut self) {
        self.restarts += 1;
    }

    /// Reports the counts. Local.
    pub fn tell(&self, run: &Run) {
        let text = format!(
            "summary: {} written, {} flushed, {}; {:.3} s of {:.3} s spent in SCR",
            self.written.words(),
            self.flushed.words(),
            counted(self.restarts, "restart"),
            self.blocked.as_secs_f64(),
            self.begun.elapsed().as_secs_f64()
        );
        run.tell_once(Severity::Debug(1), text);
    }
}

impl Session {
    /// Adds to the time that the program has waited for SCR. Local.
    pub fn add_blocked(&mut self, time: Duration) {
        self.statistics.blocked += time;
    }
}
