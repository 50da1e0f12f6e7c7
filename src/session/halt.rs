//! When to checkpoint, when to stop, and the end; and the flush that all of it leads to.

use super::cached::{Cached, title};
use super::state::{Call, State};
use super::{Session, time_now};
use crate::comm::Term;
use crate::config::Config;
use crate::events::Severity;
use crate::format::flush_file;
use crate::format::index::IndexEntry;
use crate::format::{Dataset, Name};
use crate::job::{Environment, clock, manager, signal};
use crate::policy::checkpoint::{History, Rules, due};
use crate::policy::{flush as policy, halt};
use crate::prefix::flush::{flush, owners};
use crate::prefix::{index, records};
use crate::{Error, Result};
use std::cell::OnceCell;
use std::path::Path;
use std::time::Instant;

/// When the allocation ends; known to rank 0 once it has been asked for.
pub(super) struct Deadline {
    environment: Environment,
    end: OnceCell<Option<i64>>,
}

impl Deadline {
    /// To be found out by what this environment tells.
    pub(super) fn new(environment: Environment) -> Self {
        let end = OnceCell::new();
        Deadline { environment, end }
    }
}

/// What all ranks hear in one round.
struct Told {
    /// Rank 0's answer.
    yes: bool,
    /// Where not 0, the number of a signal, and above its 8 bits the rank that got it.
    signal: i64,
}

impl Told {
    fn any(&self) -> bool {
        self.yes || self.signal != 0
    }

    /// The signal, if one came, in words.
    fn signal(&self) -> Option<String> {
        let (rank, number) = (self.signal >> 8, self.signal & 0xff);
        let name = || signal::name(number as i32);
        (number != 0).then(|| format!("{} came to rank {rank}", name()))
    }
}

impl Session {
    /// True if the application should write a checkpoint now (`SCR_Need_checkpoint`): rank 0
    /// decides for all, unless a signal has come to any rank.
    pub fn need_checkpoint(&mut self) -> Result<bool> {
        self.allow(Call::NeedCheckpoint)?;
        self.history.calls += 1;
        let history = History {
            since_last: self.last_checkpoint.elapsed().as_secs_f64(),
            ..self.history
        };
        let rules = Rules {
            interval: self.settings.checkpoint_interval,
            seconds: self.settings.checkpoint_seconds,
            overhead: self.settings.checkpoint_overhead,
        };
        let told = self.decide(|session| {
            let halting = !session.halt_reasons()?.is_empty();
            Ok(due(&rules, &history, halting))
        })?;
        Ok(told.any())
    }

    /// True if the application should stop (`SCR_Should_exit`): rank 0 decides for all, unless
    /// a signal has come to any rank.
    pub fn should_exit(&mut self) -> Result<bool> {
        self.allow(Call::ShouldExit)?;
        let told = self.decide(|session| {
            let reasons = session.halt_reasons()?;
            if let Some(reason) = reasons.first() {
                session.tell(Severity::Note, format!("the job should stop: {reason}"));
            }
            Ok(!reasons.is_empty())
        })?;
        if let Some(signal) = told.signal() {
            self.tell_once(Severity::Note, format!("the job should stop: {signal}"));
        }
        Ok(told.any())
    }

    /// A yes or no of rank 0, and whether a signal has come to any rank, in one round.
    fn decide(&self, ask: impl FnOnce(&Self) -> Result<bool>) -> Result<Told> {
        let local = if self.rank() == 0 {
            ask(self)
        } else {
            Ok(false)
        };
        let signal = match self.signal {
            0 => 0,
            signal => (self.rank() as i64) << 8 | i64::from(signal),
        };
        let mut terms = [
            Term::Max(local.as_ref().is_ok_and(|yes| *yes).into()),
            Term::Max(signal),
        ];
        crate::comm::collective::agree_with(&*self.comm, &self.speaker.node, local, &mut terms)?;
        Ok(Told {
            yes: terms[0].value() > 0,
            signal: terms[1].value(),
        })
    }

    fn halt_reasons(&self) -> Result<Vec<String>> {
        let halt = records::read_halt(&*self.files, &self.prefix)?;
        let end = match halt.halt_seconds {
            Some(1..) => self.end_of_allocation(),
            _ => None,
        };
        Ok(halt::reasons(&halt, clock::now(), end))
    }

