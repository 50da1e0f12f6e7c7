//! Completing a dataset: `SCR_Complete_output`, `SCR_Complete_checkpoint`.

use super::{shared_names, ways};
use crate::comm::{Agreement, Local, Term, VerdictExt};
use crate::events::{Event, Severity};
use crate::format::{Dataset, FileMeta, Name, RankFiles};
use crate::messages::{DIRECTORY_ROUTED, DROPPED, NOT_WRITTEN, REDUNDANCY_WRONG};
use crate::policy::flush;
use crate::prefix::names::owners;
use crate::prefix::paths::seen_by_program;
use crate::redundancy::Encoded;
use crate::session::Session;
use crate::session::datasets::cached::{CachedDataset, OwnPart, moved, title};
use crate::session::datasets::location::{Location, Writers};
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::datasets::record::{Target, filemap, protect};
use crate::session::datasets::space::{receive_sizes, send_size};
use crate::session::halt::count_down;
use crate::session::log::FromTo;
use crate::session::output::OpenDataset;
use crate::session::run::Run;
use crate::session::state::Call;
use crate::store::FileKind;
use crate::system::time::Instant;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// How often redundancy is made that turns out to be wrong.
const ATTEMPTS: usize = 3;

impl Session {
    /// Completes a dataset (`SCR_Complete_output`): makes its redundancy data, and flushes it if that
    /// is due. Collective.
    ///
    /// # Errors
    /// A rank passed `valid` false, a routed file does not exist, or the redundancy data cannot be
    /// made. After these errors the dataset is deleted. If only the flush fails, the dataset stays in the cache. All
    /// ranks return the same.
    pub fn complete_output(&mut self, valid: bool) -> Result<()> {
        self.complete_phase(Call::CompleteOutput, valid)
    }

    /// Completes a checkpoint (`SCR_Complete_checkpoint`); see [`Session::complete_output`].
    pub fn complete_checkpoint(&mut self, valid: bool) -> Result<()> {
        self.complete_phase(Call::CompleteCheckpoint, valid)
    }

    fn complete_phase(&mut self, call: Call, valid: bool) -> Result<()> {
        self.state.end_phase(call)?;
        self.flush().look_after(call)?;
        let completed = self.complete_open(call, valid);
        self.background.checksums.end_recording(&self.run);
        self.interval.resume();
        if !self.statistics.is_computing() {
            self.statistics.compute_starts(&self.run);
        }
        completed
    }

    fn complete_open(&mut self, call: Call, valid: bool) -> Result<()> {
        self.count_call();
        let Some(mut open) = self.open.take() else {
            return Err(Error::usage(call.name(), "no dataset is open"));
        };
        let called = Instant::now();
        let list = list_files(&self.run, &open)?.result();
        // A reason that this rank has given tells more than a file that is missing therefore.
        let reason = self.why_invalid.is_some();
        let list = match list {
            Err(error) if valid || !reason => Err(error),
            Ok(list) if valid => Ok(list),
            _ => Err(Error::dataset(
                open.dataset.id,
                open.dataset.name.to_string(),
                self.invalid(call),
            )),
        };
        let location = open.target.location;
        let list = list.map_err(|error| self.cached.explain_full(&self.run, location, error));
        let (files, names) = self.agree_on_files(&mut open, list)?;
        let run = &self.run;
        log_written(run, &open, called);
        let files = RankFiles {
            rank: run.rank(),
            files,
        };
        let filemap = filemap(run, &open.dataset, open.target, files);
        let mut own = OwnPart {
            filemap,
            level: run.stores[open.target.location.store()].layout.level(),
            bytes: None,
        };
        if let Location::Cache(store) = open.target.location {
            self.make_redundancy(&open, store, &mut own, names)?;
        }
        self.commit(&open, own)
    }

