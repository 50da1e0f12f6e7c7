//! Files of a rank without a record. Perhaps only the record is lost, or cannot be read at the
//! moment. So nothing is removed before the files were examined and the other members verified.

use super::Parity;
use super::lost_records::{receive_header, record_from_header, send_header};
use super::verdict::{RECORD, Verdict};
use crate::Result;
use crate::format::filemap::filemap_name;
use crate::redundancy::code::Code;
use crate::redundancy::{
    Context, FirstError, LocalPart, RankRecord, RedundancyScheme, Verification, find_obstacle,
};
use std::path::Path;

/// True if there are files. Also true if they cannot be read: they may be whole at the next
/// attempt.
pub(super) fn has_files(context: &Context, parity: &Path) -> bool {
    let data = context.files.list(context.data_dir);
    let data = data.map_or_else(|error| !error.is_not_found(), |names| !names.is_empty());
    data || !matches!(context.files.stat(parity), Ok(None))
}

/// Ranks without a record receive it from a right neighbour. A record that does not fit is ignored.
/// One round of messages. Errors are failures of communication.
pub(super) fn exchange_records(
    context: &Context,
    code: &Code,
    verdict: &Verdict,
    parity: Option<&Parity>,
) -> Result<Option<RankRecord>> {
    let me = verdict.all.get(context.set.index);
    if me.is_some_and(|state| state.lacks(RECORD)) {
        let theirs = receive_header(context, verdict)?.result();
        let chunk = code.chunk(&verdict.sizes);
        let record = theirs.and_then(|theirs| record_from_header(context, verdict, theirs, chunk));
        return Ok(record.ok());
    }
    let header = parity.map(Parity::header);
    send_header(context, verdict, header, &mut FirstError::default())?;
    Ok(None)
}

/// The files of this rank, if they are all that the record lists and their content is right.
pub(super) fn verify_files(
    context: &Context,
    scheme: &RedundancyScheme,
    record: RankRecord,
) -> Option<LocalPart> {
    let targets = context.targets(&record.files).ok()?;
    let is_plain = |path: &Path| find_obstacle(context.files, context.data_dir, path);
    if !targets
        .iter()
        .all(|t| matches!(is_plain(&t.path), Ok(None)))
    {
        return None;
    }
    let found = LocalPart::new(scheme, context, record, Verification::Full);
    found.health.data.as_ref().ok()?;
    // An earlier rebuild may have been killed after the last byte of a file and before its mode was
    // set.
    let mut each = targets.iter();
    let restored = each.try_for_each(|t| context.files.restore(&t.path, &t.stat).map(drop));
    restored.ok().map(|()| found)
}

/// Removes the files of this rank; `record` lists its files after the rebuild. Its old record goes first,
/// so that it never describes missing files.
pub(super) fn remove_files(context: &Context, record: &RankRecord) -> Result<()> {
    let (files, data) = (context.files, context.data_dir);
    let old = filemap_name(context.comm.rank());
    files.remove_tree(&context.meta_dir.join(old))?;
    if context.common {
        let targets = context.targets(&record.files)?;
        let mut paths = targets.iter().map(|target| &target.path);
        return paths.try_for_each(|path| files.remove_tree(path));
    }
    let mut names = files.list(data)?.into_iter();
    names.try_for_each(|name| files.remove_tree(&data.join(name)))
}
