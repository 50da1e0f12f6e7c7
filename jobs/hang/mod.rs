//! Decides whether a job hangs, from all sources that can be watched (`scr run --watch`, `scr watch`). The program need
//! not be linked with the library.
//!
//! A job makes progress when any of its sources moves: the count of calls, a file, the answer of a command. The job
//! hangs when no source has moved for the limit. Processor time shows that processes run, not that they get on: a loop
//! without end uses it up, and so do ranks that wait in MPI. So it counts only where nothing else can be read. Then a
//! job hangs when no rank has used processor time for the limit. A job also hangs when one rank is stopped, or waits
//! for a file system, and has used no processor time for the limit. A rank that sleeps while others work may wait for
//! them, and does not hang.
//!
//! A source that cannot be read does not count. If no source can be read, no job hangs.

mod source;
#[cfg(test)]
mod tests;

pub mod watchdog;

pub use source::{AUTO_FLOOR, AUTO_TIMES, After, FIRST, SOURCES, Source, time};

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The time that a job may go without progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The time since the last progress.
    pub after: After,
    /// The time since the beginning, as long as there was no progress.
    pub first: Duration,
}

/// The state of a source when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// The source showed this text. A text that differs from the last one is progress.
    Shows(String),
    /// The source showed this text, which was made since the launch began. So even the first such text is progress.
    Made(String),
    /// This reading is progress, whatever the one before was.
    Moves,
    /// No progress; or, after a first reading, no answer.
    Still,
    /// The processes of the job, by node and process id.
    Processes(BTreeMap<(String, u32), ProcessTime>),
}

/// The processor time of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessTime {
    /// Processor time, in any unit.
    pub ticks: u64,
    /// True if the process is stopped, or waits for a file system. Such a process does not wait for
    /// other ranks.
    pub stuck: bool,
}

/// A slow reading delays the next reading. At most this much of the time of a reading counts as
/// such a delay.
const SLOW_READING: Duration = Duration::from_secs(30);

/// Time without a change. Time in which the watching process or the whole machine was stopped does not
/// count.
#[derive(Debug, Default, Clone, Copy)]
struct Pause(Duration);

/// One source, with its last readings.
#[derive(Debug)]
struct Watched {
    source: Source,
    /// The last text that the source showed.
    shows: Option<String>,
    /// The processes, if the source is [`Source::Cpu`].
    processes: BTreeMap<(String, u32), (ProcessTime, Pause)>,
    pause: Pause,
    /// The longest pause between two moves.
    longest: Duration,
    /// Time at which the last reading of the source began.
    last: Option<Duration>,
    moved: bool,
    /// The reason why the source cannot be read.
    trouble: Option<String>,
    told: bool,
}

/// Watches one launch. All times count from the same moment, whichever it is.
#[derive(Debug)]
pub struct HangWatch {
    limits: Limits,
    watched: Vec<Watched>,
    /// The longest time between two signs of progress of the job.
    longest: Duration,
    /// Time at which the last reading ended.
    now: Duration,
    told_blind: bool,
}

/// A job that hangs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hang {
    /// Time for which the job has made no progress.
    pub pause: Duration,
    /// The limit of that time.
    pub limit: Duration,
    /// The sources that count, each with its last reading.
    pub sources: Vec<String>,
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, limit) = (self.pause.as_secs(), self.limit.as_secs());
        write!(f, "no progress for {seconds} s (limit {limit} s): ")?;
        f.write_str(&self.sources.join("; "))
    }
}

impl HangWatch {
    /// A watch that has seen nothing yet.
    pub fn new(limits: Limits, sources: Vec<Source>) -> Self {
        let watched = sources.into_iter().map(Watched::new).collect();
        HangWatch {
            limits,
            watched,
            longest: Duration::ZERO,
            now: Duration::ZERO,
            told_blind: false,
        }
    }

    /// Time between two readings of a source. To ask all nodes is more work than to look at a file.
    pub fn interval(&self, source: &Source) -> Duration {
        let shortest = self.limits.after.shortest().min(self.limits.first);
        let (part, least, longest) = if source.is_on_nodes() {
            (20, 1000, 60)
        } else {
            (10, 200, 10)
        };
        let least = Duration::from_millis(least);
        (shortest / part).clamp(least, Duration::from_secs(longest))
    }

    /// Takes a reading of the source with this number in the list, which began and ended at these times. Returns a line for
    /// the user if something cannot be read, once for each source and once for all.
    pub fn observe(
        &mut self,
        source: usize,
        (begun, ended): (Duration, Duration),
        reading: Result<Reading, String>,
    ) -> Option<String> {
        self.now = self.now.max(ended);
        let before = self.pause();
        let counted = self.counts(source);
        let interval = self.interval(&self.watched.get(source)?.source);
        let watched = self.watched.get_mut(source)?;
        let slow = interval.max(ended.saturating_sub(begun).min(SLOW_READING));
        let last = watched.last.replace(begun).unwrap_or(begun);
        let passed = begun.saturating_sub(last).min(slow * 2);
        match reading {
            Ok(reading) => {
                let had_moved = watched.moved;
                if watched.take(reading, passed) && counted && had_moved {
                    self.longest = self.longest.max(before.unwrap_or_default() + passed);
                }
                None
            }
            Err(why) => self.cannot_read(source, why),
        }
    }

