//! The event log: lines of text in `<prefix>/.scr/log`, and in syslog.
//!
//! ```text
//! 2026-11-21T00:42:08: host=n1, jobid=77, event=FLUSH_SUCCESS, dset=3, name="ck.3", secs=1.500000
//! 2026-11-21T00:42:08: host=n1, jobid=77, xfer=WRITE, from=a, to=b, secs=1.000000, files=2
//! ```
//!
//! The format is that of SCR v3.1.0. The user, the name of the job and its start follow if a script gives
//! them. SCR v3.1.0 writes these to its database only; its readers ignore keys that they do not know. In
//! quotes, backslashes and control characters are escaped as in C.

use super::clock;
use crate::store::posix::append;
use crate::{Error, Result};
use std::ffi::CString;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Longest line that is read, bytes.
const MAX_LINE: u64 = 64 << 10;

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// An event: `event=`.
    Event,
    /// A transfer of data: `xfer=`.
    Transfer,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Seconds since the epoch.
    pub time: i64,
    /// The node that writes it.
    pub host: String,
    /// Job id.
    pub job: String,
    /// Its kind.
    pub kind: LineKind,
    /// The event, such as RUN_START, or the kind of transfer.
    pub word: String,
    /// Free text.
    pub note: Option<String>,
    /// Where data came from.
    pub from: Option<String>,
    /// Where data were written.
    pub to: Option<String>,
    /// Dataset id.
    pub dset: Option<u64>,
    /// Dataset name.
    pub name: Option<String>,
    /// How long it took, seconds.
    pub secs: Option<f64>,
    /// How much was moved, bytes.
    pub bytes: Option<f64>,
    /// How many files that was.
    pub files: Option<u64>,
    /// Whose job it is.
    pub user: Option<String>,
    /// The name of the job.
    pub jobname: Option<String>,
    /// When the job began, seconds since the epoch.
    pub start: Option<i64>,
}

impl Line {
    /// A line about `word` on `host` in `job`, now. The other fields are empty.
    pub fn now(kind: LineKind, word: &str, host: &str, job: &str) -> Self {
        Line {
            time: clock::now(),
            host: host.to_string(),
            job: job.to_string(),
            kind,
            word: word.to_string(),
            note: None,
            from: None,
            to: None,
            dset: None,
            name: None,
            secs: None,
            bytes: None,
            files: None,
            user: None,
            jobname: None,
            start: None,
        }
    }

    /// Reads a line; `None` if it is not a line of the log.
    pub fn parse(text: &str) -> Option<Self> {
        let (time, rest) = text.split_once(": ")?;
        let mut line = Line {
            time: clock::parse(time).ok()?,
            ..Line::now(LineKind::Event, "", "", "")
        };
        let mut rest = rest;
        while !rest.is_empty() {
            let (key, after) = rest.split_once('=')?;
            let (value, left) = value(after)?;
            rest = left.strip_prefix(", ").unwrap_or("");
            match key {
                "host" => line.host = value,
                "jobid" => line.job = value,
                "event" => line.word = value,
                "xfer" => (line.kind, line.word) = (LineKind::Transfer, value),
                "note" => line.note = Some(value),
                "from" => line.from = Some(value),
                "to" => line.to = Some(value),
                "name" => line.name = Some(value),
                "dset" => line.dset = value.parse().ok(),
                "secs" => line.secs = number(&value),
                "bytes" => line.bytes = number(&value),
                "files" => line.files = value.parse().ok(),
                "user" => line.user = Some(value),
                "jobname" => line.jobname = Some(value),
                "start" => line.start = clock::parse(&value).ok(),
                _ => {}
            }
        }
        (!line.word.is_empty()).then_some(line)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            LineKind::Event => "event",
            LineKind::Transfer => "xfer",
        };
        let (host, job, word) = (plain(&self.host), plain(&self.job), plain(&self.word));
        write!(
            f,
            "{}: host={host}, jobid={job}, {kind}={word}",
            shown(self.time)
        )?;
        if let Some(note) = &self.note {
            write!(f, ", note={}", quoted(note))?;
        }
        for (key, path) in [("from", &self.from), ("to", &self.to)] {
            if let Some(path) = path {
                write!(f, ", {key}={}", plain(path))?;
            }
        }
        if let Some(id) = self.dset {
            write!(f, ", dset={id}")?;
        }
        if let Some(name) = &self.name {
            write!(f, ", name={}", quoted(name))?;
        }
        for (key, number) in [("secs", self.secs), ("bytes", self.bytes)] {
            if let Some(number) = number {
                write!(f, ", {key}={number:.6}")?;
            }
        }
        if let Some(files) = self.files {
            write!(f, ", files={files}")?;
        }
        for (key, text) in [("user", &self.user), ("jobname", &self.jobname)] {
            if let Some(text) = text {
                write!(f, ", {key}={}", plain(text))?;
            }
        }
        match self.start {
            Some(start) => write!(f, ", start={}", shown(start)),
            None => Ok(()),
        }
    }
}

/// Local time.
fn shown(time: i64) -> String {
    let since = Duration::from_secs(u64::try_from(time).unwrap_or(0));
    // A time that no clock has would overflow.
    clock::local_time(UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH))
}

