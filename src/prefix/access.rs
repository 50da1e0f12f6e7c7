//! What the ranks of a job have in common when they work on the prefix directory together.

use super::paths::Prefix;
use crate::comm::Communicator;
use crate::store::Files;
use crate::store::Watch;

/// What flush, fetch and deletion work with.
pub struct PrefixAccess<'a> {
    /// All ranks.
    pub comm: &'a dyn Communicator,
    /// The files in cache and prefix directory.
    pub files: &'a dyn Files,
    /// The prefix directory.
    pub prefix: &'a Prefix,
    /// This rank's node.
    pub node: &'a str,
    /// True if this rank acts for its node: one rank of each node does.
    pub first_of_node: bool,
    /// At most so many ranks copy at once (`SCR_FLUSH_WIDTH`, `SCR_FETCH_WIDTH`).
    pub width: usize,
    /// Copy buffer, bytes (`SCR_FILE_BUF_SIZE`).
    pub buffer: usize,
    /// Restore mode and times of copies (`SCR_COPY_METADATA`).
    pub metadata: bool,
    /// Learns how far the copies of this rank have come.
    pub watch: &'a dyn Watch,
}
