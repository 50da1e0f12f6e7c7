//! What is left of a rank without a record: only the record may be lost, or not be readable for
//! now. So nothing of it is removed before it was looked at and the others were verified.

use super::lost_records::{receive_header, record_from_header, send_header};
use super::verdict::{RECORD, Verdict};
use super::{Parity, targets};
use crate::Result;
use crate::format::filemap::filemap_name;
use crate::redundancy::code::Code;
use crate::redundancy::{
    Context, FirstError, LocalPart, Record, RedundancyScheme, Verification, find_obstacle,
};
use std::path::Path;

/// Whether there is anything. What cannot be looked at counts: it may be whole the next time.
pub(super) fn has_files(context: &Context, parity: &Path) -> bool {
    let data = context.files.list(context.data_dir);
    let data = data.map_or_else(|error| !error.is_not_found(), |names| !names.is_empty());
    data || !matches!(context.files.stat(parity), Ok(None))
}

/// Those without a record hear from a right neighbour what it was; what does not fit is as good
/// as nothing. One round. The error is the transport's.
pub(super) fn exchange_records(
    context: &Context,
    code: &Code,
    verdict: &Verdict,
    parity: Option<&Parity>,
) -> Result<Option<Record>> {
    let me = verdict.all.get(context.set.index);
    if me.is_some_and(|state| state.lacks(RECORD)) {
        let theirs = receive_header(context, verdict)?;
        let chunk = code.chunk(&verdict.sizes);
        let record = theirs.and_then(|theirs| record_from_header(context, verdict, theirs, chunk));
        return Ok(record.ok());
    }
    let header = parity.map(Parity::header);
    send_header(context, verdict, header, &mut FirstError::default())?;
    Ok(None)
}

/// What is here, if it is all that the record says.
pub(super) fn verify_files(
    context: &Context,
    scheme: &dyn RedundancyScheme,
    record: Record,
) -> Option<LocalPart> {
    let targets = targets(context, &record).ok()?;
    let is_plain = |path: &Path| find_obstacle(context.files, context.data_dir, path);
    if !targets
        .iter()
        .all(|t| matches!(is_plain(&t.path), Ok(None)))
    {
        return None;
    }
    let found = LocalPart::new(scheme, context, record, Verification::Full);
    found.health.data.as_ref().ok()?;
    // A kill while they were rebuilt may have come between the last byte of one and its mode.
    let mut each = targets.iter();
    let restored = each.try_for_each(|t| context.files.restore(&t.path, &t.stat));
    restored.ok().map(|()| found)
}

/// Makes way for new files. The record goes first, so that it never describes what is gone.
pub(super) fn remove_files(context: &Context) -> Result<()> {
    let (files, data) = (context.files, context.data_dir);
    let record = filemap_name(context.comm.rank());
    files.remove_tree(&context.meta_dir.join(record))?;
    let mut names = files.list(data)?.into_iter();
    names.try_for_each(|name| files.remove_tree(&data.join(name)))
}
