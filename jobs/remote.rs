//! Running one command on each of some nodes.

mod call;
mod parse;

use crate::hostlist;
use crate::launcher::{Launcher, LauncherKind};
use crate::manager::{Manager, same_host};
use scr_engine::job::identity::parameter;
use scr_engine::job::manager::ManagerKind;
use scr_engine::job::program::{self, Finished, Heard, failed, find};
use scr_engine::job::{Environment, Lookup};
use scr_engine::system::sync::Mutex;
use scr_engine::system::thread;
use scr_engine::{Error, Result};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Most programs that run at a time where each node needs one of its own.
const AT_A_TIME: usize = 32;

/// The command to run on each node.
#[derive(Debug, Clone, Default)]
pub struct RemoteCommand {
    /// Program and arguments. The program must be reachable under this name on each node.
    pub command: Vec<OsString>,
    /// Variables that it needs there; only srun and flux bring the whole environment along.
    pub set: Vec<(String, String)>,
    /// The command runs in the root directory, if the way to the nodes allows it, since the current directory may be on
    /// a file system that hangs.
    pub in_root: bool,
}

/// The result on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeResult {
    /// The node.
    pub node: String,
    /// Exit code of the command; `None` if it could not be run to its end there.
    pub code: Option<i32>,
    /// The standard output of the command.
    pub out: String,
    /// The standard error of the command, or the reason why it could not be run.
    pub err: String,
}

impl NodeResult {
    /// True if the command ran and ended with exit code 0.
    pub fn good(&self) -> bool {
        self.code == Some(0)
    }

    /// The fault, in one line.
    pub fn why(&self) -> String {
        let (code, out, err) = (self.code, self.out.clone(), self.err.clone());
        match code {
            Some(_) => Finished { code, out, err }.why(),
            None => parse::first_line(&err).unwrap_or_else(|| "no answer".to_string()),
        }
    }
}

/// A way to reach nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RemoteShell {
    /// One job step for all nodes.
    Srun(PathBuf),
    /// One `flux exec` for all nodes.
    Flux(PathBuf),
    /// One parallel shell for all nodes.
    Pdsh(PathBuf),
    /// One parallel shell of another kind for all nodes.
    Clush(PathBuf),
    /// A shell for each node.
    Ssh(PathBuf),
    /// A launch for each node, by mpirun of Open MPI or Hydra.
    Mpirun(LauncherKind, PathBuf),
    /// All nodes are this machine, as SCR_NODE_NAME can make one machine stand for several.
    Here,
}

/// Runs commands on nodes.
#[derive(Debug, Clone)]
pub struct Remote {
    way: Option<RemoteShell>,
    environment: Environment,
}

impl Remote {
    /// The way that SCR_REMOTE names; with AUTO, the default, srun in a job of Slurm, flux in an
    /// instance of Flux, else the first of pdsh, clush and ssh that exists, else the launcher.
    /// Local.
    ///
    /// # Errors
    /// The way that is named is not to be had.
    pub fn choose(
        manager: &dyn Manager,
        launcher: Option<&Launcher>,
        environment: &Environment,
        lookup: Lookup,
    ) -> Result<Self> {
        const NAME: &str = "SCR_REMOTE";
        let word = parameter(NAME, environment, lookup).unwrap_or_default();
        let program = |name: &str| find(environment, name);
        let way = match word.to_ascii_uppercase().as_str() {
            "LOCAL" => Some(RemoteShell::Here),
            "PDSH" => program("pdsh").map(RemoteShell::Pdsh),
            "CLUSH" => program("clush").map(RemoteShell::Clush),
            "SSH" => program("ssh").map(RemoteShell::Ssh),
            "LAUNCHER" => by_launcher(manager, launcher, environment),
            "AUTO" | "" => by_scheduler(manager, environment)
                .or_else(|| program("pdsh").map(RemoteShell::Pdsh))
                .or_else(|| program("clush").map(RemoteShell::Clush))
                .or_else(|| program("ssh").map(RemoteShell::Ssh))
                .or_else(|| by_launcher(manager, launcher, environment)),
            _ => {
                return Err(failed(
                    &word,
                    format!("{NAME} cannot be this; see scr params {NAME}"),
                ));
            }
        };
        if way.is_none() && !matches!(word.as_str(), "AUTO" | "") {
            let what = format!("{NAME} asks for it, but there is no such program on PATH");
            return Err(failed(&word.to_ascii_lowercase(), what));
        }
        let environment = environment.clone();
        Ok(Remote { way, environment })
    }

