//! Compares what SCR answers with what the program has done and what was lost.
//!
//! The program tells here what it does and what it is told. `promises` lists what must hold.

mod answers;
mod beside;
mod changes;
mod dataset;
mod excuses;
mod expected;
pub mod left;
mod machine;
mod promises;
mod refusals;
mod restarts;

pub use answers::Answer;
pub use excuses::Excuse;
pub use promises::Promise;

use crate::acts::Output;
use crate::changes::AllRuns;
use crate::content::Key;
use crate::counts::Reached;
use crate::faults::Faults;
use crate::messages::Messages;
use crate::places::Place;
use crate::plan::{Plan, Run};
use answers::Answers;
use dataset::{Dataset, Fate};
use restarts::Reading;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A dataset is complete.
pub const COMPLETE: &str = "complete dataset";

/// Bits of its redundancy have flipped before.
pub const MADE_AGAIN: &str = "redundancy that was made again";

pub struct Oracle {
    plan: Plan,
    all_runs: AllRuns,
    faults: Arc<Faults>,
    messages: Arc<Messages>,
    /// How many messages there were when this run began.
    told: usize,
    /// Oldest first.
    datasets: Vec<Dataset>,
    /// The number of the run that goes on.
    run: usize,
    /// Its ranks' nodes, and the nodes that have ranks.
    node_of: Vec<usize>,
    used: BTreeSet<usize>,
    /// What the ranks of this run were told.
    answers: Answers,
    /// What was offered in this run, by the number of the call.
    readings: BTreeMap<usize, Reading>,
    /// Datasets of which the program could not write a file.
    unwritten: BTreeSet<Key>,
    /// Calls that take something away and that a rank has begun.
    begun: BTreeSet<Key>,
    /// The checkpoint that SCR_Current has named in this run, until something else is done; and whether it
    /// must be known.
    chosen: Option<Key>,
    chosen_is_known: bool,
    /// A rank of this run has said that it could not read a checkpoint.
    not_read: bool,
    /// How many runs have ended with SCR_Finalize, one after the other.
    pub ends: usize,
    /// Ranks that have finished each session of this run.
    finalized: BTreeMap<usize, usize>,
    /// How many datasets were reported as saved in this run.
    reports: u64,
    /// A rank of the run before, which has a lock, is still there.
    pub locked: bool,
    /// The records of SCR, or what nobody can notice, were damaged.
    broken: bool,
    /// Something in the prefix directory was damaged.
    pub prefix_damaged: bool,
    /// A person has deleted a dataset while this run writes another of its name.
    pub deleted_meanwhile: bool,
    /// The names of what commands have taken out in this run.
    people: BTreeSet<String>,
    /// `scr halt` was called.
    halted: bool,
    violations: Vec<String>,
    pub reached: Reached,
}

impl Oracle {
    pub fn new(plan: &Plan, faults: Arc<Faults>, messages: Arc<Messages>) -> Self {
        let mut reached = Reached::default();
        plan.count(&mut reached);
        Oracle {
            plan: plan.clone(),
            all_runs: plan.of_all_runs(),
            faults,
            messages,
            told: 0,
            datasets: Vec::new(),
            run: 0,
            node_of: Vec::new(),
            used: BTreeSet::new(),
            answers: Answers::default(),
            readings: BTreeMap::new(),
            unwritten: BTreeSet::new(),
            begun: BTreeSet::new(),
            chosen: None,
            chosen_is_known: false,
            not_read: false,
            ends: 0,
            finalized: BTreeMap::new(),
            reports: 0,
            locked: false,
            broken: false,
            prefix_damaged: false,
            deleted_meanwhile: false,
            people: BTreeSet::new(),
            halted: false,
            violations: Vec::new(),
            reached,
        }
    }

