//! Room in the cache for a restart: what leaves a full store so that a checkpoint can be recovered or
//! fetched. Datasets go one at a time, and each time it is tried again.

use crate::cache::plan::Slot;
use crate::comm::{Agreed, Term, collective};
use crate::events::Severity;
use crate::format::{Dataset, Name};
use crate::policy::eviction::{EvictionCandidate, first_to_give_way};
use crate::session::datasets::cached::CachedDataset;
use crate::session::datasets::cached::titled;
use crate::session::datasets::evict::{candidate, unusable_candidate};
use crate::session::datasets::search::Restart;
use crate::session::restart::recovery_plan::Remaining;
use crate::session::run::Run;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The dataset that needs room.
#[derive(Clone, Copy)]
pub(in crate::session) struct Needs<'a> {
    pub dataset: &'a Dataset,
    /// Index of the store.
    pub store: usize,
    /// It is in the prefix directory, and all its files were found to be good there. Otherwise nothing
    /// may go that a restart needs if this dataset proves damaged.
    pub verified: bool,
}

/// Rank 0's choice of a dataset that goes.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct GivesWay {
    slot: Slot,
    /// Empty for a directory that no restart can use.
    name: Name,
}

impl Restart<'_> {
    /// Makes room after a recovery or a fetch has found a store full: waits until what was deleted is
    /// gone, or else deletes the dataset that a restart can best do without. False if there is none.
    /// Collective.
    pub fn make_room(&mut self, needs: Needs) -> Result<bool> {
        let run = self.run;
        let mut waited = [Term::Max((!self.cached.deletion.is_idle()).into())];
        self.cached.deletion.start_postponed(run);
        self.cached.deletion.finish();
        run.comm.allreduce(&mut waited)?;
        if waited[0].value() > 0 {
            return Ok(true);
        }
        let chosen = run.share_from_root(|| self.choose_to_go(needs))?;
        let Some(GivesWay { slot, name }) = chosen else {
            return Ok(false);
        };
        let text = format!(
            "STORE={} is full: cached {} is deleted, to make room for {}",
            run.descriptors.stores[slot.store].dir.display(),
            match name.is_empty() {
                true => format!("dataset {}, which no restart can use,", slot.id),
                false => titled(slot.id, &name),
            },
            titled(needs.dataset.id, &needs.dataset.name),
        );
        run.tell_once(Severity::Note, text);
        self.cached.note_evicted(run, &slot);
        self.cached.remove(run, self.search, &[slot]);
        self.cached.deletion.finish();
        run.comm.barrier()?;
        Ok(true)
    }

    /// Rank 0: what goes; `None` if everything in the store may be needed. Local.
    fn choose_to_go(&mut self, needs: Needs) -> Result<Option<GivesWay>> {
        let run = self.run;
        let found = self.remaining_but(&BTreeSet::new())?;
        // These are for the next message to all ranks.
        self.search.rejected = found.rejected;
        let own = Slot {
            store: needs.store,
            id: needs.dataset.id,
        };
        let offered = self.search.offered.as_ref().map(|files| files.dataset.id);
        let mut names = Vec::new();
        let mut entries = Vec::new();
        let known = self.cached.entries.iter();
        let remaining: Vec<CachedDataset> =
            found.remaining.into_iter().map(Remaining::cached).collect();
        for cached in known.chain(&remaining).filter(|c| !c.bypass) {
            if names.iter().any(|(slot, _)| *slot == cached.slot()) || cached.slot() == own {
                continue;
            }
            names.push((cached.slot(), cached.dataset.name.clone()));
            let here = cached.store == needs.store;
            entries.push(candidate(run, cached, here, offered));
        }
        let unusable = found.unusable.iter().chain(&self.cached.unusable);
        for slot in unusable.filter(|slot| **slot != own) {
            if names.iter().all(|(other, _)| other != slot) {
                names.push((*slot, Name::default()));
                entries.push(unusable_candidate(slot, slot.store == needs.store));
            }
        }
        if needs.verified {
            entries.push(EvictionCandidate {
                id: needs.dataset.id,
                here: false,
                usable: true,
                checkpoint: true,
                tolerates: 0,
                saved: true,
                flushing: false,
                offered: false,
            });
        }
        let chosen = first_to_give_way(&entries).and_then(|at| names.into_iter().nth(at));
        Ok(chosen.map(|(slot, name)| GivesWay { slot, name }))
    }
}

/// All ranks agree on a result, and on whether a file system was full. Collective.
pub(in crate::session) fn agree_on_room<T>(
    run: &Run,
    local: Result<T>,
) -> Result<std::result::Result<T, (Error, bool)>> {
    let mut full = [Term::Max(local.as_ref().is_err_and(Error::is_full).into())];
    let done = collective::agree_with(&*run.comm, run.node(), local, &mut full);
    Ok(done
        .verdict()?
        .map_err(|error| (error, full[0].value() > 0)))
}
