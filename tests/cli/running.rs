//! `scr run` while a program runs: a second `scr run`, signals, a program that hangs. And what keeps
//! the program from being launched.

use crate::sandbox::{Programs, Said, Sandbox, said};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const QUICK: [(&str, &str); 2] = [("SCR_NODE_TESTS", "none"), ("SCR_REMOTE", "LOCAL")];

/// An mpirun that reports that it has begun, then runs the script `then`.
fn launcher(then: &str) -> Programs {
    let begin = r#"[ "$1" = --version ] && { echo 'HYDRA build details:'; exit 0; }
        echo begun >> calls"#;
    Programs::new().add("mpirun", &format!("{begin}\n{then}"))
}

fn launches(sandbox: &Sandbox) -> usize {
    let text = fs::read_to_string(sandbox.path().join("calls")).unwrap_or_default();
    text.lines().count()
}

/// `scr run` in the background, after its program has begun.
fn begun(programs: &Programs, sandbox: &Sandbox, set: &[(&str, &str)]) -> Child {
    let set = [&QUICK, set].concat();
    let mut command = programs.command(sandbox, &set, &["run", "mpirun", "./app"]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = command.spawn().unwrap();
    while launches(sandbox) == 0 {
        assert_eq!(run.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(10));
    }
    run
}

fn end(run: Child) -> Said {
    said(run.wait_with_output().unwrap())
}

fn send(signal: &str, run: &Child) {
    let pid = run.id().to_string();
    let sent = Command::new("/bin/sh")
        .args(["-c", "kill -s \"$0\" \"$1\"", signal, &pid])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_second_scr_run_is_refused_and_changes_nothing() {
    let wait = "until [ -e go ]; do /bin/sleep 0.05; done";
    let (programs, sandbox) = (launcher(wait), Sandbox::of("basic"));
    let run = begun(&programs, &sandbox, &[]);
    // The first program would write this file.
    let flush = sandbox.path().join(".scr/flush.scr");
    fs::write(&flush, "of the first").unwrap();
    let args = ["run", "mpirun", "./app"];
    let second = programs.run(&sandbox, &QUICK, &args).failed();
    let holder = format!("already (process {} on ", run.id());
    assert!(second.contains(&holder), "{second}");
    assert_eq!(second.lines().count(), 1, "{second}");
    assert_eq!(fs::read_to_string(&flush).unwrap(), "of the first");
    fs::write(sandbox.path().join("go"), "").unwrap();
    assert_eq!((end(run).code, launches(&sandbox)), (0, 1));
    assert_eq!(programs.run(&sandbox, &QUICK, &args).code, 0);
}

#[test]
fn signals_are_passed_on_and_the_exit_code_is_the_program_s() {
    for (signal, because) in [
        ("TERM", "SIGTERM was received"),
        ("USR1", "one launch was allowed"),
    ] {
        let wait = "while :; do /bin/sleep 0.05; done";
        let script = format!("trap 'echo {signal} > got; exit 5' {signal}\n: > ready\n{wait}");
        let (programs, sandbox) = (launcher(&script), Sandbox::empty());
        let runs = if signal == "TERM" { "9" } else { "1" };
        let run = begun(&programs, &sandbox, &[("SCR_RUNS", runs)]);
        while !sandbox.path().join("ready").exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        send(signal, &run);
        let said = end(run);
        assert_eq!((said.code, launches(&sandbox)), (5, 1), "{said:?}");
        let got = fs::read_to_string(sandbox.path().join("got")).unwrap();
        assert_eq!(got.trim(), signal);
        let passed = format!("SIG{signal} is passed on to mpirun");
        assert!(said.out.contains(&passed), "{said:?}");
        let because = format!("no other launch: {because}");
        assert!(said.out.contains(&because), "{said:?}");
    }
}

/// The program catches SIGTERM and ends with 0.
#[test]
fn a_run_that_a_signal_cut_short_does_not_end_with_0() {
    let scr = env!("CARGO_BIN_EXE_scr");
    let finalize = format!("{scr} halt-cntl -f .scr/halt.scr -r SCR_FINALIZE_CALLED");
    for (before, code) in [(":", 143), (&finalize, 0)] {
        let wait = "while :; do /bin/sleep 0.05; done";
        let script = format!("trap '{before}; exit 0' TERM\n: > ready\n{wait}");
        let (programs, sandbox) = (launcher(&script), Sandbox::empty());
        let run = begun(&programs, &sandbox, &[("SCR_RUNS", "9")]);
        while !sandbox.path().join("ready").exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        send("TERM", &run);
        let said = end(run);
        assert_eq!((said.code, launches(&sandbox)), (code, 1), "{said:?}");
        let why = "exit code 143: the run was ended before the program called SCR_Finalize";
        assert_eq!(said.out.contains(why), code == 143, "{said:?}");
    }
}

#[test]
fn a_program_that_a_signal_ends_gives_128_and_its_number() {
    for (signal, code) in [("KILL", 137), ("TERM", 143), ("SEGV", 139)] {
        let (programs, sandbox) = (launcher(&format!("kill -s {signal} $$")), Sandbox::empty());
        let said = programs.run(&sandbox, &QUICK, &["run", "mpirun", "./app"]);
        assert_eq!(said.code, code, "{said:?}");
    }
}

#[test]
fn sigterm_during_the_node_tests_prevents_the_launch() {
    let ssh = r#"while [ $# -gt 2 ]; do shift; done
        PATH=/usr/bin:/bin; kill -s TERM "$PPID"; eval "$2""#;
    let (programs, sandbox) = (launcher("").add("ssh", ssh), Sandbox::empty());
    let set = [
        ("SCR_NODELIST", "n[1-2]"),
        ("SCR_NODE_NAME", "n1"),
        ("SCR_NODE_TESTS", "echo"),
        ("SCR_REMOTE", "ssh"),
    ];
    let said = programs.run(&sandbox, &set, &["run", "mpirun", "./app"]);
    assert_eq!((said.code, launches(&sandbox)), (143, 0), "{said:?}");
    let because = "the program is not launched: SIGTERM was received";
    assert!(said.out.contains(because), "{said:?}");
}

#[test]
fn a_program_that_hangs_is_ended() {
    let ranks = "for rank in 0 1 2; do
            SCR_NODE_NAME=n1 PMI_RANK=$rank PMI_SIZE=4 /bin/sleep 1000 &
        done
        wait";
    let (programs, sandbox) = (launcher(ranks), Sandbox::empty());
    let set = [
        ("SCR_WATCHDOG", "1"),
        ("SCR_WATCHDOG_TIMEOUT", "1"),
        ("SCR_NODELIST", "n1"),
        ("SCR_REMOTE", "LOCAL"),
    ];
    let set = [&QUICK[..], &set].concat();
    let said = programs.run(&sandbox, &set, &["run", "mpirun", "./app"]);
    assert_eq!((said.code, launches(&sandbox)), (143, 1), "{said:?}");
    assert!(said.out.contains("no progress for 1 s"), "{said:?}");
    // What the ranks did is told before they end.
    for line in [": 3 ranks on 1 node", "* rank 3 has no process any more"] {
        assert!(said.out.contains(line), "{line}: {said:?}");
    }
    let page = std::fs::read_to_string(sandbox.path().join(".scr/stacks.1.txt")).unwrap();
    for rank in 0..3 {
        assert!(
            page.contains(&format!("\n  {rank} on n1, process ")),
            "{page}"
        );
    }
    let set = [("SCR_NODELIST", "n1"), ("SCR_REMOTE", "LOCAL")];
    let set = [&QUICK[..], &set].concat();
    let error = programs.run(&sandbox, &set, &["stacks"]).failed();
    assert!(error.contains("no process of the job was found"), "{error}");
    let error = programs
        .run(&sandbox, &set, &["stacks", "--pid", "999999999"])
        .failed();
    assert!(error.contains("there is no such process"), "{error}");
}

#[test]
fn without_a_node_that_can_be_used_nothing_is_launched() {
    let (programs, sandbox) = (launcher(""), Sandbox::empty());
    let set = [
        ("SCR_NODELIST", "n[1-4]"),
        ("SCR_EXCLUDE_NODES", "n[1-4]"),
        ("SCR_MIN_NODES", "1"),
    ];
    let set = [&QUICK[..], &set].concat();
    let said = programs.run(&sandbox, &set, &["run", "mpirun", "./app"]);
    assert_eq!((said.code, launches(&sandbox)), (1, 0), "{said:?}");
    let because = "the program is not launched: no node can be used";
    assert!(said.out.contains(because), "{said:?}");
    for args in [&["postrun"][..], &["scavenge", "--id", "1"]] {
        let error = programs.run(&sandbox, &set, args).failed();
        assert!(error.contains("no node can be reached"), "{error}");
        assert!(error.contains("User excluded"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn prerun_makes_a_missing_prefix_directory_and_postrun_refuses_it() {
    let (programs, sandbox) = (launcher(""), Sandbox::empty());
    let run = |args: &[&str]| programs.run(&sandbox, &QUICK, args);
    for args in [
        &["postrun", "--prefix", "gone"][..],
        &["scavenge", "--id", "1", "--prefix", "gone"],
        &["copy", "--id", "1", "--prefix", "gone"],
        &["index", "--prefix", "gone"],
    ] {
        let said = run(args);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.err.contains("is not a prefix directory"), "{said:?}");
        assert_eq!(said.err.lines().count(), 1, "{said:?}");
        assert!(!sandbox.path().join("gone").exists());
    }
    for (args, dir) in [
        (&["prerun", "--prefix", "a/b"][..], "a/b"),
        (&["run", "--prefix", "c", "mpirun", "./app"], "c"),
    ] {
        let said = run(args);
        assert_eq!(said.code, 0, "{said:?}");
        let line = format!("{dir} did not exist, so it was made\n");
        assert!(said.err.ends_with(&line), "{said:?}");
        assert_eq!(run(args).err, "");
    }
}

#[test]
fn damaged_records_stop_a_run_or_are_reported_and_stay() {
    let (programs, sandbox) = (launcher(""), Sandbox::of("basic"));
    let file = |name: &str| Path::new(sandbox.path()).join(".scr").join(name);
    for (name, args, remedy) in [
        ("index.scr", &["index"][..], "scr index --add NAME"),
        (
            "index.scr",
            &["index", "--current=timestep.1"],
            "move it away",
        ),
        ("index.scr", &["index", "--build=1"], "move it away"),
        ("flush.scr", &["flush-file", "--latest"], "remove it"),
        ("halt.scr", &["halt", "-c", "3"], "scr halt --remove"),
        ("halt.scr", &["retries-halt"], "scr halt --remove"),
        ("halt.scr", &["should-exit"], "scr halt --remove"),
        ("halt.scr", &["prerun"], "scr halt --remove"),
    ] {
        let good = fs::read(file(name)).unwrap();
        fs::write(file(name), "garbage").unwrap();
        let error = programs.run(&sandbox, &QUICK, args).failed();
        assert!(error.contains(name) && error.contains(remedy), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(fs::read(file(name)).unwrap(), b"garbage");
        assert!(file("flush.scr").exists() && file("nodes.scr").exists());
        fs::write(file(name), good).unwrap();
    }
}

#[test]
fn a_link_in_the_place_of_the_lock_is_not_followed() {
    let (programs, sandbox) = (launcher(""), Sandbox::of("basic"));
    let victim = sandbox.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let lock = sandbox.path().join(".scr/run.lock");
    std::os::unix::fs::symlink(&victim, lock).unwrap();
    let args = ["run", "mpirun", "./app"];
    let error = programs.run(&sandbox, &QUICK, &args).failed();
    assert!(error.contains("run.lock"), "{error}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}
