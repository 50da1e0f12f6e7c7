//! How the costs of the calls grow with the ranks: what each rank sends and receives, whatever the machine.
//! `tests/scaling/counts.md` has the table; its rows of 64 ranks are compared in each run. The others are counted
//! and written by hand:
//!
//! `SCR_SCALE_RANKS=64,512,4096 SCR_WRITE_DOCS=1 cargo test ... --features cli,simulate --test simulate -- scale::`
//!
//! `SCR_SCALE_ON_NODE=8,64` leaves out one rank a node.

use crate::job::PREFIX;
use crate::timed::{Rank, TimedJob};
use scr::fields::{Element, Given, Indices, List, Pass, Place, Slice, Spec};
use scr::store::Files;
use scr::system::simulated::scheduler::Simulation;
use scr_testing::counting::Counts;
use std::path::Path;

const RANKS_A_NODE: [usize; 3] = [1, 8, 64];

/// Bytes that rank 0 receives at most for each doubling of the ranks if nothing is lost, and the largest message.
const MOST_A_STEP: u64 = 2000;

/// The calls, in the order of the table.
const CALLS: [&str; 11] = [
    "SCR_Init, empty cache",
    "SCR_Start_output",
    "SCR_Complete_output, XOR",
    "SCR_Init, checkpoint in the cache",
    "SCR_Have_restart, in the cache",
    "SCR_Init, a node was lost",
    "SCR_Have_restart, a node was lost",
    "SCR_Finalize",
    "SCR_Complete_output, XOR and flush",
    "SCR_Init, all nodes were lost",
    "SCR_Have_restart, fetch",
];

/// What a call costs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Cost {
    rounds: u64,
    /// Messages that a rank sends at most.
    messages: u64,
    largest: u64,
    /// Bytes that a rank sends.
    sent: Spread,
    /// Bytes that a rank receives.
    received: Spread,
}

/// A number of each rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Spread {
    most: u64,
    mean: u64,
    root: u64,
}

impl Spread {
    fn of(numbers: impl Iterator<Item = u64> + Clone) -> Self {
        let ranks = numbers.clone().count() as u64;
        Spread {
            most: numbers.clone().max().unwrap(),
            mean: numbers.clone().sum::<u64>() / ranks,
            root: numbers.clone().next().unwrap(),
        }
    }
}

impl Cost {
    fn of<'a>(counts: impl Iterator<Item = &'a Counts> + Clone) -> Self {
        let most = |of: fn(&Counts) -> u64| counts.clone().map(of).max().unwrap();
        Cost {
            rounds: most(|c| c.rounds),
            messages: most(|c| c.messages),
            largest: most(|c| c.largest),
            sent: Spread::of(counts.clone().map(|c| c.bytes)),
            received: Spread::of(counts.clone().map(|c| c.bytes_received)),
        }
    }

    fn row(&self) -> String {
        let of = |s: &Spread| format!("{} | {} | {}", s.most, s.mean, s.root);
        let (sent, received) = (of(&self.sent), of(&self.received));
        let (rounds, messages, largest) = (self.rounds, self.messages, self.largest);
        format!("{rounds} | {messages} | {largest} | {sent} | {received}")
    }
}

/// A job of so many ranks, in blocks of `on_node` a node.
fn job(ranks: usize, on_node: usize, flush: &'static str) -> TimedJob {
    let nodes: Vec<_> = (0..ranks / on_node)
        .map(|node| (format!("n{node}"), on_node))
        .collect();
    let settings = [
        ("SCR_CACHE_BYPASS", "0"),
        ("SCR_FLUSH", flush),
        ("SCR_USER_NAME", "user1"),
    ];
    let job = TimedJob::new(&nodes, &settings);
    job.files(0).make_dirs(Path::new(PREFIX)).unwrap();
    job
}

fn writes(rank: &mut Rank) -> String {
    rank.write("ck.1");
    "has written ck.1".to_string()
}

fn writes_and_finalizes(rank: &mut Rank) -> String {
    rank.write("ck.1");
    rank.finalize();
    "has written ck.1".to_string()
}

