//! Ends the processes that a launch has left on a node: a process that was stopped, or that nothing ends any more,
//! still holds the locks of its run, and may write to its files when it goes on.

use super::processes::{Candidate, Wanted, all_of};
use super::times::started;
use super::{NodeSigns, UsedTime};
use rustix::process::{Pid, Signal, kill_process};
use scr_engine::job::Environment;
use scr_engine::system::time::{Instant, sleep};
use std::time::Duration;

/// Time that the kernel may take to end a process.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends SIGKILL to the ranks of a job on this node that were launched for this prefix directory, and tells which are there after
/// some seconds: they wait for a file system or a device. Local.
pub fn end_leftovers(environment: &Environment, wanted: &Wanted, prefix: &str) -> NodeSigns {
    let of_prefix =
        |one: &Candidate| !one.process.is_starter() && one.process.has("SCR_PREFIX", prefix);
    let found = all_of(environment, wanted).into_iter().filter(of_prefix);
    let mut left: Vec<(u32, Option<u64>)> = found
        .map(|one| (one.process.pid, started(one.process.pid)))
        .collect();
    let end = Instant::now() + PATIENCE;
    loop {
        left.retain(|(pid, begun)| begun.is_some() && started(*pid) == *begun);
        if left.is_empty() || Instant::now() > end {
            break;
        }
        for (pid, _) in &left {
            let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
            // The process may have ended meanwhile.
            let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
        sleep(Duration::from_millis(50));
    }
    let processes = left.into_iter().filter_map(|(pid, _)| UsedTime::now(pid));
    NodeSigns {
        node: wanted.node.clone(),
        calls: None,
        age: None,
        processes: processes.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_stopped_process_of_the_launch_is_ended_and_others_are_left_alone() {
        let job = format!("leftovers-{}", std::process::id());
        let rank = |prefix: &str| {
            let mut sleep = Command::new("sleep");
            sleep
                .arg("600")
                .env("PMI_RANK", "0")
                .env("SCR_JOB_ID", &job)
                .env("SCR_NODE_NAME", "n0")
                .env("SCR_PREFIX", prefix);
            sleep.spawn().unwrap()
        };
        let (mut ours, mut other) = (rank("/a"), rank("/b"));
        let pid = Pid::from_child(&ours);
        kill_process(pid, Signal::STOP).unwrap();
        let wanted = Wanted {
            job: Some(job),
            node: "n0".to_string(),
            ..Wanted::default()
        };
        // A child needs a moment until it has its own environment.
        let environment = Environment::of_process();
        while all_of(&environment, &wanted).len() < 2 {
            sleep(Duration::from_millis(10));
        }
        let left = end_leftovers(&environment, &wanted, "/a");
        assert!(left.processes.is_empty(), "{left:?}");
        ours.wait().unwrap();
        assert!(
            other.try_wait().unwrap().is_none(),
            "the other was ended, too"
        );
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
