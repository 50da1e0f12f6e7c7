//! Nodes that have failed in earlier jobs, by the event log of the prefix directory.

use super::call::Failure;
use super::job::Job;
use super::should_exit::needed_nodes;
use scr_engine::events::Event;
use scr_engine::job::clock;
use scr_engine::log::read_text;
use scr_engine::text::counted;
use scr_jobs::health::{Down, EXCLUDED, GIVEN};
use scr_jobs::relaunch::failed_nodes::{FailedOften, NodeFailure, failed_often, left_out};

/// Default of SCR_NODE_FAILURES.
const FAILURES: i64 = 2;

/// Default of SCR_NODE_FAILURE_HOURS.
const HOURS: i64 = 24;

/// The nodes of `up` that are left out of a launch because they failed often and there are others, with the reason.
/// `all`: how many nodes the job has.
pub(super) fn avoided(job: &Job, up: &[String], all: usize) -> Result<Vec<Down>, Failure> {
    let often = often(job)?;
    if often.is_empty() {
        return Ok(Vec::new());
    }
    let down = |one: FailedOften| Down {
        reason: reason(&one),
        node: one.node,
    };
    let left_out = left_out(often, up, needed_nodes(job, all)?);
    Ok(left_out.into_iter().map(down).collect())
}

/// The nodes that have failed as often as SCR_NODE_FAILURES says, in the hours of SCR_NODE_FAILURE_HOURS. Empty without
/// a log.
pub(super) fn often(job: &Job) -> Result<Vec<FailedOften>, Failure> {
    let least = job.number("SCR_NODE_FAILURES")?.unwrap_or(FAILURES);
    let hours = job.number("SCR_NODE_FAILURE_HOURS")?.unwrap_or(HOURS);
    let least = usize::try_from(least).unwrap_or(0);
    if least == 0 {
        return Ok(Vec::new());
    }
    let mut failures = Vec::new();
    let read = read_text(&job.prefix.file("log"), |record| {
        if record.event == Event::NodeFail
            && let Some((node, reason)) = record.note.as_deref().and_then(|n| n.split_once(": "))
            && ![EXCLUDED, GIVEN].contains(&reason)
        {
            failures.push(NodeFailure {
                at: record.time,
                job: record.job.clone(),
                node: node.to_string(),
                reason: reason.to_string(),
            });
        }
        Ok::<(), Failure>(())
    });
    match read {
        // Most jobs have no log. Without a readable log all nodes are used.
        Err(_) => Ok(Vec::new()),
        Ok(_) => {
            let since = clock::now().saturating_sub(hours.saturating_mul(3600));
            Ok(failed_often(&failures, since, least))
        }
    }
}

/// The reason why a node is left out.
pub(super) fn reason(one: &FailedOften) -> String {
    format!(
        "Failed in {}, and other nodes are there (SCR_NODE_FAILURES); the last time, {}: {}",
        counted(one.jobs, "job"),
        clock::local_time_of(one.last.at),
        one.last.reason
    )
}
