//! `scr list-down-nodes`: lists nodes that must not be used.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::json::{self, object};
use super::{Outcome, RunCommand, check_node, failed_nodes};
use scr_engine::config::table;
use scr_engine::events::Event;
use scr_jobs::health::{self, HealthReport, NodeTests};
use scr_jobs::hostlist::{compress, expand, minus, unique};
use scr_jobs::launcher::Launcher;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// List nodes that are down or should not be used
///
/// A node is listed if --down or SCR_EXCLUDE_NODES names it, if the resource manager says that it is
/// down, or if it fails one of SCR_NODE_TESTS: ping, echo (a command runs there), dir_capacity (its
/// directories can be used, see scr check-node), or a command that is named with its path (it ends with exit code 0). SCR_REMOTE says
/// how nodes are reached. A node that failed in SCR_NODE_FAILURES jobs of the last SCR_NODE_FAILURE_HOURS is listed, too, if
/// enough others are there (SCR_MIN_NODES).
///
/// Prints the host list of these nodes, or an empty line.
///
/// Exit status: 0 printed, 1 the nodes of the job are not known or a parameter has a bad value.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Nodes to test, instead of those of the job
    #[arg(value_name = "NODES")]
    nodes: Vec<String>,
    /// What the program is launched with: srun, mpirun, flux ...
    #[arg(short, long, value_name = "LAUNCHER")]
    joblauncher: Option<String>,
    /// Print one line for each node, with the reason
    #[arg(short, long)]
    reason: bool,
    /// Print JSON, for programs; described in docs/formats/json.md
    #[arg(long, conflicts_with = "reason")]
    json: bool,
    /// Compare configured sizes with the free space; for use before the first run
    #[arg(short, long)]
    free: bool,
    /// Nodes that are known to be down
    #[arg(short, long, value_name = "NODES")]
    down: Option<String>,
    /// Log an event for each node, if SCR_LOG_ENABLE is set
    #[arg(short, long)]
    log: bool,
    /// With --log: how long the run took, seconds
    #[arg(short, long, value_name = "SECONDS", value_parser = super::log_write::seconds)]
    secs: Option<f64>,
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let job = Job::here(self.prefix.as_deref())?;
        let nodes = match &self.nodes[..] {
            [] => job.nodes()?,
            lists => unique(expand(&lists.join(","))?),
        };
        let known = expand(self.down.as_deref().unwrap_or(""))?;
        let launcher = job.launcher(self.joblauncher.as_deref())?;
        let report = report(&job, launcher.as_ref(), &nodes, &known, self.free)?;
        for note in &report.notes {
            call.warn(note);
        }
        let up = minus(&nodes, &report.nodes());
        let avoided = failed_nodes::avoided(&job, &up, nodes.len())?;
        let listed = || report.down.iter().chain(&avoided);
        if self.json {
            let found = object! {
                tested: nodes,
                down: listed().collect::<Vec<_>>(),
                not_tested: &report.notes,
            };
            json::print(call, "list-down-nodes", found)?;
        } else if self.reason {
            for down in listed() {
                writeln!(call.out, "{}: {}", down.node, down.reason)?;
            }
        } else {
            let names: Vec<String> = listed().map(|down| down.node.clone()).collect();
            writeln!(call.out, "{}", compress(&names))?;
        }
        if self.log {
            log(&job, &report, self.secs)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Default of SCR_NODE_TEST_SECONDS.
const SITE_PATIENCE: Duration = Duration::from_secs(60);

/// Makes the tests that the configuration asks for.
pub(super) fn report(
    job: &Job,
    launcher: Option<&Launcher>,
    nodes: &[String],
    known: &[String],
    free: bool,
) -> Result<HealthReport, Failure> {
    let lookup = |name: &str| job.get(name);
    let default = table::parameter("SCR_NODE_TESTS").map_or("", |p| p.default);
    let tests = health::tests(&job.environment, &lookup, default)?;
    let health = NodeTests {
        manager: &*job.manager,
        remote: &job.remote(launcher)?,
        environment: &job.environment,
        lookup: &lookup,
        tests: &tests,
        check_node: &check_node::command(job, free)?,
        site_patience: job
            .number("SCR_NODE_TEST_SECONDS")?
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map_or(SITE_PATIENCE, Duration::from_secs),
    };
    Ok(health.report(nodes, known)?)
}

/// Logs each node that must not be used.
pub(super) fn log(job: &Job, report: &HealthReport, secs: Option<f64>) -> Result<(), Failure> {
    report.down.iter().try_for_each(|down| {
        job.note(Event::NodeFail, |line| {
            line.note = Some(format!("{}: {}", down.node, down.reason));
            line.secs = secs;
        })
    })
}
