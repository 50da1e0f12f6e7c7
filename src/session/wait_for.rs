//! Which background flushes a call of the program waits for.

use crate::format::Dataset;

/// Which flushes a call needs to have ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum WaitFor<'a> {
    /// None: it only looks.
    Nothing,
    /// All of them.
    All,
    /// Those of these datasets.
    Ids(&'a [u64]),
}

impl WaitFor<'_> {
    /// True if the call needs the flush of this dataset to have ended.
    pub fn includes(self, dataset: &Dataset) -> bool {
        match self {
            WaitFor::Nothing => false,
            WaitFor::All => true,
            WaitFor::Ids(ids) => ids.contains(&dataset.id),
        }
    }
}
