//! Reading a checkpoint back: from the cache if it has one, else from the prefix directory.

use super::cached::{Cached, Part, title};
use super::fetch::Attempt;
use super::state::{Call, State};
use super::{Session, time_now};
use crate::cache::plan::Slot;
use crate::events::Severity;
use crate::format::{Dataset, Name};
use crate::prefix::index;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

impl Session {
    /// The name of the checkpoint to restart from, if there is one (`SCR_Have_restart`): the
    /// newest of those that this run has, the cache has, and the prefix directory has. It is
    /// offered until it is rejected, or the next dataset begins.
    ///
    /// # Errors
    /// There is none and the user requires one (`SCR_REQUIRE_RESTART`). Or there is one that this
    /// run cannot use: another number of ranks wrote it, or it cannot be read now. Then no older
    /// one is offered either. The next call looks again.
    pub fn have_restart(&mut self) -> Result<Option<Name>> {
        self.allow(Call::HaveRestart)?;
        if self.loaded.is_none() {
            self.search_all()?;
        }
        if let Some(part) = &self.loaded {
            self.chosen = None;
            return Ok(Some(part.dataset.name.clone()));
        }
        if let Some(unavailable) = &self.unavailable {
            return Err(unavailable.error.clone());
        }
        if self.settings.require_restart {
            return Err(Error::Config {
                place: self.prefix.root().display().to_string(),
                what: "has no checkpoint to restart from, and SCR_REQUIRE_RESTART=1 asks for \
                       one; see the messages above, or unset it to start from the beginning"
                    .to_string(),
            });
        }
        self.tell_once(
            Severity::Note,
            format!(
                "no checkpoint to restart from in the cache or in {}: the program starts from \
                 the beginning",
                self.prefix.root().display()
            ),
        );
        Ok(None)
    }

    /// Looks everywhere, from the newest checkpoint to the oldest, until one is loaded.
    /// Collective.
    fn search_all(&mut self) -> Result<()> {
        self.unavailable.take_if(|newest| newest.in_prefix);
        self.search.fetch = None;
        let mut fetched_all = false;
        loop {
            // Each of the two leaves what is older than the next one in the prefix directory.
            let found = self.offer_whole()? || (self.settings.distribute && self.search_cache()?);
            if found || fetched_all {
                return Ok(());
            }
            match self.fetch_next()? {
                Attempt::Loaded => return Ok(()),
                Attempt::Failed => {}
                Attempt::Over => fetched_all = true,
            }
        }
    }

    /// Offers the newest checkpoint that this run has written or read, and not rejected. False if
    /// there is none, or a newer one in the prefix directory. Collective.
    fn offer_whole(&mut self) -> Result<bool> {
        let usable = |c: &&Cached| {
            let wanted = self.chosen.is_none_or(|chosen| chosen == c.dataset.id);
            wanted && c.dataset.is_checkpoint() && self.may_offer(&c.dataset)
        };
        let whole = self.cache.iter().filter(|c| c.filemap.is_some());
        let Some(newest) = whole.filter(usable).max_by_key(|c| c.dataset.id) else {
            return Ok(false);
        };
        let newer = || Ok(self.newer_in_prefix(&newest.dataset)?.is_some());
        if self.chosen.is_none() && self.told_by_root(newer)? {
            return Ok(false);
        }
        self.loaded = self.part(newest);
        Ok(true)
    }

    /// Rank 0: the newest good checkpoint in the prefix directory that was created after `dataset`
    /// and that this search has not tried. A cache that is older than that was left by an earlier
    /// job, and must not win; but what the index marks as current is what the user chose, whatever
    /// is newer.
    pub(super) fn newer_in_prefix(&self, dataset: &Dataset) -> Result<Option<Dataset>> {
        if !self.settings.fetch {
            return Ok(None);
        }
        let index = index::read(&*self.files, &self.prefix)?;
        let current = index.current().and_then(|name| index.get(index.id(name)?));
        let current = current.and_then(|entry| entry.dataset.as_ref());
        let same = |d: &Dataset| (&d.name, d.created) == (&dataset.name, dataset.created);
        if current.is_some_and(same) {
            return Ok(None);
        }
        let untried = |id: &u64| self.search.fetch.as_ref().is_none_or(|q| q.contains(id));
        let good = index
            .datasets()
            .iter()
            .filter(|(id, entry)| entry.is_good() && entry.is_checkpoint() && untried(id));
        let newest = good
            .filter_map(|(_, entry)| entry.dataset.as_ref())
            .max_by_key(|other| other.created);
        let newer = newest.filter(|other| other.created > dataset.created);
        Ok(newer.cloned())
    }

