//! The times of each dataset, from the records of its transfers.

use scr_engine::events::Event;
use scr_engine::log::Record;
use std::collections::HashMap;

/// Time and size of one transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moved {
    pub seconds: Option<f64>,
    pub bytes: Option<f64>,
}

impl Moved {
    fn of(record: &Record) -> Self {
        Moved {
            seconds: record.secs,
            bytes: record.bytes,
        }
    }

    /// Bytes a second.
    pub fn rate(&self) -> Option<f64> {
        let seconds = self.seconds.filter(|seconds| *seconds > 0.0)?;
        Some(self.bytes? / seconds)
    }
}

/// A dataset that a run has written, flushed or fetched.
#[derive(Debug, Clone, Default)]
pub(super) struct Dataset {
    pub id: u64,
    pub name: Option<String>,
    /// The number of the run, from 0.
    pub run: usize,
    /// The time of the first record of the dataset, seconds since 1970.
    pub time: i64,
    pub is_output: bool,
    pub files: Option<u64>,
    pub bytes: Option<f64>,
    /// The program's own writing of the files, without the time that SCR took.
    pub program: Option<Moved>,
    /// The writing of the dataset, with its redundancy.
    pub written: Option<Moved>,
    /// The making of the redundancy.
    pub encoded: Option<Moved>,
    /// The redundancy scheme.
    pub scheme: Option<String>,
    /// The place to which it was written.
    pub store: Option<String>,
    /// True if it was written in the prefix directory.
    pub bypass: bool,
    /// The copy to the prefix directory, if the program waited for it.
    pub flushed: Option<Moved>,
    /// The copy to the prefix directory in the background.
    pub flushed_behind: Option<Moved>,
    /// The copy from the prefix directory.
    pub fetched: Option<Moved>,
}

/// All datasets, in the order of their first records.
#[derive(Default)]
pub(super) struct Datasets {
    pub all: Vec<Dataset>,
    /// The newest dataset with each id.
    newest: HashMap<u64, usize>,
}

impl Datasets {
    /// Takes a record of the run with the number `run`.
    pub fn add(&mut self, run: usize, record: &Record) {
        let Some(id) = record.dset else {
            return;
        };
        let begins = matches!(record.event, Event::CheckpointStart | Event::OutputStart);
        let fetched = record.event == Event::Fetch;
        let moves = matches!(
            record.event,
            Event::Checkpoint
                | Event::Output
                | Event::Write
                | Event::Encode
                | Event::FlushSync
                | Event::FlushAsync
        );
        if !(begins || fetched || moves) {
            return;
        }
        let known = self.newest.get(&id).copied();
        // A fetch in another run than the one that wrote the dataset has a line of its own.
        let is_of = |at: &usize| !fetched || self.all.get(*at).is_some_and(|one| one.run == run);
        let number = match known.filter(|at| !begins && is_of(at)) {
            Some(number) => number,
            None => {
                self.all.push(Dataset {
                    id,
                    run,
                    time: record.time,
                    ..Dataset::default()
                });
                self.newest.insert(id, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        if let Some(dataset) = self.all.get_mut(number) {
            dataset.take(record);
        }
    }
}

impl Dataset {
    fn take(&mut self, record: &Record) {
        if self.name.is_none() {
            self.name.clone_from(&record.name);
        }
        self.bytes = record.bytes.or(self.bytes);
        self.files = record.files.or(self.files);
        let moved = Some(Moved::of(record));
        match record.event {
            Event::CheckpointStart => self.store.clone_from(&record.note),
            Event::OutputStart => {
                self.is_output = true;
                self.store.clone_from(&record.note);
            }
            Event::Checkpoint | Event::Output => {
                self.is_output = record.event == Event::Output;
                self.written = moved;
                self.bypass = record.from.is_some() && record.from == record.to;
                if record.from.is_some() {
                    self.store.clone_from(&record.from);
                }
            }
            Event::Encode => {
                self.encoded = moved;
                self.scheme.clone_from(&record.note);
            }
            Event::Write => self.program = moved,
            Event::FlushSync => self.flushed = moved,
            Event::FlushAsync => self.flushed_behind = moved,
            Event::Fetch => self.fetched = moved,
            _ => {}
        }
    }

    /// The redundancy scheme in words.
    pub fn scheme_text(&self) -> &str {
        match &self.scheme {
            _ if self.bypass => "none (bypass)",
            Some(scheme) => scheme,
            None => "not recorded",
        }
    }
}
