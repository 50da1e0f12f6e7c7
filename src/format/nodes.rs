//! `.scr/nodes.scr`: how many nodes the last run used.

use serde::{Deserialize, Serialize};

/// Read by `scr_run` to know how many nodes the next run needs.
///
/// ```text
///   NODES = 4
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nodes {
    /// Number of different nodes.
    #[serde(rename = "NODES")]
    pub nodes: u64,
}
