//! Room in the cache for a restart: the choice of datasets that leave a full store so that a
//! checkpoint can be recovered or fetched. Datasets go one at a time, and after each one the recovery
//! or the fetch is tried again.

use crate::cache::plan::Slot;
use crate::comm::{Agreement, Term};
use crate::events::Severity;
use crate::format::{Dataset, Name};
use crate::policy::eviction::{EvictionCandidate, Kind, PrefixCopy, first_to_give_way};
use crate::session::datasets::cached::titled;
use crate::session::datasets::evict::{candidate, unusable_candidate};
use crate::session::datasets::location::Location;
use crate::session::datasets::search::Restart;
use crate::session::restart::recovery_plan::Planner;
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
    /// The checkpoint is in the prefix directory, and all its files were found to be good there.
    /// Otherwise nothing may go that a restart needs if this dataset proves damaged.
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
    /// Makes room after a recovery or a fetch has found a store full: waits for deletions to end, or
    /// else deletes the dataset that a restart needs least. False if no dataset can make room.
    /// Collective.
    pub fn make_room(&mut self, needs: Needs) -> Result<bool> {
        let run = self.run;
        let deletion = self.cached.deletion();
        let waited = !deletion.is_idle();
        deletion.start_postponed(run);
        deletion.finish();
        if run.on_any(waited)? {
            return Ok(true);
        }
        let chosen = self.planner().map(|planner| planner.choose_to_go(needs));
        let chosen = run.share(chosen)?;
        let Some(GivesWay { slot, name }) = chosen else {
            return Ok(false);
        };
        let text = format!(
            "STORE={} is full: cached {} is deleted, to make room for {}",
            run.descriptors.stores[slot.store].dir.display(),
            if name.is_empty() {
                format!("dataset {}, which no restart can use,", slot.id)
            } else {
                titled(slot.id, &name)
            },
            titled(needs.dataset.id, &needs.dataset.name),
        );
        run.tell_once(Severity::Note, text);
        self.cached.note_evicted(run, &slot);
        self.cached.remove(run, self.search, &[slot]);
        self.cached.deletion().finish();
        run.comm.barrier()?;
        Ok(true)
    }
}

impl Planner<'_> {
    /// The dataset that makes room; `None` if everything in the store may be needed. Local.
    fn choose_to_go(&self, needs: Needs) -> Result<Option<GivesWay>> {
        let run = self.run;
        let found = self.rest(&BTreeSet::new())?;
        let own = Slot {
            store: needs.store,
            id: needs.dataset.id,
        };
        let offered = self.offer.id();
        let mut names = Vec::new();
        let mut entries = Vec::new();
        let all = self.cached.iter().chain(&found.remaining);
        for cached in all.filter(|cached| !cached.location.is_bypass()) {
            if names.iter().any(|(slot, _)| *slot == cached.slot()) || cached.slot() == own {
                continue;
            }
            names.push((cached.slot(), cached.dataset.name.clone()));
            // In a restart, a newer checkpoint that is only in the cache is tried first.
            let comes_first = cached.dataset.is_checkpoint()
                && cached.dataset.id > needs.dataset.id
                && !cached.prefix.has_files();
            let here = cached.location == Location::Cache(needs.store) && !comes_first;
            entries.push(candidate(run, cached, here, offered));
        }
        let unusable = found.unusable.iter();
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
                kind: Kind::Checkpoint,
                tolerates: 0,
                copy: PrefixCopy::Saved,
                offered: false,
            });
        }
        let chosen = first_to_give_way(&entries).and_then(|at| names.into_iter().nth(at));
        Ok(chosen.map(|(slot, name)| GivesWay { slot, name }))
    }
}

/// Result of work that needs room in a store. The same on all ranks.
pub(in crate::session) enum Fitted<T> {
    Done(T),
    /// A store had no room.
    Full(Error),
    Failed(Error),
}

/// All ranks agree on a result, and on whether a file system was full. Collective.
pub(in crate::session) fn agree_on_room<T>(run: &Run, local: Result<T>) -> Result<Fitted<T>> {
    let full = [Term::Max(local.as_ref().is_err_and(Error::is_full).into())];
    let Agreement {
        verdict,
        terms: [full],
    } = run.agree_with(local, full)?;
    Ok(match verdict {
        Ok(done) => Fitted::Done(done),
        Err(error) if full.on_any() => Fitted::Full(error),
        Err(error) => Fitted::Failed(error),
    })
}
