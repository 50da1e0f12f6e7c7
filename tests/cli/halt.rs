//! `scr halt`, `scr retries-halt`

use crate::sandbox::{Sandbox, program, said};
use crate::site::{Site, nodes};
use std::process::Stdio;

/// The lines of `scr halt --list` below its heading.
fn settings(sandbox: &Sandbox) -> String {
    let out = sandbox.run(&["halt", "--list"]).out();
    let (heading, rest) = out.split_once(":\n").unwrap();
    assert!(heading.starts_with("\nHalt file settings for /"), "{out}");
    assert!(heading.ends_with("/.scr/halt.scr"), "{out}");
    rest.to_string()
}

#[test]
fn all_conditions_are_set_shown_and_unset() {
    let sandbox = Sandbox::of("basic");
    assert_eq!(
        settings(&sandbox),
        "  ExitReason:      SCR_FINALIZE_CALLED\n"
    );
    let out = sandbox
        .run(&[
            "halt",
            "-c",
            "10",
            "-b",
            "2082-11-21T18:00:00",
            "-a",
            "2082-11-07T09:05:00",
            "-s",
            "600",
        ])
        .out();
    let changes = "Setting CheckpointsLeft to 10\n\
                   Setting ExitBefore to Sat Nov 21 18:00:00 2082\n\
                   Setting ExitAfter to Sat Nov  7 09:05:00 2082\n\
                   Setting HaltSeconds to 600\n\nHalt file settings for ";
    assert!(out.starts_with(changes), "{out}");
    let table = "  ExitReason:      SCR_FINALIZE_CALLED
  CheckpointsLeft: 10
  ExitAfter:       Sat Nov  7 09:05:00 2082
  ExitBefore:      Sat Nov 21 18:00:00 2082
  HaltSeconds:     600
  ExitBefore - HaltSeconds: Sat Nov 21 17:50:00 2082
";
    assert!(out.ends_with(table), "{out}");
    assert_eq!(settings(&sandbox), table);

    let halt = ".scr/halt.scr";
    let printed = "  CheckpointsLeft = 10\n  ExitAfter = 3561267900\n  ExitBefore = 3562509600\n  \
                   ExitReason = SCR_FINALIZE_CALLED\n  HaltSeconds = 600\n";
    assert_eq!(sandbox.run(&["print", halt]).out(), printed);

    let out = sandbox
        .run(&[
            "halt",
            "--unset-before",
            "--unset-checkpoints",
            "--unset-seconds",
        ])
        .out();
    assert!(
        out.starts_with("Unsetting CheckpointsLeft\nUnsetting ExitBefore\n"),
        "{out}"
    );
    sandbox
        .run(&["halt", "--unset-after", "--unset-reason"])
        .out();
    assert_eq!(settings(&sandbox), "  None\n");
}

#[test]
fn a_time_in_the_past_is_reported() {
    let sandbox = Sandbox::of("basic");
    let why = |time: &str, option: &str| {
        format!(
            "scr halt: warning: {time} has passed, so a run stops when it next calls \
             SCR_Should_exit or SCR_Need_checkpoint; --unset-{option} removes this condition\n"
        )
    };
    let hour = "Mon May  5 12:00:00 2014";
    let args = ["halt", "-b", "2014-05-05T12:00:00"];
    let said = sandbox.run(&args);
    assert_eq!((said.code, said.err), (0, why(hour, "before")));
    assert_eq!(sandbox.run(&["halt", "-l"]).err, "", "said once");
    let said = sandbox.run(&["halt", "-s", "60", "-a", "2014-05-05T12:00:00"]);
    let minute_before = why("Mon May  5 11:59:00 2014", "before");
    assert_eq!(said.err, minute_before + &why(hour, "after"));
    // Only HaltSeconds brings this time into the past.
    let said = sandbox.run(&["halt", "-b", "2082-01-01T00:00:00", "-s", "2147483647"]);
    assert!(said.err.contains("--unset-before"), "{said:?}");
}

#[test]
fn without_a_condition_the_job_stops_now() {
    for args in [
        &["halt"][..],
        &["halt", "-i"],
        &["halt", "-c0"],
        &["halt", "-s", "0"],
        &["halt", "-v"],
    ] {
        let sandbox = Sandbox::of("basic");
        let out = sandbox.run(args).out();
        assert!(out.contains("Setting ExitReason to JOB_HALTED\n"), "{out}");
        assert_eq!(settings(&sandbox), "  ExitReason:      JOB_HALTED\n");
    }
}

#[test]
fn listing_and_removing_set_nothing() {
    let sandbox = Sandbox::of("basic");
    let file = sandbox.path().join(".scr/halt.scr");
    let before = std::fs::read(&file).unwrap();
    settings(&sandbox);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert!(
        sandbox
            .run_as("scr_halt", &["-r"])
            .out()
            .ends_with("  None\n")
    );
    assert!(!file.exists());
    // A missing halt file is not an error.
    assert!(
        sandbox
            .run_as("scr_halt", &["--remove"])
            .out()
            .ends_with("  None\n")
    );
    assert_eq!(settings(&sandbox), "  None\n");
    assert!(!file.exists());
}

