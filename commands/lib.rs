//! The `scr` command and its classic names. It is built without MPI, so that it runs on login nodes. The
//! work on datasets is done by `scavenge`, `prefix` and the modules that they use.
//!
//! Each command is one file: a struct of options whose doc comment is its help, an implementation of
//! `RunCommand`, and a [`Command`] in [`COMMANDS`]. Help, manual pages and the list of classic names are
//! made from these. One program serves all names: the name by which it was called (`scr_index`), or its
//! first argument (`scr index`), selects the command.
//!
//! Exit status, unless a command says otherwise: 0 done, 1 failed, 2 wrong options.

mod caches;
mod call;
mod check_node;
mod ckpt_interval;
mod clean;
mod complete;
mod completions;
mod configuration;
mod copy;
mod crc32;
mod daemons;
mod dataset;
mod delete;
mod details;
mod diff;
mod doctor;
mod env;
mod explain;
mod extract;
mod failed_nodes;
mod fields;
mod flush_file;
mod get_jobstep_id;
mod glob_hosts;
mod halt;
mod halt_cntl;
mod have_restart;
mod help;
mod hostlist;
mod import_config;
mod index;
mod index_add;
mod index_list;
mod inspect;
mod inspect_nodes;
mod job;
mod json;
mod kill_jobstep;
mod list_dir;
mod list_down_nodes;
mod lock;
mod log;
mod log_event;
mod log_source;
mod log_transfer;
mod manual;
mod mpi;
mod nodes_file;
mod on_nodes;
mod params;
mod place;
mod postrun;
mod poststage;
mod prefix;
mod prerun;
mod print;
mod progress;
mod rebuild;
mod rehearse;
mod report;
mod retries_halt;
mod run;
mod scavenge;
mod should_exit;
mod stacks;
mod terminal;
mod test_runtime;
mod transfer;
mod watch;
mod watchdog;

pub use help::definition;
pub use import_config::imported;
pub use manual::{MANUALS, Manual, manual};

use call::{Failure, Invocation};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// All commands, in the order of the help.
pub const COMMANDS: &[Command] = &[
    index::COMMAND,
    extract::COMMAND,
    diff::COMMAND,
    run::COMMAND,
    stacks::COMMAND,
    watch::COMMAND,
    rehearse::COMMAND,
    rebuild::COMMAND,
    halt::COMMAND,
    print::COMMAND,
    params::COMMAND,
    doctor::COMMAND,
    explain::COMMAND,
    import_config::COMMAND,
    crc32::COMMAND,
    copy::COMMAND,
    inspect::COMMAND,
    flush_file::COMMAND,
    nodes_file::COMMAND,
    prerun::COMMAND,
    postrun::COMMAND,
    poststage::COMMAND,
    scavenge::COMMAND,
    watchdog::COMMAND,
    retries_halt::COMMAND,
    should_exit::COMMAND,
    have_restart::COMMAND,
    halt_cntl::COMMAND,
    list_down_nodes::COMMAND,
    check_node::COMMAND,
    clean::COMMAND,
    transfer::COMMAND,
    test_runtime::COMMAND,
    get_jobstep_id::COMMAND,
    kill_jobstep::COMMAND,
    env::COMMAND,
    prefix::COMMAND,
    list_dir::COMMAND,
    glob_hosts::COMMAND,
    hostlist::COMMAND,
    log::COMMAND,
    report::COMMAND,
    log_event::COMMAND,
    log_transfer::COMMAND,
    ckpt_interval::COMMAND,
    completions::COMMAND,
    manual::command::COMMAND,
];

/// What a command is for: the headings of `scr --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandGroup {
    /// Saved datasets.
    Datasets,
    /// Runs.
    Job,
    /// The nodes of a job.
    Nodes,
    /// Files and settings.
    Inspect,
    /// Short answers and exit codes, for scripts.
    Scripts,
}

impl CommandGroup {
    /// All groups in the order of the help.
    pub const ALL: [CommandGroup; 5] = [
        CommandGroup::Datasets,
        CommandGroup::Job,
        CommandGroup::Nodes,
        CommandGroup::Inspect,
        CommandGroup::Scripts,
    ];

