//! Finds and ends the job step of a launcher.

use super::LauncherKind;
use crate::manager::same_host;
use scr_engine::job::program::{ask, failed, signal};
use scr_engine::job::{Environment, identity::scheduler_job};
use scr_engine::system::time::{Instant, sleep};
use scr_engine::text::excerpt;
use scr_engine::{Error, Result};
use std::time::Duration;

/// Time that a launcher may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

/// See [`super::Launcher::step`].
pub(super) fn of(
    kind: LauncherKind,
    environment: &Environment,
    pid: u32,
) -> Result<Option<String>> {
    match kind {
        LauncherKind::Srun => {
            let job = scheduler_job(environment).map(|known| known.value);
            let job = job.ok_or_else(|| {
                Error::config(
                    "SLURM_JOB_ID",
                    "is not set, so there is no job to look for steps in",
                )
            })?;
            let arguments = ["--oneliner", "show", "step", &job];
            let steps = ask(environment, "scontrol", &arguments, &[])?;
            Ok(steps
                .lines()
                .find_map(|line| started_by(line, &environment.host, pid)))
        }
        LauncherKind::Flux => {
            let last = ask(environment, "flux", &["job", "last"], &[])?;
            Ok(Some(last.trim().to_string()).filter(|id| !id.is_empty()))
        }
        _ => Ok(Some(pid.to_string())),
    }
}

/// The id of the step that a line of `scontrol show step` describes, if the srun with `pid` on
/// `host` started it.
fn started_by(line: &str, host: &str, pid: u32) -> Option<String> {
    let field = |name: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(name))
    };
    let (srun, id) = field("SrunHost:Pid=")?.rsplit_once(':')?;
    let found = same_host(srun, host) && id == pid.to_string();
    found.then(|| field("StepId=").map(str::to_string))?
}

/// See [`super::Launcher::signal`].
pub(super) fn send_signal(
    kind: LauncherKind,
    environment: &Environment,
    step: &str,
    signal: &str,
) -> Result<()> {
    require_name(step)?;
    let (program, arguments) = match kind {
        LauncherKind::Flux => ("flux", &["job", "kill", "-s", signal, step][..]),
        LauncherKind::Srun => ("scancel", &["--signal", signal, step][..]),
        _ => ("kill", &["-s", signal, step][..]),
    };
    ask(environment, program, arguments, &[]).map(drop)
}

/// See [`super::Launcher::runs`].
pub(super) fn is_there(kind: LauncherKind, environment: &Environment, step: &str) -> Result<bool> {
    require_name(step)?;
    match kind {
        LauncherKind::Srun => {
            let arguments = ["--noheader", "--steps", step, "--format", "%i"];
            match ask(environment, "squeue", &arguments, &[]) {
                Ok(steps) => Ok(steps.lines().any(|line| line.trim() == step)),
                Err(error) if error.to_string().contains("Invalid job id") => Ok(false),
                Err(error) => Err(error),
            }
        }
        LauncherKind::Flux => {
            let arguments = ["jobs", "--no-header", "--format", "{status_abbrev}", step];
            let state = ask(environment, "flux", &arguments, &[])?;
            let over = ["CD", "F", "CA", "TO"];
            Ok(!over.contains(&state.trim()))
        }
        _ => Ok(step.parse().is_ok_and(runs)),
    }
}

/// Fails if `step` cannot be the id of a job step.
fn require_name(step: &str) -> Result<()> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '+' | '_');
    if step.is_empty() || !step.chars().all(plain) {
        return Err(Error::config(
            format!("job step '{}'", excerpt(step, 80)),
            "is not the id of a job step",
        ));
    }
    Ok(())
}

/// See [`super::Launcher::kill`].
pub(super) fn kill(kind: LauncherKind, environment: &Environment, step: &str) -> Result<()> {
    require_name(step)?;
    match kind {
        LauncherKind::Srun if step.contains('.') => {
            match ask(environment, "scancel", &[step], &[]) {
                // The step has ended already.
                Err(error) if error.to_string().contains("Invalid job id") => Ok(()),
                other => other.map(drop),
            }
        }
        LauncherKind::Srun => Err(failed(
            "scancel",
            format!("'{step}' is a whole job; name a step as {step}.0"),
        )),
        LauncherKind::Flux => ask(environment, "flux", &["cancel", step], &[])
            // The name of the command in older releases.
            .or_else(|_| ask(environment, "flux", &["job", "cancel", step], &[]))
            .map(drop),
        _ => end_process(step),
    }
}

fn end_process(step: &str) -> Result<()> {
    let pid = step.parse::<i32>().ok().filter(|pid| *pid > 1);
    let pid = pid.ok_or_else(|| {
        Error::config(
            format!("job step '{step}'"),
            "is not a process id; give that of the launcher",
        )
    })?;
    send(pid, libc::SIGTERM)?;
    let end = Instant::now() + GRACE;
    while runs(pid) {
        if Instant::now() >= end {
            return send(pid, libc::SIGKILL);
        }
        sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Sends a signal to the process group that the process leads, or to the process alone.
fn send(pid: i32, number: i32) -> Result<()> {
    // SAFETY: a plain system call on a number.
    let leads = unsafe { libc::getpgid(pid) } == pid;
    let sent = if leads {
        signal(pid.unsigned_abs(), number)
    } else {
        // SAFETY: as above; `pid` is above 1, so it names one process.
        unsafe { libc::kill(pid, number) == 0 }
    };
    let error = std::io::Error::last_os_error();
    if sent || error.raw_os_error() == Some(libc::ESRCH) {
        return Ok(());
    }
    Err(Error::io("signal", format!("process {pid}"), error))
}

/// True if the process runs. A zombie does not.
fn runs(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // The name comes before the state, and may contain parentheses.
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    !state.is_some_and(|state| state.starts_with(['Z', 'X']))
}
