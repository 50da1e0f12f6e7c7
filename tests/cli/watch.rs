//! `scr watch` and `scr run --watch`, with small programs. That a job which makes progress is left alone is tested where
//! time is only a number, in `policy::hang`.

use crate::sandbox::{Programs, Said, Sandbox, outside, said};
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

const QUICK: [&str; 4] = ["--after", "1s", "--first", "1s"];

/// A process that leads a group, and is ended with the test.
struct Job(Child);

impl Job {
    /// Runs a script in the sandbox.
    fn begin(sandbox: &Sandbox, script: &str) -> Job {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).current_dir(sandbox.path());
        shell.stdin(Stdio::null()).process_group(0);
        Job(shell.spawn().unwrap())
    }

    /// `scr watch` of it.
    fn watch(&self, sandbox: &Sandbox, args: &[&str]) -> Command {
        let pid = self.0.id().to_string();
        let mut command = outside("scr", &[&["watch", &pid][..], args].concat());
        command.current_dir(sandbox.path());
        command.env("SCR_WATCH_TERM_SECONDS", "1");
        command
    }

    fn watched(&self, sandbox: &Sandbox, args: &[&str]) -> Said {
        fs::create_dir_all(sandbox.path().join(".scr")).unwrap();
        said(self.watch(sandbox, args).output().unwrap())
    }

    fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        let sent = Command::new("/bin/kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// The signal that has ended it.
    fn ended_by(mut self) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt;
        self.0.wait().unwrap().signal()
    }

    fn runs(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let mut kill = Command::new("/bin/kill");
        kill.args(["-s", "KILL", "--", &group]);
        let _ = kill.stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

#[test]
fn a_busy_loop_hangs_by_its_file_and_a_blocked_process_by_its_processor_time() {
    for (script, watch, why) in [
        (
            "while :; do :; done",
            "file=run.log,cpu",
            "file run.log: it does not exist",
        ),
        (
            "exec sleep 1000",
            "cpu",
            "no process uses processor time (of 1)",
        ),
        ("sleep 1000", "cpu", "no process uses processor time (of 1)"),
        ("sleep 1000", "command=exit 1", "command exit 1"),
        (
            "sleep 1000",
            "command=echo step 3",
            "command echo step 3: step 3",
        ),
    ] {
        let sandbox = Sandbox::empty();
        let job = Job::begin(&sandbox, script);
        let said = job.watched(&sandbox, &[&["--watch", watch][..], &QUICK].concat());
        assert_eq!((said.code, &*said.err), (3, ""), "{said:?}");
        assert!(
            said.out.contains(&format!("(limit 1 s): {why}\n")),
            "{said:?}"
        );
        assert!(said.out.contains(": 1 rank on 1 node"), "{said:?}");
        assert!(said.out.contains(": SIGTERM is sent to "), "{said:?}");
        assert!(said.out.ends_with(": the job has ended\n"), "{said:?}");
        assert_eq!(job.ended_by(), Some(15), "{script}");
        assert!(sandbox.path().join(".scr/stacks.watch.txt").is_file());
        let entries = fs::read_dir(sandbox.path().join(".scr")).unwrap();
        let mut left: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        let known = ["identity.2.scr", "identity.scr", "stacks.watch.txt"];
        assert_eq!(left, known, "the lock is gone");
    }
}

/// Without a count nothing tells that the program hangs: it may be linked with another library.
#[test]
fn a_job_hangs_by_its_calls_if_it_has_counted_some() {
    let sandbox = Sandbox::empty();
    let control = sandbox.path().join("user/scr.7");
    fs::create_dir_all(&control).unwrap();
    for counted in [false, true] {
        if counted {
            fs::write(control.join(".scr.calls"), "00000000000000000012\n").unwrap();
        }
        // Without a count it must end by itself.
        let job = Job::begin(&sandbox, if counted { "sleep 1000" } else { "sleep 4" });
        fs::create_dir_all(sandbox.path().join(".scr")).unwrap();
        let mut watch = job.watch(&sandbox, &[&["--watch", "calls"][..], &QUICK].concat());
        watch.env("SCR_CNTL_BASE", sandbox.path());
        watch.envs([("SCR_USER_NAME", "user"), ("SCR_JOB_ID", "7")]);
        let said = said(watch.output().unwrap());
        assert_eq!(said.code, if counted { 3 } else { 0 }, "{said:?}");
        let told = "(limit 1 s): calls of the library: 12 on 1 node\n";
        assert_eq!(said.out.contains(told), counted, "{said:?}");
    }
}

#[test]
fn a_stopped_process_is_killed_since_it_cannot_hear_sigterm() {
    let sandbox = Sandbox::empty();
    let job = Job::begin(&sandbox, "while :; do :; done");
    job.signal("STOP");
    let said = job.watched(&sandbox, &[&["--watch", "cpu"][..], &QUICK].concat());
    assert_eq!(said.code, 3, "{said:?}");
    for line in [
        "stuck without processor time: 1 of 1 processes\n",
        "stopped by a signal",
        " in state T) did not end, and gets SIGKILL\n",
        ": the job has ended\n",
    ] {
        assert!(said.out.contains(line), "{line}: {said:?}");
    }
    assert_eq!(job.ended_by(), Some(9));
}

/// A launch that hangs right after `SCR_Init` is found within --after, as the count of its calls is a sign of it.
#[test]
fn a_count_that_the_job_has_written_is_its_first_sign() {
    let sandbox = Sandbox::empty();
    let control = sandbox.path().join("user/scr.7");
    fs::create_dir_all(&control).unwrap();
    // It may have come from the launch before; then the program may still read its input.
    let count = "00000000000000000000";
    let file = control.join(".scr.calls");
    fs::write(&file, format!("{count}\n")).unwrap();
    let before = SystemTime::now() - Duration::from_secs(3600);
    let opened = fs::File::options().write(true).open(&file).unwrap();
    opened.set_modified(before).unwrap();
    for (script, code) in [
        ("sleep 5", 0),
        (
            "echo 00000000000000000000 > user/scr.7/.scr.calls; sleep 1000",
            3,
        ),
    ] {
        let job = Job::begin(&sandbox, &format!("sleep 1; {script}"));
        fs::create_dir_all(sandbox.path().join(".scr")).unwrap();
        let limits = ["--watch", "calls", "--after", "1s", "--first", "1h"];
        let mut watch = job.watch(&sandbox, &limits);
        watch.env("SCR_CNTL_BASE", sandbox.path());
        watch.envs([("SCR_USER_NAME", "user"), ("SCR_JOB_ID", "7")]);
        let said = said(watch.output().unwrap());
        assert_eq!(said.code, code, "{said:?}");
        let told = "(limit 1 s): calls of the library: 0 on 1 node\n";
        assert_eq!(said.out.contains(told), code == 3, "{said:?}");
    }
}

/// Launchers give ranks sessions of their own, and a script that is ended leaves them alone.
#[test]
fn a_job_script_is_ended_with_its_ranks() {
    let sandbox = Sandbox::empty();
    let script = "setsid sh -c 'echo $$ > rank; trap \"\" TERM; while :; do sleep 0.1; done' & sleep 1000; :";
    let job = Job::begin(&sandbox, script);
    let rank = sandbox.path().join("rank");
    while !fs::read(&rank).is_ok_and(|text| text.ends_with(b"\n")) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let said = job.watched(&sandbox, &[&["--watch", "file=x"][..], &QUICK].concat());
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.out.ends_with(": the job has ended\n"), "{said:?}");
    let rank = fs::read_to_string(&rank).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", rank.trim()));
    assert!(
        stat.as_ref().is_ok_and(|stat| stat.contains(") Z ")) || stat.is_err(),
        "it lives on: {stat:?}"
    );
    assert_eq!(job.ended_by(), Some(15));
}

