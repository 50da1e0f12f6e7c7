//! Fetching checkpoints from the prefix directory: the choice of the next one, and its fetch.

use crate::cache::plan::Slot;
use crate::events::{Event, Severity};
use crate::format::index::Index;
use crate::format::{self, Dataset, RankFiles};
use crate::messages::{CANNOT_FETCH_NOW, FETCH_FAILED, MENDED, NO_CHECKSUMS, READ_IN_PLACE};
use crate::prefix::access::PrefixAccess;
use crate::prefix::fetch::{FetchRequest, FetchTarget, Fetched, RefusalReason, Refused, fetch};
use crate::prefix::index;
use crate::redundancy::Encoded;
use crate::session::datasets::cached::{CachedDataset, OwnPart, moved, note, title};
use crate::session::datasets::location::{Location, Writers};
use crate::session::datasets::other_ranks::{self, OtherRanksFound};
use crate::session::datasets::prefix_state::PrefixState;
use crate::session::datasets::record::{Target, filemap, protect};
use crate::session::datasets::search::Restart;
use crate::session::datasets::space::{receive_sizes, send_size};
use crate::session::datasets::survey::{PassedOver, Replaced};
use crate::session::datasets::unavailable::{Cause, Unavailable};
use crate::session::flush::finish::finish_and_tell;
use crate::session::log::FromTo;
use crate::session::progress::CopyProgress;
use crate::session::restart::current;
use crate::session::restart::make_room::{Fitted, Needs, agree_on_room};
use crate::session::restart::recovery_plan::Planner;
use crate::session::run::{Run, time_now};
use crate::system::time::Instant;
use crate::system::time::sleep;
use crate::text::{counted, option};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Pauses before a checkpoint is read again after a transient error.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];

/// Result of trying the next checkpoint in the prefix directory.
pub(in crate::session) enum Attempt {
    /// The one with this id is ready.
    Fetched(u64),
    /// The dataset cannot be used; another one may be.
    Failed,
    /// No dataset was left to try.
    NoneLeft,
}

/// The dataset that rank 0 wants to fetch next.
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

impl Planner<'_> {
    /// Chooses the next dataset to try, and marks it in the index as fetched. Local.
    fn next_fetch(&mut self) -> Result<NextFetch> {
        let run = self.run;
        let first = self.survey.fetches_first();
        if first {
            // The datasets that a background flush has left since the last search.
            finish_and_tell(run)?;
        }
        let may_choose = first && run.settings.fetch && !self.survey.is_current_used();
        let current = may_choose.then(|| current::wanted(run)).flatten();
        let mut known = true;
        let mut queue = self.survey.take_fetch();
        let (mut next, written) = index::note(&*run.files, &run.prefix, |index| {
            if let Some(name) = &current {
                known = index.set_current(name);
            }
            let mut next = NextFetch {
                dataset: None,
                ranks: 0,
                max_dataset: index.max_dataset(),
                max_checkpoint: index.max_checkpoint(),
            };
            let queue = queue.get_or_insert_with(|| self.fetch_order(index).into());
            while let Some(id) = queue.pop_front() {
                // The dataset may have been dropped since the search began.
                let dataset = index.get(id).and_then(|entry| entry.dataset.clone());
                let bad = self.survey.is_known_bad(id);
                next.dataset = dataset.filter(|dataset| !bad && self.offer.allows(dataset));
                if next.dataset.is_some() {
                    index.mark_fetched(id, time_now().as_str());
                    break;
                }
            }
            Ok(next)
        })?;
        self.survey.set_fetch(queue);
        next.ranks = self.other_ranks.ranks_of(run, next.dataset.as_ref());
        let moved = written.is_ok();
        // The marks only record what was done. If they cannot be written, the fetch goes on.
        run.keep_record(|| written);
        if let Some(name) = current {
            current::remember(run, name, known, moved);
            if moved {
                self.survey.note_current_used();
            }
        }
        Ok(next)
    }

    /// The ids that a search tries, in order. With `SCR_FETCH=0` these are the checkpoints
    /// that the last run of this job wrote in bypass, and the newest that has left the cache, since they count as its
    /// cache.
    fn fetch_order(&self, index: &Index) -> Vec<u64> {
        if self.run.settings.fetch {
            return index.candidates();
        }
        let is_of_last_run = |id: &u64| {
            let entry = index.get(*id).filter(|entry| entry.is_good());
            let dataset = entry.and_then(|entry| entry.dataset.as_ref());
            let known = |d: &Dataset| self.survey.has_in_prefix_of_last_run(d);
            dataset.is_some_and(|d| known(d) && d.is_checkpoint())
        };
        let ids = index.datasets().keys().rev().copied();
        ids.filter(is_of_last_run).collect()
    }
}

