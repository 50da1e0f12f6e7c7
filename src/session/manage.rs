//! Datasets by name: current, drop, delete; and the purges that a user may ask for.

use super::cached::Cached;
use super::state::Call;
use super::{Session, no_such};
use crate::cache::plan::Slot;
use crate::events::Severity;
use crate::format::Name;
use crate::format::index::Index;
use crate::prefix::delete::{self, DeletionPlan};
use crate::prefix::index;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// What rank 0 found about a name.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Known {
    id: Option<u64>,
    ckpt: Option<u64>,
    /// It is the current checkpoint now.
    current: bool,
}

impl Session {
    /// Makes `name` the checkpoint to restart from (`SCR_Current`).
    /// Newer datasets leave the cache.
    ///
    /// # Errors
    /// There is no such checkpoint in the index or the cache.
    pub fn current(&mut self, name: &Name) -> Result<()> {
        let call = Call::Current;
        self.allow(call)?;
        let drop_after = self.settings.drop_after_current;
        let found: Known = self.told_by_root(|| {
            index::update(&*self.files, &self.prefix, |index| {
                let current = index.set_current(name);
                if current && drop_after {
                    index.drop_after(name);
                }
                let id = index.id(name).filter(|_| current);
                let entry = id.and_then(|id| index.get(id));
                let ckpt = entry.and_then(|entry| entry.dataset.as_ref()?.ckpt);
                Ok(Known { id, ckpt, current })
            })
        })?;
        let named = |c: &&Cached| c.dataset.name == *name && c.dataset.is_checkpoint();
        let cached = self.cache.iter().filter(named).max_by_key(|c| c.dataset.id);
        let (id, ckpt) = match (found.id, cached) {
            (Some(id), _) => (id, found.ckpt),
            (None, Some(c)) => (c.dataset.id, c.dataset.ckpt),
            (None, None) => return Err(no_such(call.name(), name)),
        };
        let newer: Vec<Slot> = self
            .cache
            .iter()
            .filter(|c| c.dataset.id > id)
            .map(Cached::slot)
            .collect();
        self.forget(&newer);
        self.forget_bypass_of_last_run(|other| other > id);
        self.loaded = None;
        self.unavailable = None;
        self.ids.know(id, ckpt);
        self.choose(id, found.current);
        Ok(())
    }

    /// After `SCR_Current`: the checkpoint itself, if it is cached, else whatever the marker in the
    /// index leads to. An older cached one must not come before that.
    fn choose(&mut self, id: u64, indexed: bool) {
        self.chosen = Some(id);
        let whole = |c: &Cached| c.dataset.id == id && c.filemap.is_some();
        if self.cache.iter().any(whole) {
            return;
        }
        self.search
            .cached
            .retain(|c| c.dataset.id == id || (!indexed && c.dataset.id < id));
    }

    /// Removes `name` from the index, and no file (`SCR_Drop`).
    ///
    /// # Errors
    /// There is no such dataset in the index.
    pub fn drop_dataset(&mut self, name: &Name) -> Result<()> {
        let call = Call::Drop;
        self.allow(call)?;
        self.unavailable = None;
        self.on_root(|| {
            let id = index::update(&*self.files, &self.prefix, |index| Ok(index.remove(name)))?;
            id.map(|_| ()).ok_or_else(|| no_such(call.name(), name))
        })?;
        for cached in self.cache.iter_mut().filter(|c| c.dataset.name == *name) {
            cached.dropped = cached.in_prefix;
        }
        Ok(())
    }

    /// Removes `name` with all its files from the cache and the prefix directory
    /// (`SCR_Delete`).
    ///
    /// # Errors
    /// There is no such dataset, or a file cannot be removed.
    pub fn delete(&mut self, name: &Name) -> Result<()> {
        let call = Call::Delete;
        self.allow(call)?;
        self.unavailable = None;
        let cached: Vec<Slot> = self
            .cache
            .iter()
            .filter(|c| c.dataset.name == *name)
            .map(Cached::slot)
            .collect();
        let in_cache = !cached.is_empty();
        self.forget(&cached);
        let plan: DeletionPlan = self.told_by_root(|| {
            let index = index::read(&*self.files, &self.prefix)?;
            match index.id(name) {
                Some(id) => Ok(DeletionPlan::new(&index, &[id])),
                None if in_cache => Ok(DeletionPlan::default()),
                None => Err(no_such(call.name(), name)),
            }
        })?;
        self.delete_all_of(&plan)
    }