    /// Rank 0: when the allocation ends, in seconds since the epoch, if anybody knows. Found
    /// out once, when it first matters; that may take as long as a resource manager's program
    /// may take.
    pub(super) fn end_of_allocation(&self) -> Option<i64> {
        let Deadline { environment, end } = &self.deadline;
        *end.get_or_init(|| {
            let set = self.settings.end_time.map(|end| end.to_string());
            let lookup = |name: &str| set.clone().filter(|_| name == "SCR_END_TIME");
            let manager = manager::detect(environment);
            let why = match manager::end(&*manager, environment, &lookup) {
                Ok(Some(end)) if end > clock::now() => return Some(end),
                Ok(Some(end)) => format!("{end} is past"),
                Ok(None) => format!("the resource manager ({}) sets none", manager.name()),
                Err(error) => error.to_string(),
            };
            let text = format!(
                "the end of the allocation is not known, so SCR_HALT_SECONDS does not count \
                 (but before the time of scr_halt --before): {why}; set SCR_END_TIME"
            );
            self.tell(Severity::Warning, text);
            None
        })
    }

    /// At the start and after each checkpoint: with `SCR_HALT_EXIT` a condition ends the
    /// program. The newest checkpoint is brought to the prefix before.
    pub(super) fn check_halt(&mut self) -> Result<()> {
        if !self.settings.halt_exit {
            return Ok(());
        }
        let reasons = std::cell::RefCell::new(Vec::new());
        let told = self.decide(|session| {
            let found = session.halt_reasons()?;
            let any = !found.is_empty();
            reasons.replace(found);
            Ok(any)
        })?;
        if !told.any() {
            return Ok(());
        }
        self.halting = true;
        self.on_root(|| {
            let mut reasons = reasons.into_inner();
            // A signal ends this run; it says nothing about the next one.
            let left = reasons.last().map_or(halt::FINALIZED, String::as_str);
            let left: Name = left.into();
            reasons.extend(told.signal());
            self.tell(
                Severity::Note,
                format!("Job exiting: {}", reasons.join(", ")),
            );
            self.keep_record(|| {
                records::update_halt(&*self.files, &self.prefix, |halt| {
                    // What a user asked for stays until the user unsets it.
                    let own = |reason: &mut Name| halt::OWN.contains(&reason.to_string().as_str());
                    halt.exit_reason.take_if(own);
                    halt.exit_reason.get_or_insert(left);
                })
            });
            Ok(())
        })?;
        self.flush_newest()
    }

    /// One checkpoint less until the end, if somebody counts. Local.
    pub(super) fn count_down(&self) {
        self.keep_record(|| {
            records::update_halt(&*self.files, &self.prefix, |halt| {
                halt.checkpoints_left = halt
                    .checkpoints_left
                    .map(|left| left.saturating_sub(1).max(0));
            })
        });
    }

    /// Ends the run (`SCR_Finalize`): the newest checkpoint goes to the prefix directory
    /// unless `SCR_FLUSH` is 0, and the halt file says that the job ended by itself. A reason to
    /// halt that is there already stays, so that the next run is told to stop, too.
    ///
    /// # Errors
    /// The flush failed: the checkpoint is still in the cache. The session is over all the
    /// same.
    pub fn finalize(&mut self, config: &mut Config) -> Result<()> {
        self.allow(Call::Finalize)?;
        let marked = self.on_root(|| {
            records::update_halt(&*self.files, &self.prefix, |halt| {
                halt.exit_reason.get_or_insert(halt::FINALIZED.into());
            })
        });
        let flushed = self.flush_newest();
        self.finish_deleting();
        self.state = State::Uninit;
        config.thaw();
        marked.map(|_| ()).and(flushed)
    }

    fn flush_newest(&mut self) -> Result<()> {
        let newest = self
            .cache
            .iter()
            .filter(|cached| cached.dataset.is_checkpoint() && cached.filemap.is_some())
            .max_by_key(|cached| cached.dataset.id);
        match newest.map(|cached| (cached.dataset.id, cached.in_prefix)) {
            Some((id, in_prefix)) if policy::due_at_end(in_prefix, self.settings.flush) => {
                self.flush_dataset(id)
            }
            _ => Ok(()),
        }
    }

