//! `.scr/index.scr`: the datasets of a prefix directory.

use super::dataset::Dataset;
use super::{Name, Tree, file, from_tree, with};
use crate::messages::UNKNOWN_INDEX;
use crate::store::{Durability, Files};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;

/// The version that is read and written.
pub const VERSION: u32 = 2;

/// Which datasets there are, and in which state. Times are local, `YYYY-MM-DDTHH:MM:SS`.
///
/// ```text
///   CURRENT = ck.2
///   DSET
///     1
///       COMPLETE = 1
///       DSET
///         ...
///       FAILED = 2026-11-21T00:50:00
///       FETCHED = 2026-11-21T00:50:00
///       FLUSHED = 2026-11-21T00:42:07
///     2
///       COMPLETE = 0
///       DSET
///         ...
///   NAME
///     ck.1
///       DSET = 1
///     ck.2
///       DSET = 2
///   VERSION = 2
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    #[serde(rename = "VERSION")]
    version: u32,
    #[serde(rename = "CURRENT")]
    current: Option<Name>,
    /// Ids by name. SCR v3.1.0 can leave several names at one id, when it gives the id of an
    /// older dataset to a new one; the entry's own description tells whose id it is.
    #[serde(rename = "NAME", default, with = "names")]
    names: BTreeMap<Name, u64>,
    #[serde(rename = "DSET", default, deserialize_with = "with::ids")]
    datasets: BTreeMap<u64, IndexEntry>,
    /// The highest id that was taken out, where no dataset has a higher one: no id is used again. Not in SCR
    /// v3.1.0, which passes it over.
    #[serde(rename = "LAST", default, skip_serializing_if = "is_zero")]
    last: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The state of one dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IndexEntry {
    /// True if the whole dataset is in the prefix directory.
    #[serde(rename = "COMPLETE", default)]
    pub complete: bool,
    /// The description of the dataset.
    #[serde(rename = "DSET")]
    pub dataset: Option<Dataset>,
    /// Time at which it became complete.
    #[serde(rename = "FLUSHED", default, deserialize_with = "with::latest")]
    pub flushed: Option<Name>,
    /// Times at which restarts from it were tried.
    #[serde(
        rename = "FETCHED",
        default,
        with = "with::set",
        skip_serializing_if = "BTreeSet::is_empty"
    )]
    pub fetched: BTreeSet<Name>,
    /// Time at which a restart from it failed, or the program rejected it.
    #[serde(rename = "FAILED", default, deserialize_with = "with::latest")]
    pub failed: Option<Name>,
}

impl IndexEntry {
    /// True if it is known to be a checkpoint.
    pub fn is_checkpoint(&self) -> bool {
        self.dataset.as_ref().is_some_and(Dataset::is_checkpoint)
    }

    /// True if it is complete and never failed, so that a restart may choose it by itself.
    pub fn is_good(&self) -> bool {
        self.complete && self.failed.is_none()
    }
}

impl Default for Index {
    fn default() -> Self {
        let (names, datasets) = (BTreeMap::new(), BTreeMap::new());
        Index {
            version: VERSION,
            current: None,
            names,
            datasets,
            last: 0,
        }
    }
}

impl Index {
    /// Reads the index at `path`. A file of no bytes is an empty index. One of another
    /// version is an error, and must not be overwritten.
    pub fn read(files: &dyn Files, path: &Path) -> Result<Self> {
        let tree = file::read_tree(files, path).map_err(|e| {
            e.remedy("move it away, and enter each dataset again: `scr index --add NAME`")
        })?;
        Index::from_tree(&tree).map_err(|e| file::in_record(path, e))
    }

    /// Puts this index in place of `path`, durably.
    pub fn write(&self, files: &dyn Files, path: &Path) -> Result<()> {
        file::write(files, path, self, Durability::Synced)
    }

    /// The bytes of its file.
    pub fn encode(&self) -> Result<Vec<u8>> {
        file::encode_record(self)
    }

