//! The values that the ranks of a job share when they work on the prefix directory together.

use super::paths::Prefix;
use crate::comm::{Communicator, Term};
use crate::store::{Files, Unkept, Watch};

/// The parts of a run with which flush, fetch and deletion work.
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
    /// The most ranks that copy at once (`SCR_FLUSH_WIDTH`, `SCR_FETCH_WIDTH`).
    pub width: usize,
    /// Copy buffer, bytes (`SCR_FILE_BUF_SIZE`).
    pub buffer: usize,
    /// Restore mode and times of copies (`SCR_COPY_METADATA`).
    pub metadata: bool,
    /// Attributes of files that file systems have refused to keep.
    pub unkept: &'a Unkept,
    /// Learns how far the copies of this rank have come.
    pub watch: &'a dyn Watch,
}

/// The term whose minimum is the first rank with `local` true, or `i64::MAX` without such a rank.
/// `local` is the value of this `rank`.
pub fn first_with(local: bool, rank: usize) -> Term {
    Term::Min(if local { rank as i64 } else { i64::MAX })
}