    /// After a recovery in `SCR_Init`: what must be in the prefix goes there, and with
    /// `SCR_GLOBAL_RESTART` the cache is emptied, since the restart is to come from the
    /// prefix, where all ranks see all files.
    pub(super) fn settle_recovered(&mut self) -> Result<()> {
        self.flush_recovered()?;
        if !self.settings.global_restart {
            return Ok(());
        }
        // What could not be read now, or is not this run's, stays.
        let saved = self.cache.iter().filter(|cached| cached.in_prefix);
        let slots: Vec<_> = saved.map(Cached::slot).collect();
        self.forget(&slots);
        self.search.cached.clear();
        self.loaded = None;
        Ok(())
    }

    /// Is what was recovered in the prefix already, and must it be?
    fn flush_recovered(&mut self) -> Result<()> {
        let output = |c: &&Cached| c.filemap.is_some() && !c.dataset.is_checkpoint();
        let outputs: Vec<u64> = self
            .cache
            .iter()
            .filter(output)
            .map(|c| c.dataset.id)
            .collect();
        for id in outputs {
            self.flush_dataset(id)?;
        }
        let Some(part) = self.loaded.as_ref().filter(|part| !part.bypass) else {
            return Ok(());
        };
        let newest = part.dataset.clone();
        let local = match self.rank() {
            0 => self.find_in_prefix(&newest),
            _ => Ok((false, false)),
        };
        let (indexed, dropped) = local.as_ref().copied().unwrap_or_default();
        let mut terms = [Term::Max(indexed.into()), Term::Max(dropped.into())];
        crate::comm::collective::agree_with(&*self.comm, &self.speaker.node, local, &mut terms)?;
        let [indexed, dropped] = terms.map(|term| term.value() > 0);
        let in_prefix = indexed || dropped;
        if let Some(cached) = self.cache.iter_mut().find(|c| c.dataset.id == newest.id) {
            (cached.in_prefix, cached.dropped) = (in_prefix, dropped);
        }
        let older = match self.settings.flush_on_restart {
            true => self.flush_older(&newest, in_prefix),
            false => Ok(()),
        };
        if !in_prefix && (newest.flag_output || self.settings.flush_on_restart) {
            self.flush_dataset(newest.id)?;
        }
        older
    }

    /// Rank 0: whether a recovered dataset is good in the prefix directory; and whether it was there
    /// once and has left the index since, so that it is not flushed again.
    fn find_in_prefix(&self, dataset: &Dataset) -> Result<(bool, bool)> {
        let key = (dataset.id, dataset.created);
        let index = index::read(&*self.files, &self.prefix)?;
        let same = |e: &&IndexEntry| e.dataset.as_ref().map(|d| (d.id, d.created)) == Some(key);
        let entry = index.get(dataset.id).filter(same);
        let indexed = entry.is_some_and(IndexEntry::is_good);
        let dropped = entry.is_none() && self.search.saved.contains(&key);
        if indexed || dropped {
            self.note_cached(|record| {
                if let Some(entry) = record.datasets.get_mut(&dataset.id) {
                    entry.locations.insert(flush_file::PFS.into());
                }
            });
        }
        Ok((indexed, dropped))
    }

    /// `SCR_FLUSH_ON_RESTART`: what else is in the cache and not in the prefix directory,
    /// oldest first, so that the newest becomes the current one. The first failure is given
    /// when all have been tried; of the transport's, at once.
    fn flush_older(&mut self, newest: &Dataset, in_prefix: bool) -> Result<()> {
        let older = self.cache.iter();
        let older: Vec<_> = older
            .filter(|c| c.filemap.is_none() && !c.in_prefix && c.dataset.id < newest.id)
            .map(Cached::slot)
            .collect();
        let mut result = Ok(());
        for slot in &older {
            if self.bring_back(*slot)? {
                let flushed = self.flush_dataset(slot.id);
                if let Err(error @ Error::Comm { .. }) = flushed {
                    return Err(error);
                }
                result = result.and(flushed);
            }
        }
        if in_prefix && !older.is_empty() {
            // Each flush has moved the marker.
            self.on_root(|| {
                index::update(&*self.files, &self.prefix, |index| {
                    index.set_current(&newest.name);
                    Ok(())
                })
            })?;
        }
        result
    }