    /// Reads an index; see [`Index::read`].
    pub fn from_tree(tree: &Tree) -> Result<Self> {
        if tree.is_empty() {
            return Ok(Index::default());
        }
        // The version is looked at first: another version may hold anything.
        match tree.value("VERSION") {
            Some(version) if version.number() == Some(VERSION) => from_tree(tree),
            Some(version) => Err(Error::format(
                0,
                format!(
                    "the index has version {version}, this SCR knows version {VERSION}; \
                     the file is left alone ({UNKNOWN_INDEX})"
                ),
            )),
            None => Err(Error::format(
                0,
                format!("the index has no version; the file is left alone ({UNKNOWN_INDEX})"),
            )),
        }
    }

    /// Enters a dataset that is about to be written, as not complete. Earlier facts about its id
    /// go, and another dataset of its name loses its entry.
    pub fn add(&mut self, dataset: Dataset) {
        self.enter(dataset, None);
    }

    /// Enters a dataset that is complete in the prefix directory since `flushed`. Times of fetches
    /// and failures of an earlier entry go.
    pub fn set_complete(&mut self, dataset: Dataset, flushed: impl Into<Name>) {
        self.enter(dataset, Some(flushed.into()));
    }

    fn enter(&mut self, dataset: Dataset, flushed: Option<Name>) {
        let id = dataset.id;
        let old = self.id(&dataset.name);
        if let Some(old) = old {
            self.datasets.remove(&old);
        }
        self.names
            .retain(|_, &mut other| other != id && Some(other) != old);
        self.names.insert(dataset.name.clone(), id);
        let complete = flushed.is_some();
        let entry = IndexEntry {
            complete,
            dataset: Some(dataset),
            flushed,
            ..IndexEntry::default()
        };
        self.datasets.insert(id, entry);
        self.last = self.last.max(old.unwrap_or(0));
        if self.last <= id {
            self.last = 0;
        }
    }

    /// Takes out the entry of `name` and gives its id. If the dataset was current, the newest good
    /// checkpoint with a lower id becomes current, if any. Files are not touched. If the name is
    /// [left over](Index::left_over), only the name is removed: the entry, and the mark if the name
    /// had it, belong to the other dataset.
    pub fn remove(&mut self, name: &Name) -> Option<u64> {
        if let Some(id) = self.id(name) {
            self.remove_id(id);
            self.names.remove(name);
            return Some(id);
        }
        let id = self.names.remove(name)?;
        if self.current.as_ref() == Some(name) {
            let entry = self.datasets.get(&id).filter(|e| e.is_checkpoint());
            self.current = entry.and_then(|_| self.name(id)).cloned();
        }
        Some(id)
    }

    /// Takes out the entry of an id with all names that lead to it, like [`Index::remove`].
    pub fn remove_id(&mut self, id: u64) {
        let was_current = self.current_id() == Some(id);
        if id >= self.max_dataset() {
            self.last = id;
        }
        self.datasets.remove(&id);
        self.names.retain(|_, &mut other| other != id);
        if was_current {
            let next = self.newest_good(Some(id));
            self.current = next.and_then(|id| self.name(id)).cloned();
        }
    }

    /// Takes out all entries with higher ids than `name` has, and gives those ids, highest first.
    /// `None` if no dataset has the name.
    pub fn drop_after(&mut self, name: &Name) -> Option<Vec<u64>> {
        let limit = self.id(name)?;
        let above = self
            .datasets
            .keys()
            .rev()
            .copied()
            .take_while(|&id| id > limit);
        let ids: Vec<u64> = above.collect();
        ids.iter().for_each(|&id| self.remove_id(id));
        Some(ids)
    }

    /// Name that the next restart begins with.
    pub fn current(&self) -> Option<&Name> {
        self.current.as_ref()
    }

