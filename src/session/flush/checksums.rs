//! Checksums that are taken in the background, where no other pass reads the files: of datasets in
//! bypass, and of those with SINGLE. Mostly the pages of such files are still in memory.

use crate::cache::dataset;
use crate::comm::VerdictExt;
use crate::events::Severity;
use crate::format::filemap::Filemap;
use crate::format::{Dataset, Name};
use crate::messages::NOT_CHECKSUMMED;
use crate::prefix::index;
use crate::prefix::paths::seen_by_program;
use crate::prefix::rank2file::{self, RecordTarget, entry_of};
use crate::session::datasets::cached::{CachedDatasets, title};
use crate::session::datasets::location::Location;
use crate::session::run::Run;
use crate::store::Files;
use crate::system::thread::lower_priority;
use crate::transfer::copy::{Content, Copier};
use crate::transfer::worker::{Cancel, Task, Worker};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Pause of a rank that waits for its checksums, between two looks.
const PAUSE: Duration = Duration::from_micros(200);

/// The checksums that are being taken.
pub(in crate::session) struct BackgroundChecksums {
    worker: Worker,
    /// Pending checksums of datasets in the cache, which each rank records for itself.
    cached: Vec<Pending>,
    /// Pending checksums of a dataset in bypass, which the ranks record together. The same on all
    /// ranks, except for its task.
    bypass: Option<Pending>,
    /// Writes records while the ranks sync the files of the next dataset, which waits for both. So its
    /// priority is not lowered.
    recorder: Worker,
    recording: Option<Recording>,
}

/// A part of the rank2file that is being written with the checksums of a dataset in bypass.
struct Recording {
    dataset: Dataset,
    task: Task<Result<()>>,
}

/// The files of a rank whose checksums are being taken.
struct Pending {
    dataset: Dataset,
    /// The directory of the dataset in the cache.
    dir: Option<PathBuf>,
    /// `None` if no thread could be started.
    task: Option<Task<Result<Filemap>>>,
}

impl Pending {
    fn is_running(&self) -> bool {
        self.task.as_ref().is_some_and(Task::is_running)
    }

    fn cancel(&self) {
        self.task.iter().for_each(Task::cancel);
    }

    /// True if the cache has lost the dataset: another rank of the node has emptied it, as all ranks do when it is in
    /// the prefix directory, or evicted it.
    fn is_gone(&self, run: &Run) -> bool {
        let there = self.dir.as_ref().map(|dir| run.files.stat(dir));
        matches!(there, Some(Ok(None)))
    }
}

impl Default for BackgroundChecksums {
    fn default() -> Self {
        BackgroundChecksums {
            worker: Worker::new("scr-checksums"),
            cached: Vec::new(),
            bypass: None,
            recorder: Worker::new("scr-records"),
            recording: None,
        }
    }
}

impl BackgroundChecksums {
    /// Starts to take the checksums of a dataset that was just completed. Local; all ranks call it for
    /// a dataset in bypass.
    pub fn start(&mut self, run: &Run, cached: &CachedDatasets, id: u64) {
        let Some(cached) = cached.get(id) else {
            return;
        };
        match (&cached.own, cached.location) {
            (Some(own), Location::Cache(store)) => self.start_cached(run, store, &own.filemap),
            (Some(own), Location::Bypass(_)) if run.settings.crc_on_flush => {
                self.start_bypass(run, &own.filemap);
            }
            _ => {}
        }
    }

    /// Takes note of checksums that are taken; with `wait`, of all. Collective; see
    /// [`BackgroundChecksums::record_bypass`].
    pub fn collect(&mut self, run: &Run, cached: &mut CachedDatasets, wait: bool) -> Result<()> {
        self.collect_cached(run, cached, wait);
        self.record_bypass(run, wait)?;
        self.end_recording(run);
        Ok(())
    }

    /// Begins to record all checksums, before a dataset is completed. They are recorded while its files
    /// are synced; [`BackgroundChecksums::end_recording`] must follow. Collective.
    pub fn begin_recording(&mut self, run: &Run, cached: &mut CachedDatasets) -> Result<()> {
        self.collect_cached(run, cached, false);
        self.record_bypass(run, true)
    }

