//! Writing a dataset: start, route, complete.

use super::cached::Cached;
use super::state::Call;
use super::{ENCODE, Phase, Session};
use crate::cache::dataset;
use crate::cache::plan::Slot;
use crate::comm::{Term, collective};
use crate::config::{descriptors::choose, fold_dots};
use crate::format::filemap::Filemap;
use crate::format::flush_file;
use crate::format::{Dataset, FileMeta, Name, RankFiles, Reddesc};
use crate::policy::capacity::Room;
use crate::policy::flush;
use crate::prefix::flush::owners;
use crate::prefix::index;
use crate::prefix::paths::{MAX_FILENAME, dir_of_program, seen_by_program};
use crate::redundancy::{self, Context, Record};
use crate::store::FileKind;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

impl Session {
    /// Begins a dataset (`SCR_Start_output`); `None` gives it a name made from its id. One
    /// synchronising round, and another where a store is so full that what was evicted must
    /// be deleted first.
    ///
    /// # Errors
    /// Name or flags differ between ranks, a store has no room, or a directory cannot be made.
    /// The index is as it was then, and nothing has been deleted but, where a directory could not
    /// be made, what the cache had under the id of the new dataset. All ranks are in a failed
    /// phase then: see [`State::after`](super::state::State::after).
    pub fn start_output(
        &mut self,
        name: Option<Name>,
        checkpoint: bool,
        output: bool,
    ) -> Result<()> {
        self.start_phase(Call::StartOutput, name, Ok((checkpoint, output)))
    }

    /// The same with what the caller's arguments say of checkpoint and output. Is that an error
    /// on one rank, all get it.
    pub fn start_output_as(
        &mut self,
        name: Option<Name>,
        kind: Result<(bool, bool)>,
    ) -> Result<()> {
        self.start_phase(Call::StartOutput, name, kind)
    }

    /// Begins a checkpoint with a name made from its id (`SCR_Start_checkpoint`).
    pub fn start_checkpoint(&mut self) -> Result<()> {
        self.start_phase(Call::StartCheckpoint, None, Ok((true, false)))
    }

    fn start_phase(
        &mut self,
        call: Call,
        name: Option<Name>,
        kind: Result<(bool, bool)>,
    ) -> Result<()> {
        let open = self.allow(call)?;
        let begun = self.begin_phase(call, &name, &kind);
        // A program that goes on must not get the path of a file that an older dataset has.
        self.state = match begun {
            Ok(()) => open,
            Err(_) => self.state.refused(call),
        };
        begun
    }

    fn begin_phase(
        &mut self,
        call: Call,
        name: &Option<Name>,
        kind: &Result<(bool, bool)>,
    ) -> Result<()> {
        while !self.try_begin(call, name.clone(), kind.clone())? {}
        Ok(())
    }

