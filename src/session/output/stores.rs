//! Checks of the stores' directories on this node.

use crate::comm::Term;
use crate::config::descriptors::StoreDescriptor;
use crate::messages::{STORE_DIFFERS, STORE_IS_NO_DIRECTORY};
use crate::session::run::{Run, Store};
use crate::store::{Durability, FileKind, Files, Stat};
use crate::{Error, Result};

/// The file by which the ranks of a store that several nodes share see that they do.
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
    let files = &*run.files;
    let shared: Vec<(&Store, &StoreDescriptor)> = run
        .stores
        .iter()
        .zip(&run.descriptors.stores)
        .filter(|(_, store)| store.enabled && store.outlives_nodes())
        .collect();
    if shared.is_empty() {
        return Ok(());
    }
    let path = |store: &Store| store.layout.job().join(SHARED);
    let text = |store: &Store| format!("{number:016x} {}", store.sharing.leader).into_bytes();
    let mut led = shared.iter().filter(|(store, _)| store.leader);
    let written = led
        .try_for_each(|(store, _)| files.replace(&path(store), &text(store), Durability::Atomic));
    // In a full store the file, or its directory, cannot be made. What the store holds may still be
    // needed, so the check is left out.
    let is_full = |error: &Error| error.is_full() || error.is_not_found();
    let full = written.as_ref().is_err_and(is_full);
    let written = if full { Ok(()) } else { written };
    let agreement = run.agree_with(written, [Term::Max(full.into())])?;
    let ((), [full]) = agreement.all_done()?;
    if full.on_any() {
        return Ok(());
    }
    let seen = shared.iter().try_for_each(|(store, descriptor)| {
        let same = |found: Vec<u8>| found == text(store);
        if files.read(&path(store), 64).is_ok_and(same) {
            return Ok(());
        }
        Err(Error::config(
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
        ))
    });
    run.agree(seen)
}