#[test]
fn without_kill_it_is_only_told() {
    let sandbox = Sandbox::empty();
    let mut job = Job::begin(&sandbox, "sleep 1000");
    let args = [&["--watch", "file=x", "--no-kill"][..], &QUICK].concat();
    let said = job.watched(&sandbox, &args);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.out.contains("no progress for 1 s"), "{said:?}");
    assert!(job.runs());
}

#[test]
fn a_watch_that_sees_nothing_ends_nothing() {
    let sandbox = Sandbox::empty();
    let job = Job::begin(
        &sandbox,
        "while [ ! -e asked ]; do sleep 0.1; done; sleep 2",
    );
    fs::write(sandbox.path().join("plain"), "").unwrap();
    let watch = "file=plain/x,command=: > asked; exit 7";
    let said = job.watched(&sandbox, &[&["--watch", watch][..], &QUICK].concat());
    assert_eq!((said.code, &*said.err), (0, ""), "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 2, "each is told once: {said:?}");
    for name in ["file plain/x", "command : > asked; exit 7"] {
        let text = format!("{name} cannot be watched, and does not count: ");
        assert!(said.out.contains(&text), "{said:?}");
    }
    assert!(
        lines[1].ends_with("nothing can be watched now, so a hang would not be noticed"),
        "{said:?}"
    );
    assert_eq!(job.ended_by(), None);
}

#[test]
fn each_mistake_is_one_line() {
    let sandbox = Sandbox::empty();
    let job = Job::begin(&sandbox, "sleep 1000");
    fs::create_dir_all(sandbox.path().join(".scr")).unwrap();
    for (args, text) in [
        (&["--after", "5m"][..], "--after and --first need --watch"),
        (&[], "say with --watch what shows progress"),
        (
            &["--watch", "stacks"],
            "--watch: `stacks` cannot be watched; use calls, file=PATH",
        ),
        (&["--watch", "file="], "--watch: `file=` names nothing"),
        (
            &["--watch", "cpu", "--after", "0"],
            "--after: `0` is no time: a limit of 0",
        ),
        (
            &["--watch", "cpu", "--first", "soon"],
            "--first: `soon` is no time",
        ),
        (
            &["--watch", "cpu", "--signal", "KILL"],
            "--signal: `KILL` is not one of NONE, USR1",
        ),
    ] {
        let error = job.watched(&sandbox, args).failed();
        assert!(error.contains(text), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for (target, text) in [
        ("999999999", "there is no process 999999999 on this node"),
        ("0", "there is no process 0 on this node"),
        ("1.x.y", "cannot run srun: there is no such program"),
        ("job", "`job` is neither a process id nor a job step"),
    ] {
        let programs = Programs::new();
        let args = ["watch", target, "--watch", "cpu"];
        let error = programs.run(&sandbox, &[], &args).failed();
        assert!(error.contains(text), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_second_watch_of_the_same_job_is_refused() {
    let sandbox = Sandbox::empty();
    let job = Job::begin(&sandbox, "sleep 1000");
    fs::create_dir_all(sandbox.path().join(".scr")).unwrap();
    let mut first = job.watch(&sandbox, &["--watch", "file=x", "--after", "1h"]);
    let mut first = first.stdout(Stdio::null()).spawn().unwrap();
    let lock = sandbox
        .path()
        .join(format!(".scr/watch.{}.lock", job.0.id()));
    while !fs::read(&lock).is_ok_and(|text| !text.is_empty()) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let error = job.watched(&sandbox, &["--watch", "cpu"]).failed();
    assert!(error.contains(" is watched already (process "), "{error}");
    first.kill().unwrap();
    first.wait().unwrap();
}

/// An mpirun that runs the script `then`.
fn launcher(then: &str) -> Programs {
    let begin = r#"[ "$1" = --version ] && { echo 'HYDRA build details:'; exit 0; }"#;
    Programs::new().add("mpirun", &format!("{begin}\n{then}"))
}

const HERE: [(&str, &str); 5] = [
    ("SCR_NODE_TESTS", "none"),
    ("SCR_NODELIST", "n1"),
    ("SCR_REMOTE", "LOCAL"),
    ("SCR_WATCH_SIGNAL_SECONDS", "1"),
    ("SCR_WATCH_TERM_SECONDS", "1"),
];

#[test]
fn scr_run_ends_a_launch_step_by_step() {
    let script = "trap 'echo asked >> calls' USR1
        trap '' TERM
        while :; do /bin/sleep 0.1; done";
    let (programs, sandbox) = (launcher(script), Sandbox::empty());
    let watch = ["run", "--watch", "file=run.log", "--signal", "USR1"];
    let args = [&watch[..], &QUICK, &["mpirun", "./app"]].concat();
    let said = programs.run(&sandbox, &HERE, &args);
    assert_eq!(said.code, 137, "{said:?}");
    let mut rest = &*said.out;
    for line in [
        "(limit 1 s): file run.log: it does not exist, so the run is ended\n",
        ": SIGUSR1 asks the program for a checkpoint\n",
        ": mpirun did not end, so it is killed\n",
        ": launch 1 ended with exit code 137",
    ] {
        let (_, after) = rest
            .split_once(line)
            .unwrap_or_else(|| panic!("{line}: {said:?}"));
        rest = after;
    }
    let calls = fs::read_to_string(sandbox.path().join("calls")).unwrap();
    assert_eq!(calls, "asked\n");
}

#[test]
fn scr_run_finds_a_stopped_rank_on_the_nodes_by_parameters() {
    // The shell of the child is no rank, so it is stopped only after it has become the program.
    let script = r#"for rank in 0 1; do
            SCR_NODE_NAME=n1 PMI_RANK=$rank PMI_SIZE=2 /bin/sleep 1000 &
        done
        while [ "$(/bin/cat /proc/$!/comm)" != sleep ]; do :; done
        kill -s STOP $!
        wait"#;
    let (programs, sandbox) = (launcher(script), Sandbox::empty());
    let watch = [
        ("SCR_WATCH", "cpu"),
        ("SCR_WATCH_AFTER", "1"),
        ("SCR_WATCH_FIRST", "1"),
    ];
    let set = [&HERE[..], &watch].concat();
    let said = programs.run(&sandbox, &set, &["run", "mpirun", "./app"]);
    assert_eq!(said.code, 143, "{said:?}");
    for line in [
        "stuck without processor time: 1 of 2 processes",
        "1 rank (1; n1): stopped by a signal",
    ] {
        assert!(said.out.contains(line), "{line}: {said:?}");
    }
}
