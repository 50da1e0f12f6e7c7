//! Which checkpoints stay in the prefix directory, and the deletion of others.

use crate::comm::VerdictExt;
use crate::events::Severity;
use crate::format::index::Index;
use crate::messages::NOT_DELETED;
use crate::prefix::delete::{self, DeletionPlan};
use crate::prefix::index;
use crate::session::run::Run;
use crate::{Error, Result};

/// Deletes the checkpoints that leave the sliding window (`SCR_PREFIX_SIZE`), after dataset `flushed`
/// came to the prefix directory. A dataset that cannot be deleted is reported and stays. Returns the ids
/// of the datasets to delete. Collective.
///
/// # Errors
/// Only errors of the transport: the flushed dataset is complete in any case.
pub(in crate::session) fn delete_outside_window(run: &Run, flushed: u64) -> Result<Vec<u64>> {
    let size = run.settings.prefix_size as usize;
    if size == 0 {
        return Ok(Vec::new());
    }
    let plan = run.share_from_root(|| {
        let index = index::read(&*run.files, &run.prefix)?;
        Ok(DeletionPlan::new(
            &index,
            &outside_window(&index, flushed, size),
        ))
    });
    let (what, ids, deleted) = match plan {
        Ok(plan) => (plan.words(), plan.ids(), delete_from_prefix(run, &plan)),
        Err(error) => ("what is older".to_string(), Vec::new(), Err(error)),
    };
    let warn = |text| run.tell_once(Severity::Warning, format!("SCR_PREFIX_SIZE: {text}"));
    match deleted.verdict()? {
        Ok(refused) => refused
            .iter()
            .for_each(|error| warn(format!("one could not be deleted: {error} ({NOT_DELETED})"))),
        Err(error) => warn(format!(
            "{what} could not be deleted: {error} ({NOT_DELETED})"
        )),
    }
    Ok(ids)
}

/// The checkpoints that leave the prefix directory when it keeps `size` checkpoints, counted from
/// the one just flushed down to lower ids, as in SCR v3.1.0. Higher ids belong to a run that was
/// given up for an older checkpoint; if they counted, the new ones would be deleted. Datasets that
/// are marked as output stay, and so does the current checkpoint.
fn outside_window(index: &Index, flushed: u64, size: usize) -> Vec<u64> {
    let good = index.datasets().range(..=flushed).rev();
    let good = good.filter(|(_, e)| e.is_good() && e.is_checkpoint());
    good.skip(size)
        .filter(|(_, e)| e.dataset.as_ref().is_some_and(|d| !d.flag_output))
        .map(|(id, _)| *id)
        .filter(|id| index.current_id() != Some(*id))
        .collect()
}

/// Deletes datasets from the prefix directory. Returns the errors of the datasets that could not be deleted.
/// Collective.
pub(in crate::session) fn delete_from_prefix(run: &Run, plan: &DeletionPlan) -> Result<Vec<Error>> {
    if plan.is_empty() {
        return Ok(Vec::new());
    }
    let deleted = delete::delete(&run.prefix_access(run.settings.flush_width), plan)?;
    for dir in deleted.dirs {
        let text = format!("{} is not empty and stays", dir.display());
        run.tell(Severity::Debug(1), text);
    }
    if deleted.shared > 0 {
        let text = format!(
            "{} files of {} stay, since other datasets have files of the same names; put the \
             dataset's name into the path",
            deleted.shared,
            plan.words()
        );
        run.tell_once(Severity::Note, text);
    }
    Ok(deleted.refused)
}
