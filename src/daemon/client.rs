//! The library's side: enters parts of flushes for the daemon, and watches them.

use super::control::{Control, is_damage};
use crate::format::transfer::{EXIT, PartId, RUN, STOP, Transfer, TransferPart};
use crate::prefix::part::Copied;
use crate::system::time::Instant;
use crate::system::time::sleep;
use crate::transfer::pace::Limits;
use crate::transfer::worker::Cancel;
use crate::{Error, Result};
use std::time::Duration;

/// Pause between two looks at a part.
const TICK: Duration = Duration::from_millis(50);

/// How long a daemon may take to let go of a part that the library gives up. A large file may have to
/// be synced before.
pub const LET_GO: Duration = Duration::from_secs(60);

/// How often a part is entered again that is missing in the transfer file.
const TRIES: u32 = 5;

/// A part, and where it is entered.
#[derive(Clone)]
pub struct Entry {
    /// The control directory of this node.
    pub control: Control,
    /// Which part.
    pub at: PartId,
    /// What the daemon needs to know.
    pub part: TransferPart,
    /// Limits of the transfer.
    pub limits: Limits,
}

/// How a part has left the hands of the daemon.
enum Left {
    /// It was copied.
    Copied(Copied),
    /// There is no daemon any more, and the part is taken out of its file.
    ToMe,
}

impl Entry {
    /// Enters the part, if a daemon lives here to copy it. Local.
    ///
    /// # Errors
    /// The transfer file cannot be written.
    pub fn give(&self) -> Result<bool> {
        if !self.control.is_served()? {
            return Ok(false);
        }
        self.control.update_repaired(|file| {
            let taken = !file.commands(EXIT);
            if taken {
                self.insert(file);
            }
            taken
        })
    }

    /// Enters the part for a daemon that may come later, unless it is there. Local.
    ///
    /// # Errors
    /// The transfer file cannot be written.
    pub fn leave(&self) -> Result<()> {
        self.control.update_repaired(|file| {
            let there = file.part(self.at);
            let there = there.is_some_and(|part| part.is_same(&self.part) && !part.cancel);
            match there {
                true => {
                    let part = file.part_mut(self.at);
                    let again = part.filter(|part| part.has_ended() && !part.is_done());
                    again.into_iter().for_each(TransferPart::restart);
                }
                false => self.insert(file),
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

    /// Waits until the daemon has copied the part. If the daemon ends before, calls `copy` to do it.
    /// `stay`: asks to leave the part to the daemon. Local.
    ///
    /// # Errors
    /// The daemon or `copy` could not copy it, or the part was left or cancelled.
    pub fn watch(
        &self,
        cancel: &Cancel,
        stay: &Cancel,
        copy: impl FnOnce(&Cancel) -> Result<Copied>,
        tell: impl FnOnce(String),
    ) -> Result<Copied> {
        match self.wait(cancel, stay)? {
            Left::Copied(copied) => Ok(copied),
            Left::ToMe => {
                tell(format!(
                    "the transfer daemon has ended before it had copied {}; a thread copies it",
                    self.at.words()
                ));
                copy(cancel)
            }
        }
    }

    fn wait(&self, cancel: &Cancel, stay: &Cancel) -> Result<Left> {
        let (mut version, mut read, mut took) = (None, Instant::now(), Duration::ZERO);
        let (mut given, mut cancelled): (u32, Option<Instant>) = (1, None);
        loop {
            if stay.is_cancelled() {
                return Err(self.ended("was left to the daemon"));
            }
            if cancel.is_cancelled() && cancelled.is_none() {
                cancelled = Some(Instant::now());
                self.take_back()?;
            }
            let now = self.control.version()?;
            let pause = if now == version {
                Duration::from_secs(1)
            } else {
                TICK
            };
            if version.is_none() || read.elapsed() >= pause.max(took * 20) || cancelled.is_some() {
                (version, read) = (now, Instant::now());
                let file = self.control.read();
                took = read.elapsed();
                let file = match file {
                    // The daemon puts it aside.
                    Err(error) if is_damage(&error) => None,
                    other => Some(other?.unwrap_or_default()),
                };
                let part = file.as_ref().and_then(|file| file.part(self.at));
                let part = part.filter(|part| part.is_same(&self.part));
                match (part, cancelled) {
                    (Some(part), None) if part.has_ended() => return self.result(part),
                    (None, Some(_)) if file.is_some() => {
                        return Err(self.ended("was cancelled"));
                    }
                    (None, None) if file.is_some() => {
                        given += 1;
                        if given > TRIES {
                            return Err(
                                self.ended("is lost from the transfer file again and again")
                            );
                        }
                        if self.give()? {
                            continue;
                        }
                        return Ok(Left::ToMe);
                    }
                    _ => {}
                }
                if let Some(left) = self.unless_served()? {
                    return Ok(left);
                }
            }
            if cancelled.is_some_and(|since| since.elapsed() > LET_GO) {
                return Err(self.ended("is held by a transfer daemon that does not answer"));
            }
            sleep(TICK);
        }
    }

    /// Takes the result of the daemon.
    fn result(&self, part: &TransferPart) -> Result<Left> {
        self.control.update_repaired(|file| file.remove(self.at))?;
        match part.is_done() {
            true => Ok(Left::Copied(Copied {
                files: part.files.unwrap_or(0),
                bytes: part.size.unwrap_or(0),
            })),
            false => {
                let why = part.error.as_ref().map(ToString::to_string);
                let why = why.unwrap_or_else(|| "it gave no reason".to_string());
                Err(Error::config("the transfer daemon", why))
            }
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
            // It may have copied it with its last breath.
            Some(Some(part)) if part.is_done() => Some(Left::Copied(Copied {
                files: part.files.unwrap_or(0),
                bytes: part.size.unwrap_or(0),
            })),
            Some(_) => Some(Left::ToMe),
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

/// Ends the transfers of earlier runs: tells a living daemon to stop, waits until it has, and removes the
/// transfer file. Of a dead daemon it removes all files. Local.
///
/// # Errors
/// The daemon does not stop for `patience`.
pub fn end_earlier(control: &Control, patience: Duration) -> Result<()> {
    if !control.is_used()? {
        return Ok(());
    }
    let end = Instant::now() + patience;
    let mut told = false;
    loop {
        let removed = control.without_daemon(|| control.remove_files())?;
        if removed.is_some() {
            return Ok(());
        }
        let stopped = control.update(|file| {
            if !told && *file != Transfer::default() {
                file.command = Some(STOP.into());
            }
            file.is_stopped()
        });
        match stopped {
            Ok(true) => return control.remove(),
            Ok(false) => told = true,
            // The daemon puts it aside, and then has stopped.
            Err(error) if is_damage(&error) => {}
            Err(error) => return Err(error),
        }
        if Instant::now() >= end {
            let who = control.living()?.unwrap_or_else(|| "a process".to_string());
            return Err(Error::config(
                control.dir().display().to_string(),
                format!(
                    "the transfer daemon of an earlier run, {who}, did not stop within {} s; end it \
                     (kill -9)",
                    patience.as_secs()
                ),
            ));
        }
        sleep(TICK);
    }
}
