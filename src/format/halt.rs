//! `.scr/halt.scr`: when a run should stop.

use super::Name;
use serde::{Deserialize, Serialize};

/// Conditions to stop a run, set by the user through `scr_halt` or by the library. All are
/// optional.
///
/// ```text
///   CheckpointsLeft = 10
///   ExitAfter = 1795221700
///   ExitBefore = 1795231700
///   ExitReason = SCR_FINALIZE_CALLED
///   HaltSeconds = 300
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Halt {
    /// Stop now; the reason as one word.
    #[serde(rename = "ExitReason")]
    pub exit_reason: Option<Name>,
    /// Stop after this many more checkpoints.
    #[serde(rename = "CheckpointsLeft")]
    pub checkpoints_left: Option<i64>,
    /// Stop after the first checkpoint after this time, seconds since the epoch.
    #[serde(rename = "ExitAfter")]
    pub exit_after: Option<i64>,
    /// Stop so that the run is over by this time, seconds since the epoch.
    #[serde(rename = "ExitBefore")]
    pub exit_before: Option<i64>,
    /// Time to stop before the end of the allocation, or before `exit_before`, seconds.
    #[serde(rename = "HaltSeconds")]
    pub halt_seconds: Option<i64>,
}
