//! `scr scavenge`: saves a dataset from the caches of the nodes that are up.

use super::caches::of_control;
use super::call::{Failure, Invocation};
use super::complete::complete;
use super::job::Job;
use super::on_nodes::{command_on_nodes, message, tell_unkept};
use super::progress::NodeProgress;
use super::{Outcome, RunCommand, list_down_nodes, place};
use scr_engine::events::Event;
use scr_engine::format::print::escaped;
use scr_engine::job::{Heard, clock};
use scr_engine::system::time::Instant;
use scr_engine::text::excerpt;
use scr_jobs::hostlist::{compress, expand, minus, unique};
use scr_jobs::launcher::Launcher;
use scr_jobs::remote::{NodeResult, Remote};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Save a dataset from the caches of the nodes to the prefix directory
///
/// Runs `scr copy` on each node in two rounds: first for the files of all ranks, then for the
/// redundancy files of sets in which a rank is missing. Then rebuilds lost files and enters the
/// dataset in the index, like `scr index --build`. May be repeated.
///
/// Exit status: 0 the dataset is complete in the prefix directory, 1 it is not.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Number of the dataset
    #[arg(short, long, value_name = "ID")]
    id: u64,
    /// Nodes of the job, instead of what the resource manager says
    #[arg(short = 'j', long, visible_alias = "jobset", value_name = "NODES")]
    nodes: Option<String>,
    /// Nodes that are down
    #[arg(short, long, value_name = "NODES", default_value = "")]
    down: String,
    /// What the program was launched with: srun, mpirun, flux ...
    #[arg(short = 'l', long, value_name = "LAUNCHER")]
    joblauncher: Option<String>,
    /// Control directory of the job, BASE/USER/scr.JOBID: user and job id are taken from it, instead
    /// of from parameters and environment
    #[arg(short = 'f', long, visible_alias = "cntldir", value_name = "DIR")]
    from: Option<PathBuf>,
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, visible_alias = "to", value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Print each step, and the output of each node
    #[arg(short, long)]
    verbose: bool,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        if let Some(dir) = &self.from {
            of_control(dir)?;
        }
        let job = Job::here(self.prefix.as_deref())?;
        call.verbose = self.verbose || job.debug();
        place::used(Some(job.prefix.root()))?;
        let all = match &self.nodes {
            Some(list) => unique(expand(list)?),
            None => job.nodes()?,
        };
        let launcher = job.launcher(self.joblauncher.as_deref())?;
        let known = expand(&self.down)?;
        let mut nodes = ReachedNodes::tested(call, &job, launcher.as_ref(), &all, &known)?;
        nodes.control.clone_from(&self.from);
        nodes.save(call, self.id)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The longest time for a copy if the end of the allocation is not known.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// The longest list of nodes that is handed to a command, bytes.
const LONG: usize = 8192;

/// The nodes of a job that has ended.
pub(super) struct ReachedNodes<'a> {
    job: &'a Job,
    remote: Remote,
    /// Control directory of the job, if it differs from that of this environment.
    control: Option<PathBuf>,
    /// Nodes that can be reached.
    pub up: Vec<String>,
    /// Nodes whose part is lost.
    pub down: Vec<String>,
}

impl<'a> ReachedNodes<'a> {
    /// Divides `all` nodes: those that pass the tests, and those that do not or are `known` to be
    /// down.
    ///
    /// # Errors
    /// No node is up, a parameter has a bad value, or no command can run on other nodes.
    pub fn tested(
        call: &mut Invocation,
        job: &'a Job,
        launcher: Option<&Launcher>,
        all: &[String],
        known: &[String],
    ) -> Result<Self, Failure> {
        let report = list_down_nodes::report(job, launcher, all, known, false)?;
        for note in &report.notes {
            call.warn(note);
        }
        let down = report.nodes();
        let up = minus(all, &down);
        for (what, nodes) in [
            ("jobnodes:  ", all),
            ("downnodes: ", &down),
            ("upnodes:   ", &up),
        ] {
            call.step(&format_args!("{what}{}", compress(nodes)))?;
        }
        if up.is_empty() {
            // One reason is enough: there may be thousands of nodes, mostly with the same reason.
            let first = report.down.first();
            let why = first.map(|down| format!(" ({}: {})", down.node, down.reason));
            return Err(Failure::said(format!(
                "no node can be reached, so nothing in their caches can be saved{}",
                why.unwrap_or_default()
            )));
        }
        Ok(ReachedNodes {
            job,
            remote: job.remote(launcher)?,
            control: None,
            up,
            down,
        })
    }

