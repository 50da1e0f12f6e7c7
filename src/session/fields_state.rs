//! The memory of a run for its checkpoints of fields. It ends with the run: after a repair nothing is known.

use super::run::Run;
use super::state::Call;
use crate::format::Name;
use crate::messages::{AFTER_REFUSED_RESTART, WOULD_OVERWRITE};
use crate::store::{Files, KeptFiles};
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Elements of an index list that another rank lists, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copies {
    /// The number of the list among those of the program.
    pub list: usize,
    /// The other rank.
    pub peer: usize,
    /// The elements, by their positions.
    pub places: Vec<CopiedRun>,
}

/// Indices that follow each other, in the list of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopiedRun {
    /// The position of the first one in the list.
    pub at: u64,
    /// The first one, from 0 on.
    pub id: u64,
    /// How many there are.
    pub count: u64,
}

/// All ranks have the same values, except for `parts`, `copies`, `stale` and `kept`.
#[derive(Default)]
pub struct FieldsState {
    /// A number of this rank's boxes in wholes, if the parts of all ranks were found to make up the wholes.
    parts: Option<u64>,
    /// The elements that other ranks write, too.
    copies: Arc<[Copies]>,
    /// The reason why the last `SCR_Restore` has failed, if it has.
    refused: Option<String>,
    /// Names of checkpoints whose fields differ from those that the program has listed. They are
    /// good.
    unfit: BTreeSet<Name>,
    /// Names of fields of which the program was told that a device has a copy, too.
    stale: BTreeSet<String>,
    /// This rank's files of fields, and its redundancy files, of the datasets that are in the cache.
    pub(super) kept: KeptFiles,
}

impl FieldsState {
    /// The file system in which a dataset gets its redundancy. A file of fields that is mapped is read through its mapping,
    /// and redundancy files are kept for the next dataset. Local.
    pub(super) fn files_to_protect(&self, run: &Run) -> Arc<dyn Files> {
        let files = run.files.clone();
        if run.settings.cache_mapped {
            return self.kept.used_by(files);
        }
        files
    }

    /// Refuses a dataset that could take the place of a checkpoint that was not restored. Local; the same on all
    /// ranks.
    pub(super) fn check_start(&self, run: &Run, call: Call, name: &Name) -> Result<()> {
        if run.settings.start_anew {
            return Ok(());
        }
        if let Some(why) = &self.refused {
            let what = format!(
                "nothing is written, as SCR_Restore has failed, and the program would take the place of the checkpoints \
                 that it has not restored: {why}; look at what SCR_Restore returns, and stop, or call it again; or give \
                 them up: SCR_START_ANEW=1 ({AFTER_REFUSED_RESTART})"
            );
            return Err(Error::usage(call.name(), what));
        }
        if self.unfit.contains(name) {
            let what = format!(
                "{name} would overwrite a checkpoint in {} that SCR_Restore has passed over, as it has other fields; \
                 choose another name, or give it up: SCR_Delete, or SCR_START_ANEW=1 ({WOULD_OVERWRITE})",
                run.prefix.root().display()
            );
            return Err(Error::usage(call.name(), what));
        }
        Ok(())
    }

    /// A checkpoint does not fit the program's list.
    pub(super) fn does_not_fit(&mut self, name: Name) {
        self.unfit.insert(name);
    }

    /// The program has restored the checkpoint of this name, or has given it up.
    pub(super) fn forget(&mut self, name: &Name) {
        self.unfit.remove(name);
    }

    /// Notes how `SCR_Restore` has ended, or that the program has said itself which checkpoint it wants. After a restart
    /// that has failed, nothing is written. Local; all ranks must call it.
    pub fn note_restore(&mut self, why_refused: Option<String>) {
        self.refused = why_refused;
    }

    /// True for the name of a checkpoint whose fields differ from those that the program has listed. Local; the same
    /// on all ranks.
    pub fn is_unfit(&self, name: &Name) -> bool {
        self.unfit.contains(name)
    }

    /// True for a field of which the program was not yet told that a device has a copy of its data, too; it is told now.
    /// Local.
    pub fn tells_stale(&mut self, field: &str) -> bool {
        self.stale.insert(field.to_string())
    }

    /// True if the parts of wholes with this number, on each rank that rank's own, were found to make up the
    /// wholes. Local.
    pub fn knows_parts(&self, parts: u64) -> bool {
        self.parts == Some(parts)
    }

    /// Keeps the number of this rank's parts, which make up the wholes, and the elements that other ranks write, too.
    /// Local.
    pub fn know_parts(&mut self, parts: u64, copies: Vec<Copies>) {
        self.parts = Some(parts);
        self.copies = copies.into();
    }

    /// It is not known whether the parts make up the wholes. Local.
    pub fn forget_parts(&mut self) {
        self.parts = None;
        self.copies = Arc::default();
    }

    /// The elements that other ranks write, too. Local.
    pub fn copies(&self) -> Arc<[Copies]> {
        self.copies.clone()
    }
}
