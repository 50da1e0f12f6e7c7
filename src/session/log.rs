//! The events that a run records in the event log. Rank 0 records it; the other ranks have no log.

use crate::cache::plan::Slot;
use crate::events::{Event, Message};
use crate::format::Dataset;
use crate::log::{Log, Origin, Record, Tell};
use crate::session::run::Run;
use crate::system::time::Instant;
use std::path::Path;
use std::sync::Arc;

/// The places from which and to which files were copied or written.
#[derive(Clone, Copy)]
pub(super) struct FromTo<'a> {
    pub from: &'a Path,
    pub to: &'a Path,
}

/// The log of a run that begins; `None` on ranks other than 0, and if nothing is recorded. Local.
pub(super) fn open(run: &Run) -> Option<Log> {
    let wanted = run.settings.log.as_ref().filter(|_| run.rank() == 0)?;
    let origin = Origin {
        host: run.node().to_string(),
        job: run.job.to_string(),
        user: run.user.to_string(),
        prefix: run.prefix.root().to_path_buf(),
        file: run.prefix.file("log"),
    };
    let (sink, speaker) = (run.sink.clone(), run.speaker.clone());
    let tell: Tell =
        Arc::new(move |severity, text| sink.take(&speaker, &Message::of_run(severity, text)));
    Log::open(wanted, &*run.files, origin, tell)
}

impl Run {
    /// Records an event with the fields that `fill` adds. Local; does not wait, and costs nothing if
    /// nothing is recorded.
    pub fn log(&self, event: Event, fill: impl FnOnce(Record) -> Record) {
        if let Some(log) = &self.log {
            log.write(fill(Record::now(event)));
        }
    }

    /// Records that the run begins. `note` says how it goes on after a repair. Local.
    pub fn log_start(&self, note: Option<String>) {
        self.log(Event::Start, |record| Record {
            procs: Some(self.comm.size() as u64),
            nodes: Some(self.nodes),
            note,
            ..record
        });
    }

    /// Records an event of a dataset. Local.
    pub fn log_dataset(&self, event: Event, dataset: &Dataset) {
        self.log(event, |record| record.of(dataset));
    }

    /// Records that a dataset is evicted or quarantined. Local.
    pub fn log_slot(&self, event: Event, slot: &Slot, dataset: Option<&Dataset>) {
        self.log(event, |record| {
            let store = self.descriptors.stores.get(slot.store);
            let record = Record {
                dset: Some(slot.id),
                note: store.map(|store| store.dir.display().to_string()),
                ..record
            };
            dataset.map_or(record.clone(), |dataset| record.of(dataset))
        });
    }

    /// Records that the files of a dataset were copied, or written by the program, since `begun`. Local.
    pub fn log_transfer(&self, event: Event, dataset: &Dataset, paths: FromTo, begun: Instant) {
        self.log(event, |record| record.moved(dataset, paths, begun));
    }
}

impl Record {
    /// About a dataset.
    pub(super) fn of(self, dataset: &Dataset) -> Self {
        Record {
            dset: Some(dataset.id),
            name: Some(dataset.name.to_string()),
            ..self
        }
    }

    /// About the files of a dataset that were copied or written since `begun`.
    pub(super) fn moved(
        self,
        dataset: &Dataset,
        FromTo { from, to }: FromTo,
        begun: Instant,
    ) -> Self {
        let path = |path: &Path| Some(path.to_string_lossy().into_owned());
        Record {
            from: path(from),
            to: path(to),
            bytes: dataset.size.map(|size| size as f64),
            files: dataset.files,
            ..self.of(dataset).since(begun)
        }
    }
}
