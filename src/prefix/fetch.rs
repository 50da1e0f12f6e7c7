//! Fetches a dataset from the prefix directory, and checks all that it reads.

use super::access::PrefixAccess;
use super::containers::{self, Reader, Restored};
use super::paths::seen_by_program;
use super::{fetch_share, rank2file};
use crate::comm::{Agreed, Agreement, Term, collective};
use crate::format::rank2file::{BASE, FileEntry, RankEntry};
use crate::format::summary::Summary;
use crate::format::{self, Dataset, FileMeta, Name, RankFiles, from_message, to_message};
use crate::messages::{OTHER_NUMBER_OF_RANKS, WRONG_TOTALS};
use crate::store::{FileKind, Files};
use crate::transfer::copy::{Content, Copier, CopyMode};
use crate::transfer::turns::in_turns;
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where fetched files are written: a rank's own directory in the cache, or one of all ranks.
#[derive(Debug, Clone)]
pub struct FetchTarget<'a> {
    /// The store's base directory.
    pub base: &'a Path,
    /// The rank's directory relative to it. The fetch makes it, and removes what was there.
    pub below: PathBuf,
    /// Other ranks have their files in it, too: only files of this rank are removed.
    pub common: bool,
}

impl FetchTarget<'_> {
    fn dir(&self) -> PathBuf {
        self.base.join(&self.below)
    }

    /// Where the file `name` goes. Its directory is made, if it is not one of those that were `made`.
    fn place(
        &self,
        files: &dyn Files,
        name: &Name,
        made: &mut BTreeSet<PathBuf>,
    ) -> Result<PathBuf> {
        let path = name.below(&self.dir())?;
        let parent = name.as_path().parent().unwrap_or(Path::new(""));
        if !made.contains(parent) {
            files.make_private_dirs(self.base, &self.below.join(parent))?;
            made.insert(parent.to_path_buf());
        }
        Ok(path)
    }

    /// Removes what is there of this rank, whose files are those of `entry`. Local.
    fn clear(&self, files: &dyn Files, entry: &RankEntry) -> Result<()> {
        if !self.common {
            return files.remove_tree(&self.dir());
        }
        let mut names = entry.files.keys();
        names.try_for_each(|name| files.remove_tree(&name.below(&self.dir())?))
    }
}

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

/// Which dataset to fetch.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its id.
    pub id: u64,
    /// Its name in the index.
    pub name: &'a Name,
    /// Compare contents with recorded checksums. If false, only sizes are compared.
    pub checksums: bool,
    /// The program will read the files where they are: follow symbolic links, as it does itself, and
    /// extract files from containers.
    pub in_place: bool,
    /// The number of ranks that wrote it. If it is not that of this run, the dataset can only be
    /// verified where it is.
    pub ranks: u64,
}

/// Why a dataset cannot be fetched, from the least to the most serious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalReason {
    /// An error of the system. It says nothing of the dataset.
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

    /// From the combined term of all ranks.
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

/// Why a dataset cannot be fetched. The same on all ranks.
#[derive(Debug)]
pub struct Refused {
    /// The collective verdict.
    pub error: Error,
    /// What the error says of the dataset.
    pub why: RefusalReason,
}