    fn cannot_read(&mut self, source: usize, why: String) -> Option<String> {
        let watched = self.watched.get_mut(source)?;
        let mut line = None;
        if !std::mem::replace(&mut watched.told, true) {
            line = Some(format!(
                "{} cannot be watched, and does not count: {why}",
                watched.source
            ));
        }
        watched.trouble = Some(why);
        let blind = self.watched.iter().all(|one| one.trouble.is_some());
        if blind && !std::mem::replace(&mut self.told_blind, true) {
            let more = "nothing can be watched now, so a hang would not be noticed";
            line = Some(line.map_or(more.to_string(), |line| format!("{line}; {more}")));
        }
        line
    }

    /// True if progress of this source is progress of the job now.
    fn counts(&self, source: usize) -> bool {
        let readable = |one: &Watched| one.last.is_some() && one.trouble.is_none();
        let is_cpu = |one: &Watched| one.source == Source::Cpu;
        let better = |one: &Watched| readable(one) && !is_cpu(one);
        self.watched
            .get(source)
            .is_some_and(|one| readable(one) && (!is_cpu(one) || !self.watched.iter().any(better)))
    }

    fn counting(&self) -> impl Iterator<Item = &Watched> {
        let numbered = self.watched.iter().enumerate();
        numbered
            .filter(|(number, _)| self.counts(*number))
            .map(|(_, one)| one)
    }

    /// Time for which the job has made no progress; `None` if no source tells it.
    fn pause(&self) -> Option<Duration> {
        self.counting().map(Watched::pause).min()
    }

    /// The limit that holds now. A source that had moved and cannot be read any more may have been the busiest. Then
    /// each other source may take twice its own longest pause.
    pub fn limit(&self) -> Duration {
        let (after, is_known) = match self.limits.after {
            After::Fixed(time) => (time, true),
            // The calls at the begin follow each other quickly. The usual time of a step is known
            // only later.
            After::Auto => (
                AUTO_FLOOR.max(self.longest * AUTO_TIMES),
                self.now >= self.limits.first,
            ),
        };
        if !is_known || !self.counting().any(|one| one.moved) {
            return after.max(self.limits.first);
        }
        let lost = |one: &Watched| one.moved && one.trouble.is_some() && one.source != Source::Cpu;
        if !self.watched.iter().any(lost) {
            return after;
        }
        let longest = self.counting().map(|one| one.longest * 2).max();
        after.max(longest.unwrap_or_default())
    }

    /// The hang of the job; `None` if the job does not hang.
    pub fn hang(&self) -> Option<Hang> {
        let (pause, limit) = (self.pause()?, self.limit());
        (pause > limit).then(|| Hang {
            pause,
            limit,
            sources: self.counting().map(Watched::told).collect(),
        })
    }
}

impl Watched {
    fn new(source: Source) -> Self {
        Watched {
            source,
            shows: None,
            processes: BTreeMap::new(),
            pause: Pause::default(),
            longest: Duration::ZERO,
            last: None,
            moved: false,
            trouble: None,
            told: false,
        }
    }

    /// Takes a reading, `passed` after the last reading. True if the source has moved. The first text of a source
    /// is progress only if the text was made since the launch began.
    fn take(&mut self, reading: Reading, passed: Duration) -> bool {
        self.trouble = None;
        self.pause.0 += passed;
        let moves = match reading {
            Reading::Moves => true,
            Reading::Still => false,
            Reading::Shows(text) => {
                let before = self.shows.replace(text);
                before.is_some() && before != self.shows
            }
            Reading::Made(text) => {
                let before = self.shows.replace(text);
                !self.moved || before != self.shows
            }
            Reading::Processes(now) => self.compare(now, passed),
        };
        if moves {
            if self.moved {
                self.longest = self.longest.max(self.pause.0);
            }
            self.moved = true;
            self.pause.0 = Duration::ZERO;
        }
        moves
    }

    /// True if a process has used processor time, or is new.
    fn compare(&mut self, now: BTreeMap<(String, u32), ProcessTime>, passed: Duration) -> bool {
        let before = std::mem::take(&mut self.processes);
        let mut moves = false;
        for (name, time) in now {
            let pause = match before.get(&name) {
                Some((old, pause)) if old.ticks == time.ticks => Pause(pause.0 + passed),
                known => {
                    moves |= known.is_some() || !before.is_empty();
                    Pause::default()
                }
            };
            self.processes.insert(name, (time, pause));
        }
        moves
    }

    /// Time for which the source has not moved, or for which a stuck process has not moved,
    /// whichever is longer.
    fn pause(&self) -> Duration {
        let stuck = self.processes.values().filter(|(time, _)| time.stuck);
        let longest = stuck.map(|(_, pause)| pause.0).max();
        longest.unwrap_or_default().max(self.pause.0)
    }

    /// The last value of the source, in words.
    fn told(&self) -> String {
        match (&self.source, &self.shows) {
            (Source::Cpu, _) => {
                let idle = |(time, pause): &&(ProcessTime, Pause)| time.stuck && !pause.0.is_zero();
                let stuck = self.processes.values().filter(idle).count();
                let all = self.processes.len();
                match stuck {
                    0 => format!("no process uses processor time (of {all})"),
                    _ => format!("stuck without processor time: {stuck} of {all} processes"),
                }
            }
            (source, Some(shows)) => format!("{source}: {}", excerpt(shows)),
            (source, None) => source.to_string(),
        }
    }
}

/// The beginning of the first line, at most 80 letters.
fn excerpt(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().take(80).collect()
}