    /// The ranks agree that they have their files, whose number and bytes go into the description of the
    /// dataset. Also returns this rank's record of names that several ranks have routed. Collective.
    ///
    /// # Errors
    /// The dataset was given up.
    fn agree_on_files(
        &mut self,
        open: &mut OpenDataset,
        list: Result<Vec<FileMeta>>,
    ) -> Result<(Vec<FileMeta>, Local<()>)> {
        let files = list.as_ref().map_or(0, Vec::len) as i64;
        let bytes = list
            .as_ref()
            .map_or(0, |list| list.iter().map(|f| f.size).sum::<u64>()) as i64;
        let run = &self.run;
        // Where each rank has files of its own, names are compared if their form is new. In a store
        // outside of the nodes a program may take a file of several ranks for one at any time.
        let apart = run.comm.size() > 1 && !shared_names::may_share(run, open);
        let store = open.target.location.store();
        let outside = run.descriptors.stores[store].outlives_nodes();
        let new_names = apart && (outside || self.name_forms.are_new(open));
        let obstacle = list
            .is_ok()
            .then(|| self.ways.obstacle(run, open))
            .flatten();
        let terms = [
            Term::Sum(files),
            Term::Sum(bytes),
            Term::Max(new_names.into()),
            // Terms about a rebuild or a fetch, after which the ranks have not agreed on them.
            run.has_warning(run.unkept.is_untold()),
            run.has_warning(obstacle.is_some()),
        ];
        let Agreement { verdict, terms } = run.agree_with(list, terms)?;
        let [files, bytes, new_names, unkept, obstructed] = terms;
        run.tell_unkept(unkept);
        let list = match verdict {
            Ok(list) => list,
            Err(error) => {
                // Ranks that try to make one file together fail for that reason.
                let names = if apart {
                    run.agree(shared_names::check(run, open)?.result())
                } else {
                    Ok(())
                };
                return Err(self.give_up(open, error, names));
            }
        };
        let names = if new_names.on_any() {
            shared_names::check(run, open)?
        } else {
            Ok(()).into()
        };
        open.dataset.files = Some(files.count());
        open.dataset.size = Some(bytes.count());
        open.dataset.complete = Some(true);
        if let Some(cause) = obstacle.filter(|_| run.warns_first(obstructed)) {
            run.tell(Severity::Warning, ways::warning(open, cause));
        }
        if let Some(cause) = self.ways.lack_of_room(run, open) {
            run.tell(Severity::Warning, ways::warning(open, cause));
        }
        Ok((list, names))
    }

    /// Makes and records the redundancy of a dataset in a store, unless several ranks have routed one of its
    /// `names`. Collective.
    ///
    /// # Errors
    /// The dataset was given up.
    fn make_redundancy(
        &mut self,
        open: &OpenDataset,
        store: usize,
        own: &mut OwnPart,
        names: Local<()>,
    ) -> Result<()> {
        let (run, begun) = (&self.run, Instant::now());
        let layout = &run.stores[store].layout;
        let (location, names) = (open.target.location, names.result());
        let files = self.fields.files_to_protect(run);
        let mut attempts = ATTEMPTS;
        let size = loop {
            attempts -= 1;
            let made = protect(run, &*files, store, layout, &mut own.filemap);
            let (done, wrong) = match made {
                Ok(Encoded::Right) => (Ok(()), false),
                Ok(Encoded::Wrong(error)) if attempts > 0 => {
                    run.tell(Severity::Warning, made_again(run, open, &error));
                    (Ok(()), true)
                }
                Ok(Encoded::Wrong(error)) | Err(error) => (Err(error), false),
            };
            let done = done.and(names.clone());
            let done = done.map_err(|error| self.cached.explain_full(run, location, error));
            let report = send_size(run, store, own.level, &own.filemap)?;
            let agreed = run.agree_with(done, [Term::Max(wrong.into())])?;
            let size = receive_sizes(run, store, report, &open.dataset)?;
            if let Err(error) = agreed.verdict {
                return Err(self.give_up(open, error, Ok(())));
            }
            let [wrong] = agreed.terms;
            if !wrong.on_any() {
                break size;
            }
        };
        self.name_forms.know(open);
        let seconds = begun.elapsed().as_secs_f64();
        let word = own.filemap.reddesc.scheme.word();
        let text = format!("{word} redundancy was made and recorded in {seconds:.3} s");
        run.tell_once(Severity::Debug(2), text);
        own.bytes = size.map(|size| size.all);
        let paths = FromTo {
            from: location.base(run),
            to: &location.directory(run, open.dataset.id),
        };
        run.log(Event::Encode, |record| {
            record.note(word).moved(&open.dataset, paths, begun)
        });
        self.cached.remember_size(open.target.scheme, size);
        Ok(())
    }

