//! Room in the stores: whether the next dataset will fit, and what leaves for it.

use super::cached::Cached;
use super::{Session, Store};
use crate::cache::dataset;
use crate::cache::layout::Layout;
use crate::cache::plan::Slot;
use crate::comm::{Pending, Tag};
use crate::config::SchemeKind;
use crate::config::descriptors::SchemeDescriptor;
use crate::format::filemap::Filemap;
use crate::format::flush_file::FlushFile;
use crate::format::{Dataset, Name};
use crate::policy::capacity::{Room, more, room, wanted, with_redundancy};
use crate::policy::evict::{Entry, victims};
use crate::prefix::records;
use crate::redundancy::topology::StoreSharing;
use crate::store::block_signals::BlockedSignals;
use crate::{Error, Result, redundancy};

/// Sizes of a rank's part of a dataset, on their way to the leader.
const VOLUME: Tag = 0x48;

/// File systems give space in blocks, commonly of this size, bytes.
const BLOCK: u64 = 4096;

/// What all ranks that share a store have in it of one dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Volume {
    /// The program's files, bytes.
    data: u64,
    /// The same with all that SCR adds.
    pub(super) all: u64,
    checkpoint: bool,
}

/// A report that was sent; empty on a leader, which has its own numbers here.
pub(super) struct Told {
    own: (u64, u64),
    pending: Option<Box<dyn Pending>>,
}

/// How much less of a busy processor a thread that deletes gets than the program: a tenth.
const MODEST: i32 = 10;

impl Session {
    /// Whether the store of a descriptor has room for its next dataset; see
    /// [`policy::capacity`](crate::policy::capacity). Leaders look, the others have no
    /// objection. Local.
    ///
    /// # Errors
    /// It has not.
    pub(super) fn check_room(
        &mut self,
        scheme: usize,
        checkpoint: bool,
        name: &Name,
        bypass: bool,
    ) -> Result<Room> {
        let at = self.descriptors.schemes[scheme].store;
        let Store { layout, leader, .. } = &self.stores[at];
        if bypass || !leader || !self.settings.cache_check {
            return Ok(Room::Now);
        }
        let job = layout.job();
        // A file system that does not tell can only be tried.
        let free = |session: &Session| session.files.space(&job).map_or(u64::MAX, |s| s.free);
        let need = self.expected(scheme, checkpoint);
        let gone = self.victims(at, bypass, 0);
        let running = self.deleters.iter().any(|r| !r.is_finished());
        let known = if gone.is_empty() && !running {
            Some(0)
        } else {
            None
        };
        let hoped = need.map(|need| wanted(need, self.gave_up));
        let verdict = room(hoped, free(self), known);
        let (Some(need), Some(hoped)) = (need, hoped) else {
            // The last one may have been too much, whatever the next one needs.
            return Ok(match self.gave_up {
                0 => verdict,
                failures => Room::More(self.spare(at, bypass, failures)),
            });
        };
        if verdict == Room::Now {
            return Ok(verdict);
        }
        // Now it pays to know exactly.
        self.finish_deleting();
        let left = free(self);
        let all = self.victims(at, bypass, usize::MAX);
        let sizes: Vec<u64> = all.iter().map(|slot| self.size_of(*slot)).collect();
        let (must, spare) = sizes.split_at(gone.len().min(sizes.len()));
        let then = must
            .iter()
            .fold(left, |sum, size| sum.saturating_add(*size));
        match more(need, hoped, then, spare) {
            Some(0) => Ok(Room::Later),
            Some(count) => Ok(Room::More(count)),
            None => Err(self.no_room(at, name, need, left, sizes.iter().sum())),
        }
    }

    /// How many datasets more may go than the count of a store demands, after so many failures in
    /// a row of what nothing is known of: first what no restart can use, then all that it can do
    /// without.
    fn spare(&self, store: usize, bypass: bool, failures: u32) -> usize {
        let must = self.victims(store, bypass, 0).len();
        let all = match failures {
            1 => self.unusable.iter().filter(|s| s.store == store).count(),
            _ => self.victims(store, bypass, usize::MAX).len(),
        };
        all.saturating_sub(must)
    }

    fn no_room(&self, at: usize, name: &Name, need: u64, free: u64, deleted: u64) -> Error {
        let store = &self.descriptors.stores[at];
        let evicted = match deleted {
            0 => String::new(),
            bytes => format!(" and would have {bytes} more once old datasets are evicted"),
        };
        let what = format!(
            "is not started: STORE={} on node {} has {free} bytes free{evicted}, and going by \
             the last dataset it needs {need}; make room, lower COUNT (now {}), configure \
             another STORE, or set SCR_CACHE_CHECK=0 if this one is smaller",
            store.dir.display(),
            self.speaker.node,
            store.count,
        );
        let id = self.ids.next("SCR_Start_output").map_or(0, |next| next.0);
        Error::dataset(id, name.to_string(), what)
    }

