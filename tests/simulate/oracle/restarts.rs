//! What is offered for a restart, and what is read.

use super::dataset::Fate;
use super::{Answer, Excuse, Oracle, Promise};
use crate::content::{Key, content};
use crate::places::Place;
use scr::format::index::{Index, IndexEntry};
use scr::session::Verdict;
use std::collections::BTreeSet;

/// A checkpoint that was offered, and is read.
#[derive(Debug)]
pub struct Reading {
    name: String,
    /// The datasets of this name that have the bytes that were read so far.
    possible: BTreeSet<Key>,
    /// Where it was read.
    place: Option<Place>,
    /// The position of the oldest checkpoint that could be offered then.
    expected: Option<usize>,
    /// How many datasets there were then.
    known: usize,
    /// A rank has called it bad.
    bad: bool,
    /// Ranks that have restarted from it.
    done: usize,
    /// It had been given up, and was taken to be what is offered.
    found: Option<Key>,
}

impl Reading {
    /// It may be this dataset.
    pub fn is_of(&self, key: &Key) -> bool {
        self.possible.contains(key)
    }
}

impl Oracle {
    /// SCR_Have_restart has answered a rank. `told`: a message says that the program starts from the
    /// beginning. Gives the number of the call.
    pub fn offers(&mut self, rank: usize, answer: &Answer, told: bool) -> usize {
        let call = self.answers.made(rank);
        if self.answered(rank, "SCR_Have_restart", &format!("{answer:?}")) {
            let expected = self.expected();
            match answer {
                Answer::Offered(name) => self.offers_one(call, name, expected),
                Answer::None => {
                    self.check_newest(None, expected, "nothing is offered");
                }
                Answer::Failed(why) => self.offers_nothing(why, expected),
            }
        }
        // Rank 0 tells it, and others may know before it does.
        if rank == 0 && *answer == Answer::None {
            self.check(Promise::Announced, told, || {
                "SCR_Have_restart found nothing, and no message says so".to_string()
            });
        }
        call
    }

    fn offers_one(&mut self, call: usize, name: &str, expected: Option<usize>) {
        let same = |at: &usize| self.datasets[*at].name == name;
        let all: Vec<usize> = (0..self.datasets.len()).filter(same).collect();
        let finished = |at: &&usize| {
            let one = &self.datasets[**at];
            one.checkpoint && one.is_finished()
        };
        // Another number of ranks may have written a newer one of the name.
        let takes_others = self.plan.takes_other_ranks(&self.plan.runs[self.run]);
        let may_be = |at: &&usize| takes_others || self.datasets[**at].ranks() == self.ranks();
        let mut newer = all.iter().rev().filter(finished);
        let newest = newer.clone().find(may_be).or(newer.next()).copied();
        self.check(Promise::Finished, newest.is_some(), || {
            format!("{name} is offered, which not all ranks had finished")
        });
        let Some(newest) = newest else {
            return;
        };
        let gone = all.iter().all(|at| self.datasets[*at].fate == Fate::Gone);
        self.check(Promise::GoneForGood, !gone, || {
            format!("{name} is offered, which was deleted or rejected")
        });
        self.check_newest(Some(newest), expected, &format!("{name} is offered"));
        let stays_away = |at: &usize| self.datasets[*at].fate == Fate::Counts;
        if !gone && !all.iter().any(stays_away) {
            let mut excuses = all.iter().filter_map(|at| self.datasets[*at].turns_up);
            let excuse = excuses.next_back();
            excuse.into_iter().for_each(|excuse| self.excuse(excuse));
        }
        let chosen = expected.filter(|at| self.chosen == Some(self.datasets[*at].key));
        if let Some(at) = chosen {
            let wanted = self.datasets[at].name.clone();
            // On a full disk a newer one may lack its entry in the index, and get it after SCR_Current.
            if wanted != name && self.is_excused() {
                self.excuse(Excuse::NotNoted);
            } else {
                self.check(Promise::Chosen, wanted == name, || {
                    format!("{name} is offered, and SCR_Current has named {wanted}")
                });
            }
        }
        let ranks = self.datasets[newest].ranks();
        let may = takes_others || ranks == self.ranks();
        self.check(Promise::OtherRanks, may, || {
            format!("{name} of {ranks} ranks is offered")
        });
        // It was found after all.
        let found = self.datasets[newest].fate == Fate::GivenUp;
        if found {
            self.datasets[newest].fate = Fate::Counts;
        }
        let found = found.then_some(self.datasets[newest].key);
        let reading = Reading {
            name: name.to_string(),
            possible: all.iter().map(|at| self.datasets[*at].key).collect(),
            place: None,
            expected,
            known: self.datasets.len(),
            bad: false,
            found,
            done: 0,
        };
        self.readings.insert(call, reading);
    }

