//! The facts on which another launch, or another allocation, depends beside the last launch: the remaining time, and
//! the queue.

use super::super::call::Failure;
use super::super::job::Job;
use scr_engine::job::{clock, program};
use scr_engine::log::read_text;
use scr_jobs::relaunch::requeue::requeue;
use scr_jobs::relaunch::run::{LoopState, StopReason};
use scr_jobs::relaunch::time_left::{LaunchCosts, TooLittleTime};

/// The reason why the time until `end` is not enough for another launch, if the event log shows
/// that.
pub(super) fn too_little_time(job: &Job, end: Option<i64>) -> Option<TooLittleTime> {
    let left = end?.saturating_sub(clock::now());
    let mut costs = LaunchCosts::default();
    let read = read_text(&job.prefix.file("log"), |record| {
        costs.add(&record.event, record.at());
        Ok::<(), Failure>(())
    });
    // Without a log, the cost of a launch is not known.
    read.ok().and_then(|_| costs.too_little(left))
}

/// Puts the job into the queue of its scheduler again, if another allocation can bring the program further. Returns a
/// line that says what was done, or why nothing was done. With the job, the scheduler also ends this process, perhaps
/// before the line can be printed. So `say` is called first.
pub(super) fn put_into_queue(
    job: &Job,
    state: &LoopState,
    why: &StopReason,
    progress: bool,
    end: Option<i64>,
    say: impl FnOnce(&str),
) -> String {
    let left = end.map(|end| end.saturating_sub(clock::now()));
    if let Err(why) = requeue(state, why, progress, left) {
        return format!("the job is not put into the queue again: {why}");
    }
    let manager = job.manager.name();
    let Some((word, arguments)) = job.manager.requeue() else {
        return format!(
            "the job cannot be put into the queue again: there is no command for that with manager {manager}"
        );
    };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    say(&format!("the job goes into the queue again ({word})"));
    match program::ask(&job.environment, word, &arguments, &[]) {
        Ok(_) => format!("the job is in the queue again ({word})"),
        Err(error) => format!("the job could not be put into the queue again: {error}"),
    }
}
