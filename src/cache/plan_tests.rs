//! Plans from inventories that differ, overlap or contain false records.

use super::plan::*;
use crate::format::Scheme;
use crate::format::dataset::HIGHEST;
use crate::format::identity::OtherPrefix;
use crate::format::{Dataset, Reddesc};

const CREATED: u64 = 1_795_221_727_420_067;

/// The record of `rank` for dataset 3, in a set of `members`.
fn cached(rank: usize, members: &[usize]) -> CachedRecord {
    CachedRecord {
        store: 0,
        level: None,
        rank,
        ranks: 4,
        dataset: Dataset {
            id: 3,
            name: "ck.3".into(),
            created: CREATED,
            ckpt: Some(3),
            ..Dataset::default()
        },
        reddesc: Reddesc {
            scheme: Scheme::Xor.into(),
            group: "NODE".into(),
            set_id: 0,
            set_rank: members.iter().position(|m| *m == rank).unwrap(),
            members: members.to_vec(),
            set_size: 8,
            set_failures: 1,
            interval: 1,
            store: "/dev/shm".into(),
        },
        other_prefix: None,
    }
}

/// One inventory per list; the leader is its index.
fn inventories(nodes: Vec<Vec<CachedRecord>>) -> Vec<(usize, Inventory)> {
    let inventory = |records| Inventory {
        records,
        ..Inventory::default()
    };
    nodes.into_iter().map(inventory).enumerate().collect()
}

fn four() -> Vec<Vec<CachedRecord>> {
    (0..4)
        .map(|rank| vec![cached(rank, &[0, 1, 2, 3])])
        .collect()
}

