//! The datasets and times of a run so far, for the summary in `SCR_Finalize`.

use crate::events::{Event, Severity};
use crate::format::Dataset;
use crate::log::Record;
use crate::policy::halt::FINALIZED;
use crate::session::run::Run;
use crate::system::time::Instant;
use crate::text::{at_rate, counted};
use std::time::Duration;

/// Counts of a run. The same on all ranks, except for times.
pub(super) struct Statistics {
    begun: Instant,
    /// Time that the program has waited for SCR.
    blocked: Duration,
    computed: Duration,
    /// Since when the program computes, if it does.
    computing: Option<Instant>,
    checkpoints: Amount,
    output: Amount,
    /// Flushes while the program waited.
    flushed: Amount,
    /// Flushes in the background.
    flushed_behind: Amount,
    /// Time that the program waited for these flushes.
    held_up: Duration,
    recovered: Amount,
    fetched: Amount,
    restarts: usize,
}

/// A number of datasets, the bytes of their files, and how long they took.
#[derive(Default)]
struct Amount {
    datasets: usize,
    bytes: u64,
    time: Duration,
}

impl Amount {
    fn add(&mut self, dataset: &Dataset, time: Duration) {
        self.datasets += 1;
        self.bytes = self.bytes.saturating_add(dataset.size.unwrap_or(0));
        self.time += time;
    }

    fn words(&self) -> String {
        let datasets = counted(self.datasets, "dataset");
        match self.datasets {
            0 => datasets,
            _ => format!(
                "{datasets}, {}",
                at_rate(self.bytes, self.time.as_secs_f64())
            ),
        }
    }
}

impl Statistics {
    /// The statistics at the beginning of a run.
    pub fn new() -> Self {
        Statistics {
            begun: Instant::now(),
            blocked: Duration::ZERO,
            computed: Duration::ZERO,
            computing: None,
            checkpoints: Amount::default(),
            output: Amount::default(),
            flushed: Amount::default(),
            flushed_behind: Amount::default(),
            held_up: Duration::ZERO,
            recovered: Amount::default(),
            fetched: Amount::default(),
            restarts: 0,
        }
    }

    /// Adds the time since `begun` to that in which the program has waited for SCR. The run began with the
    /// first of these times.
    pub fn add_blocked(&mut self, begun: Instant) {
        self.begun = self.begun.min(begun);
        self.blocked += begun.elapsed();
    }

    /// True if the program computes now.
    pub fn is_computing(&self) -> bool {
        self.computing.is_some()
    }

    /// Records that the program computes from now on. Local.
    pub fn compute_starts(&mut self, run: &Run) {
        self.computing = Some(Instant::now());
        run.log(Event::ComputeStart, |record| record);
    }

    /// Records that the program has computed until `now`. Local.
    pub fn compute_ends(&mut self, run: &Run, now: Instant) {
        if let Some(begun) = self.computing.take() {
            let time = now.saturating_duration_since(begun);
            self.computed += time;
            run.log(Event::ComputeEnd, |record| Record {
                secs: Some(time.as_secs_f64()),
                ..record
            });
        }
    }

    /// Records that the run ends by itself, waits for the log for a short time, and reports the number
    /// of lost records. `why` is the call of the program. Local.
    pub fn log_end(&mut self, run: &Run, why: Option<&str>) {
        self.compute_ends(run, Instant::now());
        if why.is_none() {
            run.log(Event::Halt, |record| record.note(FINALIZED));
        }
        let seconds = self.begun.elapsed().as_secs_f64();
        run.log(Event::End, |record| Record {
            note: why.map(str::to_string),
            secs: Some(seconds),
            ..record
        });
        if let Some(log) = &run.log {
            log.close();
        }
    }

    /// Counts a dataset that the program has completed since `begun`.
    pub fn count_written(&mut self, dataset: &Dataset, begun: Instant) {
        let amount = if dataset.is_checkpoint() {
            &mut self.checkpoints
        } else {
            &mut self.output
        };
        amount.add(dataset, begun.elapsed());
    }

    /// Counts a dataset that was copied to the prefix directory since `begun`, while the program waited.
    pub fn count_flushed(&mut self, dataset: &Dataset, begun: Instant) {
        self.flushed.add(dataset, begun.elapsed());
    }

    /// Counts a dataset that was copied in the background. The program has waited for it for the time `held_up`.
    pub fn count_flushed_behind(&mut self, dataset: &Dataset, begun: Instant, held_up: Duration) {
        self.flushed_behind.add(dataset, begun.elapsed());
        self.held_up += held_up;
    }

    /// Counts a dataset that was checked, and rebuilt if needed, in the cache since `begun`.
    pub fn count_recovered(&mut self, dataset: &Dataset, begun: Instant) {
        self.recovered.add(dataset, begun.elapsed());
    }

    /// Counts a dataset that was read from the prefix directory since `begun`.
    pub fn count_fetched(&mut self, dataset: &Dataset, begun: Instant) {
        self.fetched.add(dataset, begun.elapsed());
    }

    /// Counts a checkpoint that all ranks have read.
    pub fn count_restart(&mut self) {
        self.restarts += 1;
    }

    /// Reports the counts. Local.
    pub fn tell(&self, run: &Run) {
        let all = self.begun.elapsed().as_secs_f64();
        let of_all = |time: Duration| {
            let seconds = time.as_secs_f64();
            format!("{seconds:.3} s, {:.1} %", seconds / all.max(1e-9) * 100.0)
        };
        let behind = format!(
            "{}, of which the program was held up {:.3} s",
            self.flushed_behind.words(),
            self.held_up.as_secs_f64()
        );
        let Statistics {
            flushed,
            flushed_behind,
            recovered,
            fetched,
            ..
        } = self;
        let lines = [
            ("run time", true, format!("{all:.3} s")),
            ("computation", true, of_all(self.computed)),
            ("in SCR", true, of_all(self.blocked)),
            ("checkpoints", true, self.checkpoints.words()),
            (
                "other output",
                self.output.datasets > 0,
                self.output.words(),
            ),
            ("flushed", flushed.datasets > 0, flushed.words()),
            ("in background", flushed_behind.datasets > 0, behind),
            ("recovered", recovered.datasets > 0, recovered.words()),
            ("fetched", fetched.datasets > 0, fetched.words()),
            ("restarts", true, self.restarts.to_string()),
        ];
        for (name, _, text) in lines.into_iter().filter(|(_, shown, _)| *shown) {
            run.tell_once(Severity::Debug(1), format!("summary: {name:<13} {text}"));
        }
    }
}
