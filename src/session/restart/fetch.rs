//! Fetching checkpoints from the prefix directory: which one is tried next, and what follows.

use crate::cache::plan::Slot;
use crate::events::{Event, Severity};
use crate::format::filemap::Filemap;
use crate::format::index::Index;
use crate::format::{self, Dataset, Name};
use crate::messages::{
    CANNOT_FETCH_NOW, FETCH_FAILED, NO_CHECKSUMS, NO_SUCH_CHECKPOINT, READ_IN_PLACE,
};
use crate::prefix::access::PrefixAccess;
use crate::prefix::fetch::{FetchTarget, Fetched, RefusalReason, Refused, Wanted, fetch};
use crate::prefix::{index, records};
use crate::session::datasets::cached::{CachedDataset, moved, note, title};
use crate::session::datasets::other_ranks::{self, OtherRanksFound};
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::datasets::record::{filemap, protect};
use crate::session::datasets::search::{PassedOver, Restart, RestartSearch};
use crate::session::datasets::space::{receive_sizes, send_size};
use crate::session::datasets::unavailable::Unavailable;
use crate::session::flush::finish::finish_and_tell;
use crate::session::progress::CopyProgress;
use crate::session::restart::make_room::{Needs, agree_on_room};
use crate::session::run::{Run, time_now};
use crate::system::time::Instant;
use crate::system::time::sleep;
use crate::text::{counted, option};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Pauses before a checkpoint is read again after a transient error.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];

/// Result of trying the next checkpoint in the prefix directory.
pub(in crate::session) enum Attempt {
    /// It is offered now.
    Fetched,
    /// It cannot be used; there may be another one.
    Failed,
    /// None was left to try.
    NoneLeft,
}

/// What rank 0 wants to fetch next.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct NextFetch {
    dataset: Option<Dataset>,
    /// The number of ranks that must have written it.
    ranks: u64,
    /// The highest ids in the index: another process may have added datasets.
    max_dataset: u64,
    max_checkpoint: u64,
}

impl RestartSearch {
    /// Rank 0: the next dataset to try; the index marks it as fetched. Local.
    fn next_fetch(&mut self, run: &Run) -> Result<NextFetch> {
        let first = self.fetch.is_none();
        if first {
            // What a background flush has left since the last search.
            finish_and_tell(run)?;
        }
        let current = match first && run.settings.fetch {
            true => new_current(run),
            false => None,
        };
        let mut known = true;
        let mut queue = self.fetch.take();
        let (next, written) = index::note(&*run.files, &run.prefix, |index| {
            if let Some(name) = &current {
                known = index.set_current(name);
            }
            let mut next = NextFetch {
                dataset: None,
                ranks: run.comm.size() as u64,
                max_dataset: index.max_dataset(),
                max_checkpoint: index.max_checkpoint(),
            };
            let queue = queue.get_or_insert_with(|| self.fetch_order(run, index).into());
            while let Some(id) = queue.pop_front() {
                // It may have been dropped since the search began.
                let dataset = index.get(id).and_then(|entry| entry.dataset.clone());
                next.dataset = dataset.filter(|dataset| self.may_offer(dataset));
                if next.dataset.is_some() {
                    index.mark_fetched(id, time_now().as_str());
                    break;
                }
            }
            Ok(next)
        })?;
        self.fetch = queue;
        let moved = written.is_ok();
        // The marks only tell what was done. Where they cannot be written the fetch goes on.
        run.keep_record(|| written);
        if let Some(name) = current {
            remember_current(run, name, known, moved);
        }
        Ok(next)
    }

    /// Rank 0: the ids that a search tries, in order. With `SCR_FETCH=0` these are the checkpoints
    /// that the last run of this job wrote in bypass, since they count as its cache.
    fn fetch_order(&self, run: &Run, index: &Index) -> Vec<u64> {
        if run.settings.fetch {
            return index.candidates();
        }
        let is_of_last_run = |id: &u64| {
            let entry = index.get(*id).filter(|entry| entry.is_good());
            let dataset = entry.and_then(|entry| entry.dataset.as_ref());
            let known = |d: &Dataset| self.in_bypass.contains_key(&(d.id, d.created));
            dataset.is_some_and(|d| known(d) && d.is_checkpoint())
        };
        let ids = index.datasets().keys().rev().copied();
        ids.filter(is_of_last_run).collect()
    }
}

