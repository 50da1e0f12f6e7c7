//! Rebuilds a dataset from its files. All sets are examined before the first file is changed, so
//! that a dataset that cannot be rebuilt stays as it is.

use super::dataset_records::DatasetRecords;
use crate::cache::layout::filemap_name;
use crate::format::filemap::Reddesc;
use crate::format::{self, Dataset, FileMeta, RankFiles};
use crate::redundancy::offline::{DatasetLocation, ExaminedSet, Losses, SetRecord, examine};
use crate::redundancy::{ParityFileName, RankRecord};
use crate::store::{Durability, FileKind};
use crate::text::ranks_in_words;
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

/// The files that a rebuild restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Files, completion records and redundancy. Everything is read.
    Everything,
    /// Missing files and completion records. In sets with all records, files with the recorded size
    /// and modification time are not read: they count as unchanged since they were copied.
    Data,
    /// Completion records of ranks whose files are all there. Everything is read.
    Records,
}

/// Learns how much a rebuild has to do.
pub trait RebuildWatch {
    /// So many more bytes are to be read and compared.
    fn compares(&self, bytes: u64);
    /// So many more bytes of lost files are to be written.
    fn rebuilds(&self, bytes: u64);
}

/// Nobody watches.
impl RebuildWatch for () {
    fn compares(&self, _: u64) {}
    fn rebuilds(&self, _: u64) {}
}

/// The damage of a dataset, and how to rebuild it.
pub struct RebuildPlan<'a> {
    location: DatasetLocation<'a>,
    /// The dataset.
    pub source: &'a DatasetRecords,
    scope: Scope,
    watch: &'a dyn RebuildWatch,
    sets: Vec<(ExaminedSet<'a>, Losses)>,
    /// Why a newer dataset of this id was not chosen.
    newer_error: Option<Error>,
    /// Missing and damaged files, by rank.
    pub damage: Vec<(usize, Error)>,
    /// Ranks that lost something.
    pub losses: Losses,
    /// Ranks without a completion record.
    pub missing_records: Vec<usize>,
    /// Why the dataset cannot be rebuilt, if so.
    pub verdict: Result<()>,
}

/// Examines the dataset that `source` describes. Changes nothing. Local.
///
/// # Errors
/// The dataset's scheme is unknown. Losses that cannot be rebuilt are no error here; see
/// [`RebuildPlan::verdict`].
pub fn plan<'a>(
    location: DatasetLocation<'a>,
    source: &'a DatasetRecords,
    scope: Scope,
    watch: &'a dyn RebuildWatch,
) -> Result<RebuildPlan<'a>> {
    let mut plan = RebuildPlan {
        location,
        source,
        scope,
        watch,
        sets: Vec::new(),
        newer_error: None,
        damage: Vec::new(),
        losses: Losses::default(),
        missing_records: Vec::new(),
        verdict: Ok(()),
    };
    if !source.unknown.is_empty() {
        let what = format!(
            "the files of {} are lost, and so is all redundancy for them",
            ranks_in_words(&source.unknown)
        );
        plan.fail(lost(&source.dataset, what));
    }
    let sets = source.sets.iter();
    let sets: Vec<&Reddesc> = sets.filter(|set| plan.looks_at(set)).collect();
    watch.compares(bytes_of(location, source, &sets));
    for reddesc in sets {
        let claim = SetRecord {
            dataset: &source.dataset,
            ranks: source.ranks,
            reddesc,
        };
        let known = |rank| source.filemaps.get(&rank).map(|map| map.files.clone());
        plan.add_set(examine(location, claim, &known)?);
    }
    Ok(plan)
}

