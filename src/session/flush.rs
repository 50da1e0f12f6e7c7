//! Copying cached datasets to the prefix directory: after an output, after a recovery, at the end.

use super::Session;
use super::background::{BackgroundFlushes, EndedFlush, FlushResult, WaitFor, copied_together};
use super::cached::{CachedDataset, CachedDatasets, moved, note, title};
use super::checksums::BackgroundChecksums;
use super::other_ranks::OtherRanks;
use super::progress::CopyProgress;
use super::run::{Run, time_now};
use super::search::RestartSearch;
use super::shared_names::routed_twice;
use super::statistics::Statistics;
use super::transfer::{PartShape, grant};
use super::window::delete_outside_window;
use crate::comm::{Term, collective};
use crate::config::settings::FlushType;
use crate::events::{Event, Severity};
use crate::format::Dataset;
use crate::format::filemap::Filemap;
use crate::format::flush_file;
use crate::policy::flush as policy;
use crate::prefix::containers::{self, ContainerPlace, Containers};
use crate::prefix::flush::{PrefixAccess, flush, owners};
use crate::prefix::flush_target::planned_entry;
use crate::prefix::part::may_split;
use crate::prefix::rank2file::full_size;
use crate::prefix::{finish, index};
use crate::system::time::Instant;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// What a flush may use and change.
pub(super) struct Flush<'a> {
    pub run: &'a Run,
    pub cached: &'a mut CachedDatasets,
    pub search: &'a mut RestartSearch,
    pub other_ranks: &'a OtherRanks,
    pub statistics: &'a mut Statistics,
    pub background: &'a mut BackgroundFlushes,
    pub checksums: &'a BackgroundChecksums,
}

/// A dataset that is about to be flushed.
struct Flushable {
    dataset: Dataset,
    filemap: Filemap,
    /// Index of the store.
    store: usize,
    bypass: bool,
    /// This rank's directory in the cache.
    data: PathBuf,
}

