//! The ids of processes.

use super::scheduler;

/// The number of the process of the running task.
pub fn id() -> u32 {
    scheduler::current_process().unwrap_or(1)
}

/// The name of the host on which it runs.
pub fn host() -> String {
    scheduler::current_host().unwrap_or_else(|| "host".to_string())
}

/// All simulated files belong to this user.
pub fn user() -> u32 {
    0
}

/// A number that no other process is likely to draw.
pub fn random() -> u64 {
    scheduler::draw(super::Random::number)
}
