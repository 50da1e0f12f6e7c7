//! Names, help, wrong options, and output without a reader.

use crate::sandbox::{Sandbox, program, said};
use scr::cli::COMMANDS;
use scr::version::{INTERFACE, RELEASE};
use std::process::{Output, Stdio};

#[test]
fn the_version_names_release_and_interface() {
    let sandbox = Sandbox::empty();
    let version = format!("{RELEASE} (SCR interface {INTERFACE})\n");
    for option in ["--version", "-V"] {
        assert_eq!(sandbox.run(&[option]).out(), format!("scr {version}"));
        assert_eq!(
            sandbox.run(&["index", option]).out(),
            format!("scr index {version}")
        );
        assert_eq!(
            sandbox.run_as("scr_halt", &[option]).out(),
            format!("scr_halt {version}")
        );
    }
}

#[test]
fn classic_names_are_listed_and_answer() {
    let sandbox = Sandbox::empty();
    let out = sandbox.run(&["--list-commands"]).out();
    let names: Vec<&str> = out.lines().collect();
    for name in [
        "scr_run",
        "scr_srun",
        "scr_mpirun",
        "scr_fluxrun",
        "scr_jsrun",
        "scr_lrun",
        "scr_aprun",
        "scr_prerun",
        "scr_postrun",
        "scr_scavenge",
        "scr_copy",
        "scr_index",
        "scr_inspect",
        "scr_flush_file",
        "scr_nodes_file",
        "scr_retries_halt",
        "scr_halt",
        "scr_halt_cntl",
        "scr_should_exit",
        "scr_list_down_nodes",
        "scr_check_node",
        "scr_list_dir",
        "scr_env",
        "scr_prefix",
        "scr_glob_hosts",
        "scr_hostlist",
        "scr_test_runtime",
        "scr_watchdog",
        "scr_kill_jobstep",
        "scr_get_jobstep_id",
        "scr_log_event",
        "scr_log_transfer",
        "scr_ckpt_interval",
        "scr_crc32",
        "scr_print",
        "kvtree_print",
        "scr_print_hash_file",
        "scr_have_restart",
        "scr_rebuild_xor",
        "scr_rebuild_partner",
        "scr_rebuild_rs",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    for name in names {
        let help = sandbox.run_as(name, &["--help"]).out();
        assert!(help.contains(&format!("Usage: {name}")), "{help}");
    }
}

#[test]
fn help_shows_each_command_in_its_group() {
    let sandbox = Sandbox::empty();
    for option in ["--help", "-h"] {
        let help = sandbox.run(&[option]).out();
        for command in COMMANDS {
            let heading = help.find(command.group.heading()).unwrap();
            let line = help.find(&format!("\n  {} ", command.name)).unwrap();
            assert!(heading < line, "{}", command.name);
            let own = sandbox.run(&[command.name, option]).out();
            assert!(
                own.contains(&format!("Usage: scr {}", command.name)),
                "{own}"
            );
            let asked = sandbox.run(&["help", command.name]).out();
            assert!(
                asked.contains(&format!("Usage: scr {}", command.name)),
                "{asked}"
            );
        }
    }
}

#[test]
fn wrong_options_are_reported_with_the_usage() {
    let sandbox = Sandbox::of("basic");
    for args in [
        &["nonsense"][..],
        &[""],
        &["--nonsense"],
        &["index", "--nonsense"],
        &["index", "stray"],
        &["index", "--drop"],
        &["index", "--delete=timestep.1", "--current=timestep.1"],
        &["index", "--yes"],
        &["flush-file", "--summary"],
        &["flush-file", "--resume", "--latest"],
        &["index", "--drop=timestep.1", "--current=timestep.1"],
        &["halt", "--unset-checkpoints", "-c", "1"],
        &["halt", "-r", "-i"],
        &["print"],
        &["print", "-m", "json", ".scr/index.scr"],
        &["print", "a", "b"],
        &["crc32"],
        &["flush-file"],
        &["flush-file", "--latest", "--list-ckpt"],
        &["flush-file", "--name", "x"],
        &["flush-file", "--before", "3"],
        &["nodes-file", "--dir"],
        &["retries-halt", "--dir", ".", "."],
        &["glob-hosts"],
        &["glob-hosts", "n1", "n2"],
        &["glob-hosts", "--count", "--nth", "1", "n1"],
        &["glob-hosts", "--minus", "a:b", "--intersection", "a:b"],
        &["hostlist"],
        &["hostlist", "-e", "-c", "n1"],
        &["hostlist", "-d", ":", "n1"],
        &["env"],
        &["env", "--user", "--jobid"],
        &["prefix", "stray"],
        &["list-dir"],
        &["list-dir", "elsewhere"],
        &["check-node", "--cache"],
        &["list-down-nodes", "--secs", "-1"],
        &["test-runtime", "stray"],
        &["get-jobstep-id"],
        &["get-jobstep-id", "1"],
        &["kill-jobstep"],
        &["should-exit", "--runs", "many"],
        &["have-restart", "stray"],
        &["halt-cntl", "-l"],
        &["halt-cntl", "-f", "x"],
        &["halt-cntl", "-f", "x", "-xz"],
        &["halt-cntl", "-f", "x", "-c", "-1"],
        &["run"],
        &["run", "--nonsense", "srun"],
        &["prerun", "stray"],
        &["postrun", "stray"],
        &["scavenge"],
        &["scavenge", "--id", "x"],
        &["copy"],
        &["copy", "--id", "1", "--redundancy", "some"],
        &["inspect", "--id", "-1"],
        &["inspect", "--id", "1", "--quiet"],
        &["rebuild", "raid"],
        &["watchdog"],
        &["doctor", "stray"],
        &["params", "--nonsense"],
        &["completions", "tcsh"],
        &["log-event"],
        &["log-event", "-T", "X", "-D", "-1"],
        &["log-transfer"],
        &["ckpt-interval", "--model", "mine"],
        &["ckpt-interval", "--prefix", ".", "--logfile", "x"],
    ] {
        let said = sandbox.run(args);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{args:?}");
        assert!(said.err.contains("Usage: scr"), "{args:?}: {}", said.err);
    }
    for command in COMMANDS {
        let said = sandbox.run(&[command.name, "--nonsense"]);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", command.name);
        let usage = format!("Usage: scr {}", command.name);
        assert!(said.err.contains(&usage), "{}", said.err);
    }
    let said = sandbox.run(&[]);
    assert_eq!((said.code, said.out.as_str()), (2, ""));
    assert!(said.err.contains("Usage: scr COMMAND"));
}

#[test]
fn arguments_of_any_bytes_are_taken() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::of("basic");
    let odd = OsStr::from_bytes(b"\xff\xfe");
    for command in COMMANDS {
        for args in [
            vec![odd],
            vec![OsStr::new("--prefix"), odd],
            vec![OsStr::new("--dir"), odd],
        ] {
            let mut call = program("scr", &[command.name]);
            let output = call
                .args(args)
                .current_dir(sandbox.path())
                .output()
                .unwrap();
            let said = said(output);
            // It makes a directory of any name.
            let is_made = command.name == "manual" && said.code == 0;
            let is_refused = matches!(said.code, 1 | 2);
            assert!(is_refused || is_made, "{}: {said:?}", command.name);
            assert!(!said.err.contains("panicked"), "{}", said.err);
        }
    }
}

