//! Starting a dataset: `SCR_Start_output`, `SCR_Start_checkpoint`.

pub(super) mod complete;
pub(super) mod failures;
pub(super) mod interval;
pub(super) mod route;
pub(super) mod shared_names;
pub(super) mod stores;

use super::Session;
use crate::cache::dataset;
use crate::comm::{Term, collective};
use crate::config::descriptors::choose;
use crate::events::{Event, Severity};
use crate::format::{Dataset, Name};
use crate::messages::RANKS_DIFFER;
use crate::policy::capacity::Fit;
use crate::prefix::index;
use crate::prefix::paths::MAX_FILENAME;
use crate::session::datasets::cached::title;
use crate::session::datasets::record::Target;
use crate::session::datasets::space::Planned;
use crate::session::output::stores::require_base;
use crate::session::run::Run;
use crate::session::state::Call;
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
    /// Directories that were made for them, by path relative to the prefix directory.
    pub directories: BTreeSet<PathBuf>,
    pub begun: Instant,
    /// When the program went on.
    pub started: Instant,
}

impl Session {
    /// Starts a dataset (`SCR_Start_output`); `None` gives it a name made from its id. Collective;
    /// one round, and another one where a store is so full that evicted datasets must be deleted
    /// first.
    ///
    /// # Errors
    /// Name or flags differ between ranks, a store has no room, or a directory cannot be made.
    /// Nothing has changed then, except that the cache may have lost what it had under the id of the
    /// new dataset. All ranks are in a failed phase: see
    /// [`State::after`](crate::session::state::State::after).
    pub fn start_output(
        &mut self,
        name: Option<Name>,
        checkpoint: bool,
        output: bool,
    ) -> Result<()> {
        self.start_phase(Call::StartOutput, name, Ok((checkpoint, output)))
    }

    /// [`Session::start_output`] with the caller's flags for checkpoint and output, which may be an
    /// error on one rank: then all ranks get it.
    pub fn start_output_as(
        &mut self,
        name: Option<Name>,
        flags: Result<(bool, bool)>,
    ) -> Result<()> {
        self.start_phase(Call::StartOutput, name, flags)
    }

    /// Starts a checkpoint with a name made from its id (`SCR_Start_checkpoint`).
    pub fn start_checkpoint(&mut self) -> Result<()> {
        self.start_phase(Call::StartCheckpoint, None, Ok((true, false)))
    }

    fn start_phase(
        &mut self,
        call: Call,
        name: Option<Name>,
        flags: Result<(bool, bool)>,
    ) -> Result<()> {
        let open = self.state.allow(call)?;
        let mut started = self.try_start(call, &name, &flags);
        while matches!(started, Ok(false)) {
            started = self.try_start(call, &name, &flags);
        }
        self.state = match started {
            Ok(_) => open,
            Err(_) => self.state.refused(call),
        };
        started.map(drop)
    }