impl Flush<'_> {
    /// Copies a cached dataset to the prefix directory, in the background if the user wants that; see
    /// [`Flush::now`]. Collective.
    pub fn dataset(&mut self, id: u64) -> Result<()> {
        match self.cached.get(id) {
            Some(cached) if self.may_start(cached) => self.start(id),
            _ => self.now(id),
        }
    }

    /// True if a dataset is flushed in the background. The same on all ranks.
    fn may_start(&self, cached: &CachedDataset) -> bool {
        let store = self.run.descriptors.stores.get(cached.store);
        let background = store.is_some_and(|store| store.flush != FlushType::Sync);
        self.run.settings.flush_async && background && !cached.bypass
    }

    /// What there is to flush of a dataset; `None` if the cache has nothing of it. No other dataset of
    /// its name counts any more. Collective.
    fn prepare(&mut self, id: u64) -> Result<Option<Flushable>> {
        let run = self.run;
        let Some(cached) = self.cached.get(id) else {
            return Ok(None);
        };
        let name = cached.dataset.name.clone();
        let same_name = self.background.ids_of_name(&name, id);
        self.settle_cancelled(&same_name)?;
        self.cached.name_is_reused(run, id, &name);
        let Some(cached) = self.cached.get(id) else {
            return Ok(None);
        };
        let Some(filemap) = cached.filemap.clone() else {
            return Ok(None);
        };
        let layout = run.stores[cached.store].layout.at(cached.level);
        Ok(Some(Flushable {
            dataset: cached.dataset.clone(),
            filemap,
            store: cached.store,
            bypass: cached.bypass,
            data: layout.data(id, run.rank()),
        }))
    }

    /// Copies a cached dataset to the prefix directory; with bypass it only certifies what is there.
    /// A checkpoint stays in the cache in any case. Collective.
    pub fn now(&mut self, id: u64) -> Result<()> {
        let begun = Instant::now();
        let run = self.run;
        self.settle(WaitFor::Ids(&[id]))?;
        let Some(flushable) = self.prepare(id)? else {
            return Ok(());
        };
        let Flushable {
            dataset,
            mut filemap,
            bypass,
            data,
            ..
        } = flushable;
        if self.cached.get(id).is_some_and(|cached| cached.in_prefix) {
            return Ok(());
        }
        let paths_are_free = match bypass {
            true => Ok(()),
            false => self.check_paths(&filemap)?,
        };
        run.tell_once(
            Severity::Debug(2),
            format!("{} is flushed", title(&dataset)),
        );
        note_flush(run, &dataset, Progress::Begun);
        run.log_dataset(Event::FlushStart, &dataset);
        let result = run.agree(paths_are_free).and_then(|()| {
            let progress = CopyProgress::new(run, format!("the flush of {}", title(&dataset)));
            let access = PrefixAccess {
                watch: &progress,
                before_records: &|| self.checksums.wait_for_recording(),
                ..run.prefix_access(run.settings.flush_width)
            };
            let data = (!bypass).then_some(data.as_path());
            let checksums = run.settings.crc_on_flush;
            flush(&access, &mut filemap, data, checksums, &time_now())
        });
        match result {
            Ok(entered) => {
                if self.is_saved(&dataset, Some(filemap), !entered) {
                    self.statistics.count_flushed(&dataset, begun);
                }
                run.log(Event::FlushSuccess, |record| {
                    record.of(&dataset).since(begun)
                });
                if !bypass {
                    self.log_copied(Event::FlushSync, &dataset, begun);
                    let prefix = run.prefix.root().display();
                    let copied = moved(&dataset, begun);
                    let text = format!("{} was flushed to {prefix}: {copied}", title(&dataset));
                    run.tell_once(Severity::Debug(1), text);
                }
                self.remove_output(id);
                self.delete_outside_window(id)
            }
            Err(error) => {
                let rest = match bypass {
                    true => "it stays incomplete in the prefix directory",
                    false => "it is still in the cache",
                };
                Err(self.failed(Event::FlushFail, &dataset, rest, &error))
            }
        }
    }

    /// Records that a dataset was copied to the prefix directory since `begun`. Local.
    fn log_copied(&self, event: Event, dataset: &Dataset, begun: Instant) {
        let run = self.run;
        let store = self
            .cached
            .get(dataset.id)
            .and_then(|c| run.stores.get(c.store));
        if let Some(store) = store {
            let from = store.layout.dataset(dataset.id);
            run.log_transfer(event, dataset, (&from, run.prefix.root()), begun);
        }
    }

    /// Notes that a dataset is complete in the prefix directory. `dropped`: the user has taken it out
    /// of the index. True if it was copied there. Local; the same on all ranks.
    fn is_saved(&mut self, dataset: &Dataset, filemap: Option<Filemap>, dropped: bool) -> bool {
        note_flush(self.run, dataset, Progress::Complete);
        let newer = |c: &CachedDataset| {
            c.dataset.is_checkpoint() && !c.dropped && c.dataset.id > dataset.id
        };
        // One that was evicted may be newer, too.
        let is_newest = dataset.is_checkpoint()
            && self.cached.newest_evicted < Some(dataset.id)
            && !self.cached.entries.iter().any(newer);
        let mut entries = self.cached.entries.iter_mut();
        let Some(cached) = entries.find(|c| c.dataset.id == dataset.id) else {
            return false;
        };
        if is_newest && !dropped && !cached.flush_failed {
            make_current(self.run, dataset);
        }
        (cached.in_prefix, cached.dropped) = (true, dropped);
        cached.flush_failed = false;
        cached.filemap = filemap.or(cached.filemap.take());
        !cached.bypass
    }

    /// Output that is no checkpoint leaves the cache when the prefix directory has it: no restart needs
    /// it. Local; the same on all ranks.
    fn remove_output(&mut self, id: u64) {
        let output = |c: &CachedDataset| {
            c.dataset.id == id && c.in_prefix && !c.bypass && !c.dataset.is_checkpoint()
        };
        let slots = self.cached.slots(output);
        self.cached.remove(self.run, self.search, &slots);
    }

    /// Deletes the checkpoints that leave the sliding window of the prefix directory. Then only the cache
    /// has them; what is in bypass is nowhere any more. Collective.
    fn delete_outside_window(&mut self, flushed: u64) -> Result<()> {
        let gone = delete_outside_window(self.run, flushed)?;
        let lost = |c: &CachedDataset| c.bypass && c.in_prefix && gone.contains(&c.dataset.id);
        self.cached.forget(self.run, lost);
        let entries = self.cached.entries.iter_mut();
        for cached in entries.filter(|c| c.in_prefix && gone.contains(&c.dataset.id)) {
            (cached.in_prefix, cached.left_window) = (false, true);
            note_flush(self.run, &cached.dataset, Progress::Cancelled);
        }
        Ok(())
    }

    /// Notes that a flush has failed, and gives the error. Local.
    fn failed(&mut self, event: Event, dataset: &Dataset, rest: &str, error: &Error) -> Error {
        note_flush(self.run, dataset, Progress::Failed);
        self.run
            .log(event, |record| record.of(dataset).note(error.to_string()));
        let mut entries = self.cached.entries.iter_mut();
        if let Some(cached) = entries.find(|c| c.dataset.id == dataset.id && !c.bypass) {
            cached.flush_failed = true;
        }
        let what = format!("could not be flushed, {rest}: {error}");
        Error::dataset(dataset.id, dataset.name.to_string(), what)
    }

    /// Starts a flush in the background. Collective.
    fn start(&mut self, id: u64) -> Result<()> {
        let begun = Instant::now();
        let run = self.run;
        let Some(Flushable {
            dataset,
            filemap,
            store,
            ..
        }) = self.prepare(id)?
        else {
            return Ok(());
        };
        let failed = Event::AsyncFlushFail;
        let kind = run.descriptors.stores[store].flush;
        let store = &run.stores[store];
        let level = self.cached.get(id).and_then(|cached| cached.level);
        let together = copied_together(run, store);
        let bytes = filemap.files.size().unwrap_or(u64::MAX);
        let containers = match run.settings.use_containers {
            true => Some(containers_of(run, together.leader, bytes)),
            false => None,
        };
        let containers = match containers.transpose() {
            Err(error @ Error::Comm { .. }) => return Err(error),
            // The same on all ranks.
            Err(error) => {
                return Err(self.failed(failed, &dataset, "it is still in the cache", &error));
            }
            Ok(containers) => containers,
        };
        let largest = full_size(&planned_entry(&filemap.files, containers));
        let ranks = match together.leader == run.rank() {
            true => together.ranks(run.comm.size()).len() as i64,
            false => 0,
        };
        let paths_are_free = self.check_paths(&filemap)?;
        let local = paths_are_free.and(largest);
        let mut terms = [
            Term::Max(local.as_ref().map_or(0, |size| *size as i64)),
            Term::Max(ranks),
            // After a recovery a rank's files may lie at the level of another node.
            Term::Max((level != store.layout.level()).into()),
        ];
        let ready = collective::agree_with(&*run.comm, run.node(), local, &mut terms);
        let [largest, ranks, elsewhere] = terms.map(|term| term.value() as u64);
        if ready.is_ok() && elsewhere > 0 {
            return self.now(id);
        }
        run.tell_once(
            Severity::Debug(2),
            format!("the flush of {} starts in the background", title(&dataset)),
        );
        note_flush(run, &dataset, Progress::Started);
        run.log_dataset(Event::AsyncFlushStart, &dataset);
        let announced = ready.and_then(|_| {
            run.on_root(|| {
                finish::announce(&*run.files, &run.prefix, &dataset)?;
                grant(run, &dataset)
            })
        });
        let rest = "it is still in the cache";
        if let Err(error) = announced {
            return Err(self.failed(failed, &dataset, rest, &error));
        }
        let shape = PartShape {
            split: may_split(ranks, largest),
            containers,
        };
        let started = self
            .background
            .start(run, store, &dataset, (kind, shape), begun);
        self.cached.set_flushing(id, true);
        if let Err(error) = run.agree(started) {
            self.settle_cancelled(&[id])?;
            return Err(self.failed(failed, &dataset, rest, &error));
        }
        Ok(())
    }

    /// Takes note of background flushes that have ended, and waits for some of them. Collective; one
    /// round if there are any.
    ///
    /// # Errors
    /// Only those of the transport. A flush that failed is told; the dataset is still in the cache.
    pub fn settle(&mut self, wait: WaitFor) -> Result<()> {
        for ended in self.background.ended(self.run, wait)? {
            self.settle_one(ended)?;
        }
        Ok(())
    }

    /// Cancels background flushes, and waits for their end. Collective.
    fn settle_cancelled(&mut self, ids: &[u64]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.background.cancel(WaitFor::Ids(ids));
        self.settle(WaitFor::Ids(ids))
    }

    fn settle_one(&mut self, ended: EndedFlush) -> Result<()> {
        let run = self.run;
        let dataset = &ended.dataset;
        self.cached.set_flushing(dataset.id, false);
        match ended.result {
            Ok(FlushResult::Cancelled) => {
                note_flush(run, dataset, Progress::Cancelled);
                run.log_dataset(Event::AsyncFlushCancel, dataset);
            }
            Ok(result) => {
                let begun = ended.begun;
                if self.is_saved(dataset, None, result == FlushResult::Dropped) {
                    let held_up = ended.blocked;
                    self.statistics
                        .count_flushed_behind(dataset, begun, held_up);
                }
                run.log(Event::AsyncFlushSuccess, |record| {
                    record.of(dataset).since(begun)
                });
                self.log_copied(Event::FlushAsync, dataset, begun);
                let text = format!(
                    "{} was flushed to {} in the background: {}, of which the program was held up \
                     {:.3} s",
                    title(dataset),
                    run.prefix.root().display(),
                    moved(dataset, ended.begun),
                    ended.blocked.as_secs_f64()
                );
                run.tell_once(Severity::Debug(1), text);
                self.remove_output(dataset.id);
                return self.delete_outside_window(dataset.id);
            }
            Err(error) => {
                let error = self.failed(
                    Event::AsyncFlushFail,
                    dataset,
                    "it is still in the cache",
                    &error,
                );
                run.tell_once(Severity::Error, error.to_string());
            }
        }
        Ok(())
    }

    /// The inner result fails if another rank, or a checkpoint of another number of ranks, has a file
    /// of the same path: one would overwrite the other. Collective; the inner result is local.
    fn check_paths(&self, filemap: &Filemap) -> Result<Result<()>> {
        let mut files = filemap.files.files.iter();
        let free =
            files.try_for_each(|file| self.other_ranks.check_path(self.run, file.file.as_path()));
        let paths: Vec<&Path> = filemap
            .files
            .files
            .iter()
            .map(|f| f.file.as_path())
            .collect();
        let owners = owners(&*self.run.comm, &paths)?;
        let mut shared = paths.iter().zip(&owners);
        let shared = shared.find(|(_, owner)| **owner != self.run.rank());
        Ok(match shared {
            None => free,
            Some((path, owner)) => Err(routed_twice(&filemap.dataset, *owner, path)),
        })
    }

    /// Flushes the datasets again whose flush has failed, oldest first; with `wait`, none of them in
    /// the background. All are tried; then the first failure is returned. Errors of the transport are
    /// returned at once. Collective.
    pub fn failed_again(&mut self, wait: bool) -> Result<()> {
        let failed = |c: &CachedDataset| c.flush_failed && !c.flushing && !c.dropped;
        let mut ids: Vec<u64> = self.cached.slots(failed).iter().map(|s| s.id).collect();
        ids.sort_unstable();
        let mut result = Ok(());
        for id in ids {
            let flushed = match wait {
                true => self.now(id),
                false => self.dataset(id),
            };
            match flushed {
                Err(error @ Error::Comm { .. }) => return Err(error),
                other => result = result.and(other),
            }
        }
        result
    }

    /// Flushes the newest checkpoint if it must be in the prefix directory when the run ends.
    /// Collective.
    pub fn newest(&mut self) -> Result<()> {
        if self.run.settings.flush_async && self.run.settings.flush_poststage {
            return self.hand_over();
        }
        self.settle(WaitFor::All)?;
        let again = self.failed_again(true);
        if let Err(Error::Comm { .. }) = again {
            return again;
        }
        let newest = match due_at_end(self.run, self.cached).map(|dataset| dataset.id) {
            Some(id) => self.now(id),
            None => Ok(()),
        };
        newest.and(again)
    }
}

