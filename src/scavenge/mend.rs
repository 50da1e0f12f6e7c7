//! Makes a dataset whole from what is there of it: plans for all of its sets before the first
//! file is touched, so that one that cannot be rebuilt stays as it is.

use super::survey::Survey;
use crate::cache::layout::filemap_name;
use crate::format::filemap::Filemap;
use crate::format::{self, Dataset, FileMeta, Name, RankFiles};
use crate::redundancy::Record;
use crate::redundancy::offline::{Claim, DatasetLocation, Losses, Patient, examine};
use crate::store::{Durability, FileKind};
use crate::text::ranks_in_words;
use crate::{Error, Result};
use std::collections::BTreeMap;

/// How much is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Files, completion records and redundancy: as the job had it. All is read.
    Everything,
    /// Files and completion records, and of those only what is not there already: in sets
    /// whose records are all there, a file with the recorded size and time of change is taken
    /// for what it was when it was copied, and not read.
    Data,
    /// The completion records of ranks whose files are all there. All is read.
    Records,
}

/// What is wrong with a dataset, and how it can be put right.
pub struct Plan<'a> {
    location: DatasetLocation<'a>,
    /// What it is for.
    pub survey: &'a Survey,
    scope: Scope,
    patients: Vec<(Patient<'a>, Losses)>,
    /// Why a newer dataset of that number was not chosen.
    passed_over: Option<Error>,
    /// What was found missing or damaged, by rank.
    pub damage: Vec<(usize, Error)>,
    /// Ranks of which something is lost.
    pub losses: Losses,
    /// Ranks without a completion record.
    pub records: Vec<usize>,
    /// Why it cannot be put right, if so.
    pub verdict: Result<()>,
}

/// Looks at the dataset that `survey` found in the directory of `location`. Touches nothing.
/// Local.
///
/// # Errors
/// The dataset's scheme is not known. That too much is lost is not an error here, but
/// [`Plan::verdict`].
pub fn plan<'a>(
    location: DatasetLocation<'a>,
    survey: &'a Survey,
    scope: Scope,
) -> Result<Plan<'a>> {
    let mut plan = Plan {
        location,
        survey,
        scope,
        patients: Vec::new(),
        passed_over: None,
        damage: Vec::new(),
        losses: Losses::default(),
        records: Vec::new(),
        verdict: Ok(()),
    };
    if !survey.unknown.is_empty() {
        let what = format!(
            "the files of {} are lost, and with them all that could rebuild them",
            ranks_in_words(&survey.unknown)
        );
        plan.fail(lost(&survey.dataset, what));
    }
    for reddesc in &survey.sets {
        let mut members = reddesc.members.iter();
        if scope == Scope::Data && members.all(|rank| plan.is_untouched(*rank)) {
            continue;
        }
        let claim = Claim {
            dataset: &survey.dataset,
            ranks: survey.ranks,
            reddesc,
        };
        let known = |rank| survey.filemaps.get(&rank).map(|map| map.files.clone());
        let patient = examine(location, claim, &known)?;
        for member in &patient.members {
            let parity = member.health.parity.clone().err();
            let parity = parity.filter(|_| scope != Scope::Data && member.record.is_some());
            let errors = member.health.data.clone().err().into_iter().chain(parity);
            plan.damage.extend(errors.map(|error| (member.rank, error)));
            if !plan.has_record(member.rank, member.record.as_ref()) {
                plan.records.push(member.rank);
            }
        }
        match patient.verdict() {
            Ok(losses) => {
                plan.losses.data.extend(&losses.data);
                plan.losses.redundancy.extend(&losses.redundancy);
                plan.patients.push((patient, losses));
            }
            Err(error) => plan.fail(error),
        }
    }
    Ok(plan)
}

/// The plan for the newest of several datasets that can be put right; if none can, for the
/// newest. See [`plan`].
pub fn choose<'a>(
    location: DatasetLocation<'a>,
    surveys: &'a [Survey],
    scope: Scope,
) -> Result<Plan<'a>> {
    let mut newest: Option<Plan> = None;
    for survey in surveys {
        let mut plan = plan(location, survey, scope)?;
        if plan.verdict.is_ok() {
            plan.passed_over = newest.and_then(|newest| newest.verdict.err());
            return Ok(plan);
        }
        newest.get_or_insert(plan);
    }
    newest.ok_or_else(|| Error::Corrupt {
        path: location.meta_dir.to_path_buf(),
        what: "holds no dataset that was asked for".to_string(),
    })
}

fn lost(dataset: &Dataset, what: String) -> Error {
    Error::dataset(dataset.id, dataset.name.to_string(), what)
}