/// The plan for the newest of several datasets that can be rebuilt. If none can, the plan for the
/// newest.
pub fn choose<'a>(
    location: DatasetLocation<'a>,
    sources: &'a [DatasetRecords],
    scope: Scope,
    watch: &'a dyn RebuildWatch,
) -> Result<RebuildPlan<'a>> {
    let mut newest: Option<RebuildPlan> = None;
    for source in sources {
        let mut plan = plan(location, source, scope, watch)?;
        if plan.verdict.is_ok() {
            plan.newer_error = newest.and_then(|newest| newest.verdict.err());
            return Ok(plan);
        }
        newest.get_or_insert(plan);
    }
    newest.ok_or_else(|| Error::corrupt(location.meta_dir, "has no dataset that was asked for"))
}

/// Bytes in the files and the redundancy files of these sets, as far as they are known.
fn bytes_of(location: DatasetLocation, source: &DatasetRecords, sets: &[&Reddesc]) -> u64 {
    let members = sets.iter().flat_map(|set| &set.members);
    let maps = members.filter_map(|rank| source.filemaps.get(rank));
    let data: u64 = maps
        .filter_map(|map| map.files.size())
        .fold(0, u64::saturating_add);
    let ids: BTreeSet<usize> = sets.iter().map(|set| set.set_id).collect();
    // Whoever reads them tells of errors.
    let names = location.files.list(location.meta_dir).unwrap_or_default();
    let of_sets = |name: &&std::ffi::OsString| {
        ParityFileName::parse(name).is_some_and(|name| ids.contains(&name.set))
    };
    let sizes = names.iter().filter(of_sets).map(|name| {
        let stat = location.files.stat(&location.meta_dir.join(name));
        stat.ok().flatten().map_or(0, |stat| stat.size)
    });
    sizes.fold(data, u64::saturating_add)
}

fn lost(dataset: &Dataset, what: String) -> Error {
    Error::dataset(dataset.id, dataset.name.to_string(), what)
}

impl<'a> RebuildPlan<'a> {
    /// True if the files of this set must be examined.
    fn looks_at(&self, reddesc: &Reddesc) -> bool {
        let mut members = reddesc.members.iter();
        self.scope != Scope::Data || !members.all(|rank| self.looks_unchanged(*rank))
    }

    /// Adds what was found of a set.
    fn add_set(&mut self, set: ExaminedSet<'a>) {
        for member in &set.members {
            let parity = member.health.parity.clone().err();
            let parity = parity.filter(|_| self.scope != Scope::Data && member.record.is_some());
            let errors = member.health.data.clone().err().into_iter().chain(parity);
            self.damage.extend(errors.map(|error| (member.rank, error)));
            if !self.has_record(member.rank, member.record.as_ref()) {
                self.missing_records.push(member.rank);
            }
        }
        match set.verdict() {
            Ok(losses) => {
                self.losses.data.extend(&losses.data);
                self.losses.redundancy.extend(&losses.redundancy);
                self.sets.push((set, losses));
            }
            Err(error) => self.fail(error),
        }
    }

    /// Descriptions of everything that was ignored, missing or damaged.
    pub fn notes(&self) -> Vec<String> {
        let damage = self.damage.iter();
        let damage = damage.map(|(rank, error)| format!("rank {rank}: {error}"));
        let newer = self.newer_error.iter();
        let newer = newer.map(|error| format!("{error}; an older dataset of this id is used"));
        let passed = self.source.notes.iter().cloned();
        passed.chain(newer).chain(damage).collect()
    }

    fn fail(&mut self, error: Error) {
        if self.verdict.is_ok() {
            // The files of a record that cannot be read now may be there.
            self.verdict = Err(self.source.unread.clone().unwrap_or(error));
        }
    }

    /// True if the rank's record is there, and its files have the recorded sizes and times.
    fn looks_unchanged(&self, rank: usize) -> bool {
        let same = |file: &FileMeta| {
            let path = file.file.below(&self.location.data.directory(rank)).ok()?;
            let stat = self.location.files.stat(&path).ok()??;
            Some(stat.kind == FileKind::File && stat.size == file.size && stat.mtime == file.mtime)
        };
        let map = self.source.filemaps.get(&rank);
        map.is_some_and(|map| {
            self.location.data.check_names(&map.files).is_ok()
                && map.files.files.iter().all(|file| same(file) == Some(true))
        })
    }

