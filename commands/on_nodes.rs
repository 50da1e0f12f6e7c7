//! Commands of ours for the nodes of a job.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::list_dir::{Which, bases};
use scr_engine::cache::layout::Layout;
use scr_engine::messages::NOT_KEPT;
use scr_engine::text::excerpt;
use scr_jobs::remote::{NodeResult, RemoteCommand};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The control directory of the job on a node that has the base directories of this one.
pub(super) fn control_directory(job: &Job) -> Result<PathBuf, Failure> {
    let bases = bases(job, Which::Control)?;
    let base = bases.first().cloned().unwrap_or_default();
    Ok(Layout::new(&base, &job.user()?, &job.id()?).job())
}

/// This program with these words.
fn own_command(words: &[&str]) -> Result<Vec<OsString>, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::said(format!("cannot find out where this program is: {error}"))
    })?;
    let words = words.iter().map(OsString::from);
    Ok([program.into_os_string()]
        .into_iter()
        .chain(words)
        .collect())
}

/// The command `scr WORDS` for the nodes of a job, with the facts that it cannot find out there.
pub(super) fn command_on_nodes(
    job: &Job,
    control: Option<&Path>,
    words: &[&str],
) -> Result<RemoteCommand, Failure> {
    // User and job id are found out here for all nodes, because remote commands may not get the
    // environment. Base directories may differ between nodes.
    let control = match control {
        Some(dir) => dir.to_path_buf(),
        None => control_directory(job)?,
    };
    let mut command = own_command(words)?;
    command.extend(["--prefix".into(), job.prefix.root().into()]);
    command.extend(["--cntldir".into(), control.into_os_string()]);
    let own = ["SCR_NODE_NAME", "SCR_PREFIX"];
    let set = job
        .environment
        .variables()
        .filter(|(name, _)| name.starts_with("SCR_") && !own.contains(name))
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    Ok(RemoteCommand {
        command,
        set,
        ..RemoteCommand::default()
    })
}

/// A command that reports the state of the job's processes on each node. The command needs neither the prefix
/// directory nor a configuration file there, since their file system may be the one that hangs.
pub(super) fn question_for_nodes(job: &Job, words: &[&str]) -> Result<RemoteCommand, Failure> {
    let command = own_command(words)?;
    // A remote command may not get the environment.
    let id = job.id().ok().map(|id| ("SCR_JOB_ID".to_string(), id));
    Ok(RemoteCommand {
        command,
        set: id.into_iter().collect(),
        in_root: true,
    })
}

/// Passes on, once, the report of `scr COMMAND` on a node that a file system does not keep some attributes, even if
/// several nodes have reported it.
pub(super) fn tell_unkept(call: &mut Invocation, answers: &[NodeResult], command: &str) {
    let code = format!("({NOT_KEPT})");
    let on_node = |answer: &NodeResult| {
        let mut lines = answer.err.lines().chain(answer.out.lines());
        let text = message(lines.find(|line| line.contains(&code))?, command)?;
        Some(format!("node {}: {text}", answer.node))
    };
    if let Some(text) = answers.iter().find_map(on_node)
        && call.unkept.told()
    {
        call.warn(&text);
    }
}

/// The message in a line that `scr COMMAND` has printed, if it has.
pub(super) fn message<'a>(line: &'a str, command: &str) -> Option<&'a str> {
    let of = |name: &str| Some(line.split_once(&format!("{name}{command}: "))?.1);
    let text = of("scr ").or_else(|| of("scr_"))?;
    Some(text.strip_prefix("warning: ").unwrap_or(text))
}

/// The beginning and the end of each part of an answer, so that no blank at its ends is lost.
const PART: (&str, &str) = ("scr-answer:", "|");

/// Longest part, bytes. srun --label cuts lines at 1024 bytes.
const LONGEST: usize = 800;

/// Prints the answer of a node for [`read_answer`] on another one: JSON, in several lines.
pub(super) fn print_answer(call: &mut Invocation, answer: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(answer)
        .map_err(|error| Failure::said(format!("cannot write the answer as JSON: {error}")))?;
    for part in parts(&text) {
        writeln!(call.out, "{}{part}{}", PART.0, PART.1)?;
    }
    Ok(())
}

/// The answer of a node. The error says why it did not answer.
pub(super) fn read_answer<T: DeserializeOwned>(answer: &NodeResult) -> Result<T, String> {
    let parts = answer.out.lines().filter_map(|line| {
        let line = line.trim().strip_prefix(PART.0)?;
        line.strip_suffix(PART.1)
    });
    let text: String = parts.collect();
    if text.is_empty() || !answer.good() {
        return Err(excerpt(&answer.why(), 200));
    }
    serde_json::from_str(&text).map_err(|error| format!("its answer cannot be read: {error}"))
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = rest.len().min(LONGEST);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (part, left) = rest.split_at(end);
        rest = left;
        (!part.is_empty()).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_srun_would_cut_comes_through() {
        let long: Vec<String> = (0..500).map(|n| format!(" ä |{n}| \n{{")).collect();
        let text = serde_json::to_string(&long).unwrap();
        let lines = parts(&text).map(|part| format!("{}{part}{}", PART.0, PART.1));
        let lines: Vec<String> = lines.collect();
        assert!(lines.len() > 5 && lines.iter().all(|line| line.len() < 1000));
        let answer = |out: String| NodeResult {
            node: "n1".into(),
            code: Some(0),
            out,
            err: String::new(),
        };
        let told = answer(format!("of a profile\n{}\n", lines.join("\n")));
        assert_eq!(read_answer::<Vec<String>>(&told).unwrap(), long);
        assert!(read_answer::<Vec<String>>(&answer("no answer".into())).is_err());
        let cut = answer(lines[1..].join("\n"));
        assert!(
            read_answer::<Vec<String>>(&cut)
                .unwrap_err()
                .contains("cannot be read")
        );
    }
}
