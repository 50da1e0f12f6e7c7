//! Flushes that make room in the cache, and those that are waited for until a dataset may leave it.

use super::Flush;
use crate::events::Severity;
use crate::policy::eviction::awaited;
use crate::session::datasets::cached::{due_at_end, title};
use crate::session::datasets::location::Location;
use crate::session::wait_for::WaitFor;
use crate::{Error, Result};

impl Flush<'_> {
    /// Flushes the newest checkpoint before output that is no checkpoint takes its place in the cache, if
    /// it has no other copy: no restart could use the output. Not with `SCR_FLUSH=0`. Collective.
    ///
    /// # Errors
    /// The flush has failed. The checkpoint is still in the cache.
    pub fn save_displaced(&mut self, to: Location, more: usize) -> Result<()> {
        let (run, cached) = (self.run, &*self.cached);
        let Some(id) = due_at_end(run, cached).map(|dataset| dataset.id) else {
            return Ok(());
        };
        let gone = cached.victims(run, &self.search.offer, to, more);
        if gone.iter().any(|slot| slot.id == id) {
            self.now(id)
        } else {
            Ok(())
        }
    }

    /// Flushes the newest checkpoint, so that it may be evicted where a store has no room for the next dataset
    /// beside it. `refusal` has the reason. Collective.
    ///
    /// # Errors
    /// The flush has failed. The checkpoint is still in the cache, so there is no room.
    pub fn save_for_room<T>(&mut self, refusal: Result<T>) -> Result<()> {
        let newest = due_at_end(self.run, self.cached);
        let Some((id, name)) = newest.map(|newest| (newest.id, title(newest))) else {
            return refusal.map(drop);
        };
        let why = refusal
            .err()
            .map_or(String::new(), |why| format!(": {why}"));
        let severity = if self.cached.tell_saving() {
            Severity::Note
        } else {
            Severity::Debug(1)
        };
        let text = format!("{name} is flushed, so that it can make room for the next dataset{why}");
        self.run.tell_once(severity, text);
        let no_room = format!("there is no room for the next dataset beside it{why}");
        let flushed = self.now(id);
        flushed.map_err(|error| error.with_note(&no_room))?;
        let gone = self
            .cached
            .get(id)
            .is_none_or(|cached| cached.prefix.is_saved());
        if gone {
            Ok(())
        } else {
            let what = format!("is not in the prefix directory, and {no_room}");
            Err(Error::dataset(id, "", what))
        }
    }

    /// Waits for the flushes whose end must be known before a new dataset evicts others from a store; see
    /// [`awaited`]. Collective; without a round if nothing is waited for.
    pub fn wait_for_victims(&mut self, to: Location, more: usize) -> Result<()> {
        let count = self.run.descriptors.stores[to.store()].count as usize;
        loop {
            let (slots, entries) = self.cached.candidates(self.run, &self.search.offer, to);
            let awaited = awaited(&entries, count, more).into_iter();
            let ids: Vec<u64> = awaited
                .filter_map(|at| slots.get(at).map(|slot| slot.id))
                .collect();
            if ids.is_empty() {
                return Ok(());
            }
            self.end_flushes(WaitFor::Ids(&ids))?;
        }
    }
}
