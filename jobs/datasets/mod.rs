//! Datasets of the prefix directory in the hands of a command: chosen by name, entered in the index, finished after the
//! job has ended.

pub mod add;
pub mod by_name;
pub mod cached;
pub mod listing;
pub mod poststage;
pub mod resume;