/// The cost of each of [`CALLS`].
fn costs(ranks: usize, on_node: usize) -> Vec<Cost> {
    let simulation = Simulation::new(1);
    simulation.make_parallel();
    let mut costs = Vec::new();
    let mut note = |job: &TimedJob, calls: &[&str]| {
        costs.extend(calls.iter().map(|call| Cost::of(job.costs[*call].iter())));
    };
    let mut cache = job(ranks, on_node, "0");
    cache.run(&simulation, "writes", writes_and_finalizes);
    let finalize = Cost::of(cache.costs["SCR_Finalize"].iter());
    note(
        &cache,
        &["SCR_Init", "SCR_Start_output", "SCR_Complete_output"],
    );
    cache.run(&simulation, "goes on", Rank::restart);
    note(&cache, &["SCR_Init", "SCR_Have_restart"]);
    cache.lose_nodes([1]);
    cache.run(&simulation, "lost a node", Rank::restart);
    cache.ends_with("goes on from ck.1");
    note(&cache, &["SCR_Init", "SCR_Have_restart"]);

    let mut flushed = job(ranks, on_node, "1");
    flushed.run(&simulation, "writes and flushes", writes);
    let complete = Cost::of(flushed.costs["SCR_Complete_output"].iter());
    flushed.lose_all_nodes();
    flushed.run(&simulation, "lost all nodes", Rank::restart);
    flushed.ends_with("goes on from ck.1");
    costs.extend([finalize, complete]);
    let fetched = ["SCR_Init", "SCR_Have_restart"];
    costs.extend(fetched.map(|call| Cost::of(flushed.costs[call].iter())));
    assert!(cache.wrong.is_empty() && flushed.wrong.is_empty());
    // All nodes report the same, so rank 0 does not get a report of each.
    let intact: &Cost = &costs[3];
    for bytes in [intact.received.root, intact.largest] {
        let most = MOST_A_STEP * u64::from(ranks.ilog2());
        assert!(bytes <= most, "{ranks} ranks, {on_node} a node: {intact:?}");
    }
    costs
}

/// The shapes of runs that are counted: ranks, and ranks a node; at least two nodes. One of 4,096 ranks takes minutes of a
/// processor, and 6 GB of memory: `SCR_SCALE_ON_NODE` chooses among the shapes.
fn shapes() -> Vec<(usize, usize)> {
    let numbers = |name: &str, usual: &[usize]| -> Vec<usize> {
        let given = std::env::var(name).ok();
        given.map_or(usual.to_vec(), |given| {
            given
                .split(',')
                .map(|number| number.parse().unwrap())
                .collect()
        })
    };
    let on_nodes = numbers("SCR_SCALE_ON_NODE", &RANKS_A_NODE);
    let ranks = numbers("SCR_SCALE_RANKS", &[64]).into_iter();
    let all = ranks.flat_map(|ranks| on_nodes.iter().map(move |on_node| (ranks, *on_node)));
    all.filter(|(ranks, on_node)| 2 * on_node <= *ranks)
        .collect()
}

/// The name of a row, and its numbers.
fn split(row: &str) -> Option<(String, Vec<u64>)> {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let [_, ranks, on_node, call, numbers @ .., _] = &cells[..] else {
        return None;
    };
    let numbers = numbers.iter().map(|number| number.parse());
    let numbers = numbers.collect::<Result<_, _>>().ok()?;
    Some((format!("{ranks} | {on_node} | {call}"), numbers))
}

/// True if two rows are about the same: each change of a message would change the table otherwise.
fn same(left: &[u64], right: &[u64]) -> bool {
    let near = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 512 + a / 2;
    left.len() == right.len() && left[..2] == right[..2] && left.iter().zip(right).all(near)
}

