//! The runs of a log, from its records.

use super::datasets::Datasets;
use super::failed::FailedOperation;
use super::run::{Ending, Run};
use scr_engine::events::{Event, EventKind};
use scr_engine::log::Record;
use std::collections::{HashMap, HashSet};

/// Times and sizes of more than this are damage: 300 years, and a million exabytes.
const MOST_SECONDS: f64 = 1e10;
const MOST_BYTES: f64 = 1e24;

/// The contents of a log. Records come in the order of the log.
#[derive(Default)]
pub(super) struct History {
    /// The runs in the order of their beginnings.
    pub runs: Vec<Run>,
    pub datasets: Datasets,
    pub failed: Vec<FailedOperation>,
    /// Seconds in which commands saved datasets from the caches.
    pub scavenges: f64,
    /// Seconds without progress of each run that was ended for that. It need not have other records.
    pub hangs: Vec<f64>,
    pub records: u64,
    /// Records of events that SCR does not write.
    pub other: u64,
    /// The last run of each job.
    last: HashMap<String, usize>,
    /// Jobs, and nodes of theirs that failed.
    down: HashSet<(String, String)>,
}

impl History {
    pub fn add(&mut self, mut record: Record) {
        self.records += 1;
        record.secs = record.secs.filter(|seconds| *seconds < MOST_SECONDS);
        record.bytes = record.bytes.filter(|bytes| *bytes < MOST_BYTES);
        self.take(&record);
    }

    fn take(&mut self, record: &Record) {
        match record.event {
            Event::JobStart | Event::RunStart => {}
            Event::RunEnd => self.close(record, Some(record.at())),
            Event::JobEnd => self.close(record, None),
            Event::ScavengeStart => self.close(record, None),
            Event::ScavengeEnd => self.scavenges += record.secs.unwrap_or(0.0),
            Event::NodeFail => self.node_failed(record),
            Event::Hang => self.hung(record),
            Event::Start => {
                self.close(record, None);
                self.begin(record);
            }
            Event::Other(EventKind::Incident, _) | Event::Other(EventKind::Transfer, _) => {
                self.other += 1;
            }
            _ => {
                let number = match self.last.get(&record.job) {
                    Some(number) => *number,
                    None => self.begin(record),
                };
                if let Some(run) = self.runs.get_mut(number) {
                    run.take(record);
                }
                self.failed.extend(FailedOperation::of(number, record));
                self.datasets.add(number, record);
            }
        }
    }

    fn begin(&mut self, record: &Record) -> usize {
        let number = self.runs.len();
        self.runs.push(Run::begun(record));
        self.last.insert(record.job.clone(), number);
        number
    }

    fn of_job(&mut self, record: &Record) -> Option<&mut Run> {
        let number = *self.last.get(&record.job)?;
        self.runs.get_mut(number)
    }

    fn close(&mut self, record: &Record, at: Option<f64>) {
        if let Some(run) = self.of_job(record) {
            run.close(at);
        }
    }

    fn hung(&mut self, record: &Record) {
        let seconds = record.secs.unwrap_or(0.0);
        self.hangs.push(seconds);
        if let Some(run) = self.of_job(record) {
            run.hang = Some(seconds);
        }
    }

    /// A node is out of use before every later launch, and counts once for each job.
    fn node_failed(&mut self, record: &Record) {
        let Some(note) = &record.note else {
            return;
        };
        let node = note.split(':').next().unwrap_or_default();
        let new = self.down.insert((record.job.clone(), node.to_string()));
        if !new {
            return;
        }
        if let Some(run) = self.of_job(record) {
            run.node_failures.push(note.clone());
        }
    }

    /// The log has ended. `ended` says that no run goes on.
    ///
    /// Two runs cannot use a prefix directory at one time. So each run but the last one has ended,
    /// unless it has records that are newer than the beginning of the next run.
    pub fn end(&mut self, ended: bool) {
        let begins: Vec<f64> = self.runs.iter().map(|run| run.begin).collect();
        for (number, run) in self.runs.iter_mut().enumerate() {
            // The clock of a log may have whole seconds.
            let next = begins.get(number + 1);
            let followed = next.is_some_and(|next| *next + 1.0 >= run.end);
            if followed || ended {
                run.close(None)
            } else {
                run.end_of_log()
            }
        }
    }

    /// True if it is not known whether the last run goes on.
    pub fn goes_on(&self) -> bool {
        let last = self.runs.last();
        last.is_some_and(|run| run.ending == Some(Ending::Unknown))
    }
}
