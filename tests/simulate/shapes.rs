//! Jobs of odd shapes with many ranks: one node with all of them, nodes with different numbers, one rank a node, names
//! that differ in their last byte only. Each is right, and nothing grows with the square of the ranks.
//! `SCR_SIM_RANKS=10000` is by hand.

use crate::job::PREFIX;
use crate::timed::{Rank, TimedJob};
use scr::store::Files;
use scr::system::simulated::scheduler::Simulation;
use std::path::Path;

/// The longest name that a host may have.
const LONGEST_NAME: usize = 255;

/// Nodes by name, each with the number of its ranks.
type Nodes = Vec<(String, usize)>;

/// A name, and the nodes of a job with so many ranks.
type Shape = (&'static str, fn(usize) -> Nodes);

const SHAPES: [Shape; 4] = [
    ("all ranks on one node", |ranks| {
        vec![("n0".to_string(), ranks)]
    }),
    ("one rank a node", |ranks| {
        (0..ranks).map(|node| (format!("n{node}"), 1)).collect()
    }),
    ("nodes with different numbers of ranks", uneven),
    ("names of 255 bytes that differ at their end", |ranks| {
        let name = |node: usize| format!("{node:0>LONGEST_NAME$}").replace('0', "n");
        // Numbers without a zero in them, so that all names differ.
        let numbers = (0..).filter(|node: &usize| !node.to_string().contains('0'));
        numbers
            .take(ranks / 4)
            .map(|node| (name(node), 4))
            .collect()
    }),
];

/// Nodes with 1, 2, 4 to 64 ranks, and again. The last one has what is left.
fn uneven(ranks: usize) -> Nodes {
    let mut nodes = Nodes::new();
    let mut left = ranks;
    while left > 0 {
        let here = left.min(1 << (nodes.len() % 7));
        nodes.push((format!("n{}", nodes.len()), here));
        left -= here;
    }
    nodes
}

fn writes(rank: &mut Rank) -> String {
    rank.write("ck.1");
    "has written ck.1".to_string()
}

/// A job writes a checkpoint, goes on from its caches, loses a node, and goes on again. Returns the steps of its runs
/// for each rank.
fn steps_a_rank(nodes: &Nodes, settings: &[(&'static str, &'static str)]) -> Vec<u64> {
    let simulation = Simulation::new(1);
    simulation.make_parallel();
    let mut job = TimedJob::new(nodes, settings);
    job.files(0).make_dirs(Path::new(PREFIX)).unwrap();
    let ranks: usize = nodes.iter().map(|node| node.1).sum();
    let mut steps = Vec::new();
    job.run(&simulation, "writes", writes);
    steps.push(job.steps / ranks as u64);
    for lost in [None, Some(nodes.len() / 2)] {
        job.lose_nodes(lost);
        job.run(&simulation, &format!("lost: {lost:?}"), Rank::restart);
        job.ends_with("goes on from ck.1");
        steps.push(job.steps / ranks as u64);
    }
    assert!(job.wrong.is_empty(), "{:#?}", job.wrong);
    steps
}

#[test]
fn odd_shapes_are_right_and_nothing_grows_with_the_square_of_the_ranks() {
    let ranks = std::env::var("SCR_SIM_RANKS").map_or(256, |ranks| ranks.parse().unwrap());
    let settings = [
        ("SCR_COPY_TYPE", "XOR"),
        ("SCR_CACHE_BYPASS", "0"),
        ("SCR_FLUSH", "1"),
    ];
    for (shape, nodes) in SHAPES {
        println!("{shape}");
        let few = steps_a_rank(&nodes(ranks / 4), &settings);
        let many = steps_a_rank(&nodes(ranks), &settings);
        println!(
            "    steps a rank: {few:?} with {}, {many:?} with {ranks} ranks",
            ranks / 4
        );
        for (few, many) in few.iter().zip(&many) {
            // Two more steps of a tree at 9: less than a half. With the square it would be four times as many.
            assert!(
                *many <= 2 * few,
                "{shape}: {few} steps a rank, {many} with 4 times the ranks"
            );
        }
    }
}
