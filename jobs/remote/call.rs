//! The command lines of each remote shell.
//!
//! A parallel shell returns the exit code of one node, or its own. So each command runs in a small shell
//! script that prints the node and the exit code of the command.

use super::{
    Environment, LauncherKind, NodeResult, Remote, RemoteCommand, RemoteShell, failed, hostlist,
    lost, parse, program,
};
use scr_engine::job::program::{Heard, ask as question, run_heard};
use scr_engine::system::thread;
use scr_engine::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The script, see above. `$@` is the command.
const SCRIPT: &str = "printf 'scr-node %s\\n' \"${SLURMD_NODENAME-}\"; \"$@\"; \
                      printf '\\nscr-exit %s\\n' \"$?\"";

/// Time that a connection may take, seconds.
const CONNECT: &str = "10";

impl Remote {
    /// Runs a command on this node.
    pub(super) fn call_here(
        &self,
        node: &str,
        task: &RemoteCommand,
        (limit, heard): (Duration, Option<Heard>),
    ) -> NodeResult {
        let (set, command) = (self.variables_here(node, task), &task.command);
        let set: Vec<(&str, &str)> = set.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let found = command.split_first().and_then(|(word, rest)| {
            let program = program::find(&self.environment, word.to_str()?)?;
            Some((program, rest))
        });
        let finished = found
            .ok_or_else(|| {
                let word = command.first().map(|word| word.to_string_lossy());
                failed(&word.unwrap_or_default(), "there is no such program")
            })
            .and_then(|(program, rest)| run_heard(&program, rest, &set, limit, heard));
        match finished {
            Ok(finished) => NodeResult {
                node: node.to_string(),
                code: finished.code,
                err: match finished.code {
                    Some(_) => finished.err,
                    None => format!("no end within {} s", limit.as_secs()),
                },
                out: finished.out,
            },
            Err(error) => NodeResult {
                err: error.to_string(),
                ..lost(node)
            },
        }
    }

    /// One call for some nodes.
    pub(super) fn call(
        &self,
        nodes: &[String],
        task: &RemoteCommand,
        (limit, heard): (Duration, Option<Heard>),
    ) -> Result<Vec<NodeResult>> {
        let way = self.way.as_ref().ok_or_else(no_way)?;
        let words = Words {
            argv: script(task),
            limit: Some(limit),
            in_root: task.in_root,
        };
        let (path, arguments) = line(way, &self.environment, nodes, words)?;
        let finished = run_heard(path, &arguments, &[], limit, heard)?;
        let single = matches!(way, RemoteShell::Ssh(_) | RemoteShell::Mpirun(..));
        let answers = match (single, nodes) {
            (true, [node]) => vec![parse::single(node, &finished)],
            _ => {
                let names = label_names(way, &self.environment)?;
                parse::labelled(nodes, &names, &finished)
            }
        };
        Ok(answers)
    }

    /// Starts a command on some nodes that goes on when this process ends. Its output goes to `log`.
    pub(super) fn call_and_leave(
        &self,
        way: &RemoteShell,
        nodes: &[String],
        task: &RemoteCommand,
        log: &std::fs::File,
    ) -> Result<()> {
        let words = Words {
            argv: plain(task),
            limit: None,
            in_root: task.in_root,
        };
        let (path, arguments) = line(way, &self.environment, nodes, words)?;
        spawn(path, &arguments, &[], log)
    }
}

/// The error if no node can be reached.
pub(super) fn no_way() -> Error {
    failed(
        "a command on another node",
        "there is none of srun, flux, pdsh, clush and ssh on PATH",
    )
}

/// Starts a command on this node that goes on when this process ends.
pub(super) fn start_here(
    command: &[OsString],
    set: &[(String, String)],
    log: &std::fs::File,
) -> Result<()> {
    match command.split_first() {
        Some((word, rest)) => spawn(Path::new(word), rest, set, log),
        None => Err(failed("a command", "it has no words")),
    }
}

