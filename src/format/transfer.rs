//! `transfer.scrinfo` in the control directory of a node: the work of its transfer daemon, and its
//! progress.

use super::with::{is_false, is_zero};
use super::{Dataset, Name, with};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `COMMAND`: work.
pub const RUN: &str = "RUN";
/// `COMMAND`: give up the work at hand, and begin nothing. `STATE` shows when the daemon has
/// stopped.
pub const STOP: &str = "STOP";
/// `COMMAND`: end, and leave the rest of the work.
pub const EXIT: &str = "EXIT";
/// `COMMAND`: do all remaining work, then end.
pub const FINISH: &str = "FINISH";
/// `STATE`: a part is being copied.
pub const RUNNING: &str = "RUNNING";
/// `STATE`: nothing is being copied.
pub const STOPPED: &str = "STOPPED";
/// `FLAG`, and `RESULT` of a part: all was copied.
pub const DONE: &str = "DONE";
/// `RESULT` of a part: it could not be copied.
pub const FAILED: &str = "FAILED";

/// Orders to the transfer daemon of a node, and its answers. The keys down to `FLAG` are those of the
/// SCR developer guide; `PULSE` and `DATASET` are ours.
///
/// ```text
///   FILES
///     /dev/shm/user1/scr.1001/scr.run.6fd1be5a0a6f42c7/scr.dataset.10/rank_3/ck.10/rank.3
///       DESTINATION = /p/run1/ck.10/rank.3
///       SIZE = 524294
///       WRITTEN = 524294
///   PERCENT = 0.000000
///   BW = 52428800.000000
///   COMMAND = RUN
///   STATE = STOPPED
///   FLAG = DONE
///   PULSE = 12
///   DATASET
///     10
///       PART
///         1
///           ...
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Transfer {
    /// Files of the part that is being copied, or was copied last, by their paths in the cache. If a
    /// part has many files, these are the first.
    #[serde(rename = "FILES", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<Name, TransferFile>,
    /// Share of time in which the daemon may work, percent; 0 for no limit.
    #[serde(rename = "PERCENT", default, with = "with::decimals")]
    pub percent: f64,
    /// Bytes per second; 0 for no limit.
    #[serde(rename = "BW", default, with = "with::decimals")]
    pub bw: f64,
    /// The command to the daemon: [`RUN`], [`STOP`], [`EXIT`], [`FINISH`].
    #[serde(rename = "COMMAND")]
    pub command: Option<Name>,
    /// The state of the daemon: [`RUNNING`], [`STOPPED`].
    #[serde(rename = "STATE")]
    pub state: Option<Name>,
    /// [`DONE`] when no part is left to copy.
    #[serde(rename = "FLAG")]
    pub flag: Option<Name>,
    /// The daemon counts it up while it makes progress. Processes that wait for the daemon give it up when
    /// the number no longer changes.
    #[serde(rename = "PULSE", default, skip_serializing_if = "is_zero")]
    pub pulse: u64,
    /// The datasets to copy, by id.
    #[serde(
        rename = "DATASET",
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "with::ids"
    )]
    pub datasets: BTreeMap<u64, TransferDataset>,
}

/// A file that is copied.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TransferFile {
    /// The path of the file in the prefix directory.
    #[serde(rename = "DESTINATION")]
    pub destination: Name,
    /// Bytes.
    #[serde(rename = "SIZE")]
    pub size: u64,
    /// Bytes that were copied.
    #[serde(rename = "WRITTEN", default)]
    pub written: u64,
}

/// The parts of a dataset on this node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TransferDataset {
    /// Keyed by number.
    #[serde(rename = "PART", default, deserialize_with = "with::ids")]
    pub parts: BTreeMap<u64, TransferPart>,
}