    /// False if the index has got higher ids meanwhile from another process, such as `scr index
    /// --add`: then all ranks know of them now, and nothing has begun.
    fn try_begin(
        &mut self,
        call: Call,
        name: Option<Name>,
        kind: Result<(bool, bool)>,
    ) -> Result<bool> {
        let begun = Instant::now();
        // Who writes has read what it wanted to: the next search looks at what is there then.
        self.loaded = None;
        self.chosen = None;
        let (id, count) = self.ids.next(call.name())?;
        let (checkpoint, output) = kind.as_ref().copied().unwrap_or_default();
        let ckpt = checkpoint.then_some(count);
        let given = name.filter(|name| !name.is_empty());
        let name = given.unwrap_or_else(|| format!("scr.dataset.{id}").as_str().into());

        // What one rank does not like, all must hear of.
        let way = kind.and_then(|_| {
            let way = self.way(call, &name, ckpt, output)?;
            self.check_name(call, &name)?;
            Ok(way)
        });
        let room = way
            .clone()
            .and_then(|(scheme, _, bypass)| self.check_room(scheme, checkpoint, &name, bypass));
        let mut dataset = self.describe(id, name, ckpt, output);
        let print = fingerprint(&dataset);

        let level = match &room {
            Ok(Room::Later) => 1,
            Ok(Room::More(count)) => {
                i64::try_from(*count).map_or(i64::MAX, |n| n.saturating_add(1))
            }
            _ => 0,
        };
        let ready = room.and(way.clone()).and_then(|way| {
            self.prepare(&dataset, way)?;
            Ok(way)
        });
        let created = match self.rank() {
            0 => dataset.created as i64,
            _ => 0,
        };
        let indexed = match self.rank() {
            0 => self.highest_in_index(),
            _ => (0, 0),
        };
        let mut terms = [
            Term::Max(print),
            Term::Min(print),
            Term::Max(created),
            Term::Max(level),
            Term::Max(indexed.0 as i64),
            Term::Max(indexed.1 as i64),
        ];
        let ready = collective::agree_with(&*self.comm, &self.speaker.node, ready, &mut terms);
        let ready = ready.and_then(|way| same_on_all(call, &terms).map(|()| way));
        let indexed = [terms[4].value() as u64, terms[5].value() as u64];
        let late = indexed[0] >= id || (checkpoint && indexed[1] >= count);
        if let (true, Ok((_, store, false))) = (late || ready.is_err(), &way) {
            let layout = &self.stores[*store].layout;
            self.tell_stuck(dataset::abandon(&*self.files, layout, id, self.rank()));
        }
        let (scheme, store, bypass) = ready?;
        if late {
            self.ids.know(indexed[0], Some(indexed[1]));
            return Ok(false);
        }
        dataset.created = terms[2].value() as u64;
        if bypass {
            // Only now: an entry of this name from before is lost by that.
            self.on_root(|| index::enter(&*self.files, &self.prefix, &dataset))?;
        }
        self.ids.know(id, ckpt);
        if bypass {
            self.name_is_taken(id, &dataset.name);
        }
        // Where there is little room, what is evicted is of more use as space for anything.
        let tight = terms[3].value() > 0;
        let more = usize::try_from(terms[3].value() - 1).unwrap_or(0);
        self.make_room(store, bypass, more, (!bypass && !tight).then_some(id));
        if bypass {
            self.evict_bypass_of_last_run(store, &dataset.name);
        }
        if tight {
            // Somewhere the new dataset fits only in place of what was just taken out.
            self.finish_deleting();
            self.comm.barrier()?;
        }
        self.phase = Some(Phase {
            dataset,
            scheme,
            bypass,
            files: Default::default(),
            made: Default::default(),
            begun,
        });
        Ok(true)
    }

    /// Rank 0: the highest ids of datasets and of checkpoints in the index, read again where the
    /// file has changed. Where it cannot be read now, what was known before must do: whoever
    /// changes the index will find out. Local.
    fn highest_in_index(&mut self) -> (u64, u64) {
        let stat = self.files.stat(&self.prefix.file("index.scr"));
        let stat = stat.ok().flatten().map(|s| (s.size, s.mtime, s.ctime));
        if stat != self.search.indexed.0
            && let Ok(index) = index::read(&*self.files, &self.prefix)
        {
            self.search.indexed = (stat, (index.max_dataset(), index.max_checkpoint()));
        }
        self.search.indexed.1
    }

    /// Rank 0: of what the last run of this job wrote in bypass, so much counts as in the cache as
    /// the store's count has room for beside the datasets of this run; but none of the new name,
    /// whose files are written over. Local.
    fn evict_bypass_of_last_run(&mut self, store: usize, name: &Name) {
        let knows: Vec<u64> = self.cache.iter().map(|c| c.dataset.id).collect();
        self.search
            .in_bypass
            .retain(|(id, _), _| !knows.contains(id));
        let same: Vec<u64> = self.of_last_run(|other| other == name);
        let left: Vec<u64> = self.of_last_run(|other| other != name);
        let of_this_run = self.cache.iter().filter(|c| c.bypass && c.store == store);
        let room =
            (self.descriptors.stores[store].count as usize).saturating_sub(1 + of_this_run.count());
        let oldest = left
            .get(..left.len().saturating_sub(room))
            .unwrap_or_default();
        self.forget_bypass_of_last_run(|id| oldest.contains(&id) || same.contains(&id));
    }

    /// Rank 0: the ids of what the last run wrote in bypass under such names, oldest first.
    fn of_last_run(&self, named: impl Fn(&Name) -> bool) -> Vec<u64> {
        let all = self.search.in_bypass.iter();
        all.filter(|(_, name)| named(name))
            .map(|((id, _), _)| *id)
            .collect()
    }

