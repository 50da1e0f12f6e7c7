//! The event log: `scr log`, `log-event`, `log-transfer`, `ckpt-interval`

use crate::json::as_documented;
use crate::sandbox::{Programs, Sandbox, log_event_of, program, said};
use crate::site::{Site, nodes};
use scr::config::LogSettings;
use scr::events::Event;
use scr::log::{Destinations, Origin, Record, read_text};
use scr::store::posix::Posix;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

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
        "Failures: 2",
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
        said.err.contains("line 30 is no record of the event log"),
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

/// The text log of SCR v3.1.0, some damaged lines, and one of ours with everything that is escaped.
const MIXED: &str = "\
2026-11-21T00:00:00: host=n1, jobid=7, event=START, procs=4, nodes=2
2026-11-21T00:00:05: host=n1, jobid=7, event=CHECKPOINT_END, note=\"/dev/shm\", dset=1, name=\"ck.1\", secs=2.000000
2026-11-21T00:00:03: host=n1, jobid=7, xfer=CHECKPOINT, from=/dev/shm, to=/dev/shm/u/scr.7/scr.dataset.1, dset=1, \
name=\"ck.1\", secs=2.000000, bytes=4000.000000, files=4
2026-11-21T00:00:09: host=n1, jo
noise
2026-11-21T00:01:00: host=n2, jobid=8, event=NODE_FAIL, note=\"n1: a \\\"b\\\"\\n\\x1b[31m, c=d\"
";

#[test]
fn the_log_is_filtered() {
    let sandbox = Sandbox::of("basic");
    std::fs::write(sandbox.path().join(".scr/log"), MIXED).unwrap();
    let lines: Vec<&str> = MIXED.lines().collect();
    let warned =
        ".scr/log: 2 lines are no records of the event log, and are left out; the first is line 4";
    let expect = |args: &[&str], numbers: &[usize]| {
        let words = [&["log"], args].concat();
        let said = sandbox.run(&words);
        let expected: Vec<&str> = numbers.iter().map(|number| lines[number - 1]).collect();
        assert_eq!(
            (said.code, said.out.lines().collect::<Vec<_>>()),
            (0, expected)
        );
        assert!(said.err.trim_end().ends_with(warned), "{}", said.err);
    };
    expect(&[], &[1, 2, 3, 6]);
    expect(&["--job", "7"], &[1, 2, 3]);
    expect(&["--job", "8", "--job", "7"], &[1, 2, 3, 6]);
    expect(&["--dataset", "1"], &[2, 3]);
    expect(&["--dataset", "2"], &[]);
    expect(&["--type", "checkpoint", "--type", "START"], &[1, 3]);
    expect(&["--since", "2026-11-21T00:00:05"], &[2, 6]);
    expect(&["--until", "2026-11-21T00:00:05"], &[1, 3]);
    // 2026-11-21T00:00:05 in UTC.
    expect(&["--since", "1795219205", "--until", "1795219206"], &[2]);
    for bad in [
        &["--since", "now"][..],
        &["--dataset", "x"],
        &["--dataset", "-1"],
    ] {
        let words = [&["log"], bad].concat();
        assert_eq!(sandbox.run(&words).code, 2);
    }
}

#[test]
fn the_log_as_json() {
    let sandbox = Sandbox::empty();
    std::fs::write(sandbox.path().join("l"), MIXED).unwrap();
    let json = |args: &[&str]| -> serde_json::Value {
        let words = [&["log", "--logfile", "l", "--json"], args].concat();
        serde_json::from_str(&sandbox.run(&words).out).unwrap()
    };
    let none = json(&["--job", "9"]);
    assert_eq!(none["records"], serde_json::json!([]));
    let document = json(&[]);
    as_documented("scr log --json", &[none, document.clone()]);
    let all = &document["records"];
    assert_eq!(all.as_array().unwrap().len(), 4);
    let moved = serde_json::json!({
        "time": 1_795_219_203, "host": "n1", "job": "7", "kind": "transfer", "type": "CHECKPOINT",
        "from": "/dev/shm", "to": "/dev/shm/u/scr.7/scr.dataset.1", "dataset": 1, "name": "ck.1",
        "seconds": 2.0, "bytes": 4000.0, "files": 4, "bytes_per_second": 2000.0, "processes": null,
        "nodes": null, "note": null, "user": null, "job_name": null, "job_start": null,
    });
    assert_eq!(all[2], moved);
    assert_eq!(all[0]["processes"], 4);
    assert_eq!(all[3]["note"], "n1: a \"b\"\n\u{1b}[31m, c=d");
}

#[test]
fn what_is_no_log_is_told() {
    let sandbox = Sandbox::of("basic");
    let error = sandbox.run(&["log"]).failed();
    assert!(error.contains(".scr/log"), "{error}");
    for odd in ["/dev/null", "."] {
        let error = sandbox.run(&["log", "--logfile", odd]).failed();
        assert!(error.contains("is not a regular file"), "{error}");
    }
    // Writing to it says so, too.
    std::fs::create_dir(sandbox.path().join(".scr/log")).unwrap();
    let error = Programs::new()
        .run(&sandbox, &ON, &["log-event", "-T", "X"])
        .failed();
    assert!(error.contains(".scr/log"), "{error}");
}

