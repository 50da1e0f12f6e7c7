//! The description of a dataset: part of index, summary, flush file and cache records.

use super::Name;
use serde::{Deserialize, Serialize};

/// The highest number of a dataset or checkpoint: SCR v3.1.0 keeps them in an `int`, and readers of
/// the index pass higher ones over.
pub const HIGHEST: u64 = i32::MAX as u64;

/// The description of a dataset. Written by SCR v3.1.0 as well; files of older versions lack
/// some keys, so all but the id have a default on reading.
///
/// ```text
///   CKPT = 1
///   COMPLETE = 1
///   CREATED = 1795221727420067
///   FILES = 8
///   FLAG_CKPT = 1
///   FLAG_OUTPUT = 0
///   ID = 1
///   JOBID = 1001
///   NAME = ck.1
///   SIZE = 20380
///   USER = user1
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dataset {
    /// Number of the dataset in its prefix directory, from 1.
    #[serde(rename = "ID")]
    pub id: u64,
    /// Name that the program gave, or `scr.dataset.<id>`.
    #[serde(rename = "NAME", default)]
    pub name: Name,
    /// A program can restart from it.
    #[serde(rename = "FLAG_CKPT", default)]
    pub flag_ckpt: bool,
    /// 1 if the dataset must come to the prefix directory in any case.
    #[serde(rename = "FLAG_OUTPUT", default)]
    pub flag_output: bool,
    /// Time of its start: microseconds since the epoch.
    #[serde(rename = "CREATED", default)]
    pub created: u64,
    /// The user who ran the program.
    #[serde(rename = "USER", default)]
    pub user: Name,
    /// Name of the job, if it has one.
    #[serde(rename = "JOBNAME")]
    pub jobname: Option<Name>,
    /// Job that wrote it.
    #[serde(rename = "JOBID", default)]
    pub jobid: Name,
    /// Cluster that the job ran on, if known.
    #[serde(rename = "CLUSTER")]
    pub cluster: Option<Name>,
    /// Number among the checkpoints; only checkpoints have one.
    #[serde(rename = "CKPT")]
    pub ckpt: Option<u64>,
    /// Files of all ranks. Known, like the next two, once the dataset is finished.
    #[serde(rename = "FILES")]
    pub files: Option<u64>,
    /// Bytes of all files.
    #[serde(rename = "SIZE")]
    pub size: Option<u64>,
    /// True if all ranks wrote their part.
    #[serde(rename = "COMPLETE")]
    pub complete: Option<bool>,
}

impl Dataset {
    /// True if a program can restart from it. Before there were flags every dataset was a
    /// checkpoint and had a checkpoint number.
    pub fn is_checkpoint(&self) -> bool {
        self.flag_ckpt || self.ckpt.is_some()
    }

    /// Its files have grown by so many bytes.
    pub fn grow(&mut self, by: u64) {
        self.size = self.size.map(|size| size.saturating_add(by));
    }
}
