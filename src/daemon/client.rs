//! The library's side: enters parts of flushes for the daemon, and watches them.

use super::control::{Control, LEFT_OUT, is_damage};
use crate::format::transfer::{EXIT, PartId, RUN, STOP, Transfer, TransferPart};
use crate::messages::SILENT_DAEMON;
use crate::prefix::part::Copied;
use crate::system::time::Instant;
use crate::system::time::sleep;
use crate::transfer::pace::Limits;
use crate::transfer::worker::Cancel;
use crate::{Error, Result};
use std::time::Duration;

/// Pause between two looks at a part.
const TICK: Duration = Duration::from_millis(50);

/// The number of times that a part that is missing in the transfer file is entered again.
const TRIES: u32 = 5;

/// The most time that counts between two looks.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// A part, and where it is entered.
#[derive(Clone)]
pub struct Entry {
    /// The control directory of this node.
    pub control: Control,
    /// The dataset and number of the part.
    pub at: PartId,
    /// The part itself, as the daemon reads it.
    pub part: TransferPart,
    /// Limits of the transfer.
    pub limits: Limits,
    /// How long the daemon may show no progress until it is left out.
    pub patience: Duration,
}

/// How long a daemon has shown no progress.
pub struct Idle {
    pulse: Option<u64>,
    looked: Instant,
    time: Duration,
}

impl Default for Idle {
    fn default() -> Self {
        Idle {
            pulse: None,
            looked: Instant::now(),
            time: Duration::ZERO,
        }
    }
}

impl Idle {
    /// Adds the time since the last call, unless the daemon has made progress since then. Gives the
    /// time for which the daemon has shown no progress. `pulse` is the pulse of the transfer file,
    /// if the file was read.
    pub fn look(&mut self, pulse: Option<u64>) -> Duration {
        // A scheduler that stops a job also stops its daemons. While they are stopped, time passes that the
        // daemons cannot use.
        self.time += self.looked.elapsed().min(LONGEST_LOOK);
        self.looked = Instant::now();
        if pulse.is_some() && pulse != self.pulse {
            self.pulse = pulse;
            self.time = Duration::ZERO;
        }
        self.time
    }
}

/// How a part has left the hands of the daemon.
enum Left {
    /// The part was copied.
    Copied(Copied),
    /// The part is taken out of the daemon's file, since the daemon has ended, or is left out for this
    /// reason.
    ToMe(Option<String>),
}

impl Entry {
    /// Enters the part, if a daemon lives here to copy it. A daemon that has the transfer file locked and
    /// does nothing is left out. Local.
    ///
    /// # Errors
    /// The transfer file cannot be written.
    pub fn give(&self) -> Result<bool> {
        if !self.control.is_served()? {
            return Ok(false);
        }
        let given = self.control.update_repaired(|file| {
            let taken = !file.commands(EXIT);
            if taken {
                self.insert(file);
            }
            taken
        });
        if given.as_ref().is_err_and(Error::is_busy) {
            self.leave_out()?;
        }
        given
    }

    /// See [`Control::leave_out`].
    fn leave_out(&self) -> Result<()> {
        self.control.leave_out(|file| file.remove(self.at))
    }

    /// Enters the part for a daemon that may come later, unless it is there. Local.
    ///
    /// # Errors
    /// The transfer file cannot be written.
    pub fn leave(&self) -> Result<()> {
        self.control.update_repaired(|file| {
            let there = file.part(self.at);
            let there = there.is_some_and(|part| part.is_same(&self.part) && !part.cancel);
            if there {
                let part = file.part_mut(self.at);
                let again = part.filter(|part| part.has_ended() && !part.is_done());
                again.into_iter().for_each(TransferPart::restart);
            } else {
                self.insert(file)
            }
        })
    }

    fn insert(&self, file: &mut Transfer) {
        (file.percent, file.bw) = (self.limits.percent, self.limits.bandwidth as f64);
        if !file.may_begin() {
            file.command = Some(RUN.into());
        }
        file.insert(self.at, self.part.clone());
    }

