//! The outcome of a flush.

use super::Way;
use crate::Result;
use crate::format::Dataset;
use crate::format::filemap::Filemap;
use crate::system::time::Instant;
use std::time::Duration;

/// The outcome of a flush. The same on all ranks, except for times and `filemap`.
pub(super) struct EndedFlush {
    pub way: Way,
    pub dataset: Dataset,
    pub begun: Instant,
    /// Time for which the flush has held up the program.
    pub blocked: Duration,
    /// This rank's record with the checksums that were taken, if this rank has copied its files.
    pub filemap: Option<Filemap>,
    pub result: Result<FlushResult>,
}

/// The result of a flush without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushResult {
    /// The dataset is complete in the prefix directory.
    Saved,
    /// The dataset was complete in the prefix directory before anything was copied.
    Found,
    /// The dataset is complete in the prefix directory, but the user has taken it out of the index
    /// meanwhile.
    Dropped,
    /// The flush was cancelled.
    Cancelled,
}