    /// False if it must be tried again, and nothing was started: another process, such as
    /// `scr index --add`, has added higher ids to the index, which all ranks know now; or a store was
    /// full, and the flushes of what is in it have ended now. Collective.
    fn try_start(
        &mut self,
        call: Call,
        name: &Option<Name>,
        flags: &Result<(bool, bool)>,
    ) -> Result<bool> {
        let begun = Instant::now();
        // A program that writes has read what it wanted. The next search starts again.
        self.search.offered = None;
        self.search.chosen = None;
        let (id, count) = self.ids.next(call.name())?;
        let (checkpoint, output) = flags.as_ref().copied().unwrap_or_default();
        let given = name.clone().filter(|name| !name.is_empty());
        let name = given.unwrap_or_else(|| format!("scr.dataset.{id}").as_str().into());
        let mut dataset = self.describe(id, name, checkpoint.then_some(count), output);

        let target = flags.clone().and_then(|_| self.check_start(call, &dataset));
        let room = target.clone().and_then(|target| {
            let planned = Planned {
                dataset: &dataset,
                scheme: target.scheme,
                bypass: target.bypass,
            };
            self.cached.check_space(&self.run, &self.search, planned)
        });
        // How many datasets more must be evicted, plus one; 0 if there is room without waiting.
        let evict = match &room {
            Ok(Fit::AfterDeletion) => 1,
            Ok(Fit::AfterEvicting(count)) => {
                i64::try_from(*count).map_or(i64::MAX, |n| n.saturating_add(1))
            }
            _ => 0,
        };
        // What is being flushed may go when it is in the prefix directory.
        let no_room = target.is_ok() && room.is_err() && self.background.is_busy();
        let ready = room.and(target.clone()).and_then(|target| {
            make_directories(&self.run, &dataset, target)?;
            Ok(target)
        });

        let flags = [dataset.flag_ckpt, dataset.flag_output].map(u8::from);
        let asked = [&flags[..], dataset.name.as_bytes()].concat();
        let fingerprint = collective::fingerprint(&asked) as i64;
        let (created, indexed) = match self.run.rank() {
            0 => (
                dataset.created as i64,
                self.search.highest_in_index(&self.run),
            ),
            _ => (0, (0, 0)),
        };
        let mut terms = [
            Term::Max(fingerprint),
            Term::Min(fingerprint),
            Term::Max(created),
            Term::Max(evict),
            Term::Max(indexed.0 as i64),
            Term::Max(indexed.1 as i64),
            Term::Max(no_room.into()),
        ];
        let run = &self.run;
        let ready = collective::agree_with(&*run.comm, run.node(), ready, &mut terms);
        let [
            most,
            least,
            created,
            evict,
            max_dataset,
            max_checkpoint,
            no_room,
        ] = terms.map(|term| term.value());
        let ready = ready.and_then(|target| match most == least {
            true => Ok(target),
            false => Err(Error::usage(
                call.name(),
                format!(
                    "name or flags differ between ranks; give the same on all ({RANKS_DIFFER})"
                ),
            )),
        });
        let (max_dataset, max_checkpoint) = (max_dataset as u64, max_checkpoint as u64);
        let ids_are_taken = max_dataset >= id || (checkpoint && max_checkpoint >= count);
        if let (true, Ok(target)) = (ids_are_taken || ready.is_err(), &target) {
            self.remove_directories(target, id);
        }
        if no_room > 0 {
            self.settle(WaitFor::All)?;
            return Ok(false);
        }
        let target = ready?;
        if ids_are_taken {
            self.ids.know(max_dataset, Some(max_checkpoint));
            return Ok(false);
        }
        dataset.created = created as u64;
        self.open(dataset, target, evict, begun)?;
        Ok(true)
    }

    /// Removes the directories in the cache of a dataset that is not begun. Local.
    fn remove_directories(&self, target: &Target, id: u64) {
        let run = &self.run;
        if !target.bypass {
            let layout = &run.stores[target.store].layout;
            let removed = dataset::remove_directories(&*run.files, layout, id, run.rank());
            run.tell_not_removed(removed);
        }
    }