    /// True if it reaches other nodes at all.
    pub fn reaches(&self) -> bool {
        self.way.is_some()
    }

    /// True if all nodes are this machine.
    pub fn is_local(&self) -> bool {
        self.way == Some(RemoteShell::Here)
    }

    /// The name of the program that reaches the nodes, for messages.
    pub fn name(&self) -> &'static str {
        match &self.way {
            Some(RemoteShell::Srun(_)) => "srun",
            Some(RemoteShell::Flux(_)) => "flux exec",
            Some(RemoteShell::Pdsh(_)) => "pdsh",
            Some(RemoteShell::Clush(_)) => "clush",
            Some(RemoteShell::Ssh(_)) => "ssh",
            Some(RemoteShell::Mpirun(..)) => "mpirun",
            Some(RemoteShell::Here) => "this machine",
            None => "nothing",
        }
    }

    /// Runs `task` on each of `nodes`, in parallel, for at most `limit` each time it is tried. An
    /// answer for each node comes back, in the order of `nodes`. On this node it is run directly.
    /// If one call for several nodes does not reach all of them, the others are asked one by one.
    /// So a command may be begun twice on a node, and must bear it.
    pub fn run(&self, nodes: &[String], task: &RemoteCommand, limit: Duration) -> Vec<NodeResult> {
        self.run_heard(nodes, task, limit, None)
    }

    /// Like [`Remote::run`]; the lines that come from the nodes are passed to `heard` at once, perhaps
    /// with a label of the node before them.
    pub fn run_heard(
        &self,
        nodes: &[String],
        task: &RemoteCommand,
        limit: Duration,
        heard: Option<&Heard>,
    ) -> Vec<NodeResult> {
        let (near, far) = self.near_and_far(nodes);
        let mut answers = each(&near, |node| {
            self.call_here(node, task, (limit, heard.cloned()))
        });
        if !far.is_empty() {
            answers.extend(self.far(&far, task, limit, heard));
        }
        let place = |node: &String| nodes.iter().position(|one| one == node);
        answers.sort_by_cached_key(|answer| place(&answer.node));
        answers
    }

    /// Starts `task` on each of `nodes`, to go on when this process ends. Returns the nodes on which that
    /// failed at once, with the reason. The output goes to `log`.
    pub fn start(
        &self,
        nodes: &[String],
        task: &RemoteCommand,
        log: &std::fs::File,
    ) -> Vec<(String, Error)> {
        let (near, far) = self.near_and_far(nodes);
        let mut failed = Vec::new();
        for node in near {
            let set = self.variables_here(&node, task);
            let started = call::start_here(&task.command, &set, log);
            failed.extend(started.err().map(|error| (node, error)));
        }
        let alone = matches!(
            self.way,
            Some(RemoteShell::Ssh(_) | RemoteShell::Mpirun(..))
        );
        let groups: Vec<&[String]> = if alone {
            far.chunks(1).collect()
        } else {
            far.chunks(far.len().max(1)).collect()
        };
        for group in groups {
            let started = match &self.way {
                Some(way) => self.call_and_leave(way, group, task, log),
                None => Err(call::no_way()),
            };
            if let Err(error) = started {
                failed.extend(group.iter().map(|node| (node.clone(), error.clone())));
            }
        }
        failed
    }

    /// The nodes on which a command runs directly, and the others.
    fn near_and_far(&self, nodes: &[String]) -> (Vec<String>, Vec<String>) {
        let all_here = self.way == Some(RemoteShell::Here);
        let nodes = nodes.iter().cloned();
        nodes.partition(|node| all_here || self.is_here(node))
    }

    /// The variables of a command that runs directly. If all nodes are on this machine, they have the
    /// node's name.
    fn variables_here(&self, node: &str, task: &RemoteCommand) -> Vec<(String, String)> {
        let mut set = task.set.clone();
        if self.way == Some(RemoteShell::Here) {
            set.push(("SCR_NODE_NAME".to_string(), node.to_string()));
        }
        set
    }

    fn is_here(&self, node: &str) -> bool {
        let name = self.environment.get("SCR_NODE_NAME");
        same_host(node, &self.environment.host) || name.is_some_and(|name| name == node)
    }

    fn far(
        &self,
        nodes: &[String],
        task: &RemoteCommand,
        limit: Duration,
        heard: Option<&Heard>,
    ) -> Vec<NodeResult> {
        let one = |node: &String| self.ask(std::slice::from_ref(node), task, limit, heard);
        let together = matches!(
            self.way,
            Some(
                RemoteShell::Srun(_)
                    | RemoteShell::Flux(_)
                    | RemoteShell::Pdsh(_)
                    | RemoteShell::Clush(_)
            )
        );
        if !together || nodes.len() == 1 {
            return each(nodes, |node| one(node).pop().unwrap_or_else(|| lost(node)));
        }
        let mut answers = self.ask(nodes, task, limit, heard);
        let left: Vec<String> = {
            let left = answers.iter().filter(|answer| answer.code.is_none());
            left.map(|answer| answer.node.clone()).collect()
        };
        answers.retain(|answer| answer.code.is_some());
        answers.extend(each(&left, |node| {
            one(node).pop().unwrap_or_else(|| lost(node))
        }));
        answers
    }

    /// One call for some nodes.
    fn ask(
        &self,
        nodes: &[String],
        task: &RemoteCommand,
        limit: Duration,
        heard: Option<&Heard>,
    ) -> Vec<NodeResult> {
        let limit = (limit, heard.cloned());
        match self.call(nodes, task, limit) {
            Ok(answers) => answers,
            Err(error) => {
                let failed = |node: &String| NodeResult {
                    err: error.to_string(),
                    ..lost(node)
                };
                nodes.iter().map(failed).collect()
            }
        }
    }
}

