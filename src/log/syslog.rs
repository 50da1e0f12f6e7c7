//! The log in syslog.

use super::record::plain;
use super::{Destination, NotWritten, Origin, Record, Tell};
use crate::Error;
use crate::config::log::{FACILITIES, FIRST_FACILITY, LEVELS, SyslogSettings};
use crate::events::Severity;
use crate::job::clock::syslog_time;
use crate::text::escaped;
use std::io::Write;
use syslog::{LogFormat, Logger, LoggerBackend};

/// Where the system's syslog listens.
const SOCKETS: [&str; 3] = ["/dev/log", "/var/run/syslog", "/var/run/log"];

/// The system's syslog. The connection is our own: openlog(3) would change what the program itself logs.
pub struct Syslog {
    socket: &'static str,
    /// Facility and level.
    priority: usize,
    tag: String,
    /// User and prefix directory, as SCR v3.1.0 writes them.
    user: String,
    prefix: String,
    connection: Option<Logger<LoggerBackend, Format>>,
}

impl Syslog {
    /// The system's syslog; `None` if there is none, which is told if the user has asked for it.
    pub fn find(
        settings: &SyslogSettings,
        origin: &Origin,
        tell: &Tell,
    ) -> Option<Box<dyn Destination>> {
        let place = |words: &[&str], word: &str| words.iter().position(|w| *w == word).unwrap_or(0);
        let facility = place(FACILITIES, &settings.facility) + FIRST_FACILITY;
        let sockets = SOCKETS.iter().copied();
        let socket = sockets
            .clone()
            .find(|path| std::path::Path::new(path).exists());
        if socket.is_none() && settings.asked {
            let text =
                "SCR_LOG_SYSLOG_ENABLE=1 has no effect: this node has no syslog (no /dev/log)";
            tell(Severity::Warning, text.to_string());
        }
        Some(Box::new(Syslog {
            socket: socket?,
            priority: facility * 8 + place(LEVELS, &settings.level),
            tag: escaped(&settings.prefix).into_owned(),
            user: plain(&origin.user),
            prefix: plain(&origin.prefix.to_string_lossy()),
            connection: None,
        }))
    }

    fn send(&mut self, record: &Record) -> syslog::Result<()> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => {
                let format = Format {
                    priority: self.priority,
                    tag: self.tag.clone(),
                };
                let connection = syslog::unix_custom(format, self.socket)?;
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
                self.socket,
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
        let (time, tag, process) = (syslog_time(), &self.tag, std::process::id());
        // One call, which is one message.
        let message = format!("<{}>{time} {tag}[{process}]: {text}", self.priority);
        out.write_all(message.as_bytes())?;
        out.flush()?;
        Ok(())
    }
}