/// A dataset that is about to be fetched.
#[derive(Clone, Copy)]
struct Sought<'a> {
    dataset: &'a Dataset,
    writers: Writers,
    /// Index of the redundancy descriptor that applies to such a dataset now.
    scheme: usize,
    /// Index of the store of that descriptor.
    store: usize,
    begun: Instant,
}

/// The place to which the files of a dataset go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// The store.
    Store,
    /// Nowhere: the program reads them in the prefix directory. Files in containers are extracted there.
    InPlace,
    /// Nowhere: it is only found out whether they are good.
    Verified,
}

/// Fetches into the store, or verifies the files in the prefix directory. The latter is repeated after
/// transient errors; for trouble with a store there is another way, to do without it.
/// Collective; the inner result is the same on all ranks.
fn fetch_to(
    run: &Run,
    sought: Sought,
    to: Destination,
) -> Result<std::result::Result<Fetched, Refused>> {
    let dataset = sought.dataset;
    let to_store = to == Destination::Store;
    let layout = &run.stores[sought.store].layout;
    let target = to_store.then(|| FetchTarget {
        base: layout.base(),
        below: layout.data_below(dataset.id, run.rank()),
        common: layout.is_common(),
    });
    let wanted = FetchRequest {
        id: dataset.id,
        name: &dataset.name,
        checksums: run.settings.crc_on_flush || (to_store && run.settings.crc_on_copy),
        in_place: to == Destination::InPlace,
        ranks: sought.writers.count(run),
    };
    let progress = CopyProgress::new(run, format!("the fetch of {}", title(dataset)));
    let access = PrefixAccess {
        watch: &progress,
        ..run.prefix_access(run.settings.fetch_width)
    };
    for pause in PAUSES {
        match fetch(&access, &wanted, target.as_ref())? {
            Err(refused) if refused.why == RefusalReason::Trouble && !to_store => {
                let text = format!("{} is read again: {}", title(dataset), refused.error);
                run.tell_once(Severity::Debug(1), text);
                sleep(pause);
            }
            other => return Ok(other),
        }
    }
    fetch(&access, &wanted, target.as_ref())
}

/// The facts about a dataset to fetch that [`Restart::make_room`] needs.
fn room_for(dataset: &Dataset, store: usize) -> Needs<'_> {
    Needs {
        dataset,
        store,
        verified: true,
    }
}

/// Result of a fetch into a store. All ranks have the same value, except for the part.
enum InStore {
    Done(Box<Fetched>, Box<OwnPart>),
    /// The dataset cannot be fetched, wherever to.
    Refused(Refused),
    /// The store cannot take the dataset, for this reason.
    NoCopy(Error),
}