#[test]
fn several_directories_of_which_one_is_not_a_prefix_directory() {
    let (a, b) = (Sandbox::of("basic"), Sandbox::of("failed"));
    let dirs = [a.path(), "/nonexistent".as_ref(), b.path()].map(|p| p.to_str().unwrap());
    let said = a.run(&[&["halt", "-c", "3"], &dirs[..]].concat());
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("/nonexistent is not a prefix directory"),
        "{}",
        said.err
    );
    for sandbox in [&a, &b] {
        assert!(settings(sandbox).contains("CheckpointsLeft: 3\n"));
    }
}

#[test]
fn bad_times_and_numbers_are_wrong_options() {
    let sandbox = Sandbox::of("basic");
    for args in [
        ["--before", "tomorrow"],
        ["--before", "12:00"],
        ["--after", "2026-02-30T00:00:00"],
        ["--after", ""],
        ["--checkpoints", "-1"],
        ["--checkpoints", "3000000000"],
        ["--seconds", "1h"],
    ] {
        let said = sandbox.run(&[&["halt"], &args[..]].concat());
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{args:?}");
        assert!(said.err.contains("Usage: scr halt"), "{}", said.err);
    }
    assert_eq!(
        settings(&sandbox),
        "  ExitReason:      SCR_FINALIZE_CALLED\n"
    );
}

#[test]
fn a_damaged_halt_file_is_named_and_can_be_removed() {
    let sandbox = Sandbox::of("basic");
    std::fs::write(sandbox.path().join(".scr/halt.scr"), b"garbage").unwrap();
    assert!(sandbox.run(&["halt", "-c1"]).failed().contains("halt.scr"));
    sandbox.run(&["halt", "--remove"]).out();
    sandbox.run(&["halt", "-c1"]).out();
}

