//! Many small checkpoints with redundancy, in half of which bits flip before it counts. All such flips are told, nothing
//! else is, and what was made again restores the files of a lost node.
//!
//! `SCR_SIM_CHECKPOINTS`: so many checkpoints.

use crate::acts::checkpoints;
use crate::cases::undisturbed;
use crate::counts::{Counts, Reached};
use crate::flips::FlipBudget;
use crate::job::simulate_changed;
use crate::jobs::{number, told};
use crate::oracle::{COMPLETE, MADE_AGAIN};
use crate::plan::{Loss, Plan, Run};
use crate::volume::Profile;
use scr::format::Scheme as Kind;
use scr::system::simulated::Random;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many a plain `cargo test` writes.
const CHECKPOINTS: u64 = 300;

/// After so many it tells how many there were.
const TOLD: u64 = 10_000;

/// How many a run of a job writes.
const EACH: usize = 40;

fn only_checkpoints(plan: &mut Plan, seed: u64) {
    let random = &mut Random::new(seed);
    undisturbed(plan, &[(EACH, Loss::Nodes(1)), (1, Loss::Nothing)]);
    plan.nodes = random.between(2, 4) as usize;
    let each = if random.once_in(4) { 2 } else { 1 };
    let ranks = (0..each * plan.nodes).map(|rank| rank / each);
    let node_of: Vec<usize> = ranks.collect();
    (plan.flush, plan.prefix_size, plan.local) = (0, 0, Profile::Tmpfs);
    (plan.fields, plan.small) = (random.once_in(8), random.once_in(12));
    plan.more.clear();
    plan.beside = Default::default();
    plan.places.lines = false;
    plan.places.stores.truncate(1);
    plan.places.stores[0].count = random.between(1, 3);
    plan.places.schemes.truncate(1);
    let scheme = &mut plan.places.schemes[0];
    scheme.kind = *random.one_of(&[Kind::Partner, Kind::Xor, Kind::Rs]);
    (scheme.bypass, scheme.set_size) = (false, random.between(2, 8));
    let flips = FlipBudget {
        one_in: 1 << random.between(3, 8),
        left: u64::MAX,
        of_each: random.between(1, 2),
    };
    plan.runs[0] = Run {
        flips: if random.once_in(2) {
            flips
        } else {
            FlipBudget::default()
        },
        finalizes: false,
        loss: Loss::Nodes(1),
        ..Run::quiet(&node_of, checkpoints(0, EACH))
    };
    plan.runs[1] = Run::quiet(&node_of, checkpoints(1, 1));
}

/// How many checkpoints are complete, and of how many the redundancy was made again.
fn tell(reached: &Reached) -> (u64, u64) {
    let complete = count(&reached.features, COMPLETE);
    let again = count(&reached.faults, MADE_AGAIN);
    println!("{complete} checkpoints, {again} of them with flipped bits");
    (complete, again)
}

fn count(counts: &Counts, name: &str) -> u64 {
    counts.get(name).copied().unwrap_or(0)
}

#[test]
fn each_flipped_bit_is_told_and_nothing_else() {
    let wanted = number("SCR_SIM_CHECKPOINTS").unwrap_or(CHECKPOINTS);
    let (next, total) = (AtomicU64::new(0), Mutex::new(Reached::default()));
    let is_enough = || count(&total.lock().unwrap().features, COMPLETE) >= wanted;
    let work = || {
        while !is_enough() {
            let seed = next.fetch_add(1, Relaxed);
            let outcome = simulate_changed(seed, |plan| only_checkpoints(plan, seed));
            assert!(outcome.violations.is_empty(), "{}", told(seed, &outcome));
            let mut total = total.lock().unwrap();
            let before = count(&total.features, COMPLETE) / TOLD;
            total.add(&outcome.reached);
            if count(&total.features, COMPLETE) / TOLD > before {
                tell(&total);
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    let total = total.into_inner().unwrap();
    total.lines().iter().for_each(|line| println!("{line}"));
    let (complete, again) = tell(&total);
    assert!(again > complete / 20 && again < complete / 2, "{again}");
}
