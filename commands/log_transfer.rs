//! `scr log-transfer`: a line about moved data in the event log.

use super::call::Invocation;
use super::log_event::{JobOptions, seconds};
use super::{Command, CommandGroup, Outcome, RunCommand};
use scr_engine::events::EventKind;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("log-transfer", &["scr_log_transfer"], CommandGroup::Scripts);

/// Write a transfer of data to the log
///
/// To PREFIX/.scr/log, to syslog and to a database, as SCR_LOG_TXT_ENABLE, SCR_LOG_SYSLOG_ENABLE and
/// SCR_LOG_DB_ENABLE say; does nothing unless SCR_LOG_ENABLE is set.
///
/// Exit status: 0 done, 1 the log cannot be written.
#[derive(clap::Args)]
struct Options {
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

impl RunCommand for Options {
    fn run(&self, _: &mut Invocation) -> Outcome {
        self.of.log(EventKind::Transfer, &self.kind, |line| {
            line.from.clone_from(&self.from);
            line.to.clone_from(&self.to);
            (line.bytes, line.files) = (self.bytes, self.files);
        })
    }
}
