//! `SCR_CURRENT`: the checkpoint that the first fetch of an allocation makes the current one.

use crate::events::Severity;
use crate::format::{self, Name};
use crate::messages::NO_SUCH_CHECKPOINT;
use crate::prefix::records;
use crate::session::run::Run;
use std::path::PathBuf;

/// Rank 0: `SCR_CURRENT`, unless an earlier fetch of this allocation has used it: it moves the
/// current marker once. Local.
pub(super) fn wanted(run: &Run) -> Option<Name> {
    let name = run.settings.current.as_deref().map(Name::from)?;
    let used = format::read_tree(&*run.files, &file(run)).unwrap_or_default();
    (used.value("CURRENT") != Some(&name)).then_some(name)
}

/// The file in the control directory that holds the last `SCR_CURRENT` that was used.
fn file(run: &Run) -> PathBuf {
    let control = &run.stores[run.descriptors.control].layout;
    control.job().join("cindex.scrinfo")
}

/// Rank 0: records that `SCR_CURRENT` was used, if the marker has `moved`; warns if there is no such
/// checkpoint. Local.
pub(super) fn remember(run: &Run, name: Name, known: bool, moved: bool) {
    if !known {
        let text = format!(
            "SCR_CURRENT={name}: there is no such checkpoint in the index ({NO_SUCH_CHECKPOINT})"
        );
        run.tell_once(Severity::Warning, text);
    }
    if moved {
        is_used(run, name);
    }
}

/// Rank 0: records that the checkpoint which `SCR_CURRENT` names was made the current one, or was rejected. Local.
pub(super) fn is_used(run: &Run, name: Name) {
    let mut record = format::Tree::new();
    record.set_value("CURRENT", name);
    let bytes = format::encode(&record);
    run.keep_record(|| records::put(&*run.files, &file(run), &bytes));
}
