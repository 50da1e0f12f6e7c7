//! `scr retries-halt`: is another run wanted?

use super::call::{Call, Failure};
use super::{Command, Group, Outcome, Run, place};
use crate::format::print::escaped;
use crate::policy::halt::{Conditions, FINALIZED, reasons};
use crate::prefix::{paths::Prefix, records};
use crate::store::posix::Posix;
use std::io::Write;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("retries-halt", &["scr_retries_halt"], Group::Scripts);

/// Tell whether a job should stop instead of being run again
///
/// Looks at the halt conditions. That the last run came to its end by itself
/// (SCR_FINALIZE_CALLED) stops too; the library goes on in this case.
///
/// Exit status: 0 stop, 1 go on, or the conditions cannot be read.
#[derive(clap::Args)]
struct Options {
    #[command(flatten)]
    dir: place::Dir,
}

impl Run for Options {
    fn run(&self, call: &mut Call) -> Outcome {
        let found = halt_reasons(&self.dir.used()?, || Ok(None))?;
        for reason in &found {
            writeln!(call.out, "scr_retries_halt: HALT RUN: Reason: {reason}.")?;
        }
        if found.is_empty() {
            writeln!(
                call.out,
                "scr_retries_halt: CONTINUE RUN: nothing asks for a halt."
            )?;
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Why no other run is wanted, in words of SCR; empty if nothing speaks against one. `end` tells
/// when the allocation ends, if known; it is asked only if that matters.
pub(super) fn halt_reasons(
    prefix: &Prefix,
    end: impl FnOnce() -> Result<Option<i64>, Failure>,
) -> Result<Vec<String>, Failure> {
    let halt = records::read_halt(&Posix, prefix)?;
    let end = match halt.halt_seconds {
        Some(1..) => end()?,
        _ => None,
    };
    let conditions = Conditions {
        reason: halt.exit_reason.as_ref().map(escaped),
        checkpoints_left: halt.checkpoints_left,
        exit_before: halt.exit_before,
        exit_after: halt.exit_after,
        halt_seconds: halt.halt_seconds,
    };
    let mut found = reasons(&conditions, super::time::now(), end);
    if conditions.reason.as_deref() == Some(FINALIZED) {
        found.insert(0, FINALIZED.to_string());
    }
    Ok(found)
}
