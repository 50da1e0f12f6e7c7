//! `scr transfer`: the transfer daemon of a node, and commands to it.

mod sessions;

use crate::caches::of_control;
use crate::call::{Failure, Invocation};
use crate::job::Job;
use crate::list_dir::{Which, bases};
use crate::{Outcome, RunCommand, place, status};
use scr_engine::cache::layout::Layout;
use scr_engine::daemon::control::this_process;
use scr_engine::events::Severity;
use scr_engine::format::Name;
use scr_engine::format::print::escaped;
use scr_engine::format::transfer::{PartId, Transfer, TransferPart};
use scr_engine::store::posix::Posix;
use scr_engine::system::sync::Mutex;
use scr_engine::text::{counted, escaped as escaped_text};
use scr_jobs::transfers::serve::Ended;
use scr_jobs::transfers::service::{Finished, Process, Service};
use sessions::Sessions;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Copy datasets from this node's cache to the prefix directory, beside the program
///
/// The transfer daemon: one for each node and job, in the foreground. With SCR_FLUSH_ASYNC=1 and
/// SCR_FLUSH_TYPE=DAEMON the library lets it copy what is flushed. It goes on when the program dies.
/// It keeps to SCR_FLUSH_ASYNC_BW and SCR_FLUSH_ASYNC_PERCENT, and runs at idle priority. scr run and
/// scr prerun start one on each node, and scr run and scr postrun end them; a job script can do so,
/// too. It serves the sessions of the program that have a name, too.
///
/// The daemon ends when it is told to (--stop, --finish), and on SIGTERM, SIGINT and SIGHUP. Datasets
/// that it has not copied by then stay in the transfer file, transfer.scrinfo in the control directory
/// of the job.
///
/// Exit status: 0 the daemon was told to end, or all is done; 1 a dataset could not be copied, there
/// is a daemon already, or the control directory cannot be used.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Prefix directory, instead of SCR_PREFIX or the current directory
    #[arg(short, long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Control directory of the job, BASE/USER/scr.JOBID: user and job id are taken from it, instead
    /// of from parameters and environment
    #[arg(short, long, value_name = "DIR")]
    cntldir: Option<PathBuf>,
    /// Copy what is left to do, without limits, then end; waits for a daemon that is there. For the end
    /// of a job
    #[arg(long, conflicts_with_all = ["stop", "status"])]
    finish: bool,
    /// End the daemon of this node, and wait for that
    #[arg(long, conflicts_with = "status")]
    stop: bool,
    /// Print what the daemon of this node has to do, and how far it is
    #[arg(long)]
    status: bool,
}

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let place = self.place(call)?;
        match () {
            () if self.status => place.status(call),
            () if self.stop => place.stop(call),
            () if self.finish => place.finish(call),
            () => place.serve(call),
        }
    }
}

impl Options {
    fn place(&self, call: &mut Invocation) -> Result<NodeDaemon, Failure> {
        let job = Job::here(self.prefix.as_deref())?;
        let (user, id) = match &self.cntldir {
            Some(dir) => of_control(dir)?,
            None => {
                if !(self.status || self.stop || self.finish) {
                    place::establish(call, &job.prefix);
                }
                (job.user()?, job.id()?)
            }
        };
        let base = bases(&job, Which::Control)?.first().cloned();
        let base = base.unwrap_or_default();
        let layout = Layout::new(&base, &user, &id);
        let patience = job.number("SCR_FLUSH_DAEMON_TIMEOUT")?.unwrap_or_default();
        let patience = Duration::from_secs(patience.unsigned_abs());
        let service = Service::new(Arc::new(Posix), layout, (&user, &id), patience);
        let sessions = Sessions {
            files: Arc::new(Posix),
            base,
            user,
            job: id,
            patience,
        };
        Ok(NodeDaemon { service, sessions })
    }
}

/// The daemon of this node for the job, and those for its sessions.
struct NodeDaemon {
    service: Service,
    sessions: Sessions,
}

