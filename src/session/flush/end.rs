//! The end of a flush: its result, and the changes that follow from it.

use super::outcome::{EndedFlush, FlushResult};
use super::{Flush, Way};
use crate::comm::VerdictExt;
use crate::events::{Event, Severity};
use crate::format::filemap::Filemap;
use crate::format::{Dataset, flush_file};
use crate::messages::FLUSH_FAILED;
use crate::prefix::index;
use crate::session::datasets::cached::{CachedDataset, moved, note, title};
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::flush::window::delete_outside_window;
use crate::session::log::FromTo;
use crate::session::run::Run;
use crate::session::wait_for::WaitFor;
use crate::system::time::Instant;
use crate::{Error, Result};
use std::time::Duration;

impl Flush<'_> {
    /// Takes note of background flushes that have ended, and waits for some of them. Collective; one
    /// round if there are any.
    ///
    /// # Errors
    /// Only errors of the transport. A failed flush is reported; the dataset is still in the cache.
    pub fn end_flushes(&mut self, wait: WaitFor) -> Result<()> {
        for ended in self.background.flushes.ended(self.run, wait)? {
            if let Err(error) = self.conclude(ended).verdict()? {
                self.run.tell_once(Severity::Error, error.to_string());
            }
        }
        Ok(())
    }

    /// Cancels background flushes, and waits for their end. Collective.
    pub(super) fn cancel_flushes(&mut self, ids: &[u64]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.background.flushes.cancel(WaitFor::Ids(ids));
        self.end_flushes(WaitFor::Ids(ids))
    }

    /// Takes note of the end of a flush. Collective.
    ///
    /// # Errors
    /// The flush has failed, or the transport.
    pub(super) fn conclude(&mut self, ended: EndedFlush) -> Result<()> {
        let run = self.run;
        let EndedFlush {
            way,
            dataset,
            begun,
            blocked,
            filemap,
            result,
        } = ended;
        if let Way::Background(_) = way {
            self.cached.note_prefix(dataset.id, PrefixState::end_flush);
        }
        let dropped = match result {
            Ok(FlushResult::Cancelled) => {
                note_flush(run, &dataset, Progress::Cancelled);
                run.log_dataset(Event::AsyncFlushCancel, &dataset);
                return Ok(());
            }
            Ok(FlushResult::Found) => return self.conclude_found(way, &dataset, begun),
            Ok(FlushResult::Saved) => false,
            Ok(FlushResult::Dropped) => true,
            Err(error) => return Err(self.failed(way, &dataset, error)),
        };
        if self.is_saved(&dataset, filemap, dropped) {
            match way {
                Way::InPlace | Way::Waited => self.statistics.count_flushed(&dataset, begun),
                Way::Background(_) => {
                    self.statistics
                        .count_flushed_behind(&dataset, begun, blocked);
                }
            }
        }
        let [_, success, _] = way.events();
        run.log(success, |record| record.of(&dataset).since(begun));
        self.log_copied(way, &dataset, begun);
        self.tell_copied(way, &dataset, begun, blocked);
        self.remove_output(dataset.id);
        self.delete_outside_window(dataset.id)
    }

    /// Ends a flush that has copied nothing, since a person has completed the dataset in the prefix directory. Collective.
    fn conclude_found(&mut self, way: Way, dataset: &Dataset, begun: Instant) -> Result<()> {
        let text = format!(
            "{} is complete in {} by now, so it is not flushed",
            title(dataset),
            self.run.prefix.root().display()
        );
        self.run.tell_once(Severity::Debug(1), text);
        let [_, success, _] = way.events();
        self.run
            .log(success, |record| record.of(dataset).since(begun));
        self.is_saved(dataset, None, false);
        self.remove_output(dataset.id);
        self.delete_outside_window(dataset.id)
    }

    fn tell_copied(&self, way: Way, dataset: &Dataset, begun: Instant, blocked: Duration) {
        let (run, prefix) = (self.run, self.run.prefix.root().display());
        let (named, copied) = (title(dataset), moved(dataset, begun));
        let text = match way {
            Way::InPlace => return,
            Way::Waited => format!("{named} was flushed to {prefix}: {copied}"),
            Way::Background(_) => format!(
                "{named} was flushed to {prefix} in the background: {copied}, of which the program was \
                 held up {:.3} s",
                blocked.as_secs_f64()
            ),
        };
        run.tell_once(Severity::Debug(1), text);
    }

    /// Records in the log that a dataset was copied to the prefix directory since `begun`. Local.
    fn log_copied(&self, way: Way, dataset: &Dataset, begun: Instant) {
        let run = self.run;
        let cached = self.cached.get(dataset.id);
        let store = cached.and_then(|cached| run.stores.get(cached.location.store()));
        if let (Some(store), Some(event)) = (store, way.transfer()) {
            let paths = FromTo {
                from: &store.layout.dataset(dataset.id),
                to: run.prefix.root(),
            };
            run.log_transfer(event, dataset, paths, begun);
        }
    }

    /// Notes that a dataset is complete in the prefix directory. `dropped`: the user has taken it out
    /// of the index. True if it was copied there. Local; the same on all ranks.
    fn is_saved(&mut self, dataset: &Dataset, filemap: Option<Filemap>, dropped: bool) -> bool {
        note_flush(self.run, dataset, Progress::Complete);
        let Some(cached) = self.cached.get(dataset.id) else {
            return false;
        };
        let was_copied = !cached.location.is_bypass();
        let is_newest = dataset.is_checkpoint() && self.cached.is_newest(dataset);
        if is_newest && !dropped && !cached.prefix.flush_failed() {
            make_current(self.run, dataset, self.cached.gone_back_from());
        }
        self.cached.note_saved(dataset.id, filemap, dropped);
        was_copied
    }

    /// Removes output that is no checkpoint from the cache when the prefix directory has it: no restart
    /// needs it. Local; the same on all ranks.
    fn remove_output(&mut self, id: u64) {
        let output = |c: &CachedDataset| {
            c.dataset.id == id
                && c.prefix.has_files()
                && !c.location.is_bypass()
                && !c.dataset.is_checkpoint()
        };
        let slots = self.cached.slots(output);
        self.cached.remove(self.run, self.search, &slots);
    }

    /// Deletes the checkpoints that leave the sliding window of the prefix directory. Then only the cache
    /// has these datasets; a dataset in bypass has no copy any more. Collective.
    fn delete_outside_window(&mut self, flushed: u64) -> Result<()> {
        let gone = delete_outside_window(self.run, flushed)?;
        let lost = |c: &CachedDataset| {
            c.location.is_bypass() && c.prefix.has_files() && gone.contains(&c.dataset.id)
        };
        self.cached.forget(self.run, lost);
        for dataset in self.cached.note_outside_window(|id| gone.contains(&id)) {
            note_flush(self.run, &dataset, Progress::Cancelled);
        }
        Ok(())
    }

    /// Notes that a flush has failed, and returns the error; an error of the transport is returned
    /// as it is. Local.
    pub(super) fn failed(&mut self, way: Way, dataset: &Dataset, error: Error) -> Error {
        if let Error::Comm { .. } = error {
            return error;
        }
        note_flush(self.run, dataset, Progress::Failed);
        let [_, _, failure] = way.events();
        self.run
            .log(failure, |record| record.of(dataset).note(error.to_string()));
        self.cached.note_flush_failed(dataset.id);
        let what = format!(
            "could not be flushed, {} ({FLUSH_FAILED}): {error}",
            way.still()
        );
        Error::dataset(dataset.id, dataset.name.to_string(), what)
    }
}

