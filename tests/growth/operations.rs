//! Operations on files in each call, by place, of rank 0 and of the others.

use crate::job::{Job, Logged, Step, Sums, finalize, restart, write};
use crate::{alone, number};
use std::collections::BTreeMap;
use std::path::Path;

/// A whole life: two checkpoints, of which the second is flushed, a restart from the cache, and one from the
/// prefix directory after all nodes were lost.
fn life(job: Job, settings: &[(&str, &str)]) -> Logged {
    let settings = [&[("SCR_FLUSH", "2"), ("SCR_COPY_TYPE", "XOR")], settings].concat();
    let mut logged = Logged::new(job, &settings);
    logged.run("init, empty", |rank, steps| {
        write(rank, steps, "ck.1", ["start", "complete"]);
        write(rank, steps, "ck.2", ["start, evicts", "complete, flush"]);
    });
    logged.run("init, cached", |rank, steps| {
        restart(rank, steps, ["have restart, cached", "restart, cached"]);
        finalize(rank, steps, "finalize");
    });
    logged.lose_nodes();
    logged.run("init, lost", |rank, steps| {
        restart(rank, steps, ["have restart, fetch", "restart, fetched"]);
    });
    logged
}

/// How the flush copies.
const WAYS: [&[(&str, &str)]; 3] = [
    &[],
    &[("SCR_FLUSH_ASYNC", "1")],
    &[("SCR_USE_CONTAINERS", "1")],
];

const JOB: Job = Job {
    ranks: 16,
    per_node: 8,
};

#[test]
fn no_directory_is_made_twice_in_one_call() {
    let _alone = alone();
    for way in WAYS {
        let steps = life(JOB, way).steps;
        // In SCR_Init no rank knows yet with whom it shares a node, so each makes the directory of the job.
        let steps = steps.iter().filter(|step| !step.name.starts_with("init"));
        for Step { name, uses } in steps {
            let mut made: BTreeMap<&Path, u64> = BTreeMap::new();
            for used in uses.iter().flatten() {
                if used.operation.starts_with("make") {
                    *made.entry(&used.path).or_default() += used.count;
                }
            }
            // A part of a flush in the background knows nothing of the other nodes.
            let nodes = (JOB.ranks / JOB.per_node) as u64;
            let most = if way == WAYS[1] { nodes } else { 1 };
            made.retain(|_, times| *times > most);
            assert!(made.is_empty(), "{way:?}, {name}: {made:?}");
        }
    }
}

#[test]
fn only_one_rank_of_a_node_touches_its_storage_when_a_dataset_starts() {
    let _alone = alone();
    for step in life(JOB, &[]).steps {
        if step.name.starts_with("start") {
            for (rank, uses) in step.uses.iter().enumerate() {
                let leads = rank % JOB.per_node == 0;
                assert_eq!(uses.is_empty(), !leads, "{}, {rank}: {uses:?}", step.name);
            }
        }
    }
}

/// By hand: `SCR_GROWTH_RANKS` and `SCR_GROWTH_PER_NODE` give other numbers of ranks, `SCR_GROWTH_WAY` another way.
#[test]
fn table() {
    let _alone = alone();
    let job = Job {
        ranks: number("SCR_GROWTH_RANKS", JOB.ranks),
        per_node: number("SCR_GROWTH_PER_NODE", JOB.per_node),
    };
    let logged = life(job, WAYS[number("SCR_GROWTH_WAY", 0)]);
    println!("call | place | operation | all ranks | rank 0 | most of another");
    for step in &logged.steps {
        for ((place, operation), sums) in logged.sums(step) {
            let (name, Sums { all, rank_0, most }) = (step.name, sums);
            println!("{name} | {place:?} | {operation} | {all} | {rank_0} | {most}");
        }
    }
    for place in ["prefix", "nodes"] {
        println!(
            "fullest: {:?}",
            Logged::fullest(&logged.site.dir.path().join(place))
        );
    }
}