impl NodeDaemon {
    fn serve(&self, call: &mut Invocation) -> Outcome {
        // Caught before anybody can know of the daemon.
        let stop = signals()?;
        let me = this_process();
        let call = Mutex::new(call);
        let tell = |text: &str| {
            say(
                &mut call.lock().unwrap_or_else(PoisonError::into_inner),
                text,
            )
        };
        let begins = || {
            let dir = self.service.control().dir().display();
            tell(&format!("{me} serves {dir}"));
        };
        let mut process = Process {
            say: &mut |_, text| tell(text),
            stop: &|| stop.load(Ordering::SeqCst),
        };
        let serve = || self.service.serve(&mut process, &begins);
        let why = self.sessions.beside(&tell, serve)?;
        tell(&format!("{me} {}", ended(why)));
        Ok(ExitCode::SUCCESS)
    }

    fn finish(&self, call: &mut Invocation) -> Outcome {
        let stop = signals()?;
        let mut process = Process {
            say: &mut |severity, text| match severity {
                Severity::Warning => call.warn(&text),
                _ => say(call, text),
            },
            stop: &|| stop.load(Ordering::SeqCst),
        };
        let failed = match self.service.finish(&mut process)? {
            Finished::Interrupted(what) => {
                return Err(Failure::said(format!("a signal came before {what}")));
            }
            Finished::NothingLeft => {
                writeln!(call.out, "nothing is left to transfer here")?;
                false
            }
            Finished::ByDaemon => false,
            Finished::Here(file) => report(call, &file)?,
        };
        Ok(status(!failed))
    }

    fn stop(&self, call: &mut Invocation) -> Outcome {
        match self.service.stop()? {
            Some(who) => writeln!(call.out, "{} has ended", escaped_text(&who))?,
            None => writeln!(call.out, "there is no transfer daemon here")?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn status(&self, call: &mut Invocation) -> Outcome {
        let (there, control) = (self.service.exists()?, self.service.control());
        let who = if there { control.living()? } else { None };
        let file = if there { control.read()? } else { None };
        match who {
            Some(who) => writeln!(call.out, "daemon: {}", escaped_text(&who))?,
            None => writeln!(call.out, "daemon: none")?,
        }
        let Some(file) = file else {
            writeln!(
                call.out,
                "there is no transfer file in {}",
                control.dir().display()
            )?;
            return Ok(ExitCode::SUCCESS);
        };
        let word = |name: &Option<Name>| name.as_ref().map_or("none".into(), escaped);
        writeln!(
            call.out,
            "command: {}, state: {}, limits: {} bytes per second, {} %",
            word(&file.command),
            word(&file.state),
            file.bw,
            file.percent
        )?;
        for (at, part) in file.parts() {
            writeln!(call.out, "{}", line(at, part))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The reason why a daemon has ended, after its name.
fn ended(why: Ended) -> &'static str {
    match why {
        Ended::Told | Ended::Finished => "was told to end",
        Ended::Signal => "ends after a signal",
        Ended::Gone => "ends: its files were removed",
    }
}

/// Prints the result of each part. True if one was not copied.
fn report(call: &mut Invocation, file: &Transfer) -> Result<bool, Failure> {
    let mut failed = false;
    for (at, part) in file.parts() {
        if part.is_done() {
            writeln!(call.out, "{}", line(at, part))?;
        } else {
            call.error(&line(at, part));
            failed = true;
        }
    }
    Ok(failed)
}

/// The line for a part.
fn line(at: PartId, part: &TransferPart) -> String {
    let name = escaped(&part.dataset.name);
    let count = |number: Option<u64>| number.map_or("?".to_string(), |n| n.to_string());
    let what = match (&part.error, part.is_done(), part.is_running()) {
        (_, true, _) => format!(
            "copied, {}, {} bytes",
            part.files
                .map_or("? files".to_string(), |n| counted(n as usize, "file")),
            count(part.size)
        ),
        (Some(error), ..) => format!("not copied: {error}"),
        (_, _, true) => {
            let written = part.written.unwrap_or(0);
            format!("being copied, {written} of {} bytes", count(part.size))
        }
        _ => "waiting".to_string(),
    };
    format!("{} of {} ({name}): {what}", at.words(), part.parts)
}

/// A line of the daemon. The work goes on if it cannot be printed.
fn say(call: &mut Invocation, text: &str) {
    let _ = writeln!(call.out, "scr_transfer: {}", escaped_text(text));
    let _ = call.out.flush();
}

/// True once a signal has come that ends the daemon.
fn signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())
            .map_err(|error| Failure::from(scr_engine::Error::io("wait for", "signals", error)))?;
    }
    Ok(stop)
}