/// Makes a checkpoint current that was flushed for the first time and is the newest of this run's cache. The index
/// may have a newer checkpoint, which has left the cache: then that one stays current. Local.
fn make_current(run: &Run, dataset: &Dataset, gone_back_from: u64) {
    run.keep_record(|| {
        let (files, prefix) = (&*run.files, &run.prefix);
        let index = index::read(files, prefix)?;
        let is_current = index.current_id() == Some(dataset.id);
        let is_behind = index.has_checkpoint_after(dataset.id.max(gone_back_from));
        if is_current || is_behind || index.id(&dataset.name) != Some(dataset.id) {
            return Ok(());
        }
        index::update(files, prefix, |index| {
            index.set_current(&dataset.name);
            Ok(())
        })
    });
}

/// The state of a flush.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The flush goes on while the program waits.
    Begun,
    /// The flush goes on in the background.
    Started,
    Failed,
    /// The flush is not wanted any more.
    Cancelled,
    Complete,
}

/// Records in the flush file how far the flush of a dataset has come. Local.
pub(super) fn note_flush(run: &Run, dataset: &Dataset, progress: Progress) {
    note(run, |record| {
        let entry = record.datasets.entry(dataset.id);
        let entry = entry.or_insert_with(|| flush_file::FlushEntry::cached(dataset.clone()));
        entry.set_flush(match progress {
            Progress::Begun => Some(flush_file::SYNC_FLUSHING),
            Progress::Started => Some(flush_file::FLUSHING),
            Progress::Failed => Some(flush_file::FLUSH_FAILED),
            Progress::Cancelled => None,
            Progress::Complete => Some(flush_file::PFS),
        });
    });
}
