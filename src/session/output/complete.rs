//! Completing a dataset: `SCR_Complete_output`, `SCR_Complete_checkpoint`.

use super::shared_names;
use crate::cache::plan::Slot;
use crate::comm::{Agreed, Local, Term, collective};
use crate::events::{Event, Severity};
use crate::format::filemap::Filemap;
use crate::format::flush_file;
use crate::format::{Dataset, FileMeta, Name, RankFiles};
use crate::messages::{DROPPED, NOT_WRITTEN};
use crate::policy::flush;
use crate::prefix::names::owners;
use crate::prefix::paths::seen_by_program;
use crate::session::Session;
use crate::session::datasets::cached::{CachedDataset, moved, note, title};
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::datasets::record::{filemap, protect};
use crate::session::datasets::space::{receive_sizes, send_size};
use crate::session::halt::count_down;
use crate::session::output::OpenDataset;
use crate::session::run::Run;
use crate::session::state::Call;
use crate::session::statistics::Statistics;
use crate::session::wait_for::WaitFor;
use crate::store::FileKind;
use crate::system::time::Instant;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

impl Session {
    /// Completes a dataset (`SCR_Complete_output`): makes its redundancy data, and flushes it if that
    /// is due. Collective.
    ///
    /// # Errors
    /// A rank passed `valid` false, a routed file does not exist, or the redundancy data cannot be
    /// made: the dataset is deleted then. If only the flush fails, it stays in the cache. All ranks
    /// return the same.
    pub fn complete_output(&mut self, valid: bool) -> Result<()> {
        self.complete_phase(Call::CompleteOutput, valid)
    }

    /// Completes a checkpoint (`SCR_Complete_checkpoint`); see [`Session::complete_output`].
    pub fn complete_checkpoint(&mut self, valid: bool) -> Result<()> {
        self.complete_phase(Call::CompleteCheckpoint, valid)
    }

    fn complete_phase(&mut self, call: Call, valid: bool) -> Result<()> {
        self.state.end_phase(call)?;
        self.settle(WaitFor::Nothing)?;
        self.begin_recording_checksums()?;
        let completed = self.complete_open(call, valid);
        self.checksums.end_recording(&self.run);
        self.interval.resume();
        if self.computing.is_none() {
            self.compute_starts();
        }
        completed
    }

    fn complete_open(&mut self, call: Call, valid: bool) -> Result<()> {
        let Some(mut open) = self.open.take() else {
            return Err(Error::usage(call.name(), "no dataset is open"));
        };
        let called = Instant::now();
        let list = list_files(&self.run, &open)?.result();
        let list = list.and_then(|list| match valid {
            true => Ok(list),
            false => Err(Error::dataset(
                open.dataset.id,
                open.dataset.name.to_string(),
                self.invalid(call),
            )),
        });
        let files = list.as_ref().map_or(0, Vec::len) as i64;
        let bytes = list
            .as_ref()
            .map_or(0, |list| list.iter().map(|f| f.size).sum::<u64>()) as i64;
        let run = &self.run;
        // Where each rank has files of its own, names are compared when they are new. In a store outside
        // of the nodes a program may take a file of several ranks for one at any time.
        let apart = run.comm.size() > 1 && !shared_names::may_share(run, &open);
        let outside = run.descriptors.stores[open.target.store].outlives_nodes();
        let new_names = apart && (outside || self.name_forms.are_new(&open));
        let mut terms = [
            Term::Sum(files),
            Term::Sum(bytes),
            Term::Max(new_names.into()),
        ];
        let list = collective::agree_with(&*run.comm, run.node(), list, &mut terms);
        let list = match list.verdict()? {
            Ok(list) => list,
            Err(error) if apart => {
                // Ranks that try to make one file together fail for that reason.
                let names = run.agree(shared_names::check(run, &open)?.result());
                return self.give_up(&open, error, names);
            }
            Err(error) => return self.give_up(&open, error, Ok(())),
        };
        let mut names = Ok(());
        if terms[2].value() > 0 {
            names = shared_names::check(run, &open)?.result();
        }
        open.dataset.files = Some(terms[0].value() as u64);
        open.dataset.size = Some(terms[1].value() as u64);
        open.dataset.complete = Some(true);
        log_written(run, &open, called);

        let files = RankFiles {
            rank: run.rank(),
            files: list,
        };
        let (scheme, store) = (open.target.scheme, open.target.store);
        let mut filemap = filemap(run, &open.dataset, scheme, open.target.bypass, files);
        let mut bytes = None;
        if !open.target.bypass {
            let begun = Instant::now();
            let done = protect(run, store, &mut filemap).and(names);
            let level = run.stores[store].layout.level();
            let report = send_size(run, store, level, &filemap)?;
            let done = run.agree(done);
            let size = receive_sizes(run, store, report, &open.dataset)?;
            if let Err(error) = done {
                return self.give_up(&open, error, Ok(()));
            }
            self.name_forms.know(&open);
            let seconds = begun.elapsed().as_secs_f64();
            let word = filemap.reddesc.scheme.word();
            let text = format!("{word} redundancy was made and recorded in {seconds:.3} s");
            run.tell_once(Severity::Debug(2), text);
            bytes = size.map(|size| size.all);
            let target = open.target;
            let to = run.stores[store].layout.dataset(open.dataset.id);
            let paths = (run.base_of(target), to.as_path());
            run.log(Event::Encode, |record| {
                record.note(word).moved(&open.dataset, paths, begun)
            });
            self.cached.remember_size(scheme, size);
        }
        self.commit(&open, filemap, bytes)
    }

