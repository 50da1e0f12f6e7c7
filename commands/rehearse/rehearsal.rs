//! Both runs of a rehearsal, their mistakes, and the output of the program.

use super::super::fields::value::Distance;
use super::checkpoints::{self, Checkpoints};
use super::results::Difference;
use super::seen::Seen;
use super::stage::Launch;
use scr_engine::text::excerpt;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A file with results in both runs.
pub(super) struct Comparison {
    pub file: PathBuf,
    /// The difference that counts, if there is one.
    pub other: Option<Difference>,
}

/// The differences of two undisturbed runs, in what also differs after the kills.
#[derive(Default)]
pub(super) struct Unsteady {
    /// Files and parts that cannot be compared.
    pub files: Vec<PathBuf>,
    pub parts: BTreeSet<checkpoints::Part>,
    /// The distances of files and parts in which only numbers differ.
    pub tolerances: BTreeMap<String, Distance>,
}

/// A run whose launches are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    Struck,
    /// Its launches are made by scr run.
    Relaunched,
    Repaired,
}

impl Run {
    /// The name of its directory.
    pub fn name(self) -> &'static str {
        match self {
            Run::Struck => "struck",
            Run::Relaunched => "relaunched",
            Run::Repaired => "repaired",
        }
    }
}

/// A launch in words. `number`: from 1 on.
pub(super) fn title(run: Run, number: usize) -> String {
    match run {
        Run::Struck => format!("launch {number}"),
        Run::Relaunched => format!("launch {number} of scr run"),
        Run::Repaired if number == 1 => "repair".into(),
        Run::Repaired => "the launch after the kill".into(),
    }
}

/// True for what came after the kill of a rank if the program has not repaired its sessions.
pub(super) fn ended_with_rank(run: Run, launch: &Launch) -> bool {
    run == Run::Repaired && launch.kill.is_none() && launch.seen.begun().next().is_none()
}

/// A part of the rehearsal that is a run of its own.
pub(super) enum Part {
    Tried(Box<Rehearsal>),
    /// The reason why not.
    NotTried(String),
}

impl Part {
    pub fn tried(&self) -> Option<&Rehearsal> {
        match self {
            Part::Tried(rehearsal) => Some(rehearsal),
            Part::NotTried(_) => None,
        }
    }

    fn tried_mut(&mut self) -> Option<&mut Rehearsal> {
        match self {
            Part::Tried(rehearsal) => Some(rehearsal),
            Part::NotTried(_) => None,
        }
    }
}

/// Both runs.
pub(super) struct Rehearsal {
    pub run: Run,
    pub undisturbed: Launch,
    /// Files that its checkpoints have written, but not where SCR_Route_file said.
    pub outside: Vec<PathBuf>,
    /// The launches of the disturbed run.
    pub launches: Vec<Launch>,
    pub compared: Vec<Comparison>,
    /// The checkpoints after the first kill, without the parts in `unsteady`.
    pub checkpoints: Checkpoints,
    /// The differences of two undisturbed runs.
    pub unsteady: Unsteady,
    /// A tolerance was given by hand.
    pub tolerant: bool,
    /// The text that the program prints when it goes on from a checkpoint of its own.
    pub says: Option<String>,
    /// Launches by scr run: another disturbed run.
    pub relaunched: Part,
    /// A launch that goes on after a kill.
    pub repaired: Part,
    /// Seconds of the whole rehearsal.
    pub seconds: f64,
}

/// The reason why a part was not tried if the rehearsal has ended before.
const NOT_TRIED: &str = "a launch had another end than it should";

impl Rehearsal {
    /// With nothing but the undisturbed run.
    pub fn new(undisturbed: Launch, tolerant: bool, says: Option<String>) -> Self {
        Rehearsal {
            run: Run::Struck,
            undisturbed,
            outside: Vec::new(),
            launches: Vec::new(),
            compared: Vec::new(),
            checkpoints: Checkpoints::default(),
            unsteady: Unsteady::default(),
            tolerant,
            says,
            relaunched: Part::NotTried(NOT_TRIED.into()),
            repaired: Part::NotTried(NOT_TRIED.into()),
            seconds: 0.0,
        }
    }

