//! `scr env`, `prefix`, `list-dir`, `should-exit`, `have-restart`, `halt-cntl`

use crate::sandbox::{Programs, Sandbox, outside, said};

/// A job of Slurm on four nodes, one of them down.
fn slurm() -> Programs {
    Programs::new()
        .add(
            "sinfo",
            "printf 'n1 mixed\\nn2 down*\\nn3 mixed\\nn4 mixed\\n'",
        )
        .add(
            "squeue",
            "case $3 in *%N) echo 'n[1-4]' ;; *%e) echo 1795221727 ;; esac",
        )
}

const SLURM: [(&str, &str); 2] = [("SLURM_JOB_ID", "77"), ("SLURM_JOB_NODELIST", "n[1-4]")];

#[test]
fn facts_about_a_job() {
    let (programs, sandbox) = (slurm(), Sandbox::of("basic"));
    let mut set = SLURM.to_vec();
    set.push(("USER", "someone"));
    for (option, expected) in [
        ("--user", "someone"),
        ("-j", "77"),
        ("--endtime", "1795221727"),
        ("-n", "n[1-4]"),
        ("--down", "n2"),
        ("-m", "SLURM"),
    ] {
        assert_eq!(
            programs.run(&sandbox, &set, &["env", option]).out(),
            expected
        );
    }
    // Parameters come first.
    set.extend([
        ("SCR_JOB_ID", "x"),
        ("SCR_NODELIST", "n2,n9"),
        ("SCR_END_TIME", "5"),
    ]);
    set.push(("SCR_USER_NAME", "me"));
    for (option, expected) in [("-u", "me"), ("-j", "x"), ("-n", "n[2,9]"), ("-e", "5")] {
        assert_eq!(
            programs.run(&sandbox, &set, &["env", option]).out(),
            expected
        );
    }
    let broken = Programs::new();
    let error = broken.run(&sandbox, &SLURM, &["env", "-d"]).failed();
    assert!(
        error.contains("sinfo") && error.contains("no such program"),
        "{error}"
    );
}

#[test]
fn facts_without_a_job() {
    let (programs, sandbox) = (Programs::new(), Sandbox::of("basic"));
    let out = |option| programs.run(&sandbox, &[], &["env", option]).out();
    let printed = sandbox.run(&["nodes-file"]).out();
    assert_eq!(out("-r"), printed.trim_end());
    assert_eq!(out("-e"), "0");
    assert_eq!(out("-d"), "");
    assert_eq!(out("-m"), "NONE");
    assert!(out("-j").starts_with("prefix-"));
    let empty = Sandbox::empty();
    let error = programs.run(&empty, &[], &["env", "-r"]).failed();
    assert!(error.contains("nodes.scr"), "{error}");
}

#[test]
fn the_prefix_is_where_a_job_would_have_it() {
    let sandbox = Sandbox::empty();
    let here = std::fs::canonicalize(sandbox.path()).unwrap();
    let here = here.to_str().unwrap();
    assert_eq!(sandbox.run(&["prefix"]).out().trim_end(), here);
    let output = outside("scr_prefix", &[])
        .env("SCR_PREFIX", "/p/x/../run")
        .output();
    assert_eq!(said(output.unwrap()).out(), "/p/run\n");
}