#[test]
fn the_table_of_scaling_is_what_the_calls_cost() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scaling/counts.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let write = std::env::var_os("SCR_WRITE_DOCS").is_some();
    let mut wrong = Vec::new();
    for (ranks, on_node) in shapes() {
        let costs = costs(ranks, on_node);
        for (call, cost) in CALLS.into_iter().zip(costs) {
            let row = format!("| {ranks} | {on_node} | {call} | {} |", cost.row());
            let (name, counted) = split(&row).unwrap();
            let known = |line: &&mut String| split(line).is_some_and(|known| known.0 == name);
            let line = lines.iter_mut().find(known);
            let line =
                line.unwrap_or_else(|| panic!("tests/scaling/counts.md has no row for {name}"));
            if !same(&split(line).unwrap().1, &counted) {
                wrong.push(format!("{row}\nthe table has\n{line}"));
                *line = row;
            }
        }
    }
    if write {
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    } else {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// On an empty cache, where nothing depends on the number of nodes: no rank is special, and eight times as many
/// ranks cost each some messages more.
#[test]
fn what_a_start_costs_a_rank_grows_with_the_logarithm_of_the_ranks() {
    for (ranks, on_node) in [(32, 1), (32, 8), (256, 1), (256, 8), (256, 64)] {
        let simulation = Simulation::new(1);
        simulation.make_parallel();
        let mut job = job(ranks, on_node, "0");
        job.run(&simulation, "starts", |_| "has started".to_string());
        let cost = Cost::of(job.costs["SCR_Init"].iter());
        let steps = u64::from(ranks.ilog2());
        assert_eq!(cost.messages, 6 * steps, "{ranks} ranks, {on_node} a node");
        let (sent, received) = (cost.sent.most, cost.received.most);
        assert!(sent <= 1600 * steps, "{ranks}, {on_node}: {cost:?}");
        assert!(received <= 600 * steps, "{ranks}, {on_node}: {cost:?}");
    }
}

/// Elements of a rank in the whole of [`restores_by_index`].
const ELEMENTS: i64 = 64;

/// Lists a field by index: the elements from `from` on, the last one first.
fn list_by_index(list: &mut List<'_>, rank: &mut [i64], from: i64, whole: i64) -> scr::Result<()> {
    let ids: Vec<i64> = (from..from + ELEMENTS).rev().map(|id| id % whole).collect();
    list.index(&Given {
        name: "nodes",
        indices: Indices::Eight(&ids),
        first: 0,
        whole,
    })?;
    let known = list.known_index("nodes")?;
    let spec = Spec {
        name: "numbers",
        kind: i64::KIND,
        extents: &[ELEMENTS],
        strides: None,
        place: Place::Indexed { list: &known },
    };
    if list.pass() == Pass::Write {
        rank.copy_from_slice(&ids);
    }
    list.field(spec, Some(&mut Slice::new(rank)))?;
    let right = list.pass() != Pass::Read || *rank == ids[..];
    assert!(right, "{rank:?} is not {ids:?}");
    Ok(())
}

fn by_index(rank: &mut Rank, shift: i64, reads: bool) {
    let (me, size) = rank.place();
    let (from, whole) = (me as i64 * ELEMENTS + shift, size as i64 * ELEMENTS);
    let mut data = vec![-1; ELEMENTS as usize];
    let list = |list: &mut List<'_>| list_by_index(list, &mut data, from, whole);
    if reads {
        rank.restore(list);
    } else {
        rank.checkpoint(list);
    }
}

/// A mesh of which each rank has elements near each other: their lists, and what comes in a restart with other lists,
/// cost a rank some messages for each doubling of the ranks, and bytes as many as it has elements.
#[test]
fn fields_by_index_cost_a_rank_what_it_has_and_the_logarithm_of_the_ranks() {
    for (ranks, on_node) in shapes() {
        let simulation = Simulation::new(1);
        simulation.make_parallel();
        let mut job = job(ranks, on_node, "0");
        let steps = u64::from(ranks.ilog2());
        job.run(&simulation, "writes", |rank| {
            by_index(rank, 0, false);
            rank.finalize();
            "has written".to_string()
        });
        job.ends_with("has written");
        let written = Cost::of(job.costs["SCR_Checkpoint"].iter());
        job.run(&simulation, "reads", |rank| {
            by_index(rank, ELEMENTS / 2, true);
            "goes on".to_string()
        });
        job.ends_with("goes on");
        let read = Cost::of(job.costs["SCR_Restore"].iter());
        for (cost, what) in [(&written, "written"), (&read, "read")] {
            println!("{what}: {}", cost.row());
            let bytes = cost.sent.most.max(cost.received.most);
            let case = format!("{ranks} ranks, {on_node} a node, {what}: {cost:?}");
            assert!(cost.messages <= 20 + 12 * steps, "{case}");
            assert!(bytes <= 4000 + 1000 * steps + 8 * ELEMENTS as u64, "{case}");
        }
        assert!(job.wrong.is_empty(), "{:?}", job.wrong);
    }
}

/// Elements of [`scattered`].
const SCATTERED: i64 = 16_000;

/// The scattered elements of a rank: others when they are read. They ascend, or are in any order.
fn scattered((me, size): (usize, usize), ascends: bool, reads: bool) -> Vec<i64> {
    let (me, size) = (me as i64, size as i64);
    let of = |id: &i64| if reads { id / 3 % size } else { id % size };
    let mut ids: Vec<i64> = (0..SCATTERED).filter(|id| of(id) == me).collect();
    if !ascends {
        ids.sort_by_key(|id| id * 7919 % SCATTERED);
    }
    ids
}

/// Lists a field with these elements of [`SCATTERED`].
fn list_scattered(list: &mut List<'_>, ids: &[i64], data: &mut [i64]) -> scr::Result<()> {
    list.index(&Given {
        name: "nodes",
        indices: Indices::Eight(ids),
        first: 0,
        whole: SCATTERED,
    })?;
    let known = list.known_index("nodes")?;
    let spec = Spec {
        name: "numbers",
        kind: i64::KIND,
        extents: &[ids.len() as i64],
        strides: None,
        place: Place::Indexed { list: &known },
    };
    list.field(spec, Some(&mut Slice::new(data)))
}

fn write_scattered(rank: &mut Rank, ascends: bool) -> String {
    let ids = scattered(rank.place(), ascends, false);
    let mut data = ids.clone();
    rank.checkpoint(|list| list_scattered(list, &ids, &mut data));
    rank.finalize();
    "has written".to_string()
}

fn read_scattered(rank: &mut Rank, ascends: bool) -> String {
    let ids = scattered(rank.place(), ascends, true);
    let mut data = vec![-1; ids.len()];
    rank.restore(|list| list_scattered(list, &ids, &mut data));
    assert_eq!(data, ids);
    "goes on".to_string()
}

/// The rounds of a checkpoint and of a restart with other lists, with small pieces or the usual ones.
fn rounds_of(small: bool, ascends: bool) -> (u64, u64) {
    let simulation = Simulation::new(1);
    simulation.make_parallel();
    if small {
        simulation.make_small();
    }
    let mut job = job(8, 1, "0");
    let [write, read]: [fn(&mut Rank) -> String; 2] = if ascends {
        [
            |rank| write_scattered(rank, true),
            |rank| read_scattered(rank, true),
        ]
    } else {
        [
            |rank| write_scattered(rank, false),
            |rank| read_scattered(rank, false),
        ]
    };
    job.run(&simulation, "writes", write);
    let written = Cost::of(job.costs["SCR_Checkpoint"].iter()).rounds;
    job.run(&simulation, "reads", read);
    job.ends_with("goes on");
    assert!(job.wrong.is_empty(), "{:?}", job.wrong);
    let read = Cost::of(job.costs["SCR_Restore"].iter()).rounds;
    (written, read)
}

/// Lists that are longer than what is sent at a time are compared slice by slice, and the order of their elements is told
/// piece by piece: so memory does not grow with them.
#[test]
fn long_lists_are_compared_in_slices_and_told_in_pieces() {
    let rounds = |ascends| (rounds_of(false, ascends), rounds_of(true, ascends));
    let (usual, small) = rounds(true);
    println!("ascending: {usual:?}, {small:?}");
    // The set of a rank has about 2000 bytes. 256 are sent at a time in a checkpoint, 128 of two sets in a restart.
    assert!(small.0 >= usual.0 + 7, "{usual:?} {small:?}");
    assert!(small.1 >= usual.1 + 2 * 30, "{usual:?} {small:?}");
    let (usual_order, order) = rounds(false);
    println!("in any order: {usual_order:?}, {order:?}");
    // 32 of 2000 indices are told at a time.
    let told = order.1 - usual_order.1;
    assert!(told >= small.1 - usual.1 + 61, "{usual_order:?} {order:?}");
}

/// Writes checkpoints in which one element is on no rank, or on two, and then one that is right.
fn write_wrong_lists(rank: &mut Rank) -> String {
    let place = rank.place();
    let (me, size) = (place.0 as i64, place.1 as i64);
    for wrong in [0, 1999, 2000, 7001, 15_999] {
        for twice in [false, true] {
            let mut ids = scattered(place, true, false);
            if twice && me == (wrong + 1) % size {
                ids.push(wrong);
                ids.sort_unstable();
            } else if !twice {
                ids.retain(|id| *id != wrong);
            }
            let mut data = ids.clone();
            let refused = rank.try_checkpoint(|list| list_scattered(list, &ids, &mut data));
            let told = if twice {
                format!("both list the index {wrong};")
            } else {
                format!("no rank lists the index {wrong} ")
            };
            let error = refused.unwrap_err().to_string();
            assert!(error.contains(&told), "{told}: {error}");
        }
    }
    write_scattered(rank, true)
}

/// Whatever slice it is in.
#[test]
fn a_wrong_element_is_found_in_each_slice_of_a_list() {
    let simulation = Simulation::new(1);
    simulation.make_parallel();
    simulation.make_small();
    let mut job = job(8, 1, "0");
    job.run(&simulation, "writes", write_wrong_lists);
    job.ends_with("has written");
}

/// Above the width of a flush and a fetch teams share the places, so no rank has a message of each other.
#[test]
fn no_rank_has_a_message_of_each_other_one() {
    let (few, many) = (costs(512, 8), costs(2048, 8));
    for ((call, few), many) in CALLS.iter().zip(few).zip(many) {
        let most = 2 * few.messages + 100;
        assert!(
            many.messages <= most,
            "{call}: {} messages with 512 ranks, {} with 2048",
            few.messages,
            many.messages
        );
    }
}