    fn delete_all_of(&self, plan: &DeletionPlan) -> Result<()> {
        let refused = self.delete_from_prefix(plan)?;
        refused.into_iter().next().map_or(Ok(()), Err)
    }

    /// Gives the datasets that stay as they are, with the reasons.
    fn delete_from_prefix(&self, plan: &DeletionPlan) -> Result<Vec<Error>> {
        if plan.is_empty() {
            return Ok(Vec::new());
        }
        let deleted = delete::delete(&self.prefix_access(self.settings.flush_width), plan)?;
        for dir in deleted.dirs {
            let text = format!("{} is not empty and stays", dir.display());
            self.tell(Severity::Debug(1), text);
        }
        if deleted.shared > 0 {
            let text = format!(
                "{} files of {} stay, since other datasets have files of the same names; \
                 put the dataset's name into the path",
                deleted.shared,
                plan.words()
            );
            self.tell_once(Severity::Note, text);
        }
        Ok(deleted.refused)
    }

    /// `SCR_PREFIX_PURGE`: deletes all that the index names.
    pub(super) fn purge_prefix(&self) -> Result<()> {
        let plans: Vec<DeletionPlan> = self.told_by_root(|| {
            let index = index::read(&*self.files, &self.prefix)?;
            Ok(DeletionPlan::of_all(&index))
        })?;
        plans.iter().try_for_each(|plan| self.delete_all_of(plan))
    }

    /// `SCR_CACHE_PURGE`: deletes all that this job has in its stores, if they are `claimed`.
    pub(super) fn purge_cache(&self, claimed: Result<()>) -> Result<()> {
        let mut mine = self.stores.iter().filter(|store| store.leader);
        let purged = claimed.and_then(|()| {
            mine.try_for_each(|store| crate::cache::dataset::purge(&*self.files, &store.layout))
        });
        self.agree(purged)
    }

    /// The sliding window of `SCR_PREFIX_SIZE`, after dataset `flushed` came to the prefix
    /// directory. That one is whole, whatever becomes of older ones: what cannot be deleted is
    /// told, and stays.
    ///
    /// # Errors
    /// The transport's only.
    pub(super) fn slide_window(&self, flushed: u64) -> Result<()> {
        let size = self.settings.prefix_size as usize;
        if size == 0 {
            return Ok(());
        }
        let plan = self.told_by_root(|| {
            let index = index::read(&*self.files, &self.prefix)?;
            Ok(DeletionPlan::new(
                &index,
                &outside_window(&index, flushed, size),
            ))
        });
        let (what, deleted) = match plan {
            Ok(plan) => (plan.words(), self.delete_from_prefix(&plan)),
            Err(error) => ("what is older".to_string(), Err(error)),
        };
        let warn = |text| self.tell_once(Severity::Warning, format!("SCR_PREFIX_SIZE: {text}"));
        match deleted {
            Ok(refused) => refused
                .iter()
                .for_each(|error| warn(format!("one could not be deleted: {error}"))),
            Err(error @ Error::Comm { .. }) => return Err(error),
            Err(error) => warn(format!("{what} could not be deleted: {error}")),
        }
        Ok(())
    }

    /// The part of the rank that runs this, for a dataset with a record.
    pub(super) fn part(&self, cached: &Cached) -> Option<super::cached::Part> {
        let filemap = cached.filemap.as_ref()?;
        let root = if cached.bypass {
            self.prefix.root().to_path_buf()
        } else {
            self.stores[cached.store]
                .layout
                .at(cached.level)
                .data(cached.dataset.id, self.rank())
        };
        let files = super::cached::paths(filemap);
        let (dataset, bypass) = (cached.dataset.clone(), cached.bypass);
        Some(super::cached::Part {
            dataset,
            root,
            bypass,
            files,
        })
    }
}

/// The checkpoints that leave the prefix directory when it is to keep `size` of them, counted
/// from the one just flushed down to lower ids, as in SCR v3.1.0. Higher ids are of a run that
/// was given up for an older checkpoint: to count them would cost the new ones their place.
/// Those marked as output stay, and the one that the next run is to start from.
fn outside_window(index: &Index, flushed: u64, size: usize) -> Vec<u64> {
    let good = index.datasets().range(..=flushed).rev();
    let good = good.filter(|(_, e)| e.is_good() && e.is_checkpoint());
    good.skip(size)
        .filter(|(_, e)| e.dataset.as_ref().is_some_and(|d| !d.flag_output))
        .map(|(id, _)| *id)
        .filter(|id| index.current_id() != Some(*id))
        .collect()
}
