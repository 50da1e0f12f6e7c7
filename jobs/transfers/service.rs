//! Control of a node's transfer daemon: a process can run as the daemon, tell a daemon to end, or finish the work that
//! a daemon has left. `scr transfer` is a thin layer over this.

use super::serve::{Daemon, Ended};
use scr_engine::cache::layout::Layout;
use scr_engine::daemon::client::{Idle, silent};
use scr_engine::daemon::control::{Claim, Control, LEFT_OUT};
use scr_engine::events::Severity;
use scr_engine::format::transfer::{EXIT, FINISH, PartId, Transfer, TransferPart};
use scr_engine::store::{Files, Unkept};
use scr_engine::system::time::{Instant, sleep};
use scr_engine::{Error, Result};
use std::sync::Arc;
use std::time::Duration;

/// Pause between two looks at a daemon that is to end.
const PAUSE: Duration = Duration::from_millis(50);

/// Time that a daemon may take to end: a large file may have to be synced first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Number of attempts to make a directory again that a daemon has removed when it ended.
const TRIES: u32 = 10;

/// The control directory of a job on this node, and its user.
pub struct Service {
    files: Arc<dyn Files>,
    unkept: Unkept,
    layout: Layout,
    control: Control,
    /// Time that a daemon may show no progress.
    patience: Duration,
    user: String,
    job: String,
}

/// The way in which a serving process is told to end, and in which it reports.
pub struct Process<'a> {
    /// One line for each thing that the user should know.
    pub say: &'a mut dyn FnMut(Severity, &str),
    /// True once a signal asks it to end.
    pub stop: &'a dyn Fn() -> bool,
}

/// The result of [`Service::finish`].
pub enum Finished {
    /// There was nothing to do.
    NothingLeft,
    /// The daemon has done all of the work.
    ByDaemon,
    /// This process has done the rest: the transfer file at the end. Some parts may have failed.
    Here(Transfer),
    /// A signal came before this.
    Interrupted(&'static str),
}

impl Service {
    /// The daemon of `user`'s job `job`, with the control directory below `base`. `files`: all caches,
    /// control directories and prefix directories.
    pub fn new(
        files: Arc<dyn Files>,
        layout: Layout,
        (user, job): (&str, &str),
        patience: Duration,
    ) -> Self {
        let unkept = Unkept::default();
        Service {
            control: Control::new(&*files, layout.job()).with_patience(patience),
            files: unkept.note(files),
            unkept,
            layout,
            patience,
            user: user.to_string(),
            job: job.to_string(),
        }
    }

    /// The daemon's files.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// True if the control directory is there, and ours.
    ///
    /// # Errors
    /// The directory belongs to another user.
    pub fn exists(&self) -> Result<bool> {
        let layout = &self.layout;
        self.files
            .check_private_dirs(layout.base(), layout.below())?;
        Ok(self.files.stat(self.control.dir())?.is_some())
    }

    /// Is the daemon of the node until it is told to end. `begins` is called when it serves.
    ///
    /// # Errors
    /// The node has a daemon already, or the control directory cannot be used.
    pub fn serve(&self, process: &mut Process, begins: &dyn Fn()) -> Result<Ended> {
        let claim = self.claim()?;
        begins();
        let ended = match self.daemon(process, &claim, false) {
            // `scr clean`, which began before this daemon, has removed the directory.
            Err(error) if error.is_not_found() && !self.exists()? => Ended::Gone,
            ended => ended?,
        };
        match ended {
            // Another daemon may serve by now.
            Ended::Gone => self.control.sweep()?,
            _ => self.control.clean_up(&claim)?,
        }
        Ok(ended)
    }

    /// Becomes the daemon. The one before may just be removing the directory, because nothing is left in it.
    fn claim(&self) -> Result<Claim> {
        let layout = &self.layout;
        let mut tries = 0;
        loop {
            self.files
                .make_private_dirs(layout.base(), layout.below())?;
            match self.control.claim() {
                Err(error) if error.is_not_found() && tries < TRIES => tries += 1,
                other => return other,
            }
        }
    }

    fn daemon(&self, process: &mut Process, claim: &Claim, finish: bool) -> Result<Ended> {
        let daemon = Daemon {
            files: &*self.files,
            control: &self.control,
            user: &self.user,
            job: &self.job,
            say: &mut |text| (process.say)(Severity::Note, text),
            unkept: &self.unkept,
            stop: process.stop,
            // The result of each part is reported at the end.
            quiet: finish,
        };
        daemon.serve(claim, finish)
    }

