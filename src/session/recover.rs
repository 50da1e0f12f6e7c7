//! Getting a checkpoint back from the cache: what is there, newest first, until one is
//! whole. Rank 0 decides, all carry out.

use super::cached::{Cached, Part, paths, title};
use super::foreign::wrong_ranks;
use super::space::Volume;
use super::unavailable::Unavailable;
use super::{Discarded, Session, Store};
use crate::cache::layout::Layout;
use crate::cache::plan::{Candidate, Inventory, Order, Slot};
use crate::cache::recover::{self, CacheAccess, Failed, Recovered};
use crate::cache::{dataset, inventory};
use crate::comm::{Term, collective};
use crate::config::descriptors::{StoreDescriptor, choose};
use crate::events::Severity;
use crate::format::{Dataset, Name, from_message, to_message};
use crate::prefix::{index, records};
use crate::redundancy::EVERYTHING;
use crate::text::ranks_in_words;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Instant;

/// What rank 0 wants done next.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Offer {
    discarded: Discarded,
    /// The dataset to bring back, if there is one to try.
    order: Option<Order>,
    /// How many failure groups may be lost without it, once it is back.
    tolerates: usize,
    /// With no order: what else is in the cache, for the record.
    known: Vec<Known>,
    /// With no order: directories that are of no use but stay until room is needed.
    unusable: Vec<Slot>,
    /// With no order: the dataset that keeps this run from using an older one.
    unavailable: Option<Told>,
}

/// A cached dataset that may be whole and cannot be used, as rank 0 tells of it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Told {
    id: u64,
    created: Option<u64>,
    name: Name,
    what: String,
}

/// A cached dataset that was not touched.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Known {
    store: usize,
    dataset: Dataset,
    tolerates: usize,
    in_prefix: bool,
    dropped: bool,
}

impl Session {
    /// Looks through the cache, if it is `claimed`, and brings back the newest checkpoint that is
    /// whole.
    pub(super) fn recover_cached(&mut self, claimed: Result<()>) -> Result<()> {
        let mine: Vec<(usize, &Layout)> = self
            .stores
            .iter()
            .enumerate()
            .filter(|(_, store)| store.leader)
            .map(|(index, store)| (index, &store.layout))
            .collect();
        let read = |()| inventory::read(&*self.files, self.prefix.real(), &mine);
        let found = claimed.and_then(read);
        let any = found
            .as_ref()
            .is_ok_and(|found| *found != Inventory::default());
        let mut terms = [Term::Max(any.into())];
        let found = collective::agree_with(&*self.comm, &self.speaker.node, found, &mut terms)?;
        for note in &found.notes {
            self.tell(Severity::Warning, note.to_string());
        }
        if terms[0].value() == 0 {
            if self.rank() == 0 {
                self.classify(&[]);
            }
            return Ok(());
        }
        if let Some(all) = collective::gather(&*self.comm, 0, to_message(&found)?)? {
            let mut inventories: Vec<(usize, Inventory)> = Vec::new();
            for (rank, bytes) in all.iter().enumerate() {
                match from_message(bytes) {
                    Ok(inventory) => inventories.push((rank, inventory)),
                    Err(error) => {
                        let text = format!("what rank {rank} found in its cache: {error}");
                        self.tell(Severity::Warning, text);
                    }
                }
            }
            self.classify(&inventories);
        }
        self.search()?;
        Ok(())
    }

    /// Tries cached datasets until one is loaded; false if there is none. Collective.
    pub(super) fn search_cache(&mut self) -> Result<bool> {
        let found = self.search();
        self.delete_trash();
        found
    }

    fn search(&mut self) -> Result<bool> {
        loop {
            let offer = self.hear_offer(Self::next_offers)?;
            let Some(order) = offer.order else {
                if let Some(told) = offer.unavailable {
                    self.cannot_use_cached(told);
                }
                self.adopt(offer.known, offer.unusable);
                return Ok(false);
            };
            if self.try_order(&order, offer.tolerates)? && self.loaded.is_some() {
                break;
            }
        }
        self.tell_leftovers()?;
        Ok(true)
    }

    /// What rank 0 makes of its knowledge, each rank its part; what it says is of no use is
    /// cleared away. Collective.
    fn hear_offer(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<Vec<Vec<u8>>>,
    ) -> Result<Offer> {
        // Rank 0 takes part in the scatter, with nothing to say, also after an error.
        let (messages, made) = if self.rank() == 0 {
            let made = make(self);
            (made.as_ref().ok().cloned(), made.map(drop))
        } else {
            (None, Ok(()))
        };
        let scattered = collective::scatter(&*self.comm, 0, messages);
        made?;
        let offer: Offer = from_message(&scattered?)?;
        self.clear_away(&offer.discarded);
        Ok(offer)
    }

