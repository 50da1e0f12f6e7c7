//! `SCR_FLUSH_POSTSTAGE`: the end of a run that does not wait for its flushes.

use super::Flush;
use crate::comm::VerdictExt;
use crate::events::Severity;
use crate::messages::NOT_HANDED_OVER;
use crate::session::datasets::cached::due_at_end;
use crate::session::datasets::cached::title;
use crate::session::wait_for::WaitFor;
use crate::{Error, Result};

impl Flush<'_> {
    /// `SCR_FLUSH_POSTSTAGE`: hands the flushes that have not ended, and those that are due when the run
    /// ends, over to `scr poststage`, instead of waiting for them. Collective.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        self.end_flushes(WaitFor::Nothing)?;
        let mut result = self.failed_again(false).verdict()?;
        let newest = due_at_end(self.run, self.cached).map(|dataset| dataset.id);
        let newest =
            newest.filter(|id| !self.cached.get(*id).is_some_and(|c| c.prefix.is_flushing()));
        if let Some(id) = newest {
            result = result.and(self.dataset(id).verdict()?);
        }
        let run = self.run;
        let (datasets, handed) = self.background.flushes.hand_over(run);
        if datasets.is_empty() {
            return result;
        }
        let named: Vec<String> = datasets.iter().map(title).collect();
        let named = named.join(", ");
        match run.agree(handed).verdict()? {
            Ok(()) => run.tell_once(
                Severity::Note,
                format!("scr poststage or scr postrun finishes the flush of {named}"),
            ),
            Err(error) => {
                let what = format!(
                    "the flush of {named} could not be handed over, and scr postrun must save it \
                     from the cache ({NOT_HANDED_OVER}): {error}"
                );
                result = result.and(Err(Error::config("SCR_FLUSH_POSTSTAGE", what)));
            }
        }
        result
    }
}
