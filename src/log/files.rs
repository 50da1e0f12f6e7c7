//! The files of a log. When the newest file is large enough, it is renamed, and the oldest is
//! deleted.
//!
//! `log` is written to, `log.1` is the one before, and so on up to [`OLDER`].

use crate::store::{Files, LockAttempt, wait_for_lock};
use crate::system::time::Instant;
use crate::{Error, Result};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Number of older files of a log that are kept.
pub const OLDER: u32 = 3;

/// The file of this number; 0 is the one that is written to.
pub(super) fn numbered(log: &Path, number: u32) -> PathBuf {
    match number {
        0 => log.to_path_buf(),
        _ => {
            let mut name = log.as_os_str().to_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        }
    }
}

/// Renames the files of a log, so that a new one begins, if the newest has `most` bytes. Of several
/// processes, one renames the files. A process that has the file open goes on to write to it under its new
/// name.
///
/// # Errors
/// A file cannot be renamed. Nothing is lost.
pub(super) fn rotate(files: &dyn Files, log: &Path, most: u64) -> Result<()> {
    let _lock = match wait_for_lock(files, log, Instant::now()) {
        Ok(LockAttempt::Acquired(lock)) => Some(lock),
        Ok(LockAttempt::Unsupported) => None,
        Ok(LockAttempt::HeldByOther) => return Ok(()),
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error),
    };
    // Another process may have renamed the file before this one had the lock.
    if files.stat(log)?.is_none_or(|stat| stat.size < most) {
        return Ok(());
    }
    // A kill between two renames leaves a number free.
    let mut free = OLDER;
    for number in (1..OLDER).rev() {
        if files.stat(&numbered(log, number))?.is_none() {
            free = number;
        }
    }
    for number in (0..free).rev() {
        files.rename(&numbered(log, number), &numbered(log, number + 1))?;
    }
    Ok(())
}

/// Opens the files of a log that there are, oldest first.
///
/// # Errors
/// The log does not exist, or one of its files cannot be opened or is not a regular file.
pub(super) fn open_all(log: &Path) -> Result<Vec<(PathBuf, File)>> {
    let mut found: Vec<(PathBuf, File)> = Vec::new();
    let mut missing = None;
    let mut seen = Vec::new();
    // The newest file is opened first: if the files are renamed meanwhile, one file is met twice, but no file is
    // missed.
    for number in 0..=OLDER {
        let path = numbered(log, number);
        let (file, place) = match open(&path) {
            Err(error) if error.is_not_found() => {
                missing.get_or_insert(error);
                continue;
            }
            other => other?,
        };
        if !seen.contains(&place) {
            seen.push(place);
            found.push((path, file));
        }
    }
    match (found.is_empty(), missing) {
        (true, Some(error)) => Err(error),
        _ => {
            found.reverse();
            Ok(found)
        }
    }
}

