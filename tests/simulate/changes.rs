//! Parameters of a run that are not those of the job: people change them between runs, or ask one run to empty a
//! cache or to begin with a checkpoint that they name.

use crate::acts::Act;
use crate::places::{Places, SCHEMES, Scheme};
use crate::plan::{Plan, Run};
use scr::system::simulated::Random;

/// A bit pattern by which the numbers for the changes differ from those that the scheduler draws.
const OTHER: u64 = 0x6368_616e_6765_7321;

/// SCR_Init empties the cache.
const CACHE_PURGES: [(&str, &str); 2] = [("SCR_CACHE_PURGE", "1"), ("SCR_DISTRIBUTE", "0")];

const FLAGS: [&str; 11] = [
    "SCR_CACHE_CHECK",
    "SCR_COPY_METADATA",
    "SCR_CRC_ON_COPY",
    "SCR_CRC_ON_DELETE",
    "SCR_CRC_ON_FLUSH",
    "SCR_FETCH",
    "SCR_FETCH_BYPASS",
    "SCR_FLUSH_ASYNC",
    "SCR_FLUSH_ON_RESTART",
    "SCR_GLOBAL_RESTART",
    "SCR_USE_CONTAINERS",
];

/// Each with its least and its greatest value.
const NUMBERS: [(&str, u64, u64); 6] = [
    ("SCR_CONTAINER_SIZE", 1000, 9000),
    ("SCR_FETCH_WIDTH", 1, 3),
    ("SCR_FLUSH", 0, 3),
    ("SCR_FLUSH_WIDTH", 1, 3),
    ("SCR_PREFIX_SIZE", 0, 3),
    ("SCR_CACHE_SIZE", 1, 3),
];

/// What parameters promise in all runs of a job.
pub struct AllRuns {
    /// Where datasets may go, with all ways in which they may be protected.
    pub places: Places,
    /// The smallest sliding window, checkpoints; 0 if there is none.
    pub window: usize,
    /// What is in the prefix directory can be fetched.
    pub fetch: bool,
    /// Checkpoints are flushed.
    pub flush: bool,
}

impl Plan {
    /// Draws other parameters for some runs of some jobs. `random` goes on as if nothing had been drawn, so that the
    /// other jobs stay as they are.
    pub fn draw_changes(&mut self, random: &Random) {
        let mut random = Random::new(random.clone().number() ^ OTHER);
        if !random.once_in(3) {
            return;
        }
        // Those that look at what is left are the last ones of a plan.
        let count = self.runs.len() - if self.tidy { 2 } else { 0 };
        for number in 0..count {
            if !random.once_in(2) {
                continue;
            }
            let (earlier, later) = self.runs.split_at_mut(number);
            for _ in 0..random.between(1, 3) {
                let change = draw_one(&mut random, earlier, &self.places);
                later[0].changes.extend(change);
            }
        }
        self.keep_parameters_in_repairs();
    }

    /// The processes that go on keep their environment.
    pub fn keep_parameters_in_repairs(&mut self) {
        for later in 1..self.runs.len() {
            if self.runs[later].repairs.is_some() {
                self.runs[later].changes = self.runs[later - 1].changes.clone();
            }
        }
    }

    /// The value of a parameter in a run; `None` if it has its default.
    pub fn value_in<'a>(&'a self, run: &'a Run, name: &str) -> Option<&'a str> {
        let of_run = run.changes.iter().rev();
        let mut all = of_run.chain(&self.more);
        all.find(|(other, _)| *other == name)
            .map(|(_, value)| value.as_str())
    }

    fn number_in(&self, run: &Run, name: &str, otherwise: u64) -> u64 {
        let value = self.value_in(run, name);
        value.map_or(otherwise, |value| value.parse().unwrap())
    }

    /// True if a run has a parameter set to 1.
    pub fn is_set_in(&self, run: &Run, name: &str) -> bool {
        self.value_in(run, name) == Some("1")
    }

    pub fn flush_in(&self, run: &Run) -> u64 {
        self.number_in(run, "SCR_FLUSH", self.flush)
    }

