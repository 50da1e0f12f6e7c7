//! One application run under SCR: what it owns, and the calls of the API.
//!
//! [`Session`] holds all state; there is nothing global. `start` brings it to life,
//! `output` writes datasets, `restart` reads them, `manage` and `stop` do the rest.
//! [`state`] says which call is allowed when.

mod cached;
mod classify;
mod consistency;
mod fetch;
mod foreign;
mod halt;
mod ids;
mod local_setup;
mod locks;
mod manage;
mod output;
mod recover;
mod restart;
mod space;
mod start;
pub mod state;
mod unavailable;

pub use start::{OTHER_RUN, Setup, load};

use crate::cache::layout::Layout;
use crate::cache::plan::{Candidate, Slot};
use crate::comm::{Communicator, collective};
use crate::config::descriptors::Descriptors;
use crate::config::settings::Settings;
use crate::events::{Event, Severity, Sink, Speaker};
use crate::format::{Dataset, Name};
use crate::policy::checkpoint::History;
use crate::prefix::flush::PrefixAccess;
use crate::prefix::paths::Prefix;
use crate::redundancy::Set;
use crate::redundancy::topology::StoreSharing;
use crate::store::{Files, Lock};
use crate::{Error, Result};
use cached::{Cached, Part};
use foreign::Foreign;
use ids::Ids;
use space::Volume;
use state::{Call, State};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use unavailable::Unavailable;

/// Messages of one redundancy set while it encodes.
const ENCODE: crate::comm::Tag = 0x40;

/// A store as this rank sees it.
struct Store {
    /// With the level at which this rank puts what is new.
    layout: Layout,
    /// True on the one rank that acts for all that share the directory.
    leader: bool,
    share: StoreSharing,
}

/// A dataset that is being written.
struct Phase {
    dataset: Dataset,
    /// Index of the redundancy descriptor.
    scheme: usize,
    bypass: bool,
    /// Files by path relative to the prefix, with the names that the program used.
    files: BTreeMap<PathBuf, Name>,
    /// Directories that were made for them, by path relative to the prefix.
    made: BTreeSet<PathBuf>,
    begun: Instant,
}

/// A file as it was looked at: size, and times of change of content and inode.
type Looked = (u64, (i64, u32), (i64, u32));

/// What rank 0 alone knows about possible restarts.
#[derive(Default)]
struct Search {
    /// Cached datasets not tried yet, newest last.
    cached: Vec<Candidate>,
    /// The one that is tried now.
    tried: Option<Candidate>,
    /// Cached datasets that could not be brought back for now.
    later: Vec<Candidate>,
    /// Per store, the rank that acts for each rank.
    leaders: Vec<Vec<usize>>,
    /// Per store, which ranks lose what they have in it together.
    domains: Vec<Vec<usize>>,
    /// What was complete when the run before ended, by the flush file: id and time of
    /// creation.
    completed: BTreeSet<(u64, u64)>,
    /// What of it was in the prefix directory too.
    saved: BTreeSet<(u64, u64)>,
    /// What the last run of this job wrote in bypass: names by id and time of creation. Nothing of
    /// it is in a cache.
    in_bypass: BTreeMap<(u64, u64), Name>,
    /// The index file as it was last looked at, with its highest ids.
    indexed: (Option<Looked>, (u64, u64)),
    /// Directories with a record that could not be read for now.
    unread: Vec<Slot>,
    /// Directories to be dealt with at the next occasion.
    discarded: Discarded,
    /// Ids in the prefix not tried yet, in order; `None` until the index has been asked.
    fetch: Option<std::collections::VecDeque<u64>>,
}

/// Directories of datasets that are of no use any more.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE", default)]
struct Discarded {
    /// Never completed: to be deleted.
    discard: Vec<Slot>,
    /// Once complete: to be set aside.
    quarantine: Vec<Slot>,
}

/// One run under SCR. All methods are collective unless they say otherwise.
pub struct Session {
    comm: Box<dyn Communicator>,
    files: Arc<dyn Files>,
    sink: Arc<dyn Sink>,
    speaker: Speaker,
    cwd: PathBuf,
    settings: Settings,
    descriptors: Descriptors,
    prefix: Prefix,
    user: Name,
    job: Name,
    stores: Vec<Store>,
    /// This rank's set for each redundancy descriptor.
    sets: Vec<Set>,
    /// How many failure groups each redundancy descriptor tolerates the loss of.
    tolerates: Vec<usize>,
    /// To leaders: the size of the last dataset of each redundancy descriptor.
    volumes: BTreeMap<usize, Volume>,
    nodes: u64,
    _run_lock: Option<Box<dyn Lock>>,
    /// Leaders: on the cache directories that this run has, by the index of the store.
    claims: Vec<(usize, Box<dyn Lock>)>,
    state: State,
    ids: Ids,
    cache: Vec<Cached>,
    /// Cached directories that no restart can use; they make room first.
    unusable: Vec<Slot>,
    search: Search,
    /// The checkpoint that `SCR_Have_restart` offers.
    loaded: Option<Part>,
    /// The newest checkpoint that the last search could not use, though it may be whole.
    unavailable: Option<Unavailable>,
    /// The checkpoint that `SCR_Current` has named, while it is not loaded: no other one is
    /// offered before it. The same on all ranks.
    chosen: Option<u64>,
    foreign: Foreign,
    phase: Option<Phase>,
    /// How many datasets in a row could not be completed in the cache; the same on all ranks.
    gave_up: u32,
    history: History,
    last_checkpoint: Instant,
    deleters: Vec<JoinHandle<()>>,
    /// Trash of these datasets is to be emptied when the search is over.
    trash: Vec<(Layout, u64)>,
    /// Leader: redundancy files of evicted datasets whose space the open one uses again.
    recycled: Vec<PathBuf>,
    halting: bool,
    deadline: halt::Deadline,
    /// The signal that has asked this process to stop; 0 for none.
    signal: i32,
}

