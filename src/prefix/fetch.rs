//! Reads a dataset back from the prefix directory, and believes nothing unchecked.

use super::flush::PrefixAccess;
use super::paths::seen_by_program;
use super::rank2file;
use crate::comm::{Term, collective};
use crate::format::rank2file::{BASE, FileEntry, RankEntry};
use crate::format::summary::Summary;
use crate::format::{self, Dataset, FileMeta, Name, RankFiles, from_message, to_message};
use crate::store::FileKind;
use crate::transfer::copy::{Content, checksum, copy};
use crate::transfer::turns::in_turns;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Where fetched files go: a rank's own directory in the cache.
#[derive(Debug, Clone)]
pub struct FetchTarget<'a> {
    /// The store's base directory.
    pub base: &'a Path,
    /// The rank's directory relative to it; made by the fetch, emptied of what was there.
    pub below: PathBuf,
}

impl FetchTarget<'_> {
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
    /// A link on the way to its files; on the lowest rank that has found one.
    pub link: Option<PathBuf>,
}

impl Fetched {
    /// What is to be said of a link, on the rank that has found it.
    pub fn link_note(&self) -> Option<String> {
        let Dataset { id, name, .. } = &self.dataset;
        let link = self.link.as_ref()?.display();
        Some(format!(
            "dataset {id} ({name}): {link} is a symbolic link; the program reads its files there, \
             but SCR neither copies nor deletes through it"
        ))
    }
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
    /// In bypass: the program reads the files where they are, whatever links are on the way, so
    /// they are looked at there too.
    pub links: bool,
}

/// What a dataset that cannot be fetched is to this run, from the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalReason {
    /// As good as before: the system gave trouble, here or there.
    Trouble,
    /// As good as before, but behind a symbolic link, through which nothing is copied.
    Link,
    /// Not for this run, which has another number of ranks.
    Unfit,
    /// Bad: a file is missing, or not as it was recorded.
    Bad,
}

impl RefusalReason {
    /// What an error of one rank makes of it. What is missing, or another thing, in the prefix
    /// directory is bad; trouble elsewhere says nothing of the dataset.
    fn of(error: &Error, prefix: &Path) -> Self {
        match error {
            Error::Corrupt { .. } | Error::Format { .. } => RefusalReason::Bad,
            Error::Dataset { .. } => RefusalReason::Unfit,
            _ if error.is_link() => RefusalReason::Link,
            Error::Io { path, errno, .. }
                if errno.is_some() && !error.is_transient() && path.starts_with(prefix) =>
            {
                RefusalReason::Bad
            }
            _ => RefusalReason::Trouble,
        }
    }

    /// From a term that was agreed on.
    fn told(term: Term) -> Self {
        let all = [
            RefusalReason::Bad,
            RefusalReason::Unfit,
            RefusalReason::Link,
        ];
        let mut all = all.into_iter();
        all.find(|why| term.value() >= *why as i64)
            .unwrap_or(RefusalReason::Trouble)
    }
}

/// Why a dataset cannot be fetched. The same on all ranks.
#[derive(Debug)]
pub struct Refused {
    /// The collective verdict.
    pub error: Error,
    /// What that says of the dataset.
    pub why: RefusalReason,
}

