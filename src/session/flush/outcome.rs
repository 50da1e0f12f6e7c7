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
    /// How long the program was held up for it.
    pub blocked: Duration,
    /// This rank's record with the checksums that were taken, if this rank has copied its files.
    pub filemap: Option<Filemap>,
    pub result: Result<FlushResult>,
}

/// How a flush without an error has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushResult {
    /// It is complete in the prefix directory.
    Saved,
    /// It was complete there before anything was copied.
    Found,
    /// It is complete there, but the user has taken it out of the index meanwhile.
    Dropped,
    /// It was cancelled.
    Cancelled,
}
