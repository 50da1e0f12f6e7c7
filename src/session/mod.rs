//! One run of an application under SCR: its state, and the calls of the API.
//!
//! [`Session`] holds the state in a few parts, and nothing is global. A method takes the parts that it
//! uses, so that its signature shows what it may change. [`state`] says which call is allowed when.
//!
//! | call | where it is |
//! |---|---|
//! | `SCR_Init`, `SCR_Session_repair` | `start` |
//! | `SCR_Start_output`, `SCR_Complete_output`, `SCR_Need_checkpoint` | `output` |
//! | `SCR_Route_file` | `output/route` |
//! | `SCR_Have_restart`, `SCR_Start_restart`, `SCR_Complete_restart` | `restart` |
//! | `SCR_Allow_other_ranks`, `SCR_Restart_ranks`, ... | `restart/restart_list` |
//! | `SCR_Should_exit`; `SCR_Finalize` | `halt`; `end` |
//! | `SCR_Current`, `SCR_Drop`, `SCR_Delete` | `manage` |
//!
//! `flush` and `datasets` are what several of these use. `docs/architecture.md` has the order of all rooms.

mod calls;
mod datasets;
mod end;
mod fields_state;
mod flush;
mod halt;
mod ids;
mod locks;
mod log;
mod manage;
mod output;
mod progress;
mod restart;
mod run;
mod start;
pub mod state;
mod statistics;
mod stores;
#[cfg(test)]
mod testing;
mod wait_for;

pub use fields_state::{CopiedRun, Copies};
pub use output::route::check_lengths;
pub use restart::Verdict;
pub use start::repair::Member;
pub use start::run_info::load;
pub use start::wait::Wait;
pub use start::{OTHER_RUN, Setup};

use crate::Result;
use crate::comm::Communicator;
use crate::events::{Severity, Speaker};
use crate::format::Name;
use crate::store::{Files, Watch};
use crate::system::thread;
use crate::system::time::Instant;
use calls::{CallCount, CallSigns};
use datasets::cached::CachedDatasets;
use datasets::other_ranks::OtherRanks;
use datasets::search::{Restart, RestartSearch};
use fields_state::FieldsState;
use flush::Flush;
use flush::chores::Background;
use halt::HaltState;
use ids::Ids;
use locks::{Locks, REPORTED};
use output::OpenDataset;
use output::interval::CheckpointInterval;
use output::shared_names::NameForms;
use output::ways::Ways;
use restart::reading::Reading;
use run::Run;
use state::{Call, State};
use statistics::Statistics;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One run under SCR. All methods are collective unless they say otherwise.
pub struct Session {
    /// A number that names the session: all its runs after repairs have the same, and no other
    /// session has it.
    identity: u64,
    /// Communicator, files, settings, stores and sets: constant after `SCR_Init`.
    run: Run,
    locks: Locks,
    /// The state that decides which calls are allowed.
    state: State,
    /// The working directory of the program, where relative names start.
    cwd: PathBuf,
    ids: Ids,
    cached: CachedDatasets,
    search: RestartSearch,
    other_ranks: OtherRanks,
    reading: Reading,
    /// The dataset that is being written.
    open: Option<OpenDataset>,
    /// The names of files that were compared between ranks.
    name_forms: NameForms,
    /// The directories in the prefix directory that were looked at.
    ways: Ways,
    interval: CheckpointInterval,
    fields: FieldsState,
    halt: HaltState,
    /// The work that goes on while the program computes.
    background: Background,
    statistics: Statistics,
    calls: CallCount,
    /// The reason why this rank completes a phase with `valid` false, if it is known.
    why_invalid: Option<String>,
}