#[test]
fn directories_of_a_job() {
    let (programs, sandbox) = (Programs::new(), Sandbox::empty());
    let set = [
        ("SCR_JOB_ID", "7"),
        ("SCR_USER_NAME", "me"),
        ("SCR_CNTL_BASE", "/ctl"),
    ];
    let out = |args: &[&str]| programs.run(&sandbox, &set, args).out();
    assert_eq!(out(&["list-dir", "control"]), "/ctl/me/scr.7\n");
    assert_eq!(out(&["list-dir", "--base", "control"]), "/ctl\n");
    assert_eq!(out(&["list-dir", "cache"]), "/dev/shm/me/scr.7\n");
    assert_eq!(
        out(&["list-dir", "-u", "you", "-j8", "control"]),
        "/ctl/you/scr.8\n"
    );
    let conf = sandbox.path().join(".scrconf");
    std::fs::write(
        &conf,
        "SCR_COPY_TYPE=FILE\nSTORE=/ssd\nSTORE=/unused\nCKPT=0 INTERVAL=1 STORE=/ssd TYPE=SINGLE\n\
         CKPT=1 INTERVAL=4 TYPE=XOR\n",
    )
    .unwrap();
    assert_eq!(out(&["list-dir", "--base", "cache"]), "/ssd\n/dev/shm\n");
    std::fs::write(&conf, "CACHE=/a/$USER\nCACHE=/b\n").unwrap();
    let mut set = set.to_vec();
    set.push(("USER", "u"));
    let said = programs.run(&sandbox, &set, &["list-dir", "-b", "cache"]);
    assert_eq!(said.out(), "/a/u\n/b\n");
    let error = programs.run(&sandbox, &[], &["list-dir", "-u", "a/b", "control"]);
    assert!(error.failed().contains("SCR_USER_NAME"));
}

/// The exit code and output of `scr should-exit`.
fn should(programs: &Programs, sandbox: &Sandbox, args: &[&str]) -> (i32, String) {
    let said = programs.run(sandbox, &SLURM, &[&["should-exit", "-v"], args].concat());
    assert_eq!(said.err, "");
    (said.code, said.out)
}

