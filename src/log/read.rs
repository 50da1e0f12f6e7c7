//! Reading the log from its text file.

use super::Record;
use super::files::open_all;
use crate::Error;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Longest line that is read, bytes.
const MAX_LINE: u64 = 64 << 10;

/// Lines that could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NotRead {
    /// Number of lines.
    pub count: u64,
    /// The number of the first line; 0 if it is not known.
    pub first: u64,
}

impl NotRead {
    /// A sentence about them; `None` if all were read.
    pub fn text(&self) -> Option<String> {
        let NotRead { count, first } = self;
        match count {
            0 => None,
            _ if *first == 0 => Some(format!(
                "lines that are no records of the event log are left out: {count}"
            )),
            1 => Some(format!(
                "line {first} is no record of the event log, and is left out"
            )),
            _ => Some(format!(
                "{count} lines are no records of the event log, and are left out; the first is line {first}"
            )),
        }
    }
}

impl NotRead {
    /// Adds the lines of the next file of a log. With several files, the number of a line tells nothing.
    pub(super) fn add(&mut self, other: NotRead) {
        self.count += other.count;
        self.first = 0;
    }
}

/// Reads a log with its older files, and calls `each` for every valid line, in order, until that returns an
/// error. Empty lines are passed over.
///
/// # Errors
/// The log does not exist, one of its files cannot be read, or `each` returns an error.
pub fn read_text<E: From<Error>>(
    path: &Path,
    mut each: impl FnMut(Record) -> std::result::Result<(), E>,
) -> std::result::Result<NotRead, E> {
    let files = open_all(path)?;
    let alone = files.len() == 1;
    let mut all = NotRead::default();
    for (path, file) in files {
        let not_read = each_record(&mut BufReader::new(file), &path, &mut each)?;
        if alone {
            all = not_read
        } else {
            all.add(not_read)
        }
    }
    Ok(all)
}

/// Calls `each` for every valid line of the log `path` that is in `file`; see [`read_text`].
pub(super) fn each_record<E: From<Error>>(
    mut file: &mut impl BufRead,
    path: &Path,
    mut each: impl FnMut(Record) -> std::result::Result<(), E>,
) -> std::result::Result<NotRead, E> {
    let failed = |error| Error::io("read", path, error);
    let mut not_read = NotRead::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let part = (&mut file).take(MAX_LINE).read_until(b'\n', &mut line);
        if part.map_err(failed)? == 0 {
            break;
        }
        let whole = line.ends_with(b"\n") || (line.len() as u64) < MAX_LINE;
        if !whole {
            skip_line(file).map_err(failed)?;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        match Record::parse(text).filter(|_| whole) {
            Some(record) => each(record)?,
            None if text.is_empty() => {}
            None => {
                not_read.count += 1;
                not_read.first = if not_read.first == 0 {
                    number
                } else {
                    not_read.first
                };
            }
        }
    }
    Ok(not_read)
}

/// Reads to the end of the line.
fn skip_line(file: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = file.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        let done = end.is_some() || buffer.is_empty();
        file.consume(length);
        if done {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Event;
    use crate::log::text::text_file;
    use crate::log::{Destination, Origin};

    fn origin(dir: &Path) -> Origin {
        Origin {
            prefix: dir.to_path_buf(),
            file: dir.join("log"),
            ..Origin::default()
        }
    }

    fn words(path: &Path) -> (Vec<String>, NotRead) {
        let mut words = Vec::new();
        let not_read = read_text::<Error>(path, |record| {
            words.push(record.event.name().to_string());
            Ok(())
        });
        (words, not_read.unwrap())
    }

    #[test]
    fn what_is_no_line_is_counted_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let record = Record::now(Event::FlushSync);
        text_file(&origin(dir.path()), 0).write(&record).unwrap();
        let mut text = std::fs::read(&path).unwrap();
        text.extend(b"\n\xff\xfe: x=y\nnoise\n2026-11-21T00:42:08: event\n");
        text.extend(b"2026-11-21T00:42:08: event=\"A\n2026-11-21T00:42:08: secs=1, event=B\n");
        // A line that is too long counts as one line, and the lines after it are read.
        text.extend(b"2026-11-21T00:42:08: event=LONG, note=\"");
        text.extend(vec![b'x'; 3 * MAX_LINE as usize]);
        text.extend(b"\"\n2026-11-21T00:42:08: event=C\nnoise without end");
        std::fs::write(&path, text).unwrap();
        let (words, not_read) = words(&path);
        assert_eq!(words, ["FLUSH_SYNC", "B", "C"]);
        assert_eq!(not_read, NotRead { count: 6, first: 3 });
        assert!(not_read.text().unwrap().contains("6 lines"));
    }

    #[test]
    fn the_log_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let origin = origin(dir.path());
        let record = Record::now(Event::FlushSync);
        let mut log = text_file(&origin, 0);
        log.write(&record).unwrap();
        log.write(&record).unwrap();
        let mode = std::fs::metadata(&origin.file)
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(words(&origin.file).0.len(), 2);
        let link = Origin {
            file: dir.path().join("link"),
            ..origin
        };
        std::os::unix::fs::symlink(dir.path().join("log"), &link.file).unwrap();
        let refused = text_file(&link, 0).write(&record).unwrap_err();
        assert!(refused.error().to_string().contains("link"));
    }

    /// A file system that becomes full in the middle of a line takes a part of the line.
    #[test]
    fn a_line_after_a_torn_one_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let origin = origin(dir.path());
        std::fs::write(&origin.file, "2026-11-21T00:42:08: host=n1, jobid=7, ev").unwrap();
        let mut log = text_file(&origin, 0);
        log.mark_torn();
        let record = Record::now(Event::Halt);
        log.write(&record).unwrap();
        log.write(&record).unwrap();
        assert_eq!(
            words(&origin.file),
            (vec!["HALT".to_string(); 2], NotRead { count: 1, first: 1 })
        );
    }
}
