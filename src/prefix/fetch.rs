//! Fetches a dataset from the prefix directory, and checks all that it reads.

use super::access::PrefixAccess;
pub use super::fetch_part::{FetchRequest, FetchTarget};
use super::fetch_part::{FetchedPart, fetch_files};
use super::{fetch_share, rank2file};
use crate::comm::{Agreed, Agreement, Local, Term, collective};
use crate::format::rank2file::RankEntry;
use crate::format::summary::Summary;
use crate::format::{self, Dataset, RankFiles, from_message, to_message};
use crate::messages::{OTHER_NUMBER_OF_RANKS, WRONG_TOTALS};
use crate::transfer::turns::in_turns;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// A fetched dataset.
#[derive(Debug)]
pub struct Fetched {
    /// The dataset.
    pub dataset: Dataset,
    /// This rank's files, with sizes, and checksums where they were recorded or taken. If another
    /// number of ranks wrote them, those that this rank has verified.
    pub files: RankFiles,
    /// Number of files of all ranks without a checksum in the prefix directory, as SCR v3.1.0 may
    /// write it.
    pub unverified: u64,
    /// A symbolic link on the path to its files; only on the lowest rank that found one.
    pub link: Option<PathBuf>,
    /// Number of files of all ranks that were extracted from containers to the prefix directory.
    pub extracted: u64,
    /// Number of such files that were damaged since, and have their content again.
    pub mended: u64,
    /// A file that was mended; only on the lowest rank that mended one.
    pub first_mended: Option<PathBuf>,
}

impl Fetched {
    /// The message about a link, on the rank that found it.
    pub fn link_note(&self) -> Option<String> {
        let Dataset { id, name, .. } = &self.dataset;
        let link = self.link.as_ref()?.display();
        Some(format!(
            "dataset {id} ({name}): {link} is a symbolic link; the program reads its files there, \
             but SCR neither copies nor deletes through it"
        ))
    }
}

/// The reason why a dataset cannot be fetched, from the least to the most serious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalReason {
    /// An error of the system. The error is no sign of damage in the dataset.
    Trouble,
    /// The store has no room for it.
    Full,
    /// A symbolic link on the path to a file. Nothing is copied through links.
    Link,
    /// This run has another number of ranks.
    Unfit,
    /// A file is missing or not as recorded.
    Bad,
}

impl RefusalReason {
    /// Classifies the error of one rank. A file that is missing in the prefix directory, or is not a
    /// file, is bad; other errors of the system say nothing of the dataset.
    pub(super) fn of(error: &Error, prefix: &Path) -> Self {
        match error {
            Error::Corrupt { .. } | Error::Format { .. } => RefusalReason::Bad,
            Error::Dataset { .. } => RefusalReason::Unfit,
            _ if error.is_link() => RefusalReason::Link,
            Error::Io { path, .. } if error.is_full() && !path.starts_with(prefix) => {
                RefusalReason::Full
            }
            Error::Io { path, errno, .. }
                if errno.is_some() && !error.is_transient() && path.starts_with(prefix) =>
            {
                RefusalReason::Bad
            }
            _ => RefusalReason::Trouble,
        }
    }

    /// The reason in the combined term of all ranks.
    fn from_term(term: Agreed<i64>) -> Self {
        let all = [
            RefusalReason::Bad,
            RefusalReason::Unfit,
            RefusalReason::Link,
            RefusalReason::Full,
        ];
        let mut all = all.into_iter();
        all.find(|why| term.get() >= *why as i64)
            .unwrap_or(RefusalReason::Trouble)
    }
}

/// The reason why a dataset cannot be fetched. The same on all ranks.
#[derive(Debug)]
pub struct Refused {
    /// The collective verdict.
    pub error: Error,
    /// The conclusion for the dataset from the error.
    pub why: RefusalReason,
}

/// Fetches a dataset into `cache`, or with `None` (bypass) verifies it where it is. Collective. The
/// outer error is the transport's; all ranks agree on the inner one.
pub fn fetch(
    access: &PrefixAccess,
    wanted: &FetchRequest,
    cache: Option<&FetchTarget>,
) -> Result<std::result::Result<Fetched, Refused>> {
    let &PrefixAccess {
        comm,
        files,
        prefix,
        ..
    } = access;
    let dir = prefix.dataset(wanted.id);
    let local = collective::if_root(comm, || read_summary(access, &dir, wanted));
    let Agreement {
        verdict,
        terms: [why],
    } = agree_on(access, local, [REASON])?;
    let dataset = match verdict {
        Ok(dataset) => dataset,
        Err(error) => return Ok(Err(refuse(error, why))),
    };
    let mut message = match dataset.get() {
        Some(dataset) => to_message(dataset)?,
        None => Vec::new(),
    };
    collective::bcast(comm, 0, &mut message)?;
    let dataset: Dataset = from_message(&message)?;

    let mut own = None;
    let part = fetch_share_of_rank(access, wanted, cache, &mut own)?.result();
    let me = comm.rank() as i64;
    let terms = totals(part.as_ref().ok(), me);
    let Agreement { verdict, terms } = agree_on(access, part, terms)?;
    let [
        why,
        unverified,
        count,
        size,
        linked,
        extracted,
        mended,
        mends,
    ] = terms;
    let part = verdict
        .and_then(|part| check_totals(&dir, &dataset, count.count(), size.count()).map(|()| part));
    match part {
        Ok(FetchedPart {
            files,
            link,
            mended: mine,
            ..
        }) => Ok(Ok(Fetched {
            dataset,
            files,
            unverified: unverified.count(),
            link: link.filter(|_| linked.get() == me),
            extracted: extracted.count(),
            mended: mended.count(),
            first_mended: mine.into_iter().next().filter(|_| mends.get() == me),
        })),
        Err(error) => {
            if let (Some(target), Some(own)) = (cache, &own) {
                // If this fails, the files have no record, so they are not mistaken for a dataset.
                let _ = target.clear(files, own);
            }
            let why = match &error {
                Error::Corrupt { .. } => why.map(|_| RefusalReason::Bad as i64),
                _ => why,
            };
            Ok(Err(refuse(error, why)))
        }
    }
}

