//! The permit of transfer daemons to write a dataset. A daemon may live on a node that the next run does
//! not use and cannot tell to stop. So it looks for the permit of its flush before it writes, and every
//! [`INTERVAL`] while it does. The permit goes with any new flush of the dataset, and with
//! [`revoke_all`] at the start of the next run.

use super::index;
use super::paths::Prefix;
use crate::Result;
use crate::format::Name;
use crate::store::{Durability, Files};
use std::path::PathBuf;
use std::time::Duration;

const NAME: &str = "transfer.";

/// How often a daemon looks for its permit.
pub const INTERVAL: Duration = Duration::from_millis(200);

/// How long to wait after permits were revoked, so that every daemon has noticed.
pub const GRACE: Duration = Duration::from_secs(1);

/// The file that is the permit of a run to have dataset `id` written by daemons.
pub fn path(prefix: &Prefix, id: u64, run: &Name) -> PathBuf {
    prefix.dataset(id).join(format!("{NAME}{run}"))
}

/// Gives the permit. [`announce`](super::finish::announce) must have been called, which removes those of
/// earlier flushes. Local: one process calls it.
pub fn grant(files: &dyn Files, prefix: &Prefix, id: u64, run: &Name) -> Result<()> {
    files.replace(&path(prefix, id, run), b"", Durability::Atomic)
}

/// Removes the permit of a flush that has ended. A failure does not matter. Local.
pub fn end(files: &dyn Files, prefix: &Prefix, id: u64, run: &Name) {
    let _ = files.remove_file(&path(prefix, id, run));
}

/// Takes all permits for datasets that are not complete. True if there were any: then wait for
/// [`GRACE`]. Local: one process calls it.
pub fn revoke_all(files: &dyn Files, prefix: &Prefix) -> Result<bool> {
    let index = index::read(files, prefix)?;
    let mut any = false;
    let open = index.datasets().iter().filter(|(_, entry)| !entry.complete);
    for (id, _) in open {
        let dir = prefix.dataset(*id);
        let names = match files.list(&dir) {
            Err(error) if error.is_not_found() => continue,
            other => other?,
        };
        for name in names {
            if name.as_encoded_bytes().starts_with(NAME.as_bytes()) {
                files.remove_file(&dir.join(name))?;
                any = true;
            }
        }
    }
    Ok(any)
}

#[cfg(test)]
mod tests {
    use super::{grant, path, revoke_all};
    use crate::format::Dataset;
    use crate::prefix::finish::announce;
    use crate::prefix::paths::Prefix;
    use crate::store::posix::Posix;
    use std::fs;

    #[test]
    fn permits_of_all_flushes_go_and_a_directory_that_cannot_be_read_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = Prefix::new(dir.path());
        let files = prefix.confine(&Posix, []);
        fs::create_dir(prefix.meta()).unwrap();
        assert!(!revoke_all(&*files, &prefix).unwrap());
        for id in [1, 2] {
            let dataset = Dataset {
                id,
                name: format!("ck.{id}").into(),
                ..Dataset::default()
            };
            announce(&*files, &prefix, &dataset).unwrap();
        }
        grant(&*files, &prefix, 2, &"run".into()).unwrap();
        // A flush may have come no further than to its entry in the index.
        fs::remove_dir_all(prefix.dataset(1)).unwrap();
        assert!(revoke_all(&*files, &prefix).unwrap());
        assert!(!path(&prefix, 2, &"run".into()).exists());
        assert!(!revoke_all(&*files, &prefix).unwrap());
        std::os::unix::fs::symlink(prefix.dataset(2), prefix.dataset(1)).unwrap();
        assert!(revoke_all(&*files, &prefix).is_err());
    }
}
