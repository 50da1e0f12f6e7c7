//! A person's changes of a prefix directory without a run: datasets by their names (`scr index`).

use scr_engine::comm::solo::Solo;
use scr_engine::format::Name;
use scr_engine::format::index::{Index, IndexEntry};
use scr_engine::format::print::escaped;
use scr_engine::prefix::access::PrefixAccess;
use scr_engine::prefix::delete::{self, Deleted, DeletionPlan};
use scr_engine::prefix::index;
use scr_engine::prefix::paths::Prefix;
use scr_engine::store::{Files, Unkept};
use scr_engine::{Error, Result};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The error of a name that is not the name of `what` in the index, and what to do.
pub fn no_such_dataset(prefix: &Prefix, index: &Index, name: &Name, what: &str) -> Error {
    let shown = escaped(name);
    let what = match index.left_over(name) {
        Some(id) => format!(
            "`{shown}' is left over from a dataset that is gone: {id} is the id of `{}' now; \
             `scr index --drop` takes the name out",
            index.name(id).map(escaped).unwrap_or_default()
        ),
        None => format!(
            "`{shown}' is not the name of {what} there; `scr index --list` shows the checkpoints"
        ),
    };
    Error::config(prefix.file("index.scr").display().to_string(), what)
}

/// Removes a dataset from the index; its files stay.
///
/// # Errors
/// No dataset has that name.
pub fn drop_one(files: &dyn Files, prefix: &Prefix, name: &Name) -> Result<()> {
    change(files, prefix, name, |index| index.remove(name).is_some())
}

/// Removes all datasets from the index that are newer than this one; their files stay.
///
/// # Errors
/// No dataset has that name.
pub fn drop_after(files: &dyn Files, prefix: &Prefix, name: &Name) -> Result<()> {
    change(files, prefix, name, |index| {
        index.drop_after(name).is_some()
    })
}

fn change(
    files: &dyn Files,
    prefix: &Prefix,
    name: &Name,
    change: impl FnOnce(&mut Index) -> bool,
) -> Result<()> {
    index::update(files, prefix, |index| {
        if change(index) {
            Ok(())
        } else {
            Err(no_such_dataset(prefix, index, name, "a dataset"))
        }
    })
}

/// Makes a checkpoint the one that the next run tries first. True if the checkpoint is good: it is complete, and no
/// restart from it has failed.
///
/// # Errors
/// No checkpoint has that name.
pub fn make_current(files: &dyn Files, prefix: &Prefix, name: &Name) -> Result<bool> {
    let mut good = false;
    index::update(files, prefix, |index| {
        if index.set_current(name) {
            let entry = index.id(name).and_then(|id| index.get(id));
            good = entry.is_some_and(IndexEntry::is_good);
            return Ok(());
        }
        Err(match index.id(name) {
            Some(id) => Error::dataset(
                id,
                escaped(name),
                "is not a checkpoint, so no run can restart from it",
            ),
            None => no_such_dataset(prefix, index, name, "a checkpoint"),
        })
    })?;
    Ok(good)
}

/// The deletion of a dataset by one process.
pub struct Deletion<'a> {
    files: &'a dyn Files,
    prefix: &'a Prefix,
    node: &'a str,
    name: &'a Name,
    plan: DeletionPlan,
    /// The dataset.
    pub id: u64,
}

impl<'a> Deletion<'a> {
    /// Plans the deletion of a dataset; `node`: where this process runs.
    ///
    /// # Errors
    /// No dataset has that name.
    pub fn of(
        files: &'a dyn Files,
        prefix: &'a Prefix,
        node: &'a str,
        name: &'a Name,
    ) -> Result<Self> {
        let index = index::read(files, prefix)?;
        let id = index.id(name);
        let id = id.ok_or_else(|| no_such_dataset(prefix, &index, name, "a dataset"))?;
        let plan = DeletionPlan::new(&index, &[id]);
        Ok(Deletion {
            files,
            prefix,
            node,
            name,
            plan,
            id,
        })
    }

    fn with<T>(&self, work: impl FnOnce(&PrefixAccess, &DeletionPlan) -> Result<T>) -> Result<T> {
        let access = PrefixAccess {
            comm: &Solo::new(),
            files: self.files,
            prefix: self.prefix,
            node: self.node,
            first_of_node: true,
            width: 1,
            buffer: 0,
            metadata: false,
            unkept: &Unkept::default(),
            watch: &(),
        };
        work(&access, &self.plan)
    }

    /// The files that the deletion will remove.
    ///
    /// # Errors
    /// The files cannot be listed.
    pub fn files(&self) -> Result<BTreeSet<PathBuf>> {
        self.with(delete::files)
    }

    /// Deletes the dataset; see [`delete()`](scr_engine::prefix::delete::delete). Datasets that became complete since
    /// the plan also count: the user may have taken long to agree.
    ///
    /// # Errors
    /// The dataset is gone, it was refused, or a part of it could not be removed.
    pub fn carry_out(mut self) -> Result<Deleted> {
        let index = index::read(self.files, self.prefix)?;
        if index.id(self.name) != Some(self.id) {
            return Err(no_such_dataset(self.prefix, &index, self.name, "a dataset"));
        }
        self.plan = DeletionPlan::new(&index, &[self.id]);
        let mut deleted = self.with(delete::delete)?;
        match deleted.refused.pop() {
            Some(error) => Err(error),
            None => Ok(deleted),
        }
    }
}