/// Bare where that is clear, else in quotes.
fn plain(text: &str) -> String {
    let clear = |c: char| !c.is_control() && !c.is_whitespace() && !matches!(c, ',' | '"' | '\\');
    match !text.is_empty() && text.chars().all(clear) {
        true => text.to_string(),
        false => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A value, bare or in quotes, and what follows it.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(inside) = text.strip_prefix('"') else {
        let end = text.find(", ").unwrap_or(text.len());
        let (value, left) = text.split_at(end);
        return Some((value.to_string(), left));
    };
    let (mut out, mut escaped) = (String::new(), false);
    for (place, c) in inside.char_indices() {
        match c {
            'n' if escaped => out.push('\n'),
            '\\' | '"' if escaped => out.push(c),
            '"' => return Some((out, inside.get(place + 1..)?)),
            '\\' => {
                escaped = true;
                continue;
            }
            c => out.push(c),
        }
        escaped = false;
    }
    None
}

/// A number that is neither infinite nor negative.
fn number(text: &str) -> Option<f64> {
    text.parse()
        .ok()
        .filter(|n: &f64| n.is_finite() && *n >= 0.0)
}

/// Reads a log and calls `each` for every valid line, in order. Returns the number of other lines.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path, mut each: impl FnMut(Line)) -> Result<u64> {
    let failed = |error| Error::io("read", path, error);
    // Nobody may be at the other end of a pipe, and a device may have no end.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(Error::corrupt(path, "is not a regular file"));
    }
    let (mut file, mut bad) = (BufReader::new(file), 0);
    loop {
        let mut bytes = Vec::new();
        let part = (&mut file).take(MAX_LINE).read_until(b'\n', &mut bytes);
        if part.map_err(failed)? == 0 {
            return Ok(bad);
        }
        match Line::parse(String::from_utf8_lossy(&bytes).trim_end()) {
            Some(line) => each(line),
            None => bad += 1,
        }
    }
}

/// Where lines go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// A file that they are appended to; it is made when missing, for its owner alone.
    pub file: Option<PathBuf>,
    /// A directory below which no link is followed to the file.
    pub root: Option<PathBuf>,
    /// Whether they also go to syslog, as local7.info from SCR.
    pub syslog: bool,
}

impl Log {
    /// Writes a line, with a single system call, so that lines of several writers do not mix.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, line: &Line) -> Result<()> {
        let text = line.to_string();
        if self.syslog {
            to_syslog(&text);
        }
        let Some(path) = &self.file else {
            return Ok(());
        };
        append(
            self.root.as_slice(),
            path,
            0o600,
            format!("{text}\n").as_bytes(),
        )
    }
}

fn to_syslog(text: &str) {
    let Ok(text) = CString::new(text) else {
        return;
    };
    // SAFETY: the strings end with a NUL; the name lives as long as the program, as openlog
    // keeps it; the format takes one string.
    unsafe {
        libc::openlog(c"SCR".as_ptr(), libc::LOG_PID, libc::LOG_LOCAL7);
        libc::syslog(libc::LOG_INFO, c"%s".as_ptr(), text.as_ptr());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Line {
        Line {
            time: 1_795_221_728,
            note: Some("node \"n2\": a\\b\nend".into()),
            from: Some("/a b".into()),
            to: Some("/c".into()),
            dset: Some(3),
            name: Some("ck.3".into()),
            secs: Some(1.5),
            bytes: Some(2048.0),
            files: Some(2),
            user: Some("ann".into()),
            jobname: Some("my job".into()),
            start: Some(1_795_221_700),
            ..Line::now(LineKind::Transfer, "FLUSH_SYNC", "n1", "77")
        }
    }

    #[test]
    fn a_line_is_as_documented_and_read_back() {
        let text = full().to_string();
        let (time, rest) = text.split_once(": ").unwrap();
        assert_eq!(time.len(), 19);
        let expected = "host=n1, jobid=77, xfer=FLUSH_SYNC, note=\"node \\\"n2\\\": a\\\\b\\nend\", \
                        from=\"/a b\", to=/c, dset=3, name=\"ck.3\", secs=1.500000, \
                        bytes=2048.000000, files=2, user=ann, jobname=\"my job\", start=";
        let (rest, start) = rest.split_at(expected.len());
        assert_eq!((rest, start.len()), (expected, 19));
        assert_eq!(Line::parse(&text).unwrap(), full());
        let short = Line {
            time: 0,
            ..Line::now(LineKind::Event, "RUN_START", "n1", "77")
        };
        assert!(
            short
                .to_string()
                .ends_with(": host=n1, jobid=77, event=RUN_START")
        );
        let odd = Line {
            time: i64::MAX,
            ..short
        };
        assert!(odd.to_string().ends_with("event=RUN_START"));
    }

    #[test]
    fn what_is_no_line_is_counted_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = Log {
            file: Some(path.clone()),
            ..Log::default()
        };
        log.write(&full()).unwrap();
        let mut text = std::fs::read(&path).unwrap();
        text.extend(b"\xff\xfe: x=y\nnoise\n2026-11-21T00:42:08: event\n");
        text.extend(b"2026-11-21T00:42:08: event=\"A\n2026-11-21T00:42:08: secs=1, event=B\n");
        text.extend(vec![b'x'; MAX_LINE as usize + 7]);
        std::fs::write(&path, text).unwrap();
        let mut words = Vec::new();
        let bad = read(&path, |line| words.push(line.word)).unwrap();
        assert_eq!(words, ["FLUSH_SYNC", "B"]);
        assert_eq!(bad, 6);
    }

    #[test]
    fn the_log_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = Log {
            file: Some(path.clone()),
            ..Log::default()
        };
        log.write(&full()).unwrap();
        log.write(&full()).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let linked = Log {
            file: Some(link),
            ..Log::default()
        };
        assert!(
            linked
                .write(&full())
                .unwrap_err()
                .to_string()
                .contains("link")
        );
    }
}
