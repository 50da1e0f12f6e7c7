//! `scr` without a command, and the parts that all definitions share.

use super::call::Invocation;
use super::{COMMANDS, CommandGroup, Outcome};
use clap::{Arg, ArgAction};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

const LIST: &str = "list-commands";

/// Our release, and [`scr_engine::version::INTERFACE`], which a test compares: clap needs one constant.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (SCR interface v3.1.0)");

/// `scr` with all its commands.
pub fn definition() -> clap::Command {
    let commands = COMMANDS.iter().map(|c| c.definition(c.name));
    let top = dress(clap::Command::new("scr"))
        .about("Scalable Checkpoint / Restart: look at datasets and steer jobs")
        .long_about(
            "Scalable Checkpoint / Restart: looks at the datasets in a prefix directory, \
             chooses among them, and steers running jobs. Each command is also installed under \
             the name that it has in SCR v3.1.0, such as scr_index for `scr index`.",
        )
        .override_usage("scr COMMAND [OPTIONS]")
        .help_template("{about-with-newline}\nUsage: {usage}{after-help}\n\nOptions:\n{options}")
        .arg_required_else_help(true)
        .subcommand_value_name("COMMAND")
        .arg(
            Arg::new(LIST)
                .long(LIST)
                .action(ArgAction::SetTrue)
                .exclusive(true)
                .help("Print the classic names of all commands, one per line"),
        )
        .subcommands(commands);
    let overview = overview(&top);
    top.after_help(overview)
}

/// Adds the version to a command.
pub(super) fn dress(command: clap::Command) -> clap::Command {
    command.version(VERSION)
}

/// The commands in groups, one per line.
fn overview(top: &clap::Command) -> String {
    let width = COMMANDS.iter().map(|c| c.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for group in CommandGroup::ALL {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}{}:\n", group.heading()));
        for command in COMMANDS.iter().filter(|c| c.group == group) {
            let about = top
                .find_subcommand(command.name)
                .and_then(clap::Command::get_about)
                .map(ToString::to_string)
                .unwrap_or_default();
            text.push_str(&format!("  {:width$}  {about}\n", command.name));
        }
    }
    text.push_str("\n`scr COMMAND --help` describes one of them.");
    text
}

/// Answers a call without a command: a request for help or for the list of classic names, which an
/// installation makes links for; or a mistake.
pub(super) fn top(arguments: Vec<OsString>) -> ExitCode {
    let (mut top, mut call) = (definition(), Invocation::subcommand("scr"));
    let outcome = match top.try_get_matches_from_mut(arguments) {
        Ok(_) => list_commands(&mut call),
        Err(error) => Err(error.into()),
    };
    call.end(outcome, &mut top)
}

fn list_commands(call: &mut Invocation) -> Outcome {
    for name in COMMANDS.iter().flat_map(|command| command.classic) {
        writeln!(call.out, "{name}")?;
    }
    Ok(ExitCode::SUCCESS)
}
