//! Completes a dataset from the parts that were copied to the prefix directory: rebuilds what is
//! missing, writes the metadata that a flush would have written, and enters the dataset in the
//! index.

use super::contain::{contained, shown};
use super::dataset_records::{self, DatasetRecords};
use super::locations::PrefixLocation;
use super::rebuild::{RebuildPlan, RebuildWatch, Scope, choose};
use super::scr_v3::{self, ScrV3Dataset, is_from_scr_v3};
use crate::cache::layout::filemap_rank;
use crate::format::rank2file::{FileEntry, RankEntry};
use crate::format::summary::Summary;
use crate::format::{self, Dataset};
use crate::prefix::finish::{self, Entering};
use crate::prefix::paths::Prefix;
use crate::prefix::{containers, index, rank2file, records};
use crate::redundancy::ParityFileName;
use crate::redundancy::offline::DatasetLocation;
use crate::store::{FileKind, Files};
use crate::{Error, Result};
use std::path::Path;

/// A dataset that is complete in the prefix directory.
#[derive(Debug)]
pub struct Built {
    /// The dataset.
    pub dataset: Dataset,
    /// Number of ranks that wrote it.
    pub ranks: u64,
    /// Ranks whose files were rebuilt.
    pub rebuilt: Vec<usize>,
}

/// How a dataset is completed.
#[derive(Clone, Copy)]
pub struct BuildSettings<'a> {
    /// The node that new completion records name.
    pub node: &'a str,
    /// The time in the index.
    pub time: &'a str,
    /// Record checksums (`SCR_CRC_ON_FLUSH`).
    pub checksums: bool,
    /// Learns how much there is to do.
    pub watch: &'a dyn RebuildWatch,
}

/// Completes dataset `id` from its scavenged parts, or from a flush that only missed the index. Damage
/// that was found is described in `notes`. It may be killed and repeated. Local: one process calls it, after all copies have
/// ended.
///
/// # Errors
/// There is nothing of the dataset, or more is lost than its redundancy tolerates. Then no file is
/// changed, and the index is as it was.
pub fn build(
    files: &dyn Files,
    prefix: &Prefix,
    id: u64,
    how: BuildSettings,
    notes: &mut Vec<String>,
) -> Result<Built> {
    let (dir, data) = (prefix.dataset(id), PrefixLocation(prefix));
    if files
        .stat(&dir)?
        .is_none_or(|s| s.kind != FileKind::Directory)
    {
        let what = format!("there is nothing of it in {}", prefix.root().display());
        return Err(Error::dataset(id, "", what));
    }
    let _lock = index::lock(files, &dir)?;
    let sources = read(files, prefix, id);
    let maps = sources.iter().flatten();
    let maps = maps.flat_map(|source| source.filemaps.values());
    let view = shown(files, prefix, id, maps);
    let location = DatasetLocation {
        files: &view,
        meta_dir: &dir,
        data: &data,
    };
    let plan = match &sources {
        Ok(sources) => choose(location, sources, Scope::Data, how.watch),
        Err(error) => Err(error.clone()),
    };
    let verdict = plan.and_then(|plan| {
        notes.extend(plan.notes());
        plan.verdict.clone().map(|()| plan)
    });
    let build = Build {
        files,
        prefix,
        dir: &dir,
        id,
        how,
    };
    match verdict {
        Ok(plan) => build.rebuild(plan),
        Err(error) => build.finish_without_records(sources.is_err(), error),
    }
}

/// A dataset that is completed.
struct Build<'a> {
    files: &'a dyn Files,
    prefix: &'a Prefix,
    /// The directory with the records of the dataset.
    dir: &'a Path,
    id: u64,
    how: BuildSettings<'a>,
}

