//! The transfer daemons of a job: started on its nodes before the first run, and ended after the last.

use super::call::{Failure, Invocation};
use super::job::Job;
use super::on_nodes::{command_on_nodes, message, tell_unkept};
use super::place;
use super::scavenge::ReachedNodes;
use scr_engine::config::describe::descriptors;
use scr_engine::config::{FlushType, Settings};
use scr_engine::format::print::escaped;
use scr_engine::job::node_name;
use scr_engine::system::time::{Instant, sleep};
use scr_jobs::datasets::poststage;
use scr_jobs::hostlist::compress;
use scr_jobs::launcher::Launcher;
use scr_jobs::remote::NodeResult;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

/// Time in which the daemons must start; after it the program is launched without them.
const START: Duration = Duration::from_secs(10);

/// True if the configuration asks for transfer daemons.
pub(super) fn are_wanted(job: &Job) -> bool {
    // The library reports errors of the configuration.
    job.is_on("SCR_FLUSH_ASYNC").unwrap_or(false) && flush_by_daemon(job).unwrap_or(false)
}

/// True if parts of flushes may be left in the transfer files of the nodes.
pub(super) fn may_have_left(job: &Job) -> bool {
    let poststage = job.is_on("SCR_FLUSH_POSTSTAGE").unwrap_or(false);
    are_wanted(job) || (poststage && job.is_on("SCR_FLUSH_ASYNC").unwrap_or(false))
}

fn flush_by_daemon(job: &Job) -> Result<bool, Failure> {
    let settings = Settings::from(&job.config)?;
    let node = node_name(&job.environment, &|name| job.get(name))?.value;
    let stores = descriptors(&job.config, &settings, &node)?.stores;
    Ok(stores.iter().any(|store| store.flush == FlushType::Daemon))
}

/// The file to which the daemons write their messages.
fn log_file(job: &Job) -> PathBuf {
    job.prefix.file("transfer.log")
}

/// Starts a daemon on each node, to go on when this process ends. Gives one line for the user. Flushes of
/// a node without a daemon are made by threads, so that is no failure.
pub(super) fn start(
    job: &Job,
    launcher: Option<&Launcher>,
    nodes: &[String],
) -> Result<String, Failure> {
    let path = log_file(job);
    let mut log = OpenOptions::new()
        .create(true)
        .append(true)
        .read(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&path)
        .map_err(|error| scr_engine::Error::io("open", &path, error))?;
    let begin = log.seek(SeekFrom::End(0)).unwrap_or(0);
    let task = command_on_nodes(job, None, &["transfer"])?;
    let failed = job.remote(launcher)?.start(nodes, &task, &log);
    let expected = nodes.len() - failed.len().min(nodes.len());
    let end = Instant::now() + START;
    let mut serving = 0;
    while serving < expected && Instant::now() < end {
        sleep(Duration::from_millis(50));
        serving = count_serving(&mut log, begin);
    }
    let why = match failed.first() {
        Some((node, error)) => format!(" ({node}: {error})"),
        None if serving < expected => format!(" (see {})", path.display()),
        None => String::new(),
    };
    Ok(format!(
        "{serving} transfer daemons serve {}{why}",
        compress(nodes)
    ))
}

/// Number of daemons that have logged that they serve.
fn count_serving(log: &mut File, begin: u64) -> usize {
    let mut text = Vec::new();
    let read = log
        .seek(SeekFrom::Start(begin))
        .and_then(|_| log.take(16 << 20).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    let serves = |line: &&str| line.contains("scr_transfer: ") && line.contains(" serves ");
    read.map_or(0, |_| text.lines().filter(serves).count())
}

/// Waits until the nodes have copied the parts in their transfer files, ends their daemons, and enters
/// the datasets that are complete now.
pub(super) fn end(call: &mut Invocation, job: &Job, nodes: &ReachedNodes) -> Result<(), Failure> {
    let answers = nodes.ask(&["transfer", "--finish"])?;
    tell_unkept(call, &answers, "transfer");
    for answer in answers {
        for line in answer.out.lines().filter(|line| !line.trim().is_empty()) {
            call.step(&format_args!("{}: {}", answer.node, escaped(&line.into())))?;
        }
        if !answer.good() {
            call.warn(&format!("node {}: {}", answer.node, told(&answer)));
        }
    }
    enter_complete(call, job)
}

/// The message of the command, else its exit status.
fn told(answer: &NodeResult) -> String {
    let lines = answer.err.lines();
    let mut messages = lines.filter_map(|line| message(line, "transfer"));
    match messages.next() {
        Some(text) => scr_engine::text::excerpt(text, 500),
        None => answer.why(),
    }
}

/// Takes the permits of daemons that could not be reached, finishes flushes that have ended, and notes
/// datasets as flushed that are complete.
pub(super) fn enter_complete(call: &mut Invocation, job: &Job) -> Result<(), Failure> {
    place::finish_flushes(call, &job.prefix);
    Ok(poststage::note_complete(
        &*place::files(&job.prefix),
        &job.prefix,
    )?)
}
