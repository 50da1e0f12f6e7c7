//! `scr report`

use crate::json::as_documented;
use crate::sandbox::{Said, Sandbox, program, said};
use crate::site::{Site, nodes};
use serde_json::{Value, json};

/// A line of the log, `second` seconds after midnight UTC of 2026-11-21.
fn line(second: u64, rest: &str) -> String {
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let second = second % 60;
    format!("2026-11-21T{hour:02}:{minute:02}:{second:02}: host=n1, jobid=7, {rest}\n")
}

const MIDNIGHT: f64 = 1_795_219_200.0;

/// Lines with their seconds before the blank.
fn log(lines: &str) -> String {
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    let records = lines.map(|text| {
        let (second, rest) = text.trim().split_once(' ').unwrap();
        line(second.parse().unwrap(), rest)
    });
    records.collect()
}

/// A run that is killed 90 s after its second checkpoint, and one that goes on from it.
const KILLED: &str = r#"
    0 event=JOB_START
    0 event=RUN_START, note="run=1"
    0 event=START, procs=8, nodes=4
    10 event=COMPUTE_START
    110 event=COMPUTE_END, secs=100.0
    110 event=CHECKPOINT_START, note="/dev/shm", dset=1, name="ck.1"
    116 xfer=ENCODE, note="XOR", from=/dev/shm, to=/dev/shm/d.1, dset=1, name="ck.1", secs=4.0, bytes=4000.0, files=8
    120 event=CHECKPOINT_END, note="/dev/shm", dset=1, name="ck.1", secs=10.0
    110 xfer=CHECKPOINT, from=/dev/shm, to=/dev/shm/d.1, dset=1, name="ck.1", secs=10.0, bytes=4000.0, files=8
    120 event=FLUSH_START, dset=1, name="ck.1"
    140 event=FLUSH_SUCCESS, dset=1, name="ck.1", secs=20.0
    120 xfer=FLUSH_SYNC, from=/dev/shm/d.1, to=/p, dset=1, name="ck.1", secs=20.0, bytes=4000.0, files=8
    140 event=COMPUTE_START
    240 event=COMPUTE_END, secs=100.0
    240 event=CHECKPOINT_START, note="/dev/shm", dset=2, name="ck.2"
    246 xfer=ENCODE, note="XOR", from=/dev/shm, to=/dev/shm/d.2, dset=2, name="ck.2", secs=4.0, bytes=4000.0, files=8
    250 event=CHECKPOINT_END, note="/dev/shm", dset=2, name="ck.2", secs=10.0
    240 xfer=CHECKPOINT, from=/dev/shm, to=/dev/shm/d.2, dset=2, name="ck.2", secs=10.0, bytes=4000.0, files=8
    250 event=ASYNC_FLUSH_START, dset=2, name="ck.2"
    250 event=COMPUTE_START
    300 event=ASYNC_FLUSH_SUCCESS, dset=2, name="ck.2", secs=50.0
    250 xfer=FLUSH_ASYNC, from=/dev/shm/d.2, to=/p, dset=2, name="ck.2", secs=50.0, bytes=4000.0, files=8
"#;

const RUN_END: &str = r#"
    340 event=RUN_END, note="run=1", secs=340.0
    341 event=NODE_FAIL, note="n2: does not answer"
"#;

const NEXT: &str = r#"
    360 event=RUN_START, note="run=2"
    360 event=START, procs=8, nodes=4
    365 event=REBUILD_START, dset=2, name="ck.2"
    385 event=REBUILD_SUCCESS, note="files of 2 ranks rebuilt with XOR", dset=2, name="ck.2", secs=20.0
    385 event=RESTART_SUCCESS, dset=2, name="ck.2", secs=20.0
    385 event=COMPUTE_START
    386 event=COMPUTE_END, secs=1.0
    386 event=RESTART_START, dset=2, name="ck.2"
    390 event=RESTART_END, dset=2, name="ck.2", secs=4.0
    390 event=COMPUTE_START
    490 event=COMPUTE_END, secs=100.0
    490 event=HALT, note="SCR_FINALIZE_CALLED"
    490 event=END, secs=130.0
    490 event=RUN_END, note="run=2", secs=130.0
    490 event=JOB_END, secs=490.0
"#;

fn told(sandbox: &Sandbox, text: &str, args: &[&str]) -> Said {
    std::fs::write(sandbox.path().join("l"), text).unwrap();
    sandbox.run(&[&["report", "--logfile", "l"], args].concat())
}

fn report(text: &str, args: &[&str]) -> Value {
    let args = [&["--json"], args].concat();
    let said = told(&Sandbox::empty(), text, &args);
    assert_eq!(said.code, 0, "{}", said.err);
    serde_json::from_str(&said.out).unwrap()
}