    /// True if the rank has a completion record with this file list.
    fn has_record(&self, rank: usize, known: Option<&RankRecord>) -> bool {
        let map = self.source.filemaps.get(&rank);
        map.zip(known)
            .is_some_and(|(map, known)| map.files == known.files)
    }

    /// Sets mode and times of files whose record was lost, since a killed process may not have set
    /// them.
    fn restore_attributes(&self, list: &RankFiles) -> Result<()> {
        let DatasetLocation { files, data, .. } = self.location;
        let dir = data.directory(list.rank);
        list.files.iter().try_for_each(|file| {
            let path = file.file.below(&dir)?;
            let wanted = file.stat();
            match files.stat(&path)? {
                Some(stat) if (stat.mode, stat.mtime) == (wanted.mode, wanted.mtime) => Ok(()),
                _ => files.restore(&path, &wanted).map(drop),
            }
        })
    }

    /// True if nothing must be rebuilt.
    pub fn is_whole(&self) -> bool {
        let redundancy = self.scope != Scope::Data && !self.losses.redundancy.is_empty();
        self.verdict.is_ok()
            && self.losses.data.is_empty()
            && self.missing_records.is_empty()
            && !redundancy
    }

    /// Rebuilds the dataset, set by set, and returns the file lists of all ranks. New completion
    /// records name `node`. If it is killed, lost files are still lost. Local.
    ///
    /// # Errors
    /// [`RebuildPlan::verdict`]; then nothing is changed. Or a file cannot be read or written.
    pub fn carry_out(self, node: &str) -> Result<BTreeMap<usize, RankFiles>> {
        self.verdict.clone()?;
        let DatasetLocation {
            files, meta_dir, ..
        } = self.location;
        let path = |rank: usize| meta_dir.join(filemap_name(rank));
        let maps = self.source.filemaps.iter();
        let mut lists: BTreeMap<usize, RankFiles> =
            maps.map(|(rank, map)| (*rank, map.files.clone())).collect();
        if self.scope != Scope::Records {
            self.sets.iter().for_each(|(set, losses)| {
                let lost = set.members.iter().filter(|m| losses.data.contains(&m.rank));
                let lists = lost.filter_map(|member| member.record.as_ref());
                let bytes = lists.filter_map(|record| record.files.size());
                self.watch.rebuilds(bytes.fold(0, u64::saturating_add));
            });
        }
        for (set, losses) in &self.sets {
            let records = if self.scope == Scope::Records {
                with_files(set)
            } else {
                // A record says that the files are whole, so it is removed before they are rebuilt.
                for rank in &losses.data {
                    files.remove_file(&path(*rank))?;
                }
                set.rebuild(self.scope == Scope::Everything)?
            };
            for record in records {
                let rank = record.files.rank;
                lists.insert(rank, record.files.clone());
                self.write_record(record, losses.data.contains(&rank), node)?;
            }
        }
        Ok(lists)
    }

    /// Writes the completion record of a rank whose files were `rebuilt`, or that lost it.
    fn write_record(&self, record: RankRecord, rebuilt: bool, node: &str) -> Result<()> {
        let DatasetLocation {
            files, meta_dir, ..
        } = self.location;
        let rank = record.files.rank;
        if !rebuilt && self.has_record(rank, Some(&record)) {
            return Ok(());
        }
        if !rebuilt {
            self.restore_attributes(&record.files)?;
        }
        self.location.data.sync(files, &record.files)?;
        let map = record.into_filemap(self.source.ranks, node, None);
        let path = meta_dir.join(filemap_name(rank));
        format::write(files, &path, &map, Durability::Synced)
    }
}

fn with_files(set: &ExaminedSet) -> Vec<RankRecord> {
    let there = set.members.iter().filter(|m| m.health.data.is_ok());
    there.filter_map(|m| m.record.clone()).collect()
}