impl Plan<'_> {
    /// All that was passed over, missing or damaged, in words.
    pub fn notes(&self) -> Vec<String> {
        let damage = self.damage.iter();
        let damage = damage.map(|(rank, error)| format!("rank {rank}: {error}"));
        let newer = self.passed_over.iter();
        let newer = newer.map(|error| format!("{error}; an older one of that number is used"));
        let passed = self.survey.notes.iter().cloned();
        passed.chain(newer).chain(damage).collect()
    }

    fn fail(&mut self, error: Error) {
        if self.verdict.is_ok() {
            self.verdict = Err(error);
        }
    }

    /// True if the rank's record is there and its files look as when they were copied.
    fn is_untouched(&self, rank: usize) -> bool {
        let same = |file: &FileMeta| {
            let path = file.file.below(&self.location.home.dir(rank)).ok()?;
            let stat = self.location.files.stat(&path).ok()??;
            Some(stat.kind == FileKind::File && stat.size == file.size && stat.mtime == file.mtime)
        };
        let map = self.survey.filemaps.get(&rank);
        map.is_some_and(|map| {
            self.location.home.admit(&map.files).is_ok()
                && map.files.files.iter().all(|file| same(file) == Some(true))
        })
    }

    /// True if the rank's completion record says what is known of the rank.
    fn has_record(&self, rank: usize, known: Option<&Record>) -> bool {
        let map = self.survey.filemaps.get(&rank);
        map.zip(known)
            .is_some_and(|(map, known)| map.files == known.files)
    }

    /// Gives files whose record was lost the attributes that it says, which a kill may have
    /// kept from them.
    fn dress(&self, list: &RankFiles) -> Result<()> {
        let DatasetLocation { files, home, .. } = self.location;
        let dir = home.dir(list.rank);
        list.files.iter().try_for_each(|file| {
            let path = file.file.below(&dir)?;
            let wanted = file.stat();
            match files.stat(&path)? {
                Some(stat) if (stat.mode, stat.mtime) == (wanted.mode, wanted.mtime) => Ok(()),
                _ => files.restore(&path, &wanted),
            }
        })
    }

    /// True if there is nothing to do.
    pub fn is_whole(&self) -> bool {
        let redundancy = self.scope != Scope::Data && !self.losses.redundancy.is_empty();
        self.verdict.is_ok()
            && self.losses.data.is_empty()
            && self.records.is_empty()
            && !redundancy
    }

    /// Does it, set by set, and gives the files of all ranks. New completion records name
    /// `node`. A kill leaves what is lost as lost as it was. Local.
    ///
    /// # Errors
    /// [`Plan::verdict`], and then nothing is touched; or a file cannot be read or written.
    pub fn carry_out(self, node: &str) -> Result<BTreeMap<usize, RankFiles>> {
        self.verdict.clone()?;
        let DatasetLocation {
            files, meta_dir, ..
        } = self.location;
        let path = |rank: usize| meta_dir.join(filemap_name(rank));
        let maps = self.survey.filemaps.iter();
        let mut lists: BTreeMap<usize, RankFiles> =
            maps.map(|(rank, map)| (*rank, map.files.clone())).collect();
        for (patient, losses) in &self.patients {
            let records = if self.scope == Scope::Records {
                with_files(patient)
            } else {
                // A record says that the files are whole, so it goes before they do.
                for rank in &losses.data {
                    files.remove_file(&path(*rank))?;
                }
                patient.mend(self.scope == Scope::Everything)?
            };
            for record in records {
                let rank = record.files.rank;
                lists.insert(rank, record.files.clone());
                let rebuilt = losses.data.contains(&rank);
                if rebuilt || !self.has_record(rank, Some(&record)) {
                    if !rebuilt {
                        self.dress(&record.files)?;
                    }
                    self.location.home.settle(files, &record.files)?;
                    let map = filemap(record, self.survey.ranks, node);
                    format::write(files, &path(rank), &map, Durability::Synced)?;
                }
            }
        }
        Ok(lists)
    }
}

/// The records of the members whose files are all there.
fn with_files(patient: &Patient) -> Vec<Record> {
    let there = patient.members.iter().filter(|m| m.health.data.is_ok());
    there.filter_map(|m| m.record.clone()).collect()
}

fn filemap(record: Record, ranks: usize, node: &str) -> Filemap {
    Filemap {
        rank: record.files.rank,
        ranks,
        node: Name::from(node),
        prefix: None,
        bypass: false,
        dataset: record.dataset,
        reddesc: record.reddesc,
        files: record.files,
    }
}
