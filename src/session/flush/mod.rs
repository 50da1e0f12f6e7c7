//! Copying cached datasets to the prefix directory: after an output, after a recovery, at the end.
//!
//! Every flush takes the same way: [`begin`] announces the dataset in the prefix directory and starts the
//! copy, and [`end`] takes note of what has become of it. The ways differ in who copies: all ranks, while
//! the program waits, or the leaders' threads and daemons, while it goes on; see [`background`].

pub(super) mod background;
pub(super) mod begin;
pub(super) mod checksums;
mod end;
pub(super) mod finish;
mod outcome;
pub(super) mod poststage;
mod recovered;
pub(super) mod transfer;
pub(super) mod window;

use super::Session;
use crate::Result;
use crate::comm::VerdictExt;
use crate::config::settings::FlushType;
use crate::events::Event;
use crate::policy::flush as policy;
use crate::session::datasets::cached::{CachedDataset, CachedDatasets, due_at_end};
use crate::session::datasets::location::Location;
use crate::session::datasets::other_ranks::OtherRanks;
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::datasets::search::RestartSearch;
use crate::session::flush::checksums::BackgroundChecksums;
use crate::session::run::Run;
use crate::session::statistics::Statistics;
use crate::session::wait_for::WaitFor;
use background::BackgroundFlushes;

/// The parts of the session that a flush may use and change.
pub(super) struct Flush<'a> {
    pub run: &'a Run,
    pub cached: &'a mut CachedDatasets,
    pub search: &'a mut RestartSearch,
    pub other_ranks: &'a OtherRanks,
    pub statistics: &'a mut Statistics,
    pub background: &'a mut BackgroundFlushes,
    pub checksums: &'a BackgroundChecksums,
}

/// How the files of a dataset come to the prefix directory.
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

    /// Where the dataset is after a flush that has failed.
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

    /// Copies a cached dataset to the prefix directory while the program waits; with bypass it only
    /// certifies what is there. A checkpoint stays in the cache in any case. Collective.
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

    /// Flushes the datasets again whose flush has failed, oldest first; with `wait`, none of them in
    /// the background. All are tried; then the first failure is returned. Errors of the transport are
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

impl Session {
    fn flush(&mut self) -> Flush<'_> {
        Flush {
            run: &self.run,
            cached: &mut self.cached,
            search: &mut self.search,
            other_ranks: &self.other_ranks,
            statistics: &mut self.statistics,
            background: &mut self.background,
            checksums: &self.checksums,
        }
    }

    /// See [`Flush::end_flushes`].
    pub(super) fn end_flushes(&mut self, wait: WaitFor) -> Result<()> {
        self.flush().end_flushes(wait)
    }

    /// See [`Flush::cancel_flushes`].
    pub(super) fn cancel_flushes(&mut self, ids: &[u64]) -> Result<()> {
        self.flush().cancel_flushes(ids)
    }

    /// See [`Flush::now`].
    pub(super) fn flush_now(&mut self, id: u64) -> Result<()> {
        self.flush().now(id)
    }

    /// See [`Flush::dataset`].
    pub(super) fn flush_dataset(&mut self, id: u64) -> Result<()> {
        self.flush().dataset(id)
    }

    /// See [`Flush::failed_again`].
    pub(super) fn flush_failed_again(&mut self) -> Result<()> {
        self.flush().failed_again(false)
    }

    /// See [`Flush::newest`]. If all newer ones were rejected or deleted, it may be one that an earlier run
    /// has left in the cache, and is recovered first.
    pub(super) fn flush_newest(&mut self) -> Result<()> {
        // Flushes that go on must end in any case.
        let recovered = self.recover_due().verdict()?;
        self.flush().newest().and(recovered)
    }

    /// Recovers the newest checkpoint in the cache that no newer one makes superfluous, if it is due at
    /// the end and was not needed before. Collective; without a round if nothing is to be recovered.
    fn recover_due(&mut self) -> Result<()> {
        let wanted = |c: &&CachedDataset| c.dataset.is_checkpoint() && !c.prefix.is_given_up();
        let mut newest: Vec<CachedDataset> =
            self.cached.entries.iter().filter(wanted).cloned().collect();
        newest.sort_unstable_by_key(|c| std::cmp::Reverse(c.dataset.id));
        for cached in newest {
            let due = policy::due_at_end(cached.prefix.has_files(), self.run.settings.flush);
            if !due || cached.is_whole() {
                break;
            }
            let run = &self.run;
            let newer = self.search.survey.as_ref().map(|survey| {
                let newer = survey.newer_in_prefix(run, &cached.dataset)?;
                Ok(newer.is_some())
            });
            if run.share(newer)? || self.restart().recover(cached.slot())? {
                break;
            }
        }
        Ok(())
    }
}