    fn offers_nothing(&mut self, why: &str, expected: Option<usize>) {
        let size = self.ranks();
        let run = &self.plan.runs[self.run];
        let newer = self.datasets.iter().skip(expected.unwrap_or(0));
        let mut others = newer.filter(|one| one.may_be_offered() && one.ranks() != size);
        let refused = !self.plan.takes_other_ranks(run) && !self.plan.anew;
        let of_other_ranks = refused && others.next().is_some();
        let required = expected.is_none() && self.plan.is_set_in(run, "SCR_REQUIRE_RESTART");
        // Plain files of an older dataset of a name are in the way of what comes out of containers.
        let has_older = |(at, one): (usize, &super::Dataset)| {
            let mut older = self.datasets[..at].iter();
            older.any(|other| other.name == one.name)
        };
        let replaced = self.datasets.iter().enumerate().any(has_older);
        let in_the_way = why.contains("another file is there");
        let excuse = if let Some(excuse) = self.refusal(why) {
            Some(excuse)
        } else if of_other_ranks {
            Some(Excuse::RanksDiffer)
        } else if required {
            Some(Excuse::Required)
        } else if in_the_way && replaced {
            Some(Excuse::OlderInTheWay)
        } else {
            self.not_read.then_some(Excuse::NotRead)
        };
        self.fails_for(excuse, || format!("SCR_Have_restart: {why}"));
    }

    /// The program writes, and a restart after the loss of all nodes would have no more than what this index has.
    pub fn would_offer(&mut self, index: &Index) {
        let run = &self.plan.runs[self.run];
        let newest = |at: &usize| self.is_promised(*at) && self.is_in_prefix(*at);
        let expected = (0..self.datasets.len()).rev().find(newest);
        if expected.is_none() || run.beside.has_people() {
            return;
        }
        let good = |id: &u64| index.get(*id).is_some_and(IndexEntry::is_good);
        let offered = index.candidates().into_iter().find(good);
        let name = offered
            .and_then(|id| index.name(id))
            .map(ToString::to_string);
        let at = name.and_then(|name| self.datasets.iter().rposition(|one| one.name == name));
        let what = format!("dataset {offered:?} would be offered after the loss of all nodes");
        self.check_newest(at, expected, &what);
    }

    fn check_newest(&mut self, at: Option<usize>, expected: Option<usize>, what: &str) {
        let right = at >= expected;
        let should = expected.map_or(String::new(), |at| self.datasets[at].told());
        let text = |why| format!("{what}, and {why} this, or a newer one, should be: {should}");
        let passed = at.map_or(0, |at| at + 1)..self.datasets.len();
        let whole = |at: &usize| self.datasets[*at].checkpoint && self.datasets[*at].is_whole();
        let excuses: Vec<Excuse> = passed
            .filter(whole)
            .filter_map(|at| self.excuse_of(at))
            .collect();
        excuses.into_iter().for_each(|excuse| self.excuse(excuse));
        if self.faults.ever_hit() {
            self.check(Promise::NotGivenUp, right, || text("in spite of errors"));
        } else if expected.is_some_and(|at| self.datasets[at].saved && self.is_in_prefix(at)) {
            self.check(Promise::Saved, right, || text("as it was saved"));
        } else if expected.is_some_and(|at| self.is_in_prefix(at)) {
            self.check(Promise::Flushed, right, || text("as SCR_FLUSH says"));
        } else {
            self.check(Promise::Newest, right, || text("by the failure model"));
        }
    }

