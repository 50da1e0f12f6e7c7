//! Launchers of MPI programs: srun, mpirun and their like.
//!
//! The launcher gets the user's command line unchanged. If nodes must be left out, an option for that
//! is added in front.

mod line;
mod mpi;
mod step;

pub use mpi::{MpiFamily, MpiProgram};

use crate::hostlist;
use scr_engine::Result;
use scr_engine::job::Environment;
use scr_engine::job::program::{PATIENCE, failed, need, run};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A family of launchers with the same options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LauncherKind {
    /// `srun` of Slurm.
    Srun,
    /// `mpirun` and `mpiexec` of Open MPI and of PRRTE.
    OpenMpi,
    /// `mpiexec` and `mpirun` of MPICH and its relatives.
    Hydra,
    /// `flux run`.
    Flux,
    /// `jsrun` of IBM's CORAL machines.
    Jsrun,
    /// `lrun`, Livermore's wrapper of `jsrun`.
    Lrun,
    /// `aprun` of Cray XC.
    Aprun,
}

impl LauncherKind {
    /// True if the launcher itself starts the processes, from the node where it runs. Others ask the
    /// resource manager, which can also be done from a login node.
    pub fn starts_from_here(self) -> bool {
        matches!(self, LauncherKind::OpenMpi | LauncherKind::Hydra)
    }

    /// The software that the launcher belongs to, for messages.
    pub fn name(self) -> &'static str {
        match self {
            LauncherKind::Srun => "Slurm",
            LauncherKind::OpenMpi => "Open MPI",
            LauncherKind::Hydra => "Hydra",
            LauncherKind::Flux => "Flux",
            LauncherKind::Jsrun | LauncherKind::Lrun => "LSF",
            LauncherKind::Aprun => "Cray",
        }
    }
}

/// Words that begin a launch, for messages.
pub const WORDS: &str = "srun, mpirun, mpiexec, flux, jsrun, lrun, aprun";

/// A launcher that a user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    kind: LauncherKind,
    word: String,
    /// What the launcher of an MPI calls its release; empty if it names none.
    version: String,
}

impl Launcher {
    /// The launcher for the first word of a launch: one of [`WORDS`], or a path to one, also with a
    /// suffix such as `mpiexec.hydra`. Runs `--version` of an mpirun or mpiexec to learn which MPI it
    /// belongs to. Local.
    ///
    /// # Errors
    /// The word is not a launcher, the program does not exist, or its MPI is unknown.
    pub fn named(word: &str, environment: &Environment) -> Result<Self> {
        let file = Path::new(word).file_name().and_then(OsStr::to_str);
        let stem = file.and_then(|file| file.split('.').next()).unwrap_or("");
        let mut version = String::new();
        let kind = match stem {
            "srun" => LauncherKind::Srun,
            "flux" => LauncherKind::Flux,
            "jsrun" => LauncherKind::Jsrun,
            "lrun" => LauncherKind::Lrun,
            "aprun" => LauncherKind::Aprun,
            "mpirun" | "mpiexec" | "prterun" | "orterun" => {
                let said = version_text(word, environment)?;
                version = release(&said.text).unwrap_or_default();
                whose(word, &said)?
            }
            _ => {
                return Err(failed(
                    word,
                    format!("it is not a launcher; use one of {WORDS}"),
                ));
            }
        };
        need(environment, word)?;
        Ok(Launcher {
            kind,
            word: word.to_string(),
            version,
        })
    }

    /// The software of the launcher and, if the launcher of an MPI tells it, the release, as in `Open MPI 4.1.4`.
    pub fn title(&self) -> String {
        format!("{} {}", self.kind.name(), self.version)
            .trim_end()
            .to_string()
    }

    /// The family of the launcher.
    pub fn kind(&self) -> LauncherKind {
        self.kind
    }

