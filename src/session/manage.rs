//! Datasets by name: `SCR_Current`, `SCR_Drop`, `SCR_Delete`; and the purges at the start of a run.

use super::Session;
use super::datasets::damage::{self, MovedTo};
use crate::cache::dataset;
use crate::cache::layout::{CacheEntry, Layout};
use crate::cache::plan::Slot;
use crate::events::Severity;
use crate::format::Name;
use crate::prefix::delete::DeletionPlan;
use crate::prefix::index;
use crate::session::datasets::cached::CachedDataset;
use crate::session::datasets::survey::Survey;
use crate::session::flush::finish::finish_and_tell;
use crate::session::flush::window::delete_from_prefix;
use crate::session::run::Run;
use crate::session::state::Call;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Rank 0's findings about the dataset that `SCR_Current` names.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct NamedCurrent {
    /// `None` if neither index nor cache has such a checkpoint.
    id: Option<u64>,
    ckpt: Option<u64>,
    /// True if the name is that of a dataset in the index.
    indexed: bool,
}

/// Rank 0's findings about the dataset that `SCR_Delete` names.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct NamedDelete {
    /// The files to delete in the prefix directory.
    plan: DeletionPlan,
    /// Directories in the caches that only rank 0 knows by name.
    passed_over: Vec<Slot>,
}

impl Session {
    /// Makes `name` the checkpoint to restart from (`SCR_Current`). Newer datasets leave the cache.
    /// Collective.
    ///
    /// # Errors
    /// Neither index nor cache has such a checkpoint.
    pub fn current(&mut self, name: &Name) -> Result<()> {
        self.state.allow(Call::Current)?;
        self.flush().look_after(Call::Current)?;
        let run = &self.run;
        let named = |c: &&CachedDataset| c.dataset.name == *name && c.dataset.is_checkpoint();
        let cached = self.cached.iter().filter(named);
        // Only the survey has checkpoints of another number of ranks.
        let others = self.search.survey.get().map(Survey::cached);
        let others = others.into_iter().flatten();
        let others = others.filter(|c| c.ranks != run.comm.size() && c.is_whole());
        let others = others.map(|c| &c.dataset);
        let others = others.filter(|dataset| dataset.name == *name && dataset.is_checkpoint());
        let cached = cached.map(|c| &c.dataset).chain(others);
        let cached = cached.max_by_key(|dataset| dataset.id);
        let found: NamedCurrent = run.share_from_root(|| {
            // Else the end of a flush that lacks its entry in the index would make a newer checkpoint
            // current.
            finish_and_tell(run)?;
            index::update(&*run.files, &run.prefix, |index| {
                // A newer one of the name may be in the cache only.
                let replaced = cached.is_some_and(|dataset| index.id(name) < Some(dataset.id));
                if replaced || !index.set_current(name) {
                    return Ok(NamedCurrent {
                        id: cached.map(|dataset| dataset.id),
                        ckpt: cached.and_then(|dataset| dataset.ckpt),
                        indexed: false,
                    });
                }
                if run.settings.drop_after_current {
                    index.drop_after(name);
                }
                let id = index.id(name);
                let entry = id.and_then(|id| index.get(id));
                let ckpt = entry.and_then(|entry| entry.dataset.as_ref()?.ckpt);
                Ok(NamedCurrent {
                    id,
                    ckpt,
                    indexed: true,
                })
            })
        })?;
        let Some(id) = found.id else {
            return Err(no_such(Call::Current, name));
        };
        let newer = self.cached.slots(|c| c.dataset.id > id);
        self.cached.remove(run, &mut self.search, &newer);
        if let Some(survey) = self.search.survey.get_mut() {
            survey.last_run().forget_bypass(run, |other| other > id);
            survey.forget_bad(id);
        }
        self.ids.know(id, found.ckpt);
        self.search.offer.choose(id);
        self.fields.note_restore(None);
        self.cached.go_back_from(self.ids.last());
        // A cached one that is complete comes first. Else the current marker in the index decides,
        // and no older cached checkpoint may come before it.
        let complete = self.cached.get(id).is_some_and(CachedDataset::is_whole);
        if let (false, Some(survey)) = (complete, self.search.survey.get_mut()) {
            survey.choose(id, found.indexed);
        }
        Ok(())
    }

