//! Sizes at which the code takes another way: splits, pieces, groups.

use super::scheduler;

/// A size of at least this is a number of bytes, and not a count.
const BYTES: usize = 4096;

/// A size as it is in this simulation: the usual one, or much less if [`Simulation::make_small`] says so. A megabyte
/// becomes 256 bytes, a count of 64 becomes 2.
///
/// [`Simulation::make_small`]: scheduler::Simulation::make_small
pub fn scaled(usual: usize) -> usize {
    match (scheduler::is_small(), usual >= BYTES) {
        (false, _) => usual,
        (true, true) => (usual / BYTES).max(64),
        (true, false) => (usual / 32).max(2),
    }
}
