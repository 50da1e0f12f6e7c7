//! `scr log`: shows the event log.

use super::call::{Failure, Invocation};
use super::json;
use super::log_source::LogSource;
use super::{Outcome, RunCommand};
use scr_engine::job::clock;
use scr_engine::log::{Record, SCHEMA};
use scr_engine::text::escaped;
use std::io::Write;
use std::process::ExitCode;

/// Show what happened in the runs of a job
///
/// Prints the records of the event log that fit all given options, oldest first, in the form of the text
/// log: programs and SCR write it if SCR_LOG_ENABLE=1. The documentation of the format has all events.
///
/// Exit status: 0 printed, 1 the log cannot be read.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Only records of the job with this id; may be repeated
    #[arg(short = 'i', long, value_name = "ID")]
    job: Vec<String>,
    /// Only records of the dataset with this id; may be repeated
    #[arg(short = 'D', long, value_name = "ID")]
    dataset: Vec<u64>,
    /// Only records of this event or transfer, such as NODE_FAIL or FLUSH_SYNC; may be repeated
    #[arg(short = 'T', long = "type", value_name = "WORD")]
    kind: Vec<String>,
    /// Only records of this time and later: YYYY-MM-DDTHH:MM:SS, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<i64>,
    /// Only records before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<i64>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: LogSource,
    /// Print the SQL statements that make the tables of the database
    #[arg(long, exclusive = true)]
    schema: bool,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        if self.schema {
            write!(call.out, "{SCHEMA}")?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut printed = Printed::new(self.json);
        let read = self.source.read(|record| {
            if self.wants(&record) {
                printed.add(call, &record)
            } else {
                Ok(())
            }
        })?;
        printed.end(call)?;
        read.warn(call);
        Ok(ExitCode::SUCCESS)
    }
}

impl Options {
    fn wants(&self, record: &Record) -> bool {
        let named = |word: &String| record.event.name().eq_ignore_ascii_case(word);
        let of_dataset = |id: &u64| record.dset == Some(*id);
        (self.job.is_empty() || self.job.contains(&record.job))
            && (self.kind.is_empty() || self.kind.iter().any(named))
            && (self.dataset.is_empty() || self.dataset.iter().any(of_dataset))
            && self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time < until)
    }
}

/// A time of the clock, or seconds since 1970.
pub(super) fn time(text: &str) -> Result<i64, String> {
    match text.parse() {
        Ok(seconds) => Ok(seconds),
        Err(_) => clock::parse(text),
    }
}

/// The form in which records are printed.
enum Printed {
    Lines,
    Json(json::Stream),
}

impl Printed {
    fn new(json: bool) -> Self {
        if json {
            Printed::Json(json::Stream::new("log", "records"))
        } else {
            Printed::Lines
        }
    }

    fn add(&mut self, call: &mut Invocation, record: &Record) -> Result<(), Failure> {
        match self {
            Printed::Lines => writeln!(call.out, "{}", escaped(&record.to_string()))?,
            Printed::Json(stream) => stream.add(call, &json::record(record))?,
        }
        Ok(())
    }

    fn end(self, call: &mut Invocation) -> Result<(), Failure> {
        match self {
            Printed::Lines => Ok(()),
            Printed::Json(stream) => stream.end(call),
        }
    }
}
