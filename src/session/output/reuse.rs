//! Writing over the files of a dataset that has left the cache, which takes less time than new space.

use crate::format::Name;
use crate::session::datasets::location::Location;
use crate::session::output::OpenDataset;
use crate::session::run::Run;
use std::path::{Path, PathBuf};

impl OpenDataset {
    /// Moves this rank's file of a dataset that was evicted for this one to `path`, which the caller has from
    /// [`Session::route`](crate::session::Session::route) and writes over. Without such a file, nothing changes.
    /// `name_in` gives the name of the file in a dataset. Only files that the library writes are used again: a hard
    /// link to such a file, or a process that has it open, sees the new content. Local, before any other rank can have
    /// completed the open dataset.
    ///
    /// The leader of the store renames the directory of an evicted dataset to trash at the same time, and deletes
    /// it when the open dataset is completed. So the file is in one of the two.
    pub(super) fn reuse_file(
        &mut self,
        run: &Run,
        cwd: &Path,
        name_in: impl Fn(&Name) -> PathBuf,
        path: &Path,
    ) {
        let Location::Cache(store) = self.target.location else {
            return;
        };
        // The file is compared with its checksum before it is deleted.
        if run.settings.crc_on_delete {
            return;
        }
        let layout = &run.stores[store].layout;
        for evicted in self.evicted.drain(..) {
            let Ok(name) = run.prefix.relative(&name_in(&evicted.name), cwd) else {
                continue;
            };
            let id = evicted.id;
            let moved = [
                layout.data(id, run.rank()),
                layout.trash_data(id, run.rank()),
            ]
            .iter()
            .any(|dir| run.files.rename(&dir.join(&name), path).is_ok());
            if moved {
                return;
            }
        }
    }
}