/// Fetches a dataset into `cache`, or with `None` (bypass) verifies it where it is. Collective. The
/// outer error is the transport's; all ranks agree on the inner one.
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
    let part = if wanted.ranks == comm.size() as u64 {
        let entry = rank2file::read(comm, files, &dir)?.result();
        in_turns(comm, access.node, access.width, || {
            fetch_files(access, wanted, own.insert(entry?), cache)
        })?
    } else {
        let share = fetch_share::entries(comm, files, &dir, wanted.ranks)?.result();
        in_turns(comm, access.node, access.width, || {
            verify(access, wanted, &share?)
        })?
    }
    .result();
    let (count, size, unverified) = part.as_ref().map_or((0, 0, 0), |part| {
        let files = &part.files.files;
        let size = files
            .iter()
            .fold(0u64, |sum, file| sum.wrapping_add(file.size));
        (files.len() as i64, size as i64, part.unverified as i64)
    });
    let me = comm.rank() as i64;
    let linked = part.as_ref().is_ok_and(|part| part.link.is_some());
    let extracted = part.as_ref().map_or(0, |part| part.extracted);
    let terms = [
        REASON,
        Term::Sum(unverified),
        Term::Sum(count),
        Term::Sum(size),
        Term::Min(if linked { me } else { i64::MAX }),
        Term::Sum(extracted),
    ];
    let Agreement { verdict, terms } = agree_on(access, part, terms)?;
    let [why, unverified, count, size, linked, extracted] = terms;
    let part = verdict
        .and_then(|part| check_totals(&dir, &dataset, count.count(), size.count()).map(|()| part));
    match part {
        Ok(FetchedPart { files, link, .. }) => Ok(Ok(Fetched {
            dataset,
            files,
            unverified: unverified.count(),
            link: link.filter(|_| linked.get() == me),
            extracted: extracted.count(),
        })),
        Err(error) => {
            if let (Some(target), Some(own)) = (cache, &own) {
                // If this fails, the files have no record, so nobody takes them for a dataset.
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
fn read_summary(access: &PrefixAccess, dir: &Path, wanted: &Wanted) -> Result<Dataset> {
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

/// One rank's part of a dataset.
#[derive(Default)]
struct FetchedPart {
    files: RankFiles,
    /// Number of files without a checksum.
    unverified: usize,
    /// A symbolic link on the path to a file.
    link: Option<PathBuf>,
    /// Number of files that were extracted to the prefix directory.
    extracted: i64,
}

/// Finds this rank's files, compares them with their records, and copies them into the cache, if any.
fn fetch_files(
    access: &PrefixAccess,
    wanted: &Wanted,
    entry: &RankEntry,
    cache: Option<&FetchTarget>,
) -> Result<FetchedPart> {
    let &PrefixAccess {
        comm,
        files,
        prefix,
        ..
    } = access;
    let rank = comm.rank();
    let after_piece = |bytes| {
        access.watch.moved(bytes);
        Ok(())
    };
    // The prefix directory only: a later run renames caches so that this process finds nothing there.
    let held = files.holding(&[prefix.root()]);
    let files = &*held;
    let mut copier = Copier::new(files, access.buffer).watched(&after_piece);
    if cache.is_some() || wanted.checksums {
        let sizes = entry.files.values().filter_map(|file| file.size);
        sizes.for_each(|size| access.watch.expect(size));
    }
    let mode = CopyMode {
        crc: wanted.checksums,
        // As the program's own files in the cache, which nobody syncs: after a power loss, sizes and
        // checksums show what is missing.
        sync: false,
    };
    if let Some(target) = cache {
        target.clear(files, entry)?;
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
    let mut reader = Reader::new(files, &prefix.dataset(wanted.id));
    reader.check_all(entry)?;
    let contained = entry.files.values().any(|file| file.segments.is_some());
    let mut buffer = vec![0; if contained { access.buffer.max(1) } else { 0 }];
    let (mut extracted, mut made) = (0, BTreeSet::new());
    for (name, recorded) in &entry.files {
        if recorded.segments.is_some() {
            let mut recorded = recorded.clone();
            recorded.attributes = recorded.attributes.filter(|_| access.metadata);
            let file = (name, &recorded);
            let (meta, written) = from_containers(
                access,
                wanted,
                &mut reader,
                file,
                (cache, &mut made),
                &mut buffer,
            )?;
            list.push(meta);
            extracted += i64::from(written);
            continue;
        }
        let mut from = prefix.absolute(name).map_err(|e| e.in_file(&top))?;
        let stat = match files.stat(&from) {
            Err(error) if error.is_link() && wanted.in_place => {
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
                let to = target.place(files, name, &mut made)?;
                let stat = access.metadata.then_some(&stat);
                let found = copier.copy_with(&from, &to, Some(&expected), mode, stat)?;
                meta.crc = found.crc;
            }
            None => {
                Content {
                    size: stat.size,
                    crc: None,
                }
                .check(&expected, &from)?;
                if expected.crc.is_some() {
                    copier.checksum(&from)?.check(&expected, &from)?;
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
    Ok(FetchedPart {
        files,
        unverified,
        link,
        extracted,
    })
}

/// Fetches or verifies one file in containers. The program cannot read it there, so in bypass it gets a plain
/// file at its path; true if that was written.
fn from_containers(
    access: &PrefixAccess,
    wanted: &Wanted,
    reader: &mut Reader,
    (name, recorded): (&Name, &FileEntry),
    (cache, made): (Option<&FetchTarget>, &mut BTreeSet<PathBuf>),
    buffer: &mut [u8],
) -> Result<(FileMeta, bool)> {
    let &PrefixAccess { files, prefix, .. } = access;
    let top = prefix.dataset(wanted.id).join(BASE);
    let in_place = prefix.absolute(name).map_err(|e| e.in_file(&top))?;
    let (mut crc, mut written) = (recorded.crc.filter(|_| wanted.checksums), false);
    let path = match cache {
        Some(target) => {
            let to = target.place(files, name, made)?;
            crc = reader
                .extract(name, recorded, &to, wanted.checksums, buffer)?
                .crc;
            Some(to)
        }
        None if wanted.in_place => {
            let restored = reader.restore(name, recorded, &in_place, false, buffer);
            let restored = restored.map_err(|e| of_extraction(e, &prefix.dataset(wanted.id)))?;
            written = restored == Restored::Written;
            Some(in_place)
        }
        None => {
            reader.verify(name, recorded, wanted.checksums, buffer)?;
            None
        }
    };
    let stat = match path {
        Some(path) => files
            .stat(&path)?
            .ok_or_else(|| Error::corrupt(path, "was removed meanwhile"))?,
        None => containers::stat_of(recorded),
    };
    let mut meta = FileMeta::new(name.clone(), name.clone(), &stat);
    meta.crc = crc;
    Ok((meta, written))
}

/// An error of the path where a file from the containers in `dir` should go says nothing of the dataset.
fn of_extraction(mut error: Error, dir: &Path) -> Error {
    let lasting = !error.is_transient() && !error.is_link();
    if let Error::Io { path, errno, .. } = &mut error
        && lasting
        && !path.starts_with(dir)
    {
        *errno = None;
    }
    error
}

/// Compares this rank's share of the files of all ranks with their records, where they are.
fn verify(access: &PrefixAccess, wanted: &Wanted, share: &[RankEntry]) -> Result<FetchedPart> {
    let mut all = FetchedPart::default();
    for entry in share {
        let part = fetch_files(access, wanted, entry, None)?;
        all.files.files.extend(part.files.files);
        all.unverified += part.unverified;
        all.extracted += part.extracted;
        all.link = all.link.or(part.link);
    }
    Ok(all)
}

fn expected(recorded: &FileEntry, size: u64, checksums: bool) -> Content {
    Content {
        size: recorded.size.unwrap_or(size),
        crc: recorded.crc.filter(|_| checksums),
    }
}
