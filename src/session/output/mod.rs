//! Starting a dataset: `SCR_Start_output`, `SCR_Start_checkpoint`.

pub(super) mod complete;
pub(super) mod failures;
pub(super) mod interval;
pub(super) mod reuse;
pub(super) mod route;
pub(super) mod shared_names;
pub(super) mod ways;

use super::Session;
use crate::cache::dataset;
use crate::comm::{Agreed, Agreement, Term, collective};
use crate::config::descriptors::choose;
use crate::events::{Event, Severity};
use crate::format::{Dataset, Name};
use crate::messages::RANKS_DIFFER;
use crate::policy::capacity::Fit;
use crate::prefix::index;
use crate::prefix::paths::MAX_FILENAME;
use crate::session::datasets::cached::{Reuse, title};
use crate::session::datasets::location::Location;
use crate::session::datasets::record::Target;
use crate::session::datasets::space::{NoRoom, Planned};
use crate::session::output::route::check_file;
use crate::session::run::Run;
use crate::session::state::Call;
use crate::session::stores::require_base;
use crate::session::wait_for::WaitFor;
use crate::system::time::UNIX_EPOCH;
use crate::system::time::{Instant, SystemTime};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A dataset that is being written.
pub(super) struct OpenDataset {
    pub dataset: Dataset,
    pub target: Target,
    /// Files by path relative to the prefix directory, with the names that the program used.
    pub files: BTreeMap<PathBuf, Name>,
    /// Checksums of those of them that the library has written, by the same path.
    pub checksums: BTreeMap<PathBuf, u32>,
    /// Directories that were made for them, by path relative to the prefix directory.
    pub directories: BTreeSet<PathBuf>,
    /// The library writes its files, and removes them if it fails.
    pub of_library: bool,
    /// Datasets that were evicted for it, and whose files it may write over.
    pub evicted: Vec<Dataset>,
    pub begun: Instant,
    /// Time at which the program went on.
    pub started: Instant,
}

/// The name of a rank's file in a dataset, relative to the prefix directory.
type LibraryFile = fn(&Name, u64) -> PathBuf;

/// The program's request for a dataset.
struct StartRequest {
    call: Call,
    name: Option<Name>,
    /// Checkpoint and output. An error if the rank's flags are invalid.
    flags: Result<(bool, bool)>,
    /// The file of each rank, if the library writes it: it may write over the file of an evicted dataset.
    file: Option<LibraryFile>,
}

/// The preparations of a rank before the ranks agree.
struct Prepared {
    /// The place to which the dataset would be written.
    target: Option<Target>,
    wait: StartWait,
    /// The place to which the dataset is written, if this rank is ready.
    ready: Result<Target>,
}

/// The reason for which the start of a dataset waits. If the ranks have found different reasons, the
/// last one in this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartWait {
    Nothing,
    /// Waits for the deletion of evicted datasets. `more` of them are evicted beyond those that must leave the
    /// store.
    Eviction {
        more: usize,
    },
    /// Waits for a flush of the newest checkpoint, after which this checkpoint may leave the store. After the flush the
    /// start is tried again.
    Saving,
    /// Waits for the end of the flushes, after which datasets may leave the store. After the flushes the start is
    /// tried again.
    Flushes,
}

impl StartWait {
    /// The term whose maximum is the reason for which all ranks wait.
    fn term(self) -> Term {
        Term::Max(match self {
            StartWait::Nothing => 0,
            StartWait::Eviction { more } => i64::try_from(more)
                .map_or(i64::MAX, |more| more.saturating_add(1))
                .min(i64::MAX - 2),
            StartWait::Saving => i64::MAX - 1,
            StartWait::Flushes => i64::MAX,
        })
    }

    /// The reason for which all ranks wait, from the maximum of their terms.
    fn of_all(term: Agreed<i64>) -> Agreed<StartWait> {
        term.map(|term| match term {
            0 => StartWait::Nothing,
            i64::MAX => StartWait::Flushes,
            saving if saving == i64::MAX - 1 => StartWait::Saving,
            one_more => StartWait::Eviction {
                more: usize::try_from(one_more - 1).unwrap_or(0),
            },
        })
    }

    /// Number of datasets that are evicted beyond those that must leave the store.
    fn more(self) -> usize {
        match self {
            StartWait::Eviction { more } => more,
            StartWait::Nothing | StartWait::Saving | StartWait::Flushes => 0,
        }
    }
}

impl Session {
    /// Starts a dataset (`SCR_Start_output`); `None` gives it a name made from its id. Collective;
    /// one round, and another one where a store is so full that evicted datasets must be deleted
    /// first.
    ///
    /// # Errors
    /// Name or flags differ between ranks, a store has no room, or a directory cannot be made. Then
    /// nothing has changed, except that the cache may have lost the files of an earlier dataset with
    /// the id of the new one. All ranks are in a failed phase: see
    /// [`State::after`](crate::session::state::State::after).
    pub fn start_output(
        &mut self,
        name: Option<Name>,
        checkpoint: bool,
        output: bool,
    ) -> Result<()> {
        self.start_output_as(name, Ok((checkpoint, output)))
    }