    /// The dataset could not be completed: it is deleted, and all others stay. `names` fails if several
    /// ranks have routed one name, which may be the reason. Gives the error for the program. Local.
    fn give_up(&mut self, open: &OpenDataset, error: Error, names: Result<()>) -> Error {
        let Dataset { id, name, .. } = &open.dataset;
        self.cached.give_up(&self.run, *id, open.target.location);
        if open.target.location.is_bypass() && open.of_library {
            remove_files(&self.run, open);
        }
        log_failed(&self.run, &open.dataset, &error);
        let also = names
            .err()
            .map_or(String::new(), |also| format!("; {also}"));
        let what = format!("is not complete, so it was dropped: {error}{also} ({DROPPED})");
        Error::dataset(*id, name.to_string(), what)
    }

    /// All ranks have their records: the dataset counts. Flushes it if that is due. Collective.
    fn commit(&mut self, open: &OpenDataset, own: OwnPart) -> Result<()> {
        let dataset = own.filemap.dataset.clone();
        let bypass = open.target.location.is_bypass();
        let without_checksums = own.filemap.files.files.iter().any(|f| f.crc.is_none());
        let how = if bypass {
            "in the prefix directory, without redundancy".to_string()
        } else {
            own.filemap.reddesc.scheme.to_string()
        };
        if !bypass {
            self.count_written(open, &dataset, &how);
        }
        self.add_written(open.target, &dataset, own);
        let mut ended = Ok(());
        if dataset.is_checkpoint() {
            self.interval.count(open.begun);
            count_down(&self.run);
            ended = self.flush_before_halt();
        }
        let due = flush::due(dataset.ckpt, dataset.flag_output, self.run.settings.flush);
        // A halt may have flushed the dataset already, or handed it over to `scr poststage`.
        if (bypass || due) && ended.is_ok() && !self.is_flushed(dataset.id) {
            ended = self.flush().dataset(dataset.id);
        }
        match &ended {
            Ok(()) if bypass => self.count_written(open, &dataset, &how),
            Err(error) if bypass && !self.is_flushed(dataset.id) => self.disown(&dataset, error),
            _ => {}
        }
        if dataset.is_checkpoint()
            && self.cached.get(dataset.id).is_some()
            && let Some(survey) = self.search.survey.get_mut()
        {
            survey.last_run().forget_displaced(&self.run);
        }
        // In bypass all ranks take part, also those without a file.
        if bypass || without_checksums {
            let checksums = &mut self.background.checksums;
            checksums.start(&self.run, &self.cached, dataset.id);
        }
        if ended.is_ok() {
            // This dataset is all right.
            if let Err(error) = self.flush().failed_again(false).verdict()? {
                self.run.tell_once(Severity::Warning, error.to_string());
            }
        }
        ended
    }

    /// Adds a complete dataset to those of the cache. Local; all ranks add the same, except for `own`.
    fn add_written(&mut self, target: Target, dataset: &Dataset, own: OwnPart) {
        let run = &self.run;
        let written = CachedDataset {
            location: target.location,
            dataset: dataset.clone(),
            writers: Writers::AsManyAsNow,
            prefix: PrefixState::Absent,
            tolerates: run.tolerates.get(target.scheme).copied().unwrap_or(0),
            own: Some(own),
        };
        self.cached.add_written(run, written);
    }

    /// Tells that the program has written a dataset, and counts it. Local.
    fn count_written(&mut self, open: &OpenDataset, dataset: &Dataset, how: &str) {
        let (named, amount) = (title(dataset), moved(dataset, open.begun));
        let text = format!("{named}: {amount}, {how}");
        self.run.tell_once(Severity::Debug(1), text);
        self.statistics.count_written(dataset, open.begun);
        log_complete(&self.run, open, dataset);
    }

    /// True if the prefix directory has a dataset, or it is on the way there. Local; the same on all ranks.
    fn is_flushed(&self, id: u64) -> bool {
        let cached = self.cached.get(id);
        cached.is_some_and(|cached| cached.prefix.has_files() || cached.prefix.is_flushing())
    }

    /// A dataset in bypass was not certified: after an error of a sync its data may be lost without another
    /// error. So it must not be certified later, and no restart may use it. Local; the same on all ranks.
    fn disown(&mut self, dataset: &Dataset, error: &Error) {
        log_failed(&self.run, dataset, error);
        self.cached.disown(&self.run, dataset.id);
    }
}