/// Opens a file, and gives its device and number.
fn open(path: &Path) -> Result<(File, (u64, u64))> {
    let failed = |error| Error::io("read", path, error);
    // Nobody may be at the other end of a pipe, and a device may have no end.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if about.is_file() {
        Ok((file, (about.dev(), about.ino())))
    } else {
        Err(Error::corrupt(path, "is not a regular file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Event;
    use crate::log::text::text_file;
    use crate::log::{Destination, Origin, Record, read_text};
    use crate::store::posix::Posix;
    use std::fs;

    fn origin(dir: &Path) -> Origin {
        Origin {
            prefix: dir.to_path_buf(),
            file: dir.join("log"),
            ..Origin::default()
        }
    }

    fn record(id: u64) -> Record {
        Record {
            dset: Some(id),
            ..Record::now(Event::Halt)
        }
    }

    /// The ids of all records, in the order in which they are read.
    fn ids(log: &Path) -> Vec<u64> {
        let mut ids = Vec::new();
        let not_read = read_text::<Error>(log, |record| {
            ids.push(record.dset.unwrap());
            Ok(())
        });
        assert_eq!(not_read.unwrap().count, 0);
        ids
    }

    /// The names of all files of the log.
    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_log_has_a_limit_and_is_read_across_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let origin = origin(dir.path());
        let mut log = text_file(&origin, 1000);
        for id in 0..20 {
            log.write(&record(id)).unwrap();
        }
        assert!(names(dir.path()).len() > 1);
        assert_eq!(ids(&origin.file), (0..20).collect::<Vec<_>>());
        for id in 20..1000 {
            log.write(&record(id)).unwrap();
        }
        assert_eq!(names(dir.path()), ["log", "log.1", "log.2", "log.3"]);
        let left = ids(&origin.file);
        let first = left[0];
        assert_eq!(left, (first..1000).collect::<Vec<_>>(), "the newest");
        let sizes = names(dir.path()).into_iter();
        let sizes: u64 = sizes
            .map(|name| fs::metadata(dir.path().join(name)).unwrap().len())
            .sum();
        assert!(sizes < 4 * 1200, "{sizes}");
        // 0 means no limit.
        let mut log = text_file(&origin, 0);
        (1000..1100).for_each(|id| log.write(&record(id)).unwrap());
        assert_eq!(ids(&origin.file), (first..1100).collect::<Vec<_>>());
    }

    /// Each process opens the file for each record, and the process that finds it too large renames
    /// it.
    #[test]
    fn several_writers_lose_nothing_that_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let origin = origin(dir.path());
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let origin = &origin;
                scope.spawn(move || {
                    let mut log = text_file(origin, 4000);
                    for number in 0..40 {
                        log.write(&record(writer * 40 + number)).unwrap();
                    }
                });
            }
        });
        let mut ids = ids(&origin.file);
        ids.sort_unstable();
        assert_eq!(ids, (0..160).collect::<Vec<_>>());
    }

    /// SCR v3.1.0 keeps the file open for the whole run.
    #[test]
    fn a_writer_that_has_the_file_open_goes_on() {
        use std::io::Write;
        let dir = tempfile::tempdir().unwrap();
        let origin = origin(dir.path());
        let mut log = text_file(&origin, 100);
        fs::write(&origin.file, "").unwrap();
        let other = OpenOptions::new().append(true).open(&origin.file);
        let mut other = other.unwrap();
        log.write(&record(0)).unwrap();
        log.write(&record(1)).unwrap();
        writeln!(other, "{}", record(2)).unwrap();
        log.write(&record(3)).unwrap();
        let mut ids = ids(&origin.file);
        ids.sort_unstable();
        assert_eq!(ids, [0, 1, 2, 3]);
    }

    #[test]
    fn a_kill_between_two_renames_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let write =
            |number: u32, id| fs::write(numbered(&log, number), format!("{}\n", record(id)));
        // log.1 was renamed to log.2, and no more.
        write(0, 3).unwrap();
        write(2, 2).unwrap();
        write(3, 1).unwrap();
        assert_eq!(ids(&log), [1, 2, 3]);
        rotate(&Posix, &log, 1).unwrap();
        assert_eq!(names(dir.path()), ["log.1", "log.2", "log.3"]);
        assert_eq!(ids(&log), [1, 2, 3], "also before the next record");
        // Without a file, or with a small file, nothing is renamed.
        rotate(&Posix, &log, 1).unwrap();
        write(0, 4).unwrap();
        rotate(&Posix, &log, 10_000).unwrap();
        assert_eq!(ids(&log), [1, 2, 3, 4]);
        rotate(&Posix, &log, 1).unwrap();
        assert_eq!(ids(&log), [2, 3, 4]);
    }

    /// Another user may own the directory, so that no file can be renamed: the log only grows.
    #[test]
    fn a_log_that_cannot_be_renamed_is_written_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let origin = origin(dir.path());
        fs::create_dir(dir.path().join("log.1")).unwrap();
        fs::create_dir(dir.path().join("log.2")).unwrap();
        fs::create_dir_all(dir.path().join("log.3/in the way")).unwrap();
        let mut log = text_file(&origin, 10);
        (0..3).for_each(|id| log.write(&record(id)).unwrap());
        let text = fs::read_to_string(&origin.file).unwrap();
        assert_eq!(text.lines().count(), 3);
    }
}
