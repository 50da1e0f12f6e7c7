//! Runs other programs: schedulers, launchers, remote shells. Their output and their time are
//! limited.

use super::Environment;
use crate::system::sync::mpsc::{Receiver, channel};
use crate::system::thread;
use crate::system::time::Instant;
use crate::system::time::sleep;
use crate::text::excerpt;
use crate::{Error, Result};
use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Number of bytes that are kept of each output stream. The rest is read and dropped.
pub const MAX_OUTPUT: usize = 16 << 20;

/// Time in which a scheduler must answer.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Time in which a program must end after SIGTERM, before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// The end of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Exit code; 128 plus the number of the signal that ended it; `None` if its time was over.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Finished {
    /// Exit code 0.
    pub fn good(&self) -> bool {
        self.code == Some(0)
    }

    /// The fault, in one line.
    pub fn why(&self) -> String {
        let said = |text: &str| {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
            Some(format!(": {}", excerpt(line, 200)))
        };
        let words = said(&self.err).or_else(|| said(&self.out));
        let words = words.unwrap_or_default();
        match self.code {
            Some(code) => format!("it ended with exit code {code}{words}"),
            None => format!("it took too long{words}"),
        }
    }
}

/// The path of a program: the name itself if it contains a slash, else the first on PATH.
pub fn find(environment: &Environment, name: &str) -> Option<PathBuf> {
    let runs = |path: &Path| rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    let runs = |path: &Path| path.is_file() && runs(path);
    if name.contains('/') {
        let path = environment.cwd.join(name);
        return runs(&path).then_some(path);
    }
    let path = environment.get_os("PATH");
    let dirs = std::env::split_paths(path.unwrap_or("/usr/bin:/bin".as_ref()));
    let mut dirs = dirs.filter(|dir| !dir.as_os_str().is_empty());
    dirs.find_map(|dir| {
        let path = environment.cwd.join(dir).join(name);
        runs(&path).then_some(path)
    })
}

/// The path of a program, or the error that it is not on PATH.
pub fn need(environment: &Environment, name: &str) -> Result<PathBuf> {
    find(environment, name).ok_or_else(|| failed(name, "there is no such program on PATH"))
}

/// Runs a program and waits for it, at most `limit`. Standard input is empty. The program gets its
/// own process group. Processes that it leaves there are killed if they keep the output open. The
/// variables `set` are added to the environment of this process.
///
/// # Errors
/// The program cannot be started.
pub fn run(
    program: &Path,
    arguments: &[OsString],
    set: &[(&str, &str)],
    limit: Duration,
) -> Result<Finished> {
    run_heard(program, arguments, set, limit, None)
}

/// Is told each line of a program's standard output, as soon as it comes.
pub type Heard = Arc<dyn Fn(&str) + Send + Sync>;

/// Like [`run`]; the lines of the output are also told to `heard`.
pub fn run_heard(
    program: &Path,
    arguments: &[OsString],
    set: &[(&str, &str)],
    limit: Duration,
    heard: Option<Heard>,
) -> Result<Finished> {
    let mut child = Command::new(program)
        .args(arguments)
        .envs(set.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| Error::io("run", program, error))?;
    let out = kept(child.stdout.take(), heard);
    let err = kept(child.stderr.take(), None);
    let end = Instant::now() + limit;
    let status = wait(&mut child, end)?;
    let stopped = status.is_none();
    let status = match status {
        Some(status) => Some(status),
        None => stop(&mut child)?,
    };
    // A background process may keep the streams open.
    let text = |stream: Receiver<Vec<u8>>| {
        let bytes = stream.recv_timeout(GRACE).or_else(|_| {
            signal(child.id(), libc::SIGKILL);
            stream.recv_timeout(GRACE)
        });
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    Ok(Finished {
        code: status.filter(|_| !stopped).map(code),
        out: text(out),
        err: text(err),
    })
}

/// Lets a program go on when this process ends: in a session of its own, which signals of a terminal do
/// not reach.
pub fn detached(command: &mut Command) -> &mut Command {
    // SAFETY: setsid is a plain system call, which may be made between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        })
    }
}

/// The output of a program that must end with exit code 0. `set` as in [`run`].
///
/// # Errors
/// The program does not exist, takes too long or fails. The error has the first line of its output.
pub fn ask(
    environment: &Environment,
    name: &str,
    arguments: &[&str],
    set: &[(&str, &str)],
) -> Result<String> {
    let program = need(environment, name)?;
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let finished = run(&program, &arguments, set, PATIENCE)?;
    if finished.good() {
        Ok(finished.out)
    } else {
        Err(failed(name, finished.why()))
    }
}

/// The error of a program that cannot be used.
pub fn failed(name: &str, why: impl Into<String>) -> Error {
    Error::Io {
        action: "run",
        path: PathBuf::from(name),
        errno: None,
        text: why.into(),
    }
}

