//! Failed operations of SCR: flushes, checkpoints, output, fetches and rebuilds.

use scr_engine::events::Event;
use scr_engine::log::Record;

/// An operation that failed.
#[derive(Debug, Clone)]
pub(super) struct FailedOperation {
    /// The number of the run, from 0.
    pub run: usize,
    /// Seconds since 1970.
    pub at: f64,
    pub what: &'static str,
    pub id: Option<u64>,
    pub name: Option<String>,
    pub why: Option<String>,
}

impl FailedOperation {
    /// The operation in a record of the run with this number; `None` if the record tells of no failure.
    pub fn of(run: usize, record: &Record) -> Option<Self> {
        let what = match record.event {
            Event::FlushFail => "flush",
            Event::AsyncFlushFail => "flush in the background",
            Event::CheckpointFail => "checkpoint",
            Event::OutputFail => "output",
            Event::FetchFail => "fetch",
            Event::RebuildFail => "rebuild",
            _ => return None,
        };
        Some(FailedOperation {
            run,
            at: record.at(),
            what,
            id: record.dset,
            name: record.name.clone(),
            why: record.note.clone(),
        })
    }

    /// True for a flush.
    pub fn is_flush(&self) -> bool {
        self.what.starts_with("flush")
    }

    /// The dataset of the operation, in words.
    pub fn dataset(&self) -> String {
        match (self.id, &self.name) {
            (Some(id), Some(name)) => format!("{id} ({name})"),
            (Some(id), None) => id.to_string(),
            (None, name) => name.clone().unwrap_or_else(|| "-".to_string()),
        }
    }
}