    /// Copies all that is left to do, without limits. If a daemon is there, tells it to do so, and waits
    /// for its end.
    ///
    /// # Errors
    /// The transfer file, or the files of the daemon, cannot be used.
    pub fn finish(&self, process: &mut Process) -> Result<Finished> {
        match self.finish_what_is_there(process) {
            // `scr transfer --stop` has removed the directory meanwhile.
            Err(error) if error.is_not_found() && !self.exists()? => Ok(Finished::NothingLeft),
            finished => finished,
        }
    }

    fn finish_what_is_there(&self, process: &mut Process) -> Result<Finished> {
        let left = self.exists()? && (self.control.living()?.is_some() || self.has_file()?);
        if !left {
            if self.exists()? {
                self.control.sweep()?;
            }
            return Ok(Finished::NothingLeft);
        }
        if self.control.living()?.is_some() {
            if !self.wait_for_daemon(process)? {
                return Ok(Finished::Interrupted("the daemon had ended"));
            }
        } else {
            // The daemon may be ending, and removing its directory.
            self.order(finish)?;
        }
        if !self.exists()? || !self.has_file()? {
            // The daemon had nothing left to do, and has removed its files.
            return Ok(Finished::ByDaemon);
        }
        let claim = match self.control.claim() {
            // `scr transfer --stop` has removed the files meanwhile, as nothing was left to do.
            Err(error) if error.is_not_found() && !self.exists()? => return Ok(Finished::ByDaemon),
            claim => claim?,
        };
        if self.daemon(process, &claim, true)? == Ended::Signal {
            return Ok(Finished::Interrupted("all was copied"));
        }
        let file = self.control.read()?.unwrap_or_default();
        let done: Vec<PartId> = file
            .parts()
            .filter(|(_, p)| p.is_done())
            .map(|(at, _)| at)
            .collect();
        self.control
            .update(|file| done.iter().for_each(|at| file.remove(*at)))?;
        self.control.clean_up(&claim)?;
        Ok(Finished::Here(file))
    }

    /// Tells a living daemon to finish, and waits until it has ended or is left out. False if a signal came
    /// before.
    fn wait_for_daemon(&self, process: &mut Process) -> Result<bool> {
        let mut stuck = !self.order(finish)?;
        let mut idle = Idle::default();
        while let Some(who) = self.control.living()? {
            if (process.stop)() {
                return Ok(false);
            }
            // A run that began meanwhile has given it another order.
            stuck |= !self.order(|file| {
                if !file.commands(EXIT) {
                    file.command = Some(FINISH.into());
                }
            })?;
            let pulse = self.control.read().ok().flatten().map(|file| file.pulse);
            if stuck || idle.look(pulse) >= self.patience {
                let why = silent(Some(who), self.patience);
                let text = format!("{why}; it is left out, end it (kill -9)");
                (process.say)(Severity::Warning, &text);
                self.control.leave_out(finish)?;
                sleep(LEFT_OUT);
                break;
            }
            sleep(PAUSE);
        }
        Ok(true)
    }

    /// Changes the transfer file of a living daemon. If the daemon ends at this moment, it removes the
    /// file with its directory, which is no error. False if the daemon has locked the file and does
    /// nothing.
    fn order(&self, change: impl FnMut(&mut Transfer)) -> Result<bool> {
        match self.control.update_repaired(change) {
            Err(error) if error.is_busy() => Ok(false),
            Err(error) if error.is_not_found() && !self.exists()? => Ok(true),
            other => other.map(|()| true),
        }
    }

    fn has_file(&self) -> Result<bool> {
        Ok(self.control.version()?.is_some())
    }

    /// Tells the daemon to end, and waits until it has. Returns its process and host, or `None` if no daemon was
    /// there.
    ///
    /// # Errors
    /// The daemon did not end in time, or its files cannot be used.
    pub fn stop(&self) -> Result<Option<String>> {
        if !self.exists()? {
            return Ok(None);
        }
        let Some(who) = self.control.living()? else {
            self.control.sweep()?;
            return Ok(None);
        };
        let end = Instant::now() + PATIENCE;
        while self.control.living()?.is_some() {
            self.order(|file| file.command = Some(EXIT.into()))?;
            if Instant::now() >= end {
                let seconds = PATIENCE.as_secs();
                return Err(Error::config(
                    format!("the transfer daemon, {who}"),
                    format!("did not end within {seconds} s; end it (kill -9)"),
                ));
            }
            sleep(PAUSE);
        }
        if self.exists()? {
            // The order may have come when the daemon had just removed its files.
            self.control.sweep()?;
        }
        Ok(Some(who))
    }
}

/// Tells a daemon to finish. Parts that have failed are tried again.
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