#[test]
fn a_variable_that_is_not_utf8_is_named() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let (sandbox, odd) = (Sandbox::of("basic"), OsStr::from_bytes(b"\xff\xfe"));
    for (name, code) in [("SCR_PREFIX", 1), ("SCR_CACHE_BASE", 1), ("OTHER", 0)] {
        let mut call = program("scr", &["prefix"]);
        let output = call.env(name, odd).current_dir(sandbox.path()).output();
        let said = said(output.unwrap());
        assert_eq!(said.code, code, "{said:?}");
        assert_eq!(said.err.contains(name), code == 1, "{said:?}");
    }
}

#[test]
fn commands_need_neither_home_nor_user() {
    let sandbox = Sandbox::of("basic");
    for args in [
        &["env", "--user"][..],
        &["env", "--jobid"],
        &["list-dir", "cache"],
        &["params"],
        &["index"],
        &["prerun"],
    ] {
        let mut call = program("scr", args);
        let call = call
            .env_remove("HOME")
            .env_remove("USER")
            .env_remove("LOGNAME");
        let said = said(call.current_dir(sandbox.path()).output().unwrap());
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{args:?}");
    }
}

/// Runs a command whose output has no reader.
fn unread(sandbox: &Sandbox, args: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = program("scr", args);
    let command = command
        .current_dir(sandbox.path())
        .stdout(writer)
        .stderr(Stdio::piped());
    command.spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn a_closed_pipe_on_standard_output_is_not_an_error() {
    let sandbox = Sandbox::of("basic");
    for args in [
        &["index"][..],
        &["params"],
        &["--help"],
        &["index", "--help"],
        &["--list-commands"],
    ] {
        let said = said(unread(&sandbox, args));
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{args:?}");
    }
    // The command does its work and answers by its exit status.
    assert_eq!(
        said(unread(&sandbox, &["halt", "--unset-reason", "-c9"])).code,
        0
    );
    assert_eq!(said(unread(&sandbox, &["retries-halt"])).code, 1);
    let halt = sandbox.run(&["print", ".scr/halt.scr"]).out();
    assert_eq!(halt, "  CheckpointsLeft = 9\n");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let sandbox = Sandbox::of("basic");
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = program("scr", &["index"])
        .current_dir(sandbox.path())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    let said = said(output);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("standard output"), "{}", said.err);
}
