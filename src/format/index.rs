//! `.scr/index.scr`: the datasets of a prefix directory.

use super::dataset::Dataset;
use super::{Name, Tree, file, from_tree, with};
use crate::store::{Durability, Files};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
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
}

/// The state of one dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IndexEntry {
    /// True if all of it is in the prefix directory.
    #[serde(rename = "COMPLETE", default)]
    pub complete: bool,
    /// What it is.
    #[serde(rename = "DSET")]
    pub dataset: Option<Dataset>,
    /// When it became complete.
    #[serde(rename = "FLUSHED", default, deserialize_with = "with::latest")]
    pub flushed: Option<Name>,
    /// When restarts from it were tried.
    #[serde(
        rename = "FETCHED",
        default,
        with = "with::set",
        skip_serializing_if = "BTreeSet::is_empty"
    )]
    pub fetched: BTreeSet<Name>,
    /// When a restart from it failed, or the program rejected it.
    #[serde(rename = "FAILED", default, deserialize_with = "with::latest")]
    pub failed: Option<Name>,
}

impl IndexEntry {
    /// True if it is known to be a checkpoint.
    pub fn is_checkpoint(&self) -> bool {
        self.dataset.as_ref().is_some_and(Dataset::is_checkpoint)
    }

    /// Complete and never failed: what a restart may choose by itself.
    pub fn is_good(&self) -> bool {
        self.complete && self.failed.is_none()
    }
}

/// A line of `scr_index --list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Dataset id.
    pub id: u64,
    /// Complete and not failed.
    pub valid: bool,
    /// When it was flushed.
    pub flushed: Option<Name>,
    /// The next restart begins with it.
    pub current: bool,
    /// Its name.
    pub name: Name,
}

impl Default for Index {
    fn default() -> Self {
        let (names, datasets) = (BTreeMap::new(), BTreeMap::new());
        Index {
            version: VERSION,
            current: None,
            names,
            datasets,
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

    /// Reads an index; see [`Index::read`].
    pub fn from_tree(tree: &Tree) -> Result<Self> {
        if tree.is_empty() {
            return Ok(Index::default());
        }
        // Before anything else is looked at: another version may hold anything.
        match tree.value("VERSION") {
            Some(version) if version.number() == Some(VERSION) => from_tree(tree),
            Some(version) => Err(Error::format(
                0,
                format!(
                    "the index has version {version}, this SCR knows version {VERSION}; \
                     the file is left alone"
                ),
            )),
            None => Err(Error::format(
                0,
                "the index has no version; the file is left alone",
            )),
        }
    }

    /// Enters a dataset that is about to be written: not complete. What was known of its id
    /// goes, and another dataset of its name loses its entry.
    pub fn add(&mut self, dataset: Dataset) {
        self.enter(dataset, None);
    }

    /// Enters a dataset all of which is in the prefix directory since `flushed`. Times of
    /// fetches and failures of an earlier entry go.
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
    }

    /// Takes out the entry of `name` and gives its id. If it was current, the newest good
    /// checkpoint with a lower id becomes current, or none. Files are not touched. A name that
    /// is [left over](Index::left_over) goes alone: the entry, and the mark if the name had it,
    /// are the other dataset's.
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
        self.datasets.remove(&id);
        self.names.retain(|_, &mut other| other != id);
        if was_current {
            let next = self.newest_good(Some(id));
            self.current = next.and_then(|id| self.name(id)).cloned();
        }
    }

    /// Takes out all entries with higher ids than `name` has, and gives those ids, highest
    /// first. `None` if there is no such name.
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

    /// Makes a checkpoint current. `false`, and nothing changes, if there is no checkpoint
    /// of this name.
    pub fn set_current(&mut self, name: &Name) -> bool {
        let entry = self.id(name).and_then(|id| self.datasets.get(&id));
        let known = entry.is_some_and(IndexEntry::is_checkpoint);
        if known {
            self.current = Some(name.clone());
        }
        known
    }

    /// The ids that a restart tries, in order: what is current, even if it failed or is not
    /// complete; then the good checkpoints with lower ids, newest first. A current name
    /// that is not a checkpoint here counts as none.
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

    /// Notes that a restart from dataset `id` failed, or that the program rejected it. It is
    /// not tried again by itself, and none is current then.
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

    /// The id of the dataset of this name.
    pub fn id(&self, name: &Name) -> Option<u64> {
        let own = |id: &u64| {
            self.described(*id)
                .is_none_or(|described| described == name)
        };
        let led = self.names.get(name).copied().filter(own);
        led.or_else(|| {
            let mut ids = self.datasets.keys().rev().copied();
            ids.find(|id| self.described(*id) == Some(name))
        })
    }

    /// The id that a name leads to which is no dataset's name any more: the id has gone to
    /// another dataset since, and SCR v3.1.0 leaves such names.
    pub fn left_over(&self, name: &Name) -> Option<u64> {
        match self.id(name) {
            Some(_) => None,
            None => self.names.get(name).copied(),
        }
    }

