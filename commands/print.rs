//! `scr print`: prints a file of SCR as text.

use super::call::Invocation;
use super::{Command, CommandGroup, Outcome, RunCommand, place};
use clap::ValueEnum;
use scr_engine::format::{print, read_tree};
use scr_engine::store::posix::Posix;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command.
pub(super) const COMMAND: Command = Command::of::<Options>(
    "print",
    &["scr_print", TREE, "scr_print_hash_file"],
    CommandGroup::Inspect,
);

/// The classic name whose mode is `tree`.
const TREE: &str = "kvtree_print";

/// Print a file of SCR as text
///
/// Prints the tree of keys and values in a file of SCR, such as index.scr or summary.scr, sorted.
/// For a redundancy file prints its header. Control characters and bytes that are not UTF-8 are
/// shown as \x and two hexadecimal digits.
///
/// Exit status: 0 printed, 1 the file does not exist or is not a file of SCR.
#[derive(clap::Args)]
struct Options {
    /// tree: one line for each element; keyval: key and value on one line [default: keyval; under the
    /// name kvtree_print: tree]
    #[arg(short, long)]
    mode: Option<Mode>,
    /// The file
    file: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    Tree,
    Keyval,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let tree = read_tree(&Posix, &place::file(&self.file)?)?;
        let style = match self.mode {
            Some(Mode::Tree) => print::Style::Tree,
            Some(Mode::Keyval) => print::Style::KeyVal,
            None if call.name == TREE => print::Style::Tree,
            None => print::Style::KeyVal,
        };
        call.out.write_all(print::print(&tree, style).as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
