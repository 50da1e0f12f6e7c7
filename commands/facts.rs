//! `scr env`, `scr prefix`, `scr nodes-file`: facts about a job, for scripts.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::{Outcome, RunCommand, place};
use scr_engine::format::{self, nodes::Nodes};
use scr_jobs::hostlist::compress;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print one fact about the job, without a newline
///
/// The job id is the one in the names of cache directories: SCR_JOB_ID, else that of the
/// resource manager, else one derived from the prefix directory. SCR_NODELIST and SCR_END_TIME
/// replace what the resource manager says.
///
/// Exit status: 0 printed, 1 not known.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("question").multiple(false).required(true))]
pub(super) struct Env {
    /// Print the user's name
    #[arg(short, long, group = "question")]
    user: bool,
    /// Print the job id
    #[arg(short, long, group = "question")]
    jobid: bool,
    /// Print when the allocation ends, in seconds since 1970; 0 if not known
    #[arg(short, long, group = "question")]
    endtime: bool,
    /// Print the nodes of the job
    #[arg(short, long, group = "question")]
    nodes: bool,
    /// Print the nodes of the job that are down, according to the resource manager
    #[arg(short, long, group = "question")]
    down: bool,
    /// Print how many nodes the last run used
    #[arg(short, long, group = "question")]
    runnodes: bool,
    /// Print the name of the resource manager, or NONE
    #[arg(short, long, group = "question")]
    manager: bool,
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

impl RunCommand for Env {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        let answer = self.answer(&job)?;
        write!(call.out, "{answer}")?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Env {
    fn answer(&self, job: &Job) -> Result<String, Failure> {
        if self.user {
            job.user()
        } else if self.jobid {
            job.id()
        } else if self.endtime {
            Ok(job.end()?.unwrap_or(0).to_string())
        } else if self.nodes {
            Ok(compress(&job.nodes()?))
        } else if self.down {
            Ok(compress(&job.manager.down(&job.nodes()?)?))
        } else if self.manager {
            Ok(job.manager.name().to_string())
        } else {
            let nodes = job.run_nodes()?.ok_or_else(|| {
                let file = job.prefix.file("nodes.scr");
                Failure::said(format!(
                    "there is no {}: nothing has run yet",
                    file.display()
                ))
            })?;
            Ok(nodes.to_string())
        }
    }
}

/// Print the prefix directory that a job started here would use
///
/// That is SCR_PREFIX, from the environment or a configuration file, else the current
/// directory.
#[derive(clap::Args)]
pub(super) struct PrefixPath {}

impl RunCommand for PrefixPath {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let prefix = Job::here(None)?.prefix;
        call.out.write_all(prefix.root().as_os_str().as_bytes())?;
        writeln!(call.out)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Print how many nodes the last run used
///
/// Exit status: 0 printed, 1 it is not known.
#[derive(clap::Args)]
pub(super) struct NodesFile {
    #[command(flatten)]
    dir: place::Dir,
}

impl RunCommand for NodesFile {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let prefix = self.dir.used()?;
        let record: Nodes = format::read(&*place::files(&prefix), &prefix.file("nodes.scr"))?;
        writeln!(call.out, "{}", record.nodes)?;
        Ok(ExitCode::SUCCESS)
    }
}