    /// Begins to read the checkpoint that [`Session::have_restart`] offered, and gives its
    /// name (`SCR_Start_restart`).
    ///
    /// # Errors
    /// There is none: this is a failed phase then, as after [`Session::start_output`].
    pub fn start_restart(&mut self) -> Result<Name> {
        let state = self.allow(Call::StartRestart)?;
        let Some(part) = &self.loaded else {
            self.state = self.state.refused(Call::StartRestart);
            return Err(Error::usage(
                Call::StartRestart.name(),
                "there is no checkpoint to restart from; call SCR_Have_restart, and go on only \
                 if it sets its flag",
            ));
        };
        let name = part.dataset.name.clone();
        self.state = state;
        Ok(name)
    }

    /// Ends a restart (`SCR_Complete_restart`). If any rank could not read its files, the
    /// checkpoint is marked as failed, and the next [`Session::have_restart`] offers another.
    ///
    /// # Errors
    /// A rank passed `valid` false. All ranks return the same.
    pub fn complete_restart(&mut self, valid: bool) -> Result<()> {
        self.end_phase(Call::CompleteRestart)?;
        let Some(part) = self.loaded.take() else {
            return Err(Error::usage(
                Call::CompleteRestart.name(),
                "no checkpoint is open",
            ));
        };
        let (id, name) = (part.dataset.id, part.dataset.name.clone());
        let local = if valid {
            Ok(())
        } else {
            Err(Error::dataset(
                id,
                name.to_string(),
                "the program rejected it with valid=0",
            ))
        };
        let verdict = self.agree(local);
        match verdict {
            Ok(()) => Ok(()),
            Err(error) => {
                self.reject(&part)?;
                Err(error)
            }
        }
    }

    /// Takes a checkpoint out of the running.
    fn reject(&mut self, part: &Part) -> Result<()> {
        let id = part.dataset.id;
        let marked = self.on_root(|| {
            index::update(&*self.files, &self.prefix, |index| {
                // Another dataset may have had the id meanwhile.
                let known = index.get(id).and_then(|entry| entry.dataset.as_ref());
                if known.is_some_and(|known| known.name == part.dataset.name) {
                    index.mark_failed(id, time_now().as_str());
                }
                Ok(())
            })
        });
        let slots: Vec<Slot> = self
            .cache
            .iter()
            .filter(|c| c.dataset.id == id)
            .map(Cached::slot)
            .collect();
        self.forget(&slots);
        self.agree(marked.map(|_| ()))
    }

    /// In a restart, the path at which a file should be that [`Session::route`] has failed for:
    /// SCR v3.1.0 tells it all the same. Local.
    pub fn restart_path(&self, name: &Path) -> Option<PathBuf> {
        let part = self.loaded.as_ref();
        let part = part.filter(|_| self.state == State::Restart)?;
        let relative = self.prefix.relative(name, &self.cwd).ok()?;
        Some(part.root.join(part.find(&relative).unwrap_or(&relative)))
    }

    pub(super) fn route_restart(&self, name: &Path) -> Result<PathBuf> {
        let Some(part) = &self.loaded else {
            return Ok(name.to_path_buf());
        };
        let relative = self.prefix.relative(name, &self.cwd);
        // Where all can see all files, one that is there is the one that is meant, also if
        // another rank owns it or its last component fits a file of ours.
        if part.bypass
            && let Ok(relative) = &relative
            && let path = part.root.join(relative)
            && part.look(&*self.files, &path).is_ok()
        {
            return Ok(path);
        }
        let found = match &relative {
            Ok(relative) => part.find(relative),
            Err(_) => part.find(name),
        };
        let path = match (found, &relative) {
            (Some(file), _) => part.root.join(file),
            (None, Ok(relative)) => {
                return Err(Error::usage(
                    Call::RouteFile.name(),
                    format!(
                        "{} is not a file of rank {} in {}",
                        relative.display(),
                        self.rank(),
                        title(&part.dataset)
                    ),
                ));
            }
            (None, Err(error)) => return Err(error.clone()),
        };
        part.look(&*self.files, &path)?;
        Ok(path)
    }
}
