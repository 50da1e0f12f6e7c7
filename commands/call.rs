//! The output and the result of one invocation of a command.

use super::terminal::{Line, Screen};
use scr_engine::store::Unkept;
use scr_engine::text::{escaped, escaped_lines};
use scr_engine::{Error, version};
use std::fmt::{self, Display};
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};
use std::process::ExitCode;

/// The reason why a command failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// A message for the user; exit status 1.
    Said(String),
    /// Wrong options, or a request for help, as clap reports them.
    Arguments(Box<clap::Error>),
}

impl Failure {
    /// A message.
    pub fn said(text: impl Into<String>) -> Self {
        Failure::Said(text.into())
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Said(text) => f.write_str(text),
            Failure::Arguments(error) => error.fmt(f),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Said(error.to_string())
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Failure::Arguments(Box::new(error))
    }
}

/// Only writing to standard output gives a plain I/O error here; all others name a file.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Said(format!("cannot write to standard output: {error}"))
    }
}

/// A running command.
pub(super) struct Invocation {
    /// The name by which the command was called: classic, or that of the subcommand.
    pub name: &'static str,
    /// Standard output.
    pub out: Out,
    /// True to print steps, see [`Invocation::step`].
    pub verbose: bool,
    /// Attributes of written files that file systems have refused to keep. They are reported when the command ends.
    pub unkept: Unkept,
    classic: bool,
}

impl Invocation {
    pub fn classic(name: &'static str) -> Self {
        Invocation {
            name,
            out: Out::default(),
            verbose: false,
            unkept: Unkept::default(),
            classic: true,
        }
    }

    pub fn subcommand(name: &'static str) -> Self {
        Invocation {
            classic: false,
            ..Invocation::classic(name)
        }
    }

    /// Prints a step of the work on standard output, after the classic name of the command, if the
    /// user asked for steps.
    pub fn step(&mut self, text: &dyn Display) -> io::Result<()> {
        if !self.verbose {
            return Ok(());
        }
        let name = self.name.strip_prefix("scr_").unwrap_or(self.name);
        writeln!(self.out, "scr_{}: {text}", name.replace('-', "_"))?;
        // The step may take long.
        self.out.flush()
    }

    /// Prints lines for people, see [`terminal`](super::terminal).
    pub fn show(&mut self, lines: &[Line]) -> io::Result<()> {
        let text = Screen::of_process().text(lines);
        self.out.write_all(text.as_bytes())
    }

    /// Prints an error on standard error, in the form of the serial commands of SCR v3.1.0. A failure
    /// to print cannot be reported.
    pub fn error(&mut self, text: &dyn Display) {
        self.say("ERROR", text);
    }

    /// Like [`Invocation::error`], for a problem that does not stop the command.
    pub fn warn(&mut self, text: &dyn Display) {
        self.say("WARNING", text);
    }

    fn say(&mut self, kind: &str, text: &dyn Display) {
        // Keeps the order if both streams go to one terminal.
        let _ = self.out.flush();
        let text = text.to_string();
        let text = escaped(&text);
        let line = match (self.classic, self.name, kind) {
            (true, ..) => format!("SCR {} {kind}: {}: {text}\n", version::INTERFACE, host()),
            (_, "scr", "ERROR") => format!("scr: {text}\n"),
            (_, name, "ERROR") => format!("scr {name}: {text}\n"),
            (_, name, _) => format!("scr {name}: warning: {text}\n"),
        };
        let _ = io::stderr().write_all(line.as_bytes());
    }

    /// Ends the call: flushes the output and reports a failure. `definition` is the parser of the
    /// arguments.
    pub fn end(mut self, outcome: super::Outcome, definition: &mut clap::Command) -> ExitCode {
        let flushed = self.out.flush().map_err(Failure::from);
        match outcome.and_then(|code| flushed.map(|()| code)) {
            Ok(code) => code,
            Err(Failure::Said(text)) => {
                self.error(&text);
                ExitCode::FAILURE
            }
            Err(Failure::Arguments(error)) => {
                let text = error.to_string();
                let shown = escaped_lines(&text);
                // A failure to print cannot be reported.
                let _ = if shown == text {
                    error.print()
                } else {
                    io::stderr().write_all(shown.as_bytes())
                };
                // clap does not show the usage for a wrong value.
                if error.use_stderr() && !text.contains("Usage:") {
                    let usage = definition.render_usage().to_string();
                    let _ = io::stderr().write_all(format!("\n{usage}\n").as_bytes());
                }
                ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
            }
        }
    }
}

/// This node's name in messages.
fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// Standard output. If its reader has ended (`| head`), the rest is dropped. The command still does
/// its work, with the same exit status.
pub(super) struct Out {
    stream: BufWriter<Stdout>,
    gone: bool,
}

impl Default for Out {
    fn default() -> Self {
        Out {
            stream: BufWriter::new(io::stdout()),
            gone: false,
        }
    }
}

impl Out {
    fn unless_gone<T>(
        &mut self,
        instead: T,
        write: impl FnOnce(&mut BufWriter<Stdout>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.gone {
            return Ok(instead);
        }
        match write(&mut self.stream) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(instead)
            }
            other => other,
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_gone(bytes.len(), |stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_gone((), |stream| stream.flush())
    }
}
