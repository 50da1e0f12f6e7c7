//! The schemes PARTNER, XOR and RS, which differ in their code only.

use super::code::{Code, CodeKind};
use super::parity_file::{self, ParityReader};
use super::single::{Single, check_data, written};
use super::{
    Context, HeldPart, LocalPart, PartHealth, RebuildOutcome, Record, RedundancyScheme, Set,
    Verification, encode, rebuild,
};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// A scheme with a code. It tolerates fewer failures in sets that are too small. A set of one is
/// treated as with SINGLE.
pub struct Erasure {
    /// The code.
    pub kind: CodeKind,
    /// Failures to tolerate, at least 1.
    pub failures: usize,
}

impl Erasure {
    fn code(&self, set: &Set) -> Result<Option<Code>> {
        code(self.kind, set.size(), self.failures)
    }

    fn path(&self, context: &Context) -> PathBuf {
        parity_file::path(context.meta_dir, context.set, self.name())
    }
}

/// The code for a set of `members`; `None` for a set of one.
pub(super) fn code(kind: CodeKind, members: usize, failures: usize) -> Result<Option<Code>> {
    if members < 2 {
        return Ok(None);
    }
    let what = || format!("{} cannot protect a set of {members} ranks", name(kind));
    let code = Code::new(kind, members, failures);
    code.map(Some).ok_or_else(|| Error::format(0, what()))
}

fn name(kind: CodeKind) -> &'static str {
    match kind {
        CodeKind::Partner => "PARTNER",
        CodeKind::Xor => "XOR",
        CodeKind::Rs => "RS",
    }
}

impl RedundancyScheme for Erasure {
    fn name(&self) -> &'static str {
        name(self.kind)
    }

    fn losses(&self, members: usize) -> usize {
        Code::new(self.kind, members, self.failures).map_or(0, |code| code.parities())
    }

    fn recoverable(&self, lost: &[bool]) -> bool {
        match Code::new(self.kind, lost.len(), self.failures) {
            Some(code) => code.recoverable(lost, lost),
            None => !lost.contains(&true),
        }
    }

    fn redundancy_file(&self, meta_dir: &Path, set: &Set) -> Option<PathBuf> {
        (set.size() > 1).then(|| parity_file::path(meta_dir, set, self.name()))
    }

    fn encode(&self, context: &Context, record: &mut Record) -> Result<()> {
        context.members()?;
        match self.code(context.set)? {
            Some(code) => encode::encode(context, &code, self.path(context), record),
            None => Single.encode(context, record),
        }
    }

    fn check(&self, context: &Context, record: &Record, verification: Verification) -> PartHealth {
        let look = |code: Code| {
            let path = self.path(context);
            let mut parity = ParityReader::open(context, path.clone(), record, code.parities())?;
            match verification {
                Verification::Full => parity.verify(),
                Verification::SizesOnly => Ok(()),
                Verification::Checksums(sums) => parity.verify_whole_file(written(sums, &path)?),
            }
        };
        let parity = match self.code(context.set) {
            Ok(Some(code)) => look(code),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        PartHealth {
            data: check_data(context, record, verification),
            parity,
        }
    }

    fn rebuild(
        &self,
        context: &Context,
        mine: &mut Option<LocalPart>,
        held_part: Option<&mut HeldPart>,
    ) -> Result<(Record, RebuildOutcome)> {
        context.members()?;
        match self.code(context.set)? {
            Some(code) => rebuild::rebuild(context, self, &code, mine, held_part),
            None => Single.rebuild(context, mine, held_part),
        }
    }
}
