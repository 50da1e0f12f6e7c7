//! `scr run` with stand-ins for launchers.

use crate::sandbox::{Programs, Said, Sandbox};
use std::fs;
use std::path::Path;

/// An mpirun that writes its arguments to `calls`, then runs the script `then`.
pub fn launcher(then: &str) -> Programs {
    let begin = r#"[ "$1" = --version ] && { echo 'HYDRA build details:'; exit 0; }
        printf '%s\n' "$*" >> calls"#;
    Programs::new().add("mpirun", &format!("{begin}\n{then}"))
}

/// The launches, one per line.
pub fn calls(sandbox: &Sandbox) -> Vec<String> {
    let text = fs::read_to_string(sandbox.path().join("calls")).unwrap_or_default();
    text.lines().map(str::to_string).collect()
}

const QUICK: [(&str, &str); 2] = [("SCR_NODE_TESTS", "none"), ("SCR_REMOTE", "LOCAL")];

fn run(programs: &Programs, sandbox: &Sandbox, set: &[(&str, &str)], args: &[&str]) -> Said {
    programs.run(sandbox, &[&QUICK, set].concat(), args)
}

#[test]
fn the_exit_code_is_the_program_s_and_a_failed_run_is_launched_again() {
    for (set, code, launches) in [
        (&[][..], 7, 1),
        (&[("SCR_RETRIES", "0")], 7, 1),
        (&[("SCR_RETRIES", "1")], 7, 2),
        (&[("SCR_RUNS", "2"), ("SCR_RETRIES", "5")], 7, 2),
        (&[("SCR_RUNS", "0")], 7, 1),
        (&[("SCR_RUNS", "5")], 0, 1),
    ] {
        let (programs, sandbox) = (launcher(&format!("exit {code}")), Sandbox::empty());
        let said = run(
            &programs,
            &sandbox,
            set,
            &["run", "mpirun", "-n", "4", "./app", "-p", "x"],
        );
        assert_eq!(said.code, code, "{said:?}");
        assert_eq!(
            calls(&sandbox),
            vec!["-n 4 ./app -p x"; launches],
            "{said:?}"
        );
        assert!(
            said.out.contains("scr_run: ") && said.out.contains("no other launch: "),
            "{said:?}"
        );
        assert!(sandbox.path().join(".scr").is_dir());
    }
}

#[test]
fn unlimited_launches_go_on_until_exit_code_0() {
    let script = "[ -e third ] && exit 0; [ -e second ] && : > third; : > second; kill -9 $$";
    let (programs, sandbox) = (launcher(script), Sandbox::empty());
    let said = run(
        &programs,
        &sandbox,
        &[("SCR_RUNS", "-1")],
        &["run", "mpirun", "./app"],
    );
    assert_eq!((said.code, calls(&sandbox).len()), (0, 3), "{said:?}");
    assert!(said.out.contains("ended with exit code 137"), "{said:?}");
    assert!(
        said.out.contains("launches in a row made no progress"),
        "{said:?}"
    );
}

#[test]
fn a_program_that_fails_alike_three_times_is_given_up_with_the_evidence() {
    let (programs, sandbox) = (launcher("exit 4"), Sandbox::empty());
    let set = [&QUICK[..], &[("SCR_RUNS", "-1")]].concat();
    let args = ["run", "--explain", "mpirun", "./app"];
    let said = run(&programs, &sandbox, &set, &args);
    assert_eq!((said.code, calls(&sandbox).len()), (4, 3), "{said:?}");
    for text in [
        "no other launch: the last 3 launches failed alike",
        "launch 1 on ",
        ": exit code 4 after 0 s; the newest dataset was 0",
        "decision: the loop ends, because of:",
        "launches in a row that failed alike: 3 of 3 (SCR_SAME_FAILURES)",
        "launches: 3 of no limit (SCR_RUNS)",
    ] {
        assert!(said.out.contains(text), "{text}: {said:?}");
    }

    let sandbox = Sandbox::empty();
    let set = [&QUICK[..], &[("SCR_RUNS", "4"), ("SCR_SAME_FAILURES", "0")]].concat();
    let said = run(&programs, &sandbox, &set, &["run", "mpirun", "./app"]);
    assert_eq!(calls(&sandbox).len(), 4, "{said:?}");
    assert!(!said.out.contains("decision:"), "{said:?}");
}

