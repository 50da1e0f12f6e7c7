//! Copying cached datasets to the prefix directory: after an output, after a recovery, at the end.
//!
//! Every flush takes the same way: [`begin`] announces the dataset in the prefix directory and starts the
//! copy, and [`end`] notes the result. The ways differ in the copying processes: all ranks, while the
//! program waits, or the leaders' threads and daemons, while it goes on; see [`background`].

pub(super) mod background;
pub(super) mod begin;
pub(super) mod checksums;
pub(super) mod chores;
mod end;
pub(super) mod finish;
pub(super) mod for_room;
mod outcome;
pub(super) mod poststage;
pub(super) mod transfer;
pub(super) mod window;

use crate::Result;
use crate::comm::VerdictExt;
use crate::config::settings::FlushType;
use crate::events::Event;
use crate::session::datasets::cached::{CachedDataset, CachedDatasets, due_at_end};
use crate::session::datasets::location::Location;
use crate::session::datasets::other_ranks::OtherRanks;
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::datasets::search::RestartSearch;
use crate::session::flush::chores::Background;
use crate::session::run::Run;
use crate::session::statistics::Statistics;
use crate::session::wait_for::WaitFor;

/// The parts of the session that a flush may use and change.
pub(super) struct Flush<'a> {
    pub run: &'a Run,
    pub cached: &'a mut CachedDatasets,
    pub search: &'a mut RestartSearch,
    pub other_ranks: &'a OtherRanks,
    pub statistics: &'a mut Statistics,
    pub background: &'a mut Background,
}

/// The way in which the files of a dataset come to the prefix directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The program has written them there (bypass). The flush certifies them while the program waits.
    InPlace,
    /// All ranks copy their files while the program waits.
    Waited,
    /// The files are copied while the program goes on.
    Background(Copiers),
}

/// The threads or daemons that copy files in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copiers {
    /// Threads of the leaders.
    Threads,
    /// The transfer daemons, and threads on nodes without a daemon.
    Daemon,
}

impl Way {
    /// The events of a start, of success and of failure.
    fn events(self) -> [Event; 3] {
        match self {
            Way::InPlace | Way::Waited => {
                [Event::FlushStart, Event::FlushSuccess, Event::FlushFail]
            }
            Way::Background(_) => [
                Event::AsyncFlushStart,
                Event::AsyncFlushSuccess,
                Event::AsyncFlushFail,
            ],
        }
    }

    /// The event that the log records for copied files; `None` if no file is copied.
    fn transfer(self) -> Option<Event> {
        match self {
            Way::InPlace => None,
            Way::Waited => Some(Event::FlushSync),
            Way::Background(_) => Some(Event::FlushAsync),
        }
    }

    /// The place of the dataset after a flush that has failed.
    fn still(self) -> &'static str {
        match self {
            Way::InPlace => "it stays incomplete in the prefix directory",
            Way::Waited | Way::Background(_) => "it is still in the cache",
        }
    }
}

impl Flush<'_> {
    /// Copies a cached dataset to the prefix directory, in the background if the user wants that; see
    /// [`Flush::now`]. Collective.
    pub fn dataset(&mut self, id: u64) -> Result<()> {
        match self.cached.get(id).map(|cached| self.way(cached)) {
            Some(way @ Way::Background(_)) => self.flush(id, way),
            _ => self.now(id),
        }
    }

    /// Copies a cached dataset to the prefix directory while the program waits; a dataset in bypass
    /// is only certified there. A checkpoint stays in the cache in any case. Collective.
    pub fn now(&mut self, id: u64) -> Result<()> {
        self.end_flushes(WaitFor::Ids(&[id]))?;
        match self.cached.get(id).map(|cached| cached.location) {
            Some(Location::Bypass(_)) => self.flush(id, Way::InPlace),
            Some(Location::Cache(_)) => self.flush(id, Way::Waited),
            None => Ok(()),
        }
    }

    /// The way that the user wants for a dataset. The same on all ranks.
    fn way(&self, cached: &CachedDataset) -> Way {
        let Location::Cache(store) = cached.location else {
            return Way::InPlace;
        };
        match self.run.descriptors.stores[store].flush {
            FlushType::Background if self.run.settings.flush_async => {
                Way::Background(Copiers::Threads)
            }
            FlushType::Daemon if self.run.settings.flush_async => Way::Background(Copiers::Daemon),
            FlushType::Sync | FlushType::Background | FlushType::Daemon => Way::Waited,
        }
    }

    /// Repeats the flushes that have failed, oldest dataset first; with `wait`, none of them in the
    /// background. All are tried; then the first failure is returned. Errors of the transport are
    /// returned at once. Collective.
    pub fn failed_again(&mut self, wait: bool) -> Result<()> {
        let failed = |c: &CachedDataset| c.prefix == PrefixState::FlushFailed;
        let mut ids: Vec<u64> = self.cached.slots(failed).iter().map(|s| s.id).collect();
        ids.sort_unstable();
        let mut result = Ok(());
        for id in ids {
            let flushed = if wait { self.now(id) } else { self.dataset(id) };
            result = result.and(flushed.verdict()?);
        }
        result
    }

    /// Flushes the newest checkpoint if it must be in the prefix directory when the run ends.
    /// Collective.
    pub fn newest(&mut self) -> Result<()> {
        if self.run.settings.flush_async && self.run.settings.flush_poststage {
            return self.hand_over();
        }
        self.end_flushes(WaitFor::All)?;
        let again = self.failed_again(true).verdict()?;
        let newest = match due_at_end(self.run, self.cached).map(|dataset| dataset.id) {
            Some(id) => self.now(id),
            None => Ok(()),
        };
        newest.and(again)
    }
}