    /// What the next dataset of a descriptor is likely to take on this node: as much as its
    /// last one, or for want of that what the data of the last checkpoint would take.
    fn expected(&self, scheme: usize, checkpoint: bool) -> Option<u64> {
        if let Some(volume) = self.volumes.get(&scheme) {
            return Some(volume.all);
        }
        let schemes = &self.descriptors.schemes;
        let share = |scheme: usize| Some(&self.stores.get(schemes.get(scheme)?.store)?.share);
        let alike = |other: &usize| checkpoint && share(*other) == share(scheme);
        let mut others = self.volumes.iter();
        let (_, volume) = others.find(|(other, v)| v.checkpoint && alike(other))?;
        let members = self.sets.get(scheme)?.size();
        let SchemeDescriptor {
            scheme: kind,
            set_failures,
            ..
        } = schemes.get(scheme)?;
        let losses = redundancy::by_name(kind.word(), *set_failures as usize)?.losses(members);
        let copies = *kind == SchemeKind::Partner;
        Some(with_redundancy(volume.data, copies, members, losses))
    }

    /// Bytes that a dataset has in a store here. Local.
    fn size_of(&self, slot: Slot) -> u64 {
        let mut cached = self.cache.iter().filter(|c| c.slot() == slot);
        if let Some(bytes) = cached.find_map(|c| c.bytes) {
            return bytes;
        }
        let Some(Store { layout, .. }) = self.stores.get(slot.store) else {
            return 0;
        };
        let places = [layout.dataset(slot.id), layout.quarantine(slot.id)];
        let sizes = places
            .iter()
            .map(|path| dataset::volume(&*self.files, path, BLOCK));
        sizes.map(Result::unwrap_or_default).sum()
    }

    /// Tells the leader of the store what this rank has in it of a dataset. Local; the leader
    /// must [`Session::hear_volume`].
    pub(super) fn tell_volume(
        &self,
        store: usize,
        level: Option<usize>,
        filemap: &Filemap,
    ) -> Result<Told> {
        let Store {
            layout,
            leader,
            share,
        } = &self.stores[store];
        let own = self.own_volume(&layout.at(level), filemap);
        let pending = match share.all || *leader {
            true => None,
            false => {
                let message = [own.0.to_le_bytes(), own.1.to_le_bytes()].concat();
                Some(self.comm.isend(share.leader, VOLUME, message)?)
            }
        };
        Ok(Told { own, pending })
    }

    /// This rank's data, and all that it has, in blocks. What cannot be looked at counts
    /// nothing: this is for a guess.
    fn own_volume(&self, layout: &crate::cache::layout::Layout, filemap: &Filemap) -> (u64, u64) {
        let id = filemap.dataset.id;
        let files = filemap.files.files.iter();
        let data: u64 = files.map(|file| file.size.next_multiple_of(BLOCK)).sum();
        let reddesc = &filemap.reddesc;
        let set = redundancy::Set::new(reddesc.set_rank, reddesc.members.clone());
        let parity =
            set.and_then(|set| redundancy::of(reddesc)?.redundancy_file(&layout.meta(id), &set));
        let added = parity.into_iter().chain([layout.filemap(id, self.rank())]);
        let sizes = added.map(|path| dataset::volume(&*self.files, &path, BLOCK));
        let added: u64 = sizes.map(Result::unwrap_or_default).sum();
        (data, data.saturating_add(added))
    }

    /// To a leader: what all that share the store have in it of `dataset`, now that all have
    /// told. Local, since all have.
    pub(super) fn hear_volume(
        &self,
        store: usize,
        told: Told,
        dataset: &Dataset,
    ) -> Result<Option<Volume>> {
        let Told { own, pending } = told;
        if let Some(pending) = pending {
            pending.wait()?;
        }
        let Store { leader, share, .. } = &self.stores[store];
        if !leader {
            return Ok(None);
        }
        let (mut data, mut all) = own;
        let StoreSharing {
            followers,
            all: shared,
            ..
        } = share;
        for rank in followers {
            let message = self.comm.recv(*rank, VOLUME)?;
            let (numbers, _) = message.as_chunks::<8>();
            let number = |at: usize| numbers.get(at).map_or(0, |n| u64::from_le_bytes(*n));
            data = data.saturating_add(number(0));
            all = all.saturating_add(number(1));
        }
        if *shared {
            // The total is known to all, and there is no redundancy where all share a store.
            data = data.max(dataset.size.unwrap_or(0));
            all = all.max(data);
        }
        Ok(Some(Volume {
            data,
            all,
            checkpoint: dataset.is_checkpoint(),
        }))
    }

    /// The same for a dataset that is whole on all ranks.
    pub(super) fn volume_of(
        &self,
        store: usize,
        level: Option<usize>,
        filemap: &Filemap,
    ) -> Result<Option<Volume>> {
        let told = self.tell_volume(store, level, filemap)?;
        self.hear_volume(store, told, &filemap.dataset)
    }

    /// For the next dataset of the descriptor.
    pub(super) fn remember_volume(&mut self, scheme: usize, volume: Option<Volume>) {
        if let Some(volume) = volume {
            self.volumes.insert(scheme, volume);
        }
    }