/// Rank 0: `SCR_CURRENT`, unless an earlier fetch of this allocation has used it: it moves the
/// current marker once. Local.
fn new_current(run: &Run) -> Option<Name> {
    let name = run.settings.current.as_deref().map(Name::from)?;
    let used = format::read_tree(&*run.files, &used_current(run)).unwrap_or_default();
    (used.value("CURRENT") != Some(&name)).then_some(name)
}

/// The file in the control directory that holds the last `SCR_CURRENT` that was used.
fn used_current(run: &Run) -> PathBuf {
    let control = &run.stores[run.descriptors.control].layout;
    control.job().join("cindex.scrinfo")
}

/// Rank 0: records that `SCR_CURRENT` was used, if the marker has `moved`; warns if there is no such
/// checkpoint. Local.
fn remember_current(run: &Run, name: Name, known: bool, moved: bool) {
    if !known {
        let text = format!(
            "SCR_CURRENT={name}: there is no such checkpoint in the index ({NO_SUCH_CHECKPOINT})"
        );
        run.tell_once(Severity::Warning, text);
    }
    if moved {
        let mut record = format::Tree::new();
        record.set_value("CURRENT", name);
        let bytes = format::encode(&record);
        run.keep_record(|| records::put(&*run.files, &used_current(run), &bytes));
    }
}

/// Where the files of a dataset go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// This store.
    Store(usize),
    /// Nowhere: the program reads them in the prefix directory. Files in containers are extracted there.
    InPlace,
    /// Nowhere: it is only found out whether they are good.
    Verified,
}

/// Fetches into a store, or verifies the files in the prefix directory. The latter is repeated after
/// transient errors; for trouble with a store there is another way, to do without it. `ranks` as in
/// [`Wanted`]. Collective; the inner result is the same on all ranks.
fn fetch_to(
    run: &Run,
    (dataset, ranks): (&Dataset, u64),
    to: Destination,
) -> Result<std::result::Result<Fetched, Refused>> {
    let store = match to {
        Destination::Store(store) => Some(store),
        _ => None,
    };
    let layout = store.map(|store| &run.stores[store].layout);
    let target = layout.map(|layout| FetchTarget {
        base: layout.base(),
        below: layout.data_below(dataset.id, run.rank()),
        common: layout.is_common(),
    });
    let wanted = Wanted {
        id: dataset.id,
        name: &dataset.name,
        checksums: run.settings.crc_on_flush || (store.is_some() && run.settings.crc_on_copy),
        in_place: to == Destination::InPlace,
        ranks,
    };
    let progress = CopyProgress::new(run, format!("the fetch of {}", title(dataset)));
    let access = PrefixAccess {
        watch: &progress,
        ..run.prefix_access(run.settings.fetch_width)
    };
    for pause in PAUSES {
        match fetch(&access, &wanted, target.as_ref())? {
            Err(refused) if refused.why == RefusalReason::Trouble && store.is_none() => {
                let text = format!("{} is read again: {}", title(dataset), refused.error);
                run.tell_once(Severity::Debug(1), text);
                sleep(pause);
            }
            other => return Ok(other),
        }
    }
    fetch(&access, &wanted, target.as_ref())
}

/// What [`Restart::make_room`] needs to know of a dataset that can be fetched.
fn room_for(dataset: &Dataset, store: usize) -> Needs<'_> {
    Needs {
        dataset,
        store,
        verified: true,
    }
}

/// This rank's record of a dataset in a store; on a leader, with the bytes that it takes there.
type StoreRecord = (Filemap, Option<u64>);

/// Result of a fetch into a store. The same on all ranks, but for the record.
enum InStore {
    Done(Box<Fetched>, Box<StoreRecord>),
    /// The dataset cannot be fetched, wherever to.
    Refused(Refused),
    /// The store cannot take it, for this reason.
    NoCopy(Error),
}

