//! The work of the schemes, which differ only in their rows of the table in `format/scheme.rs`.

use super::code::Code;
use super::encode::{Encoded, NoteFiles};
use super::parity_file::{self, ParityReader};
use super::single::{self, check_data};
use super::{
    Context, HeldPart, LocalPart, PartHealth, RankRecord, RebuildOutcome, Set, Verification,
    encode, rebuild,
};
use crate::format::dataset::Dataset;
use crate::format::filemap::Reddesc;
use crate::format::scheme::{Failures, Scheme};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// A scheme that tolerates some number of failures. It tolerates fewer in sets that are too small; a
/// set of one is treated as with SINGLE.
#[derive(Debug, Clone, Copy)]
pub struct RedundancyScheme {
    scheme: Scheme,
    /// Failures to tolerate, at least 1; not used for a scheme without redundancy.
    pub(super) failures: usize,
}

/// The scheme of a descriptor; `None` if this release does not know it.
pub fn scheme_of(reddesc: &Reddesc) -> Option<RedundancyScheme> {
    let scheme = reddesc.scheme.known()?;
    Some(RedundancyScheme::new(scheme, reddesc.set_failures))
}

/// The scheme of a descriptor of this dataset. An error if this release does not know it.
pub(super) fn known_scheme(dataset: &Dataset, reddesc: &Reddesc) -> Result<RedundancyScheme> {
    scheme_of(reddesc).ok_or_else(|| {
        let name = &reddesc.scheme;
        let what = format!("its redundancy scheme {name} is not known to this release");
        Error::dataset(dataset.id, dataset.name.to_string(), what)
    })
}

/// The scheme of a rank's descriptor, and the set of that rank. An error if this release does not know the
/// scheme, or if the descriptor is damaged.
pub fn scheme_and_set(dataset: &Dataset, reddesc: &Reddesc) -> Result<(RedundancyScheme, Set)> {
    let set = Set::new(reddesc.set_rank, reddesc.members.clone());
    let damaged = "its redundancy set is damaged";
    let damaged = || Error::dataset(dataset.id, dataset.name.to_string(), damaged);
    let set = set.ok_or_else(damaged)?;
    Ok((known_scheme(dataset, reddesc)?, set))
}

/// The redundancy file of a rank with this descriptor; `None` if its scheme makes no file.
pub fn redundancy_file(meta_dir: &Path, reddesc: &Reddesc) -> Option<PathBuf> {
    let scheme = scheme_of(reddesc)?.scheme;
    let set = Set::new(reddesc.set_rank, reddesc.members.clone())?;
    let has_one = scheme.redundancy().is_some() && set.size() > 1;
    has_one.then(|| parity_file::path(meta_dir, &set, scheme))
}

impl RedundancyScheme {
    /// The scheme that tolerates `failures` failures. A scheme with a fixed number keeps that number.
    pub fn new(scheme: Scheme, failures: usize) -> RedundancyScheme {
        let failures = match scheme.redundancy().map(|redundancy| redundancy.failures) {
            Some(Failures::Fixed(count)) => count as usize,
            Some(Failures::Asked { .. }) | None => failures.max(1),
        };
        RedundancyScheme { scheme, failures }
    }

    /// The scheme alone.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The word in configuration and records, such as `XOR`.
    pub fn word(&self) -> &'static str {
        self.scheme.word()
    }

    /// The code for a set of `members`; `None` for SINGLE and sets of one.
    pub(super) fn code(&self, members: usize) -> Result<Option<Code>> {
        let Some(redundancy) = self.scheme.redundancy().filter(|_| members > 1) else {
            return Ok(None);
        };
        let what = || format!("{} cannot protect a set of {members} ranks", self.word());
        let code = Code::new(redundancy.code, members, self.failures);
        code.map(Some).ok_or_else(|| Error::format(0, what()))
    }

    fn path(&self, context: &Context) -> PathBuf {
        parity_file::path(context.meta_dir, context.set, self.scheme)
    }

    /// Number of members of a set of this size that may be lost, whichever they are.
    pub fn losses(&self, members: usize) -> usize {
        let code = self.code(members).ok().flatten();
        code.map_or(0, |code| code.parities())
    }

    /// True if a set survives the loss of exactly these members; `lost` is in set order. Some
    /// schemes survive some losses of more members than [`RedundancyScheme::losses`].
    pub fn recoverable(&self, lost: &[bool]) -> bool {
        match self.code(lost.len()) {
            Ok(Some(code)) => code.recoverable(lost, lost),
            _ => !lost.contains(&true),
        }
    }

    /// Writes the redundancy file. If the application files are read for that, their checksums are
    /// entered in `record`. Checksums that `record` already has must agree. `note` gets the files as soon as their
    /// checksums are known, before their redundancy is complete; files of a scheme without redundancy come without.
    ///
    /// Collective over the members of the set. A rank that fails takes part in all messages to the
    /// end. Then every member returns an error that names the cause, and no redundancy file is
    /// valid. Only an error in the last write, and [`Encoded::Wrong`], are seen by one rank alone, so the caller must
    /// agree on the result over all ranks. A failure of communication returns at once.
    pub fn encode(
        &self,
        context: &Context,
        record: &mut RankRecord,
        note: NoteFiles,
    ) -> Result<Encoded> {
        context.members()?;
        match self.code(context.set.size())? {
            Some(code) => encode::encode(context, &code, self.path(context), record, note),
            // This scheme makes no file, and nobody waits for checksums.
            None => note(&record.files).map(|()| Encoded::Right),
        }
    }

    /// Compares the files with `record`, which comes from [`RedundancyScheme::encode`] or
    /// [`RedundancyScheme::rebuild`]. Reads each byte at most once. Local.
    pub fn check(
        &self,
        context: &Context,
        record: &RankRecord,
        verification: Verification,
    ) -> PartHealth {
        let check_parity = |code: Code| {
            let path = self.path(context);
            let mut parity = ParityReader::open(context, path, record, code.parities())?;
            match verification {
                Verification::Full => parity.verify(),
                Verification::SizesOnly => Ok(()),
            }
        };
        let code = self.code(context.set.size());
        PartHealth {
            data: check_data(context, record, verification),
            parity: code.and_then(|code| code.map_or(Ok(()), check_parity)),
        }
    }

    /// Rebuilds the files and redundancy files that the set lost, and returns this rank's record.
    ///
    /// `mine` is this rank's part; `None` if it has no record. Unverified content is compared with
    /// its checksums, in the pass that rebuilds a lost rank if one is lost. Damaged content is
    /// noted in `mine` and counts as lost, and the rebuild starts again without it.
    ///
    /// Files of a rank without a record are compared with their entries in a neighbour's redundancy
    /// file. If all are right, the rank keeps them. If not, they are removed just before they are
    /// rebuilt.
    ///
    /// If the set lost more than the scheme tolerates, every member gets [`Error::Dataset`], and no
    /// file is changed. Other errors are as in [`RedundancyScheme::encode`]. Rebuilt files are
    /// compared with their recorded checksums.
    ///
    /// A part that another member holds ([`Context::holders`], and `held` on the holder) is moved in the
    /// same pass, and `mine` describes it afterwards. The holder keeps its copy.
    ///
    /// Collective over the members of the set.
    pub fn rebuild(
        &self,
        context: &Context,
        mine: &mut Option<LocalPart>,
        held: &mut [HeldPart],
    ) -> Result<(RankRecord, RebuildOutcome)> {
        context.members()?;
        match self.code(context.set.size())? {
            Some(code) => rebuild::rebuild(context, self, &code, mine, held),
            None => single::rebuild(self, context, mine),
        }
    }
}