/// Fetches the files of this rank, whose entry is then in `own`. If another number of ranks wrote the
/// dataset, verifies this rank's share of the files. Ranks take turns. Collective.
fn fetch_share_of_rank(
    access: &PrefixAccess,
    wanted: &FetchRequest,
    cache: Option<&FetchTarget>,
    own: &mut Option<RankEntry>,
) -> Result<Local<FetchedPart>> {
    let &PrefixAccess { comm, files, .. } = access;
    let dir = access.prefix.dataset(wanted.id);
    if wanted.ranks == comm.size() as u64 {
        let entry = rank2file::read(comm, files, &dir)?.result();
        let fetch = || fetch_files(access, wanted, own.insert(entry?), cache);
        return in_turns(comm, access.node, access.width, fetch);
    }
    let share = fetch_share::entries(comm, files, &dir, wanted.ranks)?.result();
    let check = || verify(access, wanted, &share?);
    in_turns(comm, access.node, access.width, check)
}

/// The sums and the terms for comparison that all ranks make of their parts. The first term is the
/// one of [`agree_on`].
fn totals(part: Option<&FetchedPart>, rank: i64) -> [Term; 8] {
    let files = part.map_or(&[][..], |part| &part.files.files);
    let sizes = files.iter().map(|file| file.size);
    let linked = part.is_some_and(|part| part.link.is_some());
    let mended = part.map_or(0, |part| part.mended.len() as i64);
    let if_one = |one| Term::Min(if one { rank } else { i64::MAX });
    [
        REASON,
        Term::Sum(part.map_or(0, |part| part.unverified as i64)),
        Term::Sum(files.len() as i64),
        Term::Sum(sizes.fold(0, u64::wrapping_add) as i64),
        if_one(linked),
        Term::Sum(part.map_or(0, |part| part.extracted)),
        Term::Sum(mended),
        if_one(mended > 0),
    ]
}

/// Compares number and size of the files of all ranks with the summary. Nothing else is recorded of
/// files that SCR v3.1.0 wrote. The same on all ranks.
fn check_totals(dir: &Path, dataset: &Dataset, count: u64, size: u64) -> Result<()> {
    let recorded = (dataset.files.unwrap_or(count), dataset.size.unwrap_or(size));
    if recorded == (count, size) {
        return Ok(());
    }
    Err(Error::corrupt(
        dir.join("summary.scr"),
        format!(
            "records {} files with {} bytes, but there are {count} with {size} ({WRONG_TOTALS})",
            recorded.0, recorded.1
        ),
    ))
}

/// Stands for the term with the [`RefusalReason`] of a rank.
const REASON: Term = Term::Max(0);

/// Agrees on a result. The first term becomes the most serious [`RefusalReason`] of all ranks.
fn agree_on<T, const N: usize>(
    access: &PrefixAccess,
    local: Result<T>,
    mut terms: [Term; N],
) -> Result<Agreement<T, N>> {
    let error = local.as_ref().err();
    let why = error.map_or(RefusalReason::Trouble, |e| {
        RefusalReason::of(e, access.prefix.root())
    });
    terms[0] = Term::Max(why as i64);
    collective::agree_with(access.comm, access.node, local, terms)
}

fn refuse(error: Error, why: Agreed<i64>) -> Refused {
    Refused {
        error,
        why: RefusalReason::from_term(why),
    }
}

/// Reads the summary on rank 0. Fails unless it describes a complete checkpoint of as many ranks as
/// `wanted` says.
fn read_summary(access: &PrefixAccess, dir: &Path, wanted: &FetchRequest) -> Result<Dataset> {
    let id = wanted.id;
    let path = dir.join("summary.scr");
    let summary: Summary = format::read(access.files, &path)?;
    let dataset = summary.dataset;
    let corrupt = |what: String| Err(Error::corrupt(&path, what));
    if !summary.complete {
        return corrupt("says that the dataset is not complete".to_string());
    }
    if !dataset.is_checkpoint() {
        return corrupt("describes a dataset that is no checkpoint".to_string());
    }
    if dataset.id != id || dataset.name != *wanted.name {
        return corrupt(format!(
            "describes dataset {} ({})",
            dataset.id, dataset.name
        ));
    }
    let ranks = rank2file::ranks(access.files, dir)?;
    if ranks != wanted.ranks {
        let what = format!(
            "was written by {ranks} ranks, this run has {}; run with {ranks} ranks to use it ({OTHER_NUMBER_OF_RANKS})",
            access.comm.size()
        );
        return Err(Error::dataset(id, dataset.name.to_string(), what));
    }
    Ok(dataset)
}

/// Compares this rank's share of the files of all ranks with their records, where they are.
fn verify(
    access: &PrefixAccess,
    wanted: &FetchRequest,
    share: &[RankEntry],
) -> Result<FetchedPart> {
    let mut all = FetchedPart::default();
    for entry in share {
        let part = fetch_files(access, wanted, entry, None)?;
        all.files.files.extend(part.files.files);
        all.unverified += part.unverified;
        all.extracted += part.extracted;
        all.mended.extend(part.mended);
        all.link = all.link.or(part.link);
    }
    Ok(all)
}