#[test]
fn the_environment_of_a_launch() {
    let script = r#"echo "$SCR_PREFIX|$SCR_JOB_ID|$SCR_END_TIME" > told"#;
    let (programs, sandbox) = (launcher(script), Sandbox::empty());
    let set = [("SCR_JOB_ID", "77"), ("SCR_END_TIME", "4000000000")];
    let said = run(&programs, &sandbox, &set, &["run", "mpirun", "./app"]);
    assert_eq!(said.code, 0, "{said:?}");
    let told = fs::read_to_string(sandbox.path().join("told")).unwrap();
    let prefix = fs::canonicalize(sandbox.path()).unwrap();
    assert_eq!(told, format!("{}|77|4000000000\n", prefix.display()));
}

#[test]
fn each_launch_reads_its_input_from_the_beginning() {
    let script = "read a; echo \"read $a\" >> calls; exit 1";
    let (programs, sandbox) = (launcher(script), Sandbox::empty());
    fs::write(sandbox.path().join("input"), "one\ntwo\n").unwrap();
    let set = [&QUICK[..], &[("SCR_RUNS", "2")]].concat();
    let mut command = programs.command(&sandbox, &set, &["run", "mpirun", "./app"]);
    let input = fs::File::open(sandbox.path().join("input")).unwrap();
    command.stdin(input).output().unwrap();
    assert_eq!(calls(&sandbox), ["./app", "read one", "./app", "read one"]);
}

#[test]
fn commands_for_the_start_and_for_a_restart() {
    let (programs, sandbox) = (launcher(""), Sandbox::of("basic"));
    let cmds = ["-rc", "./app --new", "-rs", "./app 'from SCR_CKPT_NAME'"];
    let args = [&["run", "mpirun", "-n", "4"][..], &cmds].concat();
    let said = run(&programs, &sandbox, &[], &args);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(calls(&sandbox), ["-n 4 ./app from timestep.3"]);
    assert!(
        said.out.contains("mpirun -n 4 ./app 'from timestep.3'"),
        "{said:?}"
    );

    let empty = Sandbox::empty();
    let said = run(&programs, &empty, &[], &args);
    assert_eq!(
        (said.code, calls(&empty)),
        (0, vec!["-n 4 ./app --new".to_string()])
    );
    let said = run(
        &programs,
        &Sandbox::empty(),
        &[],
        &["run", "mpirun", "--restart-cmd=./app"],
    );
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("no checkpoint for --restart-cmd"),
        "{said:?}"
    );
    let said = run(
        &programs,
        &Sandbox::empty(),
        &[],
        &["run", "mpirun", "--run-cmd=./app 'x"],
    );
    assert_eq!(said.code, 1);
    assert!(said.err.contains("is not closed"), "{said:?}");
}

#[test]
fn switched_off_it_is_the_launcher() {
    let (programs, sandbox) = (launcher("exit 9"), Sandbox::empty());
    let set = [("SCR_ENABLE", "0"), ("SCR_RUNS", "5")];
    let said = run(&programs, &sandbox, &set, &["run", "mpirun", "./app"]);
    assert_eq!(
        (said.code, said.out.as_str(), said.err.as_str()),
        (9, "", "")
    );
    assert!(!sandbox.path().join(".scr").exists());
}

