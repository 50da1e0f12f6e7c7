//! The answers of SCR v3.1.0 to a sequence of calls, from its rules alone: states and ids (here),
//! cache and flushes (`output`), offers of `SCR_Have_restart` (`restart`), names (`manage`). Where
//! scr-rs differs on purpose there is a [`Difference`].
//!
//! In the model only datasets fail that the program declares invalid, and a run ends between two
//! calls.

mod manage;
mod output;
mod restart;

use crate::answer::Answer;
use crate::calls::{Call, Config};
use crate::differences::Difference;
use crate::index::{Dataset, Entry, Index, highest};
use scr::session::state::State;
use std::collections::BTreeMap;

/// A dataset in the cache; in bypass only its record.
#[derive(Debug, Clone)]
struct Cached {
    dataset: Dataset,
    /// The flush file says that it is in the prefix directory too.
    flushed: bool,
    /// An earlier run wrote it, and this one has not checked it yet.
    earlier: bool,
}

/// A dataset that is being written.
#[derive(Debug, Clone)]
struct Phase {
    dataset: Dataset,
    /// A file was routed and not written.
    missing: bool,
}

#[derive(Debug, Clone)]
pub struct Model {
    config: Config,
    /// The differences from v3.1.0 that are in effect.
    differences: Vec<Difference>,
    pub state: State,
    pub index: Index,
    /// The start that wrote the files of each directory in the prefix directory.
    files: BTreeMap<String, u64>,
    cache: Vec<Cached>,
    /// The newest checkpoint, which has left the cache and is in the prefix directory.
    displaced: Option<Dataset>,
    /// Those of earlier runs; whether the flush file says so still.
    left: Vec<(Dataset, bool)>,
    phase: Option<Phase>,
    /// The checkpoint that is offered.
    loaded: Option<Dataset>,
    /// The id of the checkpoint that `SCR_Current` has named, until it is offered or a dataset is
    /// started.
    asked: Option<u64>,
    /// Last dataset id and last number of a checkpoint, by the rules of v3.1.0.
    ids: (u64, u64),
    /// The highest ids that this run has seen.
    met: (u64, u64),
    /// Starts so far, in all runs.
    starts: u64,
    /// Calls of `SCR_Need_checkpoint` in this run.
    needs: u64,
    /// The id of the checkpoint that v3.1.0 would flush at the end: the last that was started, found
    /// in the cache, fetched or made current. 0 if there is none, or it was rejected.
    last: u64,
}

impl Model {
    /// The first run has started, with an empty prefix directory and an empty cache.
    pub fn new(config: Config, differences: &[Difference]) -> Self {
        Model {
            config,
            differences: differences.to_vec(),
            state: State::Idle,
            index: Index::default(),
            files: BTreeMap::new(),
            cache: Vec::new(),
            displaced: None,
            left: Vec::new(),
            phase: None,
            loaded: None,
            asked: None,
            ids: (0, 0),
            met: (0, 0),
            starts: 0,
            needs: 0,
            last: 0,
        }
    }

    fn differs(&self, difference: Difference) -> bool {
        self.differences.contains(&difference)
    }

    /// True if this call is the first of a run.
    pub fn starts_run(&self, call: &Call) -> bool {
        match call {
            Call::Init | Call::InitAgain => self.state.outside() == State::Uninit,
            Call::Kill | Call::Lose => true,
            _ => false,
        }
    }

    /// Directory of the files that the program routes now, and the start whose bytes it writes.
    pub fn open(&self) -> (String, u64) {
        let open = self.phase.as_ref().map(|phase| &phase.dataset);
        match open.or(self.loaded.as_ref()) {
            Some(dataset) => (dataset.dir.clone(), dataset.serial),
            None => ("nothing".to_string(), 0),
        }
    }