    /// Waits until the daemon has copied the part. If the daemon ends before that, or shows no
    /// progress for too long, reports that to `tell` and calls `copy`. `copy` must make new files,
    /// since the daemon may still have its files open. `stay` is a request to leave the part to the
    /// daemon. Local.
    ///
    /// # Errors
    /// The daemon or `copy` could not copy it, or the part was left or cancelled.
    pub fn watch(
        &self,
        cancel: &Cancel,
        stay: &Cancel,
        copy: impl FnOnce(&Cancel) -> Result<Copied>,
        tell: impl Fn(String),
    ) -> Result<Copied> {
        match self.wait(cancel, stay, &tell)? {
            Left::Copied(copied) => Ok(copied),
            Left::ToMe(why) => {
                let at = self.at.words();
                tell(match why {
                    Some(why) => format!("{why}; a thread copies {at}"),
                    None => format!(
                        "the transfer daemon has ended before it had copied {at}; a thread copies it"
                    ),
                });
                // Another thread may have left the daemon out just now.
                sleep(LEFT_OUT);
                copy(cancel)
            }
        }
    }

    fn wait(&self, cancel: &Cancel, stay: &Cancel, tell: &dyn Fn(String)) -> Result<Left> {
        let (mut version, mut read, mut took) = (None, Instant::now(), Duration::ZERO);
        let (mut given, mut cancelled, mut idle): (u32, bool, _) = (1, false, Idle::default());
        loop {
            if stay.is_cancelled() {
                return Err(self.ended("was left to the daemon"));
            }
            if cancel.is_cancelled() && !cancelled {
                cancelled = true;
                // If the daemon cannot be told, it is left out after a while.
                let _ = self.take_back();
            }
            let now = self.control.version()?;
            let pause = if now == version {
                Duration::from_secs(1)
            } else {
                TICK
            };
            let mut pulse = None;
            if version.is_none() || read.elapsed() >= pause.max(took * 20) || cancelled {
                (version, read) = (now, Instant::now());
                let file = self.control.read();
                took = read.elapsed();
                let file = match file {
                    // The daemon puts it aside.
                    Err(error) if is_damage(&error) => None,
                    other => Some(other?.unwrap_or_default()),
                };
                pulse = file.as_ref().map(|file| file.pulse);
                let part = file.as_ref().and_then(|file| file.part(self.at));
                let part = part.filter(|part| part.is_same(&self.part));
                match (part, cancelled) {
                    (Some(part), false) if part.has_ended() => return self.result(part),
                    (None, true) if file.is_some() => {
                        return Err(self.ended("was cancelled"));
                    }
                    (None, false) if file.is_some() => {
                        given += 1;
                        if given > TRIES {
                            return Err(
                                self.ended("is lost from the transfer file again and again")
                            );
                        }
                        if self.give()? {
                            continue;
                        }
                        return Ok(Left::ToMe(None));
                    }
                    _ => {}
                }
                if let Some(left) = self.unless_served()? {
                    return Ok(left);
                }
            }
            if idle.look(pulse) >= self.patience {
                return self.go_on_alone(cancelled, tell);
            }
            sleep(TICK);
        }
    }

    /// Leaves out a daemon that shows no progress.
    fn go_on_alone(&self, cancelled: bool, tell: &dyn Fn(String)) -> Result<Left> {
        let who = self.control.living()?;
        let why = format!("{}; it is left out", silent(who, self.patience));
        self.leave_out()?;
        if cancelled {
            tell(why);
            sleep(LEFT_OUT);
            return Err(self.ended("was cancelled"));
        }
        Ok(Left::ToMe(Some(why)))
    }

    /// Takes the result of the daemon.
    fn result(&self, part: &TransferPart) -> Result<Left> {
        self.control.update_repaired(|file| file.remove(self.at))?;
        if part.is_done() {
            Ok(Left::Copied(Copied {
                files: part.files.unwrap_or(0),
                bytes: part.size.unwrap_or(0),
            }))
        } else {
            let why = part.error.as_ref().map(ToString::to_string);
            let why = why.unwrap_or_else(|| "it gave no reason".to_string());
            Err(Error::config("the transfer daemon", why))
        }
    }

