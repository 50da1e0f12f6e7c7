//! The events of a launch, from the event logs.

use scr_engine::events::Event;
use scr_engine::log::Record;
use std::collections::BTreeMap;

/// A checkpoint in the log.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checkpoint {
    pub name: String,
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

    /// The checkpoints of all sessions.
    pub fn completed(&self) -> impl Iterator<Item = &Checkpoint> {
        self.0.values().flat_map(|seen| &seen.completed)
    }
}

/// The events of a session in a launch.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Seen {
    /// True if the session called SCR_Init, or SCR_Session_init.
    pub begun: bool,
    /// True if the session called SCR_Finalize, or SCR_Session_finalize.
    pub finalized: bool,
    pub completed: Vec<Checkpoint>,
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
        let mut started = 0.0;
        for record in records {
            let name = || record.name.clone().unwrap_or_default();
            let note = || record.note.clone().unwrap_or_default();
            match record.event {
                Event::Start => seen.begun = true,
                Event::End => seen.finalized = true,
                Event::CheckpointStart => started = record.at(),
                Event::CheckpointEnd => seen.completed.push(Checkpoint {
                    name: name(),
                    begun: started,
                    at: record.at(),
                }),
                Event::CheckpointFail => seen.failed.push((name(), note())),
                Event::FetchSuccess => {
                    seen.offered = Some((name(), "from the prefix directory".into()));
                }
                Event::RebuildSuccess => {
                    let how = match note() {
                        note if note.is_empty() => "from the cache".to_string(),
                        note => format!("from the cache: {note}"),
                    };
                    seen.offered = Some((name(), how));
                }
                Event::RebuildFail | Event::FetchFail => {
                    seen.not_brought_back
                        .push(format!("{}: {}", name(), note()));
                }
                Event::RestartEnd => {
                    let from = seen
                        .offered
                        .as_ref()
                        .filter(|(offered, _)| *offered == name());
                    seen.restart = Some(Restart {
                        name: name(),
                        at: record.at(),
                        why_not: record.note.clone(),
                        from: from.map_or(String::new(), |(_, how)| how.clone()),
                    });
                }
                _ => {}
            }
        }
        seen
    }
}