    pub fn background_in(&self, run: &Run) -> bool {
        self.number_in(run, "SCR_FLUSH_ASYNC", u64::from(self.background)) == 1
    }

    pub fn fetch_in(&self, run: &Run) -> bool {
        self.number_in(run, "SCR_FETCH", u64::from(self.fetch)) == 1
    }

    /// The least that holds whatever the run.
    pub fn of_all_runs(&self) -> AllRuns {
        let runs = || self.runs.iter();
        let windows = runs().map(|run| self.number_in(run, "SCR_PREFIX_SIZE", self.prefix_size));
        AllRuns {
            places: self.places_of_all_runs(),
            window: windows.filter(|size| *size > 0).min().unwrap_or(0) as usize,
            fetch: runs().all(|run| self.fetch_in(run) && !run.purges_prefix()),
            flush: runs().all(|run| self.flush_in(run) > 0),
        }
    }

    fn places_of_all_runs(&self) -> Places {
        let mut places = self.places.clone();
        let changes = self.runs.iter().flat_map(|run| &run.changes);
        let first = places.schemes[0];
        for (name, value) in changes {
            match *name {
                "SCR_COPY_TYPE" => {
                    let kind = SCHEMES.into_iter().find(|kind| kind.word() == value);
                    let kind = kind.unwrap_or(first.kind);
                    let both = [false, true].map(|bypass| Scheme {
                        bypass: bypass && first.bypass,
                        kind,
                        ..first
                    });
                    places.schemes.extend(both);
                }
                "SCR_CACHE_BYPASS" => places.schemes.push(Scheme {
                    bypass: value == "1",
                    ..first
                }),
                "SCR_CACHE_SIZE" => {
                    let count = &mut places.stores[0].count;
                    *count = (*count).min(value.parse().unwrap());
                }
                _ => {}
            }
        }
        places
    }
}

/// One change, or several that go together.
fn draw_one(random: &mut Random, earlier: &[Run], places: &Places) -> Vec<(&'static str, String)> {
    let flag = |random: &mut Random| random.below(2).to_string();
    let change = match random.below(24) {
        0 => {
            let (name, value) = *random.one_of(&CACHE_PURGES);
            (name, value.to_string())
        }
        1 => ("SCR_PREFIX_PURGE", "1".to_string()),
        2 | 3 => match checkpoints_of(earlier).as_slice() {
            [] => return Vec::new(),
            names => ("SCR_CURRENT", random.one_of(names).clone()),
        },
        // With lines, these say nothing.
        4 if !places.lines => ("SCR_COPY_TYPE", random.one_of(&SCHEMES).word().to_string()),
        5 if !places.lines => ("SCR_CACHE_BYPASS", flag(random)),
        6..=12 => {
            let (name, least, most) = *random.one_of(&NUMBERS);
            (name, random.between(least, most).to_string())
        }
        _ => (*random.one_of(&FLAGS), flag(random)),
    };
    vec![change]
}

/// The names of the checkpoints that these runs write.
fn checkpoints_of(runs: &[Run]) -> Vec<String> {
    let acts = runs.iter().flat_map(|run| &run.acts);
    let names = acts.filter_map(|act| match act {
        Act::Write(output) if output.checkpoint => Some(output.name.clone()),
        _ => None,
    });
    names.collect()
}

impl Run {
    fn has_change(&self, (name, value): (&str, &str)) -> bool {
        let mut changes = self.changes.iter();
        changes.any(|(other, has)| *other == name && has == value)
    }

    /// SCR_Init empties the cache, unless it repairs the run before.
    pub fn purges_cache(&self) -> bool {
        CACHE_PURGES.iter().any(|purge| self.has_change(*purge))
    }

    /// SCR_Init deletes what the index has, unless it repairs the run before.
    pub fn purges_prefix(&self) -> bool {
        self.has_change(("SCR_PREFIX_PURGE", "1"))
    }

    /// SCR_CURRENT.
    pub fn current(&self) -> Option<&str> {
        let mut changes = self.changes.iter().rev();
        let (_, name) = changes.find(|(name, _)| *name == "SCR_CURRENT")?;
        Some(name)
    }
}