fn spawn(
    program: &Path,
    arguments: &[OsString],
    set: &[(String, String)],
    log: &std::fs::File,
) -> Result<()> {
    let stream = || {
        log.try_clone()
            .map_err(|error| Error::io("use", program, error))
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(set.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(stream()?)
        .stderr(stream()?);
    let child = program::detached(&mut command).spawn();
    let child = child.map_err(|error| Error::io("run", program, error))?;
    // The child is waited for, so that it does not stay as a zombie while this process lives.
    thread::spawn(move || {
        let mut child = child;
        child.wait()
    });
    Ok(())
}

/// The command for each node.
struct Words {
    argv: Vec<OsString>,
    /// The time limit of the call; without one, the call may last for ever.
    limit: Option<Duration>,
    in_root: bool,
}

/// The words of a call that runs this on some nodes.
fn line<'a>(
    way: &'a RemoteShell,
    environment: &Environment,
    nodes: &[String],
    Words {
        argv,
        limit,
        in_root,
    }: Words,
) -> Result<(&'a Path, Vec<OsString>)> {
    let list = hostlist::compress(nodes);
    let count = nodes.len().to_string();
    let text = || vec![quoted(&argv)];
    let seconds = limit.map(|limit| limit.as_secs().max(1).to_string());
    let timeout = seconds.iter().flat_map(|seconds| ["-u", seconds]);
    let (path, options, rest): (_, Vec<String>, Vec<OsString>) = match way {
        RemoteShell::Srun(path) => {
            let mut options = vec![
                format!("--nodes={count}"),
                format!("--ntasks={count}"),
                "--ntasks-per-node=1".to_string(),
                "--cpus-per-task=1".to_string(),
                format!("--nodelist={list}"),
                // Beside a step of the application that may still hold the processors.
                "--overlap".to_string(),
                "--label".to_string(),
                "--mpi=none".to_string(),
                "--kill-on-bad-exit=0".to_string(),
            ];
            if in_root {
                options.push("--chdir=/".to_string());
            }
            if limit.is_none() {
                // When a node is lost, or has done its work, the command goes on on the other nodes.
                options.extend(["--no-kill", "--wait=0"].map(str::to_string));
            }
            (path, options, argv)
        }
        RemoteShell::Flux(path) => {
            let ranks = ranks(environment, nodes)?;
            let dir = ["--dir=/"].into_iter().filter(|_| in_root);
            let options = ["exec", "--noinput", "--label-io", "--rank", &ranks];
            let options = options.into_iter().chain(dir);
            (path, options.map(str::to_string).collect(), argv)
        }
        RemoteShell::Pdsh(path) => {
            let options = ["-f", "256", "-t", CONNECT].into_iter();
            let options = options.chain(timeout).chain(["-w", &list]);
            (path, options.map(str::to_string).collect(), text())
        }
        RemoteShell::Clush(path) => {
            let options = ["-f", "256", "-t", CONNECT].into_iter();
            let options = options.chain(timeout).chain(["-w", &list]);
            (path, options.map(str::to_string).collect(), text())
        }
        RemoteShell::Ssh(path) => {
            let timeout = format!("ConnectTimeout={CONNECT}");
            let options = ["-n", "-o", "BatchMode=yes", "-o", &timeout, &list];
            (path, options.map(str::to_string).to_vec(), text())
        }
        RemoteShell::Mpirun(LauncherKind::OpenMpi, path) => {
            let dir = ["-wdir", "/"].into_iter().filter(|_| in_root);
            let options = ["--host", &list, "-n", "1"].into_iter().chain(dir);
            (path, options.map(str::to_string).collect(), argv)
        }
        RemoteShell::Mpirun(_, path) => {
            let dir = ["-wdir", "/"].into_iter().filter(|_| in_root);
            let options = ["-hosts", &list, "-n", "1"].into_iter().chain(dir);
            (path, options.map(str::to_string).collect(), argv)
        }
        RemoteShell::Here => return Err(failed("this machine", "it has no remote shell")),
    };
    let options = options.into_iter().map(OsString::from);
    Ok((path, options.chain(rest).collect()))
}

/// The nodes that labels of lines mean, if the labels are numbers.
fn label_names(way: &RemoteShell, environment: &Environment) -> Result<Vec<String>> {
    match way {
        RemoteShell::Flux(_) => hosts_of_flux(environment),
        _ => Ok(Vec::new()),
    }
}

/// The hosts of a Flux instance by rank.
fn hosts_of_flux(environment: &Environment) -> Result<Vec<String>> {
    let list = question(environment, "flux", &["getattr", "hostlist"], &[])?;
    hostlist::expand(list.trim())
}

/// The ranks of nodes in their Flux instance.
fn ranks(environment: &Environment, nodes: &[String]) -> Result<String> {
    let hosts = hosts_of_flux(environment)?;
    let rank = |node: &String| {
        let rank = hosts.iter().position(|host| host == node);
        rank.map(|rank| rank.to_string())
            .ok_or_else(|| failed("flux", format!("{node} is no node of this instance")))
    };
    let ranks: Result<Vec<String>> = nodes.iter().map(rank).collect();
    Ok(ranks?.join(","))
}

/// The command in its script.
fn script(task: &RemoteCommand) -> Vec<OsString> {
    let begin = ["sh", "-c", SCRIPT, "sh"].map(OsString::from);
    begin.into_iter().chain(plain(task)).collect()
}

/// The command with its variables.
fn plain(task: &RemoteCommand) -> Vec<OsString> {
    let mut argv = Vec::new();
    if !task.set.is_empty() {
        argv.push("env".into());
        let set = task
            .set
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        argv.extend(set.map(OsString::from));
    }
    argv.extend_from_slice(&task.command);
    argv
}

/// Quotes words for the login shell of another node, which gets one text. In single quotes throughout,
/// unlike `shlex`, because login shells such as tcsh do not unescape backslashes in double quotes.
fn quoted(argv: &[OsString]) -> OsString {
    let words = argv.iter().map(|word| {
        let mut out = vec![b'\''];
        for byte in word.as_bytes() {
            match byte {
                b'\'' => out.extend_from_slice(b"'\\''"),
                byte => out.push(*byte),
            }
        }
        out.push(b'\'');
        OsString::from_vec(out)
    });
    words.collect::<Vec<OsString>>().join(OsStr::new(" "))
}
