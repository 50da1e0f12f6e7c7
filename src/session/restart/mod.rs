//! Reading a checkpoint: `SCR_Have_restart`, `SCR_Start_restart`, `SCR_Complete_restart`.

pub(super) mod any_ranks;
mod current;
pub(super) mod fetch;
mod leader_report;
pub(super) mod make_room;
mod node_copies;
mod read_files;
pub(super) mod reading;
pub(super) mod recover;
pub(super) mod recovery_plan;
mod restart_list;
pub(super) mod step;

use super::Session;
use crate::comm::{Agreement, Term, VerdictExt};
use crate::events::{Event, Severity};
use crate::format::{Dataset, Name};
use crate::messages::{CHECKPOINT_REQUIRED, NO_CHECKPOINT, NOT_READ, OTHER_FIELDS};
use crate::prefix::index;
use crate::session::datasets::cached::title;
use crate::session::datasets::restart_files::RestartFiles;
use crate::session::datasets::search::Restart;
use crate::session::datasets::survey::Replaced;
use crate::session::datasets::unavailable::{Cause, Unavailable};
use crate::session::restart::fetch::Attempt;
use crate::session::run::{Run, time_now};
use crate::session::state::{Call, State};
use crate::system::time::Instant;
use crate::text::{counted, option};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The word of a rank about the checkpoint that it was to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The rank has read all its files.
    Read,
    /// The checkpoint is bad.
    Bad,
    /// The rank could not read the checkpoint, for a reason other than its content: no memory, an
    /// interrupt, an error that may pass.
    NotRead,
    /// The checkpoint is good, but is not one of this program: it has other fields.
    Unfit,
}

impl From<bool> for Verdict {
    fn from(valid: bool) -> Self {
        if valid { Verdict::Read } else { Verdict::Bad }
    }
}

impl Restart<'_> {
    /// Searches this run, the cache and the prefix directory, from the newest checkpoint to the
    /// oldest, until one can be offered. Collective.
    fn search_all(&mut self) -> Result<()> {
        let found = self.search_newest_first();
        self.search.tell_passed_over(self.run);
        found
    }

    /// Begins a new search, and offers the newest checkpoint of this run if nothing comes before it.
    /// Collective.
    fn offer_of_run(&mut self) -> Result<()> {
        self.search.begin();
        let newest = self.search.newest_of_run(self.run, self.cached)?;
        self.search.offer.set(newest);
        Ok(())
    }

    fn search_newest_first(&mut self) -> Result<()> {
        self.search.begin();
        let mut fetched_all = false;
        loop {
            // Neither of the first two offers what is older than the next one in the prefix
            // directory.
            let newest = self.search.newest_of_run(self.run, self.cached)?;
            self.search.offer.set(newest);
            let found = self.search.offer.files().is_some()
                || (self.run.settings.distribute && self.search_cache()?.is_some());
            if found || fetched_all {
                return Ok(());
            }
            match self.fetch_next()? {
                Attempt::Fetched(id) => {
                    self.offer(id);
                    return Ok(());
                }
                Attempt::Failed => {}
                Attempt::NoneLeft => fetched_all = true,
            }
        }
    }

    /// Takes a checkpoint that the program could not read out of the search; the index marks it as
    /// failed. Collective.
    fn reject_offered(&mut self, offered: &RestartFiles) -> Result<()> {
        let run = self.run;
        let (id, name) = (offered.dataset.id, &offered.dataset.name);
        let is_wanted = run.settings.current.as_deref().map(Name::from).as_ref() == Some(name);
        let marked = run.on_root(|| {
            if is_wanted {
                // Or else the next run would make it current, and offer it again.
                current::is_used(run, name.clone());
            }
            index::update(&*run.files, &run.prefix, |index| {
                // The id may have passed to another dataset meanwhile.
                let known = index.get(id).and_then(|entry| entry.dataset.as_ref());
                if known.is_some_and(|known| known.name == *name) {
                    index.mark_failed(id, time_now().as_str());
                }
                Ok(())
            })
        });
        // Or else the next search would offer it again, without end, where these records cannot be written.
        if let Some(survey) = self.search.survey.get_mut() {
            if is_wanted {
                survey.note_current_used();
            }
            if marked.is_err() {
                survey.note_bad(id);
            }
        }
        let slots = self.cached.slots(|c| c.dataset.id == id);
        self.cached.remove(run, self.search, &slots);
        run.agree(marked.map(drop))
    }
}