impl Session {
    /// The parts of the session that a flush uses and changes.
    fn flush(&mut self) -> Flush<'_> {
        Flush {
            run: &self.run,
            cached: &mut self.cached,
            search: &mut self.search,
            other_ranks: &self.other_ranks,
            statistics: &mut self.statistics,
            background: &mut self.background,
        }
    }

    /// The parts of the session that a search for a restart uses and changes.
    fn restart(&mut self) -> Restart<'_> {
        Restart {
            run: &self.run,
            cached: &mut self.cached,
            search: &mut self.search,
            ids: &mut self.ids,
            other_ranks: &mut self.other_ranks,
            statistics: &mut self.statistics,
        }
    }

    /// Waits until nothing goes on in the background but the deletion of evicted datasets. Collective.
    ///
    /// # Errors
    /// Only errors of the transport. A failed flush is reported.
    pub fn finish_background(&mut self) -> Result<()> {
        self.flush().finish_background()
    }

    /// Notes that the program gets on. Local.
    fn count_call(&mut self) {
        self.calls.add(&self.run);
    }

    /// Counts the time since `begun` as time in which the program waited for SCR. Local.
    pub fn add_blocked(&mut self, begun: Instant) {
        self.statistics.add_blocked(begun);
    }

    /// Shows that a long call makes progress, as long as the returned value is told how much was
    /// moved. Local.
    pub fn signs(&self) -> Box<dyn Watch> {
        Box::new(CallSigns::new(&self.run))
    }

    /// Number of threads of this rank that may compute while the program waits, with the calling one: half of its share of
    /// the processors that it may use, and not more than keep up with the bus of a device. Local.
    pub fn threads(&self) -> usize {
        const MOST: usize = 4;
        let nodes = usize::try_from(self.run.nodes).unwrap_or(1).max(1);
        let ranks = self.run.comm.size().div_ceil(nodes).max(1);
        (thread::cores() / ranks / 2).clamp(1, MOST)
    }

    /// The phase of the program. Local.
    pub fn state(&self) -> State {
        self.state
    }

    /// The name of this process in messages. Local.
    pub fn speaker(&self) -> &Speaker {
        &self.run.speaker
    }

    /// The ranks of the run. Local.
    pub fn comm(&self) -> &dyn Communicator {
        &*self.run.comm
    }

    /// The file system of the run. Local.
    pub fn files(&self) -> Arc<dyn Files> {
        self.run.files.clone()
    }

    /// The path of a file whose name is relative to the prefix directory, wherever the program runs. Local.
    pub fn in_prefix(&self, name: &Path) -> PathBuf {
        self.run.prefix.root().join(name)
    }

    /// The name of the dataset that is being written. Local.
    pub fn open_name(&self) -> Option<&Name> {
        Some(&self.open.as_ref()?.dataset.name)
    }

    /// Reports one line for all ranks: rank 0 speaks. Local.
    pub fn tell_once(&self, severity: Severity, text: impl Into<String>) {
        self.run.tell_once(severity, text);
    }

    /// True if a field in memory of the processor is an error if a device has a copy of its data. Local.
    pub fn is_strict_with_devices(&self) -> bool {
        self.run.settings.device_strict
    }

    /// The run's records about checkpoints of fields. Local.
    pub fn fields(&self) -> &FieldsState {
        &self.fields
    }

    /// Changes the run's records about checkpoints of fields. Local.
    pub fn fields_mut(&mut self) -> &mut FieldsState {
        &mut self.fields
    }

    /// Checks that `call`, which opens no phase, is allowed now. Local.
    ///
    /// # Errors
    /// The call is not allowed.
    pub fn check_call(&mut self, call: Call) -> Result<()> {
        self.state.allow(call).map(drop)
    }

    /// Stores the reason why this rank is about to complete a phase with `valid` false, for example that a file had no
    /// path. Local.
    pub fn set_why_invalid(&mut self, why: Option<String>) {
        self.why_invalid = why;
    }

    /// The reason for the error of a phase that this rank completes with `valid` false. Local.
    fn invalid(&mut self, call: Call) -> String {
        let why = self.why_invalid.take();
        why.unwrap_or_else(|| format!("the program called {} with valid=0", call.name()))
    }

    /// A file that the first rank of a node makes when `call` fails there in this state: the other
    /// ranks of the node then do not report the same. Local.
    pub fn reported_file(&self, call: Call) -> PathBuf {
        let store = &self.run.stores[self.run.descriptors.control];
        let (state, id) = (self.state, self.ids.last());
        let name = format!("{REPORTED}{}.{state:?}.{id}", call.name());
        store.layout.job().join(name)
    }

    /// Sets the working directory, where relative names start. Local.
    pub fn set_cwd(&mut self, cwd: PathBuf) {
        self.cwd = cwd;
    }
}
