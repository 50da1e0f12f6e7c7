//! The processes that are left of a launch that was ended because it made no progress.

use super::super::call::Failure;
use super::super::job::Job;
use super::super::on_nodes::{question_for_nodes, read_answer};
use scr_engine::store::{Files, LockAttempt, wait_for_lock};
use scr_engine::system::time::Instant;
use scr_engine::text::counted;
use scr_jobs::health::Down;
use scr_jobs::launcher::Launcher;
use scr_jobs::ranks::NodeSigns;
use std::time::Duration;

/// Time that the nodes may take to end their processes.
const ANSWER: Duration = Duration::from_secs(20);

/// A file system may keep the lock of a node that does not answer until it gives the node up.
const LOCK: Duration = Duration::from_secs(120);

/// Ends the processes of the launch that are still on these nodes. Returns the nodes that must not be used: those where that was
/// not possible, and those that do not answer, if others do.
pub(super) fn end_on(
    job: &Job,
    launcher: &Launcher,
    nodes: &[String],
) -> Result<Vec<Down>, Failure> {
    let mut task = question_for_nodes(job, &["watch", "--here", "--end"])?;
    task.command.push(job.prefix.root().into());
    let (mut bad, mut silent) = (Vec::new(), Vec::new());
    for answer in job.remote(Some(launcher))?.run(nodes, &task, ANSWER) {
        let node = answer.node.clone();
        match read_answer::<NodeSigns>(&answer) {
            Ok(signs) if signs.processes.is_empty() => {}
            Ok(signs) => {
                let states: String = signs.processes.iter().map(|one| one.state).collect();
                let count = counted(signs.processes.len(), "process");
                let reason = format!(
                    "{count} of the launch could not be ended there (state {states} in /proc)"
                );
                bad.push(Down { node, reason });
            }
            Err(why) => silent.push(Down {
                node,
                reason: format!("it did not answer after the launch: {why}"),
            }),
        }
    }
    // If no node answers, the way to the nodes may be broken.
    if silent.len() < nodes.len() {
        bad.append(&mut silent);
    }
    Ok(bad)
}

/// Waits until no process of the launch before has the lock of the prefix directory, for some time. Tells with `say` if
/// it waits. The next launch reports it, if another process still has the lock.
pub(super) fn wait_for_unlock(job: &Job, files: &dyn Files, mut say: impl FnMut(&str)) {
    let meta = job.prefix.meta();
    let is_held = |end| {
        matches!(
            wait_for_lock(files, &meta, end),
            Ok(LockAttempt::HeldByOther)
        )
    };
    if !is_held(Instant::now()) {
        return;
    }
    say(&format!(
        "a process of the launch before still holds the prefix directory; waiting for at most {} s",
        LOCK.as_secs()
    ));
    let begun = Instant::now();
    if !is_held(begun + LOCK) {
        let seconds = begun.elapsed().as_secs();
        say(&format!("the prefix directory is free, after {seconds} s"));
    }
}
