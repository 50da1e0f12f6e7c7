//! `scr transfer`: the transfer daemon of a node, and commands to it.

use super::caches::of_control;
use super::call::{Failure, Invocation};
use super::job::Job;
use super::list_dir::{Which, bases};
use super::{Command, CommandGroup, Outcome, RunCommand};
use crate::cache::layout::Layout;
use crate::daemon::Control;
use crate::daemon::client::{Idle, silent};
use crate::daemon::control::{LEFT_OUT, this_process};
use crate::daemon::serve::{Daemon, Ended};
use crate::format::Name;
use crate::format::print::escaped;
use crate::format::transfer::{EXIT, FINISH, PartId, Transfer, TransferPart};
use crate::store::{Files, posix::Posix};
use crate::system::time::Instant;
use crate::system::time::sleep;
use crate::text::{counted, escaped as escaped_text};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The command.
pub(super) const COMMAND: Command =
    Command::of::<Options>("transfer", &["scr_transfer"], CommandGroup::Nodes);

/// Copy datasets from this node's cache to the prefix directory, beside the program
///
/// The transfer daemon: one for each node and job, in the foreground. With SCR_FLUSH_ASYNC=1 and
/// SCR_FLUSH_TYPE=DAEMON the library lets it copy what is flushed. It goes on when the program dies.
/// It keeps to SCR_FLUSH_ASYNC_BW and SCR_FLUSH_ASYNC_PERCENT, and runs at idle priority. scr run and
/// scr prerun start one on each node, and scr run and scr postrun end them; a job script can do so,
/// too.
///
/// The daemon ends when it is told to (--stop, --finish), and on SIGTERM, SIGINT and SIGHUP. Datasets
/// that it has not copied by then stay in the transfer file, transfer.scrinfo in the control directory
/// of the job.
///
/// Exit status: 0 the daemon was told to end, or all is done; 1 a dataset could not be copied, there
/// is a daemon already, or the control directory cannot be used.
#[derive(clap::Args)]
struct Options {
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

/// Pause between two looks at a daemon that is to end.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a daemon may take to end: a large file may have to be synced before.
const PATIENCE: Duration = Duration::from_secs(60);

impl RunCommand for Options {
    fn run(&self, call: &mut Invocation) -> Outcome {
        let place = self.place()?;
        match () {
            () if self.status => place.status(call),
            () if self.stop => place.stop(call),
            () if self.finish => place.finish(call),
            () => place.serve(call),
        }
    }
}

impl Options {
    fn place(&self) -> Result<Place, Failure> {
        let job = Job::here(self.prefix.as_deref())?;
        let (user, id) = match &self.cntldir {
            Some(dir) => of_control(dir)?,
            None => (job.user()?, job.id()?),
        };
        let base = bases(&job, Which::Control)?.first().cloned();
        let layout = Layout::new(&base.unwrap_or_default(), &user, &id);
        let patience = job.number("SCR_FLUSH_DAEMON_TIMEOUT")?.unwrap_or_default();
        let patience = Duration::from_secs(patience.unsigned_abs());
        Ok(Place {
            control: Control::new(&Posix, layout.job()).with_patience(patience),
            patience,
            layout,
            user,
            id,
        })
    }
}

/// The control directory, with the names in it.
struct Place {
    layout: Layout,
    control: Control,
    /// How long a daemon may show no progress.
    patience: Duration,
    user: String,
    id: String,
}

impl Place {
    fn serve(&self, call: &mut Invocation) -> Outcome {
        Posix.make_private_dirs(self.layout.base(), self.layout.below())?;
        // Caught before anybody can know of the daemon.
        let stop = signals()?;
        let claim = self.control.claim()?;
        let me = this_process();
        let dir = self.control.dir().display();
        say(call, &format!("{me} serves {dir}"));
        let ended = self.daemon(call, &stop, &claim, false)?;
        let why = match ended {
            Ended::Told | Ended::Finished => "was told to end",
            Ended::Signal => "ends after a signal",
            Ended::Gone => "ends: its files were removed",
        };
        say(call, &format!("{me} {why}"));
        match ended {
            // Another daemon may serve by now.
            Ended::Gone => self.control.sweep()?,
            _ => self.control.clean_up(&claim)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn daemon(
        &self,
        call: &mut Invocation,
        stop: &AtomicBool,
        claim: &crate::daemon::control::Claim,
        finish: bool,
    ) -> Result<Ended, Failure> {
        let daemon = Daemon {
            control: &self.control,
            user: &self.user,
            job: &self.id,
            say: &mut |text| say(call, text),
            stop: &|| stop.load(Ordering::SeqCst),
            // What became of each part is told at the end.
            quiet: finish,
        };
        Ok(daemon.serve(claim, finish)?)
    }

    /// True if the directory is there, and ours.
    fn exists(&self) -> Result<bool, Failure> {
        Posix.check_private_dirs(self.layout.base(), self.layout.below())?;
        Ok(Posix.stat(self.control.dir())?.is_some())
    }

    fn finish(&self, call: &mut Invocation) -> Outcome {
        let stop = signals()?;
        let left = self.exists()? && (self.control.living()?.is_some() || self.has_file()?);
        if !left {
            if self.exists()? {
                self.control.sweep()?;
            }
            writeln!(call.out, "nothing is left to transfer here")?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.control.living()?.is_some() {
            let mut stuck = !self.order(finish)?;
            let mut idle = Idle::default();
            while let Some(who) = self.control.living()? {
                if stop.load(Ordering::SeqCst) {
                    return Err(Failure::said("a signal came before the daemon had ended"));
                }
                // A run that began meanwhile has told it something else.
                stuck |= !self.order(|file| {
                    if !file.commands(EXIT) {
                        file.command = Some(FINISH.into());
                    }
                })?;
                let pulse = self.control.read().ok().flatten().map(|file| file.pulse);
                if stuck || idle.look(pulse) >= self.patience {
                    let why = silent(Some(who), self.patience);
                    call.warn(&format_args!("{why}; it is left out, end it (kill -9)"));
                    self.control.leave_out(finish)?;
                    sleep(LEFT_OUT);
                    break;
                }
                sleep(PAUSE);
            }
        } else {
            self.control.update_repaired(finish)?;
        }
        if !self.exists()? || !self.has_file()? {
            // The daemon had nothing left to do, and has removed its files.
            return Ok(ExitCode::SUCCESS);
        }
        let claim = self.control.claim()?;
        if self.daemon(call, &stop, &claim, true)? == Ended::Signal {
            return Err(Failure::said("a signal came before all was copied"));
        }
        let file = self.control.read()?.unwrap_or_default();
        let failed = self.report(call, &file)?;
        let done: Vec<PartId> = file
            .parts()
            .filter(|(_, p)| p.is_done())
            .map(|(at, _)| at)
            .collect();
        self.control
            .update(|file| done.iter().for_each(|at| file.remove(*at)))?;
        self.control.clean_up(&claim)?;
        Ok(match failed {
            false => ExitCode::SUCCESS,
            true => ExitCode::FAILURE,
        })
    }

    /// Changes the transfer file of a living daemon. If that ends at this moment, it removes the file with
    /// its directory, which is no error. False if the daemon has locked the file and does nothing.
    fn order(&self, change: impl FnMut(&mut Transfer)) -> Result<bool, Failure> {
        match self.control.update_repaired(change) {
            Err(error) if error.is_busy() => Ok(false),
            Err(error) if error.is_not_found() && !self.exists()? => Ok(true),
            other => Ok(other.map(|()| true)?),
        }
    }

    fn has_file(&self) -> Result<bool, Failure> {
        Ok(self.control.version()?.is_some())
    }

    /// Prints what became of each part. True if one was not copied.
    fn report(&self, call: &mut Invocation, file: &Transfer) -> Result<bool, Failure> {
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

    fn stop(&self, call: &mut Invocation) -> Outcome {
        if !self.exists()? {
            writeln!(call.out, "there is no transfer daemon here")?;
            return Ok(ExitCode::SUCCESS);
        }
        let Some(who) = self.control.living()? else {
            self.control.sweep()?;
            writeln!(call.out, "there is no transfer daemon here")?;
            return Ok(ExitCode::SUCCESS);
        };
        let end = Instant::now() + PATIENCE;
        while self.control.living()?.is_some() {
            self.order(|file| file.command = Some(EXIT.into()))?;
            if Instant::now() >= end {
                let seconds = PATIENCE.as_secs();
                return Err(Failure::said(format!(
                    "the transfer daemon, {who}, did not end within {seconds} s; end it (kill -9)"
                )));
            }
            sleep(PAUSE);
        }
        if self.exists()? {
            // The order may have come when the daemon had just removed its files.
            self.control.sweep()?;
        }
        writeln!(call.out, "{} has ended", escaped_text(&who))?;
        Ok(ExitCode::SUCCESS)
    }

    fn status(&self, call: &mut Invocation) -> Outcome {
        let there = self.exists()?;
        let who = match there {
            true => self.control.living()?,
            false => None,
        };
        let file = match there {
            true => self.control.read()?,
            false => None,
        };
        match who {
            Some(who) => writeln!(call.out, "daemon: {}", escaped_text(&who))?,
            None => writeln!(call.out, "daemon: none")?,
        }
        let Some(file) = file else {
            writeln!(
                call.out,
                "there is no transfer file in {}",
                self.control.dir().display()
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

/// Tells a daemon to finish. What has failed is tried again.
fn finish(file: &mut Transfer) {
    file.command = Some(FINISH.into());
    for dataset in file.datasets.values_mut() {
        let failed = dataset
            .parts
            .values_mut()
            .filter(|p| p.has_ended() && !p.is_done());
        failed.for_each(TransferPart::restart);
    }
}

/// One part in one line.
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
            .map_err(|error| Failure::from(crate::Error::io("wait for", "signals", error)))?;
    }
    Ok(stop)
}