/// The warning about redundancy that is not right.
fn made_again(run: &Run, open: &OpenDataset, error: &Error) -> String {
    let (named, node) = (title(&open.dataset), run.node());
    format!(
        "the redundancy of {named} is made again, as it is wrong on node {node}: {error} ({REDUNDANCY_WRONG})"
    )
}

/// Removes this rank's files of a dataset in the prefix directory, and its directory with the last file of all ranks.
/// Files behind links are not touched. Local.
fn remove_files(run: &Run, open: &OpenDataset) {
    let root = run.prefix.root();
    let files = open.files.keys().map(|file| root.join(file));
    let mut removed: Vec<Result<()>> = files.map(|file| run.files.remove_file(&file)).collect();
    let directory = root.join(open.dataset.name.as_path());
    removed.push(run.files.remove_dir(&directory).map(drop));
    let behind_link = |removed: &Result<()>| removed.as_ref().is_err_and(Error::is_link);
    for removed in removed.into_iter().filter(|one| !behind_link(one)) {
        run.tell_not_removed(removed);
    }
}

/// Records how long the program has written the files of a dataset, until `called`. Local.
fn log_written(run: &Run, open: &OpenDataset, called: Instant) {
    let location = open.target.location;
    let paths = FromTo {
        from: location.base(run),
        to: &location.directory(run, open.dataset.id),
    };
    run.log(Event::Write, |record| {
        let written = called.saturating_duration_since(open.started);
        crate::log::Record {
            secs: Some(written.as_secs_f64()),
            ..record.moved(&open.dataset, paths, open.started)
        }
    });
}

/// Logs that a dataset is complete, and how much the program has written. Local.
fn log_complete(run: &Run, open: &OpenDataset, dataset: &Dataset) {
    let (end, transfer) = if dataset.is_checkpoint() {
        (Event::CheckpointEnd, Event::Checkpoint)
    } else {
        (Event::OutputEnd, Event::Output)
    };
    let location = open.target.location;
    let base = location.base(run);
    run.log(end, |record| {
        record
            .of(dataset)
            .note(base.display().to_string())
            .since(open.begun)
    });
    let paths = FromTo {
        from: base,
        to: &location.directory(run, open.dataset.id),
    };
    run.log_transfer(transfer, dataset, paths, open.begun);
}

/// Records that a dataset could not be completed. Local.
fn log_failed(run: &Run, dataset: &Dataset, error: &Error) {
    let event = if dataset.is_checkpoint() {
        Event::CheckpointFail
    } else {
        Event::OutputFail
    };
    run.log(event, |record| record.of(dataset).note(error.to_string()));
}

/// The files of this rank as they are now; where ranks can write one file together, only those that no
/// lower rank has also routed. Collective where ranks can write one file together.
fn list_files(run: &Run, open: &OpenDataset) -> Result<Local<Vec<FileMeta>>> {
    let paths: Vec<&Path> = open.files.keys().map(PathBuf::as_path).collect();
    let location = open.target.location;
    let owners = if shared_names::may_share(run, open) {
        owners(&*run.comm, &paths)?
    } else {
        Vec::new()
    };
    let root = location.root(run, open.dataset.id);
    let held = run.files.holding(&[&root]);
    let files = &*held;
    let mut list = Vec::with_capacity(paths.len());
    for (at, (relative, original)) in open.files.iter().enumerate() {
        if owners.get(at).is_some_and(|owner| *owner != run.rank()) {
            continue;
        }
        let path = root.join(relative);
        let stat = match location {
            Location::Bypass(_) => seen_by_program(files, &path, |path| files.stat(path)),
            Location::Cache(_) => files.stat(&path),
        };
        let what = match stat {
            Ok(Some(stat)) if stat.kind == FileKind::File => {
                let name = Name::from(relative.as_path());
                list.push(FileMeta {
                    crc: open.checksums.get(relative).copied(),
                    ..FileMeta::new(name, original.clone(), &stat)
                });
                continue;
            }
            Ok(Some(stat)) if stat.kind == FileKind::Directory => format!(
                "is a directory, and only files can be routed; route each file in it by its own name \
                 ({DIRECTORY_ROUTED})"
            ),
            Ok(Some(_)) => "is not a regular file, though it was routed as one".to_string(),
            Ok(None) => format!("was routed but not written ({NOT_WRITTEN})"),
            Err(error) => return Ok(Err(error).into()),
        };
        return Ok(Err(Error::corrupt(path, what)).into());
    }
    Ok(Ok(list).into())
}