    /// What must leave a store before a new dataset comes, so that the store stays within its
    /// count, and up to so many `more` that no restart is worse off without. Datasets in bypass take
    /// no room, so they only count among themselves. The same on all ranks.
    fn victims(&self, store: usize, bypass: bool, more: usize) -> Vec<Slot> {
        let offered = self.loaded.as_ref().map(|part| part.dataset.id);
        let cached = self.cache.iter().map(|c| {
            let entry = Entry {
                id: c.dataset.id,
                here: c.store == store && c.bypass == bypass,
                usable: true,
                checkpoint: c.dataset.is_checkpoint(),
                tolerates: c.tolerates,
                saved: c.in_prefix && !c.dropped && self.settings.fetch,
                offered: offered == Some(c.dataset.id),
            };
            (c.slot(), entry)
        });
        let unusable = self.unusable.iter().map(|slot| {
            let entry = Entry {
                id: slot.id,
                here: slot.store == store && !bypass,
                usable: false,
                checkpoint: false,
                tolerates: 0,
                saved: false,
                offered: false,
            };
            (*slot, entry)
        });
        let (slots, entries): (Vec<Slot>, Vec<Entry>) = cached.chain(unusable).unzip();
        let count = self.descriptors.stores[store].count as usize;
        let gone = victims(&entries, count, more).into_iter();
        gone.filter_map(|at| slots.get(at).copied()).collect()
    }

    /// True if a new dataset in a store would cost another one there. Also one that is of no use
    /// beside the new one may be of use without it.
    pub(super) fn costs_another(&self, store: usize) -> bool {
        !self.victims(store, false, 0).is_empty()
    }

    /// Deletes what must go so that the cache stays within its size. All ranks are past the
    /// point where they could still use it. Up to so many `more` go that no restart is worse off
    /// without. The redundancy files' space goes to the dataset `heir` of that store, if there is
    /// one. Collective, without a round.
    pub(super) fn make_room(&mut self, store: usize, bypass: bool, more: usize, heir: Option<u64>) {
        let gone = self.victims(store, bypass, more);
        self.take_out(&gone, heir);
    }

    /// True if the cache may have something of this id.
    pub(super) fn knows(&self, id: u64) -> bool {
        let cached = self.cache.iter().map(Cached::slot);
        cached
            .chain(self.unusable.iter().copied())
            .any(|slot| slot.id == id)
    }

    /// Removes what the cache has in any store under an id that is about to be written or
    /// fetched. Collective; a barrier if there is something.
    pub(super) fn clear_id(&mut self, id: u64) -> Result<()> {
        let cached = self.cache.iter().map(Cached::slot);
        let all = cached.chain(self.unusable.iter().copied());
        let mut slots: Vec<Slot> = all.filter(|slot| slot.id == id).collect();
        slots.dedup();
        if slots.is_empty() {
            return Ok(());
        }
        self.forget(&slots);
        self.comm.barrier()
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
        self.cache.retain(|c| !gone.contains(&c.slot()));
        self.unusable.retain(|slot| !gone.contains(slot));
        self.search.cached.retain(|c| !gone.contains(&c.slot()));
        let mut ids: Vec<u64> = gone.iter().map(|slot| slot.id).collect();
        ids.retain(|id| !self.knows(*id));
        let loaded = self.loaded.as_ref().map(|part| part.dataset.id);
        if loaded.is_some_and(|id| ids.contains(&id)) {
            self.loaded = None;
        }
        self.note_cached(|record| record.datasets.retain(|id, _| !ids.contains(id)));
    }

    /// Rank 0: changes the flush file. That it cannot be written is told and no more: the
    /// datasets are as good without it.
    pub(super) fn note_cached(&self, change: impl FnOnce(&mut FlushFile)) {
        self.keep_record(|| records::update_flush_file(&*self.files, &self.prefix, change));
    }

    /// Leaders take directories out of sight at once and delete them in the background.
    pub(super) fn discard(&mut self, gone: &[Slot], heir: Option<u64>) {
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
                self.recycled.extend(moved);
            }
            trash.push((layout, slot.id));
        }
        self.delete_behind(trash);
    }

    /// Deletes what was taken out of sight of these datasets in the background. Local.
    pub(super) fn delete_behind(&mut self, trash: Vec<(Layout, u64)>) {
        if trash.is_empty() {
            return;
        }
        let files = self.files.clone();
        let work = move || {
            // On Linux this is about the thread alone: the application comes first.
            let _ = rustix::process::nice(MODEST);
            for (layout, id) in trash {
                // The next run of this job clears what cannot be cleared now.
                let _ = dataset::empty_trash(&*files, &layout, id);
            }
        };
        let _deaf = BlockedSignals::new();
        let thread = std::thread::Builder::new().name("scr-delete".to_string());
        self.deleters.retain(|deleter| !deleter.is_finished());
        self.deleters.extend(thread.spawn(work));
    }

    /// Empties the trash that recoveries have made, in the background. Local.
    pub(super) fn delete_trash(&mut self) {
        let trash = std::mem::take(&mut self.trash);
        self.delete_behind(trash);
    }

    /// Waits for the deletion in the background. Local.
    pub(super) fn finish_deleting(&mut self) {
        for deleter in self.deleters.drain(..) {
            let _ = deleter.join();
        }
    }
}