    /// Rank 0: some of what the last run of this job wrote in bypass no longer counts as in the
    /// cache. Local.
    pub(super) fn forget_bypass_of_last_run(&mut self, gone: impl Fn(u64) -> bool) {
        let mut ids = self.of_last_run(|_| true);
        ids.retain(|id| gone(*id));
        self.search.in_bypass.retain(|(id, _), _| !ids.contains(id));
        if !ids.is_empty() {
            self.note_cached(|record| record.datasets.retain(|id, _| !ids.contains(id)));
        }
    }

    /// The files of dataset `id` take the place of those that another dataset of its name has in
    /// the prefix directory: nobody may take that one for whole any more. Local; the same on all
    /// ranks.
    pub(super) fn name_is_taken(&mut self, id: u64, name: &Name) {
        let other = |c: &Cached| c.dataset.name == *name && c.dataset.id != id;
        let lost: Vec<u64> = self
            .cache
            .iter()
            .filter(|c| other(c) && c.bypass)
            .map(|c| c.dataset.id)
            .collect();
        self.cache.retain(|c| !lost.contains(&c.dataset.id));
        self.cache
            .iter_mut()
            .filter(|c| other(c))
            .for_each(|c| c.dropped = c.in_prefix);
        if !lost.is_empty() {
            self.note_cached(|record| record.datasets.retain(|id, _| !lost.contains(id)));
        }
    }

    /// The descriptor that a new dataset is written by, its store, and whether in bypass. Local.
    fn way(
        &self,
        call: Call,
        name: &Name,
        ckpt: Option<u64>,
        output: bool,
    ) -> Result<(usize, usize, bool)> {
        if name.as_bytes().len() >= MAX_FILENAME {
            return Err(Error::usage(
                call.name(),
                format!("the name has {MAX_FILENAME} bytes or more; choose a shorter one"),
            ));
        }
        let chosen = choose(&self.descriptors.schemes, ckpt, output);
        chosen
            .map(|s| (s.index, s.store, s.bypass))
            .ok_or_else(|| Error::usage(call.name(), "no redundancy descriptor fits"))
    }

