//! What is done with a dataset after its job, without a job: its parts in the nodes are copied
//! to the prefix directory, what is missing is rebuilt, and the whole is entered in the index.
//! Everything here is local: one process does it, no ranks.
//!
//! ```text
//! let copied = copy(&settings, &caches, id);               // on each node that is up
//! let built = build(&files, &prefix, id, ..)?;           // then on one
//! ```
//!
//! [`dataset_records`] reads the records of a directory, [`mod@rebuild`] makes a dataset whole from what is
//! there, [`mod@copy`] and [`mod@build`] use them; [`scr_v3`] reads what SCR v3.1.0 left. [`save`] does all for nodes whose caches
//! one process can reach.

pub mod build;
pub mod caches;
pub mod copy;
pub mod dataset_records;
pub mod locations;
pub mod rebuild;

pub mod scr_v3;

pub use build::{Built, build};
pub use copy::{CopyResult, Redundancy, copy};

use crate::Result;
use crate::cache::layout::Layout;

/// Saves dataset `id` from the caches of several nodes, each with its name: data
/// first, and redundancy files of those sets only of which a rank is missing then; see
/// [`copy()`] and [`build()`]. Local.
pub fn save(
    settings: &copy::CopySettings,
    nodes: &[(&str, Vec<Layout>)],
    id: u64,
    time: &str,
    notes: &mut Vec<String>,
) -> Result<Built> {
    for redundancy in [Redundancy::None, Redundancy::Needed] {
        for (node, caches) in nodes {
            let settings = copy::CopySettings {
                redundancy,
                node,
                ..*settings
            };
            let problems = copy(&settings, caches, id).problems;
            notes.extend(problems.iter().map(ToString::to_string));
        }
    }
    build(
        settings.files,
        settings.prefix,
        id,
        (settings.node, time),
        notes,
    )
}