    /// What is left is told once more, so that all know what makes room first.
    fn tell_leftovers(&mut self) -> Result<()> {
        let leftovers = match self.rank() {
            0 => self.leftovers(),
            _ => Ok(Offer::default()),
        };
        let offer = self.told_by_root(|| leftovers)?;
        self.clear_away(&offer.discarded);
        self.adopt(offer.known, offer.unusable);
        Ok(())
    }

    /// Rank 0: the orders for the newest dataset that may be whole, or the last word.
    fn next_offers(&mut self) -> Result<Vec<Vec<u8>>> {
        self.search.tried = None;
        let mut unavailable = None;
        while let Some(candidate) = self.search.cached.pop() {
            let named = title(&candidate.dataset);
            let slot = candidate.slot();
            if !candidate.dataset.is_checkpoint() && !self.must_save(&candidate) {
                // Output alone restarts nothing, and it is in the prefix.
                self.search.discarded.discard.push(slot);
                continue;
            }
            let other = candidate.ranks != self.comm.size();
            let insists = other && candidate.is_whole() && !self.settings.start_anew;
            if let Err(reason) = candidate.recoverable(self.comm.size())
                && !insists
            {
                self.tell(
                    Severity::Warning,
                    format!("cached {named} cannot be used: {reason}"),
                );
                self.discard_or_keep(slot, &candidate);
                continue;
            }
            if self.chosen != Some(slot.id)
                && let Some(newer) = self.newer_in_prefix(&candidate.dataset)?
            {
                let newer = title(&newer);
                let text = format!("cached {named} is older than {newer} in the prefix directory");
                self.tell(Severity::Note, text);
                self.search.cached.push(candidate);
                break;
            }
            unavailable = match insists {
                true => Some(self.needs_other_ranks(&candidate)),
                false => self.unread_before(&candidate.dataset),
            };
            if unavailable.is_some() || !self.may_offer(&candidate.dataset) {
                self.search.cached.push(candidate);
                break;
            }
            if let Some(offers) = self.offers(&candidate) {
                self.search.tried = Some(candidate);
                return offers;
            }
        }
        let unavailable = unavailable.or_else(|| self.unread_before(&Dataset::default()));
        let last = Offer {
            unavailable,
            ..self.leftovers()?
        };
        let last = to_message(&last)?;
        Ok(vec![last; self.comm.size()])
    }

    /// Rank 0: a dataset of which a record could not be read, and that is newer than `dataset`.
    fn unread_before(&self, dataset: &Dataset) -> Option<Told> {
        let newer = |slot: &&Slot| slot.id > dataset.id;
        let newest = self.search.unread.iter().filter(newer).map(|slot| slot.id);
        let id = newest.max()?;
        let mut known = self
            .search
            .completed
            .iter()
            .filter(|(other, _)| *other == id);
        Some(Told {
            id,
            created: known.next_back().map(|(_, created)| *created),
            name: Name::default(),
            what: for_now("a record of it cannot be read (see above)"),
        })
    }

    /// Rank 0: a checkpoint that another number of ranks wrote.
    fn needs_other_ranks(&self, candidate: &Candidate) -> Told {
        let Dataset {
            id, created, name, ..
        } = &candidate.dataset;
        let ranks = candidate.ranks;
        Told {
            id: *id,
            created: Some(*created),
            name: name.clone(),
            what: format!(
                "{}, and is in the cache; run with {ranks} ranks, or give it up: SCR_START_ANEW=1 \
                 to go on without checkpoints of other numbers of ranks, or SCR_CACHE_PURGE=1",
                wrong_ranks(ranks as u64, self.comm.size())
            ),
        }
    }

    /// Rank 0: the orders for one dataset; `None` if there can be none.
    fn offers(&mut self, candidate: &Candidate) -> Option<Result<Vec<Vec<u8>>>> {
        let leaders = self.search.leaders.get(candidate.store)?;
        let orders = candidate.orders(leaders)?;
        let named = title(&candidate.dataset);
        if !candidate.disputed.is_empty() {
            let text = format!(
                "cached {named}: the records of {} contradict those of the others and are not \
                 used",
                ranks_in_words(&candidate.disputed)
            );
            self.tell(Severity::Warning, text);
        }
        let lost = candidate.lost();
        if !lost.is_empty() {
            let ranks = ranks_in_words(&lost);
            let text = format!("cached {named} has lost the files of {ranks}");
            self.tell(Severity::Note, text);
        }
        let discarded = std::mem::take(&mut self.search.discarded);
        let tolerates = self.tolerated_now(candidate, true);
        let message = |order| {
            to_message(&Offer {
                discarded: discarded.clone(),
                order: Some(order),
                tolerates,
                ..Offer::default()
            })
        };
        Some(orders.into_iter().map(message).collect())
    }