    /// [`Session::start_output`] with the caller's flags for checkpoint and output, which may be an
    /// error on one rank: then all ranks get it.
    pub fn start_output_as(
        &mut self,
        name: Option<Name>,
        flags: Result<(bool, bool)>,
    ) -> Result<()> {
        self.start_phase(StartRequest {
            call: Call::StartOutput,
            name,
            flags,
            file: None,
        })
    }

    /// [`Session::start_output_as`] for a dataset whose files only the library writes: they may be written
    /// over the files of datasets that are evicted for it ([`Session::reuse_file`]). Each rank writes
    /// `file` at least, so a name in which that cannot be made is refused.
    pub fn start_output_over(
        &mut self,
        name: Option<Name>,
        flags: Result<(bool, bool)>,
        file: LibraryFile,
    ) -> Result<()> {
        self.start_phase(StartRequest {
            call: Call::StartOutput,
            name,
            flags,
            file: Some(file),
        })
    }

    /// Starts a checkpoint with a name made from its id (`SCR_Start_checkpoint`).
    pub fn start_checkpoint(&mut self) -> Result<()> {
        self.start_phase(StartRequest {
            call: Call::StartCheckpoint,
            name: None,
            flags: Ok((true, false)),
            file: None,
        })
    }

    /// True if the program should write a checkpoint now (`SCR_Need_checkpoint`). Collective; one round.
    pub fn need_checkpoint(&mut self) -> Result<bool> {
        self.state.allow(Call::NeedCheckpoint)?;
        self.count_call();
        self.interval.decide(&self.run, &self.halt)
    }

    fn start_phase(&mut self, request: StartRequest) -> Result<()> {
        let call = request.call;
        let open = self.state.allow(call)?;
        self.count_call();
        self.fields.kept.drop_removed();
        let mut started = self.try_start(&request);
        while matches!(started, Ok(false)) {
            started = self.try_start(&request);
        }
        self.state = match started {
            Ok(_) => open,
            Err(_) => self.state.refused(call),
        };
        started.map(drop)
    }

    /// False if nothing was started and the start must be tried again. Either another process, such
    /// as `scr index --add`, has added higher ids to the index, which all ranks know now; or a store
    /// was full, and its flushes have ended now. Collective.
    fn try_start(&mut self, request: &StartRequest) -> Result<bool> {
        let begun = Instant::now();
        // A program that writes has read what it wanted. The next search starts again.
        self.search.offer.end();
        let (id, count) = self.ids.next(request.call.name())?;
        let mut dataset = self.describe(request, id, count);
        let Prepared {
            target,
            wait,
            ready,
        } = self.prepare(request, &dataset);

        let print = dataset_print(&dataset);
        let (created, indexed) = match self.search.survey.get_mut() {
            Some(survey) => (dataset.created as i64, survey.highest_in_index(&self.run)),
            None => (0, (0, 0)),
        };
        let terms = [
            Term::Max(print),
            Term::Min(print),
            Term::Max(created),
            wait.term(),
            Term::Max(indexed.0 as i64),
            Term::Max(indexed.1 as i64),
        ];
        let Agreement { verdict, terms } = self.run.agree_with(ready, terms)?;
        let [most, least, created, wait, max_dataset, max_checkpoint] = terms;
        let ready = verdict.and_then(|target| {
            if most == least {
                Ok(target)
            } else {
                Err(Error::usage(
                    request.call.name(),
                    format!(
                        "name or flags differ between ranks; give the same on all ({RANKS_DIFFER})"
                    ),
                ))
            }
        });
        let (max_dataset, max_checkpoint) = (max_dataset.count(), max_checkpoint.count());
        let ids_are_taken =
            max_dataset >= id || (dataset.is_checkpoint() && max_checkpoint >= count);
        if let (true, Some(target)) = (ids_are_taken || ready.is_err(), target) {
            self.remove_directories(target.location, id);
        }
        let wait = StartWait::of_all(wait);
        match wait.get() {
            StartWait::Flushes => {
                self.flush().end_flushes(WaitFor::All)?;
                return Ok(false);
            }
            StartWait::Saving => {
                self.flush().save_for_room(ready)?;
                return Ok(false);
            }
            StartWait::Nothing | StartWait::Eviction { .. } => {}
        }
        let target = ready?;
        if ids_are_taken {
            self.ids.know(max_dataset, Some(max_checkpoint));
            return Ok(false);
        }
        dataset.created = created.count();
        self.open(request, dataset, target, (wait, begun))?;
        Ok(true)
    }