impl Session {
    /// Where the application stands. Local.
    pub fn state(&self) -> State {
        self.state
    }

    /// True if a halt condition holds and the user wants SCR itself to end the program
    /// (`SCR_HALT_EXIT`). Local; the same on all ranks.
    pub fn must_exit(&self) -> bool {
        self.halting && self.settings.halt_exit
    }

    /// Who this is, in messages. Local.
    pub fn speaker(&self) -> &Speaker {
        &self.speaker
    }

    /// Tells relative names where they start: the working directory now. Local.
    pub fn set_cwd(&mut self, cwd: PathBuf) {
        self.cwd = cwd;
    }

    /// The signals to listen to (`SCR_HALT_SIGNALS`). Local; the same on all ranks.
    pub fn halt_signals(&self) -> &[i32] {
        &self.settings.halt_signals
    }

    /// Tells which signal has come to this process; 0 for none. One that is not listened to is
    /// none. Local: the other ranks learn of it in their next call that asks whether to stop.
    pub fn set_signal(&mut self, signal: i32) {
        let heeded = self.settings.halt_signals.contains(&signal);
        self.signal = if heeded { signal } else { 0 };
    }

    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn tell(&self, severity: Severity, text: impl Into<String>) {
        self.sink.take(&self.speaker, &Event::new(severity, text));
    }

    fn tell_timed(&self, severity: Severity, text: impl Into<String>, since: Instant) {
        let seconds = Some(since.elapsed().as_secs_f64());
        self.sink.take(
            &self.speaker,
            &Event {
                severity,
                text: text.into(),
                seconds,
            },
        );
    }

    /// One line for all ranks.
    fn tell_once(&self, severity: Severity, text: impl Into<String>) {
        if self.rank() == 0 {
            self.tell(severity, text);
        }
    }

    fn agree<T>(&self, local: Result<T>) -> Result<T> {
        collective::agree(&*self.comm, &self.speaker.node, local)
    }

    /// Runs `work` on rank 0 and tells all ranks how it went.
    fn on_root<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        self.agree(if self.rank() == 0 {
            work().map(Some)
        } else {
            Ok(None)
        })
    }

    /// A word from rank 0 to all: `make` runs on rank 0 only, and if it fails, all fail.
    fn told_by_root<T: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let made = self.on_root(|| crate::format::to_message(&make()?))?;
        let mut message = made.unwrap_or_default();
        collective::bcast(&*self.comm, 0, &mut message)?;
        crate::format::from_message(&message)
    }

    /// Rank 0 keeps a record that the run can do without: where that fails, it is said, and
    /// the run goes on. Local.
    fn keep_record(&self, keep: impl FnOnce() -> Result<()>) {
        if self.rank() == 0
            && let Err(error) = keep()
        {
            self.tell(Severity::Warning, stale(&error));
        }
    }

    fn prefix_access(&self, width: usize) -> PrefixAccess<'_> {
        PrefixAccess {
            comm: &*self.comm,
            files: &*self.files,
            prefix: &self.prefix,
            node: &self.speaker.node,
            width,
            buffer: self.settings.file_buf_size,
            metadata: self.settings.copy_metadata,
        }
    }

    /// The state that `call` leads to if it succeeds. Whatever follows a start that failed, but
    /// for a route, ends its phase. Local.
    fn allow(&mut self, call: Call) -> Result<State> {
        let next = self.state.after(call);
        match &next {
            Err(_) => self.state = self.state.refused(call),
            Ok(next) if !next.failed() => self.state = self.state.outside(),
            Ok(_) => {}
        }
        next
    }

    /// Ends a phase. Local.
    ///
    /// # Errors
    /// `call` is not allowed, or the start of the phase has failed, on all ranks.
    fn end_phase(&mut self, call: Call) -> Result<()> {
        let failed = self.state.failed();
        self.state = self.allow(call)?;
        match failed {
            true => Err(Error::NotStarted { call: call.name() }),
            false => Ok(()),
        }
    }
}

/// What to say of a record that could not be written and that the run can do without.
fn stale(error: &Error) -> String {
    format!("a record of this run is not up to date: {error}")
}

/// Local time as the index shows it: `YYYY-MM-DDTHH:MM:SS`.
fn time_now() -> String {
    crate::job::clock::local_time(std::time::SystemTime::now())
}

fn no_such(call: &'static str, name: &Name) -> Error {
    Error::usage(
        call,
        format!("there is no dataset `{name}` in the index or the cache"),
    )
}