    /// The first of these was written later.
    pub fn is_newer(&self, one: &str, other: &str) -> bool {
        let at = |name: &str| self.datasets.iter().rposition(|one| one.name == name);
        at(one) > at(other)
    }

    /// A rank of this run could not read a checkpoint.
    pub fn has_not_read(&self) -> bool {
        self.not_read
    }

    /// So many ranks have written what is offered by call number `call`, which leaves those of its name of
    /// which that is true.
    pub fn written_by(&mut self, call: usize, writers: usize) {
        let Some(reading) = self.readings.get_mut(&call) else {
            return;
        };
        if reading.possible.is_empty() {
            // It was damaged where nobody can notice.
            return;
        }
        let of_ranks = |key: &Key| {
            let one = self.datasets.iter().find(|one| one.key == *key);
            one.is_some_and(|one| one.ranks() == writers)
        };
        reading.possible.retain(of_ranks);
        let (right, name) = (!reading.possible.is_empty(), reading.name.clone());
        self.check(Promise::Bytes, right, || {
            format!("{writers} ranks wrote {name}, which is not so")
        });
    }

    /// A rank has been told at which place it finds a file of what was offered by call number `call`.
    pub fn reads_at(&mut self, call: usize, place: Option<Place>) {
        if let Some(reading) = self.readings.get_mut(&call) {
            reading.place = place.or(reading.place);
        }
    }

    /// A rank has read a file of it.
    pub fn has_read(&mut self, call: usize, rank: usize, file: &str, bytes: &[u8]) {
        self.has_read_what(call, rank, file, true, |key| content(key, file) == bytes);
    }

    /// A rank has read a field of it, of which `is_of` tells whether it is that of a dataset. Damage is always noticed.
    pub fn has_read_field(
        &mut self,
        call: usize,
        rank: usize,
        field: &str,
        is_of: impl Fn(Key) -> bool,
    ) {
        self.has_read_what(call, rank, field, false, is_of);
    }

    fn has_read_what(
        &mut self,
        call: usize,
        rank: usize,
        what: &str,
        is_excusable: bool,
        is_of: impl Fn(Key) -> bool,
    ) {
        let Some(reading) = self.readings.get_mut(&call) else {
            return;
        };
        let before = reading.possible.clone();
        reading.possible.retain(|key| is_of(*key));
        let mut all = self.datasets.iter().filter(|one| before.contains(&one.key));
        let unnoticed = all.any(|one| one.unnoticed) || (self.broken && before.is_empty());
        let unnoticed = unnoticed && (is_excusable || before.is_empty());
        if reading.possible.is_empty() && unnoticed {
            // The program cannot tell either, and goes on with it.
            self.broken = true;
            return;
        }
        let (right, name) = (!reading.possible.is_empty(), reading.name.clone());
        self.check(Promise::Bytes, right, || {
            format!("rank {rank} has read other bytes of {what}, of {name}, than were written")
        });
    }

    /// A rank is about to call SCR_Complete_restart.
    pub fn judges(&mut self, call: usize, verdict: Verdict) {
        self.chosen = None;
        let Some(reading) = self.readings.get_mut(&call) else {
            return;
        };
        let found = reading.found.filter(|key| !reading.is_of(key));
        // What was read is an older one of the name.
        for one in self.datasets.iter_mut() {
            if Some(one.key) == found && one.fate == Fate::Counts {
                one.fate = Fate::GivenUp;
            }
        }
        match verdict {
            // Only programs with fields say that a good checkpoint is not theirs; simulated ones route files.
            Verdict::Read | Verdict::Unfit => {}
            Verdict::Bad => {
                reading.bad = true;
                let key = reading.possible.last().copied();
                self.takes_away(|one| Some(one.key) == key, Fate::GivenUp);
            }
            Verdict::NotRead => self.not_read = true,
        }
    }