    /// True if this run or one of its parts has computed something else.
    pub fn any_differs(&self) -> bool {
        self.differs() || self.parts().any(Rehearsal::differs)
    }

    /// The parts that were tried.
    pub fn parts(&self) -> impl Iterator<Item = &Rehearsal> {
        let parts = [&self.relaunched, &self.repaired];
        parts.into_iter().filter_map(Part::tried)
    }

    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Rehearsal> {
        let parts = [&mut self.relaunched, &mut self.repaired];
        parts.into_iter().filter_map(Part::tried_mut)
    }

    /// True if the restarted run has computed something else.
    pub fn differs(&self) -> bool {
        self.compared.iter().any(|one| one.other.is_some()) || !self.checkpoints.others.is_empty()
    }

    /// True if a file or checkpoint that was to be compared differs whenever the program is run.
    pub fn is_not_reproducible(&self) -> bool {
        let without_parts = !self.unsteady.parts.is_empty() && self.compares_nothing();
        !self.unsteady.files.is_empty() || without_parts
    }

    /// True if no launch has written a checkpoint after its restart, though the program writes several: the kills came after
    /// the last one. Then too little was computed after a restart to prove anything.
    pub fn restarts_from_the_last_only(&self) -> bool {
        let mut sessions = self
            .launches
            .iter()
            .flat_map(|launch| launch.seen.0.values());
        let went_on = |seen: &Seen| {
            let restart = seen.restart.as_ref();
            restart.is_some_and(|restart| seen.completed.iter().any(|one| one.at > restart.at))
        };
        self.undisturbed.seen.completed().count() > 1 && !sessions.any(went_on)
    }

    /// True if neither results nor checkpoints could be compared.
    pub fn compares_nothing(&self) -> bool {
        self.compared.is_empty() && self.checkpoints.parts.is_empty()
    }
}

/// The verdict on all launches, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Recovered,
    /// Numbers differ no more than in two undisturbed runs, or than the user allows.
    WithinTolerance,
    NotProven,
    NotRecovered,
}

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Recovered => "RECOVERED",
            Verdict::WithinTolerance => "RECOVERED within a tolerance",
            Verdict::NotProven => "NOT PROVEN",
            Verdict::NotRecovered => "NOT RECOVERED",
        }
    }
}

/// A mistake of the program, and its remedy.
#[derive(Debug, PartialEq)]
pub(super) struct Finding {
    pub what: String,
    pub remedy: &'static str,
}

/// The first error or warning that SCR has printed.
pub(super) fn message_of_scr(launch: &Launch) -> Option<String> {
    let text = output(launch);
    let mut lines = text.lines().filter(|line| line.starts_with("SCR "));
    let message = lines.find_map(|line| {
        let words = line
            .split_once(" ERROR: ")
            .or(line.split_once(" WARNING: "))?;
        Some(words.1)
    });
    message.map(|words| excerpt(words, 400))
}

pub(super) fn output(launch: &Launch) -> String {
    output_in(&launch.log)
}

fn output_in(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The line of the output that tells most, for a message.
pub(super) fn last_words(launch: &Launch) -> String {
    last_words_in(&launch.log)
}

/// Likewise, of the output in this file.
pub(super) fn last_words_in(log: &Path) -> String {
    let text = output_in(log);
    let telling = telling_line(&text).map(|line| format!(": {}", excerpt(line, 200)));
    format!(
        "{} (output in {})",
        telling.unwrap_or_default(),
        log.display()
    )
}

/// The last line, or the first one in the frame that an output ends with: launchers put their messages between two lines
/// of dashes.
pub(super) fn telling_line(text: &str) -> Option<&str> {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let is_rule = |line: &&str| !line.contains(char::is_alphanumeric);
    let (last, before) = lines.split_last()?;
    if !is_rule(last) {
        return Some(last);
    }
    let framed = before.rsplit(is_rule).find(|part| !part.is_empty())?;
    framed.first().copied()
}