impl Restart<'_> {
    /// Fetches the next checkpoint of this search from the prefix directory. Collective.
    pub fn fetch_next(&mut self) -> Result<Attempt> {
        let run = self.run;
        let next = self.planner().map(|mut planner| planner.next_fetch());
        let next = run.share(next)?;
        self.ids.know(next.max_dataset, Some(next.max_checkpoint));
        // Whether or not the dataset that SCR_Current named can be used, the search goes on without that choice.
        self.search.offer.forget_choice();
        let writers = Writers::new(run, next.ranks);
        let Some(dataset) = next.dataset else {
            return Ok(Attempt::NoneLeft);
        };
        let fetched = self.fetch_dataset(&dataset, writers)?;
        Ok(fetched.map_or(Attempt::Failed, Attempt::Fetched))
    }

    /// Fetches one dataset, and gives its id if it is ready. One of another number of ranks stays in the prefix
    /// directory, where each rank can read every file. Collective.
    pub fn fetch_dataset(&mut self, dataset: &Dataset, writers: Writers) -> Result<Option<u64>> {
        let begun = Instant::now();
        let run = self.run;
        run.tell_once(Severity::Debug(2), format!("{} is fetched", title(dataset)));
        let Some(descriptor) = run.descriptor_of(dataset) else {
            return Ok(None);
        };
        run.log_dataset(Event::FetchStart, dataset);
        let sought = Sought {
            dataset,
            writers,
            scheme: descriptor.index,
            store: descriptor.store,
            begun,
        };
        if descriptor.bypass || run.settings.fetch_bypass || writers.are_others() {
            let location = Location::Bypass(sought.store);
            self.cached.evict(run, self.search, location, 0, None);
            return self.fetch_in_place(sought, None);
        }
        match self.fetch_into_store(sought)? {
            InStore::Done(fetched, own) => self.is_ready(sought, *fetched, Some(*own)).map(Some),
            InStore::Refused(refused) => self.pass_over(dataset, refused).map(|()| None),
            InStore::NoCopy(error) => self.fetch_in_place(sought, Some(error)),
        }
    }

    /// Verifies a dataset that the program reads in the prefix directory; with `no_copy`, since it cannot be
    /// kept in the cache for this reason. Collective.
    fn fetch_in_place(&mut self, sought: Sought, no_copy: Option<Error>) -> Result<Option<u64>> {
        let fetched = match fetch_to(self.run, sought, Destination::InPlace)? {
            Ok(fetched) => fetched,
            Err(refused) => return self.pass_over(sought.dataset, refused).map(|()| None),
        };
        if let Some(error) = no_copy {
            let named = title(sought.dataset);
            let text = format!(
                "{named} cannot be kept in the cache, so it is read in place: {error} ({READ_IN_PLACE})"
            );
            self.run.tell_once(Severity::Warning, text);
        }
        self.is_ready(sought, fetched, None).map(Some)
    }

    /// Fetches a dataset into the store and makes its redundancy there. Unless the result is `Done`, the
    /// store has no file of the dataset. Collective; the same on all ranks.
    fn fetch_into_store(&mut self, sought: Sought) -> Result<InStore> {
        let (run, store, id) = (self.run, sought.store, sought.dataset.id);
        let verified = !self.cached.slots_of_id(id).is_empty()
            || self.cached.would_evict(run, &self.search.offer, store);
        if verified {
            // No dataset leaves the cache before it is certain that this one can be fetched.
            if let Err(refused) = fetch_to(run, sought, Destination::Verified)? {
                return Ok(InStore::Refused(refused));
            }
            self.cached.remove_id(run, self.search, id)?;
        }
        let location = Location::Cache(store);
        self.cached.evict(run, self.search, location, 0, None);
        // The fetch may need the space of the datasets that are being deleted in the background.
        self.cached.deletion().finish();
        run.comm.barrier()?;
        let fetched = match self.copy_into_store(sought, verified)? {
            Ok(fetched) => fetched,
            Err(failed) => return Ok(failed),
        };
        let target = Target {
            scheme: sought.scheme,
            location,
        };
        let filemap = filemap(run, &fetched.dataset, target, fetched.files.clone());
        let mut own = OwnPart {
            filemap,
            level: run.stores[store].layout.level(),
            bytes: None,
        };
        loop {
            let error = match self.protect_fetched(sought, &mut own)? {
                Fitted::Done(()) => return Ok(InStore::Done(Box::new(fetched), Box::new(own))),
                Fitted::Full(_) if self.make_room(room_for(&fetched.dataset, store))? => continue,
                Fitted::Full(error) | Fitted::Failed(error) => error,
            };
            self.cached.discard(run, &[Slot { store, id }], None);
            return Ok(InStore::NoCopy(error));
        }
    }

    /// Copies the files into the store. While the store is full, the dataset that a restart needs least
    /// makes room. `verified` as in [`Needs`]. Collective; the same on all ranks.
    fn copy_into_store(
        &mut self,
        sought: Sought,
        mut verified: bool,
    ) -> Result<std::result::Result<Fetched, InStore>> {
        let (run, store) = (self.run, sought.store);
        let id = sought.dataset.id;
        let failed = loop {
            let refused = match fetch_to(run, sought, Destination::Store)? {
                Ok(fetched) => return Ok(Ok(fetched)),
                Err(refused) => refused,
            };
            let full = refused.why == RefusalReason::Full;
            if full && !verified {
                if let Err(refused) = fetch_to(run, sought, Destination::Verified)? {
                    break InStore::Refused(refused);
                }
                verified = true;
            }
            if full && self.make_room(room_for(sought.dataset, store))? {
                continue;
            }
            break match refused.why {
                RefusalReason::Trouble | RefusalReason::Full => InStore::NoCopy(refused.error),
                _ => InStore::Refused(refused),
            };
        };
        self.cached.discard(run, &[Slot { store, id }], None);
        Ok(Err(failed))
    }

    /// Tells that a dataset was fetched, and gives its id. `own` is this rank's part of the copy in the
    /// store, if there is one. Collective.
    fn is_ready(&mut self, sought: Sought, fetched: Fetched, own: Option<OwnPart>) -> Result<u64> {
        let (run, dataset, begun) = (self.run, fetched.dataset.clone(), sought.begun);
        let prefix = run.prefix.root();
        let read = moved(&dataset, begun);
        let text = format!(
            "{} was read from {}: {read}",
            title(&dataset),
            prefix.display()
        );
        run.tell_once(Severity::Debug(1), text);
        self.statistics.count_fetched(&dataset, begun);
        let cached = own.is_some();
        self.add_fetched(sought, fetched, own)?;
        run.log(Event::FetchSuccess, |record| {
            record.of(&dataset).since(begun)
        });
        if cached {
            let paths = FromTo {
                from: prefix,
                to: &run.stores[sought.store].layout.dataset(dataset.id),
            };
            run.log_transfer(Event::Fetch, &dataset, paths, begun);
        }
        let how = match (cached, sought.writers) {
            (_, Writers::Others(ranks)) => format!(
                "in the prefix directory: {ranks} ranks wrote it, and this run has {}",
                run.comm.size()
            ),
            (true, Writers::AsManyAsNow) => "fetched into the cache".to_string(),
            (false, Writers::AsManyAsNow) => "in the prefix directory".to_string(),
        };
        run.tell_timed(format!("{} is ready, {how}", title(&dataset)), begun);
        Ok(dataset.id)
    }

    /// Handles a dataset that could not be fetched: it is marked as failed, or keeps older ones from
    /// being offered. Collective.
    fn pass_over(&mut self, dataset: &Dataset, refused: Refused) -> Result<()> {
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
                self.search.pass_over(PassedOver {
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
                return Ok(());
            }
            RefusalReason::Unfit if run.settings.start_anew => {
                let text = format!("{} is passed over: {error}", title(dataset));
                run.tell_once(Severity::Debug(1), text);
                return Ok(());
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
        let unavailable = Unavailable::new(dataset, Cause::InPrefix, what);
        self.search.offer.cannot_use(unavailable);
        Ok(())
    }

    /// Adds a fetched dataset to those of this run. Collective.
    fn add_fetched(
        &mut self,
        sought: Sought,
        fetched: Fetched,
        own: Option<OwnPart>,
    ) -> Result<()> {
        let run = self.run;
        tell_of(run, &fetched);
        let Fetched { dataset, files, .. } = fetched;
        let store = sought.store;
        let (location, own) = match own {
            Some(own) => (Location::Cache(store), own),
            None => {
                self.cached.remove_id(run, self.search, dataset.id)?;
                let location = Location::Bypass(store);
                (location, own_in_place(run, sought, &dataset, files))
            }
        };
        let mut current = None;
        run.keep_record(|| {
            index::update(&*run.files, &run.prefix, |index| {
                current = index.current().cloned();
                // Without fetches, a checkpoint that is older than the current one may be all that this job has in bypass.
                if run.settings.fetch || !index.has_newer_checkpoint(dataset.id) {
                    index.mark_good(dataset.id);
                }
                Ok(())
            })
        });
        if let Some(survey) = self.search.survey.get_mut() {
            let by = dataset.id;
            survey.note_replaced(Replaced { by, current });
        }
        note(run, |record| {
            let mut entry = format::flush_file::FlushEntry::cached(dataset.clone());
            entry.locations.insert(format::flush_file::PFS.into());
            record.datasets.insert(dataset.id, entry);
        });
        self.ids.know(dataset.id, dataset.ckpt);
        let cached = CachedDataset {
            location,
            dataset,
            writers: sought.writers,
            prefix: PrefixState::Saved,
            tolerates: run.tolerates.get(sought.scheme).copied().unwrap_or(0),
            own: Some(own),
        };
        self.cached.insert(cached);
        Ok(())
    }

    /// Makes the redundancy data of a dataset that was fetched into the store. Collective; all ranks
    /// agree on the inner result.
    fn protect_fetched(&mut self, sought: Sought, own: &mut OwnPart) -> Result<Fitted<()>> {
        let (run, store) = (self.run, sought.store);
        let dataset = own.filemap.dataset.clone();
        let layout = &run.stores[store].layout;
        let ready = match run.ranks_led_in(store) {
            Some(_) => {
                let below = layout.meta_below(dataset.id);
                run.files.make_private_dirs(layout.base(), &below)
            }
            None => Ok(()),
        };
        match agree_on_room(run, ready)? {
            Fitted::Done(()) => {}
            failed => return Ok(failed),
        }
        let done =
            protect(run, &*run.files, store, layout, &mut own.filemap).and_then(Encoded::right);
        let report = send_size(run, store, own.level, &own.filemap)?;
        let done = agree_on_room(run, done)?;
        let size = receive_sizes(run, store, report, &dataset)?;
        if let Fitted::Done(()) = done {
            own.bytes = size.map(|size| size.all);
            self.cached.remember_size(sought.scheme, size);
        }
        Ok(done)
    }
}

/// This rank's part of a dataset that is read in the prefix directory.
fn own_in_place(run: &Run, sought: Sought, dataset: &Dataset, files: RankFiles) -> OwnPart {
    let target = Target {
        scheme: sought.scheme,
        location: Location::Bypass(sought.store),
    };
    let mut filemap = filemap(run, dataset, target, files);
    if let Writers::Others(ranks) = sought.writers {
        // No file belongs to a rank of this run: each looks its files up when it needs them.
        filemap.ranks = usize::try_from(ranks).unwrap_or(usize::MAX);
        filemap.files.files.clear();
    }
    OwnPart {
        filemap,
        level: run.stores[sought.store].layout.level(),
        bytes: None,
    }
}

/// Reports what is special about a fetched dataset. Local.
fn tell_of(run: &Run, fetched: &Fetched) {
    if let Some(text) = fetched.link_note() {
        run.tell(Severity::Note, text);
    }
    let named = title(&fetched.dataset);
    if let Some(path) = &fetched.first_mended {
        let more = match fetched.mended {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let text = format!(
            "{named}: {}{more} was extracted from containers before, and damaged since; it was extracted \
             again ({MENDED})",
            path.display()
        );
        run.tell(Severity::Warning, text);
    }
    if fetched.extracted > 0 {
        let text = format!(
            "{named}: extracted {} from containers to the prefix directory, for the program to read \
             there; where the cache takes a checkpoint (without SCR_FETCH_BYPASS and \
             SCR_CACHE_BYPASS, on as many ranks), a restart fetches into it instead",
            counted(fetched.extracted as usize, "file")
        );
        run.tell_once(Severity::Note, text);
    }
    if fetched.unverified > 0 {
        let are = match fetched.unverified {
            1 => "file is",
            _ => "files are",
        };
        let text = format!(
            "{named}: {} {are} unverified, since no checksums were recorded ({NO_CHECKSUMS})",
            fetched.unverified
        );
        run.tell_once(Severity::Note, text);
    }
}
