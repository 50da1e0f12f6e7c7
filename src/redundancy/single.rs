//! SINGLE: no redundancy. Files survive a killed job, but not a lost node. Nothing reads them when they
//! are completed, so their checksums are taken later, in the background.

use super::logical::{LogicalReader, check_file};
use super::{Context, LocalPart, RankRecord, RebuildOutcome, RedundancyScheme, Verification};
use crate::{Error, Result};

/// Verifies this rank's files: a set of one has nothing to rebuild them from.
pub(super) fn rebuild(
    scheme: &RedundancyScheme,
    context: &Context,
    mine: &mut Option<LocalPart>,
) -> Result<(RankRecord, RebuildOutcome)> {
    let what = |why: &str| format!("{why}, and SINGLE keeps no redundancy");
    let Some(mine) = mine else {
        let what = what("the record of this rank is lost");
        return Err(Error::dataset(0, "", what));
    };
    if !mine.verified && mine.health.data.is_ok() {
        *mine = LocalPart::new(scheme, context, mine.record.clone(), Verification::Full);
    }
    match &mine.health.data {
        Ok(()) => Ok((mine.record.clone(), RebuildOutcome::Intact)),
        Err(why) => {
            let dataset = &mine.record.dataset;
            let what = what(&why.to_string());
            Err(Error::dataset(dataset.id, dataset.name.to_string(), what))
        }
    }
}

/// Compares the sizes of all files of a rank, and their checksums if they have any.
pub(super) fn check_data(
    context: &Context,
    record: &RankRecord,
    verification: Verification,
) -> Result<()> {
    let paths = context.paths(&record.files)?;
    let sums = || record.files.files.iter().map(|f| f.crc);
    if let Verification::Full = verification
        && sums().any(|crc| crc.is_some())
    {
        return LogicalReader::new(context.files, paths, true)?.verify(sums());
    }
    let mut paths = paths.iter();
    paths.try_for_each(|(path, size)| check_file(context.files, path, *size))
}
