//! The permit to copy a dataset to the prefix directory. A transfer daemon may live on a node that the next run
//! does not use and cannot tell to stop, and a process of a killed run may have been stopped and go on. So ranks,
//! threads and daemons look for the permit of their flush before they write a file or a record, and threads and
//! daemons also every [`INTERVAL`] while they write ([`Permit`]). The permit
//! goes with any new flush of the dataset, when it is scavenged ([`revoke`]), and with [`revoke_all`] at the
//! start of the next run.

use super::index;
use super::paths::Prefix;
use crate::format::Name;
use crate::store::{Durability, Files};
use crate::system::process::random;
use crate::system::time::Instant;
use crate::transfer::copy::TargetWatch;
use crate::{Error, Result};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME: &str = "transfer.";

/// Time between two looks for the permit.
pub const INTERVAL: Duration = Duration::from_millis(200);

/// Time to wait after permits were revoked, so that all copying processes have noticed.
pub const GRACE: Duration = Duration::from_secs(1);

/// The file that is the permit of a run to copy dataset `id`.
pub fn path(prefix: &Prefix, id: u64, run: &Name) -> PathBuf {
    prefix.dataset(id).join(format!("{NAME}{run}"))
}

/// Gives the permit. [`announce`](super::finish::announce) must have been called, which removes the
/// permits of earlier flushes. Local: one process calls it.
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
        any |= revoke(files, prefix, *id)?;
    }
    Ok(any)
}

/// Takes the permits for one dataset, and the records that are not in their places yet. True if there were
/// any: then wait for [`GRACE`]. Local.
pub fn revoke(files: &dyn Files, prefix: &Prefix, id: u64) -> Result<bool> {
    let dir = prefix.dataset(id);
    let mut any = false;
    // Twice, as a record may have been begun before the permit was gone.
    for _ in 0..2 {
        let mut names = match files.list(&dir) {
            Err(error) if error.is_not_found() => return Ok(any),
            other => other?,
        };
        names.retain(|name| name.as_encoded_bytes().starts_with(NAME.as_bytes()));
        any |= !names.is_empty();
        for name in names {
            files.remove_file(&dir.join(name))?;
        }
    }
    Ok(any)
}

/// The permit of a process that copies a dataset.
pub struct Permit<'a> {
    files: &'a dyn Files,
    path: PathBuf,
    seen: Cell<Option<Instant>>,
}

impl<'a> Permit<'a> {
    /// The one at this [`path`].
    pub fn new(files: &'a dyn Files, path: PathBuf) -> Self {
        Permit {
            files,
            path,
            seen: Cell::new(None),
        }
    }

    /// Looks for it, unless it was there within the last [`INTERVAL`].
    ///
    /// # Errors
    /// The permit is gone, or cannot be looked for.
    pub fn check(&self) -> Result<()> {
        let seen = self.seen.get();
        if seen.is_some_and(|seen| seen.elapsed() < INTERVAL) {
            return Ok(());
        }
        self.look()?;
        self.seen.set(Some(Instant::now()));
        Ok(())
    }

    fn look(&self) -> Result<()> {
        if self.files.stat(&self.path)?.is_none() {
            return Err(Error::config(
                self.path.display().to_string(),
                "the permit of this flush is gone: another run has taken the dataset over, or it was \
                 removed",
            ));
        }
        Ok(())
    }
}

