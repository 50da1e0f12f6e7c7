//! `.scr/scr.dataset.<id>/summary.scr`: the description of a flushed dataset.

use super::dataset::Dataset;
use serde::{Deserialize, Serialize};

/// The version that is written.
pub const VERSION: u32 = 6;

/// The summary of a dataset in the prefix directory, written when the last of its files is
/// there. Other keys, such as those that a rebuild by SCR v3.1.0 leaves, are passed over.
///
/// ```text
///   COMPLETE = 1
///   DSET
///     CKPT = 1
///     COMPLETE = 1
///     CREATED = 1795221727420067
///     FILES = 8
///     FLAG_CKPT = 1
///     FLAG_OUTPUT = 0
///     ID = 1
///     JOBID = 1001
///     NAME = ck.1
///     SIZE = 20380
///     USER = user1
///   VERSION = 6
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this record.
    #[serde(rename = "VERSION")]
    pub version: u32,
    /// True if all files are there.
    #[serde(rename = "COMPLETE")]
    pub complete: bool,
    /// The dataset.
    #[serde(rename = "DSET")]
    pub dataset: Dataset,
}

impl Summary {
    /// The summary of a dataset whose flush has begun.
    pub fn unfinished(dataset: Dataset) -> Self {
        Summary {
            complete: false,
            ..Summary::of(dataset)
        }
    }

    /// The summary of a dataset whose files are all there.
    pub fn of(dataset: Dataset) -> Self {
        Summary {
            version: VERSION,
            complete: true,
            dataset,
        }
    }
}