    /// Checks a promise.
    pub fn check(&mut self, promise: Promise, holds: bool, what: impl FnOnce() -> String) {
        *self.reached.promises.entry(promise.text()).or_default() += 1;
        if holds {
            return;
        }
        if self.broken && !promise.is_safety() {
            self.excuse(Excuse::BrokenRecords);
        } else {
            self.violations
                .push(format!("promise {}\n  {}", promise.text(), what()));
        }
    }

    /// Notes that something was not as without this excuse.
    pub fn excuse(&mut self, excuse: Excuse) {
        self.reached.excuses.insert(excuse.text(), 1);
    }

    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// How many datasets were reported as saved in this run.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// A file system has failed in this run, or the shared one may be full. That excuses no failure of a call; but what
    /// was to be recorded may not be.
    pub fn is_excused(&self) -> bool {
        let run = self.plan.runs.get(self.run);
        self.faults.any_hit() || run.is_some_and(|run| run.shared_room.is_some())
    }

    /// A file system has failed in this run.
    pub fn has_failed(&self) -> bool {
        self.faults.any_hit()
    }

    /// There is less room than is needed.
    pub fn is_tight(&self) -> bool {
        let run = self.plan.runs.get(self.run);
        run.is_some_and(Run::is_tight)
    }

    fn ranks(&self) -> usize {
        self.node_of.len()
    }

    fn dataset(&mut self, key: Key) -> Option<&mut Dataset> {
        self.datasets.iter_mut().find(|one| one.key == key)
    }

    /// A run begins.
    pub fn starts(&mut self, number: usize) {
        if !self.all_runs.fetch {
            // Another number of ranks has read it through the prefix directory, and left nothing in the cache.
            let ranks = self.node_of.len();
            let others = self.datasets.iter_mut().filter(|one| one.ranks() != ranks);
            others.for_each(|one| one.lose_cache(Excuse::NoFetch));
        }
        self.run = number;
        self.told = self.messages.count();
        self.node_of.clone_from(&self.plan.runs[number].node_of);
        self.used = self.node_of.iter().copied().collect();
        self.answers = Answers::new(self.node_of.len());
        (self.chosen, self.not_read) = (None, false);
        self.readings.clear();
        self.people.clear();
        if self.finalized.is_empty() {
            self.ends = 0;
        }
        self.finalized.clear();
        self.reports = 0;
        let node_of = self.node_of.clone();
        for one in &mut self.datasets {
            one.may_move(&node_of);
        }
        self.sets_aside();
    }

    /// A rank is about to call SCR_Start_output.
    pub fn begins(&mut self, key: Key, output: &Output) {
        let known = self.datasets.iter().any(|one| one.key == key);
        if !known {
            for older in self
                .datasets
                .iter_mut()
                .filter(|one| one.name == output.name)
            {
                older.saved = false;
                if older.fate != Fate::Gone {
                    older.fate = Fate::Replaced;
                }
            }
            self.deleted_meanwhile |= self.people.contains(&output.name);
            let only = self.all_runs.places.only();
            let new = Dataset::new(key, output, self.run, &self.node_of, only);
            self.datasets.push(new);
            self.chosen = None;
        }
        if let Some(one) = self.dataset(key) {
            one.begun += 1;
        }
    }

    /// A name that the program would use belongs to a dataset of another number of ranks.
    pub fn is_name_of_other_ranks(&self, name: &str) -> bool {
        let size = self.ranks();
        let mut same = self.datasets.iter().filter(|one| one.name == name);
        same.any(|one| one.ranks() != size)
    }