impl TargetWatch for Permit<'_> {
    fn begin(&self, _: &Path) -> Result<()> {
        self.check()
    }

    fn opened(&self) -> Result<()> {
        self.check()
    }

    fn keeps_failed(&self) -> bool {
        // The process may have been stopped since the last look.
        !matches!(self.files.stat(&self.path), Ok(Some(_)))
    }

    /// Writes beside the permit, then looks for that, then renames. [`revoke`] removes the temporary file that
    /// was written before the permit was gone. So if the permit was revoked meanwhile, the rename fails, no matter how
    /// long the process was stopped before the rename.
    fn record(&self, path: &Path, write: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
        // If two processes are last at the same time, both write the same record.
        let unique = random();
        let mut beside = self.path.clone().into_os_string();
        beside.push(format!(".{unique:016x}"));
        let beside = PathBuf::from(beside);
        let files = self.files;
        let placed = write(&beside)
            .and_then(|()| self.look())
            .and_then(|()| files.rename(&beside, path));
        if placed.is_err() {
            // The first error is reported.
            let _ = files.remove_file(&beside);
        }
        placed.and_then(|()| files.sync_dir(path.parent().unwrap_or(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Permit, grant, path, revoke, revoke_all};
    use crate::format::{Dataset, FileMeta, RankFiles};
    use crate::prefix::access::PrefixAccess;
    use crate::prefix::finish::announce;
    use crate::prefix::flush::{CacheFiles, RankFlush, copy_together, record_together};
    use crate::prefix::paths::Prefix;
    use crate::prefix::rank2file::entry_of;
    use crate::store::Unkept;
    use crate::store::posix::Posix;
    use crate::threads;
    use crate::transfer::copy::TargetWatch;
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

    #[test]
    fn a_record_that_was_begun_before_the_permit_was_taken_does_not_get_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = Prefix::new(dir.path());
        let (of_dataset, files) = (prefix.dataset(1), &Posix);
        fs::create_dir_all(&of_dataset).unwrap();
        let record = of_dataset.join("rank2file.0.1");
        let permit = Permit::new(files, path(&prefix, 1, &"run".into()));
        let write = |text: &str, revoked: bool| {
            grant(files, &prefix, 1, &"run".into()).unwrap();
            permit.check().unwrap();
            permit.record(&record, &|path| {
                fs::write(path, text).unwrap();
                if revoked {
                    assert!(revoke(files, &prefix, 1)?);
                    assert!(!path.exists());
                }
                Ok(())
            })
        };
        write("new", false).unwrap();
        assert!(write("old", true).is_err());
        assert_eq!(fs::read_to_string(&record).unwrap(), "new");
        assert_eq!(fs::read_dir(&of_dataset).unwrap().count(), 1);
    }

    #[test]
    fn a_rank_whose_permit_is_gone_writes_neither_files_nor_records() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = Prefix::new(&dir.path().join("prefix"));
        fs::create_dir_all(prefix.dataset(1)).unwrap();
        let (data, saved) = (dir.path(), prefix.root().join("ck"));
        fs::write(data.join("ck"), "old").unwrap();
        fs::write(&saved, "new").unwrap();
        let files = prefix.confine(&Posix, [data.to_path_buf()]);
        grant(&*files, &prefix, 1, &"run".into()).unwrap();
        let stat = files.stat(&data.join("ck")).unwrap().unwrap();
        let list = RankFiles {
            rank: 0,
            files: vec![FileMeta::new("ck".into(), "ck".into(), &stat)],
        };
        for there in [false, true] {
            if there {
                grant(&*files, &prefix, 1, &"run".into()).unwrap();
            } else {
                assert!(revoke(&*files, &prefix, 1).unwrap());
            }
            let done = threads::run(1, |comm| {
                let access = PrefixAccess {
                    comm: &*comm,
                    files: &*files,
                    prefix: &prefix,
                    node: "n0",
                    first_of_node: true,
                    width: 1,
                    buffer: 4096,
                    metadata: false,
                    unkept: &Unkept::default(),
                    watch: &(),
                };
                let permit = Permit::new(&*files, path(&prefix, 1, &"run".into()));
                let from = CacheFiles {
                    data,
                    targets: &permit,
                };
                let mut list = list.clone();
                let flush = RankFlush::ToPaths(from);
                let copied = copy_together(&access, 1, &mut list, flush, false).is_ok();
                let entry = entry_of(&list);
                (copied, record_together(&access, 1, &entry, &permit).is_ok())
            });
            assert_eq!(done, [(there, there)]);
            let content = if there { "old" } else { "new" };
            assert_eq!(fs::read_to_string(&saved).unwrap(), content);
            assert_eq!(prefix.dataset(1).join("rank2file.0.0").exists(), there);
        }
    }
}
