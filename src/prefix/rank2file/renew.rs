//! Changes entries of a tree that is there.

use super::read::share_leaves;
use super::read_leaf;
use crate::comm::{Communicator, Local, Term, collective};
use crate::format::rank2file::{Leaf, RankEntry};
use crate::format::{self, Name, from_message, to_message};
use crate::store::{Durability, Files};
use crate::{Error, Result};
use std::path::Path;

/// Lets every rank change its entry in the tree in `dir`, which as many ranks wrote: `renew` tells whether it
/// did. Each leaf with a changed entry is replaced in one step; nothing is written if a rank fails before
/// that. Collective.
///
/// # Errors
/// Only errors of the transport. The inner result has the error of this rank.
pub fn renew(
    comm: &dyn Communicator,
    files: &dyn Files,
    dir: &Path,
    renew: impl FnOnce(&mut RankEntry) -> Result<bool>,
) -> Result<Local<()>> {
    let (mut done, names) = share_leaves(comm, files, dir)?;
    let mut leaves: Vec<(Name, Leaf)> = Vec::new();
    let mut outgoing = Vec::new();
    for name in names {
        let read = read_leaf(files, dir, &name).and_then(|leaf| {
            for (rank, entry) in leaf
                .entries
                .iter()
                .filter(|(r, _)| **r < comm.size() as u64)
            {
                outgoing.push((*rank as usize, to_message(entry)?));
            }
            leaves.push((name, leaf));
            Ok(())
        });
        done = done.and(read);
    }
    let incoming = collective::exchange(comm, outgoing)?;
    let renewed = done.and_then(|()| match incoming.as_slice() {
        [(reader, message)] => {
            let mut entry = from_message(message)?;
            let changed = renew(&mut entry)?;
            let message = changed.then(|| to_message(&entry)).transpose()?;
            Ok(message.map(|message| (*reader, message)))
        }
        _ => Err(Error::corrupt(dir, "has not one entry for each rank")),
    });
    let [failed] = collective::combine(comm, [Term::Max(renewed.is_err().into())])?;
    if failed.on_any() {
        return Ok(renewed.map(drop).into());
    }
    let outgoing = renewed?.into_iter().collect();
    let mut entries = collective::exchange(comm, outgoing)?;
    let mut write = |(name, leaf): &mut (Name, Leaf)| {
        let of_leaf = |(rank, _): &mut (usize, _)| leaf.entries.contains_key(&(*rank as u64));
        let changed: Vec<_> = entries.extract_if(.., of_leaf).collect();
        if changed.is_empty() {
            return Ok(());
        }
        for (rank, message) in changed {
            leaf.entries.insert(rank as u64, from_message(&message)?);
        }
        format::write(files, &name.below(dir)?, leaf, Durability::Synced)
    };
    Ok(leaves.iter_mut().try_for_each(&mut write).into())
}
