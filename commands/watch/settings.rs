//! What is watched, for how long, and how a job that hangs is ended: options, else parameters.

use super::super::call::Failure;
use super::super::job::Job;
use super::ladder::Ladder;
use scr_jobs::hang::{After, FIRST, Limits, Source, time};
use signal_hook::consts::{SIGHUP, SIGINT, SIGURG, SIGUSR1, SIGUSR2};
use std::time::Duration;

/// Signals that may ask a program for a checkpoint.
const SIGNALS: [(&str, i32); 5] = [
    ("USR1", SIGUSR1),
    ("USR2", SIGUSR2),
    ("HUP", SIGHUP),
    ("INT", SIGINT),
    ("URG", SIGURG),
];

// No doc comment: clap would take it for the help of the command.
#[derive(clap::Args)]
pub(in super::super) struct WatchArgs {
    /// Signs of progress, separated by commas: calls, file=PATH, cpu, command=CMD
    #[arg(long, value_name = "SOURCES")]
    watch: Option<String>,
    /// How long it may go without progress: 600, 10m, 2h, or auto
    #[arg(long, value_name = "TIME")]
    after: Option<String>,
    /// Likewise before the first progress
    #[arg(long, value_name = "TIME")]
    first: Option<String>,
    /// Signal that asks the program for a checkpoint first: USR1, USR2, HUP, INT, URG
    #[arg(long, value_name = "NAME")]
    signal: Option<String>,
}

/// The sources that are watched, and their limits.
#[derive(Clone)]
pub(in super::super) struct WatchSettings {
    pub sources: Vec<Source>,
    pub limits: Limits,
}

impl WatchArgs {
    /// The options, else the parameters. `None` if nothing is to be watched.
    pub fn settings(&self, job: &Job) -> Result<Option<WatchSettings>, Failure> {
        let get = |option: &str, given: &Option<String>, name: &str| match given {
            Some(text) => Some((option.to_string(), text.clone())),
            None => job
                .get(name)
                .filter(|text| !text.trim().is_empty())
                .map(|text| (name.to_string(), text)),
        };
        let after = get("--after", &self.after, "SCR_WATCH_AFTER");
        let after = match after {
            Some((name, text)) => After::parse(&text).map_err(|why| wrong(&name, &why))?,
            None => After::Fixed(AFTER),
        };
        let first = get("--first", &self.first, "SCR_WATCH_FIRST");
        let first = match first {
            Some((name, text)) => time(&text).map_err(|why| wrong(&name, &why))?,
            None => FIRST.max(after.shortest()),
        };
        let Some((name, text)) = get("--watch", &self.watch, "SCR_WATCH") else {
            return match (&self.after, &self.first) {
                (None, None) => Ok(None),
                _ => Err(Failure::said(
                    "--after and --first need --watch, which says what shows progress",
                )),
            };
        };
        let sources = Source::list(&text).map_err(|why| wrong(&name, &why))?;
        let limits = Limits { after, first };
        Ok(Some(WatchSettings { sources, limits }))
    }

    /// The steps by which a job that hangs is ended.
    pub fn ladder(&self, job: &Job) -> Result<Ladder, Failure> {
        let (name, word) = match &self.signal {
            Some(word) => ("--signal", word.clone()),
            None => {
                let word = job.get("SCR_WATCH_SIGNAL").unwrap_or_default();
                ("SCR_WATCH_SIGNAL", word)
            }
        };
        let word = word.trim().to_ascii_uppercase();
        let word = word.strip_prefix("SIG").unwrap_or(&word);
        let known = SIGNALS.iter().find(|(name, _)| *name == word).copied();
        if known.is_none() && !matches!(word, "" | "NONE") {
            let names = SIGNALS.map(|(name, _)| name).join(", ");
            return Err(wrong(
                name,
                &format!("`{word}` is not one of NONE, {names}"),
            ));
        }
        let seconds = |name: &str, usual: u64| -> Result<Duration, Failure> {
            let number = job.number(name)?.and_then(|number| number.try_into().ok());
            Ok(Duration::from_secs(number.unwrap_or(usual)))
        };
        Ok(Ladder {
            signal: known,
            signal_limit: seconds("SCR_WATCH_SIGNAL_SECONDS", 60)?,
            term_limit: seconds("SCR_WATCH_TERM_SECONDS", 30)?,
        })
    }
}

/// Limit if neither an option nor a parameter gives one.
const AFTER: Duration = Duration::from_secs(600);

fn wrong(name: &str, why: &str) -> Failure {
    Failure::said(format!("{name}: {why}"))
}