    /// Takes the missing checksums of this rank's files of a dataset in the cache, and adds them to its
    /// record. Local.
    fn start_cached(&mut self, run: &Run, store: usize, filemap: &Filemap) {
        let layout = run.stores[store].layout.clone();
        let data = layout.data(filemap.dataset.id, run.rank());
        let (files, buffer) = (run.files.clone(), run.settings.file_buf_size);
        let filemap = filemap.clone();
        let dataset = filemap.dataset.clone();
        let dir = Some(layout.dataset(dataset.id));
        let work = move |cancel: &Cancel| {
            let filemap = with_checksums(&files, filemap, &data, buffer, cancel)?;
            dataset::write_record(&*files, &layout, &filemap)?;
            Ok(filemap)
        };
        let task = self.submit(run, work);
        self.cached.push(Pending { dataset, dir, task });
    }

    /// Takes the checksums of this rank's files of a dataset in the prefix directory. Local; all ranks
    /// call it. [`BackgroundChecksums::collect`] records them.
    fn start_bypass(&mut self, run: &Run, filemap: &Filemap) {
        let root = run.prefix.root().to_path_buf();
        let (files, buffer) = (run.files.clone(), run.settings.file_buf_size);
        let filemap = filemap.clone();
        let dataset = filemap.dataset.clone();
        let work = move |cancel: &Cancel| with_checksums(&files, filemap, &root, buffer, cancel);
        let task = self.submit(run, work);
        let dir = None;
        self.bypass = Some(Pending { dataset, dir, task });
    }

    fn submit(
        &mut self,
        run: &Run,
        work: impl FnOnce(&Cancel) -> Result<Filemap> + Send + 'static,
    ) -> Option<Task<Result<Filemap>>> {
        match self.worker.submit(|| lower_priority(&[]), work) {
            Ok(task) => Some(task),
            Err(error) => {
                let text = format!("checksums are not taken: {error}");
                run.tell(Severity::Warning, text);
                None
            }
        }
    }

    /// Gives up the checksums of the dataset `name` in bypass, or of any dataset, because its files
    /// are about to be overwritten. The same on all ranks. Local.
    pub fn cancel_bypass(&mut self, name: Option<&Name>) {
        let goes = |p: &mut Pending| name.is_none_or(|name| p.dataset.name == *name);
        self.bypass.take_if(goes).iter().for_each(Pending::cancel);
    }

    /// Gives up everything. Local.
    pub fn cancel(&mut self) {
        self.cached.drain(..).for_each(|pending| pending.cancel());
        self.cancel_bypass(None);
    }

    /// Adds the checksums that are taken to the records in memory; with `wait`, all. Local.
    fn collect_cached(&mut self, run: &Run, cached: &mut CachedDatasets, wait: bool) {
        let mut running = Vec::new();
        for pending in self.cached.drain(..) {
            let created = pending.dataset.created;
            if !cached.iter().any(|c| c.dataset.created == created) {
                // The dataset was evicted.
                pending.cancel();
                continue;
            }
            if wait {
                pending.task.iter().for_each(|task| task.wait(PAUSE));
            }
            if pending.is_running() {
                running.push(pending);
                continue;
            }
            match pending.task.as_ref().and_then(Task::take) {
                Some(Ok(filemap)) => cached.set_filemap(filemap),
                Some(Err(_)) if pending.is_gone(run) => {}
                Some(Err(error)) => {
                    let named = title(&pending.dataset);
                    let text = format!(
                        "{named} has no checksums in the cache: {error} ({NOT_CHECKSUMMED})"
                    );
                    run.tell(Severity::Warning, text);
                }
                None => {}
            }
        }
        self.cached = running;
    }

    /// Begins to record the checksums of the dataset in bypass, if they are taken; with `wait`, waits
    /// until they are. [`BackgroundChecksums::end_recording`] must follow before the call of the program
    /// returns. A checksum that cannot be recorded is reported. Collective; one round if there are some,
    /// and more when they are recorded.
    ///
    /// # Errors
    /// Only errors of the transport.
    fn record_bypass(&mut self, run: &Run, wait: bool) -> Result<()> {
        let Some(pending) = &self.bypass else {
            return Ok(());
        };
        if wait {
            pending.task.iter().for_each(|task| task.wait(PAUSE));
        }
        if run.on_any(pending.is_running())? {
            return Ok(());
        }
        let Some(pending) = self.bypass.take() else {
            return Ok(());
        };
        if let Err(error) = self.record(run, &pending).verdict()? {
            run.tell_once(Severity::Warning, not_recorded(&pending.dataset, &error));
        }
        Ok(())
    }

