//! The event log: the events in the runs of a job, and their durations.
//!
//! A [`Record`] goes to one or more [`Destination`]s: a text file in the prefix directory, syslog, a
//! database. Commands write a record at once ([`Destinations::write`]). The library gives it to a thread
//! for each destination ([`Log`]), so that a slow or broken destination never delays a call.
//! `docs/formats/log.md` lists the events.

#[cfg(feature = "mysql")]
mod database;
#[cfg(not(feature = "mysql"))]
#[path = "no_database.rs"]
mod database;
mod end;
mod files;
mod read;
mod record;
mod syslog;
mod text;
mod totals;
mod writer;

pub use database::read_database;
pub use end::read_end;
pub use read::{NotRead, read_text};
pub use record::{Record, local_time};
pub use totals::{TimeSum, Totals};
pub use writer::Writer;

use crate::config::LogSettings;
use crate::events::Severity;
use crate::store::Files;
use crate::system::time::Instant;
use crate::{Error, Result};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The statements that make the tables of a database; `scr log --schema` prints them.
pub const SCHEMA: &str = include_str!("schema.sql");

/// Time that the end of a run waits for records that are not written yet.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// A place to which the records of one process go.
pub trait Destination: Send {
    /// The name of the destination in messages: "the event log in FILE".
    fn name(&self) -> String;

    /// Writes a record.
    fn write(&mut self, record: &Record) -> std::result::Result<(), NotWritten>;
}

/// The reason why a record was not written.
#[derive(Debug, Clone, PartialEq)]
pub enum NotWritten {
    /// A later attempt may succeed.
    Now(Error),
    /// This record cannot be written at all.
    Ever(Error),
}

impl NotWritten {
    /// The reason.
    pub fn error(&self) -> &Error {
        match self {
            NotWritten::Now(error) | NotWritten::Ever(error) => error,
        }
    }
}

/// The node and job that write records.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Origin {
    /// The node.
    pub host: String,
    /// Job id.
    pub job: String,
    /// User.
    pub user: String,
    /// The prefix directory.
    pub prefix: PathBuf,
    /// `<prefix>/.scr/log`.
    pub file: PathBuf,
}

/// Tells the user something about the log.
pub type Tell = Arc<dyn Fn(Severity, String) + Send + Sync>;

/// The destinations that the settings name. Destinations that cannot be used are reported to
/// `tell`.
fn open(
    settings: &LogSettings,
    files: &dyn Files,
    origin: &Origin,
    tell: &Tell,
) -> Vec<Box<dyn Destination>> {
    let mut all: Vec<Box<dyn Destination>> = Vec::new();
    if let Some(most) = settings.text {
        all.push(Box::new(text::TextFile::new(files, origin, most)));
    }
    if let Some(settings) = &settings.syslog {
        all.extend(syslog::Syslog::find(settings, origin, tell));
    }
    if let Some(settings) = &settings.database {
        all.extend(database::open(settings, origin, tell));
    }
    all
}

/// Writes records at once, for commands.
pub struct Destinations {
    origin: Origin,
    all: Vec<Box<dyn Destination>>,
}

impl Destinations {
    /// The destinations that the settings name. Destinations that cannot be used are reported to
    /// `tell`.
    pub fn open(settings: &LogSettings, files: &dyn Files, origin: Origin, tell: &Tell) -> Self {
        let all = open(settings, files, &origin, tell);
        Destinations { origin, all }
    }

    /// Writes a record to all destinations, and waits for it.
    ///
    /// # Errors
    /// The error of the first destination that fails. The record is written to the others.
    pub fn write(&mut self, record: Record) -> Result<()> {
        let record = complete(&self.origin, record);
        let mut done = Ok(());
        for destination in &mut self.all {
            let written = destination.write(&record);
            done = done.and(written.map_err(|failed| failed.error().clone()));
        }
        done
    }
}

/// Adds the writer, if the record does not have it.
fn complete(origin: &Origin, mut record: Record) -> Record {
    for (field, value) in [
        (&mut record.host, &origin.host),
        (&mut record.job, &origin.job),
    ] {
        if field.is_empty() {
            field.clone_from(value);
        }
    }
    record
}

/// The log of a run. It never fails, and its calls do not wait.
pub struct Log {
    origin: Origin,
    writers: Vec<Writer>,
    tell: Tell,
}

impl Log {
    /// Opens the log; `None` if the settings name nothing that can be used. Problems are reported to
    /// `tell`, also from other threads.
    pub fn open(
        settings: &LogSettings,
        files: &dyn Files,
        origin: Origin,
        tell: Tell,
    ) -> Option<Log> {
        let all = open(settings, files, &origin, &tell).into_iter();
        let writers: Vec<Writer> = all.map(|one| Writer::start(one, tell.clone())).collect();
        let log = Log {
            origin,
            writers,
            tell,
        };
        Some(log).filter(|log| !log.writers.is_empty())
    }

    /// Records an event. Local; does not wait.
    pub fn write(&self, record: Record) {
        let record = Arc::new(complete(&self.origin, record));
        for writer in &self.writers {
            writer.write(record.clone());
        }
    }

    /// Waits for the remaining records, for at most a second, and reports the number of lost ones.
    /// After this call no record is written. Local.
    pub fn close(&self) {
        let until = Instant::now() + LAST_WAIT;
        // All write their last records at the same time.
        self.writers.iter().for_each(Writer::end);
        for writer in &self.writers {
            if let Some(text) = writer.close(until) {
                (self.tell)(Severity::Warning, text);
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.close();
    }
}
