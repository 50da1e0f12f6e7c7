//! Bits that flip while redundancy is made: in messages with blocks, and in the redundancy files. Each rank whose
//! redundancy is wrong for it must say so (SCR-323), and no other.

use crate::content::Key;
use scr::comm::Tag;
use scr::system::simulated::Random;
use scr::system::simulated::scheduler::{self, ProcessId};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// The tag of messages with blocks of a dataset that is being completed (`session/datasets/record.rs`).
const ENCODE: Tag = 0x40;

/// How the name of a redundancy file begins that is not complete.
const TEMPORARY: &str = "next_";

/// How often redundancy is made that turns out to be wrong.
const ATTEMPTS: u64 = 3;

/// The flips of a dataset are in these many kinds of places, one after the other.
const LANES: u64 = 4;

/// How many messages and writes change.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlipBudget {
    /// One in so many; none if it is 0.
    pub one_in: u64,
    /// So many at most.
    pub left: u64,
    /// So many at most in one dataset.
    pub of_each: u64,
}

impl FlipBudget {
    /// Few, or so many that the redundancy may never be right.
    pub fn draw(random: &mut Random) -> FlipBudget {
        FlipBudget {
            one_in: 1 << random.below(7),
            left: random.between(1, 12),
            of_each: u64::MAX,
        }
    }
}

/// The dataset that a process writes.
#[derive(Debug)]
struct Saving {
    key: Key,
    /// A bit has flipped in this process since it has said that its redundancy is wrong.
    untold: bool,
    /// How often it has said so.
    told: u64,
}

#[derive(Debug, Default)]
struct State {
    budget: FlipBudget,
    saving: BTreeMap<ProcessId, Saving>,
    /// Flips of all processes in a dataset.
    flips: BTreeMap<Key, u64>,
    /// What was changed since it was last asked for.
    hit: Vec<&'static str>,
}

/// The flips of a job.
#[derive(Debug, Default)]
pub struct Flips(Mutex<State>);

impl Flips {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// For the run that begins.
    pub fn set(&self, budget: FlipBudget) {
        self.state().budget = budget;
    }

    /// This process begins to write a dataset.
    pub fn begin(&self, key: Key) {
        if let Some(process) = scheduler::current_process() {
            let saving = Saving {
                key,
                untold: false,
                told: 0,
            };
            self.state().saving.insert(process, saving);
        }
    }

    /// It has written it. True if a bit of its redundancy has flipped since it has said that this is wrong.
    pub fn end(&self) -> bool {
        let mut state = self.state();
        let process = scheduler::current_process();
        let saving = process.and_then(|process| state.saving.remove(&process));
        saving.is_some_and(|saving| saving.untold)
    }

    /// This process says that its redundancy is wrong. False if there were not as many flips, of all processes: what
    /// flips in one that computes for others makes theirs wrong, too.
    pub fn tell(&self) -> bool {
        let process = scheduler::current_process();
        let State { saving, flips, .. } = &mut *self.state();
        let saving = process.and_then(|process| saving.get_mut(&process));
        saving.is_some_and(|saving| {
            (saving.untold, saving.told) = (false, saving.told + 1);
            flips
                .get(&saving.key)
                .is_some_and(|all| *all >= saving.told)
        })
    }

    /// Bits that have flipped in a dataset.
    pub fn of(&self, key: Key) -> u64 {
        self.state().flips.get(&key).copied().unwrap_or(0)
    }

    /// So many flips may have made the redundancy wrong as often as it is made.
    pub fn may_fail(&self, key: Key) -> bool {
        self.of(key) >= ATTEMPTS
    }

    /// What has changed since the last call.
    pub fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state().hit)
    }

    /// Draws a bit of so many bytes that flips: its byte, and the bit in it. Two flips must not undo each other: so they are
    /// in other places, and there is one in a process until that is told.
    fn draw(&self, bytes: usize, what: &'static str) -> Option<(usize, u8)> {
        let mut state = self.state();
        let FlipBudget {
            one_in,
            left,
            of_each,
        } = state.budget;
        if one_in == 0 || left == 0 || bytes == 0 || scheduler::is_dead() {
            return None;
        }
        let State { saving, flips, .. } = &mut *state;
        let saving = scheduler::current_process().and_then(|process| saving.get_mut(&process))?;
        let so_far = flips.entry(saving.key).or_default();
        let is_full = *so_far >= of_each || saving.untold;
        if is_full || !scheduler::draw(|random| random.once_in(one_in)) {
            return None;
        }
        let lane = (*so_far % LANES) as usize;
        let places = bytes.saturating_sub(lane).div_ceil(LANES as usize) as u64;
        if places == 0 {
            return None;
        }
        saving.untold = true;
        *so_far += 1;
        state.budget.left -= 1;
        state.hit.push(what);
        Some(scheduler::draw(|random| {
            let place = LANES * random.below(places);
            (place as usize + lane, 1 << random.below(8))
        }))
    }

    /// A message with this tag arrives.
    pub fn message(&self, tag: Tag, bytes: &mut [u8]) {
        if tag == ENCODE
            && let Some((at, bit)) = self.draw(bytes.len(), "bit that flips in a message")
        {
            bytes[at] ^= bit;
        }
    }

    /// These bytes have been written to a file. Gives the place in them of a byte that is otherwise in the file, and that
    /// byte.
    pub fn file(&self, path: &Path, bytes: &[u8]) -> Option<(u64, u8)> {
        let name = path.file_name()?.as_encoded_bytes();
        if !name.starts_with(TEMPORARY.as_bytes()) {
            return None;
        }
        let drawn = self.draw(bytes.len(), "bit that flips in a redundancy file");
        drawn.map(|(at, bit)| (at as u64, bytes[at] ^ bit))
    }
}