impl Restart<'_> {
    /// Fetches the next checkpoint of this search from the prefix directory. Collective.
    pub fn fetch_next(&mut self) -> Result<Attempt> {
        let next = match self.run.rank() {
            0 => self.search.next_fetch(self.run).map(|next| NextFetch {
                ranks: self.other_ranks.ranks_of(self.run, next.dataset.as_ref()),
                ..next
            }),
            _ => Ok(NextFetch::default()),
        };
        let next: NextFetch = self.run.share_from_root(|| next)?;
        self.ids.know(next.max_dataset, Some(next.max_checkpoint));
        // Whether or not the one that SCR_Current named can be used, others follow.
        self.search.chosen = None;
        match next.dataset {
            Some(dataset) if self.fetch_dataset(&dataset, next.ranks)? => Ok(Attempt::Fetched),
            Some(_) => Ok(Attempt::Failed),
            None => Ok(Attempt::NoneLeft),
        }
    }

    /// Fetches one dataset, which `ranks` ranks wrote; true if it is offered now. One of another number
    /// of ranks stays in the prefix directory, where each rank can read every file. Collective.
    pub fn fetch_dataset(&mut self, wanted: &Dataset, ranks: u64) -> Result<bool> {
        let begun = Instant::now();
        let (run, id) = (self.run, wanted.id);
        run.tell_once(Severity::Debug(2), format!("{} is fetched", title(wanted)));
        let Some(descriptor) = run.descriptor_of(wanted) else {
            return Ok(false);
        };
        run.log_dataset(Event::FetchStart, wanted);
        let (scheme, store) = (descriptor.index, descriptor.store);
        let same_ranks = ranks == run.comm.size() as u64;
        let bypass = descriptor.bypass || run.settings.fetch_bypass || !same_ranks;
        let replaces = !self.cached.slots_of_id(id).is_empty()
            || self.cached.would_evict(run, self.search, store);
        if !bypass && replaces {
            // Nothing leaves the cache before it is certain that the dataset can be fetched.
            if let Err(refused) = fetch_to(run, (wanted, ranks), Destination::Verified)? {
                return self.pass_over(wanted, refused);
            }
            self.cached.remove_id(run, self.search, id)?;
        }
        self.cached
            .evict(run, self.search, (store, bypass), 0, None);
        let mut no_copy = None;
        if !bypass {
            // The fetch may need the space of what is being deleted in the background.
            self.cached.deletion.finish();
            run.comm.barrier()?;
            match self.fetch_into_store((wanted, ranks), (scheme, store), replaces)? {
                InStore::Done(fetched, record) => {
                    return self.is_ready(*fetched, Some(*record), (scheme, ranks), store, begun);
                }
                InStore::Refused(refused) => return self.pass_over(wanted, refused),
                InStore::NoCopy(error) => no_copy = Some(error),
            }
        }
        match fetch_to(run, (wanted, ranks), Destination::InPlace)? {
            Ok(fetched) => {
                if let Some(error) = no_copy {
                    let named = title(wanted);
                    let text = format!(
                        "{named} cannot be kept in the cache, so it is read in place: {error} ({READ_IN_PLACE})"
                    );
                    run.tell_once(Severity::Warning, text);
                }
                self.is_ready(fetched, None, (scheme, ranks), store, begun)
            }
            Err(refused) => self.pass_over(wanted, refused),
        }
    }

    /// Fetches a dataset into a store and makes its redundancy there. While the store is full, what a
    /// restart can best do without makes room. Unless it is `Done`, the store has nothing of it. `verified`
    /// as in [`Needs`]. Collective; the same on all ranks.
    fn fetch_into_store(
        &mut self,
        (wanted, ranks): (&Dataset, u64),
        (scheme, store): (usize, usize),
        mut verified: bool,
    ) -> Result<InStore> {
        let run = self.run;
        let slot = Slot {
            store,
            id: wanted.id,
        };
        let fetched = loop {
            let refused = match fetch_to(run, (wanted, ranks), Destination::Store(store))? {
                Ok(fetched) => break fetched,
                Err(refused) => refused,
            };
            let full = refused.why == RefusalReason::Full;
            if full && !verified {
                if let Err(refused) = fetch_to(run, (wanted, ranks), Destination::Verified)? {
                    self.cached.discard(run, &[slot], None);
                    return Ok(InStore::Refused(refused));
                }
                verified = true;
            }
            if full && self.make_room(room_for(wanted, store))? {
                continue;
            }
            self.cached.discard(run, &[slot], None);
            return Ok(match refused.why {
                RefusalReason::Trouble | RefusalReason::Full => InStore::NoCopy(refused.error),
                _ => InStore::Refused(refused),
            });
        };
        let mut filemap = filemap(run, &fetched.dataset, scheme, false, fetched.files.clone());
        loop {
            match self.protect_fetched(store, scheme, &mut filemap)? {
                Ok(bytes) => {
                    let record = Box::new((filemap, bytes));
                    return Ok(InStore::Done(Box::new(fetched), record));
                }
                Err((_, true)) if self.make_room(room_for(&fetched.dataset, store))? => {}
                Err((error, _)) => {
                    self.cached.discard(run, &[slot], None);
                    return Ok(InStore::NoCopy(error));
                }
            }
        }
    }

    /// Tells that a dataset was fetched, and offers it. `record`: of its copy in the store, if there is one.
    /// Always true. Collective.
    fn is_ready(
        &mut self,
        fetched: Fetched,
        record: Option<StoreRecord>,
        (scheme, ranks): (usize, u64),
        store: usize,
        begun: Instant,
    ) -> Result<bool> {
        let (run, dataset) = (self.run, fetched.dataset.clone());
        let prefix = run.prefix.root().display();
        let read = moved(&dataset, begun);
        let text = format!("{} was read from {prefix}: {read}", title(&dataset));
        run.tell_once(Severity::Debug(1), text);
        self.statistics.count_fetched(&dataset, begun);
        let cached = record.is_some();
        self.add_fetched(fetched, record, (scheme, ranks), store)?;
        run.log(Event::FetchSuccess, |record| {
            record.of(&dataset).since(begun)
        });
        if cached {
            let to = run.stores[store].layout.dataset(dataset.id);
            run.log_transfer(Event::Fetch, &dataset, (run.prefix.root(), &to), begun);
        }
        let how = match cached {
            _ if ranks != run.comm.size() as u64 => format!(
                "in the prefix directory: {ranks} ranks wrote it, and this run has {}",
                run.comm.size()
            ),
            true => "fetched into the cache".to_string(),
            false => "in the prefix directory".to_string(),
        };
        run.tell_timed(format!("{} is ready, {how}", title(&dataset)), begun);
        Ok(true)
    }

    /// Handles a dataset that could not be fetched: it is marked as failed, or keeps older ones from
    /// being offered. Always false. Collective.
    fn pass_over(&mut self, dataset: &Dataset, refused: Refused) -> Result<bool> {
        let run = self.run;
        let Refused { error, why } = refused;
        let id = dataset.id;
        run.log(Event::FetchFail, |record| {
            record.of(dataset).note(error.to_string())
        });
        let what = match why {
            RefusalReason::Bad => {
                let text = format!(
                    "cannot fetch {}: {error}; once its files are restored: scr index {} ({FETCH_FAILED})",
                    title(dataset),
                    option("--add", dataset.name.as_bytes())
                );
                self.search.passed_over.push(PassedOver {
                    severity: Severity::Error,
                    named: title(dataset),
                    text,
                });
                run.keep_record(|| {
                    index::update(&*run.files, &run.prefix, |index| {
                        index.mark_failed(id, time_now().as_str());
                        Ok(())
                    })
                });
                return Ok(false);
            }
            RefusalReason::Unfit if run.settings.start_anew => {
                let text = format!("{} is passed over: {error}", title(dataset));
                run.tell_once(Severity::Debug(1), text);
                return Ok(false);
            }
            RefusalReason::Unfit => {
                let OtherRanksFound { ids, why } =
                    run.share_from_root(|| other_ranks::find(run, id))?;
                self.other_ranks.ids = ids;
                why
            }
            RefusalReason::Trouble | RefusalReason::Full | RefusalReason::Link => format!(
                "may be good, but cannot be fetched now: {error}; start again when that is mended, \
                 or give it up by: scr index {} ({CANNOT_FETCH_NOW})",
                option("--drop", dataset.name.as_bytes())
            ),
        };
        self.search
            .cannot_use(Unavailable::new(dataset, true, what));
        Ok(false)
    }

    /// Offers a dataset that was fetched. Collective.
    fn add_fetched(
        &mut self,
        fetched: Fetched,
        record: Option<StoreRecord>,
        (scheme, ranks): (usize, u64),
        store: usize,
    ) -> Result<()> {
        let run = self.run;
        if let Some(text) = fetched.link_note() {
            run.tell(Severity::Note, text);
        }
        let Fetched {
            dataset,
            files,
            unverified,
            extracted,
            ..
        } = fetched;
        if extracted > 0 {
            let text = format!(
                "{}: extracted {} from containers to the prefix directory, for the program to read \
                 there; where the cache takes a checkpoint (without SCR_FETCH_BYPASS and \
                 SCR_CACHE_BYPASS, on as many ranks), a restart fetches into it instead",
                title(&dataset),
                counted(extracted as usize, "file")
            );
            run.tell_once(Severity::Note, text);
        }
        if unverified > 0 {
            let are = match unverified {
                1 => "file is",
                _ => "files are",
            };
            let text = format!(
                "{}: {unverified} {are} unverified, since no checksums were recorded ({NO_CHECKSUMS})",
                title(&dataset)
            );
            run.tell_once(Severity::Note, text);
        }
        let bypass = record.is_none();
        let (filemap, bytes) = record.unwrap_or_else(|| {
            let mut filemap = filemap(run, &dataset, scheme, bypass, files);
            if ranks != run.comm.size() as u64 {
                // No file belongs to a rank of this run: each looks its files up when it needs them.
                filemap.ranks = usize::try_from(ranks).unwrap_or(usize::MAX);
                filemap.files.files.clear();
            }
            (filemap, None)
        });
        if bypass {
            self.cached.remove_id(run, self.search, dataset.id)?;
        }
        run.keep_record(|| {
            index::update(&*run.files, &run.prefix, |index| {
                index.mark_good(dataset.id);
                Ok(())
            })
        });
        note(run, |record| {
            let mut entry = format::flush_file::FlushEntry::cached(dataset.clone());
            entry.locations.insert(format::flush_file::PFS.into());
            record.datasets.insert(dataset.id, entry);
        });
        self.ids.know(dataset.id, dataset.ckpt);
        let cached = CachedDataset {
            store,
            dataset,
            bypass,
            prefix: PrefixState::Saved,
            tolerates: run.tolerates.get(scheme).copied().unwrap_or(0),
            level: run.stores[store].layout.level(),
            bytes,
            filemap: Some(filemap),
        };
        self.search.offered = cached.restart_files(run);
        self.cached.insert(cached);
        Ok(())
    }

    /// Makes the redundancy data of a dataset that was fetched into a store. On a leader, gives the
    /// bytes that it takes there. The inner error says whether a store was full. Collective; all ranks
    /// agree on the inner result.
    fn protect_fetched(
        &mut self,
        store: usize,
        scheme: usize,
        filemap: &mut Filemap,
    ) -> Result<std::result::Result<Option<u64>, (Error, bool)>> {
        let run = self.run;
        let dataset = filemap.dataset.clone();
        let layout = &run.stores[store].layout;
        let ready = run
            .files
            .make_private_dirs(layout.base(), &layout.meta_below(dataset.id));
        if let Err(failed) = agree_on_room(run, ready)? {
            return Ok(Err(failed));
        }
        let done = protect(run, store, filemap);
        let report = send_size(run, store, layout.level(), filemap)?;
        let done = agree_on_room(run, done)?;
        let size = receive_sizes(run, store, report, &dataset)?;
        if let Err(failed) = done {
            return Ok(Err(failed));
        }
        self.cached.remember_size(scheme, size);
        Ok(Ok(size.map(|size| size.all)))
    }
}