/// A part of a dataset: the files of some ranks. All that is needed to copy and to record it.
///
/// ```text
///   BASE = /dev/shm
///   BUFFER = 33554432
///   CHECKSUMS = 1
///   DSETDESC
///     ...
///   HOST = node3
///   METADATA = 1
///   PARTS = 4
///   PREFIX = /p/run1
///   RANK
///     0 = 2
///     1 = 3
///   RANKS = 8
///   RESULT = DONE
///   RUN = 6fd1be5a0a6f42c7
///   SIZE = 1048588
///   WRITTEN = 1048588
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct TransferPart {
    /// The dataset.
    #[serde(rename = "DSETDESC")]
    pub dataset: Dataset,
    /// The prefix directory.
    pub prefix: Name,
    /// The base of the store: the cache is below it, with the user and the job of the control directory.
    pub base: Name,
    /// The run that flushes it, 16 hexadecimal digits.
    pub run: Name,
    /// The level of nodes in the cache, in a store that several nodes see.
    pub level: Option<u64>,
    /// The host that has the files.
    pub host: Name,
    /// The ranks of this part.
    pub rank: Vec<u64>,
    /// Number of parts of the dataset.
    pub parts: u64,
    /// Number of ranks of the dataset.
    pub ranks: u64,
    /// The part may need more than one leaf of the rank2file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub split: bool,
    /// Size of containers, bytes, if the files go into containers.
    pub container_size: Option<u64>,
    /// Offset of this part's bytes in the sequence of the bytes of all parts.
    pub begin: Option<u64>,
    /// Restore mode and times.
    #[serde(default)]
    pub metadata: bool,
    /// Take and compare checksums.
    #[serde(default)]
    pub checksums: bool,
    /// Copy buffer, bytes.
    #[serde(default)]
    pub buffer: u64,
    /// Processors to run on; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u64>,
    /// [`RUNNING`] while the daemon copies it.
    pub state: Option<Name>,
    /// The library has given it up: the daemon takes it out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cancel: bool,
    /// [`DONE`] or [`FAILED`]; absent until the part has ended.
    pub result: Option<Name>,
    /// The reason why it failed.
    pub error: Option<Name>,
    /// Number of its files, once known.
    pub files: Option<u64>,
    /// Bytes of its files, once known.
    pub size: Option<u64>,
    /// Bytes that were copied.
    pub written: Option<u64>,
}

impl Transfer {
    /// True if the command is this one.
    pub fn commands(&self, word: &str) -> bool {
        self.command.as_ref() == Some(&word.into())
    }

    /// True if the daemon may begin parts.
    pub fn may_begin(&self) -> bool {
        self.commands(RUN) || self.commands(FINISH)
    }

    /// True if nothing is being copied.
    pub fn is_stopped(&self) -> bool {
        self.state.as_ref() != Some(&RUNNING.into())
    }

    /// True if there is nothing to copy, and nothing was.
    pub fn is_empty(&self) -> bool {
        self.datasets.is_empty()
    }

    /// All parts with dataset id and number, in order.
    pub fn parts(&self) -> impl Iterator<Item = (PartId, &TransferPart)> {
        let datasets = self.datasets.iter();
        datasets.flat_map(|(id, dataset)| part_ids(*id, dataset))
    }

    /// A part.
    pub fn part(&self, at: PartId) -> Option<&TransferPart> {
        self.datasets.get(&at.dataset)?.parts.get(&at.part)
    }

    /// A part to be changed.
    pub fn part_mut(&mut self, at: PartId) -> Option<&mut TransferPart> {
        self.datasets.get_mut(&at.dataset)?.parts.get_mut(&at.part)
    }

    /// Adds a part, or replaces it.
    pub fn insert(&mut self, at: PartId, part: TransferPart) {
        let dataset = self.datasets.entry(at.dataset).or_default();
        dataset.parts.insert(at.part, part);
        self.flag = None;
    }

    /// The daemon has made progress.
    pub fn beat(&mut self) {
        self.pulse = self.pulse.wrapping_add(1);
    }

    /// Takes a part out.
    pub fn remove(&mut self, at: PartId) {
        if let Some(dataset) = self.datasets.get_mut(&at.dataset) {
            dataset.parts.remove(&at.part);
            if dataset.parts.is_empty() {
                self.datasets.remove(&at.dataset);
            }
        }
    }
}

fn part_ids(id: u64, dataset: &TransferDataset) -> impl Iterator<Item = (PartId, &TransferPart)> {
    let at = move |part| PartId { dataset: id, part };
    dataset
        .parts
        .iter()
        .map(move |(part, one)| (at(*part), one))
}

/// Names a part of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartId {
    /// Dataset id.
    pub dataset: u64,
    /// Number of the part, from 0.
    pub part: u64,
}

impl TransferPart {
    /// True if both are parts of the same flush.
    pub fn is_same(&self, other: &TransferPart) -> bool {
        let key = |part: &TransferPart| (part.dataset.created, part.run.clone());
        key(self) == key(other)
    }

    /// True once it was copied or has failed.
    pub fn has_ended(&self) -> bool {
        self.result.is_some()
    }

    /// True if the whole part was copied.
    pub fn is_done(&self) -> bool {
        self.result == Some(DONE.into())
    }

    /// True while the daemon copies it.
    pub fn is_running(&self) -> bool {
        self.state == Some(RUNNING.into())
    }

    /// Forgets the result, so that the part is copied again.
    pub fn restart(&mut self) {
        (self.state, self.result, self.error) = (None, None, None);
        self.written = None;
    }
}

impl PartId {
    /// Words for messages: `dataset 3, part 1`.
    pub fn words(self) -> String {
        format!("dataset {}, part {}", self.dataset, self.part)
    }
}