    /// Its heading.
    pub fn heading(self) -> &'static str {
        match self {
            CommandGroup::Datasets => "See what is saved, and choose what the next run starts from",
            CommandGroup::Job => "Run a job, and steer it",
            CommandGroup::Nodes => "Know the nodes of a job",
            CommandGroup::Inspect => "Look into files and settings",
            CommandGroup::Scripts => "Answers for job scripts",
        }
    }
}

/// One command.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Name after `scr`.
    pub name: &'static str,
    /// Its classic names: names of commands of SCR v3.1.0.
    pub classic: &'static [&'static str],
    /// The heading under which the help shows it.
    pub group: CommandGroup,
    define: fn(clap::Command) -> clap::Command,
    arrange: fn(&str, &[OsString]) -> Vec<OsString>,
    run: fn(&clap::ArgMatches, &mut Invocation) -> Outcome,
}

/// How a command ends.
type Outcome = Result<ExitCode, Failure>;

/// The options of a command, which carry it out.
trait RunCommand: clap::Args {
    fn run(&self, call: &mut Invocation) -> Outcome;
}

impl Command {
    /// The command with the options `T`.
    const fn of<T: RunCommand>(
        name: &'static str,
        classic: &'static [&'static str],
        group: CommandGroup,
    ) -> Self {
        Command {
            name,
            classic,
            group,
            define: T::augment_args,
            arrange: |_, words| words.to_vec(),
            run: |matches, call| T::from_arg_matches(matches)?.run(call),
        }
    }

    /// Adds a function that changes the words after the command's name before they are parsed. It adds
    /// what the name itself says, and translates forms that clap does not know.
    const fn arranged(self, arrange: fn(&str, &[OsString]) -> Vec<OsString>) -> Self {
        Command { arrange, ..self }
    }

    /// Its definition under `name`.
    pub fn definition(&self, name: &'static str) -> clap::Command {
        let definition = help::dress((self.define)(clap::Command::new(name)));
        definition.after_long_help(manual::help(self.name))
    }
}

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    // A file that grows beyond `ulimit -f` is an error as any other. A handler, since what is ignored stays so in the programs
    // that commands start.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(shell) = std::env::var_os(completions::offer::VARIABLE) {
        return completions::offer::answer(&arguments, &shell);
    }
    let Some((command, mut call, definition, options)) = chosen(&arguments) else {
        return help::top(arguments);
    };
    let mut definition = definition.no_binary_name(true);
    let outcome = match definition.try_get_matches_from_mut(options) {
        Ok(matches) => (command.run)(&matches, &mut call),
        Err(error) => Err(error.into()),
    };
    if let Some(text) = call.unkept.tell() {
        call.warn(&text);
    }
    call.end(outcome, &mut definition)
}

/// The command to run: named by this program's name, else by its first argument. Only that command is
/// defined for the parser.
fn chosen(
    arguments: &[OsString],
) -> Option<(&'static Command, Invocation, clap::Command, Vec<OsString>)> {
    let (program, rest) = arguments.split_first()?;
    let program = Path::new(program).file_name()?.to_str()?;
    // Some commands of SCR v3.1.0 are named as scripts, such as scr_env.py.
    let program = program.strip_suffix(".py").unwrap_or(program);
    for command in COMMANDS {
        if let Some(name) = command.classic.iter().find(|name| **name == program) {
            let rest = (command.arrange)(name, rest);
            return Some((
                command,
                Invocation::classic(name),
                command.definition(name),
                rest,
            ));
        }
    }
    let (first, rest) = rest.split_first()?;
    let command = COMMANDS.iter().find(|command| first == command.name)?;
    let definition = command.definition(command.name);
    let name = format!("scr {}", command.name);
    let definition = definition.bin_name(&name).display_name(&name);
    let rest = (command.arrange)(command.name, rest);
    Some((
        command,
        Invocation::subcommand(command.name),
        definition,
        rest,
    ))
}
