//! `scr check-node`, `list-down-nodes`, `test-runtime`, `get-jobstep-id`, `kill-jobstep`

use crate::sandbox::{Programs, Sandbox};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

#[test]
fn directories_are_made_written_and_measured() {
    let sandbox = Sandbox::empty();
    let root = sandbox.path().to_str().unwrap();
    let (a, b) = (format!("{root}/a"), format!("{root}/b:c"));
    let check = |args: &[&str]| sandbox.run_as("scr_check_node", args);
    let both = format!("{a}:1k,{b}");
    assert_eq!(
        check(&["--cntl", &a, "--cache", &both]).out(),
        "scr_check_node: PASS\n"
    );
    assert_eq!(check(&["--cache", &a]).out(), "scr_check_node: PASS\n");
    assert_eq!(
        std::fs::read_dir(&a).unwrap().count(),
        0,
        "nothing is left behind"
    );
    assert!(std::fs::metadata(&b).unwrap().is_dir());

    let fails = |args: &[&str], says: &str| {
        let said = check(args);
        assert_eq!((said.code, said.err.as_str()), (1, ""), "{}", said.out);
        assert!(
            said.out.starts_with("scr_check_node: FAIL: "),
            "{}",
            said.out
        );
        assert!(said.out.contains(says), "{}", said.out);
    };
    let huge = format!("{a}:1e");
    fails(&["--cache", &huge], "iB in all");
    fails(&["--free", "--cntl", &huge], "iB free");
    let file = sandbox.path().join("file");
    std::fs::write(&file, "").unwrap();
    fails(&["--cntl", file.to_str().unwrap()], "file");
    fails(&["--cache", "/proc"], "/proc");
    let sizes = ["/x:99999999999999999999999", "/x:1kk", "/x:1-"];
    for bad in ["relative", "a:1k", ""].into_iter().chain(sizes) {
        let said = check(&["--cntl", bad]);
        assert_eq!(said.code, 2, "{bad}");
        assert!(said.err.contains("Usage:"), "{}", said.err);
    }
}

#[test]
fn without_directories_those_of_the_configuration_are_checked() {
    let (sandbox, programs) = (Sandbox::empty(), Programs::new());
    let root = sandbox.path();
    std::fs::write(root.join("file"), "").unwrap();
    let (good, bad) = (root.join("good"), root.join("file"));
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    for (cntl, cache, code) in [(good, good, 0), (good, bad, 1), (bad, good, 1)] {
        let set = [("SCR_CNTL_BASE", cntl), ("SCR_CACHE_BASE", cache)];
        assert_eq!(programs.run(&sandbox, &set, &["check-node"]).code, code);
    }
}

/// Four nodes that ssh reaches: n2 is dead, on n3 a directory is full.
fn cluster() -> Programs {
    Programs::new().add(
        "ssh",
        r#"
        while [ $# -gt 2 ]; do shift; done
        PATH=/usr/bin:/bin
        case "$1 $2" in
            n2*) echo "ssh: connect to host n2: No route to host" >&2; exit 255 ;;
            n3*check-node*) echo "scr-node "; echo 'scr_check_node: FAIL: full'; echo; echo scr-exit 1 ;;
            *) eval "$2" ;;
        esac"#,
    )
}

#[test]
fn down_nodes_are_listed_with_reasons() {
    let (programs, sandbox) = (cluster(), Sandbox::empty());
    let base = sandbox.path().to_str().unwrap();
    let set = [
        ("SCR_NODELIST", "n[1-5]"),
        ("SCR_EXCLUDE_NODES", "n5"),
        ("SCR_CNTL_BASE", base),
        ("SCR_CACHE_BASE", base),
        ("SCR_NODE_TESTS", "echo,dir_capacity"),
    ];
    let out = |args: &[&str]| {
        let args = [&["list-down-nodes"], args].concat();
        programs.run(&sandbox, &set, &args).out()
    };
    assert_eq!(out(&[]), "n[2-3,5]\n");
    assert_eq!(out(&["--down", "n4"]), "n[2-5]\n");
    assert_eq!(out(&["n1"]), "\n");
    assert_eq!(out(&["n[1-2]", "n4", "n5"]), "n[2,5]\n");
    assert_eq!(
        out(&["n[1-2]", "-r", "-d", "n1"]),
        "n1: Specified as down\n\
        n2: Failed to echo UP: ssh: connect to host n2: No route to host\n"
    );
    assert_eq!(
        out(&["n3,n5", "--reason"]),
        "n5: User excluded via SCR_EXCLUDE_NODES\nn3: full\n"
    );
    // A capacity that no node has.
    std::fs::write(
        sandbox.path().join(".scrconf"),
        format!("CACHEDIR={base} BYTES=1e\n"),
    )
    .unwrap();
    assert!(out(&["n1", "-r"]).contains("n1: ") && out(&["n1", "-r"]).contains("in all"));
    assert!(out(&["n1", "-r", "--free"]).contains("iB free"));
}

