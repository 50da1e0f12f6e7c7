//! Flushes whose run was killed when only their last records were missing.

use crate::Result;
use crate::events::Severity;
use crate::prefix::finish::finish_ended;
use crate::prefix::paths::Prefix;
use crate::session::datasets::cached::title;
use crate::session::run::{Run, time_now};
use crate::store::Files;

/// Rank 0: finishes the flushes that ended while their run was killed, and reports them. Local.
///
/// # Errors
/// The index cannot be read.
pub(in crate::session) fn finish_and_tell(run: &Run) -> Result<()> {
    for (severity, text) in finish_flushes(&*run.files, &run.prefix)? {
        run.tell_once(severity, text);
    }
    Ok(())
}

/// Rank 0: finishes the flushes that ended while their run was killed. Returns the messages to
/// print. Local.
///
/// # Errors
/// The index cannot be read.
pub(in crate::session) fn finish_flushes(
    files: &dyn Files,
    prefix: &Prefix,
) -> Result<Vec<(Severity, String)>> {
    let mut problems = Vec::new();
    let finished = finish_ended(files, prefix, &time_now, &mut problems)?;
    let done = finished.iter().map(|dataset| {
        let text = "the flush had ended without its entry in the index; it is complete now";
        (Severity::Note, format!("{}: {text}", title(dataset)))
    });
    let failed = problems.iter().map(|error| {
        let text = format!(
            "a flush had ended without its entry in the index, and cannot be completed: {error}"
        );
        (Severity::Warning, text)
    });
    Ok(done.chain(failed).collect())
}