    /// All ranks are ready: enters the dataset, and evicts what must go for it. `evict` is one more
    /// than the number of datasets that go beyond the count of the store, or 0 if nothing must be
    /// waited for. Collective.
    fn open(&mut self, dataset: Dataset, target: Target, evict: i64, begun: Instant) -> Result<()> {
        let Target { store, bypass, .. } = target;
        let tight = evict > 0;
        let more = usize::try_from(evict - 1).unwrap_or(0);
        if bypass {
            // What is copied there in the background would overwrite the files of the new one.
            let same_name = self.background.ids_of_name(&dataset.name, dataset.id);
            self.settle_cancelled(&same_name)?;
            self.checksums.cancel_bypass(Some(&dataset.name));
        }
        self.settle_victims((store, bypass), more)?;
        if !dataset.is_checkpoint()
            && let Err(error) = self.save_displaced((store, bypass), more)
        {
            self.remove_directories(&target, dataset.id);
            return Err(error);
        }
        let run = &self.run;
        if bypass {
            // An older entry of this name is lost by this, so it must not happen earlier.
            run.on_root(|| index::enter(&*run.files, &run.prefix, &dataset))?;
        }
        self.ids.know(dataset.id, dataset.ckpt);
        if bypass {
            self.cached.name_is_reused(run, dataset.id, &dataset.name);
        }
        let place = match bypass {
            true => run.prefix.root().to_path_buf(),
            false => run.stores[store].layout.dataset(dataset.id),
        };
        let text = format!("{} is written to {}", title(&dataset), place.display());
        run.tell_once(Severity::Debug(2), text);
        // Where room is short the space of evicted parity must become free.
        let reused_by = (!bypass && !tight).then_some(dataset.id);
        let search = &mut self.search;
        self.cached
            .evict(run, search, (store, bypass), more, reused_by);
        if bypass {
            search.limit_bypass_of_last_run(run, &self.cached, store, &dataset.name);
        }
        if tight {
            self.cached.deletion.finish();
            run.comm.barrier()?;
        }
        let event = match dataset.is_checkpoint() {
            true => Event::CheckpointStart,
            false => Event::OutputStart,
        };
        if dataset.is_checkpoint() {
            self.compute_ends(begun);
        }
        self.run.log(event, |record| {
            record
                .of(&dataset)
                .note(self.run.base_of(target).display().to_string())
        });
        self.open = Some(OpenDataset {
            dataset,
            target,
            files: BTreeMap::new(),
            directories: BTreeSet::new(),
            begun,
            started: Instant::now(),
        });
        Ok(())
    }

    /// Where a new dataset is written. Local.
    ///
    /// # Errors
    /// Its name is too long, or is that of a checkpoint of another number of ranks; or no redundancy
    /// descriptor applies.
    fn check_start(&mut self, call: Call, dataset: &Dataset) -> Result<Target> {
        if dataset.name.as_bytes().len() >= MAX_FILENAME {
            return Err(Error::usage(
                call.name(),
                format!("the name has {MAX_FILENAME} bytes or more; choose a shorter one"),
            ));
        }
        let schemes = &self.run.descriptors.schemes;
        let descriptor = choose(schemes, dataset.ckpt, dataset.flag_output);
        let target = descriptor.map(|s| Target {
            scheme: s.index,
            store: s.store,
            bypass: s.bypass,
        });
        let target =
            target.ok_or_else(|| Error::usage(call.name(), "no redundancy descriptor fits"))?;
        self.other_ranks
            .check_name(&self.run, call, &dataset.name)?;
        Ok(target)
    }

    /// The description of a dataset that starts now. Local.
    fn describe(&self, id: u64, name: Name, ckpt: Option<u64>, output: bool) -> Dataset {
        let run = &self.run;
        // The time of creation tells which of two datasets is newer, so it never goes back.
        let cached = self.cached.entries.iter();
        let newest = cached.map(|c| c.dataset.created as i64).max();
        let micros = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_micros() as i64)
            .max(newest.map_or(0, |newest| newest.saturating_add(1)));
        Dataset {
            id,
            name,
            flag_ckpt: ckpt.is_some(),
            flag_output: output,
            created: micros as u64,
            user: run.user.clone(),
            jobname: run.settings.job_name.as_deref().map(Name::from),
            jobid: run.job.clone(),
            cluster: run.settings.cluster_name.as_deref().map(Name::from),
            ckpt,
            ..Dataset::default()
        }
    }
}

/// Makes this rank's directories in the cache. Local.
fn make_directories(run: &Run, dataset: &Dataset, target: Target) -> Result<()> {
    if target.bypass {
        return Ok(());
    }
    let descriptor = &run.descriptors.stores[target.store];
    require_base(&*run.files, descriptor, run.node())?;
    let layout = &run.stores[target.store].layout;
    dataset::make_empty_directories(&*run.files, layout, dataset.id, run.rank())
}