    /// Copies a cached dataset to the prefix directory, or with bypass only certifies what
    /// is there. The dataset stays in the cache, whatever comes of it. Collective.
    pub(super) fn flush_dataset(&mut self, id: u64) -> Result<()> {
        let begun = Instant::now();
        let named = self.cache.iter().find(|c| c.dataset.id == id);
        if let Some(name) = named.map(|c| c.dataset.name.clone()) {
            self.name_is_taken(id, &name);
        }
        let Some(at) = self.cache.iter().position(|c| c.dataset.id == id) else {
            return Ok(());
        };
        let cached = &self.cache[at];
        let named = title(&cached.dataset);
        let Some(mut filemap) = cached.filemap.clone() else {
            return Ok(());
        };
        let bypass = cached.bypass;
        let layout = self.stores[cached.store].layout.at(cached.level);
        let data = layout.data(id, self.rank());
        let sole = if bypass {
            Ok(())
        } else {
            let mut files = filemap.files.files.iter();
            let free = files.try_for_each(|file| self.check_path(file.file.as_path()));
            self.check_owners(&filemap)?.and(free)
        };
        self.note_flush(at, None);
        let result = self.agree(sole).and_then(|()| {
            let access = self.prefix_access(self.settings.flush_width);
            let (data, checksums) = if bypass {
                (None, self.settings.crc_bypass)
            } else {
                (Some(data.as_path()), self.settings.crc_on_flush)
            };
            flush(&access, &mut filemap, data, checksums, &time_now())
        });
        self.note_flush(at, Some(result.is_ok()));
        match result {
            Ok(()) => {
                self.cache[at].in_prefix = true;
                self.cache[at].filemap = Some(filemap);
                if self.rank() == 0 && !bypass {
                    let text = format!("{named} was flushed to {}", self.prefix.root().display());
                    self.tell_timed(Severity::Note, text, begun);
                }
                self.slide_window(id)
            }
            Err(error) => {
                let rest = if bypass {
                    "it stays incomplete in the prefix directory"
                } else {
                    "it is still in the cache"
                };
                let Dataset { id, name, .. } = &self.cache[at].dataset;
                let what = format!("could not be flushed, {rest}: {error}");
                Err(Error::dataset(*id, name.to_string(), what))
            }
        }
    }

    /// Notes that a cached dataset is being flushed, or whether it came to be in the prefix
    /// directory. Local.
    fn note_flush(&self, at: usize, flushed: Option<bool>) {
        let dataset = &self.cache[at].dataset;
        self.note_cached(|record| {
            let entry = record.datasets.entry(dataset.id);
            let entry = entry.or_insert_with(|| flush_file::FlushEntry::cached(dataset.clone()));
            let flushing = flush_file::SYNC_FLUSHING.into();
            match flushed {
                None => entry.locations.insert(flushing),
                Some(false) => entry.locations.remove(&flushing),
                Some(true) => {
                    entry.locations.remove(&flushing);
                    entry.locations.insert(flush_file::PFS.into())
                }
            };
        });
    }

    /// A file of one path can come from one rank only: a second would overwrite it.
    fn check_owners(&self, filemap: &crate::format::filemap::Filemap) -> Result<Result<()>> {
        let paths: Vec<&Path> = filemap
            .files
            .files
            .iter()
            .map(|f| f.file.as_path())
            .collect();
        let owners = owners(&*self.comm, &paths)?;
        let shared = paths
            .iter()
            .zip(&owners)
            .find(|(_, owner)| **owner != self.rank());
        Ok(match shared {
            None => Ok(()),
            Some((path, owner)) => Err(Error::dataset(
                filemap.dataset.id,
                filemap.dataset.name.to_string(),
                format!(
                    "rank {owner} has routed {} too; a file that ranks share needs \
                     SCR_CACHE_BYPASS=1",
                    path.display()
                ),
            )),
        })
    }
}
