//! `scr test-runtime`: checks that the programs exist that the commands need.

use super::call::Invocation;
use super::job::Job;
use super::{Outcome, RunCommand, status};
use scr_engine::job::program::find;
use scr_jobs::launcher::Launcher;
use std::io::Write;

/// Check that the programs exist that the commands need in this job
///
/// These are the programs of the resource manager, the launcher if one is named, and a program to
/// reach other nodes. Prints one line for each that is missing. Warns about bad settings.
///
/// Exit status: 0 all exist, 1 some are missing.
#[derive(clap::Args)]
pub(super) struct Options {
    /// The launcher: srun, mpirun, flux ...
    #[arg(short, long, value_name = "LAUNCHER")]
    joblauncher: Option<String>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(None)?;
        for problem in &job.problems {
            call.warn(problem);
        }
        let mut missing = missing_programs(&job);
        let launcher = match &self.joblauncher {
            Some(word) => Launcher::named(word, &job.environment)
                .map_err(|error| missing.push(error.to_string()))
                .ok(),
            None => None,
        };
        let nodes = job.nodes()?;
        match job.remote(launcher.as_ref()) {
            Ok(remote) if nodes.len() > 1 && !remote.reaches() => missing.push(
                "no other node can be reached: there is none of srun, flux, pdsh, clush and \
                 ssh on PATH"
                    .to_string(),
            ),
            Ok(_) => {}
            Err(super::call::Failure::Said(text)) => missing.push(text),
            Err(other) => return Err(other),
        }
        for line in &missing {
            writeln!(call.out, "scr_test_runtime: {line}")?;
        }
        Ok(status(missing.is_empty()))
    }
}

/// The messages about missing programs of the resource manager.
pub(super) fn missing_programs(job: &Job) -> Vec<String> {
    let programs = job.manager.programs().iter();
    let missing = programs.filter(|name| find(&job.environment, name).is_none());
    let manager = job.manager.name();
    let text = |name: &_| format!("there is no {name} on PATH, which {manager} needs");
    missing.map(text).collect()
}