    /// Rank 0: the orders for a dataset that was not tried yet; none if there can be none.
    fn offers_of(&mut self, slot: Slot) -> Result<Vec<Vec<u8>>> {
        let at = self.search.cached.iter().rposition(|c| c.slot() == slot);
        let candidate = at.map(|at| self.search.cached.remove(at));
        let offers = candidate.as_ref().and_then(|one| self.offers(one));
        self.search.tried = candidate;
        match offers {
            Some(offers) => offers,
            None => Ok(vec![to_message(&Offer::default())?; self.comm.size()]),
        }
    }

    /// Brings back a dataset that is known to be in the cache but is not what is offered. True
    /// if it is whole now. Collective, with the same slot on all ranks.
    pub(super) fn bring_back(&mut self, slot: Slot) -> Result<bool> {
        let offer = self.hear_offer(|session| session.offers_of(slot))?;
        let before = self.loaded.clone();
        let whole = match &offer.order {
            Some(order) => self.try_order(order, offer.tolerates)?,
            None => false,
        };
        self.loaded = before;
        if !whole {
            self.cache.retain(|cached| cached.slot() != slot);
            self.tell_leftovers()?;
        }
        self.delete_trash();
        self.cache.sort_by_key(|cached| cached.dataset.id);
        Ok(whole)
    }

    /// Rank 0: what else is in the cache.
    fn leftovers(&mut self) -> Result<Offer> {
        let size = self.comm.size();
        let loaded = self.loaded.as_ref().map(|part| part.dataset.id);
        // What an earlier timeline left must not stay while newer ones go.
        let mut stale = BTreeSet::new();
        if loaded.is_none() {
            for candidate in self.search.cached.iter().chain(&self.search.later) {
                if self.newer_in_prefix(&candidate.dataset)?.is_some() {
                    stale.insert(candidate.slot());
                }
            }
        }
        let index = index::read(&*self.files, &self.prefix)?;
        let indexed = |id, created| {
            let dataset = index.get(id).and_then(|entry| entry.dataset.as_ref());
            dataset.is_some_and(|dataset| dataset.created == created)
        };
        // An id may be there twice, in two stores or of two times; the newer one counts.
        let mut taken: BTreeSet<u64> = loaded.into_iter().collect();
        let (mut known, mut unusable) = (Vec::new(), self.unusable.clone());
        let later = self.search.later.iter();
        for candidate in self.search.cached.iter().chain(later).rev() {
            let usable = candidate.recoverable(size).is_ok() && !stale.contains(&candidate.slot());
            if !usable || !taken.insert(candidate.dataset.id) {
                unusable.push(candidate.slot());
                continue;
            }
            let Dataset { id, created, .. } = candidate.dataset;
            let saved = self.search.saved.contains(&(id, created));
            known.push(Known {
                store: candidate.store,
                dataset: candidate.dataset.clone(),
                // Nobody rebuilds it unless it is needed.
                tolerates: self.tolerated_now(candidate, false),
                in_prefix: saved,
                dropped: saved && !indexed(id, created),
            });
        }
        Ok(Offer {
            discarded: std::mem::take(&mut self.search.discarded),
            known,
            unusable,
            ..Offer::default()
        })
    }

    /// A cached dataset that may be whole but cannot be used. The same on all ranks.
    fn cannot_use_cached(&mut self, told: Told) {
        let Told {
            id,
            created,
            name,
            what,
        } = told;
        self.cannot_use(Unavailable {
            id,
            created,
            in_prefix: false,
            error: Error::dataset(id, name.to_string(), what),
        });
    }

    /// Rank 0: how many failure groups may be lost without a dataset, once it is `whole` on the
    /// ranks of this run, or else as it is. It may be less than it was made for, where ranks have
    /// moved together.
    fn tolerated_now(&self, candidate: &Candidate, whole: bool) -> usize {
        let store = candidate.store;
        let descriptor = self.descriptors.stores.get(store);
        if descriptor.is_some_and(StoreDescriptor::outlives_nodes) {
            return EVERYTHING;
        }
        let domains = self.search.domains.get(store);
        let (now, meant) = candidate.tolerates(domains.map_or(&[], Vec::as_slice), whole);
        if now < meant && whole {
            let text = format!(
                "cached {}: ranks that protect each other are on one node now, so you survive \
                 the loss of any {now} {}, not of {}; the next checkpoint is protected anew",
                title(&candidate.dataset),
                if now == 1 { "node" } else { "nodes" },
                now + 1
            );
            self.tell(Severity::Note, text);
        }
        now
    }

