//! One line of the event log, as text.
//!
//! ```text
//! 2026-11-21T00:42:08: host=n1, jobid=77, event=FLUSH_SUCCESS, dset=3, name="ck.3", secs=1.500000
//! 2026-11-21T00:42:08: host=n1, jobid=77, xfer=FETCH, from=a, to=b, secs=1.000000, files=2, msec=250
//! ```
//!
//! The format is that of SCR v3.1.0, whose readers ignore unknown keys. In quotes, backslashes,
//! quotes and characters that are not shown are escaped.

use crate::events::{Event, EventKind};
use crate::job::clock;
use crate::system::time::Instant;
use crate::system::time::UNIX_EPOCH;
use crate::text::is_hidden;
use std::fmt;
use std::time::Duration;

/// One record. A field that is not known, or has no meaning for the event, is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Seconds since the epoch.
    pub time: i64,
    /// Thousandths of a second after it, below 1000.
    pub millis: u16,
    /// The node that writes it.
    pub host: String,
    /// Job id.
    pub job: String,
    /// The event.
    pub event: Event,
    /// Free text.
    pub note: Option<String>,
    /// The source of the data.
    pub from: Option<String>,
    /// The destination of the data.
    pub to: Option<String>,
    /// Dataset id.
    pub dset: Option<u64>,
    /// Dataset name.
    pub name: Option<String>,
    /// Duration, seconds.
    pub secs: Option<f64>,
    /// Size of the moved data, bytes.
    pub bytes: Option<f64>,
    /// Number of the moved files.
    pub files: Option<u64>,
    /// Number of processes of the run.
    pub procs: Option<u64>,
    /// Number of nodes of the run.
    pub nodes: Option<u64>,
    /// The user of the job.
    pub user: Option<String>,
    /// The name of the job.
    pub jobname: Option<String>,
    /// Time at which the job began, seconds since the epoch.
    pub start: Option<i64>,
}

impl Record {
    /// An event now. The writer adds host and job; the other fields are empty.
    pub fn now(event: Event) -> Self {
        Record {
            time: 0,
            millis: 0,
            host: String::new(),
            job: String::new(),
            event,
            note: None,
            from: None,
            to: None,
            dset: None,
            name: None,
            secs: None,
            bytes: None,
            files: None,
            procs: None,
            nodes: None,
            user: None,
            jobname: None,
            start: None,
        }
        .at_millis(clock::now_millis())
    }

    fn at_millis(self, millis: i64) -> Self {
        Record {
            time: millis.div_euclid(1000),
            millis: u16::try_from(millis.rem_euclid(1000)).unwrap_or(0),
            ..self
        }
    }

    /// The time of the record with the part of a second, if that is known: seconds since the epoch.
    pub fn at(&self) -> f64 {
        self.time as f64 + f64::from(self.millis) / 1000.0
    }

    /// The record with a text.
    pub fn note(self, text: impl Into<String>) -> Self {
        Record {
            note: Some(text.into()),
            ..self
        }
    }

    /// The record with the time that has passed since `begun`. The time of a transfer is the time of its beginning,
    /// as in SCR v3.1.0.
    pub fn since(self, begun: Instant) -> Self {
        let passed = begun.elapsed();
        let back = match self.event.kind() {
            EventKind::Incident => 0,
            EventKind::Transfer => i64::try_from(passed.as_millis()).unwrap_or(0),
        };
        let at = self.time.saturating_mul(1000) + i64::from(self.millis);
        Record {
            secs: Some(passed.as_secs_f64()),
            ..self.at_millis(at.saturating_sub(back))
        }
    }

    /// Bytes for each second, if both are known.
    pub fn rate(&self) -> Option<f64> {
        let secs = self.secs.filter(|secs| *secs > 0.0)?;
        Some(self.bytes? / secs)
    }

