//! Flushes that go on while the program computes. The leader of each cache directory copies the files
//! of all ranks that share it, in a thread that makes no MPI call; see [`part`](crate::prefix::part).
//! In later calls of the program, the ranks agree on which flushes have ended.

use super::outcome::{EndedFlush, FlushResult};
use super::transfer::{PartShape, entry_of_part, permit_run};
use super::{Copiers, Way};
use crate::comm::{Term, VerdictExt, collective};
use crate::daemon::client::Entry;
use crate::daemon::part::copy_part;
use crate::events::{Message, Severity};
use crate::format::{Dataset, Name};
use crate::messages::NO_DAEMON;
use crate::prefix::flush_target::Checksums;
use crate::prefix::part::Copied;
use crate::prefix::permit::Permit;
use crate::prefix::{finish, index, permit};
use crate::session::run::{Run, Store, time_now};
use crate::session::wait_for::WaitFor;
use crate::system::thread::lower_priority;
use crate::system::time::Instant;
use crate::transfer::copy::Copier;
use crate::transfer::pace::Pace;
use crate::transfer::worker::{Cancel, Task, Worker};
use crate::{Error, Result};
use std::time::Duration;

/// The flushes of a run that have not ended, oldest first.
pub(in crate::session) struct BackgroundFlushes {
    worker: Worker,
    flushes: Vec<Flushing>,
    /// True after the user was told that this node has no daemon.
    told: bool,
}

/// A flush that begins. The same on all ranks, except for where the part goes in containers.
pub(super) struct Starting<'a> {
    pub dataset: &'a Dataset,
    pub copiers: Copiers,
    pub shape: PartShape,
    /// Time at which it began to hold up the program.
    pub begun: Instant,
}

/// A dataset that is being copied to the prefix directory. The same on all ranks, except for times
/// and `part`.
struct Flushing {
    dataset: Dataset,
    copiers: Copiers,
    begun: Instant,
    /// Time for which the flush has held up the program.
    blocked: Duration,
    cancelled: bool,
    /// The part of this rank, if this rank is a leader.
    part: Option<LeaderPart>,
}

/// A leader's part of a flush.
struct LeaderPart {
    task: Task<Result<Copied>>,
    /// The part as it is in the transfer file.
    entry: Entry,
    /// Asks the task to leave the part to its daemon.
    stay: Cancel,
}

impl Default for BackgroundFlushes {
    fn default() -> Self {
        BackgroundFlushes {
            worker: Worker::new("scr-flush"),
            flushes: Vec::new(),
            told: false,
        }
    }
}

impl BackgroundFlushes {
    /// True if a flush has not ended, as far as the ranks have agreed. The same on all ranks.
    pub fn is_busy(&self) -> bool {
        !self.flushes.is_empty()
    }

    /// The other datasets of this name, whose files a new dataset would overwrite.
    pub fn ids_of_name(&self, name: &Name, id: u64) -> Vec<u64> {
        let flushes = self.flushes.iter().map(|flush| &flush.dataset);
        let same = flushes.filter(|d| d.name == *name && d.id != id);
        same.map(|d| d.id).collect()
    }