    /// The first word of a launch, as the user wrote it.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// The whole command line: the launcher with `arguments`, which the user wrote after it, on those
    /// of `nodes` that are not `excluded`. If no node is excluded, it is as the user wrote it.
    ///
    /// # Errors
    /// No node is left, or the option has no place in the command line.
    pub fn command(
        &self,
        arguments: &[OsString],
        nodes: &[String],
        excluded: &[String],
        environment: &Environment,
    ) -> Result<Vec<OsString>> {
        let mut command = vec![OsString::from(&self.word)];
        if excluded.is_empty() {
            command.extend_from_slice(arguments);
            return Ok(command);
        }
        let up = hostlist::minus(nodes, excluded);
        if up.is_empty() {
            return Err(failed(&self.word, "all nodes are down or excluded"));
        }
        command.extend(line::without(
            self.kind,
            arguments,
            &up,
            excluded,
            environment,
        )?);
        Ok(command)
    }

    /// The job step of the launcher that runs on this node with process id `pid`: `JOB.STEP` for
    /// srun, the id of the newest job in the instance for flux, else the process id itself. `None` if
    /// the scheduler does not know it (yet). Local.
    ///
    /// # Errors
    /// The scheduler cannot be asked.
    pub fn step(&self, environment: &Environment, pid: u32) -> Result<Option<String>> {
        step::of(self.kind, environment, pid)
    }

    /// Ends a job step that [`Launcher::step`] named. Steps of srun and flux are ended by the
    /// scheduler. Others get SIGTERM and, after ten seconds, SIGKILL: the launcher's process group, or
    /// the launcher alone if it leads no group. Returns when the scheduler has accepted the request or
    /// the process has ended. To end a step that has ended already is not an error.
    ///
    /// # Errors
    /// `step` is not the name of a step, or the scheduler refuses.
    pub fn kill(&self, environment: &Environment, step: &str) -> Result<()> {
        step::kill(self.kind, environment, step)
    }

    /// Sends a signal, such as `USR1`, to all processes of a job step. For launchers without a scheduler the step is the
    /// process id of the launcher.
    ///
    /// # Errors
    /// The errors of [`Launcher::kill`].
    pub fn signal(&self, environment: &Environment, step: &str, signal: &str) -> Result<()> {
        step::send_signal(self.kind, environment, step, signal)
    }

    /// True if a job step has not ended.
    ///
    /// # Errors
    /// The scheduler cannot be asked.
    pub fn runs(&self, environment: &Environment, step: &str) -> Result<bool> {
        step::is_there(self.kind, environment, step)
    }
}

/// What an mpirun says about itself.
struct VersionText {
    text: String,
    /// How the program ended, for messages.
    end: String,
}

fn version_text(word: &str, environment: &Environment) -> Result<VersionText> {
    let program = need(environment, word)?;
    let finished = run(&program, &["--version".into()], &[], PATIENCE)?;
    Ok(VersionText {
        text: format!("{}{}", finished.out, finished.err),
        end: finished.why(),
    })
}

/// The MPI that an mpirun belongs to.
fn whose(word: &str, said: &VersionText) -> Result<LauncherKind> {
    let says = |names: &[&str]| names.iter().any(|name| said.text.contains(name));
    if says(&["Open MPI", "OpenRTE", "PRRTE", "prterun"]) {
        Ok(LauncherKind::OpenMpi)
    } else if says(&["HYDRA", "Hydra", "Intel(R) MPI"]) {
        Ok(LauncherKind::Hydra)
    } else {
        let what = "its --version names neither Open MPI nor Hydra, so SCR does not know its \
                    option to leave nodes out; use another launcher";
        Err(failed(word, format!("{what} ({})", said.end)))
    }
}

/// The first word that is a number with a point in it, as in `mpirun (Open MPI) 4.1.4` and `Version: 4.0.2`.
fn release(text: &str) -> Option<String> {
    let is_release = |word: &&str| {
        word.starts_with(|first: char| first.is_ascii_digit())
            && word.contains('.')
            && word.len() < 32
    };
    text.split([' ', '\t', '\n', ','])
        .find(is_release)
        .map(String::from)
}

#[cfg(test)]
mod tests;
