//! The files of a dataset that another number of ranks wrote, divided among the ranks that verify it.

use super::rank2file;
use crate::comm::{Communicator, Local, Term, collective};
use crate::format::rank2file::{BASE, RankEntry};
use crate::format::{from_message, to_message};
use crate::store::Files;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// This rank's share of the files in the rank2file in `dir`, which `ranks` ranks wrote: parts of the
/// entries of old ranks. One old rank may have written everything, so files are divided, not old ranks.
/// Collective.
pub(super) fn entries(
    comm: &dyn Communicator,
    files: &dyn Files,
    dir: &Path,
    ranks: u64,
) -> Result<Local<Vec<RankEntry>>> {
    let size = comm.size();
    let (mut outgoing, mut listed, mut next) = (Vec::new(), 0, comm.rank());
    let read = rank2file::for_each_shared(comm, files, dir, |rank, entry| {
        let count = entry.files.len() as u64;
        if let Some(expected) = entry.count.filter(|expected| *expected != count) {
            let what = format!("lists {count} files of rank {rank}, {expected} expected");
            return Err(Error::format(0, what));
        }
        if rank >= ranks {
            let what = format!("lists files of rank {rank} among {ranks}");
            return Err(Error::format(0, what));
        }
        listed += 1;
        let mut parts: BTreeMap<usize, RankEntry> = BTreeMap::new();
        for (name, file) in entry.files {
            let part = parts.entry(next).or_default();
            part.files.insert(name, file);
            next = (next + 1) % size;
        }
        for (to, part) in parts {
            outgoing.push((to, to_message(&part)?));
        }
        Ok(())
    })?
    .result();
    let incoming = collective::exchange(comm, outgoing)?;
    let terms = [Term::Sum(listed), Term::Max(read.is_err().into())];
    let [listed, unread] = collective::combine(comm, terms)?;
    let listed = listed.count();
    let complete = if !unread.on_any() && listed != ranks {
        Err(Error::corrupt(
            dir.join(BASE),
            format!("lists files of {listed} ranks, {ranks} expected"),
        ))
    } else {
        Ok(())
    };
    let messages = incoming.iter().map(|(_, message)| from_message(message));
    let entries = read.and(complete).and_then(|()| messages.collect());
    Ok(entries.into())
}