    /// The dataset could not be completed: it is deleted, and all others stay. `names` fails if several
    /// ranks have routed one name, which may be the reason. Always an error. Local.
    fn give_up(&mut self, open: &OpenDataset, error: Error, names: Result<()>) -> Result<()> {
        let Dataset { id, name, .. } = &open.dataset;
        self.cached.recycled.clear();
        if !open.target.bypass {
            self.cached.failures = self.cached.failures.saturating_add(1);
            let slot = Slot {
                store: open.target.store,
                id: *id,
            };
            self.cached.discard(&self.run, &[slot], None);
        }
        log_failed(&self.run, &open.dataset, &error);
        let also = names
            .err()
            .map_or(String::new(), |also| format!("; {also}"));
        let what = format!("is not complete, so it was dropped: {error}{also} ({DROPPED})");
        Err(Error::dataset(*id, name.to_string(), what))
    }

    /// All ranks have their records: the dataset counts. Flushes it if that is due. Collective.
    fn commit(&mut self, open: &OpenDataset, filemap: Filemap, bytes: Option<u64>) -> Result<()> {
        let run = &self.run;
        let dataset = filemap.dataset.clone();
        let (scheme, store, bypass) = (open.target.scheme, open.target.store, open.target.bypass);
        self.cached.failures = 0;
        let how = match bypass {
            true => "in the prefix directory, without redundancy".to_string(),
            false => filemap.reddesc.scheme.to_string(),
        };
        let count_written = |run: &Run, statistics: &mut Statistics| {
            let (named, amount) = (title(&dataset), moved(&dataset, open.begun));
            run.tell_once(Severity::Debug(1), format!("{named}: {amount}, {how}"));
            statistics.count_written(&dataset, open.begun);
            log_complete(run, open, &dataset);
        };
        if !bypass {
            count_written(run, &mut self.statistics);
        }
        // The files whose space was reused have other names by now.
        for unused in std::mem::take(&mut self.cached.recycled) {
            run.tell_not_removed(run.files.remove_file(&unused));
        }
        let entry = flush_file::FlushEntry::cached(dataset.clone());
        note(run, |record| {
            record.datasets.insert(dataset.id, entry);
        });
        let without_checksums = filemap.files.files.iter().any(|file| file.crc.is_none());
        self.cached.insert(CachedDataset {
            store,
            dataset: dataset.clone(),
            bypass,
            prefix: PrefixState::Absent,
            tolerates: run.tolerates.get(scheme).copied().unwrap_or(0),
            level: run.stores[store].layout.level(),
            bytes,
            filemap: Some(filemap),
        });
        let mut ended = Ok(());
        if dataset.is_checkpoint() {
            self.interval.count(open.begun);
            count_down(run);
            ended = self.flush_before_halt();
        }
        let due = flush::due(dataset.ckpt, dataset.flag_output, self.run.settings.flush);
        // Before a halt it may have been flushed already, or handed over to `scr poststage`.
        let is_saved = |session: &Session| {
            let cached = session.cached.get(dataset.id);
            cached.is_some_and(|cached| cached.prefix.has_files() || cached.prefix.is_flushing())
        };
        if (bypass || due) && ended.is_ok() && !is_saved(self) {
            ended = self.flush_dataset(dataset.id);
        }
        if bypass && ended.is_ok() {
            count_written(&self.run, &mut self.statistics);
        }
        if bypass && ended.is_err() && !is_saved(self) {
            // After an error of a sync the data may be lost without another error. So the dataset must
            // not be certified later, and no restart may use it.
            self.cached.entries.retain(|c| c.dataset.id != dataset.id);
            if let Err(error) = &ended {
                log_failed(&self.run, &dataset, error);
            }
            note(&self.run, |record| {
                record.datasets.retain(|id, _| *id != dataset.id);
            });
        }
        // In bypass all ranks take part, also those without a file.
        if bypass || without_checksums {
            self.start_checksums(dataset.id);
        }
        if ended.is_ok() {
            // This dataset is all right.
            if let Err(error) = self.flush_failed_again().verdict()? {
                self.run.tell_once(Severity::Warning, error.to_string());
            }
        }
        ended
    }
}