/// Sends a signal to the process group that `leader` leads. False if the group does not exist.
pub fn signal(leader: u32, signal: i32) -> bool {
    let Ok(group) = libc::pid_t::try_from(leader) else {
        return false;
    };
    // 0 would be our own group, and 1 all processes.
    // SAFETY: a plain system call on a number.
    group > 1 && unsafe { libc::killpg(group, signal) } == 0
}

/// The exit code as a shell reports it: 128 plus the number for a signal.
pub fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    let by_signal = status.signal().map(|signal| 128 + signal);
    status.code().or(by_signal).unwrap_or(1)
}

/// Waits until the child ends or the time is over.
fn wait(child: &mut Child, end: Instant) -> Result<Option<ExitStatus>> {
    let mut pause = Duration::from_millis(1);
    loop {
        let status = child.try_wait();
        let status = status.map_err(|error| Error::io("wait for", "a program", error))?;
        if status.is_some() || Instant::now() >= end {
            return Ok(status);
        }
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Ends a child: SIGTERM first, which launchers pass on, then SIGKILL. `None` if it does not end even then, as
/// in a system call on a file system that hangs.
fn stop(child: &mut Child) -> Result<Option<ExitStatus>> {
    signal(child.id(), libc::SIGTERM);
    if let Some(status) = wait(child, Instant::now() + GRACE)? {
        return Ok(Some(status));
    }
    signal(child.id(), libc::SIGKILL);
    wait(child, Instant::now() + GRACE)
}

/// Reads a stream to its end in a thread.
fn kept(stream: Option<impl Read + Send + 'static>, heard: Option<Heard>) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let (mut bytes, mut told) = (Vec::new(), 0);
        let mut piece = [0; 8192];
        let mut stream = stream;
        while let Some(stream) = &mut stream {
            let read = match stream.read(&mut piece) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // After an error, the bytes that were read before are kept.
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            let room = MAX_OUTPUT.saturating_sub(bytes.len());
            bytes.extend_from_slice(&piece[..read.min(room)]);
            if let Some(heard) = &heard {
                told += tell_lines(&bytes[told..], heard);
            }
        }
        let _ = send.send(bytes);
    });
    receive
}

/// Tells the whole lines at the beginning of `bytes`. Gives their length.
fn tell_lines(bytes: &[u8], heard: &Heard) -> usize {
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
        return 0;
    };
    let lines = String::from_utf8_lossy(&bytes[..end]);
    lines.lines().for_each(|line| heard(line));
    end + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Finished {
        let arguments = ["-c", script].map(OsString::from);
        run(Path::new("/bin/sh"), &arguments, &[], limit).unwrap()
    }

    #[test]
    fn output_and_exit_code_come_back() {
        let finished = shell("echo out; echo err >&2; exit 3", PATIENCE);
        let expected = Finished {
            code: Some(3),
            out: "out\n".into(),
            err: "err\n".into(),
        };
        assert_eq!(finished, expected);
        assert_eq!(finished.why(), "it ended with exit code 3: err");
        assert_eq!(shell("kill -9 $$", PATIENCE).code, Some(137));
    }

    #[test]
    fn who_takes_too_long_is_stopped() {
        let finished = shell("echo begun; sleep 1000", Duration::from_millis(200));
        assert_eq!(finished.code, None);
        assert!(finished.why().starts_with("it took too long"));
        let stubborn = "trap '' TERM; while :; do sleep 1000; done";
        assert_eq!(shell(stubborn, Duration::from_millis(200)).code, None);
    }

    #[test]
    fn a_background_process_does_not_hold_us() {
        let finished = shell("sleep 1000 & echo done", PATIENCE);
        assert_eq!((finished.code, finished.out.as_str()), (Some(0), "done\n"));
    }

    #[test]
    fn endless_output_is_cut() {
        let flood = format!("head -c {} /dev/zero", MAX_OUTPUT + 100_000);
        assert_eq!(shell(&flood, PATIENCE).out.len(), MAX_OUTPUT);
    }

    #[test]
    fn programs_are_found_on_the_path_of_the_environment() {
        let nowhere = Environment::empty().with("PATH", "/nonexistent");
        assert_eq!(find(&nowhere, "sh"), None);
        let error = ask(&nowhere, "scontrol", &[], &[]).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot run scontrol: there is no such program on PATH"
        );
        let found = Environment::empty().with("PATH", "/nonexistent::/bin");
        assert_eq!(find(&found, "sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find(&nowhere, "/bin/sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(
            ask(&found, "sh", &["-c", "echo $X"], &[("X", "yes")]).unwrap(),
            "yes\n"
        );
        let error = ask(&found, "sh", &["-c", "echo no >&2; exit 4"], &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot run sh: it ended with exit code 4: no"
        );
    }
}
