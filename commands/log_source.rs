//! The event log that a command reads.

use super::call::{Failure, Invocation};
use super::job::Job;
use scr_engine::config::log::DatabaseSettings;
use scr_engine::log::{Record, read_database, read_text};
use std::path::PathBuf;

// This comment must not become documentation, which clap would use for the command.
#[derive(clap::Args)]
pub(super) struct LogSource {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// The log, instead of that of the prefix directory
    #[arg(long, value_name = "FILE", conflicts_with = "prefix")]
    logfile: Option<PathBuf>,
    /// Read the records of the prefix directory from the database that SCR_LOG_DB_HOST, _NAME, _USER and
    /// _PASS name
    #[arg(long, conflicts_with = "logfile")]
    database: bool,
}

/// The log that was read.
pub(super) struct LogRead {
    /// The file, or the prefix directory and the database.
    pub name: String,
    /// Number of lines or rows that are not records.
    pub not_read: u64,
    warning: Option<String>,
}

impl LogRead {
    /// Warns of lines that are not records.
    pub fn warn(&self, call: &mut Invocation) {
        if let Some(text) = &self.warning {
            call.warn(text);
        }
    }
}

impl LogSource {
    /// Calls `each` for every record, oldest first.
    pub fn read(
        &self,
        each: impl FnMut(Record) -> Result<(), Failure>,
    ) -> Result<LogRead, Failure> {
        if self.database {
            let job = Job::here(self.prefix.as_deref())?;
            let settings = DatabaseSettings::from(&job.config)?;
            let root = job.prefix.root();
            let not_read = read_database(&settings, root, each)?;
            return Ok(LogRead {
                name: format!("{} in database {}", root.display(), settings.name),
                not_read,
                warning: (not_read > 0).then(|| {
                    format!("{not_read} rows of the database are no records, and are left out")
                }),
            });
        }
        let file = match &self.logfile {
            Some(file) => file.clone(),
            None => Job::here(self.prefix.as_deref())?.prefix.file("log"),
        };
        let not_read = read_text(&file, each)?;
        let name = file.display().to_string();
        Ok(LogRead {
            not_read: not_read.count,
            warning: not_read.text().map(|text| format!("{name}: {text}")),
            name,
        })
    }
}
