//! The `scr` command and its classic names. It is built without MPI, so that it runs on login nodes. The
//! work on datasets is done by `scavenge`, `prefix` and the modules that they use.
//!
//! Each command is a struct of options whose doc comment is its help, an implementation of `RunCommand`, and a
//! row of [`COMMANDS`]: its name, its classic names, and the heading under which the help shows it. Commands that
//! are one call each share a file by subject. Help, manual pages and the list of classic names are made from these. One program serves all names: the name by which it was called (`scr_index`), or its
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
mod config;
mod configuration;
mod copy;
mod daemons;
mod dataset;
mod delete;
mod details;
mod diff;
mod doctor;
mod explain;
mod extract;
mod facts;
mod failed_nodes;
mod fields;
mod file;
mod flush_file;
mod halt;
mod halt_cntl;
mod have_restart;
mod help;
mod hosts;
mod import_config;
mod index;
mod index_add;
mod index_list;
mod inspect;
mod inspect_nodes;
mod job;
mod jobstep;
mod json;
mod list_dir;
mod list_down_nodes;
mod lock;
mod log;
mod log_source;
mod log_write;
mod manual;
mod mpi;
mod on_nodes;
mod params;
mod place;
mod postrun;
mod poststage;
mod prerun;
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

pub use explain::{Explanation, SECTIONS, Section, all_explanations};
pub use help::definition;
pub use import_config::imported;
pub use manual::{MANUALS, Manual, manual};

use CommandGroup::{Datasets, Inspect, Job, Nodes, Scripts};
use call::{Failure, Invocation};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// All commands, in the order of the help.
pub const COMMANDS: &[Command] = &[
    Command::of::<index::Options>("index", &["scr_index"], Datasets),
    Command::of::<extract::Options>("extract", &["scr_extract"], Datasets),
    Command::of::<diff::Options>("diff", &[], Datasets),
    Command::of::<run::Options>("run", run::NAMES, Job).arranged(run::arrange),
    Command::of::<stacks::Options>("stacks", &[], Job),
    Command::of::<watch::Options>("watch", &[], Job),
    Command::of::<rehearse::Options>("rehearse", &[], Job),
    Command::of::<rebuild::Options>("rebuild", rebuild::NAMES, Datasets),
    Command::of::<halt::Options>("halt", &["scr_halt"], Job),
    Command::of::<file::Print>("print", file::PRINT, Inspect),
    Command::of::<params::Options>("params", &[], Inspect),
    Command::of::<doctor::Options>("doctor", &[], Inspect),
    Command::of::<explain::Options>("explain", &[], Inspect),
    Command::of::<import_config::Options>("import-config", &[], Inspect),
    Command::of::<config::Options>("config", &[], Inspect),
    Command::of::<file::Crc32>("crc32", &["scr_crc32"], Inspect),
    Command::of::<copy::Options>("copy", &["scr_copy"], Scripts),
    Command::of::<inspect::Options>("inspect", &["scr_inspect"], Scripts),
    Command::of::<flush_file::Options>("flush-file", &["scr_flush_file"], Scripts),
    Command::of::<facts::NodesFile>("nodes-file", &["scr_nodes_file"], Scripts),
    Command::of::<prerun::Options>("prerun", &["scr_prerun"], Scripts),
    Command::of::<postrun::Options>("postrun", &["scr_postrun"], Scripts),
    Command::of::<poststage::Options>("poststage", &["scr_poststage"], Scripts),
    Command::of::<scavenge::Options>("scavenge", &["scr_scavenge"], Scripts),
    Command::of::<watchdog::Options>("watchdog", &["scr_watchdog"], Scripts),
    Command::of::<retries_halt::Options>("retries-halt", &["scr_retries_halt"], Scripts),
    Command::of::<should_exit::Options>("should-exit", &["scr_should_exit"], Scripts),
    Command::of::<have_restart::Options>("have-restart", &["scr_have_restart"], Scripts),
    Command::of::<halt_cntl::Options>("halt-cntl", &["scr_halt_cntl"], Scripts),
    Command::of::<list_down_nodes::Options>("list-down-nodes", &["scr_list_down_nodes"], Nodes),
    Command::of::<check_node::Options>("check-node", &["scr_check_node"], Nodes),
    Command::of::<clean::Options>("clean", &[], Nodes),
    Command::of::<transfer::Options>("transfer", &["scr_transfer"], Nodes),
    Command::of::<test_runtime::Options>("test-runtime", &["scr_test_runtime"], Nodes),
    Command::of::<jobstep::GetId>("get-jobstep-id", &["scr_get_jobstep_id"], Scripts),
    Command::of::<jobstep::Kill>("kill-jobstep", &["scr_kill_jobstep"], Scripts),
    Command::of::<facts::Env>("env", &["scr_env"], Nodes),
    Command::of::<facts::PrefixPath>("prefix", &["scr_prefix"], Scripts),
    Command::of::<list_dir::Options>("list-dir", &["scr_list_dir"], Scripts),
    Command::of::<hosts::GlobHosts>("glob-hosts", &["scr_glob_hosts"], Nodes),
    Command::of::<hosts::HostList>("hostlist", &["scr_hostlist"], Nodes),
    Command::of::<log::Options>("log", &[], Inspect),
    Command::of::<report::Options>("report", &[], Inspect),
    Command::of::<log_write::LogEvent>("log-event", &["scr_log_event"], Scripts),
    Command::of::<log_write::LogTransfer>("log-transfer", &["scr_log_transfer"], Scripts),
    Command::of::<ckpt_interval::Options>("ckpt-interval", &["scr_ckpt_interval"], Scripts),
    Command::of::<completions::Options>("completions", &[], Scripts),
    Command::of::<manual::command::Options>("manual", &[], Scripts),
];

/// The purpose of a command: the headings of `scr --help`.
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
    pub const ALL: [CommandGroup; 5] = [Datasets, Job, Nodes, Inspect, Scripts];

    /// The heading of the group.
    pub fn heading(self) -> &'static str {
        match self {
            Datasets => "See what is saved, and choose what the next run starts from",
            Job => "Run a job, and steer it",
            Nodes => "Know the nodes of a job",
            Inspect => "Look into files and settings",
            Scripts => "Answers for job scripts",
        }
    }
}

/// One command.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Name after `scr`.
    pub name: &'static str,
    /// The classic names of the command: names of commands of SCR v3.1.0.
    pub classic: &'static [&'static str],
    /// The heading under which the help shows the command.
    pub group: CommandGroup,
    define: fn(clap::Command) -> clap::Command,
    arrange: fn(&str, &[OsString]) -> Vec<OsString>,
    run: fn(&clap::ArgMatches, &mut Invocation) -> Outcome,
}

/// The end of a command.
type Outcome = Result<ExitCode, Failure>;

/// The exit status of an answer: 0 if it is good, or yes, else 1.
fn status(good: bool) -> ExitCode {
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

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
    /// the options that the name itself implies, and translates forms that clap does not know.
    const fn arranged(self, arrange: fn(&str, &[OsString]) -> Vec<OsString>) -> Self {
        Command { arrange, ..self }
    }

    /// The definition of the command under `name`.
    pub fn definition(&self, name: &'static str) -> clap::Command {
        let definition = help::dress((self.define)(clap::Command::new(name)));
        definition.after_long_help(manual::help(self.name))
    }
}

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    // A file that grows beyond `ulimit -f` is an error as any other. A handler, since an ignored signal stays ignored
    // in the programs that commands start.
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
