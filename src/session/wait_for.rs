//! The background flushes that a call of the program waits for.

use crate::format::Dataset;

/// The flushes that must have ended before a call goes on.
#[derive(Debug, Clone, Copy)]
pub(super) enum WaitFor<'a> {
    /// No flush: the call only looks which flushes have ended.
    Nothing,
    /// All flushes.
    All,
    /// The flushes of these datasets.
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
