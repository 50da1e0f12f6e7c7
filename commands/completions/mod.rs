//! `scr completions`: scripts by which shells complete command lines.

pub(super) mod offer;

use super::call::{Failure, Invocation};
use super::{COMMANDS, Outcome, RunCommand};
use scr_engine::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print a script by which a shell completes command lines
///
/// For example in ~/.bashrc: eval "$(scr completions bash)". With --dir writes one script for `scr`
/// and one for each classic name, under the file names that the shell looks for. An installation has
/// these already. Options that take a dataset offer those of the prefix directory.
///
/// Exit status: 0 done, 1 a file cannot be written.
#[derive(clap::Args)]
pub(super) struct Options {
    /// The shell
    shell: ShellKind,
    /// The name to complete for, instead of scr
    #[arg(value_name = "NAME", value_parser = names(), hide_possible_values = true)]
    name: Option<String>,
    /// Write scripts for all names to this directory
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    dir: Option<PathBuf>,
}

/// The supported shells.
#[derive(Clone, Copy, clap::ValueEnum)]
enum ShellKind {
    Bash,
    Zsh,
    Fish,
}

impl ShellKind {
    /// The script that completes the lines of one name.
    fn script(self, name: &str) -> String {
        let script = match self {
            ShellKind::Bash => include_str!("scr.bash"),
            ShellKind::Zsh => include_str!("scr.zsh"),
            ShellKind::Fish => include_str!("scr.fish"),
        };
        script.replace("NAME", name)
    }

    fn file_name(self, name: &str) -> String {
        match self {
            // The bash-completion package looks for a file without a suffix.
            ShellKind::Bash => name.to_string(),
            ShellKind::Zsh => format!("_{name}"),
            ShellKind::Fish => format!("{name}.fish"),
        }
    }
}

/// All names of the program: `scr` and the classic ones.
fn all_names() -> impl Iterator<Item = &'static str> {
    let classic = COMMANDS.iter().flat_map(|command| command.classic);
    std::iter::once("scr").chain(classic.copied())
}

fn names() -> clap::builder::PossibleValuesParser {
    all_names().collect::<Vec<_>>().into()
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let Some(dir) = &self.dir else {
            let name = self.name.as_deref().unwrap_or("scr");
            let known = all_names().find(|known| *known == name).unwrap_or("scr");
            call.out.write_all(self.shell.script(known).as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        };
        let failed = |path: &PathBuf, error| Failure::from(Error::io("write", path, error));
        std::fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
        for name in all_names() {
            let path = dir.join(self.shell.file_name(name));
            let written = std::fs::write(&path, self.shell.script(name));
            written.map_err(|error| failed(&path, error))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