/// Fetches a dataset: into `cache`, or with `None` only verified where it is (bypass).
/// Collective. The outer error is the transport's; all ranks agree on the inner one.
pub fn fetch(
    access: &PrefixAccess,
    wanted: &Wanted,
    cache: Option<&FetchTarget>,
) -> Result<std::result::Result<Fetched, Refused>> {
    let &PrefixAccess {
        comm,
        files,
        prefix,
        ..
    } = access;
    let dir = prefix.dataset(wanted.id);
    let mut bad = [Term::Max(0)];

    let local = collective::if_root(comm, || fits(access, &dir, wanted));
    let dataset = match verdict(access, local, &mut bad) {
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
    let brought = in_turns(comm, access.width, || bring(access, wanted, &entry?, cache))?;
    let (count, size, unverified) = brought.as_ref().map_or((0, 0, 0), |brought| {
        let files = &brought.files.files;
        let size = files
            .iter()
            .fold(0u64, |sum, file| sum.wrapping_add(file.size));
        (files.len() as i64, size as i64, brought.unverified as i64)
    });
    let me = comm.rank() as i64;
    let linked = brought.as_ref().is_ok_and(|brought| brought.link.is_some());
    let mut terms = [
        bad[0],
        Term::Sum(unverified),
        Term::Sum(count),
        Term::Sum(size),
        Term::Min(if linked { me } else { i64::MAX }),
    ];
    let brought = verdict(access, brought, &mut terms).and_then(|brought| {
        let [_, _, count, size, _] = terms.map(|term| term.value() as u64);
        whole(&dir, &dataset, count, size).map(|()| brought)
    });
    match brought {
        Ok(Brought { files, link, .. }) => Ok(Ok(Fetched {
            dataset,
            files,
            unverified: terms[1].value() as u64,
            link: link.filter(|_| terms[4].value() == me),
        })),
        Err(error) => {
            if let Some(target) = cache {
                // What stays has no record, so nobody takes it for a dataset.
                let _ = files.remove_tree(&target.dir());
            }
            if matches!(error, Error::Corrupt { .. }) {
                terms[0] = Term::Max(RefusalReason::Bad as i64);
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
    Err(Error::corrupt(
        dir.join("summary.scr"),
        format!(
            "records {} files with {} bytes, but there are {count} with {size}",
            recorded.0, recorded.1
        ),
    ))
}

/// Agrees on a result; the first term becomes the worst that any rank's error says of the
/// dataset.
fn verdict<T>(access: &PrefixAccess, local: Result<T>, terms: &mut [Term]) -> Result<T> {
    let error = local.as_ref().err();
    let why = error.map_or(RefusalReason::Trouble, |e| {
        RefusalReason::of(e, access.prefix.root())
    });
    terms[0] = Term::Max(why as i64);
    collective::agree_with(access.comm, access.node, local, terms)
}

fn refuse(error: Error, terms: &[Term]) -> Result<std::result::Result<Fetched, Refused>> {
    match error {
        Error::Comm { .. } => Err(error),
        error => Ok(Err(Refused {
            error,
            why: RefusalReason::told(terms[0]),
        })),
    }
}

/// Rank 0: the summary, if the dataset is complete, a checkpoint, and one of as many ranks.
fn fits(access: &PrefixAccess, dir: &Path, wanted: &Wanted) -> Result<Dataset> {
    let id = wanted.id;
    let path = dir.join("summary.scr");
    let summary: Summary = format::read(access.files, &path)?;
    let dataset = summary.dataset;
    let odd = |what: String| Err(Error::corrupt(&path, what));
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
    let ranks = rank2file::ranks(access.files, dir)?;
    if ranks != access.comm.size() as u64 {
        let what = format!(
            "was written by {ranks} ranks, this run has {}; run with {ranks} ranks to use it",
            access.comm.size()
        );
        return Err(Error::dataset(id, dataset.name.to_string(), what));
    }
    Ok(dataset)
}

/// What one rank has of a dataset.
struct Brought {
    files: RankFiles,
    /// Files without a checksum.
    unverified: usize,
    /// A link on the way to one.
    link: Option<PathBuf>,
}

/// This rank's files: found, compared with what was recorded, copied if there is a cache.
fn bring(
    access: &PrefixAccess,
    wanted: &Wanted,
    entry: &RankEntry,
    cache: Option<&FetchTarget>,
) -> Result<Brought> {
    let &PrefixAccess {
        comm,
        files,
        prefix,
        ..
    } = access;
    let rank = comm.rank();
    let mut buffer = vec![0; access.buffer.max(1)];
    if let Some(target) = cache {
        files.remove_tree(&target.dir())?;
        files.make_private_dirs(target.base, &target.below)?;
    }
    if let Some(count) = entry
        .count
        .filter(|count| *count != entry.files.len() as u64)
    {
        return Err(Error::corrupt(
            prefix.dataset(wanted.id),
            format!(
                "lists {} files of rank {rank}, {count} expected",
                entry.files.len()
            ),
        ));
    }
    let top = prefix.dataset(wanted.id).join(BASE);
    let (mut list, mut link) = (Vec::with_capacity(entry.files.len()), None);
    for (name, recorded) in &entry.files {
        let mut from = prefix.absolute(name).map_err(|e| e.in_file(&top))?;
        let stat = match files.stat(&from) {
            Err(error) if error.is_link() && wanted.links => {
                link = link.or_else(|| prefix.link_to(files, &from));
                seen_by_program(files, &from.clone(), |path| {
                    from = path.to_path_buf();
                    files.stat(path)
                })
            }
            other => other,
        };
        let stat = match stat? {
            Some(stat) if stat.kind == FileKind::File => stat,
            Some(_) => {
                return Err(Error::corrupt(from, "is not a regular file"));
            }
            None => {
                return Err(Error::corrupt(from, "is missing"));
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
    let files = RankFiles { rank, files: list };
    Ok(Brought {
        files,
        unverified,
        link,
    })
}

fn expected(recorded: &FileEntry, size: u64, checksums: bool) -> Content {
    Content {
        size: recorded.size.unwrap_or(size),
        crc: recorded.crc.filter(|_| checksums),
    }
}
