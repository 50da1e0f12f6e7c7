//! Reads a dataset back from the prefix directory, and believes nothing unchecked.

use super::flush::Ground;
use super::rank2file;
use crate::comm::{Term, collective};
use crate::format::rank2file::{FileEntry, RankEntry};
use crate::format::summary::Summary;
use crate::format::{self, Dataset, FileMeta, Name, RankFiles, from_message, to_message};
use crate::store::Kind;
use crate::transfer::copy::{Content, checksum, copy};
use crate::transfer::turns::in_turns;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Where fetched files go: a rank's own directory in the cache.
#[derive(Debug, Clone)]
pub struct Target<'a> {
    /// The store's base directory.
    pub base: &'a Path,
    /// The rank's directory relative to it; made by the fetch, emptied of what was there.
    pub below: PathBuf,
}

impl Target<'_> {
    fn dir(&self) -> PathBuf {
        self.base.join(&self.below)
    }
}

/// A dataset that this rank has its files of.
#[derive(Debug)]
pub struct Fetched {
    /// The dataset.
    pub dataset: Dataset,
    /// This rank's files, with sizes, and checksums where they were recorded or taken.
    pub files: RankFiles,
    /// Files of all ranks for which the prefix has no checksum, as SCR v3.1.0 writes it.
    pub unverified: u64,
}

/// Which dataset to fetch.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its id.
    pub id: u64,
    /// Its name in the index.
    pub name: &'a Name,
    /// Compare contents with recorded checksums; else sizes only.
    pub checksums: bool,
}

/// What a dataset that cannot be fetched is to this run, from the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// As good as before: the system gave trouble, here or there.
    Trouble,
    /// Not for this run, which has another number of ranks.
    Unfit,
    /// Bad: a file is missing, or not as it was recorded.
    Bad,
}

impl Why {
    /// What an error of one rank makes of it. What is missing, or another thing, in the prefix
    /// directory is bad; trouble elsewhere says nothing of the dataset.
    fn of(error: &Error, prefix: &Path) -> Self {
        match error {
            Error::Corrupt { .. } | Error::Format { .. } => Why::Bad,
            Error::Dataset { .. } => Why::Unfit,
            Error::Io { path, errno, .. }
                if errno.is_some() && !error.may_pass() && path.starts_with(prefix) =>
            {
                Why::Bad
            }
            _ => Why::Trouble,
        }
    }

    /// From a term that was agreed on.
    fn told(term: Term) -> Self {
        let all = [Why::Bad, Why::Unfit];
        let mut all = all.into_iter();
        all.find(|why| term.value() >= *why as i64)
            .unwrap_or(Why::Trouble)
    }
}

/// Why a dataset cannot be fetched. The same on all ranks.
#[derive(Debug)]
pub struct Refused {
    /// The collective verdict.
    pub error: Error,
    /// What that says of the dataset.
    pub why: Why,
}

/// Fetches a dataset: into `cache`, or with `None` only verified where it is (bypass).
/// Collective. The outer error is the transport's; all ranks agree on the inner one.
pub fn fetch(
    ground: &Ground,
    wanted: &Wanted,
    cache: Option<&Target>,
) -> Result<std::result::Result<Fetched, Refused>> {
    let &Ground {
        comm,
        files,
        prefix,
        ..
    } = ground;
    let dir = prefix.dataset(wanted.id);
    let mut bad = [Term::Max(0)];

    let local = if comm.rank() == 0 {
        fits(ground, &dir, wanted).map(Some)
    } else {
        Ok(None)
    };
    let dataset = match verdict(ground, local, &mut bad) {
        Ok(dataset) => dataset,
        Err(error) => return refuse(error, &bad),
    };
    let mut message = match &dataset {
        Some(dataset) => to_message(dataset)?,
        None => Vec::new(),
    };
    collective::bcast(comm, 0, &mut message)?;
    let dataset: Dataset = from_message(&message)?;

    let entry = rank2file::read(comm, files, &dir)?;
    let brought = in_turns(comm, ground.width, || bring(ground, wanted, &entry?, cache))?;
    let (count, size, unverified) = brought.as_ref().map_or((0, 0, 0), |(files, unverified)| {
        let size = files
            .files
            .iter()
            .fold(0u64, |sum, file| sum.wrapping_add(file.size));
        (files.files.len() as i64, size as i64, *unverified as i64)
    });
    let mut terms = [
        bad[0],
        Term::Sum(unverified),
        Term::Sum(count),
        Term::Sum(size),
    ];
    let brought = verdict(ground, brought, &mut terms).and_then(|(files, _)| {
        let [_, _, count, size] = terms.map(|term| term.value() as u64);
        whole(&dir, &dataset, count, size).map(|()| files)
    });
    match brought {
        Ok(files) => Ok(Ok(Fetched {
            dataset,
            files,
            unverified: terms[1].value() as u64,
        })),
        Err(error) => {
            if let Some(target) = cache {
                // What stays has no record, so nobody takes it for a dataset.
                let _ = files.remove_tree(&target.dir());
            }
            if matches!(error, Error::Corrupt { .. }) {
                terms[0] = Term::Max(Why::Bad as i64);
            }
            refuse(error, &terms)
        }
    }
}