#[test]
fn hostile_words_stay_in_their_line() {
    let (programs, sandbox) = (Programs::new(), Sandbox::of("basic"));
    let evil = "a\", event=HALT\n2026-11-21T00:00:00: host=x, jobid=1, event=END\u{1b}[2J\u{202e}'); DROP TABLE x; --";
    let args = log_event_of(evil);
    programs.run(&sandbox, &ON, &args).out();
    let args = ["log-transfer", "-T", "FETCH", "-X", evil, "-Y", evil];
    programs.run(&sandbox, &ON, &args).out();
    let file = sandbox.path().join(".scr/log");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(
        text.chars().all(|c| c == '\n' || !c.is_control()),
        "{text:?}"
    );
    let mut records = Vec::new();
    let not_read = read_text(&file, |record| {
        records.push(record);
        Ok::<(), scr::Error>(())
    });
    assert_eq!(not_read.unwrap().count, 0);
    let [event, transfer] = &records[..] else {
        panic!("{records:?}");
    };
    assert_eq!((event.event.name(), event.job.as_str()), (evil, evil));
    for field in [
        &event.note,
        &event.name,
        &event.user,
        &event.jobname,
        &transfer.from,
        &transfer.to,
    ] {
        assert_eq!(field.as_deref(), Some(evil));
    }
    let shown = sandbox.run(&["log"]).out();
    assert_eq!(shown, text);
}

const WRITERS: usize = 8;
const LINES: usize = 1000;

/// A process of [`no_line_of_several_writers_is_lost`].
#[test]
#[ignore = "another test runs it as a process"]
fn one_of_several_writers() {
    let dir = std::env::var_os("LOG_DIRECTORY").unwrap();
    let origin = Origin {
        host: std::env::var("LOG_WRITER").unwrap(),
        job: "7".to_string(),
        user: String::new(),
        prefix: dir.clone().into(),
        file: Path::new(&dir).join("log"),
    };
    let settings = LogSettings {
        text: Some(0),
        ..LogSettings::default()
    };
    let tell: scr::log::Tell = Arc::new(|_, _| ());
    let mut log = Destinations::open(&settings, &Posix, origin, &tell);
    for number in 0..LINES {
        let note = "x".repeat(number % 300);
        let record = Record {
            dset: Some(number as u64),
            ..Record::now(Event::Halt).note(note)
        };
        log.write(record).unwrap();
    }
}

#[test]
fn no_line_of_several_writers_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let start = |writer: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "log::one_of_several_writers"])
            .env("LOG_DIRECTORY", dir.path())
            .env("LOG_WRITER", writer.to_string())
            .output()
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..WRITERS)
            .map(|w| scope.spawn(move || start(w)))
            .collect();
        for one in all {
            let output = one.join().unwrap().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("1 passed"), "{text}");
        }
    });
    let mut next = [0; WRITERS];
    let not_read = read_text(&dir.path().join("log"), |record| {
        let number = record.dset.unwrap() as usize;
        let writer: usize = record.host.parse().unwrap();
        assert_eq!(number, next[writer], "the lines of a writer are in order");
        assert_eq!(record.note.unwrap().len(), number % 300);
        next[writer] += 1;
        Ok::<(), scr::Error>(())
    });
    assert_eq!(not_read.unwrap().count, 0);
    assert_eq!(next, [LINES; WRITERS]);
}

/// What the test counts itself in a log, line by line.
fn seconds(text: &str, what: &str) -> f64 {
    let lines = text.lines().filter(|line| line.contains(what));
    let secs = lines.map(|line| {
        let (_, after) = line.split_once("secs=").unwrap();
        after.split(',').next().unwrap().parse::<f64>().unwrap()
    });
    secs.sum()
}

/// The log of a real job: a run that was killed with its node, and one that ended by itself.
#[test]
fn the_interval_of_a_run_that_lost_a_node() {
    let site = Site::new()
        .set("SCR_LOG_ENABLE", "1")
        .set("SCR_LOG_SYSLOG_ENABLE", "0");
    site.run(&nodes(4), |rank| {
        rank.checkpoint("ck.1").unwrap();
        rank.checkpoint("ck.2").unwrap();
    });
    std::fs::remove_dir_all(site.node("n2")).unwrap();
    site.run(&["n0", "n1", "n4", "n3"], |rank| {
        assert_eq!(rank.restart().as_deref(), Some("ck.2"));
        rank.checkpoint("ck.3").unwrap();
        rank.session
            .finalize(&mut scr::config::Config::new())
            .unwrap();
    });
    let file = site.prefix().join(".scr/log");
    let text = std::fs::read_to_string(&file).unwrap();
    let ask = |args: &[&str]| {
        let mut command = program("scr_ckpt_interval", args);
        said(command.arg("--logfile").arg(&file).output().unwrap()).out()
    };
    let checkpoints = seconds(&text, "event=CHECKPOINT_END");
    let total = checkpoints
        + seconds(&text, "event=COMPUTE_END")
        + seconds(&text, "event=RESTART_SUCCESS")
        + seconds(&text, "xfer=FLUSH_SYNC");
    // Three checkpoints; two starts, one of which ended by itself.
    let cost = checkpoints / 3.0;
    let interval = (2.0 * cost * total).sqrt();
    let stats = ask(&["--stats", "--model", "young"]);
    let number = |name: &str| -> f64 {
        let line = stats.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(
        (number("Starts:"), number("Failures:")),
        (2.0, 1.0),
        "{stats}"
    );
    for (name, expected) in [
        ("Mean time to interrupt", total),
        ("Checkpoint Interval", interval),
        ("Percent Overhead", cost * 100.0 / interval),
    ] {
        assert!(
            (number(name) - expected).abs() < 0.001,
            "{expected}: {stats}"
        );
    }
    assert_eq!(
        ask(&["--model", "young"]),
        format!("{:.0}\n", interval.floor().max(1.0))
    );
}

#[test]
fn the_documentation_has_all_events() {
    let page = std::fs::read_to_string("docs/formats/log.md").unwrap();
    for (event, text) in Event::ALL {
        let row = format!("| `{}` | {text} |", event.name());
        assert!(page.contains(&row), "{row}");
    }
}
