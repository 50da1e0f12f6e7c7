//! Groups, stores and redundancy schemes of one process (SCR developer guide, "Group, store, and redundancy descriptors").

pub use super::describe::descriptors;
use super::settings::FlushType;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How a dataset is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SchemeKind {
    /// Not at all: it outlives the process, not the node.
    Single,
    /// Copies on other nodes.
    Partner,
    /// One parity block for each set.
    Xor,
    /// Reed-Solomon: several parity blocks for each set.
    Rs,
}

impl SchemeKind {
    /// From SINGLE, PARTNER, XOR or RS in any case; `None` for any other word.
    pub fn from_word(word: &str) -> Option<SchemeKind> {
        let known = [
            SchemeKind::Single,
            SchemeKind::Partner,
            SchemeKind::Xor,
            SchemeKind::Rs,
        ];
        known
            .into_iter()
            .find(|scheme| scheme.word().eq_ignore_ascii_case(word.trim()))
    }

    /// The word that files and parameters use.
    pub fn word(self) -> &'static str {
        match self {
            SchemeKind::Single => "SINGLE",
            SchemeKind::Partner => "PARTNER",
            SchemeKind::Xor => "XOR",
            SchemeKind::Rs => "RS",
        }
    }
}

/// Whether nodes share the directory of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum View {
    /// The same path is another directory on each node.
    Private,
    /// One directory for all: the parts of each node's ranks lie below `node.<n>`.
    Global,
}

/// A place where datasets are cached. Serialized is what must be the same on all ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct StoreDescriptor {
    /// Position in [`Descriptors::stores`].
    pub index: usize,
    /// Where it was configured, for messages.
    #[serde(skip)]
    pub place: String,
    /// Absolute directory; may differ from process to process.
    #[serde(skip)]
    pub dir: PathBuf,
    /// Processes that reach the same instance; a key of [`Descriptors::groups`]. Never NODE
    /// with [`View::Global`].
    pub group: String,
    /// How many datasets are kept; at least 1 if an enabled scheme uses it.
    pub count: u64,
    /// False: not to be used.
    pub enabled: bool,
    /// Whether SCR makes the directory if it is missing.
    pub mkdir: bool,
    /// Whether nodes share it.
    pub view: View,
    /// How files are moved from it.
    pub flush: FlushType,
}

impl StoreDescriptor {
    /// True if nodes reach one instance together, so that it is not in a node, and no node's
    /// loss takes away what it holds.
    pub fn outlives_nodes(&self) -> bool {
        self.group != "NODE"
    }
}

/// A redundancy scheme and the datasets it is for. Serialized is what must be the same on all
/// ranks, each child under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct SchemeDescriptor {
    /// Position in [`Descriptors::schemes`].
    pub index: usize,
    /// Where it was configured, for messages.
    #[serde(skip)]
    pub place: String,
    /// False: not to be used.
    pub enabled: bool,
    /// For every n-th checkpoint; at least 1.
    pub interval: u64,
    /// For datasets marked as output.
    pub output: bool,
    /// Files are written straight to the prefix directory.
    pub bypass: bool,
    /// Position of its store in [`Descriptors::stores`].
    pub store: usize,
    /// Processes that fail together; a key of [`Descriptors::groups`].
    pub group: String,
    /// The scheme.
    #[serde(rename = "TYPE")]
    pub scheme: SchemeKind,
    /// Smallest size of a set, ranks.
    pub set_size: u32,
    /// Ranks of a set that may be lost: 0 with SINGLE, 1 with XOR, as configured otherwise.
    pub set_failures: u32,
}

/// All descriptors of one process. Every process has as many stores and schemes, in the same
/// order, as long as SCR_CACHE_BASE and SCR_CNTL_BASE name configured stores on all or none.
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
    /// What the user should hear.
    pub warnings: Vec<String>,
}

/// The scheme for a dataset: with `output` the first enabled for output; else for checkpoint
/// `ckpt_id` the enabled one with the largest interval that divides it; else the first enabled
/// one with interval 1. `None` only if there is none of these, which [`descriptors`] refuses.
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