#[test]
fn down_nodes_are_logged() {
    let (programs, sandbox) = (Programs::new(), Sandbox::of("basic"));
    let set = [
        ("SCR_NODELIST", "n[1-2]"),
        ("SCR_NODE_TESTS", "none"),
        ("SCR_JOB_ID", "7"),
        ("SCR_LOG_SYSLOG_ENABLE", "0"),
    ];
    let log = sandbox.path().join(".scr/log");
    let args = ["list-down-nodes", "-l", "-s", "2.5", "-d", "n2"];
    assert_eq!(programs.run(&sandbox, &set, &args).out(), "n2\n");
    assert!(!log.exists(), "logging is off");
    let on = [&set[..], &[("SCR_LOG_ENABLE", "1")]].concat();
    assert_eq!(programs.run(&sandbox, &on, &args).out(), "n2\n");
    let text = std::fs::read_to_string(log).unwrap();
    let end = "jobid=7, event=NODE_FAIL, note=\"n2: Specified as down\", secs=2.500000";
    // The part of a second may follow.
    assert!(text.contains(end), "{text}");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let (programs, sandbox) = (Programs::new(), Sandbox::empty());
    for (name, value) in [
        ("SCR_NODELIST", "n[1-"),
        ("SCR_NODE_TESTS", "pnig"),
        ("SCR_EXCLUDE_NODES", "a b;c"),
        ("SCR_REMOTE", "pdsh"),
    ] {
        let error = programs
            .run(&sandbox, &[(name, value)], &["list-down-nodes"])
            .failed();
        assert!(error.contains(name), "{error}");
    }
    let error = programs
        .run(&sandbox, &[], &["list-down-nodes", "-j", "teleport"])
        .failed();
    assert!(
        error.contains("teleport") && error.contains("srun"),
        "{error}"
    );
}

#[test]
fn missing_programs_are_listed() {
    let (bare, sandbox) = (Programs::new(), Sandbox::empty());
    let run = |programs: &Programs, set: &[(&str, &str)], args: &[&str]| {
        let said = programs.run(&sandbox, set, &[&["test-runtime"], args].concat());
        (said.code, said.out)
    };
    assert_eq!(run(&bare, &[], &[]), (0, String::new()));
    let (code, out) = run(&bare, &[("SCR_NODELIST", "n[1-2]")], &["-j", "srun"]);
    assert_eq!(code, 1);
    assert!(
        out.contains("cannot run srun") && out.contains("no other node"),
        "{out}"
    );
    let slurm = [("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", "n[1-2]")];
    let (code, out) = run(&bare, &slurm, &[]);
    assert_eq!(code, 1);
    for name in ["squeue", "sinfo", "scontrol", "scancel"] {
        assert!(out.contains(&format!("no {name} on PATH")), "{out}");
    }
    let mut whole = Programs::new();
    for name in ["squeue", "sinfo", "scontrol", "scancel", "srun"] {
        whole = whole.add(name, "exit 0");
    }
    assert_eq!(run(&whole, &slurm, &["-j", "srun"]), (0, String::new()));
}

#[test]
fn steps_of_slurm() {
    let sandbox = Sandbox::empty();
    let programs = Programs::new()
        .add("srun", "exit 0")
        .add(
            "scontrol",
            "echo \"StepId=7.3 State=RUNNING SrunHost:Pid=$(/bin/uname -n):4242\"",
        )
        .add(
            "scancel",
            "[ \"$*\" = 7.3 ] || { echo 'scancel: error: no' >&2; exit 1; }",
        );
    let set = [("SLURM_JOB_ID", "7")];
    let run = |args: &[&str]| programs.run(&sandbox, &set, args);
    assert_eq!(run(&["get-jobstep-id", "4242"]).out(), "7.3\n");
    let error = run(&["get-jobstep-id", "4243"]).failed();
    assert!(error.contains("4243"), "{error}");
    assert_eq!(
        run(&["kill-jobstep", "-l", "srun", "--jobStepId", "7.3"]).out(),
        ""
    );
    let noted = run(&["kill-jobstep", "-l", "srun", "-j", "7.3", "-b", "/x"]);
    assert_eq!((noted.code, noted.out.as_str()), (0, ""));
    assert!(noted.err.contains("--bindir has no effect"), "{noted:?}");
    let error = run(&["kill-jobstep", "-j", "7.4"]).failed();
    assert!(error.contains("scancel: error: no"), "{error}");
    for bad in ["7", "x y", ""] {
        assert_eq!(run(&["kill-jobstep", "-j", bad]).code, 1, "{bad}");
    }
}

#[test]
fn a_process_and_its_group_are_ended() {
    let sandbox = Sandbox::empty();
    let programs = Programs::new().add("jsrun", "exit 0");
    // A process that ignores SIGTERM keeps its group alive until SIGKILL.
    let mut launcher = Command::new("/bin/sh")
        .args(["-c", "/bin/sleep 1000 & echo begun; wait"])
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let pid = launcher.id().to_string();
    let step = programs.run(&sandbox, &[], &["get-jobstep-id", "-l", "jsrun", &pid]);
    assert_eq!(step.out().trim(), pid);
    let ended = programs.run(&sandbox, &[], &["kill-jobstep", "-l", "jsrun", "-j", &pid]);
    assert_eq!(ended.out(), "");
    assert_eq!(launcher.wait().unwrap().signal(), Some(15));
    // The whole group has ended, since its output has.
    let mut out = String::new();
    std::io::Read::read_to_string(&mut launcher.stdout.take().unwrap(), &mut out).unwrap();
    for bad in ["0", "1", "-5", "x"] {
        let args = ["kill-jobstep", "-l", "jsrun", "--jobstep", bad];
        assert_ne!(programs.run(&sandbox, &[], &args).code, 0, "{bad}");
    }
}