#[test]
fn reasons_to_stop_in_order() {
    let (programs, sandbox) = (slurm(), Sandbox::empty());
    let stop = |args: &[&str]| should(&programs, &sandbox, args);
    // In a directory without a run there is no reason to stop.
    assert_eq!(stop(&[]), (1, String::new()));
    assert_eq!(stop(&["--runs", "0"]), (0, "runs_remaining=0\n".into()));
    assert_eq!(stop(&["--runs", "-1"]).0, 1);
    let short = "nodes_remaining=3 < nodes_needed=4\n";
    assert_eq!(stop(&["--down", "n2,n9"]), (0, short.into()));
    assert_eq!(stop(&["--down", "n2", "--min-nodes", "3"]).0, 1);
    assert_eq!(stop(&["--down", "n2", "--runs", "0"]), (0, short.into()));
    std::fs::create_dir(sandbox.path().join(".scr")).unwrap();
    let past = sandbox.run(&["halt", "-a", "2020-01-01T00:00:00"]);
    assert!(past.err.contains("has passed"), "{past:?}");
    let halted = "Halt condition detected: EXIT_AFTER_TIME\n";
    assert_eq!(stop(&["--down", "n2"]), (0, halted.into()));
    sandbox.run(&["halt", "-r"]).out();
    // An hour is left of the allocation.
    let script = "case $3 in *%N) echo 'n[1-4]' ;; *%e) echo $(($(/bin/date +%s) + 3600)) ;; esac";
    let programs = programs.add("squeue", script);
    let stop = |args: &[&str]| should(&programs, &sandbox, args);
    sandbox.run(&["halt", "-s", "2000000000"]).out();
    let late = "Halt condition detected: TIME_LIMIT\n";
    assert_eq!(stop(&[]), (0, late.into()));
    sandbox.run(&["halt", "-s", "1"]).out();
    assert_eq!(stop(&[]).0, 1);
    let quiet = programs.run(&sandbox, &SLURM, &["should-exit", "--runs", "0"]);
    assert_eq!((quiet.code, quiet.out.as_str()), (0, ""));
    // Missing information is not a reason to stop, but is reported.
    let said = programs.run(&sandbox, &SLURM, &["should-exit", "--down", "n[1"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(said.err.contains("n[1"), "{}", said.err);
}

#[test]
fn a_run_needs_as_many_nodes_as_the_one_before() {
    let (programs, sandbox) = (slurm(), Sandbox::of("basic"));
    sandbox.run(&["halt", "--unset-reason"]).out();
    let nodes: u64 = sandbox.run(&["nodes-file"]).out().trim().parse().unwrap();
    let all = format!("n[1-{}]", nodes + 1);
    let set = [("SCR_NODELIST", all.as_str())];
    let code = |down: &str| {
        let args = ["should-exit", "--down", down];
        programs.run(&sandbox, &set, &args).code
    };
    assert_eq!(code("n1"), 1);
    assert_eq!(code("n[1-2]"), 0);
    let more = [set[0], ("SCR_MIN_NODES", "1")];
    let args = ["should-exit", "--down", "n1"];
    assert_eq!(programs.run(&sandbox, &more, &args).code, 1);
    let none_left = ["should-exit", "--down", all.as_str()];
    assert_eq!(programs.run(&sandbox, &more, &none_left).code, 0);
}

#[test]
fn what_a_run_restarts_from() {
    let sandbox = Sandbox::of("basic");
    let listed = sandbox.run(&["index"]).out();
    let current = listed.lines().find(|line| line.contains('*')).unwrap();
    let current = current.rsplit(' ').next().unwrap();
    assert_eq!(sandbox.run(&["have-restart"]).out(), format!("{current}\n"));

    // The user's choice counts once the cache is gone.
    std::fs::remove_file(sandbox.path().join(".scr/flush.scr")).unwrap();
    let other = listed
        .lines()
        .skip(1)
        .find(|line| !line.contains('*') && line.contains("YES"));
    if let Some(other) = other.and_then(|line| line.rsplit(' ').next()) {
        sandbox.run(&["index", &format!("--current={other}")]).out();
        assert_eq!(sandbox.run(&["have-restart"]).out(), format!("{other}\n"));
    }
    let nothing = Sandbox::empty().run_as("scr_have_restart", &[]);
    assert_eq!(
        (nothing.code, nothing.out.as_str(), nothing.err.as_str()),
        (1, "", "")
    );
}

#[test]
fn the_halt_file_by_numbers() {
    let sandbox = Sandbox::of("basic");
    let file = sandbox.path().join(".scr/halt.scr");
    let file = file.to_str().unwrap();
    let run = |args: &[&str]| sandbox.run_as("scr_halt_cntl", &[&["-f", file], args].concat());
    let heading = format!("Halt file settings for {file}:\n");
    assert_eq!(
        run(&["-l"]).out(),
        format!("{heading}  ExitReason:      SCR_FINALIZE_CALLED\n")
    );
    let said = run(&[
        "-c",
        "3",
        "-b",
        "1795284000",
        "-a",
        "1794042300",
        "-s",
        "600",
        "-r",
        "WHY",
    ])
    .out();
    let changes = "Setting CheckpointsLeft\nSetting ExitAfter\nSetting ExitBefore\n\
                   Setting HaltSeconds\nSetting ExitReason\n\n";
    let table = "  ExitReason:      WHY\n  CheckpointsLeft: 3\n  \
                 ExitAfter:       Sat Nov  7 09:05:00 2026\n  \
                 ExitBefore:      Sat Nov 21 18:00:00 2026\n  HaltSeconds:     600\n  \
                 ExitBefore - HaltSeconds: Sat Nov 21 17:50:00 2026\n";
    assert_eq!(said, format!("{changes}{heading}{table}"));
    let printed = "  CheckpointsLeft = 3\n  ExitAfter = 1794042300\n  ExitBefore = 1795284000\n  \
                   ExitReason = WHY\n  HaltSeconds = 600\n";
    assert_eq!(sandbox.run(&["print", file]).out(), printed);
    run(&["-xc", "-xb", "-xa", "-xr"]).out();
    assert_eq!(
        run(&["-l", "-xs"]).out(),
        format!("Unsetting HaltSeconds\n\n{heading}  None\n")
    );
    // A condition that is both set and unset is set.
    assert!(
        run(&["-xc", "-c", "8"])
            .out()
            .contains("CheckpointsLeft: 8\n")
    );
    let error = sandbox
        .run(&["halt-cntl", "-l", "-f", "/tmp/halt.scr"])
        .failed();
    assert!(error.contains("PREFIX/.scr/halt.scr"), "{error}");
    let error = sandbox
        .run(&["halt-cntl", "-l", "-f", "nowhere/.scr/halt.scr"])
        .failed();
    assert!(error.contains("nowhere"), "{error}");
}
