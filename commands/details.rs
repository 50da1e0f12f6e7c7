//! The details of a dataset in lists: its size, how long it took, and its checksums.

use super::call::Invocation;
use scr_engine::events::Event;
use scr_engine::format::Dataset;
use scr_engine::log::{Record, read_end};
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::rank2file;
use scr_engine::store::Files;
use scr_engine::text;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most of the event log that is read, bytes. The times of older datasets are not shown.
const MOST: u64 = 64 << 20;

/// The word in a table for an unknown value.
const UNKNOWN: &str = "-";

/// The word in a table for the kind of a dataset.
pub(super) fn kind(checkpoint: bool, output: bool) -> &'static str {
    match (checkpoint, output) {
        (true, true) => "CKPT,OUTPUT",
        (true, false) => "CKPT",
        (false, _) => "OUTPUT",
    }
}

/// A transfer in the event log.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Took {
    name: Option<String>,
    job: String,
    pub seconds: Option<f64>,
    /// Bytes a second.
    pub rate: Option<f64>,
}

/// The times that datasets took, by id: the newest record of each name and job.
#[derive(Default)]
pub(super) struct Times(BTreeMap<u64, Vec<Took>>);

impl Times {
    /// Reads the event log of a prefix directory: the transfers for which `wanted` is true. A log
    /// that cannot be read is only a warning.
    pub fn read(
        call: &mut Invocation,
        files: &dyn Files,
        prefix: &Prefix,
        wanted: impl Fn(&Record) -> bool,
    ) -> Self {
        let log = prefix.file("log");
        let mut times = Times::default();
        let read = read_end(files, &log, MOST, |record| {
            if wanted(&record) {
                times.add(record);
            }
        });
        match read {
            Ok(not_read) => {
                if let Some(text) = not_read.text() {
                    call.warn(&format!("{}: {text}", log.display()));
                }
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => call.warn(&format!("how long datasets took is not known: {error}")),
        }
        times
    }

    fn add(&mut self, record: Record) {
        let Some(id) = record.dset else { return };
        let took = Took {
            rate: record.rate(),
            name: record.name,
            job: record.job,
            seconds: record.secs,
        };
        let all = self.0.entry(id).or_default();
        all.retain(|other| (&other.name, &other.job) != (&took.name, &took.job));
        all.push(took);
    }

    /// The newest transfer of a dataset.
    pub fn of(&self, dataset: &Dataset) -> Option<&Took> {
        let (name, job) = (dataset.name.to_string(), dataset.jobid.to_string());
        let fits = |took: &&Took| {
            took.name.as_ref().is_none_or(|other| *other == name)
                && (job.is_empty() || took.job.is_empty() || took.job == job)
        };
        self.0.get(&dataset.id)?.iter().rev().find(fits)
    }
}

/// The program has written a dataset.
pub(super) fn is_written(record: &Record) -> bool {
    matches!(record.event, Event::Checkpoint | Event::Output)
}

/// A dataset has come to the prefix directory: by a flush, or by the program itself in bypass.
pub(super) fn is_saved(record: &Record) -> bool {
    match record.event {
        Event::FlushSync | Event::FlushAsync => true,
        _ => is_written(record) && record.from == record.to,
    }
}

/// Tells of how many files of a dataset the checksum is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Checksums {
    All,
    Some,
    None,
}

impl Checksums {
    /// `None` without files.
    pub fn of(recorded: u64, files: u64) -> Option<Self> {
        match (recorded, files) {
            (_, 0) => None,
            (0, _) => Some(Checksums::None),
            _ if recorded < files => Some(Checksums::Some),
            _ => Some(Checksums::All),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Checksums::All => "all",
            Checksums::Some => "some",
            Checksums::None => "none",
        }
    }
}