    /// The name of an id: that of its description, which alone tells which of several names is
    /// the dataset's own.
    pub fn name(&self, id: u64) -> Option<&Name> {
        self.described(id).or_else(|| {
            let named = self.names.iter().find(|&(_, &other)| other == id);
            named.map(|(name, _)| name)
        })
    }

    fn described(&self, id: u64) -> Option<&Name> {
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

    /// The highest dataset id, 0 if there is none.
    pub fn max_dataset(&self) -> u64 {
        self.datasets.keys().next_back().copied().unwrap_or(0)
    }

    /// The highest checkpoint number, 0 if there is none.
    pub fn max_checkpoint(&self) -> u64 {
        let numbers = self
            .datasets
            .values()
            .filter_map(|e| e.dataset.as_ref()?.ckpt);
        // Like ids: what is no C `int` was not counted by any SCR.
        let numbers = numbers.filter(|&n| i32::try_from(n).is_ok());
        numbers.max().unwrap_or(0)
    }

    /// The checkpoints, newest first.
    pub fn list(&self) -> Vec<Row> {
        let current = self.current_id();
        let row = |(&id, entry): (&u64, &IndexEntry)| {
            let dataset = entry.dataset.as_ref().filter(|d| d.is_checkpoint())?;
            Some(Row {
                id,
                valid: entry.is_good(),
                flushed: entry.flushed.clone(),
                current: current == Some(id),
                name: self.name(id).unwrap_or(&dataset.name).clone(),
            })
        };
        self.datasets.iter().rev().filter_map(row).collect()
    }
}

/// The table of `scr_index --list`, a heading and a line for each row.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from("DSET VALID FLUSHED             CUR NAME\n");
    for row in rows {
        let valid = if row.valid { "YES" } else { "NO" };
        let flushed = row
            .flushed
            .as_ref()
            .map(super::print::escaped)
            .unwrap_or_default();
        let current = if row.current { "*" } else { "" };
        let name = super::print::escaped(&row.name);
        let id = row.id;
        text.push_str(&format!(
            "{id:>4} {valid:<5} {flushed:<19} {current:>3} {name}\n"
        ));
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(id: u64, name: &str) -> Dataset {
        let (flag_ckpt, ckpt) = (true, Some(id));
        Dataset {
            id,
            name: name.into(),
            flag_ckpt,
            ckpt,
            ..Dataset::default()
        }
    }

    fn output(id: u64, name: &str) -> Dataset {
        let flag_output = true;
        Dataset {
            id,
            name: name.into(),
            flag_output,
            ..Dataset::default()
        }
    }

    /// Checkpoints a=1, b=2, d=4, e=5, of which e is not complete, and output c=3.
    fn index() -> Index {
        let mut index = Index::default();
        index.set_complete(checkpoint(1, "a"), "t1");
        index.set_complete(checkpoint(2, "b"), "t2");
        index.set_complete(output(3, "c"), "t3");
        index.set_complete(checkpoint(4, "d"), "t4");
        index.add(checkpoint(5, "e"));
        index
    }

    fn current(index: &Index) -> Option<String> {
        index.current().map(Name::to_string)
    }

    #[test]
    fn a_restart_tries_good_checkpoints_newest_first() {
        assert_eq!(index().candidates(), [4, 2, 1]);
        assert_eq!(Index::default().candidates(), [] as [u64; 0]);
    }

    #[test]
    fn what_is_current_goes_first_and_limits_the_rest() {
        let mut index = index();
        assert!(index.set_current(&"b".into()));
        assert_eq!(index.candidates(), [2, 1]);
        assert!(index.set_current(&"e".into()), "though it is not complete");
        assert_eq!(index.candidates(), [5, 4, 2, 1]);
        index.mark_failed(5, "t6");
        index.mark_failed(4, "t6");
        assert_eq!((index.candidates(), current(&index)), (vec![2, 1], None));
        assert!(index.set_current(&"d".into()), "though it failed");
        assert_eq!(index.candidates(), [4, 2, 1]);
    }

    #[test]
    fn only_a_known_checkpoint_becomes_current() {
        let mut index = index();
        assert!(index.set_current(&"a".into()));
        assert!(!index.set_current(&"c".into()));
        assert!(!index.set_current(&"unknown".into()));
        assert_eq!(current(&index).as_deref(), Some("a"));
    }

    #[test]
    fn a_current_name_that_is_unknown_counts_as_none() {
        let mut tree = crate::format::to_tree(&index()).unwrap();
        for name in ["unknown", "c"] {
            tree.set_value("CURRENT", name);
            assert_eq!(Index::from_tree(&tree).unwrap().candidates(), [4, 2, 1]);
        }
    }

    #[test]
    fn removal_moves_current_to_an_older_good_one() {
        let mut index = index();
        index.set_current(&"d".into());
        assert_eq!(index.remove(&"d".into()), Some(4));
        assert_eq!(
            current(&index).as_deref(),
            Some("b"),
            "not c, which is no checkpoint"
        );
        index.mark_failed(1, "t7");
        index.set_current(&"b".into());
        assert_eq!(index.remove(&"e".into()), Some(5));
        assert_eq!(current(&index).as_deref(), Some("b"));
        assert_eq!(index.remove(&"b".into()), Some(2));
        assert_eq!(current(&index), None);
        assert_eq!(index.remove(&"b".into()), None);
        assert_eq!(index.max_dataset(), 3);
    }

    #[test]
    fn drop_after_keeps_the_named_one() {
        let mut index = index();
        index.set_current(&"e".into());
        assert_eq!(index.drop_after(&"unknown".into()), None);
        assert_eq!(index.drop_after(&"b".into()), Some(vec![5, 4, 3]));
        assert_eq!(current(&index).as_deref(), Some("b"));
        assert_eq!(index.datasets().keys().collect::<Vec<_>>(), [&1, &2]);
        assert_eq!(index.drop_after(&"b".into()), Some(vec![]));
    }

    #[test]
    fn a_name_belongs_to_the_dataset_that_took_it_last() {
        let mut index = index();
        index.add(checkpoint(6, "a"));
        assert_eq!((index.id(&"a".into()), index.get(1)), (Some(6), None));
        index.add(checkpoint(6, "f"));
        assert_eq!(
            (index.id(&"a".into()), index.name(6)),
            (None, Some(&"f".into()))
        );
        assert_eq!((index.max_dataset(), index.max_checkpoint()), (6, 6));
    }

    #[test]
    fn a_flush_anew_forgets_failures_and_a_success_too() {
        let mut index = index();
        index.mark_fetched(4, "t8");
        index.mark_fetched(4, "t9");
        index.mark_fetched(4, "t9");
        index.mark_failed(4, "t9");
        let entry = index.get(4).unwrap();
        assert_eq!((entry.fetched.len(), entry.is_good()), (2, false));
        index.mark_good(4);
        assert!(index.get(4).unwrap().is_good());
        assert_eq!(current(&index).as_deref(), Some("d"));
        index.mark_failed(4, "t10");
        index.set_complete(checkpoint(4, "d"), "t11");
        let entry = index.get(4).unwrap();
        assert!(entry.is_good() && entry.fetched.is_empty());
        let before = index.clone();
        index.mark_fetched(99, "t");
        index.mark_failed(99, "t");
        index.mark_good(99);
        assert_eq!(index, before, "an id that is not there is not made");
    }

    #[test]
    fn stray_ids_are_passed_over() {
        let mut tree = crate::format::to_tree(&index()).unwrap();
        for stray in ["-1", "x", "", "2147483648"] {
            let mut entry = Tree::new();
            entry.add_value("FAILED", "t1").add_value("FAILED", "t2");
            let mut datasets = tree.remove("DSET").unwrap();
            datasets.set(stray, entry);
            tree.set("DSET", datasets);
            let mut names = tree.remove("NAME").unwrap();
            names.set(
                format!("stray{stray}"),
                Tree::of_elements(vec![("DSET".into(), Tree::of_value(stray))]),
            );
            tree.set("NAME", names);
        }
        assert_eq!(Index::from_tree(&tree), Ok(index()));
    }

    #[test]
    fn of_several_failures_the_last_is_kept() {
        let text = |n: u64| Name::from(format!("2026-11-21T00:5{n}:00"));
        let mut entry = Tree::new();
        entry
            .add_value("FAILED", text(1))
            .add_value("FAILED", text(2));
        let entry: IndexEntry = from_tree(&entry).unwrap();
        assert_eq!(entry.failed, Some(text(2)));
    }

    #[test]
    fn another_version_is_refused() {
        let mut tree = Tree::new();
        tree.set_value("VERSION", "1").set_value("DSET", "whatever");
        let text = Index::from_tree(&tree).unwrap_err().to_string();
        assert!(
            text.contains("version 1") && text.contains("left alone"),
            "{text}"
        );
        tree.remove("VERSION");
        assert!(Index::from_tree(&tree).is_err());
        assert_eq!(Index::from_tree(&Tree::new()), Ok(Index::default()));
    }

    #[test]
    fn the_table_is_that_of_scr_index() {
        let mut index = Index::default();
        index.add(checkpoint(2, "ck.2"));
        index.set_complete(checkpoint(3, "ck.3"), "2026-11-21T00:42:08");
        index.set_complete(output(12345, "out"), "2026-11-21T00:42:08");
        index.set_current(&"ck.3".into());
        let text = "DSET VALID FLUSHED             CUR NAME\n   \
                    3 YES   2026-11-21T00:42:08   * ck.3\n   \
                    2 NO                            ck.2\n";
        assert_eq!(table(&index.list()), text);
    }
}
