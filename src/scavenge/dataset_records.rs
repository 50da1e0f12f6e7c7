//! Describes a dataset from the records in one directory: completion records, and headers of
//! redundancy files if completion records are missing.

use crate::cache::inventory::read_records;
use crate::cache::layout::filemap_name;
use crate::cache::plan::{CachedRecord, Candidate, Inventory, candidates, is_consistent};
use crate::format::filemap::{Filemap, Reddesc};
use crate::format::identity::OwnPrefix;
use crate::format::parity::ParityHeader;
use crate::format::{Dataset, read_header};
use crate::redundancy::MAX_BLOCKS;
use crate::store::Files;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// A dataset as its records describe it.
#[derive(Debug)]
pub struct DatasetRecords {
    /// The dataset.
    pub dataset: Dataset,
    /// Number of ranks that wrote it.
    pub ranks: usize,
    /// The redundancy sets of the dataset, as their first members have them.
    pub sets: Vec<Reddesc>,
    /// Ranks whose set no record tells.
    pub unknown: Vec<usize>,
    /// The completion records, by rank.
    pub filemaps: BTreeMap<usize, Filemap>,
    /// Descriptions of records that were ignored.
    pub notes: Vec<String>,
    /// Why a record could not be read, if that may pass: what seems to be lost may be there.
    pub unread: Option<Error>,
}

/// Reads the records in `meta_dir`; with `id`, only the records of that dataset. Returns one
/// description per dataset, newest first, and at least one. Runs that used one id for different
/// datasets give several. Records that are damaged or contradict the others are left out and
/// described in the notes. Data files are not read. Local.
///
/// # Errors
/// The directory cannot be read, or has no record that can be used.
pub fn read(files: &dyn Files, meta_dir: &Path, id: Option<u64>) -> Result<Vec<DatasetRecords>> {
    let names = files.list(meta_dir)?;
    let mut found = RecordCollector {
        id,
        // Each set of a whole dataset has a record here.
        most_ranks: names.len().saturating_mul(MAX_BLOCKS),
        ..RecordCollector::default()
    };
    let mut problems = Vec::new();
    let records = read_records(files, meta_dir, None, &mut problems)?;
    problems
        .into_iter()
        .for_each(|error| found.cannot_read(error));
    for map in records.filemaps {
        found.filemap(&meta_dir.join(filemap_name(map.rank)), map);
    }
    for (name, file) in records.redundancy {
        let of_set = found
            .records
            .iter()
            .filter(|held| held.reddesc.set_id == name.set);
        if of_set.count() < name.size {
            found.header(files, &meta_dir.join(file));
        }
    }
    found.into_datasets(meta_dir, &names)
}

#[derive(Default)]
struct RecordCollector {
    id: Option<u64>,
    most_ranks: usize,
    records: Vec<CachedRecord>,
    filemaps: BTreeMap<usize, Filemap>,
    notes: Vec<String>,
    unread: Option<Error>,
}

impl RecordCollector {
    fn cannot_read(&mut self, error: Error) {
        self.notes.push(format!("{error}; ignored"));
        if error.is_transient() {
            self.unread.get_or_insert(error);
        }
    }

    fn ignore(&mut self, path: &Path, what: &str) {
        self.notes
            .push(format!("{} {what}; ignored", path.display()));
    }

    /// Keeps a record if it is consistent. Returns true if it was kept.
    fn keep(&mut self, path: &Path, held: CachedRecord) -> bool {
        if self.id.is_some_and(|id| id != held.dataset.id) {
            let what = format!("belongs to dataset {}", held.dataset.id);
            self.ignore(path, &what);
        } else if held.ranks > self.most_ranks || !is_consistent(&held) {
            self.ignore(path, "describes an invalid redundancy set");
        } else {
            self.records.push(held);
            return true;
        }
        false
    }

    fn filemap(&mut self, path: &Path, map: Filemap) {
        if self.keep(path, CachedRecord::new(map.clone(), &OwnPrefix::default())) {
            self.filemaps.insert(map.rank, map);
        }
    }

    fn header(&mut self, files: &dyn Files, path: &Path) {
        let header = files
            .open(path)
            .and_then(|file| read_header::<ParityHeader>(file.as_ref(), path));
        match header {
            Ok((header, _)) => {
                let held = CachedRecord {
                    store: 0,
                    level: None,
                    rank: header.current.rank,
                    ranks: header.ranks,
                    dataset: header.dataset,
                    reddesc: header.reddesc,
                    other_prefix: None,
                };
                self.keep(path, held);
            }
            Err(error) => self.cannot_read(error),
        }
    }

    fn into_datasets(mut self, meta_dir: &Path, names: &[OsString]) -> Result<Vec<DatasetRecords>> {
        let records = std::mem::take(&mut self.records);
        let inventory = Inventory {
            records,
            ..Inventory::default()
        };
        let all = candidates(&[(0, inventory)]);
        if !all.is_empty() {
            return Ok(all.iter().map(|c| self.describe(c, meta_dir)).collect());
        }
        let from_scr_v3 = |name: &OsString| name.to_string_lossy().ends_with(".redset");
        let what = match self.notes.first() {
            _ if names.iter().any(from_scr_v3) => "holds a dataset that SCR v3.1.0 scavenged; \
                                               `scr index --build` completes it if nothing of \
                                               it is lost"
                .to_string(),
            Some(note) => format!("holds no record of a dataset that can be used: {note}"),
            None => "holds no record of a dataset: no filemap_<rank>, no redundancy file".into(),
        };
        let path = meta_dir.to_path_buf();
        Err(Error::corrupt(path, what))
    }

    fn describe(&self, chosen: &Candidate, meta_dir: &Path) -> DatasetRecords {
        let (mut sets, mut unknown) = (Vec::new(), Vec::new());
        for rank in 0..chosen.ranks {
            match chosen.set_of(rank) {
                Some(reddesc) if reddesc.set_rank == 0 => sets.push(reddesc.clone()),
                Some(_) => {}
                None => unknown.push(rank),
            }
        }
        let mut notes = self.notes.clone();
        let mut filemaps = BTreeMap::new();
        for (rank, map) in &self.filemaps {
            let fits = map.dataset == chosen.dataset
                && map.ranks == chosen.ranks
                && chosen.set_of(*rank).is_some_and(|set| {
                    (&set.members, &set.scheme) == (&map.reddesc.members, &map.reddesc.scheme)
                });
            if fits {
                filemaps.insert(*rank, map.clone());
            } else {
                let path = meta_dir.join(filemap_name(*rank));
                notes.push(format!(
                    "{} is the record of another dataset, run or set; ignored",
                    path.display()
                ));
            }
        }
        DatasetRecords {
            dataset: chosen.dataset.clone(),
            ranks: chosen.ranks,
            sets,
            unknown,
            filemaps,
            notes,
            unread: self.unread.clone(),
        }
    }
}
