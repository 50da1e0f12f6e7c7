//! `scr nodes-file`: how many nodes the last run used.

use super::call::Invocation;
use super::{Command, CommandGroup, Outcome, RunCommand, place};
use scr_engine::format::{self, nodes::Nodes};
use std::io::Write;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("nodes-file", &["scr_nodes_file"], CommandGroup::Scripts);

/// Print how many nodes the last run used
///
/// Exit status: 0 printed, 1 it is not known.
#[derive(clap::Args)]
struct Options {
    #[command(flatten)]
    dir: place::Dir,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let prefix = self.dir.used()?;
        let record: Nodes = format::read(&*place::files(&prefix), &prefix.file("nodes.scr"))?;
        writeln!(call.out, "{}", record.nodes)?;
        Ok(ExitCode::SUCCESS)
    }
}
