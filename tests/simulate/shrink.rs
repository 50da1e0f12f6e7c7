//! Makes a failing job smaller, as long as it fails: fewer runs, faults, checkpoints, ranks and parameters.

use crate::beside::BesideRun;
use crate::faults::Budget;
use crate::flips::FlipBudget;
use crate::job::{Outcome, simulate_in_order};
use crate::plan::{Kill, Loss, Plan};

/// How many jobs are tried.
const MOST: u64 = 2000;

/// Orders of tasks that are tried with each plan. A smaller plan changes the order in which things happen.
const ORDERS: u64 = 6;

/// The promise that was broken first.
fn broken(outcome: &Outcome) -> Option<&str> {
    outcome.violations.first()?.lines().next()
}

/// The least job that breaks the same promise as that of `seed`, among those that were tried, and how many these
/// were. All follows from the seed.
pub fn shrink(seed: u64) -> (u64, Option<Outcome>) {
    let (mut tried, mut least) = (0, None);
    let whole = simulate_in_order(seed, 0, |_| ());
    let mut plan = Plan::of_seed(seed);
    'smaller: loop {
        for candidate in smaller(&plan) {
            for order in 0..ORDERS {
                if tried >= MOST {
                    return (tried, least);
                }
                tried += 1;
                let outcome = simulate_in_order(seed, order, |plan| plan.clone_from(&candidate));
                if broken(&outcome) == broken(&whole) {
                    (plan, least) = (candidate, Some(outcome));
                    continue 'smaller;
                }
            }
        }
        return (tried, least);
    }
}

/// Plans that are a step smaller, those first that leave out most. The last run stays as it is.
fn smaller(plan: &Plan) -> Vec<Plan> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Plan)| {
        let mut changed = plan.clone();
        change(&mut changed);
        for run in &mut changed.runs {
            run.disturbance.set_rank_0_right(&run.node_of);
        }
        changed.keep_parameters_in_repairs();
        all.push(changed);
    };
    let runs = plan.runs.len().saturating_sub(1);
    (0..runs).for_each(|run| with(&|plan| drop(plan.runs.remove(run))));
    if plan.nodes > 1 {
        let last = plan.nodes - 1;
        with(&|plan| {
            for run in &mut plan.runs {
                run.node_of.retain(|node| *node != last);
                if run.node_of.is_empty() {
                    run.node_of.push(0);
                }
            }
            plan.nodes = last;
        });
    }
    let most = plan.runs.iter().map(|run| run.node_of.len()).max();
    (1..most.unwrap_or(1)).for_each(|rank| {
        with(&|plan| {
            for run in plan.runs.iter_mut().filter(|run| run.node_of.len() > rank) {
                run.node_of.remove(rank);
            }
        });
    });
    (0..plan.more.len()).for_each(|at| with(&|plan| drop(plan.more.remove(at))));
    for (at, run) in plan.runs.iter().enumerate() {
        if run.beside.is_busy() {
            with(&|plan| plan.runs[at].beside = BesideRun::default());
            with(&|plan| {
                plan.runs[at].beside.events.pop();
            });
            with(&|plan| {
                plan.runs[at].beside.after.pop();
            });
        }
        if run.faults.one_in > 0 {
            with(&|plan| plan.runs[at].faults = Budget::default());
        }
        if run.flips.one_in > 0 {
            with(&|plan| plan.runs[at].flips = FlipBudget::default());
        }
        if run.loss != Loss::Nothing {
            with(&|plan| plan.runs[at].loss = Loss::Nothing);
        }
        if run.kill != Kill::Never {
            with(&|plan| plan.runs[at].kill = Kill::Never);
        }
        if run.capacity.is_some() {
            with(&|plan| plan.runs[at].capacity = None);
        }
        if run.shared_room.is_some() {
            with(&|plan| plan.runs[at].shared_room = None);
        }
        if run.repairs.is_some() {
            with(&|plan| plan.runs[at].repairs = None);
        }
        (0..run.changes.len())
            .for_each(|change| with(&|plan| drop(plan.runs[at].changes.remove(change))));
        if run.turn > 0 {
            with(&|plan| plan.runs[at].turn = 0);
        }
        if run.again.is_some() {
            with(&|plan| plan.runs[at].again = None);
        }
        if !run.said.is_empty() {
            with(&|plan| plan.runs[at].said.clear());
        }
        (0..run.acts.len()).for_each(|act| with(&|plan| drop(plan.runs[at].acts.remove(act))));
    }
    if plan.background {
        with(&|plan| plan.background = false);
    }
    if plan.flush > 1 {
        with(&|plan| plan.flush = 1);
    }
    if plan.prefix_size > 0 {
        with(&|plan| plan.prefix_size = 0);
    }
    if plan.fields {
        with(&|plan| plan.fields = false);
    }
    if plan.tidy {
        with(&|plan| plan.tidy = false);
    }
    all
}
