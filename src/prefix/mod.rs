//! The prefix directory on the parallel file system: index, flush, fetch and deletion.

pub mod access;
pub mod containers;
pub mod delete;
mod directories;
pub mod fetch;
mod fetch_part;
mod fetch_share;
pub mod file_lists;
pub mod finish;
pub mod flush;
pub mod flush_target;
pub mod identity;
pub mod index;
pub mod names;
pub mod part;
pub mod paths;
pub mod permit;
pub mod rank2file;
pub mod records;

#[cfg(test)]
mod delete_tests;
#[cfg(test)]
mod fetch_tests;
#[cfg(test)]
mod part_tests;
#[cfg(test)]
mod rank2file_tests;
#[cfg(test)]
mod record_tests;
