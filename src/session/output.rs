//! Writing a dataset: start, route, complete.

use super::cached::Cached;
use super::state::Call;
use super::{ENCODE, Phase, Session};
use crate::cache::dataset;
use crate::cache::plan::Slot;
use crate::comm::{Term, collective};
use crate::config::descriptors::choose;
use crate::format::filemap::Filemap;
use crate::format::flush_file::{self, FlushFile};
use crate::format::{Dataset, FileMeta, Name, RankFiles, Reddesc};
use crate::policy::evict::{Entry, victims};
use crate::policy::flush;
use crate::prefix::flush::owners;
use crate::prefix::paths::{MAX_FILENAME, clean};
use crate::prefix::{index, records};
use crate::redundancy::{self, Context, Record};
use crate::store::Kind;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

impl Session {
    /// Begins a dataset (`SCR_Start_output`); `None` gives it a name made from its id. One
    /// synchronising round.
    ///
    /// # Errors
    /// Name or flags differ between ranks, or a directory cannot be made. Nothing has been
    /// deleted then, and the index is as it was.
    pub fn start_output(
        &mut self,
        name: Option<Name>,
        checkpoint: bool,
        output: bool,
    ) -> Result<()> {
        self.start_phase(Call::StartOutput, name, checkpoint, output)
    }

    /// Begins a checkpoint with a name made from its id (`SCR_Start_checkpoint`).
    pub fn start_checkpoint(&mut self) -> Result<()> {
        self.start_phase(Call::StartCheckpoint, None, true, false)
    }

