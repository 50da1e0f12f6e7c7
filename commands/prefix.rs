//! `scr prefix`: the path of the prefix directory.

use super::call::Invocation;
use super::job::Job;
use super::{Command, CommandGroup, Outcome, RunCommand};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("prefix", &["scr_prefix"], CommandGroup::Scripts);

/// Print the prefix directory that a job started here would use
///
/// That is SCR_PREFIX, from the environment or a configuration file, else the current
/// directory.
#[derive(clap::Args)]
struct Options {}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let prefix = Job::here(None)?.prefix;
        call.out.write_all(prefix.root().as_os_str().as_bytes())?;
        writeln!(call.out)?;
        Ok(ExitCode::SUCCESS)
    }
}
