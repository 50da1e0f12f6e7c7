//! The events of a launch, from the event logs.

use scr_engine::events::Event;
use scr_engine::log::Record;
use std::collections::BTreeMap;
use std::fmt;

/// A checkpoint in the log.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Checkpoint {
    pub name: String,
    pub id: Option<u64>,
    /// Times at which it began and was complete, seconds since the epoch.
    pub begun: f64,
    pub at: f64,
}

/// A restart of the program from a checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Restart {
    pub name: String,
    /// Time at which it was read, seconds since the epoch.
    pub at: f64,
    /// The reason why a rank could not read it.
    pub why_not: Option<String>,
    /// The way in which the checkpoint was brought back.
    pub from: String,
}

/// The last thing that a launch was seen to do.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Phase {
    /// It has not come to SCR_Init.
    #[default]
    Nothing,
    /// It has begun, and neither read nor written a checkpoint.
    Start,
    /// A checkpoint is brought back.
    BringingBack,
    Reading(String),
    Restarted(String),
    Writing(String),
    Written(String),
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Phase::Nothing => f.write_str("before it began"),
            Phase::Start => f.write_str("before a checkpoint"),
            Phase::BringingBack => f.write_str("while a checkpoint was brought back"),
            Phase::Reading(name) => write!(f, "while it read {name}"),
            Phase::Restarted(name) => write!(f, "after it had read {name}"),
            Phase::Writing(name) => write!(f, "in {name}"),
            Phase::Written(name) => write!(f, "after {name}"),
        }
    }
}

/// The events of a launch, by session. The session of SCR_Init has no name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sessions(pub BTreeMap<String, Seen>);

impl Sessions {
    pub fn of(&self, name: &str) -> Option<&Seen> {
        self.0.get(name)
    }

    /// The sessions that have begun: their names and events.
    pub fn begun(&self) -> impl Iterator<Item = (&str, &Seen)> {
        let begun = self.0.iter().filter(|(_, seen)| seen.begun);
        begun.map(|(name, seen)| (name.as_str(), seen))
    }

    /// The last phase of all sessions.
    pub fn phase(&self) -> Phase {
        let all = self.0.values().map(|seen| &seen.phase);
        let last = all.max_by(|(_, a), (_, b)| a.total_cmp(b));
        last.map(|(phase, _)| phase.clone()).unwrap_or_default()
    }

    /// The time at which checkpoint `number` of all sessions began.
    pub fn begin_of(&self, number: usize) -> Option<f64> {
        let all = self.0.values().flat_map(|seen| seen.starts.iter().copied());
        nth(all, number)
    }

    /// The time at which checkpoint `number` of all sessions was complete.
    pub fn end_of(&self, number: usize) -> Option<f64> {
        nth(self.completed().map(|one| one.at), number)
    }

    /// The checkpoints of all sessions.
    pub fn completed(&self) -> impl Iterator<Item = &Checkpoint> {
        self.0.values().flat_map(|seen| &seen.completed)
    }
}

/// The time of this number, from 1 on.
fn nth(times: impl Iterator<Item = f64>, number: usize) -> Option<f64> {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times.get(number.checked_sub(1)?).copied()
}

/// The events of a session in a launch.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Seen {
    /// It called SCR_Init, or SCR_Session_init, at this time.
    pub begun: bool,
    pub begun_at: f64,
    /// It called SCR_Finalize, or SCR_Session_finalize.
    pub finalized: bool,
    pub completed: Vec<Checkpoint>,
    /// Times at which checkpoints began.
    pub starts: Vec<f64>,
    /// Times at which it began to bring a checkpoint back, and to read one.
    pub bringing_back: Option<f64>,
    pub reading: Option<f64>,
    /// What it did last, and since when.
    pub phase: (Phase, f64),
    /// Checkpoints that could not be completed: names and reasons.
    pub failed: Vec<(String, String)>,
    /// The checkpoint that was brought back, if there was one: name and how.
    pub offered: Option<(String, String)>,
    /// The reasons why checkpoints could not be brought back.
    pub not_brought_back: Vec<String>,
    pub restart: Option<Restart>,
}

impl Seen {
    pub fn of(records: &[Record]) -> Self {
        let mut seen = Seen::default();
        for record in records {
            seen.add_phase(record);
            seen.add(record);
        }
        seen
    }

    fn add_phase(&mut self, record: &Record) {
        let name = || record.name.clone().unwrap_or_default();
        let phase = match record.event {
            Event::Start => Phase::Start,
            Event::CheckpointStart => {
                self.starts.push(record.at());
                Phase::Writing(name())
            }
            Event::CheckpointEnd | Event::CheckpointFail => Phase::Written(name()),
            Event::FetchStart | Event::RebuildStart => {
                self.bringing_back.get_or_insert(record.at());
                Phase::BringingBack
            }
            Event::RestartStart => {
                self.reading.get_or_insert(record.at());
                Phase::Reading(name())
            }
            Event::RestartEnd => Phase::Restarted(name()),
            _ => return,
        };
        self.phase = (phase, record.at());
    }

    fn add(&mut self, record: &Record) {
        let name = || record.name.clone().unwrap_or_default();
        let note = || record.note.clone().unwrap_or_default();
        match record.event {
            Event::Start => (self.begun, self.begun_at) = (true, record.at()),
            Event::End => self.finalized = true,
            Event::CheckpointEnd => self.completed.push(Checkpoint {
                name: name(),
                id: record.dset,
                begun: self.starts.last().copied().unwrap_or(0.0),
                at: record.at(),
            }),
            Event::CheckpointFail => self.failed.push((name(), note())),
            Event::FetchSuccess => {
                self.offered = Some((name(), "from the prefix directory".into()));
            }
            Event::RebuildSuccess => {
                let how = match note() {
                    note if note.is_empty() => "from the cache".to_string(),
                    note => format!("from the cache: {note}"),
                };
                self.offered = Some((name(), how));
            }
            Event::RebuildFail | Event::FetchFail => {
                self.not_brought_back
                    .push(format!("{}: {}", name(), note()));
            }
            Event::RestartEnd => {
                let offered = self.offered.as_ref();
                let from = offered.filter(|(offered, _)| *offered == name());
                self.restart = Some(Restart {
                    name: name(),
                    at: record.at(),
                    why_not: record.note.clone(),
                    from: from.map_or(String::new(), |(_, how)| how.clone()),
                });
            }
            _ => {}
        }
    }
}
