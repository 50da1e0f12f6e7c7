//! What was found beside the program, each with a plan of its own.

use super::commands::Command;
use super::draw::{After, BesidePlan, BesideRun, Event, What};
use crate::acts::{Act, Output, checkpoints};
use crate::cases::in_a_store_of_all_nodes;
use crate::job::simulate_changed;
use crate::jobs::told;
use crate::plan::{Kill, Loss, Plan, Run};
use crate::volume::Profile;

fn simulate_all(seeds: u64, change: impl Fn(&mut Plan, u64)) {
    for seed in 0..seeds {
        let outcome = simulate_changed(seed, |plan| {
            (plan.fetch, plan.anew, plan.tidy) = (true, false, false);
            plan.beside = BesidePlan::default();
            plan.more.clear();
            change(plan, seed);
        });
        assert!(outcome.violations.is_empty(), "{}", told(seed, &outcome));
    }
}

/// Runs that are not disturbed, each with so many checkpoints.
fn quiet(plan: &Plan, counts: &[usize]) -> Vec<Run> {
    let node_of = &plan.runs[0].node_of;
    let runs = counts.iter().enumerate();
    runs.map(|(number, count)| Run::quiet(node_of, checkpoints(number, *count)))
        .collect()
}

/// Commands that begin at about the same step of a run.
fn at_once(commands: &[Command], step: u64) -> BesideRun {
    let event = |(number, command): (usize, &Command)| Event {
        at: step + number as u64,
        what: What::Command(command.clone(), None),
    };
    BesideRun {
        events: commands.iter().enumerate().map(event).collect(),
        ..BesideRun::default()
    }
}

/// Who builds a dataset has found it whole; who deletes it takes it out of the index, and then its files.
#[test]
fn a_dataset_that_is_deleted_is_not_entered_by_who_builds_it() {
    simulate_all(60, |plan, _| {
        plan.runs = quiet(plan, &[2, 0]);
        // A program with fields has read some of it when it finds that the rest is gone.
        (plan.flush, plan.fields) = (1, false);
        plan.runs[1].beside = at_once(&[Command::Build(0), Command::Delete(0)], 1);
    });
}

/// `scr clean` removes the directories of an ended job while a run makes them.
#[test]
fn a_run_starts_while_its_directories_are_cleaned() {
    simulate_all(60, |plan, seed| {
        plan.runs = quiet(plan, &[1, 1]);
        plan.runs[1].beside = at_once(&[Command::Clean(0)], seed * 3);
    });
}

/// The directory is gone when the run would lock it. Without a lock the next `scr clean` removed what the run had
/// written.
#[test]
fn a_run_whose_directories_were_cleaned_has_its_lock() {
    simulate_all(300, |plan, seed| {
        in_a_cache_of_two(plan);
        plan.flush = 1;
        plan.runs = quiet(plan, &[3]);
        plan.runs[0].beside = at_once(&[Command::Clean(0)], 10 + seed / 2);
        let again = at_once(&[Command::Clean(0)], 500 + 10 * (seed % 20));
        plan.runs[0].beside.events.extend(again.events);
    });
}

/// The lock of a run was in its caches only. With all of them elsewhere its control directory was removed, and
/// SCR_Finalize could not hand over its flush.
#[test]
fn the_control_directory_of_a_run_is_not_cleaned() {
    simulate_all(100, |plan, seed| {
        in_a_store_of_all_nodes(plan);
        (plan.flush, plan.background, plan.shared) = (1, true, Profile::Ordered);
        plan.beside = BesidePlan {
            daemons: false,
            poststage: true,
            patience: 10,
            bandwidth: None,
        };
        plan.runs = quiet(plan, &[3]);
        plan.runs[0].beside = at_once(&[Command::Clean(0)], 10 * seed);
    });
}

/// The power fails after daemons have copied their parts. Their transfer files may not say so, and files in the
/// cache may be torn: the good copies stay.
#[test]
fn a_part_that_was_copied_is_not_copied_again_from_a_damaged_cache() {
    simulate_all(100, |plan, seed| {
        (plan.local, plan.shared) = (Profile::Ordered, Profile::Weakest);
        (plan.flush, plan.background) = (1, true);
        plan.places.lines = false;
        plan.places.schemes.truncate(1);
        plan.places.schemes[0].bypass = false;
        plan.beside = BesidePlan {
            daemons: true,
            poststage: true,
            patience: 10,
            bandwidth: None,
        };
        plan.runs = quiet(plan, &[4, 1]);
        let run = &mut plan.runs[0];
        (run.finalizes, run.loss) = (false, Loss::Power);
        run.kill = Kill::AtStep(2000 + 60 * seed);
        run.beside = BesideRun {
            daemons: (0..plan.nodes).collect(),
            after: vec![After::Poststage(None)],
            ..BesideRun::default()
        };
    });
}

/// The script that calls `scr postrun` is killed and called again, and the daemons end at this moment: each removes
/// its directory.
#[test]
fn a_daemon_ends_while_it_is_told_to_finish() {
    simulate_all(300, |plan, seed| {
        plan.flush = 0;
        plan.runs = quiet(plan, &[0, 0]);
        plan.beside = BesidePlan {
            daemons: true,
            poststage: false,
            patience: 21,
            bandwidth: None,
        };
        let run = &mut plan.runs[0];
        (run.finalizes, run.loss) = (false, Loss::Nothing);
        run.kill = Kill::AtStep(40);
        run.beside = BesideRun {
            daemons: (0..plan.nodes).collect(),
            after: vec![After::Postrun(1, Some(60 + seed % 60))],
            ..BesideRun::default()
        };
    });
}

/// A cache of two datasets, each with redundancy that tolerates nothing less than it has.
fn in_a_cache_of_two(plan: &mut Plan) {
    (plan.places.lines, plan.places.stores[0].count) = (false, 2);
    plan.places.schemes.truncate(1);
    let scheme = &mut plan.places.schemes[0];
    (scheme.bypass, scheme.store) = (false, 0);
}

/// The newest checkpoint was flushed, and was deleted since. The flush file still calls it saved, so that an
/// older one was not saved.
#[test]
fn postrun_saves_what_is_left_after_a_deletion() {
    simulate_all(20, |plan, seed| {
        in_a_cache_of_two(plan);
        plan.flush = 2;
        plan.background = seed % 2 == 0;
        plan.runs = quiet(plan, &[2, 0, 0]);
        plan.runs[0].finalizes = false;
        plan.runs[0].loss = Loss::Nothing;
        plan.runs[1].finalizes = false;
        plan.runs[1].beside = at_once(&[Command::Delete(0)], 1);
        plan.runs[1].beside.after = vec![After::Postrun(1, None)];
        plan.runs[1].loss = Loss::Nothing;
    });
}

/// Two datasets of one name: the older is a checkpoint and still in the cache, the newer is in the prefix
/// directory.
#[test]
fn postrun_does_not_write_over_a_newer_dataset_of_the_name() {
    simulate_all(20, |plan, _| {
        in_a_cache_of_two(plan);
        (plan.flush, plan.background) = (0, false);
        plan.runs = quiet(plan, &[0, 0, 0]);
        for checkpoint in [true, false] {
            plan.runs[0].acts.push(Act::Write(Output {
                checkpoint,
                output: true,
                ..Output::checkpoint("result".to_string())
            }));
        }
        plan.runs[0].finalizes = false;
        plan.runs[1].loss = Loss::Nodes(1);
        plan.runs[1].beside.after = vec![After::Postrun(1, None)];
    });
}