fn page(text: &str) -> String {
    let sandbox = Sandbox::empty();
    // Lines that cannot be read are a warning.
    let said = told(&sandbox, text, &["--html", "page.html"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let page = std::fs::read_to_string(sandbox.path().join("page.html")).unwrap();
    assert_well_formed(&page);
    page
}

#[track_caller]
fn near(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap();
    let limit = expected.abs() * 1e-4 + 1e-9;
    assert!(
        (value - expected).abs() <= limit,
        "{value} is not {expected}"
    );
}

#[test]
fn the_numbers_are_those_computed_by_hand() {
    let report = report(&(log(KILLED) + &log(RUN_END) + &log(NEXT)), &[]);
    assert_eq!(report["notes"], json!([]));
    assert_eq!(report["jobs"], json!(["7"]));
    // 340 s and 130 s of runs, 20 s between them; 90 s between the second checkpoint and the kill.
    let expected = json!({
        "total": 490.0, "progress": 301.0, "output": 0.0, "checkpoint": 20.0, "flush": 20.0,
        "restart": 24.0, "lost": 90.0, "other": 15.0, "down": 20.0,
    });
    assert_eq!(report["time"], expected);
    near(&report["progress_share"], 301.0 / 490.0);
    // The first run did not compute for 50 s, the second one for 29 s.
    assert_eq!(
        (&report["waited"], &report["hidden"]),
        (&json!(79.0), &json!(50.0))
    );
    let failure = json!([{
        "run": 1, "time": MIDNIGHT + 340.0, "time_from": "run_end", "nodes": ["n2: does not answer"],
        "hang": null, "lost": 90.0, "down": 20.0, "recovery": 24.0, "cost": 134.0,
    }]);
    assert_eq!(report["failures"], failure);
    let levels: Vec<Value> = report["levels"].as_array().unwrap().clone();
    let brief = |level: &Value| {
        let names = [
            "level",
            "store",
            "datasets",
            "seconds",
            "redundancy",
            "bytes_per_second",
        ];
        json!(names.map(|name| level[name].clone()))
    };
    assert_eq!(
        levels.iter().map(brief).collect::<Vec<_>>(),
        [
            json!(["XOR", "/dev/shm", 2, 20.0, 8.0, 400.0]),
            json!(["Flush, the program waits", null, 1, 20.0, null, 200.0]),
            json!(["Flush in the background", null, 1, 50.0, null, 80.0]),
            json!(["Rebuild", null, 1, 20.0, null, 200.0]),
        ]
    );
    let interval = &report["interval"];
    assert_eq!(
        (&interval["failures"], &interval["observed"]),
        (&json!(1), &json!(470.0))
    );
    // The limits of one event are 0.025318 and 5.5716.
    near(&interval["between_failures"], 470.0);
    near(&interval["between_failures_low"], 470.0 / 5.57164);
    near(&interval["between_failures_high"], 470.0 / 0.0253178);
    // Two checkpoints of 10 s, and a flush of 20 s. They have 391 s of computation.
    near(&interval["cost"], 20.0);
    near(&interval["present"], 195.5);
    let young = (2.0f64 * 20.0 * 470.0).sqrt();
    near(&interval["advice"][0]["interval"], young);
    near(
        &interval["advice"][0]["expected_loss"],
        20.0 / young + young / 940.0,
    );
    let part = 20.0 / 940.0f64;
    let daly = young * (1.0 + part.sqrt() / 3.0 + part / 9.0) - 20.0;
    near(&interval["advice"][1]["interval"], daly);
    let run = &report["runs"][1];
    assert_eq!(
        (&run["ending"], &run["restart_name"]),
        (&json!("itself"), &json!("ck.2"))
    );
}

#[test]
fn the_terminal_has_the_same_numbers() {
    let all = log(KILLED) + &log(RUN_END) + &log(NEXT);
    let text = told(&Sandbox::empty(), &all, &[]).out();
    for expected in [
        "l: 2 runs of 1 job from 2026-11-21 00:00:00 to 2026-11-21 00:08:10, 1 failure",
        "  Progress: computation that was kept  5 min 1 s   61.4 %",
        "  Lost work                            1 min 30 s  18.4 %",
        "The program waited 1 min 19 s for checkpoints, flushes, restarts and SCR. Flushes in the background \
         took 50.0 s, while it went on.",
        "  1    2026-11-21 00:05:40  1 min 30 s  20.0 s            24.0 s    2 min 14 s  n2: does not answer",
        "Best by Young: every 2 min 17 s (58.1 s to 14 min 22 s), which costs 29.2 % of the time.",
    ] {
        assert!(
            text.lines().any(|line| line == expected),
            "{expected}\n{text}"
        );
    }
}

#[test]
fn the_time_of_a_kill_is_that_of_the_last_record_if_nothing_else_tells() {
    let report = report(&(log(KILLED) + &log(NEXT)), &[]);
    let failure = &report["failures"][0];
    assert_eq!(failure["time_from"], "last_record");
    assert_eq!(
        (&failure["lost"], &failure["down"]),
        (&json!(50.0), &json!(60.0))
    );
    let notes = report["notes"].to_string();
    assert!(notes.contains("lower bound"), "{notes}");
}

#[test]
fn a_run_without_an_end_may_still_go_on() {
    let ends = |text: &str, args: &[&str]| {
        let report = report(text, args);
        let failures = report["failures"].as_array().unwrap().len();
        (
            report["runs"][0]["ending"].clone(),
            failures,
            report["notes"].to_string(),
        )
    };
    let (ending, failures, notes) = ends(&log(KILLED), &[]);
    assert_eq!((ending, failures), (json!("unknown"), 0));
    assert!(notes.contains("--ended"), "{notes}");
    let (ending, failures, _) = ends(&log(KILLED), &["--ended"]);
    assert_eq!((ending, failures), (json!("killed"), 1));
    let (ending, failures, _) = ends(&(log(KILLED) + &log(RUN_END)), &[]);
    assert_eq!((ending, failures), (json!("killed"), 1));
    // The log of SCR v3.1.0 has no END.
    let halted = log(KILLED) + &line(300, "event=HALT, note=\"SCR_FINALIZE_CALLED\"");
    let (ending, failures, _) = ends(&halted, &["--ended"]);
    assert_eq!((ending, failures), (json!("itself"), 0));
}

/// A checkpoint that failed, and one in which the run was killed, say nothing of what one costs.
#[test]
fn only_complete_checkpoints_have_a_cost() {
    let more = "310 event=COMPUTE_END, secs=60\n310 event=CHECKPOINT_START, dset=3\n\
                318 event=CHECKPOINT_FAIL, dset=3, note=\"full\"\n318 event=COMPUTE_START\n\
                320 event=COMPUTE_END, secs=2\n320 event=CHECKPOINT_START, dset=4";
    let report = report(&(log(KILLED) + &log(more) + &log(RUN_END)), &[]);
    near(&report["interval"]["cost"], 20.0);
    near(&report["time"]["checkpoint"], 20.0 + 8.0 + 20.0);
}

#[test]
fn without_a_failure_there_is_a_lower_limit_only() {
    let text =
        log(KILLED) + &line(470, "event=COMPUTE_END, secs=220") + &line(470, "event=END, secs=470");
    let report = report(&text, &[]);
    let interval = &report["interval"];
    assert_eq!(interval["failures"], 0);
    for none in ["between_failures", "between_failures_high"] {
        assert_eq!(interval[none], Value::Null);
    }
    // -ln(0.05) is 2.99573.
    near(&interval["between_failures_low"], 470.0 / 2.99573);
    assert_eq!(interval["advice"][0]["interval"], Value::Null);
    near(
        &interval["advice"][0]["low"],
        (2.0f64 * 20.0 * 470.0 / 2.99573).sqrt(),
    );
    let shown = told(&Sandbox::empty(), &text, &[]).out();
    assert!(
        shown.contains("is more than 2 min 37 s; the true value is not known"),
        "{shown}"
    );
}

/// A job script needs an interval from the first day on, and the machine's operators know how often jobs fail.
#[test]
fn an_interval_is_computed_from_failures_that_the_user_knows_of() {
    let text =
        log(KILLED) + &line(470, "event=COMPUTE_END, secs=220") + &line(470, "event=END, secs=470");
    let every = ["--failures-every", "24h"];
    let report = report(&text, &every);
    let interval = &report["interval"];
    assert_eq!(interval["between_failures_assumed"], true);
    near(&interval["between_failures"], 86400.0);
    assert_eq!(interval["between_failures_low"], Value::Null);
    let young = (2.0f64 * 20.0 * 86400.0).sqrt();
    near(&interval["advice"][0]["interval"], young);
    let sandbox = Sandbox::empty();
    let shown = told(&sandbox, &text, &every).out();
    let daly = interval["advice"][1]["interval"].as_f64().unwrap();
    for expected in [
        "A failure every 1 d is assumed (--failures-every). Seen were 0 in 7 min 50 s of runs."
            .to_string(),
        "Best by Young: every 30 min 59 s, which costs 2.2 % of the time.".to_string(),
        format!(
            "In the job script: export SCR_CHECKPOINT_SECONDS={:.0}",
            daly.floor()
        ),
    ] {
        assert!(
            shown.lines().any(|line| line == expected),
            "{expected}\n{shown}"
        );
    }
    let script = ["ckpt-interval", "--logfile", "l", "--failures-every", "24h"];
    let one = sandbox.run(&script).out();
    assert_eq!(one, format!("{:.0}\n", daly.floor()));
    let error = told(&sandbox, &text, &["--failures-every", "0"]);
    assert_eq!(error.code, 2, "{error:?}");
}

/// It began from the beginning, although a checkpoint was there.
#[test]
fn what_was_offered_and_not_read_is_said_so() {
    let text = log(KILLED) + &log(RUN_END) + &log(NEXT);
    let unread: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("event=RESTART_START") && !line.contains("event=RESTART_END"))
        .collect();
    let shown = told(&Sandbox::empty(), &(unread.join("\n") + "\n"), &[]).out();
    assert!(shown.contains("(offered)"), "{shown}");
    let shown = told(&Sandbox::empty(), &text, &[]).out();
    assert!(!shown.contains("(offered)"), "{shown}");
}

/// What is lost if an older checkpoint is used, if runs fail before they compute, or if all begins again.
#[test]
fn work_is_lost_once() {
    let failed = "400 event=START, procs=8\n402 event=RUN_END";
    let lost = |next: &str| {
        let report = report(&(log(KILLED) + &log(RUN_END) + &log(next)), &[]);
        let of_run = |run: &Value| run["time"]["lost"].as_f64().unwrap();
        let runs: Vec<f64> = report["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(of_run)
            .collect();
        near(&report["time"]["lost"], runs.iter().sum());
        runs
    };
    let go_on = |second: u64, id: u64| {
        let end = second + 100;
        format!(
            "{second} event=START\n{second} event=COMPUTE_START\n{second} event=COMPUTE_END, secs=0\n\
             {second} event=RESTART_START, dset={id}, name=\"ck.{id}\"\n\
             {second} event=RESTART_END, dset={id}, name=\"ck.{id}\"\n\
             {second} event=COMPUTE_START\n{end} event=RUN_END\n"
        )
    };
    let end = "1900 event=START\n1900 event=RESTART_SUCCESS, dset=1\n1900 event=HALT";
    assert_eq!(lost(&go_on(500, 1)), [220.0, 0.0]);
    assert_eq!(
        lost(&(failed.to_string() + "\n" + &go_on(500, 2))),
        [90.0, 2.0, 0.0]
    );
    // From the second checkpoint, then again, then from the first one.
    let all = go_on(500, 2) + &go_on(700, 2) + end;
    assert_eq!(lost(&all), [220.0, 100.0, 100.0, 0.0]);
    let scratch = "500 event=START\n500 event=COMPUTE_START\n510 event=HALT";
    assert_eq!(lost(scratch), [340.0, 0.0]);
    // A checkpoint whose end the log does not have, as the run was killed then.
    let cut_off = "300 event=CHECKPOINT_START, dset=3, name=\"ck.3\"";
    let killed = log(KILLED) + &log(cut_off) + &log(RUN_END);
    let cut_off = report(&(killed + &log(&go_on(500, 3))), &[]);
    assert_eq!(cut_off["failures"][0]["lost"], 40.0);
    // What hung.
    let hung = "340 event=HANG, note=\"no progress\", secs=60.0";
    let hung = report(
        &(log(KILLED) + &log(hung) + &log(RUN_END) + &log(&go_on(500, 2))),
        &[],
    );
    assert_eq!(
        (&hung["hangs"], &hung["hang_seconds"]),
        (&1.into(), &60.0.into())
    );
    assert_eq!(hung["failures"][0]["hang"], 60.0);
    // A checkpoint that the log does not have.
    let report = report(&(log(KILLED) + &log(RUN_END) + &log(&go_on(500, 9))), &[]);
    assert_eq!(report["failures"][0]["lost"], Value::Null);
}

#[test]
fn the_end_of_a_run_is_not_lost_when_another_goes_on_from_its_last_checkpoint() {
    let first = log(KILLED) + &line(400, "event=END, secs=400");
    let report = report(&(first + &log(NEXT)), &[]);
    assert_eq!(report["time"]["lost"], 0.0);
    assert_eq!(report["failures"], json!([]));
}

/// The text log of SCR v3.1.0: no `END`, no `RESTART_START`, no scheme.
const CLASSIC: &str = r#"
    0 event=START, procs=4, nodes=2
    1 event=COMPUTE_START
    61 event=COMPUTE_END, dset=0, secs=60.000000
    61 event=CHECKPOINT_START, note="/dev/shm", dset=1, name="ck.1"
    63 xfer=ENCODE, from=/dev/shm, to=/dev/shm, dset=1, name="ck.1", secs=1.000000, bytes=400.000000, files=4
    64 event=CHECKPOINT_END, note="/dev/shm", dset=1, name="ck.1", secs=3.000000
    61 xfer=CHECKPOINT, from=/dev/shm, to=/dev/shm/u/scr.7/scr.dataset.1, dset=1, name="ck.1", secs=3.0, bytes=400.0, files=4
    64 event=COMPUTE_START
    94 event=COMPUTE_END, secs=30.0
    94 event=FETCH_START, dset=1
    94 event=FETCH_FAIL, dset=1
    94 event=OUTPUT_START, dset=2, name="plot"
    95 event=OUTPUT_END, dset=2, name="plot", secs=1.0
    120 event=START, procs=4, nodes=2
    130 event=RESTART_SUCCESS, dset=1, name="ck.1", secs=8.0
    131 event=COMPUTE_START
    191 event=COMPUTE_END, secs=60.0
    191 event=HALT, note="SCR_FINALIZE_CALLED"
"#;

#[test]
fn the_log_of_the_c_implementation_is_read() {
    let report = report(&log(CLASSIC), &[]);
    let time = &report["time"];
    assert_eq!(
        (&time["progress"], &time["lost"]),
        (&json!(120.0), &json!(31.0))
    );
    assert_eq!(
        (&time["restart"], &time["output"]),
        (&json!(8.0), &json!(0.0))
    );
    assert_eq!(report["failures"][0]["recovery"], 8.0);
    assert_eq!(report["levels"][0]["level"], "not recorded");
    assert_eq!(report["runs"][1]["restart_name"], "ck.1");
    assert_eq!(report["runs"][1]["ending"], "itself");
}

/// With one fetch, and a dataset in bypass.
const FETCHED: &str = r#"
    600 event=START, procs=8, nodes=4
    600 event=COMPUTE_START
    600 event=COMPUTE_END, secs=0
    600 event=FETCH_START, dset=2, name="ck.2"
    640 event=FETCH_SUCCESS, dset=2, name="ck.2", secs=40.0
    600 xfer=FETCH, from=/p, to=/dev/shm/d.2, dset=2, name="ck.2", secs=40.0, bytes=4000.0, files=8
    640 event=COMPUTE_START
    650 event=OUTPUT_START, note="/p", dset=3, name="plot"
    651 event=FLUSH_START, dset=3, name="plot"
    653 event=FLUSH_SUCCESS, dset=3, name="plot", secs=2
    655 event=OUTPUT_END, note="/p", dset=3, name="plot", secs=5
    650 xfer=OUTPUT, from=/p, to=/p, dset=3, name="plot", secs=5, bytes=100, files=1
    660 event=COMPUTE_END, secs=20
    670 xfer=VISIT, from=a, to=b
    680 event=STRANGE
"#;

#[test]
fn what_is_inside_of_computation_is_counted_once() {
    let report = report(&log(FETCHED), &["--ended"]);
    let time = &report["time"];
    let parts = ["progress", "output", "flush", "restart", "other", "total"];
    // 20 s of computation, of which 3 s wrote output, and 2 s flushed it.
    let expected = json!([15.0, 3.0, 2.0, 40.0, 0.0, 60.0]);
    assert_eq!(json!(parts.map(|part| time[part].clone())), expected);
    assert_eq!(report["levels"][0]["level"], "none (bypass)");
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("Not counted: 2 records of events"),
        "{notes}"
    );
}

#[test]
fn the_json_is_as_documented() {
    let all = log(KILLED) + &log(RUN_END) + &log(NEXT) + &log(FETCHED);
    let documents = [
        report(&all, &[]),
        report(&log(CLASSIC), &[]),
        report(&all, &["--failures-every", "1h"]),
        report("", &[]),
    ];
    as_documented("scr report --json", &documents);
}

#[test]
fn jobs_and_times_are_filtered() {
    let other = log(KILLED)
        .replace("jobid=7", "jobid=8")
        .replace("T00", "T05");
    let all = log(KILLED) + &log(RUN_END) + &log(NEXT) + &other;
    let runs = |args: &[&str]| report(&all, args)["runs"].as_array().unwrap().len();
    assert_eq!(runs(&[]), 3);
    assert_eq!(runs(&["--job", "7"]), 2);
    assert_eq!(runs(&["--job", "9"]), 0);
    assert_eq!(
        runs(&[
            "--since",
            "2026-11-21T00:05:50",
            "--until",
            "2026-11-21T01:00:00"
        ]),
        1
    );
    // A time that begins in the middle of a run.
    let part = report(
        &all,
        &[
            "--since",
            "2026-11-21T00:03:00",
            "--until",
            "2026-11-21T00:05:50",
        ],
    );
    assert_eq!(part["runs"][0]["begin"], MIDNIGHT + 140.0);
    assert_eq!(part["runs"][0]["checkpoints"], 1);
}

#[test]
fn what_cannot_be_read_is_counted_and_told() {
    let sandbox = Sandbox::empty();
    let empty = told(&sandbox, "", &[]).out();
    assert!(empty.contains("The log has no records."), "{empty}");
    let page_of_nothing = page("");
    assert!(
        page_of_nothing.contains("The log has no records."),
        "{page_of_nothing}"
    );
    let damaged = log(KILLED) + "noise\n2026-11-21T00:00:09: host=n1, jo\n\u{0}\n" + &log(RUN_END);
    let said = told(&sandbox, &damaged, &[]);
    assert!(said.err.contains("3 lines are no records"), "{}", said.err);
    assert!(
        said.out.contains("3 lines of the log could not be read"),
        "{}",
        said.out
    );
    assert_eq!(report(&damaged, &[])["unreadable"], 3);
    assert!(page(&damaged).contains("3 lines of the log could not be read"));
    for odd in ["/dev/null", ".", "no.such.file"] {
        let error = sandbox.run(&["report", "--logfile", odd]).failed();
        assert!(error.contains(odd), "{error}");
    }
    for file in ["/dev/full", "no/such/directory/page.html", "."] {
        let said = told(&sandbox, &log(KILLED), &["--html", file]);
        assert_eq!((said.code, said.out.as_str()), (1, ""));
        assert!(said.err.contains(&format!("write {file}")), "{}", said.err);
    }
}

/// Lines in any order, left out, cut and repeated. The sums hold whatever the log has.
#[test]
fn any_log_gives_a_report() {
    let all = log(KILLED) + &log(RUN_END) + &log(NEXT) + &log(FETCHED) + &log(CLASSIC);
    let lines: Vec<&str> = all.lines().collect();
    let mut state = 7u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..40 {
        let mut text = String::new();
        for _ in 0..lines.len() {
            let mut line = lines[random(lines.len())].to_string();
            match random(12) {
                0 => line.truncate(random(line.len())),
                1 => line = line.replacen("T00", "T23", 1),
                2 => line = line.replace("secs=", "secs=1e300"),
                3 => line = line.replace("2026", "0001"),
                4 => line = line.replace("jobid=7", "jobid=8"),
                _ => {}
            }
            text += &(line + "\n");
        }
        let report = report(&text, if round % 2 == 0 { &["--ended"] } else { &[] });
        for time in [&report["time"], &report["runs"][0]["time"]] {
            let mut sum = 0.0;
            for (name, part) in time.as_object().into_iter().flatten() {
                let part = part.as_f64().filter(|part| *part >= 0.0).unwrap();
                sum += if name == "total" { -part } else { part };
            }
            let total = time["total"].as_f64().unwrap_or(0.0);
            assert!(sum.abs() <= 1e-9 * total + 1e-6, "{sum}: {time}\n{text}");
        }
        page(&text);
    }
}

const EVIL: &str = r#"</script><img src=x onerror=alert(1)>&\"'</td></title></svg>{{style}}"#;

#[test]
fn no_text_of_the_log_becomes_markup() {
    let evil = |second: u64, rest: &str| {
        let rest = rest.replace("EVIL", &format!("\"{EVIL}\\x1b[2J\\xe2\\x80\\xae\""));
        line(second, &rest).replace("jobid=7", &format!("jobid=\"{EVIL}\""))
    };
    let text = [
        evil(0, "event=START"),
        evil(1, "event=COMPUTE_START"),
        evil(2, "event=CHECKPOINT_START, note=EVIL, dset=1, name=EVIL"),
        evil(
            3,
            "xfer=ENCODE, note=EVIL, from=EVIL, to=b, dset=1, name=EVIL, secs=1, bytes=4",
        ),
        evil(
            4,
            "event=CHECKPOINT_END, note=EVIL, dset=1, name=EVIL, secs=2",
        ),
        evil(
            2,
            "xfer=CHECKPOINT, from=EVIL, to=b, dset=1, name=EVIL, secs=2, bytes=4",
        ),
        evil(5, "event=NODE_FAIL, note=EVIL"),
        evil(6, "event=START"),
        evil(7, "event=RESTART_START, dset=1, name=EVIL"),
        evil(8, "event=HALT, note=EVIL"),
    ];
    let text = text.concat();
    let page = page(&text);
    for bad in [
        "<img",
        "<script",
        "</script",
        "onerror=alert(1)>",
        "{{",
        "\u{1b}",
        "\u{202e}",
    ] {
        let shown = page.replace("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;", "");
        let shown = shown.replace("{{style}}", "");
        assert!(!shown.contains(bad), "{bad}: {page}");
    }
    // It is there, as a text: job, name, store, scheme, note of the node.
    let shown = page.matches("&lt;/script&gt;&lt;img").count();
    assert!(shown >= 7, "{shown} times in {page}");
    let terminal = told(&Sandbox::empty(), &text, &[]).out();
    assert!(!terminal.contains(['\u{1b}', '\u{202e}']), "{terminal}");
}

#[test]
fn the_page_needs_nothing_else() {
    let page = page(&(log(KILLED) + &log(RUN_END) + &log(NEXT)));
    for outside in ["://", "<script", "<link", "<img", "src=", "@import", "href"] {
        assert!(!page.contains(outside), "{outside}");
    }
    for part in [
        "prefers-color-scheme: dark",
        "@media print",
        "name=\"viewport\"",
        "<title>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // The numbers of the pictures are in tables, too.
    for cell in [
        "<td>1 min 30 s</td>",
        "<td>18.4 %</td>",
        "<td>n2: does not answer</td>",
        "<td>400 B/s</td>",
    ] {
        assert!(page.contains(cell), "{cell}: {page}");
    }
}

/// A run that ends by itself, all of whose flushes have failed.
const UNFLUSHED: &str = r#"
    0 event=START, procs=8, nodes=4
    0 event=COMPUTE_START
    10 event=COMPUTE_END, secs=10.0
    10 event=CHECKPOINT_START, note="/dev/shm", dset=1, name="ck.1"
    11 xfer=WRITE, from=/dev/shm, to=/dev/shm/d.1, dset=1, name="ck.1", secs=0.5, bytes=4000.0, files=8
    11 event=CHECKPOINT_END, note="/dev/shm", dset=1, name="ck.1", secs=1.0
    11 event=FLUSH_START, dset=1, name="ck.1"
    12 event=FLUSH_FAIL, note="/p is full", dset=1, name="ck.1"
    12 event=ASYNC_FLUSH_START, dset=2, name="ck.2"
    13 event=ASYNC_FLUSH_FAIL, note="/p is <full>", dset=2, name="ck.2"
    14 event=HALT, note="SCR_FINALIZE_CALLED"
    14 event=END, secs=14.0
"#;

#[test]
fn what_failed_is_told_with_its_reason() {
    let text = log(UNFLUSHED);
    let told = told(&Sandbox::empty(), &text, &[]).out();
    assert!(told.contains("0 failures, 2 failed flushes"), "{told}");
    assert!(told.contains("What SCR could not do"), "{told}");
    assert!(told.contains("flush                    1 (ck.1)"), "{told}");
    assert!(told.contains("2 (ck.2)  /p is <full>"), "{told}");
    let json = report(&text, &[]);
    let expected = json!({
        "run": 1, "time": MIDNIGHT + 12.0, "what": "flush", "id": 1, "name": "ck.1", "why": "/p is full",
    });
    assert_eq!(json["failed"][0], expected);
    assert_eq!(json["failed"][1]["what"], "flush in the background");
    let level = &json["levels"][0];
    assert_eq!(level["level"], "The program writes");
    near(&level["seconds"], 0.5);
    near(&level["bytes_per_second"], 8000.0);
    assert!(page(&text).contains("/p is &lt;full&gt;"));
}

/// The area of a class in the picture of all runs.
fn area(page: &str, class: &str) -> f64 {
    let timeline = page.split("Timeline of the runs").nth(1).unwrap();
    let timeline = timeline.split("</svg>").next().unwrap();
    let start = format!("<path class=\"{class}\" d=\"");
    let paths = timeline.split(&start).skip(1);
    let rectangles = paths.flat_map(|path| path.split('"').next().unwrap().split('M').skip(1));
    let sizes = rectangles.map(|rectangle| {
        let (_, size) = rectangle.split_once('h').unwrap();
        let (width, rest) = size.split_once('v').unwrap();
        let height = rest.split('h').next().unwrap();
        width.parse::<f64>().unwrap() * height.parse::<f64>().unwrap()
    });
    sizes.sum()
}

/// Times have parts of a second, and many short checkpoints do not look like a long one.
#[test]
fn the_picture_has_the_shares_of_the_table() {
    let mut text = line(0, "event=START, procs=8, nodes=4, msec=900");
    for id in 1..=1000u64 {
        let mark = |millis: u64, rest: &str| {
            let millis = 900 + (id - 1) * 50 + millis;
            let rest = format!("{rest}, msec={}", millis % 1000);
            line(millis / 1000, &rest.replace(", msec=0", ""))
        };
        text += &mark(0, "event=COMPUTE_START");
        text += &mark(45, "event=COMPUTE_END, secs=0.045");
        let dataset = format!("dset={id}, name=\"ck.{id}\"");
        text += &mark(45, &format!("event=CHECKPOINT_START, {dataset}"));
        text += &mark(50, &format!("event=CHECKPOINT_END, {dataset}, secs=0.005"));
    }
    text += &line(50, "event=HALT, note=\"SCR_FINALIZE_CALLED\", msec=900");
    text += &line(50, "event=END, secs=50.0, msec=900");
    let json = report(&text, &[]);
    near(&json["runs"][0]["begin"], MIDNIGHT + 0.9);
    near(&json["time"]["total"], 50.0);
    near(&json["time"]["checkpoint"], 5.0);
    let page = page(&text);
    let (checkpoint, compute) = (area(&page, "checkpoint"), area(&page, "compute"));
    let share = checkpoint / (checkpoint + compute + area(&page, "other"));
    assert!((0.08..0.12).contains(&share), "{share} of the picture");
}

/// A long campaign gives a page of bounded pictures, with all datasets in a table.
#[test]
fn two_thousand_checkpoints_have_a_small_page() {
    let mut text = line(0, "event=START, procs=8, nodes=4") + &line(0, "event=COMPUTE_START");
    for id in 1..=2000u64 {
        let (begin, end) = (id * 10, id * 10 + 2);
        text += &line(begin, "event=COMPUTE_END, secs=8");
        text += &line(
            begin,
            &format!("event=CHECKPOINT_START, dset={id}, name=\"ck.{id}\""),
        );
        text += &line(
            end,
            &format!("event=CHECKPOINT_END, dset={id}, name=\"ck.{id}\", secs=2"),
        );
        let moved = format!(
            "xfer=CHECKPOINT, from=/a, to=/b, dset={id}, name=\"ck.{id}\", secs=2, bytes=8"
        );
        text += &line(begin, &moved);
        text += &line(end, "event=COMPUTE_START");
    }
    let page = page(&text);
    let pictures: usize = page
        .split("<svg")
        .skip(1)
        .map(|part| part.find("</svg>").unwrap())
        .sum();
    assert!(pictures < 300_000, "{pictures} bytes of pictures");
    assert!(page.contains("<td>ck.2000</td>"));
    assert!(page.contains("each bar is the mean of up to 10"), "{page}");
}

/// The report of a real job: a run that was killed with its node, and one that rebuilt its files.
#[test]
fn a_run_that_lost_a_node() {
    let site = Site::new()
        .set("SCR_LOG_ENABLE", "1")
        .set("SCR_LOG_SYSLOG_ENABLE", "0")
        .set("SCR_CACHE_SIZE", "3");
    site.run(&nodes(4), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
        // At least a second of work that is lost, as the log has whole seconds.
        std::thread::sleep(std::time::Duration::from_millis(2100));
        // It is killed in the middle of its third checkpoint.
        let name = Some(scr::Name::from("ck.3"));
        rank.session.start_output(name, true, false).unwrap();
    });
    std::fs::remove_dir_all(site.node("n2")).unwrap();
    site.run(&["n0", "n1", "n4", "n3"], |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.2"));
        rank.session
            .finalize(&mut scr::config::Config::new())
            .unwrap();
    });
    let file = site.prefix().join(".scr/log");
    let output = program("scr", &["report", "--json", "--logfile"])
        .arg(&file)
        .output();
    let report: Value = serde_json::from_str(&said(output.unwrap()).out()).unwrap();
    assert_eq!(report["unreadable"], 0);
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);
    assert_eq!(report["runs"][1]["restart_name"], "ck.2");
    assert_eq!(report["runs"][1]["ending"], "itself");
    let [failure] = &report["failures"].as_array().unwrap()[..] else {
        panic!("{report}");
    };
    assert!(failure["lost"].as_f64().unwrap() >= 1.0, "{failure}");
    assert!(failure["recovery"].as_f64().unwrap() > 0.0, "{failure}");
    let levels = report["levels"].as_array().unwrap();
    let level = |name: &str| levels.iter().find(|level| level["level"] == name);
    assert_eq!(level("XOR").unwrap()["datasets"], 2, "{report}");
    assert_eq!(level("Rebuild").unwrap()["datasets"], 1, "{report}");
}

/// Every element of the page ends, in order.
#[track_caller]
fn assert_well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, left) = after.split_once('>').expect("a tag ends");
        rest = left;
        if tag == "style" {
            rest = left.split_once("</style>").expect("the style ends").1;
            continue;
        }
        let name = tag.split([' ', '\n']).next().unwrap();
        let is_void = tag.ends_with('/') || tag.starts_with('!') || name == "meta";
        match name.strip_prefix('/') {
            Some(end) => assert_eq!(open.pop(), Some(end), "{page}"),
            None if is_void => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
