//! `scr log-event`, `scr log-transfer`: a line in the event log.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::{Outcome, RunCommand};
use scr_engine::events::{Event, EventKind};
use scr_engine::log::Record;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write an event to the log
///
/// The record goes to PREFIX/.scr/log, to syslog and to a database. SCR_LOG_TXT_ENABLE,
/// SCR_LOG_SYSLOG_ENABLE and SCR_LOG_DB_ENABLE choose among these places. Nothing is written unless
/// SCR_LOG_ENABLE is set.
///
/// Exit status: 0 done, 1 the log cannot be written.
#[derive(clap::Args)]
pub(super) struct LogEvent {
    #[command(flatten)]
    of: JobOptions,
    /// The event, such as RUN_START, RUN_END, NODE_FAIL
    #[arg(short = 'T', long = "type", value_name = "WORD")]
    kind: String,
    /// Free text
    #[arg(short = 'N', long, value_name = "TEXT")]
    note: Option<String>,
}

// No doc comment: clap would take it for the help of the command.
#[derive(clap::Args)]
pub(super) struct JobOptions {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// User of the job, for the end of the line
    #[arg(short, long, value_name = "NAME")]
    user: Option<String>,
    /// Name of the job, for the end of the line
    #[arg(short, long, value_name = "NAME")]
    jobname: Option<String>,
    /// Id of the job, instead of this one's
    #[arg(short = 'i', long, value_name = "ID")]
    jobid: Option<String>,
    /// Start of the job, in seconds since 1970, for the end of the line
    #[arg(short, long, value_name = "TIME",
        value_parser = clap::value_parser!(i64).range(0..))]
    start: Option<i64>,
    /// Id of the dataset
    #[arg(short = 'D', long, value_name = "ID")]
    dset: Option<u64>,
    /// Name of the dataset
    #[arg(short = 'n', long, value_name = "NAME")]
    name: Option<String>,
    /// Time of the event, in seconds since 1970, instead of now
    #[arg(short = 'S', long, value_name = "TIME",
        value_parser = clap::value_parser!(i64).range(0..))]
    time: Option<i64>,
    /// Duration, in seconds
    #[arg(short = 'L', long, value_name = "SECONDS", value_parser = seconds)]
    secs: Option<f64>,
}

impl RunCommand for LogEvent {
    fn run(&self, _: &mut Invocation) -> Outcome {
        self.of.log(EventKind::Incident, &self.kind, |line| {
            line.note.clone_from(&self.note);
        })
    }
}

impl JobOptions {
    /// Writes a record with the fields of these options, and with the fields that `fill` sets.
    pub fn log(&self, kind: EventKind, word: &str, fill: impl FnOnce(&mut Record)) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        let Some(mut log) = job.log()? else {
            return Ok(ExitCode::SUCCESS);
        };
        let mut record = Record {
            job: self.jobid.clone().unwrap_or_default(),
            dset: self.dset,
            name: self.name.clone(),
            secs: self.secs,
            user: self.user.clone(),
            jobname: self.jobname.clone(),
            start: self.start,
            ..Record::now(Event::named(kind, word))
        };
        if let Some(time) = self.time {
            (record.time, record.millis) = (time, 0);
        }
        fill(&mut record);
        log.write(record).map_err(Failure::from)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A number of seconds or bytes.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    number
        .filter(|n: &f64| n.is_finite() && *n >= 0.0)
        .ok_or_else(|| "it must be a number that is not negative".to_string())
}

/// Write a transfer of data to the log
///
/// The record goes to PREFIX/.scr/log, to syslog and to a database. SCR_LOG_TXT_ENABLE,
/// SCR_LOG_SYSLOG_ENABLE and SCR_LOG_DB_ENABLE choose among these places. Nothing is written unless
/// SCR_LOG_ENABLE is set.
///
/// Exit status: 0 done, 1 the log cannot be written.
#[derive(clap::Args)]
pub(super) struct LogTransfer {
    #[command(flatten)]
    of: JobOptions,
    /// The kind of transfer, such as FETCH, FLUSH_SYNC
    #[arg(short = 'T', long = "type", value_name = "WORD")]
    kind: String,
    /// Source of the data
    #[arg(short = 'X', long, value_name = "PATH")]
    from: Option<String>,
    /// Destination of the data
    #[arg(short = 'Y', long, value_name = "PATH")]
    to: Option<String>,
    /// Number of bytes
    #[arg(short = 'B', long, value_name = "N", value_parser = seconds)]
    bytes: Option<f64>,
    /// Number of files
    #[arg(short = 'F', long, value_name = "N")]
    files: Option<u64>,
}

impl RunCommand for LogTransfer {
    fn run(&self, _: &mut Invocation) -> Outcome {
        self.of.log(EventKind::Transfer, &self.kind, |line| {
            line.from.clone_from(&self.from);
            line.to.clone_from(&self.to);
            (line.bytes, line.files) = (self.bytes, self.files);
        })
    }
}
