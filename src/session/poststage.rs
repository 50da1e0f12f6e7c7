//! `SCR_FLUSH_POSTSTAGE`: the end of a run that does not wait for its flushes.

use super::background::WaitFor;
use super::cached::title;
use super::flush::{Flush, due_at_end};
use crate::events::Severity;
use crate::{Error, Result};

impl Flush<'_> {
    /// `SCR_FLUSH_POSTSTAGE`: hands the flushes that have not ended, and those that are due when the run
    /// ends, over to `scr poststage`, instead of waiting for them. Collective.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        self.settle(WaitFor::Nothing)?;
        let failed = self.cached.slots(|c| c.flush_failed && !c.flushing);
        let newest = due_at_end(self.run, self.cached).map(|dataset| dataset.id);
        let newest = newest.filter(|id| !self.cached.get(*id).is_some_and(|c| c.flushing));
        let mut due: Vec<u64> = failed.iter().map(|slot| slot.id).chain(newest).collect();
        due.sort_unstable();
        due.dedup();
        let mut result = Ok(());
        for id in due {
            match self.dataset(id) {
                Err(error @ Error::Comm { .. }) => return Err(error),
                other => result = result.and(other),
            }
        }
        let run = self.run;
        let (datasets, handed) = self.background.hand_over(run);
        if datasets.is_empty() {
            return result;
        }
        let named: Vec<String> = datasets.iter().map(title).collect();
        let named = named.join(", ");
        match run.agree(handed) {
            Ok(()) => run.tell_once(
                Severity::Note,
                format!("scr poststage or scr postrun finishes the flush of {named}"),
            ),
            Err(error @ Error::Comm { .. }) => return Err(error),
            Err(error) => {
                let what = format!(
                    "the flush of {named} could not be handed over, and scr postrun must save it \
                     from the cache: {error}"
                );
                result = result.and(Err(Error::config("SCR_FLUSH_POSTSTAGE", what)));
            }
        }
        result
    }
}