    /// SCR_Complete_restart has returned to a rank.
    pub fn restarted(&mut self, call: usize, worked: bool) {
        let size = self.ranks();
        let Some(reading) = self.readings.get_mut(&call) else {
            return;
        };
        if !worked {
            if reading.bad && !self.not_read {
                let key = reading.possible.last().copied();
                self.are_taken_away(|one| Some(one.key) == key);
            }
            return;
        }
        reading.done += 1;
        if reading.done < size {
            return;
        }
        let (place, name) = (reading.place, reading.name.clone());
        let (possible, expected, known) =
            (reading.possible.clone(), reading.expected, reading.known);
        let at = self
            .datasets
            .iter()
            .rposition(|one| possible.contains(&one.key));
        self.check_newest(at, expected, &format!("{name} was read"));
        let Some(at) = at else {
            return;
        };
        let node_of = self.node_of.clone();
        let one = &mut self.datasets[at];
        // What another number of ranks has written is copied to the prefix directory, and read there.
        let place = if one.ranks() == size {
            place.or(one.place).unwrap_or(Place::Prefix)
        } else {
            Place::Prefix
        };
        one.was_read(place, &node_of);
        self.goes_on_from(Some(at), known);
    }

    /// The program begins without a checkpoint, after call number `call`.
    pub fn begins_anew(&mut self, call: usize) {
        if self.begun.insert(1 << 63 | (self.run << 32 | call) as Key) {
            self.goes_on_from(None, self.datasets.len());
        }
    }

    /// What is newer, of the first `known` datasets, was not found or is not wanted.
    fn goes_on_from(&mut self, at: Option<usize>, known: usize) {
        let newer = at.map_or(0, |at| at + 1)..known;
        let newer = self.datasets.get_mut(newer).into_iter().flatten();
        for one in newer.filter(|one| one.fate == Fate::Counts && one.checkpoint) {
            one.fate = Fate::GivenUp;
        }
    }

    /// A rank is about to call SCR_Current.
    pub fn chooses(&mut self, act: Key, name: &str) {
        if !self.begun.insert(act) {
            return;
        }
        (self.chosen, self.chosen_is_known) = (None, false);
        let of_name = |one: &super::Dataset| one.name == name && one.checkpoint;
        // The index does not know a newer one of the name that was not completed.
        let complete = |one: &super::Dataset| of_name(one) && one.is_finished();
        let all = self.datasets.iter().filter(|one| complete(one)).count();
        // Of several with this name only the index or the cache knows which it is.
        let newest = if all > 1 {
            self.datasets.iter().position(complete)
        } else {
            self.datasets.iter().rposition(complete)
        };
        let newest = newest.or_else(|| self.datasets.iter().rposition(of_name));
        if let Some(at) = newest {
            let one = &self.datasets[at];
            let key = (one.is_whole() && all == 1).then_some(one.key);
            let window = self.all_runs.window;
            let newer = self.datasets.iter().skip(at + 1);
            // A newer one that was flushed does not help: the name is of this one.
            let in_prefix = one.saved && self.is_in_prefix(at);
            // In the cache alone it is known only as long as nothing newer is in the prefix directory.
            let saved = |one: &super::Dataset| one.checkpoint && one.saved;
            let alone = !self.is_due(at) && !newer.clone().any(saved);
            let in_cache = alone && self.is_in_cache(at);
            let newer = newer
                .filter(|one| one.checkpoint && one.is_finished())
                .count();
            let known =
                self.is_promised(at) && (in_prefix || in_cache) && (window == 0 || newer < window);
            self.goes_on_from(Some(at), self.datasets.len());
            if self.plan.is_set("SCR_DROP_AFTER_CURRENT") {
                let newer = self.datasets.iter_mut().skip(at + 1);
                let kept = newer.filter(|one| one.fate != Fate::Gone);
                kept.for_each(|one| one.fate = Fate::Dropped);
            }
            (self.chosen, self.chosen_is_known) = (key, known);
        }
    }

    /// SCR_Current has returned to a rank.
    pub fn has_chosen(&mut self, name: &str, why: Option<&str>) {
        let known = self.chosen_is_known && !self.is_excused();
        self.check(Promise::Reason, why.is_none() || !known, || {
            format!("SCR_Current({name}): {}", why.unwrap_or_default())
        });
        if why.is_some() {
            self.chosen = None;
            return;
        }
        // What was rejected before is wanted again.
        let same = self.datasets.iter_mut().filter(|one| one.name == name);
        for one in same.filter(|one| one.fate == Fate::Gone) {
            one.fate = Fate::GivenUp;
        }
    }
}
