use super::*;
use crate::comm::{Communicator, gather_alike};
use crate::events::Memory;
use crate::session::testing::{found, joined, run_in};
use crate::threads;
use std::sync::Arc;

/// Number of ranks of a node, and of members of a set. As XOR makes sets, member n is [`ON_NODE`] ranks after member
/// n - 1.
const ON_NODE: usize = 2;
const MEMBERS: usize = 4;

/// The run of one of many ranks, and its messages.
fn run_of(comm: Box<dyn Communicator>, dir: &tempfile::TempDir) -> (Run, Arc<Memory>) {
    let (mut run, messages) = run_in(dir, &[]);
    let first = comm.rank() - comm.rank() % ON_NODE;
    for store in &mut run.stores {
        store.leader = comm.rank() == first;
        store.lost_with = first;
        store.sharing.leader = first;
        store.sharing.followers = (first + 1..first + ON_NODE).collect();
    }
    run.comm = comm;
    (run, messages)
}

/// The inventory of the leader of a node, in a run of `size` ranks, for checkpoint `id`.
fn on_node(id: u64, leader: usize, size: usize) -> Inventory {
    let mut inventory = found(id, size);
    inventory
        .records
        .retain(|record| (leader..leader + ON_NODE).contains(&record.rank));
    let step = size / MEMBERS;
    for record in &mut inventory.records {
        let first = record.rank % step;
        let set = &mut record.reddesc;
        set.members = (0..MEMBERS).map(|member| first + member * step).collect();
        (set.set_id, set.set_rank) = (first, record.rank / step);
        set.store = format!("/of/node{leader}").as_str().into();
    }
    inventory
}

/// The parts that rank 0 gets from the leaders of `size` ranks; `found` gives the inventory of each.
fn gathered(size: usize, found: impl Fn(usize) -> Inventory + Sync) -> Vec<(Vec<u8>, RankList)> {
    let all = threads::run(size, |comm| {
        let dir = tempfile::tempdir().unwrap();
        let (run, _) = run_of(comm, &dir);
        let parts = parts(&run, found(run.rank())).unwrap();
        gather_alike(&*run.comm, parts).unwrap()
    });
    all.into_iter().flatten().next().unwrap()
}

/// Rank 0's result of reading the parts of `size` ranks: the inventories, the leaders of the ranks,
/// the messages.
fn read_of(
    size: usize,
    parts: &[(Vec<u8>, RankList)],
) -> (Vec<(usize, Inventory)>, Vec<usize>, Vec<String>) {
    let all = threads::run(size, |comm| {
        let dir = tempfile::tempdir().unwrap();
        let (run, messages) = run_of(comm, &dir);
        let mut survey = Survey::default();
        let inventories = read(&run, parts.to_vec(), &mut survey);
        let leaders = survey.leaders();
        assert_eq!(leaders.of(0), Some(leaders.domains(0)));
        let of_first = leaders.domains(0).to_vec();
        (inventories, of_first, messages.lines())
    });
    all.into_iter().next().unwrap()
}

/// The form that rank 0 has: without the directories of the nodes.
fn as_read(mut inventory: Inventory) -> Inventory {
    for record in &mut inventory.records {
        record.reddesc.store = Name::default();
    }
    inventory
}

#[test]
fn records_of_intact_nodes_are_as_many_parts_as_a_set_has_members() {
    for size in [32, 64] {
        let parts = gathered(size, |leader| on_node(7, leader, size));
        let has_records = |part: &[u8]| {
            let part: Part = from_message(part).unwrap();
            part.records.is_some()
        };
        let records = parts.iter().filter(|(part, _)| has_records(part));
        assert_eq!(records.count(), MEMBERS, "{size} ranks");
        let (inventories, leaders, messages) = read_of(size, &parts);
        let expected = (0..size).step_by(ON_NODE);
        let expected: Vec<(usize, Inventory)> = expected
            .map(|leader| (leader, as_read(on_node(7, leader, size))))
            .collect();
        assert_eq!(inventories, expected);
        assert!((0..size).all(|rank| leaders[rank] == rank - rank % ON_NODE));
        assert_eq!(messages, Vec::<String>::new());
    }
}

#[test]
fn what_a_leader_alone_has_found_is_its_own() {
    let of = |leader| match leader {
        6 => joined(vec![on_node(3, leader, 16), on_node(7, leader, 16)]),
        10 => Inventory::default(),
        _ => on_node(7, leader, 16),
    };
    let (inventories, ..) = read_of(16, &gathered(16, of));
    let expected = (0..16).step_by(ON_NODE);
    let expected: Vec<(usize, Inventory)> = expected
        .map(|leader| (leader, as_read(of(leader))))
        .collect();
    assert_eq!(inventories, expected);
}

#[test]
fn records_with_wild_ranks_come_as_they_are() {
    let mut wild = found(7, 2);
    wild.records[0].reddesc.members = vec![0, usize::MAX];
    wild.records[1].rank = usize::MAX;
    let (inventories, ..) = read_of(2, &gathered(2, |_| wild.clone()));
    assert_eq!(inventories, [(0, wild)]);
}

#[test]
fn a_part_that_cannot_be_read_costs_only_the_reports_of_its_leaders() {
    let mut parts = gathered(16, |leader| on_node(7, leader, 16));
    let beyond = Part {
        records: Some(AlikeRecords {
            ranks: vec![16, 0, 1],
            ..AlikeRecords::of_one(on_node(7, 0, 16).records.remove(0))
        }),
        ..Part::default()
    };
    parts.push((b"no tree".to_vec(), RankList::one(6)));
    parts.push((to_message(&beyond).unwrap(), [2, 10].into_iter().collect()));
    let (inventories, leaders, messages) = read_of(16, &parts);
    let read: Vec<usize> = inventories.iter().map(|(leader, _)| *leader).collect();
    assert_eq!(read, [0, 4, 8, 12, 14]);
    assert_eq!(leaders[7], 6, "it leads nevertheless");
    assert_eq!(messages.len(), 2, "{messages:?}");
    for text in [
        "what rank 6 found in its cache",
        "what ranks 2 and 10 found in their caches",
    ] {
        assert!(
            messages.iter().any(|line| line.contains(text)),
            "{messages:?}"
        );
    }
}
