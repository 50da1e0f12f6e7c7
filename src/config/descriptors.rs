//! Groups, stores and redundancy schemes of one process (SCR developer guide, "Group, store, and redundancy descriptors").

use super::settings::FlushType;
use crate::format::Scheme;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Tells whether nodes share the directory of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum View {
    /// Each node has a directory of its own at this path.
    Private,
    /// One directory for all nodes, in which several ranks can write one file.
    Global,
}

/// A store: where datasets are cached. The serialized fields must be the same on all ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct StoreDescriptor {
    /// Position in [`Descriptors::stores`].
    pub index: usize,
    /// The place of the configuration line. For messages.
    #[serde(skip)]
    pub place: String,
    /// Absolute directory; may differ from process to process.
    #[serde(skip)]
    pub dir: PathBuf,
    /// Processes that reach the same instance; a key of [`Descriptors::groups`]. Never NODE
    /// with [`View::Global`].
    pub group: String,
    /// Number of datasets that are kept; at least 1 if an enabled scheme uses the store.
    pub count: u64,
    /// False if it is not used.
    pub enabled: bool,
    /// True if SCR makes the directory when it is missing.
    pub mkdir: bool,
    /// Tells whether nodes share the directory.
    pub view: View,
    /// The way in which files are moved out of the store.
    pub flush: FlushType,
}

impl StoreDescriptor {
    /// True if several nodes share an instance. Then it is not in a node, and its datasets survive the
    /// loss of any node.
    pub fn outlives_nodes(&self) -> bool {
        self.group != "NODE"
    }
}

/// A redundancy descriptor: a scheme and the datasets that use it. The serialized fields must be the
/// same on all ranks; each has the name of its child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct SchemeDescriptor {
    /// Position in [`Descriptors::schemes`].
    pub index: usize,
    /// The place of the configuration line. For messages.
    #[serde(skip)]
    pub place: String,
    /// False if it is not used.
    pub enabled: bool,
    /// Used for every n-th checkpoint; at least 1.
    pub interval: u64,
    /// Used for datasets marked as output.
    pub output: bool,
    /// Files are written straight to the prefix directory.
    pub bypass: bool,
    /// Position of its store in [`Descriptors::stores`].
    pub store: usize,
    /// Processes that fail together; a key of [`Descriptors::groups`].
    pub group: String,
    /// The scheme.
    #[serde(rename = "TYPE")]
    pub scheme: Scheme,
    /// Smallest size of a set, ranks.
    pub set_size: u32,
    /// Ranks of a set that may be lost: 0 with SINGLE, 1 with XOR, as configured otherwise.
    pub set_failures: u32,
}

/// All descriptors of one process. All processes have the same number of stores and schemes in the
/// same order, if SCR_CACHE_BASE and SCR_CNTL_BASE name configured stores on all of them or on none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptors {
    /// Name of each kind of group (upper case) and the group that this node belongs to.
    pub groups: BTreeMap<String, String>,
    /// Stores: configured ones by the text of their lines, then SCR_CACHE_BASE, SCR_CNTL_BASE.
    pub stores: Vec<StoreDescriptor>,
    /// Position of the store for control directories.
    pub control: usize,
    /// Schemes by ascending number of their CKPT lines; at least one enabled with interval 1.
    pub schemes: Vec<SchemeDescriptor>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Selects the redundancy descriptor of a dataset among the enabled ones. For `output`, the first that is for output.
/// Otherwise the descriptor with the largest interval that divides `ckpt_id`; otherwise the first with interval 1.
/// `None` if no descriptor fits; [`descriptors`](super::describe::descriptors) refuses such settings.
pub fn choose(
    schemes: &[SchemeDescriptor],
    ckpt_id: Option<u64>,
    output: bool,
) -> Option<&SchemeDescriptor> {
    let enabled = || schemes.iter().filter(|s| s.enabled);
    let for_output = || enabled().find(|s| output && s.output);
    let divides = |s: &&SchemeDescriptor| ckpt_id.is_some_and(|id| id.is_multiple_of(s.interval));
    // Of equal intervals the first wins; max_by_key would give the last.
    let for_checkpoint = || enabled().rev().filter(divides).max_by_key(|s| s.interval);
    let always = || enabled().find(|s| s.interval == 1);
    for_output().or_else(for_checkpoint).or_else(always)
}
