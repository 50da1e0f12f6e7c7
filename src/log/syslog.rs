//! The log in syslog.

use super::record::plain;
use super::{Destination, NotWritten, Origin, Record, Tell};
use crate::Error;
use crate::config::log::SyslogSettings;
use crate::config::syslog::{FACILITIES, FIRST_FACILITY, LEVELS};
use crate::events::Severity;
use crate::job::clock::syslog_time;
use crate::store::beyond_standard;
use crate::system::process;
use crate::text::escaped;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use syslog::{LogFormat, Logger, LoggerBackend};

/// Paths at which the system's syslog listens.
const SOCKETS: [&str; 3] = ["/dev/log", "/var/run/syslog", "/var/run/log"];

/// Time in which syslog must take a message. A daemon that was stopped takes no message when its queue
/// is full.
const ANSWER: Duration = Duration::from_secs(5);

/// The first of these paths that is a socket. Some systems have a directory of logs at one of these
/// paths.
fn first_socket<'a>(paths: &[&'a Path]) -> Option<&'a Path> {
    let is_socket = |path: &&&Path| {
        let found = std::fs::metadata(path);
        found.is_ok_and(|found| found.file_type().is_socket())
    };
    paths.iter().find(is_socket).copied()
}

/// The system's syslog. The connection is our own: openlog(3) would change the messages that the program
/// itself logs.
pub struct Syslog {
    socket: PathBuf,
    /// Facility and level.
    priority: usize,
    tag: String,
    /// User and prefix directory, as SCR v3.1.0 writes them.
    user: String,
    prefix: String,
    connection: Option<Logger<LoggerBackend, Format>>,
}

impl Syslog {
    /// The system's syslog; `None` without one, which is reported if the user has asked for it.
    pub fn find(
        settings: &SyslogSettings,
        origin: &Origin,
        tell: &Tell,
    ) -> Option<Box<dyn Destination>> {
        let socket = first_socket(&SOCKETS.map(Path::new));
        if socket.is_none() && settings.asked {
            let text =
                "SCR_LOG_SYSLOG_ENABLE=1 has no effect: this node has no syslog (no /dev/log)";
            tell(Severity::Warning, text.to_string());
        }
        Some(Box::new(Syslog::at(socket?, settings, origin)))
    }

    fn at(socket: &Path, settings: &SyslogSettings, origin: &Origin) -> Self {
        let place = |words: &[&str], word: &str| words.iter().position(|w| *w == word).unwrap_or(0);
        let facility = place(FACILITIES, &settings.facility) + FIRST_FACILITY;
        Syslog {
            socket: socket.to_path_buf(),
            priority: facility * 8 + place(LEVELS, &settings.level),
            tag: escaped(&settings.prefix).into_owned(),
            user: plain(&origin.user),
            prefix: plain(&origin.prefix.to_string_lossy()),
            connection: None,
        }
    }

    fn send(&mut self, record: &Record) -> syslog::Result<()> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => {
                let format = Format {
                    priority: self.priority,
                    tag: self.tag.clone(),
                };
                let connection = beyond_standard(|| syslog::unix_custom(format, &self.socket))?;
                match &connection.backend {
                    LoggerBackend::Unix(socket) => socket.set_write_timeout(Some(ANSWER))?,
                    LoggerBackend::UnixStream(stream) => {
                        stream.get_ref().set_write_timeout(Some(ANSWER))?;
                    }
                    _ => {}
                }
                self.connection.insert(connection)
            }
        };
        let (user, job, prefix) = (&self.user, plain(&record.job), &self.prefix);
        let text = format!(
            "user={user}, jobid={job}, prefix={prefix}, {}",
            record.fields()
        );
        connection.info(text)
    }
}

impl Destination for Syslog {
    fn name(&self) -> String {
        "the event log in syslog".to_string()
    }

    fn write(&mut self, record: &Record) -> Result<(), NotWritten> {
        self.send(record).map_err(|error| {
            // The daemon may have been started again.
            self.connection = None;
            let error = Error::io(
                "write to",
                &self.socket,
                std::io::Error::other(error.to_string()),
            );
            NotWritten::Now(error)
        })
    }
}

/// The form of RFC 3164.
struct Format {
    priority: usize,
    tag: String,
}

