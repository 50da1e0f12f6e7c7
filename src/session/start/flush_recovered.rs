//! The datasets in the cache that `SCR_Init` flushes.

use crate::Result;
use crate::cache::plan::Slot;
use crate::comm::VerdictExt;
use crate::prefix::index;
use crate::session::Session;
use crate::session::datasets::cached::{CachedDataset, CachedDatasets};
use crate::session::run::Run;

/// Recovers and flushes the cached datasets that must be in the prefix directory and are not, oldest first. Called
/// after `SCR_Init` has recovered the checkpoint `newest`. With `SCR_GLOBAL_RESTART` the cache is then emptied, since the
/// restart must come from the prefix directory, where all ranks see all files. With `SCR_FETCH=0` the cache stays, as
/// the restart can only be from the cache. All datasets are tried before the first failure is returned; errors of the
/// transport are returned at once. Collective.
pub(super) fn flush_recovered(session: &mut Session, newest: Option<u64>) -> Result<()> {
    let settings = &session.run.settings;
    let (global, on_restart) = (settings.global_restart, settings.flush_on_restart);
    let newest = newest.and_then(|id| session.cached.get(id));
    let due = due_after_recovery(&session.cached, newest, on_restart);
    keep_newest_current(&session.run, newest, &due);
    let mut result = Ok(());
    for slot in due {
        let here = |c: &CachedDataset| c.slot() == slot && c.is_whole();
        if !session.cached.iter().any(here) && !session.restart().bring_back(slot)? {
            continue;
        }
        let flushed = if global {
            session.flush().now(slot.id)
        } else {
            session.flush().dataset(slot.id)
        };
        result = result.and(flushed.verdict()?);
    }
    if global && session.run.settings.fetch {
        // Datasets that could not be read now, or are not of this run, stay.
        let (cached, search) = (&mut session.cached, &mut session.search);
        let saved = cached.slots(|cached| cached.prefix.has_files());
        cached.remove(&session.run, search, &saved);
        if let Some(survey) = search.survey.get_mut() {
            survey.forget_cached();
        }
        search.offer.withdraw();
    }
    result
}

/// Makes the recovered checkpoint current again if the prefix directory has it, so that none of the
/// older ones that come there next is current. Local.
fn keep_newest_current(run: &Run, newest: Option<&CachedDataset>, due: &[Slot]) {
    if let Some(newest) = newest.filter(|c| c.prefix.is_saved() && !due.is_empty()) {
        run.keep_record(|| {
            index::update(&*run.files, &run.prefix, |index| {
                index.set_current(&newest.dataset.name);
                Ok(())
            })
        });
    }
}

/// The cached datasets that `SCR_Init` flushes, oldest first: those that are marked as output, those
/// whose flush did not come to its end, and with `SCR_FLUSH_ON_RESTART` all checkpoints. Of the
/// checkpoints, only the recovered one and those before it: later ones cannot be used. The same on
/// all ranks.
fn due_after_recovery(
    cached: &CachedDatasets,
    newest: Option<&CachedDataset>,
    on_restart: bool,
) -> Vec<Slot> {
    let newest = newest.filter(|c| !c.location.is_bypass());
    let newest = newest.map_or(0, |c| c.dataset.id);
    let due = |c: &CachedDataset| {
        let wanted = c.dataset.flag_output
            || (c.dataset.is_checkpoint() && (c.prefix.flush_failed() || on_restart));
        let may_be_whole = !c.dataset.is_checkpoint() || c.dataset.id <= newest;
        wanted
            && may_be_whole
            && !(c.location.is_bypass() || c.prefix.has_files() || c.prefix.is_given_up())
    };
    let mut slots = cached.slots(due);
    slots.sort_unstable_by_key(|slot| slot.id);
    slots
}
