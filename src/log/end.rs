//! Reading the end of a log, whose beginning may be long ago and large.

use super::files::{OLDER, numbered};
use super::read::each_record;
use super::{NotRead, Record};
use crate::events::Event;
use crate::store::Files;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Reads the last `most` bytes of a log with its older files, and calls `each` for every valid line in them, in
/// order. A run that had its START before these files gets a START where they begin.
///
/// # Errors
/// The log does not exist, or one of its files cannot be read or is not a regular file.
pub fn read_end(
    files: &dyn Files,
    path: &Path,
    most: u64,
    mut each: impl FnMut(Record),
) -> Result<NotRead> {
    let Ends { mut parts, whole } = ends(files, path, most)?;
    let mut known = whole;
    let mut each = |record: Record| {
        match record.event {
            Event::Start => known = true,
            Event::ComputeStart | Event::ComputeEnd if !known => {
                known = true;
                each(Record {
                    time: record.time,
                    millis: record.millis,
                    ..Record::now(Event::Start)
                });
            }
            _ => {}
        }
        each(record);
        Ok::<(), Error>(())
    };
    let alone = whole && parts.len() == 1;
    let mut all = NotRead::default();
    while let Some((path, bytes)) = parts.pop() {
        let not_read = each_record(&mut &bytes[..], &path, &mut each)?;
        if alone {
            all = not_read
        } else {
            all.add(not_read)
        }
    }
    Ok(all)
}

/// The ends of the files of a log.
struct Ends {
    /// The files with the bytes of their ends, newest first.
    parts: Vec<(PathBuf, Vec<u8>)>,
    /// True if these bytes are the whole log.
    whole: bool,
}

fn ends(files: &dyn Files, log: &Path, most: u64) -> Result<Ends> {
    let (mut left, mut whole) = (most, true);
    let mut parts = Vec::new();
    for number in 0..=OLDER {
        let path = numbered(log, number);
        let file = match files.open(&path) {
            Err(error) if error.is_not_found() && (number < OLDER || !parts.is_empty()) => continue,
            Err(error) if error.is_not_found() => {
                return Err(files.open(log).err().unwrap_or(error));
            }
            other => other?,
        };
        let size = file.size()?;
        let begin = size.saturating_sub(left);
        let too_large = || Error::corrupt(&path, "its end does not fit into memory");
        let length = usize::try_from(size - begin).map_err(|_| too_large())?;
        let mut bytes = vec![0; length];
        file.read_at(begin, &mut bytes)?;
        if begin > 0 {
            // The first line is most likely cut.
            let end = bytes.iter().position(|byte| *byte == b'\n');
            bytes.drain(..end.map_or(length, |end| end + 1));
            whole = false;
        }
        parts.push((path, bytes));
        left -= size - begin;
        if !whole {
            break;
        }
    }
    Ok(Ends { parts, whole })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Totals;
    use crate::store::posix::Posix;

    /// The lines of a run of 100 s that was killed.
    fn killed() -> String {
        let line = |event: &str| format!("2026-11-21T00:42:08: host=n, jobid=7, event={event}\n");
        let compute = line("COMPUTE_END, secs=50.0").repeat(2);
        line("START") + &compute
    }

    /// A log with a run that ends, and then `runs` that do not.
    fn log(runs: usize) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let end = "2026-11-21T00:42:08: host=n, jobid=7, event=END\n";
        std::fs::write(&path, killed() + end + &killed().repeat(runs)).unwrap();
        (dir, path)
    }

    fn totals(path: &Path, most: u64) -> (f64, f64, NotRead) {
        let mut totals = Totals::default();
        let not_read = read_end(&Posix, path, most, |record| totals.add(&record)).unwrap();
        totals.end();
        (totals.failures, totals.total(), not_read)
    }

    #[test]
    fn the_end_is_read_and_no_more() {
        let (_dir, path) = log(3);
        let none = NotRead::default();
        assert_eq!(totals(&path, 1 << 20), (3.0, 400.0, none));
        let size = std::fs::metadata(&path).unwrap().len();
        assert_eq!(totals(&path, size), (3.0, 400.0, none));
        // The first of the failed runs has lost its beginning, and counts all the same.
        let run = killed().len() as u64;
        let begins = killed().find('\n').unwrap() as u64;
        let cut = totals(&path, 3 * run - begins);
        assert_eq!(cut, (3.0, 300.0, none));
        // The beginning of the line before, which has 50 s, is also missing.
        let cut = totals(&path, 3 * run - begins - 10);
        assert_eq!(cut, (3.0, 250.0, none));
        assert_eq!(totals(&path, 0), (0.0, 0.0, none));
        // The bytes read do not reach back to the END line of the run before the killed ones.
        assert_eq!(totals(&path, 3 * run + 1), (3.0, 300.0, none));
    }

    #[test]
    fn damaged_lines_are_counted() {
        let (_dir, path) = log(1);
        let mut text = std::fs::read(&path).unwrap();
        text.extend(b"noise\n\xff\n");
        std::fs::write(&path, &text).unwrap();
        assert_eq!(totals(&path, 1 << 20).2, NotRead { count: 2, first: 8 });
        let (_, _, not_read) = totals(&path, 150);
        assert_eq!(not_read, NotRead { count: 2, first: 0 });
        assert!(not_read.text().unwrap().ends_with("left out: 2"));
    }

    #[test]
    fn what_is_no_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let read = |path: &Path| read_end(&Posix, path, 100, |_| {}).unwrap_err();
        read(dir.path());
        assert!(read(&dir.path().join("none")).is_not_found());
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        read(&pipe);
    }
}
