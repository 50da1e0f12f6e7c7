//! Fetching a checkpoint from the prefix directory: what to try next, and what becomes of it.

use super::cached::{Cached, Part, paths, title};
use super::foreign::Met;
use super::unavailable::Unavailable;
use super::{Session, time_now};
use crate::cache::plan::Slot;
use crate::config::descriptors::choose;
use crate::events::Severity;
use crate::format::filemap::Filemap;
use crate::format::index::Index;
use crate::format::{self, Dataset, Name};
use crate::prefix::fetch::{FetchTarget, Fetched, RefusalReason, Refused, Wanted, fetch};
use crate::prefix::{index, records};
use crate::text::option;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Pauses before a checkpoint is read again after trouble that may pass.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];

/// What came of trying the next checkpoint in the prefix directory.
pub(super) enum Attempt {
    Loaded,
    /// It is not loaded. There may be another one.
    Failed,
    /// There was none left to try.
    Over,
}

/// What rank 0 found to fetch next.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Next {
    dataset: Option<Dataset>,
    /// The highest numbers in the index: another process may have added datasets.
    max_dataset: u64,
    max_checkpoint: u64,
}

impl Session {
    /// Fetches the next checkpoint of this search from the prefix directory. Collective.
    pub(super) fn fetch_next(&mut self) -> Result<Attempt> {
        let next = match self.rank() {
            0 => self.next_fetch(),
            _ => Ok(Next::default()),
        };
        let next: Next = self.told_by_root(|| next)?;
        self.ids.know(next.max_dataset, Some(next.max_checkpoint));
        // Whatever becomes of the one that SCR_Current named, others come after it.
        self.chosen = None;
        match next.dataset {
            Some(dataset) if self.try_fetch(&dataset)? => Ok(Attempt::Loaded),
            Some(_) => Ok(Attempt::Failed),
            None => Ok(Attempt::Over),
        }
    }

    /// Rank 0: the next dataset to try, marked in the index as tried.
    fn next_fetch(&mut self) -> Result<Next> {
        let wish = match self.search.fetch {
            None if self.settings.fetch => self.wish(),
            _ => None,
        };
        let (mut known, mut queue) = (true, self.search.fetch.take());
        let (next, written) = index::note(&*self.files, &self.prefix, |index| {
            if let Some(wish) = &wish {
                known = index.set_current(wish);
            }
            let mut next = Next {
                dataset: None,
                max_dataset: index.max_dataset(),
                max_checkpoint: index.max_checkpoint(),
            };
            let queue = queue.get_or_insert_with(|| self.candidates(index).into());
            while let Some(id) = queue.pop_front() {
                // It may have been dropped since the search began.
                let dataset = index.get(id).and_then(|entry| entry.dataset.clone());
                next.dataset = dataset.filter(|dataset| self.may_offer(dataset));
                if next.dataset.is_some() {
                    index.mark_fetched(id, time_now().as_str());
                    break;
                }
            }
            Ok(next)
        })?;
        self.search.fetch = queue;
        // The marks say what was done; where there is no room for them, it is done all the same.
        let moved = written.is_ok();
        self.keep_record(|| written);
        if let Some(wish) = wish {
            self.grant(wish, known, moved);
        }
        Ok(next)
    }

    /// Rank 0: the ids that a search tries, in order. With `SCR_FETCH=0` these are the checkpoints
    /// that the last run of this job wrote in bypass: they count as its cache.
    fn candidates(&self, index: &Index) -> Vec<u64> {
        if self.settings.fetch {
            return index.candidates();
        }
        let known = |id: &u64| {
            index
                .get(*id)
                .filter(|entry| entry.is_good())?
                .dataset
                .as_ref()
        };
        let mut ids: Vec<u64> = index.datasets().keys().rev().copied().collect();
        ids.retain(|id| {
            known(id).is_some_and(|d| {
                self.search.in_bypass.contains_key(&(d.id, d.created)) && d.is_checkpoint()
            })
        });
        ids
    }

    /// Rank 0: `SCR_CURRENT`, unless it was granted before. It moves the marker before the first
    /// fetch of an allocation, and not again.
    fn wish(&self) -> Option<Name> {
        let wish = self.settings.current.as_deref().map(Name::from)?;
        let done = format::read_tree(&*self.files, &self.granted()).unwrap_or_default();
        (done.value("CURRENT") != Some(&wish)).then_some(wish)
    }

    /// Where the control directory has the last wish that was granted.
    fn granted(&self) -> PathBuf {
        let control = &self.stores[self.descriptors.control].layout;
        control.job().join("cindex.scrinfo")
    }

    /// Rank 0: remembers that a wish has been granted, if the marker has `moved` for good; or tells
    /// that there is no such checkpoint.
    fn grant(&self, wish: Name, known: bool, moved: bool) {
        if !known {
            self.tell(
                Severity::Warning,
                format!("SCR_CURRENT={wish}: there is no such checkpoint in the index"),
            );
        }
        if !moved {
            return;
        }
        let mut record = format::Tree::new();
        record.set_value("CURRENT", wish);
        let bytes = format::encode(&record);
        self.keep_record(|| records::put(&*self.files, &self.granted(), &bytes));
    }

