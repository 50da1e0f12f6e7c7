//! `scr run`: which nodes it does without, and whether there is another launch or another allocation.

use crate::run::{calls, launcher};
use crate::sandbox::{Programs, Said, Sandbox, fixture};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

const LOG: [(&str, &str); 5] = [
    ("SCR_LOG_ENABLE", "1"),
    ("SCR_LOG_SYSLOG_ENABLE", "0"),
    ("SCR_NODE_TESTS", "none"),
    ("SCR_REMOTE", "LOCAL"),
    ("SCR_NODELIST", "n[1-4]"),
];

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// Logs that a node has failed in a job so many hours ago.
fn failed(programs: &Programs, sandbox: &Sandbox, job: &str, hours: u64, note: &str) {
    let time = (now() - hours * 3600).to_string();
    let args = [
        "log-event",
        "-i",
        job,
        "-T",
        "NODE_FAIL",
        "-S",
        &time,
        "-N",
        note,
    ];
    programs.run(sandbox, &LOG, &args).out();
}

#[test]
fn a_node_that_failed_in_earlier_jobs_is_left_out_while_others_are_there_and_comes_back() {
    let (programs, sandbox) = (launcher(""), Sandbox::empty());
    fs::create_dir(sandbox.path().join(".scr")).unwrap();
    for (job, hours, note) in [
        ("1", 30, "n1: Failed to ping"),
        ("2", 20, "n1: Failed to ping"),
        ("2", 20, "n2: Failed to ping"),
        ("2", 19, "n2: Failed to ping"),
        (
            "3",
            3,
            "n2: it did not answer when its ranks were looked at",
        ),
        ("3", 2, "n3: User excluded via SCR_EXCLUDE_NODES"),
        ("4", 1, "n3: User excluded via SCR_EXCLUDE_NODES"),
    ] {
        failed(&programs, &sandbox, job, hours, note);
    }
    let listed = |set: &[(&str, &str)]| {
        let args = ["list-down-nodes", "--reason"];
        programs
            .run(&sandbox, &[&LOG[..], set].concat(), &args)
            .out()
    };
    let out = listed(&[("SCR_MIN_NODES", "3")]);
    let begin =
        "n2: Failed in 2 jobs, and other nodes are there (SCR_NODE_FAILURES); the last time, ";
    let end = ": it did not answer when its ranks were looked at\n";
    assert!(out.starts_with(begin) && out.ends_with(end), "{out}");
    assert_eq!(out.lines().count(), 1, "{out}");
    for set in [
        [("SCR_MIN_NODES", "4"), ("SCR_NODE_FAILURES", "2")],
        [("SCR_MIN_NODES", "2"), ("SCR_NODE_FAILURES", "3")],
        [("SCR_MIN_NODES", "2"), ("SCR_NODE_FAILURES", "0")],
        [("SCR_MIN_NODES", "2"), ("SCR_NODE_FAILURE_HOURS", "2")],
    ] {
        assert_eq!(listed(&set), "", "{set:?}");
    }
    let both = [("SCR_MIN_NODES", "2"), ("SCR_NODE_FAILURE_HOURS", "48")];
    assert_eq!(listed(&both).lines().count(), 2);
    let doctor = programs.run(&sandbox, &LOG, &["doctor"]);
    assert!(doctor.out.contains("n2: Failed in 2 jobs"), "{doctor:?}");

    // A launch does without it, as long as there are others, and its log does not count that as a failure.
    let set = [&LOG[..], &[("SCR_MIN_NODES", "3")]].concat();
    let said = programs.run(&sandbox, &set, &["run", "mpirun", "./app"]);
    assert_eq!(calls(&sandbox), ["-hosts n1,n3,n4 ./app"], "{said:?}");
    assert!(
        said.out.contains("node n2 is left out: Failed in 2 jobs"),
        "{said:?}"
    );
    let log = fs::read_to_string(sandbox.path().join(".scr/log")).unwrap();
    assert_eq!(log.matches("event=NODE_FAIL").count(), 7, "{log}");
    let set = [&set[..], &[("SCR_EXCLUDE_NODES", "n3")]].concat();
    let said = programs.run(&sandbox, &set, &["run", "mpirun", "./app"]);
    assert_eq!(calls(&sandbox)[1], "-hosts n1,n2,n4 ./app", "{said:?}");
}