/// A fetched checkpoint is not one of this program. The checkpoint that was current before becomes current again,
/// or else a later search would take the fetched one for the user's choice. Rank 0.
fn make_current_again(run: &Run, replaced: Replaced) {
    run.keep_record(|| {
        index::update(&*run.files, &run.prefix, |index| {
            let fetched = index.name(replaced.by);
            if fetched.is_some() && fetched == index.current() {
                index.restore_current(replaced.current);
            }
            Ok(())
        })
    });
}

impl Session {
    /// True if the content of this file of the offered checkpoint was compared with its checksum when this process recovered
    /// it from the cache, and the file was not changed since. Local.
    pub fn is_verified(&self, path: &Path) -> bool {
        let Some(offered) = self.search.offer.files().filter(|files| !files.bypass) else {
            return false;
        };
        let now = self.run.files.stat(path).ok().flatten();
        let file = path.strip_prefix(&offered.root).ok();
        let verified = file.zip(now).map(|(file, now)| {
            let id = offered.dataset.id;
            self.cached.is_verified(id, file, now.stamp())
        });
        verified.unwrap_or(false)
    }

    /// The name of the checkpoint to restart from, if there is one (`SCR_Have_restart`): the newest
    /// that this run, the cache or the prefix directory has. The checkpoint is offered until it is
    /// rejected, or the next dataset is started. Collective.
    ///
    /// # Errors
    /// There is no checkpoint, and the user requires one (`SCR_REQUIRE_RESTART`). Or this run cannot
    /// use the checkpoint: another number of ranks wrote it, or it cannot be read now. After this error no older
    /// checkpoint is offered. The next call searches again.
    pub fn have_restart(&mut self) -> Result<Option<Name>> {
        self.state.allow(Call::HaveRestart)?;
        self.count_call();
        if self.search.offer.files().is_none() && self.background.flushes.is_busy() {
            self.restart().offer_of_run()?;
        }
        if self.search.offer.files().is_none() {
            self.flush().look_after(Call::HaveRestart)?;
            let computing = self.statistics.is_computing();
            self.statistics.compute_ends(&self.run, Instant::now());
            let found = self.restart().search_all();
            if computing {
                self.statistics.compute_starts(&self.run);
            }
            found?;
        }
        if let Some(name) = self.search.offer.tell() {
            return Ok(Some(name));
        }
        if let Some(unavailable) = self.search.offer.newest_unavailable() {
            return Err(unavailable.error());
        }
        if let Some((_, why)) = self.search.offer.unfit().first() {
            let given_up = self.run.settings.start_anew;
            let rest = if given_up {
                "all of them are given up, as SCR_START_ANEW=1 asks for it"
            } else {
                "restore it with the program, or the input, that wrote it, or give all of them up: SCR_START_ANEW=1; \
                 until then nothing is written"
            };
            let others = match self.search.offer.unfit().len() {
                0 | 1 => String::new(),
                count => format!(" (nor do {} older ones fit)", count - 1),
            };
            let what = format!(
                "no checkpoint fits this program; the newest: {why}{others}; {rest} ({OTHER_FIELDS})"
            );
            if !given_up {
                return Err(Error::usage(Call::HaveRestart.name(), what));
            }
            self.run.tell_once(Severity::Note, what);
        }
        let prefix = self.run.prefix.root().display();
        if self.run.settings.require_restart {
            return Err(Error::config(
                prefix.to_string(),
                format!(
                    "has no checkpoint to restart from, and SCR_REQUIRE_RESTART=1 asks for one; see the \
                     messages above, or unset it to start from the beginning ({CHECKPOINT_REQUIRED})"
                ),
            ));
        }
        let without = if self.run.settings.fetch {
            ""
        } else {
            " (not searched: SCR_FETCH=0)"
        };
        let failed = self.failed_before();
        let severity = failed
            .as_ref()
            .map_or(Severity::Note, |_| Severity::Warning);
        let (marked, over) = failed.map_or((String::new(), ""), |marked| {
            (marked, ", and may write over them")
        });
        let text = format!(
            "no checkpoint to restart from in the cache or in {prefix}{without}{marked}: the program starts \
             from the beginning{over} ({NO_CHECKPOINT})"
        );
        self.run.tell_once(severity, text);
        Ok(None)
    }

