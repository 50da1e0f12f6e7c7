//! `scr ckpt-interval`: the best time between checkpoints, from the event log.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::{Command, CommandGroup, Outcome, RunCommand};
use crate::log::{Totals, read_text};
use crate::policy::interval::Formula;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command = Command::of::<Options>(
    "ckpt-interval",
    &["scr_ckpt_interval"],
    CommandGroup::Scripts,
);

/// Compute the best time between checkpoints from the event log
///
/// Uses the time that checkpoints took and the time between failures so far, in the formula of
/// Young (1976) or Daly (2004). Every run that did not end by itself counts as a failure, at least one.
/// In a job script:
///
/// export SCR_CHECKPOINT_SECONDS=$(scr ckpt-interval)
///
/// Exit status: 0 printed, 1 there is no log, or it has no run with a checkpoint yet.
#[derive(clap::Args)]
struct Options {
    /// Print everything that was counted and computed
    #[arg(long)]
    stats: bool,
    /// The formula
    #[arg(long, default_value = "daly")]
    model: Model,
    /// Print the percentage of the time that checkpoints then take, for SCR_CHECKPOINT_OVERHEAD
    #[arg(long)]
    percent: bool,
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// The log, instead of that of the prefix directory
    #[arg(long, value_name = "FILE", conflicts_with = "prefix")]
    logfile: Option<PathBuf>,
}

/// Formulas.
#[derive(Clone, Copy, PartialEq, Debug, clap::ValueEnum)]
enum Model {
    /// Young's, of first order.
    Young,
    /// Daly's, of higher order.
    Daly,
}

impl Model {
    fn formula(self) -> Formula {
        match self {
            Model::Young => Formula::Young,
            Model::Daly => Formula::Daly,
        }
    }
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let file = match &self.logfile {
            Some(file) => file.clone(),
            None => Job::here(self.prefix.as_deref())?.prefix.file("log"),
        };
        let mut counted = Totals::default();
        let not_read = read_text(&file, |record| {
            counted.add(&record);
            Ok::<(), crate::Error>(())
        })?;
        counted.end();
        if let Some(text) = not_read.text() {
            call.warn(&format!("{}: {text}", file.display()));
        }
        let (cost, between) = (counted.cost(), counted.between());
        if cost <= 0.0 {
            let what = "it has no checkpoint with its time yet";
            return Err(Failure::said(format!("{}: {what}", file.display())));
        }
        let interval = self.model.formula().interval(cost, between);
        let percent = cost * 100.0 / interval;
        if self.stats {
            self.print(call, &counted, interval, percent)?;
        } else if self.percent {
            writeln!(call.out, "{percent:.3}")?;
        } else {
            // At least one: 0 would turn SCR_CHECKPOINT_SECONDS off.
            writeln!(call.out, "{:.0}", interval.floor().max(1.0))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Options {
    fn print(
        &self,
        call: &mut Invocation,
        counted: &Totals,
        interval: f64,
        percent: f64,
    ) -> std::io::Result<()> {
        for (name, sum) in [
            ("Fetch", counted.fetch),
            ("Rebuild", counted.rebuild),
            ("Compute", counted.compute),
            ("Checkpoint", counted.checkpoint),
            ("Flush checkpoint", counted.flush_checkpoint),
            ("Flush output", counted.flush_output),
        ] {
            let (total, mean) = (sum.seconds, sum.mean());
            writeln!(call.out, "{name} time total/avg (s): {total:.3} {mean:.3}")?;
        }
        writeln!(call.out, "Starts: {}", counted.starts)?;
        writeln!(call.out, "Failures: {}", counted.failures)?;
        writeln!(call.out, "Total time (s): {:.3}", counted.total())?;
        writeln!(
            call.out,
            "Mean time to interrupt (s): {:.3}",
            counted.between()
        )?;
        writeln!(call.out, "Model = {:?}", self.model)?;
        writeln!(call.out, "Checkpoint Interval (s) = {interval:.3}")?;
        writeln!(call.out, "Percent Overhead = {percent:.3}")
    }
}