    /// The id that the next restart begins with. A current name that is left over leads to the
    /// dataset that has its id now, as in SCR v3.1.0.
    pub fn current_id(&self) -> Option<u64> {
        let name = self.current.as_ref()?;
        self.id(name).or_else(|| self.left_over(name))
    }

    /// Makes a checkpoint current. Returns `false`, and changes nothing, if no checkpoint has this
    /// name.
    pub fn set_current(&mut self, name: &Name) -> bool {
        let entry = self.id(name).and_then(|id| self.datasets.get(&id));
        let known = entry.is_some_and(IndexEntry::is_checkpoint);
        if known {
            self.current = Some(name.clone());
        }
        known
    }

    /// True if a good checkpoint is newer than `id`. Only the current checkpoint counts, if it is good.
    /// Without a current checkpoint, for example after the index was made again, all checkpoints count.
    pub fn has_newer_checkpoint(&self, id: u64) -> bool {
        let good = |entry: &IndexEntry| entry.is_good() && entry.is_checkpoint();
        // The name may have passed to a dataset that is not a checkpoint.
        let current = self.current_id();
        let current = current.filter(|current| self.get(*current).is_some_and(good));
        match current {
            Some(current) => current > id,
            None => self.has_checkpoint_after(id),
        }
    }

    /// True if there is a good checkpoint whose id is higher than `id`, whichever is current.
    pub fn has_checkpoint_after(&self, id: u64) -> bool {
        let newer = (Bound::Excluded(id), Bound::Unbounded);
        let mut newer = self.datasets.range(newer).map(|(_, entry)| entry);
        newer.any(|entry| entry.is_good() && entry.is_checkpoint())
    }

    /// The ids that a restart tries, in order: the current checkpoint, even if it failed or is not
    /// complete; then the good checkpoints with lower ids, newest first. A current name without a
    /// checkpoint of that name in the index is ignored.
    pub fn candidates(&self) -> Vec<u64> {
        let current = self.current_id();
        let current =
            current.filter(|id| self.datasets.get(id).is_some_and(IndexEntry::is_checkpoint));
        let mut ids: Vec<u64> = current.into_iter().collect();
        while let Some(id) = self.newest_good(ids.last().copied()) {
            ids.push(id);
        }
        ids
    }

    /// The newest good checkpoint, with an id below the given one.
    fn newest_good(&self, below: Option<u64>) -> Option<u64> {
        let good = |(id, entry): (&u64, &IndexEntry)| {
            (entry.is_good() && entry.is_checkpoint()).then_some(*id)
        };
        match below {
            Some(limit) => self.datasets.range(..limit).rev().find_map(good),
            None => self.datasets.iter().rev().find_map(good),
        }
    }

    /// Notes that a restart from dataset `id` begins. Without effect for an unknown id, as
    /// are the next two.
    pub fn mark_fetched(&mut self, id: u64, time: impl Into<Name>) {
        if let Some(entry) = self.datasets.get_mut(&id) {
            entry.fetched.insert(time.into());
        }
    }

    /// Makes the earlier current checkpoint current again, if the index still has it.
    pub fn restore_current(&mut self, before: Option<Name>) {
        self.current = before.filter(|name| self.id(name).is_some());
    }

    /// Notes that a restart from dataset `id` failed, or that the program rejected it. The dataset
    /// is not tried again by itself, and no checkpoint is current then.
    pub fn mark_failed(&mut self, id: u64, time: impl Into<Name>) {
        if let Some(entry) = self.datasets.get_mut(&id) {
            entry.failed = Some(time.into());
            self.current = None;
        }
    }

    /// Notes that a restart from dataset `id` worked: it is current, and no failure before
    /// counts.
    pub fn mark_good(&mut self, id: u64) {
        let name = self.name(id).cloned();
        if let Some(entry) = self.datasets.get_mut(&id) {
            entry.failed = None;
            self.current = name;
        }
    }

