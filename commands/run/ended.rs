//! A launch that has ended, and one that hangs.

use super::super::call::Failure;
use super::super::job::Job;
use super::super::stacks::Stacks;
use super::child::NoProgress;
use scr_engine::events::Event;
use scr_engine::log::Record;
use scr_jobs::health::Down;
use scr_jobs::launcher::Launcher;
use std::cell::RefCell;

/// A launch that has ended.
pub(super) struct EndedLaunch {
    pub number: u64,
    pub nodes: Vec<String>,
    pub code: i32,
    pub hung: bool,
    pub seconds: f64,
    /// The newest dataset when the launch began.
    pub before: u64,
    pub no_progress: Option<NoProgress>,
    /// Nodes that did not answer when the ranks were looked at.
    pub silent: Vec<String>,
}

impl EndedLaunch {
    /// The records of the launch's end for the event log, with the time of now.
    pub fn records(&self) -> Vec<Record> {
        let hang = self.no_progress.as_ref().map(|NoProgress { why, pause }| {
            let mut hang = Record::now(Event::Hang).note(why.as_str());
            hang.secs = Some(pause.as_secs_f64());
            hang
        });
        let mut end = Record::now(Event::RunEnd).note(format!("run={}", self.number));
        end.secs = Some(self.seconds);
        hang.into_iter().chain([end]).collect()
    }
}

/// Nodes that were lost while the ranks were looked at.
pub(super) fn down_of(nodes: Vec<String>) -> Vec<Down> {
    let down = |node| Down {
        node,
        reason: "it did not answer when its ranks were looked at".to_string(),
    };
    nodes.into_iter().map(down).collect()
}

/// The state of the ranks of launch `number`, in lines; all known facts are written to a file in the prefix directory.
/// Nodes that do not answer are added to `lost`.
pub(super) fn ranks_of_hung(
    job: &Job,
    launcher: &Launcher,
    nodes: &[String],
    number: u64,
    lost: &RefCell<Vec<String>>,
) -> Vec<String> {
    let found = match Stacks::collect(job, Some(launcher), nodes) {
        Ok(found) => found,
        Err(Failure::Said(text)) => return vec![format!("what its ranks do is not known: {text}")],
        Err(_) => return Vec::new(),
    };
    lost.borrow_mut().extend_from_slice(found.lost_nodes());
    found.tell(job, &format!("stacks.{number}.txt"))
}
