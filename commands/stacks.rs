//! `scr stacks`: what the ranks of a job do, and which of them do something else.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::on_nodes::{print_answer, question_for_nodes, read_answer};
use super::{Outcome, RunCommand, place};
use scr_engine::job::{Environment, node_name};
use scr_engine::store::Durability;
use scr_engine::system::sync::mpsc::channel;
use scr_engine::system::thread;
use scr_engine::text::escaped;
use scr_jobs::hostlist::{expand, unique};
use scr_jobs::launcher::Launcher;
use scr_jobs::ranks::{NodeReport, PATIENCE, RankProcess, Wanted, keep_surest, page, summary};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Time in which a node must answer, beyond the time for the stacks.
const ANSWER: Duration = Duration::from_secs(20);

/// Time in which the file of stacks must be written to the prefix directory.
const WRITE: Duration = Duration::from_secs(20);

/// Lines of the summary.
const LINES: usize = 10;

/// Show where the ranks of a running job are, and which differ from the others
///
/// For a job that makes no progress, whether its program is linked with SCR or not. Looks at the processes of the job on
/// each node: their stacks, what they wait for, their memory, and the load of the node. Ranks that are in the same call of
/// MPI, called from the same place, are alike. Prints at most ten lines: the group that most ranks are in first, then
/// those that differ, marked with a star. With --long all that is known.
///
/// Ranks are found by what the launcher has told them. Where no scheduler tells jobs apart, the
/// ranks that use the prefix directory are shown. If no rank uses it, each launch is shown on its own. Stacks are
/// read by eu-stack (elfutils) or gdb. Without them, or where tracing is forbidden, only what /proc
/// tells is shown. The processes go on afterwards. Only processes of the same user can be looked at.
///
/// scr run does this before it ends a run that makes no progress (--watch, SCR_WATCHDOG).
///
/// Exit status: 0 printed, 1 there is no such process, or the nodes of the job are not known.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Nodes to look at, instead of those of the job
    #[arg(value_name = "NODES")]
    nodes: Vec<String>,
    /// What the program was launched with: srun, mpirun, flux ...
    #[arg(short, long, value_name = "LAUNCHER")]
    joblauncher: Option<String>,
    /// Look at these processes of this node only
    #[arg(
        long,
        value_name = "PID",
        value_delimiter = ',',
        conflicts_with = "nodes"
    )]
    pid: Vec<u32>,
    /// Print each group with its stack, each rank and each node
    #[arg(short, long)]
    long: bool,
    /// Print what there is on this node as JSON, for scr stacks on another node
    #[arg(long, hide = true)]
    here: bool,
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// With --here: a name of the prefix directory of the job
    #[arg(long, hide = true, value_name = "DIR")]
    of: Vec<PathBuf>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        if self.here {
            let environment = Environment::of_process();
            let wanted = Wanted {
                prefixes: self.of.clone(),
                ..wanted_here(&environment)?
            };
            let report = NodeReport::here(&environment, &wanted);
            print_answer(call, &report)?;
            return Ok(ExitCode::SUCCESS);
        }
        let job = Job::here(self.prefix.as_deref())?;
        let found = if !self.pid.is_empty() {
            Stacks::here(&job.environment, wanted(&job, &self.pid)?)?
        } else {
            let nodes = match &self.nodes[..] {
                [] => job.nodes()?,
                lists => unique(expand(&lists.join(","))?),
            };
            let launcher = job.launcher(self.joblauncher.as_deref())?;
            Stacks::collect(&job, launcher.as_ref(), &nodes)?
        };
        if found.processes.is_empty() && found.silent.is_empty() {
            return Err(Failure::said(match &self.pid[..] {
                [] => "no process of the job was found that knows its rank; name some with --pid",
                _ => "there is no such process of this user",
            }));
        }
        if self.long {
            write!(call.out, "{}", found.page())?;
        } else {
            for line in found.summary() {
                writeln!(call.out, "{line}")?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The ranks of a job on this node, or these processes.
pub(super) fn wanted(job: &Job, pids: &[u32]) -> Result<Wanted, Failure> {
    Ok(Wanted {
        job: job.id().ok(),
        prefixes: prefixes(job),
        node: node_name(&job.environment, &|name| job.get(name))?.value,
        pids: pids.to_vec(),
        below: None,
    })
}

/// The names of the prefix directory, as processes may have them.
fn prefixes(job: &Job) -> Vec<PathBuf> {
    vec![job.prefix.root().into(), job.prefix.real().into()]
}

/// The ranks of the job on this node, by the environment alone. No file is read.
pub(super) fn wanted_here(environment: &Environment) -> Result<Wanted, Failure> {
    Ok(Wanted {
        job: environment.get("SCR_JOB_ID").map(str::to_string),
        node: node_name(environment, &|_| None)?.value,
        ..Wanted::default()
    })
}

/// The processes that were found on all nodes.
pub(super) struct Stacks {
    reports: Vec<NodeReport>,
    processes: Vec<RankProcess>,
    /// Nodes that did not answer, and why.
    silent: Vec<(String, String)>,
    /// The nodes that could not be reached, although others were.
    lost: Vec<String>,
}

impl Stacks {
    /// The reports of these nodes; `silent` are nodes that did not answer, with the reason.
    pub fn of(reports: Vec<NodeReport>, silent: Vec<(String, String)>) -> Self {
        // Two emulated nodes of one machine may both see a process.
        let mut seen = BTreeSet::new();
        let mut processes: Vec<RankProcess> = Vec::new();
        for one in reports.iter().flat_map(|report| &report.processes) {
            if seen.insert((&one.node, one.pid)) {
                processes.push(one.clone());
            }
        }
        keep_surest(&mut processes, |one| one.belongs);
        processes.sort_by_key(|one| (one.rank, one.pid));
        Stacks {
            reports,
            processes,
            silent,
            lost: Vec::new(),
        }
    }

    /// Looks at this node alone, for a limited time: a process that waits for a file system may hold up another one
    /// that asks for its environment.
    pub fn here(environment: &Environment, wanted: Wanted) -> Result<Self, Failure> {
        let (send, report) = channel();
        let environment = environment.clone();
        thread::spawn(move || send.send(NodeReport::here(&environment, &wanted)));
        let report = report.recv_timeout(PATIENCE + ANSWER);
        let report = report.map_err(|_| Failure::said("this node does not answer"))?;
        Ok(Stacks::of(vec![report], Vec::new()))
    }

    /// Looks at all nodes, each for a limited time.
    pub fn collect(
        job: &Job,
        launcher: Option<&Launcher>,
        nodes: &[String],
    ) -> Result<Self, Failure> {
        let mut task = question_for_nodes(job, &["stacks", "--here"])?;
        for prefix in prefixes(job) {
            task.command.extend(["--of".into(), prefix.into()]);
        }
        let (mut reports, mut silent, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        for answer in job.remote(launcher)?.run(nodes, &task, PATIENCE + ANSWER) {
            if answer.code.is_none() {
                lost.push(answer.node.clone());
            }
            match read_answer(&answer) {
                Ok(report) => reports.push(report),
                Err(why) => silent.push((answer.node, why)),
            }
        }
        // If no node answers, the way to the nodes may be broken.
        if reports.is_empty() {
            lost.clear();
        }
        Ok(Stacks {
            lost,
            ..Self::of(reports, silent)
        })
    }

    /// Nodes that are taken as down: they did not answer, and others did.
    pub fn lost_nodes(&self) -> &[String] {
        &self.lost
    }

    /// Writes all that is known to a file in the prefix directory. Returns the summary, and a line that names the file. A file
    /// system that hangs does not hold up the caller.
    pub fn tell(&self, job: &Job, name: &str) -> Vec<String> {
        let mut lines = self.summary();
        let (path, page) = (job.prefix.file(name), self.page());
        let (send, done) = channel();
        let (files, to) = (place::files(&job.prefix), path.clone());
        thread::spawn(move || send.send(files.replace(&to, page.as_bytes(), Durability::Atomic)));
        lines.push(match done.recv_timeout(WRITE) {
            Ok(Ok(())) => format!("all stacks are in {}", path.display()),
            Ok(Err(error)) => format!("the stacks could not be written: {error}"),
            Err(_) => format!(
                "{} does not answer, so the stacks are not written",
                path.display()
            ),
        });
        lines
    }

    /// A summary of at most ten lines, and two more lines for each launch after the first.
    pub fn summary(&self) -> Vec<String> {
        let launches = self.launches();
        if launches.len() <= 1 {
            return summary(&self.processes, &self.silent, LINES);
        }
        let room = (LINES / launches.len()).max(3);
        let of_one = |(title, processes): (String, Vec<RankProcess>)| {
            let lines = summary(&processes, &self.silent, room);
            std::iter::once(title).chain(lines)
        };
        launches.into_iter().flat_map(of_one).collect()
    }

    fn page(&self) -> String {
        let launches = self.launches();
        if launches.len() <= 1 {
            return page(&self.reports, &self.processes, &self.silent);
        }
        let of_one = |(title, processes): (String, Vec<RankProcess>)| {
            let page = page(&self.reports, &processes, &self.silent);
            format!("{title}\n{page}\n")
        };
        launches.into_iter().map(of_one).collect()
    }

    /// Launches that cannot be one job, since they have a rank twice on a node, with titles. One if the rank does not
    /// exist.
    fn launches(&self) -> Vec<(String, Vec<RankProcess>)> {
        let numbered = self.processes.iter().filter(|one| one.rank.is_some());
        let mut ranks: Vec<_> = numbered.map(|one| (&one.node, one.rank)).collect();
        let count = ranks.len();
        ranks.sort_unstable();
        ranks.dedup();
        if ranks.len() == count {
            return vec![(String::new(), self.processes.clone())];
        }
        let mut launches: BTreeMap<(&str, &str), Vec<RankProcess>> = BTreeMap::new();
        for one in &self.processes {
            let launcher = one.launcher.as_deref().unwrap_or("unknown");
            let launch = launches.entry((one.node.as_str(), launcher));
            launch.or_default().push(one.clone());
        }
        let titled = launches.into_iter().map(|((node, launcher), processes)| {
            let title = format!("launched on {node} by {launcher}:");
            (escaped(&title).into_owned(), processes)
        });
        titled.collect()
    }
}