impl LogFormat<String> for Format {
    fn format<W: Write>(
        &self,
        out: &mut W,
        _: syslog::Severity,
        text: String,
    ) -> syslog::Result<()> {
        let (time, tag, process) = (syslog_time(), &self.tag, process::id());
        // One call sends one message.
        let message = format!("<{}>{time} {tag}[{process}]: {text}", self.priority);
        out.write_all(message.as_bytes())?;
        out.flush()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Event;
    use std::os::unix::net::UnixDatagram;

    fn received(socket: &UnixDatagram) -> String {
        let mut bytes = vec![0; 4096];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    #[test]
    fn a_record_is_one_message_of_the_chosen_facility_and_level() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let daemon = UnixDatagram::bind(&path).unwrap();
        let settings = SyslogSettings {
            facility: "LOG_LOCAL7".to_string(),
            level: "LOG_INFO".to_string(),
            prefix: "S\nR".to_string(),
            asked: true,
        };
        let origin = Origin {
            user: "ann".to_string(),
            prefix: "/p/a b".into(),
            ..Origin::default()
        };
        let mut log = Syslog::at(&path, &settings, &origin);
        let mut record = Record::now(Event::Halt).note("a\n<0>b \"c\"\u{1b}");
        record.job = "7".to_string();
        log.write(&record).unwrap();
        let text = received(&daemon);
        // local7 is 23, info is 6.
        let start = format!("<190>{}", &syslog_time()[..6]);
        assert!(text.starts_with(&start), "{text}");
        let end = format!(
            " S\\x0aR[{}]: user=ann, jobid=7, prefix=\"/p/a b\", event=HALT, \
             note=\"a\\n<0>b \\\"c\\\"\\x1b\"",
            process::id()
        );
        assert!(text.ends_with(&end), "{text}");

        // The daemon ends, and is started again.
        drop(daemon);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(log.write(&record), Err(NotWritten::Now(_))));
        let daemon = UnixDatagram::bind(&path).unwrap();
        log.write(&record).unwrap();
        assert!(received(&daemon).ends_with(&end));
    }

    #[test]
    fn a_directory_of_logs_is_no_socket() {
        let dir = tempfile::tempdir().unwrap();
        let (logs, file, socket) = (dir.path(), dir.path().join("f"), dir.path().join("s"));
        std::fs::write(&file, "").unwrap();
        let _daemon = UnixDatagram::bind(&socket).unwrap();
        let missing = dir.path().join("missing");
        assert_eq!(first_socket(&[logs, &file, &missing]), None);
        assert_eq!(
            first_socket(&[&missing, logs, &file, &socket]),
            Some(&*socket)
        );
    }

    /// Nobody reads the messages, as of a daemon that was stopped: the queue of the system fills up.
    #[test]
    fn a_syslog_that_does_nothing_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let _daemon = UnixDatagram::bind(&path).unwrap();
        let settings = SyslogSettings {
            facility: "LOG_LOCAL7".to_string(),
            level: "LOG_INFO".to_string(),
            prefix: String::new(),
            asked: true,
        };
        let mut log = Syslog::at(&path, &settings, &Origin::default());
        let record = Record::now(Event::Halt);
        let mut written = 0;
        while log.write(&record).is_ok() {
            written += 1;
            assert!(written < 1_000_000, "the queue has no end");
        }
    }

    #[test]
    fn each_facility_and_level_has_its_number() {
        let priority = |facility: &str, level: &str| {
            let settings = SyslogSettings {
                facility: facility.to_string(),
                level: level.to_string(),
                prefix: String::new(),
                asked: true,
            };
            Syslog::at(Path::new("/"), &settings, &Origin::default()).priority
        };
        assert_eq!(priority("LOG_USER", "LOG_EMERG"), libc::LOG_USER as usize);
        assert_eq!(
            priority("LOG_LOCAL0", "LOG_DEBUG"),
            (libc::LOG_LOCAL0 | libc::LOG_DEBUG) as usize
        );
        assert_eq!(
            priority("LOG_AUTHPRIV", "LOG_ERR"),
            (libc::LOG_AUTHPRIV | libc::LOG_ERR) as usize
        );
    }
}