/// Where the bytes of this rank go in containers, if those of the ranks with this `leader` are together.
/// Collective; all ranks return the same verdict.
fn containers_of(run: &Run, leader: usize, bytes: u64) -> Result<ContainerPlace> {
    let size = run.settings.container_size;
    let begin = containers::place(&*run.comm, &Containers { size, leader }, bytes)?;
    Ok(ContainerPlace { size, begin })
}

/// The newest checkpoint that the user has not given up, if it must be flushed when the run ends. Local;
/// the same on all ranks.
pub(super) fn due_at_end<'a>(run: &Run, cached: &'a CachedDatasets) -> Option<&'a Dataset> {
    let checkpoints = cached.entries.iter().filter(|cached| {
        let found = cached.filemap.is_some() || cached.in_prefix;
        cached.dataset.is_checkpoint() && !cached.dropped && found
    });
    let newest = checkpoints.max_by_key(|cached| cached.dataset.id)?;
    policy::due_at_end(newest.in_prefix, run.settings.flush).then_some(&newest.dataset)
}

/// Makes a checkpoint current that was flushed for the first time and is the newest of this run. The index
/// may have a newer one, if the program has gone back by `SCR_Current`. Local.
fn make_current(run: &Run, dataset: &Dataset) {
    run.keep_record(|| {
        let (files, prefix) = (&*run.files, &run.prefix);
        let index = index::read(files, prefix)?;
        if index.current_id() == Some(dataset.id) || index.id(&dataset.name) != Some(dataset.id) {
            return Ok(());
        }
        index::update(files, prefix, |index| {
            index.set_current(&dataset.name);
            Ok(())
        })
    });
}