    /// If no daemon lives, takes the part out of the file.
    fn unless_served(&self) -> Result<Option<Left>> {
        let taken = self.control.without_daemon(|| {
            let removed = self.control.update(|file| {
                let done = file
                    .part(self.at)
                    .filter(|part| part.is_same(&self.part))
                    .cloned();
                file.remove(self.at);
                done
            });
            match removed {
                Err(error) if is_damage(&error) => self.control.put_aside().map(|_| None),
                other => other,
            }
        })?;
        Ok(match taken {
            None => None,
            // The daemon may have copied the part just before it ended.
            Some(Some(part)) if part.is_done() => Some(Left::Copied(Copied {
                files: part.files.unwrap_or(0),
                bytes: part.size.unwrap_or(0),
            })),
            Some(_) => Some(Left::ToMe(None)),
        })
    }

    /// Takes the part out, or asks the daemon that copies it to let go.
    fn take_back(&self) -> Result<()> {
        self.control.update_repaired(|file| {
            let running = file.part(self.at).is_some_and(TransferPart::is_running);
            match file.part_mut(self.at) {
                Some(part) if running => part.cancel = true,
                Some(_) => file.remove(self.at),
                None => {}
            }
        })
    }

    fn ended(&self, what: &str) -> Error {
        Error::config(self.at.words(), what)
    }
}

/// A sentence about a daemon without progress.
pub fn silent(who: Option<String>, patience: Duration) -> String {
    format!(
        "the transfer daemon, {}, has shown no progress for {} s (SCR_FLUSH_DAEMON_TIMEOUT) ({SILENT_DAEMON})",
        who.as_deref().unwrap_or("a process"),
        patience.as_secs()
    )
}

/// Ends the transfers of earlier runs: tells a living daemon to stop, waits until it has, and removes the
/// transfer file. If the daemon is dead, removes all its files. A daemon that shows no progress for
/// `patience` is left out; then the result says so. Local.
///
/// # Errors
/// The files of the daemon cannot be read or removed.
pub fn end_earlier(control: &Control, patience: Duration) -> Result<Option<String>> {
    match stop_and_remove(control, patience) {
        // A daemon that ends removes its directory if nothing else is there.
        Err(error) if error.is_not_found() => Ok(None),
        other => other,
    }
}

fn stop_and_remove(control: &Control, patience: Duration) -> Result<Option<String>> {
    if !control.is_used()? {
        return Ok(None);
    }
    let (mut told, mut idle, mut full) = (false, Idle::default(), None);
    loop {
        let removed = control.without_daemon(|| control.remove_files())?;
        if removed.is_some() {
            return Ok(None);
        }
        let stopped = control.update(|file| {
            if !told && *file != Transfer::default() {
                file.command = Some(STOP.into());
            }
            (file.is_stopped(), file.pulse)
        });
        let pulse = match stopped {
            Ok((true, _)) => return control.remove().map(|()| None),
            Ok((false, pulse)) => {
                told = true;
                Some(pulse)
            }
            // The daemon puts the damaged file aside. Without a file the daemon counts as stopped.
            Err(error) if is_damage(&error) => None,
            // The daemon cannot be told.
            Err(error) if error.is_full() => {
                (full, idle.time) = (Some(error), patience);
                None
            }
            Err(error) if !error.is_busy() => return Err(error),
            // Only a daemon that does nothing keeps the lock as long as this process has waited for it.
            Err(_) => {
                idle.time = patience;
                None
            }
        };
        if idle.look(pulse) >= patience {
            let who = control.living()?;
            control.leave_out(|file| *file = Transfer::default())?;
            sleep(LEFT_OUT);
            control.without_daemon(|| control.remove_files())?;
            let who = match full {
                None => format!("{}, though it was told to stop", silent(who, patience)),
                Some(error) => format!(
                    "the transfer daemon, {}, cannot be told to stop: {error}",
                    who.as_deref().unwrap_or("a process")
                ),
            };
            return Ok(Some(format!("{who}; it is left out")));
        }
        sleep(TICK);
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