    /// Fetches one dataset; true if it is good.
    fn try_fetch(&mut self, wanted: &Dataset) -> Result<bool> {
        let begun = Instant::now();
        let id = wanted.id;
        let chosen = choose(&self.descriptors.schemes, wanted.ckpt, wanted.flag_output);
        let Some((scheme, store, bypass)) = chosen.map(|s| (s.index, s.store, s.bypass)) else {
            return Ok(false);
        };
        let bypass = bypass || self.settings.fetch_bypass;
        if !bypass && (self.knows(id) || self.costs_another(store)) {
            // What the cache has goes only once it is sure that something better comes.
            if let Err(refused) = self.fetch(wanted, None, false)? {
                return self.pass_over(wanted, refused);
            }
            self.clear_id(id)?;
        }
        self.make_room(store, bypass, 0, None);
        if !bypass {
            // What is deleted behind may take the room that this needs.
            self.finish_deleting();
            self.comm.barrier()?;
        }
        let mut cache = (!bypass).then_some(store);
        let mut fetched = self.fetch(wanted, cache, bypass)?;
        if let (Some(_), Err(refused)) = (cache, &fetched)
            && refused.why == RefusalReason::Trouble
        {
            self.discard(&[Slot { store, id }], None);
            cache = None;
            let error = refused.error.clone();
            fetched = self.fetch(wanted, None, bypass)?;
            if fetched.is_ok() {
                self.tell_not_cached(&title(wanted), &error);
            }
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
                    let text = format!("{} is ready, {how}", title(wanted));
                    self.tell_timed(Severity::Note, text, begun);
                }
                Ok(true)
            }
            Err(refused) => self.pass_over(wanted, refused),
        }
    }

    /// Fetches into a store, or with none verifies in the prefix directory, which is tried again
    /// after trouble that may pass. (Trouble with a store has a way out: to do without.) `links` as
    /// in [`Wanted`].
    fn fetch(
        &self,
        dataset: &Dataset,
        store: Option<usize>,
        links: bool,
    ) -> Result<std::result::Result<Fetched, Refused>> {
        let layout = store.map(|store| &self.stores[store].layout);
        let target = layout.map(|layout| FetchTarget {
            base: layout.base(),
            below: layout.data_below(dataset.id, self.rank()),
        });
        let wanted = Wanted {
            id: dataset.id,
            name: &dataset.name,
            checksums: self.settings.crc_on_flush,
            links,
        };
        let access = self.prefix_access(self.settings.fetch_width);
        for pause in PAUSES {
            match fetch(&access, &wanted, target.as_ref())? {
                Err(refused) if refused.why == RefusalReason::Trouble && store.is_none() => {
                    let text = format!("{} is read again: {}", title(dataset), refused.error);
                    self.tell_once(Severity::Debug(1), text);
                    std::thread::sleep(pause);
                }
                other => return Ok(other),
            }
        }
        fetch(&access, &wanted, target.as_ref())
    }

    fn tell_not_cached(&self, named: &str, error: &Error) {
        let text = format!("{named} cannot be kept in the cache, so it is read in place: {error}");
        self.tell_once(Severity::Warning, text);
    }

    /// A dataset that could not be fetched: what that means for it, and for older ones. Always
    /// false. Collective.
    fn pass_over(&mut self, dataset: &Dataset, refused: Refused) -> Result<bool> {
        let Refused { error, why } = refused;
        let (id, name) = (dataset.id, dataset.name.to_string());
        let what = match why {
            RefusalReason::Bad => {
                let text = format!("cannot fetch {}: {error}", title(dataset));
                self.tell_once(Severity::Error, text);
                self.keep_record(|| {
                    index::update(&*self.files, &self.prefix, |index| {
                        index.mark_failed(id, time_now().as_str());
                        Ok(())
                    })
                });
                return Ok(false);
            }
            RefusalReason::Unfit if self.settings.start_anew => {
                let text = format!("{} is passed over: {error}", title(dataset));
                self.tell_once(Severity::Debug(1), text);
                return Ok(false);
            }
            RefusalReason::Unfit => {
                let Met { ids, why } = self.told_by_root(|| self.foreign_in_prefix(id))?;
                self.foreign.ids = ids;
                why
            }
            RefusalReason::Trouble | RefusalReason::Link => format!(
                "may be good, but cannot be fetched now: {error}; start again when that is \
                 mended, or give it up by: scr index {}",
                option("--drop", name.as_bytes())
            ),
        };
        self.cannot_use(Unavailable {
            id,
            created: Some(dataset.created),
            in_prefix: true,
            error: Error::dataset(id, name, what),
        });
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
        if let Some(text) = fetched.link_note() {
            self.tell(Severity::Note, text);
        }
        let Fetched {
            dataset,
            files,
            unverified,
            ..
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
            let mut entry = format::flush_file::FlushEntry::cached(dataset.clone());
            entry.locations.insert(format::flush_file::PFS.into());
            record.datasets.insert(dataset.id, entry);
        });
        self.ids.know(dataset.id, dataset.ckpt);
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
            tolerates: self.tolerates.get(scheme).copied().unwrap_or(0),
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