/// No answer from a node.
fn lost(node: &str) -> NodeResult {
    NodeResult {
        node: node.to_string(),
        code: None,
        out: String::new(),
        err: String::new(),
    }
}

/// The scheduler's own way.
fn by_scheduler(manager: &dyn Manager, environment: &Environment) -> Option<RemoteShell> {
    match manager.kind() {
        ManagerKind::Slurm => find(environment, "srun").map(RemoteShell::Srun),
        ManagerKind::Flux => find(environment, "flux").map(RemoteShell::Flux),
        _ => None,
    }
}

fn by_launcher(
    manager: &dyn Manager,
    launcher: Option<&Launcher>,
    environment: &Environment,
) -> Option<RemoteShell> {
    let named = launcher.and_then(|launcher| {
        let program = find(environment, launcher.word())?;
        match launcher.kind() {
            LauncherKind::Srun => Some(RemoteShell::Srun(program)),
            LauncherKind::Flux => Some(RemoteShell::Flux(program)),
            kind @ (LauncherKind::OpenMpi | LauncherKind::Hydra) => {
                Some(RemoteShell::Mpirun(kind, program))
            }
            LauncherKind::Jsrun | LauncherKind::Lrun | LauncherKind::Aprun => None,
        }
    });
    named.or_else(|| by_scheduler(manager, environment))
}

/// Does something for each node, some at a time.
fn each(nodes: &[String], work: impl Fn(&String) -> NodeResult + Sync) -> Vec<NodeResult> {
    let (next, answers) = (Mutex::new(nodes.iter()), Mutex::new(Vec::new()));
    let take = || next.lock().ok().and_then(|mut next| next.next());
    thread::scope(|scope| {
        for _ in 0..nodes.len().min(AT_A_TIME) {
            scope.spawn(|| {
                while let Some(node) = take() {
                    let answer = work(node);
                    if let Ok(mut answers) = answers.lock() {
                        answers.push(answer);
                    }
                }
            });
        }
    });
    answers.into_inner().unwrap_or_default()
}

#[cfg(test)]
mod tests;