impl Build<'_> {
    /// Carries out the plan, and completes the dataset.
    fn rebuild(&self, plan: RebuildPlan) -> Result<Built> {
        let (files, prefix) = (self.files, self.prefix);
        let (source, rebuilt) = (plan.source, plan.losses.data.clone());
        let lists = plan.carry_out(self.how.node)?;
        if !lists.keys().copied().eq(0..source.ranks) {
            let name = source.dataset.name.to_string();
            return Err(Error::dataset(self.id, name, "ranks are missing"));
        }
        let entries = lists.iter().map(|(rank, list)| {
            // What was rebuilt is plain.
            let map = source.filemaps.get(rank);
            let map = map.filter(|_| !rebuilt.contains(rank));
            map.and_then(contained)
                .unwrap_or_else(|| rank2file::entry_of(list))
        });
        let entries: Vec<RankEntry> = entries.collect();
        let dataset = self.write_rank2file(&source.dataset, entries.clone())?;
        // A flush of this dataset, or a copy that was killed, may have begun to fill others.
        containers::remove_unused(files, self.dir, &entries)?;
        let saved = Entering::Saved { verified: true };
        let time = || self.how.time.to_string();
        finish::complete(files, prefix, &dataset, saved, &time)?;
        self.end(dataset, source.ranks as u64, rebuilt)
    }

    /// Completes a dataset that cannot be rebuilt for the reason `why`, but is whole: it needs no records any
    /// more, or SCR v3.1.0 wrote it. `unread`: there are no records.
    fn finish_without_records(&self, unread: bool, why: Error) -> Result<Built> {
        let (files, prefix, id) = (self.files, self.prefix, self.id);
        let (dataset, ranks) = match read_complete(files, prefix, id) {
            Ok(Some(finished)) => {
                finish::sync_records(files, prefix, id)?;
                finished
            }
            Err(error) if unread => return Err(error),
            _ if unread && is_from_scr_v3(files, self.dir)? => self.seal_scr_v3()?,
            _ => return Err(why),
        };
        let saved = Entering::Saved { verified: false };
        let time = || self.how.time.to_string();
        finish::enter(files, prefix, &dataset, saved, &time)?;
        self.end(dataset, ranks, Vec::new())
    }

    /// Writes the metadata of a dataset that SCR v3.1.0 wrote. Returns it, and its number of ranks.
    fn seal_scr_v3(&self) -> Result<(Dataset, u64)> {
        let (files, prefix) = (self.files, self.prefix);
        let found = scr_v3::read(files, prefix, self.id)?;
        found.sync(files, prefix)?;
        let ScrV3Dataset { dataset, entries } = found;
        let ranks = entries.len() as u64;
        let entries = entries.into_values().collect();
        let dataset = self.write_rank2file(&dataset, entries)?;
        finish::seal(files, prefix, &dataset)?;
        Ok((dataset, ranks))
    }

    /// Writes the rank2file, with one entry for each rank. Gives the dataset with the sums over its files.
    fn write_rank2file(&self, dataset: &Dataset, mut entries: Vec<RankEntry>) -> Result<Dataset> {
        if !self.how.checksums {
            let files = entries
                .iter_mut()
                .flat_map(|entry| entry.files.values_mut());
            files.for_each(|file| file.crc = None);
        }
        let mut dataset = dataset.clone();
        let all = || entries.iter().flat_map(|entry| entry.files.values());
        let size = |sum: u64, file: &FileEntry| sum.saturating_add(file.size.unwrap_or(0));
        let (count, size) = (all().count() as u64, all().fold(0, size));
        let recorded = (dataset.files.unwrap_or(count), dataset.size.unwrap_or(size));
        if recorded != (count, size) {
            let what = format!(
                "its records say {} files with {} bytes, but list {count} with {size}",
                recorded.0, recorded.1
            );
            return Err(Error::dataset(dataset.id, dataset.name.to_string(), what));
        }
        (dataset.files, dataset.size) = (Some(count), Some(size));
        dataset.complete = Some(true);
        rank2file::write_all(self.files, &self.prefix.dataset(dataset.id), entries)?;
        Ok(dataset)
    }

    /// Says that the dataset is flushed, and removes what only a rebuild needs.
    fn end(&self, dataset: Dataset, ranks: u64, rebuilt: Vec<usize>) -> Result<Built> {
        finish::mark_flushed(self.files, self.prefix, self.id)?;
        remove_records(self.files, self.dir)?;
        Ok(Built {
            dataset,
            ranks,
            rebuilt,
        })
    }
}

