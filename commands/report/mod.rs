//! `scr report`: what checkpoints and failures cost, from the event log.
//!
//! Records make a [`history`]: runs with their phases, and datasets. [`findings`] computes the numbers, and
//! [`text`], [`json`] and [`page`] show them. `docs/report.md` explains each number.

mod datasets;
mod estimate;
mod failed;
mod failure_rate;
mod findings;
mod history;
mod json;
mod lost;
mod notes;
mod page;
mod run;
mod text;
mod words;

use super::call::{Failure, Invocation};
use super::log_source::LogSource;
use super::{Outcome, RunCommand};
use findings::Findings;
use history::History;
use scr_engine::log::Record;
use scr_jobs::hang::time;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Show what checkpoints and failures cost
///
/// Computes from the event log of all runs of a prefix directory: where their time went, what was lost
/// with each failure, the speed of each level, and how often to write a checkpoint. Programs and SCR
/// write the log if SCR_LOG_ENABLE=1.
///
/// Exit status: 0 printed, 1 the log cannot be read.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Only runs of the job with this id; may be repeated
    #[arg(short = 'i', long, value_name = "ID")]
    job: Vec<String>,
    /// Only records of this time and later: YYYY-MM-DDTHH:MM:SS, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = super::log::time)]
    since: Option<i64>,
    /// Only records before this time
    #[arg(long, value_name = "TIME", value_parser = super::log::time)]
    until: Option<i64>,
    /// No run goes on now: count the last one as killed if it has no end in the log
    #[arg(long)]
    ended: bool,
    /// How often the job fails, such as 24h: for the best interval before the first failure was seen, or in place of those seen
    #[arg(long, value_name = "TIME", value_parser = time)]
    failures_every: Option<Duration>,
    /// Write the report with pictures to this file, too: a page for a browser, which needs no other file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: LogSource,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let findings = self.read(call)?;
        if let Some(file) = &self.html {
            write_page(file, &findings)?;
        }
        if self.json {
            super::json::print(call, "report", json::report(&findings))?
        } else {
            call.show(&text::lines(&findings))?
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Options {
    fn read(&self, call: &mut Invocation) -> Result<Findings, Failure> {
        let mut history = History::default();
        let read = self.source.read(|record| {
            if self.wants(&record) {
                history.add(record);
            }
            Ok(())
        })?;
        read.warn(call);
        let every = self.failures_every.map(|every| every.as_secs_f64());
        Ok(Findings::of(
            history,
            read.name,
            read.not_read,
            self.ended,
            every,
        ))
    }

    fn wants(&self, record: &Record) -> bool {
        (self.job.is_empty() || self.job.contains(&record.job))
            && self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time < until)
    }
}

fn write_page(file: &Path, findings: &Findings) -> Result<(), Failure> {
    let written = std::fs::write(file, page::page(findings));
    written.map_err(|error| scr_engine::Error::io("write", file, error).into())
}