    /// True for output that was not flushed before the run ended.
    fn must_save(&self, candidate: &Candidate) -> bool {
        let id = candidate.dataset.id;
        let record = records::read_flush_file(&*self.files, &self.prefix).unwrap_or_default();
        candidate.dataset.flag_output
            && record
                .datasets
                .get(&id)
                .is_some_and(|entry| entry.needs_flush())
    }

    /// Rank 0: a dataset that is of no use. Was it once complete, it is kept aside.
    fn discard_or_keep(&mut self, slot: Slot, candidate: &Candidate) {
        if candidate.ranks != self.comm.size() {
            // It may fit the next run, so it stays until room is needed.
            self.unusable.push(slot);
            return;
        }
        self.discard_or_quarantine(slot, (candidate.dataset.id, candidate.dataset.created));
    }

    fn discard_or_quarantine(&mut self, slot: Slot, key: (u64, u64)) {
        // Records of several times may lie in one directory; the last one to be tried decides.
        let pending = |c: &Candidate| (c.store, c.dataset.id) == (slot.store, slot.id);
        let mut left = self.search.cached.iter().chain(&self.search.later);
        if left.any(pending) || self.unusable.contains(&slot) {
            return;
        }
        if self.search.completed.contains(&key) {
            self.search.discarded.quarantine.push(slot);
            self.unusable.push(slot);
        } else {
            self.search.discarded.discard.push(slot);
        }
    }

    /// Leaders: deletes or sets aside. What cannot be moved is told and stays: it is of no
    /// use, so it must not keep the run from starting.
    fn clear_away(&mut self, discarded: &Discarded) {
        let mine = |slot: &Slot| self.stores.get(slot.store).filter(|store| store.leader);
        let mut trash = Vec::new();
        for slot in &discarded.discard {
            if let Some(Store { layout, .. }) = mine(slot) {
                self.tell_stuck(dataset::discard(&*self.files, layout, slot.id));
                trash.push((layout.clone(), slot.id));
            }
        }
        for slot in &discarded.quarantine {
            if let Some(Store { layout, .. }) = mine(slot) {
                match dataset::quarantine(&*self.files, layout, slot.id) {
                    Ok(true) => {
                        let kept = layout.quarantine(slot.id);
                        let text = format!(
                            "dataset {} is kept in {} until room is needed",
                            slot.id,
                            kept.display()
                        );
                        self.tell(Severity::Note, text);
                    }
                    other => self.tell_stuck(other.map(drop)),
                }
            }
        }
        self.trash.extend(trash);
    }

    /// Says what could not be cleared away. Local.
    pub(super) fn tell_stuck(&self, result: Result<()>) {
        if let Err(error) = result {
            let text = format!("{error}; what is left there is not used");
            self.tell(Severity::Warning, text);
        }
    }

    fn adopt(&mut self, known: Vec<Known>, unusable: Vec<Slot>) {
        for known in known {
            self.ids.know(known.dataset.id, known.dataset.ckpt);
            if !self.cache.iter().any(|c| c.dataset.id == known.dataset.id) {
                self.cache.push(Cached {
                    store: known.store,
                    dataset: known.dataset,
                    bypass: false,
                    in_prefix: known.in_prefix,
                    dropped: known.dropped,
                    tolerates: known.tolerates,
                    level: None,
                    bytes: None,
                    filemap: None,
                });
            }
        }
        self.cache.sort_by_key(|cached| cached.dataset.id);
        unusable
            .iter()
            .for_each(|slot| self.ids.know(slot.id, None));
        self.unusable = unusable;
        self.unusable.sort();
        self.unusable.dedup();
        // Records of several times may lie in one directory; then it is in use.
        let used = |slot: &Slot| {
            let mut cached = self.cache.iter();
            cached.any(|c| c.slot() == *slot)
        };
        self.unusable.retain(|slot| !used(slot));
    }