/// Compares the files of all ranks with what the summary says of them together: all that is
/// known of files that SCR v3.1.0 wrote. The same on all ranks.
fn whole(dir: &Path, dataset: &Dataset, count: u64, size: u64) -> Result<()> {
    let recorded = (dataset.files.unwrap_or(count), dataset.size.unwrap_or(size));
    if recorded == (count, size) {
        return Ok(());
    }
    Err(Error::Corrupt {
        path: dir.join("summary.scr"),
        what: format!(
            "records {} files with {} bytes, but there are {count} with {size}",
            recorded.0, recorded.1
        ),
    })
}

/// Agrees on a result; the first term becomes the worst that any rank's error says of the
/// dataset.
fn verdict<T>(ground: &Ground, local: Result<T>, terms: &mut [Term]) -> Result<T> {
    let error = local.as_ref().err();
    let why = error.map_or(Why::Trouble, |e| Why::of(e, ground.prefix.root()));
    terms[0] = Term::Max(why as i64);
    collective::agree_with(ground.comm, ground.node, local, terms)
}

fn refuse(error: Error, terms: &[Term]) -> Result<std::result::Result<Fetched, Refused>> {
    match error {
        Error::Comm { .. } => Err(error),
        error => Ok(Err(Refused {
            error,
            why: Why::told(terms[0]),
        })),
    }
}

/// Rank 0: the summary, if the dataset is complete, a checkpoint, and one of as many ranks.
fn fits(ground: &Ground, dir: &Path, wanted: &Wanted) -> Result<Dataset> {
    let id = wanted.id;
    let path = dir.join("summary.scr");
    let summary: Summary = format::read(ground.files, &path)?;
    let dataset = summary.dataset;
    let odd = |what: String| {
        Err(Error::Corrupt {
            path: path.clone(),
            what,
        })
    };
    if !summary.complete {
        return odd("says that the dataset is not complete".to_string());
    }
    if !dataset.is_checkpoint() {
        return odd("describes a dataset that is no checkpoint".to_string());
    }
    if dataset.id != id || dataset.name != *wanted.name {
        return odd(format!(
            "describes dataset {} ({})",
            dataset.id, dataset.name
        ));
    }
    let ranks = rank2file::ranks(ground.files, dir)?;
    if ranks != ground.comm.size() as u64 {
        let what = format!(
            "was written by {ranks} ranks, this run has {}; run with {ranks} ranks to use it",
            ground.comm.size()
        );
        return Err(Error::dataset(id, dataset.name.to_string(), what));
    }
    Ok(dataset)
}

/// This rank's files: found, compared with what was recorded, copied if there is a cache.
fn bring(
    ground: &Ground,
    wanted: &Wanted,
    entry: &RankEntry,
    cache: Option<&Target>,
) -> Result<(RankFiles, usize)> {
    let &Ground {
        comm,
        files,
        prefix,
        ..
    } = ground;
    let rank = comm.rank();
    let mut buffer = vec![0; ground.buffer.max(1)];
    if let Some(target) = cache {
        files.remove_tree(&target.dir())?;
        files.make_private_dirs(target.base, &target.below)?;
    }
    if let Some(count) = entry
        .count
        .filter(|count| *count != entry.files.len() as u64)
    {
        return Err(Error::Corrupt {
            path: prefix.dataset(wanted.id),
            what: format!(
                "lists {} files of rank {rank}, {count} expected",
                entry.files.len()
            ),
        });
    }
    let mut list = Vec::with_capacity(entry.files.len());
    for (name, recorded) in &entry.files {
        let from = prefix.absolute(name)?;
        let stat = match files.stat(&from)? {
            Some(stat) if stat.kind == Kind::File => stat,
            Some(_) => {
                return Err(Error::Corrupt {
                    path: from,
                    what: "is not a regular file".into(),
                });
            }
            None => {
                return Err(Error::Corrupt {
                    path: from,
                    what: "is missing".into(),
                });
            }
        };
        let mut meta = FileMeta::new(name.clone(), name.clone(), &stat);
        let expected = expected(recorded, stat.size, wanted.checksums);
        match cache {
            Some(target) => {
                let to = name.below(&target.dir())?;
                if let Some(parent) = name.as_path().parent() {
                    files.make_private_dirs(target.base, &target.below.join(parent))?;
                }
                meta.crc = copy(files, &from, &to, Some(&expected), &mut buffer)?.crc;
                files.restore(&to, &stat)?;
            }
            None => {
                Content {
                    size: stat.size,
                    crc: None,
                }
                .check(&expected, &from)?;
                if expected.crc.is_some() {
                    checksum(files, &from, &mut buffer)?.check(&expected, &from)?;
                }
                meta.crc = expected.crc;
            }
        }
        list.push(meta);
    }
    let unverified = entry
        .files
        .values()
        .filter(|file| file.crc.is_none())
        .count();
    Ok((RankFiles { rank, files: list }, unverified))
}

fn expected(recorded: &FileEntry, size: u64, checksums: bool) -> Content {
    Content {
        size: recorded.size.unwrap_or(size),
        crc: recorded.crc.filter(|_| checksums),
    }
}
