//! Saves datasets after their job has ended: copies their parts from the nodes to the prefix
//! directory, rebuilds what is missing, and enters the datasets in the index. Everything here runs
//! in one process, without ranks.
//!
//! ```text
//! let copied = copy(&settings, &caches, id);             // on each node that is up
//! let built = build(&files, &prefix, id, ..)?;           // then on one node
//! ```
//!
//! [`dataset_records`] reads the records of a directory, [`mod@rebuild`] rebuilds a dataset,
//! [`scr_v3`] reads datasets that SCR v3.1.0 scavenged. [`mod@copy`] and [`mod@build`] use them.
//! [`save`] does everything if one process can reach the caches of all nodes.

pub mod build;
pub mod caches;
pub mod contain;
pub mod copy;
pub mod dataset_records;
pub mod locations;
pub mod rebuild;

pub mod scr_v3;

pub use build::{BuildSettings, Built, build};
pub use copy::{CopyResult, Redundancy, copy};

use crate::Result;
use crate::cache::layout::Layout;

/// Saves dataset `id` from the caches of several nodes, each with its name. Copies the data of all
/// nodes first, then the redundancy files of sets that still miss a rank; see [`copy()`] and
/// [`build()`]. Local.
pub fn save(
    settings: &copy::CopySettings,
    nodes: &[(&str, Vec<Layout>)],
    id: u64,
    time: &str,
    notes: &mut Vec<String>,
) -> Result<Built> {
    for redundancy in [Redundancy::None, Redundancy::Needed(&[])] {
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
    let how = BuildSettings {
        node: settings.node,
        time,
        checksums: settings.checksums,
        watch: &(),
    };
    build(settings.files, settings.prefix, id, how, notes)
}