    /// Rank 0: which checkpoints in the prefix directory are marked as failed, in words. A start before this one has
    /// reported the reason, and the new checkpoints may write over the old ones. Local.
    fn failed_before(&self) -> Option<String> {
        let run = &self.run;
        if run.rank() != 0 || !run.settings.fetch {
            return None;
        }
        let index = index::read(&*run.files, &run.prefix).ok()?;
        let all = index.datasets().values();
        let failed =
            all.filter(|entry| entry.complete && entry.is_checkpoint() && !entry.is_good());
        let failed: Vec<&Dataset> = failed.filter_map(|entry| entry.dataset.as_ref()).collect();
        let newest = failed.iter().max_by_key(|dataset| dataset.created)?;
        let count = failed.len();
        let are = if count == 1 { "is" } else { "are" };
        Some(format!(
            ", where {} {are} marked as failed, the newest {}",
            counted(count, "checkpoint"),
            title(newest)
        ))
    }

    /// Starts to read the checkpoint that [`Session::have_restart`] has offered, and gives its name
    /// (`SCR_Start_restart`). Local.
    ///
    /// # Errors
    /// No checkpoint is offered: a failed phase begins, as after [`Session::start_output`].
    pub fn start_restart(&mut self) -> Result<Name> {
        let state = self.state.allow(Call::StartRestart)?;
        self.count_call();
        let Some(offered) = self.search.offer.files() else {
            self.state = self.state.refused(Call::StartRestart);
            return Err(Error::usage(
                Call::StartRestart.name(),
                "there is no checkpoint to restart from; call SCR_Have_restart, and go on only \
                 if it sets its flag",
            ));
        };
        self.state = state;
        self.reading.begin(&self.run, offered);
        let dataset = offered.dataset.clone();
        self.statistics.compute_ends(&self.run, Instant::now());
        self.run.log_dataset(Event::RestartStart, &dataset);
        Ok(dataset.name)
    }

