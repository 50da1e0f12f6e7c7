//! Records of members that lost them. A right neighbour's redundancy file has them in its header.

use super::verdict::{RECORD, Verdict};
use crate::comm::Local;
use crate::format::parity::ParityHeader;
use crate::format::{from_message, to_message};
use crate::redundancy::logical::total_size;
use crate::redundancy::{Context, FirstError, RankRecord};
use crate::{Error, Result};

/// Sends this rank's header to the members that need it for their record.
pub(super) fn send_header(
    context: &Context,
    verdict: &Verdict,
    header: Option<&ParityHeader>,
    error: &mut FirstError,
) -> Result<()> {
    let asks = verdict.record_sources.iter().enumerate();
    let asking: Vec<usize> = asks
        .filter(|(_, record_source)| **record_source == Some(context.set.index))
        .map(|(member, _)| context.member(member))
        .collect();
    if asking.is_empty() {
        return Ok(());
    }
    let message = header.map(to_message);
    let message = message.and_then(|m| error.keep(m)).unwrap_or_default();
    let to = asking.into_iter().map(|rank| (rank, message.clone()));
    context.send_and_receive(to, std::iter::empty()).map(drop)
}

/// Receives the header that [`send_header`] sends.
pub(super) fn receive_header(context: &Context, verdict: &Verdict) -> Result<Local<ParityHeader>> {
    let record_source = verdict
        .record_sources
        .get(context.set.index)
        .copied()
        .flatten();
    let from = record_source.map(|index| context.member(index));
    let heard = context.send_and_receive(std::iter::empty(), from.into_iter())?;
    let message = heard.first().map_or(&[][..], |m| m);
    Ok(from_message(message).into())
}

/// The record of this rank, which lost it, from a right neighbour's header. The header is checked.
pub(super) fn record_from_header(
    context: &Context,
    verdict: &Verdict,
    theirs: ParityHeader,
    chunk: u64,
) -> Result<RankRecord> {
    let (set, rank) = (context.set, context.comm.rank());
    let (id, created) = (theirs.dataset.id, theirs.dataset.created);
    let mut peers = verdict.all.iter().filter(|s| !s.lacks(RECORD));
    let mut fits = peers.all(|s| (s.id, s.created) == (id, created));
    fits &= theirs.group.0[..] == set.members[..] && theirs.chunk == chunk;
    let files = theirs.partners().find(|list| list.rank == rank).cloned();
    let size = files
        .as_ref()
        .map(|list| total_size(list.files.iter().map(|f| f.size)));
    fits &= size.transpose()?.as_ref() == verdict.sizes.get(set.index);
    let (Some(files), true) = (files, fits) else {
        let what = format!("the right neighbour's record does not fit rank {rank} of this set");
        return Err(Error::dataset(id, theirs.dataset.name.to_string(), what));
    };
    let reddesc = theirs.reddesc.of_member(set.index);
    let reddesc = reddesc.filter(|r| r.members[..] == set.members[..]);
    Ok(RankRecord {
        dataset: theirs.dataset,
        reddesc: reddesc.ok_or_else(|| Error::format(0, "the descriptor is of another set"))?,
        files,
    })
}