    /// Begins to add the checksums of all ranks to the rank2file of a dataset in bypass. Collective.
    fn record(&mut self, run: &Run, pending: &Pending) -> Result<()> {
        let dataset = &pending.dataset;
        let taken = match pending.task.as_ref().map(Task::take) {
            Some(Some(taken)) => taken,
            _ => Err(Error::dataset(
                dataset.id,
                dataset.name.to_string(),
                "the thread that takes checksums has ended early",
            )),
        };
        let taken = run.agree(taken)?;
        let is_there: bool = run.share_from_root(|| {
            let index = index::read(&*run.files, &run.prefix)?;
            let entry = index
                .get(dataset.id)
                .and_then(|entry| entry.dataset.as_ref());
            Ok(entry.is_some_and(|known| known.created == dataset.created))
        })?;
        if !is_there {
            // The dataset was deleted or dropped meanwhile.
            return Ok(());
        }
        let leaf = rank2file::gather_leaf(&*run.comm, &entry_of(&taken.files))?;
        let Some(leaf) = leaf else {
            return Ok(());
        };
        let (files, dir) = (run.files.clone(), run.prefix.dataset(dataset.id));
        let writer = run.rank() as u64;
        let write = move |_: &Cancel| RecordTarget::new(&*files, &dir).write_leaf(writer, &leaf);
        let dataset = dataset.clone();
        match self.recorder.submit(|| {}, write) {
            Ok(task) => self.recording = Some(Recording { dataset, task }),
            Err(error) => run.tell(Severity::Warning, not_recorded(&dataset, &error)),
        }
        Ok(())
    }

    /// Waits until checksums are recorded. Local.
    pub fn wait_for_recording(&self) {
        self.recording.iter().for_each(|r| r.task.wait(PAUSE));
    }

    /// Waits until checksums are recorded, and tells if they could not be. Local.
    pub fn end_recording(&mut self, run: &Run) {
        self.wait_for_recording();
        let Some(Recording { dataset, task }) = self.recording.take() else {
            return;
        };
        if let Some(Err(error)) = task.take() {
            run.tell(Severity::Warning, not_recorded(&dataset, &error));
        }
    }
}

fn not_recorded(dataset: &Dataset, error: &Error) -> String {
    let named = title(dataset);
    format!(
        "{named} has no checksums, so a restart from it compares only sizes: {error} ({NOT_CHECKSUMMED})"
    )
}

/// The record with the checksums of its files below `root`, whose sizes must be as recorded. Local.
fn with_checksums(
    files: &Arc<dyn Files>,
    mut filemap: Filemap,
    root: &Path,
    buffer: usize,
    cancel: &Cancel,
) -> Result<Filemap> {
    let after_piece = |_| {
        if cancel.is_cancelled() {
            let interrupted = std::io::ErrorKind::Interrupted.into();
            Err(Error::io(
                "take the checksums of",
                "a dataset that is gone",
                interrupted,
            ))
        } else {
            Ok(())
        }
    };
    let copier = Copier::new(&**files, buffer.min(1 << 20));
    let mut copier = copier.watched(&after_piece);
    for file in &mut filemap.files.files {
        if file.crc.is_some() {
            continue;
        }
        let path = file.file.below(root)?;
        let found = seen_by_program(&**files, &path, |path| copier.checksum(path))?;
        let recorded = Content {
            size: file.size,
            crc: file.crc,
        };
        found.check(&recorded, &path)?;
        file.crc = found.crc;
    }
    Ok(filemap)
}

#[cfg(test)]
mod tests {
    use super::BackgroundChecksums;
    use crate::format::{FileMeta, Name};
    use crate::session::datasets::cached::CachedDatasets;
    use crate::session::testing::{recovered, run_in};

    /// The first rank of a node may empty the cache while another rank still reads there.
    #[test]
    fn a_cache_that_was_emptied_is_no_reason_for_a_warning_and_a_file_that_is_gone_is() {
        for emptied in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let (run, messages) = run_in(&dir, &[]);
            let mut cached = CachedDatasets::default();
            let mut one = recovered(1);
            let own = one.own.as_mut().unwrap();
            let stat = run.files.stat(dir.path()).unwrap().unwrap();
            let name = Name::from("f");
            own.filemap.files.files = vec![FileMeta::new(name.clone(), name, &stat)];
            let filemap = own.filemap.clone();
            cached.insert(one);
            if !emptied {
                std::fs::create_dir_all(run.stores[0].layout.data(1, 0)).unwrap();
            }
            let mut checksums = BackgroundChecksums::default();
            checksums.start_cached(&run, 0, &filemap);
            checksums.collect_cached(&run, &mut cached, true);
            let warned = messages
                .lines()
                .iter()
                .any(|line| line.contains("has no checksums"));
            assert_eq!(warned, !emptied, "{:?}", messages.lines());
        }
    }
}
