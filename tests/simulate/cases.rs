//! What simulations have found: plans of their own, so that it is found again however plans are drawn.

use crate::acts::{Act, Output, Said, checkpoints};
use crate::job::simulate_changed;
use crate::jobs::told;
use crate::launch::REPAIRED;
use crate::places::{Places, Scheme, Store};
use crate::plan::{Kill, Loss, Plan, Run};
use crate::volume::{Damage, Profile};
use scr::system::simulated::Random;

/// Simulates the plan of many seeds after a change.
fn all_keep_their_promises(seeds: u64, change: fn(&mut Plan)) {
    for seed in 0..seeds {
        let outcome = simulate_changed(seed, change);
        assert!(outcome.violations.is_empty(), "{}", told(seed, &outcome));
    }
}

/// A plan whose runs are these, each with a number of checkpoints and what is lost after it.
pub fn undisturbed(plan: &mut Plan, runs: &[(usize, Loss)]) {
    let node_of = plan.runs[0].node_of.clone();
    let runs = runs.iter().enumerate();
    plan.runs = runs
        .map(|(number, (count, loss))| Run {
            loss: *loss,
            ..Run::quiet(&node_of, checkpoints(number, *count))
        })
        .collect();
    (plan.fetch, plan.anew, plan.tidy) = (true, false, false);
    plan.more.retain(|(name, _)| !name.contains("HALT"));
}

/// On a file system that keeps only what was synced by name. With containers nothing but SCR's own
/// directory stands in the prefix directory: its entry was not synced.
#[test]
fn what_was_saved_survives_a_power_loss() {
    all_keep_their_promises(40, |plan| {
        undisturbed(plan, &[(2, Loss::Power), (2, Loss::Power)]);
        (plan.flush, plan.shared) = (1, Profile::Weakest);
    });
}

/// A cache of one dataset: output took the place of a checkpoint that was nowhere else, and after
/// SCR_Finalize there was none.
#[test]
fn output_does_not_push_out_the_only_checkpoint() {
    all_keep_their_promises(10, |plan| {
        undisturbed(plan, &[(1, Loss::Nodes(9)), (0, Loss::Nothing)]);
        plan.flush = 5;
        (plan.places.lines, plan.places.stores[0].count) = (false, 1);
        plan.places.schemes.truncate(1);
        plan.places.schemes[0].bypass = false;
        plan.runs[0].acts.push(Act::Write(Output {
            checkpoint: false,
            output: true,
            ..Output::checkpoint("result".to_string())
        }));
    });
}

/// Without fetches, a saved checkpoint that had left a cache of one dataset for one that came to nothing was not used any
/// more: an older one in bypass was, or none.
#[test]
fn without_fetches_a_displaced_checkpoint_counts_until_the_next_is_complete() {
    all_keep_their_promises(10, |plan| {
        undisturbed(plan, &[(2, Loss::Nothing), (0, Loss::Nothing)]);
        (plan.flush, plan.background, plan.fetch) = (1, false, false);
        plan.more.clear();
        let first = Scheme {
            interval: 1,
            output: false,
            bypass: true,
            store: 0,
            ..plan.places.schemes[0]
        };
        let second = Scheme {
            interval: 2,
            bypass: false,
            output: true,
            ..first
        };
        (plan.places.lines, plan.places.stores[0].count) = (true, 1);
        plan.places.stores.truncate(1);
        plan.places.schemes = vec![first, second];
        plan.runs[0].finalizes = false;
        plan.runs[0].acts.push(Act::Write(Output {
            checkpoint: false,
            output: true,
            bad: Some(0),
            ..Output::checkpoint("bad".to_string())
        }));
        plan.runs[0].acts.push(Act::Look);
    });
}

/// The newest checkpoint, saved because it is output, too, had left a full store. An older one of another
/// store, which was flushed later, became current.
#[test]
fn an_older_checkpoint_does_not_become_current() {
    all_keep_their_promises(5, |plan| {
        undisturbed(plan, &[(1, Loss::Nodes(9)), (0, Loss::Nothing)]);
        (plan.flush, plan.background) = (5, false);
        let first = Scheme {
            interval: 1,
            output: false,
            bypass: false,
            store: 0,
            ..plan.places.schemes[0]
        };
        let second = Scheme {
            output: true,
            store: 1,
            ..first
        };
        let store = |dir| Store {
            dir,
            global: false,
            count: 1,
        };
        plan.places = Places {
            stores: vec![store("/sim/local"), store("/sim/local/second")],
            schemes: vec![first, second],
            lines: true,
        };
        for checkpoint in [true, false] {
            plan.runs[0].acts.push(Act::Write(Output {
                checkpoint,
                output: true,
                ..Output::checkpoint(format!("result.{checkpoint}"))
            }));
        }
    });
}