    /// Carries out one order. True if the dataset is whole now.
    fn try_order(&mut self, order: &Order, tolerates: usize) -> Result<bool> {
        let begun = Instant::now();
        let Some(store) = self.stores.get(order.store) else {
            return Ok(false);
        };
        // What is there stays at its level; what must be made anew comes to ours.
        let layout = match order.source {
            Some(_) => store.layout.at(order.level),
            None => store.layout.clone(),
        };
        let access = CacheAccess {
            comm: &*self.comm,
            files: &*self.files,
            layout: &layout,
            node: &self.speaker.node,
            prefix: self.prefix.real(),
            piece: self.settings.mpi_buf_size,
        };
        let named = title(&order.dataset);
        let result = recover::attempt(&access, order)?;
        let damage = match &result {
            Ok(Recovered { damage, .. }) | Err(Failed { damage, .. }) => damage,
        };
        for error in damage {
            self.tell(Severity::Warning, format!("cached {named}: {error}"));
        }
        match result {
            Ok(recovered) => {
                self.account(&recovered, order, begun);
                let volume = self.volume_of(order.store, layout.level(), &recovered.filemap)?;
                self.take_over(order.store, recovered, &layout, tolerates, volume);
                let id = order.dataset.id;
                let mut trash = !order.sends.is_empty() || order.holds.is_some();
                if self.stores.get(order.store).is_some_and(|s| s.leader) {
                    let strays = dataset::tidy(&*self.files, &layout, id);
                    trash |= strays.as_ref().is_ok_and(|any| *any);
                    self.tell_stuck(strays.map(drop));
                }
                if trash {
                    self.trash.push((layout, id));
                }
                Ok(true)
            }
            Err(failed) => {
                self.tell_once(
                    Severity::Error,
                    format!("cached {named} cannot be brought back: {}", failed.error),
                );
                let Dataset { id, created, .. } = order.dataset;
                let slot = Slot {
                    store: order.store,
                    id,
                };
                match (failed.beyond_repair, self.rank()) {
                    (true, 0) => self.discard_or_quarantine(slot, (id, created)),
                    // It still counts as what it is when room is made.
                    (false, 0) => self.search.later.extend(self.search.tried.take()),
                    _ => {}
                }
                if !failed.beyond_repair && order.dataset.is_checkpoint() {
                    self.cannot_use_cached(Told {
                        id,
                        created: Some(created),
                        name: order.dataset.name.clone(),
                        what: for_now(&failed.error.to_string()),
                    });
                }
                Ok(false)
            }
        }
    }

    fn account(&self, recovered: &Recovered, order: &Order, begun: Instant) {
        let scheme = &recovered.filemap.reddesc.scheme;
        let how = match (recovered.restored, recovered.encoded) {
            (0, 0) => "all files verified".to_string(),
            (0, _) => format!("all files verified, {scheme} redundancy made anew"),
            (1, _) => format!("files of 1 rank rebuilt with {scheme}"),
            (n, _) => format!("files of {n} ranks rebuilt with {scheme}"),
        };
        if self.rank() == 0 {
            let text = format!("{} is ready in the cache, {how}", title(&order.dataset));
            self.tell_timed(Severity::Note, text, begun);
        }
    }

    fn take_over(
        &mut self,
        store: usize,
        recovered: Recovered,
        layout: &Layout,
        tolerates: usize,
        volume: Option<Volume>,
    ) {
        let filemap = recovered.filemap;
        let dataset = filemap.dataset.clone();
        let same = |c: &&Cached| {
            c.slot()
                == Slot {
                    store,
                    id: dataset.id,
                }
                && c.dataset.created == dataset.created
        };
        let known = self.cache.iter().find(same);
        let (in_prefix, dropped) = known.map_or((false, false), |c| (c.in_prefix, c.dropped));
        self.cache.retain(|cached| cached.dataset.id != dataset.id);
        self.ids.know(dataset.id, dataset.ckpt);
        // The next dataset of its kind will be about as large.
        let next = choose(&self.descriptors.schemes, dataset.ckpt, dataset.flag_output);
        if let Some(scheme) = next.filter(|s| s.store == store).map(|s| s.index) {
            self.remember_volume(scheme, volume);
        }
        // Output that is no checkpoint is only here to be flushed.
        if dataset.is_checkpoint() {
            self.loaded = Some(Part {
                dataset: dataset.clone(),
                root: layout.data(dataset.id, self.rank()),
                bypass: false,
                files: paths(&filemap),
            });
        }
        self.cache.push(Cached {
            store,
            dataset,
            bypass: false,
            in_prefix,
            dropped,
            tolerates,
            level: layout.level(),
            bytes: volume.map(|volume| volume.all),
            filemap: Some(filemap),
        });
    }
}

/// Why a cached dataset that may be good is not used, and what to do.
fn for_now(why: &str) -> String {
    format!(
        "is in the cache and may be good, but cannot be used now: {why}; start again when that is \
         mended, or give it up with SCR_CACHE_PURGE=1"
    )
}
