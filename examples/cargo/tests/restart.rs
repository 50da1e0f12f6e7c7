//! Each program is killed half-way, and goes on from its last checkpoint to the same result. Runs them with
//! the launcher that `MPIEXEC` names, which must be of the MPI that the programs were built with.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

const RANKS: usize = 3;

#[test]
fn rust() {
    survives(env!("CARGO_BIN_EXE_heat"), "heat.30");
}

#[test]
fn rust_with_fortran_parts() {
    survives(env!("CARGO_BIN_EXE_mixed"), "rod.30");
}

#[test]
fn fortran() {
    survives(env!("CARGO_BIN_EXE_survive"), "rod.30");
}

/// A directory for one run of a job, with the job's directories.
struct Job {
    dir: PathBuf,
    program: PathBuf,
}

fn survives(program: &str, last: &str) {
    let launcher = std::env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".to_string());
    if Command::new(&launcher).arg("--version").output().is_err() {
        println!("SKIPPED: {launcher} cannot be run; MPIEXEC names the launcher");
        return;
    }
    let undisturbed = Job::new(program, "undisturbed");
    let whole = undisturbed.run(&launcher, "log", &["steps", "40"]);

    let job = Job::new(program, "killed");
    let mut first = job.start(&launcher, "first", &["steps", "40", "delay", "50"]);
    let killed = loop {
        let text = fs::read_to_string(job.dir.join("first")).expect("the log is there");
        if text.contains(&format!("checkpoint {last}")) {
            break job.kill_one();
        }
        if let Some(status) = first.try_wait().expect("it can be waited for") {
            panic!("ended before it was killed, {status}:\n{text}");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let status = first.wait().expect("it can be waited for");
    assert!(killed && !status.success(), "killed: {killed}, {status}");

    let second = job.run(&launcher, "second", &["steps", "40"]);
    let begin = match last {
        "heat.30" => "restarted from heat.30",
        _ => "begins at step 30",
    };
    assert!(second.contains(begin), "no '{begin}' in:\n{second}");
    assert_eq!(result(&second), result(&whole));
}

/// The line with the sum of all cells, with all digits.
fn result(log: &str) -> &str {
    let mut lines = log.lines();
    let line = lines.find(|line| line.contains("finished step 40, sum"));
    line.unwrap_or_else(|| panic!("not finished:\n{log}"))
}

impl Job {
    fn new(program: &str, name: &str) -> Job {
        let program = Path::new(program);
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(program.file_name().expect("a program has a name"))
            .join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("prefix")).expect("the directory can be made");
        fs::create_dir(dir.join("cache")).expect("the directory can be made");
        Job {
            dir,
            program: program.to_path_buf(),
        }
    }

    fn start(&self, launcher: &str, log: &str, arguments: &[&str]) -> Child {
        let out = File::create(self.dir.join(log)).expect("the log can be made");
        let errors = out.try_clone().expect("the log can be shared");
        let mut command = Command::new(launcher);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SCR_") {
                command.env_remove(name);
            }
        }
        command
            .args(["-n", &RANKS.to_string()])
            .arg(&self.program)
            .args(["every", "10"])
            .args(arguments)
            .current_dir(self.dir.join("prefix"))
            .env("SCR_PREFIX", self.dir.join("prefix"))
            .env("SCR_CACHE_BASE", self.dir.join("cache"))
            .env("SCR_CNTL_BASE", self.dir.join("cache"))
            .env("SCR_JOB_ID", "test")
            // Real MPI on whatever machine this is: as root, and with more ranks than cores.
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
            .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
            .stdout(out)
            .stderr(errors)
            .spawn()
            .expect("the launcher can be started")
    }

    fn run(&self, launcher: &str, log: &str, arguments: &[&str]) -> String {
        let mut child = self.start(launcher, log, arguments);
        let status = child.wait().expect("it can be waited for");
        let text = fs::read_to_string(self.dir.join(log)).expect("the log is there");
        assert!(status.success(), "{status}:\n{text}");
        text
    }

    /// Kills one process of the program, found by its working directory. False if there is none.
    fn kill_one(&self) -> bool {
        let prefix = fs::canonicalize(self.dir.join("prefix")).expect("it is there");
        let program = fs::canonicalize(&self.program).expect("it is there");
        let processes = fs::read_dir("/proc").expect("there is /proc");
        for process in processes.flatten().map(|entry| entry.path()) {
            let is =
                |link, path: &Path| fs::read_link(process.join(link)).is_ok_and(|at| at == path);
            if is("exe", &program) && is("cwd", &prefix) {
                let pid = process.file_name().expect("a process has a number");
                let kill = Command::new("kill").arg("-9").arg(pid).status();
                return kill.is_ok_and(|status| status.success());
            }
        }
        false
    }
}