/// The scavenged datasets of this id, newest first. Leaves out datasets that are older than the one
/// that the last run had under this id.
pub fn read(files: &dyn Files, prefix: &Prefix, id: u64) -> Result<Vec<DatasetRecords>> {
    let mut sources = dataset_records::read(files, &prefix.dataset(id), Some(id))?;
    let oldest = created(files, prefix, id);
    sources.retain(|source| oldest.is_none_or(|oldest| source.dataset.created >= oldest));
    if sources.is_empty() {
        let what = "only an older dataset of this id was copied to the prefix directory";
        return Err(Error::dataset(id, "", what));
    }
    Ok(sources)
}

/// Creation time of the dataset that the last run had in its cache under this id.
fn created(files: &dyn Files, prefix: &Prefix, id: u64) -> Option<u64> {
    let record = records::read_flush_file(files, prefix).unwrap_or_default();
    let entry = record.datasets.get(&id)?.dataset.as_ref()?;
    Some(entry.created)
}

/// The dataset and its number of ranks, if its summary says that it is complete.
///
/// # Errors
/// The summary says so, but a file is missing or its size differs from the record.
pub fn read_complete(
    files: &dyn Files,
    prefix: &Prefix,
    id: u64,
) -> Result<Option<(Dataset, u64)>> {
    let dir = prefix.dataset(id);
    let Ok(summary) = format::read::<Summary>(files, &dir.join("summary.scr")) else {
        return Ok(None);
    };
    let dataset = summary.dataset;
    let fits = summary.complete && dataset.id == id;
    let oldest = created(files, prefix, id);
    if !fits || oldest.is_some_and(|oldest| dataset.created < oldest) {
        return Ok(None);
    }
    check_files(files, prefix, id, ", and its redundancy is gone")?;
    Ok(Some((dataset, rank2file::ranks(files, &dir)?)))
}

/// Checks that each file in the rank2file of a dataset exists with its size. The error message ends
/// with `so`.
pub fn check_files(files: &dyn Files, prefix: &Prefix, id: u64, so: &str) -> Result<()> {
    rank2file::for_each(files, &prefix.dataset(id), |_, entry| {
        finish::check_files(files, prefix, id, entry).map_err(|error| match error {
            Error::Corrupt { path, what } => Error::corrupt(path, format!("{what}{so}")),
            other => other,
        })
    })
}

/// Marks a dataset as complete in the prefix directory: writes its summary and updates the flush
/// file. For datasets whose flush got as far as the rank2file, and whose files were copied by other
/// means. Does not change the index.
///
/// # Errors
/// A file in the rank2file is missing, or there is no rank2file.
pub fn certify(files: &dyn Files, prefix: &Prefix, dataset: &Dataset) -> Result<()> {
    check_files(files, prefix, dataset.id, "")?;
    finish::seal(files, prefix, dataset)?;
    finish::mark_flushed(files, prefix, dataset.id)
}

/// Removes the records that only a rebuild needs. Records of SCR v3.1.0 stay, as they do with SCR
/// v3.1.0.
fn remove_records(files: &dyn Files, dir: &Path) -> Result<()> {
    if is_from_scr_v3(files, dir)? {
        return Ok(());
    }
    for name in files.list(dir)? {
        let ours = name.to_str().and_then(filemap_rank).is_some()
            || ParityFileName::parse(&name).is_some();
        if ours {
            files.remove_file(&dir.join(name))?;
        }
    }
    Ok(())
}