    /// Replaces the description of a dataset that the index has, such as its size.
    pub fn describe(&mut self, dataset: &Dataset) {
        let entry = self.datasets.get_mut(&dataset.id);
        let known = entry.and_then(|entry| entry.dataset.as_mut());
        if let Some(known) = known.filter(|known| known.created == dataset.created) {
            *known = dataset.clone();
        }
    }

    /// The id of the dataset of this name.
    pub fn id(&self, name: &Name) -> Option<u64> {
        let own = |id: &u64| {
            self.described_name(*id)
                .is_none_or(|described| described == name)
        };
        let led = self.names.get(name).copied().filter(own);
        led.or_else(|| {
            let mut ids = self.datasets.keys().rev().copied();
            ids.find(|id| self.described_name(*id) == Some(name))
        })
    }

    /// The good dataset that has the name of `dataset` and was written after it, so that its files are under the same
    /// paths.
    pub fn newer_of_name(&self, dataset: &Dataset) -> Option<&Dataset> {
        let id = self.id(&dataset.name)?;
        let entry = self.get(id).filter(|entry| entry.is_good())?;
        let newer = entry.dataset.as_ref()?;
        (newer.created > dataset.created).then_some(newer)
    }

    /// The id to which a left-over name leads. The id belongs to another dataset now; SCR v3.1.0
    /// leaves such names.
    pub fn left_over(&self, name: &Name) -> Option<u64> {
        match self.id(name) {
            Some(_) => None,
            None => self.names.get(name).copied(),
        }
    }

    /// The name of an id: the name in its description, which alone tells which of several names is
    /// the dataset's own.
    pub fn name(&self, id: u64) -> Option<&Name> {
        self.described_name(id).or_else(|| {
            let named = self.names.iter().find(|&(_, &other)| other == id);
            named.map(|(name, _)| name)
        })
    }

    fn described_name(&self, id: u64) -> Option<&Name> {
        let dataset = self.datasets.get(&id)?.dataset.as_ref()?;
        Some(&dataset.name).filter(|name| !name.is_empty())
    }

    /// The entry of an id.
    pub fn get(&self, id: u64) -> Option<&IndexEntry> {
        self.datasets.get(&id)
    }

    /// All entries by id.
    pub fn datasets(&self) -> &BTreeMap<u64, IndexEntry> {
        &self.datasets
    }

    /// The highest id that a dataset has, or had before it was taken out; 0 without any.
    pub fn max_dataset(&self) -> u64 {
        let highest = self.datasets.keys().next_back().copied().unwrap_or(0);
        // No SCR has given a dataset an id that is not a C `int`.
        let last = Some(self.last).filter(|&last| i32::try_from(last).is_ok());
        highest.max(last.unwrap_or(0))
    }

    /// The highest checkpoint number, 0 without any.
    pub fn max_checkpoint(&self) -> u64 {
        let numbers = self
            .datasets
            .values()
            .filter_map(|e| e.dataset.as_ref()?.ckpt);
        // As for ids: no SCR has counted a checkpoint with a number that is not a C `int`.
        let numbers = numbers.filter(|&n| i32::try_from(n).is_ok());
        numbers.max().unwrap_or(0)
    }
}

/// `NAME/<name>/DSET = <id>`. Names of no id, such as SCR v3.1.0 leaves for `-1`, are passed
/// over when read.
mod names {
    use super::{BTreeMap, Name, with};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Id {
        #[serde(rename = "DSET", default)]
        id: Name,
    }

    pub fn serialize<S: Serializer>(names: &BTreeMap<Name, u64>, s: S) -> Result<S::Ok, S::Error> {
        let id = |id: &u64| Id {
            id: id.to_string().into(),
        };
        s.collect_map(names.iter().map(|(name, number)| (name, id(number))))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<Name, u64>, D::Error> {
        let names = BTreeMap::<Name, Id>::deserialize(d)?;
        Ok(names
            .into_iter()
            .filter_map(|(name, id)| Some((name, with::id(&id.id)?)))
            .collect())
    }
}