    /// The datasets in the cache directories, ascending.
    pub fn cached_ids(&self) -> Vec<u64> {
        if self.config.bypass {
            return Vec::new();
        }
        let cached = self.cache.iter().map(|c| &c.dataset);
        let open = self.phase.iter().map(|phase| &phase.dataset);
        let mut ids: Vec<u64> = cached.chain(open).map(|dataset| dataset.id).collect();
        ids.sort();
        ids
    }

    /// Makes a call.
    pub fn step(&mut self, call: &Call) -> Answer {
        if self.state.failed() && matches!(call, Call::File | Call::Missing(_)) {
            return Answer::Error;
        }
        // Any call that is allowed outside of a failed phase ends it.
        let before = self.state;
        self.state = before.outside();
        let answer = if self.allows(call) {
            self.carry_out(call)
        } else {
            let ends = self.ends(before, call);
            self.state = if ends { before.outside() } else { before };
            self.refuse(call)
        };
        self.meet();
        answer
    }

    /// True for the complete that belongs to a failed start.
    fn ends(&self, failed: State, call: &Call) -> bool {
        let completes = [
            matches!(call, Call::CompleteOutput(_)),
            matches!(call, Call::CompleteCheckpoint(_)),
            matches!(call, Call::CompleteRestart(_)),
        ];
        match failed {
            State::FailedOutput => completes[0],
            State::FailedCheckpoint => completes[1],
            State::FailedRestart => completes[2],
            State::FailedEarly => completes.contains(&true),
            _ => false,
        }
    }

    /// A wrong call ends the job in v3.1.0. In scr-rs a wrong start opens a failed phase, unless
    /// another phase is open.
    fn refuse(&mut self, call: &Call) -> Answer {
        if !self.differs(Difference::WrongState) {
            return Answer::Abort;
        }
        let opened = match (self.state.outside(), call) {
            (State::Idle, Call::StartRestart) => State::FailedRestart,
            (State::Idle, Call::StartRefused { .. }) => State::FailedOutput,
            (State::Uninit, Call::StartOutput { .. } | Call::StartRefused { .. }) => {
                State::FailedEarly
            }
            (State::Uninit, Call::StartCheckpoint | Call::StartRestart) => State::FailedEarly,
            _ => self.state,
        };
        if self.differs(Difference::FailedPhase) {
            self.state = opened;
        }
        Answer::Error
    }

    /// True if the state allows the call. `SCR_Start_restart` also needs an offer.
    fn allows(&self, call: &Call) -> bool {
        match call {
            // Processes can end in any state. A file that is routed before SCR_Init or after
            // SCR_Finalize keeps its name.
            Call::Kill | Call::Lose | Call::File | Call::Missing(_) => true,
            Call::Init | Call::InitAgain => self.state == State::Uninit,
            Call::CompleteOutput(_) => self.state == State::Output,
            Call::CompleteCheckpoint(_) => self.state == State::Checkpoint,
            Call::CompleteRestart(_) => self.state == State::Restart,
            Call::StartRestart => self.state == State::Idle && self.loaded.is_some(),
            _ => self.state == State::Idle,
        }
    }

    fn carry_out(&mut self, call: &Call) -> Answer {
        match call {
            Call::Init | Call::Kill => self.init(false),
            Call::InitAgain => self.init(true),
            Call::Lose => self.lose_and_init(),
            Call::StartOutput {
                name,
                checkpoint,
                output,
            } => {
                self.state = State::Output;
                self.start(name.clone(), *checkpoint, *output)
            }
            Call::StartRefused { .. } => {
                self.end_offer();
                self.refuse(call)
            }
            Call::StartCheckpoint => {
                self.state = State::Checkpoint;
                self.start(None, true, false)
            }
            Call::File => self.route(),
            Call::Missing(_) => self.route_missing(),
            Call::CompleteOutput(valid) | Call::CompleteCheckpoint(valid) => self.complete(*valid),
            Call::HaveRestart => Answer::Offer(self.have_restart()),
            Call::StartRestart => self.start_restart(),
            Call::CompleteRestart(valid) => self.complete_restart(*valid),
            Call::Current(name) => self.current(name),
            Call::Drop(name) => self.remove(name),
            Call::Delete(name) => self.delete(name),
            Call::NeedCheckpoint => {
                self.needs += 1;
                let every = self.config.interval;
                Answer::Flag(every > 0 && self.needs.is_multiple_of(every))
            }
            Call::ShouldExit => Answer::Flag(false),
            Call::Finalize => self.finalize(),
        }
    }