    /// This rank's work before the ranks agree on the start: one rank of each node looks for room, and makes
    /// the directories of all ranks of the node. Local.
    fn prepare(&mut self, request: &StartRequest, dataset: &Dataset) -> Prepared {
        let flags = request.flags.clone();
        let target = flags.and_then(|_| self.check_start(request, dataset));
        let room = target.clone().map_err(NoRoom::from).and_then(|target| {
            let planned = Planned { dataset, target };
            self.cached
                .check_space(&self.run, &self.search.offer, planned)
        });
        let wait = match &room {
            // A dataset that is being flushed may go once it is in the prefix directory.
            Err(_) if target.is_ok() && self.background.flushes.is_busy() => StartWait::Flushes,
            Err(no_room) if no_room.saving_helps => StartWait::Saving,
            Ok(Fit::AfterDeletion) => StartWait::Eviction { more: 0 },
            Ok(Fit::AfterEvicting(more)) => StartWait::Eviction { more: *more },
            Ok(Fit::Now | Fit::Never) | Err(_) => StartWait::Nothing,
        };
        let room = room.map_err(|no_room| no_room.error);
        let ready = room.and(target.clone()).and_then(|target| {
            make_directories(&self.run, dataset, target.location)?;
            Ok(target)
        });
        Prepared {
            target: target.ok(),
            wait,
            ready,
        }
    }

    /// The rank that makes the directories of a node removes them again if the dataset is not begun.
    /// Local.
    fn remove_directories(&self, location: Location, id: u64) {
        let run = &self.run;
        if let Location::Cache(store) = location
            && let Some(ranks) = run.ranks_led_in(store)
        {
            let layout = &run.stores[store].layout;
            let removed = dataset::remove_directories(&*run.files, layout, id, &ranks);
            run.tell_not_removed(removed);
        }
    }

    /// All ranks are ready: enters the dataset, and evicts the datasets that must go for it.
    /// Collective.
    fn open(
        &mut self,
        request: &StartRequest,
        dataset: Dataset,
        target: Target,
        (wait, begun): (Agreed<StartWait>, Instant),
    ) -> Result<()> {
        let location = target.location;
        if location.is_bypass() {
            // A background copy to that place would overwrite the files of the new dataset.
            self.flush().cancel_name(&dataset.name, dataset.id)?;
        }
        let more = wait.get().more();
        self.flush().wait_for_victims(location, more)?;
        if !dataset.is_checkpoint()
            && let Err(error) = self.flush().save_displaced(location, more)
        {
            self.remove_directories(location, dataset.id);
            return Err(error);
        }
        self.enter(&dataset, location)?;
        let evicted = self.make_way(request, &dataset, location, wait)?;
        let event = if dataset.is_checkpoint() {
            Event::CheckpointStart
        } else {
            Event::OutputStart
        };
        if dataset.is_checkpoint() {
            self.statistics.compute_ends(&self.run, begun);
        }
        self.run.log(event, |record| {
            record
                .of(&dataset)
                .note(location.base(&self.run).display().to_string())
        });
        self.open = Some(OpenDataset {
            dataset,
            target,
            files: BTreeMap::new(),
            checksums: BTreeMap::new(),
            directories: BTreeSet::new(),
            of_library: request.file.is_some(),
            evicted,
            begun,
            started: Instant::now(),
        });
        Ok(())
    }

    /// The id of a dataset is used from now on, and in bypass its name. Collective.
    fn enter(&mut self, dataset: &Dataset, location: Location) -> Result<()> {
        let run = &self.run;
        if location.is_bypass() {
            // An older entry of this name is lost by this, so it must not happen earlier.
            run.on_root(|| index::enter(&*run.files, &run.prefix, dataset))?;
        }
        self.ids.know(dataset.id, dataset.ckpt);
        if location.is_bypass() {
            self.cached.name_is_reused(run, dataset.id, &dataset.name);
        }
        let directory = location.directory(run, dataset.id);
        let text = format!("{} is written to {}", title(dataset), directory.display());
        run.tell_once(Severity::Debug(2), text);
        Ok(())
    }