    /// Runs a command of ours on each node that is up.
    pub fn ask(&self, words: &[&str]) -> Result<Vec<NodeResult>, Failure> {
        self.ask_heard(words, None)
    }

    /// Runs a command of ours on each node that is up, and gives `heard` its output at once.
    fn ask_heard(&self, words: &[&str], heard: Option<&Heard>) -> Result<Vec<NodeResult>, Failure> {
        let task = command_on_nodes(self.job, self.control.as_deref(), words)?;
        Ok(self.remote.run_heard(&self.up, &task, self.limit(), heard))
    }

    /// Time that a copy may take: to the end of the allocation.
    fn limit(&self) -> Duration {
        let end = self.job.end().ok().flatten();
        let left = end.map(|end| end.saturating_sub(clock::now()));
        let left = left
            .and_then(|left| u64::try_from(left).ok())
            .filter(|left| *left > 0);
        left.map_or(PATIENCE, Duration::from_secs)
    }

    /// Copies a dataset to the prefix directory and completes it there.
    ///
    /// # Errors
    /// The dataset is not complete there, and why.
    pub fn save(&self, call: &mut Invocation, id: u64) -> Result<(), Failure> {
        let up = compress(&self.up);
        let down = match &self.down[..] {
            [] => String::new(),
            down => format!(", without {}", compress(down)),
        };
        writeln!(
            call.out,
            "Saving dataset {id} from the caches of {up}{down}"
        )?;
        call.out.flush()?;
        self.log(Event::ScavengeStart, id, None);
        let begun = Instant::now();
        let result = self.copy_and_build(call, id);
        self.log(Event::ScavengeEnd, id, Some(begun.elapsed().as_secs_f64()));
        result
    }

    fn copy_and_build(&self, call: &mut Invocation, id: u64) -> Result<(), Failure> {
        let number = id.to_string();
        for round in ["none", "needed"] {
            let what = match round {
                "none" => "the files of all ranks",
                _ => "the redundancy files that are needed",
            };
            call.step(&format_args!("copying {what} of dataset {id}"))?;
            let mut words = vec!["copy", "--id", &number, "--redundancy", round];
            // The list is long where many nodes are down; then a missing record tells the same.
            let down = compress(&self.down);
            if round == "needed" && !down.is_empty() && down.len() < LONG {
                words.push(&down);
            }
            let progress = NodeProgress::new(self.up.len());
            let answers = self.ask_heard(&words, Some(&progress.listener()))?;
            drop(progress);
            for answer in &answers {
                for line in answer.out.lines().chain(answer.err.lines()) {
                    call.step(&format_args!("{}: {}", answer.node, escaped(&line.into())))?;
                }
            }
            tell_unkept(call, &answers, "copy");
            let bad = answers.iter().filter(|answer| !answer.good());
            for answer in bad.filter(|answer| !has_nothing(answer, id)) {
                call.warn(&format!("node {}: {}", answer.node, told(answer)));
            }
            // A node that has nothing may be a spare one, or have come back empty.
            if answers.iter().all(NodeResult::good) && self.down.is_empty() {
                break;
            }
        }
        call.step(&format_args!("checking the files of dataset {id}"))?;
        complete(call, &self.job.prefix, id)
    }

    /// Logs an event. Errors are ignored: a dataset is saved also without a log.
    fn log(&self, event: Event, id: u64, secs: Option<f64>) {
        let _ = self
            .job
            .note(event, |line| (line.dset, line.secs) = (Some(id), secs));
    }
}

/// True if the node has no part of the dataset, like spare nodes.
fn has_nothing(answer: &NodeResult, id: u64) -> bool {
    answer.code == Some(1)
        && answer
            .err
            .contains(&format!("there is nothing of dataset {id} in"))
}

/// The first message of the command, else its exit status.
fn told(answer: &NodeResult) -> String {
    let mut messages = answer.err.lines().filter_map(|line| message(line, "copy"));
    match messages.next() {
        Some(text) => excerpt(text, 500),
        None => answer.why(),
    }
}