    /// All nodes lose their caches, and the next run starts.
    fn lose_and_init(&mut self) -> Answer {
        // Records of datasets in bypass are in the prefix directory; in v3.1.0 they are in the cache.
        if !self.config.bypass || !self.differs(Difference::BypassNotCached) {
            self.cache.clear();
        }
        self.init(false)
    }

    /// The next run starts: the cache keeps the datasets up to its newest checkpoint. In the process
    /// of the run before v3.1.0 counts on, as far as the cache has a checkpoint.
    fn init(&mut self, same_process: bool) -> Answer {
        let counts_on = same_process && !self.differs(Difference::CountedAnew);
        if self.config.bypass && self.differs(Difference::BypassNotCached) {
            // Without fetches, the datasets of the last run count as its cache, if a fetch would find
            // them.
            let (index, fetch) = (&self.index, self.config.fetch);
            let known = |c: &Cached| index.entries.get(&c.dataset.id).is_some_and(Entry::is_good);
            self.cache.retain(|c| !fetch && known(c));
        }
        self.keep_left();
        (self.phase, self.loaded, self.asked) = (None, None, None);
        let (ids, needs) = if counts_on {
            (self.ids, self.needs)
        } else {
            ((0, 0), 0)
        };
        (self.ids, self.met, self.needs) = ((0, 0), (0, 0), needs);
        self.state = State::Idle;
        let newest = self.newest_cached().map(|c| c.dataset.clone());
        let id = newest.as_ref().map_or(0, |newest| newest.id);
        self.cache.retain(|c| c.dataset.id <= id);
        for cached in &mut self.cache {
            // Only the newest is checked. In bypass there is nothing to check.
            cached.earlier = cached.dataset.id != id || self.config.bypass;
        }
        self.last = id;
        if let Some(newest) = newest {
            self.count_from(&newest);
            self.ids = (self.ids.0.max(ids.0), self.ids.1.max(ids.1));
        }
        Answer::Ok
    }

    fn newest_cached(&self) -> Option<&Cached> {
        let checkpoints = self.cache.iter().filter(|c| c.dataset.ckpt.is_some());
        checkpoints.max_by_key(|c| c.dataset.id)
    }

    fn count_from(&mut self, dataset: &Dataset) {
        self.ids = (dataset.id, dataset.ckpt.unwrap_or(self.ids.1));
    }

    /// What has left the cache of the last run counts as what that wrote in bypass.
    fn keep_left(&mut self) {
        self.left.retain(|(_, is_noted)| *is_noted);
        let cached = |one: &Dataset| self.cache.iter().any(|c| c.dataset.serial == one.serial);
        let displaced = self.displaced.take().filter(|one| !cached(one));
        if self.config.bypass {
            self.cache.extend(displaced.map(|dataset| Cached {
                dataset,
                flushed: true,
                earlier: true,
            }));
        } else {
            self.left.extend(displaced.map(|dataset| (dataset, true)));
        }
    }

    /// The ids that are in use now are known for the rest of the run.
    fn meet(&mut self) {
        let cache = highest(self.cache.iter().map(|c| &c.dataset));
        let open = highest(self.phase.iter().map(|phase| &phase.dataset));
        let removed = (self.index.removed, 0);
        for (id, ckpt) in [self.index.highest(), removed, cache, open] {
            self.met = (self.met.0.max(id), self.met.1.max(ckpt));
        }
    }
}
