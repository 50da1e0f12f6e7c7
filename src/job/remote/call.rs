//! The command lines of each remote shell.
//!
//! A parallel shell returns the exit code of one node, or its own. So each command runs in a small shell
//! script that prints the node and the exit code of the command.

use super::super::program::{Heard, ask as question, run_heard};
use super::{
    Environment, LauncherKind, NodeResult, RemoteCommand, RemoteShell, failed, hostlist, lost,
    parse, program,
};
use crate::Result;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

/// The script, see above. `$@` is the command.
const SCRIPT: &str = "printf 'scr-node %s\\n' \"${SLURMD_NODENAME-}\"; \"$@\"; \
                      printf '\\nscr-exit %s\\n' \"$?\"";

/// How long a connection may take, seconds.
const CONNECT: &str = "10";

/// Runs a command on this node.
pub(super) fn here(
    environment: &Environment,
    node: &str,
    command: &[OsString],
    set: &[(String, String)],
    (limit, heard): (Duration, Option<Heard>),
) -> NodeResult {
    let set: Vec<(&str, &str)> = set.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let found = command.split_first().and_then(|(word, rest)| {
        let program = program::find(environment, word.to_str()?)?;
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
pub(super) fn ask(
    way: Option<&RemoteShell>,
    environment: &Environment,
    nodes: &[String],
    task: &RemoteCommand,
    (limit, heard): (Duration, Option<Heard>),
) -> Result<Vec<NodeResult>> {
    let way = way.ok_or_else(|| {
        failed(
            "a command on another node",
            "there is none of srun, flux, pdsh, clush and ssh on PATH",
        )
    })?;
    let list = hostlist::compress(nodes);
    let count = nodes.len().to_string();
    let argv = script(task);
    let text = || vec![quoted(&argv)];
    let seconds = limit.as_secs().max(1).to_string();
    let (path, options, rest): (_, Vec<String>, Vec<OsString>) = match way {
        RemoteShell::Srun(path) => {
            let options = [
                &format!("--nodes={count}"),
                &format!("--ntasks={count}"),
                "--ntasks-per-node=1",
                "--cpus-per-task=1",
                &format!("--nodelist={list}"),
                // Beside a step of the application that may still hold the processors.
                "--overlap",
                "--label",
                "--mpi=none",
                "--kill-on-bad-exit=0",
            ];
            (path, options.map(str::to_string).to_vec(), argv)
        }
        RemoteShell::Flux(path) => {
            let ranks = ranks(environment, nodes)?;
            let options = ["exec", "--noinput", "--label-io", "--rank", &ranks];
            (path, options.map(str::to_string).to_vec(), argv)
        }
        RemoteShell::Pdsh(path) => {
            let options = ["-f", "256", "-t", CONNECT, "-u", &seconds, "-w", &list];
            (path, options.map(str::to_string).to_vec(), text())
        }
        RemoteShell::Clush(path) => {
            let fan = ["-f", "256", "-t", CONNECT, "-u", &seconds, "-w", &list];
            (path, fan.map(str::to_string).to_vec(), text())
        }
        RemoteShell::Ssh(path) => {
            let timeout = format!("ConnectTimeout={CONNECT}");
            let options = ["-n", "-o", "BatchMode=yes", "-o", &timeout, &list];
            (path, options.map(str::to_string).to_vec(), text())
        }
        RemoteShell::Mpirun(LauncherKind::OpenMpi, path) => {
            let options = ["--host", &list, "-n", "1"];
            (path, options.map(str::to_string).to_vec(), argv)
        }
        RemoteShell::Mpirun(_, path) => {
            let options = ["-hosts", &list, "-n", "1"];
            (path, options.map(str::to_string).to_vec(), argv)
        }
        RemoteShell::Here => return Ok(Vec::new()),
    };
    let options = options.into_iter().map(OsString::from);
    let arguments: Vec<OsString> = options.chain(rest).collect();
    let finished = run_heard(path, &arguments, &[], limit, heard)?;
    let single = matches!(way, RemoteShell::Ssh(_) | RemoteShell::Mpirun(..));
    let answers = match (single, nodes) {
        (true, [node]) => vec![parse::single(node, &finished)],
        _ => {
            let names = label_names(way, environment)?;
            parse::labelled(nodes, &names, &finished)
        }
    };
    Ok(answers)
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
    let mut argv: Vec<OsString> = ["sh", "-c", SCRIPT, "sh"].map(OsString::from).to_vec();
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
