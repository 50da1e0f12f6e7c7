//! What daemons and commands tell, beside the program.

use super::dataset::{Dataset, Fate};
use super::refusals::is_full;
use super::{Excuse, Oracle, Promise};
use crate::plan::Run;
use crate::volume::Profile;

impl Oracle {
    /// No file system has failed or been full in this job, so nothing may fail.
    pub fn is_clear(&self) -> bool {
        let mut runs = self.plan.runs.iter().take(self.run + 1);
        !self.faults.ever_hit() && !runs.any(Run::is_tight)
    }

    /// A command has failed: its words must name the reason.
    pub fn command_failed(&mut self, what: &str) {
        let mut runs = self.plan.runs.iter().take(self.run + 1);
        let (damaged, tight) = (
            runs.clone().any(|run| run.beside.damages_orders()),
            runs.any(Run::is_tight),
        );
        // Another person has dropped or deleted it.
        let is_gone =
            self.people_delete() && what.contains("is not the name of a checkpoint there");
        let excuse = if self.faults.explain(what, true) {
            Some(Excuse::Refused)
        } else if tight && is_full(what) {
            Some(Excuse::Full)
        } else if damaged && what.contains("transfer.scrinfo") {
            Some(Excuse::Orders)
        } else if is_gone {
            Some(Excuse::TakenOut)
        } else {
            self.is_locked_by_stopped(what).then_some(Excuse::Locked)
        };
        self.check(Promise::Command, excuse.is_some(), || what.to_string());
        excuse.into_iter().for_each(|excuse| self.excuse(excuse));
    }

    /// True if this error names a lock that a stopped process may have kept.
    pub(super) fn is_locked_by_stopped(&self, what: &str) -> bool {
        let mut runs = self.plan.runs.iter().take(self.run + 1);
        let stops = runs.any(|run| run.disturbance.stop.is_some() || run.beside.stops_daemons());
        let waits = [
            "another process has kept the lock",
            "is locked by another process",
            "did not end within",
        ];
        stops && waits.iter().any(|text| what.contains(text))
    }

    /// A command has reported a dataset as complete in the prefix directory.
    pub fn reported_as_saved(&mut self, id: u64, name: &str) {
        // Only the paths in a cache tell the number of a dataset.
        let same = |one: &Dataset| one.name == name && one.id.is_none_or(|own| own == id);
        let finished = |one: &Dataset| same(one) && one.is_finished();
        let at = self.datasets.iter().rposition(finished);
        self.check(Promise::Finished, at.is_some(), || {
            format!("{name} is said to be complete, which not all ranks had finished")
        });
        if let Some(at) = at {
            let one = &mut self.datasets[at];
            one.saved |= one.fate == Fate::Counts && !one.damaged;
        }
    }

    /// SCR has said that these datasets were flushed.
    pub fn are_flushed(&mut self, these: Vec<(u64, String)>) {
        these
            .iter()
            .for_each(|(id, name)| self.reported_as_saved(*id, name));
    }

    /// A person is about to take a dataset out of the index, or has done so.
    pub fn taken_out(&mut self, name: &str) {
        self.people.insert(name.to_string());
        let mut same = self.datasets.iter().rev().filter(|one| one.name == name);
        // The run may write the files of the newer one when those of the older one are removed.
        self.deleted_meanwhile |=
            same.next().is_some_and(|newest| newest.run == self.run) && same.next().is_some();
        for one in self.datasets.iter_mut().filter(|one| one.name == name) {
            one.saved = false;
            if one.fate != Fate::Gone {
                one.fate = Fate::Dropped;
            }
        }
        (self.chosen, self.chosen_is_known) = (None, false);
    }

    /// A person of this run has deleted or dropped something.
    pub fn people_delete(&self) -> bool {
        !self.people.is_empty()
    }

    /// What was offered by this call has been taken out meanwhile: reading it may fail.
    pub fn is_taken_out(&self, call: usize) -> bool {
        let Some(reading) = self.readings.get(&call) else {
            return false;
        };
        let mut all = self.datasets.iter();
        all.any(|one| reading.is_of(&one.key) && self.people.contains(&one.name))
    }

    /// A person is about to make a checkpoint the one to restart from, or has done so.
    pub fn made_current(&mut self, name: &str) {
        // The index does not know a newer one of the name that is in the cache only.
        let named = |one: &Dataset| one.name == name && one.is_finished();
        let at = self.datasets.iter().position(named);
        for one in self.datasets.iter_mut().skip(at.map_or(0, |at| at + 1)) {
            if one.fate == Fate::Counts && one.checkpoint {
                one.fate = Fate::Dropped;
            }
        }
        self.wants_again(name);
        (self.chosen, self.chosen_is_known) = (None, false);
    }

    /// A person wants what was rejected before. It may have been rejected while the command ran.
    pub fn wants_again(&mut self, name: &str) {
        for one in self.datasets.iter_mut().filter(|one| one.name == name) {
            one.wanted_again = true;
            if one.fate == Fate::Gone {
                one.fate = Fate::GivenUp;
            }
        }
    }