#[test]
fn each_mistake_is_reported_in_one_line() {
    let programs = launcher("").add("srun", "exit 0");
    let sandbox = Sandbox::empty();
    for (set, args, words) in [
        (&[][..], &["run", "./app"][..], "it is not a launcher"),
        (&[], &["run", "jsrun", "./app"], "no such program"),
        (&[], &["run", "srun", "./app"], "there is no allocation"),
        (
            &[("SCR_NODELIST", "n[1-")],
            &["run", "mpirun", "./app"],
            "SCR_NODELIST",
        ),
        (
            &[("SCR_RUNS", "many")],
            &["run", "mpirun", "./app"],
            "SCR_RUNS",
        ),
    ] {
        let failed = run(&programs, &sandbox, set, args).failed();
        assert!(failed.contains(words), "{failed}");
        assert_eq!(failed.lines().count(), 1, "{failed}");
    }
    assert_eq!(calls(&sandbox), Vec::<String>::new());
    let said = run(&programs, &sandbox, &[], &["run"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("Usage: scr run"), "{said:?}");
    assert_eq!(
        run(&programs, &sandbox, &[], &["run", "--nonsense", "mpirun"]).code,
        2
    );
}

#[test]
fn nodes_that_are_excluded_are_left_out_and_too_few_are_not_enough() {
    let (programs, sandbox) = (launcher(""), Sandbox::empty());
    let set = [
        ("SCR_NODELIST", "n[1-4]"),
        ("SCR_EXCLUDE_NODES", "n3"),
        ("SCR_MIN_NODES", "3"),
    ];
    let said = run(
        &programs,
        &sandbox,
        &set,
        &["run", "mpirun", "-n", "3", "./app"],
    );
    assert_eq!(
        (said.code, calls(&sandbox)),
        (0, vec!["-hosts n1,n2,n4 -n 3 ./app".to_string()])
    );
    assert!(
        said.out
            .contains("node n3 is not used any more: User excluded"),
        "{said:?}"
    );

    let set = [&set[..2], &[("SCR_MIN_NODES", "4")]].concat();
    let said = run(&programs, &sandbox, &set, &["run", "mpirun", "./app"]);
    assert_eq!((said.code, calls(&sandbox).len()), (1, 1));
    assert!(
        said.out.contains("nodes_remaining=3 < nodes_needed=4"),
        "{said:?}"
    );
}

/// mpirun starts the program from its own node, so this one must be a good node of the job.
#[test]
fn a_launch_from_a_node_that_is_down_or_not_of_the_job_is_refused() {
    let ssh = r#"while [ $# -gt 2 ]; do shift; done; PATH=/usr/bin:/bin; eval "$2""#;
    let (programs, sandbox) = (launcher("").add("ssh", ssh), Sandbox::empty());
    let base = sandbox.path().join("base");
    let go = |node: &str, nodes: &str, set: &[(&str, &str)]| {
        let set = [
            &[
                ("SCR_REMOTE", "ssh"),
                ("SCR_NODELIST", nodes),
                ("SCR_NODE_NAME", node),
                ("SCR_NODE_TESTS", "dir_capacity"),
                ("SCR_CACHE_BASE", base.to_str().unwrap()),
                ("SCR_CNTL_BASE", base.to_str().unwrap()),
                ("SCR_MIN_NODES", "1"),
            ],
            set,
        ];
        programs.run(&sandbox, &set.concat(), &["run", "mpirun", "./app"])
    };
    fs::create_dir(&base).unwrap();
    let said = go("login", "n[1-2]", &[("SCR_NODE_TESTS", "none")]);
    assert_eq!((said.code, calls(&sandbox).len()), (1, 0), "{said:?}");
    for part in [
        "this is node login, which is not a node of the job (n[1-2])",
        "set SCR_NODE_NAME",
    ] {
        assert!(said.err.contains(part), "{said:?}");
    }
    // The list may have names with a domain. What the user leaves out can launch.
    let said = go(
        "n1",
        "N1.site.gov,n2",
        &[("SCR_EXCLUDE_NODES", "N1.site.gov")],
    );
    assert_eq!((said.code, calls(&sandbox).len()), (0, 1), "{said:?}");
    // A file in place of the base: no node can be used; the own one is the reason that counts.
    fs::remove_dir_all(&base).unwrap();
    fs::write(&base, "").unwrap();
    let said = go("n1", "n[1-2]", &[]);
    assert_eq!((said.code, calls(&sandbox).len()), (1, 1), "{said:?}");
    let why = "the program is not launched: the node of scr_run, from which the program is \
               launched, is down: n1: ";
    assert!(said.out.contains(why), "{said:?}");
}

/// Each program of the resource manager that is missing is told before the first launch.
#[test]
fn what_is_missing_is_told_first() {
    let (programs, sandbox) = (launcher(""), Sandbox::empty());
    let set = [("PBS_JOBID", "7.site"), ("SCR_NODELIST", "n1")];
    let said = run(&programs, &sandbox, &set, &["run", "mpirun", "./app"]);
    assert_eq!((said.code, calls(&sandbox).len()), (0, 1), "{said:?}");
    let what = "there is no pbsnodes on PATH, which PBS needs";
    assert!(said.err.contains(what), "{said:?}");
}

#[test]
fn halt_conditions_forbid_a_launch_and_reasons_of_the_last_run_do_not() {
    let (programs, sandbox) = (launcher("exit 1"), Sandbox::empty());
    let go = || run(&programs, &sandbox, &[], &["run", "mpirun", "./app"]);
    let halt = |args: &[&str]| sandbox.run(&[&["halt-cntl", "-f", ".scr/halt.scr"], args].concat());
    fs::create_dir(sandbox.path().join(".scr")).unwrap();
    for (reason, launches) in [
        ("SCR_FINALIZE_CALLED", 1),
        ("TIME_LIMIT", 2),
        ("JOB_HALTED", 2),
    ] {
        halt(&["-r", reason]).out();
        let said = go();
        assert_eq!(
            (said.code, calls(&sandbox).len()),
            (1, launches),
            "{said:?}"
        );
        let forbidden = said
            .out
            .contains("the program is not launched: a halt condition holds: JOB_HALTED");
        assert_eq!(forbidden, reason == "JOB_HALTED", "{said:?}");
    }
    fs::write(sandbox.path().join(".scr/halt.scr"), "garbage").unwrap();
    let said = go();
    assert_eq!((said.code, calls(&sandbox).len()), (1, 2));
    assert!(
        said.err.contains("halt.scr") && said.err.contains("scr halt --remove"),
        "{said:?}"
    );
}

/// The program fails after it has called SCR_Finalize.
#[test]
fn a_program_that_has_called_finalize_is_not_launched_again() {
    let scr = env!("CARGO_BIN_EXE_scr");
    let script = format!("{scr} halt-cntl -f .scr/halt.scr -r SCR_FINALIZE_CALLED; exit 3");
    let (programs, sandbox) = (launcher(&script), Sandbox::empty());
    let said = run(
        &programs,
        &sandbox,
        &[("SCR_RUNS", "5")],
        &["run", "mpirun", "./app"],
    );
    assert_eq!((said.code, calls(&sandbox).len()), (3, 1), "{said:?}");
    assert!(said.out.contains("has called SCR_Finalize"), "{said:?}");
}

#[test]
fn classic_names_name_the_launcher() {
    let sandbox = Sandbox::empty();
    for name in [
        "scr_srun",
        "scr_mpirun",
        "scr_fluxrun",
        "scr_jsrun",
        "scr_lrun",
        "scr_aprun",
    ] {
        let help = sandbox.run_as(name, &["--help"]).out();
        assert!(help.contains(&format!("Usage: {name}")), "{help}");
    }
    let programs = launcher("");
    let mut command = crate::sandbox::outside("scr_mpirun", &["-n", "2", "./app", "--help"]);
    command
        .current_dir(sandbox.path())
        .env("PATH", programs.path())
        .envs(QUICK);
    assert!(command.output().unwrap().status.success());
    assert_eq!(calls(&sandbox), ["-n 2 ./app --help"]);
}

#[test]
fn prerun_removes_records_of_earlier_jobs() {
    let sandbox = Sandbox::of("basic");
    let there = |name: &str| Path::new(sandbox.path()).join(".scr").join(name).exists();
    assert!(there("flush.scr") && there("nodes.scr") && there("index.scr"));
    let out = sandbox.run_as("scr_prerun", &["-v"]).out();
    assert!(
        out.contains("removed the reason of the last run's end, SCR_FINALIZE_CALLED"),
        "{out}"
    );
    assert!(!there("flush.scr") && !there("nodes.scr") && there("index.scr") && there("halt.scr"));
    assert_eq!(sandbox.run(&["prerun", "--verbose"]).out(), "");
    let fresh = Sandbox::empty();
    fresh.run(&["prerun"]).out();
    assert!(fresh.path().join(".scr").is_dir());
    fs::write(fresh.path().join("file"), "").unwrap();
    fresh.run(&["prerun", "--prefix", "file"]).failed();
}