    /// Removes `name` from the index, but no file (`SCR_Drop`). If the index has no such dataset, a warning
    /// says so. Collective.
    pub fn drop_dataset(&mut self, name: &Name) -> Result<()> {
        self.state.allow(Call::Drop)?;
        self.search.offer.forget_unavailable();
        self.fields.forget(name);
        let run = &self.run;
        run.on_root(|| {
            let id = index::update(&*run.files, &run.prefix, |index| Ok(index.remove(name)))?;
            if name.is_empty() {
                return Err(no_such(Call::Drop, name));
            }
            if id.is_none() {
                // A warning is enough, as in SCR v3.1.0, whose own programs end if this call fails.
                run.tell_once(Severity::Warning, no_such(Call::Drop, name).to_string());
            }
            Ok(())
        })?;
        self.cached.drop_name(name);
        Ok(())
    }

    /// Removes `name` with all its files from the cache and the prefix directory (`SCR_Delete`).
    /// Collective.
    ///
    /// If the dataset does not exist, a warning says so.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn delete(&mut self, name: &Name) -> Result<()> {
        self.state.allow(Call::Delete)?;
        self.flush().cancel_name(name, 0)?;
        self.search.offer.forget_unavailable();
        self.fields.forget(name);
        let run = &self.run;
        let cached = self.cached.slots(|c| c.dataset.name == *name);
        self.cached.remove(run, &mut self.search, &cached);
        let in_use = self.cached.slots(|_| true);
        let passed_over = || {
            let survey = self.search.survey.get();
            let mut slots = survey.map_or_else(Vec::new, |survey| survey.slots_of_name(name));
            slots.retain(|slot| !in_use.contains(slot));
            slots
        };
        let found: NamedDelete = run.share_from_root(|| {
            let index = index::read(&*run.files, &run.prefix)?;
            let passed_over = passed_over();
            let plan = match index.id(name) {
                Some(id) => DeletionPlan::new(&index, &[id]),
                None if name.is_empty() => return Err(no_such(Call::Delete, name)),
                None => {
                    if cached.is_empty() && passed_over.is_empty() {
                        run.tell_once(Severity::Warning, no_such(Call::Delete, name).to_string());
                    }
                    DeletionPlan::default()
                }
            };
            Ok(NamedDelete { plan, passed_over })
        })?;
        self.cached
            .remove(run, &mut self.search, &found.passed_over);
        self.delete_all_of(&found.plan)
    }

    fn delete_all_of(&self, plan: &DeletionPlan) -> Result<()> {
        let refused = delete_from_prefix(&self.run, plan)?;
        refused.into_iter().next().map_or(Ok(()), Err)
    }

    /// `SCR_PREFIX_PURGE`: deletes all datasets in the index. Gives their names in words, if there were
    /// some. Collective.
    pub(super) fn purge_prefix(&self) -> Result<Option<String>> {
        let run = &self.run;
        let plans: Vec<DeletionPlan> = run.share_from_root(|| {
            let index = index::read(&*run.files, &run.prefix)?;
            Ok(DeletionPlan::of_all(&index))
        })?;
        plans.iter().try_for_each(|plan| self.delete_all_of(plan))?;
        Ok(plans.last().map(|newest| match plans.len() {
            1 => newest.words(),
            count => format!("{count} datasets, the last of which was {}", newest.words()),
        }))
    }

    /// `SCR_CACHE_PURGE`: deletes all datasets of this job in the stores that were `locked`. With
    /// `SCR_CRC_ON_DELETE` their files are first compared with the recorded checksums. Collective.
    pub(super) fn purge_cache(&self, locked: Result<()>) -> Result<()> {
        let run = &self.run;
        let mut led = run.stores.iter().filter(|store| store.leader);
        let purged = locked.and_then(|()| {
            led.try_for_each(|store| {
                if run.settings.crc_on_delete {
                    tell_damage(run, &store.layout)?;
                }
                dataset::delete_all(&*run.files, &store.layout)
            })
        });
        run.agree(purged)
    }
}

/// Tells which files of the datasets in a store are not as recorded. Local.
fn tell_damage(run: &Run, layout: &Layout) -> Result<()> {
    for (_, entry) in dataset::entries(&*run.files, layout)? {
        let (id, dir) = match entry {
            CacheEntry::Dataset(id) => (id, layout.dataset(id)),
            CacheEntry::Quarantine(id) => (id, layout.quarantine(id)),
            CacheEntry::Trash(_) | CacheEntry::Restart => continue,
        };
        let stays = MovedTo {
            dir: &dir,
            shown: &dir,
        };
        for found in damage::find(&*run.files, layout, id, stays) {
            run.tell(Severity::Warning, found.told(None));
        }
    }
    Ok(())
}

fn no_such(call: Call, name: &Name) -> Error {
    Error::usage(
        call.name(),
        format!("there is no dataset `{name}` in the index or the cache"),
    )
}
