//! Checks of the stores' directories on this node.

use crate::comm::{Term, collective};
use crate::config::descriptors::StoreDescriptor;
use crate::messages::{OTHER_PLACE_IN_NODE, STORE_DIFFERS, STORE_IS_NO_DIRECTORY};
use crate::session::run::{Run, Store};
use crate::store::{Durability, FileKind, Files, Stat};
use crate::{Error, Result};

/// The file by which ranks of a store that several nodes share check that they see the same
/// directory.
pub(in crate::session) const SHARED: &str = ".scr.shared";

/// Fails if the directory of a store with `MKDIR=0` is missing. Local.
pub(in crate::session) fn require_base(
    files: &dyn Files,
    store: &StoreDescriptor,
    node: &str,
) -> Result<()> {
    let is_directory = |stat: Stat| stat.kind == FileKind::Directory;
    if store.mkdir || files.stat(&store.dir)?.is_some_and(is_directory) {
        return Ok(());
    }
    Err(Error::config(
        store.place.clone(),
        format!(
            "STORE={} is no directory on node {node}, and MKDIR=0 says that SCR must not make it; \
             make it there, or set MKDIR=1 ({STORE_IS_NO_DIRECTORY})",
            store.dir.display()
        ),
    ))
}

/// Verifies that a store which is configured as shared by several nodes is: the other ranks must see
/// the file that the leader writes, with the `number` of the run. Otherwise data would seem to be lost at each restart on other
/// nodes. Collective; two rounds if there is such a store, one if one of them is full.
///
/// # Errors
/// A rank does not see the file of its leader.
pub(in crate::session) fn confirm_shared(run: &Run, number: u64) -> Result<()> {
    let shared: Vec<(&Store, &StoreDescriptor)> = run
        .stores
        .iter()
        .zip(&run.descriptors.stores)
        .filter(|(_, store)| store.enabled && store.outlives_nodes())
        .collect();
    if shared.is_empty() {
        return Ok(());
    }
    confirm(run, number, &shared, |store, descriptor| {
        Error::config(
            descriptor.place.clone(),
            format!(
                "STORE={} is not the same directory for all of GROUP={}: node {} does not see \
                 what rank {} has put there; say GROUP=NODE and VIEW=PRIVATE for storage in the \
                 nodes ({STORE_DIFFERS})",
                descriptor.dir.display(),
                descriptor.group,
                run.node(),
                store.sharing.leader
            ),
        )
    })
}

/// The stores that the ranks of a node share, and other nodes do not.
fn in_nodes(run: &Run) -> impl Iterator<Item = (&Store, &StoreDescriptor)> {
    let all = run.stores.iter().zip(&run.descriptors.stores);
    all.filter(|(_, store)| {
        (store.enabled || store.index == run.descriptors.control) && !store.outlives_nodes()
    })
}

/// This rank's part of a sum over all ranks. 0 if all ranks of each node see the same directories there, as far as the
/// system tells. Local.
pub(in crate::session) fn difference_in_nodes(run: &Run) -> i64 {
    // A sum over a million ranks stays in its type.
    const PART: u64 = (1 << 40) - 1;
    let of_store = |(store, descriptor): (&Store, &StoreDescriptor)| {
        let (device, inode) = run.files.identity(&store.layout.job()).unwrap_or_default();
        let leader = store.sharing.leader;
        let place = [leader as u64, descriptor.index as u64, device, inode];
        let place: Vec<u8> = place.into_iter().flat_map(u64::to_le_bytes).collect();
        let part = (collective::fingerprint(&place) & PART) as i64;
        if leader == run.rank() {
            let followers = if store.sharing.all {
                run.comm.size() - 1
            } else {
                store.sharing.followers.len()
            };
            -(followers as i64) * part
        } else {
            part
        }
    };
    in_nodes(run).map(of_store).sum()
}

/// Verifies that the ranks of a node see what its first one writes into a store of the node, where the system tells of
/// different directories. A file system that is mounted twice has two names. Collective; two rounds, one if a store is full.
///
/// # Errors
/// A rank does not see the file: each rank has such a directory of its own.
pub(in crate::session) fn confirm_in_nodes(run: &Run) -> Result<()> {
    let stores: Vec<(&Store, &StoreDescriptor)> = in_nodes(run).collect();
    confirm(run, run.id(), &stores, |store, descriptor| {
        Error::config(
            descriptor.place.clone(),
            format!(
                "{} is not the same directory for all ranks of node {}: what rank {} has put there is not there for rank {}, \
                 as in containers, or services with a /tmp or /dev/shm of their own; let the processes of a node share it, or \
                 set SCR_CACHE_BASE and SCR_CNTL_BASE to a directory that they share ({OTHER_PLACE_IN_NODE})",
                descriptor.dir.display(),
                run.node(),
                store.sharing.leader,
                run.rank()
            ),
        )
    })
}

/// Fails with the `error` of the first of these stores in which a rank does not see the file that the leader writes, with
/// the `number` of the run. Collective; two rounds, one if a store is full.
fn confirm(
    run: &Run,
    number: u64,
    shared: &[(&Store, &StoreDescriptor)],
    error: impl Fn(&Store, &StoreDescriptor) -> Error,
) -> Result<()> {
    let files = &*run.files;
    let path = |store: &Store| store.layout.job().join(SHARED);
    let text = |store: &Store| format!("{number:016x} {}", store.sharing.leader).into_bytes();
    let me = run.rank();
    let mut led = shared
        .iter()
        .filter(|(store, _)| store.sharing.leader == me);
    let written = led
        .try_for_each(|(store, _)| files.replace(&path(store), &text(store), Durability::Atomic));
    // In a full store the file, or its directory, cannot be made. Its datasets may still be
    // needed, so the check is left out.
    let is_full = |error: &Error| error.is_full() || error.is_not_found();
    let full = written.as_ref().is_err_and(is_full);
    let written = if full { Ok(()) } else { written };
    let agreement = run.agree_with(written, [Term::Max(full.into())])?;
    let ((), [full]) = agreement.all_done()?;
    if full.on_any() {
        return Ok(());
    }
    let seen =
        shared
            .iter()
            .try_for_each(|(store, descriptor)| match files.read(&path(store), 64) {
                Ok(found) if found == text(store) => Ok(()),
                Err(failed) if !failed.is_not_found() => Err(failed),
                _ => Err(error(store, descriptor)),
            });
    run.agree(seen)
}