    /// A rank was told where to write its files; the path shows the id in the cache.
    pub fn placed(&mut self, key: Key, place: Option<Place>, id: Option<u64>) {
        // What an earlier run has lost is not known any more.
        let one_session = self.plan.runs[self.run].again.is_none();
        let offered = |key: &Key| one_session && self.readings.values().any(|one| one.is_of(key));
        // What was offered is not known if several have that name.
        let is_only = |one: &Dataset| {
            let mut others = self.datasets.iter().filter(|other| other.key != one.key);
            !others.any(|other| other.name == one.name && other.good > 0)
        };
        let known = |one: &&Dataset| {
            one.key >> 8 == key >> 8 || (one.good > 0 && offered(&one.key) && is_only(one))
        };
        let older = self.datasets.iter().filter(|one| one.key != key);
        let highest = older.filter(known).filter_map(|one| one.id).max();
        let Some(one) = self.dataset(key) else {
            return;
        };
        one.place = place.or(one.place);
        if id.is_some() && one.id.is_none() {
            one.id = id;
            let name = one.name.clone();
            self.check(Promise::Ids, id > highest, || {
                format!("{name} has id {id:?}, and {highest:?} was used before")
            });
        }
    }

    /// A rank is about to call SCR_Complete_output: its files are as they should be.
    pub fn ends(&mut self, key: Key) {
        if let Some(one) = self.dataset(key) {
            one.ended += 1;
        }
    }

    /// SCR_Complete_output has returned to a rank; `exits` if SCR then ends the run.
    pub fn completed(&mut self, key: Key, worked: bool, exits: bool) {
        let run = &self.plan.runs[self.run];
        let (flush, background) = (self.plan.flush_in(run), self.plan.background_in(run));
        let alone = !run.beside.has_people();
        let poststage = self.plan.beside.poststage;
        let Some(one) = self.dataset(key) else {
            return;
        };
        if worked {
            one.good += 1
        } else {
            one.failed += 1
        }
        let in_place = one.place == Some(Place::Prefix);
        let due = one.output || (one.checkpoint && flush == 1);
        let at_end = one.checkpoint && flush > 0 && exits && !poststage;
        let saved = in_place || at_end || (due && !background);
        if one.good != one.ranks() || one.fate != Fate::Counts {
            return;
        }
        self.reached.feature(COMPLETE);
        if self.faults.flips().of(key) > 0 {
            self.reached.fault(MADE_AGAIN);
        }
        let Some(one) = self.dataset(key) else {
            return;
        };
        if saved {
            one.saved = true;
            self.reports += 1;
        } else if one.checkpoint && flush > 0 && !background && alone {
            self.completes_row(key, flush as usize);
        }
    }

    /// A checkpoint is complete: if it is the last of `flush` that were completed one after the other in a session, one
    /// of these was flushed.
    fn completes_row(&mut self, key: Key, flush: usize) {
        let of_session = |one: &&Dataset| one.key >> 8 == key >> 8;
        let until = self.datasets.iter().rev().skip_while(|one| one.key != key);
        let row = until.take_while(of_session).filter(|one| one.checkpoint);
        // The flush of one whose call has failed may have failed, also if a restart has shown that it is complete.
        let row = row.take_while(|one| one.good == one.ranks() && one.failed == 0);
        let mut row: Vec<Key> = row.take(flush).map(|one| one.key).collect();
        row.reverse();
        if row.len() == flush
            && let Some(first) = self.dataset(row[0])
        {
            first.due = row;
        }
    }

    /// A rank has completed a dataset that a rank has called bad.
    pub fn completed_bad(&mut self, name: &str, worked: bool) {
        self.check(Promise::Refused, !worked, || {
            format!("{name} counts as complete")
        });
    }

    /// A rank is about to call SCR_Finalize: what is in the prefix directory, as the index says, leaves the cache, and so
    /// does what has left the sliding window.
    pub fn is_finalizing(&mut self) {
        // Nobody reads it there, so that damage is not noticed.
        for one in self.datasets.iter_mut().filter(|one| one.damaged) {
            one.lose_cache(Excuse::DamageUnread);
        }
        let finished = |one: &Dataset| one.checkpoint && one.is_finished();
        if let Some(newest) = self.datasets.iter().rposition(finished)
            && self.all_runs.window > 0
        {
            let older = self.datasets[..newest].iter_mut();
            older.for_each(|one| one.lose_cache(Excuse::Window));
        }
        // A later run that does not fetch, or deletes it in the prefix directory, does not find it here either.
        let run = &self.plan.runs[self.run];
        let leaves = self.plan.fetch_in(run) && !run.purges_prefix();
        if !self.all_runs.fetch && leaves {
            self.caches_lost(Excuse::Emptied);
        }
    }