fn only(nodes: Vec<Vec<CachedRecord>>) -> Candidate {
    let mut found = candidates(&inventories(nodes));
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn nothing_is_sent_if_all_parts_are_on_their_nodes() {
    let orders = only(four()).orders(&[0, 1, 2, 3]).unwrap();
    for (rank, order) in orders.iter().enumerate() {
        assert_eq!(order.source, Some(rank));
        assert_eq!(order.reddesc.set_rank, rank);
        assert!(order.holders.is_empty() && order.sends.is_empty());
    }
}

#[test]
fn the_ranks_of_a_node_share_the_sending() {
    let mut nodes = four();
    let second = nodes.remove(1);
    nodes[0].extend(second);
    let third = nodes.remove(1);
    nodes[0].extend(third);
    // The parts of ranks 0 to 2 are with leader 0, where ranks 0 and 3 run now. The part of rank 3
    // is with leader 1, where ranks 1 and 2 run.
    let orders = only(nodes).orders(&[0, 1, 1, 0]).unwrap();
    let sent = |order: &RecoveryOrder| order.sends.iter().map(|sent| sent.rank).collect();
    let held_by: Vec<Vec<usize>> = orders.iter().map(sent).collect();
    assert_eq!(held_by, [vec![1], vec![3], vec![], vec![2]]);
    for (rank, from) in [0, 0, 3, 1].into_iter().enumerate() {
        let order = &orders[rank];
        assert_eq!(order.source, Some(from));
        assert_eq!(order.holders, [0, 0, 3, 1]);
        assert!(order.moves_in_rebuild(rank));
    }
}

#[test]
fn parts_are_moved_in_the_rebuild_only_if_each_member_holds_at_most_one() {
    // Three cases: each rank runs where another member of its set was; the parts of sets of two are
    // with ranks of the other set; one rank holds two parts.
    let orders = only(four()).orders(&[1, 2, 3, 0]).unwrap();
    assert!(
        orders
            .iter()
            .all(|o| o.holders == [3, 0, 1, 2] && o.moves_in_rebuild(o.sends[0].rank))
    );
    let sets = |rank: usize| cached(rank, &[rank / 2 * 2, rank / 2 * 2 + 1]);
    let nodes: Vec<Vec<CachedRecord>> = (0..4).map(|rank| vec![sets(rank)]).collect();
    let orders = only(nodes.clone()).orders(&[2, 3, 0, 1]).unwrap();
    assert!(
        orders
            .iter()
            .all(|o| o.holders.is_empty() && o.sends.len() == 1)
    );
    let orders = only(nodes).orders(&[1, 0, 2, 3]).unwrap();
    let holders: Vec<&[usize]> = orders.iter().map(|o| &o.holders[..]).collect();
    assert_eq!(holders, [&[1, 0][..], &[1, 0], &[], &[]]);
    let mut nodes = four();
    let third = nodes[2].remove(0);
    nodes[3].push(third);
    let orders = only(nodes).orders(&[0, 1, 3, 2]).unwrap();
    assert!(orders.iter().all(|o| o.holders == [0, 1, 2, 2]));
    let mut nodes = four();
    let third = nodes[2].remove(0);
    nodes[0].push(third);
    let orders = only(nodes).orders(&[1, 0, 2, 3]).unwrap();
    assert!(orders.iter().all(|o| o.holders.is_empty()));
    assert_eq!(orders[1].sends.len(), 2);
}

#[test]
fn a_rank_that_has_all_parts_sends_them_before_the_rebuild() {
    // All parts are where only rank 0 runs.
    let all: Vec<CachedRecord> = four().into_iter().flatten().collect();
    let orders = only(vec![all]).orders(&[0, 1, 2, 3]).unwrap();
    let sent: Vec<usize> = orders[0].sends.iter().map(|sent| sent.rank).collect();
    assert_eq!(sent, [1, 2, 3]);
    assert!(!sent.iter().any(|rank| orders[0].moves_in_rebuild(*rank)));
}

#[test]
fn a_part_keeps_its_level() {
    let mut nodes = four();
    nodes
        .iter_mut()
        .zip(5..)
        .for_each(|(node, level)| node[0].level = Some(level));
    // One store for all, led by rank 0; then rank 1 uses another store.
    let all: Vec<CachedRecord> = nodes.into_iter().flatten().collect();
    let orders = only(vec![all]).orders(&[0, 1, 0, 0]).unwrap();
    let found: Vec<_> = orders.iter().map(|o| (o.source, o.level)).collect();
    let at = |source, level| (Some(source), Some(level));
    assert_eq!(found, [at(0, 5), at(0, 6), at(2, 7), at(3, 8)]);
    let (rank, level) = (1, Some(6));
    assert_eq!(orders[0].sends, [PartToSend { rank, level }]);
}

#[test]
fn tolerance_depends_on_where_the_ranks_are_now() {
    let candidate = only(four());
    assert_eq!(candidate.tolerates(&[0, 1, 2, 3], true), (1, 1));
    assert_eq!(candidate.tolerates(&[0, 1, 2, 0], true), (0, 1));
    let mut nodes = four();
    for one in nodes.iter_mut().flatten() {
        one.reddesc.scheme = Scheme::Rs.into();
        one.reddesc.set_failures = 2;
    }
    let candidate = only(nodes.clone());
    assert_eq!(candidate.tolerates(&[0, 1, 2, 3], true), (2, 2));
    assert_eq!(candidate.tolerates(&[0, 0, 1, 2], true), (1, 2));
    // One rank is lost, and its part cannot be rebuilt.
    nodes[1].clear();
    let candidate = only(nodes);
    assert_eq!(candidate.tolerates(&[0, 1, 2, 3], false), (1, 2));
    assert_eq!(candidate.tolerates(&[0, 1, 2, 3], true), (2, 2));
}

#[test]
fn a_rank_alone_in_its_set_is_lost_with_its_node() {
    let mut nodes: Vec<Vec<CachedRecord>> =
        (0..3).map(|rank| vec![cached(rank, &[0, 1, 2])]).collect();
    nodes.push(vec![cached(3, &[3])]);
    assert_eq!(only(nodes).tolerates(&[0, 1, 2, 3], true), (0, 0));
}

#[test]
fn parts_without_redundancy_are_not_moved_in_the_rebuild() {
    let mut nodes = four();
    for one in nodes.iter_mut().flatten() {
        one.reddesc.scheme = Scheme::Single.into();
    }
    let orders = only(nodes).orders(&[1, 2, 3, 0]).unwrap();
    assert!(
        orders
            .iter()
            .all(|o| o.holders.is_empty() && o.sends.len() == 1)
    );
}

#[test]
fn a_candidate_says_where_it_is_and_how_each_rank_was_protected() {
    let mut nodes = four();
    for one in nodes.iter_mut().flatten() {
        one.store = 2;
    }
    nodes.remove(1);
    let candidate = only(nodes);
    assert_eq!(candidate.slot(), Slot { store: 2, id: 3 });
    for rank in 0..4 {
        let set = candidate.set_of(rank).expect("known for a lost rank too");
        assert_eq!((set.set_rank, set.members.len()), (rank, 4));
    }
    assert_eq!(candidate.set_of(4), None);
}

#[test]
fn copies_on_several_nodes_share_the_work() {
    // Both nodes of ranks 0 and 1 have the parts of ranks 2 and 3.
    let mut nodes = four();
    let copies: Vec<CachedRecord> = nodes.drain(2..).flatten().collect();
    nodes
        .iter_mut()
        .for_each(|node| node.extend(copies.clone()));
    let orders = only(nodes).orders(&[0, 1, 2, 3]).unwrap();
    assert_eq!((orders[0].sends.len(), orders[1].sends.len()), (1, 1));
}

#[test]
fn losses_within_the_tolerance_are_recoverable_and_no_others() {
    let mut nodes = four();
    nodes.remove(2);
    let candidate = only(nodes.clone());
    assert_eq!(candidate.lost(), [2]);
    assert_eq!(candidate.recoverable(4), Ok(()));
    assert_eq!(candidate.orders(&[0, 1, 2, 3]).unwrap()[2].source, None);
    assert_eq!(
        candidate.recoverable(3).unwrap_err(),
        "was written by 4 ranks, this run has 3 (SCR-202)"
    );
    nodes.remove(1);
    assert_eq!(
        only(nodes).recoverable(4).unwrap_err(),
        "the files of ranks 1 and 2 are lost; XOR over 4 ranks survives the loss of 1"
    );
    let mut nodes = four();
    for one in nodes.iter_mut().flatten() {
        (one.reddesc.members, one.reddesc.set_rank) = (vec![one.rank], 0);
    }
    nodes.remove(3);
    let reason = only(nodes).recoverable(4).unwrap_err();
    assert!(reason.starts_with("the files of rank 3 are lost, and so is all redundancy"));
}

#[test]
fn the_set_description_with_most_records_counts() {
    for liar in 0..4 {
        let mut nodes = four();
        let mut members = vec![3, 2, 1, 0];
        members.rotate_left(liar);
        nodes[liar] = vec![cached(liar, &members)];
        let candidate = only(nodes);
        assert_eq!(
            (&candidate.lost()[..], &candidate.disputed[..]),
            (&[liar][..], &[liar][..])
        );
        assert_eq!(candidate.recoverable(4), Ok(()));
        for order in candidate.orders(&[0, 1, 2, 3]).unwrap() {
            assert_eq!(order.reddesc.members, [0, 1, 2, 3]);
        }
    }
}

/// Three records count also if the false one comes first in every order that records are sorted by.
#[test]
fn one_false_record_does_not_outvote_three() {
    let alone = |mut one: CachedRecord, scheme: Scheme| {
        one.reddesc.scheme = scheme.into();
        one
    };
    for lie in [
        alone(cached(0, &[0, 1]), Scheme::Xor),
        alone(cached(0, &[0, 1, 2, 3]), Scheme::Partner),
    ] {
        let mut nodes = four();
        nodes[0] = vec![lie];
        let candidate = only(nodes);
        assert_eq!(
            (candidate.lost(), &candidate.disputed[..]),
            (vec![0], &[0][..])
        );
        assert_eq!(candidate.recoverable(4), Ok(()));
        for order in candidate.orders(&[0, 1, 2, 3]).unwrap() {
            assert_eq!(order.reddesc.members, [0, 1, 2, 3]);
            assert_eq!(order.reddesc.scheme, Scheme::Xor.into());
        }
    }
}

#[test]
fn ranks_whose_records_are_disputed_are_named_once_each_in_order() {
    // Old records of ranks 3 and 1 are on two nodes each; the records of rank 3 are found first.
    let stale = |rank: usize| {
        let mut one = cached(rank, &[0, 1, 2, 3]);
        one.dataset.ckpt = None;
        one
    };
    let nodes = vec![
        vec![cached(0, &[0, 1, 2, 3]), stale(3)],
        vec![stale(1), stale(3)],
        vec![cached(2, &[0, 1, 2, 3]), stale(1)],
        vec![
            cached(0, &[0, 1, 2, 3]),
            cached(2, &[0, 1, 2, 3]),
            cached(2, &[0, 1, 2, 3]),
        ],
    ];
    let candidate = only(nodes);
    assert_eq!(candidate.dataset.ckpt, Some(3));
    assert_eq!(candidate.disputed, [1, 3]);
}

#[test]
fn sets_in_use_never_overlap() {
    let nodes = vec![
        vec![cached(0, &[0, 1])],
        vec![cached(1, &[1, 2])],
        vec![cached(2, &[2, 3])],
        vec![cached(3, &[2, 3])],
    ];
    let candidate = only(nodes);
    assert_eq!(candidate.disputed, [1]);
    assert_eq!(candidate.recoverable(4), Ok(()));
    let orders = candidate.orders(&[0, 1, 2, 3]).unwrap();
    for order in &orders {
        for member in &order.reddesc.members {
            assert_eq!(orders[*member].reddesc.members, order.reddesc.members);
        }
    }
}

#[test]
fn the_dataset_description_with_most_records_counts() {
    for liar in 0..4 {
        let mut nodes = four();
        nodes[liar][0].dataset.ckpt = None;
        let candidate = only(nodes);
        assert_eq!(candidate.dataset.ckpt, Some(3));
        assert_eq!(candidate.disputed, [liar]);
    }
}

#[test]
fn among_descriptions_with_equal_records_the_first_counts() {
    let mut nodes = four();
    nodes[2][0].dataset.ckpt = None;
    nodes[3][0].dataset.ckpt = None;
    let candidate = only(nodes.clone());
    assert_eq!(
        (candidate.dataset.ckpt, &candidate.disputed[..]),
        (Some(3), &[2, 3][..])
    );
    nodes.reverse();
    let candidate = only(nodes);
    assert_eq!(
        (candidate.dataset.ckpt, &candidate.disputed[..]),
        (None, &[0, 1][..])
    );
}

#[test]
fn records_of_several_times_are_several_datasets_newest_first() {
    let mut nodes = four();
    nodes[3][0].dataset.created -= 1;
    let found = candidates(&inventories(nodes));
    let seen: Vec<_> = found
        .iter()
        .map(|c| (c.dataset.created, c.lost()))
        .collect();
    assert_eq!(seen, [(CREATED, vec![3]), (CREATED - 1, vec![0, 1, 2])]);
}

#[test]
fn the_creation_time_decides_which_dataset_is_newer() {
    let mut nodes = four();
    for cached in nodes.iter_mut().flatten() {
        cached.dataset.id = 2;
        cached.dataset.created += 1;
    }
    nodes[3].push(cached(3, &[3]));
    let found = candidates(&inventories(nodes));
    let ids: Vec<u64> = found.iter().map(|c| c.dataset.id).collect();
    assert_eq!(ids, [2, 3]);
}

#[test]
fn a_dataset_has_another_prefix_only_if_all_records_say_so() {
    let mut nodes = four();
    let other = Some(OtherPrefix {
        path: "/elsewhere".into(),
        is_certain: false,
    });
    for cached in nodes[..3].iter_mut().flatten() {
        cached.other_prefix = other.clone();
    }
    assert_eq!(
        candidates(&inventories(nodes.clone()))[0].other_prefix,
        None
    );
    nodes[3][0].other_prefix = other.clone();
    assert_eq!(candidates(&inventories(nodes))[0].other_prefix, other);
}

#[test]
fn records_with_invalid_sets_are_not_consistent() {
    assert!(is_consistent(&cached(2, &[0, 2])));
    let lies: [fn(&mut CachedRecord); 8] = [
        |h| h.dataset.id = HIGHEST + 1,
        |h| h.dataset.ckpt = Some(HIGHEST + 1),
        |h| h.rank = 4,
        |h| h.reddesc.set_rank = 2,
        |h| h.reddesc.members = vec![2, 9],
        |h| h.reddesc.members = vec![2, 4],
        |h| h.reddesc.members = vec![2, 2],
        |h| h.reddesc.members.clear(),
    ];
    for lie in lies {
        let mut one = cached(2, &[2, 3]);
        lie(&mut one);
        assert!(!is_consistent(&one), "{one:?}");
    }
}