    /// The index is lost, and with it what was rejected or deleted while files were left.
    pub fn index_is_lost(&mut self) {
        self.may_turn_up();
        // What a deletion has left may be entered, and come before what has got a lower id since.
        let taken_out = |one: &&Dataset| one.fate != Fate::Counts;
        let highest = self
            .datasets
            .iter()
            .filter(taken_out)
            .filter_map(|one| one.id)
            .max();
        let any = self.datasets.iter().any(|one| one.fate != Fate::Counts);
        let lower = |one: &Dataset| {
            one.id
                .is_none_or(|id| highest.is_none_or(|highest| id < highest))
        };
        for one in self.datasets.iter_mut().filter(|one| any && lower(one)) {
            if one.fate == Fate::Counts {
                one.fate = Fate::GivenUp;
            }
        }
    }

    /// It could not be made again, perhaps because a stopped process has locked it.
    pub fn index_stays_lost(&mut self) {
        let all = self.datasets.iter_mut();
        all.for_each(|one| one.lose_prefix(Excuse::IndexLost));
    }

    /// A rank of the run before goes on. Rank 0 may announce again the flush of what that run wrote last, which
    /// `scr postrun` has saved meanwhile. All others look for a permit before they write.
    /// In bypass the program itself writes to a file that may have got its name in another dataset since.
    pub fn earlier_rank_goes_on(&mut self, rank: usize) {
        let schemes = &self.all_runs.places.schemes;
        if schemes.iter().any(|scheme| scheme.bypass) {
            self.prefix_damaged = true;
            for at in self.with_names_of_earlier_runs() {
                self.is_damaged_in_prefix(at);
                self.datasets[at].prefix_lost = Some(Excuse::EarlierRank);
            }
        }
        if rank > 0 {
            return;
        }
        let before = self.run.checked_sub(1);
        let mut newest = self.datasets.iter_mut().rev();
        let last = newest.find(|one| Some(one.run) == before && one.is_finished());
        if let Some(last) = last.filter(|last| last.saved) {
            last.lose_prefix(Excuse::EarlierRank);
            last.damaged = true;
            self.prefix_damaged = true;
        }
    }

    /// The datasets in the prefix directory whose files an earlier run wrote under the same names.
    fn with_names_of_earlier_runs(&self) -> Vec<usize> {
        let again = |at: &usize| {
            let one = &self.datasets[*at];
            let mut before = self.datasets[..*at].iter();
            one.saved && before.any(|other| other.name == one.name && other.run < one.run)
        };
        (0..self.datasets.len()).filter(again).collect()
    }

    /// What was in the caches of nodes may be gone.
    pub fn caches_lost(&mut self, why: Excuse) {
        self.datasets.iter_mut().for_each(|one| one.lose_cache(why));
    }

    /// The checkpoint that must be offered now, if no file system has failed.
    pub fn wanted(&self) -> Option<usize> {
        self.expected().filter(|_| self.is_clear())
    }

    /// `scr postrun` has saved all that it found: that checkpoint, or a newer one, must be among it.
    /// A node that has come back empty makes one that is not `known` look as if it had never been completed.
    /// `newest`: the id of the one that it names. It may be one that was taken out of the index while a run had it
    /// in the cache, or while SCR_Current was about to remove it there.
    pub fn must_be_saved(
        &mut self,
        wanted: Option<usize>,
        newest: Option<u64>,
        known: impl Fn(u64) -> bool,
    ) {
        let looks_complete = |at: &usize| {
            let one = &self.datasets[*at];
            !one.damaged && (!one.lost.contains(&true) || one.id.is_some_and(&known))
        };
        // It does not read what the index calls complete.
        let wanted = wanted.filter(|at| looks_complete(at) && !self.prefix_damaged);
        let turns_up = |one: &Dataset| {
            // One that is replaced is in the cache until the next of its name begins there.
            let given_up = matches!(one.fate, Fate::Dropped | Fate::GivenUp | Fate::Replaced);
            given_up && one.is_finished() && one.id.is_some() && one.id == newest
        };
        let is_saved = |one: &Dataset| one.checkpoint && (one.saved || turns_up(one));
        let saved = self.datasets.iter().rposition(is_saved);
        let told = wanted.map_or(String::new(), |at| self.datasets[at].told());
        self.check(Promise::Postrun, saved >= wanted, || {
            format!("scr postrun has not saved {told}")
        });
    }

    /// `scr halt` has ended, or the conditions are about to be removed.
    pub fn halted(&mut self, halted: bool) {
        self.halted = halted;
    }

    /// The program must be told to exit. NFS may show the old halt file for some seconds.
    pub fn halt_is_due(&self) -> bool {
        self.halted && self.is_clear() && self.plan.shared != Profile::Nfs
    }

    /// What SCR_Should_exit has told rank 0, which `due` to be told so when it asked.
    pub fn has_asked(&mut self, due: bool, exits: bool) {
        self.check(Promise::Halt, exits || !due, || {
            "SCR_Should_exit says no after scr halt".to_string()
        });
    }
}
