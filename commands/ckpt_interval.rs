//! `scr ckpt-interval`: the best time between checkpoints, from the event log.

use super::call::{Failure, Invocation};
use super::log_source::LogSource;
use super::{Outcome, RunCommand};
use scr_engine::log::Totals;
use scr_engine::policy::interval::Formula;
use scr_jobs::hang::time;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

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
pub(super) struct Options {
    /// Print everything that was counted and computed
    #[arg(long)]
    stats: bool,
    /// The formula
    #[arg(long, default_value = "daly")]
    model: Model,
    /// Print the percentage of the time that checkpoints then take, for SCR_CHECKPOINT_OVERHEAD
    #[arg(long)]
    percent: bool,
    /// How often the job fails, such as 24h, in place of what the log has
    #[arg(long, value_name = "TIME", value_parser = time)]
    failures_every: Option<Duration>,
    #[command(flatten)]
    source: LogSource,
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
        let mut totals = Totals::default();
        let read = self.source.read(|record| {
            totals.add(&record);
            Ok(())
        })?;
        totals.end();
        read.warn(call);
        let every = self.failures_every.map(|every| every.as_secs_f64());
        let (cost, between) = (totals.cost(), every.unwrap_or_else(|| totals.between()));
        if cost <= 0.0 {
            let what = "it has no checkpoint with its time yet";
            return Err(Failure::said(format!("{}: {what}", read.name)));
        }
        let interval = self.model.formula().interval(cost, between);
        let percent = cost * 100.0 / interval;
        if self.stats {
            self.print(call, &totals, between, (interval, percent))?;
        } else if self.percent {
            writeln!(call.out, "{percent:.3}")?;
        } else {
            // The interval is at least one second: 0 would turn SCR_CHECKPOINT_SECONDS off.
            writeln!(call.out, "{:.0}", interval.floor().max(1.0))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Options {
    fn print(
        &self,
        call: &mut Invocation,
        totals: &Totals,
        between: f64,
        (interval, percent): (f64, f64),
    ) -> std::io::Result<()> {
        for (name, sum) in [
            ("Fetch", totals.fetch),
            ("Rebuild", totals.rebuild),
            ("Compute", totals.compute),
            ("Checkpoint", totals.checkpoint),
            ("Flush checkpoint", totals.flush_checkpoint),
            ("Flush output", totals.flush_output),
        ] {
            let (total, mean) = (sum.seconds, sum.mean());
            writeln!(call.out, "{name} time total/avg (s): {total:.3} {mean:.3}")?;
        }
        writeln!(call.out, "Starts: {}", totals.starts)?;
        writeln!(call.out, "Failures: {}", totals.failures)?;
        writeln!(call.out, "Total time (s): {:.3}", totals.total())?;
        writeln!(call.out, "Mean time to interrupt (s): {between:.3}")?;
        writeln!(call.out, "Model = {:?}", self.model)?;
        writeln!(call.out, "Checkpoint Interval (s) = {interval:.3}")?;
        writeln!(call.out, "Percent Overhead = {percent:.3}")
    }
}