    /// Starts the flush of a dataset in `store`, after [`announce`](finish::announce): by the daemon of
    /// the node, if the store uses daemons and one is running; else by a thread. Local; all ranks call
    /// it.
    ///
    /// # Errors
    /// This rank leads the store, and cannot start a thread.
    pub(super) fn start(&mut self, run: &Run, store: &Store, starting: Starting) -> Result<()> {
        let leads = run.together_in(store).leader == run.rank();
        let started = leads.then(|| self.start_part(run, store, &starting));
        let (part, result) = match started.transpose() {
            Ok(part) => (part, Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.flushes.push(Flushing {
            dataset: starting.dataset.clone(),
            copiers: starting.copiers,
            begun: starting.begun,
            blocked: starting.begun.elapsed(),
            cancelled: false,
            part,
        });
        result
    }

    /// Starts the copy of this leader's part. Local.
    fn start_part(&mut self, run: &Run, store: &Store, starting: &Starting) -> Result<LeaderPart> {
        let entry = entry_of_part(run, store, starting.dataset, starting.shape);
        let by_daemon = starting.copiers == Copiers::Daemon && self.give(run, &entry);
        let stay = Cancel::default();
        let by_daemon = by_daemon.then(|| stay.clone());
        let work = work_of(run, store, entry.clone(), by_daemon);
        let cores = run.settings.flush_async_cores.clone();
        let task = self.worker.submit(move || lower_priority(&cores), work)?;
        Ok(LeaderPart { task, entry, stay })
    }

    /// Enters a part for the daemon. False if no daemon takes the part; rank 0 reports that once.
    fn give(&mut self, run: &Run, entry: &Entry) -> bool {
        let given = entry.give();
        if !matches!(given, Ok(true)) && !std::mem::replace(&mut self.told, true) {
            let severity = match run.rank() {
                0 => Severity::Warning,
                _ => Severity::Debug(1),
            };
            let why = match &given {
                Err(error) => error.to_string(),
                Ok(_) => format!(
                    "no transfer daemon serves {} (scr run starts one, and so does scr transfer) ({NO_DAEMON})",
                    entry.control.dir().display()
                ),
            };
            run.tell(severity, format!("{why}; threads flush in its place"));
        }
        given.unwrap_or(false)
    }

    /// Hands the flushes that have not ended over to the transfer files, and forgets them. Gives their
    /// datasets, which are the same on all ranks. Local.
    ///
    /// # Errors
    /// This rank could not enter a part; the part is still in the cache.
    pub fn hand_over(&mut self, run: &Run) -> (Vec<Dataset>, Result<()>) {
        let pause = Duration::from_micros(run.settings.flush_async_usleep);
        let mut flushes = std::mem::take(&mut self.flushes);
        for part in flushes.iter().filter_map(|flush| flush.part.as_ref()) {
            part.stay.cancel();
            part.task.cancel();
        }
        let mut result = Ok(());
        for part in flushes.iter_mut().filter_map(|flush| flush.part.take()) {
            part.task.wait(pause);
            if !matches!(part.task.take(), Some(Ok(_))) {
                result = result.and(part.entry.leave());
            }
        }
        (
            flushes.into_iter().map(|flush| flush.dataset).collect(),
            result,
        )
    }

    /// Asks flushes to end before their work is done. Local; the same on all ranks.
    pub fn cancel(&mut self, which: WaitFor) {
        for flush in &mut self.flushes {
            if which.includes(&flush.dataset) {
                flush.cancelled = true;
                flush.part.iter().for_each(|part| part.task.cancel());
            }
        }
    }

    /// Ends this process's work for flushes. Daemons go on. Local.
    pub fn abandon(&mut self) {
        let parts = self.flushes.iter().filter_map(|flush| flush.part.as_ref());
        parts.for_each(|part| part.stay.cancel());
        self.cancel(WaitFor::All);
    }

    /// The flushes that have ended, after waiting for some of them. Collective; one round if there are
    /// any, and two more for each that has ended.
    pub(super) fn ended(&mut self, run: &Run, wait: WaitFor) -> Result<Vec<EndedFlush>> {
        if self.flushes.is_empty() {
            return Ok(Vec::new());
        }
        let pause = Duration::from_micros(run.settings.flush_async_usleep);
        let begun = Instant::now();
        let mut terms: Vec<Term> = Vec::new();
        for flush in &self.flushes {
            if wait.includes(&flush.dataset) {
                flush.part.iter().for_each(|part| part.task.wait(pause));
            }
            let part = flush.part.as_ref();
            let running = part.is_some_and(|part| part.task.is_running());
            terms.push(Term::Max(running.into()));
        }
        let running = collective::combine_all(&*run.comm, terms)?;
        let waited = begun.elapsed();
        let (mut ended, mut flushes) = (Vec::new(), Vec::new());
        for (mut flush, term) in self.flushes.drain(..).zip(running) {
            if wait.includes(&flush.dataset) {
                flush.blocked += waited;
            }
            if term.on_any() {
                flushes.push(flush)
            } else {
                ended.push(flush)
            }
        }
        self.flushes = flushes;
        ended
            .into_iter()
            .map(|flush| {
                let result = flush.result(run).verdict()?;
                Ok(EndedFlush {
                    way: Way::Background(flush.copiers),
                    dataset: flush.dataset,
                    begun: flush.begun,
                    blocked: flush.blocked,
                    filemap: None,
                    result,
                })
            })
            .collect()
    }
}

/// A session that ends without `SCR_Finalize` does not wait for its flushes.
impl Drop for BackgroundFlushes {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Flushing {
    /// The result of the flush. Collective; all ranks return the same verdict.
    fn result(&self, run: &Run) -> Result<FlushResult> {
        if self.cancelled {
            return Ok(FlushResult::Cancelled);
        }
        let given_up = || {
            let interrupted = std::io::ErrorKind::Other.into();
            Err(Error::io("copy", "a part of the dataset", interrupted))
        };
        let copied = match self.part.as_ref().map(|part| part.task.take()) {
            Some(done) => done.unwrap_or_else(given_up),
            None => Ok(Copied::default()),
        };
        let unkept = run.has_warning(run.unkept.is_untold());
        let (_, [unkept]) = run.agree_with(copied, [unkept])?.all_done()?;
        run.tell_unkept(unkept);
        if run.share_from_root(|| self.in_index(run))? {
            Ok(FlushResult::Saved)
        } else {
            Ok(FlushResult::Dropped)
        }
    }

    /// True if the index has the dataset as complete, false if the dataset was taken out of the index. Local, on
    /// rank 0.
    ///
    /// # Errors
    /// All parts were copied, but the index has the dataset as not complete.
    fn in_index(&self, run: &Run) -> Result<bool> {
        let (files, prefix) = (&*run.files, &run.prefix);
        let state = || -> Result<Option<bool>> {
            let index = index::read(files, prefix)?;
            let entry = index.get(self.dataset.id).filter(|entry| {
                let known = entry.dataset.as_ref();
                known.is_some_and(|known| known.created == self.dataset.created)
            });
            Ok(entry.map(|entry| entry.complete))
        };
        if state()? == Some(false) {
            // On a file system that shows new files late, each of the last two parts may have missed the
            // record of the other. Then neither part has completed the dataset.
            let mut problems = Vec::new();
            finish::finish_ended(files, prefix, &time_now, &mut problems)?;
            if let Some(problem) = problems.into_iter().next() {
                return Err(problem);
            }
        }
        match state()? {
            Some(false) => Err(Error::corrupt(
                prefix.dataset(self.dataset.id),
                "lacks completion records of parts that were copied",
            )),
            other => {
                permit::end(files, prefix, self.dataset.id, &permit_run(run));
                Ok(other.is_some())
            }
        }
    }
}

/// The work of a leader: copies the files of the ranks that share its store, or watches the daemon that
/// copies them, until it is asked to leave them `by_daemon`.
fn work_of(
    run: &Run,
    store: &Store,
    entry: Entry,
    by_daemon: Option<Cancel>,
) -> impl FnOnce(&Cancel) -> Result<Copied> + Send + 'static {
    let (files, prefix, layout) = (run.files.clone(), run.prefix.clone(), store.layout.clone());
    let (sink, speaker) = (run.sink.clone(), run.speaker.clone());
    let buffer = run.settings.file_buf_size;
    move |cancel| {
        let copy = |cancel: &Cancel| {
            let limits = entry.limits;
            let pace = Pace::new(limits, cancel);
            let after_piece = |bytes| pace.after(bytes);
            let copier = Copier::new(&*files, limits.piece(buffer));
            let permit = permit::path(&prefix, entry.at.dataset, &entry.part.run);
            let permit = Permit::new(&*files, permit);
            let mut copier = copier.watched(&after_piece).deciding(&permit);
            copy_part(
                &*files,
                &prefix,
                entry.at,
                &entry.part,
                &layout,
                Checksums::in_a_run(entry.part.checksums),
                &mut copier,
            )
        };
        let Some(stay) = by_daemon else {
            return copy(cancel);
        };
        let tell = |text| sink.take(&speaker, &Message::new(Severity::Warning, text));
        entry.watch(cancel, &stay, copy, tell)
    }
}
