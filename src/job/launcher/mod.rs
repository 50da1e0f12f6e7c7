//! Launchers of MPI programs: srun, mpirun and their like.
//!
//! A user's command line goes to the launcher as he wrote it. Only when nodes must be left out,
//! an option that says so is put in front of it.

mod line;
mod step;

use super::program::{PATIENCE, failed, need, run};
use super::{Environment, hostlist};
use crate::Result;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// How a launcher is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LauncherKind {
    /// Slurm's.
    Srun,
    /// `mpirun` and `mpiexec` of Open MPI and of PRRTE.
    OpenMpi,
    /// `mpiexec` and `mpirun` of MPICH and its relatives.
    Hydra,
    /// `flux run`.
    Flux,
    /// That of IBM's CORAL machines.
    Jsrun,
    /// Livermore's wrapper of it.
    Lrun,
    /// That of Cray XC.
    Aprun,
}

impl LauncherKind {
    /// Whose it is, for messages.
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
}

impl Launcher {
    /// From the word that begins a launch: one of [`WORDS`], a path to one, also with a suffix
    /// such as `mpiexec.hydra`. An mpirun or mpiexec is asked for its version to learn whose
    /// it is. Local.
    ///
    /// # Errors
    /// The word is no launcher, there is no such program, or it is the mpirun of an MPI that
    /// is not known.
    pub fn named(word: &str, environment: &Environment) -> Result<Self> {
        let file = Path::new(word).file_name().and_then(OsStr::to_str);
        let stem = file.and_then(|file| file.split('.').next()).unwrap_or("");
        let kind = match stem {
            "srun" => LauncherKind::Srun,
            "flux" => LauncherKind::Flux,
            "jsrun" => LauncherKind::Jsrun,
            "lrun" => LauncherKind::Lrun,
            "aprun" => LauncherKind::Aprun,
            "mpirun" | "mpiexec" | "prterun" | "orterun" => whose(word, environment)?,
            _ => {
                return Err(failed(
                    word,
                    format!("it is no launcher; use one of {WORDS}"),
                ));
            }
        };
        need(environment, word)?;
        Ok(Launcher {
            kind,
            word: word.to_string(),
        })
    }

    /// How it is spoken to.
    pub fn kind(&self) -> LauncherKind {
        self.kind
    }

    /// The word that begins a launch, as the user wrote it.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// The whole command line that runs `arguments`, what the user wrote after the launcher,
    /// on `nodes` and not on those of them that are `excluded`. With none excluded it is as
    /// the user wrote it.
    ///
    /// # Errors
    /// No node is left, or there is no place for the option.
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

    /// The job step that the launcher with process id `pid`, started on this node, runs: of
    /// srun `JOB.STEP`, of flux the id of the newest job in the instance, else the process id
    /// itself. `None` if the scheduler does not know of it, or not yet. Local.
    ///
    /// # Errors
    /// The scheduler cannot be asked.
    pub fn step(&self, environment: &Environment, pid: u32) -> Result<Option<String>> {
        step::of(self.kind, environment, pid)
    }

    /// Ends a job step, named as by [`Launcher::step`]: srun's and flux's through the
    /// scheduler, others by SIGTERM and, after ten seconds, SIGKILL to the launcher's process
    /// group, or to the launcher alone if it leads none. Returns when the scheduler was told
    /// or the process is gone.
    ///
    /// # Errors
    /// `step` is no such name, or the scheduler refuses. One that has ended already is no error.
    pub fn kill(&self, environment: &Environment, step: &str) -> Result<()> {
        step::kill(self.kind, environment, step)
    }
}

/// Whose mpirun it is.
fn whose(word: &str, environment: &Environment) -> Result<LauncherKind> {
    let program = need(environment, word)?;
    let finished = run(&program, &["--version".into()], &[], PATIENCE)?;
    let said = format!("{}{}", finished.out, finished.err);
    let says = |names: &[&str]| names.iter().any(|name| said.contains(name));
    if says(&["Open MPI", "OpenRTE", "PRRTE", "prterun"]) {
        Ok(LauncherKind::OpenMpi)
    } else if says(&["HYDRA", "Hydra", "Intel(R) MPI"]) {
        Ok(LauncherKind::Hydra)
    } else {
        let what = "its --version names neither Open MPI nor Hydra, so that it is not known \
                    how to leave nodes out; start the program by another launcher";
        Err(failed(word, format!("{what} ({})", finished.why())))
    }
}

#[cfg(test)]
mod tests;
