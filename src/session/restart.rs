//! Reading a checkpoint back: from the cache if it has one, else from the prefix directory.

use super::cached::{Cached, Part, paths, title, titled};
use super::state::Call;
use super::{Session, time_now};
use crate::cache::plan::Slot;
use crate::config::descriptors::choose;
use crate::events::Severity;
use crate::format::filemap::Filemap;
use crate::format::{self, Name};
use crate::prefix::fetch::{Fetched, Refused, Target, Wanted, Why, fetch};
use crate::prefix::index;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What rank 0 found to fetch next.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Next {
    id: Option<u64>,
    ckpt: Option<u64>,
    output: bool,
    name: Name,
}

impl Session {
    /// The name of the checkpoint to restart from, if there is one (`SCR_Have_restart`).
    /// Looks in the cache first, then fetches from the prefix directory.
    ///
    /// # Errors
    /// There is none and the user requires one (`SCR_REQUIRE_RESTART`), or there is none but one
    /// that may be good and cannot be read now: to begin anew could cost it. The next call looks
    /// again.
    pub fn have_restart(&mut self) -> Result<Option<Name>> {
        self.allow(Call::HaveRestart)?;
        if self.loaded.is_none() {
            self.offer_last();
        }
        if self.loaded.is_none() && self.settings.distribute {
            self.search_cache()?;
        }
        if self.loaded.is_none() && self.settings.fetch {
            self.search_prefix()?;
        }
        if let Some(part) = &self.loaded {
            return Ok(Some(part.dataset.name.clone()));
        }
        if let Some(passed) = &self.passed {
            self.search.fetch = None;
            return Err(passed.clone());
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

    /// After a restart that worked, or a checkpoint: the last such one, if it is cached, is
    /// the newest there is.
    fn offer_last(&mut self) {
        let last = |c: &&Cached| c.dataset.is_checkpoint() && c.dataset.id == self.ids.good;
        self.loaded = self.cache.iter().find(last).and_then(|c| self.part(c));
    }

    /// Begins to read the checkpoint that [`Session::have_restart`] offered, and gives its
    /// name (`SCR_Start_restart`).
    pub fn start_restart(&mut self) -> Result<Name> {
        let state = self.allow(Call::StartRestart)?;
        let Some(part) = &self.loaded else {
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
        let state = self.allow(Call::CompleteRestart)?;
        self.state = state;
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
            Ok(()) => {
                self.ids.dataset = id;
                self.ids.checkpoint = part.dataset.ckpt.unwrap_or(self.ids.checkpoint);
                self.ids.good = id;
                self.ids.settled = true;
                self.search.fetch = None;
                Ok(())
            }
            Err(error) => {
                self.reject(&part)?;
                Err(error)
            }
        }
    }

    /// Takes a checkpoint out of the running.
    fn reject(&mut self, part: &Part) -> Result<()> {
        self.ids = super::Ids::default();
        self.search.fetch = None;
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
            && self.files.open(&path).is_ok()
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
        self.files.open(&path)?;
        Ok(path)
    }

    /// Fetches from the prefix directory, newest first, until one is good. Collective.
    fn search_prefix(&mut self) -> Result<bool> {
        loop {
            let next = if self.rank() == 0 {
                self.next_fetch()
            } else {
                Ok(Next::default())
            };
            let next: Next = self.told_by_root(|| next)?;
            let Some(id) = next.id else { return Ok(false) };
            if self.try_fetch(id, &next)? {
                return Ok(true);
            }
            // The cache may have something between this one and the next.
            if self.settings.distribute && self.search_cache()? {
                return Ok(true);
            }
        }
    }

    /// Rank 0: the next id to try, marked in the index as tried.
    fn next_fetch(&mut self) -> Result<Next> {
        let (files, prefix) = (self.files.clone(), self.prefix.clone());
        if self.search.fetch.is_none() {
            self.apply_wish()?;
        }
        index::update(&*files, &prefix, |index| {
            let queue = self
                .search
                .fetch
                .get_or_insert_with(|| index.candidates().into());
            while let Some(id) = queue.pop_front() {
                // It may have been dropped since the search began.
                let Some(dataset) = index.get(id).and_then(|entry| entry.dataset.clone()) else {
                    continue;
                };
                index.mark_fetched(id, time_now().as_str());
                return Ok(Next {
                    id: Some(id),
                    ckpt: dataset.ckpt,
                    output: dataset.flag_output,
                    name: dataset.name,
                });
            }
            Ok(Next::default())
        })
    }

    /// Rank 0: `SCR_CURRENT` moves the marker before the first fetch of an allocation, and
    /// not again; that it has done so is remembered in the control directory.
    fn apply_wish(&self) -> Result<()> {
        let Some(wish) = self.settings.current.as_deref().map(Name::from) else {
            return Ok(());
        };
        let control = &self.stores[self.descriptors.control].layout;
        let path = control.job().join("cindex.scrinfo");
        let done = format::read_tree(&*self.files, &path).unwrap_or_default();
        if done.value("CURRENT") == Some(&wish) {
            return Ok(());
        }
        let known = index::update(&*self.files, &self.prefix, |index| {
            Ok(index.set_current(&wish))
        })?;
        if !known {
            self.tell(
                Severity::Warning,
                format!("SCR_CURRENT={wish}: there is no such checkpoint in the index"),
            );
        }
        let mut record = format::Tree::new();
        record.set_value("CURRENT", wish);
        let bytes = format::encode(&record);
        self.files
            .replace(&path, &bytes, crate::store::Durability::Atomic)
    }

    /// Fetches one dataset; true if it is good.
    fn try_fetch(&mut self, id: u64, next: &Next) -> Result<bool> {
        let begun = Instant::now();
        let named = titled(id, &next.name);
        let chosen = choose(&self.descriptors.schemes, next.ckpt, next.output);
        let Some((scheme, store, bypass)) = chosen.map(|s| (s.index, s.store, s.bypass)) else {
            return Ok(false);
        };
        let bypass = bypass || self.settings.fetch_bypass;
        if !bypass && (self.knows(id) || self.costs_another(store)) {
            // What the cache has goes only once it is sure that something better comes.
            if let Err(refused) = self.fetch(id, next, None)? {
                return self.pass_over(id, next, refused);
            }
            self.clear_id(id)?;
        }
        self.make_room(store, bypass, false, None);
        if !bypass {
            // What is deleted behind may take the room that this needs.
            self.finish_deleting();
            self.comm.barrier()?;
        }
        let mut cache = (!bypass).then_some(store);
        let mut fetched = self.fetch(id, next, cache)?;
        if let (Some(_), Err(refused)) = (cache, &fetched)
            && refused.why == Why::Trouble
        {
            self.tell_not_cached(&named, &refused.error);
            self.discard(&[Slot { store, id }], None);
            cache = None;
            fetched = self.fetch(id, next, None)?;
        }
        match fetched {
            Ok(fetched) => {
                let cached = self.take_fetched(fetched, scheme, store, cache.is_none())?;
                let how = if cached {
                    "fetched into the cache"
                } else {
                    "in the prefix directory"
                };
                if self.rank() == 0 {
                    self.tell_timed(Severity::Note, format!("{named} is ready, {how}"), begun);
                }
                Ok(true)
            }
            Err(refused) => self.pass_over(id, next, refused),
        }
    }

    /// Fetches into a store, or with none verifies in the prefix directory.
    fn fetch(
        &self,
        id: u64,
        next: &Next,
        store: Option<usize>,
    ) -> Result<std::result::Result<Fetched, Refused>> {
        let layout = store.map(|store| &self.stores[store].layout);
        let target = layout.map(|layout| Target {
            base: layout.base(),
            below: layout.data_below(id, self.rank()),
        });
        let wanted = Wanted {
            id,
            name: &next.name,
            checksums: self.settings.crc_on_flush,
        };
        fetch(
            &self.ground(self.settings.fetch_width),
            &wanted,
            target.as_ref(),
        )
    }

    fn tell_not_cached(&self, named: &str, error: &Error) {
        let text = format!("{named} cannot be kept in the cache, so it is read in place: {error}");
        self.tell_once(Severity::Warning, text);
    }

    /// A dataset that could not be fetched: says why, and what that means for it. Always false.
    fn pass_over(&mut self, id: u64, next: &Next, refused: Refused) -> Result<bool> {
        let Refused { error, why } = refused;
        let named = titled(id, &next.name);
        self.tell_once(Severity::Error, format!("cannot fetch {named}: {error}"));
        match why {
            Why::Unfit => {}
            Why::Bad => {
                self.on_root(|| {
                    index::update(&*self.files, &self.prefix, |index| {
                        index.mark_failed(id, time_now().as_str());
                        Ok(())
                    })
                })?;
            }
            Why::Trouble => {
                let what = format!(
                    "may be good, but cannot be fetched now: {error}; start again when that is \
                     mended, or give it up by: scr index --drop {}",
                    next.name
                );
                let passed = Error::dataset(id, next.name.to_string(), what);
                self.passed.get_or_insert(passed);
            }
        }
        Ok(false)
    }

    /// Makes a dataset that was fetched the one to restart from. True if it is in the cache, and
    /// not only where it came from. Collective.
    fn take_fetched(
        &mut self,
        fetched: Fetched,
        scheme: usize,
        store: usize,
        mut bypass: bool,
    ) -> Result<bool> {
        let Fetched {
            dataset,
            files,
            unverified,
        } = fetched;
        if unverified > 0 {
            self.tell_once(
                Severity::Note,
                format!(
                    "{}: {unverified} {} unverified, since no checksums were recorded",
                    title(&dataset),
                    if unverified == 1 {
                        "file is"
                    } else {
                        "files are"
                    },
                ),
            );
        }
        let mut filemap = self.filemap(&dataset, scheme, bypass, files);
        let mut bytes = None;
        if !bypass {
            match self.protect_fetched(store, scheme, &mut filemap) {
                Ok(all) => bytes = all,
                Err(error @ Error::Comm { .. }) => return Err(error),
                Err(error) => {
                    self.tell_not_cached(&title(&dataset), &error);
                    let id = dataset.id;
                    self.discard(&[Slot { store, id }], None);
                    filemap.bypass = true;
                    bypass = true;
                }
            }
        }
        if bypass {
            self.clear_id(dataset.id)?;
        }
        self.keep_record(|| {
            index::update(&*self.files, &self.prefix, |index| {
                index.mark_good(dataset.id);
                Ok(())
            })
        });
        self.note_cached(|record| {
            let mut entry = format::flush_file::Entry::cached(dataset.clone());
            entry.locations.insert(format::flush_file::PFS.into());
            record.datasets.insert(dataset.id, entry);
        });
        self.ids.dataset = dataset.id;
        self.ids.checkpoint = dataset.ckpt.unwrap_or(self.ids.checkpoint);
        let root = if bypass {
            self.prefix.root().to_path_buf()
        } else {
            self.stores[store].layout.data(dataset.id, self.rank())
        };
        self.loaded = Some(Part {
            dataset: dataset.clone(),
            root,
            bypass,
            files: paths(&filemap),
        });
        let in_prefix = true;
        self.cache.push(Cached {
            store,
            dataset,
            bypass,
            in_prefix,
            dropped: false,
            stands: self.stands.get(scheme).copied().unwrap_or(0),
            level: self.stores[store].layout.level(),
            bytes,
            filemap: Some(filemap),
        });
        Ok(!bypass)
    }

    /// Protects what was fetched into a store. Bytes that it takes there, for the leader.
    fn protect_fetched(
        &mut self,
        store: usize,
        scheme: usize,
        filemap: &mut Filemap,
    ) -> Result<Option<u64>> {
        let dataset = filemap.dataset.clone();
        let layout = &self.stores[store].layout;
        let ready = self
            .files
            .make_private_dirs(layout.base(), &layout.meta_below(dataset.id));
        self.agree(ready)?;
        let done = self.protect(store, filemap);
        let level = self.stores[store].layout.level();
        let told = self.tell_volume(store, level, filemap)?;
        let done = self.agree(done);
        let volume = self.hear_volume(store, told, &dataset)?;
        done?;
        self.remember_volume(scheme, volume);
        Ok(volume.map(|volume| volume.all))
    }
}