    /// Reads a line; `None` if it is not a line of the log.
    pub fn parse(text: &str) -> Option<Self> {
        let (time, rest) = text.split_once(": ")?;
        let time = clock::parse(time).ok()?;
        let mut record = Record::now(Event::Other(EventKind::Incident, String::new()));
        (record.time, record.millis) = (time, 0);
        let mut rest = rest;
        while !rest.is_empty() {
            let (key, after) = rest.split_once('=')?;
            let (value, left) = value(after)?;
            rest = left.strip_prefix(", ").unwrap_or("");
            match key {
                "host" => record.host = value,
                "jobid" => record.job = value,
                "event" => record.event = Event::named(EventKind::Incident, &value),
                "xfer" => record.event = Event::named(EventKind::Transfer, &value),
                "note" => record.note = Some(value),
                "from" => record.from = Some(value),
                "to" => record.to = Some(value),
                "name" => record.name = Some(value),
                "dset" => record.dset = value.parse().ok(),
                "secs" => record.secs = number(&value),
                "bytes" => record.bytes = number(&value),
                "files" => record.files = value.parse().ok(),
                "procs" => record.procs = value.parse().ok(),
                "nodes" => record.nodes = value.parse().ok(),
                "user" => record.user = Some(value),
                "jobname" => record.jobname = Some(value),
                "msec" => record.millis = value.parse().ok().filter(|m| *m < 1000).unwrap_or(0),
                "start" => record.start = clock::parse(&value).ok(),
                _ => {}
            }
        }
        (!record.event.name().is_empty()).then_some(record)
    }

    /// The event and the fields that belong to it: `event=FLUSH_SUCCESS, dset=3, ...`.
    pub fn fields(&self) -> String {
        let kind = match self.event.kind() {
            EventKind::Incident => "event",
            EventKind::Transfer => "xfer",
        };
        let number = |number: Option<f64>| number.map(|n| format!("{n:.6}"));
        let whole = |number: Option<u64>| number.map(|n| n.to_string());
        let fields = [
            (kind, Some(plain(self.event.name()))),
            ("procs", whole(self.procs)),
            ("nodes", whole(self.nodes)),
            ("note", self.note.as_deref().map(quoted)),
            ("from", self.from.as_deref().map(plain)),
            ("to", self.to.as_deref().map(plain)),
            ("dset", whole(self.dset)),
            ("name", self.name.as_deref().map(quoted)),
            ("secs", number(self.secs)),
            ("bytes", number(self.bytes)),
            ("files", whole(self.files)),
            ("user", self.user.as_deref().map(plain)),
            ("jobname", self.jobname.as_deref().map(plain)),
            ("start", self.start.map(local_time)),
        ];
        let known = fields.into_iter();
        let known = known.filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        known.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, host, job) = (local_time(self.time), plain(&self.host), plain(&self.job));
        write!(f, "{time}: host={host}, jobid={job}, {}", self.fields())?;
        match self.millis {
            0 => Ok(()),
            // Last, where the readers of SCR v3.1.0 find all that they know before it.
            millis => write!(f, ", msec={millis}"),
        }
    }
}

/// A time, given in seconds since the epoch, as the log shows it: local time.
pub fn local_time(time: i64) -> String {
    let since = Duration::from_secs(u64::try_from(time).unwrap_or(0));
    // A time that no clock has would overflow.
    clock::local_time(UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH))
}

