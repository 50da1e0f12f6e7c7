//! `scr report`: what checkpoints and failures cost, from the event log.
//!
//! Records make a [`history`]: runs with their phases, and datasets. [`findings`] computes the numbers, and
//! [`text`], [`json`] and [`page`] show them. `docs/report.md` explains each number.

mod datasets;
mod estimate;
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
use super::job::Job;
use super::{Command, CommandGroup, Outcome, RunCommand};
use crate::config::log::DatabaseSettings;
use crate::log::{Record, read_database, read_text};
use findings::Findings;
use history::History;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command = Command::of::<Options>("report", &[], CommandGroup::Inspect);

/// Show what checkpoints and failures cost
///
/// Computes from the event log of all runs of a prefix directory: where their time went, what was lost
/// with each failure, the speed of each level, and how often to write a checkpoint. Programs and SCR
/// write the log if SCR_LOG_ENABLE=1.
///
/// Exit status: 0 printed, 1 the log cannot be read.
#[derive(clap::Args)]
struct Options {
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
    /// Write the report with pictures to this file, too: a page for a browser, which needs no other file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
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

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let findings = self.read(call)?;
        if let Some(file) = &self.html {
            write_page(file, &findings)?;
        }
        match self.json {
            true => super::json::print(call, "report", json::ReportJson::of(&findings))?,
            false => call.show(&text::lines(&findings))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Options {
    fn read(&self, call: &mut Invocation) -> Result<Findings, Failure> {
        let mut history = History::default();
        let mut add = |record: Record| {
            if self.wants(&record) {
                history.add(record);
            }
            Ok::<(), Failure>(())
        };
        let (source, unreadable) = match &self.logfile {
            None if self.database => {
                let job = Job::here(self.prefix.as_deref())?;
                let settings = DatabaseSettings::from(&job.config)?;
                let root = job.prefix.root();
                let bad = read_database(&settings, root, add)?;
                let source = format!("{} in database {}", root.display(), settings.name);
                (source, bad)
            }
            file => {
                let file = match file {
                    Some(file) => file.clone(),
                    None => Job::here(self.prefix.as_deref())?.prefix.file("log"),
                };
                let not_read = read_text(&file, &mut add)?;
                if let Some(text) = not_read.text() {
                    call.warn(&format!("{}: {text}", file.display()));
                }
                (file.display().to_string(), not_read.count)
            }
        };
        Ok(Findings::of(history, source, unreadable, self.ended))
    }

    fn wants(&self, record: &Record) -> bool {
        (self.job.is_empty() || self.job.contains(&record.job))
            && self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time < until)
    }
}

fn write_page(file: &Path, findings: &Findings) -> Result<(), Failure> {
    let written = std::fs::write(file, page::page(findings));
    written.map_err(|error| crate::Error::io("write", file, error).into())
}
