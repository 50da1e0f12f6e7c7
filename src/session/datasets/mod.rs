//! The run's knowledge of datasets: those in its caches, their copies in the prefix directory, and how
//! they leave the cache.

pub(super) mod cached;
mod classify;
pub(super) mod damage;
pub(super) mod deletion;
pub(super) mod evict;
pub(super) mod location;
pub(super) mod other_ranks;
pub(super) mod prefix_state;
pub(super) mod record;
pub(super) mod restart_files;
pub(super) mod search;
pub(super) mod space;
pub(super) mod store_leaders;
pub(super) mod survey;
pub(super) mod unavailable;