/// How far a flush has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// While the program waits.
    Begun,
    /// In the background.
    Started,
    Failed,
    /// It is not wanted any more.
    Cancelled,
    Complete,
}

/// Records in the flush file how far the flush of a dataset has come. Local.
fn note_flush(run: &Run, dataset: &Dataset, progress: Progress) {
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

    /// See [`Flush::settle`].
    pub(super) fn settle(&mut self, wait: WaitFor) -> Result<()> {
        self.flush().settle(wait)
    }

    /// See [`Flush::settle_cancelled`].
    pub(super) fn settle_cancelled(&mut self, ids: &[u64]) -> Result<()> {
        self.flush().settle_cancelled(ids)
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
        if let Err(error) = self.recover_due() {
            // Flushes that go on must end in any case.
            return match error {
                Error::Comm { .. } => Err(error),
                error => self.flush().newest().and(Err(error)),
            };
        }
        self.flush().newest()
    }

    /// Recovers the newest checkpoint in the cache that no newer one makes superfluous, if it is due at
    /// the end and was not needed before. Collective; without a round if nothing is to be recovered.
    fn recover_due(&mut self) -> Result<()> {
        let wanted = |c: &&CachedDataset| c.dataset.is_checkpoint() && !c.dropped;
        let mut newest: Vec<CachedDataset> =
            self.cached.entries.iter().filter(wanted).cloned().collect();
        newest.sort_unstable_by_key(|c| std::cmp::Reverse(c.dataset.id));
        for cached in newest {
            let due = policy::due_at_end(cached.in_prefix, self.run.settings.flush);
            if !due || cached.filemap.is_some() {
                break;
            }
            let (run, search) = (&self.run, &self.search);
            let newer = || Ok(search.newer_in_prefix(run, &cached.dataset)?.is_some());
            if run.share_from_root(newer)? || self.restart().recover(cached.slot())? {
                break;
            }
        }
        Ok(())
    }
}