    /// Ends a restart (`SCR_Complete_restart`). If any rank says that the checkpoint is bad, it is marked
    /// as failed, and the next [`Session::have_restart`] offers another one.
    ///
    /// If a rank could not read the checkpoint for a reason other than its content, the checkpoint is kept,
    /// and no older one is offered in this run. A rank says so by [`Verdict::NotRead`]. A [`Verdict::Bad`]
    /// after an error of the system in a call of this restart means the same. Collective.
    ///
    /// # Errors
    /// A rank has not read it. All ranks return the same.
    pub fn complete_restart(&mut self, read: impl Into<Verdict>) -> Result<()> {
        let call = Call::CompleteRestart;
        self.state.end_phase(call)?;
        self.reading.lists.forget();
        let trouble = self.reading.trouble.take();
        let Some(offered) = self.search.offer.take() else {
            return Err(Error::usage(call.name(), "no checkpoint is open"));
        };
        let read = read.into();
        let unread = self.why_not_read(read, trouble);
        let dataset = &offered.dataset;
        let failed = |what: String| Err(Error::dataset(dataset.id, dataset.name.to_string(), what));
        let local = match read {
            Verdict::Read => Ok(()),
            Verdict::Unfit => failed(format!("is not of this program: {}", self.invalid(call))),
            Verdict::Bad | Verdict::NotRead => {
                failed(format!("cannot be read: {}", self.invalid(call)))
            }
        };
        let [a, b, c, d] = self.reading.node_copies.terms();
        let bad = Term::Max((read == Verdict::Bad).into());
        let unkept = self.run.has_warning(self.run.unkept.is_untold());
        let changed = self.reading.files.any_changed(&*self.run.files);
        let [unread_here, changed] = [unread.is_some(), changed].map(|is| Term::Max(is.into()));
        let terms = [a, b, c, d, bad, unread_here, unkept, changed];
        let Agreement { mut verdict, terms } = self.run.agree_with(local, terms)?;
        let [sums @ .., bad, not_given_up, unkept, changed] = terms;
        self.run.tell_unkept(unkept);
        let (bad, not_given_up) = (bad.on_any(), not_given_up.on_any());
        if not_given_up {
            // Not the lowest rank that failed has the reason, but one that could not read.
            let why = match self.run.agree(unread.map_or(Ok(()), Err)).verdict()? {
                Err(error) => error.to_string(),
                Ok(()) => String::new(),
            };
            let unavailable = could_not_read(dataset, &why);
            verdict = Err(unavailable.error());
            self.search.offer.cannot_use(unavailable);
        }
        // No rank reads any more.
        let deletion = self.cached.deletion();
        self.reading
            .node_copies
            .end(&self.run, deletion, &offered, sums);
        let begun = self.reading.begun.take();
        self.run.log(Event::RestartEnd, |record| {
            let mut record = record.of(&offered.dataset);
            record.note = verdict.as_ref().err().map(Error::to_string);
            begun.map_or(record.clone(), |begun| record.since(begun))
        });
        self.statistics.compute_starts(&self.run);
        match &verdict {
            Ok(()) => {
                self.fields.forget(&offered.dataset.name);
                self.statistics.count_restart();
                if changed.on_any() {
                    // A flush would find other content than was recorded, and a checksum that is taken now may be of either.
                    self.flush().finish_background()?;
                    let files = &self.reading.files;
                    files.keep_changed(&self.run, &mut self.cached, &offered)?;
                }
            }
            Err(_) if not_given_up => {}
            Err(unfit) if !bad => {
                let (id, unfit) = (offered.dataset.id, unfit.to_string());
                self.fields.does_not_fit(offered.dataset.name.clone());
                self.search.offer.does_not_fit(id, unfit);
                if let Some(survey) = self.search.survey.get_mut() {
                    let replaced = survey.does_not_fit(id).into_iter();
                    replaced.for_each(|it| make_current_again(&self.run, it));
                }
            }
            Err(_) => {
                self.fields.forget(&offered.dataset.name);
                self.flush().look_after(call)?;
                self.restart().reject_offered(&offered)?;
            }
        }
        verdict
    }

    /// The reason why this rank could not read the checkpoint, if that is not the checkpoint's
    /// content. Local.
    fn why_not_read(&self, read: Verdict, trouble: Option<Error>) -> Option<Error> {
        match (read, trouble) {
            (Verdict::Read | Verdict::Unfit, _) | (Verdict::Bad, None) => None,
            (_, Some(trouble)) => Some(trouble),
            (Verdict::NotRead, None) => {
                let said = self.why_invalid.clone();
                let what = said.unwrap_or_else(|| "the program called it with SCR_NOT_READ".into());
                Some(Error::usage(Call::CompleteRestart.name(), what))
            }
        }
    }

    /// The expected path, in a restart, of a file for which [`Session::route`] has failed: SCR v3.1.0
    /// also gives this path. Local.
    pub fn restart_path(&self, name: &Path) -> Option<PathBuf> {
        let offered = self.search.offer.files();
        let offered = offered.filter(|_| self.state == State::Restart)?;
        let relative = self.run.prefix.relative(name, &self.cwd).ok()?;
        let file = offered.find(&relative).unwrap_or(&relative);
        Some(offered.root.join(file))
    }

    /// Lets the next search offer checkpoints again that did not fit the program ([`Verdict::Unfit`]): it may ask
    /// for other fields now. Local; all ranks must call it.
    pub fn forget_unfit(&mut self) {
        self.search.offer.forget_unfit();
        if let Some(survey) = self.search.survey.get_mut() {
            survey.forget_unfit();
        }
    }
}

/// A checkpoint that was offered and could not be read, though it may be good. No older checkpoint is
/// offered.
fn could_not_read(dataset: &Dataset, why: &str) -> Unavailable {
    let why = format!(
        "could not be read: {why}. It is not given up, since that says nothing of it: start again when \
         that is mended, or give it up by: scr index {} ({NOT_READ})",
        option("--drop", dataset.name.as_bytes())
    );
    Unavailable::new(dataset, Cause::NotRead, why)
}