    /// Evicts the datasets that must go for a new one, and returns those whose files it may write over.
    /// Collective.
    fn make_way(
        &mut self,
        request: &StartRequest,
        dataset: &Dataset,
        location: Location,
        wait: Agreed<StartWait>,
    ) -> Result<Vec<Dataset>> {
        let (run, search) = (&self.run, &mut self.search);
        let tight = wait.get() != StartWait::Nothing;
        // Where room is short, the space of evicted datasets must become free.
        let reuse = (!location.is_bypass() && !tight).then_some(Reuse {
            by: dataset.id,
            files: request.file.is_some(),
        });
        let more = wait.get().more();
        self.cached.keep_displaced(run, search, location, more)?;
        let mut evicted = self.cached.evict(run, search, location, more, reuse);
        if !reuse.is_some_and(|reuse| reuse.files) {
            evicted.clear();
        }
        if let (Location::Bypass(store), Some(survey)) = (location, search.survey.get_mut()) {
            let last_run = survey.last_run();
            last_run.limit_bypass(run, &self.cached, store, &dataset.name);
        }
        if tight {
            // The space of a deleted file becomes free when nobody has it open.
            self.fields.kept.clear();
            self.cached.deletion().finish();
            run.comm.barrier()?;
        }
        Ok(evicted)
    }

    /// The place to which a new dataset is written. Local.
    ///
    /// # Errors
    /// The name is too long, or is that of a checkpoint of another number of ranks or of other fields; a restart of
    /// fields was refused; or no redundancy descriptor applies.
    fn check_start(&mut self, request: &StartRequest, dataset: &Dataset) -> Result<Target> {
        let call = request.call;
        if dataset.name.as_bytes().len() >= MAX_FILENAME {
            return Err(Error::usage(
                call.name(),
                format!("the name has {MAX_FILENAME} bytes or more; choose a shorter one"),
            ));
        }
        let schemes = &self.run.descriptors.schemes;
        let descriptor = choose(schemes, dataset.ckpt, dataset.flag_output);
        let target = descriptor.map(Target::of);
        let target =
            target.ok_or_else(|| Error::usage(call.name(), "no redundancy descriptor fits"))?;
        if let Some(file) = request.file {
            let name = file(&dataset.name, self.run.rank() as u64);
            check_file(&self.run, dataset.id, target.location, &name)?;
        }
        self.fields.check_start(&self.run, call, &dataset.name)?;
        self.other_ranks
            .check_name(&self.run, call, &dataset.name)?;
        Ok(target)
    }

    /// The description of a dataset that starts now. If it is a checkpoint, its number is `count`. Local.
    fn describe(&self, request: &StartRequest, id: u64, count: u64) -> Dataset {
        let run = &self.run;
        let (checkpoint, output) = request.flags.as_ref().copied().unwrap_or_default();
        let given = request.name.clone().filter(|name| !name.is_empty());
        let name = given.unwrap_or_else(|| format!("scr.dataset.{id}").as_str().into());
        // The time of creation tells which of two datasets is newer, so it never goes back.
        let cached = self.cached.iter();
        let newest = cached.map(|c| c.dataset.created as i64).max();
        let micros = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_micros() as i64)
            .max(newest.map_or(0, |newest| newest.saturating_add(1)));
        Dataset {
            id,
            name,
            flag_ckpt: checkpoint,
            flag_output: output,
            created: micros as u64,
            user: run.user.clone(),
            jobname: run.settings.job_name.as_deref().map(Name::from),
            jobid: run.job.clone(),
            cluster: run.settings.cluster_name.as_deref().map(Name::from),
            ckpt: checkpoint.then_some(count),
            ..Dataset::default()
        }
    }
}

/// A number by which the ranks check that all start the same dataset.
fn dataset_print(dataset: &Dataset) -> i64 {
    let flags = [dataset.flag_ckpt, dataset.flag_output].map(u8::from);
    let asked = [&flags[..], dataset.name.as_bytes()].concat();
    collective::fingerprint(&asked) as i64
}

/// Makes the directories in the cache of all ranks of a node, on one of them. Local.
fn make_directories(run: &Run, dataset: &Dataset, location: Location) -> Result<()> {
    let Location::Cache(store) = location else {
        return Ok(());
    };
    let Some(ranks) = run.ranks_led_in(store) else {
        return Ok(());
    };
    let descriptor = &run.descriptors.stores[store];
    require_base(&*run.files, descriptor, run.node())?;
    let layout = &run.stores[store].layout;
    dataset::make_empty_directories(&*run.files, layout, dataset.id, &ranks)
}

#[cfg(test)]
mod tests {
    use super::StartWait;
    use crate::comm::collective;
    use crate::threads;

    #[test]
    fn all_ranks_wait_for_what_the_last_of_them_must() {
        let (nothing, flushes) = (StartWait::Nothing, StartWait::Flushes);
        let eviction = |more| StartWait::Eviction { more };
        for (waits, all) in [
            ([nothing, nothing], nothing),
            ([nothing, eviction(0)], eviction(0)),
            ([eviction(3), eviction(1)], eviction(3)),
            ([flushes, eviction(usize::MAX)], flushes),
        ] {
            let agreed = threads::run(2, |comm| {
                let [term] = collective::combine(&*comm, [waits[comm.rank()].term()]).unwrap();
                StartWait::of_all(term).get()
            });
            assert_eq!(agreed, [all, all]);
        }
    }
}