    /// A dataset that begins now. Local.
    fn describe(&self, id: u64, name: Name, ckpt: Option<u64>, output: bool) -> Dataset {
        // The time of creation tells which of two is newer, so it never goes back.
        let before = self.cache.iter().map(|c| c.dataset.created as i64).max();
        let micros = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_micros() as i64)
            .max(before.map_or(0, |before| before.saturating_add(1)));
        Dataset {
            id,
            name,
            flag_ckpt: ckpt.is_some(),
            flag_output: output,
            created: micros as u64,
            user: self.user.clone(),
            jobname: self.settings.job_name.as_deref().map(Name::from),
            jobid: self.job.clone(),
            cluster: self.settings.cluster_name.as_deref().map(Name::from),
            ckpt,
            ..Dataset::default()
        }
    }

    /// This rank's part of a start: its directories in the cache. Local.
    fn prepare(&self, dataset: &Dataset, way: (usize, usize, bool)) -> Result<()> {
        let (_, store, bypass) = way;
        if bypass {
            return Ok(());
        }
        let layout = &self.stores[store].layout;
        let descriptor = &self.descriptors.stores[store];
        super::start::require_base(&*self.files, descriptor, &self.speaker.node)?;
        dataset::begin(&*self.files, layout, dataset.id, self.rank())
    }

    /// The path at which the program must access a file (`SCR_Route_file`). Local.
    ///
    /// In a phase of output the file becomes part of the dataset and its directory is made;
    /// in a restart it must exist. Outside, the name comes back as it is.
    ///
    /// # Errors
    /// The start of this phase has failed, the file is not one of the checkpoint that is read, or
    /// the path is too long or not below the prefix directory.
    pub fn route(&mut self, name: &Path) -> Result<PathBuf> {
        let call = Call::RouteFile.name();
        if self.allow(Call::RouteFile)?.failed() {
            return Err(Error::NotStarted { call });
        }
        if name.as_os_str().is_empty() {
            return Err(Error::usage(call, "the name is empty"));
        }
        let path = match (&self.phase, &self.loaded) {
            (Some(_), _) => self.route_output(name)?,
            (None, Some(_)) if self.state == super::state::State::Restart => {
                self.route_restart(name)?
            }
            _ => name.to_path_buf(),
        };
        let length = path.as_os_str().len();
        if length >= MAX_FILENAME {
            return Err(Error::usage(
                call,
                format!(
                    "{} has {length} bytes, at most {} fit; use shorter names, or a shorter \
                     SCR_CACHE_BASE",
                    path.display(),
                    MAX_FILENAME - 1
                ),
            ));
        }
        Ok(path)
    }

    fn route_output(&mut self, name: &Path) -> Result<PathBuf> {
        let relative = self.prefix.relative(name, &self.cwd)?;
        let rank = self.comm.rank();
        let Some(phase) = &self.phase else {
            return Ok(name.to_path_buf());
        };
        let id = phase.dataset.id;
        let path = if phase.bypass {
            fold_dots(&self.cwd.join(name))
        } else {
            let store = self.descriptors.schemes[phase.scheme].store;
            self.stores[store].layout.data(id, rank).join(&relative)
        };
        if path.as_os_str().len() >= MAX_FILENAME || phase.files.contains_key(&relative) {
            return Ok(path);
        }
        if phase.bypass {
            self.check_path(&relative)?;
        }
        let Some(phase) = &mut self.phase else {
            return Ok(path);
        };
        let parent = relative.parent().unwrap_or(Path::new(""));
        if !phase.made.contains(parent) {
            if phase.bypass {
                let (files, dir) = (&*self.files, self.prefix.root().join(parent));
                dir_of_program(files, &dir, |dir| files.make_dirs(dir))?;
            } else if !parent.as_os_str().is_empty() {
                let store = self.descriptors.schemes[phase.scheme].store;
                let layout = &self.stores[store].layout;
                let below = layout.data_below(id, rank).join(parent);
                self.files.make_private_dirs(layout.base(), &below)?;
            }
            phase.made.insert(parent.to_path_buf());
        }
        phase.files.insert(relative, Name::from(name));
        Ok(path)
    }

    /// Ends a dataset (`SCR_Complete_output`): protects it, and flushes it if it is due.
    ///
    /// # Errors
    /// A rank passed `valid` false, a registered file is not there, or the data cannot be
    /// protected: the dataset is gone then. If only the flush fails, the dataset stays in
    /// the cache. All ranks return the same.
    pub fn complete_output(&mut self, valid: bool) -> Result<()> {
        self.complete_phase(Call::CompleteOutput, valid)
    }

    /// Ends a checkpoint (`SCR_Complete_checkpoint`).
    pub fn complete_checkpoint(&mut self, valid: bool) -> Result<()> {
        self.complete_phase(Call::CompleteCheckpoint, valid)
    }

    fn complete_phase(&mut self, call: Call, valid: bool) -> Result<()> {
        self.end_phase(call)?;
        let Some(mut phase) = self.phase.take() else {
            return Err(Error::usage(call.name(), "no dataset is open"));
        };
        let store = self.descriptors.schemes[phase.scheme].store;
        let slot = Slot {
            store,
            id: phase.dataset.id,
        };

        let list = self.list_files(&phase)?;
        let list = list.and_then(|list| {
            if valid {
                Ok(list)
            } else {
                Err(self.rejected(&phase.dataset, call))
            }
        });
        let files = list.as_ref().map_or(0, Vec::len) as i64;
        let bytes = list
            .as_ref()
            .map_or(0, |list| list.iter().map(|f| f.size).sum::<u64>()) as i64;
        let mut terms = [Term::Sum(files), Term::Sum(bytes)];
        let list = match collective::agree_with(&*self.comm, &self.speaker.node, list, &mut terms) {
            Ok(list) => list,
            Err(error) => return self.give_up(&phase, slot, error),
        };
        phase.dataset.files = Some(terms[0].value() as u64);
        phase.dataset.size = Some(terms[1].value() as u64);
        phase.dataset.complete = Some(true);

        let files = RankFiles {
            rank: self.rank(),
            files: list,
        };
        let mut filemap = self.filemap(&phase.dataset, phase.scheme, phase.bypass, files);
        let mut bytes = None;
        if !phase.bypass {
            let done = self.protect(store, &mut filemap);
            let level = self.stores[store].layout.level();
            let told = self.tell_volume(store, level, &filemap)?;
            let done = self.agree(done);
            let volume = self.hear_volume(store, told, &phase.dataset)?;
            if let Err(error) = done {
                return self.give_up(&phase, slot, error);
            }
            bytes = volume.map(|volume| volume.all);
            self.remember_volume(phase.scheme, volume);
        }
        self.commit(&phase, store, filemap, bytes)
    }

    fn rejected(&self, dataset: &Dataset, call: Call) -> Error {
        let what = format!("the program called {} with valid=0", call.name());
        Error::dataset(dataset.id, dataset.name.to_string(), what)
    }

    /// The files of this rank as they are now; with bypass only those that no lower rank
    /// has registered too. Collective with bypass; the inner result is local.
    fn list_files(&self, phase: &Phase) -> Result<Result<Vec<FileMeta>>> {
        let paths: Vec<&Path> = phase.files.keys().map(PathBuf::as_path).collect();
        let owners = if phase.bypass {
            owners(&*self.comm, &paths)?
        } else {
            Vec::new()
        };
        let store = self.descriptors.schemes[phase.scheme].store;
        let root = if phase.bypass {
            self.prefix.root().to_path_buf()
        } else {
            self.stores[store]
                .layout
                .data(phase.dataset.id, self.rank())
        };
        let mut list = Vec::with_capacity(paths.len());
        for (at, (relative, orig)) in phase.files.iter().enumerate() {
            if owners.get(at).is_some_and(|owner| *owner != self.rank()) {
                continue;
            }
            let path = root.join(relative);
            let files = &*self.files;
            let stat = match phase.bypass {
                true => seen_by_program(files, &path, |path| files.stat(path)),
                false => files.stat(&path),
            };
            let what = match stat {
                Ok(Some(stat)) if stat.kind == FileKind::File => {
                    list.push(FileMeta::new(
                        Name::from(relative.as_path()),
                        orig.clone(),
                        &stat,
                    ));
                    continue;
                }
                Ok(Some(_)) => "is not a regular file, though it was routed as one".to_string(),
                Ok(None) => "was routed but not written".to_string(),
                Err(error) => return Ok(Err(error)),
            };
            return Ok(Err(Error::Corrupt { path, what }));
        }
        Ok(Ok(list))
    }

    /// This rank's record of a dataset that redundancy descriptor `scheme` is for.
    pub(super) fn filemap(
        &self,
        dataset: &Dataset,
        scheme: usize,
        bypass: bool,
        files: RankFiles,
    ) -> Filemap {
        let descriptor = &self.descriptors.schemes[scheme];
        let set = &self.sets[scheme];
        let word = match set.size() {
            0 | 1 => "SINGLE",
            _ => descriptor.scheme.word(),
        };
        // What this set tolerates, which may be less than was asked for.
        let scheme = redundancy::by_name(word, descriptor.set_failures as usize);
        let set_failures = scheme.map_or(0, |scheme| scheme.losses(set.size()));
        let store = &self.descriptors.stores[descriptor.store];
        Filemap {
            rank: self.rank(),
            ranks: self.comm.size(),
            node: self.speaker.node.as_str().into(),
            prefix: Some(Name::from(self.prefix.real())),
            bypass,
            dataset: dataset.clone(),
            reddesc: Reddesc {
                scheme: word.to_string(),
                group: descriptor.group.as_str().into(),
                set_id: set.id,
                set_rank: set.index,
                members: set.members.to_vec(),
                set_size: descriptor.set_size as usize,
                set_failures,
                interval: descriptor.interval,
                store: Name::from(store.dir.as_path()),
            },
            files,
        }
    }

    /// Makes redundancy data and checksums, then this rank's completion record.
    pub(super) fn protect(&self, store: usize, filemap: &mut Filemap) -> Result<()> {
        let layout = &self.stores[store].layout;
        let id = filemap.dataset.id;
        let (data_dir, meta_dir) = (layout.data(id, self.rank()), layout.meta(id));
        let reddesc = &filemap.reddesc;
        let missing = || Error::format(0, format!("no scheme {}", reddesc.scheme));
        let scheme = redundancy::of(reddesc).ok_or_else(missing)?;
        let set = redundancy::Set::new(reddesc.set_rank, reddesc.members.clone())
            .ok_or_else(|| Error::format(0, "no redundancy set"))?;
        let context = Context {
            comm: &*self.comm,
            files: &*self.files,
            set: &set,
            data_dir: &data_dir,
            meta_dir: &meta_dir,
            piece: self.settings.mpi_buf_size,
            tag: ENCODE,
            holders: &[],
            sync: true,
        };
        let mut record = Record {
            dataset: filemap.dataset.clone(),
            reddesc: filemap.reddesc.clone(),
            files: filemap.files.clone(),
        };
        scheme.encode(&context, &mut record)?;
        filemap.files = record.files;
        dataset::record(&*self.files, layout, filemap)
    }

    /// The dataset could not be completed: it goes, and all before it stay.
    fn give_up(&mut self, phase: &Phase, slot: Slot, error: Error) -> Result<()> {
        self.recycled.clear();
        self.gave_up = self.gave_up.saturating_add(u32::from(!phase.bypass));
        if !phase.bypass {
            self.discard(&[slot], None);
        }
        let Dataset { id, name, .. } = &phase.dataset;
        let what = format!("is not complete, so it was dropped: {error}");
        Err(Error::dataset(*id, name.to_string(), what))
    }

    /// All ranks have their records: the dataset counts.
    fn commit(
        &mut self,
        phase: &Phase,
        store: usize,
        filemap: Filemap,
        bytes: Option<u64>,
    ) -> Result<()> {
        let dataset = filemap.dataset.clone();
        self.gave_up = 0;
        // Those that were of use have their names by now.
        for unused in std::mem::take(&mut self.recycled) {
            self.tell_stuck(self.files.remove_file(&unused));
        }
        let entry = flush_file::FlushEntry::cached(dataset.clone());
        self.note_cached(|record| {
            record.datasets.insert(dataset.id, entry);
        });
        self.cache.push(Cached {
            store,
            dataset: dataset.clone(),
            bypass: phase.bypass,
            in_prefix: false,
            dropped: false,
            tolerates: self.tolerates.get(phase.scheme).copied().unwrap_or(0),
            level: self.stores[store].layout.level(),
            bytes,
            filemap: Some(filemap),
        });
        let mut ended = Ok(());
        if dataset.is_checkpoint() {
            self.history.checkpoints += 1;
            self.history.cost += phase.begun.elapsed().as_secs_f64();
            self.last_checkpoint = Instant::now();
            self.count_down();
            ended = self.check_halt();
        }
        let due = flush::due(dataset.ckpt, dataset.flag_output, self.settings.flush);
        // Where the run must end, it has been flushed already.
        let there = |c: &Cached| c.dataset.id == dataset.id && c.in_prefix;
        if (phase.bypass || due) && ended.is_ok() && !self.cache.iter().any(there) {
            ended = self.flush_dataset(dataset.id);
        }
        if phase.bypass && ended.is_err() && !self.cache.iter().any(there) {
            // Data that could not be brought to stable storage once may be lost without another
            // error: nobody must certify them later, nor restart from them.
            self.cache.retain(|c| c.dataset.id != dataset.id);
            self.note_cached(|record| record.datasets.retain(|id, _| *id != dataset.id));
        }
        ended
    }
}

/// An error unless the first two terms, the greatest and the least fingerprint, are equal.
fn same_on_all(call: Call, terms: &[Term]) -> Result<()> {
    match terms {
        [most, least, ..] if most.value() == least.value() => Ok(()),
        _ => Err(Error::usage(
            call.name(),
            "name or flags differ between ranks; give the same on all",
        )),
    }
}

/// A number that differs, but for a chance of one in 2^63, when name or flags differ.
fn fingerprint(dataset: &Dataset) -> i64 {
    let flags = [u8::from(dataset.flag_ckpt), u8::from(dataset.flag_output)];
    let hash = flags
        .iter()
        .chain(dataset.name.as_bytes())
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
            (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)
        });
    (hash >> 1) as i64
}
