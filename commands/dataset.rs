//! The dataset that a command line names.

use super::call::Failure;
use scr_engine::Error;
use scr_engine::format::index::Index;
use scr_engine::format::{self, Dataset, Name, summary::Summary};
use scr_engine::prefix::index;
use scr_engine::prefix::paths::Prefix;
use scr_engine::store::Files;
use scr_jobs::datasets::by_name::no_such_dataset;

/// The complete dataset of this name in the index, else of this number.
pub(super) fn find(files: &dyn Files, prefix: &Prefix, name: &Name) -> Result<Dataset, Failure> {
    let index = index::read(files, prefix)?;
    let id = index.id(name).or_else(|| name.number());
    let Some(id) = id.filter(|id| is_known(files, prefix, &index, *id)) else {
        return Err(no_such_dataset(prefix, &index, name, "a dataset").into());
    };
    let path = prefix.dataset(id).join("summary.scr");
    let summary: Summary = format::read(files, &path)?;
    if summary.complete && summary.dataset.id == id {
        Ok(summary.dataset)
    } else {
        Err(Error::corrupt(path, "does not describe a complete dataset").into())
    }
}

/// True if the index or a summary knows the dataset.
fn is_known(files: &dyn Files, prefix: &Prefix, index: &Index, id: u64) -> bool {
    let summary = || files.stat(&prefix.dataset(id).join("summary.scr"));
    index.get(id).is_some() || matches!(summary(), Ok(Some(_)))
}