/// The details of a dataset, as far as they are known.
#[derive(Default)]
pub(super) struct Details {
    pub files: Option<u64>,
    pub bytes: Option<u64>,
    pub ranks: Option<u64>,
    pub seconds: Option<f64>,
    /// Bytes a second.
    pub rate: Option<f64>,
    pub checksums: Option<Checksums>,
}

impl Details {
    /// The headings of [`Details::cells`].
    pub const HEADINGS: [&str; 6] = ["RANKS", "FILES", "SIZE", "SECONDS", "RATE", "CHECKSUMS"];

    /// The details of a dataset, without ranks and checksums.
    pub fn of(dataset: &Dataset, took: Option<&Took>) -> Self {
        Details {
            files: dataset.files,
            bytes: dataset.size,
            seconds: took.and_then(|took| took.seconds),
            rate: took.and_then(|took| took.rate),
            ..Details::default()
        }
    }

    /// Adds the facts in the rank2file of a dataset in the prefix directory, if it is there.
    pub fn with_rank2file(
        self,
        call: &mut Invocation,
        files: &dyn Files,
        prefix: &Prefix,
        id: u64,
    ) -> Self {
        let dir = prefix.dataset(id);
        let (mut all, mut recorded) = (0, 0);
        let read = rank2file::ranks(files, &dir).and_then(|ranks| {
            rank2file::for_each(files, &dir, |_, entry| {
                all += entry.files.len() as u64;
                let crcs = entry.files.values().filter(|file| file.crc.is_some());
                recorded += crcs.count() as u64;
                Ok(())
            })?;
            Ok(ranks)
        });
        match read {
            Ok(ranks) => Details {
                ranks: Some(ranks),
                checksums: Checksums::of(recorded, all),
                ..self
            },
            Err(error) => {
                if !error.is_not_found() {
                    call.warn(&error);
                }
                self
            }
        }
    }

    /// The details as cells of a table.
    pub fn cells(&self) -> [String; 6] {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let rate = self.rate.map(|rate| text::bytes(rate as u64) + "/s");
        [
            number(self.ranks),
            number(self.files),
            self.bytes.map(text::bytes),
            self.seconds.map(|seconds| format!("{seconds:.3}")),
            rate,
            self.checksums.map(|state| state.word().to_string()),
        ]
        .map(|cell| cell.unwrap_or_else(|| UNKNOWN.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_transfer_of_the_same_dataset_counts() {
        let mut times = Times::default();
        for (name, job, secs) in [
            ("ck.1", "7", 1.0),
            ("other", "7", 2.0),
            ("ck.1", "7", 4.0),
            ("ck.1", "8", 8.0),
        ] {
            times.add(Record {
                job: job.to_string(),
                dset: Some(1),
                name: Some(name.to_string()),
                secs: Some(secs),
                bytes: Some(100.0),
                ..Record::now(Event::FlushSync)
            });
        }
        let dataset = |id, name: &str, job: &str| Dataset {
            id,
            name: name.into(),
            jobid: job.into(),
            ..Dataset::default()
        };
        let of = |id, name, job| {
            let took = times.of(&dataset(id, name, job))?;
            Some((took.seconds?, took.rate?))
        };
        assert_eq!(of(1, "ck.1", "7"), Some((4.0, 25.0)));
        assert_eq!(of(1, "ck.1", "8"), Some((8.0, 12.5)));
        assert_eq!(of(1, "ck.1", ""), Some((8.0, 12.5)));
        assert_eq!(of(1, "other", "7"), Some((2.0, 50.0)));
        assert_eq!(of(1, "other", "8"), None);
        assert_eq!(of(2, "ck.1", "7"), None);
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        assert_eq!(Details::default().cells(), ["-"; 6]);
        let words = [(0, 0), (0, 3), (2, 3), (3, 3)].map(|(recorded, files)| {
            let checksums = Checksums::of(recorded, files);
            let details = Details {
                checksums,
                ..Details::default()
            };
            details.cells()[5].clone()
        });
        assert_eq!(words, ["-", "none", "some", "all"]);
    }
}
