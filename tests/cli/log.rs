//! `scr log-event`, `log-transfer`, `ckpt-interval`

use crate::sandbox::{Programs, Sandbox};

const ON: [(&str, &str); 3] = [
    ("SCR_LOG_ENABLE", "1"),
    ("SCR_LOG_SYSLOG_ENABLE", "0"),
    ("SCR_JOB_ID", "7"),
];

#[test]
fn events_and_transfers_are_appended() {
    let (programs, sandbox) = (Programs::new(), Sandbox::of("basic"));
    let log = sandbox.path().join(".scr/log");
    let off = programs.run(&sandbox, &[], &["log-event", "-T", "RUN_START"]);
    assert_eq!(off.out(), "");
    assert!(!log.exists());
    let run = |args: &[&str]| programs.run(&sandbox, &ON, args).out();
    run(&[
        "log-event",
        "-p",
        ".",
        "-u",
        "me",
        "-j",
        "name",
        "-i",
        "9",
        "-s",
        "5",
        "-T",
        "RUN_END",
        "-N",
        "run=1, \"rc\"=0",
        "-D",
        "3",
        "-n",
        "ck.3",
        "-S",
        "1795221728",
        "-L",
        "1.5",
    ]);
    run(&[
        "log-transfer",
        "-T",
        "FETCH",
        "-X",
        "/a",
        "-Y",
        "/b c",
        "-S",
        "0",
        "-B",
        "1e6",
        "-F",
        "2",
    ]);
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // The tests run in UTC.
    let (host, rest) = lines[0].split_once(", jobid").unwrap();
    assert!(host.starts_with("2026-11-21T00:42:08: host="), "{host}");
    assert_eq!(
        rest,
        "=9, event=RUN_END, note=\"run=1, \\\"rc\\\"=0\", dset=3, name=\"ck.3\", secs=1.500000, \
         user=me, jobname=name, start=1970-01-01T00:00:05"
    );
    assert!(lines[1].starts_with("1970-01-01T00:00:00: host="));
    let end = "jobid=7, xfer=FETCH, from=/a, to=\"/b c\", bytes=1000000.000000, files=2";
    assert!(lines[1].ends_with(end), "{}", lines[1]);
    assert_eq!(lines.len(), 2);

    let nowhere = programs
        .run(&Sandbox::empty(), &ON, &["log-event", "-T", "X"])
        .failed();
    assert!(nowhere.contains(".scr/log"), "{nowhere}");
    for bad in [
        &["log-event"][..],
        &["log-event", "-T", "X", "-L", "-1"],
        &["log-event", "-T", "X", "-s", "-1"],
        &["log-transfer", "-T", "X", "-B", "nan"],
    ] {
        assert_eq!(programs.run(&sandbox, &ON, bad).code, 2, "{bad:?}");
    }
}

/// Two starts; 2000 s in all, of which 10 checkpoints take 20 s with their flushes.
fn history() -> String {
    let event = |rest: &str| format!("2026-11-21T00:00:00: host=n, jobid=1, {rest}\n");
    let mut text = event("event=START") + &event("event=START");
    text += &event("event=COMPUTE_START");
    text += &event("event=COMPUTE_END, secs=1970.0");
    for _ in 0..10 {
        text += &event("event=CHECKPOINT_START, dset=1");
        text += &event("event=CHECKPOINT_END, dset=1, secs=1.0");
    }
    text += &event("xfer=FLUSH_SYNC, from=a, to=b, secs=10.0, files=1");
    text += &event("event=COMPUTE_START");
    text += &event("xfer=FLUSH_SYNC, from=a, to=b, secs=6.0");
    text += &event("xfer=FETCH, from=a, to=b, secs=3.0");
    text + &event("event=RESTART_SUCCESS, secs=1.0")
}

#[test]
fn the_best_interval_follows_the_formulas() {
    let sandbox = Sandbox::of("basic");
    std::fs::write(sandbox.path().join(".scr/log"), history()).unwrap();
    let out = |args: &[&str]| sandbox.run_as("scr_ckpt_interval", args).out();
    // A checkpoint costs 2 s, a failure comes every 1000 s: sqrt(2 * 2 * 1000) = 63.2 s.
    assert_eq!(out(&["--model", "young"]), "63\n");
    assert_eq!(out(&["--model", "young", "--percent"]), "3.162\n");
    // By Daly: 63.2 (1 + sqrt(0.001) / 3 + 0.001 / 9) - 2 = 61.9 s.
    assert_eq!(out(&[]), "61\n");
    let stats = out(&["--stats"]);
    for line in [
        "Fetch time total/avg (s): 3.000 3.000",
        "Rebuild time total/avg (s): 1.000 1.000",
        "Checkpoint time total/avg (s): 10.000 1.000",
        "Flush checkpoint time total/avg (s): 10.000 10.000",
        "Flush output time total/avg (s): 6.000 6.000",
        "Starts: 2",
        "Total time (s): 2000.000",
        "Mean time to interrupt (s): 1000.000",
        "Model = Daly",
        "Checkpoint Interval (s) = 61.919",
        "Percent Overhead = 3.230",
    ] {
        assert!(stats.lines().any(|found| found == line), "{line}\n{stats}");
    }
    let elsewhere = Sandbox::empty();
    std::fs::write(elsewhere.path().join("l"), history() + "noise\n").unwrap();
    let said = elsewhere.run(&["ckpt-interval", "--logfile", "l"]);
    assert_eq!((said.code, said.out.as_str()), (0, "61\n"));
    assert!(
        said.err.contains("lines without an event: 1"),
        "{}",
        said.err
    );
}

#[test]
fn without_a_checkpoint_there_is_no_interval() {
    let sandbox = Sandbox::of("basic");
    let error = sandbox.run(&["ckpt-interval"]).failed();
    assert!(error.contains(".scr/log"), "{error}");
    std::fs::write(sandbox.path().join(".scr/log"), "").unwrap();
    let error = sandbox.run(&["ckpt-interval"]).failed();
    assert!(error.contains("no checkpoint"), "{error}");
    // Reading another device might never end.
    for odd in ["/dev/null", "."] {
        let error = sandbox.run(&["ckpt-interval", "--logfile", odd]).failed();
        assert!(error.contains("is not a regular file"), "{error}");
    }
}