/// Bare where that is clear, else in quotes.
pub(super) fn plain(text: &str) -> String {
    let clear = |c: char| !is_hidden(c) && !c.is_whitespace() && !matches!(c, ',' | '"' | '\\');
    if !text.is_empty() && text.chars().all(clear) {
        text.to_string()
    } else {
        quoted(text)
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if is_hidden(c) => {
                let bytes = &mut [0; 4];
                for byte in c.encode_utf8(bytes).bytes() {
                    out.push_str(&format!("\\x{byte:02x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A value, bare or in quotes, and the text after it.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(inside) = text.strip_prefix('"') else {
        let end = text.find(", ").unwrap_or(text.len());
        let (value, left) = text.split_at(end);
        return Some((value.to_string(), left));
    };
    let mut out = Vec::new();
    let mut rest = inside;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match (c, after.chars().next()) {
            // SCR v3.1.0 does not escape a quote inside of a text.
            ('"', None | Some(',')) if after.is_empty() || after.starts_with(", ") => {
                return Some((String::from_utf8_lossy(&out).into_owned(), after));
            }
            ('\\', Some('n')) => {
                out.push(b'\n');
                &after[1..]
            }
            ('\\', Some(c @ ('\\' | '"'))) => {
                out.push(c as u8);
                &after[1..]
            }
            ('\\', Some('x')) if hex(after).is_some() => {
                out.extend(hex(after));
                &after[3..]
            }
            _ => {
                out.extend(c.encode_utf8(&mut [0; 4]).bytes());
                after
            }
        };
    }
    None
}

/// The byte of `xHH`.
fn hex(text: &str) -> Option<u8> {
    u8::from_str_radix(text.get(1..3)?, 16).ok()
}

/// A number that is neither infinite nor negative.
fn number(text: &str) -> Option<f64> {
    text.parse()
        .ok()
        .filter(|n: &f64| n.is_finite() && *n >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Record {
        Record {
            time: 1_795_221_728,
            millis: 42,
            host: "n1".into(),
            job: "77".into(),
            note: Some("node \"n2\", a\\b\nend\r\u{1b}[31m\u{202e}".into()),
            from: Some("/a b".into()),
            to: Some("/c".into()),
            dset: Some(3),
            name: Some("ck.3".into()),
            secs: Some(1.5),
            bytes: Some(2048.0),
            files: Some(2),
            procs: Some(8),
            nodes: Some(4),
            user: Some("ann".into()),
            jobname: Some("my job".into()),
            start: Some(1_795_221_700),
            ..Record::now(Event::FlushSync)
        }
    }

    #[test]
    fn a_line_is_as_documented_and_read_back() {
        let text = full().to_string();
        let (time, rest) = text.split_once(": ").unwrap();
        assert_eq!(time.len(), 19);
        let expected = "host=n1, jobid=77, xfer=FLUSH_SYNC, procs=8, nodes=4, note=\"node \\\"n2\\\", \
                        a\\\\b\\nend\\x0d\\x1b[31m\\xe2\\x80\\xae\", \
                        from=\"/a b\", to=/c, dset=3, name=\"ck.3\", secs=1.500000, \
                        bytes=2048.000000, files=2, user=ann, jobname=\"my job\", start=";
        let (rest, start) = rest.split_at(expected.len());
        let (start, millis) = start.split_at(19);
        assert_eq!((rest, start.len(), millis), (expected, 19, ", msec=42"));
        assert_eq!(Record::parse(&text).unwrap(), full());
        let short = Record {
            time: 0,
            millis: 0,
            ..Record::now(Event::RunStart)
        };
        let end = ": host=\"\", jobid=\"\", event=RUN_START";
        assert!(short.to_string().ends_with(end));
        let odd = Record {
            time: i64::MAX,
            ..short
        };
        assert!(odd.to_string().ends_with("event=RUN_START"));
    }

    #[test]
    fn a_rate_needs_bytes_and_seconds() {
        assert_eq!(full().rate(), Some(2048.0 / 1.5));
        let none = |secs, bytes| Record {
            secs,
            bytes,
            ..full()
        };
        assert_eq!(none(Some(0.0), Some(1.0)).rate(), None);
        assert_eq!(none(None, Some(1.0)).rate(), None);
        assert_eq!(none(Some(1.0), None).rate(), None);
    }

    /// SCR v3.1.0 escapes nothing.
    #[test]
    fn lines_of_the_c_implementation_are_read() {
        let line = "2026-11-21T00:42:08: host=n1, jobid=77, event=HALT, note=\"node \"n2\" is C:\\off\", \
                    dset=-1, secs=0.250000";
        let read = Record::parse(line).unwrap();
        assert_eq!(read.event, Event::Halt);
        assert_eq!(read.note.as_deref(), Some("node \"n2\" is C:\\off"));
        assert_eq!((read.dset, read.secs), (None, Some(0.25)));
        let line = "2026-11-21T00:42:08: host=n1, jobid=77, event=START, procs=4, nodes=2";
        let read = Record::parse(line).unwrap();
        assert_eq!((read.procs, read.nodes), (Some(4), Some(2)));
    }

    /// Reading ends for any line, and a line that is written from the result reads back the same.
    #[test]
    fn any_text_is_read_or_refused() {
        let full = full().to_string();
        for end in 0..full.len() {
            if let Some(record) = full.get(..end).and_then(Record::parse) {
                assert_eq!(Record::parse(&record.to_string()), Some(record));
            }
        }
        for value in [
            "\"", "\\", "\\x", "\\x4", "\\xzz", "\"\\", "a\", b", "\n", "", "\u{0}", ", x=\"y",
        ] {
            let record = Record {
                note: Some(value.to_string()),
                from: Some(value.to_string()),
                ..Record::now(Event::Halt)
            };
            let text = record.to_string();
            assert_eq!(text.lines().count(), 1);
            assert_eq!(Record::parse(&text).unwrap().note, record.note, "{text}");
            assert_eq!(Record::parse(&text).unwrap().from, record.from, "{text}");
        }
    }
}