/// In a job of Slurm, whose flush file is that of a fixture after the first launch.
fn in_queue(sandbox: &Sandbox, then: &str, set: &[(&str, &str)]) -> Said {
    let flush = fixture("basic").join(".scr/flush.scr");
    let script = format!("cp '{}' .scr/flush.scr; {then}", flush.display());
    let programs = launcher(&script)
        .add("cp", "exec /bin/cp \"$@\"")
        .add("scontrol", "echo \"scontrol $*\" >> calls");
    let slurm = [("SLURM_JOB_ID", "77"), ("SCR_END_TIME", "4000000000")];
    let set = [&LOG[..], &slurm, set].concat();
    programs.run(sandbox, &set, &["run", "--requeue", "mpirun", "./app"])
}

#[test]
fn a_job_that_another_allocation_brings_further_is_put_into_the_queue_again() {
    let soon = (now() + 100).to_string();
    let at_end = [("SCR_END_TIME", soon.as_str())];
    let sandbox = Sandbox::empty();
    fs::create_dir(sandbox.path().join(".scr")).unwrap();
    let halt = sandbox.path().join(".scr/halt.scr");
    let args = ["halt-cntl", "-s", "3600", "-f", halt.to_str().unwrap()];
    launcher("").run(&sandbox, &[], &args).out();
    // The end of the allocation is near already.
    let said = in_queue(&sandbox, "", &at_end);
    assert_eq!(calls(&sandbox).len(), 0, "{said:?}");
    let why = "is not put into the queue again: this allocation has brought no new dataset";
    assert!(said.out.contains(why), "{said:?}");
    // It was stopped in time.
    fs::rename(&halt, sandbox.path().join("halt")).unwrap();
    let said = in_queue(&sandbox, "cp halt .scr/halt.scr", &at_end);
    assert_eq!(
        calls(&sandbox),
        ["./app", "scontrol requeue 77"],
        "{said:?}"
    );
    for told in [
        "the job goes into the queue again (scontrol)",
        "the job is in the queue again (scontrol)",
    ] {
        assert!(said.out.contains(told), "{said:?}");
    }

    // It has come to its end.
    let sandbox = Sandbox::empty();
    let said = in_queue(&sandbox, "", &[]);
    assert_eq!(calls(&sandbox), ["./app"], "{said:?}");
    let why = "is not put into the queue again: the program ended with exit code 0";
    assert!(said.out.contains(why), "{said:?}");
}

/// A restart took 30 s and a checkpoint 20 s.
#[test]
fn with_too_little_time_for_a_restart_and_a_checkpoint_there_is_no_other_launch() {
    let sandbox = Sandbox::empty();
    let programs = launcher("");
    fs::create_dir(sandbox.path().join(".scr")).unwrap();
    let begin = now() - 1000;
    for (second, event) in [
        (0, "RUN_START"),
        (10, "COMPUTE_START"),
        (12, "RESTART_END"),
        (30, "COMPUTE_START"),
        (60, "CHECKPOINT_START"),
        (80, "COMPUTE_START"),
        (90, "RUN_END"),
    ] {
        let time = (begin + second).to_string();
        let args = ["log-event", "-i", "1", "-T", event, "-S", &time];
        programs.run(&sandbox, &LOG, &args).out();
    }
    let soon = |seconds: u64| (now() + seconds).to_string();
    for (left, launches) in [(soon(3600), 2), (soon(30), 1)] {
        // As at the begin of a job.
        for file in ["calls", ".scr/flush.scr"] {
            fs::remove_file(sandbox.path().join(file)).unwrap_or_default();
        }
        let set = [("SCR_END_TIME", left.as_str()), ("SCR_RUNS", "2")];
        let said = in_queue(&sandbox, "exit 3", &set);
        let made = calls(&sandbox);
        let launched = made.iter().filter(|call| call.as_str() == "./app").count();
        assert_eq!(launched, launches, "{said:?}");
        let why = "and a restart has taken 30 s and a checkpoint 20 s, so nothing that it computes would be kept";
        assert_eq!(said.out.contains(why), launches == 1, "{said:?}");
        let queued = made.iter().any(|call| call == "scontrol requeue 77");
        assert_eq!(queued, launches == 1, "{said:?}");
    }
}
