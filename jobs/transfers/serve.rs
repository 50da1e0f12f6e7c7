//! The daemon's loop: copies the parts in the transfer file, one after the other.
//!
//! A part is begun, and its end recorded, in one change of the file under its lock. So a process that
//! finds a STATE other than RUNNING, and a COMMAND with which nothing is begun, knows that nothing is
//! being copied.

use super::part_check;
use super::progress::{Follower, Progress, Shared};
use scr_engine::cache::layout::Layout;
use scr_engine::daemon::control::{Claim, Control, Version, is_damage};
use scr_engine::daemon::part::{copy_part, sources};
use scr_engine::format::Name;
use scr_engine::format::transfer::{
    DONE, EXIT, FAILED, FINISH, PartId, RUN, RUNNING, STOPPED, Transfer, TransferPart,
};
use scr_engine::prefix::flush_target::Checksums;
use scr_engine::prefix::part::Copied;
use scr_engine::prefix::paths::Prefix;
use scr_engine::prefix::permit::{self, Permit};
use scr_engine::store::{Files, Unkept};
use scr_engine::system::process::host;
use scr_engine::system::thread::lower_priority;
use scr_engine::system::time::{Instant, sleep};
use scr_engine::text::{counted, excerpt};
use scr_engine::transfer::copy::Copier;
use scr_engine::transfer::pace::{Limits, Pace};
use scr_engine::transfer::worker::{Cancel, Task, Worker};
use scr_engine::{Error, Result};
use std::cell::Cell;
use std::time::Duration;

/// Pause between two looks for orders.
const TICK: Duration = Duration::from_millis(100);

/// The file is read again after this time even if it seems unchanged: clocks of file systems are coarse.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Least time between two records of progress.
const RECORD: Duration = Duration::from_secs(1);

/// The loop spends at most one part in this many of its time on reading and writing the transfer
/// file.
const SHARE: u32 = 20;

/// The reason why the daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The daemon was told to end, and left the rest of its work.
    Told,
    /// A signal came, and the daemon left the rest of its work.
    Signal,
    /// Nothing was left to do.
    Finished,
    /// Another process has removed the daemon's files: the next run, or a process that has waited
    /// too long for the daemon.
    Gone,
}

/// The places in which the daemon works.
pub struct Daemon<'a> {
    /// Caches and prefix directories.
    pub files: &'a dyn Files,
    /// The control directory.
    pub control: &'a Control,
    /// User and job in the names of cache directories.
    pub user: &'a str,
    /// See `user`.
    pub job: &'a str,
    /// One line for each thing that the user should know.
    pub say: &'a mut dyn FnMut(&str),
    /// Attributes of files that file systems have refused to keep.
    pub unkept: &'a Unkept,
    /// True once a signal asks the daemon to end.
    pub stop: &'a dyn Fn() -> bool,
    /// Do not tell of each part that has ended.
    pub quiet: bool,
}

/// A part that is being copied.
struct Work {
    at: PartId,
    part: TransferPart,
    task: Task<Result<Copied>>,
    shared: Shared,
    /// Time at which its progress was recorded, and duration of the recording.
    recorded: (Instant, Duration),
    /// The beats of its thread at that time.
    beats: u64,
    /// The thread of the part, which ends with this work.
    _worker: Worker,
}

/// The last reading of the transfer file.
#[derive(Default)]
struct Look {
    version: Option<Version>,
    read: Option<Instant>,
    took: Duration,
}

/// The transfer file, if it was read.
enum Seen {
    Unchanged,
    Read(Transfer),
}

/// The result of [`Daemon::begin`].
enum Begun {
    Work(Box<Work>),
    /// The copy has to be tried again.
    Again,
    Nothing,
}

/// The next step of the loop of [`Daemon::serve`].
enum Next {
    /// The loop looks again after a pause.
    Wait,
    /// The loop looks again at once.
    Again,
    End(Ended),
}

/// The first part of this node that is still to be copied.
fn next_part(file: &Transfer) -> Option<(PartId, TransferPart)> {
    let host = Name::from(host());
    let mut parts = file.parts();
    let (at, part) = parts.find(|(_, part)| !part.has_ended() && part.host == host)?;
    Some((at, part.clone()))
}

