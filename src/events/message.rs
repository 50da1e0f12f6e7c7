//! Messages for the user.
//!
//! The library does not print. It gives a [`Message`] to a [`Sink`], such as standard error.

use crate::system::sync::Mutex;
use crate::text::escaped;
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

/// The severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Data are lost, or a call was refused.
    Error,
    /// A problem that does not stop SCR.
    Warning,
    /// The result of a restart, or the reason why the job should stop: worth one line in every job's
    /// output.
    Note,
    /// For `SCR_DEBUG` at this level or higher: level 1 reports the result for each dataset, level
    /// 2 the steps.
    Debug(u8),
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The severity of the message.
    pub severity: Severity,
    /// One line: the event, its dataset, file or node, the reason, and the remedy. The text is escaped
    /// when it is printed.
    pub text: String,
    /// Duration of the event, if that is of interest.
    pub seconds: Option<f64>,
    /// True if the message is about the whole run: the rank that sends it does not matter.
    pub of_run: bool,
}

impl Message {
    /// A message of one rank.
    pub fn new(severity: Severity, text: impl Into<String>) -> Self {
        Message {
            severity,
            text: text.into(),
            seconds: None,
            of_run: false,
        }
    }

    /// A message of the whole run, which rank 0 gives.
    pub fn of_run(severity: Severity, text: impl Into<String>) -> Self {
        Message {
            of_run: true,
            ..Message::new(severity, text)
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&self.text))?;
        match self.seconds {
            Some(seconds) => write!(f, " ({seconds:.3} s)"),
            None => Ok(()),
        }
    }
}

/// The rank that a message comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaker {
    /// Rank in the job.
    pub rank: usize,
    /// The node of the rank.
    pub node: String,
}

/// Receives messages.
pub trait Sink: Send + Sync {
    /// Takes one message. Must not fail and must not block for long.
    fn take(&self, speaker: &Speaker, message: &Message);

    /// Sets the level (`SCR_DEBUG`) up to which debug lines are shown.
    fn set_debug(&self, _level: u8) {}
}

/// Writes errors, warnings and notes to standard error and debug lines to standard output,
/// one line each: `SCR v3.1.0 ERROR: ...` for the run, `SCR v3.1.0 ERROR: rank 2 on n2: ...` for a
/// rank.
#[derive(Debug, Default)]
pub struct Console {
    debug: AtomicU8,
}

impl Sink for Console {
    fn take(&self, speaker: &Speaker, message: &Message) {
        let word = match message.severity {
            Severity::Error => " ERROR",
            Severity::Warning => " WARNING",
            Severity::Note => "",
            Severity::Debug(level) if level <= self.debug.load(Ordering::Relaxed) => "",
            Severity::Debug(_) => return,
        };
        let version = crate::version::INTERFACE;
        let rank = if message.of_run {
            String::new()
        } else {
            format!("rank {} on {}: ", speaker.rank, escaped(&speaker.node))
        };
        let line = format!("SCR {version}{word}: {rank}{message}\n");
        // An error of the console cannot be reported.
        let _ = match message.severity {
            Severity::Debug(_) => std::io::stdout().write_all(line.as_bytes()),
            _ => std::io::stderr().write_all(line.as_bytes()),
        };
    }

    fn set_debug(&self, level: u8) {
        self.debug.store(level, Ordering::Relaxed);
    }
}

/// Keeps all messages, for tests.
#[derive(Debug, Default)]
pub struct Memory {
    lines: Mutex<Vec<String>>,
}

impl Memory {
    /// All messages so far, one line each.
    pub fn lines(&self) -> Vec<String> {
        self.lines
            .lock()
            .map(|lines| lines.clone())
            .unwrap_or_default()
    }
}

impl Sink for Memory {
    fn take(&self, speaker: &Speaker, message: &Message) {
        if let Ok(mut lines) = self.lines.lock() {
            lines.push(format!(
                "{}: {:?}: {message}",
                speaker.rank, message.severity
            ));
        }
    }
}