    /// SCR_Finalize has succeeded on a rank, in its n-th session of this run.
    pub fn finalizes(&mut self, session: usize) {
        let count = self.finalized.entry(session).or_default();
        *count += 1;
        if *count < self.ranks() {
            return;
        }
        self.ends += 1;
        if self.plan.beside.poststage {
            return;
        }
        let excused = self.is_excused();
        let run = self.run;
        let outputs = self.datasets.iter_mut();
        // Of those that a failed flush has left nobody is told at the end.
        for one in outputs.filter(|one| one.output && one.run == run && one.is_whole() && !excused)
        {
            one.saved = true;
        }
        let counts =
            |one: &Dataset| matches!(one.fate, Fate::Counts | Fate::Dropped | Fate::Replaced);
        let newest = (0..self.datasets.len()).rev().find(|at| {
            let one = &self.datasets[*at];
            one.checkpoint && one.is_finished() && counts(one)
        });
        let flush = self.plan.flush_in(&self.plan.runs[self.run]);
        // One of another number of ranks is brought to the prefix directory when it is to be read.
        let is_flushed = |at: &usize| flush > 0 && self.datasets[*at].ranks() == self.ranks();
        let Some(newest) = newest.filter(|at| is_flushed(at) && self.is_promised(*at)) else {
            return;
        };
        self.datasets[newest].saved = true;
        self.reports += 1;
        if self.all_runs.window > 0 {
            // What has left the sliding window leaves the cache with what is in it.
            let older = self.datasets[..newest].iter_mut();
            older.for_each(|one| one.lose_cache(Excuse::Window));
        }
    }

    /// A dataset is about to be deleted, dropped or rejected.
    fn takes_away(&mut self, these: impl Fn(&Dataset) -> bool, fate: Fate) {
        for one in self.datasets.iter_mut().filter(|one| these(one)) {
            (one.saved, one.wanted_again) = (false, false);
            if one.fate != Fate::Gone {
                one.fate = fate;
            }
        }
        self.chosen = None;
    }

    /// The call that does so has succeeded on a rank.
    fn are_taken_away(&mut self, these: impl Fn(&Dataset) -> bool) {
        let (size, excused, used) = (self.ranks(), self.is_excused(), &self.used);
        for one in self.datasets.iter_mut().filter(|one| these(one)) {
            one.taken_away += 1;
            // A run on another number of ranks does not find what only a cache has.
            let found = one.saved || one.ranks() == size;
            // A node that is not in this run may come back with its cache.
            let all_here = one.has_been_on(used);
            if one.taken_away % size != 0 || one.wanted_again {
                continue;
            }
            if excused {
                one.turns_up = Some(Excuse::NotNoted);
            } else if found && all_here {
                one.fate = Fate::Gone;
            } else {
                one.turns_up = Some(Excuse::TakenAwayWithout);
            }
        }
    }

    /// A rank is about to call SCR_Delete.
    pub fn deletes(&mut self, act: Key, name: &str) {
        if self.begun.insert(act) {
            self.takes_away(|one| one.name == name, Fate::GivenUp);
        }
    }

    /// SCR_Delete has succeeded on a rank.
    pub fn has_deleted(&mut self, name: &str) {
        self.are_taken_away(|one| one.name == name);
    }

    /// A rank is about to call SCR_Drop.
    pub fn drops(&mut self, act: Key, name: &str) {
        if self.begun.insert(act) {
            self.takes_away(|one| one.name == name, Fate::Dropped);
        }
    }
}