impl Daemon<'_> {
    /// Serves until the daemon is told to end; with `finish`, until nothing is left to do. `_claim`
    /// proves that no other daemon runs.
    ///
    /// # Errors
    /// The transfer file belongs to somebody else, or its directory cannot be used.
    pub fn serve(mut self, _claim: &Claim, finish: bool) -> Result<Ended> {
        self.take_up(finish)?;
        let mut work: Option<Work> = None;
        let mut look = Look::default();
        let ended = loop {
            let begun = Instant::now();
            if (self.stop)() {
                break Ended::Signal;
            }
            if !self.control.is_claimed() {
                break Ended::Gone;
            }
            if let Some(one) = work.take_if(|work| !work.task.is_running()) {
                self.record_end(one)?;
                look.read = None;
                continue;
            }
            let known = match self.read(&mut look) {
                Ok(Seen::Unchanged) => None,
                Ok(Seen::Read(file)) => Some(file),
                Err(error) if is_damage(&error) => {
                    self.give_up(work.take())?;
                    let aside = self.control.put_aside()?;
                    (self.say)(&format!(
                        "{error}; it is put aside as {}, and nothing in the cache is lost",
                        aside.display()
                    ));
                    continue;
                }
                Err(error) => {
                    self.give_up(work.take())?;
                    return Err(error);
                }
            };
            if let (Some(one), None) = (&work, &known) {
                one.shared.touched(begun);
            }
            if let Some(file) = known {
                match self.follow(&file, &mut work, &mut look, begun, finish)? {
                    Next::Wait => {}
                    Next::Again => continue,
                    Next::End(ended) => break ended,
                }
            }
            if let Some(one) = &mut work {
                self.record_progress(one);
            }
            sleep(TICK);
        };
        match ended {
            // The transfer file is another daemon's now.
            Ended::Gone => work.iter().for_each(let_go),
            _ => self.give_up(work.take())?,
        }
        Ok(ended)
    }

    /// Follows the transfer file: obeys its commands, and begins the next part.
    fn follow(
        &mut self,
        file: &Transfer,
        work: &mut Option<Work>,
        look: &mut Look,
        begun: Instant,
        finish: bool,
    ) -> Result<Next> {
        if let Some(ended) = self.obey(file, work, begun)? {
            return Ok(Next::End(ended));
        }
        if work.is_some() {
            return Ok(Next::Wait);
        }
        if !file.may_begin() && file.is_stopped() {
            // A run that began meanwhile has stopped all transfers.
            return Ok(if finish {
                Next::End(Ended::Finished)
            } else {
                Next::Wait
            });
        }
        Ok(match self.begin(look, begun)? {
            Begun::Work(one) => {
                *work = Some(*one);
                Next::Wait
            }
            Begun::Again => Next::Again,
            // A run that began meanwhile may have given another command.
            Begun::Nothing if file.commands(FINISH) => Next::End(Ended::Finished),
            Begun::Nothing if finish && next_part(file).is_none() => Next::End(Ended::Finished),
            Begun::Nothing => Next::Wait,
        })
    }

    /// Takes up the work of the last daemon: the part that it was copying is copied again. A command to end was for
    /// that daemon.
    fn take_up(&mut self, finish: bool) -> Result<()> {
        let change = |file: &mut Transfer| {
            file.state = Some(STOPPED.into());
            let ended = file.commands(EXIT) || file.commands(FINISH);
            match finish {
                true => file.command = Some(FINISH.into()),
                false if ended => file.command = Some(RUN.into()),
                false => {}
            }
            for dataset in file.datasets.values_mut() {
                dataset.parts.retain(|_, part| !part.cancel);
                let open = dataset.parts.values_mut().filter(|part| !part.has_ended());
                open.for_each(TransferPart::restart);
            }
            file.datasets.retain(|_, dataset| !dataset.parts.is_empty());
        };
        if self.control.version()?.is_none() && !finish {
            return Ok(());
        }
        match self.control.update(change) {
            Err(error) if is_damage(&error) => {
                let aside = self.control.put_aside()?;
                (self.say)(&format!("{error}; it is put aside as {}", aside.display()));
                self.control.update(change)
            }
            other => other,
        }
    }

    fn read(&self, look: &mut Look) -> Result<Seen> {
        let version = self.control.version()?;
        let pause = READ_AGAIN.max(look.took * SHARE);
        let recent = look.read.is_some_and(|read| read.elapsed() < pause);
        let hasty = look
            .read
            .is_some_and(|read| read.elapsed() < look.took * SHARE);
        if hasty || (recent && version == look.version) {
            return Ok(Seen::Unchanged);
        }
        let begun = Instant::now();
        let file = self.control.read()?.unwrap_or_default();
        (look.version, look.read, look.took) = (version, Some(begun), begun.elapsed());
        Ok(Seen::Read(file))
    }

    /// Follows the file's command about the work at hand. Returns the reason to end, if the command
    /// says to end.
    fn obey(
        &mut self,
        file: &Transfer,
        work: &mut Option<Work>,
        look: Instant,
    ) -> Result<Option<Ended>> {
        if let Some(one) = work {
            one.shared.looked(limits(file), look);
            let still = file
                .part(one.at)
                .is_some_and(|part| part.is_same(&one.part) && part.is_running() && !part.cancel);
            if !still || !file.may_begin() {
                self.give_up(work.take())?;
            }
        }
        Ok(file.commands(EXIT).then_some(Ended::Told))
    }

    /// Begins the next part.
    fn begin(&mut self, look: &mut Look, begun: Instant) -> Result<Begun> {
        let chosen = self.control.update(|file| {
            let next = next_part(file).filter(|_| file.may_begin());
            let all = file.parts().all(|(_, part)| part.is_done());
            match &next {
                Some((at, _)) => {
                    file.beat();
                    file.state = Some(RUNNING.into());
                    (file.flag, file.files) = (None, Default::default());
                    let part = file.part_mut(*at);
                    part.into_iter()
                        .for_each(|part| part.state = Some(RUNNING.into()));
                }
                None => {
                    file.state = Some(STOPPED.into());
                    if all && !file.is_empty() {
                        file.flag = Some(DONE.into());
                    }
                }
            }
            (next, limits(file))
        });
        let (next, limits) = match chosen {
            Err(error) if is_damage(&error) => return Ok(Begun::Again),
            // A full file system may have room later.
            Err(error) if error.is_transient() => {
                (self.say)(&error.to_string());
                return Ok(Begun::Nothing);
            }
            other => other?,
        };
        look.read = None;
        let Some((at, part)) = next else {
            return Ok(Begun::Nothing);
        };
        match self.start(at, &part, limits, begun) {
            Ok(work) => Ok(Begun::Work(Box::new(work))),
            Err(error) => {
                self.record(at, &part, Err(error), Progress::default())?;
                Ok(Begun::Again)
            }
        }
    }

    fn start(
        &self,
        at: PartId,
        part: &TransferPart,
        limits: Limits,
        begun: Instant,
    ) -> Result<Work> {
        part_check::check(part, at).map_err(|e| e.in_file(self.control.file()))?;
        let layout = Layout::new(part.base.as_path(), self.user, self.job);
        self.files
            .check_private_dirs(layout.base(), layout.below())?;
        let level = part.level.and_then(|level| usize::try_from(level).ok());
        let layout = layout
            .of_run(part_check::run_number(part).unwrap_or(0))
            .at(level);
        let prefix = Prefix::new(part.prefix.as_path());
        let files = prefix.confine(self.files, [layout.job()]);
        let shared = Shared::new(limits, begun);
        let control = self.control.clone();
        let cores: Vec<usize> = part.cores.iter().map(|core| *core as usize).collect();
        let (part, mut worker) = (part.clone(), Worker::new("scr-transfer"));
        let (order, followed) = (part.clone(), shared.clone());
        let work = move |cancel: &Cancel| {
            let permit = permit::path(&prefix, at.dataset, &order.run);
            let permit = Permit::new(&*files, permit);
            let follower = Follower {
                shared: &followed,
                files: &*files,
                pace: Pace::new(limits, cancel),
                cancel,
                permit,
                control: &control,
                current: Cell::default(),
            };
            follower.list(&prefix, &sources(&layout, &order))?;
            follower.may_go_on()?;
            let buffer = usize::try_from(order.buffer).unwrap_or(usize::MAX);
            let after_piece = |bytes| follower.after_piece(bytes);
            let copier = Copier::new(&*files, limits.piece(buffer));
            let mut copier = copier.watched(&after_piece).deciding(&follower);
            let checksums = Checksums::beside_a_run(order.checksums);
            let copied = copy_part(
                &*files,
                &prefix,
                at,
                &order,
                &layout,
                checksums,
                &mut copier,
            )?;
            follower.end_file();
            Ok(copied)
        };
        let task = worker.submit(move || lower_priority(&cores), work)?;
        Ok(Work {
            at,
            part,
            task,
            shared,
            recorded: (Instant::now(), Duration::ZERO),
            beats: 0,
            _worker: worker,
        })
    }

    /// Ends the work at hand before it is done, and records that nothing is being copied.
    fn give_up(&mut self, work: Option<Work>) -> Result<()> {
        let Some(work) = work else {
            return match self.control.read() {
                Ok(Some(file)) if !file.is_stopped() => self.record_stopped(None),
                // A transfer file that cannot be read is handled where its content is needed.
                _ => Ok(()),
            };
        };
        let_go(&work);
        match work.task.take() {
            // The copy was complete before the cancellation could stop it.
            Some(Ok(copied)) => {
                let progress = work.shared.progress();
                self.record(work.at, &work.part, Ok(copied), progress)
            }
            _ => self.record_stopped(Some(&work)),
        }
    }

    fn record_stopped(&mut self, work: Option<&Work>) -> Result<()> {
        let recorded = self.control.update(|file| {
            file.beat();
            file.state = Some(STOPPED.into());
            let Some(work) = work else { return };
            let same = |part: &&mut TransferPart| part.is_same(&work.part);
            if let Some(part) = file.part_mut(work.at).filter(same) {
                if part.cancel {
                    file.remove(work.at)
                } else {
                    part.restart()
                }
            }
        });
        self.tolerate(recorded)
    }

    fn record_end(&mut self, work: Work) -> Result<()> {
        let given_up = || Error::config("the copying thread", "ended without a result");
        let result = work.task.take().unwrap_or_else(|| Err(given_up()));
        let progress = work.shared.progress();
        self.record(work.at, &work.part, result, progress)
    }

    /// Records the end of a part. With a full control directory it tries again until it may end.
    fn record(
        &mut self,
        at: PartId,
        part: &TransferPart,
        result: Result<Copied>,
        progress: Progress,
    ) -> Result<()> {
        let mut told = false;
        loop {
            let recorded = self.control.update(|file| {
                file.beat();
                file.state = Some(STOPPED.into());
                file.files.clone_from(&progress.files);
                let same = |one: &&mut TransferPart| one.is_same(part);
                let Some(one) = file.part_mut(at).filter(same) else {
                    return;
                };
                one.state = None;
                match &result {
                    Ok(copied) => {
                        one.result = Some(DONE.into());
                        (one.files, one.size) = (Some(copied.files), Some(copied.bytes));
                        one.written = Some(copied.bytes);
                    }
                    Err(error) => {
                        one.result = Some(FAILED.into());
                        one.error = Some(excerpt(&error.to_string(), 2000).into());
                        one.written = Some(progress.written);
                    }
                }
                if one.cancel {
                    file.remove(at);
                }
            });
            match recorded {
                Err(error) if error.is_transient() && !(self.stop)() => {
                    if !told {
                        (self.say)(&format!("{error}; trying again"));
                        told = true;
                    }
                    sleep(READ_AGAIN);
                }
                other => {
                    self.unkept
                        .tell()
                        .into_iter()
                        .for_each(|text| (self.say)(&text));
                    self.tell_end(at, part, &result);
                    return self.tolerate(other);
                }
            }
        }
    }

    fn tell_end(&mut self, at: PartId, part: &TransferPart, result: &Result<Copied>) {
        if self.quiet {
            return;
        }
        let name = &part.dataset.name;
        let what = match result {
            Ok(copied) => format!(
                "copied, {}, {} bytes",
                counted(copied.files as usize, "file"),
                copied.bytes
            ),
            Err(error) => format!("not copied: {error}"),
        };
        (self.say)(&format!(
            "{} of {} ({name}): {what}",
            at.words(),
            part.parts
        ));
    }

    fn record_progress(&mut self, work: &mut Work) {
        let (last, took) = work.recorded;
        let (written, beats) = (work.shared.written(), work.shared.beats());
        if last.elapsed() < RECORD.max(took * SHARE) {
            return;
        }
        let begun = Instant::now();
        let progress = work.shared.progress();
        // The next update follows soon.
        let _ = self.control.update(|file| {
            let same = |part: &&mut TransferPart| part.is_same(&work.part) && part.is_running();
            if let Some(part) = file.part_mut(work.at).filter(same) {
                (part.files, part.size) = (Some(progress.count), Some(progress.size));
                part.written = Some(written);
                file.files.clone_from(&progress.files);
                if beats != work.beats {
                    file.beat();
                }
            }
        });
        work.beats = beats;
        work.recorded = (begun, begun.elapsed());
    }

    /// A damaged file is put aside by the loop, and a full file system is reported.
    fn tolerate(&mut self, result: Result<()>) -> Result<()> {
        match result {
            Err(error) if is_damage(&error) => Ok(()),
            Err(error) if error.is_transient() || error.is_not_found() => {
                (self.say)(&error.to_string());
                Ok(())
            }
            other => other,
        }
    }
}

/// Ends the copy of a part, and waits until nothing is written any more.
fn let_go(work: &Work) {
    work.task.cancel();
    while work.task.is_running() {
        work.shared.touched(Instant::now());
        sleep(Duration::from_millis(5));
    }
}

/// The limits in the file. The file has no orders when the program has ended.
fn limits(file: &Transfer) -> Limits {
    if file.commands(FINISH) {
        Limits {
            bandwidth: 0,
            percent: 0.0,
        }
    } else {
        Limits {
            bandwidth: file.bw as u64,
            percent: file.percent,
        }
    }
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
