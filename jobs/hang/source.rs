//! The words of `--watch`, `--after` and `--first`: the sources to watch, and the time for which they may stand still.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The words of [`Source::list`], for messages.
pub const SOURCES: &str = "calls, file=PATH, cpu or command=CMD";

/// The sources of signs of progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Calls of the library, which it counts in the control directory of each node.
    Calls,
    /// Size and time of a file, which may not exist yet.
    File(PathBuf),
    /// The processor time that the ranks have used.
    Cpu,
    /// The answer of a command.
    Command(String),
}

impl Source {
    /// The sources that a list names, separated by commas. A command is the last source, since all text after it is
    /// part of it.
    ///
    /// # Errors
    /// A word is unknown, or names nothing. The text says which.
    pub fn list(text: &str) -> Result<Vec<Source>, String> {
        let mut sources = Vec::new();
        let mut rest = Some(text.trim());
        while let Some(left) = rest {
            let (word, more) = match left.split_once(',') {
                Some((word, more)) if !left.starts_with("command=") => (word.trim(), Some(more)),
                _ => (left.trim(), None),
            };
            let source = Source::named(word)?;
            if !sources.contains(&source) {
                sources.push(source);
            }
            rest = more.map(str::trim_start);
        }
        Ok(sources)
    }

    /// True if each node of the job must be asked.
    pub fn is_on_nodes(&self) -> bool {
        matches!(self, Source::Calls | Source::Cpu)
    }

    fn named(word: &str) -> Result<Source, String> {
        match word.split_once('=') {
            Some((kind @ ("file" | "command"), "")) => {
                Err(format!("`{kind}=` names nothing to watch"))
            }
            Some(("file", path)) => Ok(Source::File(path.into())),
            Some(("command", command)) => Ok(Source::Command(command.to_string())),
            None if word == "calls" => Ok(Source::Calls),
            None if word == "cpu" => Ok(Source::Cpu),
            _ => Err(format!("`{word}` cannot be watched; use {SOURCES}")),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Calls => f.write_str("calls of the library"),
            Source::File(path) => write!(f, "file {}", path.display()),
            Source::Cpu => f.write_str("processor time of the ranks"),
            Source::Command(command) => write!(f, "command {command}"),
        }
    }
}

/// Time that a job may go without progress after its first progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The limit is this time.
    Fixed(Duration),
    /// A multiple of the longest pause so far, see [`AUTO_TIMES`] and [`AUTO_FLOOR`].
    Auto,
}

/// The limit of [`After::Auto`] is this many times the longest pause.
pub const AUTO_TIMES: u32 = 5;

/// The limit of [`After::Auto`] is at least this.
pub const AUTO_FLOOR: Duration = Duration::from_secs(600);

/// The limit before the first progress, if the user sets none and the other limit is not longer.
pub const FIRST: Duration = Duration::from_secs(1800);

impl After {
    /// A time, or `auto`.
    ///
    /// # Errors
    /// The errors of [`time`].
    pub fn parse(text: &str) -> Result<After, String> {
        match text.trim() {
            "auto" => Ok(After::Auto),
            text => time(text).map(After::Fixed),
        }
    }

    /// The least that it can be.
    pub fn shortest(self) -> Duration {
        match self {
            After::Fixed(time) => time,
            After::Auto => AUTO_FLOOR,
        }
    }
}

/// The time that `90`, `90s`, `10m` or `2h` means.
///
/// # Errors
/// The text is not a time, or the time is 0, or more than a year. The text says so.
pub fn time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) if text.ends_with('m') => (number, 60),
        Some(number) if text.ends_with('h') => (number, 3600),
        Some(number) => (number, 1),
        None => (text, 1),
    };
    let seconds = number.parse::<u64>().ok();
    match seconds.and_then(|number| number.checked_mul(unit)) {
        Some(0) => Err(format!(
            "`{text}` is no time: a limit of 0 would end each job at once"
        )),
        Some(seconds) if seconds <= 366 * 86400 => Ok(Duration::from_secs(seconds)),
        _ => Err(format!(
            "`{text}` is no time; write seconds, or a number with s, m or h, such as 10m"
        )),
    }
}