/// All datasets go to a store that all nodes see.
pub fn in_a_store_of_all_nodes(plan: &mut Plan) {
    let burst = Store {
        dir: "/sim/shared/burst",
        global: true,
        count: 2,
    };
    let first = Scheme {
        bypass: false,
        store: 1,
        ..plan.places.schemes[0]
    };
    plan.places = Places {
        stores: vec![plan.places.stores[0].clone(), burst],
        schemes: vec![first],
        lines: true,
    };
}

/// A store that all nodes see needs no redundancy: but what a lost node had not written to it was lost, and nobody
/// noticed if the sizes were right.
#[test]
fn a_store_of_all_nodes_survives_the_loss_of_one() {
    all_keep_their_promises(20, |plan| {
        undisturbed(plan, &[(2, Loss::Nodes(1)), (0, Loss::Nothing)]);
        (plan.flush, plan.shared) = (0, Profile::Weakest);
        plan.more.clear();
        in_a_store_of_all_nodes(plan);
        plan.runs[0].finalizes = false;
    });
}

/// What tells who has a store stayed in it for ever: `.scr.shared`, and the half of a file that a killed run
/// was replacing.
#[test]
fn nothing_stays_in_a_store_that_is_empty() {
    all_keep_their_promises(30, |plan| {
        undisturbed(
            plan,
            &[(1, Loss::Nothing), (1, Loss::Nothing), (0, Loss::Nothing)],
        );
        (plan.flush, plan.tidy) = (1, true);
        in_a_store_of_all_nodes(plan);
        plan.runs[0].kill = Kill::AtStep(60 * plan.runs[0].node_of.len() as u64);
    });
}

/// A checkpoint in the cache has lost something, and another number of ranks would restart from it.
#[test]
fn what_the_cache_has_lost_is_passed_over_by_another_number_of_ranks() {
    all_keep_their_promises(100, |plan| {
        undisturbed(
            plan,
            &[
                (1, Loss::Damage(Damage::Entry, false)),
                (0, Loss::Nothing),
                (0, Loss::Nothing),
            ],
        );
        (plan.flush, plan.nodes, plan.local) = (2, 1, Profile::Tmpfs);
        (plan.places.lines, plan.places.stores[0].global) = (false, false);
        plan.places.schemes.truncate(1);
        plan.places.schemes[0].bypass = false;
        plan.more.clear();
        for (run, ranks) in plan.runs.iter_mut().zip([2, 3, 3]) {
            (run.node_of, run.allows) = (vec![0; ranks], true);
        }
        plan.runs[0].finalizes = false;
    });
}

/// A restart in bypass from a checkpoint that then left the sliding window. After a newer one was evicted for one
/// that failed, SCR_Finalize flushed that which was nowhere any more.
#[test]
fn what_has_left_the_window_is_not_flushed_from_bypass() {
    all_keep_their_promises(10, |plan| {
        undisturbed(plan, &[(1, Loss::Nodes(9)), (1, Loss::Nothing)]);
        (plan.flush, plan.prefix_size, plan.background) = (1, 1, false);
        plan.more = vec![("SCR_FETCH_BYPASS", "1".to_string())];
        (plan.places.lines, plan.places.stores[0].count) = (false, 1);
        plan.places.schemes.truncate(1);
        plan.places.schemes[0].bypass = false;
        plan.runs[1].acts.push(Act::Write(Output {
            bad: Some(0),
            ..Output::checkpoint("bad".to_string())
        }));
    });
}

/// The newest is rejected. A flush of an older one had not ended, so that it was recovered first, and offered before one
/// that is newer.
#[test]
fn after_a_rejected_checkpoint_the_newest_of_the_others_is_offered() {
    all_keep_their_promises(40, |plan| {
        undisturbed(plan, &[(4, Loss::Nothing), (0, Loss::Nothing)]);
        (plan.flush, plan.background) = (2, true);
        plan.more.clear();
        (plan.places.lines, plan.places.stores[0].count) = (false, 4);
        plan.places.schemes.truncate(1);
        plan.places.schemes[0].bypass = false;
        plan.runs[0].finalizes = false;
        plan.runs[1].said = vec![Said::Bad(0)];
    });
}

/// A process is killed, and then others while the rest repair the run.
#[test]
fn a_run_is_repaired_and_repaired_again() {
    let mut repaired = 0;
    for seed in 0..40 {
        let outcome = simulate_changed(seed, |plan| {
            let loss = Loss::Nodes(1);
            undisturbed(plan, &[(8, loss), (8, loss), (1, Loss::Nothing)]);
            let random = &mut Random::new(seed);
            for later in 1..3 {
                plan.runs[later - 1].kill = Kill::AtStep(random.between(100, 1500));
                plan.repair_before(later, random);
            }
        });
        assert!(outcome.violations.is_empty(), "{}", told(seed, &outcome));
        let hit = outcome.reached.faults.get(REPAIRED);
        repaired += hit.copied().unwrap_or(0);
    }
    assert!(repaired >= 40, "{repaired}");
}
