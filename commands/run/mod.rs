//! `scr run`: launches a program, and launches it again after a failure.

mod again;
mod answers;
mod child;
mod ended;
mod leftovers;
mod signals;
mod steps;
mod words;

pub(super) use signals::Signals;
pub(super) use words::{arrange, split as split_words};

use super::call::{Failure, Invocation};
use super::job::Job;
use super::lock::only_one;
use super::test_runtime::missing_programs;
use super::watch::WatchArgs;
use super::{Outcome, RunCommand, mpi, prerun};
use scr_engine::Error;
use scr_engine::job::node_name;
use scr_jobs::hostlist::compress;
use scr_jobs::launcher::{Launcher, MpiProgram};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

/// The classic names.
pub(super) const NAMES: &[&str] = &[
    "scr_run",
    "scr_srun",
    "scr_mpirun",
    "scr_fluxrun",
    "scr_flux_run",
    "scr_jsrun",
    "scr_lrun",
    "scr_aprun",
];

/// Launch a program, and again on the nodes that are left if it fails
///
/// For job scripts, in front of the launcher: `scr run srun -n 64 ./app`. Prepares the prefix
/// directory, finds nodes that are down, and launches the program on the others. When a run has
/// failed, launches it again, so that it goes on from its newest checkpoint. A node that was down
/// once is not used again. At the end saves the newest checkpoint from the caches of the nodes.
/// scr_srun, scr_mpirun, scr_fluxrun, scr_jsrun, scr_lrun and scr_aprun add the launcher
/// themselves.
///
/// Each decision is one line with its reason: docs/running-jobs.md has all reasons not to launch again.
/// SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on to the launcher; after the
/// first four there is no other launch.
///
/// With --watch or SCR_WATCH, a run in which no source has moved for --after is ended, and launched
/// again. calls: the calls of the library. file=PATH: size and time of a file; there may be several.
/// cpu: processor time of the ranks, which counts only if nothing else can be read. command=CMD, as
/// the last one: its output, or exit code 0 for progress and 1 for none. See docs/my-job-hangs.md.
///
/// --run-cmd and --restart-cmd, or -rc and -rs, may be anywhere on the command line. One of the two
/// commands is added after the launcher and its options: the second if there is a checkpoint to
/// restart from. In it, SCR_CKPT_NAME is replaced by the checkpoint's name.
///
/// Exit status: that of the last launch, or 128 plus the number of the signal that ended it; 1 if
/// there was no launch. 0 is only for a program that was finished: if SIGTERM or a like signal came
/// and the program ends with 0 without SCR_Finalize, 128 plus the number of that signal; if the
/// watchdog ended it so, 1.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Program and arguments to launch if there is no checkpoint
    #[arg(long, value_name = "CMD")]
    run_cmd: Option<String>,
    /// Program and arguments to launch if there is one
    #[arg(long, value_name = "CMD")]
    restart_cmd: Option<String>,
    /// Print for each decision what it depends on
    #[arg(long)]
    explain: bool,
    /// At the end put the job into the queue again, if that can bring it further (SCR_REQUEUE)
    #[arg(long)]
    requeue: bool,
    #[command(flatten)]
    watch: WatchArgs,
    /// The launcher with its options, the program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "LAUNCHER")]
    words: Vec<OsString>,
}

/// The file in the prefix directory that only one loop has locked.
const LOCK: &str = "run.lock";

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        if !job.is_on("SCR_ENABLE")? {
            return Err(self.replace()?);
        }
        for problem in &job.problems {
            call.warn(problem);
        }
        let (word, _) = self.launch();
        let launcher = Launcher::named(&word.to_string_lossy(), &job.environment)?;
        // Only a warning: what the user calls a launcher may be a script that starts another one.
        let program = self.program(&job);
        if let Some(difference) = mpi::difference(&launcher, program.as_ref()) {
            call.warn(&difference);
        }
        // A job that has waited for its turn is not given up for a program that it may not need.
        for missing in missing_programs(&job) {
            call.warn(&missing);
        }
        if job.manager.name() == "NONE" && !launcher.kind().starts_from_here() {
            return Err(Failure::said(format!(
                "there is no allocation to run {} in; get one first, for example with salloc or \
                 sbatch",
                launcher.word()
            )));
        }
        let nodes = job.nodes()?;
        require_own_node(&job, &launcher, &nodes)?;
        call.verbose = job.debug();
        prerun::make(call, &job)?;
        let _lock = only_one(&job, LOCK, |holder| {
            format!(
                "scr run is at work in {} already ({holder}); wait for its end, or give each job its own \
                 SCR_PREFIX",
                job.prefix.root().display()
            )
        })?;
        steps::Steps::new(call, &job, &launcher, self, nodes)?.go()
    }
}

impl Options {
    /// Launcher and arguments as given.
    fn launch(&self) -> (OsString, &[OsString]) {
        match self.words.split_first() {
            Some((word, rest)) => (word.clone(), rest),
            None => (OsString::new(), &[]),
        }
    }

    /// The program among the words, if it names its MPI.
    fn program(&self, job: &Job) -> Option<MpiProgram> {
        let commands = [&self.run_cmd, &self.restart_cmd].into_iter().flatten();
        let words = commands.filter_map(|command| words::split(command).ok());
        let mut words: Vec<OsString> = words.flatten().map(OsString::from).collect();
        words.extend_from_slice(self.launch().1);
        MpiProgram::among(&words, &job.environment)
    }

    /// The arguments of a launch from the checkpoint `name`, or from the beginning.
    fn arguments(&self, name: Option<&str>) -> Result<Vec<OsString>, Failure> {
        let (_, arguments) = self.launch();
        let mut arguments = arguments.to_vec();
        let command = match (name, &self.restart_cmd, &self.run_cmd) {
            (Some(name), Some(command), _) => {
                // Split first, so that the name stays in one word.
                let words = words::split(command)?;
                words
                    .iter()
                    .map(|word| word.replace(words::NAME, name))
                    .collect()
            }
            (_, _, Some(command)) => words::split(command)?,
            (None, Some(_), None) => {
                return Err(Failure::said(
                    "there is no checkpoint for --restart-cmd, and --run-cmd is not given",
                ));
            }
            (_, None, None) => Vec::new(),
        };
        arguments.extend(command.into_iter().map(OsString::from));
        Ok(arguments)
    }

    /// Becomes the launcher, because SCR is switched off. Returns only if that fails.
    fn replace(&self) -> Result<Failure, Failure> {
        let (word, _) = self.launch();
        let error = std::process::Command::new(&word)
            .args(self.arguments(None)?)
            .exec();
        Ok(Error::io("run", &word, error).into())
    }
}

/// Fails if the launcher would start the program from a node that is not of the job, such as a login
/// node. Does not if all nodes are this machine.
fn require_own_node(job: &Job, launcher: &Launcher, nodes: &[String]) -> Result<(), Failure> {
    let local = job.remote(Some(launcher))?.is_local();
    if local || !steps::starts_from_here(job, launcher) || steps::own_node(job, nodes)?.is_some() {
        return Ok(());
    }
    let own = node_name(&job.environment, &|name| job.get(name))?.value;
    Err(Failure::said(format!(
        "this is node {own}, which is not a node of the job ({}), and {} starts the program from here; \
         run it in the job script, or set SCR_NODE_NAME to the name that this node has in the list",
        compress(nodes),
        launcher.word()
    )))
}