/// Records how long the program has written the files of a dataset, until `called`. Local.
fn log_written(run: &Run, open: &OpenDataset, called: Instant) {
    let base = run.base_of(open.target);
    let to = written_to(run, open);
    run.log(Event::Write, |record| {
        let written = called.saturating_duration_since(open.started);
        crate::log::Record {
            secs: Some(written.as_secs_f64()),
            ..record.moved(&open.dataset, (base, &to), open.started)
        }
    });
}

/// The directory of a dataset in the cache; in bypass, the prefix directory.
fn written_to(run: &Run, open: &OpenDataset) -> PathBuf {
    match open.target.bypass {
        true => run.base_of(open.target).to_path_buf(),
        false => run.stores[open.target.store]
            .layout
            .dataset(open.dataset.id),
    }
}

/// Records that a dataset is complete, and what the program has written. Local.
fn log_complete(run: &Run, open: &OpenDataset, dataset: &Dataset) {
    let (end, transfer) = match dataset.is_checkpoint() {
        true => (Event::CheckpointEnd, Event::Checkpoint),
        false => (Event::OutputEnd, Event::Output),
    };
    let base = run.base_of(open.target);
    let to = written_to(run, open);
    run.log(end, |record| {
        record
            .of(dataset)
            .note(base.display().to_string())
            .since(open.begun)
    });
    run.log_transfer(transfer, dataset, (base, &to), open.begun);
}

/// Records that a dataset could not be completed. Local.
fn log_failed(run: &Run, dataset: &Dataset, error: &Error) {
    let event = match dataset.is_checkpoint() {
        true => Event::CheckpointFail,
        false => Event::OutputFail,
    };
    run.log(event, |record| record.of(dataset).note(error.to_string()));
}

/// The files of this rank as they are now; where ranks can write one file together, only those that no
/// lower rank has routed too. Collective there.
fn list_files(run: &Run, open: &OpenDataset) -> Result<Local<Vec<FileMeta>>> {
    let paths: Vec<&Path> = open.files.keys().map(PathBuf::as_path).collect();
    let bypass = open.target.bypass;
    let layout = &run.stores[open.target.store].layout;
    let owners = match shared_names::may_share(run, open) {
        true => owners(&*run.comm, &paths)?,
        false => Vec::new(),
    };
    let root = match bypass {
        true => run.prefix.root().to_path_buf(),
        false => layout.data(open.dataset.id, run.rank()),
    };
    let held = run.files.holding(&[&root]);
    let files = &*held;
    let mut list = Vec::with_capacity(paths.len());
    for (at, (relative, original)) in open.files.iter().enumerate() {
        if owners.get(at).is_some_and(|owner| *owner != run.rank()) {
            continue;
        }
        let path = root.join(relative);
        let stat = match bypass {
            true => seen_by_program(files, &path, |path| files.stat(path)),
            false => files.stat(&path),
        };
        let what = match stat {
            Ok(Some(stat)) if stat.kind == FileKind::File => {
                let name = Name::from(relative.as_path());
                list.push(FileMeta::new(name, original.clone(), &stat));
                continue;
            }
            Ok(Some(_)) => "is not a regular file, though it was routed as one".to_string(),
            Ok(None) => format!("was routed but not written ({NOT_WRITTEN})"),
            Err(error) => return Ok(Err(error).into()),
        };
        return Ok(Err(Error::corrupt(path, what)).into());
    }
    Ok(Ok(list).into())
}
