//! The schemes SINGLE, PARTNER, XOR and RS, which differ in their code only.

use super::code::{Code, CodeKind};
use super::parity_file::{self, ParityReader};
use super::single::{self, check_data, written};
use super::{
    Context, HeldPart, LocalPart, PartHealth, RebuildOutcome, Record, Set, Verification, encode,
    rebuild,
};
use crate::format::filemap::Reddesc;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// A way to protect datasets. It tolerates fewer failures in sets that are too small; a set of one
/// is treated as with SINGLE.
pub struct RedundancyScheme {
    /// The code; `None` for SINGLE.
    pub(super) kind: Option<CodeKind>,
    /// Failures to tolerate, at least 1; not used for SINGLE.
    pub(super) failures: usize,
}

/// The scheme of this name, in upper or lower case, which tolerates so many failures.
pub fn by_name(name: &str, failures: usize) -> Option<RedundancyScheme> {
    let kinds = [CodeKind::Partner, CodeKind::Xor, CodeKind::Rs];
    let failures = failures.max(1);
    std::iter::once(None)
        .chain(kinds.map(Some))
        .map(|kind| RedundancyScheme { kind, failures })
        .find(|scheme| scheme.name().eq_ignore_ascii_case(name))
}

/// The scheme of a descriptor; `None` if its name is unknown.
pub fn scheme_of(reddesc: &Reddesc) -> Option<RedundancyScheme> {
    by_name(&reddesc.scheme, reddesc.set_failures)
}

impl RedundancyScheme {
    /// The name in configuration and records, such as `XOR`.
    pub fn name(&self) -> &'static str {
        match self.kind {
            None => "SINGLE",
            Some(CodeKind::Partner) => "PARTNER",
            Some(CodeKind::Xor) => "XOR",
            Some(CodeKind::Rs) => "RS",
        }
    }

    /// The code for a set of `members`; `None` for SINGLE and sets of one.
    pub(super) fn code(&self, members: usize) -> Result<Option<Code>> {
        let Some(kind) = self.kind.filter(|_| members > 1) else {
            return Ok(None);
        };
        let what = || format!("{} cannot protect a set of {members} ranks", self.name());
        let code = Code::new(kind, members, self.failures);
        code.map(Some).ok_or_else(|| Error::format(0, what()))
    }

    fn path(&self, context: &Context) -> PathBuf {
        parity_file::path(context.meta_dir, context.set, self.name())
    }

    /// How many members of a set of this size may be lost, whichever they are.
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

    /// The redundancy file of a rank in this set; `None` if the scheme makes none.
    pub fn redundancy_file(&self, meta_dir: &Path, set: &Set) -> Option<PathBuf> {
        let has_one = self.kind.is_some() && set.size() > 1;
        has_one.then(|| parity_file::path(meta_dir, set, self.name()))
    }

    /// Writes the redundancy file. If the application files are read for that, their checksums are
    /// entered in `record`. Checksums that are there already must agree.
    ///
    /// Collective over the members of the set. A rank that fails takes part in all messages to the
    /// end. Then every member returns an error that names the cause, and no redundancy file is
    /// valid. Only an error in the last write is seen by one rank alone, so the caller must agree
    /// on the result over all ranks. A failure of communication returns at once.
    pub fn encode(&self, context: &Context, record: &mut Record) -> Result<()> {
        context.members()?;
        match self.code(context.set.size())? {
            Some(code) => encode::encode(context, &code, self.path(context), record),
            // There is nothing to make, and nobody waits for checksums.
            None => Ok(()),
        }
    }

    /// Compares the files with `record`, which comes from [`RedundancyScheme::encode`] or
    /// [`RedundancyScheme::rebuild`]. Reads each byte at most once. Local.
    pub fn check(
        &self,
        context: &Context,
        record: &Record,
        verification: Verification,
    ) -> PartHealth {
        let check_parity = |code: Code| {
            let path = self.path(context);
            let mut parity = ParityReader::open(context, path.clone(), record, code.parities())?;
            match verification {
                Verification::Full => parity.verify(),
                Verification::SizesOnly => Ok(()),
                Verification::Checksums(sums) => parity.verify_whole_file(written(sums, &path)?),
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
    /// `mine` is this rank's part; `None` if it has no record. Content that is not verified yet is
    /// compared with its checksums, in the pass that rebuilds a lost rank if there is one. Damaged
    /// content is noted in `mine` and counts as lost, and the rebuild starts again without it.
    ///
    /// Files of a rank without a record are compared with what a neighbour's redundancy file says
    /// of them. If all are right, the rank keeps them. If not, they are removed just before they
    /// are rebuilt.
    ///
    /// If the set lost more than the scheme tolerates, every member gets [`Error::Dataset`], and no
    /// file is changed. Other errors are as in [`RedundancyScheme::encode`]. Rebuilt files are
    /// compared with their recorded checksums.
    ///
    /// A part that another member holds ([`Context::holders`], and `held_part` on the holder) is
    /// moved in the same pass, and `mine` describes it afterwards. The holder keeps its copy.
    ///
    /// Collective over the members of the set.
    pub fn rebuild(
        &self,
        context: &Context,
        mine: &mut Option<LocalPart>,
        held_part: Option<&mut HeldPart>,
    ) -> Result<(Record, RebuildOutcome)> {
        context.members()?;
        match self.code(context.set.size())? {
            Some(code) => rebuild::rebuild(context, self, &code, mine, held_part),
            None => single::rebuild(self, context, mine),
        }
    }
}