#[test]
fn two_at_once_lose_nothing() {
    let sandbox = Sandbox::of("basic");
    for round in 1..6 {
        let (n, s) = (format!("-c{round}"), format!("-s{round}"));
        let started: Vec<_> = [&n, &s]
            .map(|option| {
                program("scr_halt", &[option])
                    .current_dir(sandbox.path())
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .into();
        for child in started {
            said(child.wait_with_output().unwrap()).out();
        }
        let table = settings(&sandbox);
        assert!(
            table.contains(&format!("CheckpointsLeft: {round}\n")),
            "{table}"
        );
        assert!(
            table.contains(&format!("HaltSeconds:     {round}\n")),
            "{table}"
        );
    }
}

#[test]
fn retries_halt_answers_by_its_exit_status() {
    let sandbox = Sandbox::of("basic");
    let dir = sandbox.path().to_str().unwrap();
    let ask = || sandbox.run_as("scr_retries_halt", &["--dir", dir]);
    let halts = |reason: &str| {
        let text = format!("scr_retries_halt: HALT RUN: Reason: {reason}.\n");
        assert_eq!(ask().out(), text);
    };
    let goes_on = || {
        let said = ask();
        assert_eq!((said.code, said.err.as_str()), (1, ""));
        assert!(
            said.out.starts_with("scr_retries_halt: CONTINUE RUN: "),
            "{}",
            said.out
        );
    };
    halts("SCR_FINALIZE_CALLED");
    sandbox.run(&["halt", "--unset-reason"]).out();
    goes_on();
    sandbox
        .run(&[
            "halt",
            "-c",
            "2",
            "-s",
            "600",
            "--before=9999-01-01T00:00:00",
        ])
        .out();
    goes_on();
    assert_eq!(sandbox.run(&["halt", "-b", "2000-01-01T00:00:00"]).code, 0);
    halts("EXIT_BEFORE_TIME");
    let after = ["halt", "--unset-before", "-a", "2000-01-01T00:00:00"];
    assert_eq!(sandbox.run(&after).code, 0);
    halts("EXIT_AFTER_TIME");
    sandbox.run(&["halt", "--unset-after", "-i"]).out();
    halts("JOB_HALTED");
    sandbox.run(&["halt", "-r"]).out();
    goes_on();
    let said = sandbox.run(&["retries-halt", "--dir=/nonexistent"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("/nonexistent"), "{}", said.err);
}

#[test]
fn the_time_of_before_is_less_what_scr_halt_seconds_says() {
    let sandbox = Sandbox::of("basic");
    let soon = scr::job::clock::now() + 3000;
    let before = soon.to_string();
    let set = ["-f", ".scr/halt.scr", "-xr", "-b", &before];
    sandbox.run_as("scr_halt_cntl", &set).out();
    let stops = |seconds: &str| {
        let mut command = program("scr_retries_halt", &[]);
        let command = command.current_dir(sandbox.path());
        said(command.env("SCR_HALT_SECONDS", seconds).output().unwrap()).code == 0
    };
    assert!(!stops("1000") && stops("10000"));
    // The value in the halt file comes first.
    sandbox.run(&["halt", "--seconds", "5"]).out();
    assert!(!stops("10000"));
}

/// The user is in his home directory and believes that this stops the job.
#[test]
fn a_condition_goes_to_the_job_or_nowhere() {
    let (job, home) = (Sandbox::of("basic"), Sandbox::empty());
    let error = home.run(&["halt"]).failed();
    assert!(
        error.contains("is not a prefix directory") && error.contains("scr halt DIR"),
        "{error}"
    );
    let halt = |prefix: &Sandbox| {
        let mut command = program("scr", &["halt"]);
        command.current_dir(home.path());
        said(command.env("SCR_PREFIX", prefix.path()).output().unwrap())
    };
    assert!(settings(&job).contains("SCR_FINALIZE_CALLED"));
    halt(&job).out();
    assert!(settings(&job).contains("JOB_HALTED"));
    assert!(halt(&Sandbox::empty()).failed().contains("scr halt DIR"));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

/// A job is submitted and must not begin.
#[test]
fn conditions_may_be_set_before_the_first_run_and_hold_for_it() {
    for (command, args) in [
        ("scr_halt", &["-c", "5", "--immediate"][..]),
        ("scr_halt_cntl", &["-c", "5", "-r", "JOB_HALTED"]),
    ] {
        let site = Site::new();
        let dir = site.prefix();
        let file = dir.join(".scr/halt.scr");
        let file = ["-f", file.to_str().unwrap()];
        let place = match command {
            "scr_halt" => &[dir.to_str().unwrap()][..],
            _ => &file[..],
        };
        let call =
            |args: &[&str]| said(program(command, &[args, place].concat()).output().unwrap());
        for nothing in [&["-l"][..], &["-xr"]] {
            if command == "scr_halt_cntl" {
                assert!(call(nothing).failed().contains("is not a prefix directory"));
            }
        }
        assert!(!dir.join(".scr").exists());
        let first = call(args);
        assert_eq!(first.code, 0, "{first:?}");
        assert!(first.err.contains("has not used") && first.err.contains("made .scr in it"));
        assert_eq!(call(args).err, "");
        site.run(&nodes(2), |rank| {
            assert!(rank.session.should_exit().unwrap());
            assert!(rank.session.need_checkpoint().unwrap());
        });
        let table = call(&["-l"]).out();
        assert!(table.contains("ExitReason:      JOB_HALTED\n"), "{table}");
        assert!(table.contains("CheckpointsLeft: 5\n"), "{table}");
    }
    // The prefix directory itself is not made: its name may be mistyped.
    let (sandbox, gone) = (Sandbox::empty(), "gone");
    let error = sandbox.run(&["halt", gone]).failed();
    assert!(error.contains("gone is not a prefix directory"), "{error}");
    assert!(!sandbox.path().join(gone).exists());
}

/// The user changes his mind while a job runs.
#[test]
fn a_running_job_sees_each_form() {
    let soon = scr::job::clock::now() + 10_000;
    let site = Site::new().set("SCR_END_TIME", &soon.to_string());
    let dir = site.prefix();
    let halt = |args: &[&str]| {
        let args = [&["halt"], args, &[dir.to_str().unwrap()]].concat();
        assert!(program("scr", &args).status().unwrap().success());
    };
    let past = "2020-01-01T00:00:00";
    let future = "2199-01-01T00:00:00";
    site.run(&nodes(2), |rank| {
        let mut stops = |args: &[&str]| {
            if rank.rank == 0 {
                halt(args);
            }
            let stop = rank.session.should_exit().unwrap();
            assert_eq!(rank.session.need_checkpoint().unwrap(), stop, "{args:?}");
            stop
        };
        for (set, unset) in [
            (&["--after", past][..], "--unset-after"),
            (&["--before", past], "--unset-before"),
            (&["--seconds", "20000"], "--unset-seconds"),
            (&["--immediate"], "--unset-reason"),
            (&[], "--unset-reason"),
            (&["--checkpoints", "0"], "--remove"),
        ] {
            assert!(stops(set), "{set:?}");
            assert!(!stops(&[unset]), "{unset}");
        }
        for set in [
            &["--after", future, "--before", future][..],
            &["--seconds", "10"],
            &["--checkpoints", "2"],
        ] {
            assert!(!stops(set), "{set:?}");
        }
        for (name, stop) in [("ck.1", false), ("ck.2", true)] {
            rank.checkpoint(name).unwrap();
            assert_eq!(rank.session.should_exit().unwrap(), stop, "{name}");
        }
        if rank.rank == 0 {
            halt(&["--unset-checkpoints"]);
        }
        assert!(!rank.session.should_exit().unwrap());
    });
}