    fn start_phase(
        &mut self,
        call: Call,
        name: Option<Name>,
        checkpoint: bool,
        output: bool,
    ) -> Result<()> {
        let state = self.allow(call)?;
        let begun = Instant::now();
        if !self.ids.settled {
            let (dataset, checkpoint) = self.index_ids;
            self.ids.dataset = self.ids.dataset.max(dataset);
            self.ids.checkpoint = self.ids.checkpoint.max(checkpoint);
            // What the cache keeps for a run of another size is not in the way then.
            let cached = self.cache.iter().map(|c| c.dataset.id);
            let kept = cached.chain(self.unusable.iter().map(|slot| slot.id)).max();
            self.ids.dataset = self.ids.dataset.max(kept.unwrap_or(0));
        }
        let id = self.ids.dataset + 1;
        let ckpt = checkpoint.then_some(self.ids.checkpoint + 1);
        let given = name.filter(|name| !name.is_empty());
        let name = given.unwrap_or_else(|| format!("scr.dataset.{id}").as_str().into());

        let chosen = choose(&self.descriptors.schemes, ckpt, output);
        let Some((scheme, store, bypass)) = chosen.map(|s| (s.index, s.store, s.bypass)) else {
            return Err(Error::usage(call.name(), "no redundancy descriptor fits"));
        };
        self.clear_slot(Slot { store, id })?;

        let micros = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_micros() as i64);
        let mut dataset = Dataset {
            id,
            name,
            flag_ckpt: checkpoint,
            flag_output: output,
            created: micros as u64,
            user: self.user.clone(),
            jobname: self.settings.job_name.as_deref().map(Name::from),
            jobid: self.job.clone(),
            cluster: self.settings.cluster_name.as_deref().map(Name::from),
            ckpt,
            ..Dataset::default()
        };
        let ready = self.prepare(call, &dataset, store, bypass);
        let print = fingerprint(&dataset);
        let created = if self.rank() == 0 { micros } else { 0 };
        let mut terms = [Term::Max(print), Term::Min(print), Term::Max(created)];
        let ready = collective::agree_with(&*self.comm, &self.speaker.node, ready, &mut terms);
        let same = terms[0].value() == terms[1].value();
        if ready.is_err() || !same {
            if !bypass {
                // What stays is no dataset: it has no record.
                let layout = &self.stores[store].layout;
                self.tell_stuck(self.files.remove_tree(&layout.data(id, self.rank())));
            }
            ready?;
            return Err(Error::usage(
                call.name(),
                "name or flags differ between ranks; give the same on all",
            ));
        }
        dataset.created = terms[2].value() as u64;
        if bypass {
            // Only now: an entry of this name from before is lost by that.
            self.on_root(|| index::enter(&*self.files, &self.prefix, &dataset))?;
        }
        self.ids.dataset = id;
        self.ids.checkpoint = ckpt.unwrap_or(self.ids.checkpoint);
        self.ids.settled = true;
        self.make_room(store, (!bypass).then_some(id));
        self.phase = Some(Phase {
            dataset,
            scheme,
            bypass,
            files: Default::default(),
            begun,
        });
        self.state = state;
        Ok(())
    }

    /// This rank's part of a start: its directories in the cache. Local.
    fn prepare(&self, call: Call, dataset: &Dataset, store: usize, bypass: bool) -> Result<()> {
        if dataset.name.as_bytes().len() >= MAX_FILENAME {
            return Err(Error::usage(
                call.name(),
                format!("the name has {MAX_FILENAME} bytes or more; choose a shorter one"),
            ));
        }
        if bypass {
            return Ok(());
        }
        let layout = &self.stores[store].layout;
        dataset::begin(&*self.files, layout, dataset.id, self.rank())
    }

    /// Deletes what must go so that the cache stays within its size. All ranks are past the
    /// point where they could still use it. The redundancy files' space goes to the dataset
    /// `heir` of that store, if there is one. Collective, without a round.
    pub(super) fn make_room(&mut self, store: usize, heir: Option<u64>) {
        let count = self.descriptors.stores[store].count as usize;
        let slots: Vec<(Slot, Entry)> = self
            .cache
            .iter()
            .map(|c| {
                (
                    Slot {
                        store: c.store,
                        id: c.dataset.id,
                    },
                    true,
                )
            })
            .chain(self.unusable.iter().map(|slot| (*slot, false)))
            .filter(|(slot, _)| slot.store == store)
            .map(|(slot, usable)| {
                (
                    slot,
                    Entry {
                        id: slot.id,
                        usable,
                    },
                )
            })
            .collect();
        let entries: Vec<Entry> = slots.iter().map(|(_, entry)| *entry).collect();
        let gone: Vec<Slot> = victims(&entries, count)
            .into_iter()
            .map(|at| slots[at].0)
            .collect();
        self.take_out(&gone, heir);
    }

    /// Takes datasets out of the cache and out of all that knows them. No error: one rank's
    /// trouble with what is of no use any more must not part it from the others.
    pub(super) fn forget(&mut self, gone: &[Slot]) {
        self.take_out(gone, None);
    }

    fn take_out(&mut self, gone: &[Slot], heir: Option<u64>) {
        if gone.is_empty() {
            return;
        }
        self.discard(gone, heir);
        let out = |c: &Cached| {
            gone.contains(&Slot {
                store: c.store,
                id: c.dataset.id,
            })
        };
        let ids: Vec<u64> = self
            .cache
            .iter()
            .filter(|c| out(c))
            .map(|c| c.dataset.id)
            .collect();
        self.cache.retain(|c| !out(c));
        self.unusable.retain(|slot| !gone.contains(slot));
        self.search.cached.retain(|c| {
            !gone.contains(&Slot {
                store: c.store,
                id: c.dataset.id,
            })
        });
        if self
            .loaded
            .as_ref()
            .is_some_and(|part| ids.contains(&part.dataset.id))
        {
            self.loaded = None;
        }
        if !ids.is_empty() {
            self.note_cached(|record| {
                ids.iter().for_each(|id| {
                    record.datasets.remove(id);
                });
            });
        }
    }

    /// Rank 0: changes the flush file. That it cannot be written is told and no more: the
    /// datasets are as good without it.
    fn note_cached(&self, change: impl FnOnce(&mut FlushFile)) {
        self.keep_record(|| records::update_flush_file(&*self.files, &self.prefix, change));
    }

    /// Leaders take directories out of sight at once and delete them in the background.
    fn discard(&mut self, gone: &[Slot], heir: Option<u64>) {
        let mut trash = Vec::new();
        for slot in gone {
            let Some(store) = self.stores.get(slot.store).filter(|s| s.leader) else {
                continue;
            };
            let layout = store.layout.clone();
            self.tell_stuck(self.files.remove_tree(&layout.quarantine(slot.id)));
            self.tell_stuck(dataset::discard(&*self.files, &layout, slot.id));
            if let Some(heir) = heir {
                let moved = dataset::bequeath(&*self.files, &layout, slot.id, heir);
                self.heirlooms.extend(moved);
            }
            trash.push((layout, slot.id));
        }
        if trash.is_empty() {
            return;
        }
        self.finish_deleting();
        let files = self.files.clone();
        let work = move || {
            for (layout, id) in trash {
                // The next run of this job clears what cannot be cleared now.
                let _ = dataset::empty_trash(&*files, &layout, id);
            }
        };
        let thread = std::thread::Builder::new().name("scr-delete".to_string());
        self.reaper = thread.spawn(work).ok();
    }

    /// Waits for the deletion in the background. Local.
    pub(super) fn finish_deleting(&mut self) {
        if let Some(reaper) = self.reaper.take() {
            let _ = reaper.join();
        }
    }

    /// The path at which the program must access a file (`SCR_Route_file`). Local.
    ///
    /// In a phase of output the file becomes part of the dataset and its directory is made;
    /// in a restart it must exist. Outside, the name comes back as it is.
    pub fn route(&mut self, name: &Path) -> Result<PathBuf> {
        self.allow(Call::RouteFile)?;
        if name.as_os_str().is_empty() {
            return Err(Error::usage(Call::RouteFile.name(), "the name is empty"));
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
                Call::RouteFile.name(),
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
        let Some(phase) = &mut self.phase else {
            return Ok(name.to_path_buf());
        };
        let id = phase.dataset.id;
        let path = if phase.bypass {
            clean(&self.cwd.join(name))
        } else {
            let store = self.descriptors.schemes[phase.scheme].store;
            self.stores[store].layout.data(id, rank).join(&relative)
        };
        if path.as_os_str().len() >= MAX_FILENAME {
            return Ok(path);
        }
        if !phase.files.contains_key(&relative) {
            let parent = relative.parent().unwrap_or(Path::new(""));
            if phase.bypass {
                self.files.make_dirs(&self.prefix.root().join(parent))?;
            } else if !parent.as_os_str().is_empty() {
                let store = self.descriptors.schemes[phase.scheme].store;
                let layout = &self.stores[store].layout;
                let below = layout.data_below(id, rank).join(parent);
                self.files.make_private_dirs(layout.base(), &below)?;
            }
            phase.files.insert(relative, Name::from(name));
        }
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
        let state = self.allow(call)?;
        let Some(mut phase) = self.phase.take() else {
            return Err(Error::usage(call.name(), "no dataset is open"));
        };
        self.state = state;
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
        if !phase.bypass {
            let done = self.protect(store, &mut filemap);
            if let Err(error) = self.agree(done) {
                return self.give_up(&phase, slot, error);
            }
        }
        self.commit(&phase, store, filemap)
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
            let what = match self.files.stat(&path) {
                Ok(Some(stat)) if stat.kind == Kind::File => {
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
        // What this set stands, which may be less than was asked for.
        let scheme = redundancy::by_name(word, descriptor.set_failures as usize);
        let set_failures = scheme.map_or(0, |scheme| scheme.losses(set.size()));
        let store = &self.descriptors.stores[descriptor.store];
        Filemap {
            rank: self.rank(),
            ranks: self.comm.size(),
            node: self.speaker.node.as_str().into(),
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
        self.heirlooms.clear();
        if !phase.bypass {
            self.discard(&[slot], None);
        }
        let Dataset { id, name, .. } = &phase.dataset;
        let what = format!("is not complete, so it was dropped: {error}");
        Err(Error::dataset(*id, name.to_string(), what))
    }

    /// All ranks have their records: the dataset counts.
    fn commit(&mut self, phase: &Phase, store: usize, filemap: Filemap) -> Result<()> {
        let dataset = filemap.dataset.clone();
        // Those that were of use have their names by now.
        for unused in std::mem::take(&mut self.heirlooms) {
            self.tell_stuck(self.files.remove_file(&unused));
        }
        let entry = flush_file::Entry::cached(dataset.clone());
        self.note_cached(|record| {
            record.datasets.insert(dataset.id, entry);
        });
        self.cache.push(Cached {
            store,
            dataset: dataset.clone(),
            bypass: phase.bypass,
            in_prefix: false,
            filemap: Some(filemap),
        });
        let mut stopped = Ok(());
        if dataset.is_checkpoint() {
            self.ids.good = dataset.id;
            // There may be more in the prefix directory now than a search has found before.
            self.search.fetch = None;
            self.history.checkpoints += 1;
            self.history.cost += phase.begun.elapsed().as_secs_f64();
            self.last_checkpoint = Instant::now();
            self.count_down();
            stopped = self.check_halt();
        }
        let due = flush::due(dataset.ckpt, dataset.flag_output, self.settings.flush);
        // Where the run must end, it has been flushed already.
        let there = |c: &Cached| c.dataset.id == dataset.id && c.in_prefix;
        if (phase.bypass || due) && stopped.is_ok() && !self.cache.iter().any(there) {
            return self.flush_dataset(dataset.id);
        }
        stopped
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
