//! What the daemon checks in a part of the transfer file before it follows it: the file may be damaged or hostile.

use scr_engine::format::transfer::{PartId, TransferPart};
use scr_engine::{Error, Result};
use std::path::{Component, Path};

/// The number of the run.
pub(super) fn run_number(part: &TransferPart) -> Option<u64> {
    let digits = part.run.as_str().filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// Checks numbers and paths.
///
/// # Errors
/// A number or a path cannot be right; the error says which.
pub fn check(part: &TransferPart, at: PartId) -> Result<()> {
    let odd = |what: String| Err(Error::format(0, format!("{}: {what}", at.words())));
    if part.dataset.id != at.dataset {
        return odd(format!("its description is of dataset {}", part.dataset.id));
    }
    for (key, path) in [("PREFIX", &part.prefix), ("BASE", &part.base)] {
        if !is_plain_absolute(path.as_path()) {
            return odd(format!(
                "{key} `{path}` is not an absolute path without `..`"
            ));
        }
    }
    if run_number(part).is_none() {
        return odd(format!("RUN `{}` is not a run", part.run));
    }
    let rising = part.rank.windows(2).all(|pair| pair.first() < pair.last());
    let fits = part.rank.last().is_some_and(|last| *last < part.ranks);
    let count = part.ranks <= i32::MAX as u64 && part.parts <= part.ranks;
    if !(rising && fits && count && at.part < part.parts) {
        return odd(format!(
            "{} listed ranks, part {} of {} and {} ranks in all do not fit together",
            part.rank.len(),
            at.part,
            part.parts,
            part.ranks
        ));
    }
    Ok(())
}

/// True for an absolute path of plain names.
fn is_plain_absolute(path: &Path) -> bool {
    let plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
    path.is_absolute() && path.components().all(plain)
}
